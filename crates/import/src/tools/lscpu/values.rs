//! The values of lscpu's labels.

use record::CpuList;

use super::labels::{Label, form_of, is_on};
use crate::cache_size::Printed;
use crate::facts::{self, CacheFact, Fact, Lscpu, Values, key};
use crate::reading::*;

/// Longest saved text of flags.
const LONGEST_FLAGS: usize = 32 << 10;

/// Architecture names of kernels for processors that linespeed may encounter.
pub(crate) fn is_architecture(value: &str) -> bool {
    const KNOWN: &str = "x86_64|aarch64|armhf|ppc64el|i386|i486|i586|i686|amd64|arm64|ppc64|ppc64le|s390x|riscv64|\
        loongarch64|mips64|sw_64|ia64|sparc64";
    let word = facts::strip_comment(value);
    scan::is_one_of(word, KNOWN) || word.starts_with("armv")
}

/// The values of one output, in the order in which they were read.
#[derive(Default)]
pub(super) struct List {
    pub(super) output: Lscpu,
    /// Whether there are any values.
    pub(super) begun: bool,
    /// Whether counts of the current kind of core have been read, plausible or not.
    counted: bool,
    /// Whether the output shows CPU lists as masks (`--hex`), which are not supported.
    masks: bool,
}

impl List {
    /// Begins another list if a value differs from the earlier value of a property that a machine has only once.
    fn part_where(&mut self, differs: bool, sink: &mut Sink) {
        if differs {
            sink.draft.facts.lscpu.push(std::mem::take(&mut self.output));
        }
    }

    pub(super) fn more_flags(&mut self, more: &str) {
        let flags = self.output.machine.0.get_mut(key::FLAGS).map(|fact| &mut fact.value);
        if let Some(flags) = flags.filter(|_| more.len() < LONGEST_FLAGS) {
            // The line break may have split a flag.
            self.output.cut_flags = true;
            *flags = format!("{flags} {more}");
        }
    }

    pub(super) fn end(self, sink: &mut Sink) {
        sink.draft.facts.lscpu.extend(self.begun.then_some(self.output));
    }

    pub(super) fn take(&mut self, label: &Label, value: &str, line: Line, sink: &mut Sink) {
        let value = facts::strip_comment(value);
        let none = value.is_empty() || value == "-";
        self.begun |= !none;
        self.masks |= label.key.ends_with("_mask");
        let result = match label.key {
            // Another kind of core, for which the kernel knows no name.
            key::MODEL_NAME if value == "-" && self.counted => {
                let before = usize::from(self.output.kinds.is_empty());
                self.output.kinds.resize_with(self.output.kinds.len() + before + 1, Values::default);
                self.counted = false;
                Ok(())
            }
            key::NODE_CPUS => self.node(label.part, value, line, sink),
            _ if none => Ok(()),
            key::CACHE => self.cache(label.part, value, line, sink),
            "vulnerability" => {
                let name = label.part.to_lowercase().replace(' ', "_");
                let text = machine::text::clean_to(value, 1000);
                let fact = sink.fact(format!("machine.kernel.mitigations.{name}"), text, line);
                self.output.vulnerabilities.insert(name, fact);
                Ok(())
            }
            key => match form_of(key).map(|[of, how, path]| (of, how, path, read(how, value))) {
                Some((of, how, path, Ok(Some(datum)))) => {
                    let fact = sink.fact(path, datum, line);
                    self.put(key, of == "kind", how == "cpus" || how.starts_with("count"), fact, sink);
                    Ok(())
                }
                Some((.., path, Err(why))) => Err((path.to_owned(), why)),
                _ => Ok(()),
            },
        };
        self.counted |= matches!(label.key, key::CORES_PER_SOCKET | "cores_per_cluster");
        if let Err((path, why)) = result {
            sink.withhold(&path, why, line);
        }
    }

    /// Adds a value of the machine or of the current kind of core. `once` means that a list contains the value only once per machine, so
    /// that a different value begins another list.
    fn put(&mut self, key: &'static str, of_kind: bool, once: bool, fact: Fact<String>, sink: &mut Sink) {
        let kind = self.output.kinds.last();
        let known = if of_kind { kind } else { Some(&self.output.machine) };
        let known = known.and_then(|values| values.get(key));
        let differs = known.is_some_and(|known| known.value != fact.value);
        // A name that follows counts begins another kind of core. On x86 machines, all kinds have the same name.
        let named = key == key::MODEL_NAME && (known.is_some() || self.output.kinds.len() > 1);
        let counted = named && self.counted;
        let is_x86 = self.output.machine.text(key::ARCHITECTURE) == Some("x86_64");
        self.part_where(differs && (once || named && (is_x86 || !counted)), sink);
        let kinds = &mut self.output.kinds;
        if of_kind && (kinds.is_empty() || counted && kinds.len() < 16) {
            kinds.push(Values::default());
            self.counted = false;
        }
        let values = kinds.last_mut().filter(|_| of_kind).unwrap_or(&mut self.output.machine);
        values.0.insert(key, fact);
    }

    /// The CPUs of a node, which may have none.
    fn node(&mut self, part: &str, value: &str, line: Line, sink: &mut Sink) -> Result<(), Why> {
        let Ok(node) = part.parse::<u32>() else { return Ok(()) };
        let path = format!("machine.nodes[{node}].cpus");
        let none = value.is_empty() || value == "-";
        // If the line that lists all CPUs is missing, a single number may be a mask.
        let number = value.bytes().all(|b| b.is_ascii_hexdigit()) && value != "0";
        if !none && (self.masks || number && self.output.machine.get(key::ONLINE).is_none()) {
            return Err((path, format!("{value:.60} may be a CPU mask; only CPU lists are supported")));
        }
        let list = if none { CpuList::new() } else { cpus(value).map_err(|why| (path.clone(), why))? };
        let list = sink.fact(path, list, line);
        let known = self.output.node_cpus.get(&node);
        self.part_where(!none && known.is_some_and(|known| known.value != list.value), sink);
        if !none || !self.output.node_cpus.contains_key(&node) {
            self.output.node_cpus.insert(node, list);
        }
        Ok(())
    }

    /// One kind of cache. Before version 2.34, lscpu printed the size of one cache (`32K`). Versions 2.34 to 2.36 print the sum over all
    /// caches (`1.5 MiB`), and newer versions print the sum and the number of caches.
    fn cache(&mut self, name: &str, value: &str, line: Line, sink: &mut Sink) -> Result<(), Why> {
        let path = format!("machine.caches.{name}");
        let printed = value.split_once('(').map(|(_, behind)| behind.split(' ').next().unwrap_or_default());
        let instances = printed.and_then(|c| c.parse().ok()).filter(|c| (1..=65_536).contains(c));
        let unit = facts::parse_size(value);
        let is_counted = if printed.is_some() { instances.is_some() } else { unit.is_some() };
        let size = Printed::read(value).filter(|_| is_counted).zip(facts::parse_cache_name(name));
        let Some((size, cache)) = size else {
            // If the unit and the number of instances are missing (old `--bytes`), the size of one cache cannot be distinguished from the
            // sum.
            return Err((path, format!("{value:.60} may be the size of one cache or of all caches")));
        };
        let sum = printed.is_none() && unit.is_some_and(|(_, iec)| iec);
        let bytes = if sum { None } else { size.one(cache.0, instances.unwrap_or(1)) };
        let why = || format!("{value:.60} is not a plausible cache size");
        match bytes {
            None if instances.is_none() && !sum => return Err((path, why())),
            None if !sum => sink.withhold(&path, why(), line),
            _ => {}
        }
        let new = CacheFact { cache, bytes, instances };
        let known = self.output.caches.iter().find(|known| known.value.cache == cache);
        self.part_where(known.is_some_and(|known| known.value != new), sink);
        self.output.caches.push(sink.fact(path, new, line));
        Ok(())
    }
}

/// A value that is not read, and the reason.
type Why = (String, String);

/// A value in the format of records: clocks in Hz, switches as 0 and 1. `None` if it is empty; the reason if it is impossible.
fn read(how: &str, value: &str) -> Result<Option<String>, String> {
    Ok(match how {
        "text" => Some(machine::text::clean_to(value, 1000)).filter(|text| !text.is_empty()),
        "flags" => Some(value.chars().take(LONGEST_FLAGS).collect()),
        "id" => value.parse::<u32>().ok().map(|id| id.to_string()),
        "cpus" => Some(cpus(value)?.to_string()),
        "mhz" => {
            let why = || format!("{value:.60} MHz is not a plausible clock");
            Some(facts::parse_mhz(value).ok_or_else(why)?.to_string())
        }
        "bits" => facts::parse_address_bits(value).map(|_| value.to_owned()),
        "switch" => is_on(value).map(|on| u8::from(on).to_string()),
        count => {
            let most = count.strip_prefix("count:").and_then(|most| most.parse().ok()).unwrap_or(0);
            let count = value.parse::<u32>().ok().filter(|count| (1..=most).contains(count));
            Some(count.ok_or_else(|| format!("{value:.60} is not a plausible count"))?.to_string())
        }
    })
}

/// A list of CPUs; CPU masks (`--hex`) are not supported.
fn cpus(value: &str) -> Result<CpuList, String> {
    let list = facts::parse_cpus(value).map_err(|error| error.to_string())?;
    if list.is_empty() { Err(format!("{value:.60} is not a CPU number")) } else { Ok(list) }
}
