//! Options of `overhead`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::failure::Failure;

/// Options of `overhead`.
#[derive(Debug, Args)]
pub struct Overhead {
    /// Passes of each layer, in turn; without: as many as fit 15 seconds (6 with --quick, 60 with --full)
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=measure::layers::MOST_ROUNDS as i64))]
    pub rounds: Option<u32>,
    /// The CPU that layers are bound to; without: of the fastest ones one that has few interrupts
    #[arg(long, value_name = "N")]
    pub cpu: Option<u32>,
    /// Kernel threads too, with interrupts and without: a kernel module is built for the running kernel, loaded, and unloaded
    /// at the end; needs root, the kernel's headers, make and a compiler
    #[arg(long)]
    pub kernel: bool,
    /// The same with a module that this linespeed has built for this kernel before
    #[arg(long, value_name = "FILE")]
    pub kernel_module: Option<PathBuf>,
    /// Guests: none; raw, of KVM with no other software; full, a whole operating system under QEMU beside those
    /// [without: raw]
    #[arg(long, value_enum, value_name = "GUESTS")]
    pub vm: Option<Vm>,
    /// The kernel that the whole guest boots, and --vm full; without: the one that runs here
    #[arg(long, value_name = "FILE")]
    pub vm_kernel: Option<PathBuf>,
}

/// Which guests are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Vm {
    /// None
    None,
    /// Of raw KVM, in user mode and in kernel mode
    Raw,
    /// Those, and a whole one: a kernel under QEMU, with linespeed as its first process
    Full,
}

impl Overhead {
    /// The guests that are asked for.
    ///
    /// # Errors
    ///
    /// A kernel for a guest that is not asked for.
    pub fn guests(&self) -> Result<Vm, Failure> {
        match (self.vm, &self.vm_kernel) {
            (None, Some(_)) => Ok(Vm::Full),
            (Some(Vm::None | Vm::Raw), Some(_)) => Err(Failure::Usage(
                "--vm-kernel names the kernel of the whole guest; it goes with --vm full".to_owned(),
            )),
            (vm, _) => Ok(vm.unwrap_or(Vm::Raw)),
        }
    }
}

pub(super) const OVERHEAD_HELP: &str = "\
A pass counts the primes below 1,000,000 by trial division, in portions of some 20 ms; the layers take turns portion by \
portion. Times are in cycles of the core's own clock, which is measured beside each portion. --cpus LIST is where a program \
that is not bound may run.

The kernel module is unloaded however linespeed ends, killed or not. The whole guest needs QEMU; where KVM does not run it at the \
processor's speed, it counts the primes once, and its times are withheld.

Exit codes: 0 done; 2 wrong usage; 3 could not do it, or layers did not do the same work; 128+n on signal n, after writing \
the passes that were whole.";
