//! What KVM this machine has, and the routine in its guests against the routine outside:
//! `cargo run --release -p linespeed-measure --example guest [DEVICE]`.
//!
//! It ends with 1 where a guest counted wrongly or ran other bytes, and with 3 where there is no guest at all.

use std::path::PathBuf;
use std::process::ExitCode;

use kernels::primes;
use measure::layers::{Layer, Ticks, crc32, guest};

fn main() -> ExitCode {
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from(guest::PATH), PathBuf::from);
    let ticks = Ticks::calibrate();
    let cpu = measure::pin::allowed().and_then(|cpus| cpus.iter().next()).unwrap_or(0);
    let from = ticks.now();
    let counted = primes::count(0, primes::LIMIT);
    println!("outside: {counted} primes in {:.6} s", ticks.since(from));
    let from = ticks.now();
    let found = guest::find(&path, cpu, None, ticks);
    println!("KVM: {} ({}); found out in {:.3} s", found.kind.word(), found.kind, ticks.since(from));
    let (mut right, mut some) = (true, false);
    for (mode, guest) in [("user", found.user), ("kernel", found.kernel)] {
        let mut guest = match guest {
            Ok(guest) => guest,
            Err(failure) => {
                println!("guest {mode}: {}; {}", failure.reason, failure.remedy.unwrap_or_default());
                continue;
            }
        };
        match guest.pass(0..primes::LIMIT) {
            Ok(pass) => {
                some = true;
                right &= pass.primes == primes::KNOWN && pass.crc == crc32(primes::code());
                println!(
                    "guest {mode}: {} primes in {:.6} s, CRC {:08x} at {:#x} of its page; left by {}",
                    pass.primes,
                    pass.seconds,
                    pass.crc,
                    pass.page_offset,
                    guest.way()
                );
            }
            Err(failure) => {
                right = false;
                println!("guest {mode}: {}", failure.reason);
            }
        }
    }
    match (some, right) {
        (_, false) => ExitCode::from(1),
        (false, true) => ExitCode::from(3),
        (true, true) => ExitCode::SUCCESS,
    }
}
