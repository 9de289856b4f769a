//! A virtual machine with 64 KiB of memory and one vCPU.

use std::io;
use std::os::fd::AsRawFd;

use kvm_bindings::kvm_userspace_memory_region;
use kvm_ioctls::{VcpuExit, VcpuFd, VmFd};
use record::text;

use super::device::Device;
use super::processor;
use crate::Unavailable;
use os::mapping::{Mapping, Page};

/// The size of the guest's memory, which starts at address 0. It is a multiple of the largest base page size of any host.
pub(super) const BYTES: usize = 64 << 10;
/// An address beyond the memory: a store to it exits the guest.
pub(super) const OUTSIDE: u64 = 0x2_0000;
/// The signal that interrupts a running vCPU. Other recipients ignore this signal.
pub(super) const INTERRUPT: libc::c_int = libc::SIGURG;

/// The reason why the guest stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// The guest wrote to this port.
    Port(u16),
    /// The guest stored to this address outside its memory.
    Store(u64),
    /// An exception shut the guest down. On x86-64, every exception does.
    Shutdown,
    /// The signal interrupted the guest.
    Interrupted,
    /// The processor or KVM refused to run the guest, with this reason code.
    Refused(u32),
    /// Another exit, with KVM's exit number.
    Other(u32),
}

/// The virtual machine, which is destroyed when this value is dropped.
#[derive(Debug)]
pub(super) struct Machine {
    // The fields are dropped in this order: the vCPU, the machine, the memory that the machine uses.
    pub(super) cpu: VcpuFd,
    _machine: VmFd,
    memory: Mapping,
}

unsafe extern "C" {
    static linespeed_guest: u8;
    static linespeed_guest_end: u8;
}

/// The addresses of the last level of the guest's page table, of the guest's code and of the routine.
pub(super) const LAST_TABLE: u64 = 0x3000;
pub(super) const CODE: u64 = 0x5000;
pub(super) const ROUTINE: u64 = 0x6000;

/// Adds the name of the failed KVM request to an error.
pub(super) fn failed<E: Into<io::Error>>(request: &'static str) -> impl Fn(E) -> Unavailable {
    move |error| Unavailable::new(text!("KVM: {request}: {error}", error = error.into()))
}

impl Machine {
    /// Creates a machine on this device, with zeroed memory and a CPU in reset state.
    pub(crate) fn new(device: &Device) -> Result<Self, Unavailable> {
        let machine = device.machine(processor::kind(device))?;
        processor::before_cpu(&machine)?;
        let memory = Mapping::new(BYTES, Page::Base).map_err(failed("guest memory"))?;
        let region = kvm_userspace_memory_region {
            memory_size: BYTES as u64,
            userspace_addr: memory.start().addr() as u64,
            ..kvm_userspace_memory_region::default()
        };
        // SAFETY: the memory outlives the machine, and is only touched through raw pointers, while the guest does not run.
        unsafe { machine.set_user_memory_region(region) }.map_err(failed("KVM_SET_USER_MEMORY_REGION"))?;
        let cpu = machine.create_vcpu(0).map_err(failed("KVM_CREATE_VCPU"))?;
        mask_signals(&cpu).map_err(failed("KVM_SET_SIGNAL_MASK"))?;
        processor::after_cpu(device, &machine, &cpu)?;
        Ok(Self { cpu, _machine: machine, memory })
    }

    /// Writes to the guest's memory. If the range exceeds the memory, nothing is written and the result is `false`.
    #[must_use]
    pub(crate) fn write(&self, address: usize, bytes: &[u8]) -> bool {
        let fits = address.checked_add(bytes.len()).is_some_and(|end| end <= BYTES);
        if fits {
            // SAFETY: the range is within the mapping, which is not accessed by anything else while the guest is
            // stopped.
            unsafe { self.memory.start().add(address).copy_from(bytes.as_ptr(), bytes.len()) };
        }
        fits
    }

    /// Writes 64-bit words to the guest's memory.
    #[must_use]
    pub(crate) fn write_words(&self, address: usize, words: &[u64]) -> bool {
        words.iter().enumerate().all(|(at, word)| self.write(address + at * 8, &word.to_le_bytes()))
    }

    /// Writes the guest's code, the routine, and the last level of the page table, whose entries have the bits `inside`
    /// for the memory and the bits `outside` for the page beyond it.
    #[must_use]
    pub(super) fn write_code(&self, inside: u64, outside: u64) -> bool {
        let (start, end) = (&raw const linespeed_guest, &raw const linespeed_guest_end);
        // SAFETY: both symbols are in the same readable section, and the end symbol follows the start symbol.
        let code = unsafe { std::slice::from_raw_parts(start, end.addr() - start.addr()) };
        let mut pages = [0; 512];
        for (page, entry) in pages.iter_mut().enumerate().take(BYTES / 4096) {
            *entry = (page as u64) << 12 | inside;
        }
        pages[(OUTSIDE >> 12) as usize] = OUTSIDE | outside;
        self.write_words(LAST_TABLE as usize, &pages)
            && self.write(CODE as usize, code)
            && self.write(ROUTINE as usize, kernels::primes::code())
    }

    /// Reads the guest's memory; `None` if the range exceeds the memory.
    pub(crate) fn read(&self, address: usize, bytes: usize) -> Option<Vec<u8>> {
        let fits = address.checked_add(bytes).is_some_and(|end| end <= BYTES);
        fits.then(|| {
            let mut read = vec![0; bytes];
            // SAFETY: as in `write`.
            unsafe { self.memory.start().add(address).copy_to(read.as_mut_ptr(), bytes) };
            read
        })
    }

    /// Runs the guest until it exits.
    pub(crate) fn run(&mut self) -> io::Result<Exit> {
        Ok(match self.cpu.run() {
            Ok(VcpuExit::IoOut(port, _)) => Exit::Port(port),
            Ok(VcpuExit::MmioWrite(address, _)) => Exit::Store(address),
            Ok(VcpuExit::Shutdown) => Exit::Shutdown,
            // The kernel uses a 32-bit number.
            Ok(VcpuExit::FailEntry(reason, _)) => Exit::Refused(reason as u32),
            Ok(VcpuExit::InternalError) => {
                let left = &self.cpu.get_kvm_run().__bindgen_anon_1;
                // SAFETY: the exit reason determines which part of the union the kernel has filled.
                Exit::Refused(unsafe { left.internal.suberror })
            }
            Ok(_) => Exit::Other(self.cpu.get_kvm_run().exit_reason),
            Err(error) if error.errno() == libc::EINTR => Exit::Interrupted,
            Err(error) => return Err(error.into()),
        })
    }

    /// Completes the instruction at which the guest exited but does not continue the guest, so that registers may be
    /// read and written.
    pub(crate) fn complete(&mut self) {
        self.cpu.set_kvm_immediate_exit(1);
        // The run ends as if it had been interrupted.
        let _ = self.cpu.run();
        self.cpu.set_kvm_immediate_exit(0);
    }
}

/// Blocks all signals except [`INTERRUPT`]. That signal is unblocked only while the guest runs, so that it is not lost if it arrives
/// earlier.
fn mask_signals(cpu: &VcpuFd) -> io::Result<()> {
    /// `_IOW(KVMIO, 0x8b, struct kvm_signal_mask)`: the structure's size without the mask itself.
    const SET_SIGNAL_MASK: u32 = 0x4004_ae8b;
    /// `struct kvm_signal_mask` with the kernel's 64 signals.
    #[repr(C, packed(4))]
    struct SignalMask {
        bytes: u32,
        blocked: u64,
    }
    let mask = SignalMask { bytes: 8, blocked: !(1 << (INTERRUPT - 1)) };
    // SAFETY: the structure has the type of the request, and outlives the call.
    match unsafe { libc::ioctl(cpu.as_raw_fd(), SET_SIGNAL_MASK as libc::Ioctl, &raw const mask) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
