//! Converts passes to results: a sample is the duration of a pass in core cycles. The events during the passes are
//! recorded with the result.

use kernels::primes;
use record::phrase::count_noun;
use record::text::Value;
use record::{
    Coverage, DetailKey, Doubt, Label, Labels, Mark, Measurement, SampleMark, detail, metrics, text,
};

use crate::kvm_guest::Kind;
use crate::{Disturbed, LayerPasses, Pass, Timings};

/// Maximum relative standard deviation of passes on an idle machine, as in the published comparison.
const STEADY: f64 = 0.003;
/// Maximum relative difference between the clocks before and after a slice; up to this difference, the clock counts as
/// unchanged.
const CLOCK_MOVED: f64 = 0.01;

/// The results of all layers that ran. The results of guests include the kind of KVM.
pub(crate) fn measurements(timings: &Timings, kvm: Option<Kind>) -> Vec<Measurement> {
    let figure = |row: &LayerPasses| match kvm.filter(|_| row.name.is_guest()) {
        Some(kvm) => measurement(row).with_detail(detail::KVM, kvm.word()),
        None => measurement(row),
    };
    timings.layers.iter().map(figure).collect()
}

/// The layers that could not be measured, with the reasons.
pub(crate) fn coverage(timings: &Timings) -> Vec<Coverage> {
    let missing = timings.missing.iter().map(|(name, failure)| {
        let what = format!("overhead ({name})");
        let row = timings.layers.iter().find(|row| row.name == *name);
        match row {
            Some(row) => {
                let passes = row.passes.len();
                let why = text!("ended after {passes} passes: {why}", why = &failure.reason);
                Coverage { remedy: failure.remedy.clone(), ..Coverage::degraded(what, why) }
            }
            None => failure.clone().into_impossible(what),
        }
    });
    missing.collect()
}

fn cycles(pass: &Pass) -> f64 {
    pass.seconds * pass.clock
}

fn measurement(row: &LayerPasses) -> Measurement {
    let place = Labels::new()
        .with_label(Label::Layer, row.name.layer)
        .with_label(Label::Bound, row.name.bound.map_or("none".to_owned(), |cpu| format!("cpu {cpu}")))
        .with_label(Label::Interrupts, if row.name.interrupts { "on" } else { "off" });
    let samples = row.passes.iter().map(|pass| pass.iter().map(cycles).sum()).collect();
    let mut measurement = Measurement::new(metrics::LAYER_TIME, place, samples);
    measurement.marks = marks(row);
    let all: Vec<&Pass> = row.passes.iter().flatten().collect();
    let seconds = all.iter().map(|portion| portion.seconds).sum::<f64>() / row.passes.len() as f64;
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        record::statistics::median_of_sorted(&values)
    };
    // The values are rounded to complete cycles, which is precise enough because a slice has tens of millions of cycles.
    let portions: Vec<u64> = all.iter().map(|pass| cycles(pass).round() as u64).collect();
    measurement = measurement
        .with_detail(detail::PORTIONS, portions)
        .with_detail(detail::PORTIONS_PER_PASS, super::PORTIONS)
        .with_detail(detail::SECONDS, seconds)
        .with_detail(detail::CLOCK_HZ, middle(all.iter().map(|pass| pass.clock).collect()).round())
        .with_detail(detail::PRIMES, primes::KNOWN);
    if let Some(pass) = all.first() {
        measurement.detail.set(detail::CRC32, format!("{:08x}", pass.crc));
        measurement.detail.set(detail::PAGE_OFFSET, pass.page_offset);
    }
    for (key, count) in COUNTS {
        if let Some(rate) = rate(&all, count) {
            measurement.detail.set(key, rate);
        }
    }
    measurement.doubt = doubt(&measurement, &all);
    measurement
}

type Count = fn(&Disturbed) -> Option<f64>;

/// The counts of a slice, each with the name of the detail that contains its rate: events per second or, for times, a
/// share.
const COUNTS: [(DetailKey<f64>, Count); 6] = [
    (detail::INTERRUPTS_PER_S, |disturbed| disturbed.interrupts.map(|n| n as f64)),
    (detail::SOFTIRQS_PER_S, |disturbed| disturbed.softirqs.map(|n| n as f64)),
    (detail::INVOLUNTARY_SWITCHES_PER_S, |disturbed| disturbed.involuntary.map(|n| n as f64)),
    (detail::VOLUNTARY_SWITCHES_PER_S, |disturbed| disturbed.voluntary.map(|n| n as f64)),
    (detail::MIGRATIONS_PER_S, |disturbed| disturbed.migrations.map(|n| n as f64)),
    (detail::STOLEN_SHARE, |disturbed| disturbed.stolen),
];

/// Events per second, over the slices in which the event could be counted; `None` if it could not be counted in any
/// slice.
fn rate(all: &[&Pass], count: Count) -> Option<f64> {
    let (mut events, mut seconds) = (0.0, 0.0);
    for pass in all {
        if let Some(count) = count(&pass.disturbed) {
            events += count;
            seconds += pass.seconds;
        }
    }
    // The rate is rounded to four decimals, because counts over a few seconds are not more precise.
    (seconds > 0.0).then(|| (events / seconds * 1e4).round() / 1e4)
}

type Seen = fn(&Pass) -> bool;

fn marks(row: &LayerPasses) -> Vec<SampleMark> {
    let any = |pass: &[Pass], seen: Seen| pass.iter().any(seen);
    let kinds: [(Mark, Seen); 4] = [
        (Mark::ClockMoved, |pass| pass.clock_moved > CLOCK_MOVED),
        (Mark::Switched, |pass| pass.disturbed.involuntary.is_some_and(|n| n > 0)),
        (Mark::Migrated, |pass| pass.disturbed.migrations.is_some_and(|n| n > 0)),
        (Mark::Stolen, |pass| pass.disturbed.stolen.is_some_and(|seconds| seconds > 0.0)),
    ];
    measure::mark_samples(
        row.passes
            .iter()
            .map(|pass| kinds.iter().filter(move |(_, seen)| any(pass, *seen)).map(|(mark, _)| *mark)),
    )
}

/// The doubt "too noisy" with its causes, if the passes vary more than they would on an idle machine.
fn doubt(measurement: &Measurement, all: &[&Pass]) -> Option<Doubt> {
    let passes = measurement.summary.n;
    let Some(variation) = measurement.summary.variation else {
        return Some(text!("a single pass does not show the variation between passes; use --rounds").into());
    };
    if variation <= STEADY {
        return None;
    }
    let marked = |mark: Mark| measurement.marks.iter().filter(|m| m.mark == mark).count();
    let total = |count: Count| all.iter().filter_map(|pass| count(&pass.disturbed)).sum::<f64>();
    let mut causes = Vec::new();
    let stolen = total(|disturbed| disturbed.stolen);
    if stolen > 0.0 {
        let seconds: f64 = all.iter().map(|pass| pass.seconds).sum();
        causes.push(text!("overhead-steal", "steal time {share}", share = Value::Share(stolen / seconds)));
    }
    let times = |count: f64| count_noun(count as u64, "time");
    let switched = total(|disturbed| disturbed.involuntary.map(|n| n as f64));
    if switched > 0.0 {
        let in_passes = marked(Mark::Switched);
        causes.push(text!(
            "overhead-switched",
            "other tasks ran on the CPU {times}, in {in_passes} of {passes} passes",
            times = times(switched)
        ));
    }
    let moved = total(|disturbed| disturbed.migrations.map(|n| n as f64));
    if moved > 0.0 {
        causes.push(text!("the thread migrated {times}", times = times(moved)));
    }
    if marked(Mark::ClockMoved) > 0 {
        let seen = marked(Mark::ClockMoved);
        causes.push(text!("the clock changed in {seen} of {passes} passes"));
    }
    let extent = text!(
        "passes vary by {variation} (below {steady} on an idle machine)",
        variation = Value::Share(variation),
        steady = Value::Share(STEADY)
    );
    Some(Doubt::too_noisy_for(extent, causes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LayerName, Unavailable};
    use record::DoubtKind;

    fn pass(seconds: f64, disturbed: Disturbed) -> Pass {
        Pass {
            primes: 1,
            seconds,
            clock: 2e9,
            clock_moved: 0.0,
            crc: 0xab,
            page_offset: 0,
            cpu_from: Some(1),
            cpu_to: Some(1),
            disturbed,
        }
    }

    fn row(passes: Vec<Vec<Pass>>) -> LayerPasses {
        LayerPasses { name: LayerName { layer: "user", bound: Some(1), interrupts: true }, passes }
    }

    #[test]
    fn a_sample_is_a_pass_in_core_cycles_whatever_the_clock() {
        let quiet = Disturbed { interrupts: Some(5), ..Disturbed::default() };
        let slower = Pass { clock: 1e9, ..pass(0.02, quiet) };
        let m =
            measurement(&row(vec![vec![pass(0.01, quiet), slower.clone()], vec![slower, pass(0.01, quiet)]]));
        assert_eq!((m.samples.clone(), m.unit.as_str()), (vec![4e7, 4e7], "cycles"));
        assert_eq!(
            m.detail.get(detail::PORTIONS).unwrap(),
            &serde_json::json!([20_000_000, 20_000_000, 20_000_000, 20_000_000])
        );
        assert_eq!(
            (m.detail.get(detail::CRC32), m.detail.get(detail::INTERRUPTS_PER_S)),
            (Some("000000ab"), Some(333.3333))
        );
        assert!(!m.detail.has(detail::MIGRATIONS_PER_S), "an uncounted value must be missing, not 0");
        assert_eq!(m.doubt, None);
        assert_eq!(m.labels.word(Label::Bound), Some("cpu 1"));
    }

    #[test]
    fn noise_is_said_with_what_made_it() {
        let switched = Disturbed { involuntary: Some(3), stolen: Some(0.01), ..Disturbed::default() };
        let m = measurement(&row(vec![
            vec![pass(1.0, Disturbed::default())],
            vec![pass(1.1, switched)],
            vec![pass(1.0, Disturbed::default())],
        ]));
        let doubt = m.doubt.unwrap();
        assert_eq!(doubt.kind(), DoubtKind::TooNoisy);
        let Some(Value::List(causes)) = doubt.value("cause") else { panic!("{doubt}") };
        assert_eq!(causes[0].code(), Some("overhead-steal"));
        assert!(
            matches!(causes[0].value("share"), Some(Value::Share(share)) if (share - 0.01 / 3.1).abs() < 1e-9)
        );
        assert_eq!(causes[1].code(), Some("overhead-switched"));
        let values = ["times", "in_passes", "passes"].map(|name| causes[1].value(name).unwrap().to_string());
        assert_eq!(values, ["3 times", "1", "3"]);
        assert_eq!(m.marks.len(), 2);
        let unseen = measurement(&row(vec![
            vec![pass(1.0, Disturbed::default())],
            vec![pass(1.1, Disturbed::default())],
        ]));
        assert!(unseen.doubt.unwrap().noise().is_some_and(|noise| !noise.is_explained));
    }

    #[test]
    fn a_layer_that_is_missing_says_why_and_what_would_help() {
        let name = LayerName { layer: "kernel", bound: None, interrupts: false };
        let failure = Unavailable::new("there is no make").with_remedy("apt install make");
        let mut timings = Timings { missing: vec![(name, failure)], ..Timings::default() };
        let reported = &coverage(&timings)[0];
        assert_eq!(reported.what, "overhead (kernel, unpinned, interrupts off)");
        assert_eq!(
            (reported.state, &reported.remedy),
            (record::State::Impossible, &Some("apt install make".into()))
        );
        timings.layers = vec![LayerPasses { name, passes: vec![vec![pass(1.0, Disturbed::default())]] }];
        assert_eq!(coverage(&timings)[0].state, record::State::Degraded);
    }
}
