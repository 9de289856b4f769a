//! Kernel services: pinning, memory and its placement, child processes, the guardian that outlives this process, and
//! atomic file writes. Nothing here measures or interprets.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![warn(unreachable_pub)]

pub mod child;
mod error;
mod file_limit;
pub mod guardian;
pub mod kept_key;
pub mod mapping;
mod memory;
pub mod pin;
pub mod placement;
pub mod places;
pub mod procfs;
pub mod signals;
mod stop;
mod suspended;
pub mod terminal;
mod thread;
mod user;
pub mod whole_file;

pub use file_limit::raise_file_limit;
pub use guardian::Guardian;
pub use memory::{
    address_space_left, bind_to_node, memory_available, memory_used, node_of_page, nodes_of_pages,
    stack_limit,
};
pub use stop::Stop;
pub use suspended::suspended;
pub use thread::{
    current_cpu, fifo_remedy, hold_idle_states, minor_faults, process_cpu_ns, set_fifo, set_highest_weight,
    set_timer_slack, switches, thread_cpu_ns, thread_id, timer_slack, with_fifo,
};
pub use user::{Assumed, Invoker, effective_user, is_ours, is_root, name_of, others_may_change, user_name};
