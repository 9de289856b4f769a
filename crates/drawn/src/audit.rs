//! The audit of knobs, `linespeed quiet`: the state of each knob, the way to set it here, and its possible gain.

use ::quiet::audit::{AuditRow, Need};
use ::quiet::compound_change::CompoundChange;
use ::quiet::error::Error;
use ::quiet::knob::{Adjustment, State};
use experiment::noise_estimate::{NoiseEstimate, ProofBy, Worth};
use measure::busy::Load;
use record::phrase::{agree, count_noun};

use report::view::{Field, Screen, Table, Tone, capitalized};

use super::busy;

/// Number of lines for the lists of other knobs, for next steps, and for manual settings.
const LISTS: usize = 3;
const REMARKS: usize = 4;
const BY_HAND: usize = 2;
/// Minimum number of lines of the short table: the header and two knobs.
const LEAST_ROWS: usize = 3;

/// The audited knobs of a machine.
pub struct Seen<'a> {
    /// The knobs.
    pub rows: &'a [AuditRow],
    /// The machine's noise.
    pub noise: &'a NoiseEstimate,
    /// Busy processes, and the number of CPUs online.
    pub busy: Option<(&'a Load, usize)>,
    /// Whether the state of the machine was read from a captured tree.
    pub captured: bool,
    /// Settings left by an earlier session, or the reason why nothing can be set.
    pub left: Result<&'a Option<String>, &'a Error>,
    /// Whether the user specified the knobs.
    pub named: bool,
}

/// The state of a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// The knob's current state adds noise.
    Noisy,
    /// The knob could be quieter, but linespeed sets it only for a command, or only if the user specifies it.
    OnRequest,
    /// The knob is as quiet as possible.
    Steady,
    /// The knob does not exist on this machine, or is not visible.
    Absent,
}

/// A knob, its state, and its possible gain on this machine, if known.
struct Audited<'a> {
    row: &'a AuditRow,
    stand: Stand,
    worth: Option<Worth>,
}

impl<'a> Audited<'a> {
    fn new(row: &'a AuditRow, noise: &NoiseEstimate) -> Self {
        let stand = match &row.inspection.state {
            State::Steady => Stand::Steady,
            State::Noisy if row.disturbs() => Stand::Noisy,
            State::Noisy => Stand::OnRequest,
            State::Absent(_) | State::Unseen(_) => Stand::Absent,
        };
        let known = !noise.source.is_empty() && row.inspection.steadier.is_some();
        Self { row, stand, worth: known.then(|| noise.find_worth(row.knob.name)) }
    }

    fn name(&self) -> &'static str {
        self.row.knob.name
    }

    /// The knob's effect on measurements, the effect measured here, notes, and the way to set it.
    fn sentences(&self) -> Vec<String> {
        let describe = |worth: &Worth| worth.describe(self.name(), ProofBy::for_knob(self.row)).to_string();
        let here = self.worth.as_ref().map(describe);
        let mut said: Vec<String> = [sentence(self.row.knob.effect)].into_iter().chain(here).collect();
        said.extend(self.notes());
        said.extend(advice(self.row).map(|way| format!("To set: {way}")));
        said
    }

    /// Whether the user must change the knob manually. Examples are the load of other processes and steal time.
    fn is_by_hand(&self) -> bool {
        matches!(self.row.inspection.adjustment, Adjustment::Manual(_))
    }

    fn notes(&self) -> Vec<String> {
        self.row.inspection.notes.iter().map(|note| sentence(&note.to_string())).collect()
    }
}

/// The audit on one screen: knobs that add noise, their possible gain, the way to set them, and the names of the other knobs. With `all`, a
/// description of every knob precedes this; if the user specified knobs, only their descriptions are printed.
pub fn audit(screen: &mut Screen, seen: &Seen, all: bool) {
    let knobs: Vec<Audited> = seen.rows.iter().map(|row| Audited::new(row, seen.noise)).collect();
    if seen.named {
        head(screen, seen, &knobs);
        describe_all(screen, seen, &knobs);
        screen.blank();
        return remarks(seen).iter().for_each(|remark| screen.say(remark));
    }
    if all {
        describe_all(screen, seen, &knobs);
    }
    screen.begin_answer(all);
    write_answer(screen, seen, &knobs);
}

fn standing<'a, 'b>(knobs: &'b [Audited<'a>], stand: Stand) -> Vec<&'b Audited<'a>> {
    knobs.iter().filter(|knob| knob.stand == stand).collect()
}

fn describe_all(screen: &mut Screen, seen: &Seen, knobs: &[Audited]) {
    for (title, stand) in [("Adds noise", Stand::Noisy), ("Opt-in, or only for a command", Stand::OnRequest)]
    {
        let knobs = standing(knobs, stand);
        if !knobs.is_empty() {
            screen.heading(title);
            screen.table(&settable(title, &knobs), 2);
            screen.blank();
            screen.list("", knobs.iter().map(|knob| (knob.name(), knob.sentences().join(" "))));
        }
    }
    let steady = |knob: &Audited| {
        let now = knob.row.inspection.now.to_string();
        [now].into_iter().chain(knob.notes()).collect::<Vec<_>>().join(". ")
    };
    screen.list("Steady", standing(knobs, Stand::Steady).into_iter().map(|knob| (knob.name(), steady(knob))));
    let why = |knob: &Audited| match &knob.row.inspection.state {
        State::Absent(why) | State::Unseen(why) => why.to_string(),
        State::Steady | State::Noisy => String::new(),
    };
    let absent_ones = standing(knobs, Stand::Absent).into_iter();
    screen.list(absent(seen), absent_ones.map(|knob| (knob.name(), why(knob))));
}

fn absent(seen: &Seen) -> &'static str {
    if seen.captured { "Not in this tree" } else { "Not here" }
}

fn write_answer(screen: &mut Screen, seen: &Seen, knobs: &[Audited]) {
    head(screen, seen, knobs);
    let is_screen = screen.is_terminal();
    // A screen has room for only this many entries; a document has room for all of them.
    let at_most = |most: usize| if is_screen { most } else { usize::MAX };
    let mut remarks = remarks(seen);
    remarks.truncate(at_most(REMARKS));
    let noisy = standing(knobs, Stand::Noisy);
    let by_hand = noisy.iter().filter_map(|knob| Some((knob.name(), advice(knob.row)?)));
    let by_hand = by_hand.take(at_most(BY_HAND));
    if !noisy.is_empty() {
        screen.blank();
        let mut by_hand: Vec<String> = by_hand.map(|(name, advice)| format!("{name}: {advice}")).collect();
        // Below the table: a line for each manual setting, the lists of other knobs, the remarks, and two empty lines.
        let room = |screen: &Screen, by_hand: &[String]| {
            let lines: usize = by_hand.iter().map(|text| screen.lines_of("", "  ", text)).sum();
            screen.left(1 + lines + LISTS + 2 + remarks.len())
        };
        // Manual settings are dropped first: the heading names them, and --all describes them.
        while room(screen, &by_hand) < LEAST_ROWS && by_hand.pop().is_some() {}
        let room = room(screen, &by_hand).max(LEAST_ROWS);
        let left = screen.rows(settable("Adds noise", &noisy), 0, room);
        let title = if left == noisy.len() { "Add noise" } else { "and" };
        by_name(screen, title, &noisy[noisy.len() - left..]);
        by_hand.iter().for_each(|text| screen.hanging("", "  ", text));
    }
    screen.blank();
    by_name(screen, "Opt-in", &standing(knobs, Stand::OnRequest));
    by_name(screen, "Steady", &standing(knobs, Stand::Steady));
    by_name(screen, absent(seen), &standing(knobs, Stand::Absent));
    screen.blank();
    remarks.iter().for_each(|remark| screen.say(remark));
    screen.more("--all (effects, obstacles)");
}

/// Knobs by name only.
fn by_name(screen: &mut Screen, title: &str, knobs: &[&Audited]) {
    let names: Vec<&str> = knobs.iter().map(|knob| knob.name()).collect();
    if !names.is_empty() {
        screen.short(1, "", "  ", format!("{title}: {}", names.join(", ")));
    }
}

/// The overall state, the noise of the machine, and busy processes.
fn head(screen: &mut Screen, seen: &Seen, knobs: &[Audited]) {
    let noisy = standing(knobs, Stand::Noisy);
    let by_hand = noisy.iter().filter(|knob| knob.is_by_hand());
    let by_hand = by_hand.map(|knob| knob.name()).collect::<Vec<_>>().join(", ");
    let by_hand = if by_hand.is_empty() { by_hand } else { format!(". Change manually: {by_hand}") };
    let here = count_noun(knobs.len() - standing(knobs, Stand::Absent).len(), "knob");
    let place = if seen.captured { "in this tree" } else { "here" };
    let says = match noisy.len() {
        0 => format!("None of the {here} {place} adds avoidable noise"),
        n => format!("{n} of the {here} {place} {} noise to measurements", agree(n, "adds", "add")),
    };
    screen.paragraph(&[], Tone::Strong, format!("{says}{by_hand}."));
    let most = |lines: usize| if seen.named { usize::MAX } else { lines };
    if let Some(noise) = seen.noise.describe() {
        screen.short(most(3), "", "  ", format!("Measured {}: {noise}", seen.noise.source));
    }
    if let Some((load, online)) = seen.busy {
        screen.short(most(2), "", "  ", format!("Busy: {}", busy::describe(load, online)));
    }
}

/// The columns of a table of knobs.
fn fields<'a>() -> [Field<Audited<'a>>; 5] {
    [
        ("knob", |knob| knob.name().to_owned()),
        ("now", |knob| knob.row.inspection.now.to_string()),
        ("quiet value", |of| of.row.inspection.steadier.as_ref().map_or(String::new(), ToString::to_string)),
        ("set by", |knob| set_by(knob.row)),
        ("gain here", |knob| knob.worth.as_ref().map_or(String::new(), |worth| worth.brief().to_string())),
    ]
}

/// Knobs that could be quieter.
fn settable(title: &str, knobs: &[&Audited]) -> Table {
    let mut table = Table::with_fields(title, None, &fields());
    for knob in knobs {
        table.weigh_row((knob.stand == Stand::Noisy).then_some(true));
        table.item(&fields(), knob);
    }
    table.finished()
}

/// Adds a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let end = if text.ends_with(['.', ':']) { "" } else { "." };
    format!("{}{end}", capitalized(text))
}

/// The way to set the knob here, in a word or two.
fn set_by(row: &AuditRow) -> String {
    let root = row.needs.as_ref().is_some_and(Need::is_root);
    let how = match &row.inspection.adjustment {
        Adjustment::None => return String::new(),
        Adjustment::BootParameters(_) => return "boot".to_owned(),
        Adjustment::Manual(_) => return "hand".to_owned(),
        // For a captured machine, this column shows who could set the knob on that machine.
        Adjustment::Write(_) | Adjustment::Compound(_) if is_captured(row) => return "root".to_owned(),
        Adjustment::ProcessSetting(_) if is_captured(row) => return "a process".to_owned(),
        Adjustment::Write(_) | Adjustment::Compound(CompoundChange::Swap(_)) => "--apply",
        Adjustment::ProcessSetting(_) | Adjustment::Compound(CompoundChange::Shield(_)) => "-- COMMAND",
    };
    match &row.needs {
        None => how.to_owned(),
        Some(_) if root => format!("{how}, root"),
        Some(_) => format!("{how}, not here"),
    }
}

/// Whether the knob was read from a captured tree.
fn is_captured(row: &AuditRow) -> bool {
    row.needs == Some(Need::ThisMachine)
}

/// Notes on setting the knob: boot parameters, manual steps, missing prerequisites.
fn advice(row: &AuditRow) -> Option<String> {
    match (&row.inspection.adjustment, &row.needs) {
        (Adjustment::BootParameters(all), _) => Some(format!("on the kernel command line: {all}")),
        (Adjustment::Manual(adjustment), _) => Some(adjustment.to_string()),
        (Adjustment::Write(_) | Adjustment::ProcessSetting(_) | Adjustment::Compound(_), Some(needs))
            if *needs != Need::Root && !is_captured(row) =>
        {
            Some(format!("needs {needs}"))
        }
        _ => None,
    }
}

/// Next steps and notes.
fn remarks(seen: &Seen) -> Vec<String> {
    let rows = seen.rows;
    if seen.captured {
        return Vec::new();
    }
    let mut remarks: Vec<String> = match seen.left {
        Ok(left) => left.iter().cloned().collect(),
        // Other remarks are omitted, because nothing can be set until this error is resolved.
        Err(why) => return vec![format!("No knob can be set now: {why}")],
    };
    let settable = |row: &&AuditRow| {
        row.disturbs()
            && matches!(row.inspection.adjustment, Adjustment::Write(_) | Adjustment::ProcessSetting(_))
    };
    let all: Vec<&AuditRow> = rows.iter().filter(settable).collect();
    let open = all.iter().filter(|row| row.needs.is_none()).count();
    if !all.is_empty() {
        let sudo = if open == 0 { "sudo " } else { "" };
        remarks.push(format!("For a command: {sudo}linespeed quiet -- COMMAND"));
        remarks.push(format!("Until restored: {sudo}linespeed quiet --apply, then --restore"));
    }
    remarks.push("To measure each knob's gain here: linespeed quiet --prove [-- COMMAND]".to_owned());
    if rows.iter().any(|row| row.knob.only_when_named() && row.inspection.state == State::Noisy) {
        remarks.push("Opt-in knobs must be specified: linespeed quiet smt -- COMMAND".to_owned());
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::quiet::knob::Inspection;
    use ::quiet::knobs::KNOBS;
    use report::view::Style;

    fn row(number: usize, state: State) -> AuditRow {
        let inspection = Inspection {
            now: "powersave, ondemand and something long".into(),
            steadier: Some("performance".into()),
            state,
            adjustment: Adjustment::BootParameters(
                "isolcpus=managed_irq,domain,2-3 nohz_full=2-3".to_owned(),
            ),
            notes: vec!["experts disagree".into()],
        };
        AuditRow { knob: &KNOBS[number], inspection, needs: None }
    }

    #[test]
    fn every_knob_is_reported_within_the_width_and_nothing_acts_on_the_terminal() {
        let on_request = KNOBS.iter().position(|knob| knob.only_when_named()).unwrap();
        let others = (0..KNOBS.len()).filter(|number| *number != on_request);
        let states = [State::Noisy, State::Steady, State::Absent("no such file\u{1b}[31m".into())];
        let mut rows: Vec<AuditRow> = others.zip(states).map(|(number, state)| row(number, state)).collect();
        rows.push(row(on_request, State::Noisy));
        let mut noise = NoiseEstimate::default();
        noise.source = "now".into();
        noise.measured.wakeup_p99 = Some(60e-6);
        let load = Load { seconds: 0.3, cpus: Some(1.9), tasks: Vec::new() };
        let shown = |columns: usize, all: bool| {
            let left = Some("linespeed quiet --restore".to_owned());
            let left = Ok(&left);
            let busy = Some((&load, 2));
            let seen = Seen { rows: &rows, noise: &noise, busy, captured: false, left, named: false };
            let style = Style { width: columns, color: false, ..Style::default() };
            Screen::draw(&style, |screen| audit(screen, &seen, all))
        };
        for columns in [40, 80, 160] {
            for all in [true, false] {
                let text = shown(columns, all);
                let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
                // On a narrow screen, the names of knobs that add no noise are truncated.
                let names = rows.iter().map(|row| row.knob.name).filter(|_| all || columns > 40);
                for part in names.chain([rows[0].knob.name, "1.9 CPUs of 2", "60.0 µs", "--restore"]) {
                    assert!(words.contains(part), "{part}: {text}");
                }
                assert!(all || columns == 40 || text.lines().count() <= 23, "{text}");
                assert!(text.lines().all(|line| report::view::width(line) <= columns), "{text}");
                assert!(!text.contains('\u{1b}'), "{text}");
            }
        }
        // A document shows every value and every row in full; the text after a table is not part of the table.
        let left = Ok(&None);
        let seen = Seen { rows: &rows, noise: &noise, busy: None, captured: false, left, named: false };
        let style = Style { markdown: true, ..Style::default() };
        let text = Screen::draw(&style, |screen| audit(screen, &seen, false));
        assert!(text.contains("| powersave, ondemand and something long |") && !text.contains('…'), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        let is_row = |line: &str| line.starts_with("| ");
        assert!(lines.windows(2).all(|two| !is_row(two[0]) || is_row(two[1]) || two[1].is_empty()), "{text}");
        let text = shown(80, true);
        for part in ["adds noise to measurements", "isolcpus=", "Experts disagree.", "no such file\\x1b"] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
}
