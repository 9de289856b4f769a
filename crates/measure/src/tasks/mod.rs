//! What the threads of any processes do, looked at from outside: their states, what they wait in, their time on a CPU and
//! ready for one.
//!
//! [`Sampler`] watches a set of processes and what they start, a command of ours or services that run already, and says what
//! could not be read.

mod calls;
mod sampler;
mod spells;
mod thread;
mod waiting;
mod waits;

pub use calls::Waiting;
pub use sampler::{FIRST, Sampler, Seen, Waits};
pub use thread::{Had, Thread, migrations};
pub(crate) use thread::{list_threads, switches};
pub use waits::WaitLooks;
