//! Collects the readers' results for one machine.

use std::collections::BTreeSet;

use record::import::{Contradiction, Origin, Withheld};
use record::{Key, Label, Machine, Measurement, Snapshot, detail, metrics};

use serde_json::Value;

use crate::facts::{Fact, Facts};
use crate::line::{Line, quote};

/// The values read from the outputs of one machine so far, before they become a record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    /// The plain fields of the inventory. Lists that need more than one output (CPUs, nodes, caches) are combined at the end.
    pub machine: Machine,
    /// Inventory paths and their sources, in reading order.
    pub inventory: Vec<(String, Origin)>,
    /// Results, each with its origin.
    pub measurements: Vec<Measurement>,
    /// Impossible results.
    pub withheld: Vec<Withheld>,
    /// Statements that contradict each other.
    pub contradictions: Vec<Contradiction>,
    /// Facts from inventory tools, before they are combined.
    pub facts: Facts,
    /// The state of the machine, if reported by tools.
    pub state: Snapshot,
    /// The version of the current output's tool, if it contains one.
    pub version: Option<String>,
    /// The number of memory devices before the current output, and the indexes of the devices found in it so far.
    pub devices: (usize, BTreeSet<usize>),
}

impl Draft {
    /// Adds the data from another text about the same machine, or from another part of this text.
    pub(crate) fn absorb(&mut self, other: Draft) {
        self.inventory.extend(other.inventory);
        self.measurements.extend(other.measurements);
        self.withheld.extend(other.withheld);
        self.contradictions.extend(other.contradictions);
        let (mine, more) = (std::mem::take(&mut self.facts), other.facts);
        self.facts = Facts {
            lscpu: joined(mine.lscpu, more.lscpu),
            rows: joined(mine.rows, more.rows),
            broken_row: mine.broken_row.or(more.broken_row),
            cache_rows: joined(mine.cache_rows, more.cache_rows),
            numactl: joined(mine.numactl, more.numactl),
            slots: joined(mine.slots, more.slots),
            sockets: joined(mine.sockets, more.sockets),
            populated: joined(mine.populated, more.populated),
            memory: more.memory.or(mine.memory),
            files: joined(mine.files, more.files),
            clash: mine.clash.or(more.clash),
            log: joined(mine.log, more.log),
        };
        let both = [&self.machine, &other.machine].map(serde_json::to_value);
        if let [Ok(mine), Ok(others)] = both
            && let Ok(machine) = serde_json::from_value(fill(mine, others))
        {
            self.machine = machine;
        }
    }

    /// An output begins.
    pub(crate) fn begin_output(&mut self) {
        self.version = None;
        self.devices = (self.machine.memory_devices.len(), BTreeSet::new());
    }

    /// Total number of entries in all lists of the draft.
    pub(crate) fn entries(&self) -> usize {
        let stated = self.inventory.len() + self.facts.files.len() + self.facts.log.len();
        stated + self.measurements.len() + self.withheld.len() + self.contradictions.len()
    }
}

/// The position and the content of a line.
pub(crate) fn origin(tool: &str, text: &str, line: Line) -> Origin {
    let says = quote(line.text).to_owned();
    Origin { tool: tool.to_owned(), text: text.to_owned(), line: line.number, says }
}

/// Concatenates two lists.
fn joined<T, L: Extend<T> + IntoIterator<Item = T>>(mut mine: L, more: L) -> L {
    mine.extend(more);
    mine
}

/// Merges two parts of one document: returns the first part, with all values that only the second part contains. Lists are concatenated.
pub(crate) fn fill(mine: Value, others: Value) -> Value {
    match (mine, others) {
        (Value::Object(mut mine), Value::Object(others)) => {
            for (key, others) in others {
                let value = fill(mine.remove(&key).unwrap_or_default(), others);
                mine.insert(key, value);
            }
            Value::Object(mine)
        }
        // Entries with the same number are the same entry, regardless of their source.
        (Value::Array(mine), Value::Array(mut others))
            if mine.iter().chain(&others).all(|one| !one["id"].is_null()) =>
        {
            let mut all: Vec<Value> = Vec::with_capacity(mine.len());
            for one in mine {
                let same = others.iter().position(|other| other["id"] == one["id"]);
                all.push(fill(one, same.map(|at| others.remove(at)).unwrap_or_default()));
            }
            all.into_iter().chain(others).collect()
        }
        (Value::Array(mine), Value::Array(others)) => mine.into_iter().chain(others).collect(),
        (Value::Null, others) => others,
        (Value::String(mine), others) if mine.is_empty() => others,
        (mine, _) => mine,
    }
}

/// The current draft and the current output.
#[derive(Debug)]
pub(crate) struct Sink<'a> {
    /// The data of the machine to which the output belongs.
    pub draft: &'a mut Draft,
    /// The tool's name.
    pub tool: &'static str,
    /// The text's name.
    pub text: &'a str,
    /// Number of results and facts taken from this output so far.
    pub taken: u32,
    /// The command's wrappers, such as `taskset -c 0`, if known.
    pub under: Option<String>,
    /// The comment above the command.
    pub note: Option<String>,
    /// The number of threads according to the text above, if the output does not contain it; 0 for one thread per CPU.
    pub threads: Option<u64>,
}

impl<'a> Sink<'a> {
    /// A sink for an output of `tool` in the text named `text`.
    pub(crate) fn new(draft: &'a mut Draft, tool: &'static str, text: &'a str) -> Self {
        Self { draft, tool, text, taken: 0, under: None, note: None, threads: None }
    }

    /// The tool's version from its output.
    pub(crate) fn version(&mut self, version: &str) {
        self.draft.version = Some(quote(version).to_owned());
    }

    /// The origin of the content of `line`.
    pub(crate) fn origin(&self, line: Line) -> Origin {
        origin(self.tool, self.text, line)
    }

    /// Adds a result from `line`. It is withheld if it is not finite or outside the physical bounds of its metric.
    pub(crate) fn add_figure(&mut self, mut m: Measurement, line: Line) {
        let value = m.value();
        let bounds = m.metric.definition().map(|metric| metric.plausible);
        if !value.is_finite() || bounds.is_some_and(|(low, high)| !(low..=high).contains(&value)) {
            return self.withhold(m.metric, format!("{value} {} is physically impossible", m.unit), line);
        }
        m.origin = Some(self.origin(line));
        if let Some(under) = self.under.as_deref().filter(|_| m.labels.get(Label::Workload).is_some()) {
            m.detail.set(detail::RUN_UNDER, under);
        }
        if let Some(threads) = self.threads.filter(|_| m.metric == metrics::WORKLOAD_THROUGHPUT) {
            add_key(&mut m, Label::Threads, threads.into(), self.tool);
        }
        if let Some(note) = self.note.as_deref().filter(|_| m.detail.get(detail::NOTE).is_none()) {
            m.detail.set(detail::NOTE, note);
        }
        self.draft.measurements.push(m);
        self.taken += 1;
    }

    /// An impossible value: its text is saved, but it is not used as a value.
    pub(crate) fn withhold(&mut self, what: impl Into<String>, why: impl Into<String>, line: Line) {
        self.withhold_at(what, why, self.origin(line));
    }

    /// Like [`Sink::withhold`], for an earlier line.
    pub(crate) fn withhold_at(&mut self, what: impl Into<String>, why: impl Into<String>, origin: Origin) {
        self.draft.withheld.push(Withheld { what: what.into(), why: why.into(), origin });
    }

    /// Notes `line` as the source of the part of the inventory at `path` (`machine.processor.model_name`); the value
    /// itself is stored in `draft.machine`.
    pub(crate) fn note(&mut self, path: impl Into<String>, line: Line) {
        self.note_at(path, self.origin(line));
    }

    /// Like [`Sink::note`], for an earlier line.
    pub(crate) fn note_at(&mut self, path: impl Into<String>, origin: Origin) {
        self.draft.inventory.push((path.into(), origin));
        self.taken += 1;
    }

    /// Like [`Sink::note`], but the value is a fact that will be combined with others.
    pub(crate) fn fact<T>(&mut self, path: impl Into<String>, value: T, line: Line) -> Fact<T> {
        self.note(path, line);
        Fact { value, origin: self.origin(line) }
    }

    /// Adds the content of a system file, beginning at `line`; `log:KIND` adds a line of the kernel's log and its reason.
    pub(crate) fn add_file(&mut self, path: String, text: String, line: Line) {
        let fact = Fact { value: text, origin: self.origin(line) };
        self.taken += 1;
        let facts = &mut self.draft.facts;
        if let Some(kind) = path.strip_prefix("log:") {
            let (count, first) = facts.log.entry(kind.to_owned()).or_insert((0, fact.clone()));
            (*count, first.origin) = (*count + 1, fact.origin);
            return;
        }
        if let Some(known) = facts.files.get(&path).filter(|known| known.value != fact.value) {
            // The log may be from an earlier boot, so the file itself or a later log is more reliable.
            let logged = [known, &fact].map(|fact| fact.origin.tool == "dmesg");
            if path.ends_with("/current_clocksource") && logged != [false; 2] {
                logged[0].then(|| facts.files.insert(path, fact));
                return;
            }
            let field = |fact: &Fact<String>, key| {
                machine::text::field(&fact.value, key).map(str::to_owned).unwrap_or_default()
            };
            let [host, other] = [known, &fact].map(|fact| fact.value.trim().split('.').next());
            let named = [known, &fact].map(|fact| field(fact, "model name"));
            let total = |fact: &Fact<String>| field(fact, "MemTotal").split(' ').next()?.parse::<f64>().ok();
            // `free` rounds sizes.
            let differ = |(one, other): (f64, f64)| one.max(other) > 2.0 * one.min(other);
            if path == "/proc/sys/kernel/hostname" && host != other
                || named[0] != named[1] && named.iter().all(|name| !name.is_empty())
                || total(known).zip(total(&fact)).is_some_and(differ)
            {
                facts.clash.get_or_insert([known.origin.clone(), fact.origin.clone()]);
            }
            // These are further lines of the same file.
            let key = fact.value.split(':').next().map(str::trim).unwrap_or_default();
            if path == "/proc/cpuinfo" && machine::text::field(&known.value, key).is_none() {
                let value = format!("{}{}", known.value, fact.value);
                let origin = known.origin.clone();
                facts.files.insert(path, Fact { value, origin });
                return;
            }
            // If a file is quoted both in part and completely, keep the complete text; if some siblings went offline, keep the longer list.
            let parts =
                |fact: &Fact<String>| (fact.value.lines().count(), fact.value.split([',', '-']).count());
            let siblings = path.contains("/topology/") && parts(known).1 >= parts(&fact).1;
            if siblings || known.value.is_empty() || parts(known).0 > parts(&fact).0 {
                return;
            }
            // A value that changes by itself is the last one.
            if !path.contains("/topology/") && parts(known).0 == 1 && is_setting(&path) {
                let (one, other) = (known.value.trim(), fact.value.trim());
                let says = format!("{path} is {one:?} and later {other:?}; both values are discarded");
                self.draft.contradictions.push(crate::facts::contradict(says, &known.origin, &fact.origin));
                let origin = fact.origin;
                facts.files.insert(path, Fact { value: String::new(), origin });
                return;
            }
        }
        facts.files.insert(path, fact);
    }

    /// Records two contradictory statements.
    pub(crate) fn contradict(&mut self, says: String, origins: Vec<Origin>) {
        self.draft.contradictions.push(Contradiction { says, origins });
    }
}

/// Adds a label to a result of this tool, unless the result already has that label.
pub(crate) fn add_key(m: &mut Measurement, label: Label, value: Key, tool: &str) {
    if m.labels.get(label).is_none() {
        m.labels = std::mem::take(&mut m.labels).with_label(label, value);
        // Without the label, this tool's results were in doubt because the number of threads was unknown.
        m.doubt = m.doubt.take().filter(|_| label != Label::Threads || tool != "openssl speed");
    }
}

/// Files with more than one line.
const LONG: &str = "cpuinfo|meminfo|vmstat|stat|interrupts|softirqs|swaps|cpu.stat|memory.stat|mountinfo|status|limits|cgroup|\
    os-release|cpu|memory|io|cpu.pressure|memory.pressure|io.pressure|schedstat|numastat";

/// Files whose content changes while a machine works.
const CHANGING: &str = "scaling_cur_freq|cpuinfo_cur_freq|loadavg|uptime|memory.current|energy_uj|core_throttle_count|\
    package_throttle_count|usage|time|nr_periods|nr_throttled|temp1_input|temp|ce_count|ue_count";

/// Whether a file has one line, which changes only if somebody changes it.
pub(crate) fn is_setting(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    !is_long(path) && !path.contains(['*', '+', '=', ':']) && !CHANGING.split('|').any(|one| one == name)
}

pub(crate) fn is_long(path: &str) -> bool {
    LONG.split('|').any(|one| path.rsplit('/').next() == Some(one))
}
