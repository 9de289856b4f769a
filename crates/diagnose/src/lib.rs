//! Records into meaning: the levels of the memory hierarchy, each resource's distance from line speed, and
//! findings. Pure functions of a record: nothing here reads a file or measures.
//!
//! A new rule is one new file in `findings/` and its line in [`findings::RULES`].

pub mod bound;
pub mod comparison;
pub mod curve;
mod distances;
pub mod figures;
pub mod findings;
pub mod gain;
pub mod ladders;
pub mod layers;
pub mod levels;
pub mod numa;
pub mod overhead;
pub mod parts;
pub mod plan;
pub mod reading;
pub mod resources;
#[cfg(test)]
mod samples;
pub mod scaling;
pub mod siblings;
mod spent;
mod usl;

use record::{Diagnosis, Record};

pub use reading::Reading;

/// Everything that follows from a record's figures. Inputs that are missing leave their part out.
pub fn diagnose(record: &Record) -> Diagnosis {
    let reading = &Reading::new(record);
    let numa = numa::numa(reading);
    let case = findings::Case::new(reading, numa.as_ref());
    let (findings, not_looked_for) = (findings::findings(&case), findings::not_looked_for(&case));
    let mut resources = resources::resources(reading);
    let grounds = ladders::Grounds { reading, findings: &findings, numa: numa.as_ref() };
    let ladders = ladders::ladders(grounds, &mut resources);
    let layers = layers::layers(reading);
    let overhead = overhead::overhead(reading, &layers);
    Diagnosis {
        resources,
        not_reached: resources::not_reached(reading),
        findings,
        ladders,
        not_looked_for,
        levels: reading.levels().to_vec(),
        numa,
        scaling: scaling::scaling(reading),
        siblings: siblings::siblings(reading),
        layers,
        overhead,
        plan: plan::of_nodes(reading),
        bound: bound::bound(reading),
    }
}
