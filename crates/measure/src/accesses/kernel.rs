//! Determines why a thread is in the kernel, from the system call before the instruction at which user mode resumes.

use record::diagnosis::BoundKind;

use super::code::{Code, Origin, Site};
use crate::counters::Sample;
use crate::tasks::{Machine, Waiting, find_by_call, find_known};

/// Maximum number of functions that pass on a system call's number.
const PASSED: usize = 5;

/// The number of a system call. Functions such as `syscall` receive it as an argument; it is then a constant in one of
/// their callers, or on the stack.
fn number(mut origin: Origin, sample: &Sample, mut code: impl FnMut(u64) -> Option<Code>) -> Option<i64> {
    let [_, _, _, _, mut stack, mut frame, ..] = sample.registers;
    let first = stack;
    let word = |address: u64| {
        let from = usize::try_from(address.checked_sub(first)?).ok()?;
        Some(u64::from_le_bytes(*sample.stack.get(from..)?.first_chunk::<8>()?))
    };
    for passed in 0..PASSED {
        let register = match origin {
            Origin::Constant(number) => return i64::try_from(number).ok(),
            Origin::Slot(offset) => {
                return word(stack.checked_add_signed(offset)?).map(|number| i64::from(number as u32));
            }
            Origin::Argument(register) => register,
        };
        // The innermost function has no frame. The frames of the others are found if the program uses frame pointers.
        let caller = if passed == 0 { stack } else { frame.checked_add(8)? };
        if passed > 0 {
            frame = word(frame)?;
        }
        stack = caller.checked_add(8)?;
        origin = code(word(caller)?)?.origin(word(caller)?, register)?;
    }
    None
}

/// What the sampled thread did in the kernel; `None` if unknown. `link` returns the name of a file that the sampled
/// process has open, and `code` returns the process's code at an address.
pub(super) fn kind(
    site: &Site,
    sample: &Sample,
    link: impl Fn(u64) -> Option<String>,
    code: impl FnMut(u64) -> Option<Code>,
) -> Option<BoundKind> {
    let machine = if cfg!(target_arch = "aarch64") { Machine::Arm } else { Machine::X86 };
    if !site.calls {
        // Without a system call, the cause is a page fault or an interrupt.
        return site.names_memory.then_some(BoundKind::PageFaults);
    }
    // On Arm, X8 contains the number of the call. The arguments are in X0 to X3 on Arm, and in RDI, RSI, RDX and R10 on x86.
    let register = |number: usize| sample.registers.get(number).copied().unwrap_or(0);
    let (number, arguments) = match machine {
        Machine::Arm => (register(8) as i64, [0, 1, 2, 3].map(register)),
        Machine::X86 => (self::number(site.number?, sample, code)?, [7, 6, 2, 10].map(register)),
    };
    let call = find_known(machine, number)?;
    // Seconds and a fraction. Only the copy of the stack shows them, because the kernel changes the original when the call ends.
    let word = |address: u64| sample.on_stack(register(usize::from(site.stack())), address, 8);
    let is_zero = |address: u64| word(address) == Some(0) && word(address.wrapping_add(8)) == Some(0);
    let is_poll = match call.name {
        "poll" => arguments[2] as i32 == 0,
        "epoll_wait" | "epoll_pwait" => arguments[3] as i32 == 0,
        "ppoll" => is_zero(arguments[2]),
        "epoll_pwait2" => is_zero(arguments[3]),
        "select" | "pselect6" => is_zero(register(if machine == Machine::Arm { 4 } else { 8 })),
        _ => false,
    };
    call.kind.clone().or_else(|| {
        // With a timeout of 0, a call does not wait.
        if call.waits.is_none() || is_poll {
            return Some(BoundKind::Other(format!("syscall-{}", call.name)));
        }
        Some(match find_by_call(machine, (number, arguments), link)? {
            Waiting::Network => BoundKind::Network,
            Waiting::Sleep => BoundKind::Timers,
            Waiting::Mutex | Waiting::Timed | Waiting::Lock => BoundKind::Futex,
            Waiting::Child => BoundKind::ProcessCreation,
            Waiting::Pipe | Waiting::Events => BoundKind::ContextSwitches,
            Waiting::Faults => BoundKind::PageFaults,
            Waiting::Ring => BoundKind::Other(format!("syscall-{}", call.name)),
            Waiting::Unknown => return None,
            // Disks, servers and terminals.
            _ => BoundKind::FileIo,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accesses::code::Set;
    use crate::counters::REGISTERS;

    /// A function of a program: the code before an address that a call or system call returns to.
    const PADDING: &[u8] = &[0xc3, 0xcc, 0xcc];
    const CALL: &[u8] = &[0xe8, 0, 0, 0, 0];
    const SYSCALL: &[u8] = &[0x0f, 0x05];
    const STACK: u64 = 0x7ffe_0000_1000;

    /// The number, from the code of the innermost function and of its callers, the stack from the innermost function's
    /// stack pointer on (return address N: caller N), and the frame pointer.
    fn number_of(functions: &[&[&[u8]]], stack: &[u64], frame: u64) -> Option<i64> {
        let codes: Vec<(Code, u64)> = (0..)
            .zip(functions)
            .map(|(number, pieces)| {
                let bytes = [PADDING, &pieces.concat()].concat();
                let start = (number + 1) * 0x1000;
                let end = start + bytes.len() as u64;
                (Code::new(Set::X86, start, &[&bytes, &[0x90; 16][..]].concat()), end)
            })
            .collect();
        let mut registers = [0; REGISTERS];
        (registers[4], registers[5]) = (STACK, frame);
        let words = stack
            .iter()
            .map(|word| codes.get(*word as usize).filter(|_| *word > 0).map_or(*word, |code| code.1));
        let sample = Sample {
            pid: 1,
            tid: 1,
            cpu: 0,
            time: 0,
            ip: codes[0].1,
            in_kernel: true,
            registers,
            stack: words.flat_map(u64::to_le_bytes).collect(),
        };
        let site = Site::of(codes[0].0.clone(), codes[0].1);
        assert!(site.calls);
        number(site.number?, &sample, |address| {
            codes.iter().find(|(_, end)| *end == address).map(|code| code.0.clone())
        })
    }

    #[test]
    fn a_number_is_found_wherever_a_library_passes_it() {
        let write: &[u8] = &[0xb8, 1, 0, 0, 0];
        assert_eq!(number_of(&[&[write, SYSCALL]], &[], 0), Some(1));
        let read: &[u8] = &[0x31, 0xc0];
        assert_eq!(number_of(&[&[read, SYSCALL]], &[], 0), Some(0));
        // `syscall(SYS_futex, …)` of the GNU C library: endbr64; mov rax, rdi; mov rdi, rsi; mov rsi, rdx.
        let moves: &[u8] = &[0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6];
        let futex: &[u8] = &[0xbf, 202, 0, 0, 0, 0x31, 0xc0];
        let of_syscall: &[&[u8]] = &[moves, SYSCALL];
        assert_eq!(number_of(&[of_syscall, &[futex, CALL]], &[1, 0], 0), Some(202));
        // A caller that computes the number, and a stack that contains no return address.
        let computed: &[u8] = &[0x8d, 0x7e, 0x05];
        assert_eq!(number_of(&[of_syscall, &[computed, CALL]], &[1, 0], 0), None);
        assert_eq!(number_of(&[of_syscall, &[futex, CALL]], &[77, 0], 0), None);
        assert_eq!(number_of(&[of_syscall, &[futex, CALL]], &[], 0), None);
        // Cancellable system calls since glibc 2.41: the number is on the stack of a caller, which then pushes two arguments.
        let second: &[u8] = &[0x48, 0x89, 0xf0];
        let pushed: &[u8] = &[0x48, 0x8b, 0x74, 0x24, 0x10, 0x41, 0x51, 0x41, 0x50];
        let stack = [1, 8, 9, 10, 11, 288];
        assert_eq!(number_of(&[&[second, SYSCALL], &[pushed, CALL]], &stack, 0), Some(288));
        // Go: the number stays in RAX through two functions, and is then an argument on the stack.
        let enter: &[u8] = &[0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x08];
        let loaded: &[u8] = &[0x48, 0x8b, 0x44, 0x24, 0x08, 0x31, 0xdb];
        let of_go: &[&[&[u8]]] = &[&[&[0x48, 0x89, 0xdf], SYSCALL], &[enter, CALL], &[loaded, CALL]];
        let stack = [1, 0, STACK + 64, 2, 0, 44];
        assert_eq!(number_of(of_go, &stack, STACK + 16), Some(44));
    }

    #[test]
    fn a_select_without_a_timeout_is_the_call_itself() {
        if cfg!(target_arch = "aarch64") {
            return;
        }
        // The number of the call in EAX, the register of its timeout, and the files that it names.
        for (number, pointer, name) in [(270_u16, 8, "pselect6"), (23, 8, "select"), (271, 2, "ppoll")] {
            let [low, high] = number.to_le_bytes();
            let bytes = [PADDING, &[0xb8, low, high, 0, 0], SYSCALL].concat();
            let end = 0x1000 + bytes.len() as u64;
            let site = Site::of(Code::new(Set::X86, 0x1000, &[&bytes, &[0x90; 16][..]].concat()), end);
            let of = |timeout: Option<(u64, u64)>| {
                let mut registers = [0; REGISTERS];
                (registers[7], registers[6], registers[4]) = (1, 1, STACK);
                registers[pointer] = timeout.map_or(0, |_| STACK + 8);
                let (seconds, part) = timeout.unwrap_or_default();
                let stack = [7, seconds, part].into_iter().flat_map(u64::to_le_bytes).collect();
                let (ip, in_kernel) = (end, true);
                let sample = Sample { pid: 1, tid: 1, cpu: 0, time: 0, ip, in_kernel, registers, stack };
                kind(&site, &sample, |_| None, |_| None).unwrap()
            };
            assert_eq!(of(Some((0, 0))), BoundKind::Other(format!("syscall-{name}")));
            for waits in [None, Some((1, 0)), Some((0, 1))] {
                assert_eq!(of(waits), BoundKind::ContextSwitches, "{name} {waits:?}");
            }
        }
    }

    #[test]
    fn a_poll_without_a_timeout_is_the_call_itself() {
        if cfg!(target_arch = "aarch64") {
            return;
        }
        // mov $7,%eax; syscall.
        let bytes = [PADDING, &[0xb8, 7, 0, 0, 0], SYSCALL].concat();
        let end = 0x1000 + bytes.len() as u64;
        let site = Site::of(Code::new(Set::X86, 0x1000, &[&bytes, &[0x90; 16][..]].concat()), end);
        let of = |timeout: i64| {
            let mut registers = [0; REGISTERS];
            // RDX: the timeout; RSI: the number of files.
            (registers[2], registers[6]) = (timeout as u64, 1);
            let (ip, stack) = (end, Vec::new());
            let sample = Sample { pid: 1, tid: 1, cpu: 0, time: 0, ip, in_kernel: true, registers, stack };
            kind(&site, &sample, |_| None, |_| None)
        };
        assert_eq!(of(0), Some(BoundKind::Other("syscall-poll".to_owned())));
        assert_eq!([of(-1), of(100)], [Some(BoundKind::ContextSwitches), Some(BoundKind::ContextSwitches)]);
    }
}
