//! What a virtual machine with linespeed as its first program and its host say to each other: its first file system,
//! orders on the kernel's command line, and frames over a serial port for everything that comes back.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod cpio;
mod frame;
mod orders;

pub use cpio::{Archive, TooLong, first_file_system};
pub use frame::{Frame, Kind, LARGEST, Reader, crc32, encode};
pub use orders::Orders;

/// Where the program writes its record, in the machine.
pub const RECORD: &str = "/record.json";

/// Instead of linespeed's arguments: the machine is to count primes as its host asks over the serial port.
pub const COUNT: &str = "count-primes";
