//! Finds the records of each machine: the newest record is used, and older records belong to earlier collections.

use std::collections::BTreeMap;

use record::fleet::Remark;
use record::phrase::visible;
use record::redaction::{Aliases, Kind, is_pseudonym};
use record::{Text, text, units::percent};

use crate::brief::Brief;

const DAY: u64 = 86_400;
/// If more than this share of CPU time was lost during a run, the results show little about the machine.
const DISTURBED: f64 = 0.05;
/// Maximum number of files listed per remark.
pub(crate) const EXAMPLES: usize = 5;

/// Adds a remark about a file, or adds the file to an existing remark.
pub(crate) fn remark(remarks: &mut Vec<Remark>, what: Text, left_out: bool, example: Option<String>) {
    let code = what.code().unwrap_or_default().to_owned();
    match remarks.iter_mut().find(|remark| remark.what == what && remark.left_out == left_out) {
        Some(remark) => {
            remark.count += 1;
            remark.examples.extend(example.filter(|_| remark.examples.len() < EXAMPLES));
        }
        None => remarks.push(Remark { what, code, left_out, count: 1, examples: Vec::from_iter(example) }),
    }
}

/// The records by collection: the first collection has the newest record of each machine, the second has each machine's second newest
/// record, and so on. Different machines with the same name get distinct names; names that `aliases` identifies as one machine are unified.
pub fn newest_of_each(briefs: &mut [Brief], remarks: &mut Vec<Remark>, aliases: &Aliases) -> Vec<Vec<usize>> {
    let known = aliases.resolve(briefs.iter().filter_map(|brief| brief.host.as_deref()));
    for brief in briefs.iter_mut() {
        if let Some(name) = brief.host.as_ref().and_then(|host| known.get(host)) {
            brief.machine.clone_from(name);
            brief.host = Some(name.clone());
        }
    }
    let mut named: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, brief) in briefs.iter().enumerate() {
        // Without a host name in the record, the file path distinguishes machines, for example if directories are named after the hosts.
        let name = brief.host.clone().unwrap_or_else(|| visible(&brief.called));
        named.entry(name).or_default().push(at);
    }
    let mut collections: Vec<Vec<usize>> = Vec::new();
    for (name, mut records) in named {
        records
            .sort_by(|a, b| (briefs[*b].begun, &briefs[*a].path).cmp(&(briefs[*a].begun, &briefs[*b].path)));
        let mut lanes: Vec<Vec<usize>> = Vec::new();
        for at in records {
            let brief = &briefs[at];
            if brief.begun.is_none() {
                let what = text!("fleet-no-time", "no readable time: used as the machine's oldest record");
                remark(remarks, what, false, Some(visible(&brief.called)));
            }
            let own = (&brief.started, &brief.kind, &brief.figures);
            let is_same = |other: &Brief| (&other.started, &other.kind, &other.figures) == own;
            if lanes.iter().flatten().any(|at| is_same(&briefs[*at])) {
                let what = text!("fleet-same-record", "the same record as in another file");
                remark(remarks, what, true, Some(visible(&brief.called)));
                continue;
            }
            let before = |lane: &Vec<usize>| {
                let later: Vec<&Brief> = lane.iter().rev().map(|at| &briefs[*at]).collect();
                comes_before(brief, &later)
            };
            match lanes.iter().position(before) {
                Some(lane) => lanes[lane].push(at),
                None => lanes.push(vec![at]),
            }
        }
        if lanes.len() > 1 {
            let what = text!("fleet-same-name", "same-named hosts, distinguished by overlapping runs");
            remark(remarks, what, false, Some(format!("{name} ({})", lanes.len())));
        }
        for (number, mut lane) in lanes.into_iter().enumerate() {
            // A later partial run does not replace a complete one.
            lane.sort_by_key(|at| !briefs[*at].whole);
            for (age, at) in lane.into_iter().enumerate() {
                if number > 0 {
                    briefs[at].machine = format!("{} ({})", briefs[at].machine, number + 1);
                }
                if collections.len() <= age {
                    collections.push(Vec::new());
                }
                collections[age].push(at);
            }
        }
    }
    if let Some(newest) = collections.first() {
        for brief in newest.iter().map(|at| &briefs[*at]).filter(|brief| !brief.kind.knows_processor()) {
            let what = text!("fleet-unclassed", "in no class, because the processor is unknown");
            remark(remarks, what, true, Some(brief.machine.clone()));
        }
        note_clocks(briefs, newest, remarks);
        note_redacted(briefs, newest, remarks);
        note_disturbed(briefs, newest, remarks);
    }
    collections
}

/// Whether a record can be from the same machine as the records in `later` (earliest first) and precede them. The machine must be of the
/// same kind, and the run must have ended before the earliest run in `later` began. Start times are in whole seconds; several short runs
/// may start in the same second if they fit into that second.
fn comes_before(earlier: &Brief, later: &[&Brief]) -> bool {
    let Some(next) = later.first() else { return false };
    let apart = match (earlier.begun, next.begun, earlier.seconds) {
        (Some(one), Some(other), None) => one < other,
        (Some(one), Some(other), Some(seconds)) => {
            let same = later.iter().take_while(|later| later.begun == Some(other)).collect::<Vec<_>>();
            // The end of the last of these runs is not limited to that second.
            let others = same.iter().rev().skip(1).map(|later| later.seconds.map_or(1.0, |s| s.max(0.0)));
            let others: f64 = if one == other { others.sum() } else { 0.0 };
            one as f64 + seconds.max(0.0) + others < other as f64 + 1.0
        }
        _ => true,
    };
    apart && earlier.kind.fits(&next.kind)
}

fn note_disturbed(briefs: &[Brief], newest: &[usize], remarks: &mut Vec<Remark>) {
    for brief in newest.iter().filter_map(|at| briefs.get(*at)) {
        let taken = brief.others.into_iter().chain(brief.steal).fold(0.0, f64::max);
        if taken > DISTURBED {
            let what =
                text!("disturbed by other processes or steal time during the run; measure again when idle");
            remark(remarks, what, false, Some(format!("{} {}", brief.machine, percent(taken))));
        }
    }
}

fn note_redacted(briefs: &[Brief], newest: &[usize], remarks: &mut Vec<Remark>) {
    let names = newest.iter().map(|at| &briefs[*at].machine);
    let redacted: Vec<&String> = names.filter(|name| is_pseudonym(Kind::Host, name)).collect();
    if redacted.len() < newest.len() {
        let what = text!(
            "fleet-redacted-among-plain",
            "redacted with an unknown key, among unredacted records: a machine with both kinds counts as two"
        );
        redacted.into_iter().for_each(|name| remark(remarks, what.clone(), false, Some(name.clone())));
    }
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
            let what = text!(
                "fleet-other-clock",
                "dated more than a day before or after most records of this collection: a clock may be wrong"
            );
            remark(remarks, what, false, Some(format!("{} ({})", briefs[*at].machine, briefs[*at].started)));
        }
    }
}
