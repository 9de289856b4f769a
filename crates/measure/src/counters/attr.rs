//! The `perf_event_open` interface: the attribute block read by the kernel, the call, and the controls of an open
//! event. Layout, bits and numbers are from `include/uapi/linux/perf_event.h`, a stable interface.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// `PERF_TYPE_SOFTWARE`: the kernel's software events.
pub(super) const TYPE_SOFTWARE: u32 = 1;

/// `PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING`.
const FORMAT_TIMES: u64 = 1 | 2;
/// `PERF_FORMAT_GROUP`: one read returns all events of a group, counted over the same time.
const FORMAT_GROUP: u64 = 8;
/// `PERF_FLAG_PID_CGROUP`: the PID argument is the descriptor of a cgroup directory.
const FLAG_CGROUP: libc::c_ulong = 4;
/// `PERF_FLAG_FD_CLOEXEC`.
const FLAG_CLOEXEC: libc::c_ulong = 8;
/// `PERF_EVENT_IOC_ENABLE`, `_IO('$', 0)`.
const IOC_ENABLE: u32 = 0x2400;
/// `PERF_EVENT_IOC_DISABLE`, `_IO('$', 1)`.
const IOC_DISABLE: u32 = 0x2401;

/// `struct perf_event_attr` up to `config2` (`PERF_ATTR_SIZE_VER1`, 72 bytes). The kernel assumes zeros after it, so
/// that Linux 2.6.33 and later read the same block.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attr {
    pub kind: u32,
    pub size: u32,
    pub config: u64,
    pub sample_period: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub flags: u64,
    pub wakeup_events: u32,
    pub bp_type: u32,
    pub config1: u64,
    pub config2: u64,
}

/// The kernel's encoding of an event: the attribute's `type` and its three `config` words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Code {
    pub kind: u32,
    pub config: u64,
    pub config1: u64,
    pub config2: u64,
}

/// The mode in which an event is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mode {
    /// Starts disabled. In a group, only the leader starts disabled; the members follow it.
    pub disabled: bool,
    /// Also counts threads and processes started later.
    pub inherit: bool,
    /// Stays on the PMU whenever the thread runs; if that is impossible, the event is in an error state. Leaders only.
    pub pinned: bool,
    /// Enabled when the thread calls exec. Leaders only.
    pub enable_on_exec: bool,
    /// Excludes kernel and hypervisor: required for unprivileged users if `perf_event_paranoid` is 2.
    pub user_only: bool,
    /// Excludes user mode.
    pub kernel_only: bool,
    /// Excludes virtual machines run by this thread. Some PMUs (Apple's) require this.
    pub exclude_guest: bool,
    /// One read of the leader returns the whole group.
    pub group: bool,
}

impl Attr {
    /// The block for counting `code` in `mode`.
    pub(super) fn new(code: Code, mode: Mode) -> Self {
        let bits = [
            (mode.disabled, 0),
            (mode.inherit, 1),
            (mode.pinned, 2),
            (mode.kernel_only, 4),
            (mode.user_only, 5),
            (mode.user_only, 6),
            (mode.enable_on_exec, 12),
            (mode.exclude_guest, 20),
        ];
        Self {
            kind: code.kind,
            size: size_of::<Self>() as u32,
            config: code.config,
            config1: code.config1,
            config2: code.config2,
            read_format: FORMAT_TIMES | if mode.group { FORMAT_GROUP } else { 0 },
            flags: bits.iter().map(|(set, bit)| u64::from(*set) << bit).sum(),
            ..Self::default()
        }
    }
}

/// `PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER`: the
/// content of a sample, in this order.
const SAMPLE: u64 = 1 | 2 | 4 | 1 << 7 | 1 << 12 | 1 << 13;
/// Bytes of the stack that are copied, beginning at the stack pointer: enough for most unoptimized functions.
const STACK: u32 = 512;
/// `comm` and `comm_exec` request a record when a process starts another program (Linux 3.16), and `task` requests one
/// when it starts another process.
const NOTE_TASKS: u64 = 1 << 9 | 1 << 24 | 1 << 13;
/// `exclude_idle`.
const NOT_IDLE: u64 = 1 << 7;
/// `PERF_COUNT_SW_CPU_CLOCK`: a kernel timer that needs no PMU.
const CPU_CLOCK: u64 = 0;

/// `struct perf_event_attr` up to `sample_stack_user` and the rest of its word (`PERF_ATTR_SIZE_VER3`, 96 bytes; Linux
/// 3.7).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SampleAttr {
    counting: Attr,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    reserved: u32,
}

impl SampleAttr {
    /// Samples these user-mode registers every `period` ns while the CPU is in user mode, or, with `in_kernel`, also in
    /// the kernel. Idle CPUs are never sampled.
    pub(super) fn new(period: u64, registers: u64, in_kernel: bool) -> Self {
        let code = Code { kind: TYPE_SOFTWARE, config: CPU_CLOCK, ..Code::default() };
        let mut counting = Attr::new(code, Mode { user_only: !in_kernel, ..Mode::default() });
        counting.size = size_of::<Self>() as u32;
        counting.sample_period = period;
        counting.sample_type = SAMPLE;
        counting.flags |= NOTE_TASKS | NOT_IDLE;
        Self { counting, sample_regs_user: registers, sample_stack_user: STACK, ..Self::default() }
    }
}

/// The scope in which events are counted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whose<'a> {
    /// Events of this thread (0: the caller) on any CPU.
    Thread(i32),
    /// All events on this CPU.
    Cpu(u32),
    /// Events of this cgroup, given by its open directory, on this CPU.
    GroupOnCpu(BorrowedFd<'a>, u32),
}

/// Opens an event as a member of `leader`'s group.
pub(super) fn open(attr: &Attr, whose: Whose, leader: Option<&OwnedFd>) -> io::Result<OwnedFd> {
    open_block(std::ptr::from_ref(attr).cast(), whose, leader)
}

/// Opens a sampling event.
pub(super) fn open_sampling(attr: &SampleAttr, whose: Whose) -> io::Result<OwnedFd> {
    open_block(std::ptr::from_ref(attr).cast(), whose, None)
}

/// `attr` must be a valid block whose second word is its size.
fn open_block(attr: *const libc::c_void, whose: Whose, leader: Option<&OwnedFd>) -> io::Result<OwnedFd> {
    let leader = leader.map_or(-1, |fd| fd.as_raw_fd());
    let (pid, cpu, flags) = match whose {
        Whose::Thread(pid) => (pid, -1, FLAG_CLOEXEC),
        Whose::Cpu(cpu) => (-1, cpu as i32, FLAG_CLOEXEC),
        Whose::GroupOnCpu(folder, cpu) => (folder.as_raw_fd(), cpu as i32, FLAG_CLOEXEC | FLAG_CGROUP),
    };
    // SAFETY: the kernel reads as many bytes of the block as its size field specifies, which is the size of its type.
    // The other arguments are integers.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, attr, pid, cpu, leader, flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call returned a descriptor that has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
}

/// Whether the kernel supports the call. User-mode emulators and kernels built without it do not.
pub(super) fn exists() -> bool {
    // SAFETY: without an attribute block, the call only fails.
    let code = unsafe {
        libc::syscall(libc::SYS_perf_event_open, std::ptr::null::<Attr>(), 0, -1, -1, FLAG_CLOEXEC)
    };
    code >= 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS)
}

fn control(fd: &OwnedFd, request: u32) {
    // SAFETY: these requests access no memory. They fail only for an invalid descriptor or an event in an error state,
    // which the next read reports.
    unsafe { libc::ioctl(fd.as_raw_fd(), request as libc::Ioctl, 0) };
}

/// Enables an event and the group that it leads.
pub(super) fn enable(fd: &OwnedFd) {
    control(fd, IOC_ENABLE);
}

/// Stops an event and the group that it leads.
pub(super) fn disable(fd: &OwnedFd) {
    control(fd, IOC_DISABLE);
}

/// Reads 64-bit words and returns their number. A pinned event without a free counter returns nothing.
pub(super) fn read(fd: &OwnedFd, words: &mut [u64]) -> io::Result<usize> {
    // SAFETY: the kernel writes at most the given number of bytes into a live slice.
    let bytes = unsafe { libc::read(fd.as_raw_fd(), words.as_mut_ptr().cast(), size_of_val(words)) };
    if bytes < 0 { Err(io::Error::last_os_error()) } else { Ok(bytes as usize / size_of::<u64>()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_block_lies_as_the_kernel_reads_it() {
        assert_eq!(size_of::<Attr>(), 72, "PERF_ATTR_SIZE_VER1");
        let offsets = [
            offset_of!(Attr, kind),
            offset_of!(Attr, size),
            offset_of!(Attr, config),
            offset_of!(Attr, read_format),
            offset_of!(Attr, flags),
            offset_of!(Attr, config1),
            offset_of!(Attr, config2),
        ];
        assert_eq!(offsets, [0, 4, 8, 32, 40, 56, 64]);
        assert_eq!(size_of::<SampleAttr>(), 96, "PERF_ATTR_SIZE_VER3");
        assert_eq!(offset_of!(SampleAttr, sample_regs_user), 80);
    }

    #[test]
    fn each_wish_is_its_bit() {
        let flags = |mode| Attr::new(Code::default(), mode).flags;
        assert_eq!(flags(Mode { disabled: true, ..Mode::default() }), 1);
        assert_eq!(flags(Mode { inherit: true, ..Mode::default() }), 1 << 1);
        assert_eq!(flags(Mode { pinned: true, ..Mode::default() }), 1 << 2);
        assert_eq!(flags(Mode { user_only: true, ..Mode::default() }), 1 << 5 | 1 << 6);
        assert_eq!(flags(Mode { kernel_only: true, ..Mode::default() }), 1 << 4);
        assert_eq!(flags(Mode { enable_on_exec: true, ..Mode::default() }), 1 << 12);
        assert_eq!(flags(Mode { exclude_guest: true, ..Mode::default() }), 1 << 20);
        assert_eq!(Attr::new(Code::default(), Mode { group: true, ..Mode::default() }).read_format, 11);
        assert_eq!(Attr::new(Code::default(), Mode::default()).read_format, 3);
    }
}
