//! What KVM this machine has, and the routine in its guests against the routine outside:
//! `cargo run --release -p linespeed-overhead --example guest [both [MODULE.ko…]]`.
//!
//! With `both` it loads KVM's modules first, where they are named. It ends with 1 where a guest counted wrongly or ran
//! other bytes, and with 3 where there is no guest at all, or with `both` not the two.

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

/// Loads a module of the kernel; one that is loaded already is none to load.
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
