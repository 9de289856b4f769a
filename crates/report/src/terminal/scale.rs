//! What `linespeed scale` prints: for each placement its steps, what they mean, the yield of siblings, and the charts.

use record::Label;
use record::detail;
use std::collections::BTreeMap;

use record::measurement::Mark;
use record::{Coverage, Ended, Measurement, Record, State, units};

use super::Style;
use super::screen::Screen;
use crate::contents::command::command_text;
use crate::contents::figures::{bare_value, mark, mark_words, marked_speed_up, rate, times};
use crate::contents::scaling::DISTURBED;
use crate::paint::{Span, Tone};
use crate::table::Table;
use crate::text::capitalized;

/// Whether a record is one of `linespeed scale`: what it covers says so, figures or not.
pub fn is_scale(record: &Record) -> bool {
    record.coverage.iter().any(|c| c.topic() == Coverage::SCALE)
}

/// The report of a record of `linespeed scale`.
pub fn scale(record: &Record, style: &Style) -> String {
    whole(record, None, style)
}

/// The same; `shown_by`: what `linespeed show` takes for this record, where that is known.
pub(super) fn whole(record: &Record, shown_by: Option<&str>, style: &Style) -> String {
    let mut text = scale_briefly(record, style);
    text.push_str(&super::scaling_charts(record, style));
    let mut screen = Screen::new(style);
    if !record.diagnosis.findings.is_empty() {
        super::report::findings(&mut screen, record, shown_by);
    }
    let lost: Vec<&Coverage> = lost(record).collect();
    if !lost.is_empty() {
        screen.heading("What could not be measured");
    }
    for coverage in lost {
        let reason = coverage.why();
        let remedy = coverage.remedy.as_ref().map_or(String::new(), |remedy| format!(" ({remedy})"));
        screen.hanging("- ", "  ", format!("{}: {}: {reason}{remedy}", coverage.what, coverage.state.word()));
    }
    let below = screen.finish();
    if !text.is_empty() && !below.is_empty() {
        text.push('\n');
    }
    text + &below
}

/// How it ended when it ended early, the command, the steps of each placement, and the yield of siblings.
pub fn scale_briefly(record: &Record, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if let Some(early) = early(record) {
        screen.paragraph(&[], Tone::Warning, &early);
        screen.blank();
    }
    let command = command(record);
    if !command.is_empty() {
        screen.paragraph(&[Span::strong("  ")], Tone::Strong, &command);
    }
    super::report::quiet_machine(&mut screen, record, "  ");
    let mut placements: Vec<&str> = Vec::new();
    for m in record.measurements_of("workload.throughput") {
        if let Some(placement) = m.labels.word(Label::Placement)
            && !placements.contains(&placement)
        {
            placements.push(placement);
        }
    }
    if placements.is_empty() {
        screen.paragraph(&[], Tone::Plain, "Nothing was measured.");
    }
    for placement in placements {
        write_placement(&mut screen, record, placement);
    }
    for m in record.measurements_of("smt.yield") {
        let core = m.labels.count(Label::Core).map_or(String::new(), |core| format!(" of core {core}"));
        screen.blank();
        let says = format!("All siblings{core} together do {} the work of one of them.", times(m.value()));
        screen.paragraph(&[Span::strong("SMT  ")], Tone::Plain, &says);
    }
    screen.finish()
}

/// How it ended, when that was early.
pub(super) fn early(record: &Record) -> Option<String> {
    let signal = match &record.ended {
        Ended::Complete => return None,
        Ended::Failed { reason } => return Some(format!("Ended early: {reason}.")),
        Ended::Interrupted { signal } => signal,
    };
    let how = record.coverage.iter().find(|c| c.what == Coverage::SCALE && c.is_for(&Coverage::INTERRUPTED));
    Some(match how {
        Some(how) => format!("{}.", capitalized(&how.why())),
        None => format!("Interrupted by signal {signal}: what was measured before stands here."),
    })
}

/// The command that was run: of the steps, else as it was typed behind `--`, else all that was typed.
pub(super) fn command(record: &Record) -> String {
    if let Some(m) = record.measurements_of("workload.throughput").find(|m| m.detail.has(detail::COMMAND)) {
        return command_text(m);
    }
    let behind = record.command.iter().position(|word| word == "--").map_or(0, |at| at + 1);
    let words: Vec<String> =
        record.command.iter().skip(behind).map(|word| record::phrase::quote_word(word)).collect();
    words.join(" ")
}

/// What could not be measured of the command.
pub(super) fn lost(record: &Record) -> impl Iterator<Item = &Coverage> {
    record.coverage.iter().filter(|c| is_about_command(c, record))
}

/// Whether a line of the coverage is about the command: what the inventory lacks stands elsewhere, and an early end first.
fn is_about_command(coverage: &Coverage, record: &Record) -> bool {
    if coverage.what == Coverage::SCALE && matches!(record.ended, Ended::Interrupted { .. }) {
        return false;
    }
    let about = ["scale", "counters", "cpus", "command", "recipe"];
    coverage.state != State::Measured && about.contains(&coverage.topic())
}

/// The unit of a workload's work.
fn work(m: &Measurement) -> &str {
    m.detail.get(detail::WORK).unwrap_or("work")
}

fn write_placement(screen: &mut Screen, record: &Record, placement: &str) {
    let of = |metric: &'static str| -> BTreeMap<u64, &Measurement> {
        let here =
            record.measurements_of(metric).filter(|m| m.labels.word(Label::Placement) == Some(placement));
        here.filter_map(|m| Some((m.labels.count(Label::Threads)?, m))).collect()
    };
    let steps = of("workload.throughput");
    let (times_of, ipc) = (of("workload.time"), of("core.ipc"));
    let Some(first) = steps.values().next() else { return };
    let workload = first.labels.word(Label::Workload).unwrap_or("command");
    let scaling =
        record.diagnosis.scaling.iter().find(|s| s.workload == workload && s.placement == placement);
    screen.heading(&format!("{workload}, {placement}"));
    let unit = if work(first) == "B" { "throughput".to_owned() } else { work(first).to_owned() };
    let heads =
        ["#CPUs", &format!("#{unit}"), "#speed-up", "#efficiency", "?#time of a run", "?#IPC", "?#balance"];
    let mut table = Table::new("", Some("workload.throughput"), heads);
    for (cpus, m) in &steps {
        let step = scaling.and_then(|s| s.steps.iter().find(|step| u64::from(step.threads) == *cpus));
        table.note_row(remarks(m));
        let possible = |step: &record::diagnosis::Step| scaling.is_none_or(|s| s.is_possible(step));
        if step.is_some_and(|step| !possible(step)) {
            table.note_row([DISTURBED]);
        }
        let [speedup, efficiency] = match step.zip(scaling) {
            Some((step, scaling)) if possible(step) => marked_speed_up(scaling, step, Some(m)),
            Some(_) => ["-", "-"].map(str::to_owned),
            None => Default::default(),
        };
        let balance = m.detail.get(detail::FASTEST_TO_SLOWEST);
        table.row(vec![
            cpus.to_string(),
            format!("{}{}", rate(m.value(), work(m)), mark(m)),
            speedup,
            efficiency,
            times_of.get(cpus).map_or(String::new(), |m| units::figure(m.value(), "s") + mark(m)),
            ipc.get(cpus).map_or(String::new(), |m| bare_value(m)),
            balance.map_or(String::new(), |ratio| units::percent(1.0 / ratio)),
        ]);
    }
    if table.rows.iter().any(|row| !row[6].is_empty()) {
        table.note("balance: the slowest copy's rate over the fastest's");
    }
    screen.table(&table.finished(), 2);
    if let Some(scaling) = scaling {
        screen.blank();
        screen.paragraph(&[Span::plain("  ")], Tone::Plain, &scaling.meaning);
    }
}

/// What is to be known of a step: its doubt, and what happened during its runs.
fn remarks(m: &Measurement) -> Vec<String> {
    let mut remarks: Vec<String> = m.doubt.iter().map(ToString::to_string).collect();
    for mark in [Mark::Switched, Mark::Stolen, Mark::Throttled, Mark::Quota] {
        let happened = mark_words(mark);
        let runs = m.marks.iter().filter(|marked| marked.mark == mark).count();
        if runs > 1 && runs as u64 == m.summary.n {
            remarks.push(format!("{happened} in all runs"));
        } else if runs > 0 {
            remarks.push(format!(
                "{happened} in {runs} of {}",
                record::phrase::count_noun(m.summary.n as usize, "run")
            ));
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Labels, SampleMark};

    fn step(placement: &str, cpus: u64, rates: Vec<f64>) -> Measurement {
        let place = Labels::new()
            .with_label(Label::Workload, "x")
            .with_label(Label::Threads, cpus)
            .with_label(Label::Placement, placement);
        Measurement::new("workload.throughput", place, rates).with_detail(detail::WORK, "events")
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
        let text = scale(&record, &Style::default());
        assert!(text.contains("x, cores-first"), "{text}");
        assert!(text.contains("160 /s") && text.contains("80.0 %"), "{text}");
        assert!(text.contains("the hypervisor took time in 1 of 3 runs"), "{text}");
        assert!(text.contains("4 copies need 9 GiB") && !text.contains("SMBIOS"), "{text}");
    }

    #[test]
    fn bytes_are_reported_as_bytes() {
        assert_eq!(rate(5.2e9, "B"), "5.20 GB/s");
        assert_eq!(rate(5.2e3, "events"), "5.20 k/s");
    }

    #[test]
    fn an_early_end_is_said_first_and_how_far_it_came() {
        let mut record = Record::new("1", String::new(), Vec::new());
        assert_eq!(scale(&record, &Style::default()), "Nothing was measured.\n");
        record.ended = Ended::Interrupted { signal: 2 };
        assert!(scale(&record, &Style::default()).starts_with("Interrupted by signal 2"));
        record.measurements.push(step("cores-first", 1, vec![100.0; 3]));
        record.coverage.push(Coverage::degraded(
            "scale",
            "interrupted by signal 2 after 3 of 5 runs: 1 of 2 steps with all runs",
        ));
        let text = scale(&record, &Style::default());
        assert!(
            text.starts_with("Interrupted by signal 2 after 3 of 5 runs: 1 of 2 steps with all runs.\n\n"),
            "{text}"
        );
        assert_eq!(text.matches("nterrupted").count(), 1, "{text}");
        record.ended = Ended::Failed { reason: "mariadbd was killed".to_owned() };
        assert!(scale(&record, &Style::default()).contains("mariadbd was killed"));
    }

    #[test]
    fn the_command_and_other_load_are_reported() {
        let mut record =
            Record::new("1", String::new(), ["linespeed", "scale", "--", "a b"].map(str::to_owned).into());
        assert!(scale(&record, &Style::default()).starts_with("  'a b'\n"));
        let words = serde_json::json!(["sh", "-c", "echo {threads}"]);
        record.measurements.push(step("cores-first", 1, vec![100.0; 3]).with_detail(detail::COMMAND, words));
        assert!(scale(&record, &Style::default()).starts_with("  sh -c 'echo {threads}'\n"));
        record.machine.counts.cpus_online = Some(2);
        record.conditions.before.load = Some([3.0, 0.0, 0.0]);
        record.diagnosis = diagnose::diagnose(&record);
        let text = scale(&record, &Style::default());
        assert!(
            text.contains("What costs speed") && text.contains("other programs wanted 3.00 CPUs"),
            "{text}"
        );
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
