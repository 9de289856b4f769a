//! Starts, observes and waits for measured commands and all their descendants.
//!
//! No child outlives this process: each child is killed when the thread that started it exits (PR_SET_PDEATHSIG).
//! Daemonized descendants are adopted (PR_SET_CHILD_SUBREAPER), waited for and counted. [`Child::end`], which is also
//! called on drop, ends the whole tree. After a `kill -9` of this process, its [`Guard`], if one was started, ends the
//! daemonized descendants.
//!
//! Start children from a thread that outlives them. All processes must be started through this module, because unknown
//! children are treated as left behind by a command.

mod capture;
mod error;
mod find;
mod guard;
mod mark;
mod outcome;
mod process;
mod report;
mod spawn;
mod spec;
mod start;
mod tree;
mod wait;

pub use crate::procfs::{Stat, USER_HZ};
pub use error::{Hint, NotExecutable, Obstacle, SpawnError};
pub use guard::Guard;
pub use outcome::{Ended, Exit, Usage};
pub use process::Child;
pub use spec::{Input, Memory, Output, Spec};
pub use tree::{Process, adopted_beside, become_subreaper, hurry, processes, register_own};
pub(crate) use wait::wait_for;
pub use wait::{Watcher, own_peak_bytes, wait_all};

#[cfg(test)]
mod tests;
