//! Parsers of Linux's data about a running machine, one file per family of sources. They convert text into counts since
//! boot.

pub(crate) mod clock;
pub(crate) mod counts;
pub(crate) mod cpu_times;
pub(crate) mod numa;
pub(crate) mod quota;
pub(crate) mod sensors;
