//! The glossary of all crates: the source of `linespeed explain` and `docs/glossary.md`.

use record::glossary::{Glossary, Group};

/// Every entry.
pub fn all() -> Glossary {
    Glossary::new([
        Group::metrics(),
        Group::new("Measurements", measure::GLOSSARY),
        Group::inventory(),
        Group::new("Knobs", quiet::knobs::GLOSSARY),
        Group::new("Proofs", experiment::prove::GLOSSARY),
        Group::new("Findings", diagnose::GLOSSARY),
        Group::words(),
    ])
}

#[cfg(test)]
mod tests;
