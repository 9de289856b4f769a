//! Synthetic curves and records for tests.

use record::machine::{Cache, CacheKind, Cpu, MemoryDevice, Node};
use record::text::Value;
use record::{Label, Labels, Measurement, Metric, Record, Remedy, Snapshot, Text};

/// The value of the placeholder `name` in a sentence.
pub(crate) fn figure_in(text: &Text, name: &str) -> f64 {
    match text.value(name) {
        Some(Value::Count(count) | Value::Bytes(count)) => *count as f64,
        Some(Value::Share(figure) | Value::Figure(figure, _) | Value::Factor(figure)) => *figure,
        Some(Value::Rounded(figure, _)) => match figure.as_ref() {
            Value::Share(figure) | Value::Figure(figure, _) => *figure,
            other => panic!("{name} of {text:?} is {other:?}"),
        },
        other => panic!("{name} of {text:?} is {other:?}"),
    }
}

/// The code of a remedy's words; empty for a command without words.
pub(crate) fn code_of(remedy: &Remedy) -> &str {
    remedy.text.as_ref().and_then(Text::code).unwrap_or_default()
}

/// Eight sizes per octave from `from` to `to` bytes, in whole cache lines.
pub(crate) fn sizes(from: u64, to: u64) -> Vec<u64> {
    sizes_by(8.0, from, to)
}

/// Sizes from `from` to `to` bytes, this many per octave, in whole cache lines.
pub(crate) fn sizes_by(an_octave: f64, from: u64, to: u64) -> Vec<u64> {
    let octaves = (to as f64 / from as f64).log2();
    (0..=(octaves * an_octave).round() as u32)
        .map(|i| (from as f64 * 2f64.powf(f64::from(i) / an_octave) / 64.0).round() as u64 * 64)
        .collect()
}

/// A curve of sharp steps: each size has the latency of the first step that is large enough for it.
pub(crate) fn steps(sizes: &[u64], steps: &[(u64, f64)]) -> Vec<(u64, f64)> {
    let ns = |bytes: u64| steps.iter().find(|(most, _)| bytes <= *most).map_or(f64::NAN, |step| step.1);
    sizes.iter().map(|bytes| (*bytes, ns(*bytes))).collect()
}

/// A curve of caches with random replacement: a cache still contains its share of the lines of a larger working set.
pub(crate) fn gradual(sizes: &[u64], caches: &[(u64, f64)], memory: f64) -> Vec<(u64, f64)> {
    let ns = |bytes: u64| {
        let mut missing = 1.0;
        let mut total = 0.0;
        for (size, latency) in caches {
            let held = (*size as f64 / bytes as f64).min(1.0) * missing;
            total += held * latency;
            missing -= held;
        }
        total + missing * memory
    };
    sizes.iter().map(|bytes| (*bytes, ns(*bytes))).collect()
}

/// The same points with up to ± `share` of noise and, on one point in sixteen, a spike to twice the latency.
pub(crate) fn noisy(points: Vec<(u64, f64)>, share: f64, seed: u64) -> Vec<(u64, f64)> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut since = 0;
    points
        .into_iter()
        .map(|(bytes, ns)| {
            since += 1;
            let spike = since >= 8 && random() < 1.0 / 16.0;
            if spike {
                since = 0;
            }
            let noise = 1.0 + share * (2.0 * random() - 1.0);
            (bytes, if spike { ns * 2.0 } else { ns * noise })
        })
        .collect()
}

/// Eight samples within ± 0.2 % of `value`.
pub(crate) fn tight(value: f64) -> Vec<f64> {
    [1.0, 0.999, 1.001, 1.0, 0.998, 1.002, 1.0, 1.001].iter().map(|factor| value * factor).collect()
}

/// A measurement with tight samples.
pub(crate) fn measured(metric: impl Into<Metric>, place: Labels, value: f64) -> Measurement {
    Measurement::new(metric, place, tight(value))
}

/// An empty record of a machine with `cpus` CPUs, one per core, all online and allowed.
pub(crate) fn machine(cpus: u32) -> Record {
    let mut record = Record::new("0.0.0", "2026-01-01T00:00:00Z".to_owned(), Vec::new());
    for id in 0..cpus {
        let siblings = std::iter::once(id).collect();
        record.machine.cpus.push(Cpu {
            id,
            online: true,
            allowed: true,
            core: Some(id),
            package: Some(0),
            node: Some(0),
            siblings,
            ..Cpu::default()
        });
    }
    let counts = &mut record.machine.counts;
    counts.cpus_present = Some(cpus);
    counts.cpus_online = Some(cpus);
    counts.cpus_allowed = Some(cpus);
    record.machine.limits.cgroup_version = Some(2);
    record
}

/// Adds a cache that CPUs 0 to `cpus` share.
pub(crate) fn add_cache(record: &mut Record, level: u32, bytes: u64, cpus: u32) {
    record.machine.caches.push(Cache {
        level,
        kind: if level == 1 { CacheKind::Data } else { CacheKind::Unified },
        bytes: Some(bytes),
        line: Some(64),
        ways: None,
        cpus: (0..cpus).collect(),
    });
}

/// Adds a latency curve of CPU 0 on pages of `page`.
pub(crate) fn add_curve(record: &mut Record, page: &str, points: &[(u64, f64)]) {
    for (bytes, ns) in points {
        let place = Labels::new()
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Node, 0u32)
            .with_label(Label::Bytes, *bytes)
            .with_label(Label::Page, page);
        record.measurements.push(measured("load.latency", place, *ns));
    }
}

/// Adds the wake-up latency of CPUs 0 and 1 with a policy and a setting.
pub(crate) fn add_wakeups(record: &mut Record, policy: &str, setting: &str, ns: [f64; 2]) {
    for (cpu, ns) in ns.into_iter().enumerate() {
        let place = Labels::new()
            .with_label(Label::Cpu, cpu)
            .with_label(Label::Policy, policy)
            .with_label(Label::Setting, setting);
        record.measurements.push(measured("wakeup.latency", place.with_label(Label::Corrected, false), ns));
    }
}

/// A machine with two CPUs from which these shares were stolen, in gaps of 4 ms.
pub(crate) fn stolen(cause: &str, shares: [f64; 2]) -> Record {
    let mut record = machine(2);
    for (cpu, share) in shares.into_iter().enumerate() {
        let place = Labels::new().with_label(Label::Cpu, cpu).with_label(Label::Cause, cause);
        record.measurements.push(measured("stolen.share", place.clone(), share));
        if share > 0.0 {
            record.measurements.push(measured("stolen.gap", place, 4e6));
        }
    }
    record
}

/// A memory device of node 0 that runs at its rated 2933 MT/s.
pub(crate) fn device(locator: &str, channel: &str, gib: u64) -> MemoryDevice {
    MemoryDevice {
        locator: Some(locator.to_owned()),
        channel: Some(channel.to_owned()),
        bytes: (gib > 0).then_some(gib << 30),
        rated_mt_s: Some(2934),
        configured_mt_s: Some(2933),
        node: Some(0),
        ..MemoryDevice::default()
    }
}

/// A machine with this many nodes and a matrix of latencies, `ns(from, to)`. Each node is a package with one CPU.
pub(crate) fn nodes(count: u32, distance: impl Fn(u32, u32) -> u32, ns: impl Fn(u32, u32) -> f64) -> Record {
    let mut record = machine(count);
    for cpu in &mut record.machine.cpus {
        (cpu.node, cpu.package) = (Some(cpu.id), Some(cpu.id));
    }
    record.machine.counts.nodes = Some(count);
    record.machine.counts.packages = Some(count);
    for from in 0..count {
        record.machine.nodes.push(Node {
            id: from,
            cpus: std::iter::once(from).collect(),
            distances: (0..count).map(|to| distance(from, to)).collect(),
            allowed: true,
            ..Node::default()
        });
        for to in 0..count {
            let place = Labels::new().with_label(Label::From, from).with_label(Label::To, to);
            record.measurements.push(measured("numa.latency", place, ns(from, to)));
        }
    }
    record
}

/// A run of 10 s in which all processes together used `busy` CPU seconds and this process used `own`.
pub(crate) fn ran(record: &mut Record, busy: f64, own: f64) {
    let state = record.conditions.before.clone();
    let at = |uptime: f64, user: f64, own: f64| Snapshot {
        uptime_seconds: Some(uptime),
        own_cpu_seconds: Some(own),
        cpu_seconds: ["nice", "system", "irq", "softirq"]
            .map(|kind| (kind.to_owned(), 0.0))
            .into_iter()
            .chain([("user".to_owned(), user)])
            .collect(),
        ..state.clone()
    };
    record.conditions.before = at(100.0, 500.0, 0.0);
    record.conditions.after = Some(Snapshot { load: None, ..at(110.0, 500.0 + busy, own) });
}

/// Whether one of the sentences in a text has this code.
pub(crate) fn has_code(text: &Text, code: &str) -> bool {
    text.sentences().iter().any(|one| one.code() == Some(code))
}
