use record::diagnosis::{Answer, LayerStep, Overhead};
use record::difference::Verdict;
use record::text::Value;
use record::{DetailKey, Label, Labels, Measurement, Record, detail};
use serde_json::json;

use crate::record_index::RecordIndex;
use crate::samples::machine;

/// A layer with 64 slices that take this many cycles each, plus up to 1 in 10,000, and the counted events.
fn timed(
    record: &mut Record,
    layer: &str,
    bound: &str,
    interrupts: &str,
    cycles: f64,
    counts: &[(DetailKey<f64>, f64)],
) {
    let place = Labels::new()
        .with_label(Label::Layer, layer)
        .with_label(Label::Bound, bound)
        .with_label(Label::Interrupts, interrupts);
    let mut state = 0x9e37_79b9_7f4a_7c15u64 ^ (record.measurements.len() as u64 * 77 + 1);
    let mut chance = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % 1000) as f64 * 1e-7
    };
    let portions: Vec<f64> = (0..64).map(|_| cycles * (1.0 + chance())).collect();
    let passes = portions.chunks(16).map(|pass| pass.iter().sum()).collect();
    let mut m = Measurement::new("layer.time", place, passes).with_detail(detail::PORTIONS, json!(portions));
    for (name, count) in counts {
        m = m.with_detail(*name, *count);
    }
    record.measurements.push(m);
}

fn overhead(record: &Record) -> Option<Overhead> {
    let index = RecordIndex::new(record);
    super::overhead(&index, &mut crate::layers::layers(&index))
}

/// The rows of a user program on CPU 1; some of them are slower.
fn users(free: f64, migrations: f64, elsewhere: f64, interrupts: f64) -> Record {
    let mut record = machine(4);
    timed(&mut record, "user", "none", "on", 1e7 * free, &[(detail::MIGRATIONS_PER_S, migrations)]);
    timed(
        &mut record,
        "user",
        "cpu 1",
        "on",
        1e7,
        &[(detail::INTERRUPTS_PER_S, 250.0), (detail::MIGRATIONS_PER_S, 0.0)],
    );
    timed(&mut record, "user again", "cpu 1", "on", 1e7, &[(detail::INTERRUPTS_PER_S, 251.0)]);
    timed(&mut record, "user", "cpu 0", "on", 1e7 * elsewhere, &[(detail::INTERRUPTS_PER_S, interrupts)]);
    record
}

fn step(overhead: &Overhead, code: &str) -> LayerStep {
    let found = overhead.steps.iter().find(|step| step.what.code() == Some(code));
    found.unwrap_or_else(|| panic!("{code}: {:?}", overhead.steps)).clone()
}

/// The cost of a step, as a share.
fn cost(step: &LayerStep) -> f64 {
    match step.verdict {
        Verdict::Costs { share, .. } => share,
        ref other => panic!("{}: {other:?}", step.what),
    }
}

#[test]
fn a_step_of_a_layer_in_doubt_is_unreliable() {
    let mut record = users(1.0, 3.0, 1.2, 300.0);
    let unreliable = |record: &Record| {
        let all = overhead(record).unwrap();
        ["overhead-step-not-bound", "overhead-step-other-cpu"].map(|code| step(&all, code).unreliable)
    };
    assert_eq!(unreliable(&record), [false, false]);
    let elsewhere = record.measurements.last_mut().unwrap();
    elsewhere.doubt = Some("too noisy".into());
    assert_eq!(unreliable(&record), [false, true]);
}

fn answers(record: &Record) -> Vec<Answer> {
    overhead(record).unwrap().claims.iter().map(|claim| claim.answer).collect()
}

#[test]
fn interrupts_that_cost_are_held_against_how_many_there_were() {
    let found = overhead(&users(1.0, 0.0, 1.05, 10_250.0)).unwrap();
    let reported = step(&found, "overhead-step-other-cpu");
    assert_eq!(reported.what.value("other"), Some(&Value::Count(0)));
    assert_eq!(reported.what.value("here"), Some(&Value::Count(1)));
    assert!((cost(&reported) - 0.05).abs() < 1e-3, "{reported:?}");
    // 5 %, divided by 10,512 additional interrupts in 1.05 s.
    let each = reported.each.unwrap();
    assert_eq!(each.code(), Some("overhead-events-each"));
    let Some(Value::Sentence(counted)) = each.value("counted") else { panic!("{each:?}") };
    assert_eq!(counted.value("with"), Some(&Value::from("10250")));
    assert_eq!(counted.value("without"), Some(&Value::from("250")));
    assert!(
        matches!(each.value("each"), Some(Value::Figure(ns, "ns")) if (4700.0..4800.0).contains(ns)),
        "{each:?}"
    );
    assert_eq!(reported.rounds, 64);
    assert!(matches!(found.floor, Some(Verdict::NotResolved { smaller_than }) if smaller_than < 0.002));
    assert!(found.line_speed.starts_with("user, "), "{}", found.line_speed);
}

#[test]
fn a_cost_that_so_few_interrupts_cannot_make_is_called_so() {
    let found = overhead(&users(1.0, 0.0, 1.05, 350.0)).unwrap();
    let each = step(&found, "overhead-step-other-cpu").each.unwrap();
    assert_eq!(each.code(), Some("overhead-events-too-long"));
    assert_eq!(each.value("most"), Some(&Value::Figure(100e3, "ns")));
    let found = overhead(&users(1.0, 0.0, 1.05, 100.0)).unwrap();
    let each = step(&found, "overhead-step-other-cpu").each.unwrap();
    assert_eq!(each.code(), Some("overhead-events-no-more"));
}

#[test]
fn a_migrating_program_supports_the_claim_and_one_that_stays_says_nothing() {
    let moved = users(1.06, 90.0, 1.0, 250.0);
    assert_eq!(answers(&moved)[1], Answer::Supported);
    assert_eq!(answers(&users(1.004, 90.0, 1.0, 250.0))[1], Answer::Contradicted);
    assert_eq!(answers(&users(1.06, 0.0, 1.0, 250.0))[1], Answer::CannotTell);
    let reported = step(&overhead(&moved).unwrap(), "overhead-step-not-bound");
    assert_eq!(reported.says.code(), Some("overhead-costs"));
    assert!((0.0595..0.0605).contains(&cost(&reported)), "{reported:?}");
    let each = reported.each.unwrap();
    let Some(Value::Sentence(counted)) = each.value("counted") else { panic!("{each:?}") };
    for (place, shown) in [("with", "90.0"), ("events", "migrations"), ("without", "0")] {
        assert_eq!(counted.value(place), Some(&Value::from(shown)), "{counted:?}");
    }
}

#[test]
fn a_machine_on_which_a_layer_differs_from_itself_tells_nothing() {
    let mut record = users(1.2, 90.0, 1.0, 250.0);
    let again = &mut record.measurements[2].detail;
    let noisy: Vec<f64> = (0..64).map(|n| 1e7 * if n * n % 7 < 3 { 0.85 } else { 1.15 }).collect();
    again.set(detail::PORTIONS, json!(noisy));
    let claims = overhead(&record).unwrap().claims;
    assert_eq!(claims[1].answer, Answer::CannotTell);
    assert_eq!(claims[1].why.code(), Some("overhead-claim-within-noise"));
    let noise = claims[1].why.value("noise");
    assert!(
        matches!(noise, Some(Value::Sentence(noise)) if noise.code() == Some("overhead-not-resolved")),
        "{claims:?}"
    );
}

#[test]
fn what_bursts_cost_stands_in_the_row_and_in_the_step_alike() {
    let mut record = users(1.0, 0.0, 1.0, 250.0);
    timed(&mut record, "user real-time", "cpu 1", "on", 1e7, &[(detail::INVOLUNTARY_SWITCHES_PER_S, 0.0)]);
    // One of five slices takes twice as long: no median shows this, although a fifth of the time is lost.
    for user in [1, 2] {
        let m = &mut record.measurements[user];
        let portions: Vec<f64> = (0..64).map(|n| if (n * 13 + user) % 5 == 0 { 2e7 } else { 1e7 }).collect();
        let passes = portions.chunks(16).map(|pass| pass.iter().sum()).collect();
        *m = Measurement::new("layer.time", m.labels.clone(), passes)
            .with_detail(detail::PORTIONS, json!(portions))
            .with_detail(detail::INVOLUNTARY_SWITCHES_PER_S, 40.0);
    }
    let index = RecordIndex::new(&record);
    let mut layers = crate::layers::layers(&index);
    let found = super::overhead(&index, &mut layers).unwrap();
    let share = cost(&step(&found, "overhead-step-other-tasks"));
    assert!((0.18..0.22).contains(&share), "{share}");
    let real_time = layers.iter().find(|layer| layer.layer == "user real-time").unwrap();
    let row = layers.iter().find(|layer| layer.layer == "user" && layer.bound.as_deref() == Some("cpu 1"));
    let row = row.unwrap();
    let of_row = row.time / real_time.time - 1.0;
    assert!((of_row - share).abs() < 1e-6, "{of_row} {share}");
    let (low, high) = row.over_interval.unwrap();
    assert!(low < row.over && row.over < high, "{row:?}");
}

#[test]
fn conclusions_about_layers_that_were_not_timed_are_left_open() {
    let answers = answers(&users(1.06, 90.0, 1.0, 250.0));
    assert_eq!([answers[0], answers[2], answers[3], answers[4], answers[5]], [Answer::CannotTell; 5]);
}

/// The proportions of the published machine, as if its passes had alternated.
fn published() -> Record {
    let mut record = users(1.0937, 5.0, 1.0, 250.0);
    record.measurements.clear();
    for (layer, bound, interrupts, cycles) in [
        ("kernel", "none", "on", 1_508_746_974.0),
        ("kernel", "cpu 1", "on", 1_434_743_820.0),
        ("kernel", "none", "off", 1_345_530_254.0),
        ("user", "none", "on", 1_471_545_419.0),
        ("user", "cpu 1", "on", 1_492_132_357.0),
        ("guest kernel", "none", "on", 1_535_383_348.0),
        ("guest kernel", "cpu 1", "on", 1_462_007_863.0),
        ("guest kernel", "none", "off", 1_359_371_000.0),
    ] {
        timed(&mut record, layer, bound, interrupts, cycles / 16.0, &[(detail::MIGRATIONS_PER_S, 5.0)]);
    }
    record
}

#[test]
fn the_published_figures_support_the_published_conclusions() {
    let found = overhead(&published()).unwrap();
    for claim in &found.claims {
        assert_eq!(claim.answer, Answer::Supported, "{claim:?}");
    }
    assert_eq!(found.line_speed, "kernel, unpinned, interrupts off");
    assert_eq!(found.floor, None);
    let interrupts = step(&found, "overhead-step-interrupts");
    assert!((cost(&interrupts) - 0.0663).abs() < 1e-3);
}

/// In linespeed's own records, the kernel of a whole guest has a separate name.
#[test]
fn a_whole_guests_kernel_answers_as_the_published_one_did() {
    let mut record = published();
    for m in &mut record.measurements {
        if m.labels.word(Label::Layer) == Some("guest kernel") {
            let word = |key: Label| m.labels.word(key).unwrap().to_owned();
            let (bound, interrupts) = (word(Label::Bound), word(Label::Interrupts));
            m.labels = Labels::new()
                .with_label(Label::Layer, "guest OS kernel")
                .with_label(Label::Bound, bound)
                .with_label(Label::Interrupts, interrupts);
        }
    }
    timed(&mut record, "guest OS user", "cpu 1", "on", 1.5e9 / 16.0, &[]);
    timed(&mut record, "guest OS user", "none", "on", 1.6e9 / 16.0, &[(detail::MIGRATIONS_PER_S, 3.0)]);
    let found = overhead(&record).unwrap();
    for claim in &found.claims {
        assert_eq!(claim.answer, Answer::Supported, "{claim:?}");
    }
    let share = |code: &str| cost(&step(&found, code));
    assert!((share("overhead-step-guest-quiet") - 0.010_286).abs() < 1e-4);
    assert!((share("overhead-step-guest-interrupts") - 0.075_504).abs() < 1e-4);
    assert!((share("overhead-step-guest-kernel-not-bound") - 0.050_188).abs() < 1e-4);
    assert!((share("overhead-step-guest-user-not-bound") - 0.066_667).abs() < 1e-4);
    assert!((share("overhead-step-guest-user-mode") - 0.025_986).abs() < 1e-4);
}

#[test]
fn figures_that_say_the_contrary_contradict() {
    let mut record = published();
    record.measurements.clear();
    for (layer, bound, interrupts, cycles) in [
        ("kernel", "none", "on", 1.001e7),
        ("kernel", "cpu 1", "on", 1.0005e7),
        ("kernel", "none", "off", 1e7),
        ("user", "none", "on", 1.002e7),
        ("user", "cpu 1", "on", 1.0006e7),
        ("guest kernel", "cpu 1", "on", 1.31e7),
        ("guest kernel", "none", "off", 1.3e7),
    ] {
        timed(&mut record, layer, bound, interrupts, cycles, &[(detail::MIGRATIONS_PER_S, 5.0)]);
    }
    for claim in overhead(&record).unwrap().claims {
        assert_eq!(claim.answer, Answer::Contradicted, "{claim:?}");
    }
}

#[test]
fn a_whole_guest_is_held_against_the_user_program_and_against_a_raw_guest() {
    let mut record = users(1.06, 90.0, 1.0, 250.0);
    assert_eq!(answers(&record)[2], Answer::CannotTell);
    timed(&mut record, "guest OS user", "cpu 1", "on", 1.3e7, &[]);
    let found = overhead(&record).unwrap();
    let whole = cost(&step(&found, "overhead-step-whole-guest"));
    assert!((0.295..0.31).contains(&whole), "{whole}");
    assert_eq!(found.claims[2].answer, Answer::Contradicted, "{:?}", found.claims[2]);
    assert!(found.steps.iter().all(|step| step.what.code() != Some("overhead-step-guest-system")));
    timed(&mut record, "guest user", "cpu 1", "on", 1.001e7, &[]);
    let found = overhead(&record).unwrap();
    let system = cost(&step(&found, "overhead-step-guest-system"));
    assert!((0.29..0.30).contains(&system), "{system}");
    assert_eq!(found.claims[2].answer, Answer::Supported, "{:?}", found.claims[2]);
}

#[test]
fn single_figures_have_no_steps() {
    let mut record = machine(4);
    let place = Labels::new().with_label(Label::Layer, "user").with_label(Label::Bound, "none");
    record.measurements.push(Measurement::new("layer.time", place, vec![1e9]));
    assert_eq!(overhead(&record), None);
    assert_eq!(overhead(&machine(1)), None);
}

#[test]
fn damaged_portions_are_no_panic() {
    for portions in [json!([]), json!("x"), json!([null, "x"]), json!([0, -1, 1e308])] {
        let mut record = users(1.0, 1.0, 1.0, 1.0);
        record.measurements[0].detail.set(detail::PORTIONS, portions);
        record.measurements[1].detail.set(detail::INTERRUPTS_PER_S, json!("many"));
        let _ = overhead(&record);
    }
}
