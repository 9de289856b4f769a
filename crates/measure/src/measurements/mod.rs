//! The measurements, one file each. To add one, create a file here and add two lines below.

use crate::measure::Measure;

pub(crate) mod bandwidth;
pub(crate) mod clock;
pub(crate) mod core_to_core;
pub(crate) mod costs;
pub(crate) mod latency;
pub(crate) mod loaded_latency;
pub(crate) mod numa;
pub(crate) mod parallelism;
pub(crate) mod power;
pub(crate) mod scaling;
pub(crate) mod smt_yield;
pub(crate) mod time_taken;
pub(crate) mod wakeup;
pub(crate) mod workloads;

/// All measurements, in the order in which they run.
pub const MEASUREMENTS: &[&Measure] = &[
    &clock::CLOCK,
    &latency::LATENCY,
    &parallelism::PARALLELISM,
    &loaded_latency::LOADED_LATENCY,
    &bandwidth::BANDWIDTH,
    &workloads::WORKLOADS,
    &scaling::SCALING,
    &smt_yield::SMT_YIELD,
    &numa::NUMA,
    &core_to_core::CORE_TO_CORE,
    &wakeup::WAKEUP,
    &time_taken::TIME_TAKEN,
    &costs::COSTS,
    &power::POWER,
];
