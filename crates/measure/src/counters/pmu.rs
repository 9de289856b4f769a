//! Reads the CPUs' PMUs in sysfs (`/sys/bus/event_source/devices`), and converts textual events
//! (`event=0x3c,umask=0x0`) to the kernel's config words. Each unit's `format` directory lists the bits of each term
//! (`config:0-7,32-35`). Format: `Documentation/ABI/testing/sysfs-bus-event_source-devices-*`.

use std::collections::BTreeMap;

use machine::Root;
use machine::text::number;
use record::CpuList;

use super::attr::Code;

/// The directory of the units.
pub(super) const DEVICES: &str = "/sys/bus/event_source/devices";
/// Maximum number of core units read. No machine has more than four kinds of core.
const MOST: usize = 16;
/// Maximum length of an event description; the kernel's descriptions are below 100 characters.
const LONGEST: usize = 4096;

/// A core PMU. A machine with several kinds of core has one PMU per kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pmu {
    /// The name of the PMU's directory: `cpu`, `cpu_core`, `armv8_pmuv3_0`.
    pub name: String,
    /// The type number for opening its own events.
    pub kind: u32,
}

/// The PMUs of the cores. Empty if there is none; `None` if sysfs has no information.
pub(super) fn core_units(root: &Root) -> Option<Vec<Pmu>> {
    if !root.exists(DEVICES) {
        return None;
    }
    // x86 names are tried first: with hundreds of uncore units, reading all of them takes longer than everything else
    // here.
    let known = ["cpu", "cpu_core", "cpu_atom", "cpu_lowpower"];
    let mut units: Vec<Pmu> = known.iter().filter_map(|name| unit(root, name)).collect();
    if units.is_empty() && !cfg!(target_arch = "x86_64") || units.is_empty() && !root.is_live() {
        // On other architectures, a core's unit lists its CPUs in `cpus`; an uncore unit has a `cpumask`.
        let is_core = |name: &&String| root.exists(&format!("{DEVICES}/{name}/cpus"));
        let names = root.list(DEVICES);
        units = names.iter().filter(is_core).filter_map(|name| unit(root, name)).take(MOST).collect();
    }
    Some(units)
}

/// The unit of this name.
pub(super) fn unit(root: &Root, name: &str) -> Option<Pmu> {
    let folder = format!("{DEVICES}/{name}");
    let kind = root.number(&format!("{folder}/type"))?;
    let cpus = root.cpu_list(&format!("{folder}/cpus"));
    // If none of its CPUs is online, a PMU counts nothing.
    if cpus.as_ref().is_some_and(CpuList::is_empty) {
        return None;
    }
    Some(Pmu { name: name.to_owned(), kind })
}

impl Pmu {
    pub(super) fn file(&self, path: &str) -> String {
        format!("{DEVICES}/{}/{path}", self.name)
    }

    /// An event that the unit describes in its `events` directory.
    pub(super) fn event(&self, root: &Root, name: &str) -> Option<Code> {
        self.encode(root, &root.text(&self.file(&format!("events/{name}")))?)
    }

    /// The factor for a count of that event; 1 if none is listed.
    pub(super) fn scale(&self, root: &Root, name: &str) -> f64 {
        let scale: Option<f64> = root.number(&self.file(&format!("events/{name}.scale")));
        scale.filter(|scale| scale.is_finite() && *scale > 0.0).unwrap_or(1.0)
    }

    /// A numeric capability of the unit, such as `slots` on Arm.
    pub(super) fn capability(&self, root: &Root, name: &str) -> Option<u64> {
        root.text(&self.file(&format!("caps/{name}"))).and_then(|text| number(&text))
    }

    /// An event written as `event=0x1a0,umask=0x1`.
    pub(super) fn encode(&self, root: &Root, text: &str) -> Option<Code> {
        let mut format = BTreeMap::new();
        for (term, _) in terms(text)? {
            if let Some(field) = root.text(&self.file(&format!("format/{term}"))) {
                format.insert(term, field);
            }
        }
        encode(self.kind, text, &format)
    }
}

/// The terms of an event and their values; `None` if the text does not have the kernel's documented form. A term
/// without a value is set to 1.
fn terms(text: &str) -> Option<Vec<(String, u64)>> {
    if text.len() > LONGEST {
        return None;
    }
    let each = |part: &str| {
        let (term, value) = match part.split_once('=') {
            Some((term, value)) => (term.trim(), number(value)?),
            None => (part.trim(), 1),
        };
        // The name becomes part of a path, so its characters are checked.
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        (!term.is_empty() && term.chars().all(plain)).then(|| (term.to_owned(), value))
    };
    text.trim().split(',').map(each).collect()
}

/// Encodes an event's terms according to the unit's format files; `None` if a term is unknown or a value has more bits
/// than its term.
fn encode(kind: u32, text: &str, format: &BTreeMap<String, String>) -> Option<Code> {
    let mut words = [0u64; 3];
    for (term, value) in terms(text)? {
        // perf's own terms, which units need not list.
        let raw = ["config", "config1", "config2"].iter().position(|name| *name == term);
        if let Some(word) = raw.filter(|_| !format.contains_key(&term)) {
            words[word] |= value;
            continue;
        }
        let (word, ranges) = field_of(format.get(&term)?)?;
        let mut left = value;
        for (low, high) in ranges {
            let bits = high - low + 1;
            let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
            words[word] |= (left & mask) << low;
            left = left.checked_shr(bits).unwrap_or(0);
        }
        if left != 0 {
            return None;
        }
    }
    Some(Code { kind, config: words[0], config1: words[1], config2: words[2] })
}

/// Parses a format file (`config:0-7,32-35`): the config word, and the bits in it, in order from the value's lowest bit.
fn field_of(text: &str) -> Option<(usize, Vec<(u32, u32)>)> {
    let (word, bits) = text.trim().split_once(':')?;
    let word = ["config", "config1", "config2"].iter().position(|name| *name == word)?;
    let mut ranges = Vec::new();
    for range in bits.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let bit = |text: &str| text.trim().parse::<u32>().ok().filter(|bit| *bit < 64);
        let (low, high) = (bit(low)?, bit(high)?);
        if low > high || ranges.len() == 64 {
            return None;
        }
        ranges.push((low, high));
    }
    Some((word, ranges))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn format(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn a_term_fills_its_bits_even_when_they_lie_apart() {
        // AMD's 12-bit event number; Linux stores its upper part at bit 32.
        let amd =
            format(&[("event", "config:0-7,32-35"), ("umask", "config:8-15"), ("cmask", "config:24-31")]);
        let code = encode(4, "event=0x1a0,umask=0x1e", &amd).unwrap();
        assert_eq!(code, Code { kind: 4, config: 0x1_0000_1ea0, ..Code::default() });
        assert_eq!(encode(4, "event=0xd,umask=0x3,cmask=1", &amd).unwrap().config, 0x0100_030d);
    }

    #[test]
    fn a_switch_is_one_bit_and_other_words_are_reached() {
        let fields = format(&[("event", "config:0-15"), ("long", "config1:0"), ("any", "config:21")]);
        let code = encode(8, "event=0x11,long,any=1", &fields).unwrap();
        assert_eq!(code, Code { kind: 8, config: 1 << 21 | 0x11, config1: 1, config2: 0 });
        assert_eq!(encode(8, "config=0x12,config2=7", &fields).unwrap().config2, 7);
    }

    #[test]
    fn what_does_not_fit_is_refused_not_cut() {
        let fields = format(&[("event", "config:0-7"), ("bad", "config:9-2"), ("worse", "nonsense")]);
        // Too large; unknown term; not of the documented form; a parameter for the user to fill in; a path.
        for event in ["event=0x1a0", "umask=1", "bad=1", "worse=1", "event=?", "../../type=1", ""] {
            assert_eq!(encode(4, event, &fields), None, "{event}");
        }
    }

    proptest! {
        #[test]
        fn no_text_brings_it_down(text in ".{0,80}", field in ".{0,40}", bits in "config[12]?:[-0-9,]{0,20}") {
            let _ = encode(4, &text, &format(&[("event", &field), ("umask", &bits)]));
            let _ = encode(4, "event=0xffffffffffffffff,umask=18446744073709551615", &format(&[("event", &bits),
                ("umask", &bits)]));
            let _ = field_of(&field);
        }

        #[test]
        fn every_value_that_fits_comes_out_again(value in 0u64..4096) {
            let fields = format(&[("event", "config:0-7,32-35")]);
            let config = encode(4, &format!("event={value:#x}"), &fields).unwrap().config;
            prop_assert_eq!(config & 0xff | (config >> 32) << 8, value);
        }
    }
}
