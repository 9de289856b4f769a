//! Published results of processors: one file per microarchitecture in `reference/cores/`, and one file per group of microarchitectures with
//! results that apply to all members. A machine's processor is identified by CPUID or MIDR, otherwise by its model name.

mod range;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use record::Machine;
use record::machine::Processor;
use regex_lite::Regex;
use serde::Deserialize;

pub(crate) use range::of_linux;
pub(crate) use range::unit_of;
pub use range::{Range, range_of};

/// Published facts about the processors of one design.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// `zen4-genoa`: the name of its file.
    pub id: String,
    /// `AMD Zen 4 (Genoa)`.
    pub name: String,
    /// The group whose results are used if none were published for the design itself: `epyc` for the file `group-epyc`.
    pub group: Option<String>,
    /// A regular expression for model names that belong only to this design.
    #[serde(default, with = "expression")]
    pub names: Option<Regex>,
    /// A regular expression that the model name must match, if there is a name, because client and server processors may share CPUID
    /// models.
    #[serde(default, with = "expression")]
    pub only: Option<Regex>,
    /// A regular expression that the model name must not match.
    #[serde(default, with = "expression")]
    pub except: Option<Regex>,
    /// The numbers that identify the design.
    #[serde(default)]
    pub known_by: Vec<KnownBy>,
    /// The published results.
    #[serde(rename = "figure")]
    pub figures: Vec<Figure>,
}

/// The identifying numbers of a processor. Families and models are display values, including the extended fields; on Arm, the model is the
/// part number in MIDR.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownBy {
    /// The vendor as reported by CPUID.
    pub vendor: Option<String>,
    /// The family as reported by CPUID.
    pub family: Option<u32>,
    /// The implementer as reported in MIDR.
    pub implementer: Option<u32>,
    /// The models.
    pub models: Vec<u32>,
    /// linespeed's names for the design. If generations share a model number, the name also depends on stepping and features.
    #[serde(default)]
    pub designs: Vec<String>,
    /// The core type on a hybrid machine: `performance` or `efficiency`.
    pub kind: Option<String>,
    /// The source of these numbers.
    pub source: String,
}

/// A published result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// `dram.latency_local`.
    pub what: String,
    /// A regular expression for the models to which the result applies; absent if it applies to all.
    #[serde(default, with = "expression")]
    pub part: Option<Regex>,
    /// Whether the result was measured under a hypervisor.
    #[serde(default)]
    pub guest: bool,
    /// The value, if there is only one.
    pub value: Option<f64>,
    /// The lowest of several values.
    pub low: Option<f64>,
    /// The highest of several values.
    pub high: Option<f64>,
    /// The unit: `ns`, `GB/s`.
    pub unit: String,
    /// The hardware component to which the value refers: `socket`.
    pub per: Option<String>,
    /// `measured`, `vendor`, `computed`.
    pub kind: String,
    /// The publishers.
    pub sources: Vec<String>,
    /// The measurement conditions, in words.
    pub note: Option<String>,
}

/// Reads a regular expression and compiles it.
mod expression {
    use regex_lite::{Regex, RegexBuilder};
    use serde::{Deserialize, Deserializer, de::Error};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Regex>, D::Error> {
        let text: Option<String> = Deserialize::deserialize(from)?;
        // Firmware may report names in upper case, and users may type them in lower case.
        let read = |text: String| RegexBuilder::new(&text).case_insensitive(true).build();
        text.map(|text| read(text).map_err(Error::custom)).transpose()
    }
}

/// The built-in data; a test reads all of it.
static CORES: LazyLock<Vec<Core>> = LazyLock::new(|| {
    let packed = include_bytes!(concat!(env!("OUT_DIR"), "/cores"));
    let text = miniz_oxide::inflate::decompress_to_vec(packed).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
});

/// Every design and every group.
pub fn all() -> &'static [Core] {
    &CORES
}

/// Names that hypervisors give to emulated processors. The physical processor may be of another model.
static MADE_UP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(AMD EPYC(-\w+)? Processor|Intel (Core|Xeon) Processor|QEMU|Common )").ok()
});

fn has(expression: &Option<Regex>, name: &str) -> bool {
    expression.as_ref().is_some_and(|expression| expression.is_match(name))
}

/// The names that a machine reports for its processor.
pub(crate) fn names(processor: &Processor) -> impl Iterator<Item = &str> {
    [&processor.model_name, &processor.firmware_name].into_iter().flatten().map(String::as_str)
}

impl KnownBy {
    /// Whether a processor has these numbers; `None` if it reports none.
    fn fits(&self, processor: &Processor, kind: Option<&str>) -> Option<bool> {
        let model = processor.model?;
        let of_maker = match (self.implementer, self.family) {
            (Some(implementer), _) => processor.implementer? == implementer,
            (None, family) => {
                processor.family.is_some() && processor.family == family && processor.vendor == self.vendor
            }
        };
        let design = processor.microarchitecture.as_ref();
        let is_design = self.designs.is_empty() || design.is_none_or(|own| self.designs.contains(own));
        let is_kind = self.kind.is_none() || self.kind.as_deref() == kind;
        Some(of_maker && self.models.contains(&model) && is_design && is_kind)
    }
}

impl Core {
    fn is_of(&self, processor: &Processor, kind: Option<&str>) -> bool {
        // On Arm, each core type is identified by its part number; the machine's numbers are those of the first core.
        let named_kind = kind.filter(|_| processor.implementer.is_some());
        if let Some(part) = named_kind {
            return has(&self.names, part);
        }
        let tells_numbers =
            processor.model.is_some() && (processor.family.is_some() || processor.implementer.is_some());
        let named = || names(processor).any(|name| has(&self.names, name));
        let by_numbers = self.known_by.iter().any(|known| known.fits(processor, kind) == Some(true));
        let names_fit = || {
            let stated: Vec<&str> = names(processor).collect();
            (self.only.is_none() || stated.is_empty() || stated.iter().any(|name| has(&self.only, name)))
                && !stated.iter().any(|name| has(&self.except, name))
        };
        if tells_numbers { by_numbers && names_fit() } else { named() && names_fit() }
    }
}

/// The design of a processor, or of one kind of its CPUs; `None` if it is unknown or several match.
fn find(processor: &Processor, kind: Option<&str>) -> Option<&'static Core> {
    if names(processor).any(|name| has(&MADE_UP, name)) {
        return None;
    }
    let mut fitting = all().iter().filter(|core| core.is_of(processor, kind));
    fitting.next().filter(|_| fitting.next().is_none())
}

/// The design of all CPUs of a machine; `None` if it has several kinds.
pub fn of_machine(machine: &Machine) -> Option<&'static Core> {
    let online = || machine.cpus.iter().filter(|cpu| cpu.online);
    let kinds: BTreeSet<Option<&str>> = online().map(|cpu| cpu.kind.as_deref()).collect();
    let mut kinds = kinds.into_iter();
    let kind = kinds.next().flatten();
    if kinds.next().is_some() { None } else { find(&machine.processor, kind) }
}

/// The design of one CPU of a machine.
pub fn of_cpu(machine: &Machine, cpu: u64) -> Option<&'static Core> {
    let cpu = machine.cpus.iter().find(|own| u64::from(own.id) == cpu);
    match cpu.and_then(|cpu| cpu.kind.as_deref()) {
        Some(kind) => find(&machine.processor, Some(kind)),
        None => of_machine(machine),
    }
}

/// The design whose model name occurs in a text; `None` if no design matches, or if several do.
pub fn named_in(words: &str) -> Option<&'static Core> {
    let mut named = all().iter().filter(|core| has(&core.names, words) && !has(&core.except, words));
    named.next().filter(|_| named.next().is_none())
}
