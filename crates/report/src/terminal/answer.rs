//! The answer of a run on one screen: verdict, headlines, worst findings, missing measurements, noise, machine, and a pointer to the rest.

use record::diagnosis::{CeilingSource, Position, Resource};
use record::phrase::{count_noun, join_most, quote_word};
use record::{Coverage, Record, State, Text};

use super::findings;
use super::room::{MACHINE, NOISE};
use super::screen::Screen;
use crate::contents::figures::{MARK, line_speed, share_of};
use crate::contents::section::listed;
use crate::contents::{conditions, summary, verdict};
use crate::paint::{Span, Tone};
use crate::text::{clean, longest, pad_left, pad_right, width};

/// Maximum number of withheld results shown by name.
const WITHHELD: usize = 6;

pub(super) fn write(screen: &mut Screen, record: &Record, shown_by: Option<&str>) {
    begin(screen, record);
    headlines(screen, record, false);
    screen.blank();
    foot(screen, record, shown_by);
}

/// The answer in a sentence, below the banner.
pub(super) fn begin(screen: &mut Screen, record: &Record) {
    if let Some(banner) = summary::banner(record) {
        screen.line(&[Span::strong(banner)]);
    }
    screen.paragraph(&[], Tone::Strong, verdict::verdict(record));
}

/// The footer below the findings: noise, machine and time. Values are never truncated.
fn conditions_and_machine(screen: &mut Screen, record: &Record) {
    noise(screen, record);
    let withheld: Vec<String> = record
        .coverage
        .iter()
        .filter(|of| of.is_for(&Coverage::CHANGED_OR_DAMAGED))
        .map(|of| of.what.clone())
        .collect();
    if !withheld.is_empty() {
        let words =
            format!("withheld (the record was changed or damaged): {}", join_most(&withheld, WITHHELD));
        screen.line(&[Span::new(Tone::Serious, words)]);
    }
    screen.short(MACHINE, "", "  ", format!("Machine: {}", summary::machine(record).join(", ")));
    origin(screen, record);
}

/// The noise of the run, and whether the machine was quieted for it.
pub(super) fn noise(screen: &mut Screen, record: &Record) {
    screen.short(NOISE, "", "  ", summary::noise_in_a_line(record));
    if let Some(quiet) = conditions::quiet(&record.conditions) {
        screen.line(&[Span::plain(quiet)]);
    }
}

/// The time of the run, how it ended, and linespeed's version. How the run ended is never truncated: if there is no room, the version is
/// omitted.
pub(super) fn origin(screen: &mut Screen, record: &Record) {
    let whole = summary::origin(record);
    let fits = !screen.is_terminal() || width(&clean(&whole)) <= screen.width();
    screen.paragraph(&[], Tone::Quiet, if fits { whole } else { summary::run(record) });
}

/// Number of lines in the footer below the findings: noise, machine, run, and a pointer to the rest.
const BELOW: usize = NOISE + MACHINE + 2;

/// The worst findings (as many as fit), followed by missing measurements, noise, machine, and a pointer to the rest.
pub(super) fn foot(screen: &mut Screen, record: &Record, shown_by: Option<&str>) {
    let lost = lost(record);
    let room = screen.left(usize::from(!lost.is_empty()) + BELOW);
    let shown = findings::write(screen, record, room, shown_by);
    unseen_why(screen, &lost, None, 1);
    conditions_and_machine(screen, record);
    more(screen, record, shown_by, shown);
}

/// The line that points to the rest: `linespeed show` for a saved record, otherwise the option `--all`. `shown` is the number of findings
/// shown.
pub(super) fn more(screen: &mut Screen, record: &Record, shown_by: Option<&str>, shown: usize) {
    // Omitted findings are always counted, even if there is little room.
    let hidden = record.diagnosis.findings.len() - shown;
    let counted = (hidden > 0).then(|| count_noun(hidden, "more finding"));
    // The pointer is omitted in Markdown, because readers of a posted report do not have the record's file.
    if !screen.is_terminal() {
        let counted = counted.iter().filter(|_| shown > 0);
        return counted.for_each(|more| screen.line(&[Span::quiet(format!("and {more}"))]));
    }
    let command = match shown_by {
        Some(record) => format!("linespeed show {} --all", quote_word(record)),
        None => "--all".to_owned(),
    };
    let with = |rest: Vec<Option<String>>| match listed(rest) {
        rest if rest.is_empty() => command.clone(),
        rest => format!("{command} ({rest})"),
    };
    let lines = [vec![counted.clone(), Some("tables, coverage".to_owned())], vec![counted]].map(with);
    screen.more(&longest(lines.into_iter(), |line| width("More: ") + width(line) <= screen.width()));
}

/// Missing measurements with their reasons, in at most `most` lines. If some do not fit, the last line ends with the number of omitted
/// measurements and the command `all`, which shows them.
pub(super) fn unseen_why(screen: &mut Screen, lost: &[(String, String)], all: Option<&str>, most: usize) {
    if lost.is_empty() {
        return;
    }
    let said: Vec<String> = lost
        .iter()
        .map(|(what, why)| if why.is_empty() { what.clone() } else { format!("{what} ({why})") })
        .collect();
    let names: Vec<String> = lost.iter().map(|(what, _)| what.clone()).collect();
    let all = all.map(|command| format!(" ({command})")).unwrap_or_default();
    // In a single line, naming all items takes priority over giving the reasons for some.
    let least = if most == 1 { said.len() } else { 1 };
    let with_reasons = (least..=said.len()).rev().map(|shown| match said.len() - shown {
        0 => said.join("; "),
        left => format!("{}; {left} more{all}", said[..shown].join("; ")),
    });
    let named = (1..=names.len()).rev().map(|shown| {
        let all = if shown < names.len() { all.as_str() } else { "" };
        format!("{}{all}", join_most(&names, shown))
    });
    let lines = with_reasons.chain(named).map(|line| format!("Not seen: {line}"));
    let line = longest(lines, |line| screen.lines_of("", "  ", line) <= most);
    screen.short(most, "", "  ", line);
}

/// The machine in two lines, or in three if the processor's name is long, below the banner.
pub(super) fn identity(screen: &mut Screen, record: &Record) {
    if let Some(banner) = summary::banner(record) {
        screen.line(&[Span::strong(banner)]);
    }
    let mut lines = summary::machine(record);
    if lines.len() > 2 && width(&lines[0]) + 2 + width(&lines[1]) <= screen.width() {
        let second = lines.remove(1);
        lines[0] = format!("{}; {second}", lines[0]);
    }
    for (number, line) in lines.into_iter().enumerate() {
        screen.paragraph(&[], if number == 0 { Tone::Strong } else { Tone::Plain }, line);
    }
}

/// The headlines. If `shows_beside` is set, related facts that do not fit on a headline's line are written below it.
pub(super) fn headlines(screen: &mut Screen, record: &Record, shows_beside: bool) {
    let resources = &record.diagnosis.resources;
    let names = resources.iter().map(|r| width(&clean(&r.name))).max().unwrap_or(0);
    let shares = resources.iter().map(|r| width(&stands(r))).max().unwrap_or(0).max(5);
    for resource in resources {
        let name = Span::plain(format!("  {}  ", pad_right(&clean(&resource.name), names)));
        let share = Span::strong(pad_left(&stands(resource), shares));
        // If there is no share, the mark is shown after the result.
        let doubtful = resource.doubt.is_some() && !summary::is_untold(record, resource);
        let [of_share, of_figure] = match (doubtful, line_speed(resource).is_some()) {
            (false, _) => ["  ", ""],
            (true, true) => ["? ", ""],
            (true, false) => ["  ", MARK],
        };
        let place = summary::position(resource).filter(|it| *it != stands(resource)).map(str::to_owned);
        let figures = format!("{}{of_figure}", summary::held_against(record, resource));
        // If there is not enough room, the best result of this machine is omitted rather than the typical range.
        let has_best = resource.source == Some(CeilingSource::Measured);
        let alone = summary::held_against(record, &Resource { source: None, ..resource.clone() });
        let bare = if has_best { alone + of_figure } else { figures.clone() };
        let beside = resource.beside.as_ref().map(|beside| clean(&beside.to_string()));
        let line = |figures: &str, parts: [Option<String>; 3]| {
            parts.into_iter().flatten().fold(figures.to_owned(), |line, more| format!("{line}; {more}"))
        };
        let at = names + shares + 6;
        let [long, short] = [true, false].map(|all| summary::typical(resource, all));
        // The forms of the line, from longest to shortest; the first one that fits is shown.
        let lines = [
            line(&figures, [place.clone(), long.clone(), beside.clone()]),
            line(&figures, [place.clone(), short.clone(), beside.clone()]),
            line(&figures, [place.clone(), long, None]),
            line(&figures, [place.clone(), short.clone(), None]),
            line(&bare, [place.clone(), short, None]),
            line(&figures, [place.clone(), None, None]),
        ];
        let fits = |line: &&String| at + width(line) <= screen.width();
        let (number, shown) = lines.iter().enumerate().find(|(_, line)| fits(line)).unwrap_or((6, &figures));
        screen.line(&[name, share, Span::new(Tone::Warning, of_share), Span::plain(shown)]);
        // A result that depends on CPU placement is always shown with its value for each placement.
        let code = resource.beside.as_ref().and_then(Text::code);
        let is_needed = shows_beside || code.is_some_and(|code| code.starts_with("noise-by"));
        if let Some(beside) = beside.filter(|_| is_needed && number > 1) {
            let at = if at + width(&beside) <= screen.width() { at } else { 4 };
            let indent = " ".repeat(at);
            screen.hanging(&indent, &indent, beside);
        }
    }
    for line in &record.diagnosis.not_reached {
        screen.hanging("  ", "    ", line);
    }
}

/// A resource's share of line speed or, if there is none, its position among published results.
fn stands(resource: &Resource) -> String {
    let is_judged = matches!(resource.position, Some(Position::Low | Position::Normal | Position::High));
    let position = || summary::position(resource).filter(|_| is_judged).map(str::to_owned);
    share_of(resource).or_else(position).unwrap_or_else(|| "-".to_owned())
}

/// What could not be measured, with reasons, and the number of items that were only partly measured.
fn lost(record: &Record) -> Vec<(String, String)> {
    let (impossible, others): (Vec<_>, Vec<_>) =
        summary::unseen(record).into_iter().partition(|group| group.state == State::Impossible);
    let mut lost: Vec<(String, String)> =
        impossible.into_iter().map(|group| (join_most(&group.what, usize::MAX), group.reason)).collect();
    let limited: usize =
        others.iter().filter(|group| group.state == State::Degraded).map(|group| group.what.len()).sum();
    lost.extend((limited > 0).then(|| (format!("{limited} partly measured"), String::new())));
    lost
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Style;
    use crate::terminal::room::LINES;

    fn answer(record: &Record, width: usize) -> String {
        let mut screen = Screen::new(&Style { width, color: false, ..Style::default() });
        screen.begin_answer(false);
        write(&mut screen, record, Some("."));
        screen.finish()
    }

    fn old_record() -> Record {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../linespeed/tests/records/0.1/main.json");
        Record::read(std::path::Path::new(path)).unwrap()
    }

    #[test]
    fn a_run_of_everything_that_was_ended_early_has_no_tables() {
        let mut record = old_record();
        record.measurements.retain(|m| m.metric != "memory.bandwidth");
        let lines = |record: &Record| {
            let style = Style { color: false, ..Style::default() };
            crate::terminal::Screen::draw(&style, |screen| {
                crate::terminal::answer(screen, record, false, Some("."))
            })
            .lines()
            .count()
        };
        assert!(lines(&record) > LINES, "results requested by name are shown in full");
        record.ended = record::Ended::Interrupted { signal: 2 };
        assert!(lines(&record) <= LINES);
    }

    /// Readers of a posted report compare the number of findings with those listed.
    #[test]
    fn markdown_counts_the_findings_that_it_omits() {
        let mut record = old_record();
        let more = |record: &Record| {
            let mut screen = Screen::new(&Style { markdown: true, color: false, ..Style::default() });
            screen.begin_answer(false);
            write(&mut screen, record, Some("."));
            screen.finish().lines().filter(|line| line.contains(" more finding")).count()
        };
        record.diagnosis.findings.truncate(1);
        assert_eq!(more(&record), 0);
        let one = record.diagnosis.findings[0].clone();
        record.diagnosis.findings.extend(vec![one; 8]);
        assert_eq!(more(&record), 1);
    }

    #[test]
    fn the_answer_fits_one_screen_at_any_width() {
        let mut record = old_record();
        let more = record.diagnosis.findings.clone();
        record.diagnosis.findings.extend(more);
        for columns in [40, 80, 160] {
            let text = answer(&record, columns);
            // On a narrow terminal, the findings, which are never truncated, need more lines.
            assert!(columns < 80 || text.lines().count() <= LINES, "{columns}: {text}");
            // The line with commands to paste is not truncated.
            let mut lines = text.lines().filter(|line| !line.starts_with("More: "));
            assert!(lines.all(|line| width(line) <= columns), "{columns}: {text}");
            for needed in ["1. ", "Not seen", "show ."] {
                assert!(text.contains(needed), "{columns}, {needed}: {text}");
            }
        }
    }

    #[test]
    fn a_result_that_depends_on_placement_is_shown_for_each_placement() {
        let mut record = old_record();
        let by =
            "141 ns with local memory, 205 ns with remote memory (31 % of the samples), because CPU 0 moved";
        for (code, shown) in [(Some("noise-by-memory"), true), (None, false)] {
            record.diagnosis.resources[0].beside =
                Some(record::Text::read(code.map(str::to_owned), by.to_owned()));
            let text = answer(&record, 80);
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(words.contains(by), shown, "{text}");
        }
    }

    #[test]
    fn a_long_title_goes_on_below_its_beginning() {
        let mut record = old_record();
        let words = "word ".repeat(20).trim().to_owned();
        record
            .diagnosis
            .findings
            .iter_mut()
            .for_each(|finding| finding.what = record::Text::read(None, words.clone()));
        let text = answer(&record, 80);
        assert!(text.lines().count() <= LINES, "{text}");
        let title: Vec<&str> =
            text.lines().skip_while(|line| !line.starts_with("1. ")).take(2).map(str::trim).collect();
        assert_eq!(title.join(" "), format!("1. {words} (CPUs 0-1)"));
    }

    #[test]
    fn a_finding_that_is_a_knob_offers_its_fix_by_its_number() {
        use record::{KnobName, KnobValue};
        let style = || Style { width: 160, color: false, ..Style::default() };
        let mut record = old_record();
        let set = |finding: &mut record::diagnosis::Finding| {
            finding.remedy[0].sets = Some(KnobValue::new(KnobName::Thp, "always"))
        };
        record.diagnosis.findings.iter_mut().for_each(set);
        assert!(answer(&record, 160).contains("sudo linespeed fix 1 -- COMMAND # sets thp to always"));
        let mut screen = Screen::new(&style());
        screen.begin_answer(false);
        write(&mut screen, &record, Some("a b"));
        assert!(screen.finish().contains("linespeed fix 1 --record 'a b'"));
        // For a record that was not saved, neither its name nor the numbers of findings are shown.
        let mut screen = Screen::new(&style());
        screen.begin_answer(false);
        write(&mut screen, &record, None);
        let text = screen.finish();
        assert!(
            text.contains("More: --all (") && !text.contains("linespeed show") && !text.contains("fix 1"),
            "{text}"
        );
        // The report above the answer and the page also name the record, and there is no pointer to what is already shown.
        let whole = crate::terminal::Screen::draw(&style(), |screen| {
            crate::terminal::answer(screen, &record, true, Some("a b"))
        });
        assert_eq!(whole.matches("fix 1 --record 'a b'").count(), 2);
        assert!(!whole.contains("More: ") && answer(&record, 160).contains("More: "));
        let page = crate::page::of_record(&record, &[], Some("a b"));
        assert!(page.contains("fix 1 --record 'a b'") && !page.contains("--record RECORD"));
        assert!(crate::page::html(&record).contains("fix 1 --record RECORD"));
    }

    #[test]
    fn no_line_is_cut_within_a_list_and_a_finding_is_shown_whole_or_counted() {
        let mut record = old_record();
        for name in ["workloads flops-512", "scaling flops-512", "numa", "power-draw", "smt-yield"] {
            record.coverage.push(Coverage::impossible(name, "none here"));
        }
        let more = record.diagnosis.findings.clone();
        record.diagnosis.findings.extend(more);
        let text = answer(&record, 80);
        assert!(!text.lines().any(|line| line.starts_with("Not seen") && line.contains('…')), "{text}");
        let room = |lines: usize| {
            let mut screen = Screen::new(&Style { width: 80, color: false, ..Style::default() });
            let shown = findings::write(&mut screen, &record, lines, Some("."));
            (shown, screen.lines())
        };
        // The first finding is never truncated; others are complete or absent.
        let whole = room(1).1;
        assert_eq!([0, whole, whole + 1].map(room), [(1, whole); 3]);
        let (shown, lines) = room(100);
        assert!(shown == 3 && room(lines - 1) < (shown, lines), "{lines}");
        let shown = (1..=3).filter(|number| text.contains(&format!("\n{number}. "))).count();
        let counted = format!("{} more finding", record.diagnosis.findings.len() - shown);
        assert!(text.contains(&counted), "{text}");
    }

    #[test]
    fn a_headline_that_the_tables_withhold_is_no_figure() {
        let mut record = old_record();
        record.diagnosis = diagnose::diagnose(&record);
        let of = |m: &record::Measurement| {
            record.diagnosis.resources.iter().find(|held| held.delivered.to_bits() == m.value().to_bits())
        };
        let (at, name) = record
            .measurements
            .iter()
            .enumerate()
            .find_map(|(at, m)| Some((at, of(m)?.name.clone())))
            .unwrap();
        let line_of = |record: &Record| {
            let text = answer(record, 80);
            text.lines().find(|line| line.trim_start().starts_with(&name)).unwrap().to_owned()
        };
        let own = &record.measurements[at];
        let shown = crate::contents::figures::known(&record, own.value(), &own.unit);
        assert!(line_of(&record).contains(&shown), "{shown}: {}", line_of(&record));
        let own = &mut record.measurements[at];
        own.summary.interval = Some((own.value() * 1e-3, own.value() * 3.0));
        let line = line_of(&record);
        assert!(!line.contains(&shown) && line.contains("CI is wider"), "{shown}: {line}");
    }

    #[test]
    fn how_sure_a_cost_is_is_never_cut_away() {
        use record::diagnosis::Confidence;
        let mut record = old_record();
        for finding in &mut record.diagnosis.findings {
            (finding.measured, finding.confidence) = (false, Confidence::Medium);
            (finding.severity, finding.resource) =
                (record::diagnosis::Severity::Warning, Some("memory latency".to_owned()));
            finding.loss = record::Verdict::Costs { share: 0.3, interval: (0.29, 0.31) };
        }
        let flat = answer(&record, 80).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flat.contains("warning: costs 30 % of memory latency [29 – 31 %], modelled, medium confidence"),
            "{flat}"
        );
    }

    #[test]
    fn how_a_run_ended_is_not_cut_away_for_the_version() {
        let mut record = old_record();
        record.ended = record::Ended::Interrupted { signal: 15 };
        record.seconds = Some(170.0);
        let text = answer(&record, 80);
        let line = text.lines().find(|line| line.starts_with("20")).unwrap_or_default();
        assert!(line.ends_with("took 2 min 50 s, interrupted by signal 15"), "{text}");
        record.ended = record::Ended::Failed { reason: "no memory was left for the arrays ".repeat(2) };
        let flat = answer(&record, 80).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("arrays no memory was left for the arrays"), "{flat}");
    }

    #[test]
    fn the_answer_reads_so() {
        insta::assert_snapshot!(answer(&old_record(), 80));
    }

    #[test]
    fn a_record_without_findings_says_in_what_nothing_was_found() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        assert!(answer(&record, 80).contains("Nothing was measured"));
        record.conditions.before.own_nice = Some(15);
        assert!(answer(&record, 80).contains("linespeed's nice value 15"));
    }
}
