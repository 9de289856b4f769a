//! Captured, made-up and spoiled trees of other machines, read.

mod captured;
mod hostile;
mod identity;
mod limits;
mod root;
mod shapes;
mod smbios;
mod support;
