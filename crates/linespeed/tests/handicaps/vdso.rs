//! Takes the vDSO from a program: it then reads the clock by a system call, as it does where the clocksource lies in a
//! device.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command};

use crate::support::confine::Confine;

/// <linux/auxvec.h>: the address of the vDSO, and an entry that nobody looks at.
const AT_SYSINFO_EHDR: u64 = 33;
const AT_IGNORE: u64 = 1;

/// Starts a command whose program finds no vDSO.
pub fn spawn_without(command: Command) -> io::Result<Child> {
    let mut command = command.step(|| {
        // SAFETY: takes numbers; the thread that forks traces.
        check(unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } as i32)
    });
    let child = command.spawn()?;
    let pid = child.id() as i32;
    let mut status = 0;
    // SAFETY: the status outlives the call. The program stands at its first instruction then.
    check(unsafe { libc::waitpid(pid, &mut status, libc::WUNTRACED) })?;
    if !libc::WIFSTOPPED(status) {
        return Err(io::Error::other("the program did not stop at its beginning"));
    }
    let hidden = hide(pid);
    // SAFETY: takes numbers; the child is stopped and ours.
    check(unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0) } as i32)?;
    hidden.map(|()| child)
}

/// Overwrites the entry in the vector that the kernel put on the program's stack.
fn hide(pid: i32) -> io::Result<()> {
    let vector = std::fs::read(format!("/proc/{pid}/auxv"))?;
    let entry = vector.chunks_exact(16).position(|pair| pair[..8] == AT_SYSINFO_EHDR.to_ne_bytes());
    let entry = entry.ok_or_else(|| io::Error::other("the kernel gives programs no vDSO"))?;
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let stack = maps.lines().find(|line| line.ends_with("[stack]"));
    let range = stack.and_then(|line| line.split(' ').next()?.split_once('-'));
    let address = |text: &str| u64::from_str_radix(text, 16).map_err(io::Error::other);
    let (low, high) = range.ok_or_else(|| io::Error::other("the program has no stack"))?;
    let (low, high) = (address(low)?, address(high)?);
    let memory = File::options().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
    let mut bytes = vec![0; (high - low) as usize];
    memory.read_exact_at(&mut bytes, low)?;
    // All of it but the zeros that /proc may add behind its end.
    let sought = &vector[..(entry + 1) * 16];
    let at = bytes.windows(sought.len()).position(|window| window == sought);
    let at = at.ok_or_else(|| io::Error::other("the vector is not on the stack"))?;
    memory.write_all_at(&AT_IGNORE.to_ne_bytes(), low + (at + entry * 16) as u64)
}

fn check(code: i32) -> io::Result<()> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
