//! Options of `overhead`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::failure::Failure;

/// Options of `overhead`.
#[derive(Debug, Args)]
pub struct Overhead {
    /// Passes of each layer, in turn [without: as many as fit 15 seconds; 6 with --quick, 60 with --full]
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=overhead::MOST_ROUNDS as i64))]
    pub rounds: Option<u32>,
    /// The CPU that bound layers run on [without: a fast one with few interrupts]
    #[arg(long, value_name = "N")]
    pub cpu: Option<u32>,
    /// Time kernel threads, too, with and without interrupts: builds a module for the running kernel, loads and unloads it;
    /// requires root, the kernel's headers, make and a compiler
    #[arg(long)]
    pub kernel: bool,
    /// The same with a module that this linespeed built for this kernel before
    #[arg(long, value_name = "FILE")]
    pub kernel_module: Option<PathBuf>,
    /// Guests: none; raw KVM without any other software; full, also an operating system under QEMU [without: raw]
    #[arg(long, value_enum, value_name = "GUESTS")]
    pub vm: Option<Vm>,
    /// The kernel that the full guest boots; implies --vm full [without: the running one]
    #[arg(long, value_name = "FILE")]
    pub vm_kernel: Option<PathBuf>,
    /// A module that this linespeed built for the full guest's kernel before; implies --vm full [without: --kernel builds one,
    /// if the headers of that kernel are installed]
    #[arg(long, value_name = "FILE")]
    pub vm_module: Option<PathBuf>,
}

/// Which guests are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Vm {
    /// No guest
    None,
    /// Raw KVM, in user mode and in kernel mode
    Raw,
    /// Raw, and full: a kernel under QEMU, with linespeed as its first process
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
