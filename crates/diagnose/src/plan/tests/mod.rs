//! Tests plans for machines of many shapes.

mod places;
mod published;
mod sources;
mod unnumbered;

use proptest::prelude::*;
use record::machine::{Cache, CacheKind, Cpu, Node};
use record::plan::{Plan, Policy};
use record::text::Value;
use record::{CpuList, Handover, Label, Labels, Measurement, Record, Text};

use super::{PlanError, PlanRequest, TOOLS, plan};
use crate::samples::{machine, measured};

/// `nodes` with `cores` cores of `threads` siblings each, numbered as in Linux: all first siblings before the second ones.
fn many(nodes: u32, cores: u32, threads: u32) -> Record {
    let mut record = machine(0);
    let all = nodes * cores;
    for id in 0..all * threads {
        let core = id % all;
        record.machine.cpus.push(Cpu {
            id,
            online: true,
            allowed: true,
            core: Some(core),
            node: Some(core / cores),
            package: Some(core / cores),
            siblings: (0..threads).map(|thread| core + thread * all).collect(),
            ..Cpu::default()
        });
    }
    for id in 0..nodes {
        let on_node = |cpu: &&Cpu| cpu.node == Some(id);
        let cpus = record.machine.cpus.iter().filter(on_node).map(|cpu| cpu.id).collect();
        let distances = (0..nodes).map(|to| if to == id { 10 } else { 20 }).collect();
        let bytes = Some(64 << 30);
        record.machine.nodes.push(Node { id, cpus, bytes, distances, allowed: true, ..Node::default() });
    }
    let counts = &mut record.machine.counts;
    (counts.cpus_online, counts.cpus_present) = (Some(all * threads), Some(all * threads));
    (counts.cores, counts.nodes) = (Some(all), Some(nodes));
    record
}

fn latency(record: &mut Record, ns: impl Fn(u32, u32) -> f64) {
    let nodes: Vec<u32> = record.machine.nodes.iter().map(|node| node.id).collect();
    for from in &nodes {
        for to in &nodes {
            let place = Labels::new().with_label(Label::From, *from).with_label(Label::To, *to);
            record.measurements.push(measured("numa.latency", place, ns(*from, *to)));
        }
    }
}

fn single(metric: &'static str, place: Labels, value: f64) -> Measurement {
    Measurement::new(metric, place, vec![value])
}

fn default(record: &Record) -> Plan {
    plan(record, &PlanRequest::default()).unwrap()
}

fn record_with(record: &Record, processes: u32) -> Plan {
    plan(record, &PlanRequest { processes: Some(processes), ..PlanRequest::default() }).unwrap()
}

fn pasted<'a>(plan: &'a Plan, tool: &str) -> Vec<&'a str> {
    let of_tool = plan.snippets.iter().filter(|snippet| snippet.tool == tool);
    of_tool.flat_map(|snippet| &snippet.pieces).flat_map(|piece| &piece.lines).map(String::as_str).collect()
}

/// The sentence with this code.
fn with_code<'a>(sentences: &'a [Text], code: &str) -> Option<&'a Text> {
    sentences.iter().flat_map(Text::sentences).find(|sentence| sentence.code() == Some(code))
}

/// Whether one of the sentences has this code.
fn says(sentences: &[Text], code: &str) -> bool {
    with_code(sentences, code).is_some()
}

/// The value of a placeholder in the sentence with this code.
#[track_caller]
fn value<'a>(sentences: &'a [Text], code: &str, name: &str) -> &'a Value {
    let sentence = with_code(sentences, code).unwrap_or_else(|| panic!("no {code} in {sentences:?}"));
    sentence.value(name).unwrap_or_else(|| panic!("no {name} in {sentence:?}"))
}

#[test]
fn one_node_of_two_cpus_needs_no_lines() {
    let mut record = many(1, 2, 1);
    record.measurements.push(measured(
        "numa.latency",
        Labels::new().with_label(Label::From, 0u32).with_label(Label::To, 0u32),
        90.0,
    ));
    let plan = default(&record);
    assert!(says(plan.summary.sentences(), "plan-no-binding"), "{}", plan.summary);
    assert_eq!((plan.snippets.len(), plan.gains.len(), plan.cautions.len()), (0, 0, 0), "{plan:?}");
    assert_eq!((plan.processes[0].threads, plan.processes[0].memory.len()), (Some(2), 0));
    let two = record_with(&record, 2);
    assert_eq!(pasted(&two, "taskset"), ["taskset -c 0 COMMAND", "taskset -c 1 COMMAND"]);
    assert!(!pasted(&two, "docker")[0].contains("mems"), "{two:?}");
}

#[test]
fn the_gain_has_the_interval_of_its_figures() {
    let mut record = many(2, 4, 1);
    latency(&mut record, |from, to| if from == to { 100.0 } else { 150.0 });
    for (from, to, rate) in [(0u32, 0u32, 4e10), (0, 1, 2e10), (1, 0, 2e10), (1, 1, 4e10)] {
        let place = Labels::new()
            .with_label(Label::From, from)
            .with_label(Label::To, to)
            .with_label(Label::Op, "read")
            .with_label(Label::Threads, 4u32);
        record.measurements.push(measured("numa.bandwidth", place, rate));
    }
    let plan = default(&record);
    let factors: Vec<f64> = plan.gains.iter().map(|gain| gain.factor).collect();
    assert!((factors[0] - 1.25).abs() < 1e-6 && (factors[1] - 1.5).abs() < 1e-6, "{factors:?}");
    let (low, high) = plan.gains[0].interval.unwrap();
    assert!(low < 1.25 && 1.25 < high && high - low < 0.02, "{low} {high}");
    record.conditions.before.numa_balancing = Some(1);
    assert!(says(&default(&record).cautions, "plan-numa-balancing"));
}

#[test]
fn nodes_without_figures_are_planned_and_the_gain_is_said_to_be_unknown() {
    let plan = default(&many(2, 4, 1));
    assert_eq!((plan.processes.len(), plan.gains.len()), (2, 0));
    assert!(says(&plan.unknown, "plan-remote-memory-not-measured"), "{:?}", plan.unknown);
    assert!(plan.summary.sentences().len() == 1 && plan.summary.code() == Some("plan-process-per-node"));
}

#[test]
fn memory_without_cpus_and_cpus_without_memory_are_reported() {
    let mut record = many(3, 2, 1);
    record.machine.cpus.retain(|cpu| cpu.node != Some(2));
    record.machine.nodes[2].cpus = CpuList::new();
    let memory_only = default(&record);
    assert_eq!(memory_only.processes.len(), 2);
    let idle = |name| value(&memory_only.cautions, "plan-memory-only-node", name);
    assert_eq!((idle("node"), idle("size")), (&Value::Count(2), &Value::Bytes(64 << 30)));
    let mut record = many(3, 2, 1);
    record.machine.nodes[1].bytes = Some(0);
    record.machine.nodes[1].distances = vec![30, 10, 20];
    let without = default(&record);
    assert_eq!(without.processes[1].memory.to_string(), "2");
    assert_eq!(pasted(&without, "numactl")[1], "numactl --cpunodebind=1 --membind=2 COMMAND");
    assert_eq!(value(&without.cautions, "plan-node-without-memory", "memory"), &Value::Count(2));
    // Two processes share node 2's memory.
    let memory = without.advice[0].says.sentences();
    assert_eq!(value(memory, "plan-memory-of-own-nodes-at-most", "room"), &Value::Bytes(32 << 30));
}

#[test]
fn a_cgroup_may_limit_memory_more_than_the_nodes() {
    let mut record = many(2, 4, 2);
    for (limit, is_of_node) in [(16 << 30, false), (1 << 40, true)] {
        record.machine.limits.memory_bytes = Some(limit);
        record.machine.limits.memory_available_bytes = Some(14 << 30);
        let plan = default(&record);
        let memory = std::slice::from_ref(&plan.advice.iter().find(|a| a.about == "memory").unwrap().says);
        assert_eq!(says(memory, "plan-memory-of-own-nodes-at-most"), is_of_node, "{memory:?}");
        let [all, free] = ["limit", "free"].map(|name| value(memory, "plan-memory-limit", name).clone());
        assert_eq!([all, free], [Value::Bytes(limit), Value::Bytes(14 << 30)]);
    }
}

#[test]
fn only_what_is_allowed_is_planned_on() {
    let mut record = many(2, 4, 1);
    for cpu in &mut record.machine.cpus {
        cpu.allowed = cpu.id < 3;
        cpu.online = cpu.id != 7;
    }
    record.machine.nodes[1].allowed = false;
    let plan = default(&record);
    assert_eq!(plan.cpus().to_string(), "0-2");
    assert!(plan.processes.iter().all(|process| process.memory.is_empty()), "{:?}", plan.processes);
    assert_eq!(value(&plan.cautions, "plan-cpus-not-allowed", "cpus"), &Value::from(Text::from("CPUs 3-6")));
    assert_eq!(value(&plan.cautions, "plan-cpus-offline", "cpus"), &Value::from(Text::from("CPU 7")));
    let request = PlanRequest { cpus: Some("2-3".parse().unwrap()), ..PlanRequest::default() };
    let refused = super::plan(&record, &request).unwrap_err();
    let PlanError::CpusNotUsable { asked, missing, usable } = refused else { panic!("{refused}") };
    assert_eq!([asked, missing, usable].map(|cpus| cpus.to_string()), ["2-3", "3", "0-2"]);
}

#[test]
fn a_quota_decides_the_threads() {
    let mut record = many(2, 8, 1);
    record.machine.limits.cpu_quota = Some(2.5);
    let plan = default(&record);
    assert_eq!(plan.processes.len(), 1);
    assert_eq!((plan.processes[0].threads, plan.processes[0].cpus.len()), (Some(2), 2));
    assert_eq!(value(&plan.cautions, "plan-cpu-quota", "quota"), &Value::Figure(2.5, "CPUs"));
    record.machine.limits.cpu_quota = Some(12.0);
    let plan = default(&record);
    assert_eq!(plan.processes.iter().map(|p| p.threads).collect::<Vec<_>>(), [Some(6), Some(6)]);
    for quota in [16.0, 100.0, f64::NAN, -1.0] {
        record.machine.limits.cpu_quota = Some(quota);
        assert!(!says(&default(&record).cautions, "plan-cpu-quota"), "{quota}");
    }
}

#[test]
fn isolated_cpus_are_left_out_unless_they_are_named() {
    let mut record = many(1, 8, 1);
    record.machine.kernel.isolated = "4-7".parse().unwrap();
    let plan = default(&record);
    assert_eq!(plan.cpus().to_string(), "0-3");
    assert_eq!(value(&plan.cautions, "plan-cpus-isolated", "cpus"), &Value::from(Text::from("CPUs 4-7")));
    let request = PlanRequest { cpus: Some("4-5".parse().unwrap()), ..PlanRequest::default() };
    assert!(says(&super::plan(&record, &request).unwrap().cautions, "plan-on-isolated-cpus"));
}

#[test]
fn cores_of_two_kinds_are_reported_apart() {
    let mut record = many(1, 4, 1);
    for cpu in &mut record.machine.cpus {
        let fast = cpu.id < 2;
        cpu.kind = Some(if fast { "performance" } else { "efficiency" }.to_owned());
        cpu.max_hz = Some(if fast { 5_000_000_000 } else { 3_000_000_000 });
    }
    let plan = default(&record);
    let Value::List(cores) = value(&plan.cautions, "plan-hybrid-cores", "cores") else { panic!("{plan:?}") };
    let kinds = cores.iter().map(|cores| cores.value("kind").zip(cores.value("cpus")));
    let kinds: Vec<_> = kinds.flatten().map(|(kind, cpus)| format!("{kind} {cpus}")).collect();
    assert_eq!(kinds, ["performance 0-1", "efficiency 2-3"]);
    assert_eq!(value(&plan.cautions, "plan-hybrid-cores", "fast"), &Value::from("0-1"));
}

fn smt_yield(record: &mut Record, workload: &str, value: f64) {
    let place = Labels::new().with_label(Label::Workload, workload).with_label(Label::Core, 0u32);
    record.measurements.push(measured("smt.yield", place, value));
}

#[test]
fn siblings_are_used_when_they_are_worth_it() {
    let mut record = many(1, 4, 2);
    let unknown = default(&record);
    let siblings = unknown.siblings.as_ref().unwrap();
    assert!(siblings.used && !siblings.measured && siblings.one_a_core.to_string() == "0-3", "{siblings:?}");
    assert!(says(&unknown.unknown, "plan-smt-yield-not-measured"));
    smt_yield(&mut record, "primes", 1.3);
    assert!(default(&record).siblings.unwrap().used);
    smt_yield(&mut record, "nop", 0.9);
    smt_yield(&mut record, "flops", 0.95);
    let none = default(&record);
    let siblings = none.siblings.as_ref().unwrap();
    assert!(!siblings.used && siblings.why.code() == Some("plan-siblings-cost"), "{}", siblings.why);
    assert_eq!(siblings.why.value("gain").map(Value::to_string).as_deref(), Some("5.00 %"));
    assert_eq!((none.processes[0].threads, none.cpus().to_string().as_str()), (Some(4), "0-3"));
    assert_eq!(pasted(&none, "taskset"), ["taskset -c 0-3 COMMAND"]);
    let mut within = many(1, 4, 2);
    smt_yield(&mut within, "primes", 1.0);
    let siblings = default(&within).siblings.unwrap();
    assert!(!siblings.used && siblings.why.code() == Some("plan-siblings-no-gain"), "{}", siblings.why);
}

#[test]
fn nodes_that_the_firmware_hides_are_named_with_what_they_would_gain() {
    let mut record = many(1, 4, 1);
    assert!(!says(&default(&record).cautions, "plan-numa-off"));
    record.machine.architecture = "x86_64".to_owned();
    (record.machine.counts.packages, record.machine.counts.nodes) = (Some(2), Some(1));
    let plan = default(&record);
    let Value::Share(share) = value(&plan.cautions, "plan-numa-off", "share") else { panic!("{plan:?}") };
    assert!((share - 0.245).abs() < 0.001, "{plan:?}");
}

/// Gives each group of `size` consecutive CPUs a last-level cache.
fn caches(record: &mut Record, size: u32) {
    let count = record.machine.cpus.len() as u32;
    for first in (0..count).step_by(size as usize) {
        record.machine.caches.push(Cache {
            level: 3,
            kind: CacheKind::Unified,
            bytes: Some(16 << 20),
            line: Some(64),
            ways: None,
            cpus: (first..first + size).collect(),
        });
    }
}

#[test]
fn several_last_level_caches_on_a_node_are_a_level_of_their_own() {
    let mut record = many(2, 8, 1);
    caches(&mut record, 4);
    for (to, ns) in [(1u32, 25.0), (2, 25.0), (5, 90.0), (9, 200.0)] {
        let place = Labels::new()
            .with_label(Label::From, 0u32)
            .with_label(Label::To, to)
            .with_label(Label::Home, "from");
        // With loads and stores, a different kind of handover, every transfer takes twice as long.
        let by = |how: Handover| place.clone().with_label(Label::Handover, how.word());
        record.measurements.push(measured("core_to_core.latency", by(Handover::Cas), ns));
        record.measurements.push(measured("core_to_core.latency", by(Handover::Store), 2.0 * ns));
    }
    let caches = default(&record).caches.unwrap();
    assert_eq!(caches.domains.len(), 4);
    assert_eq!(value(caches.says.sentences(), "plan-several-caches", "caches"), &Value::Count(4));
    let ns = |name| value(caches.says.sentences(), "plan-core-to-core", name);
    assert_eq!((ns("within"), ns("across")), (&Value::Figure(25.0, "ns"), &Value::Figure(90.0, "ns")));
    let four = record_with(&record, 4);
    assert_eq!(
        four.processes.iter().map(|p| p.cpus.to_string()).collect::<Vec<_>>(),
        ["0-3", "4-7", "8-11", "12-15"]
    );
    let within = four.caches.unwrap().says;
    assert_eq!(value(within.sentences(), "plan-within-cache", "level"), &Value::Count(3));
    assert_eq!(
        pasted(&record_with(&record, 4), "numactl")[1],
        "numactl --physcpubind=4-7 --membind=0 COMMAND"
    );
    // One cache per node is not a separate level, and neither is one per core.
    for size in [8, 1] {
        record.machine.caches.clear();
        self::caches(&mut record, size);
        assert!(default(&record).caches.is_none(), "{size}");
    }
}

#[test]
fn threads_decide_the_processes() {
    let record = many(4, 8, 1);
    let threads = |threads| {
        super::plan(&record, &PlanRequest { threads: Some(threads), ..PlanRequest::default() }).unwrap()
    };
    assert_eq!(threads(4).processes.len(), 8);
    let cautions = threads(4).cautions;
    let filled = ["processes", "nodes"].map(|name| value(&cautions, "plan-nodes-filled", name));
    assert_eq!(filled, [&Value::Count(8), &Value::Count(4)]);
    assert_eq!((threads(8).processes.len(), threads(8).cautions.len()), (4, 0));
    // More threads than a node has CPUs: two nodes.
    let wide = threads(16);
    assert_eq!(wide.processes.iter().map(|p| p.nodes.to_string()).collect::<Vec<_>>(), ["0-1", "2-3"]);
    let one = threads(32);
    assert_eq!((one.processes.len(), one.processes[0].policy), (1, Policy::Interleave));
    assert_eq!(pasted(&one, "numactl"), ["numactl --interleave=0-3 COMMAND"]);
    let many = threads(64).cautions;
    let shared = ["threads", "cpus"].map(|name| value(&many, "plan-oversubscribed", name));
    assert_eq!(shared, [&Value::Count(64), &Value::Count(32)]);
    // A single process that fits on a node stays there.
    let request = PlanRequest { processes: Some(1), threads: Some(6), ..PlanRequest::default() };
    let small = super::plan(&record, &request).unwrap();
    assert_eq!(
        (small.processes[0].cpus.to_string().as_str(), small.processes[0].policy),
        ("0-5", Policy::Bind)
    );
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    let record = many(2, 2, 1);
    for processes in [0, 5, u32::MAX] {
        let request = PlanRequest { processes: Some(processes), ..PlanRequest::default() };
        let refused = plan(&record, &request).unwrap_err();
        assert_eq!(refused, PlanError::Processes { asked: processes, room: Some(4), most: 4 });
    }
    let empty = Record::new("0", String::new(), Vec::new());
    assert_eq!(plan(&empty, &PlanRequest::default()), Err(PlanError::NothingReported));
}

#[test]
fn three_processes_on_two_nodes_are_uneven_and_say_so() {
    let plan = record_with(&many(2, 4, 1), 3);
    assert_eq!(plan.processes.iter().map(|p| p.cpus.to_string()).collect::<Vec<_>>(), ["0-1", "2-3", "4-7"]);
    let even = ["below", "above"].map(|name| value(&plan.cautions, "plan-processes-even-two", name));
    assert_eq!(even, [&Value::Count(2), &Value::Count(4)]);
}

#[test]
fn huge_pages_are_advised_where_they_were_worth_something() {
    let mut record = many(1, 2, 1);
    record.conditions.before.thp = Some("never".to_owned());
    record.machine.caches.push(Cache {
        level: 2,
        kind: CacheKind::Unified,
        bytes: Some(1 << 20),
        line: Some(64),
        ways: None,
        cpus: "0-1".parse().unwrap(),
    });
    crate::samples::add_curve(&mut record, "4KiB", &[(1 << 20, 5.0), (1 << 29, 140.0)]);
    crate::samples::add_curve(&mut record, "2MiB", &[(1 << 20, 5.0), (1 << 29, 100.0)]);
    let pages =
        |record: &Record| default(record).advice.into_iter().find(|advice| advice.about == "huge pages");
    let advice = pages(&record).unwrap();
    assert_eq!(advice.says.code(), Some("plan-huge-pages-gain"));
    assert!(
        matches!(advice.says.value("share"), Some(Value::Share(share)) if (share - 0.4 / 1.4).abs() < 1e-3)
    );
    assert_eq!(advice.commands.len(), 2, "{advice:?}");
    assert_eq!(advice.undo.len(), 1);
    record.conditions.before.thp = Some("always".to_owned());
    let on = pages(&record).unwrap();
    assert!(on.commands.is_empty() && says(on.says.sentences(), "plan-huge-pages-on"), "{on:?}");
    record.conditions.before.thp = Some("$(reboot)".to_owned());
    assert!(pages(&record).unwrap().commands.iter().all(|line| !line.contains("reboot")));
}

#[test]
fn more_processes_than_cores_go_where_the_cpus_are() {
    let mut record = many(3, 1, 2);
    record.machine.cpus[0].allowed = false;
    let request = PlanRequest { processes: Some(5), ..PlanRequest::default() };
    let plan = plan(&record, &request).unwrap();
    assert!(plan.processes.iter().all(|process| process.cpus.len() == 1), "{:?}", plan.processes);
}

proptest! {
    #[test]
    fn any_machine_gives_processes_apart_on_usable_cpus_or_a_sentence(
        nodes in 1u32..5, cores in 1u32..6, siblings in 1u32..3, domain in 1u32..5,
        processes in proptest::option::of(0u32..12), threads in proptest::option::of(1u32..20),
        forbidden in proptest::collection::vec(0u32..40, 0..20),
        offline in proptest::collection::vec(0u32..40, 0..5),
        memory in proptest::collection::vec(proptest::option::of(0u64..1 << 40), 0..5),
        quota in proptest::option::of(proptest::num::f64::ANY),
        cells in proptest::collection::vec((0u32..6, 0u32..6, proptest::num::f64::ANY), 0..20),
    ) {
        let mut record = many(nodes, cores, siblings);
        caches(&mut record, domain);
        for cpu in &mut record.machine.cpus {
            cpu.allowed = !forbidden.contains(&cpu.id);
            cpu.online = !offline.contains(&cpu.id);
        }
        for (node, bytes) in record.machine.nodes.iter_mut().zip(memory) {
            node.bytes = bytes.map(|bytes| if bytes < 1 << 30 { 0 } else { bytes });
        }
        record.machine.limits.cpu_quota = quota;
        for (from, to, value) in cells {
            let place = Labels::new().with_label(Label::From, from).with_label(Label::To, to);
            record.measurements.push(single("numa.latency", place.clone(), value));
            record.measurements.push(single("numa.bandwidth", place, value.abs()));
        }
        let allowed = record.machine.allowed_cpus();
        match plan(&record, &PlanRequest { processes, threads, cpus: None }) {
            Err(why) => prop_assert!(why.to_string().len() > 10),
            Ok(plan) => {
                let mut seen = CpuList::new();
                for process in &plan.processes {
                    prop_assert!(!process.cpus.is_empty() && process.threads.is_some_and(|threads| threads > 0));
                    prop_assert!(seen.intersection(&process.cpus).is_empty(), "{:?}", plan.processes);
                    seen = seen.union(&process.cpus);
                }
                prop_assert!(allowed.is_empty() || seen.is_subset(&allowed));
                if let Some(processes) = processes {
                    prop_assert_eq!(plan.processes.len(), processes as usize);
                }
                prop_assert!(plan.gains.iter().all(|gain| gain.factor.is_finite() && gain.factor > 1.0));
                for snippet in &plan.snippets {
                    prop_assert!(TOOLS.contains(&snippet.tool.as_str()));
                    let lines = snippet.pieces.iter().flat_map(|piece| &piece.lines);
                    // An empty list would bind to nothing.
                    prop_assert!(lines.clone().all(|line| !line.ends_with('=') && !line.contains("= ")), "{snippet:?}");
                }
            }
        }
    }
}
