//! Finds slow machines, and why they are slow, in the records of many machines that should perform alike. Each record is read into a
//! summary, and all further steps are pure functions of the summaries.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod baseline;
mod brief;
mod camps;
mod causes;
mod confirm;
mod explain;
mod group;
mod judge;
mod machines;
mod names;
mod past;
mod reading;
mod robust;
mod said;

pub use baseline::make_baseline;
pub use brief::{Brief, Figures, Known, Point};
pub use explain::explain;
pub use machines::newest_of_each;
pub use names::Names;
pub use past::{Asked, read_history};
pub use reading::{Collection, newest_records, read};
pub use said::{Input, judge_fleet};
