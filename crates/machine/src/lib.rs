//! How Linux describes a machine: sysfs, procfs, cgroups, SMBIOS, CPUID. Everything is read below a [`Root`], so
//! that a captured tree of another machine reads the same as this one. Nothing here takes times.
//!
//! A part is one file with a function `read(root, machine, coverage)` and its line in [`inspect`]. What a file
//! does not tell stays `None`; what it tells wrongly becomes a note that names the file.

pub mod caches;
pub mod cgroups;
pub mod clocks;
pub mod cpus;
pub mod features;
pub mod idle;
pub mod kernel;
pub mod kinds;
pub mod limits;
pub mod locators;
#[cfg(test)]
mod made_up;
pub mod memory_devices;
pub mod midr;
pub mod mitigations;
pub mod nodes;
mod notes;
pub mod processor;
pub mod root;
pub mod sensors;
pub mod smbios;
mod snapshot;
pub mod system;
pub mod text;
pub mod topology;
pub mod virtualization;
pub mod x86_names;

use record::{Coverage, Machine, Snapshot};

pub use root::{Root, RootError, Unreadable, Why};

/// What [`inspect`] found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inspection {
    /// What the machine is.
    pub machine: Machine,
    /// The state it is in.
    pub snapshot: Snapshot,
    /// What of both could not be read in full, why, and what would make it possible.
    pub coverage: Vec<Coverage>,
}

/// Reads the whole inventory and the present conditions below `root`. It never fails: what cannot be read is
/// absent, with a note in [`Machine::notes`] or an entry in the coverage.
pub fn inspect(root: &Root) -> Inspection {
    let mut inspection = Inspection::default();
    let Inspection { machine, snapshot: state, coverage } = &mut inspection;
    // The shape of the machine comes first: everything after may look CPUs and nodes up.
    cpus::read(root, machine, coverage);
    topology::read(root, machine, coverage);
    caches::read(root, machine, coverage);
    nodes::read(root, machine, coverage);
    limits::read(root, machine, coverage);
    cpus::count(root, machine);
    // The processor's identity and the kernel.
    processor::read(root, machine, coverage);
    system::read(root, machine, coverage);
    memory_devices::read(root, machine, coverage);
    idle::read(root, machine, coverage);
    kernel::read(root, machine, coverage);
    mitigations::read(root, machine, coverage);
    virtualization::read(root, machine, coverage);
    // Conditions.
    let policies = clocks::policies(root);
    clocks::fill(root, &policies, machine);
    // Kinds of cores show in their caches and clocks.
    kinds::read(root, machine, coverage);
    *state = snapshot::read(root, &policies);
    inspection
}

/// Reads the present conditions alone, as after a run.
pub fn snapshot(root: &Root) -> Snapshot {
    snapshot::read(root, &clocks::policies(root))
}
