//! The output of `linespeed check`: one line with the differences and, on request, every check.

use record::check::{Check, FactOff, Figure, Outcome};
use record::units;

use super::report;
use super::screen::Screen;
use crate::table::{Field, Table};
use crate::text::{clean, cut, longest, width};

/// Maximum length of the line: node-problem-detector truncates longer lines, and they do not fit on a terminal.
const WIDEST: usize = 80;
/// The hint that names the option to show the rest.
const MORE: &str = ": -v";
/// Maximum width of a value in the line. Longer values, such as a list of mitigations, are not shown.
const WIDEST_VALUE: usize = 28;

/// The line, at most 80 columns wide. `baseline`: a short description of the baseline.
pub fn check_line(check: &Check, baseline: &str) -> String {
    let line = compose(check, baseline);
    // Two columns are reserved, because the mark of a truncated line is wider in ASCII.
    if width(&line) <= WIDEST { line } else { cut(&line, WIDEST - 2) }
}

fn compose(check: &Check, baseline: &str) -> String {
    let facts = check.facts.iter().filter(|fact| !fact.follows).map(fact_off);
    let slow = check.figures.iter().filter(|figure| figure.slow).map(slower);
    // The line has room for only one of these remarks.
    let not_judged = check.busy.as_ref().map(|_| "speed not judged".to_owned());
    let unseen = not_judged.unwrap_or_else(|| unseen(check));
    let of = clean(baseline);
    match check.outcome {
        Outcome::Good | Outcome::Undecided => good(check, &of, unseen),
        Outcome::OtherClass => {
            listed(&["NOT COMPARED: baseline of a different kind: ".to_owned()], facts.collect(), "")
        }
        Outcome::Setting | Outcome::Defect => listed(
            &[format!("FAIL (baseline {of}): "), "FAIL: ".to_owned()],
            slow.chain(facts).collect(),
            &unseen,
        ),
    }
}

/// The line if nothing differs, with the items that could not be compared; the baseline is omitted if there is no room.
fn good(check: &Check, baseline: &str, unseen: String) -> String {
    let all = check.figures.len();
    let known = check.figures.iter().filter(|figure| figure.is_decided()).count();
    let limit = match &check.busy {
        Some(busy) => {
            let used = units::significant(busy.by_others);
            format!("other processes used {used} of {} CPUs", busy.cpus)
        }
        // That the facts match does not show how fast the machine is.
        None if all == 0 => "speed not tested".to_owned(),
        None if known < all => format!("{} of {all} results too noisy", all - known),
        None => String::new(),
    };
    if check.outcome == Outcome::Undecided {
        let says = format!("UNDECIDED: {limit}; {} match", count_facts(check.alike));
        return longest([format!("{says} {baseline}"), says].into_iter(), |line| width(line) <= WIDEST);
    }
    let figures = (known > 0).then(|| format!(", {}", record::phrase::count_noun(known, "result")));
    let off = format!("OK: {}{} match", count_facts(check.alike), figures.unwrap_or_default());
    let lacking = name_first("baseline lacks ", check.neither.iter().filter(|fact| fact.here.is_some()));
    let rest: String =
        [limit, unseen, lacking].iter().filter(|of| !of.is_empty()).map(|of| format!("; {of}")).collect();
    let lines = [format!("{off} {baseline}{rest}"), format!("{off}{rest}")];
    longest(lines.into_iter(), |line| width(line) <= WIDEST)
}

/// The facts that could not be read here: the name of the first one, and the number of the remaining ones.
fn unseen(check: &Check) -> String {
    name_first("not seen: ", check.not_seen.iter())
}

/// The name of the first of these facts, and the number of the remaining ones.
fn name_first<'a>(head: &str, mut facts: impl Iterator<Item = &'a FactOff>) -> String {
    let Some(first) = facts.next() else { return String::new() };
    let more = Some(facts.count()).filter(|more| *more > 0).map(|more| format!(" and {more} more"));
    format!("{head}{}{}", in_a_sentence(&clean(&first.what.to_string())), more.unwrap_or_default())
}

fn count_facts(count: usize) -> String {
    record::phrase::count_noun(count, "fact")
}

/// The first of these beginnings that leaves room for at least one entry, followed by as many entries as fit and the number of omitted
/// entries.
fn listed(begins: &[String], all: Vec<String>, unseen: &str) -> String {
    let ending = |left: usize| match (left, unseen) {
        (0, "") => String::new(),
        (0, unseen) => format!("; {unseen}"),
        (left, "") => format!("; {left} more{MORE}"),
        (left, unseen) => format!("; {left} more{MORE}; {unseen}"),
    };
    let whole = |words: &String, shown: usize| {
        let first = all.get(..shown).unwrap_or_default().join("; ");
        format!("{words}{first}{}", ending(all.len() - shown))
    };
    let lines = begins.iter().flat_map(|words| (1..=all.len()).rev().map(move |shown| whole(words, shown)));
    let counted = begins.last().map(|words| format!("{words}{} differ{MORE}", count_facts(all.len())));
    longest(lines.chain(counted), |line| width(line) <= WIDEST)
}

/// A fact in a few words.
fn fact_off(fact: &FactOff) -> String {
    let what = in_a_sentence(&clean(&fact.what.to_string()));
    let (here, baseline) = (fact.here.as_deref().map(clean), fact.baseline.as_deref().map(clean));
    match (here, baseline) {
        (Some(here), Some(baseline)) if width(&here).max(width(&baseline)) <= WIDEST_VALUE => {
            format!("{what} {here}, not {baseline}")
        }
        (Some(_), Some(_)) => format!("{what} differs"),
        (Some(here), None) => format!("{what} {here}, none before"),
        (None, _) => format!("{what} no longer present"),
    }
}

/// A slow result in a few words.
fn slower(figure: &Figure) -> String {
    let what = clean(&figure.what.to_string());
    format!("{what} at {} of the baseline", units::percent_to(figure.speed, 2))
}

/// Text for the middle of a sentence: `Governor` becomes lower case, and `SMT` is not changed.
fn in_a_sentence(text: &str) -> String {
    let mut signs = text.chars();
    match (signs.next(), text.chars().nth(1)) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(signs).collect(),
        _ => text.to_owned(),
    }
}

/// The line and, if requested, the command that drains the node. If `all` is set, every result and every fact that differs or could not be
/// read are printed below.
pub fn check(screen: &mut Screen, check: &Check, baseline: &str, drain: Option<&str>, all: bool) {
    let line = check_line(check, baseline);
    // With `all`, everything is printed below the line, so the hint is removed.
    screen.uncut(&if all { line.replace(MORE, "") } else { line.clone() });
    if let Some(node) = drain.filter(|_| matches!(check.outcome, Outcome::Setting | Outcome::Defect)) {
        let reason: String = line.replace(MORE, "").chars().filter(|c| !"\"$`\\".contains(*c)).collect();
        let node = record::phrase::quote_word(node);
        screen.uncut(&format!("scontrol update nodename={node} state=drain reason=\"linespeed: {reason}\""));
    }
    if all {
        write(screen, check, baseline);
    }
}

const FACTS: [Field<FactOff>; 3] = [
    ("fact", |fact| fact.what.to_string()),
    ("here", |fact| fact.here.clone().unwrap_or("-".to_owned())),
    ("baseline", |fact| fact.baseline.clone().unwrap_or("-".to_owned())),
];

/// Facts that agree with the baseline.
const AGREE: [Field<FactOff>; 2] = [FACTS[0], ("here and in the baseline", FACTS[1].1)];

/// The columns of the table of results. The flag in each item shows that results cannot be judged, because other processes used the CPUs.
fn figure_fields<'a>() -> [Field<(&'a Figure, bool)>; 6] {
    [
        ("result", |(figure, _)| figure.what.to_string()),
        ("?#here", |(figure, _)| units::figure(figure.here, &figure.unit)),
        ("?#baseline", |(figure, _)| units::figure(figure.baseline, &figure.unit)),
        ("#speed", |(figure, _)| format!("{:.3}", figure.speed)),
        ("?#95 %", |(figure, _)| {
            figure.interval.map_or(String::new(), |(low, high)| format!("{low:.3} - {high:.3}"))
        }),
        ("verdict", |(figure, busy)| match &figure.doubt {
            Some(doubt) => doubt.gist().to_string(),
            None if figure.slow => "slower".to_owned(),
            None if *busy => "not judged".to_owned(),
            None if figure.interval.is_none() => "no interval".to_owned(),
            None if figure.is_decided() => format!("not slower by {}", units::percent_to(figure.bound, 2)),
            None => "too noisy".to_owned(),
        }),
    ]
}

/// Every check.
fn write(screen: &mut Screen, check: &Check, baseline: &str) {
    let mut section = |title: &str, fields: &[Field<FactOff>], facts: &[FactOff]| {
        let mut table = Table::with_fields(title, None, fields);
        facts.iter().for_each(|fact| table.item(fields, fact));
        report::block(screen, &table.finished().into(), false);
    };
    section("Facts that differ", &FACTS, &check.facts);
    section("Facts unknown here", &FACTS, &check.not_seen);
    section("Facts that agree", &AGREE, &check.agree);
    let fields = figure_fields();
    let mut figures = Table::with_fields("Results", None, &fields);
    check.figures.iter().for_each(|figure| figures.item(&fields, &(figure, check.busy.is_some())));
    report::block(screen, &figures.finished().into(), false);
    if !check.neither.is_empty() {
        screen.heading("Unknown in the baseline");
        let names: Vec<String> = check.neither.iter().map(|fact| fact.what.to_string()).collect();
        screen.hanging("  ", "  ", names.join(", "));
    }
    screen.blank();
    screen.hanging("", "", format!("Compared with {baseline}: {} match.", count_facts(check.alike)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Style;
    use proptest::prelude::*;
    use record::comparison::FactKind;

    fn check(found: &Check, baseline: &str, drain: Option<&str>, all: bool, style: &Style) -> String {
        Screen::draw(style, |screen| super::check(screen, found, baseline, drain, all))
    }

    fn fact(what: String, here: Option<String>, baseline: Option<String>) -> FactOff {
        FactOff {
            kind: FactKind::Setting,
            code: String::new(),
            what: what.into(),
            here,
            baseline,
            follows: false,
        }
    }

    fn a_check(outcome: Outcome, facts: Vec<FactOff>, not_seen: Vec<FactOff>) -> Check {
        Check {
            outcome,
            facts,
            not_seen,
            alike: 31,
            agree: Vec::new(),
            neither: Vec::new(),
            figures: Vec::new(),
            busy: None,
        }
    }

    #[test]
    fn the_line_names_what_is_off_and_how_much_more_there_is() {
        let off = |what: &str, here: &str, baseline: &str| {
            fact(what.to_owned(), Some(here.to_owned()), Some(baseline.to_owned()))
        };
        let all = vec![
            off("Memory devices", "15", "16"),
            off("SMT", "off", "on"),
            off("Governor", "powersave", "performance"),
            off("Microcode", "0x1", "0x2"),
        ];
        let unseen = || vec![fact("Firmware".to_owned(), None, Some("1".to_owned()))];
        let good = a_check(Outcome::Good, Vec::new(), Vec::new());
        let figure = |doubt: Option<record::Doubt>, slow: bool| Figure {
            what: "triad, all CPUs".to_owned().into(),
            metric: "memory.bandwidth".into(),
            unit: "B/s".to_owned(),
            here: 8e10,
            baseline: 1e11,
            speed: if slow { 0.8 } else { 1.0 },
            interval: Some(if slow { (0.79, 0.81) } else { (0.99, 1.01) }),
            bound: 0.1,
            slow,
            doubt,
        };
        let noisy = || figure(Some(record::Doubt::too_few_samples(1)), false);
        let with = |outcome, figures| Check { figures, ..a_check(outcome, Vec::new(), Vec::new()) };
        let reaches_over = Figure { speed: 0.93, interval: Some((0.88, 0.95)), ..figure(None, false) };
        let busy = Some(record::check::Busy { by_others: 1.23, cpus: 2 });
        let lines = [
            check_line(&good, "node1"),
            check_line(&Check { neither: all.clone(), ..good.clone() }, "node1"),
            check_line(&with(Outcome::Good, vec![figure(None, false), noisy()]), "node1"),
            check_line(&with(Outcome::Good, vec![figure(None, false), noisy(), noisy()]), "node1"),
            check_line(&with(Outcome::Good, vec![figure(None, false), reaches_over]), "node1"),
            check_line(&Check { busy, ..with(Outcome::Undecided, vec![figure(None, false)]) }, "node1"),
            check_line(&with(Outcome::Undecided, vec![noisy()]), "node1"),
            check_line(&Check { busy, ..a_check(Outcome::Setting, all[1..2].to_vec(), Vec::new()) }, "node1"),
            check_line(&with(Outcome::Defect, vec![figure(None, true), noisy()]), "node1"),
            check_line(&a_check(Outcome::Good, Vec::new(), unseen()), "node1"),
            check_line(&a_check(Outcome::Defect, all.clone(), unseen()), "node1"),
            check_line(&a_check(Outcome::OtherClass, all[..1].to_vec(), unseen()), "node1"),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r"
        OK: 31 facts match node1; speed not tested
        OK: 31 facts match; speed not tested; baseline lacks memory devices and 3 more
        OK: 31 facts, 1 result match node1; 1 of 2 results too noisy
        OK: 31 facts, 1 result match node1; 2 of 3 results too noisy
        OK: 31 facts, 1 result match node1; 1 of 2 results too noisy
        UNDECIDED: other processes used 1.23 of 2 CPUs; 31 facts match node1
        UNDECIDED: 1 of 1 results too noisy; 31 facts match node1
        FAIL (baseline node1): SMT off, not on; speed not judged
        FAIL (baseline node1): triad, all CPUs at 80 % of the baseline
        OK: 31 facts match node1; speed not tested; not seen: firmware
        FAIL (baseline node1): memory devices 15, not 16; 3 more: -v; not seen: firmware
        NOT COMPARED: baseline of a different kind: memory devices 15, not 16
        ");
        let shown = check(
            &a_check(Outcome::Defect, all, Vec::new()),
            "node1",
            Some("n $x"),
            false,
            &Style::default(),
        );
        insta::assert_snapshot!(shown, @r#"
        FAIL (baseline node1): memory devices 15, not 16; SMT off, not on; 2 more: -v
        scontrol update nodename='n $x' state=drain reason="linespeed: FAIL (baseline node1): memory devices 15, not 16; SMT off, not on; 2 more"
        "#);
    }

    proptest! {
        #[test]
        fn the_line_is_one_and_fits_whatever_a_record_holds(
            facts in proptest::collection::vec((".{0,60}", proptest::option::of(".{0,60}"), proptest::option::of(".{0,60}")), 0..6),
            unseen in 0usize..3,
            baseline in ".{0,200}",
            kind in 0usize..5,
        ) {
            let outcome = [Outcome::Good, Outcome::Undecided, Outcome::Setting, Outcome::Defect, Outcome::OtherClass][kind];
            let facts = facts.into_iter().map(|(what, here, baseline)| fact(what, here, baseline)).collect();
            let unseen = vec![fact("x".repeat(70), None, None); unseen];
            let found = a_check(outcome, facts, unseen);
            let line = check_line(&found, &baseline);
            prop_assert!(width(&line) <= WIDEST && !line.contains('\n'), "{line:?}");
            let ascii = check(&found, &baseline, Some("node"), false, &Style { ascii: true, ..Style::default() });
            prop_assert!(ascii.is_ascii() && ascii.lines().next().map_or(0, str::len) <= WIDEST, "{ascii:?}");
        }
    }
}
