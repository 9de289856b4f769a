//! How Linux describes a machine: sysfs, procfs, cgroups, SMBIOS, CPUID. Everything is read below a [`Root`], so
//! that a captured tree of another machine reads the same as this one. Nothing here takes times.
//!
//! A part is one file with a function `read(root, machine, coverage)` and its line in [`inspect`]. What a file
//! does not tell stays `None`; what it tells wrongly becomes a note that names the file.

pub mod root;

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
    // The processor's identity and the kernel.
    // Conditions.
    *state = snapshot(root);
    let _ = (machine, coverage);
    inspection
}

/// Reads the present conditions alone, as after a run.
pub fn snapshot(root: &Root) -> Snapshot {
    let _ = root;
    Snapshot::default()
}
