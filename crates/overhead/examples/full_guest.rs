//! Boots a whole guest that counts primes in its program and in its kernel:
//! `cargo run -p linespeed-overhead --example full_guest KERNEL LINESPEED MODULE`, with a static linespeed and
//! linespeed's module for that kernel. The guest runs on this machine's first two CPUs, under KVM or emulation, and
//! everything except times is checked: those are meaningless if QEMU emulates.

use std::path::PathBuf;
use std::process::ExitCode;

use kernels::primes;
use overhead::kernel_module::{BuildDirectory, Source};
use overhead::kvm_guest::{self, Kind};
use overhead::{Layer, Layers, Ticks, crc32, portions, whole_guest};

static STOP: os::Stop = os::Stop::new();

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [kernel, program, module] = arguments.as_slice() else {
        eprintln!("usage: full_guest KERNEL LINESPEED MODULE");
        return ExitCode::from(2);
    };
    let cpus: Vec<u32> = os::pin::allowed().iter().flat_map(|cpus| cpus.iter()).take(2).collect();
    let Some(cpu) = cpus.first().copied() else {
        eprintln!("full_guest: no CPU may be used");
        return ExitCode::from(3);
    };
    let kvm: Kind = kvm_guest::probe(kvm_guest::PATH.as_ref(), cpu, None, (Ticks::calibrate(), &STOP)).kind;
    let (module, build_directory) = (Some(Source::File(module)), &BuildDirectory::default());
    let other = cpus.get(1).copied();
    let kernel = Some(kernel.as_path());
    let spec =
        whole_guest::WholeGuest { kernel, module, build_directory, program, cpu, other, kvm, stop: &STOP };
    let Layers { running: rows, missing } = whole_guest::boot(&spec);
    for (name, failure) in &missing {
        println!("{name}: {}", failure.reason);
    }
    // Unpinned layers need a second CPU, and nothing else may be missing.
    let expected = if other.is_some() { 0 } else { 2 };
    let mut well = missing.len() == expected && missing.iter().all(|(name, _)| name.bound.is_none());
    for mut layer in rows {
        match counted(layer.as_mut()) {
            Ok(primes) => println!("{}: {primes} primes with the same bytes", layer.name()),
            Err(why) => {
                println!("{}: {why}", layer.name());
                well = false;
            }
        }
    }
    if well { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// Counts all primes, in the same portions as `overhead`.
fn counted(layer: &mut dyn Layer) -> Result<u64, String> {
    let (name, mut found) = (layer.name(), 0);
    for portion in portions() {
        let pass = layer.pass(portion).map_err(|failure| failure.reason.to_string())?;
        if (pass.crc, pass.page_offset) != (crc32(primes::code()), 0) {
            return Err(format!("other bytes: CRC-32 {:08x} at {}", pass.crc, pass.page_offset));
        }
        if !(pass.seconds > 0.0 && pass.clock > 0.0 && pass.clock.is_finite()) {
            return Err(format!("times that cannot be: {pass:?}"));
        }
        // In user mode, the machine's kernel counts its interrupts; with interrupts off, there are none.
        if !name.interrupts && pass.disturbed.interrupts != Some(0) {
            return Err(format!("interrupts while they were off: {:?}", pass.disturbed));
        }
        found += pass.primes;
    }
    if found == primes::KNOWN { Ok(found) } else { Err(format!("{found} primes, not {}", primes::KNOWN)) }
}
