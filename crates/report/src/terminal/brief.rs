//! The answers of `scale`, `overhead`, `compare` and `plan` on one screen; their reports go before them where they are asked for.

use record::gate::Gate;
use record::plan::Plan;
use record::{Comparison, Record};

use super::screen::{LINES, Screen};
use super::{Style, answer, compare, plan, report, scale};
use crate::contents::compare::{is_of_watches, record_names};
use crate::contents::layers::{over_fastest, said};
use crate::contents::plan::{processes, reasons, verification};
use crate::contents::scaling;
use crate::paint::{Span, Tone};
use crate::table::Table;
use crate::text::cut_words;

/// Rows of a table.
const ROWS: usize = 6;
/// Lines of a comparison's answer below a gate.
const LEAST_ANSWER: usize = 10;
/// Columns of a sentence in a table.
const CELL: usize = 48;

/// What a command or recipe gives on one CPU to all of them. `shown_by`: what `linespeed show` takes for this record, where it was kept.
pub fn scale_answer(record: &Record, all: bool, shown_by: Option<&str>, style: &Style) -> String {
    let whole = |screen: &mut Screen| report::write(screen, record, shown_by);
    Screen::answer(style, all, whole, |screen| {
        if let Some(early) = scale::early(record) {
            screen.paragraph(&[], Tone::Warning, &early);
        }
        answer::head(screen, record);
        screen.clipped(12, |screen| {
            screen.paragraph(&[], Tone::Strong, scale::command(record));
            let steps = scaling::in_short(record, ROWS + 2);
            if steps.is_empty() {
                screen.paragraph(&[], Tone::Plain, "Nothing was measured.");
            } else {
                screen.table(&steps, 2);
            }
            if let Some(scaling) = record.diagnosis.scaling.first() {
                screen.paragraph(&[], Tone::Plain, &scaling.meaning);
            }
            // Without counters a command is measured all the same.
            for lost in scale::lost(record).filter(|of| of.topic() != "counters") {
                screen.hanging("- ", "  ", format!("{}: {}", lost.what, lost.why()));
            }
        });
        screen.blank();
        answer::foot(screen, record, shown_by, false);
    })
}

/// What each layer takes of a CPU's speed.
pub fn overhead_answer(record: &Record, all: bool, shown_by: Option<&str>, style: &Style) -> String {
    let whole = |screen: &mut Screen| report::write(screen, record, shown_by);
    Screen::answer(style, all, whole, |screen| {
        answer::head(screen, record);
        let mut layers = Table::new("", None, ["layer", "bound", "IRQs", "#over fastest"]);
        for layer in record.diagnosis.layers.iter().take(ROWS) {
            let mark = if layer.doubt.is_some() { "?" } else { "" };
            let [bound, interrupts] =
                [&layer.bound, &layer.interrupts].map(|word| word.clone().unwrap_or_default());
            let over = format!("{}{mark}", over_fastest(layer));
            layers.row(vec![layer.layer.clone(), bound, interrupts, over]);
        }
        let mut steps = Table::new("", None, ["step", "costs"]);
        for step in record.diagnosis.overhead.iter().flat_map(|overhead| &overhead.steps).take(ROWS) {
            let fitted = |words: String| if screen.is_terminal() { cut_words(&words, CELL) } else { words };
            steps.row([step.what.to_string(), said(step)].map(fitted).to_vec());
        }
        screen.table(&layers, 2);
        screen.clipped(1 + ROWS, |screen| screen.table(&steps, 2));
        screen.blank();
        answer::foot(screen, record, shown_by, false);
    })
}

/// Who is how much faster, and why.
pub fn comparison_answer(c: &Comparison, all: bool, style: &Style) -> String {
    if is_of_watches(c) {
        // Its tables are short, and are the answer.
        return Screen::draw(style, |screen| compare::write(screen, c));
    }
    let whole = |screen: &mut Screen| compare::blocks(screen, c);
    Screen::answer(style, all, whole, |screen| {
        if let Some(gate) = &c.gate {
            compare::gate(screen, gate, record_names(c).as_deref());
        }
        let left = screen.left(0).max(LEAST_ANSWER);
        screen.clipped(left, |screen| compare::answer(screen, c));
        screen.more_with("--all (what explains it, what differs, all figures)");
    })
}

/// Whether a gate of commands in turn was passed; it stands before their report.
pub fn gate(gate: &Gate, style: &Style) -> String {
    Screen::draw(style, |screen| compare::gate(screen, gate, None))
}

/// How to lay a program out.
pub fn plan_answer(made: &Plan, all: bool, style: &Style) -> String {
    let whole = plan::plan(made, style);
    if whole.lines().count() <= LINES {
        return whole;
    }
    let report = |screen: &mut Screen| plan::write(screen, made);
    Screen::answer(style, all, report, |screen| {
        screen.clipped(5, |screen| screen.paragraph(&[], Tone::Strong, &made.summary));
        screen.clipped(ROWS, |screen| screen.table(&processes(&made.processes), 2));
        screen.clipped(7, |screen| {
            let verified = made.verification.iter().flat_map(verification);
            verified.for_each(|line| screen.paragraph(&[], Tone::Plain, &line));
            for (key, text) in &reasons(made) {
                screen.paragraph(&[Span::strong(format!("{key}: "))], Tone::Plain, text);
            }
        });
        let tools: Vec<&str> = made.snippets.iter().map(|snippet| snippet.tool.as_str()).collect();
        if !tools.is_empty() {
            // Of a record that was named: without it the command would plan this machine.
            let of = made.record.as_ref().map(|record| format!("{} ", record::phrase::quote_word(record)));
            let command = format!("linespeed plan {}--as {}", of.unwrap_or_default(), tools.join("|"));
            screen.paragraph(&[Span::plain("To paste: ")], Tone::Plain, command);
        }
        screen.more_with("--all (lines to paste, what else to set, cautions)");
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::stat;
    use record::{Label, Measurement, detail};

    fn fits(text: &str) {
        assert!(text.lines().count() <= LINES + 2, "{text}");
    }

    #[test]
    fn of_many_steps_the_first_and_the_last_stand_in_the_answer() {
        let mut record = Record::new("1", String::new(), Vec::new());
        for placement in ["cores-first", "node-compact"] {
            for cpus in 1..=64u64 {
                let labels = record::Labels::new()
                    .with_label(Label::Workload, "x")
                    .with_label(Label::Threads, cpus)
                    .with_label(Label::Placement, placement);
                let rates = vec![cpus as f64 * 10.0; 6];
                record.measurements.push(Measurement::new("workload.throughput", labels, rates));
            }
        }
        record.diagnosis = diagnose::diagnose(&record);
        let text = scale_answer(&record, false, Some("."), &Style::default());
        fits(&text);
        for row in ["cores-first         1", "cores-first        64", "node-compact       64"] {
            assert!(text.contains(row), "no {row} in {text}");
        }
        assert!(scale_answer(&record, true, Some("."), &Style::default()).lines().count() > 64);
    }

    #[test]
    fn where_the_time_of_a_command_went_stays_beside_a_long_verdict() {
        let mut record = Record::new("1", String::new(), Vec::new());
        let place = || record::Labels::new().with_label(Label::Workload, "command");
        let mut time =
            Measurement::new("workload.time", place(), vec![1.5]).with_detail(detail::CPU_COUNT, 2.0);
        let kinds = ["huge-pages", "bandwidth", "cache", "fewer-cpus", "fewer-cpus-time"];
        let probe =
            |kind| serde_json::json!({"kind": kind, "ratio": 1.15, "interval": [1.03, 1.69], "rounds": 8});
        time.detail.set(detail::PROBES, serde_json::Value::from(kinds.map(probe).to_vec()));
        record.measurements.push(time);
        for state in ["user", "system", "runnable", "off-cpu"] {
            let place = place().with_label(Label::State, state);
            record.measurements.push(Measurement::new("workload.cpu_time", place, vec![0.5]));
        }
        let says = "Beside a program that takes memory bandwidth it needs 1.15× the CPU time. ".repeat(4);
        record.diagnosis.bound = Some(record::diagnosis::Bound {
            by: record::diagnosis::BoundBy::MemoryLatency,
            kind: None,
            says: says.as_str().into(),
            evidence: Vec::new(),
            advice: vec!["keep together what is used together, prefetch, use huge pages".into()],
        });
        let text = stat::command_answer(&record, false, Some("."), &Style { width: 80, ..Style::default() });
        fits(&text);
        for row in ["user", "sys", "runnable, waiting for a CPU", "blocked, no thread ready"] {
            assert!(text.contains(&format!("  {row} ")), "no {row} in {text}");
        }
    }

    #[test]
    fn a_comparison_and_a_plan_of_large_machines_fit_a_screen() {
        let machine = |name| reference::find(name).unwrap().record("0").unwrap();
        let (a, b) = (machine("kunpeng-920-4826"), machine("hygon-5280"));
        let side = |name: &'static str, record| diagnose::Side { name, source: name, record };
        let tool = record::Tool { name: String::new(), version: String::new() };
        let c = diagnose::compare(&[side("a", &a), side("b", &b)], 0, tool, diagnose::Extent::Summary);
        fits(&comparison_answer(&c, false, &Style::default()));
        let mut made = diagnose::plan(&a, &diagnose::PlanRequest::default()).unwrap();
        let text = plan_answer(&made, false, &Style::default());
        fits(&text);
        assert!(text.contains("plan --as numactl") && text.contains("--all"), "{text}");
        made.record = Some("reference:kunpeng-920-4826".to_owned());
        let text = plan_answer(&made, false, &Style::default());
        fits(&text);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("plan reference:kunpeng-920-4826 --as numactl"), "{text}");
    }
}
