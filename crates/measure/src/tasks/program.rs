//! Programs of observed threads: the meaning of their system calls, and whether their idle threads park on a futex.

use std::cell::OnceCell;
use std::fs::File;
use std::os::unix::fs::FileExt;

use super::calls::{Machine, Waiting};
use super::waiting::find_reason;

/// A section that Go's linker always writes, even in stripped binaries.
const GO: &[u8] = b".go.buildinfo";
/// Maximum number of bytes of section names to read.
const MOST_NAMES: u64 = 64 << 10;

/// The properties of a program that determine the meaning of its threads' system calls.
#[derive(Clone, Debug)]
pub(super) struct Program {
    machine: Option<Machine>,
    /// Whether this is a Go program, once determined.
    is_go: OnceCell<bool>,
}

impl Program {
    pub(super) fn of_process(pid: i32) -> Self {
        Self { machine: Machine::of_process(pid), is_go: OnceCell::new() }
    }

    /// The reason why a thread of this program waits, from [`find_reason`].
    pub(super) fn find_reason(&self, pid: i32, tid: i32, state: char) -> Option<Waiting> {
        let waiting = find_reason(pid, tid, state, self.machine)?;
        let is_go = || *self.is_go.get_or_init(|| Self::is_go(pid));
        Some(if matches!(waiting, Waiting::Timed | Waiting::Lock) && is_go() {
            Waiting::Unknown
        } else {
            waiting
        })
    }

    /// Whether a process runs a Go program, according to the section names of its file. The kernel cannot see waits of
    /// goroutines, and idle threads park on a futex that is not a lock.
    fn is_go(pid: i32) -> bool {
        let names = || {
            let file = File::open(format!("/proc/{pid}/exe")).ok()?;
            let mut head = [0; 64];
            file.read_exact_at(&mut head, 0).ok()?;
            let number = |at: usize, bytes: usize| {
                head[at..at + bytes].iter().rev().fold(0, |number: u64, byte| number << 8 | u64::from(*byte))
            };
            // e_shoff, e_shentsize and e_shstrndx (elf(5)); sh_offset and sh_size of the section of names.
            let mut section = [0; 16];
            let at = number(40, 8).checked_add(number(58, 2) * number(62, 2))?.checked_add(24)?;
            file.read_exact_at(&mut section, at).ok()?;
            let [offset, size] = [&section[..8], &section[8..]]
                .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()));
            let mut names = vec![0; size.min(MOST_NAMES) as usize];
            file.read_exact_at(&mut names, offset).ok()?;
            Some(names)
        };
        names().is_some_and(|names| names.windows(GO.len()).any(|part| part == GO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_rust_is_none_of_go() {
        assert!(!Program::is_go(std::process::id() as i32));
        assert!(!Program::is_go(i32::MAX));
    }
}
