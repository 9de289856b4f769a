//! Reads and checks a shape file; errors contain the line number.

use std::path::{Path, PathBuf};

use record::{CpuList, units};
use serde::de::{Deserialize, Deserializer, Error};
use toml::de::DeTable;

use super::{Architecture, MemoryDevice, Node, Shape};

/// An invalid shape: file, line and reason.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {why}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ShapeError {
    path: PathBuf,
    line: Option<usize>,
    why: String,
}

/// Maximum number of CPUs of QEMU's `virt`.
const MOST_CPUS: u32 = 512;
/// 10 is local, 255 means "unreachable", which QEMU interprets as "no entry".
const DISTANCES: std::ops::RangeInclusive<u32> = 10..=254;

/// The default time limit of a run.
pub(super) fn usual_seconds() -> u64 {
    300
}

/// Reads a size that is a whole number of MiB, in bytes.
pub(super) fn read_mib<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    whole_mib(&String::deserialize(from)?).map_err(D::Error::custom)
}

fn whole_mib(text: &str) -> Result<u64, String> {
    let bytes = units::parse_bytes(text).map_err(|why| format!("memory: {why}"))?;
    let whole = bytes > 0 && bytes % (1 << 20) == 0;
    if whole { Ok(bytes) } else { Err(format!("memory = {text:?} is not a whole number of MiB")) }
}

/// The position of an error: a key, or an element of its list.
type Place = (&'static str, Option<usize>);

impl Shape {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, ShapeError> {
        let text = std::fs::read_to_string(path);
        let text =
            text.map_err(|error| ShapeError { path: path.to_owned(), line: None, why: error.to_string() })?;
        Self::parse(path, &text)
    }

    /// Parses a file's text; `path` is used for errors and the name.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ShapeError> {
        let line = |offset: usize| text[..offset.min(text.len())].matches('\n').count() + 1;
        let fail = |line, why| ShapeError { path: path.to_owned(), line, why };
        let mut shape: Shape = toml::from_str(text).map_err(|error| {
            fail(error.span().map(|span| line(span.start)), error.message().replace('\n', " "))
        })?;
        check(&shape).map_err(|(place, why)| fail(Some(line(find_place(text, place).unwrap_or(0))), why))?;
        shape.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        shape.bytes += shape.nodes.iter().map(|node| node.bytes).sum::<u64>();
        Ok(shape)
    }
}

/// The offset of a position in the text.
fn find_place(text: &str, (key, index): Place) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let value = table.get_ref().get(key)?;
    let element = index.map(|index| value.get_ref().as_array()?.get(index));
    Some(element.flatten().unwrap_or(value).span().start)
}

/// Checks whether a shape is valid; otherwise returns the position and the reason.
fn check(shape: &Shape) -> Result<(), (Place, String)> {
    let at = |key: &'static str| move |why: String| ((key, None), why);
    let cpus = shape.cpus;
    let count = cpus.count();
    if !(1..=MOST_CPUS).contains(&count) {
        return Err(at("cpus")(format!("{count} CPUs; the allowed range is 1 to {MOST_CPUS}")));
    }
    let (without, what) = match shape.architecture {
        Architecture::X86_64 => (cpus.clusters, "clusters"),
        Architecture::Aarch64 => (cpus.dies, "dies"),
    };
    if without != 1 {
        return Err(at("cpus")(format!("QEMU does not support {what} on {}", shape.architecture.name())));
    }
    let all: CpuList = (0..count).collect();
    let mut placed = CpuList::new();
    for (index, node) in shape.nodes.iter().enumerate() {
        check_node(node, &all, &placed).map_err(|why| (("node", Some(index)), why))?;
        placed = placed.union(&node.cpus);
    }
    if !shape.nodes.is_empty() && placed != all {
        return Err(at("cpus")(format!("CPU {} is on no node", all.difference(&placed))));
    }
    if !shape.distances.is_empty() {
        check_distances(&shape.distances, shape.nodes.len()).map_err(at("distances"))?;
    }
    match (shape.bytes > 0, shape.nodes.iter().any(|node| node.bytes > 0)) {
        (false, false) => {
            return Err(at("")("no memory; write memory = \"1GiB\", or some for a node".to_owned()));
        }
        (true, true) => {
            return Err(at("memory")("memory is defined by the nodes; remove this line".to_owned()));
        }
        _ => {}
    }
    check_offline(&shape.offline, &all).map_err(at("offline"))?;
    for (index, device) in shape.memory_devices.iter().enumerate() {
        check_device(device, shape.architecture).map_err(|why| (("memory_device", Some(index)), why))?;
    }
    match shape.kernel_parameters.iter().find(|word| word.contains(char::is_control)) {
        Some(word) => Err(at("kernel_parameters")(format!("{word:?} is not a kernel parameter"))),
        None => Ok(()),
    }
}

fn check_node(node: &Node, all: &CpuList, placed: &CpuList) -> Result<(), String> {
    let twice = node.cpus.intersection(placed);
    if node.cpus.is_empty() && node.bytes == 0 {
        Err("a node needs CPUs or memory".to_owned())
    } else if !twice.is_empty() {
        Err(format!("CPU {twice} is already on an earlier node"))
    } else if !node.cpus.is_subset(all) {
        Err(format!("CPU {} does not exist; there are {all}", node.cpus.difference(all)))
    } else {
        Ok(())
    }
}

fn check_distances(table: &[Vec<u32>], nodes: usize) -> Result<(), String> {
    if table.len() != nodes || table.iter().any(|row| row.len() != nodes) {
        return Err(format!("distances must be {nodes} rows of {nodes} numbers, one row per node"));
    }
    for (from, row) in table.iter().enumerate() {
        for (to, distance) in row.iter().enumerate() {
            if (from == to) != (*distance == 10) || !DISTANCES.contains(distance) {
                return Err(format!(
                    "distance {distance} from node {from} to node {to}: use 10 for the node itself, 11 to 254 otherwise"
                ));
            }
        }
    }
    Ok(())
}

fn check_offline(offline: &CpuList, all: &CpuList) -> Result<(), String> {
    if !offline.is_subset(all) {
        return Err(format!("offline: CPU {} does not exist", offline.difference(all)));
    }
    if offline.contains(0) { Err("offline: CPU 0 must stay online".to_owned()) } else { Ok(()) }
}

fn check_device(device: &MemoryDevice, architecture: Architecture) -> Result<(), String> {
    if architecture != Architecture::X86_64 {
        // On `virt` SMBIOS tables would need UEFI firmware.
        return Err("only x86_64 machines can list memory devices".to_owned());
    }
    if let Some(size) = &device.size {
        whole_mib(size)?;
    }
    let texts = [Some(&device.locator), Some(&device.bank), device.vendor.as_ref(), device.part.as_ref()];
    match texts.into_iter().flatten().find(|text| text.is_empty() || text.len() > 64 || text.contains('\0')) {
        Some(text) => Err(format!("{text:?}: names of memory devices must have 1 to 64 characters")),
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
        assert_eq!((shape.seconds, shape.check.run.as_slice()), (300, ["inspect".to_owned()].as_slice()));
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
            ("cores = 2", "clusters = 2", "two.toml:5: QEMU does not support clusters on x86_64"),
            ("\"2-3\"", "\"1-3\"", "two.toml:11: CPU 1 is already on an earlier node"),
            ("\"2-3\"", "\"2-9\"", "two.toml:11: CPU 4-9 does not exist"),
            ("\"2-3\"", "\"3-2\"", "two.toml:12: the range"),
            ("256MiB", "256.5KiB", "two.toml:10: memory"),
            ("memory = \"256MiB\"\n", "", "two.toml:1: no memory"),
            ("[cpus]", "offline = \"0\"\n[cpus]", "two.toml:5: offline: CPU 0 must stay online"),
            ("[cpus]", "offline = \"9\"\n[cpus]", "two.toml:5: offline: CPU 9 does not exist"),
            ("[cpus]", "memory = \"1GiB\"\n[cpus]", "two.toml:5: memory is defined by the nodes"),
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
