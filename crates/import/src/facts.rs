//! What inventory tools told, before the outputs of one machine are put together.

use std::collections::BTreeMap;

use record::CpuList;
use record::import::Origin;
use record::machine::CacheKind;

/// A value and where it stood.
#[derive(Clone, Debug, PartialEq)]
pub struct Told<T> {
    /// The value.
    pub value: T,
    /// Where it stood.
    pub origin: Origin,
}

/// Everything.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// One entry for each output of lscpu.
    pub lscpu: Vec<Lscpu>,
    /// The rows of `lscpu -e` and `lscpu -p`.
    pub rows: Vec<CpuRow>,
    /// The rows of `lscpu -C`.
    pub cache_rows: Vec<CacheRow>,
    /// One entry for each output of `numactl -H`.
    pub numactl: Vec<Numactl>,
    /// Processors out of SMBIOS.
    pub sockets: Vec<Socket>,
    /// Bytes of memory in all, as lshw tells them.
    pub memory: Option<Told<u64>>,
}

/// One output of lscpu.
#[derive(Clone, Debug, Default)]
pub struct Lscpu {
    /// `x86_64`, `aarch64`…
    pub architecture: Option<Told<String>>,
    /// CPUs present.
    pub cpus: Option<Told<u32>>,
    /// CPUs online.
    pub online: Option<Told<CpuList>>,
    /// CPUs offline.
    pub offline: Option<Told<CpuList>>,
    /// NUMA nodes.
    pub nodes: Option<Told<u32>>,
    /// CPUs of each node.
    pub node_cpus: BTreeMap<u32, Told<CpuList>>,
    /// One entry for each kind of core.
    pub kinds: Vec<CoreKind>,
    /// Vendor.
    pub vendor: Option<Told<String>>,
    /// Features, separated by spaces.
    pub flags: Option<Told<String>>,
    /// Caches in the order of the output.
    pub caches: Vec<Told<CacheFact>>,
    /// `46 bits physical, 48 bits virtual`.
    pub address_bits: Option<Told<(u32, u32)>>,
    /// The hypervisor.
    pub hypervisor: Option<Told<String>>,
    /// Whether boost is on.
    pub boost: Option<Told<bool>>,
    /// A clock of the moment, Hz; of which CPU is not told.
    pub current_hz: Option<Told<u64>>,
    /// What the kernel does about each vulnerability.
    pub vulnerabilities: BTreeMap<String, Told<String>>,
}

/// One kind of core: all there are, but on hybrid machines.
#[derive(Clone, Debug, Default)]
pub struct CoreKind {
    /// Model name.
    pub model_name: Option<Told<String>>,
    /// The model's name as the firmware tells it.
    pub firmware_name: Option<Told<String>>,
    /// x86 family.
    pub family: Option<Told<u32>>,
    /// x86 model.
    pub model: Option<Told<u32>>,
    /// Stepping, or Arm's `r1p0`.
    pub stepping: Option<Told<String>>,
    /// Threads of a core.
    pub threads_per_core: Option<Told<u32>>,
    /// Cores of a package.
    pub cores_per_socket: Option<Told<u32>>,
    /// Cores of a cluster.
    pub cores_per_cluster: Option<Told<u32>>,
    /// Packages.
    pub sockets: Option<Told<u32>>,
    /// Clusters.
    pub clusters: Option<Told<u32>>,
    /// Highest clock, Hz.
    pub max_hz: Option<Told<u64>>,
    /// Lowest clock, Hz.
    pub min_hz: Option<Told<u64>>,
}

/// One kind of cache as lscpu tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheFact {
    /// Level.
    pub level: u32,
    /// Kind.
    pub kind: CacheKind,
    /// Bytes of one, where that is told.
    pub bytes: Option<u64>,
    /// How many there are.
    pub instances: Option<u32>,
}

/// A row of `lscpu -e` or `-p`. Numbers are lscpu's own, counted over the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuRow {
    /// The CPU.
    pub cpu: u32,
    /// Its core.
    pub core: Option<u32>,
    /// Its package.
    pub socket: Option<u32>,
    /// Its cluster.
    pub cluster: Option<u32>,
    /// Its node.
    pub node: Option<u32>,
    /// Its caches: name (`L1d`) and number.
    pub caches: Vec<(String, u32)>,
    /// Whether it is online.
    pub online: bool,
    /// Highest and lowest clock, Hz.
    pub hz: (Option<u64>, Option<u64>),
    /// Where it stood.
    pub origin: Origin,
}

/// A row of `lscpu -C`.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheRow {
    /// `L1d`.
    pub name: String,
    /// Bytes of one and of all.
    pub bytes: (Option<u64>, Option<u64>),
    /// Associativity.
    pub ways: Option<u32>,
    /// Bytes of a line.
    pub line: Option<u32>,
    /// Where it stood.
    pub origin: Origin,
}

/// One output of `numactl -H`.
#[derive(Clone, Debug, Default)]
pub struct Numactl {
    /// How many nodes it says there are.
    pub available: Option<Told<u32>>,
    /// Each node.
    pub nodes: BTreeMap<u32, NumactlNode>,
    /// The nodes of the distance table's columns.
    pub columns: Vec<u32>,
    /// Its rows by node.
    pub distances: BTreeMap<u32, Told<Vec<u32>>>,
}

/// A node as `numactl -H` tells it.
#[derive(Clone, Debug, Default)]
pub struct NumactlNode {
    /// Its CPUs.
    pub cpus: Option<Told<CpuList>>,
    /// Its memory in bytes.
    pub bytes: Option<Told<u64>>,
    /// Its free memory in bytes.
    pub free: Option<Told<u64>>,
}

/// A populated socket out of SMBIOS.
#[derive(Clone, Debug, PartialEq)]
pub struct Socket {
    /// The processor's name.
    pub name: Option<Told<String>>,
    /// The clock that the firmware set it to, Hz.
    pub hz: Option<Told<u64>>,
    /// Whether the whole structure was seen, and not single lines of it.
    pub whole: bool,
}

/// The level and kind of a cache called `L1d`, `L2`.
pub fn cache_name(name: &str) -> Option<(u32, CacheKind)> {
    let rest = name.trim().strip_prefix(['L', 'l'])?;
    let level = rest.chars().next()?.to_digit(10).filter(|level| (1..=9).contains(level))?;
    let kind = match &rest[1..] {
        "d" => CacheKind::Data,
        "i" => CacheKind::Instruction,
        "" => CacheKind::Unified,
        _ => return None,
    };
    Some((level, kind))
}

/// A number with a decimal point or comma, at the beginning of `text`, and what follows it.
pub fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ','))).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let digits = digits.trim_end_matches(['.', ',']);
    let value = digits.replace(',', ".").parse().ok()?;
    Some((value, rest.trim_start()))
}

/// A size with a binary unit, whether it is written so or not: `32K`, `1.5 MiB`, `32 GB`; and whether the unit was
/// written as IEC has it.
pub fn size(text: &str) -> Option<(u64, bool)> {
    let (value, rest) = number(text)?;
    let unit = &rest[..rest.bytes().take_while(u8::is_ascii_alphabetic).count()];
    let is = |names: &[&str]| names.iter().any(|name| unit.eq_ignore_ascii_case(name));
    let units: [&[&str]; 5] =
        [&["b", "bytes"], &["k", "kb", "kib"], &["m", "mb", "mib"], &["g", "gb", "gib"], &["t", "tb", "tib"]];
    let shift = 10 * units.iter().position(|names| is(names))?;
    let bytes = value * (1_u64 << shift) as f64;
    (bytes < 2f64.powi(60)).then(|| (bytes.round() as u64, unit.ends_with("iB")))
}

/// A value without what people wrote behind it: `2      // two threads a core`.
pub fn without_comment(text: &str) -> &str {
    // Each of the marks has one of these.
    if !text.bytes().any(|b| matches!(b, b'/' | b'#' | b'<' | 0xe2)) {
        return text.trim();
    }
    let mut end = text.len();
    for mark in [" //", "\t//", " # ", "\t# ", " <--", " <- ", " ← "] {
        end = end.min(text.find(mark).unwrap_or(end));
    }
    text[..end].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_however_they_are_written() {
        assert_eq!(size("32K"), Some((32 << 10, false)));
        assert_eq!(size("1.5 MiB (48 instances)"), Some((3 << 19, true)));
        assert_eq!(size("1,5 MiB"), Some((3 << 19, true)));
        assert_eq!(size("32 GB"), Some((32 << 30, false)));
        assert_eq!(size("785826 MB"), Some((785_826 << 20, false)));
        for bad in ["", "K", "12", "9999999999999999 TB", "1 Z"] {
            assert_eq!(size(bad), None, "{bad}");
        }
    }

    #[test]
    fn comments_of_people_go_and_values_stay() {
        assert_eq!(without_comment("2      //每个物理core有两个超线程"), "2");
        assert_eq!(without_comment("2 TB  //最大支持2T"), "2 TB");
        assert_eq!(without_comment("http://x"), "http://x");
        assert_eq!(without_comment("4  # four"), "4");
    }

    #[test]
    fn caches_have_a_level_and_a_kind() {
        assert_eq!(cache_name("L1d"), Some((1, CacheKind::Data)));
        assert_eq!(cache_name("L1i"), Some((1, CacheKind::Instruction)));
        assert_eq!(cache_name("L3"), Some((3, CacheKind::Unified)));
        assert!(["L", "L0", "L1x", "Lx", "cache", "L座"].iter().all(|name| cache_name(name).is_none()));
    }
}
