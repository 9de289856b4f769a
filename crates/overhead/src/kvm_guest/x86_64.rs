//! The guest on x86-64. It starts in 64-bit mode, with one page table and no interrupt table, so that any exception
//! shuts it down.

use std::arch::global_asm;
use std::io;
use std::ops::Range;

use kvm_bindings::{KVM_MAX_CPUID_ENTRIES, kvm_dtable, kvm_regs, kvm_segment};
use kvm_ioctls::{VcpuFd, VmFd};
use record::{Text, text};

use super::device::Device;
use super::machine::{CODE, Exit, LAST_TABLE, Machine, OUTSIDE, ROUTINE, failed};
use super::{Counted, ExitWay, Mode};
use crate::Unavailable;

// The guest's code: it reads the counter, calls the routine (r10) with the range in rdi and rsi, reads the counter
// again, and exits. It exits with a store to the address in r14, or through a port if that address is 0.
global_asm!(
    ".pushsection .rodata.linespeed_guest,\"a\",@progbits",
    ".globl linespeed_guest",
    ".hidden linespeed_guest",
    "linespeed_guest:",
    "lfence",
    "rdtsc",
    "shl rdx, 32",
    "or rax, rdx",
    "mov r12, rax",
    "call r10",
    "mov rbx, rax",
    "lfence",
    "rdtsc",
    "shl rdx, 32",
    "or rax, rdx",
    "mov r13, rax",
    "test r14, r14",
    "jnz 2f",
    "mov edx, 0xf0",
    "out dx, al",
    "ud2",
    "2:",
    "mov byte ptr [r14], al",
    "ud2",
    ".globl linespeed_guest_end",
    ".hidden linespeed_guest_end",
    "linespeed_guest_end:",
    ".popsection",
);

/// The port that signals the end of the routine. On a PC, this is the port of the math coprocessor, which is no longer
/// used.
const PORT: u16 = 0xf0;

/// The layout of the guest's memory: page tables (root first), descriptors, the task segment, and, above the code, the
/// top of the stack.
const TABLES: u64 = 0x0000;
const DESCRIPTORS: u64 = 0x4000;
const TASK: u64 = 0x4800;
const STACK: u64 = 0x8000;

/// The page is present, writable, and accessible in user mode.
const ENTRY: u64 = 0b111;

/// Ways to exit the guest; the first one that works is used.
pub(super) const WAYS: &[ExitWay] = &[ExitWay::Port, ExitWay::Store];

/// The machine type to request.
pub(super) fn kind(_: &Device) -> u64 {
    0
}

/// Reserves three pages that KVM needs on Intel processors, at an address that the guest does not access. According to
/// KVM's documentation, this must be done before the first vCPU is created.
pub(super) fn before_cpu(machine: &VmFd) -> Result<(), Unavailable> {
    machine.set_tss_address(0xfffb_d000).map_err(failed("KVM_SET_TSS_ADDR"))
}

/// Enables all available processor features on the vCPU.
pub(super) fn after_cpu(device: &Device, _: &VmFd, cpu: &VcpuFd) -> Result<(), Unavailable> {
    let supported = device.kvm.get_supported_cpuid(KVM_MAX_CPUID_ENTRIES);
    supported.and_then(|cpuid| cpu.set_cpuid2(&cpuid)).map_err(|error| {
        let error = io::Error::from(error);
        Unavailable::new(text!("cannot set up the vCPU's CPUID in KVM: {error}"))
    })
}

/// Writes the guest's tables and code; this is done only once. Returns whether they fit in its memory.
pub(super) fn prepare(machine: &Machine) -> bool {
    machine.write_words(TABLES as usize, &[0x1000 | ENTRY])
        && machine.write_words(0x1000, &[0x2000 | ENTRY])
        && machine.write_words(0x2000, &[LAST_TABLE | ENTRY])
        // Segment descriptors: null, kernel code, kernel data, user data, user code, and the task segment (16 bytes).
        && machine.write_words(DESCRIPTORS as usize, &[
            0,
            0x00af_9b00_0000_ffff,
            0x00cf_9300_0000_ffff,
            0x00cf_f300_0000_ffff,
            0x00af_fb00_0000_ffff,
            0x0000_8b00_0000_0067 | TASK << 16,
            0,
        ])
        && machine.write_code(ENTRY, ENTRY)
}

/// Counts primes in the guest.
pub(super) fn count(
    machine: &mut Machine,
    mode: Mode,
    way: ExitWay,
    range: &Range<u64>,
) -> io::Result<Counted> {
    enter(machine, mode)?;
    machine.cpu.set_regs(&kvm_regs {
        rip: CODE,
        rsp: STACK,
        rdi: range.start,
        rsi: range.end,
        r10: ROUTINE,
        r14: if way == ExitWay::Store { OUTSIDE } else { 0 },
        // Bit 1 is always set; bits 12 and 13 let user mode write to ports.
        rflags: 0x3002,
        ..kvm_regs::default()
    })?;
    let exit = machine.run()?;
    let expected = match way {
        ExitWay::Port => Exit::Port(PORT),
        ExitWay::Store => Exit::Store(OUTSIDE),
    };
    if exit == expected {
        machine.complete();
    }
    let registers = machine.cpu.get_regs()?;
    Ok(Counted {
        ended: exit == expected,
        exit,
        primes: registers.rbx,
        from: registers.r12,
        to: registers.r13,
        routine: registers.r10,
    })
}

fn enter(machine: &Machine, mode: Mode) -> io::Result<()> {
    let mut system = machine.cpu.get_sregs()?;
    let (code, data, privilege) = match mode {
        Mode::User => (0x23, 0x1b, 3),
        Mode::Kernel => (0x08, 0x10, 0),
    };
    let flat = kvm_segment {
        limit: u32::MAX,
        selector: data,
        type_: 3, // data, writable, accessed
        present: 1,
        dpl: privilege,
        db: 1,
        s: 1,
        g: 1,
        ..kvm_segment::default()
    };
    // A readable, accessed 64-bit code segment.
    system.cs = kvm_segment { selector: code, type_: 11, db: 0, l: 1, ..flat };
    [system.ds, system.es, system.fs, system.gs, system.ss] = [flat; 5];
    // The processor requires a busy 64-bit task segment; there is no local descriptor table.
    let none = kvm_segment::default();
    system.tr = kvm_segment { base: TASK, limit: 0x67, selector: 0x28, type_: 11, present: 1, ..none };
    system.ldt = kvm_segment { unusable: 1, ..none };
    system.gdt = kvm_dtable { base: DESCRIPTORS, limit: 0x37, ..kvm_dtable::default() };
    system.idt = kvm_dtable::default();
    system.cr3 = TABLES;
    system.cr4 = 1 << 5; // physical address extension
    system.cr0 = 1 << 31 | 1 << 5 | 1 << 4 | 1; // paging, numeric error, extension type, protection
    system.efer = 1 << 10 | 1 << 8; // long mode, active and enabled
    Ok(machine.cpu.set_sregs(&system)?)
}

/// The likely reason why KVM is missing, according to the processor's features, and the remedy.
pub(super) fn explain_absence() -> (Text, Text) {
    if virtualization() {
        (
            text!("the kernel module kvm_intel or kvm_amd is not loaded"),
            "sudo modprobe kvm_intel, or kvm_amd".into(),
        )
    } else if std::arch::x86_64::__cpuid(1).ecx & 1 << 31 != 0 {
        (
            text!("this virtual machine has no nested virtualization"),
            text!("enable nested virtualization on the host, or measure on bare metal"),
        )
    } else {
        (
            text!("the processor reports no hardware virtualization (VMX or SVM)"),
            text!("enable VT-x or SVM in the firmware"),
        )
    }
}

/// Whether the processor reports VMX or SVM.
fn virtualization() -> bool {
    let intel = std::arch::x86_64::__cpuid(1).ecx & 1 << 5 != 0;
    let extended = std::arch::x86_64::__cpuid(0x8000_0000).eax;
    intel || (extended >= 0x8000_0001 && std::arch::x86_64::__cpuid(0x8000_0001).ecx & 1 << 2 != 0)
}

/// Replaces the code with an endless loop, for tests.
#[cfg(test)]
pub(super) fn never_end(machine: &Machine) {
    // jmp to itself.
    assert!(machine.write(ROUTINE as usize, &[0xeb, 0xfe]));
}
