//! The knobs that make a machine steady for measuring: read, set, put back.
//!
//! Nothing here measures. [`form`] knows how files spell their values, [`files`] reads and writes them below any root,
//! [`change`] is one value from old to new, [`journal`] keeps what was old on disk, [`apply`] writes and puts back.

pub mod apply;
pub mod audit;
pub mod change;
pub mod files;
pub mod form;
pub mod guardian;
pub mod journal;
pub mod knob;
pub mod knobs;
pub mod place;
pub mod session;
