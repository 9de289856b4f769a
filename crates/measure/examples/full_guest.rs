//! A whole guest that counts primes: `cargo run -p linespeed-measure --example full_guest KERNEL LINESPEED`, with a
//! static linespeed. It ends with 3 where it cannot be had, which an emulated one never can.

use std::path::PathBuf;
use std::process::ExitCode;

use kernels::primes;
use measure::layers::guest::{self, Kind};
use measure::layers::{Layer, Ticks, full};

static STOP: measure::Stop = measure::Stop::new();

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(kernel), Some(program)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: full_guest KERNEL LINESPEED");
        return ExitCode::from(2);
    };
    let cpu = measure::pin::allowed().and_then(|cpus| cpus.iter().next()).unwrap_or(0);
    let kvm: Kind = guest::find(guest::PATH.as_ref(), cpu, None, (Ticks::calibrate(), &STOP)).kind;
    let parts = full::Parts { kernel: Some(&kernel), program: &program, cpu, kvm, stop: &STOP };
    match full::start(&parts).and_then(|mut full| full.pass(0..primes::LIMIT)) {
        Ok(pass) => {
            println!(
                "{}: {} primes in {:.6} s, clock {:.0} Hz",
                full::name(cpu),
                pass.primes,
                pass.seconds,
                pass.clock
            );
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("{}: {}; {}", full::name(cpu), failure.reason, failure.remedy.unwrap_or_default());
            ExitCode::from(3)
        }
    }
}
