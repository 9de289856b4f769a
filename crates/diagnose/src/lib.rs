//! Records into meaning: the levels of the memory hierarchy, each resource's distance from line speed, and
//! findings. Pure functions of a record: nothing here reads a file or measures.
//!
//! A new rule is one new file in `findings/` and its line in [`findings::RULES`].

pub mod bound;
pub mod curve;
mod distances;
pub mod figures;
pub mod findings;
pub mod levels;
pub mod numa;
pub mod parts;
pub mod plan;
pub mod resources;
#[cfg(test)]
mod samples;
pub mod scaling;
mod usl;

use record::{Diagnosis, Record};

/// Everything that follows from a record's figures. Inputs that are missing leave their part out.
pub fn diagnose(record: &Record) -> Diagnosis {
    let levels = levels::levels(record);
    Diagnosis {
        resources: resources::resources(record, &levels),
        not_reached: resources::not_reached(record, &levels),
        findings: findings::findings(record, &levels),
        ladders: Vec::new(),
        not_looked_for: Vec::new(),
        levels,
        numa: numa::numa(record),
        scaling: scaling::scaling(record),
        bound: bound::bound(record),
    }
}
