//! The guest on aarch64. Address translation is enabled, because otherwise data would bypass the caches, and the
//! routine would be fetched differently from the other layers. The guest has one page table, and an exception table
//! that only signals exceptions.

use std::arch::global_asm;
use std::io;
use std::ops::Range;

use kvm_bindings::kvm_vcpu_init;
use kvm_ioctls::{VcpuFd, VmFd};
use record::{Text, text};

use super::device::Device;
use super::machine::{CODE, Exit, LAST_TABLE, Machine, OUTSIDE, ROUTINE};
use super::{Counted, ExitWay, Mode};
use crate::Unavailable;

// The guest's code: it reads the counter, calls the routine (x20) with the range in x0 and x1, reads the counter again,
// and exits with a store to the address in x19. An exception exits with a store 8 bytes beyond that address.
global_asm!(
    ".pushsection .rodata.linespeed_guest,\"a\",@progbits",
    ".p2align 2",
    ".globl linespeed_guest",
    ".hidden linespeed_guest",
    "linespeed_guest:",
    "isb",
    "mrs x21, cntvct_el0",
    "blr x20",
    "mov x22, x0",
    "isb",
    "mrs x23, cntvct_el0",
    "str x22, [x19]",
    "2: b 2b",
    ".globl linespeed_guest_end",
    ".hidden linespeed_guest_end",
    "linespeed_guest_end:",
    ".globl linespeed_guest_exception",
    ".hidden linespeed_guest_exception",
    "linespeed_guest_exception:",
    "str x19, [x19, #8]",
    "2: b 2b",
    ".popsection",
);

unsafe extern "C" {
    static linespeed_guest_exception: [u8; 8];
}

/// The layout of the guest's memory below the code: page tables (root first), the exception table.
const TABLES: usize = 0x1000;
const EXCEPTIONS: u64 = 0x4000;

/// Descriptor bits of a table, and of a page (with access flag and inner shareable).
const TABLE: u64 = 0b11;
const PAGE: u64 = 0b11 | 1 << 10 | 0b11 << 8;
/// The page is readable in both modes. A page that user mode may write to is not executable in kernel mode.
const READ_ONLY: u64 = 0b11 << 6;
const WRITABLE: u64 = 0b01 << 6;
/// Memory attributes: the first entry of MAIR_EL1 is for ordinary memory, the second one for devices.
const DEVICE: u64 = 1 << 2;
const NEVER_EXECUTED: u64 = 0b11 << 53;

/// The bits KVM_REG_ARM64 and KVM_REG_SIZE_U64 of a register ID.
const WORD: u64 = 0x6030_0000_0000_0000;

/// The ID of a system register, from its five numbers.
const fn system(op0: u64, op1: u64, crn: u64, crm: u64, op2: u64) -> u64 {
    WORD | 0x0013 << 16 | op0 << 14 | op1 << 11 | crn << 7 | crm << 3 | op2
}

/// x0 to x30 of `struct user_pt_regs`, which are addressed by their offset in 32-bit words.
const fn general(number: u64) -> u64 {
    WORD | 0x0010 << 16 | (2 * number)
}

const PC: u64 = general(32);
const PSTATE: u64 = general(33);
const SCTLR_EL1: u64 = system(3, 0, 1, 0, 0);
const TTBR0_EL1: u64 = system(3, 0, 2, 0, 0);
const TCR_EL1: u64 = system(3, 0, 2, 0, 2);
const MAIR_EL1: u64 = system(3, 0, 10, 2, 0);
const VBAR_EL1: u64 = system(3, 0, 12, 0, 0);
const CNTKCTL_EL1: u64 = system(3, 0, 14, 1, 0);
const ID_AA64MMFR0_EL1: u64 = system(3, 0, 0, 7, 0);

/// Ways to exit the guest; the first one that works is used.
pub(super) const WAYS: &[ExitWay] = &[ExitWay::Store];

/// The machine type to request: 40 address bits, or the supported maximum if that is lower.
pub(super) fn kind(device: &Device) -> u64 {
    if let bits @ 32..40 = device.kvm.get_host_ipa_limit() { bits as u64 } else { 0 }
}

/// On this architecture, there is nothing to do before the vCPU is created.
pub(super) fn before_cpu(_: &VmFd) -> Result<(), Unavailable> {
    Ok(())
}

/// Sets the type of the vCPU to that of the processor.
pub(super) fn after_cpu(_: &Device, machine: &VmFd, cpu: &VcpuFd) -> Result<(), Unavailable> {
    let mut target = kvm_vcpu_init::default();
    machine.get_preferred_target(&mut target).and_then(|()| cpu.vcpu_init(&target)).map_err(|error| {
        let error = io::Error::from(error);
        Unavailable::new(text!("KVM cannot create a vCPU of this type: {error}"))
    })?;
    let features = get(cpu, ID_AA64MMFR0_EL1)
        .map_err(|error| Unavailable::new(text!("KVM does not report the guest's page sizes: {error}")))?;
    if features >> 28 & 0xf == 0xf {
        return Err(
            text!("the processor does not support 4 KiB pages, which the guest's page table needs").into()
        );
    }
    Ok(())
}

fn set_all(cpu: &VcpuFd, registers: &[(u64, u64)]) -> io::Result<()> {
    for (name, value) in registers {
        cpu.set_one_reg(*name, &value.to_ne_bytes())?;
    }
    Ok(())
}

fn get(cpu: &VcpuFd, name: u64) -> io::Result<u64> {
    let mut value = [0; 8];
    cpu.get_one_reg(name, &mut value)?;
    Ok(u64::from_ne_bytes(value))
}

/// Writes the guest's tables and code; this is done only once. Returns whether they fit in its memory.
pub(super) fn prepare(machine: &Machine) -> bool {
    // SAFETY: the symbol is readable, and never written.
    let exception = unsafe { linespeed_guest_exception };
    machine.write_words(TABLES, &[0x2000 | TABLE])
        && machine.write_words(0x2000, &[LAST_TABLE | TABLE])
        && (0..16).all(|entry| machine.write(EXCEPTIONS as usize + entry * 0x80, &exception))
        && machine.write_code(PAGE | READ_ONLY, (PAGE & !(0b11 << 8)) | WRITABLE | DEVICE | NEVER_EXECUTED)
}

/// Counts primes in the guest.
pub(super) fn count(
    machine: &mut Machine,
    mode: Mode,
    way: ExitWay,
    range: &Range<u64>,
) -> io::Result<Counted> {
    debug_assert!(way == ExitWay::Store);
    set_all(
        &machine.cpu,
        &[
            // The first attribute is write-back memory, the second one device memory without gathering.
            (MAIR_EL1, 0x04ff),
            // TTBR0_EL1 translates 32 address bits in pages of 4 KiB, with tables in cacheable shared memory; TTBR1_EL1
            // is not used.
            (TCR_EL1, 32 | 1 << 8 | 1 << 10 | 0b11 << 12 | 32 << 16 | 1 << 23 | 0b10 << 30),
            (TTBR0_EL1, TABLES as u64),
            (VBAR_EL1, EXCEPTIONS),
            // User mode may read the counter.
            (CNTKCTL_EL1, 0b11),
            // Enables translation and the data and instruction caches; the other bits are 1 in all versions of the
            // architecture.
            (SCTLR_EL1, 0x30d0_0800 | 1 << 12 | 1 << 2 | 1),
            // All interrupts are masked. The guest runs in user mode, or in kernel mode with its own stack.
            (PSTATE, 0x3c0 | if mode == Mode::User { 0b0000 } else { 0b0101 }),
            (general(0), range.start),
            (general(1), range.end),
            (general(19), OUTSIDE),
            (general(20), ROUTINE),
            (PC, CODE),
        ],
    )?;
    let exit = machine.run()?;
    if matches!(exit, Exit::Store(_)) {
        machine.complete();
    }
    Ok(Counted {
        ended: exit == Exit::Store(OUTSIDE),
        exit,
        primes: get(&machine.cpu, general(22))?,
        from: get(&machine.cpu, general(21))?,
        to: get(&machine.cpu, general(23))?,
        routine: get(&machine.cpu, general(20))?,
    })
}

/// The reason why KVM may be missing, and the remedy.
pub(super) fn explain_absence() -> (Text, Text) {
    (
        text!("the kernel was built without KVM, or was not started at EL2"),
        text!(
            "measure on bare metal; in a virtual machine, nested virtualization must be enabled on the host"
        ),
    )
}

/// Replaces the code with an endless loop, for tests.
#[cfg(test)]
pub(super) fn never_end(machine: &Machine) {
    // b to itself.
    assert!(machine.write(ROUTINE as usize, &[0, 0, 0, 0x14]));
}
