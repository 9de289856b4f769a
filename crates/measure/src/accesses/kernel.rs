//! Why a thread is in the kernel: by the system call before the instruction at which user mode resumes.

use record::diagnosis::BoundKind;

use super::code::Site;
use crate::counters::Sample;
use crate::tasks::{Machine, Waiting, find_by_call};

/// Calls by their purpose, except for those in which threads wait: their numbers on x86-64, and those on aarch64, which
/// lacks some of them (linux/arch/x86/entry/syscalls/syscall_64.tbl and linux/scripts/syscall.tbl).
const CALLS: [(BoundKind, &[i64], &[i64]); 5] = [
    // clone, fork, vfork, execve, execveat, exit, exit_group, clone3
    (BoundKind::ProcessCreation, &[56, 57, 58, 59, 322, 60, 231, 435], &[220, 221, 281, 93, 94, 435]),
    // mmap, mprotect, munmap, brk, mremap, madvise
    (BoundKind::MemoryMapping, &[9, 10, 11, 12, 25, 28], &[222, 226, 215, 214, 216, 233]),
    // setitimer, timer_settime, timerfd_settime
    (BoundKind::Timers, &[38, 223, 286], &[103, 110, 86]),
    // open, openat, close, stat, fstat, newfstatat, statx, getdents64, lseek, access, faccessat, unlink, unlinkat, rename
    (
        BoundKind::FileIo,
        &[2, 257, 3, 4, 5, 262, 332, 217, 8, 21, 269, 87, 263, 82],
        &[56, 57, 80, 79, 291, 61, 62, 48, 35],
    ),
    // sched_yield
    (BoundKind::ContextSwitches, &[24], &[124]),
];

/// The purpose of a sample in the kernel; `None` if unknown. `link`: the name of a file that its process has open.
pub(super) fn kind(site: &Site, sample: &Sample, link: impl Fn(u64) -> Option<String>) -> Option<BoundKind> {
    let machine = if cfg!(target_arch = "aarch64") { Machine::Arm } else { Machine::X86 };
    if !site.calls {
        // No call: a missing page, or an interrupt.
        return site.names_memory.then_some(BoundKind::PageFaults);
    }
    // X8 holds the number, and RDI, RSI and RDX or X0 to X2 the arguments.
    let register = |number: usize| sample.registers.get(number).copied().unwrap_or(0);
    let (number, first, second, third) = match machine {
        Machine::Arm => (register(8) as i64, register(0), register(1), register(2)),
        Machine::X86 => (site.number?, register(7), register(6), register(2)),
    };
    let of_machine = |x86: &'static [i64], arm| if machine == Machine::Arm { arm } else { x86 };
    let own = CALLS.iter().find(|(_, x86, arm)| of_machine(x86, arm).contains(&number));
    own.map(|(kind, ..)| kind.clone()).or_else(|| {
        Some(match find_by_call(machine, (number, first, second, third), link)? {
            Waiting::Network => BoundKind::Network,
            Waiting::Disk | Waiting::Fsync | Waiting::Terminal | Waiting::Uninterruptible => {
                BoundKind::FileIo
            }
            Waiting::Sleep => BoundKind::Timers,
            Waiting::Mutex | Waiting::Lock => BoundKind::Futex,
            Waiting::Child => BoundKind::ProcessCreation,
            Waiting::Pipe | Waiting::Events => BoundKind::ContextSwitches,
            Waiting::Faults => BoundKind::PageFaults,
            Waiting::Unknown => return None,
        })
    })
}
