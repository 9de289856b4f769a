//! Combines the outputs from one machine. Values that no output contains remain absent.

mod caches;
mod cpus;
mod files;
mod merge;

use std::collections::{BTreeMap, BTreeSet};

use record::import::{Contradiction, Import, NotUnderstood, Text, Withheld};
use record::{Coverage, Label, Machine, Measurement, Record, Snapshot, detail, text};

use crate::error::Error;
use crate::facts::{Fact, Facts, Lscpu, Values, architecture, key, parse_address_bits};
use crate::sections::Section;
use crate::sink::Draft;

/// One machine, as described by other tools' output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The machine's name in the text: a host name or a heading; `None` if the text contains no name.
    pub name: Option<String>,
    /// The inventory, without values that no output contains.
    pub machine: Machine,
    /// The machine's state, if a tool reports it.
    pub state: Snapshot,
    /// Results, each with its origin.
    pub measurements: Vec<Measurement>,
    /// Missing information.
    pub coverage: Vec<Coverage>,
    /// The imported outputs, and the source of each value.
    pub import: Import,
}

impl Imported {
    /// Fills a new record.
    pub fn into_record(self, mut record: Record) -> Record {
        record.machine = self.machine;
        record.conditions.before = self.state;
        record.measurements = self.measurements;
        record.coverage = self.coverage;
        record.import = Some(self.import);
        record
    }
}

/// Combines the outputs of one machine.
pub(crate) fn assemble(
    section: Section,
    texts: &[Text],
    not_understood: &NotUnderstood,
) -> Result<Imported, Error> {
    let name = section.name();
    let Section { host, mut draft, outputs, .. } = section;
    let mut facts = std::mem::take(&mut draft.facts);
    let mut machine = std::mem::take(&mut draft.machine);
    let mut state = std::mem::take(&mut draft.state);
    let mut coverage = Vec::new();
    machine.hostname = machine.hostname.or(host);
    let lscpu = merge::lscpu(&facts.lscpu, &mut draft.contradictions)?;
    let numactl = merge::numactl(std::mem::take(&mut facts.numactl), &lscpu)?;
    merge::slots(&facts)?;
    merge::caches(&facts, &lscpu)?;
    if let Some(withheld) = merge::rows(&facts, &lscpu, cpus::known(&lscpu, &numactl, &facts, &machine))? {
        draft.withheld.push(withheld);
        facts.rows.clear();
    }
    processor(&lscpu, &facts, &mut machine, &mut state);
    cpus::fill(&lscpu, &numactl, &facts, &mut machine, &mut draft.contradictions);
    if lscpu.kinds.is_empty() {
        draft.inventory.extend(cpus::by_firmware(&facts, &mut machine));
    }
    let mut of_caches = Vec::new();
    caches::fill(&lscpu, &facts, &mut machine, &mut of_caches);
    if let Some(hz) = lscpu.machine.number("mhz") {
        // If there are several CPUs, the clock cannot be assigned to one of them.
        let only = machine.cpus.iter().map(|cpu| cpu.id).filter(|_| machine.cpus.len() == 1);
        let (cpus, current_hz) = (only.collect(), Some((hz, hz)));
        state.clocks.push(record::conditions::ClockSetting { cpus, current_hz, ..Default::default() });
    }
    draft.inventory.extend(files::read(&facts, &lscpu, &mut machine, &mut state)?);
    machine::by_design(&mut machine);
    cpus::not_placed(&facts, &machine, &mut coverage);
    coverage.append(&mut of_caches);
    if draft.entries() == 0 {
        return Err(Error::NothingRead { tools: outputs.into_iter().map(|output| output.tool).collect() });
    }
    let cpus = machine.counts.cpus_online.or(machine.counts.cpus_present);
    let cached: u64 =
        machine.caches.iter().filter(|cache| cache.level == 3).filter_map(|cache| cache.bytes).sum();
    for m in &mut draft.measurements {
        let arrays = m.detail.get(detail::ARRAY_BYTES).filter(|_| m.method.as_deref() == Some("STREAM"));
        if arrays.is_some_and(|bytes| bytes as f64 * 3.0 < cached as f64 * 1.3) {
            m.doubt.get_or_insert_with(|| "not memory bandwidth: the arrays fit in the L3 caches".into());
        }
        if m.labels.get(Label::Threads) == Some(&record::Key::Count(0)) {
            m.labels.0.remove(Label::Threads.name());
            m.labels = std::mem::take(&mut m.labels).with_known(Label::Threads, cpus);
            let why = "it ran on all CPUs, but the text does not contain their number";
            m.doubt = cpus.is_none().then(|| why.into());
        }
    }
    not_reported(&machine, &state, &mut coverage);
    withhold_differing(&mut draft);
    let of_it = |text: &&Text| outputs.iter().any(|output| output.text == text.name);
    // If a path has two sources, the last one is used.
    let mut inventory = BTreeMap::new();
    for (path, origin) in draft.inventory.into_iter().rev() {
        inventory.entry(path).or_insert(origin);
    }
    let import = Import {
        name: name.clone(),
        texts: texts.iter().filter(of_it).cloned().collect(),
        inventory,
        withheld: draft.withheld,
        contradictions: draft.contradictions,
        not_understood: not_understood.clone(),
        outputs,
    };
    Ok(Imported { name, machine, state, measurements: draft.measurements, coverage, import })
}

fn processor(lscpu: &Lscpu, facts: &Facts, machine: &mut Machine, state: &mut Snapshot) {
    let values = &lscpu.machine;
    let text = |of: &Values, key| of.text(key).map(str::to_owned);
    if let Some(word) = values.text(key::ARCHITECTURE) {
        machine.architecture = architecture(word).to_owned();
    }
    let is_x86 = machine.architecture == "x86_64";
    let (own, kind) = (&mut machine.processor, lscpu.kinds.first().cloned().unwrap_or_default());
    own.vendor = own.vendor.take().or(text(values, key::VENDOR));
    own.model_name = own.model_name.take().or(text(&kind, key::MODEL_NAME));
    let named = facts.sockets.iter().find_map(|socket| Fact::value_of(&socket.name));
    // QEMU reports its board's version instead of the processor's name.
    let named = named.filter(|name| !name.starts_with("pc-") && !name.starts_with("virt-"));
    own.firmware_name = own.firmware_name.take().or(named).or(text(&kind, "firmware_name"));
    own.address_bits = values.text("address_sizes").and_then(parse_address_bits).or(own.address_bits);
    let hz = |key| lscpu.kinds.iter().filter_map(move |kind| kind.number(key));
    own.max_hz = hz("max_mhz").max().or(own.max_hz);
    own.min_hz = hz("min_mhz").min().or(own.min_hz);
    let stepping = text(&kind, "stepping");
    if is_x86 {
        own.family = kind.count("family").or(own.family);
        own.model = kind.count("model").or(own.model);
        own.stepping = stepping.and_then(|text| text.parse().ok()).or(own.stepping);
        if let (Some(vendor), Some(family), Some(model)) = (&own.vendor, own.family, own.model) {
            let stepping = own.stepping.unwrap_or(0);
            let flags = values.text(key::FLAGS).unwrap_or_default();
            let identity = machine::x86_names::Identity { vendor, family, model, stepping, flags };
            own.microarchitecture =
                machine::x86_names::microarchitecture(&identity).map(|design| design.to_string());
        }
        let both = lscpu.has_flag("constant_tsc").zip(lscpu.has_flag("nonstop_tsc"));
        own.counter_invariant = both.map(|(constant, nonstop)| constant && nonstop);
    } else {
        own.revision = stepping.filter(|text| text.starts_with('r')).or(own.revision.take());
    }
    if let Some(flags) = values.text(key::FLAGS) {
        own.features = machine::features::select(&machine.architecture, flags);
        let bits = machine::features::vector_bits(&machine.architecture, &own.features);
        own.vector_bits = bits.filter(|_| !lscpu.cut_flags);
    }
    let virtualization = &mut machine.virtualization;
    // The CPU's flags show whether there is a hypervisor.
    let bare = || (is_x86 && !lscpu.has_flag("hypervisor")?).then(|| "none".to_owned());
    let vendor = values.text("hypervisor").map(hypervisor);
    virtualization.hypervisor = vendor.or_else(bare).or(virtualization.hypervisor.take());
    let own = &mut machine.processor;
    let mut names = own.model_name.iter().chain(&own.firmware_name);
    // The clock reported by an Arm machine's firmware is not necessarily the highest clock without boost.
    let of_arm = !is_x86 && !machine.architecture.is_empty();
    let in_name = names.clone().filter(|_| !of_arm).find_map(|name| machine::hz_in_name(name));
    // The firmware reports the clock at boot, which may be a turbo clock on Intel. Virtual firmware reports a
    // fictitious clock.
    let of_boot = virtualization.hypervisor.as_deref().is_none_or(|name| name == "none")
        && !names.any(|name| name.contains("Intel"));
    let hz = facts.sockets.iter().filter(|_| of_boot).find_map(|socket| Fact::value_of(&socket.hz));
    own.base_hz = in_name.or(own.base_hz).or(hz);
    for (name, text) in &lscpu.vulnerabilities {
        machine.kernel.mitigations.insert(name.clone(), text.value.clone());
    }
    state.boost = values.number("boost").map(|on| on == 1).or(state.boost);
}

/// The name of a hypervisor for which lscpu prints only the vendor.
fn hypervisor(vendor: &str) -> String {
    match vendor {
        "Microsoft" | "Windows Subsystem for Linux" => "hyperv".to_owned(),
        vendor => vendor.to_lowercase(),
    }
}

/// Memory results that differ by a larger share are from different machines or settings.
const MOST_APART: f64 = 0.1;

/// Withholds memory and cache results if a tool reports two values for the same labels, and adds a note for the first such case of each
/// metric. Of several iterations of top, withholds the first, which covers the time since boot.
fn withhold_differing(draft: &mut Draft) {
    let of_memory = |m: &Measurement| ["memory", "numa", "load", "core_to_core"].contains(&m.metric.family());
    // `Intel MLC 3.9` and `Intel MLC 3.5` are the same tool.
    let tool = |m: &Measurement| {
        let is_version = |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
        let is_name = |word: &&str| !is_version(word);
        m.method.as_deref().map(|method| method.split(' ').filter(is_name).collect::<Vec<_>>().join(" "))
    };
    // Settings that are not labels, but may distinguish results that have the same labels.
    let settings = |m: &Measurement| {
        let words = [detail::CLASS, detail::WITHIN, detail::ACCESS, detail::TRAFFIC];
        (words.map(|key| m.detail.get(key).map(str::to_owned)), m.detail.get(detail::PROCESSES))
    };
    let place = |m: &Measurement| (m.metric, format!("{:?} {:?} {:?}", m.labels, tool(m), settings(m)));
    let mut found: BTreeMap<String, Contradiction> = BTreeMap::new();
    let mut first: BTreeMap<_, &Measurement> = BTreeMap::new();
    let (mut twofold, mut since_boot) = (BTreeSet::new(), BTreeSet::new());
    let of_top = |m: &Measurement| m.origin.as_ref().is_some_and(|origin| origin.tool == "uptime and top");
    for m in draft.measurements.iter().filter(|m| of_memory(m) || of_top(m)) {
        let known = *first.entry(place(m)).or_insert(m);
        let both = known.origin.as_ref().zip(m.origin.as_ref()).filter(|_| of_top(m));
        let both = both.filter(|(first, now)| first.text == now.text && first.line != now.line);
        since_boot.extend(both.map(|_| format!("{:?}", known.origin)));
        let (one, other) = (known.value(), m.value());
        if of_memory(m) && (one - other).abs() > MOST_APART * one.abs().max(other.abs()) {
            let says = format!(
                "{} is {one} and later {other} {}: two runs or two machines, so both values are discarded",
                m.metric, m.unit
            );
            let origins = known.origin.iter().chain(&m.origin).cloned().collect();
            found.entry(m.metric.into()).or_insert(Contradiction { says, origins });
            twofold.insert(place(m));
        }
    }
    draft.contradictions.extend(found.into_values());
    let (kept, gone) = std::mem::take(&mut draft.measurements)
        .into_iter()
        .partition(|m| !twofold.contains(&place(m)) && !since_boot.contains(&format!("{:?}", m.origin)));
    draft.measurements = kept;
    draft.withheld.extend(gone.into_iter().filter_map(|m: Measurement| {
        let why = if of_top(&m) {
            "the first output of top, perhaps a mean since boot"
        } else {
            "two results with the same labels differ"
        };
        Some(Withheld { what: m.metric.into(), why: why.to_owned(), origin: m.origin? })
    }));
}

/// The values that no output contains, and the tool that would print each of them.
fn not_reported(machine: &Machine, state: &Snapshot, coverage: &mut Vec<Coverage>) {
    let processor = &machine.processor;
    let names = [&processor.vendor, &processor.model_name, &processor.firmware_name];
    let nobody = names.iter().all(|name| name.is_none()) && machine.counts.cores.is_none();
    let apart = machine.counts.nodes != Some(1) && machine.nodes.iter().all(|node| node.distances.is_empty());
    // A clock reading is not a setting.
    let unset = state.clocks.iter().all(|clock| clock.governor.is_none() && clock.max_hz.is_none());
    let nothing = unset && state.boost.is_none() && state.thp.is_none();
    let measure = "run linespeed on the machine: it records governor, boost and load with each result";
    let devices = machine.memory_devices.is_empty();
    let parts = [
        ("processor", nobody, "also import the output of lscpu"),
        ("memory devices", devices, "also import the output of dmidecode -t memory"),
        ("NUMA distances", apart, "also import the output of numactl -H"),
        ("conditions", nothing, measure),
    ];
    for (what, _, remedy) in parts.into_iter().filter(|(_, missing, _)| *missing) {
        let part = Coverage::impossible(what, text!("not in the imported text"));
        coverage.push(part.with_remedy(remedy));
    }
}

#[cfg(test)]
mod tests;
