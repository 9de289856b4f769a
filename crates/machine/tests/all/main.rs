//! Reads captured, synthetic and corrupted trees of other machines.

mod captured;
mod hostile;
mod identity;
mod limits;
mod root;
mod shapes;
mod smbios;
mod support;
