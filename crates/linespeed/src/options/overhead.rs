//! Options of `overhead`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::failure::Failure;

/// Options of `overhead`.
#[derive(Debug, Args)]
pub struct Overhead {
    /// Passes of each layer, in turn; without: as many as fit 15 seconds (6 seconds with --quick, 60 with --full)
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=overhead::MOST_ROUNDS as i64))]
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
    /// A kernel module that this linespeed has built for the whole guest's kernel before, and --vm full; without, --kernel
    /// builds one, if the headers of the guest's kernel are installed here
    #[arg(long, value_name = "FILE")]
    pub vm_module: Option<PathBuf>,
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
    /// A kernel, or a module, for a guest that is not asked for.
    pub fn guests(&self) -> Result<Vm, Failure> {
        let kernel = self.vm_kernel.as_ref().map(|_| "--vm-kernel names the kernel");
        let module = self.vm_module.as_ref().map(|_| "--vm-module names the kernel module");
        match (self.vm, kernel.or(module)) {
            (None, Some(_)) => Ok(Vm::Full),
            (Some(Vm::None | Vm::Raw), Some(names)) => {
                Err(Failure::Usage(format!("{names} of the whole guest; it goes with --vm full")))
            }
            (vm, None) => Ok(vm.unwrap_or(Vm::Raw)),
            (Some(Vm::Full), Some(_)) => Ok(Vm::Full),
        }
    }
}

pub(super) const OVERHEAD_HELP: &str = "\
A pass counts the primes below 1,000,000 by trial division, in portions of some 20 ms; the layers take turns portion by \
portion. Times are in cycles of the core's own clock, which is measured beside each portion. --cpus LIST is where a program \
that is not bound may run.

The kernel module is unloaded however linespeed ends, killed or not. The whole guest needs QEMU; where KVM does not run it at the \
processor's speed, it counts the primes once, and its times are withheld. With --kernel, threads of the guest's kernel are \
timed as well: of a machine without modules, name another kernel with --vm-kernel.

Exit codes: 0 done; 2 wrong usage; 3 could not do it, or layers did not do the same work; 128+n on signal n, after writing \
the passes that were whole.";
