use record::{Labels, detail};

use super::*;

/// A record of alternating commands, with their names and times by round.
fn record_of(commands: &[(&str, &[f64])]) -> Record {
    let mut record = Record::new("0", String::new(), Vec::new());
    for (at, (name, times)) in commands.iter().enumerate() {
        let place = Labels::new().with_label(Label::Workload, *name);
        let time = Measurement::new("workload.time", place, times.to_vec());
        record.measurements.push(time.with_detail(detail::TURN, at as u64 + 1));
    }
    record
}

fn add(record: &mut Record, metric: &'static str, workload: &str, by: (Label, &str), samples: &[f64]) {
    let place = Labels::new().with_label(Label::Workload, workload).with_label(by.0, by.1);
    record.measurements.push(Measurement::new(metric, place, samples.to_vec()));
}

fn second(record: &Record) -> AgainstFirst {
    turns(record).unwrap().commands[1].against_first.clone().unwrap()
}

/// Times around `middle`, with a fixed pseudo-random sequence.
fn noisy(middle: f64, spread: f64, seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut even = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..count).map(|_| middle * (1.0 + spread * (even() - 0.5))).collect()
}

#[test]
fn the_slower_one_is_told_with_its_ratio_and_interval_either_way() {
    let (old, new) = (noisy(1.0, 0.02, 1, 10), noisy(1.25, 0.02, 2, 10));
    let slower = second(&record_of(&[("old", &old), ("new", &new)]));
    assert_eq!((slower.slower, slower.rounds), (Some(true), 10));
    let (low, high) = slower.interval.unwrap();
    assert!(low <= slower.ratio && slower.ratio <= high && low > 1.2 && high < 1.3, "{slower:?}");
    assert!(slower.says.is(&SLOWER));
    let faster = second(&record_of(&[("new", &new), ("old", &old)]));
    assert_eq!(faster.slower, Some(false));
    assert!((faster.ratio * slower.ratio - 1.0).abs() < 0.01 && faster.says.is(&FASTER), "{faster:?}");
    let told: f64 = faster.says.value("ratio").unwrap().to_string().parse().unwrap();
    assert!((told * faster.ratio - 1.0).abs() < 0.01, "{faster:?}");
}

#[test]
fn a_command_against_itself_is_seldom_told_apart() {
    let decided = (0..400).filter(|seed| {
        let (a, b) = (noisy(1.0, 0.1, seed * 2 + 1, 10), noisy(1.0, 0.1, seed * 2 + 2, 10));
        second(&record_of(&[("true", &a), ("true (2)", &b)])).slower.is_some()
    });
    assert!(decided.count() <= 20, "more than one in twenty comparisons found a false difference");
}

#[test]
fn what_noise_alone_makes_is_no_difference() {
    // Each run is 10 % slower than the previous one, so a command differs from itself by more than from the other one.
    let run = |number: usize| 1.1f64.powi(number as i32);
    let old: Vec<f64> = (0..10).map(|round| run(2 * round + round % 2)).collect();
    let new: Vec<f64> = (0..10).map(|round| 1.05 * run(2 * round + 1 - round % 2)).collect();
    let record = record_of(&[("old", &old), ("new", &new)]);
    let told = turns(&record).unwrap();
    assert!(told.floor.is_some_and(|floor| floor > 0.05), "{told:?}");
    assert_eq!(second(&record).slower, None);
    // If all runs were exactly equal, there would be no noise floor.
    let still = turns(&record_of(&[("old", &[1.0; 10]), ("new", &[1.01; 10])])).unwrap();
    assert_eq!(
        (still.floor, still.commands[1].against_first.as_ref().unwrap().slower),
        (Some(0.0), Some(true))
    );
}

#[test]
fn a_difference_inside_the_noise_is_said_to_be_so() {
    // The second is 2 % slower in each round; consecutive runs of the same command differ by up to 8 %.
    let old: Vec<f64> = (0..10).map(|round| [1.0, 1.08, 1.0, 1.08][round % 4]).collect();
    let new: Vec<f64> = old.iter().map(|time| time * 1.02).collect();
    let within = second(&record_of(&[("old", &old), ("new", &new)]));
    assert_eq!(within.slower, None, "{within:?}");
    assert!(within.says.is(&WITHIN_NOISE) && within.interval.is_some_and(|(low, _)| low > 1.0));
}

#[test]
fn a_command_that_failed_in_most_runs_is_not_compared() {
    let (old, new) = (noisy(1.0, 0.02, 1, 10), noisy(1.25, 0.02, 2, 10));
    for (failures, compared) in [(0, true), (5, true), (6, false), (10, false)] {
        for ending in [RunEnd::Code(127), RunEnd::Signal(11), RunEnd::TimedOut(true)] {
            let mut record = record_of(&[("old", &old), ("new", &new)]);
            let ends: Vec<RunEnd> =
                (0..10).map(|at| if at < failures { ending } else { RunEnd::Code(0) }).collect();
            record.measurements[1].detail.set_parts(detail::ENDS, &ends);
            let said = second(&record);
            let compared = compared || ending == RunEnd::TimedOut(true);
            assert_eq!((said.slower.is_some(), said.says.is(&SLOWER)), (compared, compared), "{said:?}");
            let counted = said.says.value("failed").map(ToString::to_string);
            assert_eq!(counted, (!compared).then(|| failures.to_string()), "{said:?}");
        }
    }
}

#[test]
fn few_rounds_have_a_ratio_and_no_interval() {
    for rounds in 1..least_rounds(1) {
        let few = second(&record_of(&[("old", &vec![1.0; rounds]), ("new", &vec![2.0; rounds])]));
        assert_eq!((few.interval, few.slower, few.rounds), (None, None, rounds as u64));
        assert!((few.ratio - 2.0).abs() < 1e-9 && few.says.is(&TOO_FEW));
        assert_eq!(few.says.value("least"), Some(&Value::Count(6)));
    }
    // With more commands, the probability of a false difference is higher.
    let times = [1.0; 6];
    let three = record_of(&[("a", &times), ("b", &times), ("c", &times)]);
    assert_eq!(second(&three).says.value("least"), Some(&Value::Count(7)));
}

#[test]
fn of_unequal_numbers_of_runs_the_rounds_that_both_made_count() {
    let cut = record_of(&[("old", &[1.0, 1.0, 1.0]), ("new", &[3.0, 3.0])]);
    assert_eq!(second(&cut).rounds, 2);
    let alone = record_of(&[("old", &[1.0])]);
    let told = turns(&alone).unwrap();
    assert!(told.commands.len() == 1 && told.commands[0].against_first.is_none() && told.floor.is_none());
    assert_eq!(turns(&Record::new("0", String::new(), Vec::new())), None);
}

#[test]
fn where_the_time_went_is_told_of_what_differs_alone() {
    let (old, new) = (noisy(1.0, 0.01, 1, 10), noisy(2.0, 0.01, 2, 10));
    let mut record = record_of(&[("old", &old), ("new", &new)]);
    let halves = [("old", &old, 0.1), ("new", &new, 0.55)];
    for (name, times, share) in halves {
        let system: Vec<f64> = times.iter().map(|time| time * share).collect();
        add(&mut record, "workload.cpu_time", name, (Label::State, "system"), &system);
        add(&mut record, "workload.cpu_time", name, (Label::State, "user"), &[0.9; 10]);
    }
    add(&mut record, "counter.count", "old", (Label::Event, "page-faults"), &[1000.0; 10]);
    add(&mut record, "counter.count", "new", (Label::Event, "page-faults"), &[9000.0; 10]);
    add(&mut record, "counter.count", "old", (Label::Event, "context-switches"), &[5000.0; 10]);
    add(&mut record, "counter.count", "new", (Label::Event, "context-switches"), &[5100.0; 10]);
    let explained = second(&record).explained;
    let codes: Vec<_> = explained.iter().map(Text::code).collect();
    assert_eq!(codes, [Some("turns-explained-times"), Some("turns-explained-counts")]);
    let listed = |at: usize, name: &str| match explained[at].value(name) {
        Some(Value::List(all)) => all.clone(),
        other => panic!("{other:?}"),
    };
    let [system] = listed(0, "states").try_into().unwrap();
    assert_eq!(system.value("state").map(ToString::to_string).as_deref(), Some("sys"));
    let [faults] = listed(1, "counts").try_into().unwrap();
    assert_eq!(faults.value("event").map(ToString::to_string).as_deref(), Some("page-faults"));
    insta::assert_snapshot!(
        second(&record).says.to_string()
            + "\n"
            + &explained.iter().map(Text::to_string).collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn a_split_that_is_sampled_by_few_ticks_is_told_as_its_sum() {
    let mut record = record_of(&[("old", &[1.0; 10]), ("new", &[2.0; 10])]);
    for (name, seconds) in [("old", 0.4), ("new", 0.9)] {
        add(&mut record, "workload.cpu_time", name, (Label::State, "user"), &[seconds; 10]);
        add(&mut record, "workload.cpu_time", name, (Label::State, "system"), &[seconds; 10]);
    }
    for m in record.measurements.iter_mut().filter(|m| m.metric == "workload.cpu_time") {
        m.doubt = Some(Text::from("sampled").into());
    }
    let explained = second(&record).explained;
    let Some(Value::List(states)) = explained[0].value("states") else { panic!("{explained:?}") };
    assert_eq!(states.len(), 1);
    assert_eq!(states[0].value("after"), Some(&Value::Figure(1.8, "s")));
}

#[test]
fn each_is_bound_by_what_bound_it_alone() {
    let mut record = record_of(&[("sleeps", &[1.0; 10]), ("works", &[1.0; 10])]);
    add(&mut record, "workload.cpu_time", "sleeps", (Label::State, "off-cpu"), &[0.99; 10]);
    add(&mut record, "workload.cpu_time", "works", (Label::State, "user"), &[0.99; 10]);
    let told = turns(&record).unwrap();
    let bound: Vec<_> = told.commands.iter().map(|one| one.bound.as_ref().unwrap()).collect();
    use record::diagnosis::BoundBy;
    assert_eq!((&bound[0].by, &bound[1].by), (&BoundBy::Waiting, &BoundBy::Cpu));
    for (one, bound) in told.commands.iter().zip(&bound) {
        let own = format!("workload={}", one.workload);
        assert!(bound.evidence.iter().all(|evidence| evidence.from.contains(&own)), "{bound:?}");
    }
}

#[test]
fn a_long_command_has_its_number_in_sentences() {
    let long = "x".repeat(SPOKEN + 1);
    let told = second(&record_of(&[("old", &[1.0; 10]), (&long, &[2.0; 10])]));
    assert_eq!(told.says.value("this").map(ToString::to_string).as_deref(), Some("command 2"));
}
