//! What a machine of the lab and its host say to each other: orders on the kernel's command line, and frames over a
//! serial port for everything that comes back.

mod frame;
mod orders;

pub use frame::{Frame, Kind, LARGEST, Reader, encode};
pub use orders::{Orders, OrdersError};

/// Where the program writes its record, in the machine.
pub const RECORD: &str = "/record.json";
