# %% [markdown]
# # linespeed in Python
#
# `pip install linespeed` installs the program and the Python module. Each cell below begins with `# %%`, which editors and Jupytext
# recognize; `python docs/python.py` runs all cells in a few seconds.

# %%
import collections
import json
import os
import tempfile

import linespeed

# %% [markdown]
# ## Measure
#
# `measure` takes the same arguments as the command line, and returns the record as frozen data classes. `linespeed schema` lists the fields.

# %%
record = linespeed.measure("run", "clock", "costs", "--quick")
print(record.machine.processor.model_name or "unknown", "-", len(record.measurements), "results,", record.ended.how)

# %% [markdown]
# Each measurement has a median, an interval if there are enough samples, and a doubt if the result is unreliable.

# %%
for figure in record.measurements[:5]:
    summary = figure.summary
    print(f"{figure.metric:16} {summary.median:14.6g} {figure.unit:4} {dict(figure.where)} {figure.doubt or ''}")

# %% [markdown]
# ## The bottleneck of a command
#
# The exit code of the observed command is not an error here; the record contains it.

# %%
busy = linespeed.measure("stat", "--", "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done")
if busy.diagnosis.bound is not None:
    print(busy.diagnosis.bound.by, "-", busy.diagnosis.bound.says)

# %% [markdown]
# ## Read records
#
# `json` contains the complete file, including fields that this version does not know.

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
# One row per result, with the columns of `linespeed show RECORD --csv`. Many records form one table.

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
# ## Errors
#
# If the program writes no record, `measure` raises an exception with the program's message and exit code.

# %%
try:
    linespeed.measure("run", "nonsense")
except linespeed.Failed as failed:
    print(failed.code, failed.line)
