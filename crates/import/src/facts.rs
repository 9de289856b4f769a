//! Facts from inventory tools, before the outputs of one machine are combined.

use std::collections::BTreeMap;

use record::CpuList;
use record::cpu_list::CpuListError;
use record::import::{Contradiction, Origin};
use record::machine::CacheKind;

use crate::cache_size::Printed;
use crate::numbers::{parse_number, split_size};

/// A value and its source.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fact<T> {
    /// The value.
    pub value: T,
    /// The source of the value.
    pub origin: Origin,
}

impl<T: Clone> Fact<T> {
    /// The value of a fact, if there is one.
    pub(crate) fn value_of(fact: &Option<Self>) -> Option<T> {
        fact.as_ref().map(|fact| fact.value.clone())
    }
}

/// A contradiction between two statements.
pub(crate) fn contradict(says: String, one: &Origin, other: &Origin) -> Contradiction {
    Contradiction { says, origins: vec![one.clone(), other.clone()] }
}

/// All facts from the outputs of one machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// One entry for each output of lscpu.
    pub lscpu: Vec<Lscpu>,
    /// The rows of `lscpu -e` and `lscpu -p`.
    pub rows: Vec<CpuRow>,
    /// An incomplete row in the same table as `rows`; more rows may be missing.
    pub broken_row: Option<Origin>,
    /// The rows of `lscpu -C`.
    pub cache_rows: Vec<CacheRow>,
    /// One entry for each output of `numactl -H`.
    pub numactl: Vec<Numactl>,
    /// The board's memory slots, one entry per output of dmidecode that lists all arrays.
    pub slots: Vec<Fact<u32>>,
    /// Processors from SMBIOS.
    pub sockets: Vec<Socket>,
    /// The number of processors in a complete SMBIOS table, one entry per table.
    pub populated: Vec<Fact<machine::smbios::Populated>>,
    /// Total bytes of memory, from lshw.
    pub memory: Option<Fact<u64>>,
    /// The content of files on the machine, by their paths.
    pub files: BTreeMap<String, Fact<String>>,
    /// The origins of two files that cannot be from the same machine.
    pub clash: Option<[Origin; 2]>,
    /// For each kind of line in the kernel log: the number of lines, the reason stated in the first one, and the position of the last one.
    pub log: BTreeMap<String, (u64, Fact<String>)>,
}

/// The values of lscpu's list, as named in `labels.txt`.
pub(crate) mod key {
    pub(crate) const ARCHITECTURE: &str = "architecture";
    pub(crate) const CACHE: &str = "cache";
    pub(crate) const CORES_PER_SOCKET: &str = "cores_per_socket";
    pub(crate) const CPUS: &str = "cpus";
    pub(crate) const FLAGS: &str = "flags";
    pub(crate) const MODEL_NAME: &str = "model_name";
    pub(crate) const NODES: &str = "nodes";
    pub(crate) const NODE_CPUS: &str = "node_cpus";
    pub(crate) const OFFLINE: &str = "offline";
    pub(crate) const ONLINE: &str = "online";
    pub(crate) const SOCKETS: &str = "sockets";
    pub(crate) const THREADS_PER_CORE: &str = "threads_per_core";
    pub(crate) const VENDOR: &str = "vendor";
}

/// Values from lscpu's list, for the machine or for one kind of core, by [`key`]: clocks in Hz, switches as 0 and 1.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values(pub BTreeMap<&'static str, Fact<String>>);

impl Values {
    pub(crate) fn get(&self, key: &str) -> Option<&Fact<String>> {
        self.0.get(key)
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key).map(|fact| fact.value.as_str())
    }

    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.text(key)?.parse().ok()
    }

    /// A count, at most 65,536.
    pub(crate) fn count(&self, key: &str) -> Option<u32> {
        self.text(key)?.parse().ok()
    }

    pub(crate) fn cpus(&self, key: &str) -> Option<CpuList> {
        self.text(key)?.parse().ok()
    }
}

/// One output of lscpu.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lscpu {
    /// Values that occur only once.
    pub machine: Values,
    /// One entry for each kind of core: a single entry except on hybrid machines.
    pub kinds: Vec<Values>,
    /// CPUs of each node.
    pub node_cpus: BTreeMap<u32, Fact<CpuList>>,
    /// Whether the text ended in the middle of the flags.
    pub cut_flags: bool,
    /// Caches in the order of the output.
    pub caches: Vec<Fact<CacheFact>>,
    /// The kernel's mitigation of each vulnerability.
    pub vulnerabilities: BTreeMap<String, Fact<String>>,
}

/// Level and kind of a cache.
pub(crate) type CacheName = (u32, CacheKind);

/// One kind of cache in lscpu's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CacheFact {
    /// Level and kind.
    pub cache: CacheName,
    /// Size of one such cache in bytes, if known.
    pub bytes: Option<u64>,
    /// Number of such caches.
    pub instances: Option<u32>,
}

/// A row of `lscpu -e` or `-p`. Except for cores, the numbers that lscpu prints are unique across the machine.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CpuRow {
    /// The CPU.
    pub cpu: u32,
    /// The CPU's core; with `-y`, cores of other packages or clusters may have the same number.
    pub core: Option<u32>,
    /// The CPU's package.
    pub socket: Option<u32>,
    /// The CPU's cluster.
    pub cluster: Option<u32>,
    /// The CPU's node.
    pub node: Option<u32>,
    /// The CPU's caches and their numbers.
    pub caches: Vec<(CacheName, u32)>,
    /// Whether the CPU is online.
    pub online: bool,
    /// Whether the table has a row for every CPU, including offline CPUs (`-e`).
    pub of_all: bool,
    /// Whether the command line above the table may have left out other rows.
    pub selected: bool,
    /// Highest and lowest clock, Hz.
    pub hz: (Option<u64>, Option<u64>),
    /// The source of the row.
    pub origin: Origin,
}

/// A row of `lscpu -C`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CacheRow {
    /// Level and kind.
    pub cache: CacheName,
    /// The size of the first cache and the total size of all caches, bytes.
    pub bytes: (Option<Printed>, Option<Printed>),
    /// Associativity.
    pub ways: Option<u32>,
    /// Bytes of a line.
    pub line: Option<u32>,
    /// The source of the row.
    pub origin: Origin,
}

/// One output of `numactl -H`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numactl {
    /// The number of nodes, as printed.
    pub available: Option<Fact<u32>>,
    /// Each node.
    pub nodes: BTreeMap<u32, NumactlNode>,
    /// The nodes of the columns in the distance table.
    pub columns: Vec<u32>,
    /// The rows of the distance table, by node.
    pub distances: BTreeMap<u32, Fact<Vec<u32>>>,
}

/// A node in the output of `numactl -H`.
#[derive(Clone, Debug, Default)]
pub(crate) struct NumactlNode {
    /// The node's CPUs.
    pub cpus: Option<Fact<CpuList>>,
    /// The node's memory in bytes.
    pub bytes: Option<Fact<u64>>,
    /// The node's free memory in bytes.
    pub free: Option<Fact<u64>>,
}

/// A populated socket from SMBIOS.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Socket {
    /// The processor's name.
    pub name: Option<Fact<String>>,
    /// The clock set by the firmware, Hz.
    pub hz: Option<Fact<u64>>,
    /// Whether the structure was complete; if not, only some of its lines were found.
    pub whole: bool,
}

impl Lscpu {
    /// Whether the CPU has a feature that every kernel lists; `None` if flags may be missing. x86 kernels list flags in a fixed order, in
    /// which `lahf_lm`, a feature of all 64-bit CPUs, follows the flags used here.
    pub(crate) fn has_flag(&self, name: &str) -> Option<bool> {
        let flags = self.machine.text(key::FLAGS)?;
        let has = |name: &str| flags.split_ascii_whitespace().any(|flag| flag == name);
        has(name).then_some(true).or((has("lahf_lm") && !self.cut_flags).then_some(false))
    }
}

/// Possible clocks of a processor, MHz: the range includes the lowest idle clock that drivers advertise and the overclocking record.
const MHZ: std::ops::RangeInclusive<f64> = 1.0..=10_000.0;

/// A possible clock of a processor in Hz, from the printed megahertz.
pub(crate) fn parse_mhz(text: &str) -> Option<u64> {
    let (mhz, _) = parse_number(text).filter(|(mhz, _)| MHZ.contains(mhz))?;
    Some((mhz * 1e6).round() as u64)
}

/// `46 bits physical, 48 bits virtual`
pub(crate) fn parse_address_bits(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse::<u32>().ok());
    Some((numbers.next()?, numbers.next()?)).filter(|bits| bits.0 <= 64 && bits.1 <= 64)
}

/// The common name of an architecture, for which `uname`, Debian and the kernel have different names.
pub(crate) fn architecture(word: &str) -> &str {
    match word {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        "ppc64el" => "ppc64le",
        word => word,
    }
}

/// A list of CPUs in the kernel's format, or with strides as printed by newer versions of lscpu (`0-62:2`).
pub(crate) fn parse_cpus(text: &str) -> Result<CpuList, CpuListError> {
    let mut all = CpuList::new();
    // Documents may use other dashes.
    for part in text.replace(['–', '‑', '−'], "-").split(',') {
        let (range, stride) = part.split_once(':').unwrap_or((part, "1"));
        let stride = stride.trim().parse().ok().filter(|stride| *stride > 0);
        let stride: usize =
            stride.ok_or_else(|| CpuListError::NotANumber(part.chars().take(20).collect()))?;
        let range: CpuList = range.parse()?;
        all =
            if stride == 1 { all.union(&range) } else { all.union(&range.iter().step_by(stride).collect()) };
    }
    Ok(all)
}

/// The level and kind of a cache named `L1d` or `L2`.
pub(crate) fn parse_cache_name(name: &str) -> Option<CacheName> {
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

/// A size in a binary unit in any notation (`32K`, `1.5 MiB`, `32 GB`), and whether the unit has an IEC prefix.
pub(crate) fn parse_size(text: &str) -> Option<(u64, bool)> {
    let (value, shift, unit) = split_size(text).filter(|(.., unit)| !unit.is_empty())?;
    let bytes = value * (1_u64 << shift) as f64;
    (bytes < 2f64.powi(60)).then(|| (bytes.round() as u64, unit.ends_with("iB")))
}

/// A value without the comment after it: `2      // two threads a core`.
pub(crate) fn strip_comment(text: &str) -> &str {
    // Every mark that begins a comment contains one of these bytes.
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
        assert_eq!(parse_size("32K"), Some((32 << 10, false)));
        assert_eq!(parse_size("1.5 MiB (48 instances)"), Some((3 << 19, true)));
        assert_eq!(parse_size("1,5 MiB"), Some((3 << 19, true)));
        assert_eq!(parse_size("32 GB"), Some((32 << 30, false)));
        assert_eq!(parse_size("785826 MB"), Some((785_826 << 20, false)));
        for bad in ["32 GB or 64 GB", "16 GB 512 MB", "32768 MBx", "32 MiB (1 instance) or so", "1,024 KiB"] {
            assert_eq!(parse_size(bad), None, "{bad}");
        }
        for bad in ["", "K", "12", "9999999999999999 TB", "1 Z"] {
            assert_eq!(parse_size(bad), None, "{bad}");
        }
    }

    #[test]
    fn comments_of_people_go_and_values_stay() {
        assert_eq!(strip_comment("2      //每个物理core有两个超线程"), "2");
        assert_eq!(strip_comment("2 TB  //最大支持2T"), "2 TB");
        assert_eq!(strip_comment("http://x"), "http://x");
        assert_eq!(strip_comment("4  # four"), "4");
    }

    #[test]
    fn lists_of_cpus_may_have_strides() {
        for (text, list) in
            [("0-3,8", "0-3,8"), ("0-6:2", "0,2,4,6"), ("0-8:4,1-9:4", "0-1,4-5,8-9"), ("", "")]
        {
            assert_eq!(parse_cpus(text).unwrap().to_string(), list, "{text}");
        }
        for bad in ["0-6:0", "0-6:x", "0-6:", "a:2", "0-999999999:2"] {
            assert!(parse_cpus(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn caches_have_a_level_and_a_kind() {
        assert_eq!(parse_cache_name("L1d"), Some((1, CacheKind::Data)));
        assert_eq!(parse_cache_name("L1i"), Some((1, CacheKind::Instruction)));
        assert_eq!(parse_cache_name("L3"), Some((3, CacheKind::Unified)));
        assert!(["L", "L0", "L1x", "Lx", "cache", "L座"].iter().all(|name| parse_cache_name(name).is_none()));
    }
}
