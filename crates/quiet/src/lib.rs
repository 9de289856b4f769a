//! The knobs that make a machine steady for measuring: read, set, put back.
//!
//! Nothing here measures. [`form`] knows how files spell their values, [`files`] reads and writes them below any root,
//! [`change`] is one value from old to new, [`journal`] keeps what was old on disk, [`apply`] writes and puts back.
//! [`holds`] are what lives with a process, [`undertaking`]s what is more than a value. [`audit`] looks at all [`knobs`],
//! and a [`session`] is the way from the lock to the values and back.

pub mod apply;
pub mod audit;
pub mod change;
pub mod files;
pub mod form;
pub mod guardian;
pub mod holds;
pub mod journal;
pub mod knob;
pub mod knobs;
pub mod place;
pub mod session;
pub mod turn;
pub mod undertaking;
