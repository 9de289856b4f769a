//! The table of all knobs, and the inspection of knobs that are not just files with one value or word.

mod boost;
mod clock_range;
mod found;
mod idle_states;
mod power_limit;
mod process;
mod quiet_cpus;
mod smt;

pub(crate) use boost::NO_TURBO;
pub(crate) use idle_states::NOT_A_GUESTS;
pub use process::{lowest_nice_value, nice_scope_limit};

use std::sync::LazyLock;

use serde::Deserialize;

use crate::knob::{Inspect, Knob};

const TABLE: &str = include_str!("knobs.toml");

#[derive(Deserialize)]
#[serde(bound = "'de: 'static")]
struct Table {
    knob: Vec<Knob>,
}

/// All knobs, in writing order. They are restored in reverse order.
pub static KNOBS: LazyLock<Vec<Knob>> = LazyLock::new(|| {
    let table = toml::from_str(TABLE);
    let mut knobs = table.map(|table: Table| table.knob).unwrap_or_default();
    for knob in knobs.iter_mut().filter(|knob| matches!(knob.inspect, Inspect::Unknown)) {
        knob.inspect = inspect_by_code(knob.name);
    }
    knobs
});

/// The functions that inspect knobs that are not just files, and that set such knobs to a given value.
fn inspect_by_code(name: &str) -> Inspect {
    match name {
        "clock-range" => Inspect::With(clock_range::inspect, Some(clock_range::set_to)),
        "boost" => Inspect::With(boost::inspect, Some(boost::set_to)),
        "power-limit" => Inspect::With(power_limit::inspect, Some(power_limit::set_to)),
        "smt" => Inspect::With(smt::inspect, Some(smt::set_to)),
        "idle-states" => Inspect::With(idle_states::inspect, None),
        "guest-halt" => Inspect::With(idle_states::inspect_halt, None),
        "interrupts" => Inspect::With(quiet_cpus::inspect_interrupts, None),
        "workqueues" => Inspect::With(quiet_cpus::inspect_workqueues, None),
        "shield" => Inspect::With(quiet_cpus::inspect_shield, None),
        "affinity" => Inspect::With(quiet_cpus::inspect_affinity, None),
        "isolation" => Inspect::With(quiet_cpus::inspect_isolation, None),
        "nice" => Inspect::With(process::inspect_nice, None),
        "fifo" => Inspect::With(process::inspect_fifo, None),
        "ionice" => Inspect::With(process::inspect_io, None),
        "aslr" => Inspect::With(process::inspect_aslr, None),
        "irqbalance" => Inspect::With(found::inspect_irqbalance, None),
        "others" => Inspect::With(found::inspect_others, None),
        "quota" => Inspect::With(found::inspect_quota, None),
        "steal" => Inspect::With(found::inspect_steal, None),
        "throttling" => Inspect::With(found::inspect_throttling, None),
        "power" => Inspect::With(found::inspect_power, None),
        "swap" => Inspect::With(found::inspect_swap, None),
        _ => Inspect::Unknown,
    }
}

/// Explanations of knobs, in the format of [`record::glossary`]. Knobs that the inventory explains are omitted.
pub const GLOSSARY: &str = include_str!("glossary.md");

/// The knob with this name.
pub fn find(name: &str) -> Option<&'static Knob> {
    KNOBS.iter().find(|knob| knob.name == name)
}

#[cfg(test)]
mod tests;
