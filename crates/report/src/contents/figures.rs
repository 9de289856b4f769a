//! A measurement's results for display: value, spread, place, and doubts.

use crate::text::range;
use record::diagnosis::{CeilingSource, Resource, Scaling, Step};
use record::label::name_workload;
use record::metrics::Whole;
use record::statistics::is_unknown;
use record::{DoubtKind, Label, Mark, Measurement, Metric, Record, detail, metrics, units};

/// A value of this measurement with its unit. Shares are printed in percent and other ratios with a times sign, so that every number has a unit.
pub(crate) fn figure(m: &Measurement, value: f64) -> String {
    match m.unit.as_str() {
        "work/s" => rate(value, m.detail.get(detail::WORK).unwrap_or_default()),
        unit => figure_of(m.metric, unit, value),
    }
}

/// A rate with its unit: bytes in byte units, other work by its name.
pub(crate) fn rate(value: f64, work: &str) -> String {
    units::figure(value, if work == "B" { "B/s" } else { "work/s" })
}

/// A value of a metric with its unit.
pub(crate) fn figure_of(metric: Metric, unit: &str, value: f64) -> String {
    figure_within(metric, unit, value, None)
}

/// A value of a metric with the digits that its interval allows.
pub(crate) fn figure_within(metric: Metric, unit: &str, value: f64, interval: Option<(f64, f64)>) -> String {
    let digits = units::digits_within(value, interval);
    // Shares are shown in percent.
    let is_share = metric.definition().is_some_and(|metric| metric.share_of().is_some());
    match unit {
        "ratio" if is_share => units::percent_to(value, digits),
        "ratio" if value.is_finite() => format!("{}×", units::figure_to(value, unit, digits)),
        _ => units::figure_to(value, unit, digits),
    }
}

/// A result derived from a measurement, with the same number of digits.
pub(crate) fn as_known(m: &Measurement, figure: f64) -> String {
    units::figure_to(figure, &m.unit, units::digits_within(m.value(), m.interval()))
}

/// A result of a headline, with the same digits as in its table.
#[cfg(test)]
pub(crate) fn known(record: &Record, figure: f64, unit: &str) -> String {
    units::figure_to(figure, unit, digits(record, figure, unit))
}

/// The number of digits with which a headline's result is shown.
fn digits(record: &Record, figure: f64, unit: &str) -> usize {
    let interval = measurement_of(record, figure, unit).and_then(Measurement::interval);
    units::digits_within(figure, interval)
}

/// The number of digits of a resource's delivered value and its ceiling, which are shown together. If they differ by
/// less than the last digit of the less precise value, both are printed with the precision of that value, so that
/// rounding does not make the smaller value appear larger.
pub(crate) fn digits_beside_ceiling(record: &Record, resource: &Resource) -> (usize, usize) {
    let of = |figure| digits(record, figure, &resource.unit);
    let delivered = of(resource.delivered);
    let Some(ceiling) = resource.ceiling else { return (delivered, delivered) };
    let (apart, least) = ((resource.delivered - ceiling).abs(), delivered.min(of(ceiling)));
    let last_digit = 10f64.powf(ceiling.max(resource.delivered).log10().floor() + 1.0 - least as f64);
    if apart < last_digit { (least, least) } else { (delivered, of(ceiling)) }
}

/// `±3.0 %`: half of the 95 % CI, if the result is a measurement with an interval.
pub(crate) fn uncertainty(record: &Record, figure: f64, unit: &str) -> Option<String> {
    let half = measurement_of(record, figure, unit)?.summary.relative_half_width()?;
    (half > 0.0).then(|| format!("±{}", units::percent_to(units::bound(half), 2)))
}

/// Whether a result is a measurement for which [`withheld`] is true.
pub(crate) fn is_withheld(record: &Record, figure: f64, unit: &str) -> bool {
    measurement_of(record, figure, unit).is_some_and(withheld)
}

fn measurement_of<'a>(record: &'a Record, figure: f64, unit: &str) -> Option<&'a Measurement> {
    record.measurements.iter().find(|m| m.value().to_bits() == figure.to_bits() && m.unit == unit)
}

/// A factor with its times sign.
pub(crate) fn times(factor: f64) -> String {
    format!("{}×", units::significant(factor))
}

/// The speed-up and the efficiency of a step; for the last step, with the digits that the interval allows.
pub(crate) fn speed_up(scaling: &Scaling, step: &Step) -> [String; 2] {
    let interval = scaling.speedup_interval.filter(|_| step.threads == scaling.threads);
    let threads = f64::from(step.threads.max(1));
    let of_one = interval.map(|(low, high)| (low / threads, high / threads));
    let digits = units::digits_within(step.efficiency, of_one);
    let speedup = if interval.is_some() { scaling.speedup } else { step.speedup };
    let times = units::figure_to(speedup, "ratio", units::digits_within(speedup, interval));
    [format!("{times}×"), units::percent_to(step.efficiency, digits)]
}

/// Like [`speed_up`], with a mark if the step's throughput is unreliable. The speed-up of one thread is always 1,
/// regardless of noise.
pub(crate) fn marked_speed_up(
    scaling: &Scaling,
    step: &Step,
    throughput: Option<&Measurement>,
) -> [String; 2] {
    let mark = throughput.filter(|_| step.threads > 1).map_or("", mark);
    speed_up(scaling, step).map(|figure| figure + mark)
}

/// The mark after a result of this measurement.
pub(crate) fn mark(m: &Measurement) -> &'static str {
    if m.doubt.is_some() { MARK } else { "" }
}

/// A resource's ceiling, shown with its delivered value.
pub(crate) fn ceiling(record: &Record, resource: &Resource) -> Option<String> {
    let (_, digits) = digits_beside_ceiling(record, resource);
    resource.ceiling.map(|ceiling| units::figure_to(ceiling, &resource.unit, digits))
}

/// The share of line speed that a resource delivers: `62 %`.
pub(crate) fn share_of_line_speed(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The share of line speed that a headline delivers; `None` if the ceiling is the best result measured here, as in records of version 0.1.
pub(crate) fn line_speed(resource: &Resource) -> Option<f64> {
    resource.share.filter(|share| share.is_finite() && resource.source != Some(CeilingSource::Measured))
}

/// The share of line speed that a headline delivers. If the ceilings of a processor family form a range, so does the share: `84–100 %`.
pub(crate) fn share_of(resource: &Resource) -> Option<String> {
    let share = line_speed(resource)?;
    let least = resource.family_ceilings.map_or(share, |(low, _)| (resource.delivered / low).min(1.0));
    let [low, high] = [share, least].map(share_of_line_speed);
    Some(if low == high { high } else { format!("{}–{high}", low.trim_end_matches(" %")) })
}

/// The explanation of the placeholder `-` for a result that is [`withheld`].
pub(crate) const WITHHELD: &str = "not shown (-): the 95 % CI is wider than ±100 %";

/// Whether a result is too imprecise to be shown: its interval is wider than ±100 %. Shares and parts of a time, which
/// are often near 0, are always shown.
pub(crate) fn withheld(m: &Measurement) -> bool {
    let part = m.metric.definition().and_then(|metric| metric.part_of);
    !matches!(part, Some(Whole::Time | Whole::Slots))
        && m.summary.interval.is_some_and(|interval| is_unknown(m.summary.median, interval))
}

/// The placeholder for the spread of a single sample.
pub(crate) const ONE_SAMPLE: &str = "1 sample";
/// The mark after an unreliable result.
pub(crate) const MARK: &str = " ?";
/// The explanation of the mark, below a table.
pub(crate) const MARKED: &str = "?: unreliable (noisy, disturbed, no interval); why: show RECORD --csv";

/// The result with the digits that its interval allows, with a mark if it is unreliable; `-` without samples or if it is withheld.
pub(crate) fn value(m: &Measurement) -> String {
    if m.summary.n == 0 || withheld(m) {
        return "-".to_owned();
    }
    let shown = match m.unit.as_str() {
        "work/s" => figure(m, m.value()),
        _ => figure_within(m.metric, &m.unit, m.value(), m.interval()),
    };
    format!("{shown}{}", mark(m))
}

/// The result without its unit, which the heading shows.
pub(crate) fn bare_value(m: &Measurement) -> String {
    value(m).replace(&format!(" {}", m.unit), "")
}

/// The spread of the results: the 95 % CI of the median, or the median absolute deviation if there are too few
/// samples. For distributions of wake-ups and gaps, percentiles are shown instead.
pub(crate) fn spread(m: &Measurement) -> String {
    match (m.interval(), m.summary.n) {
        (_, 0) => String::new(),
        (_, 1) => ONE_SAMPLE.to_owned(),
        _ if withheld(m) => "-".to_owned(),
        (Some((low, high)), _) => {
            let (low, high) = (figure(m, low), figure(m, high));
            // A single value would not look like an interval.
            match m.summary.relative_half_width() {
                Some(half) if low == high && half > 0.0 => {
                    format!("±{}", units::percent_to(units::bound(half), 1))
                }
                _ => range(&low, &high),
            }
        }
        (None, n) => format!("MAD {} (n = {n})", figure(m, m.summary.mad)),
    }
}

/// The value of a label as text.
pub(crate) fn labelled(m: &Measurement, label: Label) -> String {
    key(m, label.name())
}

/// The name for the time in which no thread of a command was running or ready.
pub(crate) const NO_THREAD_READY: &str = "blocked, no thread ready";

/// The value of the label with this name, as text; sizes with their unit, switches as `yes` and `no`.
pub(crate) fn key(m: &Measurement, name: &str) -> String {
    let Some(value) = m.labels.named(name) else { return String::new() };
    let sized = match Label::from_name(name) {
        Some(label @ Label::Bytes) => m.labels.count(label).map(units::bytes),
        Some(label @ Label::Page) => {
            m.labels.word(label).and_then(|page| units::parse_bytes(page).ok()).map(units::bytes)
        }
        Some(label @ Label::Bandwidth) => m.labels.number(label).map(|rate| units::figure(rate, "B/s")),
        Some(label @ Label::Workload) => m.labels.word(label).map(|name| name_workload(name).to_owned()),
        Some(label @ Label::ShareOfPeak) => m.labels.number(label).map(units::percent),
        Some(label @ Label::State) if m.metric == metrics::WORKLOAD_CPU_TIME => {
            let name = |state| if state == "off-cpu" { NO_THREAD_READY } else { state };
            m.labels.word(label).map(|state| name(state).to_owned())
        }
        _ => None,
    };
    sized.unwrap_or_else(|| match value {
        record::Key::Switch(true) => "yes".to_owned(),
        record::Key::Switch(false) => "no".to_owned(),
        record::Key::Number(number) => units::significant(*number),
        other => other.to_string(),
    })
}

/// All labels of a place, to distinguish it from other places.
pub(crate) fn place(m: &Measurement) -> String {
    m.labels.0.iter().map(|(name, value)| format!("{name}={value} ")).collect()
}

/// The names of these measurements' labels, in display order: first those in the metric's definition, then any others.
pub(crate) fn keys(measurements: &[&Measurement]) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    let defined = measurements.first().map_or(&[][..], |m| m.metric.keys());
    let used = |label: Label| measurements.iter().any(|m| m.labels.get(label).is_some());
    keys.extend(defined.iter().filter(|label| used(**label)).map(Label::to_string));
    for m in measurements {
        for name in m.labels.0.keys() {
            if !keys.iter().any(|key| name == key) {
                keys.push(name.to_string());
            }
        }
    }
    keys
}

/// Remarks on a measurement, other than its unreliability.
pub(crate) fn remarks(m: &Measurement) -> Vec<String> {
    if withheld(m) {
        return vec![WITHHELD.to_owned()];
    }
    let doubts = m.doubt.iter().filter(|doubt| doubt.kind() == DoubtKind::Other).map(ToString::to_string);
    let under = m.detail.get(detail::RUN_UNDER).map(|under| format!("run under {under}"));
    let more = [diagnose::remark_scope(m).map(|remark| remark.to_string()), under];
    doubts.chain(more.into_iter().flatten()).chain(m.detail.get(detail::NOTE).map(str::to_owned)).collect()
}

/// The number of unreliable results, if individual marks would be too many.
pub(crate) fn doubts<'a>(all: impl Iterator<Item = &'a Measurement>, what: &str) -> Option<String> {
    let (mut count, mut doubtful) = (0, 0);
    for m in all {
        count += 1;
        doubtful += usize::from(m.doubt.is_some());
    }
    let all = || record::phrase::count_noun(count, what);
    (doubtful > 0).then(|| format!("{doubtful} of {} unreliable; why: show RECORD --csv", all()))
}

/// A mark in words.
pub(crate) fn mark_words(mark: Mark) -> &'static str {
    match mark {
        Mark::ClockMoved => "the core clock changed",
        Mark::Switched => "other tasks ran on the CPU",
        Mark::Migrated => "the thread was moved to another CPU",
        Mark::Stolen => "the hypervisor took CPU time",
        Mark::Throttled => "heat or power limits lowered the clock",
        Mark::Quota => "the cgroup's quota throttled the process",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Labels;

    #[test]
    fn a_figure_known_to_no_better_than_its_size_is_withheld() {
        let samples = vec![1e3, 2e3, 3e6, 4e10, 5e10, 6e10, 7e10, 2e3];
        let noisy = Measurement::new("memory.bandwidth", Labels::new(), samples.clone());
        assert_eq!((value(&noisy), spread(&noisy)), ("-".to_owned(), "-".to_owned()));
        assert_eq!(remarks(&noisy), [WITHHELD]);
        // An interval whose ends round to the same value is shown as a percentage.
        let narrow = [3.0001e9, 3.0002e9, 3.0003e9, 3.0001e9, 3.0004e9, 3.0002e9, 3.0003e9, 3.0002e9];
        let narrow = Measurement::new("memory.bandwidth", Labels::new(), narrow.to_vec());
        assert!(spread(&narrow).starts_with('±') && spread(&narrow).ends_with('%'), "{}", spread(&narrow));
        let sure = Measurement::new("memory.bandwidth", Labels::new(), vec![3e9; 8]);
        assert!(value(&sure) != "-" && remarks(&sure).is_empty());
        // A share near 0 is small, not unknown.
        let small = Measurement::new("stolen.share", Labels::new(), vec![0.0, 1e-6, 9e-5, 0.0, 2e-6, 8e-5]);
        assert!(value(&small) != "-" && spread(&small) != "-");
    }

    #[test]
    fn a_share_reads_alike_in_a_table_and_in_a_sentence() {
        for metric in metrics::all().filter(|metric| metric.share_of().is_some()) {
            let m = Measurement::new(metric.name, Labels::new(), vec![0.25; 8]);
            assert_eq!(
                (value(&m).as_str(), record::text::Value::from(&m).to_string().as_str()),
                ("25.0 %", "25.0 %")
            );
        }
    }

    #[test]
    fn what_is_delivered_is_not_printed_above_its_ceiling() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        let clock = |hz: f64, apart: f64| {
            let samples = (0..12).map(|i| hz + f64::from(i % 3 - 1) * apart).collect();
            Measurement::new("core.clock", Labels::new(), samples)
        };
        let (delivered, ceiling) = (clock(3.2436e9, 1e6), clock(3.2441e9, 1.5e8));
        let resource = |ceiling: f64| Resource {
            name: "core".to_owned(),
            unit: "Hz".to_owned(),
            ceiling: Some(ceiling),
            source: None,
            delivered: delivered.value(),
            share: None,
            repeatability: None,
            family_ceilings: None,
            typical: None,
            position: None,
            beside: None,
            meaning: record::Text::default(),
            doubt: None,
        };
        let near = resource(ceiling.value());
        record.measurements = vec![delivered.clone(), ceiling];
        assert_eq!(known(&record, near.delivered, "Hz"), "3.24 GHz");
        assert_eq!(digits_beside_ceiling(&record, &near), (2, 2), "3.24 GHz of 3.2 GHz");
        // If the values are far apart, each has its own precision.
        record.measurements[1] = clock(4e9, 4e8);
        assert_eq!(digits_beside_ceiling(&record, &resource(4e9)), (3, 2));
    }

    #[test]
    fn a_speed_up_has_the_digits_that_its_interval_leaves() {
        let step = Step { threads: 2, throughput: 1.37, speedup: 1.3651, efficiency: 0.68256 };
        let mut scaling =
            Scaling { threads: 2, speedup: 1.3651, ..serde_json::from_value(scaling()).unwrap() };
        assert_eq!(speed_up(&scaling, &step), ["1.37×", "68.3 %"]);
        scaling.speedup_interval = Some((1.103, 1.717));
        assert_eq!(speed_up(&scaling, &step), ["1.4×", "68 %"]);
        let mut m = Measurement::new("workload.throughput", Labels::new(), vec![1.37; 8]);
        assert_eq!(marked_speed_up(&scaling, &step, Some(&m)), ["1.4×", "68 %"]);
        m.doubt = Some("too noisy".into());
        assert_eq!(marked_speed_up(&scaling, &step, Some(&m)), ["1.4× ?", "68 % ?"]);
    }

    fn scaling() -> serde_json::Value {
        serde_json::json!({"workload": "primes", "placement": "cores-first", "points": 2, "rate": 1.0, "contention": 0.0,
            "coherency": 0.0, "residual": 0.0, "speedup": 1.0, "threads": 1, "meaning": "", "steps": []})
    }

    #[test]
    fn a_figure_has_the_digits_that_its_interval_leaves_and_one_mark() {
        let samples = (0..12).map(|i| 3e9 + f64::from(i % 3 - 1) * 4e8).collect();
        let mut m = Measurement::new("memory.bandwidth", Labels::new(), samples);
        assert_eq!((value(&m), remarks(&m).is_empty()), ("3.0 GB/s".to_owned(), true));
        m.doubt = Some("too noisy: the median is known to ±5 % only; no cause seen from here: others".into());
        assert_eq!((value(&m), remarks(&m).is_empty()), (format!("3.0 GB/s{MARK}"), true));
        m.doubt = Some("placed 97 %".into());
        assert_eq!(remarks(&m), ["placed 97 %"]);
    }
}
