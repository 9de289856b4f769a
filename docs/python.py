# %% [markdown]
# # linespeed in Python
#
# `pip install linespeed` brings the program and `import linespeed`. A cell below begins with `# %%`, as editors and Jupytext read it;
# `python docs/python.py` runs all of them in some seconds.

# %%
import collections
import json
import os
import tempfile

import linespeed

# %% [markdown]
# ## Measure
#
# `measure` takes what the command line takes and returns the record: frozen data classes with the fields of `linespeed schema`.

# %%
record = linespeed.measure("run", "clock", "costs", "--quick")
print(record.machine.processor.model_name or "unknown", "-", len(record.measurements), "figures,", record.ended.how)

# %% [markdown]
# A measurement has its median, its interval where there are enough samples, and a doubt where it should not be leaned on.

# %%
for figure in record.measurements[:5]:
    summary = figure.summary
    print(f"{figure.metric:16} {summary.median:14.6g} {figure.unit:4} {dict(figure.where)} {figure.doubt or ''}")

# %% [markdown]
# ## What a command is bound by
#
# The command's own exit code is no error here: the record tells what it did.

# %%
busy = linespeed.measure("stat", "--", "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done")
if busy.diagnosis.bound is not None:
    print(busy.diagnosis.bound.by, "-", busy.diagnosis.bound.says)

# %% [markdown]
# ## Read records
#
# `json` has the whole file, also what this version does not know.

# %%
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "before.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(record.json, file)
    before = linespeed.read(path)
assert before == record

for finding in before.diagnosis.findings:
    print(finding.severity, finding.rule, "-", finding.what)

# %% [markdown]
# ## Tables
#
# A row a figure, with the columns of `linespeed show RECORD --csv`: many records are one table.

# %%
rows = linespeed.rows([before, busy])
by_metric = collections.Counter(row["metric"] for row in rows)
print(by_metric.most_common(3))

# %%
try:
    table = linespeed.frame([before, busy])
except ImportError as missing:
    print(missing)
else:
    print(table.groupby("metric").value.agg(["count", "min", "max"]).head())

# %% [markdown]
# ## When it fails
#
# No record is an exception, with the program's line and its exit code.

# %%
try:
    linespeed.measure("run", "nonsense")
except linespeed.Failed as failed:
    print(failed.code, failed.line)
