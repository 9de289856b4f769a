//! Fleets of synthetic machines derived from one real record: its results with random noise, and known causes in some
//! machines.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use fleet::{Brief, Known, Point};
use record::conditions::ClockSetting;
use record::fleet::Family;
use record::machine::MemoryDevice;
use record::{CpuList, Key, Label, Measurement, Record};

use crate::chance::Chance;

/// CPUs of the synthetic server.
const CPUS: u32 = 16;
const DEVICES: usize = 8;
/// The spread between machines that a family's results have in common, and the spread of each result.
const TOGETHER: f64 = 0.003;
const ALONE: f64 = 0.004;
/// Maximum half width of a result's interval: some of the real record's results have wider ones, since its host was
/// shared.
const WIDEST: f64 = 0.02;

/// A cause that can be planted.
pub struct Cause {
    pub name: &'static str,
    /// Codes of causes that identify it.
    pub codes: &'static [&'static str],
    /// Changes the record so that its speed drops by this share.
    apply: fn(&mut Record, f64),
}

pub const CAUSES: [Cause; 10] = [
    Cause {
        name: "missing memory device",
        codes: &["comparison-fact-memory-devices", "comparison-fact-channels"],
        apply: missing_device,
    },
    Cause {
        name: "slower memory devices",
        codes: &["comparison-fact-devices-run-at"],
        apply: slower_devices,
    },
    Cause { name: "firmware NUMA off", codes: &["comparison-fact-nodes"], apply: numa_off },
    Cause { name: "governor", codes: &["comparison-fact-governor"], apply: governor },
    Cause { name: "SMT off", codes: &["comparison-fact-smt", "comparison-fact-cpus-online"], apply: smt_off },
    Cause { name: "CPU quota", codes: &["comparison-fact-cpu-quota"], apply: quota },
    Cause { name: "noisy neighbour", codes: &["fleet-cause-others", "fleet-cause-steal"], apply: neighbour },
    Cause {
        name: "clock capped",
        codes: &["fleet-cause-clock"],
        apply: |record, loss| clock(record, 1.0 - loss),
    },
    Cause {
        name: "older microcode with mitigations",
        codes: &["comparison-fact-microcode", "comparison-fact-mitigations"],
        apply: microcode,
    },
    Cause { name: "one bad core", codes: &["fleet-cause-slowest-cpu"], apply: bad_core },
];

/// Losses for which models exist; other losses use the nearest model.
const LOSSES: [f64; 15] =
    [0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.22, 0.24, 0.26, 0.28, 0.3];

/// A fleet, its slow machines, and their causes.
pub struct Made {
    pub briefs: Vec<Brief>,
    pub causes: Vec<Option<usize>>,
}

/// One summary for each cause and loss, from which machines are generated.
pub struct Models {
    known: Known,
    sound: Brief,
    other_kind: Brief,
    other_kernel: Brief,
    harmless: Vec<Brief>,
    slow: Vec<Vec<Brief>>,
}

impl Models {
    pub fn new(path: &Path) -> Self {
        let record = server(Record::read(path).expect("a record"));
        let known = Mutex::new(Known::default());
        let brief = |change: &dyn Fn(&mut Record)| {
            let mut record = record.clone();
            change(&mut record);
            Brief::from_record(&record, PathBuf::new(), PathBuf::new(), &known)
        };
        let slow = CAUSES
            .iter()
            .map(|cause| LOSSES.iter().map(|loss| brief(&|record| (cause.apply)(record, *loss))).collect());
        let slow = slow.collect();
        let sound = brief(&|_| {});
        let other_kind = brief(&|record| {
            record.machine.processor.model_name = Some("another processor".to_owned());
            scale(record, |_| true, 0.8);
        });
        let other_kernel = brief(&|record| record.machine.kernel.release = Some("6.1.0-40-amd64".to_owned()));
        let harmless = vec![
            brief(&|record| record.conditions.before.thp = Some("never".to_owned())),
            brief(&|record| record.machine.processor.microcode = Some("0xd0003f5".to_owned())),
            brief(&|record| record.machine.system.firmware = Some("2.14.2".to_owned())),
        ];
        Self { known: known.into_inner().expect("no panic"), sound, other_kind, other_kernel, harmless, slow }
    }

    pub fn known(&self) -> &Known {
        &self.known
    }

    /// A fleet of 2 to 1000 machines, of which 1 to 30 % are slow; some fleets have mixed kinds, camps, a drift or
    /// missing results.
    pub fn fleet(&self, chance: &mut Chance, clean: bool) -> Made {
        let machines = (2.0f64.ln() + chance.even() * (1000f64 / 2.0).ln()).exp().round() as usize;
        let slow_share = if clean { 0.0 } else { chance.between(0.01, 0.3) };
        let (mixed, drift, missing) = (chance.happens(0.3), chance.happens(0.25), chance.happens(0.3));
        let camps = (chance.happens(0.35) && machines >= 24).then(|| chance.happens(0.6));
        let mut made = Made { briefs: Vec::new(), causes: Vec::new() };
        for number in 0..machines {
            let other = mixed && number % 3 == 0;
            // Two in five, spread over the kinds.
            let in_camp = camps.is_some() && number % 5 < 2;
            let cause = (!other && chance.happens(slow_share)).then(|| chance.below(CAUSES.len()));
            let loss = chance.below(LOSSES.len());
            let harmless = chance.happens(0.08).then(|| chance.below(self.harmless.len()));
            let mut brief = match (cause, harmless) {
                _ if other => self.other_kind.clone(),
                (Some(cause), _) => self.slow[cause][loss].clone(),
                (None, Some(which)) => self.harmless[which].clone(),
                (None, None) => self.sound.clone(),
            };
            // A camp that a fact explains, and one that none does.
            if in_camp && camps == Some(true) {
                let differing =
                    self.sound.facts.iter().zip(&self.other_kernel.facts).position(|(a, b)| a != b);
                let at = differing.expect("another kernel is another fact");
                brief.facts[at] = self.other_kernel.facts[at];
            }
            let begun = 1_790_000_000 + 30 * number as u64;
            brief.machine = format!("node{number:04}");
            brief.host = Some(brief.machine.clone());
            brief.started =
                record::date::rfc3339(std::time::UNIX_EPOCH + std::time::Duration::from_secs(begun));
            brief.begun = Some(begun);
            let moved = if drift { -0.03 * number as f64 / machines as f64 } else { 0.0 };
            let drop_some = missing && chance.happens(0.2);
            let together: Vec<f64> = Family::ALL.iter().map(|_| TOGETHER * chance.normal()).collect();
            let known = &self.known;
            let mut change = |figure: u32, point: Point| {
                if drop_some && chance.happens(0.2) {
                    return None;
                }
                let family = known.figure(figure)?.family;
                let of = Family::ALL.iter().position(|known| *known == family)?;
                let memory = matches!(family, Family::MemoryLatency | Family::MemoryBandwidth);
                let camp = if in_camp && memory { -0.06 } else { 0.0 };
                let core = if family == Family::Core { moved } else { 0.0 };
                let half = half_width(point);
                // A machine's own noise, as its record has it, and how machines differ.
                let log = together[of]
                    + ALONE * chance.normal()
                    + half.unwrap_or(0.0) / 1.96 * chance.normal()
                    + camp
                    + core;
                let value = point.value
                    * if known
                        .figure(figure)
                        .is_some_and(|figure| figure.better == Some(record::Better::Lower))
                    {
                        (-log).exp()
                    } else {
                        log.exp()
                    };
                Some(Point { value, interval: half.map(|half| (value * (-half).exp(), value * half.exp())) })
            };
            let figures = brief.figures.iter();
            brief.figures =
                figures.filter_map(|(figure, point)| Some((*figure, change(*figure, *point)?))).collect();
            made.briefs.push(brief);
            made.causes.push(cause);
        }
        made
    }
}

fn half_width(point: Point) -> Option<f64> {
    let (low, high) = point.interval.filter(|(low, high)| *low > 0.0 && high >= low)?;
    Some(((high / low).ln() / 2.0).clamp(0.0005, WIDEST))
}

/// The real record, changed into that of a server with more parts.
fn server(mut record: Record) -> Record {
    let machine = &mut record.machine;
    machine.processor.model_name = Some("a processor".to_owned());
    machine.processor.microcode = Some("0xd000404".to_owned());
    machine.counts.cpus_online = Some(CPUS);
    machine.counts.cpus_present = Some(CPUS);
    machine.counts.cpus_allowed = Some(CPUS);
    machine.counts.cores = Some(CPUS / 2);
    machine.counts.nodes = Some(2);
    machine.kernel.release = Some("6.12.0-1-amd64".to_owned());
    machine.kernel.mitigations = [("spectre_v2", "Mitigation: IBRS"), ("mds", "Not affected")]
        .map(|(name, says)| (name.to_owned(), says.to_owned()))
        .into();
    machine.system.firmware = Some("2.16.0".to_owned());
    machine.memory_bytes = Some(256 << 30);
    machine.memory_devices = (0..DEVICES).map(device).collect();
    let before = &mut record.conditions.before;
    before.smt = Some("on".to_owned());
    before.thp = Some("madvise".to_owned());
    before.clocks = vec![ClockSetting {
        cpus: (0..CPUS).collect::<CpuList>(),
        governor: Some("performance".to_owned()),
        ..ClockSetting::default()
    }];
    // Work of all CPUs, which a quick run does not measure.
    let is_work =
        |m: &&Measurement| m.metric == "workload.throughput" && m.labels.count(Label::Threads) == Some(1);
    if let Some(mut work) = record.measurements.iter().find(is_work).cloned() {
        work.labels.0.insert(Label::Threads.name().to_owned(), Key::Count(CPUS.into()));
        record.measurements.push(work);
    }
    // The clock of every CPU.
    let is_clock = |m: &&Measurement| {
        m.metric == "core.clock"
            && m.labels.word(Label::Active) == Some("one")
            && m.labels.word(Label::Vector) == Some("scalar")
    };
    if let Some(clock) = record.measurements.iter().find(is_clock).cloned() {
        record.measurements.retain(|m| m.metric != "core.clock");
        for cpu in 0..CPUS {
            let mut of_cpu = clock.clone();
            of_cpu.labels.0.insert(Label::Cpu.name().to_owned(), Key::Count(cpu.into()));
            record.measurements.push(of_cpu);
        }
    }
    record
}

fn device(number: usize) -> MemoryDevice {
    MemoryDevice {
        locator: Some(format!("{}{}", ["A", "B"][number / 4], number % 4 + 1)),
        channel: Some(format!("{number}")),
        bytes: Some(32 << 30),
        kind: Some("DDR4".to_owned()),
        rated_mt_s: Some(3200),
        configured_mt_s: Some(3200),
        data_bits: Some(64),
        ..MemoryDevice::default()
    }
}

/// Multiplies the speed of results by a factor: results for which lower is better are divided by it.
fn scale(record: &mut Record, of: impl Fn(&Measurement) -> bool, factor: f64) {
    for m in record.measurements.iter_mut().filter(|m| of(m)) {
        let lower = m.metric.definition().and_then(|metric| metric.better) == Some(record::Better::Lower);
        let factor = if lower { 1.0 / factor } else { factor };
        let s = &mut m.summary;
        for value in [&mut s.min, &mut s.median, &mut s.mad, &mut s.max] {
            *value *= factor;
        }
        s.mean = s.mean.map(|mean| mean * factor);
        s.interval = s.interval.map(|(low, high)| (low * factor, high * factor));
        m.samples.iter_mut().for_each(|sample| *sample *= factor);
    }
}

fn is_of_all(m: &Measurement) -> bool {
    m.labels.count(Label::Threads).is_some_and(|threads| threads > 1) || m.labels.get(Label::Cpus).is_some()
}

fn is_bandwidth(m: &Measurement) -> bool {
    m.metric == "memory.bandwidth"
}

/// A load from beyond the caches of a core.
fn is_far(m: &Measurement) -> bool {
    m.metric == "load.latency" && m.labels.count(Label::Bytes).is_some_and(|bytes| bytes > 64 << 20)
        || m.metric == "memory.loaded_latency"
}

fn missing_device(record: &mut Record, loss: f64) {
    record.machine.memory_devices[5].bytes = None;
    record.machine.memory_devices[5].configured_mt_s = None;
    record.machine.memory_bytes = Some(224 << 30);
    scale(record, is_bandwidth, 1.0 - loss);
}

fn slower_devices(record: &mut Record, loss: f64) {
    record.machine.memory_devices.iter_mut().for_each(|device| device.configured_mt_s = Some(2666));
    scale(record, is_bandwidth, 1.0 - loss);
    scale(record, is_far, 1.0 - 0.4 * loss);
}

fn numa_off(record: &mut Record, loss: f64) {
    record.machine.counts.nodes = Some(1);
    scale(record, |m| is_bandwidth(m) && is_of_all(m), 1.0 - loss);
    scale(record, is_far, 1.0 - loss);
}

/// Everything that a core does by itself.
fn clock(record: &mut Record, factor: f64) {
    let of_core = |m: &Measurement| {
        let near =
            m.metric == "load.latency" && m.labels.count(Label::Bytes).is_some_and(|bytes| bytes <= 1 << 20);
        near || m.metric == "core.clock" || m.metric.family() == "workload" || m.metric.family() == "cost"
    };
    scale(record, of_core, factor);
}

fn governor(record: &mut Record, loss: f64) {
    record.conditions.before.clocks[0].governor = Some("powersave".to_owned());
    clock(record, 1.0 - loss);
}

fn smt_off(record: &mut Record, loss: f64) {
    record.conditions.before.smt = Some("off".to_owned());
    record.machine.counts.cpus_online = Some(CPUS / 2);
    record.machine.counts.cpus_allowed = Some(CPUS / 2);
    scale(record, |m| m.metric.family() == "workload" && is_of_all(m), 1.0 - loss);
}

fn quota(record: &mut Record, loss: f64) {
    record.machine.limits.cpu_quota = Some(f64::from(CPUS) * (1.0 - loss));
    scale(record, |m| (m.metric.family() == "workload" || is_bandwidth(m)) && is_of_all(m), 1.0 - loss);
}

fn neighbour(record: &mut Record, loss: f64) {
    let extra = loss * f64::from(CPUS) * record.seconds.unwrap_or(10.0);
    if let Some(after) = &mut record.conditions.after {
        *after.cpu_seconds.entry("user".to_owned()).or_default() += extra;
    }
    scale(record, |m| m.metric.family() == "workload" || is_bandwidth(m), 1.0 - loss);
    scale(record, is_far, 1.0 - 0.5 * loss);
}

fn microcode(record: &mut Record, loss: f64) {
    record.machine.processor.microcode = Some("0xd000331".to_owned());
    record.machine.kernel.mitigations.insert("mds".to_owned(), "Mitigation: Clear CPU buffers".to_owned());
    scale(record, |m| m.metric.family() == "cost", 1.0 - loss);
}

fn bad_core(record: &mut Record, loss: f64) {
    scale(record, |m| m.metric == "core.clock" && m.labels.count(Label::Cpu) == Some(11), 1.0 - loss);
}
