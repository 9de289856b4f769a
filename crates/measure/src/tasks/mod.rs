//! The activity of threads of any process, observed from outside: their states, what they wait for, and their on-CPU and run-queue time.
//!
//! [`Sampler`] watches a set of processes and what they start, a command of ours or running services, and reports what could
//! not be read.

mod calls;
mod program;
mod sampler;
mod seen;
mod spells;
pub(crate) mod thread;
mod turns;
mod waiting;

pub(crate) use calls::{Machine, purpose};
pub use calls::Waiting;
pub use sampler::{Effort, FIRST, Sampler};
pub use seen::{Seen, thread_waits};
pub use thread::{Had, Thread, migrations};
pub(crate) use waiting::find_by_call;
