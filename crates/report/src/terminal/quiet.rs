//! Knobs: as they stand, and what became of them.

use super::Style;
use super::screen::Screen;
use crate::paint::{Span, Tone};
use crate::table::{Table, Weight};
use crate::text::{pad_right, width};
use record::phrase::{agree, count_noun};

/// How a knob stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    /// It adds noise.
    Noisy,
    /// It would be steadier, and is set only for a command, or only when it is named.
    OnRequest,
    /// As steady as it gets.
    Steady,
    /// Not on this machine, or not to be seen.
    Absent,
}

/// One knob of an audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Audited {
    /// Its name.
    pub(crate) name: String,
    /// Its value.
    pub(crate) now: String,
    /// The value that would be steadier; empty for none.
    pub(crate) steadier: String,
    /// How it is set here, in a word or two; empty where nothing is to be set.
    pub(crate) set_by: String,
    /// How it stands.
    pub(crate) stand: Stand,
    /// What it does to measurements.
    pub(crate) effect: String,
    /// What was measured of that on this machine, a sentence.
    pub(crate) here: Option<String>,
    /// What it can be worth on this machine, in a few words; empty where nothing says.
    pub(crate) worth: String,
    /// What has to be done to set it, where that is more than a word.
    pub(crate) way: Option<String>,
    /// Why it is absent.
    pub(crate) why: Option<String>,
    /// What else is to be known.
    pub(crate) notes: Vec<String>,
}

/// All knobs as they stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Audit {
    /// The knobs.
    pub(crate) knobs: Vec<Audited>,
    /// How noisy the machine was when it was measured, a sentence each.
    pub(crate) noise: Vec<String>,
    /// Whether it is a captured machine, of which only some is to be seen.
    pub(crate) captured: bool,
    /// Who runs on the machine now, in a sentence or two.
    pub(crate) busy: Option<String>,
    /// What to do, a sentence each.
    pub(crate) remarks: Vec<String>,
}

/// The audit: `linespeed quiet`.
pub(crate) fn knobs(audit: &Audit, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let of = |stand: Stand| audit.knobs.iter().filter(move |knob| knob.stand == stand);
    head(&mut screen, audit);
    for (title, stand) in [
        ("Adds noise", Stand::Noisy),
        ("Set only for a command, or when named", Stand::OnRequest),
        ("Steady", Stand::Steady),
    ] {
        list(&mut screen, title, of(stand).collect());
    }
    let absent: Vec<&Audited> = of(Stand::Absent).collect();
    if !absent.is_empty() {
        screen.heading(if audit.captured { "Not in this tree" } else { "Not here" });
        let column = column(absent.iter().map(|knob| knob.name.as_str()));
        for knob in absent {
            let first = format!("  {}", pad_right(&knob.name, column));
            screen.hanging(&first, &" ".repeat(column + 2), knob.why.as_deref().unwrap_or_default());
        }
    }
    if !audit.remarks.is_empty() {
        screen.blank();
    }
    for remark in &audit.remarks {
        screen.paragraph(&[], Tone::Plain, remark);
    }
    screen.finish()
}

/// The audit on a screen: what adds noise and what that can be worth; the rest by name.
pub(crate) fn knobs_briefly(audit: &Audit, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let of = |stand: Stand| audit.knobs.iter().filter(move |knob| knob.stand == stand);
    head(&mut screen, audit);
    let noisy: Vec<&Audited> = of(Stand::Noisy).collect();
    if !noisy.is_empty() {
        screen.blank();
        screen.table(&noisy_table("Adds noise", &noisy).finished(), 0);
        let by_hand: Vec<&&Audited> = noisy.iter().filter(|knob| knob.way.is_some()).collect();
        let at = column(by_hand.iter().map(|knob| knob.name.as_str()));
        if !by_hand.is_empty() {
            screen.heading("To be done by hand, or at boot");
        }
        for knob in by_hand {
            said(&mut screen, &knob.name, at, &knob.way.iter().cloned().collect::<Vec<_>>());
        }
    }
    screen.blank();
    for (title, stand) in [
        ("Set for a command, or when named", Stand::OnRequest),
        ("Quiet already", Stand::Steady),
        (if audit.captured { "Not in this tree" } else { "Not here" }, Stand::Absent),
    ] {
        let names: Vec<&str> = of(stand).map(|knob| knob.name.as_str()).collect();
        if !names.is_empty() {
            screen.paragraph(&[], Tone::Plain, format!("{title}: {}.", names.join(", ")));
        }
    }
    screen.blank();
    for remark in &audit.remarks {
        screen.paragraph(&[], Tone::Plain, remark);
    }
    screen.paragraph(&[], Tone::Plain, "What each knob does, and why it is not here: the same with -v");
    screen.finish()
}

/// How it stands altogether, how noisy the machine is, who runs on it.
fn head(screen: &mut Screen, audit: &Audit) {
    let of = |stand: Stand| audit.knobs.iter().filter(move |knob| knob.stand == stand);
    let noisy = of(Stand::Noisy).count();
    screen.line(&[Span::strong(match noisy {
        0 if audit.captured => {
            let seen = count_noun(audit.knobs.len() - of(Stand::Absent).count(), "knob");
            format!("Of the {seen} that this tree shows, none adds noise that could be turned off.")
        }
        0 => {
            let here = count_noun(audit.knobs.len() - of(Stand::Absent).count(), "knob");
            format!("Quiet: of the {here} here, none adds noise that could be turned off.")
        }
        noisy if audit.captured => {
            let seen = count_noun(audit.knobs.len() - of(Stand::Absent).count(), "knob");
            let add = agree(noisy, "adds", "add");
            format!("Of the {seen} that this tree shows, {noisy} {add} noise to measurements.")
        }
        1 => "1 knob adds noise to measurements.".to_owned(),
        many => format!("{many} knobs add noise to measurements."),
    })]);
    for line in &audit.noise {
        screen.hanging("Measured ", "  ", line);
    }
    if let Some(busy) = &audit.busy {
        screen.hanging("Busy: ", "  ", busy);
    }
}

fn column<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(width).max().unwrap_or(0) + 2
}

/// A table of some knobs, and below it what they do.
fn list(screen: &mut Screen, title: &str, knobs: Vec<&Audited>) {
    if knobs.is_empty() {
        return;
    }
    screen.heading(title);
    let steady = knobs.iter().all(|knob| knob.stand == Stand::Steady);
    let table = if steady {
        let mut table = Table::new(title, None, &["knob", "now"]);
        for knob in &knobs {
            table.row(vec![knob.name.clone(), knob.now.clone()]);
        }
        table
    } else {
        noisy_table(title, &knobs).finished()
    };
    screen.table(&table, 2);
    let at = column(knobs.iter().map(|knob| knob.name.as_str()));
    if steady {
        if knobs.iter().any(|knob| !knob.notes.is_empty()) {
            screen.blank();
        }
        for knob in knobs.iter().filter(|knob| !knob.notes.is_empty()) {
            let words: Vec<String> = knob.notes.iter().map(|note| sentence(note)).collect();
            said(screen, &knob.name, at, &words);
        }
        return;
    }
    screen.blank();
    for knob in knobs {
        let mut words = vec![sentence(&knob.effect)];
        words.extend(knob.here.iter().cloned());
        words.extend(knob.notes.iter().map(|note| sentence(note)));
        words.extend(knob.way.iter().map(|way| format!("To set it: {way}")));
        said(screen, &knob.name, at, &words);
    }
}

/// Knobs that could be steadier.
fn noisy_table(title: &str, knobs: &[&Audited]) -> Table {
    let mut table = Table::new(title, None, &["knob", "now", "steadier", "set by", "worth here"]);
    for knob in knobs {
        table.weigh_row(if knob.stand == Stand::Noisy { Weight::Worse } else { Weight::Plain });
        let cells = [&knob.name, &knob.now, &knob.steadier, &knob.set_by, &knob.worth];
        table.row(cells.map(Clone::clone).to_vec());
    }
    table
}

/// A name, and behind it, in a column, what is said of it.
fn said(screen: &mut Screen, name: &str, column: usize, words: &[String]) {
    let first = [Span::plain("  "), Span::strong(pad_right(name, column))];
    screen.paragraph(&first, Tone::Plain, words.join(" "));
}

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    let end = if text.ends_with(['.', ':']) { "" } else { "." };
    format!("{first}{}{end}", chars.as_str())
}

/// A line about knobs that are turned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KnobLine {
    /// A heading.
    Heading(String),
    /// A knob's name, and what is to be said of it.
    Knob(String, String),
    /// A sentence.
    Note(String),
}

/// What became of knobs; a name stands once where several lines follow each other.
pub(crate) fn knob_lines(lines: &[KnobLine], style: &Style) -> String {
    let mut screen = Screen::new(style);
    let name = |line: &KnobLine| if let KnobLine::Knob(name, _) = line { width(name) } else { 0 };
    let column = lines.iter().map(name).max().unwrap_or(0) + 2;
    let mut before = "";
    for line in lines {
        match line {
            KnobLine::Heading(text) => screen.heading(text),
            KnobLine::Knob(name, text) => {
                let shown = if name == before { "" } else { name };
                let first = format!("  {}", pad_right(shown, column));
                screen.hanging(&first, &" ".repeat(column + 2), text);
            }
            KnobLine::Note(text) => screen.paragraph(&[], Tone::Plain, text),
        }
        before = if let KnobLine::Knob(name, _) = line { name } else { "" };
    }
    screen.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knob(name: &str, stand: Stand) -> Audited {
        Audited {
            name: name.to_owned(),
            now: "powersave, ondemand and something long".to_owned(),
            steadier: "performance".to_owned(),
            set_by: "--apply, root".to_owned(),
            stand,
            effect: "the clock follows the load".to_owned(),
            here: Some("Here at most 3 % of the clock.".to_owned()),
            worth: "< 3 % of the clock".to_owned(),
            way: Some(
                "on the kernel's command line: isolcpus=managed_irq,domain,2-3 nohz_full=2-3".to_owned(),
            ),
            why: (stand == Stand::Absent).then(|| "no such file\u{1b}[31m".to_owned()),
            notes: vec!["experts disagree".to_owned()],
        }
    }

    #[test]
    fn every_knob_is_reported_within_the_width_and_nothing_acts_on_the_terminal() {
        let stands = [Stand::Noisy, Stand::OnRequest, Stand::Steady, Stand::Absent];
        let knobs_of = stands.map(|stand| knob(&format!("knob-{stand:?}"), stand));
        let audit = Audit {
            knobs: knobs_of.to_vec(),
            noise: vec!["now: wake-up p99 is 60 µs".to_owned()],
            busy: Some("1.9 CPUs of 2. rustc 4711 (ann) 96 %.".to_owned()),
            remarks: vec!["linespeed quiet --apply".to_owned()],
            captured: false,
        };
        for columns in [40, 80, 160] {
            for form in [knobs, knobs_briefly] {
                let text = form(&audit, &Style { width: columns, color: false });
                for part in audit.knobs.iter().map(|knob| knob.name.as_str()).chain(["rustc 4711", "60 µs"])
                {
                    assert!(
                        text.split_whitespace().collect::<Vec<_>>().join(" ").contains(part),
                        "{part}: {text}"
                    );
                }
                assert!(text.lines().all(|line| width(line) <= columns), "{text}");
                assert!(!text.contains('\u{1b}'), "{text}");
            }
            let text = knobs(&audit, &Style { width: columns, color: false });
            assert!(text.lines().all(|line| width(line) <= columns), "{text}");
            assert!(!text.contains('\u{1b}'), "{text}");
            for knob in &audit.knobs {
                assert!(text.contains(&knob.name), "{} is not in\n{text}", knob.name);
            }
        }
        let text = knobs(&audit, &Style::default());
        for part in ["1 knob adds noise", "The clock follows the load. Here at most", "isolcpus=", "60 µs"] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }

    #[test]
    fn a_name_stands_once_before_its_lines() {
        let line = |text: &str| KnobLine::Knob("boost".to_owned(), text.to_owned());
        let text = knob_lines(&[line("a"), line("b"), KnobLine::Note("end".to_owned())], &Style::default());
        assert_eq!(text, "  boost  a\n         b\nend\n");
    }
}
