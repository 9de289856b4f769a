//! Helpers for all rules: losses with their intervals, evidence with its place in the record, severity, and text from records in a form
//! that is safe in commands for users to paste.

use record::diagnosis::{Evidence, Relevance, Severity};
use record::difference::Verdict;
use record::machine::Cpu;
use record::statistics::{Summary, median_of_sorted};
use record::text::Value;
use record::units::digits_of_share;
use record::{Better, CpuList, Label, Machine, Measurement, Metric, Record, Remedy, Snapshot, Text, text};

/// A smaller share is not a loss: two runs of the same measurement on an idle machine may differ by as much, and so may the two instruction
/// chains that measure the clock.
pub(crate) const RESOLUTION: f64 = record::difference::WORTH_TELLING;

/// The 95 % CI of the median if there is one, otherwise the full range of the samples.
pub(crate) fn spread(summary: &Summary) -> (f64, f64) {
    summary.interval.unwrap_or((summary.min, summary.max))
}

/// The share of `could_be` that is lost if `is` is delivered. Lower is better for times, higher for rates. The interval includes the
/// spread of both results and [`RESOLUTION`]; a loss whose interval includes 0 counts as unresolved.
pub(crate) fn loss(is: &Summary, could_be: &Summary, better: Better) -> Verdict {
    let share = |is: f64, could_be: f64| match better {
        Better::Lower => 1.0 - could_be / is,
        Better::Higher => 1.0 - is / could_be,
    };
    let ((is_low, is_high), (could_low, could_high)) = (spread(is), spread(could_be));
    let (least, most) = match better {
        Better::Lower => (share(is_low, could_high), share(is_high, could_low)),
        Better::Higher => (share(is_high, could_low), share(is_low, could_high)),
    };
    verdict(share(is.median, could_be.median), (least - RESOLUTION, most + RESOLUTION))
}

/// The share by which a rate falls short of `could_be`, which is known exactly.
pub(crate) fn shortfall(rate: &Summary, could_be: f64) -> Verdict {
    let (low, high) = spread(rate);
    let interval = (1.0 - high / could_be - RESOLUTION, 1.0 - low / could_be + RESOLUTION);
    verdict(1.0 - rate.median / could_be, interval)
}

/// The share by which a cost exceeds the usual cost, which is given as a published range. The reference is the geometric mean of the ends
/// of the range, because most machines are near the lower end.
pub(crate) fn cost_above(cost: &Summary, (least, most): (f64, f64)) -> Verdict {
    let (low, high) = spread(cost);
    let usual = (least * most).sqrt();
    verdict(1.0 - usual / cost.median, (1.0 - most / low, 1.0 - least / high))
}

/// Converts a share with its interval to a verdict: unresolved if the interval reaches 0, not measurable if there are no values.
pub(crate) fn verdict(share: f64, (least, most): (f64, f64)) -> Verdict {
    if !(share.is_finite() && least.is_finite() && most.is_finite()) {
        return Verdict::NotMeasurable { reason: text!("one of the underlying results is not a number") };
    }
    if least <= 0.0 || share <= 0.0 {
        return Verdict::NotResolved { smaller_than: most.abs().max(least.abs()).min(1.0) };
    }
    Verdict::Costs { share: share.min(1.0), interval: (least.min(1.0), most.clamp(least.min(1.0), 1.0)) }
}

/// A loss that can be computed exactly from the inventory (a quota, a configured speed). `None` below [`RESOLUTION`].
pub(crate) fn modelled(share: f64) -> Option<Verdict> {
    (share.is_finite() && share >= RESOLUTION)
        .then(|| Verdict::Costs { share: share.min(1.0), interval: (share.min(1.0), share.min(1.0)) })
}

/// The lost share in a verdict; 0 if the verdict has none.
pub(crate) fn share_of(loss: &Verdict) -> f64 {
    match loss {
        Verdict::Costs { share, .. } => *share,
        _ => 0.0,
    }
}

/// The lost share, rounded according to its interval.
pub(crate) fn lost_share(loss: &Verdict) -> Value {
    let digits = match loss {
        Verdict::Costs { share, interval } => digits_of_share(*share, *interval),
        _ => 3,
    };
    Value::Rounded(Box::new(Value::Share(share_of(loss))), digits)
}

/// The weight of a lost share: the part of the loss that affects programs on average.
pub(crate) fn weight(share: f64, relevance: Relevance) -> f64 {
    share
        * match relevance {
            Relevance::All => 1.0,
            Relevance::Some => 0.25,
            Relevance::Few => 0.1,
            Relevance::None => 0.0,
        }
}

/// A loss of this weight is serious: it equals the gain from one hardware generation.
const SERIOUS: f64 = 0.25;
/// A loss of this weight is noticeable and therefore a warning.
const WARNING: f64 = 0.05;

/// The severity of a loss of this weight.
pub(crate) fn severity(weight: f64) -> Severity {
    match weight {
        weight if weight >= SERIOUS => Severity::Serious,
        weight if weight >= WARNING => Severity::Warning,
        _ => Severity::Note,
    }
}

/// A place in a record: a path in its inventory, or a measurement identified by its labels.
pub(crate) struct Place(String);

impl From<&str> for Place {
    fn from(path: &str) -> Self {
        Self(path.to_owned())
    }
}

impl From<String> for Place {
    fn from(path: String) -> Self {
        Self(path)
    }
}

impl From<Metric> for Place {
    fn from(metric: Metric) -> Self {
        Self(metric.into())
    }
}

impl From<&Measurement> for Place {
    fn from(measurement: &Measurement) -> Self {
        Self(locate_figure(measurement))
    }
}

/// A fact of the record as evidence, in words that include the value.
pub(crate) fn cite_fact(says: impl Into<Text>, from: impl Into<Place>) -> Evidence {
    Evidence { says: says.into(), from: from.into().0 }
}

/// A measurement's place in the record: `wakeup.latency cpu=0 setting=as-is`.
pub(crate) fn locate_figure(measurement: &Measurement) -> String {
    let known = measurement.metric.keys();
    let mut text = measurement.metric.to_string();
    for key in known {
        if let Some(value) = measurement.labels.get(*key) {
            text.push_str(&format!(" {key}={value}"));
        }
    }
    text
}

/// The machine's base clock, Hz. `None` if the clock is known only from another tool's output or from the firmware's name of the processor,
/// and no CPU reports the same clock: the value may be that of another model, or the current clock.
pub(crate) fn base_hz(record: &Record) -> Option<u64> {
    let (machine, processor) = (&record.machine, &record.machine.processor);
    let tells = |name: &Option<String>| name.as_ref().is_some_and(|name| name.contains('@'));
    let is_of_cpu = |hz: u64| machine.cpus.iter().any(|cpu| cpu.base_hz == Some(hz));
    let by_firmware =
        (record.import.is_some() || tells(&processor.firmware_name)) && !tells(&processor.model_name);
    processor.base_hz.filter(|hz| !by_firmware || is_of_cpu(*hz))
}

/// The properties that distinguish core types.
pub(crate) fn kind_of(cpu: &Cpu) -> (Option<&str>, Option<u64>, Option<u32>, usize) {
    (cpu.kind.as_deref(), cpu.max_hz, cpu.capacity, cpu.siblings.len())
}

/// A clock recorded for the whole machine, if all cores have the same type. `None` if there are several core types, because the clock is
/// then that of the fastest type.
pub(crate) fn of_every_core<T>(machine: &Machine, clock: Option<T>) -> Option<T> {
    let mut kinds = machine.cpus.iter().filter(|cpu| cpu.online).map(kind_of);
    let first = kinds.next();
    clock.filter(|_| first.is_none_or(|first| kinds.all(|kind| kind == first)))
}

/// Whether a measurement's labels have these values.
pub(crate) fn has_labels(measurement: &Measurement, words: &[(Label, &str)]) -> bool {
    words.iter().all(|(key, word)| measurement.labels.word(*key) == Some(word))
}

/// The highest temperature of a snapshot, `before` or `after`.
pub(crate) fn cite_hottest(snapshot: &Snapshot, when: &str) -> Option<Evidence> {
    let (sensor, celsius) = snapshot.temperatures.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    let says = text!("hottest sensor: {temperature}", temperature = format!("{celsius:.0} °C"));
    Some(cite_fact(says, format!("conditions.{when}.temperatures.{sensor}")))
}

/// The measurement with the median value; `None` if there are no measurements.
pub(crate) fn middle<'a>(measurements: impl IntoIterator<Item = &'a Measurement>) -> Option<&'a Measurement> {
    let mut sorted: Vec<&Measurement> = measurements.into_iter().filter(|m| m.value().is_finite()).collect();
    sorted.sort_by(|a, b| a.value().total_cmp(&b.value()));
    (!sorted.is_empty()).then(|| sorted[(sorted.len() - 1) / 2])
}

/// The median of values; `None` if there are no values.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| median_of_sorted(&sorted))
}

/// The CPUs in the labels of measurements.
pub(crate) fn cpus_of<'a>(measurements: impl IntoIterator<Item = &'a Measurement>) -> CpuList {
    measurements
        .into_iter()
        .filter_map(|m| m.labels.count(Label::Cpu).and_then(|cpu| u32::try_from(cpu).ok()))
        .collect()
}

/// `CPU 3` or `CPUs 0-3,8`; `None` for an empty list.
pub(crate) fn name_cpus(cpus: &CpuList) -> Option<Text> {
    match cpus.len() {
        0 => None,
        1 => Some(text!("CPU {cpu}", cpu = cpus)),
        _ => Some(text!("CPUs {cpus}")),
    }
}

/// A name from the record, as a placeholder.
pub(crate) fn quote_name(name: &str) -> Text {
    text!("name", "{name}")
}

/// A word from a record, if it is safe in a command that users may paste. Records may originate from other machines or be written by hand:
/// a governor named `$(reboot)` must not become part of a command.
pub(crate) fn pasteable(text: &str) -> Option<&str> {
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let parts_up = text.split('/').any(|part| part == "..");
    (!text.is_empty()
        && text.len() <= 200
        && !text.starts_with('-')
        && text.chars().all(harmless)
        && !parts_up)
        .then_some(text)
}

/// A command that writes a value to a file under /sys or /proc as root.
pub(crate) fn write_command(value: &str, path: &str) -> String {
    format!("echo {value} | sudo tee {path}")
}

/// Returns the command that restores a file's recorded value. If this value is not safe in a command, returns the advice to note the
/// current value first.
pub(crate) fn restore_command(old: &str, path: &str) -> Remedy {
    match pasteable(old) {
        Some(old) => Remedy::command(write_command(old, path)),
        None => Remedy::both(text!("note the current value, to restore it later"), format!("cat {path}")),
    }
}

/// Formats CPU numbers as words for a shell `for` loop: `$(seq 4 7) 12`.
pub(crate) fn shell_words(cpus: &CpuList) -> String {
    let text = cpus.to_string();
    let words = text.split(',').map(|range| match range.split_once('-') {
        Some((first, last)) => format!("$(seq {first} {last})"),
        None => range.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A command that writes a value to `file` in the directory of each of these CPUs.
pub(crate) fn write_for_cpus(value: &str, cpus: &CpuList, file: &str) -> Remedy {
    let path = format!("/sys/devices/system/cpu/cpu$cpu/{file}");
    Remedy::command(format!("for cpu in {}; do {}; done", shell_words(cpus), write_command(value, &path)))
}

/// A measurement's labels as text, except for one label. The text is equal for measurements that differ only in this label.
pub(crate) fn labels_without(measurement: &Measurement, label: Label) -> String {
    let keys = measurement.labels.0.iter().filter(|(name, _)| *name != label.name());
    keys.map(|(name, value)| format!("{name}={value};")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::tight;

    #[test]
    fn a_difference_inside_the_noise_is_no_loss() {
        let a = Summary::from_samples(&tight(100.0));
        let b = Summary::from_samples(&tight(101.0));
        assert!(matches!(loss(&b, &a, Better::Lower), Verdict::NotResolved { .. }));
        let c = Summary::from_samples(&tight(125.0));
        let Verdict::Costs { share, interval } = loss(&c, &a, Better::Lower) else {
            panic!("a fifth is a loss")
        };
        assert!((share - 0.2).abs() < 1e-9 && interval.0 < 0.2 && 0.2 < interval.1, "{share} {interval:?}");
        assert!(matches!(loss(&a, &c, Better::Higher), Verdict::Costs { .. }));
    }

    #[test]
    fn the_glossary_has_the_figures_that_decide_how_bad_a_finding_is() {
        let glossary = record::glossary::Glossary::new([record::glossary::Group::words()]);
        for word in ["severity", "note", "warning", "serious"] {
            let said = &glossary.find(word).unwrap().what;
            let [serious, warning] = [SERIOUS, WARNING].map(|weight| format!("{:.0} %", weight * 100.0));
            assert!(
                said.contains(&format!(
                    "serious if it costs {serious} or more, a warning if it costs {warning} or more"
                )),
                "{word}: {said}"
            );
            let parts = [(Relevance::Some, "weighted by 1/4", 0.25), (Relevance::Few, "by 1/10", 0.1)];
            for (felt_by, part, is) in parts {
                assert!(weight(1.0, felt_by) == is && said.contains(part), "{word}: {said}");
            }
        }
    }

    #[test]
    fn figures_that_are_none_make_no_loss() {
        let none = Summary::default();
        assert!(matches!(loss(&none, &none, Better::Lower), Verdict::NotMeasurable { .. }));
        assert!(modelled(f64::NAN).is_none() && modelled(0.001).is_none());
    }

    #[test]
    fn hostile_words_stay_out_of_commands() {
        for bad in ["$(reboot)", "a b", "a;b", "`x`", "-rf", "/sys/../etc/passwd", "", "a\nb", "é"] {
            assert_eq!(pasteable(bad), None, "{bad:?}");
        }
        assert!(pasteable("/sys/devices/system/cpu/intel_pstate/no_turbo").is_some());
        assert_eq!(pasteable("powersave"), Some("powersave"));
        assert_eq!(restore_command("never", "/sys/x"), Remedy::command("echo never | sudo tee /sys/x"));
        assert_eq!(restore_command("$(reboot)", "/sys/x").command.as_deref(), Some("cat /sys/x"));
    }

    #[test]
    fn commands_for_many_cpus_name_them_all() {
        let cpus: CpuList = (4..200).chain([300]).collect();
        assert_eq!(
            write_for_cpus("1", &cpus, "online").command.as_deref(),
            Some(
                "for cpu in $(seq 4 199) 300; do echo 1 | sudo tee /sys/devices/system/cpu/cpu$cpu/online; done"
            )
        );
    }
}
