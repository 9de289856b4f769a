//! Interprets records: the levels of the memory hierarchy, the distance of each resource from line speed, and findings. All functions are
//! pure functions of a record; none reads files or takes measurements.
//!
//! A new rule needs one new file in `findings/`, a line in [`RULES`] and a section in `rules.txt`.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod block_sizes;
mod bound;
mod ceilings;
mod check;
mod class;
mod comparison;
pub mod cores;
mod cpu_accounting;
mod culprits;
mod curve;
mod distances;
mod figures;
mod findings;
mod history;
mod kept_ceilings;
mod latency_curve;
mod layers;
mod levels;
mod like;
mod like_line;
mod loss_breakdown;
mod memory_channels;
mod node_costs;
mod numa;
mod observed;
mod overhead;
mod passport;
mod plan;
mod record_index;
mod resources;
#[cfg(test)]
mod samples;
mod scaling;
mod shape;
mod siblings;
mod stretches;
mod tables;
mod turns;
mod usl;

use record::diagnosis::{CurvePlace, Evidence, Finding};
use record::{Diagnosis, Measurement, Record};

pub use block_sizes::BlockSizes;
pub use bound::bound;
pub use bound::machine::{Reference, watched};
pub use bound::service::watched_service;
pub use check::{check, check_nearest};
pub use class::{Fact, Kind, MEMORY_DEVICES, facts, tell_facts};
pub use comparison::{
    Extent, Figure, LEAST_BOUND, OTHER_COMMAND, RowFigure, Side, TOO_NOISY, Ungated, comparable_references,
    compare, describe_machine, drop_uncompared, gate, gate_turns, ignore_commands, remark_scope, row_figures,
    suggest,
};
pub use cpu_accounting::{DISTURBED, disturbance, explain_noise, used_by_others};
pub use findings::{Case, GLOSSARY, RULES, Rule, takes_cpu_time, takes_from_tail};
pub use history::{HEADLINES, Past, lines, since};
pub use kept_ceilings::{Identity, KeptCeilings};
pub use levels::levels;
pub use like::{Like, Row, like};
pub use like_line::like_line;
pub use numa::numa;
pub use passport::{Comparable, Passport, nearest_passport, passport};
pub use plan::{
    PlanError, PlanRequest, TOOLS, describe_source, judge_verification, merge_records, plan, plan_needs,
    plan_nodes,
};
pub use record::difference::MUCH;
pub use record_index::{Figures, RecordIndex};
pub use resources::{Headline, MEMORY_LATENCY, beyond_caches, resources};
pub use scaling::scaling;
pub use shape::shape;
pub use stretches::{Stretch, stretches};
pub use turns::turns;

/// The first result that a finding cites, looked up in the record.
pub fn cited_figure<'a>(record: &'a Record, finding: &Finding) -> Option<&'a Measurement> {
    let cited = |evidence: &Evidence| {
        let metric = evidence.from.split(' ').next().unwrap_or_default();
        let own = record.measurements.iter().filter(|one| one.metric == metric);
        own.into_iter().find(|one| figures::locate_figure(one) == evidence.from)
    };
    finding.evidence.iter().find_map(cited)
}

/// The place at which the displayed latency curve was measured, from a record's diagnosis.
pub fn latency_curve(record: &Record) -> Option<CurvePlace> {
    record.diagnosis.latency_curve.or_else(|| RecordIndex::new(record).curve().map(|curve| curve.place))
}

/// All conclusions from a record's results. Parts whose inputs are missing are omitted.
pub fn diagnose(record: &Record) -> Diagnosis {
    let index = &RecordIndex::new(record);
    let numa = numa::numa(index);
    let case = findings::Case { index, numa: numa.as_ref() };
    let bound = bound::bound(index);
    let turns = turns::turns(record);
    // The verdict states what limited the command. Findings of other rules are about the machine and show nothing about the command.
    let (findings, not_looked_for) = match bound.is_some() || turns.is_some() {
        true => Default::default(),
        false => (findings::findings(&case), findings::not_looked_for(&case)),
    };
    let mut headlines = resources::resources(index);
    resources::state_repeatability(record, &mut headlines);
    let breakdowns = loss_breakdown::break_down(&case, &mut headlines);
    let mut layers = layers::layers(index);
    let overhead = overhead::overhead(index, &mut layers);
    Diagnosis {
        used_by_others: cpu_accounting::used_by_others(record),
        resources: headlines.into_iter().map(|headline| resources::judge(index, headline.resource)).collect(),
        not_reached: resources::not_reached(index),
        findings,
        loss_breakdowns: breakdowns,
        not_looked_for,
        levels: index.levels().to_vec(),
        latency_curve: index.curve().map(|curve| curve.place),
        numa,
        shape: index.shape().cloned(),
        scaling: scaling::scaling(index),
        siblings: siblings::siblings(index),
        layers,
        overhead,
        plan: plan_nodes(index),
        bound,
        turns,
    }
}
