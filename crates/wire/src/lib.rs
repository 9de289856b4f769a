//! Communication between a host and a virtual machine that runs linespeed as its init process: the initial file system, instructions
//! on the kernel command line, and frames over a serial port for all results.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod cpio;
mod frame;
mod orders;

pub use cpio::{Archive, TooLong, first_file_system};
pub use frame::{Frame, Kind, LARGEST, Reader, crc32, encode};
pub use orders::Orders;

/// The path of the program's record in the virtual machine.
pub const RECORD: &str = "/record.json";

/// If this is passed instead of linespeed's arguments, the machine counts primes, as requested by the host over the serial port.
pub const COUNT: &str = "count-primes";
