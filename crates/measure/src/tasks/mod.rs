//! The activity of the threads of any process, observed from outside: their states, their wait reasons, and their
//! on-CPU and run-queue time.
//!
//! [`Sampler`] observes a set of processes and their descendants (our command, or running services) and reports
//! unreadable data.

mod calls;
mod program;
mod sampler;
mod seen;
mod spells;
pub(crate) mod thread;
mod turns;
mod waiting;

pub use calls::Waiting;
pub(crate) use calls::{Machine, find_known};
pub use sampler::{Effort, FIRST, Sampler};
pub use seen::{Seen, thread_waits};
pub use thread::{Had, Thread, migrations};
pub(crate) use waiting::find_by_call;
