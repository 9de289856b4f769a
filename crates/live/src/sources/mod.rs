//! What Linux tells of a machine at work, a file a family of sources: texts in, counts since boot out.

pub(crate) mod clock;
pub(crate) mod counts;
pub(crate) mod cpu_times;
pub(crate) mod numa;
pub(crate) mod quota;
pub(crate) mod sensors;
