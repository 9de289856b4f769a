//! Determines the kind of KVM on this machine, and compares the routine in its guests with the routine outside:
//! `cargo run --release -p linespeed-overhead --example guest [both [MODULE.ko…]]`.
//!
//! With `both`, it first loads the given KVM modules. It exits with 1 if a guest counted incorrectly or ran different
//! bytes, and with 3 if no guest runs or, with `both`, if not both guests run.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::ExitCode;

use kernels::primes;
use overhead::{Layer, Ticks, crc32, kvm_guest};

static STOP: os::Stop = os::Stop::new();

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = if arguments.first().is_some_and(|word| word == "both") { 2 } else { 1 };
    for module in arguments.iter().skip(1) {
        if let Err(error) = load(module) {
            println!("{module}: {error}");
            return ExitCode::from(3);
        }
    }
    let ticks = Ticks::calibrate();
    let cpu = os::pin::allowed().and_then(|cpus| cpus.iter().next()).unwrap_or(0);
    let from = ticks.now();
    let counted = primes::count(0, primes::LIMIT);
    println!("outside: {counted} primes in {:.6} s", ticks.since(from));
    let from = ticks.now();
    let found = kvm_guest::probe(Path::new(kvm_guest::PATH), cpu, None, (ticks, &STOP));
    println!("KVM: {}; found out in {:.3} s", found.kind.word(), ticks.since(from));
    let (mut right, mut many) = (true, 0);
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
                many += 1;
                right &= pass.primes == primes::KNOWN && pass.crc == crc32(primes::code());
                println!(
                    "guest {mode}: {} primes in {:.6} s, CRC {:08x} at {:#x} of its page",
                    pass.primes, pass.seconds, pass.crc, pass.page_offset
                );
            }
            Err(failure) => {
                right = false;
                println!("guest {mode}: {}", failure.reason);
            }
        }
    }
    match (right, many >= wanted) {
        (false, _) => ExitCode::from(1),
        (true, false) => ExitCode::from(3),
        (true, true) => ExitCode::SUCCESS,
    }
}

/// Loads a kernel module, unless it is already loaded.
fn load(path: &str) -> io::Result<()> {
    let file = File::open(path)?;
    // SAFETY: the descriptor is open, and the parameters end with a zero byte.
    let done = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) };
    match io::Error::last_os_error() {
        _ if done == 0 => Ok(()),
        error if error.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        error => Err(error),
    }
}
