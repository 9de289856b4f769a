//! Reads Linux's description of a machine: sysfs, procfs, cgroups, SMBIOS, CPUID. Everything is read below a [`Root`],
//! so that a captured tree of another machine is read in the same way. Nothing here is timed.
//!
//! Each part is one file with a function `read(root, machine, coverage)` and a line in [`inspect`]. Data that no file
//! provides remains `None`. Invalid contents are reported in a note with the file's name.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod caches;
pub mod cgroups;
mod clock_holders;
mod clocks;
mod cpuinfo;
mod cpus;
pub mod distribution;
mod excerpt;
pub mod features;
mod identity;
mod idle;
mod kernel;
mod kinds;
pub mod limits;
mod locators;
#[cfg(test)]
mod made_up;
mod memory_devices;
pub mod midr;
mod mitigations;
mod nodes;
mod notes;
mod processor;
mod quoted;
pub mod root;
pub mod sensors;
pub mod smbios;
mod snapshot;
pub mod system;
pub mod text;
mod topology;
pub mod virtualization;
pub mod x86_names;

use record::{Coverage, Machine, Snapshot};

pub use clock_holders::power_limits;
pub use clocks::hz_in_name;
pub use excerpt::inspect_excerpt;
pub use identity::identity;
pub use kinds::by_design;
pub use limits::memory_left;
pub use root::{Root, RootError, Unreadable, Why};

/// The result of [`inspect`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inspection {
    /// The inventory of the machine.
    pub machine: Machine,
    /// The machine's current state.
    pub snapshot: Snapshot,
    /// Data that could not be fully read, with the reasons and remedies.
    pub coverage: Vec<Coverage>,
}

/// Reads the whole inventory and the current conditions under `root`. It never fails: unreadable data is absent, with a
/// note in [`Machine::notes`] or an entry in the coverage.
pub fn inspect(root: &Root) -> Inspection {
    let mut inspection = Inspection::default();
    let Inspection { machine, snapshot: state, coverage } = &mut inspection;
    // The topology is read first, because all other parts may look up CPUs and nodes.
    cpus::read(root, machine, coverage);
    topology::read(root, machine, coverage);
    caches::read(root, machine, coverage);
    nodes::read(root, machine, coverage);
    limits::read(root, machine, coverage);
    cpus::count(root, machine);
    // The processor's identity and the kernel.
    processor::read(root, machine, coverage);
    system::read(root, machine, coverage);
    virtualization::read(root, machine, coverage);
    memory_devices::read(root, machine, coverage);
    idle::read(root, machine, coverage);
    kernel::read(root, machine, coverage);
    mitigations::read(root, machine, coverage);
    // Conditions.
    let policies = clocks::policies(root);
    clocks::fill(root, &policies, machine);
    // Kinds of core are determined from caches and clocks.
    kinds::read(root, machine, coverage);
    *state = snapshot::read(root, &policies);
    inspection
}

/// Reads only the current conditions, for instance after a run.
pub fn snapshot(root: &Root) -> Snapshot {
    snapshot::read(root, &clocks::policies(root))
}

/// Reads the current conditions after a run that began with `before`; the share of steal time covers only the run.
pub fn snapshot_since(root: &Root, before: &Snapshot) -> Snapshot {
    let mut after = snapshot(root);
    after.steal_share = steal_between(before, &after);
    after
}

/// Steal time as a share of all CPU time between two readings; `None` if the kernel does not report it or no time has
/// passed.
fn steal_between(before: &Snapshot, after: &Snapshot) -> Option<f64> {
    let spent = |name: &str| Some(after.cpu_seconds.get(name)? - before.cpu_seconds.get(name)?);
    let stolen = spent("steal")?;
    let all: f64 = after.cpu_seconds.keys().filter_map(|name| spent(name)).sum();
    (all > 0.0 && stolen >= 0.0).then(|| stolen / all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_of_a_run_is_not_that_since_boot() {
        let at = |steal: f64, idle: f64| Snapshot {
            cpu_seconds: [("steal".to_owned(), steal), ("idle".to_owned(), idle)].into(),
            ..Snapshot::default()
        };
        assert_eq!(steal_between(&at(100.0, 100.0), &at(101.0, 109.0)), Some(0.1));
        assert_eq!(steal_between(&at(1.0, 1.0), &at(1.0, 1.0)), None);
        assert_eq!(steal_between(&Snapshot::default(), &at(1.0, 1.0)), None);
    }
}
