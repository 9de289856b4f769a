//! The guest on x86-64: 64-bit mode at once, one page table, no interrupt table, so that whatever goes wrong in it
//! ends it.

use record::{Text, text};
use std::arch::global_asm;
use std::ffi::c_ulong;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

use super::device::Device;
use super::machine::{Exit, Machine, OUTSIDE};
use super::{Counted, ExitWay, Mode, abi};
use crate::Unavailable;

// What the guest runs: reads the counter, calls the routine (r10) with the range in rdi and rsi, reads the counter
// again, and leaves: by a port, or by a store at the address in r14 where there is one.
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

unsafe extern "C" {
    static linespeed_guest: u8;
    static linespeed_guest_end: u8;
}

/// The port that says that the routine has ended: by the PC's map the mathematics coprocessor's, long unused.
const PORT: u16 = 0xf0;

/// Where things lie in the guest's memory: page tables from the root on, descriptors, the code, the routine, the
/// end of a stack.
const TABLES: u64 = 0x0000;
const DESCRIPTORS: u64 = 0x4000;
const TASK: u64 = 0x4800;
const CODE: u64 = 0x5000;
pub(super) const ROUTINE: u64 = 0x6000;
const STACK: u64 = 0x8000;

/// Present, writable, for user mode too.
const ENTRY: u64 = 0b111;

const SET_TSS_ADDRESS: c_ulong = 0xae47;
const GET_SUPPORTED_CPUID: c_ulong = 0xc008_ae05;
const SET_CPUID: c_ulong = 0x4008_ae90;
const GET_REGISTERS: c_ulong = 0x8090_ae81;
const SET_REGISTERS: c_ulong = 0x4090_ae82;
const GET_SYSTEM_REGISTERS: c_ulong = 0x8138_ae83;
const SET_SYSTEM_REGISTERS: c_ulong = 0x4138_ae84;

/// `struct kvm_regs`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Registers {
    rax: u64,
    rbx: u64,
    rcx: u64,
    rdx: u64,
    rsi: u64,
    rdi: u64,
    rsp: u64,
    rbp: u64,
    r8: u64,
    r9: u64,
    r10: u64,
    r11: u64,
    r12: u64,
    r13: u64,
    r14: u64,
    r15: u64,
    rip: u64,
    rflags: u64,
}

/// `struct kvm_segment`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    base: u64,
    limit: u32,
    selector: u16,
    kind: u8,
    present: u8,
    privilege: u8,
    wide: u8,
    code_or_data: u8,
    long: u8,
    in_pages: u8,
    available: u8,
    unusable: u8,
    padding: u8,
}

/// `struct kvm_dtable`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Table {
    base: u64,
    limit: u16,
    padding: [u16; 3],
}

/// `struct kvm_sregs`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct SystemRegisters {
    cs: Segment,
    ds: Segment,
    es: Segment,
    fs: Segment,
    gs: Segment,
    ss: Segment,
    tr: Segment,
    ldt: Segment,
    gdt: Table,
    idt: Table,
    cr0: u64,
    cr2: u64,
    cr3: u64,
    cr4: u64,
    cr8: u64,
    efer: u64,
    apic_base: u64,
    interrupts: [u64; 4],
}

/// Most entries of `struct kvm_cpuid2` that KVM has (KVM_MAX_CPUID_ENTRIES).
const CPUID_ENTRIES: usize = 256;

/// `struct kvm_cpuid2` with its entries of 40 bytes, which are only passed on.
#[repr(C)]
struct Cpuid {
    entries: u32,
    padding: u32,
    all: [[u32; 10]; CPUID_ENTRIES],
}

/// Ways out of the guest, the first that works is taken.
pub(super) const WAYS: &[ExitWay] = &[ExitWay::Port, ExitWay::Store];

/// The kind of machine to ask for.
pub(super) fn kind(_: &Device) -> c_ulong {
    0
}

/// Intel's processors need three pages for KVM's own use, at an address that the guest does not touch; KVM's
/// documents ask for it before there is a virtual CPU.
pub(super) fn before_cpu(machine: &OwnedFd) -> io::Result<()> {
    abi::ask(machine.as_fd(), SET_TSS_ADDRESS, 0xfffb_d000).map(drop)
}

/// Gives the virtual CPU what it can have of the processor.
pub(super) fn after_cpu(device: &Device, machine: &Machine) -> Result<(), Unavailable> {
    let mut cpuid =
        Box::new(Cpuid { entries: CPUID_ENTRIES as u32, padding: 0, all: [[0; 10]; CPUID_ENTRIES] });
    // SAFETY: the structure is that of both requests: the kernel writes as many entries as the count says.
    let set = unsafe {
        abi::tell(device.as_fd(), GET_SUPPORTED_CPUID, &mut *cpuid)
            .and_then(|()| abi::tell(machine.cpu(), SET_CPUID, &mut *cpuid))
    };
    set.map_err(|error| Unavailable::new(text!("KVM does not report the CPUID of a guest: {error}", error)))
}

/// Writes what the guest needs, once.
pub(super) fn prepare(machine: &Machine) -> Result<(), Unavailable> {
    let start = &raw const linespeed_guest;
    // SAFETY: both symbols stand in one section, the end after the start, and it is readable.
    let code =
        unsafe { std::slice::from_raw_parts(start, (&raw const linespeed_guest_end).addr() - start.addr()) };
    let mut pages = [0; 512];
    for (page, entry) in pages.iter_mut().enumerate().take(super::machine::BYTES / 4096) {
        *entry = (page as u64) << 12 | ENTRY;
    }
    pages[(OUTSIDE >> 12) as usize] = OUTSIDE | ENTRY;
    let written = machine.write_words(TABLES as usize, &[0x1000 | ENTRY])
        && machine.write_words(0x1000, &[0x2000 | ENTRY])
        && machine.write_words(0x2000, &[0x3000 | ENTRY])
        && machine.write_words(0x3000, &pages)
        // Null, code and data of the kernel, data and code of the user, the task (16 bytes).
        && machine.write_words(DESCRIPTORS as usize, &[
            0,
            0x00af_9b00_0000_ffff,
            0x00cf_9300_0000_ffff,
            0x00cf_f300_0000_ffff,
            0x00af_fb00_0000_ffff,
            0x0000_8b00_0000_0067 | TASK << 16,
            0,
        ])
        && machine.write(CODE as usize, code)
        && machine.write(ROUTINE as usize, kernels::primes::code());
    if written { Ok(()) } else { Err(Unavailable::new(super::machine::CODE_TOO_LARGE)) }
}

/// Counts in the guest.
pub(super) fn count(machine: &Machine, mode: Mode, way: ExitWay, range: &Range<u64>) -> io::Result<Counted> {
    let mut registers = Registers::default();
    enter(machine, mode)?;
    registers.rip = CODE;
    registers.rsp = STACK;
    registers.rdi = range.start;
    registers.rsi = range.end;
    registers.r10 = ROUTINE;
    registers.r14 = if way == ExitWay::Store { OUTSIDE } else { 0 };
    // Bit 1 is always set; bits 12 and 13 let user mode write to ports.
    registers.rflags = 0x3002;
    // SAFETY: the structure is the request's.
    unsafe { abi::tell(machine.cpu(), SET_REGISTERS, &mut registers)? };
    let exit = machine.run()?;
    let expected = match way {
        ExitWay::Port => Exit::Port(PORT),
        ExitWay::Store => Exit::Store(OUTSIDE),
    };
    if exit == expected {
        machine.complete();
    }
    // SAFETY: as above.
    unsafe { abi::tell(machine.cpu(), GET_REGISTERS, &mut registers)? };
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
    let mut system = SystemRegisters::default();
    // SAFETY: the structure is that of both requests.
    unsafe { abi::tell(machine.cpu(), GET_SYSTEM_REGISTERS, &mut system)? };
    let (code, data, privilege) = match mode {
        Mode::User => (0x23, 0x1b, 3),
        Mode::Kernel => (0x08, 0x10, 0),
    };
    let flat = Segment {
        limit: u32::MAX,
        selector: data,
        kind: 3, // data, writable, accessed
        present: 1,
        privilege,
        wide: 1,
        code_or_data: 1,
        in_pages: 1,
        ..Segment::default()
    };
    // Code, readable, accessed, 64-bit.
    system.cs = Segment { selector: code, kind: 11, wide: 0, long: 1, ..flat };
    [system.ds, system.es, system.fs, system.gs, system.ss] = [flat; 5];
    // A busy 64-bit task, which the processor demands, and no local table.
    system.tr =
        Segment { base: TASK, limit: 0x67, selector: 0x28, kind: 11, present: 1, ..Segment::default() };
    system.ldt = Segment { unusable: 1, ..Segment::default() };
    system.gdt = Table { base: DESCRIPTORS, limit: 0x37, ..Table::default() };
    system.idt = Table::default();
    system.cr3 = TABLES;
    system.cr4 = 1 << 5; // physical address extension
    system.cr0 = 1 << 31 | 1 << 5 | 1 << 4 | 1; // paging, numeric error, extension type, protection
    system.efer = 1 << 10 | 1 << 8; // long mode, active and enabled
    // SAFETY: as above.
    unsafe { abi::tell(machine.cpu(), SET_SYSTEM_REGISTERS, &mut system) }
}

/// Why there may be no KVM, by what the processor says of itself, and what would help.
pub(super) fn explain_absence() -> (Text, Text) {
    if virtualization() {
        (
            text!("the kernel module kvm_intel or kvm_amd is not loaded"),
            "sudo modprobe kvm_intel, or kvm_amd".into(),
        )
    } else if std::arch::x86_64::__cpuid(1).ecx & 1 << 31 != 0 {
        (
            text!("this virtual machine has no nested virtualization"),
            text!("have the host enable nested virtualization, or measure on the hardware itself"),
        )
    } else {
        (
            text!("the processor shows no virtualization (VMX or SVM)"),
            text!("enable VT-x or SVM in the firmware"),
        )
    }
}

/// Whether the processor shows VMX or SVM.
fn virtualization() -> bool {
    let intel = std::arch::x86_64::__cpuid(1).ecx & 1 << 5 != 0;
    let extended = std::arch::x86_64::__cpuid(0x8000_0000).eax;
    intel || (extended >= 0x8000_0001 && std::arch::x86_64::__cpuid(0x8000_0001).ecx & 1 << 2 != 0)
}

/// Passes that nothing of the code is the same after: so that tests see a guest that never ends.
#[cfg(test)]
pub(super) fn never_end(machine: &Machine) {
    // jmp to itself.
    assert!(machine.write(ROUTINE as usize, &[0xeb, 0xfe]));
}

// Kept from being forgotten: what the kernel fills must be as large as it thinks.
const _: () = assert!(
    size_of::<Registers>() == 0x90
        && size_of::<SystemRegisters>() == 0x138
        && size_of::<Cpuid>() == 8 + 40 * CPUID_ENTRIES
);
