//! Determines why a thread is in the kernel, from the system call before the instruction at which user mode resumes.

use record::diagnosis::BoundKind;

use super::code::Site;
use crate::counters::Sample;
use crate::tasks::{Machine, Waiting, find_by_call, find_known};

/// The purpose of a sample in the kernel; `None` if unknown. `link`: the name of a file that its process has open.
pub(super) fn kind(site: &Site, sample: &Sample, link: impl Fn(u64) -> Option<String>) -> Option<BoundKind> {
    let machine = if cfg!(target_arch = "aarch64") { Machine::Arm } else { Machine::X86 };
    if !site.calls {
        // No system call: a page fault or an interrupt.
        return site.names_memory.then_some(BoundKind::PageFaults);
    }
    // X8 contains the number; RDI, RSI and RDX or X0 to X2 contain the arguments.
    let register = |number: usize| sample.registers.get(number).copied().unwrap_or(0);
    let (number, first, second, third) = match machine {
        Machine::Arm => (register(8) as i64, register(0), register(1), register(2)),
        Machine::X86 => (site.number?, register(7), register(6), register(2)),
    };
    let call = find_known(machine, number)?;
    call.kind.clone().or_else(|| {
        if call.waits.is_none() {
            return Some(BoundKind::Other(format!("syscall-{}", call.name)));
        }
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
