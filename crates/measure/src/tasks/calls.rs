//! System calls in which threads wait, by the instruction set of the calling program: the kernel shows only a number.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::sync::LazyLock;

use serde::Deserialize;
use strum::IntoStaticStr;

/// What threads wait for. In this order: if several threads of a command wait, the first of these is the cause, since the others wait for the
/// threads in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Waiting {
    /// A disk.
    Disk,
    /// Written data on its way to a disk.
    Fsync,
    /// Uninterruptible sleep in an unseen call: the thread was ready again before the call was read.
    #[strum(serialize = "disk")]
    Uninterruptible,
    /// Memory to be read from a disk.
    Faults,
    /// A socket.
    Network,
    /// A person at a terminal.
    Terminal,
    /// Another process, through a pipe.
    Pipe,
    /// The end of a requested sleep.
    Sleep,
    /// The first event on a set of files: poll, select, epoll, signals.
    Events,
    /// A mutex that another thread holds, by the futex's expected value.
    #[strum(serialize = "lock")]
    Mutex,
    /// A lock, or a condition that another thread brings about.
    Lock,
    /// The end of a process that it started.
    Child,
    /// Something else.
    Unknown,
}

impl Waiting {
    /// Whether it is a lock, or may be one.
    pub(super) fn is_a_lock(self) -> bool {
        matches!(self, Waiting::Mutex | Waiting::Lock)
    }

    /// The word in text and JSON.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Call {
    /// A futex: a mutex if its operation and its expected value show it.
    Futex,
    /// By the file of its first argument.
    #[serde(rename = "file")]
    OnAFile,
    /// Events on as many files as its first argument specifies; a sleep if that is 0.
    Select,
    /// The same with the number second.
    Poll,
    /// This call with any arguments.
    #[serde(untagged)]
    Waits(Waiting),
}

/// The instruction sets with known numbers. 32-bit programs use others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Machine {
    X86,
    Arm,
}

impl Machine {
    /// That of a process's program, from its file header; `None` for others, including 32-bit ones.
    pub(super) fn of_process(pid: i32) -> Option<Self> {
        let mut head = [0; 20];
        File::open(format!("/proc/{pid}/exe")).ok()?.read_exact(&mut head).ok()?;
        Self::from_head(&head)
    }

    /// By the first bytes of an ELF file: its class (2: of 64 bits) and machine.
    fn from_head(head: &[u8; 20]) -> Option<Self> {
        match (&head[..5], u16::from_le_bytes([head[18], head[19]])) {
            (b"\x7fELF\x02", 62) => Some(Self::X86),
            (b"\x7fELF\x02", 183) => Some(Self::Arm),
            _ => None,
        }
    }
}

/// The calls of both instruction sets.
const CALLS: &str = include_str!("calls.txt");

/// The purpose of the call of this number, as in the table.
pub(crate) fn purpose(machine: Machine, number: i64) -> Option<&'static str> {
    static KNOWN: LazyLock<HashMap<(Machine, i64), &'static str>> = LazyLock::new(|| {
        let numbers = |line: &'static str| {
            let mut words = line.split_whitespace().skip(1);
            let mut next = || words.next().unwrap_or_default();
            let (numbers, purpose) = ([(Machine::X86, next()), (Machine::Arm, next())], next());
            numbers.map(|(machine, number)| Some(((machine, number.parse().ok()?), purpose)))
        };
        CALLS.lines().flat_map(numbers).flatten().collect()
    });
    KNOWN.get(&(machine, number)).copied()
}

/// The call of this number, if threads wait in it.
pub(super) fn find_call(machine: Machine, number: i64) -> Option<Call> {
    serde_json::from_value(purpose(machine, number)?.into()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_c_library() {
        #[cfg(target_arch = "x86_64")]
        let machine = Machine::X86;
        #[cfg(target_arch = "aarch64")]
        let machine = Machine::Arm;
        for (number, call) in [
            (libc::SYS_clock_nanosleep, Call::Waits(Waiting::Sleep)),
            (libc::SYS_nanosleep, Call::Waits(Waiting::Sleep)),
            (libc::SYS_futex, Call::Futex),
            (libc::SYS_semop, Call::Waits(Waiting::Lock)),
            (libc::SYS_semtimedop, Call::Waits(Waiting::Lock)),
            (libc::SYS_flock, Call::Waits(Waiting::Lock)),
            (libc::SYS_msgrcv, Call::Waits(Waiting::Lock)),
            (libc::SYS_wait4, Call::Waits(Waiting::Child)),
            (libc::SYS_waitid, Call::Waits(Waiting::Child)),
            (libc::SYS_epoll_pwait, Call::Waits(Waiting::Events)),
            (libc::SYS_rt_sigsuspend, Call::Waits(Waiting::Events)),
            (libc::SYS_rt_sigtimedwait, Call::Waits(Waiting::Events)),
            (libc::SYS_ppoll, Call::Poll),
            (libc::SYS_pselect6, Call::Select),
            (libc::SYS_recvfrom, Call::Waits(Waiting::Network)),
            (libc::SYS_recvmsg, Call::Waits(Waiting::Network)),
            (libc::SYS_recvmmsg, Call::Waits(Waiting::Network)),
            (libc::SYS_sendto, Call::Waits(Waiting::Network)),
            (libc::SYS_sendmsg, Call::Waits(Waiting::Network)),
            (libc::SYS_sendmmsg, Call::Waits(Waiting::Network)),
            (libc::SYS_accept, Call::Waits(Waiting::Network)),
            (libc::SYS_accept4, Call::Waits(Waiting::Network)),
            (libc::SYS_connect, Call::Waits(Waiting::Network)),
            (libc::SYS_fsync, Call::Waits(Waiting::Fsync)),
            (libc::SYS_fdatasync, Call::Waits(Waiting::Fsync)),
            (libc::SYS_sync_file_range, Call::Waits(Waiting::Fsync)),
            (libc::SYS_msync, Call::Waits(Waiting::Fsync)),
            (libc::SYS_sync, Call::Waits(Waiting::Fsync)),
            (libc::SYS_syncfs, Call::Waits(Waiting::Fsync)),
            (libc::SYS_io_getevents, Call::Waits(Waiting::Disk)),
            (libc::SYS_read, Call::OnAFile),
            (libc::SYS_write, Call::OnAFile),
            (libc::SYS_readv, Call::OnAFile),
            (libc::SYS_writev, Call::OnAFile),
            (libc::SYS_pread64, Call::OnAFile),
            (libc::SYS_pwrite64, Call::OnAFile),
            (libc::SYS_preadv, Call::OnAFile),
            (libc::SYS_pwritev, Call::OnAFile),
            (libc::SYS_preadv2, Call::OnAFile),
            (libc::SYS_pwritev2, Call::OnAFile),
            (libc::SYS_splice, Call::OnAFile),
            (libc::SYS_ioctl, Call::OnAFile),
        ] {
            assert_eq!(find_call(machine, number), Some(call), "call {number}");
        }
        #[cfg(target_arch = "x86_64")]
        for (number, call) in [
            (libc::SYS_poll, Call::Poll),
            (libc::SYS_select, Call::Select),
            (libc::SYS_epoll_wait, Call::Waits(Waiting::Events)),
            (libc::SYS_pause, Call::Waits(Waiting::Events)),
        ] {
            assert_eq!(find_call(machine, number), Some(call), "call {number}");
        }
        assert_eq!(find_call(machine, libc::SYS_getpid), None);
    }

    #[test]
    fn one_number_is_two_calls_on_two_instruction_sets() {
        assert_eq!(find_call(Machine::X86, 98), None, "getrusage");
        assert_eq!(find_call(Machine::Arm, 98), Some(Call::Futex));
        assert_eq!((find_call(Machine::Arm, -1), find_call(Machine::X86, -1)), (None, None));
    }

    #[test]
    fn each_number_has_one_purpose() {
        let mut seen = std::collections::HashSet::new();
        for line in CALLS.lines().filter(|line| !line.starts_with('#')) {
            let row: Vec<&str> = line.split_whitespace().collect();
            let [name, x86, arm, purpose] = row[..] else { panic!("{line}") };
            for (machine, number) in [(Machine::X86, x86), (Machine::Arm, arm)] {
                let Ok(number) = number.parse() else { continue };
                assert!(seen.insert((machine, number)), "{name} twice");
                assert_eq!(super::purpose(machine, number), Some(purpose), "{name}");
            }
        }
    }

    #[test]
    fn a_program_of_32_bits_is_of_no_known_machine() {
        let head = |class: u8, machine: u8| {
            let mut head = [0; 20];
            head[..5].copy_from_slice(&[0x7f, b'E', b'L', b'F', class]);
            head[18] = machine;
            Machine::from_head(&head)
        };
        assert_eq!((head(2, 62), head(2, 183)), (Some(Machine::X86), Some(Machine::Arm)));
        assert_eq!((head(1, 62), head(1, 3), head(1, 40), head(2, 3)), (None, None, None, None));
        assert_eq!(Machine::of_process(i32::MAX), None);
    }
}
