//! What all readers have in common: lines, scanners, and the parts of a record.

pub(crate) use record::{Label, Labels, Measurement, detail, metrics};

pub(crate) use crate::line::{Line, PendingLine};
pub(crate) use crate::numbers::{parse_decimal, parse_plain, parse_scaled, parse_whole};
pub(crate) use crate::scan::Document;
pub(crate) use crate::sink::Sink;
pub(crate) use crate::tool::{Command, Fit, Reader, Tool};
pub(crate) use crate::{numbers, scan};
