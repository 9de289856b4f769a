//! Compares every declaration of instructions with the CPU: a child runs the kernel one instruction at a time under
//! ptrace, and the steps are counted. This is the only count that covers AVX-512.

use crate::driver::{Case, Memory, Run};
use crate::hold;

/// The exit status of a child that could not be traced.
const UNTRACED: i32 = 99;

/// Number of instructions that a child executes from its stop to its end in this run of `case`; `None` if ptrace is
/// unavailable (user-mode emulators).
fn steps(memory: &mut Memory, case: &Case, run: Run) -> Option<u64> {
    // SAFETY: the child calls only async-signal-safe functions and the kernel, which allocates nothing.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork: {}", std::io::Error::last_os_error());
    if child == 0 {
        // SAFETY: these system calls only affect this process.
        unsafe {
            if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0 {
                libc::_exit(UNTRACED);
            }
            libc::raise(libc::SIGSTOP);
        }
        memory.run(case, run);
        // SAFETY: ends this process without running exit handlers of its parent.
        unsafe { libc::_exit(0) }
    }
    let mut steps = 0;
    loop {
        let mut status = 0;
        // SAFETY: `status` is valid for the write, and `child` is a child of this process.
        let waited = unsafe { libc::waitpid(child, &mut status, libc::__WALL) };
        assert_eq!(waited, child, "waitpid: {}", std::io::Error::last_os_error());
        if libc::WIFEXITED(status) {
            match libc::WEXITSTATUS(status) {
                0 => return Some(steps),
                UNTRACED if cfg!(not(target_arch = "x86_64")) => return None,
                code => panic!("{case}: the child ended with {code}; is ptrace forbidden here?"),
            }
        }
        assert!(!libc::WIFSIGNALED(status), "{case}: the child died of signal {}", libc::WTERMSIG(status));
        let signal = libc::WSTOPSIG(status);
        assert!([libc::SIGSTOP, libc::SIGTRAP].contains(&signal), "{case}: the child met signal {signal}");
        // SAFETY: the child is stopped and traced by this thread.
        let stepped = unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, child, 0, 0) };
        assert_eq!(stepped, 0, "PTRACE_SINGLESTEP: {}", std::io::Error::last_os_error());
        steps += 1;
    }
}

#[test]
fn every_kernel_executes_as_many_instructions_as_it_declares() {
    let mut memory = Memory::new();
    let mut counts = Vec::new();
    for case in Case::all() {
        if !case.usable() {
            println!("{case}: not counted, this CPU cannot run it");
            continue;
        }
        let counted = (steps(&mut memory, &case, Run::Few), steps(&mut memory, &case, Run::Most));
        let (Some(few), Some(most)) = counted else {
            println!("not counted: no ptrace under this emulator");
            return;
        };
        counts.push((case.to_string(), case.declared(), few, most));
    }
    hold(&counts);
}
