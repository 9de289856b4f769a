//! Tests conclusions that must, or must not, be drawn from published results.

use record::comparison::{Explanation, Row};
use record::conditions::ClockSetting;
use record::{Label, Labels, Measurement, Record, Text, detail};

use super::Side;
use super::datum::Datum;
use super::documents::{empty, number, side_by_side, word};
use super::explain::CORE_CLOCK;
use super::suggestions::{suggest_newer, suggest_runs, suggest_works};
use crate::block_sizes::tests::{HYGON, INTEL, KUNPENG, openssl};
use crate::samples::{add_wakeups, has_code, machine, measured};

fn add(record: &mut Record, metric: impl Into<record::Metric>, place: Labels, value: f64) {
    record.measurements.push(Measurement::new(metric, place, vec![value]));
}

fn of(workload: &str) -> Labels {
    Labels::new().with_label(Label::Workload, workload)
}

#[test]
fn cycles_are_held_against_the_time_on_a_cpu_where_that_was_counted() {
    let run = |seconds: f64, busy: f64, cycles: f64| {
        let mut record = empty();
        add(&mut record, "workload.time", of("a.exe"), seconds);
        add(&mut record, "workload.cpu_time", of("a.exe"), busy);
        let place = of("a.exe").with_label(Label::Event, "cycles").with_label(Label::Scope, "process");
        add(&mut record, "counter.count", place, cycles);
        record
    };
    let on = run(11.989164338, 11.984691958, 32_427_294_227.0);
    let off = run(13.142983989, 13.0552, 29_946_969_255.0);
    let said = side_by_side(&[("on", &on), ("off", &off)]);
    let clock = said.explanations[0].causes.iter().find(|cause| cause.name.is(&CORE_CLOCK)).unwrap();
    let hz = |name: &str| number(&clock.says, name) / 1e9;
    assert!((hz("this") - 2.706).abs() < 0.0005 && (hz("base") - 2.294).abs() < 0.0005, "{}", clock.says);
}

#[test]
fn every_count_of_a_program_has_a_row_and_what_missed_is_a_share() {
    let run = |counts: [f64; 5]| {
        let mut record = empty();
        let events =
            ["context-switches", "instructions", "branches", "branch-misses", "L1-dcache-load-misses"];
        for (event, count) in events.into_iter().zip(counts) {
            let place = of("a.exe").with_label(Label::Event, event).with_label(Label::Scope, "process");
            add(&mut record, "counter.count", place, count);
        }
        record
    };
    let (one, other) = (run([151.0, 1e9, 2e8, 1e6, 5e5]), run([102.0, 1.2e9, 2e8, 4e6, 5e5]));
    let said = side_by_side(&[("one", &one), ("other", &other)]);
    let rows: Vec<(String, Option<f64>, Option<f64>)> =
        said.rows.iter().map(|row| (row.what.to_string(), row.cells[0].value, row.cells[1].value)).collect();
    let row = |what: &str, one: f64, other: f64| (what.to_owned(), Some(one), Some(other));
    assert_eq!(
        rows,
        [
            row("context-switches of a.exe", 151.0, 102.0),
            row("instructions of a.exe", 1e9, 1.2e9),
            row("branches of a.exe", 2e8, 2e8),
            row("branch-misses of a.exe", 1e6, 4e6),
            row("L1-dcache-load-misses of a.exe", 5e5, 5e5),
            row("branch-misses of all branches, a.exe", 0.5, 2.0),
        ]
    );
    // A lower miss rate counts as better; lower counts do not.
    let better: Vec<bool> = said.rows.iter().map(|row| row.better.is_some()).collect();
    assert_eq!(better, [false, false, false, false, false, true]);
}

#[test]
fn a_guests_cache_and_clock_are_its_hosts() {
    let guest = |mib: u64, hz: u64, us: f64| {
        let mut record = empty();
        record.machine.virtualization.hypervisor = Some("kvm".to_owned());
        record.machine.caches.push(record::machine::Cache {
            level: 3,
            kind: record::machine::CacheKind::Unified,
            bytes: Some(mib << 20),
            line: None,
            ways: None,
            // The CPUs that share this cache are unknown.
            cpus: Default::default(),
        });
        record
            .conditions
            .before
            .clocks
            .push(ClockSetting { current_hz: Some((hz, hz)), ..Default::default() });
        record.import = Some(Default::default());
        add(&mut record, "wakeup.average", Labels::new().with_label(Label::Policy, "other"), us * 1000.0);
        record
    };
    let (one, four) = (guest(40, 2_494_220_000, 11.0), guest(15, 2_300_022_000, 41.0));
    let said = side_by_side(&[("one", &one), ("four", &four)]);
    let claims = &said.explanations[0].claims;
    let caches = claims.iter().find(|claim| claim.code == "comparison-claim-caches").unwrap();
    assert!(has_code(&caches.why, "comparison-hosts-cache"), "{}", caches.why);
    let clock = |claims: &[record::comparison::Claim]| {
        claims.iter().find(|claim| claim.code == "comparison-claim-clock").unwrap().support
    };
    assert_eq!(clock(claims), record::comparison::Support::NotSupported);
    // A similar clock contradicts nothing, even if it is slightly higher on one side.
    let slower = guest(15, 2_500_022_000, 41.0);
    let same = side_by_side(&[("one", &one), ("four", &slower)]);
    assert_eq!(clock(&same.explanations[0].claims), record::comparison::Support::NotSupported);
    let faster_clock = guest(15, 2_800_022_000, 41.0);
    let other = side_by_side(&[("one", &one), ("four", &faster_clock)]);
    assert_eq!(clock(&other.explanations[0].claims), record::comparison::Support::Contradicted);
    let third = guest(33, 2_500_000_000, 18.0);
    let many = side_by_side(&[("one", &one), ("three", &third), ("four", &four)]);
    let notes = many.orders[0].says.sentences();
    let note = notes.iter().find(|note| has_code(note, "comparison-order-hosts-caches")).unwrap();
    assert_eq!(word(note, "guests"), "one, three and four");
    let clock = said.differences.iter().find(|fact| fact.code == "comparison-fact-clock-then").unwrap();
    assert_eq!(clock.values, [Some("2.49 GHz".to_owned()), Some("2.30 GHz".to_owned())]);
}

#[test]
fn a_middle_of_two_figures_names_no_place_that_holds_another() {
    let far = |node: u32, ns: f64| {
        let place = Labels::new()
            .with_label(Label::Op, "copy")
            .with_label(Label::Cpu, 7u32)
            .with_label(Label::Node, node);
        Measurement::new("stream.ns_per_element", place, vec![ns])
    };
    let all = [far(2, 3.51), far(3, 3.94)];
    let both: Vec<&Measurement> = all.iter().collect();
    assert_eq!(Datum::from_several(&both, "places").unwrap().from, "stream.ns_per_element op=copy cpu=7");
    let held = [far(1, 2.05), far(2, 3.51), far(3, 3.94)];
    let odd: Vec<&Measurement> = held.iter().collect();
    assert_eq!(
        Datum::from_several(&odd, "places").unwrap().from,
        "stream.ns_per_element op=copy cpu=7 node=2"
    );
}

#[test]
fn one_size_of_blocks_that_falls_out_decides_nothing() {
    let (intel, hygon) = (openssl(52, 104, &INTEL), openssl(32, 64, &HYGON));
    let kunpeng = openssl(96, 96, &KUNPENG);
    let said = side_by_side(&[("intel", &intel), ("hygon", &hygon), ("kunpeng", &kunpeng)]);
    let one_thread = |subject: usize| {
        let of = |e: &&Explanation| e.result.code() == Some("comparison-result-one-thread");
        said.explanations.iter().filter(of).find(|e| e.subject == subject).unwrap()
    };
    let sizes = |subject: usize| one_thread(subject).sizes.clone().unwrap().to_string();
    let near = |factor: f64, expected: f64| assert!((factor - expected).abs() < 0.01, "{factor}");
    near(1.0 / one_thread(1).speed, 1.24);
    near(one_thread(2).speed, 1.447);
    assert!(sizes(1).contains("64 B to 1 KiB: 1.24× to 1.25×"), "{}", sizes(1));
    assert!(sizes(2).contains("64 B to 1 KiB: 1.44× to 1.45×"), "{}", sizes(2));
    assert!(has_code(&one_thread(2).sizes.as_ref().unwrap().sentences()[1], "comparison-size-left-out"));
    // No row contains a result for the outlier block size.
    let of_size = |row: &&Row| row.labels.count(Label::Bytes) == Some(8192);
    assert!(said.rows.iter().filter(of_size).all(|row| row.cells[0].value.is_none()));
    let scaling = said.within.iter().find(|note| word(note, "who") == "intel").unwrap().to_string();
    assert!(scaling.contains("86.0 % to 86.8 %") && scaling.contains("16.9 % to 18.5 %"), "{scaling}");
}

#[test]
fn what_one_thread_took_is_said_to_be_of_one_thread() {
    let timed = |seconds: f64, threads: Option<u32>| {
        let mut record = empty();
        add(&mut record, "workload.time", of("prime").with_known(Label::Threads, threads), seconds);
        record
    };
    let result = |threads: Option<u32>| {
        let (slow, fast) = (timed(105.0, threads), timed(59.0, threads));
        side_by_side(&[("slow", &slow), ("fast", &fast)]).explanations[0].result.code().map(str::to_owned)
    };
    assert_eq!(result(Some(1)).as_deref(), Some("comparison-result-one-thread"));
    assert_eq!(result(None).as_deref(), Some("comparison-result-work"));
}

#[test]
fn what_is_to_be_run_is_the_recipe_and_never_on_a_published_machine() {
    let mut own = empty();
    let m = Measurement::new("workload.throughput", of("mysql-point-select"), vec![2e4]);
    own.measurements.push(m.with_detail(detail::SETTINGS, vec!["tables=10".to_owned()]));
    let mut published = empty();
    add(&mut published, "workload.time", of("prime"), 59.0);
    let text = |name: &str| record::import::Text { name: name.to_owned(), ..Default::default() };
    published.import =
        Some(record::import::Import { texts: vec![text("reference:xeon-8269cy")], ..Default::default() });
    let advice = |other: &Record| {
        let sides = [("own", &own), ("other", other)];
        let sides = sides.map(|(name, record)| Side { name, source: name, record });
        suggest_runs(&sides, |_| vec!["scaling"], |_, _| true)
    };
    assert!(advice(&published).iter().all(|text| text.code() != Some("compare-run-same-recipes")));
    let mut imported = published.clone();
    imported.import = Some(Default::default());
    let said = advice(&imported);
    assert!(
        said[0].to_string().contains("run on other: linespeed scale --recipe mysql-point-select"),
        "{said:?}"
    );
}

#[test]
fn published_work_that_nobody_else_has_names_the_recipe_or_the_loop_that_does_it() {
    let mut published = empty();
    let works = [
        "sysbench cpu --cpu-max-prime=50000",
        "echo \"7^999999\" | bc",
        "openssl speed aes-256-ige",
        "TPC-C",
    ];
    works.iter().for_each(|work| add(&mut published, "workload.time", of(work), 59.0));
    published.import = Some(Default::default());
    let own = empty();
    let sides = [("published", &published), ("own", &own)];
    let said = suggest_works(&sides.map(|(name, record)| Side { name, source: name, record }), &[]);
    assert_eq!(said.len(), 1);
    let commands = said[0].value("commands").map(|value| value.to_string()).unwrap();
    assert_eq!(
        commands.split("; ").collect::<Vec<_>>(),
        [
            "linespeed run workloads",
            "linespeed scale --recipe bc-power --set exponent=999999",
            "linespeed scale --recipe sysbench-cpu --set limit=50000",
        ]
    );
    // Nothing is suggested for the side that has the result.
    let sides = [("published", &published), ("own", &published)];
    assert!(suggest_works(&sides.map(|(name, record)| Side { name, source: name, record }), &[]).is_empty());
}

#[test]
fn what_was_run_as_advised_is_named_and_not_advised_again() {
    let with = |works: &[&str]| {
        let mut record = empty();
        works.iter().for_each(|work| add(&mut record, "workload.time", of(work), 59.0));
        record
    };
    let mut published = with(&["sysbench cpu --cpu-max-prime=50000", "openssl speed -evp aes-256-gcm"]);
    published.import = Some(Default::default());
    let own = empty();
    let sides = [("this machine", ".", &own), ("xeon", "reference:xeon", &published)];
    let sides = sides.map(|(name, source, record)| Side { name, source, record });
    let named = |name: &str, works: &[&str]| (name.to_owned(), with(works));
    let nothing = |_: &[Side]| false;
    let other = named("here-3", &["another"]);
    assert_eq!(suggest_newer(&sides, 0, &[], nothing), None);
    assert_eq!(suggest_newer(&sides, 0, std::slice::from_ref(&other), nothing), None);
    let newer = [other, named("here-2", &["sysbench cpu --cpu-max-prime=50000"])];
    let says = suggest_newer(&sides, 0, &newer, nothing).unwrap();
    let command = |says: &Text| says.value("command").map(ToString::to_string);
    assert_eq!(command(&says).as_deref(), Some("linespeed compare here-2 reference:xeon"));
    // Commands for the missing results are still suggested.
    let rest = suggest_works(&sides, &newer).remove(0);
    let commands = rest.value("commands").map(ToString::to_string);
    assert_eq!(
        commands.as_deref(),
        Some("linespeed scale --recipe openssl-speed --set algorithm=aes-256-gcm")
    );
    // If the records share no result, a newer record is suggested that shares any result with the other record. Results that the current
    // record already has are no reason to suggest a newer record.
    let says = suggest_newer(&sides, 0, &newer, |sides| sides[0].name == "here-3").unwrap();
    assert_eq!(command(&says).as_deref(), Some("linespeed compare here-3 reference:xeon"));
    let own = with(&["sysbench cpu --cpu-max-prime=50000"]);
    let sides = [Side { record: &own, ..sides[0] }, sides[1]];
    assert_eq!(suggest_newer(&sides, 0, &newer, nothing), None);
}

#[test]
fn many_records_are_ranked_by_what_differs_most_and_never_by_noise() {
    let run = |rate: f64, bandwidth: f64, wakeup: f64| {
        let mut record = machine(2);
        let work = of("nop").with_label(Label::Threads, 1u32);
        let read = Labels::new().with_label(Label::Op, "read").with_label(Label::Threads, 2u32);
        record.measurements.push(measured("workload.throughput", work, rate));
        record.measurements.push(measured("memory.bandwidth", read, bandwidth * 1e10));
        add_wakeups(&mut record, "other", "as-is", [wakeup * 1e4; 2]);
        record
    };
    let (one, two, three) = (run(4e9, 1.0, 1.0), run(4.002e9, 0.4, 1.0), run(4.001e9, 1.0, 2.0));
    let said = side_by_side(&[("one", &one), ("two", &two), ("three", &three)]);
    let metrics: Vec<_> = said.orders.iter().map(|order| order.metric).collect();
    assert_eq!(metrics, ["memory.bandwidth", "wakeup.latency"]);
    assert_eq!(word(&said.answer[0], "result"), said.orders[0].result.to_string());
    assert!(said.answer[1].value("other").is_some(), "{:?}", said.answer);
    let alike = run(4.003e9, 1.001, 1.001);
    let said = side_by_side(&[("one", &one), ("alike", &alike), ("again", &one)]);
    assert!(said.orders.is_empty() && has_code(&said.answer[0], "comparison-no-difference"), "{said:?}");
    // A result that does not measure overall speed decides if no other result differs.
    let transfer = |ns: f64| {
        let place = Labels::new().with_label(Label::From, 0u32).with_label(Label::To, 1u32);
        let place = place.with_label(Label::Home, 0u32).with_label(Label::Handover, "cas");
        let mut record = machine(2);
        record
            .measurements
            .push(measured("core_to_core.latency", place, ns).with_detail(detail::CLASS, "cache"));
        record
    };
    let said = side_by_side(&[("a", &transfer(20.0)), ("b", &transfer(40.0)), ("c", &transfer(21.0))]);
    let last = said.orders[0].ranks.last().map(|rank| rank.subject);
    assert!(said.orders[0].metric == "core_to_core.latency" && last == Some(1), "{said:?}");
    assert_eq!(word(&said.answer[0], "result"), said.orders[0].result.to_string());
}
