//! Tests comparisons of published machines, which have few published results, against the required outcome.

use record::comparison::{Comparison, Support};
use record::document::Tool;
use record::machine::{Cache, CacheKind, MemoryDevice, Node};
use record::text::Value;
use record::{Label, Labels, Measurement, Record, Text};

use super::explain::{
    CORE_CLOCK, CORES, INSTRUCTIONS, INSTRUCTIONS_PER_CYCLE, NEIGHBOURS, SCALING_WITH_SIBLINGS, STREAMING,
};
use super::method::SYSTEM_WIDE;
use super::projection::{BINDING, DEVICES, RATED};
use super::{Extent, Side, compare};
use crate::samples::has_code;

pub(super) fn side_by_side(all: &[(&str, &Record)]) -> Comparison {
    let sides: Vec<Side> = all.iter().map(|(name, record)| Side { name, source: name, record }).collect();
    compare(&sides, 0, Tool { name: "linespeed".to_owned(), version: "0.0.0".to_owned() }, Extent::Summary)
}

/// The number in a placeholder of a sentence.
pub(super) fn number(text: &Text, name: &str) -> f64 {
    match text.value(name) {
        Some(Value::Factor(number) | Value::Share(number) | Value::Figure(number, _)) => *number,
        Some(Value::Count(count)) => *count as f64,
        other => panic!("{name}: {other:?} in {text}"),
    }
}

/// The name in a placeholder of a sentence.
pub(super) fn word(text: &Text, name: &str) -> String {
    text.value(name).map(Value::to_string).unwrap_or_default()
}

pub(super) fn empty() -> Record {
    Record::new("0.0.0", String::new(), Vec::new())
}

fn add(record: &mut Record, metric: impl Into<record::Metric>, place: Labels, value: f64) {
    record.measurements.push(Measurement::new(metric, place, vec![value]));
}

/// A cloud server, from its lscpu and cyclictest output.
fn cloud(cpus: u32, l3: u64, hypervisor: &str, mhz: u64, load: f64, average_us: f64) -> Record {
    let mut record = empty();
    let machine = &mut record.machine;
    machine.counts.cpus_online = Some(cpus);
    machine.counts.packages = Some(1);
    machine.counts.nodes = Some(1);
    machine.virtualization.hypervisor = Some(hypervisor.to_owned());
    machine.processor.base_hz = Some(mhz * 1_000_000);
    machine.caches.push(Cache {
        level: 3,
        kind: CacheKind::Unified,
        bytes: Some(l3 << 10),
        line: None,
        ways: None,
        cpus: (0..cpus).collect(),
    });
    record.conditions.before.load = Some([load, load, load]);
    let place = Labels::new()
        .with_label(Label::Cpu, 0u32)
        .with_label(Label::Policy, "other")
        .with_label(Label::Priority, 0u32);
    let mut average = Measurement::new("wakeup.average", place, vec![average_us * 1000.0]);
    average.method = Some("cyclictest".to_owned());
    record.measurements.push(average);
    record
}

fn cloud_servers() -> [Record; 4] {
    [
        cloud(4, 40960, "kvm", 2494, 0.00, 11.0),
        cloud(2, 20480, "kvm", 2594, 1.17, 55.0),
        cloud(1, 33792, "kvm", 2500, 0.22, 18.0),
        cloud(1, 15360, "xen", 2300, 1.09, 41.0),
    ]
}

#[test]
fn four_cloud_servers_stand_in_the_order_of_their_wake_ups() {
    let [one, two, three, four] = cloud_servers();
    let said = side_by_side(&[("1", &one), ("2", &two), ("3", &three), ("4", &four)]);
    let order = said.orders.iter().find(|order| order.metric == "wakeup.average").unwrap();
    let names: Vec<&str> = order.ranks.iter().map(|rank| said.subjects[rank.subject].name.as_str()).collect();
    assert_eq!(names, ["1", "3", "4", "2"]);
    // Cache sizes decrease from the best result to the worst, except for servers 2 and 4.
    let caches = &order.says.sentences()[0];
    assert_eq!(caches.code(), Some("comparison-order-contradicted"));
    assert_eq!(word(caches, "fact"), "last-level cache");
    assert_eq!((number(caches, "against"), number(caches, "all")), (1.0, 6.0));
    assert_eq!((word(caches, "fast"), word(caches, "slow")), ("4".to_owned(), "2".to_owned()));
}

#[test]
fn bigger_caches_do_not_explain_the_slower_server_and_neighbours_are_not_shown() {
    let [_, two, _, four] = cloud_servers();
    let said = side_by_side(&[("2", &two), ("4", &four)]);
    let why = &said.explanations[0];
    assert!((why.speed - 55.0 / 41.0).abs() < 1e-9, "{why:?}");
    assert!(why.causes.is_empty() && has_code(&why.says, "comparison-unexplained"), "{}", why.says);
    let support = |code: &str| {
        why.claims.iter().find(|claim| claim.code == code).map(|claim| (claim.support, claim.why.to_string()))
    };
    let (caches, figures) = support("comparison-claim-caches").unwrap();
    assert_eq!(caches, Support::Contradicted);
    assert!(figures.contains("20 MiB") && figures.contains("15 MiB"), "{figures}");
    assert_eq!(support("comparison-claim-cpus").unwrap().0, Support::Contradicted);
    let neighbours = why.claims.iter().find(|claim| claim.code == NEIGHBOURS.code).unwrap();
    assert_eq!(neighbours.support, Support::NotSupported);
    assert_eq!(neighbours.why.code(), Some("comparison-no-steal-time"));
    assert_eq!(word(&neighbours.why, "missing"), "2 and 4");
    let (load, figures) = support("comparison-claim-own-load").unwrap();
    assert_eq!(load, Support::NotSupported);
    assert!(figures.contains("1.17") && figures.contains("1.09"), "{figures}");
    // If steal time was measured, the claim is judged by the measurement.
    let (mut two, mut four) = (two, four);
    for (record, steal) in [(&mut two, 0.05), (&mut four, 0.001)] {
        add(
            record,
            "stolen.share",
            Labels::new().with_label(Label::Cpu, 0u32).with_label(Label::Cause, "below"),
            steal,
        );
    }
    let said = side_by_side(&[("2", &two), ("4", &four)]);
    let claim = said.explanations[0].claims.iter().find(|claim| claim.code == NEIGHBOURS.code).unwrap();
    assert_eq!(claim.support, Support::Supported);
}

/// A machine used as a load generator: its CPUs, packages and clock, the time per element of lmbench's copy on the local node and on other
/// nodes, and the memory speed in MT/s.
pub(super) fn generator(cpus: u32, packages: u32, mhz: u64, (own, other): (f64, f64), mt_s: u32) -> Record {
    let mut record = empty();
    let machine = &mut record.machine;
    machine.counts.cpus_online = Some(cpus);
    machine.counts.packages = Some(packages);
    machine.counts.nodes = Some(packages);
    machine.processor.base_hz = Some(mhz * 1_000_000);
    for id in 0..packages {
        let each = cpus / packages;
        let cpus = (id * each..(id + 1) * each).collect();
        machine.nodes.push(Node { id, cpus, ..Node::default() });
    }
    machine.memory_devices.push(MemoryDevice {
        bytes: Some(32 << 30),
        rated_mt_s: Some(2933),
        configured_mt_s: Some(mt_s),
        ..MemoryDevice::default()
    });
    for (node, ns) in [(0u32, own), (1, other)] {
        let place = Labels::new()
            .with_label(Label::Op, "copy")
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Node, node);
        add(&mut record, "stream.ns_per_element", place, ns);
    }
    record
}

#[test]
fn of_more_cores_that_do_no_more_it_is_said_what_holds_them_back_and_what_to_expect() {
    let mut small = generator(72, 2, 2200, (1.1, 1.4), 2900);
    let mut big = generator(196, 4, 2500, (1.2, 1.85), 2100);
    for (record, threads) in [(&mut small, 72u32), (&mut big, 196)] {
        add(
            record,
            "workload.throughput",
            Labels::new().with_label(Label::Workload, "load").with_label(Label::Threads, threads),
            1.0,
        );
    }
    for (first, second) in [(("72", &small), ("196", &big)), (("196", &big), ("72", &small))] {
        let said = side_by_side(&[first, second]);
        let why = said.explanations.iter().find(|why| why.held_back.is_some()).unwrap();
        let held = &why.held_back.as_ref().unwrap().says;
        assert_eq!((word(held, "big"), word(held, "small")), ("196".to_owned(), "72".to_owned()));
        assert!((number(held, "cores") - 196.0 / 72.0).abs() < 1e-9);
        assert!((number(held, "clock") - 2.5 / 2.2).abs() < 1e-9);
        let limits: Vec<&str> =
            why.causes.iter().filter(|cause| !cause.despite).map(|cause| cause.code.as_str()).collect();
        assert_eq!(limits, ["comparison-cause-time-per-element", "comparison-cause-devices"]);
        // Three quarters of accesses are remote, at 1.85/1.2 times the local latency, compared with half, at 1.4/1.1 times.
        let shares = why.causes[0].says.to_string();
        assert!(
            shares.contains("75.0 %") && shares.contains("1.54×") && shares.contains("50.0 %"),
            "{shares}"
        );
        let devices = said.what_if.iter().find(|what| what.setting.is(&DEVICES)).unwrap();
        assert_eq!(devices.says.code(), Some(RATED.code));
        assert_eq!(word(&devices.says, "rated"), "2933 MT/s");
        // The least gain is 196/72 × 1.25/1.2. The largest, with the full clock and the other machine's local memory, is 196/72 × 2.5/2.2 ×
        // 1.25/1.1.
        let whole = &said.what_if.iter().find(|what| what.together).unwrap().says;
        assert!((number(whole, "least") - 196.0 / 72.0 * 1.25 / 1.2).abs() < 1e-9, "{whole}");
        assert!((number(whole, "most") - 196.0 / 72.0 * 2.5 / 2.2 * 1.25 / 1.1).abs() < 1e-9, "{whole}");
        let to_try = said.answer.iter().find(|answer| answer.code() == Some("comparison-to-try")).unwrap();
        assert!(word(to_try, "who") == "196" && has_code(to_try, "comparison-estimate"), "{to_try}");
        // The text mentions the gain before the setting.
        let first = said.what_if.iter().find(|what| what.subject == devices.subject).unwrap();
        let begins = format!("196 could gain: {} at most ", first.acts_on);
        assert!(to_try.to_string().starts_with(&begins), "{to_try}");
    }
}

#[test]
fn the_bigger_machine_waits_for_memory() {
    let small = generator(72, 2, 2200, (1.1, 1.4), 2900);
    let big = generator(196, 4, 2500, (1.2, 1.85), 2100);
    let said = side_by_side(&[("72", &small), ("196", &big)]);
    let why = said.explanations.iter().find(|why| why.result.is(&STREAMING)).unwrap();
    let names: Vec<(&str, bool)> =
        why.causes.iter().map(|cause| (cause.code.as_str(), cause.despite)).collect();
    assert_eq!(
        names,
        [
            ("comparison-cause-time-per-element", false),
            ("comparison-cause-devices", false),
            ("comparison-cause-cpus", true),
            ("comparison-cause-clock", true)
        ]
    );
    let latency = &why.causes[0];
    assert!(latency.measured && (latency.factor - 1.25 / 1.6875).abs() < 1e-9, "{latency:?}");
    assert!(
        latency.says.to_string().contains("75.0 %") && latency.says.to_string().contains("50.0 %"),
        "{}",
        latency.says
    );
    assert_eq!(latency.parts[0].code, "comparison-cause-remote-share");
    let product: f64 = latency.parts.iter().map(|part| part.factor).product();
    assert!((product - latency.factor).abs() < 1e-9);
    assert!((why.causes[1].factor - 2100.0 / 2900.0).abs() < 1e-9);
    // The gains from using the other machine's memory devices and from binding to nodes.
    let of_big = |setting: &record::Template| {
        said.what_if.iter().find(|what| what.subject == 1 && what.setting.is(setting)).map(|what| what.gain)
    };
    assert!((of_big(&DEVICES).unwrap() - 2900.0 / 2100.0).abs() < 1e-9);
    assert!((of_big(&BINDING).unwrap() - 1.6875 / 1.2).abs() < 1e-9);
    assert!(said.what_if.iter().all(|what| what.subject == 1 || !what.setting.is(&DEVICES)));
    // If the CPU's node is unknown, the fastest node is assumed to be local, and the text says so.
    let (mut small, mut big) = (small, big);
    small.machine.nodes.clear();
    big.machine.nodes.clear();
    let said = side_by_side(&[("72", &small), ("196", &big)]);
    let why = said.explanations.iter().find(|why| why.result.is(&STREAMING)).unwrap();
    assert!((why.speed - 1.25 / 1.6875).abs() < 1e-9);
    assert!(has_code(&why.causes[0].says, "comparison-all-nodes-guessed"), "{why:?}");
}

/// `openssl speed aes-256-ige` at 8 KiB: kB/s by number of processes.
fn openssl(cores: u32, cpus: u32, figures: &[(u32, f64)]) -> Record {
    let mut record = empty();
    record.machine.counts.cores = Some(cores);
    record.machine.counts.cpus_online = Some(cpus);
    for (threads, kb_s) in figures {
        let place = Labels::new()
            .with_label(Label::Workload, "aes-256-ige")
            .with_label(Label::Bytes, 8192u32)
            .with_label(Label::Threads, *threads);
        let mut m = Measurement::new("workload.throughput", place, vec![kb_s * 1000.0]);
        m.method = Some("openssl speed".to_owned());
        record.measurements.push(m);
    }
    record
}

#[test]
fn openssl_scales_as_its_figures_say_and_not_as_the_text_does() {
    let intel = openssl(52, 104, &[(1, 89101.65), (32, 2680422.40), (104, 5247858.60)]);
    let hygon = openssl(32, 64, &[(1, 79555.24), (32, 2550723.93), (64, 2884302.17)]);
    let kunpeng = openssl(96, 96, &[(1, 143196.16), (32, 4584330.58), (96, 13751432.53)]);
    let said = side_by_side(&[("intel", &intel), ("hygon", &hygon), ("kunpeng", &kunpeng)]);
    let note = |who: &str| said.within.iter().find(|note| word(note, "who") == who).unwrap();
    let of = |who: &str, code: &str| -> Text {
        let Some(Value::Sentence(says)) = note(who).value("says") else { panic!("{}", note(who)) };
        says.sentences().iter().find(|text| text.code() == Some(code)).cloned().unwrap()
    };
    let rounded = |share: f64| (share * 100.0).round();
    let hygon_says = of("hygon", "comparison-scaling-siblings");
    assert_eq!((number(&hygon_says, "cores"), rounded(number(&hygon_says, "gain"))), (32.0, 13.0));
    let intel_says = of("intel", "comparison-scaling-siblings-about");
    assert_eq!((number(&intel_says, "cores"), number(&intel_says, "measured")), (52.0, 32.0));
    assert_eq!(rounded(number(&intel_says, "gain")), 20.0);
    let kunpeng_says = of("kunpeng", "comparison-scaling-cores");
    assert_eq!((number(&kunpeng_says, "threads"), rounded(number(&kunpeng_says, "share"))), (96.0, 100.0));
    let order = said.orders.iter().find(|order| order.result.to_string().ends_with(", all CPUs")).unwrap();
    let names: Vec<usize> = order.ranks.iter().map(|rank| rank.subject).collect();
    assert_eq!(names, [2, 0, 1]);
    // For all CPUs, the factors of cores, one thread, scaling and siblings multiply to the entire difference.
    let why = said
        .explanations
        .iter()
        .find(|why| why.subject == 2 && why.result.code() == Some("comparison-result-all-cpus"))
        .unwrap();
    let product: f64 = why.causes.iter().map(|cause| cause.factor).product();
    assert!((product * why.unexplained.unwrap() / why.speed - 1.0).abs() < 1e-9);
    assert!((why.unexplained.unwrap() - 1.0).abs() < 0.02, "{why:?}");
    assert!(why.causes[0].name.is(&CORES));
}

#[test]
fn nothing_is_said_of_siblings_where_cores_or_steps_are_not_known() {
    let mut unknown = openssl(52, 104, &[(1, 24674.0), (4, 94132.0), (32, 542192.0)]);
    unknown.machine.counts.cores = None;
    unknown.machine.counts.cpus_online = None;
    let two_steps = openssl(52, 104, &[(1, 89101.65), (104, 5247858.60)]);
    let hygon = openssl(32, 64, &[(1, 79555.24), (32, 2550723.93), (64, 2884302.17)]);
    let said = side_by_side(&[("unknown", &unknown), ("two", &two_steps), ("hygon", &hygon)]);
    assert_eq!(said.within.len(), 1, "{:?}", said.within);
    assert_eq!(word(&said.within[0], "who"), "hygon", "{:?}", said.within);
    let why = said
        .explanations
        .iter()
        .find(|why| why.subject == 2 && why.result.code() == Some("comparison-result-all-cpus"));
    assert!(why.is_none_or(|why| why.causes.iter().all(|cause| cause.code != "comparison-cause-siblings")));
    // If no thread count isolates cores, the factors still multiply to the entire difference.
    let two_steps = openssl(52, 104, &[(1, 89101.65), (104, 4000000.0)]);
    let said = side_by_side(&[("two", &two_steps), ("hygon", &hygon)]);
    let why =
        said.explanations.iter().find(|why| why.result.code() == Some("comparison-result-all-cpus")).unwrap();
    assert!(why.causes.iter().any(|cause| cause.name.is(&SCALING_WITH_SIBLINGS)), "{why:?}");
    let product: f64 = why.causes.iter().map(|cause| cause.factor).product();
    assert!((product * why.unexplained.unwrap() / why.speed - 1.0).abs() < 1e-9, "{why:?}");
}

/// `7^999999` computed by bc: seconds, and perf's counts for the program or the whole system.
pub(super) fn power(seconds: f64, cycles: f64, instructions: f64, scope: &str, max_mhz: u64) -> Record {
    let mut record = empty();
    record.machine.processor.max_hz = Some(max_mhz * 1_000_000);
    let workload = |place: Labels| place.with_label(Label::Workload, "7^999999");
    add(&mut record, "workload.time", workload(Labels::new()), seconds);
    for (event, count) in [("cycles", cycles), ("instructions", instructions)] {
        add(
            &mut record,
            "counter.count",
            workload(Labels::new().with_label(Label::Event, event).with_label(Label::Scope, scope)),
            count,
        );
    }
    let place = workload(Labels::new().with_label(Label::Source, "pmu").with_label(Label::Scope, scope));
    add(&mut record, "core.ipc", place, instructions / cycles);
    record
}

#[test]
fn a_long_power_is_taken_apart_and_counts_of_the_whole_system_are_refused() {
    let intel = power(18.603323495, 58_626_314_801.0, 128_284_870_917.0, "process", 2501);
    let kunpeng = power(24.604603640, 63_865_354_560.0, 117_790_453_518.0, "process", 2600);
    let hygon = power(26.729972414, 317_353_262_523.0, 293_162_940_548.0, "system", 2500);
    let phytium = power(39.654819568, 612_467_194_375.0, 263_691_445_872.0, "system", 2100);
    let said =
        side_by_side(&[("intel", &intel), ("kunpeng", &kunpeng), ("hygon", &hygon), ("phytium", &phytium)]);
    let order = said.orders.iter().find(|order| order.metric == "workload.time").unwrap();
    assert_eq!(order.ranks.iter().map(|rank| rank.subject).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let refused = said.refused.iter().find(|refusal| refusal.why.is(&SYSTEM_WIDE)).unwrap();
    assert_eq!(refused.subjects, [2, 3]);
    assert!(refused.metrics.contains(&"core.ipc".into()), "{refused:?}");
    let ipc = said.rows.iter().find(|row| row.metric == "core.ipc").unwrap();
    assert!(ipc.cells[1].value.is_some() && ipc.cells[2].value.is_none() && ipc.cells[3].value.is_none());
    // Kunpeng compared with Intel: fewer instructions, fewer instructions per cycle and a lower clock explain the entire difference.
    let why = said.explanations.iter().find(|why| why.subject == 1).unwrap();
    let factor = |name: &record::Template| {
        why.causes.iter().find(|cause| cause.name.is(name)).map(|cause| cause.factor).unwrap()
    };
    assert!((factor(&INSTRUCTIONS_PER_CYCLE) - 1.8444 / 2.1882).abs() < 1e-3);
    assert!((factor(&CORE_CLOCK) - 2.5957 / 3.1514).abs() < 1e-3);
    assert!((factor(&INSTRUCTIONS) - 128.28 / 117.79).abs() < 1e-3);
    assert!((why.unexplained.unwrap() - 1.0).abs() < 1e-6, "{why:?}");
    // For Phytium, only the clock is known; the rest remains unexplained.
    let why = said.explanations.iter().find(|why| why.subject == 3).unwrap();
    assert!(why.causes.iter().all(|cause| !cause.name.is(&INSTRUCTIONS_PER_CYCLE)), "{why:?}");
    assert!(why.claims.iter().any(|claim| has_code(&claim.claim, "comparison-claim-ipc")
        && word(&claim.claim, "who") == "phytium"
        && claim.support == Support::NotSupported));
}

/// lmbench's copy on a machine with several nodes per package: (cpu, node, ns per element).
fn nodes(packages: u32, nodes: u32, cpus: u32, figures: &[(u32, u32, f64)]) -> Record {
    let mut record = empty();
    record.machine.counts.packages = Some(packages);
    record.machine.counts.nodes = Some(nodes);
    for id in 0..nodes {
        let each = cpus / nodes;
        let cpus = (id * each..(id + 1) * each).collect();
        record.machine.nodes.push(Node { id, cpus, ..Node::default() });
    }
    for (cpu, node, ns) in figures {
        let place = Labels::new()
            .with_label(Label::Op, "copy")
            .with_label(Label::Cpu, *cpu)
            .with_label(Label::Node, *node);
        add(&mut record, "stream.ns_per_element", place, *ns);
    }
    record
}

#[test]
fn a_copy_across_sockets_is_reported_from_one_across_nodes() {
    let phytium = nodes(
        2,
        16,
        128,
        &[
            (7, 0, 2.84),
            (7, 1, 3.16),
            (7, 2, 3.85),
            (7, 3, 3.69),
            (7, 7, 3.95),
            (7, 10, 8.80),
            (7, 11, 9.27),
            (7, 15, 8.73),
        ],
    );
    let kunpeng = nodes(2, 4, 96, &[(7, 0, 1.84), (7, 1, 2.05), (7, 2, 3.51), (7, 3, 3.94)]);
    let said = side_by_side(&[("ft-2500", &phytium), ("kunpeng", &kunpeng)]);
    let note = said.within.iter().find(|note| word(note, "who") == "ft-2500").unwrap();
    assert_eq!(note.code(), Some("comparison-other-sockets"));
    assert!((number(note, "factor") - 3.10).abs() < 0.005, "{note}");
    assert!(said.rows.iter().any(|row| row.what.to_string().ends_with(", other sockets")));
}

/// Half the channels halve the bandwidth of all CPUs, but not that of one thread.
#[test]
fn empty_channels_are_the_cause_of_a_lower_bandwidth() {
    let with = |channels: &[&str], gb_s: Option<f64>| {
        let mut record = empty();
        record.machine.memory_devices = channels.iter().map(|c| crate::samples::device(c, c, 32)).collect();
        for device in &mut record.machine.memory_devices {
            device.configured_mt_s = Some(3200);
        }
        if let Some(gb_s) = gb_s {
            let place = Labels::new().with_label(Label::Op, "read").with_label(Label::Cpus, "all");
            let place = place.with_label(Label::Threads, 8u32);
            let samples = [0.99, 1.0, 1.0, 1.0, 1.0, 1.01].map(|factor| gb_s * factor * 1e9).to_vec();
            record.measurements.push(Measurement::new("memory.bandwidth", place, samples));
        }
        record
    };
    for (gb_s, code) in
        [(Some((40.0, 80.0)), "comparison-result-bandwidth"), (None, "comparison-result-peak-bandwidth")]
    {
        let (half, whole) = (
            with(&["A", "B"], gb_s.map(|both| both.0)),
            with(&["A", "B", "C", "D"], gb_s.map(|both| both.1)),
        );
        let said = side_by_side(&[("half", &half), ("whole", &whole)]);
        let [why] = said.explanations.as_slice() else { panic!("{:?}", said.explanations) };
        assert_eq!(
            (why.result.code(), why.causes[0].code.as_str()),
            (Some(code), "comparison-cause-channels")
        );
        assert!((why.speed - 2.0).abs() < 1e-9 && (why.causes[0].factor - 2.0).abs() < 1e-9, "{why:?}");
    }
    let alike = with(&["A", "B"], Some(30.0));
    assert_eq!(side_by_side(&[("half", &with(&["A", "B"], Some(40.0))), ("alike", &alike)]).explanations, []);
}
