//! The output of `linespeed scale` other than its steps: how the run ended, the command, and missing measurements.

use record::{Coverage, Ended, Record, State, detail, metrics};

use crate::contents::command::command_text;
#[cfg(test)]
use crate::contents::verdict::is_scale;
use crate::text::capitalized;

/// The reason for an early end, if any.
pub(super) fn early(record: &Record) -> Option<String> {
    let signal = match &record.ended {
        Ended::Complete => return None,
        Ended::Failed { reason } => return Some(format!("Ended early: {reason}.")),
        Ended::Interrupted { signal } => signal,
    };
    let how = record.coverage.iter().find(|c| c.what == Coverage::SCALE && c.is_for(&Coverage::INTERRUPTED));
    Some(match how {
        Some(how) => format!("{}.", capitalized(&how.why())),
        None => format!("Interrupted by signal {signal}: results so far are shown."),
    })
}

/// The command that was run: the command of the steps or, if it is unknown, the words after `--`, or all words of the command line.
pub(super) fn command(record: &Record) -> String {
    if let Some(m) =
        record.measurements_of(metrics::WORKLOAD_THROUGHPUT).find(|m| m.detail.has(detail::COMMAND))
    {
        return command_text(m);
    }
    let behind = record.command.iter().position(|word| word == "--").map_or(0, |at| at + 1);
    let words: Vec<String> =
        record.command.iter().skip(behind).map(|word| record::phrase::quote_word(word)).collect();
    words.join(" ")
}

/// Missing measurements of the command. Missing inventory facts and an early end are excluded, because they are shown elsewhere.
pub(super) fn lost(record: &Record) -> impl Iterator<Item = &Coverage> {
    let interrupted = matches!(record.ended, Ended::Interrupted { .. });
    let about = ["scale", "counters", "cpus", "command", "recipe"];
    let lost = record.coverage.iter().filter(|c| c.state != State::Measured);
    lost.filter(move |c| about.contains(&c.topic()) && !(interrupted && c.what == Coverage::SCALE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::{Screen, Style, scale_answer};
    use record::{Label, Labels, Mark, Measurement, SampleMark};

    fn step(placement: &str, cpus: u64, rates: Vec<f64>) -> Measurement {
        let place = Labels::new()
            .with_label(Label::Workload, "x")
            .with_label(Label::Threads, cpus)
            .with_label(Label::Placement, placement);
        Measurement::new("workload.throughput", place, rates).with_detail(detail::WORK, "events")
    }

    fn shown(record: &mut Record, all: bool) -> String {
        record.diagnosis = diagnose::diagnose(record);
        let style = Style { width: 120, ..Style::default() };
        Screen::draw(&style, |screen| scale_answer(screen, record, all, None))
    }

    #[test]
    fn each_step_stands_with_what_disturbed_it() {
        let mut record = Record::new("1", String::new(), Vec::new());
        record.measurements.push(step("cores-first", 1, vec![100.0; 3]));
        let mut two =
            step("cores-first", 2, vec![150.0, 160.0, 170.0]).with_detail(detail::FASTEST_TO_SLOWEST, 1.25);
        two.marks.push(SampleMark { sample: 0, mark: Mark::Stolen });
        record.measurements.push(two);
        record.coverage.push(Coverage::skipped("scale: 4 CPUs, cores-first", "4 copies need 9 GiB"));
        record.coverage.push(Coverage::impossible("memory devices", "no SMBIOS"));
        let text = shown(&mut record, true);
        assert!(text.contains("cores-first") && text.contains("4 copies need 9 GiB"), "{text}");
        assert!(text.contains("160 /s") && text.contains("80.0 %"), "{text}");
        assert!(text.contains("during some samples the hypervisor took CPU time"), "{text}");
        assert!(!shown(&mut record, false).contains("- memory devices"), "{text}");
    }

    #[test]
    fn an_early_end_is_said_first_and_how_far_it_came() {
        let mut record = Record::new("1", String::new(), Vec::new());
        assert!(shown(&mut record, false).contains("Nothing was measured.\n"));
        record.ended = Ended::Interrupted { signal: 2 };
        assert!(shown(&mut record, false).starts_with("Interrupted by signal 2"));
        record.measurements.push(step("cores-first", 1, vec![100.0; 3]));
        record.coverage.push(Coverage::degraded(
            "scale",
            "interrupted by signal 2 after 3 of 5 runs (1 of 2 steps complete)",
        ));
        let text = shown(&mut record, false);
        assert!(
            text.starts_with("Interrupted by signal 2 after 3 of 5 runs (1 of 2 steps complete).\n"),
            "{text}"
        );
        record.ended = Ended::Failed { reason: "mariadbd was killed".to_owned() };
        assert!(shown(&mut record, false).starts_with("Ended early: mariadbd was killed."));
    }

    #[test]
    fn the_command_and_other_load_are_reported() {
        let mut record =
            Record::new("1", String::new(), ["linespeed", "scale", "--", "a b"].map(str::to_owned).into());
        assert!(shown(&mut record, false).contains("\n'a b'\n"));
        let words = serde_json::json!(["sh", "-c", "echo {threads}"]);
        record.measurements.push(step("cores-first", 1, vec![100.0; 3]).with_detail(detail::COMMAND, words));
        assert!(shown(&mut record, false).contains("\nsh -c 'echo {threads}'\n"));
        record.machine.counts.cpus_online = Some(2);
        record.conditions.before.load = Some([3.0, 0.0, 0.0]);
        let text = shown(&mut record, false);
        assert!(text.contains("load average was 3.00 on 2 CPUs"), "{text}");
    }

    #[test]
    fn a_record_of_scale_is_known_by_what_it_covers() {
        let mut record = Record::new("1", String::new(), Vec::new());
        record.coverage.push(Coverage::measured("scaling"));
        assert!(!is_scale(&record));
        record.coverage.push(Coverage::skipped("scale: 4 CPUs, cores-first", "no room"));
        assert!(is_scale(&record));
    }
}
