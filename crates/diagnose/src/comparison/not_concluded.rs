//! Tests that no unjustified conclusions are drawn from seemingly comparable results.

use record::comparison::Support;
use record::{Comparison, Label, Labels, Measurement, Record, Text, detail};

use super::documents::{empty, generator, number, power, side_by_side, word};
use super::explain::words::FASTER_UNRELIABLE;
use super::explain::{CORE_CLOCK, DECLARED, IDLE_STATES, NEIGHBOURS, STREAMING, words};
use super::verdict::{FASTER_MOST, SLOWER_MOST};
use crate::samples::has_code;

/// The workload of [`rates`].
const OPENSSL: &str = "openssl speed aes-256-ige (8 KiB)";

/// Rates of `openssl speed` for blocks of 8 KiB; the text contains the number of processes for only some of the rates.
fn rates(figures: &[(Option<u32>, f64)]) -> Record {
    let mut record = empty();
    record.machine.counts.cores = Some(96);
    record.machine.counts.cpus_online = Some(96);
    for (threads, mb_s) in figures {
        let mut place = Labels::new()
            .with_label(Label::Workload, "openssl speed aes-256-ige")
            .with_label(Label::Bytes, 8192u32);
        if let Some(threads) = threads {
            place = place.with_label(Label::Threads, *threads);
        }
        let m =
            Measurement::new("workload.throughput", place, vec![mb_s * 1e6]).with_detail(detail::WORK, "B");
        record.measurements.push(m);
    }
    record
}

#[test]
fn figures_whose_threads_nobody_reported_are_neither_averaged_nor_taken_for_one_thread() {
    let kunpeng = rates(&[(Some(1), 143.0), (None, 4584.0), (None, 13751.0)]);
    let intel = rates(&[(Some(1), 89.0), (None, 2680.0), (None, 5248.0)]);
    let hygon = rates(&[(Some(1), 80.0), (None, 2551.0)]);
    let said = side_by_side(&[("kunpeng", &kunpeng), ("intel", &intel), ("hygon", &hygon)]);
    let one_thread = "openssl speed aes-256-ige (8 KiB), one thread";
    let rows: Vec<String> = said.rows.iter().map(|row| row.what.to_string()).collect();
    assert_eq!(rows, [one_thread]);
    assert!(said.orders.iter().all(|order| order.result.to_string() == one_thread), "{:?}", said.orders);
    assert!(
        said.refused.iter().any(|refusal| has_code(&refusal.why, "comparison-threads-unknown")),
        "{:?}",
        said.refused
    );
    let apart: Vec<&Text> = said
        .refused
        .iter()
        .map(|refusal| &refusal.why)
        .filter(|why| has_code(why, "comparison-no-repetitions"))
        .collect();
    assert!(apart.iter().all(|why| number(why, "figures") == 2.0), "{apart:?}");
    let kunpeng_has = |why: &&Text| word(why, "least") == "4.58 GB/s" && word(why, "most") == "13.8 GB/s";
    assert!(apart.iter().any(kunpeng_has), "{apart:?}");
    // A rate for an unknown number of threads does not replace a missing single-thread rate.
    let alone = rates(&[(None, 4584.0), (None, 13751.0)]);
    let said = side_by_side(&[("alone", &alone), ("kunpeng", &kunpeng)]);
    assert!(said.rows.is_empty() && said.explanations.is_empty(), "{said:?}");
    assert!(said.within.iter().all(|within| word(within, "who") != "alone"), "{:?}", said.within);
}

#[test]
fn a_recipe_with_other_settings_is_other_work() {
    let bc = |exponent: &str, seconds: f64| {
        let mut record = empty();
        let place = || Labels::new().with_label(Label::Workload, "bc-power").with_label(Label::Threads, 1u32);
        let throughput = Measurement::new("workload.throughput", place(), vec![1.0 / seconds; 6]);
        record
            .measurements
            .push(throughput.with_detail(detail::SETTINGS, vec![format!("exponent={exponent}")]));
        record.measurements.push(Measurement::new("workload.time", place(), vec![seconds; 6]));
        record
    };
    let said = side_by_side(&[("quick", &bc("30000", 0.01)), ("whole", &bc("999999", 2.0))]);
    assert!(said.rows.is_empty() && said.explanations.is_empty(), "{said:?}");
    let why = &said.refused[0].why;
    assert_eq!(said.refused[0].code, "comparison-other-work");
    assert_eq!(
        (word(why, "base"), word(why, "this")),
        ("exponent=30000".to_owned(), "exponent=999999".to_owned())
    );
    assert_eq!(said.refused[0].metrics.len(), 2, "{said:?}");
    let said = side_by_side(&[("one", &bc("30000", 0.01)), ("two", &bc("30000", 0.02))]);
    assert!(said.refused.is_empty() && said.rows.len() == 2, "{said:?}");
}

#[test]
fn a_bandwidth_without_its_threads_is_not_one_threads() {
    let bandwidth = |threads: Option<u32>, method: Option<&str>, gb_s: f64| {
        let mut record = empty();
        let mut place = Labels::new().with_label(Label::Op, "triad");
        if let Some(threads) = threads {
            place = place.with_label(Label::Threads, threads);
        }
        let mut m = Measurement::new("memory.bandwidth", place, vec![gb_s * 1e9]);
        m.method = method.map(str::to_owned);
        record.measurements.push(m);
        record
    };
    let said = side_by_side(&[
        ("one", &bandwidth(Some(1), None, 12.0)),
        ("whole", &bandwidth(None, Some("Intel MLC 3.9"), 190.0)),
    ]);
    assert!(said.rows.is_empty() && !said.refused.is_empty(), "{said:?}");
    // MLC uses all CPUs by default; other tools do not.
    let pair = |method| {
        side_by_side(&[("a", &bandwidth(None, method, 190.0)), ("b", &bandwidth(None, method, 210.0))])
    };
    assert_eq!(pair(Some("Intel MLC 3.9")).rows[0].what.to_string(), "triad, unknown number of threads");
    assert!(pair(None).rows.is_empty());
}

#[test]
fn factors_are_reported_from_the_side_of_the_faster_one_whichever_is_the_baseline() {
    let intel = power(18.6, 58_626_314_801.0, 128_284_870_917.0, "process", 2500);
    let hygon = power(26.7, 317_353_262_523.0, 293_162_940_548.0, "system", 2500);
    let mut forth = side_by_side(&[("hygon", &hygon), ("intel", &intel)]);
    let mut back = side_by_side(&[("intel", &intel), ("hygon", &hygon)]);
    let (forth, back) = (forth.explanations.remove(0), back.explanations.remove(0));
    assert_eq!(forth.says, back.says);
    assert_eq!(
        (word(&back.says, "fast"), word(&back.says, "slow")),
        ("intel".to_owned(), "hygon".to_owned())
    );
    assert!((number(&back.says, "times") - 26.7 / 18.6).abs() < 1e-9);
    assert!(back.causes[0].name.is(&CORE_CLOCK) && (1.0 / back.causes[0].factor - 1.26).abs() < 0.005);
    let rest = back.says.sentences().iter().find(|text| text.is(&words::REST)).unwrap();
    assert!((number(rest, "factor") - 1.14).abs() < 0.005);
    assert_eq!(forth.causes[0].says, back.causes[0].says);
    // In the data, factors and evidence are relative to the baseline.
    assert!((forth.speed * back.speed - 1.0).abs() < 1e-9);
    assert!(
        (forth.causes[0].factor * back.causes[0].factor - 1.0).abs() < 1e-9 && forth.causes[0].factor > 1.0
    );
    assert!(back.causes[0].evidence[0].says.to_string().starts_with("intel"), "{back:?}");
    assert!(forth.causes[0].evidence[0].says.to_string().starts_with("hygon"), "{forth:?}");
}

#[test]
fn a_clock_that_makes_little_of_a_difference_is_no_cause_of_it() {
    let mut fast = rates(&[(Some(1), 143.0)]);
    let mut slow = rates(&[(Some(1), 79.6)]);
    fast.machine.processor.max_hz = Some(2_600_000_000);
    slow.machine.processor.max_hz = Some(2_500_000_000);
    let said = side_by_side(&[("fast", &fast), ("slow", &slow)]);
    let e = &said.explanations[0];
    assert!(e.causes[0].name.is(&CORE_CLOCK) && (e.causes[0].factor.ln().abs() - 1.04f64.ln()).abs() < 1e-9);
    for says in [&e.says, &said.answer[0]] {
        assert!(has_code(says, "comparison-little"), "{says}");
        let rest = says.sentences().iter().find(|text| text.is(&words::REST)).unwrap();
        assert!((number(rest, "factor") - 1.73).abs() < 0.005, "{says}");
    }
}

#[test]
fn a_clock_measured_with_one_program_is_known_for_the_others() {
    let with_rate = |mut record: Record, mb_s: f64| {
        record.measurements.extend(rates(&[(Some(1), mb_s)]).measurements);
        record
    };
    // Both advertise 2.5 GHz; one was observed at 3.15 GHz.
    let intel = with_rate(power(18.6, 58_626_314_801.0, 128_284_870_917.0, "process", 2500), 89.1);
    let hygon = with_rate(power(26.7, 317_353_262_523.0, 293_162_940_548.0, "system", 2500), 79.6);
    let said = side_by_side(&[("intel", &intel), ("hygon", &hygon)]);
    let of = |work: &str| said.explanations.iter().find(|e| word(&e.result, "work") == work).unwrap();
    let (openssl, bc) = (of(OPENSSL), of("7^999999"));
    assert!(openssl.causes[0].name.is(&CORE_CLOCK));
    assert!((openssl.causes[0].factor / bc.causes[0].factor - 1.0).abs() < 1e-9, "{openssl:?} {bc:?}");
    assert_eq!(openssl.causes[0].says, "3.15 GHz while 7^999999 ran vs. 2.50 GHz advertised".into());
    assert!(openssl.says.is(&words::OVERSHOT), "{}", openssl.says);
    // A program with several threads or with waits does not show the clock.
    let several = with_rate(power(5.0, 58_626_314_801.0, 128_284_870_917.0, "process", 2500), 89.1);
    let said = side_by_side(&[("several", &several), ("hygon", &hygon)]);
    let openssl = said.explanations.iter().find(|e| word(&e.result, "work") == OPENSSL).unwrap();
    assert!(openssl.causes.is_empty(), "{openssl:?}");
}

#[test]
fn what_stands_beside_memory_latency_is_not_said_to_multiply_with_it() {
    let small = generator(2, 2, 3700, (1.0, 1.4), 2900);
    let big = generator(96, 2, 2600, (2.0, 2.8), 2900);
    for said in
        [side_by_side(&[("small", &small), ("big", &big)]), side_by_side(&[("big", &big), ("small", &small)])]
    {
        let why = said.explanations.iter().find(|why| why.result.is(&STREAMING)).unwrap();
        assert_eq!((word(&why.says, "fast"), number(&why.says, "times")), ("small".to_owned(), 2.0));
        let [_, cause, for_faster, for_slower] = why.says.sentences() else { panic!("{}", why.says) };
        assert_eq!(word(cause, "cause"), "memory time per element (2.00×)");
        assert_eq!(
            (word(for_faster, "side"), word(for_slower, "side")),
            ("faster".to_owned(), "slower".to_owned())
        );
        assert_eq!(word(for_faster, "causes"), "core clock (1.42×)");
        assert_eq!(word(for_slower, "causes"), "number of CPUs (0.0208×)");
    }
}

/// A run of one thread, with samples around the median.
fn ran(host: &str, median: f64, figures: &[(&'static str, Labels, f64)]) -> Record {
    let spread = |value: f64| [0.98, 0.99, 1.0, 1.0, 1.01, 1.02].map(|factor| factor * value).to_vec();
    let mut record = empty();
    record.machine.hostname = Some(host.to_owned());
    let place = Labels::new().with_label(Label::Workload, "nop").with_label(Label::Threads, 1u32);
    record.measurements.push(Measurement::new("workload.throughput", place, spread(median)));
    for (metric, place, value) in figures {
        record.measurements.push(Measurement::new(*metric, place.clone(), spread(*value)));
    }
    record
}

fn ipc(source: &'static str) -> Labels {
    Labels::new()
        .with_label(Label::Workload, "nop")
        .with_label(Label::Threads, 1u32)
        .with_label(Label::Source, source)
}

#[test]
fn what_follows_from_the_time_itself_is_no_cause_between_runs_of_one_machine() {
    let run = |host: &str, source, rate: f64| ran(host, rate * 1e9, &[("core.ipc", ipc(source), rate)]);
    let causes = |one: &Record, other: &Record| {
        let said = side_by_side(&[("before", one), ("after", other)]);
        said.explanations[0].causes.clone()
    };
    assert!(causes(&run("here", "declared", 4.0), &run("here", "declared", 2.0)).is_empty());
    let counted = causes(&run("here", "pmu", 4.0), &run("here", "pmu", 2.0));
    assert!(counted.len() == 1 && counted[0].measured, "{counted:?}");
    let between = causes(&run("here", "declared", 4.0), &run("there", "declared", 2.0));
    assert!(!between[0].measured && between[0].says.is(&DECLARED), "{between:?}");
}

#[test]
fn a_clock_that_noise_could_have_made_is_no_cause() {
    let clock = || Labels::new().with_label(Label::Active, "one").with_label(Label::Cpu, 0u32);
    let run = |rate: f64, hz: f64| ran("here", rate * 1e9, &[("core.clock", clock(), hz * 1e9)]);
    let said = side_by_side(&[("before", &run(4.0, 3.00)), ("after", &run(2.0, 2.97))]);
    assert!(said.explanations[0].causes.is_empty(), "{said:?}");
    let said = side_by_side(&[("before", &run(4.0, 3.00)), ("after", &run(2.0, 1.8))]);
    assert!(said.explanations[0].causes[0].name.is(&CORE_CLOCK), "{said:?}");
}

#[test]
fn what_is_a_cause_is_not_called_unexplained() {
    let clock = |active: &'static str| Labels::new().with_label(Label::Active, active);
    let run = |host: &str, rate: f64, hz: f64, syscall: f64| {
        let figures = [
            ("core.clock", clock("one").with_label(Label::Cpu, 0u32), hz * 1e9),
            ("core.clock", clock("all"), hz * 1e9),
            ("cost.syscall", Labels::new().with_label(Label::Cpu, 0u32), syscall),
        ];
        ran(host, rate * 1e9, &figures)
    };
    let larger = |syscall: f64| {
        let (fast, slow) = (run("here", 4.0, 3.5, 100.0), run("there", 2.88, 2.45, syscall));
        let said = side_by_side(&[("fast", &fast), ("slow", &slow)]);
        assert!(said.explanations[0].causes[0].name.is(&CORE_CLOCK), "{said:?}");
        let rows = said.answer.iter().find_map(|text| text.value("rows"));
        rows.map(|rows| (rows.to_string().contains("GHz"), rows.to_string().contains("300 ns")))
    };
    assert_eq!(larger(100.0 / 0.7), None);
    assert_eq!(larger(300.0), Some((false, true)));
}

#[test]
fn disturbances_are_mentioned_after_the_answer_and_only_if_something_differs() {
    let run = |rate: f64, kernel: &str| {
        let mut record = ran("here", rate * 1e9, &[]);
        record.machine.counts.cpus_online = Some(2);
        record.machine.kernel.release = Some(kernel.to_owned());
        crate::samples::ran(&mut record, 20.0, 10.0);
        record
    };
    let disturbed = |rate: f64| {
        let said = side_by_side(&[("before", &run(4.0, "6.1")), ("after", &run(rate, "6.2"))]);
        assert!(!said.answer.is_empty());
        said.answer.iter().position(|text| text.value("runs").is_some()).map(|at| at + 1 - said.answer.len())
    };
    assert_eq!(disturbed(4.0), None);
    assert_eq!(disturbed(2.0), Some(0));
}

#[test]
fn idle_states_that_noise_could_have_made_are_no_cause() {
    let wake = |setting: &'static str| {
        Labels::new().with_label(Label::Setting, setting).with_label(Label::Policy, "other")
    };
    let run = |as_is: f64, tuned: f64| {
        let figures =
            [("wakeup.latency", wake("as-is"), as_is * 1e3), ("wakeup.latency", wake("tuned"), tuned * 1e3)];
        ran("here", 1e9, &figures)
    };
    let causes = |one: &Record, other: &Record| {
        let said = side_by_side(&[("before", one), ("after", other)]);
        let wake = said.explanations.iter().find(|e| e.result.to_string().starts_with("wake-up")).unwrap();
        wake.causes.clone()
    };
    // The second machine takes twice as long, both untuned and tuned.
    assert!(causes(&run(60.0, 10.0), &run(121.0, 20.0)).is_empty());
    assert!(causes(&run(60.0, 10.0), &run(120.0, 10.0))[0].name.is(&IDLE_STATES));
}

#[test]
fn a_thousandth_of_the_time_that_neighbours_took_does_not_explain_a_halved_speed() {
    let guest = |rate: f64, taken: f64| {
        let stolen = Labels::new().with_label(Label::Cause, "below");
        let mut record = ran("here", rate * 1e9, &[("stolen.share", stolen, taken)]);
        record.machine.virtualization.hypervisor = Some("kvm".to_owned());
        record
    };
    let claim = |one: &Record, other: &Record| {
        let said = side_by_side(&[("before", one), ("after", other)]);
        let claims = &said.explanations[0].claims;
        claims.iter().find(|claim| claim.code == NEIGHBOURS.code).unwrap().clone()
    };
    let little = claim(&guest(4.0, 0.001), &guest(2.0, 0.003));
    assert_eq!(little.support, Support::NotSupported, "{little:?}");
    assert_eq!(little.why.code(), Some("comparison-little-taken"));
    assert!((number(&little.why, "loss") - 0.5).abs() < 1e-9, "{little:?}");
    let much = claim(&guest(4.0, 0.001), &guest(2.0, 0.4));
    assert_eq!(much.support, Support::Supported, "{much:?}");
    // The steal time reported by the hypervisor for the whole run is listed among the changes; no other value is used.
    let accounted = |rate: f64, taken: f64, share: f64| {
        let mut record = guest(rate, taken);
        record.conditions.after.get_or_insert_default().steal_share = Some(share);
        record
    };
    let both = claim(&accounted(4.0, 0.4, 0.001), &accounted(2.0, 0.001, 0.4));
    assert_eq!(both.support, Support::Supported, "{both:?}");
    let none = claim(&accounted(4.0, 0.001, 0.0), &accounted(2.0, 0.4, 0.0));
    assert_eq!(none.support, Support::Supported, "{none:?}");
}

#[test]
fn other_work_that_was_measured_decides_and_not_the_load_average_of_before() {
    let with = |rate: f64, average: f64, others: Option<f64>| {
        let mut record = ran("here", rate * 1e9, &[]);
        record.machine.counts.cpus_online = Some(2);
        record.conditions.before.load = Some([average, 0.0, 0.0]);
        if let Some(others) = others {
            crate::samples::ran(&mut record, 10.0 + 10.0 * others, 10.0);
        }
        record
    };
    let claim = |fast: &Record, slow: &Record| {
        let said = side_by_side(&[("fast", fast), ("slow", slow)]);
        let found =
            said.explanations[0].claims.iter().find(|claim| claim.code == "comparison-claim-own-load");
        found.map(|claim| (claim.support, claim.why.code().unwrap_or_default().to_owned()))
    };
    let used = "comparison-own-load-used".to_owned();
    // The load average contradicts the measurement.
    let slower_had_more = claim(&with(4.0, 0.54, Some(0.0)), &with(2.0, 0.08, Some(0.9)));
    assert_eq!(slower_had_more, Some((Support::Supported, used.clone())));
    let slower_had_less = claim(&with(4.0, 0.08, Some(0.9)), &with(2.0, 0.54, Some(0.0)));
    assert_eq!(slower_had_less, Some((Support::Contradicted, used)));
    let alike = claim(&with(4.0, 5.0, Some(0.31)), &with(2.0, 0.0, Some(0.3)));
    assert_eq!(alike, Some((Support::NotSupported, "comparison-as-much-taken".to_owned())));
    assert_eq!(claim(&with(4.0, 0.1, Some(0.9)), &with(2.0, 0.9, None)), None);
    let averages = claim(&with(4.0, 0.9, None), &with(2.0, 0.1, None));
    assert_eq!(averages.map(|(support, _)| support), Some(Support::Contradicted));
}

#[test]
fn a_headline_of_figures_in_doubt_carries_the_mark() {
    let fast = ran("there", 4e9, &[]);
    let mut slow = ran("here", 1e9, &[]);
    let said = side_by_side(&[("fast", &fast), ("slow", &slow)]);
    assert!(!said.explanations[0].unreliable && !said.answer[0].is(&FASTER_UNRELIABLE), "{said:?}");
    slow.measurements.iter_mut().for_each(|m| m.doubt = Some("placed 97 %".into()));
    let said = side_by_side(&[("fast", &fast), ("slow", &slow)]);
    let e = &said.explanations[0];
    assert!(
        e.unreliable && e.says.is(&FASTER_UNRELIABLE) && said.answer[0].is(&FASTER_UNRELIABLE),
        "{said:?}"
    );
}

#[test]
fn two_commands_are_no_result_of_two_machines() {
    let of = |line: &str, seconds: f64| {
        let mut record = empty();
        record.machine.hostname = Some("here".to_owned());
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let place = || Labels::new().with_label(Label::Workload, "command");
        let samples = vec![seconds, seconds * 1.001, seconds, seconds * 1.002, seconds, seconds];
        let time = Measurement::new("workload.time", place(), samples).with_detail(detail::COMMAND, words);
        record.measurements.push(time);
        record.measurements.push(Measurement::new(
            "core.ipc",
            place().with_label(Label::Source, "pmu"),
            vec![1.0],
        ));
        let clock = Labels::new().with_label(Label::Cpu, 0u32).with_label(Label::Active, "one");
        record.measurements.push(Measurement::new("core.clock", clock, vec![3e9; 6]));
        record
    };
    let metrics = |said: &Comparison| said.rows.iter().map(|row| row.metric).collect::<Vec<_>>();
    let (bc, other) = (of("bc -l x", 1.0), of("./cm x", 25.0));
    let said = side_by_side(&[("bc", &bc), ("cm", &other)]);
    assert_eq!(metrics(&said), ["core.clock"], "the machine's own results are still compared");
    assert!(said.explanations.is_empty(), "{:?}", said.explanations);
    assert_eq!((said.refused[0].code.as_str(), said.refused[0].figures), ("comparison-other-command", 2));
    let why = &said.refused[0].why;
    assert_eq!((word(why, "base"), word(why, "this")), ("bc -l x".to_owned(), "cm x".to_owned()));
    assert!(said.notes.iter().any(|note| note.code() == Some("comparison-commands-differ")));
    let bound = of("taskset -c 1 nice /usr/bin/bc -l x", 1.5);
    assert_eq!(metrics(&side_by_side(&[("bc", &bc), ("bound", &bound)])).len(), 3);
    let mut both = [bc, other];
    both.iter_mut().for_each(crate::ignore_commands);
    assert_eq!(metrics(&side_by_side(&[("bc", &both[0]), ("cm", &both[1])])).len(), 3);
}

#[test]
fn a_share_of_time_taken_has_no_ratio_and_what_it_leaves_decides() {
    let with = |shares: [f64; 6]| {
        let mut record = ran("here", 1e9, &[]);
        let place = Labels::new().with_label(Label::Cpu, 0u32).with_label(Label::Cause, "all");
        record.measurements.push(Measurement::new("stolen.share", place, shares.to_vec()));
        record
    };
    let cell = |one: [f64; 6], other: [f64; 6]| {
        let said = side_by_side(&[("one", &with(one)), ("other", &with(other))]);
        said.rows.iter().find(|row| row.metric == "stolen.share").unwrap().cells[1].clone()
    };
    let small = cell([0.002; 6], [0.004, 0.004, 0.004, 0.004, 0.004, 0.0041]);
    assert_eq!((small.ratio, small.interval, small.slower), (None, None, None), "{small:?}");
    let large = cell([0.02; 6], [0.5, 0.5, 0.5, 0.5, 0.5, 0.51]);
    assert_eq!((large.ratio, large.slower), (None, Some(true)), "{large:?}");
}

#[test]
fn changes_that_chance_makes_are_reported_to_be_so_and_what_changed_most_comes_first() {
    // Forty results, one with a large spread and one with a small one.
    let run = |noisy: f64, sure: f64| {
        let spread =
            |value: f64, by: f64| [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0].map(|z| value * (1.0 + z * by)).to_vec();
        let mut record = empty();
        record.machine.hostname = Some("here".to_owned());
        for at in 0..40 {
            let (value, by) = match at {
                0 => (noisy, 0.1),
                1 => (sure, 0.001),
                _ => (100.0, 0.01),
            };
            let place =
                Labels::new().with_label(Label::Workload, format!("w{at}")).with_label(Label::Threads, 1u32);
            record.measurements.push(Measurement::new("workload.throughput", place, spread(value, by)));
        }
        record
    };
    let says = |noisy: f64, sure: f64| {
        side_by_side(&[("before", &run(100.0, 100.0)), ("after", &run(noisy, sure))]).answer.remove(0)
    };
    let first = |says: &Text| {
        let most = says.sentences().iter().find(|text| text.is(&SLOWER_MOST)).unwrap();
        word(most, "changes")
    };
    let many = says(50.0, 80.0);
    assert!(has_code(&many, "comparison-changed") && !has_code(&many, "comparison-by-chance"), "{many}");
    assert_eq!((number(&many, "slower"), number(&many, "faster")), (2.0, 0.0));
    assert!(first(&many).starts_with("w0"), "{many}");
    // This change is larger than the other one, but the part of it that is certain is smaller.
    assert!(first(&says(77.0, 80.0)).starts_with("w1"));
    // Losses precede gains, even larger ones.
    let both = says(300.0, 80.0);
    let codes: Vec<_> = both.sentences().iter().filter_map(Text::code).collect();
    assert_eq!(codes, ["comparison-changed", SLOWER_MOST.code, FASTER_MOST.code]);
    assert!(first(&both).starts_with("w1"), "{both}");
    // Even if nothing changed, one in twenty of the 40 results would be outside its interval.
    let one = says(79.0, 100.0);
    assert_eq!((number(&one, "slower"), number(&one, "faster"), number(&one, "by_chance")), (1.0, 0.0, 2.0));
    assert!(has_code(&one, "comparison-by-chance") && first(&one).starts_with("w0"), "{one}");
}
