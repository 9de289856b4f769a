//! KVM's interface to programs: numbers and structures of `include/uapi/linux/kvm.h` and of each architecture's
//! `asm/kvm.h`, which never change.

use std::ffi::{c_int, c_ulong};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The only version that there has been since Linux 2.6.22.
pub(super) const VERSION: c_int = 12;

/// The part of a request's number that says that the kernel reads the argument (`_IOW`).
const READ_BY_KERNEL: c_ulong = 1;

/// `_IOC` of `asm-generic/ioctl.h` with KVM's letter.
const fn request(direction: c_ulong, number: c_ulong, bytes: usize) -> c_ulong {
    direction << 30 | (bytes as c_ulong) << 16 | 0xae << 8 | number
}

pub(super) const GET_API_VERSION: c_ulong = request(0, 0x00, 0);
pub(super) const CREATE_VM: c_ulong = request(0, 0x01, 0);
#[cfg(target_arch = "aarch64")]
pub(super) const CHECK_EXTENSION: c_ulong = request(0, 0x03, 0);
pub(super) const GET_VCPU_MMAP_SIZE: c_ulong = request(0, 0x04, 0);
pub(super) const CREATE_VCPU: c_ulong = request(0, 0x41, 0);
pub(super) const SET_USER_MEMORY_REGION: c_ulong = request(READ_BY_KERNEL, 0x46, size_of::<MemoryRegion>());
pub(super) const RUN: c_ulong = request(0, 0x80, 0);
/// The structure's size stands without the mask itself.
pub(super) const SET_SIGNAL_MASK: c_ulong = request(READ_BY_KERNEL, 0x8b, 4);

/// `struct kvm_userspace_memory_region`.
#[repr(C)]
#[derive(Debug, Default)]
pub(super) struct MemoryRegion {
    pub slot: u32,
    pub flags: u32,
    pub guest_address: u64,
    pub bytes: u64,
    pub host_address: u64,
}

/// `struct kvm_signal_mask` with the kernel's 64 signals.
#[repr(C, packed(4))]
#[derive(Debug)]
pub(super) struct SignalMask {
    pub bytes: u32,
    pub blocked: u64,
}

/// Places in `struct kvm_run`, the page that a virtual CPU shares with its program.
pub(super) mod run {
    pub(crate) const IMMEDIATE_EXIT: usize = 1;
    pub(crate) const EXIT_REASON: usize = 8;
    /// Of `io`: the port.
    pub(crate) const PORT: usize = 34;
    /// Of `io`: 1 when the guest writes.
    pub(crate) const PORT_WRITTEN: usize = 32;
    /// Of `mmio`: the address.
    pub(crate) const ADDRESS: usize = 32;
    /// Of `mmio`: 1 when the guest writes.
    pub(crate) const STORED: usize = 52;
    /// All that is read of it.
    pub(crate) const BYTES: usize = 56;
}

pub(super) const EXIT_IO: u32 = 2;
pub(super) const EXIT_MMIO: u32 = 6;
pub(super) const EXIT_SHUTDOWN: u32 = 8;
pub(super) const EXIT_FAIL_ENTRY: u32 = 9;
pub(super) const EXIT_INTERNAL_ERROR: u32 = 17;

/// A request whose argument is a number.
pub(super) fn ask(descriptor: BorrowedFd<'_>, request: c_ulong, argument: c_ulong) -> io::Result<c_int> {
    // SAFETY: none of KVM's requests that take a number touches memory of this process; to what is no KVM
    // device the number is unknown.
    let answer = unsafe { libc::ioctl(descriptor.as_raw_fd(), request as libc::Ioctl, argument) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// A request whose argument is a structure, which the kernel reads or fills.
///
/// # Safety
///
/// `T` must be what the request takes: all zero bytes, and whatever the kernel writes, must be values of it.
pub(super) unsafe fn tell<T>(
    descriptor: BorrowedFd<'_>,
    request: c_ulong,
    argument: &mut T,
) -> io::Result<()> {
    // SAFETY: the structure is live, and of the size that the caller answers for.
    let answer = unsafe { libc::ioctl(descriptor.as_raw_fd(), request as libc::Ioctl, argument) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers as a compiler of C makes them from the kernel's headers.
    #[test]
    fn requests_have_the_kernels_numbers() {
        assert_eq!(
            [GET_API_VERSION, CREATE_VM, GET_VCPU_MMAP_SIZE, CREATE_VCPU, SET_USER_MEMORY_REGION, RUN],
            [0xae00, 0xae01, 0xae04, 0xae41, 0x4020_ae46, 0xae80]
        );
        assert_eq!((SET_SIGNAL_MASK, size_of::<SignalMask>()), (0x4004_ae8b, 12));
    }
}
