//! Tests plans for published machines with their published results.

use record::{Label, Labels, Record};

use record::text::Value;

use super::{default, many, pasted, record_with, says, single, value};

/// A machine as described in an article: number of packages and CPUs, and local and remote time per element.
fn fan_noise(cpus: u32, packages: u32, local: f64, remote: f64) -> Record {
    let mut record = Record::new("0.0.0", String::new(), Vec::new());
    record.machine.counts.packages = Some(packages);
    record.machine.counts.cpus_online = Some(cpus);
    for (node, ns) in [(0u32, local), (1, remote)] {
        let place = Labels::new()
            .with_label(Label::Op, "copy")
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Node, node);
        record.measurements.push(single("stream.ns_per_element", place, ns));
    }
    record
}

#[test]
fn four_packages_whose_remote_memory_is_slow_get_four_processes() {
    let plan = default(&fan_noise(196, 4, 1.2, 1.85));
    assert_eq!(plan.summary.code(), Some("plan-process-per-node"));
    assert_eq!(plan.processes.iter().map(|p| p.threads).collect::<Vec<_>>(), [Some(49); 4]);
    // A quarter of the accesses at 1.2 ns and the rest at 1.85 ns, compared with all at 1.2 ns.
    let gain = &plan.gains[0];
    assert!((gain.factor - (0.25 * 1.2 + 0.75 * 1.85) / 1.2).abs() < 1e-9, "{gain:?}");
    assert_eq!(gain.interval, None);
    assert_eq!(value(gain.why.sentences(), "plan-gain-model", "remote"), &Value::Share(0.75));
    assert!(says(gain.why.sentences(), "plan-gain-without-interval"), "{}", gain.why);
    assert_eq!(pasted(&plan, "numactl")[3], "numactl --cpunodebind=3 --membind=3 COMMAND");
    assert!(pasted(&plan, "taskset")[1].contains("/sys/devices/system/node/node1/cpulist"));
    assert!(says(&plan.cautions, "plan-nodes-assumed") && says(&plan.unknown, "plan-cpus-of-nodes-unknown"));
    let smaller = default(&fan_noise(72, 2, 1.1, 1.4));
    assert!((smaller.gains[0].factor - (1.1 + 1.4) / 2.0 / 1.1).abs() < 1e-9);
}

#[test]
fn words_for_local_and_remote_are_understood_too() {
    let mut record = fan_noise(196, 4, 1.2, 1.85);
    for (m, word) in record.measurements.iter_mut().zip(["local", "remote"]) {
        m.labels = Labels::new().with_label(Label::Op, "copy").with_label(Label::Node, word);
    }
    assert!((default(&record).gains[0].factor - 1.40625).abs() < 1e-9);
    // Neither node is known: the faster result counts as local.
    for m in &mut record.measurements {
        m.labels = Labels::new().with_label(Label::Op, "copy");
    }
    assert!((default(&record).gains[0].factor - 1.40625).abs() < 1e-9);
}

#[test]
fn a_column_of_published_latencies_stands_for_the_machine() {
    // Hygon 5280: distances and lat_mem_rd at 64 MB as published, two packages of 16 cores with two siblings each.
    let distances = [[10, 16, 28, 22], [16, 10, 22, 28], [28, 22, 10, 16], [22, 28, 16, 10]];
    let mut record = many(4, 8, 2);
    for (node, row) in record.machine.nodes.iter_mut().zip(distances) {
        node.distances = row.to_vec();
    }
    for (node, ns) in (0u32..).zip([102.574, 160.989, 286.850, 231.197]) {
        let place = Labels::new()
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Node, node)
            .with_label(Label::Bytes, 64u64 << 20);
        record.measurements.push(single("load.latency", place, ns));
    }
    for (threads, rate) in [(32u32, 2550723.93e3), (64, 2884302.17e3)] {
        let place = Labels::new()
            .with_label(Label::Workload, "aes-256-ige")
            .with_label(Label::Bytes, 8192u32)
            .with_label(Label::Threads, threads);
        record.measurements.push(single("workload.throughput", place, rate));
    }
    let plan = default(&record);
    let mean = (102.574 + 160.989 + 286.850 + 231.197) / 4.0;
    assert!((plan.gains[0].factor - mean / 102.574).abs() < 1e-9, "{:?}", plan.gains);
    let siblings = plan.siblings.as_ref().unwrap();
    assert!(siblings.used && siblings.measured, "{}", siblings.why);
    assert_eq!(value(siblings.why.sentences(), "plan-siblings-add", "gain").to_string(), "13.1 %");
    assert_eq!(plan.processes[1].cpus.to_string(), "8-15,40-47");
    // Two processes use one package each, according to the distances.
    let two = record_with(&record, 2);
    assert_eq!(two.processes.iter().map(|p| p.memory.to_string()).collect::<Vec<_>>(), ["0-1", "2-3"]);
    assert!(two.gains[0].factor < plan.gains[0].factor && two.gains[0].factor > 1.3);
}

#[test]
fn sixteen_nodes_in_two_packages_group_by_package() {
    // Phytium FT-2500: the first row of its distances; the other rows follow the same pattern.
    let near = [10, 20, 40, 30, 20, 30, 50, 40];
    let mut record = many(16, 8, 1);
    for node in &mut record.machine.nodes {
        let id = node.id;
        node.distances =
            (0..16).map(|to| if to / 8 == id / 8 { near[(to ^ id) as usize % 8] } else { 100 }).collect();
    }
    // Time per copied element, from CPU 7 to its own node and to the other package.
    for (node, ns) in [(0u32, 2.84), (10, 8.80)] {
        let place = Labels::new()
            .with_label(Label::Op, "copy")
            .with_label(Label::Cpu, 7u32)
            .with_label(Label::Node, node);
        record.measurements.push(single("stream.ns_per_element", place, ns));
    }
    let all = default(&record);
    assert_eq!(all.processes.len(), 16);
    // A comparison and the finding yield the same number.
    let reach = &crate::comparison::nodes::find_reaches(&record)[0];
    assert!((all.gains[0].factor - reach.ignoring()).abs() < 1e-9, "{:?} {reach:?}", all.gains);
    assert_eq!(all.gains[0].program, "memory-bound", "time per element is not a latency");
    assert_eq!(pasted(&all, "numactl").len(), 16);
    let two = record_with(&record, 2);
    assert_eq!(two.processes.iter().map(|p| p.nodes.to_string()).collect::<Vec<_>>(), ["0-7", "8-15"]);
    assert!(all.gains[0].factor > two.gains[0].factor, "{:?} {:?}", all.gains, two.gains);
    let three = record_with(&record, 3);
    assert_eq!(three.processes.iter().map(|p| p.nodes.len()).sum::<usize>(), 16);
    assert!(says(&three.cautions, "plan-processes-uneven"), "{:?}", three.cautions);
}
