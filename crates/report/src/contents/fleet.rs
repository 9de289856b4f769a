//! The contents of a fleet report: slow machines and their causes, classes, and machines that could not be compared.

use record::Text;
use record::fleet::{Camp, Class, Fleet, Remark, Slow, SlowFigure};
use record::phrase::{agree, count_noun, join_list, join_most};
use record::units::{figure, percent, significant};

use super::block::{Block, Item, Part};
use crate::table::Table;

/// The answer in one line.
pub(crate) fn title(fleet: &Fleet) -> String {
    let judged: u32 = fleet.classes.iter().filter(|class| class.judged).map(|class| class.machines).sum();
    let machines = count_noun(fleet.reading.machines, "machine");
    let mut camps = fleet.classes.iter().filter(|class| class.camp.as_ref().is_some_and(|of| of.speed < 1.0));
    let slow_group =
        camps.find_map(describe_camp).map(|camp| format!(", but there is a slow group of {camp}"));
    let slow = match fleet.slow.len() {
        0 => "none is slow".to_owned(),
        slow => format!("{slow} {} slow", agree(slow, "is", "are")),
    };
    let said = match (judged, fleet.reading.machines) {
        (0, 0) => "no records of machines".to_owned(),
        (0, _) if fleet.classes.iter().any(|class| class.machines >= 5) => {
            format!("{machines}: too few to judge (no result is available from five similar machines)")
        }
        (0, 1) => "1 machine: nothing to compare it with".to_owned(),
        (0, _) => format!("{machines}: too few to judge (fewer than five in any class)"),
        _ => format!("{machines}, {judged} compared with their peers: {slow}"),
    };
    said + &slow_group.unwrap_or_default()
}

/// A machine's slow result: `memory bandwidth 25 % slower than the class median (triad, all CPUs: 151 GB/s, median 201 GB/s)`.
fn describe_figure(slow: &SlowFigure) -> String {
    let (own, usual) = (figure(slow.value, &slow.unit), figure(slow.median, &slow.unit));
    format!(
        "{} {} slower than the class median ({}: {own}, median {usual})",
        slow.family.word(),
        percent((1.0 - slow.speed).max(0.0)),
        slow.what
    )
}

/// Further slow results, and slow results that the machine's clock explains.
fn describe_rest(slow: &Slow) -> Option<String> {
    let rest = slow.figures.get(1..).unwrap_or_default();
    let name =
        |of: &SlowFigure| format!("{} {} slower", of.family.word(), percent((1.0 - of.speed).max(0.0)));
    let list = |(head, follows): (&str, bool)| {
        let of = rest.iter().filter(|figure| figure.follows_clock == follows);
        let of: Vec<String> = of.map(name).collect();
        (!of.is_empty()).then(|| head.to_owned() + &of.join(", "))
    };
    let lists = [("also ", false), ("explained by the machine's clock: ", true)];
    let said: Vec<String> = lists.into_iter().filter_map(list).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// A slow machine: its slow results, the most likely cause, whether it was slow before, and further details.
fn slow_machine(slow: &Slow) -> Item {
    let first = slow.figures.first().map_or(String::new(), describe_figure);
    let cause = slow.causes.first().map(|cause| cause.says.to_string());
    let (slow_then, all) = slow.before;
    let all = count_noun(all, "earlier collection");
    let before = (slow_then > 0).then(|| format!("also slow in {slow_then} of {all}"));
    let others = slow.causes.iter().skip(1).map(|cause| format!("or: {}", cause.says));
    Item {
        heads: vec![format!("{}: {first}", slow.machine)],
        below: cause.into_iter().chain(before).collect(),
        more: describe_rest(slow)
            .into_iter()
            .chain(others)
            .chain(slow.explained.iter().map(Text::to_string))
            .collect(),
    }
}

/// The slow machines and the causes, the largest classes with one row each, and the machines that could not be compared.
pub(crate) fn blocks(of: &Fleet, classes: usize) -> [Block; 5] {
    let by_chance = "At most 5 % of the machines reported as slow are expected to be false positives.";
    let by_chance = of.confirm.first().map(|_| Part::Says(by_chance.to_owned()));
    let confirm = by_chance.into_iter().chain([Part::Commands(of.confirm.clone())]);
    [
        Block::items("Slow machines", of.slow.iter().map(slow_machine)),
        Block::new("Measure the slow machines again before you act", None, confirm.collect()),
        Block::new("Classes of similar machines", None, vec![Part::Table(table(of, classes))]),
        Block::new("Suggested comparisons", None, vec![Part::Commands(of.instead.clone())]),
        Block::items("Notes", remarks(of)),
    ]
}

/// The description of a class; if the class is one of several groups, also what distinguishes it.
pub(crate) fn name_class(class: &Class) -> String {
    let Some(camp) = &class.camp else { return class.name.clone() };
    let by = name_facts(camp, 2).unwrap_or_else(|| "group not explained by any setting".to_owned());
    format!("{} · {by}", class.name)
}

/// The first few facts that distinguish a group from others; `None` if there are none.
fn name_facts(camp: &Camp, most: usize) -> Option<String> {
    let by: Vec<String> = camp.by.iter().map(|fact| format!("{} {}", fact.what, fact.value)).collect();
    (!by.is_empty()).then(|| join_most(&by, most))
}

/// How a group of machines differs from the fastest group; `None` if there is only one group.
pub(crate) fn describe_camp(class: &Class) -> Option<String> {
    let camp = class.camp.as_ref()?;
    let machines = count_noun(class.machines, "machine");
    let by = name_facts(camp, camp.by.len()).unwrap_or("no setting in the records explains it".to_owned());
    let what = &camp.what;
    Some(match camp.speed < 1.0 {
        true => format!("{machines}, {}× the fastest group's speed ({what}): {by}", significant(camp.speed)),
        false => format!("{machines}, fastest group ({what}): {by}"),
    })
}

/// The classes.
fn table(fleet: &Fleet, most: usize) -> Table {
    let mut table = Table::new("Classes", None, ["#machines", "#slow", "what", "?#results", "?median scale"]);
    for (number, class) in fleet.classes.iter().enumerate().take(most) {
        let slow = fleet.slow.iter().filter(|slow| slow.class == number).count();
        let mut scales: Vec<f64> = class.figures.iter().filter_map(|figure| figure.scale).collect();
        scales.sort_by(f64::total_cmp);
        let scale = scales.get(scales.len() / 2).map_or(String::new(), |scale| percent(*scale));
        let slow = if class.judged { slow.to_string() } else { "—".to_owned() };
        let (machines, results) = (class.machines.to_string(), class.figures.len().to_string());
        table.row(vec![machines, slow, name_class(class), results, scale]);
    }
    if fleet.classes.len() > most {
        table.note(&format!("the {most} largest of {} classes; --json lists all", fleet.classes.len()));
    }
    table
}

/// The files with the same remark.
pub(crate) fn describe_files(remark: &Remark) -> String {
    let more = remark.count.saturating_sub(remark.examples.len() as u64);
    let more = (more > 0).then(|| format!("{more} more"));
    let files: Vec<String> = remark.examples.iter().cloned().chain(more).collect();
    let files = if remark.examples.is_empty() { String::new() } else { format!(" ({})", join_list(&files)) };
    let out = if remark.left_out { " skipped" } else { "" };
    format!("{}{out}: {}{files}", count_noun(remark.count, "file"), remark.what)
}

/// Notes: groups, small classes, drifts, files.
fn remarks(fleet: &Fleet) -> Vec<String> {
    let camps = fleet.classes.iter().filter_map(describe_camp).map(|camp| format!("Group of {camp}."));
    let small = fleet.classes.iter().filter_map(|of| Some(format!("{}: {}.", of.name, of.note.as_ref()?)));
    let drifts = fleet.classes.iter().flat_map(|class| {
        class.drifts.iter().take(2).map(|drift| {
            let change = percent((drift.speed - 1.0).abs());
            let way = if drift.speed < 1.0 { "slower" } else { "faster" };
            format!("{}: {change} {way} in the last third of the collection than in the first (corrected before the comparison).", drift.what)
        })
    });
    let slow = |name: &String| fleet.slow.iter().any(|slow| slow.machine == *name);
    // A fact that differs on a slow machine is already listed among the causes.
    let only = fleet.classes.iter().flat_map(|class| {
        class.varying.iter().filter_map(|fact| {
            let machine = fact.only.as_ref().filter(|name| !slow(name))?;
            let [(usual, others), (own, _)] = fact.values.as_slice() else { return None };
            let what = &fact.what;
            Some(format!(
                "Only on {machine}, which is not slow: {what} {own} ({usual} on the other {others})."
            ))
        })
    });
    let files = fleet.reading.remarks.iter().map(describe_files);
    let two_valued = fleet.classes.iter().filter(|class| !class.two_valued.is_empty()).map(|class| {
        let names = join_list(&class.two_valued.iter().map(Text::to_string).collect::<Vec<_>>());
        format!("Not compared, because no fact explains why these results form two groups: {names}.")
    });
    camps.chain(two_valued).chain(drifts).chain(small).chain(only).chain(files).collect()
}
