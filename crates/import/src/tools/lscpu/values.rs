//! The values behind lscpu's labels.

use record::CpuList;

use super::labels::{DISABLED, ENABLED, Key};
use super::lookup::Label;
use crate::cache_size::Printed;
use crate::facts::{self, CacheFact, CoreKind, Fact, Lscpu};
use crate::line::Line;
use crate::numbers;
use crate::sink::Sink;

/// Clocks that a processor can have, MHz: the lowest idle clock that drivers advertise to above the record of overclocking.
const MHZ: std::ops::RangeInclusive<f64> = 1.0..=10_000.0;

/// The longest text of flags kept.
const LONGEST_FLAGS: usize = 32 << 10;

/// Machine words of kernels that run on processors which people measure.
pub(super) fn is_architecture(value: &str) -> bool {
    const KNOWN: &str = "\
    x86_64 aarch64 armhf ppc64el i386 i486 i586 i686 amd64 arm64 ppc64 ppc64le s390x riscv64 loongarch64 mips64 sw_64 \
    ia64 sparc64";
    let word = facts::strip_comment(value);
    KNOWN.split(' ').any(|known| known == word) || word.starts_with("armv")
}

/// One output's values as they come.
#[derive(Default)]
pub(super) struct Values {
    output: Lscpu,
    begun: bool,
    /// It was asked for masks (`--hex`), which stand without 0x.
    masks: bool,
    /// How many packages a book has, books a drawer, and drawers or books there are (IBM Z).
    rack: Vec<u32>,
}

impl Values {
    pub(super) fn has_architecture(&self) -> bool {
        self.output.architecture.is_some()
    }

    /// Whether anything was told.
    pub(super) fn begun(&self) -> bool {
        self.begun
    }

    /// What two values say that one machine has once: the lines from here on are of another list.
    fn parted(&mut self, differs: bool, sink: &mut Sink) {
        if differs {
            sink.draft.facts.lscpu.push(std::mem::take(&mut self.output));
            self.rack.clear();
        }
    }

    fn output(&mut self) -> &mut Lscpu {
        &mut self.output
    }

    /// The kind of core that is being told of; another begins with a name after counts.
    fn kind(&mut self) -> &mut CoreKind {
        if self.output.kinds.is_empty() {
            self.output.kinds.push(CoreKind::default());
        }
        let last = self.output.kinds.len() - 1;
        &mut self.output.kinds[last]
    }

    pub(super) fn more_flags(&mut self, more: &str) {
        if let Some(flags) = self.output.flags.as_mut().filter(|flags| flags.value.len() < LONGEST_FLAGS) {
            let (last, first) = (flags.value.rsplit(' ').next(), more.split(' ').next());
            self.output.glued_flags.push(last.into_iter().chain(first).collect());
            flags.value.push(' ');
            flags.value.push_str(more);
        }
    }

    pub(super) fn take(&mut self, label: &Label, value: &str, line: Line, sink: &mut Sink) {
        let value = facts::strip_comment(value);
        let node: Option<u32> = label.part.parse().ok().filter(|_| label.key == Key::NodeCpus);
        if value.is_empty() || value == "-" {
            // A node without CPUs.
            if let Some(node) = node {
                let none = sink.fact(format!("machine.nodes[{node}].cpus"), CpuList::new(), line);
                self.output.node_cpus.entry(node).or_insert(none);
            }
            return;
        }
        self.begun = true;
        self.masks |= matches!(label.key, Key::OnlineMask | Key::OfflineMask);
        let mut read = Read { value, line, sink, masks: self.masks };
        // Of what a list tells once of a machine the later value would hide the former.
        macro_rules! once {
            ($of:ident, $field:ident, $new:expr) => {{
                let new = $new;
                let differs = self
                    .$of()
                    .$field
                    .as_ref()
                    .zip(new.as_ref())
                    .is_some_and(|(one, other)| one.value != other.value);
                self.parted(differs, read.sink);
                if new.is_some() {
                    self.$of().$field = new;
                }
            }};
        }
        match label.key {
            Key::Architecture => self.output.architecture = read.text("machine.architecture"),
            Key::Cpus => once!(output, cpus, read.count("machine.counts.cpus_present", 65_536)),
            Key::Online | Key::OnlineMask => {
                once!(output, online, read.list("machine.counts.cpus_online"))
            }
            Key::Offline | Key::OfflineMask => once!(output, offline, read.list("machine.cpus[].online")),
            Key::Nodes => once!(output, nodes, read.count("machine.counts.nodes", 4096)),
            Key::NodeCpus => {
                // Of `-x` whose line of all CPUs is lost, one number may be a mask.
                let number = read.value.bytes().all(|b| b.is_ascii_hexdigit()) && read.value != "0";
                if number && !read.masks && self.output.online.is_none() {
                    let why = format!("{} may be a mask: the list of CPUs online is missing", read.shown());
                    read.sink.withhold("machine.nodes[].cpus", why, line);
                    return;
                }
                let list = read.list(format!("machine.nodes[{}].cpus", label.part));
                if let (Some(node), Some(list)) = (node, list) {
                    let known = self.output.node_cpus.get(&node);
                    let differs = known.is_some_and(|known| known.value != list.value);
                    self.parted(differs, read.sink);
                    self.output.node_cpus.insert(node, list);
                }
            }
            Key::ThreadsPerCore => once!(kind, threads_per_core, read.count("machine.counts.cores", 64)),
            Key::CoresPerSocket => once!(kind, cores_per_socket, read.count("machine.counts.cores", 4096)),
            Key::CoresPerCluster => {
                once!(kind, cores_per_cluster, read.count("machine.counts.clusters", 4096))
            }
            Key::Sockets => once!(kind, sockets, read.count("machine.counts.packages", 4096)),
            Key::Clusters => once!(kind, clusters, read.count("machine.counts.clusters", 4096)),
            Key::Vendor => self.output.vendor = read.text("machine.processor.vendor"),
            Key::ModelName => {
                let name = read.text("machine.processor.model_name");
                let last = self.output.kinds.last();
                let known = last.and_then(|kind| kind.model_name.as_ref());
                let differs = known.zip(name.as_ref()).is_some_and(|(one, other)| one.value != other.value);
                let counts =
                    |kind: &CoreKind| kind.cores_per_socket.is_some() || kind.cores_per_cluster.is_some();
                let counted = known.is_some() && last.is_some_and(counts);
                // The kinds of an x86 machine have one name.
                let is_x86 = self.output.architecture.as_ref().is_some_and(|word| word.value == "x86_64");
                self.parted(differs && (is_x86 || !counted), read.sink);
                if counted && !self.output.kinds.is_empty() && self.output.kinds.len() < 16 {
                    self.output.kinds.push(CoreKind::default());
                }
                self.kind().model_name = name;
            }
            Key::BiosModelName => self.kind().firmware_name = read.text("machine.processor.firmware_name"),
            Key::Family => self.kind().family = read.id("machine.processor.family"),
            Key::Model => self.kind().model = read.id("machine.processor.model"),
            Key::Stepping => self.kind().stepping = read.text("machine.processor.stepping"),
            Key::MaxMhz => self.kind().max_hz = read.hz("machine.processor.max_hz"),
            Key::MinMhz => self.kind().min_hz = read.hz("machine.processor.min_hz"),
            Key::Mhz => self.output.current_hz = read.hz("conditions.before.clocks[].current_hz"),
            Key::Flags => self.output.flags = read.flags(),
            Key::OfRack => {
                let Some(count) = read.count("machine.counts.packages", 4096) else { return };
                // The last line of them counts what is in no more: a lost one before it would leave too few packages.
                let before = match label.text {
                    "Book(s)" => Some(1),
                    "Drawer(s)" => Some(2),
                    _ => None,
                };
                self.rack.push(count.value);
                if before.is_some_and(|before| self.rack.len() == before + 1) {
                    let packages = self.rack.iter().fold(1u32, |all, each| all.saturating_mul(*each));
                    self.kind().sockets = Some(Fact { value: packages, ..count });
                }
            }
            // IBM's are two.
            Key::Hypervisor if value.starts_with("z/VM") || value.starts_with("PR/SM") => {
                self.output.hypervisor = read.text("machine.virtualization.hypervisor").map(|fact| Fact {
                    value: fact.value.split(' ').next().unwrap_or_default().to_owned(),
                    ..fact
                });
            }
            Key::HypervisorVendor if value == "IBM" && self.output.hypervisor.is_some() => {}
            Key::HypervisorVendor => self.output.hypervisor = read.text("machine.virtualization.hypervisor"),
            Key::AddressSizes => self.output.address_bits = read.address_bits(),
            Key::Boost => {
                let known =
                    ENABLED.contains(&value).then_some(true).or(DISABLED.contains(&value).then_some(false));
                self.output.boost = known.map(|on| read.note("conditions.before.boost", on));
            }
            Key::Cache => {
                if let Some(cache) = read.cache(label.part) {
                    let of = |known: &&Fact<CacheFact>| {
                        (known.value.level, known.value.kind) == (cache.value.level, cache.value.kind)
                    };
                    let differs =
                        self.output.caches.iter().find(of).is_some_and(|known| known.value != cache.value);
                    self.parted(differs, read.sink);
                    self.output.caches.push(cache);
                }
            }
            Key::Vulnerability => {
                let name = label.part.to_lowercase().replace(' ', "_");
                if let Some(text) = read.text(format!("machine.kernel.mitigations.{name}"))
                    && self.output.vulnerabilities.len() < 128
                {
                    self.output.vulnerabilities.insert(name, text);
                }
            }
            Key::OpModes | Key::VirtualizationType | Key::Hypervisor | Key::Other => {}
        }
    }

    pub(super) fn finish(self, sink: &mut Sink) {
        sink.draft.facts.lscpu.push(self.output);
    }
}

/// Why a value names no CPUs.
#[derive(Debug, thiserror::Error)]
enum NoCpus {
    #[error("0x{0} is no mask of CPUs")]
    NotAMask(String),
    #[error("CPU {0} of the mask is beyond what Linux has")]
    Beyond(u32),
    #[error("{0}")]
    NotAList(record::cpu_list::CpuListError),
}

/// The CPUs of a mask (`--hex`) by its hexadecimal digits; util-linux 2.38 writes no `0x` before them.
fn parse_mask(digits: &str) -> Result<CpuList, NoCpus> {
    let digits = digits.replace(',', "");
    let mut list = CpuList::new();
    for (at, digit) in digits.chars().rev().enumerate() {
        let bits = digit.to_digit(16).ok_or_else(|| NoCpus::NotAMask(digits.clone()))?;
        for bit in (0..4).filter(|bit| bits >> bit & 1 == 1) {
            let cpu = at as u32 * 4 + bit;
            if cpu > record::cpu_list::MAX_CPU {
                return Err(NoCpus::Beyond(cpu));
            }
            list.insert(cpu);
        }
    }
    Ok(list)
}

/// One value that is being read.
struct Read<'a, 'b, 'c> {
    value: &'a str,
    line: Line<'a>,
    sink: &'b mut Sink<'c>,
    masks: bool,
}

impl Read<'_, '_, '_> {
    fn note<T>(&mut self, path: impl Into<String>, value: T) -> Fact<T> {
        self.sink.fact(path, value, self.line)
    }

    fn text(&mut self, path: impl Into<String>) -> Option<Fact<String>> {
        let text = machine::text::clean_to(self.value, 1000);
        (!text.is_empty()).then(|| self.note(path, text))
    }

    fn flags(&mut self) -> Option<Fact<String>> {
        let flags: String = self.value.chars().take(LONGEST_FLAGS).collect();
        Some(self.note("machine.processor.features", flags))
    }

    /// A number of things, at least one.
    fn count(&mut self, path: &'static str, most: u32) -> Option<Fact<u32>> {
        match self.value.parse::<u64>() {
            Ok(count) if (1..=u64::from(most)).contains(&count) => Some(self.note(path, count as u32)),
            _ => {
                let why = format!("{} is not a number of them that a machine can have", self.shown());
                self.sink.withhold(path, why, self.line);
                None
            }
        }
    }

    /// A number that may be 0.
    fn id(&mut self, path: &'static str) -> Option<Fact<u32>> {
        let id = self.value.parse().ok()?;
        Some(self.note(path, id))
    }

    fn list(&mut self, path: impl Into<String>) -> Option<Fact<CpuList>> {
        let path = path.into();
        let list = match self.value.strip_prefix("0x").or(self.masks.then_some(self.value)) {
            Some(mask) => parse_mask(mask),
            None => facts::parse_cpus(self.value).map_err(NoCpus::NotAList),
        };
        match list {
            Ok(list) if list.is_empty() => {
                let why = format!("{} names no CPU", self.shown());
                self.sink.withhold(&path, why, self.line);
                None
            }
            Ok(list) => Some(self.note(path, list)),
            Err(error) => {
                self.sink.withhold(&path, error.to_string(), self.line);
                None
            }
        }
    }

    fn hz(&mut self, path: &'static str) -> Option<Fact<u64>> {
        let mhz = numbers::parse_number(self.value).map(|(mhz, _)| mhz);
        match mhz.filter(|mhz| MHZ.contains(mhz)) {
            Some(mhz) => Some(self.note(path, (mhz * 1e6).round() as u64)),
            None => {
                let why = format!("{} MHz is not a clock that a processor can have", self.shown());
                self.sink.withhold(path, why, self.line);
                None
            }
        }
    }

    fn address_bits(&mut self) -> Option<Fact<(u32, u32)>> {
        let mut numbers =
            self.value.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse::<u32>().ok());
        let bits = (numbers.next()?, numbers.next()?);
        (bits.0 <= 64 && bits.1 <= 64).then(|| self.note("machine.processor.address_bits", bits))
    }

    /// Before 2.34 lscpu told the size of one cache (`32K`), until 2.36 the sum of all (`1.5 MiB`), since then the sum
    /// and how many they are.
    fn cache(&mut self, name: &str) -> Option<Fact<CacheFact>> {
        let (level, kind) = facts::parse_cache_name(name)?;
        let path = format!("machine.caches.{name}");
        // `2x` is no number.
        let glued = |rest: &str| {
            rest.trim_start_matches(|c: char| c.is_ascii_digit())
                .starts_with(|c: char| c.is_ascii_alphabetic())
        };
        let behind = self.value.split_once('(');
        let instances =
            behind.filter(|(_, rest)| !glued(rest)).and_then(|(_, rest)| numbers::parse_number(rest));
        let instances = instances.map(|(count, _)| count as u32).filter(|count| (1..=65_536).contains(count));
        let unit = facts::parse_size(self.value);
        let is_counted = if behind.is_some() { instances.is_some() } else { unit.is_some() };
        let Some(printed) = Printed::read(self.value).filter(|_| is_counted) else {
            // Without a unit and a number of instances (`--bytes` of old) nothing tells one from the sum.
            let why = format!("{} does not tell whether it is one cache or all of them", self.shown());
            self.sink.withhold(&path, why, self.line);
            return None;
        };
        let sum = instances.is_none() && unit.is_some_and(|(_, iec)| iec);
        let one = if sum { None } else { printed.one(level, instances.unwrap_or(1)) };
        if one.is_none() && !sum {
            let why = format!("{} is not a size that caches can have", self.shown());
            self.sink.withhold(&path, why, self.line);
            instances?;
        }
        Some(self.note(path, CacheFact { level, kind, bytes: one, instances }))
    }

    fn shown(&self) -> String {
        self.value.chars().take(60).collect()
    }
}
