//! Parses the output of hwloc's `lstopo -v -`: one object per line, indented below its parent object, then counts by
//! depth, the distance matrix and the kinds of CPUs.

use std::collections::{BTreeMap, BTreeSet};

use record::CpuList;

/// An object: `L2Cache L#0 (P#0 size=1280KiB linesize=64 ways=10)`.
#[derive(Clone, Debug)]
pub struct Object {
    pub kind: String,
    /// The kernel's number, if hwloc prints it.
    pub number: Option<u32>,
    pub attributes: BTreeMap<String, String>,
    pub cpus: CpuList,
    depth: usize,
}

/// A kind of CPU: `CPU kind #0 efficiency 0 cpuset 0x000ff000` and its lines.
#[derive(Clone, Debug)]
pub struct CpuKind {
    pub cpus: CpuList,
    pub attributes: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Default)]
pub struct Console {
    pub objects: Vec<Object>,
    /// `depth 1: 4 Package` by name.
    pub counts: BTreeMap<String, usize>,
    /// Rows of the latency matrix; empty if none is printed.
    pub distances: Vec<Vec<u32>>,
    pub offline: CpuList,
    /// The kinds of CPUs in ascending order of efficiency, which is hwloc's term for speed.
    pub kinds: Vec<CpuKind>,
}

impl Console {
    pub fn read(text: &str) -> Self {
        let mut console = Console::default();
        let mut open: Vec<usize> = Vec::new();
        let mut matrix = false;
        for line in text.lines() {
            let trimmed = line.trim_start();
            let depth = line.len() - trimmed.len();
            if trimmed.starts_with("depth ") || trimmed.starts_with("Special depth ") {
                let (_, rest) = trimmed.split_once(':').unwrap();
                let mut words = rest.split_whitespace();
                let count = words.next().unwrap().parse().unwrap();
                console.counts.insert(words.next().unwrap().to_owned(), count);
            } else if trimmed.starts_with("Relative latency matrix") {
                matrix = true;
            } else if matrix && trimmed.starts_with("index") {
                // The columns' numbers.
            } else if matrix && trimmed.starts_with(|c: char| c.is_ascii_digit()) {
                console
                    .distances
                    .push(trimmed.split_whitespace().skip(1).map(|n| n.parse().unwrap()).collect());
            } else if let Some((_, mask)) = trimmed.split_once(" processors not represented in topology: ") {
                console.offline = cpuset(mask);
            } else if trimmed.starts_with("CPU kind #") {
                let (_, mask) = trimmed.split_once(" cpuset ").unwrap();
                console.kinds.push(CpuKind { cpus: cpuset(mask), attributes: BTreeMap::new() });
            } else if let Some((key, value)) = trimmed.split_once(" = ") {
                let kind = console.kinds.last_mut().unwrap();
                kind.attributes.insert(key.to_owned(), value.parse().unwrap());
            } else if trimmed.contains(" L#") || trimmed.starts_with("Machine ") {
                matrix = false;
                console.add(object(trimmed, depth), &mut open);
            }
        }
        // A NUMA node has the CPUs of the object to which it is attached.
        for index in 0..console.objects.len() {
            if console.objects[index].kind == "NUMANode" {
                let depth = console.objects[index].depth;
                let parent = console.objects[..index].iter().rfind(|object| object.depth < depth).unwrap();
                console.objects[index].cpus = parent.cpus.clone();
            }
        }
        console
    }

    fn add(&mut self, object: Object, open: &mut Vec<usize>) {
        open.retain(|index| self.objects[*index].depth < object.depth);
        if object.kind == "PU" {
            for index in open.iter() {
                self.objects[*index].cpus.insert(object.number.unwrap());
            }
        }
        open.push(self.objects.len());
        self.objects.push(object);
    }

    pub fn of(&self, kind: &str) -> Vec<&Object> {
        self.objects.iter().filter(|object| object.kind == kind).collect()
    }

    pub fn cpusets(&self, kind: &str) -> BTreeSet<CpuList> {
        self.of(kind).into_iter().map(|object| object.cpus.clone()).collect()
    }
}

impl Object {
    /// An attribute in bytes, as the range that corresponds to the rounded value: `local=8190MiB`.
    pub fn bytes(&self, key: &str) -> std::ops::RangeInclusive<u64> {
        let text = &self.attributes[key];
        let digits = text.trim_end_matches(char::is_alphabetic);
        let unit: u64 = match &text[digits.len()..] {
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            other => panic!("unit {other} of {text}"),
        };
        let bytes = digits.parse::<u64>().unwrap() * unit;
        bytes - unit / 2..=bytes + unit / 2
    }

    pub fn number_of(&self, key: &str) -> u32 {
        self.attributes[key].parse().unwrap()
    }
}

fn object(line: &str, depth: usize) -> Object {
    let (head, attributes) = line.split_once(" (").unwrap();
    let kind = head.split(" L#").next().unwrap().to_owned();
    let mut number = None;
    let mut cpus = CpuList::new();
    let mut map = BTreeMap::new();
    for word in words(attributes.trim_end_matches(')')) {
        if let Some(id) = word.strip_prefix("P#") {
            number = Some(id.parse().unwrap());
        } else if let Some((key, value)) = word.split_once('=') {
            map.insert(key.to_owned(), value.trim_matches('"').to_owned());
        }
    }
    if kind == "PU" {
        cpus.insert(number.unwrap());
    }
    Object { kind, number, attributes: map, cpus, depth }
}

/// Splits a text into words at spaces outside quotes.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in text.chars() {
        quoted ^= c == '"';
        if c == ' ' && !quoted {
            words.push(String::new());
        } else {
            words.last_mut().unwrap().push(c);
        }
    }
    words
}

/// `0x00000fff` or `0xffffffff,0xffffffff`.
fn cpuset(mask: &str) -> CpuList {
    CpuList::from_mask(&mask.replace("0x", "")).unwrap()
}
