//! The documents' conclusions about these machines that linespeed also draws from the same results, and those that the
//! results do not support.

use diagnose::{Extent, Side, compare};
use record::Label;
use record::Record;
use record::comparison::{Comparison, Support};
use record::document::Tool;

fn of(name: &str) -> Record {
    let machine = reference::find(name).unwrap_or_else(|| panic!("{name}"));
    let mut record = machine.record("0").unwrap_or_else(|trouble| panic!("{name}: {trouble}"));
    record.diagnosis = diagnose::diagnose(&record);
    record
}

fn side_by_side(names: &[&str]) -> Comparison {
    let records: Vec<Record> = names.iter().map(|name| of(name)).collect();
    let sides: Vec<Side> =
        names.iter().zip(&records).map(|(name, record)| Side { name, source: name, record }).collect();
    compare(&sides, 0, Tool { name: "linespeed".to_owned(), version: "0".to_owned() }, Extent::Summary)
}

fn order<'a>(said: &'a Comparison, metric: &str, result: &str) -> Vec<&'a str> {
    let order =
        said.orders.iter().find(|order| order.metric == metric && order.result.to_string().contains(result));
    let order = order.unwrap_or_else(|| panic!("{metric} {result}: {:#?}", said.orders));
    order.ranks.iter().map(|rank| said.subjects[rank.subject].name.as_str()).collect()
}

#[test]
fn cloud_servers_stand_in_the_order_of_their_average_wake_up() {
    let said = side_by_side(&["cloud-server-1", "cloud-server-2", "cloud-server-3", "cloud-server-4"]);
    let names = order(&said, "wakeup.average", "");
    assert_eq!(names, ["cloud-server-1", "cloud-server-3", "cloud-server-4", "cloud-server-2"]);
}

#[test]
fn the_old_regions_server_does_not_lose_to_its_caches_and_its_neighbours_are_not_shown() {
    let said = side_by_side(&["cloud-server-2", "cloud-server-4"]);
    let why = &said.explanations[0];
    let support = |claim: &str| {
        why.claims
            .iter()
            .find(|judged| judged.code == claim)
            .unwrap_or_else(|| panic!("{claim}: {why:#?}"))
            .support
    };
    assert!((why.speed - 55.0 / 41.0).abs() < 1e-9, "{why:?}");
    assert_eq!(support("comparison-claim-caches"), Support::Contradicted);
    assert_eq!(support("comparison-claim-cpus"), Support::Contradicted);
    assert_eq!(support("comparison-claim-neighbours"), Support::NotSupported);
}

#[test]
fn the_machine_of_196_cores_waits_for_memory() {
    let said = side_by_side(&["load-generator-72", "load-generator-196"]);
    let why = said
        .explanations
        .iter()
        .find(|why| why.result.code() == Some("comparison-result-streaming"))
        .expect("memory");
    let causes: Vec<&str> =
        why.causes.iter().filter(|cause| !cause.despite).map(|cause| cause.code.as_str()).collect();
    assert_eq!(causes, ["comparison-cause-time-per-element", "comparison-cause-devices"], "{why:#?}");
    assert!(
        why.causes[0].says.to_string().contains("75.0 %")
            && why.causes[0].says.to_string().contains("50.0 %"),
        "{why:#?}"
    );
    let big = of("load-generator-196");
    // The rating of its devices was read on another machine.
    assert!(big.diagnosis.findings.iter().all(|finding| finding.rule != "memory-speed"));
    assert_eq!(big.machine.memory_devices[0].rated_mt_s, None);
    let said = side_by_side(&["load-generator-196", "load-generator-72"]);
    let held = said.explanations.iter().find_map(|e| e.held_back.as_ref().map(|held| (e, held)));
    let (why, held) = held.expect("held back");
    assert!(
        held.says.to_string().contains("On load-generator-196, 48 threads are as fast as 196"),
        "{}",
        held.says
    );
    assert!(why.says.to_string().contains("Unexplained: at least 1.66×"), "{}", why.says);
    let together = said.what_if.iter().find(|what| what.together).expect("both settings").says.to_string();
    assert!(
        together.contains("Observed: 3.60×") && together.contains("leaves 2.58× for binding"),
        "{together}"
    );
    assert!(together.contains("at most 1.41×"), "{together}");
    let plan = diagnose::plan(&big, &diagnose::PlanRequest::default()).expect("a plan");
    assert_eq!(plan.processes.len(), 4);
    assert!(plan.processes.iter().all(|process| process.nodes.len() == 1), "{plan:#?}");
}

#[test]
fn siblings_add_what_openssls_figures_say() {
    let adds = |name: &str, bytes: u64| {
        let record = of(name);
        let found = record.diagnosis.siblings.iter().find(|one| one.bytes == Some(bytes)).cloned();
        found.map(|one| ((one.adds * 1000.0).round() / 10.0, one.says))
    };
    let (hygon, says) = adds("hygon-5280", 8192).expect("hygon");
    assert_eq!(hygon, 13.1);
    let codes = |says: &record::Text| -> Vec<String> {
        says.sentences().iter().filter_map(|one| one.code().map(str::to_owned)).collect()
    };
    assert!(codes(&says).iter().any(|code| code == "siblings-measured"), "{says}");
    assert_eq!(says.value("cpus"), Some(&record::text::Value::Count(64)), "{says}");
    // Its single thread is an outlier at 8 KiB, which then decides nothing.
    assert_eq!(adds("xeon-8269cy", 8192), None);
    let of_sizes = [64, 256, 1024].map(|bytes| adds("xeon-8269cy", bytes).expect("intel").0);
    assert_eq!(of_sizes, [18.5, 16.9, 17.3]);
    let (_, says) = adds("xeon-8269cy", 1024).expect("intel");
    assert!(codes(&says).iter().any(|code| code == "siblings-extrapolated"), "{says}");
    let counts = ["cores", "threads"].map(|name| says.value(name).cloned());
    assert_eq!(counts, [52, 32].map(|count| Some(record::text::Value::Count(count))), "{says}");
    assert_eq!(adds("kunpeng-920-4826", 8192), None);
    // The text's statement about siblings does not follow from these results, and each record says so.
    for (name, claim) in [("hygon-5280", "0.2 of a core"), ("xeon-8269cy", "half a core")] {
        let import = of(name).import.expect("imported");
        assert!(import.contradictions.iter().any(|one| one.says.contains(claim)), "{name}");
    }
}

#[test]
fn kunpeng_is_linear_to_96_cores() {
    let record = of("kunpeng-920-4826");
    let rate = |threads: u64| {
        let mut all = record.measurements_of("workload.throughput");
        let at = |m: &&record::Measurement| {
            m.labels.count(Label::Threads) == Some(threads)
                && m.labels.count(Label::Bytes) == Some(8192)
                && m.labels.word(Label::Workload).is_some_and(|name| name.contains("aes-256-ige"))
        };
        all.find(at).map(|m| (m.value() / threads as f64 / 1e5).round() / 10.0)
    };
    assert_eq!([rate(1), rate(32), rate(96)], [Some(143.2), Some(143.3), Some(143.2)]);
}

#[test]
fn a_long_power_has_its_order_and_counts_of_the_whole_system_are_refused() {
    let said = side_by_side(&["xeon-8269cy", "kunpeng-920-4826", "hygon-5280", "phytium-ft-2500"]);
    let names = order(&said, "workload.time", "7^999999");
    assert_eq!(names, ["xeon-8269cy", "kunpeng-920-4826", "hygon-5280", "phytium-ft-2500"]);
    let refused =
        said.refused.iter().find(|refusal| refusal.code == "comparison-system-wide").expect("refused");
    let ipc = refused.metrics.iter().any(|metric| *metric == "core.ipc");
    assert!(ipc && refused.subjects.contains(&2) && refused.subjects.contains(&3), "{refused:?}");
}

#[test]
fn a_copy_across_sockets_of_ft_2500_takes_three_times_as_long() {
    let said = side_by_side(&["phytium-ft-2500", "kunpeng-920-4826"]);
    let note = said
        .within
        .iter()
        .find(|note| note.code() == Some("comparison-other-sockets"))
        .unwrap_or_else(|| panic!("{said:#?}"));
    assert!(note.to_string().contains("3.1"), "{note}");
}

#[test]
fn layers_are_held_against_the_fastest_anew() {
    let record = of("i7-6500u");
    let layers = &record.diagnosis.layers;
    let over = |layer: &str, bound: &str, interrupts: &str| {
        let found = layers.iter().find(|one| {
            one.layer == layer
                && one.bound.as_deref() == Some(bound)
                && one.interrupts.as_deref() == Some(interrupts)
        });
        found.map(|one| (one.over * 1e4).round() / 100.0)
    };
    assert_eq!(over("kernel", "none", "off"), Some(0.0));
    assert_eq!(over("kernel", "none", "on"), Some(12.13));
    assert_eq!(over("kernel", "cpu", "on"), Some(6.63));
    assert_eq!(over("guest kernel", "none", "off"), Some(1.03));
    // Printed as 12.4454 % and 11.2556 %.
    assert_eq!(over("guest user", "cpu 3", "on"), Some(11.51));
    assert_eq!(over("guest user", "none", "on"), Some(11.67));
    let import = record.import.expect("imported");
    assert_eq!(import.contradictions.iter().filter(|one| one.says.contains("is printed as")).count(), 2);
}

#[test]
fn what_a_document_says_in_two_ways_is_said_to_be_so() {
    let said = |name: &str, words: &str| {
        let import = of(name).import.expect("imported");
        assert!(
            import.contradictions.iter().any(|one| one.says.contains(words)),
            "{name}: {:#?}",
            import.contradictions
        );
    };
    said("hygon-7280", "Zen 1");
    said("kunpeng-920-4826", "1 NUMA node, numactl shows 4");
    said("kunpeng-920-4826", "4.10");
}

#[test]
fn of_all_machines_together_no_two_rows_have_one_name_and_none_takes_all_cpus_for_one_thread() {
    let names: Vec<&str> = reference::MACHINES.iter().map(|machine| machine.name).collect();
    let said = side_by_side(&names);
    let mut rows: Vec<(&str, String, Option<record::comparison::Per>)> =
        said.rows.iter().map(|row| (row.metric.name(), row.what.to_string(), row.per)).collect();
    rows.sort_unstable();
    let all = rows.len();
    rows.dedup();
    assert_eq!(rows.len(), all, "{rows:#?}");
    for row in said.rows.iter().filter(|row| row.code.ends_with("-one-thread")) {
        let most = row.cells.iter().filter_map(|cell| cell.value).fold(0.0, f64::max);
        assert!(row.metric != "memory.bandwidth" || most < 50e9, "{row:#?}");
    }
}

#[test]
fn two_results_of_one_pair_are_explained_with_the_same_clocks() {
    let said = side_by_side(&["xeon-8269cy", "hygon-5280"]);
    let clock = |result: &str| {
        let why = said.explanations.iter().find(|why| why.result.to_string().contains(result));
        let why = why.unwrap_or_else(|| panic!("{result}: {:#?}", said.explanations));
        why.causes.iter().find(|cause| cause.code == "comparison-cause-clock").map(|cause| cause.factor)
    };
    assert!(clock("7^999999").is_some());
    assert_eq!(clock("aes-256-ige (256 B), one thread"), clock("7^999999"));
}
