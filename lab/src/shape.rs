//! A machine's shape: a TOML file that says what QEMU is to build and what the record must then say.

use std::fmt;
use std::path::{Path, PathBuf};

use record::{CpuList, units};
use serde::Deserialize;
use toml::Spanned;

/// Instruction sets that there are kernels and QEMUs for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Architecture {
    /// x86-64 on QEMU's `q35`.
    #[serde(rename = "x86_64")]
    X86_64,
    /// 64-bit Arm on QEMU's `virt`.
    #[serde(rename = "aarch64")]
    Aarch64,
}

impl Architecture {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// The name that the kernel, Rust and records use.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }
}

/// How many of each there are in the one before; all default to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cpus {
    /// Packages (sockets).
    pub packages: u32,
    /// Dies of a package; x86-64 only.
    pub dies: u32,
    /// Clusters of a die; aarch64 only.
    pub clusters: u32,
    /// Cores of a cluster or die.
    pub cores: u32,
    /// Threads of a core, which have neighbouring numbers.
    pub threads: u32,
}

impl Default for Cpus {
    fn default() -> Self {
        Self { packages: 1, dies: 1, clusters: 1, cores: 1, threads: 1 }
    }
}

impl Cpus {
    /// All CPUs.
    pub fn count(&self) -> u32 {
        [self.dies, self.clusters, self.cores, self.threads]
            .iter()
            .fold(self.packages, |count, more| count.saturating_mul(*more))
    }
}

/// One NUMA node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its CPUs; empty for a node of memory alone.
    pub cpus: CpuList,
    /// Its memory in bytes; 0 for a node of CPUs alone.
    pub bytes: u64,
}

/// A memory device that the firmware lists (SMBIOS type 17).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryDevice {
    /// Slot.
    pub locator: String,
    /// Bank.
    pub bank: String,
    /// Size, `32GiB`; nothing for an empty slot.
    #[serde(default)]
    pub size: Option<String>,
    /// What the device could do, MT/s.
    #[serde(default)]
    pub rated_mt_s: Option<u16>,
    /// What it runs at, MT/s.
    #[serde(default)]
    pub configured_mt_s: Option<u16>,
    /// Ranks.
    #[serde(default)]
    pub ranks: Option<u8>,
    /// Maker.
    #[serde(default)]
    pub vendor: Option<String>,
    /// Part number.
    #[serde(default)]
    pub part: Option<String>,
}

impl MemoryDevice {
    /// Size in MiB; `None` for an empty slot. The shape was refused if it is not a size.
    pub fn mib(&self) -> Option<u64> {
        units::parse_bytes(self.size.as_deref()?).ok().map(|bytes| bytes >> 20)
    }
}

/// What `lab check` does with a machine of this shape.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Check {
    /// linespeed's arguments.
    pub run: Vec<String>,
    /// Whether `lab check --quick` boots it.
    pub quick: bool,
    /// Rules that must have a finding, the worst first, before all others: the handicaps that the machine has.
    pub finds: Vec<String>,
    /// What the first of them takes, as its machine shows with and without it: a share.
    pub loss: Option<f64>,
    /// Rules that must have none.
    pub silent: Vec<String>,
    /// How many sessions of `linespeed quiet` are killed on the machine's own /sys, instead of a run.
    pub kills: Option<u32>,
    /// Whether guests of raw KVM are run in the machine, instead of a run of linespeed.
    pub guests: bool,
    /// Whether linespeed's kernel module is built, loaded and tried out, instead of a run.
    pub module: bool,
    /// Whether the kernel is booted by linespeed itself, as a whole guest with linespeed's module, instead of by the lab.
    pub whole_guest: bool,
    /// Whether `linespeed overhead --kernel` builds its module in the machine and runs it, instead of a run.
    pub overhead: bool,
}

impl Default for Check {
    fn default() -> Self {
        Self {
            run: vec!["inspect".to_owned()],
            quick: false,
            finds: Vec::new(),
            loss: None,
            silent: Vec::new(),
            kills: None,
            guests: false,
            module: false,
            whole_guest: false,
            overhead: false,
        }
    }
}

/// A machine's shape.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The file's name without its ending.
    pub name: String,
    /// One line for people.
    pub summary: String,
    /// Instruction set.
    pub architecture: Architecture,
    /// QEMU's `-cpu`.
    pub cpu: String,
    /// QEMU's `-icount`, with which time follows executed instructions.
    pub icount: Option<String>,
    /// More for the kernel's command line.
    pub kernel_parameters: Vec<String>,
    /// CPUs to be taken offline before linespeed starts.
    pub offline: CpuList,
    /// Whether its processors can run virtual machines.
    pub virtualization: bool,
    /// How long a run may take, boot included, in seconds.
    pub seconds: u64,
    /// The CPUs.
    pub cpus: Cpus,
    /// The nodes; empty for a machine without NUMA.
    pub nodes: Vec<Node>,
    /// All memory in bytes.
    pub bytes: u64,
    /// The firmware's distances between nodes; empty for QEMU's own (10 and 20).
    pub distances: Vec<Vec<u32>>,
    /// What the firmware says of memory devices; empty for QEMU's own.
    pub memory_devices: Vec<MemoryDevice>,
    /// What is checked.
    pub check: Check,
    /// Places in the record and what they must hold: see [`crate::checks`].
    pub expect: toml::Table,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    summary: String,
    architecture: Architecture,
    cpu: String,
    icount: Option<String>,
    kernel_parameters: Option<Spanned<Vec<String>>>,
    offline: Option<Spanned<String>>,
    #[serde(default)]
    virtualization: bool,
    seconds: Option<u64>,
    memory: Option<Spanned<String>>,
    distances: Option<Spanned<Vec<Vec<u32>>>>,
    cpus: Option<Spanned<Cpus>>,
    #[serde(default)]
    node: Vec<Spanned<WrittenNode>>,
    #[serde(default)]
    memory_device: Vec<Spanned<MemoryDevice>>,
    #[serde(default)]
    check: Check,
    #[serde(default)]
    expect: toml::Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenNode {
    cpus: Option<String>,
    memory: Option<String>,
}

/// A shape that cannot be used: file, line and why.
#[derive(Debug, PartialEq, Eq)]
pub struct ShapeError {
    path: PathBuf,
    line: Option<usize>,
    why: String,
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path.display(), self.why),
            None => write!(f, "{}: {}", self.path.display(), self.why),
        }
    }
}

/// How long a run may take unless the shape says otherwise.
const SECONDS: u64 = 300;
/// Most CPUs: what QEMU's `virt` can have.
const MOST_CPUS: u32 = 512;
/// 10 is local, 255 is "cannot be reached", which QEMU takes for "no entry".
const DISTANCES: std::ops::RangeInclusive<u32> = 10..=254;
/// SMBIOS tables on `virt` would need UEFI firmware.
const NO_TABLES: &str = "only x86_64 machines can list memory devices";

impl Shape {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, ShapeError> {
        let text = std::fs::read_to_string(path).map_err(|error| ShapeError {
            path: path.to_owned(),
            line: None,
            why: error.to_string(),
        })?;
        Self::parse(path, &text)
    }

    /// Takes a file's text apart; `path` is for errors and the name.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ShapeError> {
        let line_of = |offset: usize| text[..offset.min(text.len())].matches('\n').count() + 1;
        let fail = |offset: Option<usize>, why: String| ShapeError {
            path: path.to_owned(),
            line: offset.map(line_of),
            why,
        };
        let written: Written = toml::from_str(text)
            .map_err(|error| fail(error.span().map(|span| span.start), error.message().replace('\n', " ")))?;
        let problem = |at: usize, why: String| fail(Some(at), why);
        Self::built(path, written).map_err(|(at, why)| problem(at, why))
    }

    /// The shape if it makes sense; otherwise where it does not, as an offset in the text, and why.
    fn built(path: &Path, written: Written) -> Result<Self, (usize, String)> {
        let architecture = written.architecture;
        let (cpus, at_cpus) =
            written.cpus.map_or((Cpus::default(), 0), |cpus| (*cpus.get_ref(), cpus.span().start));
        let count = cpus.count();
        if count == 0 || count > MOST_CPUS {
            return Err((at_cpus, format!("{count} CPUs; there can be 1 to {MOST_CPUS}")));
        }
        let (without, what) = match architecture {
            Architecture::X86_64 => (cpus.clusters, "clusters"),
            Architecture::Aarch64 => (cpus.dies, "dies"),
        };
        if without != 1 {
            return Err((at_cpus, format!("QEMU builds no {what} on {}", architecture.name())));
        }
        let all: CpuList = (0..count).collect();
        let mut placed = CpuList::new();
        let mut nodes = Vec::new();
        for node in &written.node {
            let at = node.span().start;
            let node = built_node(node.get_ref()).map_err(|why| (at, why))?;
            let twice = node.cpus.intersection(&placed);
            if !twice.is_empty() {
                return Err((at, format!("CPU {twice} is on an earlier node already")));
            }
            if !node.cpus.is_subset(&all) {
                return Err((at, format!("CPU {}: there are {all}", node.cpus.difference(&all))));
            }
            placed = placed.union(&node.cpus);
            nodes.push(node);
        }
        if !nodes.is_empty() && placed != all {
            return Err((at_cpus, format!("CPU {} is on no node", all.difference(&placed))));
        }
        let distances = match &written.distances {
            None => Vec::new(),
            Some(table) => {
                check_distances(table.get_ref(), nodes.len()).map_err(|why| (table.span().start, why))?;
                table.get_ref().clone()
            }
        };
        let bytes = match (&written.memory, nodes.iter().map(|node| node.bytes).sum()) {
            (None, 0) => {
                return Err((0, "no memory; write memory = \"1GiB\", or some for a node".to_owned()));
            }
            (None, bytes) => bytes,
            (Some(memory), 0) => whole_mib(memory.get_ref()).map_err(|why| (memory.span().start, why))?,
            (Some(memory), _) => {
                let why = "memory is that of the nodes here; leave this line out".to_owned();
                return Err((memory.span().start, why));
            }
        };
        let offline = match &written.offline {
            None => CpuList::new(),
            Some(list) => offline(list.get_ref(), &all).map_err(|why| (list.span().start, why))?,
        };
        for device in &written.memory_device {
            check_device(device.get_ref(), architecture).map_err(|why| (device.span().start, why))?;
        }
        let kernel_parameters = match written.kernel_parameters {
            None => Vec::new(),
            Some(words) => match words.get_ref().iter().find(|word| word.contains(char::is_control)) {
                Some(word) => return Err((words.span().start, format!("{word:?} is no kernel parameter"))),
                None => words.into_inner(),
            },
        };
        Ok(Self {
            name: path.file_stem().map_or(String::new(), |name| name.to_string_lossy().into_owned()),
            summary: written.summary,
            architecture,
            cpu: written.cpu,
            icount: written.icount,
            kernel_parameters,
            offline,
            virtualization: written.virtualization,
            seconds: written.seconds.unwrap_or(SECONDS),
            cpus,
            nodes,
            bytes,
            distances,
            memory_devices: written.memory_device.into_iter().map(Spanned::into_inner).collect(),
            check: written.check,
            expect: written.expect,
        })
    }

    /// The CPUs that run.
    pub fn online(&self) -> CpuList {
        (0..self.cpus.count()).collect::<CpuList>().difference(&self.offline)
    }
}

fn built_node(node: &WrittenNode) -> Result<Node, String> {
    let cpus = match &node.cpus {
        None => CpuList::new(),
        Some(list) => list.parse().map_err(|error| format!("cpus: {error}"))?,
    };
    let bytes = node.memory.as_deref().map_or(Ok(0), whole_mib)?;
    if cpus.is_empty() && bytes == 0 {
        return Err("a node without CPUs and without memory is none".to_owned());
    }
    Ok(Node { cpus, bytes })
}

fn whole_mib(text: &str) -> Result<u64, String> {
    let bytes = units::parse_bytes(text).map_err(|why| format!("memory: {why}"))?;
    if bytes == 0 || bytes % (1 << 20) != 0 {
        return Err(format!("memory = {text:?} is no whole number of MiB"));
    }
    Ok(bytes)
}

fn check_distances(table: &[Vec<u32>], nodes: usize) -> Result<(), String> {
    if table.len() != nodes || table.iter().any(|row| row.len() != nodes) {
        return Err(format!("distances must be {nodes} rows of {nodes}, one for each node"));
    }
    for (from, row) in table.iter().enumerate() {
        for (to, distance) in row.iter().enumerate() {
            if (from == to) != (*distance == 10) || !DISTANCES.contains(distance) {
                return Err(format!(
                    "distance {distance} from node {from} to node {to}: 10 is for the node itself, others are 11 to 254"
                ));
            }
        }
    }
    Ok(())
}

fn offline(list: &str, all: &CpuList) -> Result<CpuList, String> {
    let offline: CpuList = list.parse().map_err(|error| format!("offline: {error}"))?;
    if !offline.is_subset(all) {
        return Err(format!("offline: there is no CPU {}", offline.difference(all)));
    }
    if offline.contains(0) {
        return Err("offline: the kernel keeps CPU 0".to_owned());
    }
    Ok(offline)
}

fn check_device(device: &MemoryDevice, architecture: Architecture) -> Result<(), String> {
    if architecture != Architecture::X86_64 {
        return Err(NO_TABLES.to_owned());
    }
    if let Some(size) = &device.size {
        whole_mib(size)?;
    }
    let texts = [Some(&device.locator), Some(&device.bank), device.vendor.as_ref(), device.part.as_ref()];
    match texts.into_iter().flatten().find(|text| text.is_empty() || text.len() > 64 || text.contains('\0')) {
        Some(text) => Err(format!("{text:?}: names of memory devices have 1 to 64 characters")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TWO_NODES: &str = r#"summary = "two nodes"
architecture = "x86_64"
cpu = "max"
distances = [[10, 21], [31, 10]]
[cpus]
packages = 2
cores = 2
[[node]]
cpus = "0-1"
memory = "256MiB"
[[node]]
cpus = "2-3"
"#;

    fn parse(text: &str) -> Result<Shape, String> {
        Shape::parse(Path::new("shapes/two.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_shape_is_read() {
        let shape = parse(TWO_NODES).unwrap();
        assert_eq!((shape.name.as_str(), shape.cpus.count(), shape.bytes), ("two", 4, 256 << 20));
        assert_eq!(shape.nodes[1], Node { cpus: "2-3".parse().unwrap(), bytes: 0 });
        assert_eq!(shape.distances, [[10, 21], [31, 10]]);
        assert_eq!((shape.seconds, shape.check.run.as_slice()), (SECONDS, ["inspect".to_owned()].as_slice()));
    }

    #[test]
    fn a_mistake_is_reported_with_file_and_line() {
        for (from, to, said) in [
            ("x86_64", "sparc", "two.toml:2: unknown variant `sparc`"),
            ("cpu = \"max\"", "cpu = 7", "two.toml:3: invalid type"),
            ("cpu = \"max\"\n", "", "missing field `cpu`"),
            ("summary", "sumary", "two.toml:1: unknown field `sumary`"),
            ("[31, 10]]", "[31, 10]", "two.toml:"),
            ("[31, 10]", "[31]", "two.toml:4: distances must be 2 rows of 2"),
            ("[31, 10]", "[10, 10]", "two.toml:4: distance 10 from node 1 to node 0"),
            ("[31, 10]", "[255, 10]", "two.toml:4: distance 255"),
            ("cores = 2", "cores = 3", "two.toml:5: CPU 4-5 is on no node"),
            ("cores = 2", "cores = 0", "two.toml:5: 0 CPUs"),
            ("cores = 2", "cores = 4000000000", "two.toml:5: 4294967295 CPUs"),
            ("cores = 2", "clusters = 2", "two.toml:5: QEMU builds no clusters on x86_64"),
            ("\"2-3\"", "\"1-3\"", "two.toml:11: CPU 1 is on an earlier node"),
            ("\"2-3\"", "\"2-9\"", "two.toml:11: CPU 4-9: there are 0-3"),
            ("\"2-3\"", "\"3-2\"", "two.toml:11: cpus: the range"),
            ("256MiB", "256.5KiB", "two.toml:8: memory"),
            ("memory = \"256MiB\"\n", "", "two.toml:1: no memory"),
            ("[cpus]", "offline = \"0\"\n[cpus]", "two.toml:5: offline: the kernel keeps CPU 0"),
            ("[cpus]", "offline = \"9\"\n[cpus]", "two.toml:5: offline: there is no CPU 9"),
            ("[cpus]", "memory = \"1GiB\"\n[cpus]", "two.toml:5: memory is that of the nodes"),
        ] {
            let text = TWO_NODES.replacen(from, to, 1);
            assert_ne!(text, TWO_NODES);
            let error = parse(&text).unwrap_err();
            assert!(error.contains(said) && !error.contains('\n'), "{to}: {error}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = Shape::read(Path::new("/nowhere/at.toml")).unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/at.toml: No such file"), "{error}");
    }

    proptest! {
        #[test]
        fn no_change_of_a_shape_panics(at in 0usize..260, with in "[\\[\\]\"=0-9a-z\n.,-]{0,4}") {
            let mut text = TWO_NODES.to_owned();
            let at = at.min(text.len());
            text.replace_range(at..(at + 2).min(text.len()), &with);
            let _ = parse(&text);
        }
    }
}
