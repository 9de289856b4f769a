//! A virtual machine of 64 KiB and one virtual CPU.

use record::{Template, text};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::abi::{self, MemoryRegion, SignalMask};
use super::device::Device;
use super::processor;
use crate::Unavailable;
use os::mapping::{Mapping, Page};

/// The guest's memory, from address 0 on: a multiple of the largest base page that a host can have.
pub(super) const BYTES: usize = 64 << 10;
/// An address beyond it: a store there leaves the guest.
pub(super) const OUTSIDE: u64 = 0x2_0000;
/// The signal that takes a virtual CPU out of the guest. Whoever gets it otherwise ignores it.
pub(super) const INTERRUPT: libc::c_int = libc::SIGURG;

/// Why the guest was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// It wrote to this port.
    Port(u16),
    /// It stored something at this address outside its memory.
    Store(u64),
    /// It met what it cannot handle: all of its exceptions end so on x86-64.
    Shutdown,
    /// The signal came.
    Interrupted,
    /// The processor or KVM refused it, for this reason of theirs.
    Refused(u32),
    /// Something else, by KVM's number.
    Other(u32),
}

/// The machine. Everything of it ends when it is dropped.
#[derive(Debug)]
pub(super) struct Machine {
    // In this order: the virtual CPU's page, the CPU, the machine, the memory that it uses.
    shared: Shared,
    cpu: OwnedFd,
    #[cfg_attr(target_arch = "x86_64", expect(dead_code, reason = "it lives as long as its descriptor"))]
    machine: OwnedFd,
    memory: Mapping,
}

/// The guest needs more memory than it has.
pub(super) const CODE_TOO_LARGE: Template =
    Template { code: "kvm-code-too-large", words: "the guest's code does not fit into its memory" };

/// The request of KVM's interface that failed.
fn failed(request: &'static str) -> impl Fn(io::Error) -> Unavailable {
    move |error| Unavailable::new(text!("KVM: {request}: {error}", request, error))
}

impl Machine {
    /// Makes one on this device; its memory is zero and its CPU as after a reset.
    pub(crate) fn new(device: &Device) -> Result<Self, Unavailable> {
        let machine = device.machine(processor::kind(device))?;
        processor::before_cpu(&machine).map_err(failed("KVM_SET_TSS_ADDR"))?;
        let memory = Mapping::new(BYTES, Page::Base).map_err(failed("guest memory"))?;
        let mut region = MemoryRegion {
            bytes: BYTES as u64,
            host_address: memory.start().addr() as u64,
            ..MemoryRegion::default()
        };
        // SAFETY: the structure is the request's; the memory outlives the machine, and is only touched through
        // raw pointers, while the guest does not run.
        unsafe { abi::tell(machine.as_fd(), abi::SET_USER_MEMORY_REGION, &mut region) }
            .map_err(failed("KVM_SET_USER_MEMORY_REGION"))?;
        let cpu = abi::ask(machine.as_fd(), abi::CREATE_VCPU, 0).map_err(failed("KVM_CREATE_VCPU"))?;
        // SAFETY: the kernel has just made this descriptor, and nobody else knows it.
        let cpu = unsafe { OwnedFd::from_raw_fd(cpu) };
        let bytes =
            abi::ask(device.as_fd(), abi::GET_VCPU_MMAP_SIZE, 0).map_err(failed("KVM_GET_VCPU_MMAP_SIZE"))?;
        let shared = Shared::map(cpu.as_fd(), bytes as usize).map_err(failed("mmap"))?;
        // All signals stay away but the one, and that only while the guest runs: nothing can be missed between.
        let mut mask = SignalMask { bytes: 8, blocked: !(1 << (INTERRUPT - 1)) };
        // SAFETY: the structure is the request's.
        unsafe { abi::tell(cpu.as_fd(), abi::SET_SIGNAL_MASK, &mut mask) }
            .map_err(failed("KVM_SET_SIGNAL_MASK"))?;
        let machine = Self { shared, cpu, machine, memory };
        processor::after_cpu(device, &machine)?;
        Ok(machine)
    }

    /// Its virtual CPU.
    pub(crate) fn cpu(&self) -> BorrowedFd<'_> {
        self.cpu.as_fd()
    }

    /// The machine itself.
    #[cfg(target_arch = "aarch64")]
    pub(super) fn whole(&self) -> BorrowedFd<'_> {
        self.machine.as_fd()
    }

    /// Writes to its memory; false, and nothing written, where that does not reach.
    #[must_use]
    pub(crate) fn write(&self, address: usize, bytes: &[u8]) -> bool {
        let fits = address.checked_add(bytes.len()).is_some_and(|end| end <= BYTES);
        if fits {
            // SAFETY: the range lies within the mapping, which nobody else touches while the guest does not run.
            unsafe { self.memory.start().add(address).copy_from(bytes.as_ptr(), bytes.len()) };
        }
        fits
    }

    /// Writes 64-bit words to its memory.
    #[must_use]
    pub(crate) fn write_words(&self, address: usize, words: &[u64]) -> bool {
        words.iter().enumerate().all(|(at, word)| self.write(address + at * 8, &word.to_le_bytes()))
    }

    /// What stands in its memory; `None` where that does not reach.
    pub(crate) fn read(&self, address: usize, bytes: usize) -> Option<Vec<u8>> {
        let fits = address.checked_add(bytes).is_some_and(|end| end <= BYTES);
        fits.then(|| {
            let mut read = vec![0; bytes];
            // SAFETY: as in `write`.
            unsafe { self.memory.start().add(address).copy_to(read.as_mut_ptr(), bytes) };
            read
        })
    }

    /// Runs the guest until it is left.
    pub(crate) fn run(&self) -> io::Result<Exit> {
        match abi::ask(self.cpu(), abi::RUN, 0) {
            Ok(_) => Ok(self.exit()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Exit::Interrupted),
            Err(error) => Err(error),
        }
    }

    /// Completes the instruction that the guest was left at, so that registers may be read and written, without
    /// running on.
    pub(crate) fn complete(&self) {
        self.shared.write_byte(abi::run::IMMEDIATE_EXIT, 1);
        // It ends as if interrupted.
        let _ = abi::ask(self.cpu(), abi::RUN, 0);
        self.shared.write_byte(abi::run::IMMEDIATE_EXIT, 0);
    }

    fn exit(&self) -> Exit {
        let at = |place| self.shared.byte(place);
        let word = |place| u32::from_le_bytes([at(place), at(place + 1), at(place + 2), at(place + 3)]);
        let long = |place| u64::from(word(place)) | u64::from(word(place + 4)) << 32;
        match word(abi::run::EXIT_REASON) {
            abi::EXIT_IO if at(abi::run::PORT_WRITTEN) == 1 => {
                Exit::Port(u16::from_le_bytes([at(abi::run::PORT), at(abi::run::PORT + 1)]))
            }
            abi::EXIT_MMIO if at(abi::run::STORED) == 1 => Exit::Store(long(abi::run::ADDRESS)),
            abi::EXIT_SHUTDOWN => Exit::Shutdown,
            abi::EXIT_FAIL_ENTRY | abi::EXIT_INTERNAL_ERROR => Exit::Refused(word(abi::run::ADDRESS)),
            other => Exit::Other(other),
        }
    }
}

/// The page that a virtual CPU shares with its program.
#[derive(Debug)]
struct Shared {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: plain memory, touched through volatile accesses; it goes from thread to thread with its machine.
unsafe impl Send for Shared {}

impl Shared {
    fn map(cpu: BorrowedFd<'_>, bytes: usize) -> io::Result<Self> {
        if bytes < abi::run::BYTES {
            return Err(io::Error::other(format!("it has {bytes} bytes")));
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, cpu.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start: start.cast(), bytes })
    }

    fn byte(&self, place: usize) -> u8 {
        if place >= self.bytes {
            return 0;
        }
        // SAFETY: within the mapping; the kernel writes it, hence volatile.
        unsafe { self.start.add(place).read_volatile() }
    }

    fn write_byte(&self, place: usize, value: u8) {
        if place < self.bytes {
            // SAFETY: as in `byte`.
            unsafe { self.start.add(place).write_volatile(value) };
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody holds its address any longer.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}
