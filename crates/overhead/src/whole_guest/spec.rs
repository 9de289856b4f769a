//! What a whole guest is made of.

use std::path::Path;

use super::protocol::Place;
use crate::kernel_module::{BuildDirectory, Source};
use crate::kvm_guest::Kind;
use os::Stop;

/// Where the routine runs in it. With interrupts off nothing moves a thread, bound or not.
pub(super) const PLACES: [Place; 5] = [
    Place { kernel: false, bound: false, interrupts: true },
    Place { kernel: false, bound: true, interrupts: true },
    Place { kernel: true, bound: false, interrupts: true },
    Place { kernel: true, bound: true, interrupts: true },
    Place { kernel: true, bound: true, interrupts: false },
];

/// What the machine is made of.
#[derive(Clone, Copy, Debug)]
pub struct WholeGuest<'a> {
    /// The kernel, or the one that runs here.
    pub kernel: Option<&'a Path>,
    /// Where the module for it comes from; `None` where nobody asks for kernel mode.
    pub module: Option<Source<'a>>,
    /// Where it is built.
    pub build_directory: &'a BuildDirectory,
    /// linespeed, a static program: the machine's first process.
    pub program: &'a Path,
    /// The CPU to which the machine's first CPU is bound: what is bound runs there.
    pub cpu: u32,
    /// The CPU of the machine's second one, if it has one: what is not bound may run there, too.
    pub other: Option<u32>,
    /// What KVM there is: where it runs kernels at the processor's speed it is used, otherwise QEMU emulates.
    pub kvm: Kind,
    /// Whether to stop waiting for the machine.
    pub stop: &'static Stop,
}

impl WholeGuest<'_> {
    pub(super) fn emulated(&self) -> bool {
        !matches!(self.kvm, Kind::Hardware | Kind::Nested)
    }

    /// The places that are asked for.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> + use<> {
        let kernel = self.module.is_some();
        PLACES.into_iter().filter(move |place| kernel || !place.kernel)
    }
}
