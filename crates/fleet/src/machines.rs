//! Which records are of one machine: the newest counts, older ones are earlier collections.

use std::collections::BTreeMap;

use record::fleet::Remark;
use record::phrase::visible;
use record::{Template, text};

use crate::brief::Brief;

/// The same record in two files.
const TWICE: Template = Template { code: "fleet-same-record", words: "the same record as another file's" };
/// A name that several machines have.
const SAME_NAME: Template =
    Template { code: "fleet-same-name", words: "hosts of the same name, told apart by runs that overlap" };
/// Records without a time.
const NO_TIME: Template =
    Template { code: "fleet-no-time", words: "no readable time: taken for the oldest of its machine" };
/// Clocks that are off.
const OTHER_CLOCK: Template = Template {
    code: "fleet-other-clock",
    words: "over a day apart from most of this collection: a clock may be off",
};
const DAY: u64 = 86_400;
/// Files that are named of each remark.
pub(crate) const EXAMPLES: usize = 5;

/// Adds a file to what is to be known of files.
pub(crate) fn remark(remarks: &mut Vec<Remark>, what: record::Text, left_out: bool, example: String) {
    let code = what.code().unwrap_or_default().to_owned();
    let known = remarks.iter_mut().find(|remark| remark.code == code && remark.left_out == left_out);
    match known {
        Some(remark) => {
            remark.count += 1;
            if remark.examples.len() < EXAMPLES {
                remark.examples.push(example);
            }
        }
        None => remarks.push(Remark { what, code, left_out, count: 1, examples: vec![example] }),
    }
}

/// The records by collections: in the first the newest of each machine, in the next the one before it, and so on. Machines
/// that are called alike are given names of their own.
pub fn newest_of_each(briefs: &mut [Brief], remarks: &mut Vec<Remark>) -> Vec<Vec<usize>> {
    let mut named: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, brief) in briefs.iter().enumerate() {
        // A file's name tells two machines apart by itself, where folders have the hosts' names.
        let name = if brief.named { brief.machine.clone() } else { visible(&brief.called) };
        named.entry(name).or_default().push(at);
    }
    let mut collections: Vec<Vec<usize>> = Vec::new();
    for (_, mut records) in named {
        records
            .sort_by(|a, b| (briefs[*b].begun, &briefs[*a].path).cmp(&(briefs[*a].begun, &briefs[*b].path)));
        let mut lanes: Vec<Vec<usize>> = Vec::new();
        for at in records {
            let brief = &briefs[at];
            if brief.begun.is_none() {
                remark(remarks, text!(NO_TIME), false, visible(&brief.called));
            }
            let same = |lane: &Vec<usize>| lane.iter().any(|other| is_same_record(&briefs[*other], brief));
            if lanes.iter().any(same) {
                remark(remarks, text!(TWICE), true, visible(&brief.called));
                continue;
            }
            let before =
                |lane: &Vec<usize>| lane.last().is_some_and(|later| comes_before(brief, &briefs[*later]));
            match lanes.iter().position(before) {
                Some(lane) => lanes[lane].push(at),
                None => lanes.push(vec![at]),
            }
        }
        if lanes.len() > 1 {
            let name = lanes.iter().flatten().next().map_or(String::new(), |at| briefs[*at].machine.clone());
            remark(remarks, text!(SAME_NAME), false, format!("{name} ({})", lanes.len()));
        }
        for (number, lane) in lanes.into_iter().enumerate() {
            for (age, at) in lane.into_iter().enumerate() {
                if number > 0 {
                    let name = format!("{} ({})", briefs[at].machine, number + 1);
                    briefs[at].machine = name;
                }
                if collections.len() <= age {
                    collections.push(Vec::new());
                }
                collections[age].push(at);
            }
        }
    }
    if let Some(newest) = collections.first() {
        note_clocks(briefs, newest, remarks);
    }
    collections
}

fn is_same_record(one: &Brief, other: &Brief) -> bool {
    one.started == other.started && one.kind == other.kind && one.figures == other.figures
}

/// Whether a record can be an earlier one of the machine of another: of one kind, and ended before that began.
fn comes_before(earlier: &Brief, later: &Brief) -> bool {
    let ended = earlier.begun.map(|begun| begun as f64 + earlier.seconds.unwrap_or(0.0).max(0.0));
    let apart = match (ended, later.begun) {
        // Whole seconds are kept of both.
        (Some(ended), Some(begun)) => ended < begun as f64 + 1.0 && earlier.begun != later.begun,
        _ => true,
    };
    apart && earlier.kind.fits(&later.kind)
}

fn note_clocks(briefs: &[Brief], newest: &[usize], remarks: &mut Vec<Remark>) {
    let mut times: Vec<u64> = newest.iter().filter_map(|at| briefs[*at].begun).collect();
    times.sort_unstable();
    let Some(middle) = times.get(times.len() / 2).copied() else { return };
    let near = times.iter().filter(|time| time.abs_diff(middle) <= DAY).count();
    if near * 10 < times.len() * 9 {
        return;
    }
    for at in newest {
        if briefs[*at].begun.is_some_and(|begun| begun.abs_diff(middle) > DAY) {
            let example = format!("{} ({})", briefs[*at].machine, briefs[*at].started);
            remark(remarks, text!(OTHER_CLOCK), false, example);
        }
    }
}
