//! Options of `overhead`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::failure::Failure;

/// Options of `overhead`.
#[derive(Debug, Args)]
pub struct Overhead {
    /// Passes per layer [default: for 15 s]
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=overhead::MOST_ROUNDS as i64))]
    pub rounds: Option<u32>,
    /// CPU for pinned layers [default: a quiet one]
    #[arg(long, value_name = "N")]
    pub cpu: Option<u32>,
    /// Also time kernel threads, in a kernel module
    #[arg(long)]
    pub kernel: bool,
    /// Use a prebuilt kernel module
    #[arg(long, value_name = "FILE")]
    pub kernel_module: Option<PathBuf>,
    /// Guests: none, raw or full [default: raw]
    #[arg(long, value_enum, value_name = "GUESTS", hide_possible_values = true)]
    pub vm: Option<Vm>,
    /// Kernel of the full guest [default: the host's]
    #[arg(long, value_name = "FILE")]
    pub vm_kernel: Option<PathBuf>,
    /// Module built for the full guest's kernel
    #[arg(long, value_name = "FILE")]
    pub vm_module: Option<PathBuf>,
}

/// Which guests are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Vm {
    /// No guest
    None,
    /// A minimal KVM guest, in user mode and kernel mode
    Raw,
    /// Also a guest kernel in QEMU, with linespeed as its init process
    Full,
}

impl Overhead {
    /// The requested guests.
    ///
    /// # Errors
    ///
    /// A kernel or module is specified together with `--vm none` or `--vm raw`.
    pub fn guests(&self) -> Result<Vm, Failure> {
        let kernel = self.vm_kernel.as_ref().map(|_| "--vm-kernel specifies the kernel");
        let module = self.vm_module.as_ref().map(|_| "--vm-module specifies the module");
        match (self.vm, kernel.or(module)) {
            (None, Some(_)) => Ok(Vm::Full),
            (Some(Vm::None | Vm::Raw), Some(names)) => {
                Err(Failure::Usage(format!("{names} of the full guest; use it with --vm full")))
            }
            (vm, None) => Ok(vm.unwrap_or(Vm::Raw)),
            (Some(Vm::Full), Some(_)) => Ok(Vm::Full),
        }
    }
}
