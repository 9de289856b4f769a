//! Parsers of what Linux reports about a running machine, one file per family of sources: text in, counts since boot out.

pub(crate) mod clock;
pub(crate) mod counts;
pub(crate) mod cpu_times;
pub(crate) mod numa;
pub(crate) mod quota;
pub(crate) mod sensors;
