//! The tests before everybody else on the CPUs: what others run meanwhile must not become the first finding.

use std::path::PathBuf;

use crate::support::cgroup::Group;

/// The most of version 1, where others have 1024, and of version 2, where they have 100.
pub const SHARES: [[&str; 2]; 2] = [["cpu.shares", "262144"], ["cpu.weight", "10000"]];

/// A group of great weight with this process in it, and with all that it starts.
#[derive(Debug)]
pub struct Precedence {
    /// Where this process was before.
    before: PathBuf,
    _group: Group,
}

impl Precedence {
    /// Takes it; where that is not allowed, all are equals.
    pub fn take() -> Option<Self> {
        // Kernels that share out real-time priorities by group give a new one of version 1 none.
        let real_time = (["cpu.rt_runtime_us", "900000"], SHARES[1]);
        let both = [(SHARES[0], SHARES[1]), real_time];
        let group = Group::new("cpu", &both).or_else(|_| Group::new("cpu", &both[..1])).ok()?;
        let before = group.path().parent()?.join("cgroup.procs");
        std::fs::write(group.path().join("cgroup.procs"), "0").ok()?;
        Some(Self { before, _group: group })
    }
}

impl Drop for Precedence {
    fn drop(&mut self) {
        if let Err(error) = std::fs::write(&self.before, "0") {
            eprintln!("{}: {error}", self.before.display());
        }
    }
}
