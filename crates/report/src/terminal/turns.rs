//! The output of `linespeed stat` for several commands run alternately.

use record::Record;
use record::in_turn::alone;
use record::turns::Turns;

use super::room::{ENDING, NOISE};
use super::screen::Screen;
use super::{answer, report, stat};
use crate::contents::turns::{FEW, describe_rounds, table};
use crate::paint::{Span, Tone};
use crate::text::clean;

/// Maximum number of columns in the table if there are many commands.
const COLUMNS: usize = 6;
/// Maximum number of characters of a command in the table.
const NAME: usize = 20;

/// The faster command and the bottleneck of each command, on one screen. If `all` is set, the report of each command is shown above.
pub(super) fn turns_answer(
    screen: &mut Screen,
    record: &Record,
    turns: &Turns,
    all: bool,
    shown_by: Option<&str>,
) {
    if all {
        for one in &turns.commands {
            screen.paragraph(&[], Tone::Strong, &one.workload);
            if let Some(bound) = &one.bound {
                screen.hanging("", "  ", format!("Bound by {}: {}", bound.by.name(), bound.says));
                bound.advice.iter().for_each(|advice| screen.hanging("  Try: ", "    ", advice));
            }
            report::figures(screen, &alone(record, &one.workload));
            screen.blank();
        }
    }
    report::above_answer(screen, record, all, shown_by);
    let many = turns.commands.len() > FEW;
    let against = || turns.commands.iter().filter_map(|one| one.against_first.as_ref());
    for one in against() {
        match many {
            true => screen.clipped(1, |screen| screen.say(&one.says)),
            false => screen.paragraph(&[], Tone::Strong, &one.says),
        }
    }
    screen.line(&[Span::plain(describe_rounds(record))]);
    if let Some(floor) = turns.floor_says.as_ref().filter(|_| !many) {
        screen.hanging("", "  ", floor);
    }
    screen.blank();
    let mut table = table(record, turns);
    for row in table.rows.iter_mut().filter(|_| screen.is_terminal()) {
        if let Some(name) = row.get_mut(1) {
            *name = crate::text::cut(&clean(name), NAME);
        }
    }
    // With fewer columns, each command fits on one line.
    while let (true, Some(narrower)) = (many && table.columns.len() > COLUMNS, table.narrower()) {
        table = narrower;
    }
    screen.table(&table.without_notes(), 2);
    let room = screen.left(ENDING + 1 + if many { 0 } else { NOISE });
    if room > 1 {
        screen.blank();
    }
    let explained = against().filter(|one| !one.explained.is_empty());
    let explained =
        explained.map(|one| one.explained.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
    let bounds = turns.commands.iter().enumerate().filter(|_| !many).filter_map(|(at, one)| {
        let bound = one.bound.as_ref()?;
        Some(format!("{}: bound by {}: {}", at + 1, bound.by.name(), bound.says))
    });
    let said = explained.chain(bounds);
    screen.clipped(room, |screen| said.for_each(|says| screen.hanging("", "  ", says)));
    let lost: Vec<(String, String)> = stat::lost(record).map(|of| (of.what.clone(), of.why())).collect();
    answer::unseen_why(screen, &lost, None, 2);
    if !many {
        answer::noise(screen, record);
    }
    answer::more(screen, record, shown_by, 0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use record::{Ended, Label, Labels, Measurement, detail};
    use serde_json::json;

    use super::*;
    use crate::terminal::room::LINES;
    use crate::terminal::{Style, record as shown_again};
    use crate::text::width;

    /// Alternating commands: their names, the time of each round, and how the last run ended.
    fn example(commands: &[(&str, f64, i64)], rounds: usize) -> Record {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        for (at, (name, seconds, code)) in commands.iter().enumerate() {
            let place = || Labels::new().with_label(Label::Workload, *name);
            let times: Vec<f64> =
                (0..rounds).map(|round| seconds * (1.0 + 0.01 * (round % 3) as f64)).collect();
            let system: Vec<f64> = times.iter().map(|time| time * 0.2 * (at + 1) as f64).collect();
            let mut ends = vec![json!({"code": 0}); rounds.saturating_sub(1)];
            ends.push(json!({"code": code}));
            let mut time = Measurement::new("workload.time", place(), times);
            time.detail.set(detail::TURN, at + 1);
            time.detail.set(detail::ENDS, ends);
            time.detail.set(detail::COMMAND, vec![(*name).to_owned()]);
            record.measurements.push(time);
            for (state, samples) in [("user", vec![seconds * 0.3; rounds]), ("system", system)] {
                let place = place().with_label(Label::State, state);
                record.measurements.push(Measurement::new("workload.cpu_time", place, samples));
            }
        }
        record.diagnosis = diagnose::diagnose(&record);
        record
    }

    fn shown(record: &Record, width: usize) -> String {
        let style = Style { width, color: false, ..Style::default() };
        Screen::draw(&style, |screen| shown_again(screen, record, false, "."))
    }

    #[test]
    fn the_answer_reads_so() {
        insta::assert_snapshot!(
            "two",
            shown(&example(&[("old -n 5", 0.1, 0), ("new -n 5", 0.13, 0)], 10), 80)
        );
        insta::assert_snapshot!("one_failed", shown(&example(&[("old", 0.1, 0), ("new", 0.1, 7)], 4), 80));
    }

    #[test]
    fn it_fits_one_screen_however_many_there_are() {
        for count in 2..=8 {
            let names: Vec<String> =
                (0..count).map(|at| format!("a program with a long name --and options {at}")).collect();
            let commands: Vec<(&str, f64, i64)> =
                names.iter().enumerate().map(|(at, name)| (name.as_str(), 0.1 + at as f64, 1)).collect();
            for columns in [40, 80, 160] {
                let text = shown(&example(&commands, 12), columns);
                assert!(text.lines().all(|line| width(line) <= columns), "{text}");
                assert!(columns < 80 || text.lines().count() <= LINES, "{count}, {columns}: {text}");
            }
        }
    }

    #[test]
    fn what_was_measured_before_it_ended_early_is_shown() {
        let mut record = example(&[("old", 0.1, 0), ("new", 0.1, 0)], 2);
        record.ended = Ended::Interrupted { signal: 2 };
        assert!(shown(&record, 80).contains("ended early by signal 2: 2 rounds"), "{}", shown(&record, 80));
        let mut record = example(&[("old", 0.1, 0)], 1);
        record.ended = Ended::Interrupted { signal: 2 };
        assert!(shown(&record, 80).contains("no complete round"), "{}", shown(&record, 80));
    }

    proptest! {
        #[test]
        fn no_name_acts_on_the_terminal(name in any::<String>(), value in proptest::num::f64::ANY, columns in 40usize..120) {
            let text = shown(&example(&[(&name, value, 0), ("b", 0.1, 3)], 7), columns);
            prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
            prop_assert!(text.lines().all(|line| width(line) <= columns), "{text}");
        }
    }
}
