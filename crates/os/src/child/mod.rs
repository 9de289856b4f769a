//! Measured commands: started, observed and waited for, with everything that they start themselves.
//!
//! No child outlives this process: each dies with the thread that started it (PR_SET_PDEATHSIG); what forks away is
//! adopted (PR_SET_CHILD_SUBREAPER), waited for and counted; and [`Child::end`], which dropping also calls, ends the
//! whole tree. After a `kill -9` of this process its [`Guard`], if one was posted, ends what forked away.
//!
//! Start children from a thread that outlives them. Everything this process starts must be started here, since unknown
//! children count as left behind by a command.

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
