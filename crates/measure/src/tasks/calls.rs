//! System calls: the reasons why threads wait in them, and what the kernel does in them. The kernel shows only a
//! number, whose meaning depends on the instruction set of the calling program.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::sync::LazyLock;

use record::diagnosis::BoundKind;
use strum::IntoStaticStr;

/// Wait reasons of threads, in order of precedence. If several threads of a command wait, the first of these reasons is
/// the cause, because the other threads wait for the threads blocked for that reason. Threads that hardly ever run do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Waiting {
    /// An access to a disk.
    Disk,
    /// A write of data to a disk (sync).
    Fsync,
    /// An access to a file on a server, including programs that serve a file system (FUSE).
    Server,
    /// Uninterruptible sleep in an unknown call: the thread was ready again before the call was read.
    #[strum(serialize = "disk")]
    Uninterruptible,
    /// A read of memory contents from a disk.
    Faults,
    /// The completion of a request in an io_uring: storage or network.
    #[strum(serialize = "io_uring")]
    Ring,
    /// Activity on a socket.
    Network,
    /// Input from a user at a terminal.
    Terminal,
    /// A terminal that shows output slowly.
    Output,
    /// Another process at the other end of a pipe.
    Pipe,
    /// The first event on a set of files: poll, select, epoll, signals.
    Events,
    /// The end of a requested sleep.
    Sleep,
    /// A mutex held by another thread, according to the futex's expected value.
    #[strum(serialize = "lock")]
    Mutex,
    /// A condition that another thread signals, or the end of a timeout: a sleep of a runtime, or a timed wait for work.
    Timed,
    /// A lock, or a condition that another thread signals.
    Lock,
    /// The exit of a child process.
    Child,
    /// Another reason, or an unknown one.
    Unknown,
}

impl Waiting {
    /// Whether the reason is a lock, or may be one.
    pub(super) fn is_a_lock(self) -> bool {
        matches!(self, Waiting::Mutex | Waiting::Timed | Waiting::Lock)
    }

    /// The name in text and JSON.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// The event that a call waits for, or the argument that determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// This reason, whatever the arguments are.
    Waits(Waiting),
    /// A futex: a mutex if its operation and its expected value show it, else a timed wait if it has a timeout.
    Futex,
    /// Depends on the file in the call's first argument.
    OnAFile,
    /// Events on as many files as the first argument specifies; a sleep if that is 0.
    Select,
    /// The same as `Select`, with the number in the second argument.
    Poll,
}

impl Call {
    /// Finds a value by its word in the table of calls.
    fn from_word(word: &str) -> Option<Self> {
        use Waiting::{Child, Disk, Events, Fsync, Lock, Network, Ring, Sleep};
        let all = [Child, Disk, Events, Fsync, Lock, Network, Ring, Sleep];
        let waits = || all.into_iter().find(|one| one.word() == word);
        match word {
            "futex" => Some(Call::Futex),
            "file" => Some(Call::OnAFile),
            "select" => Some(Call::Select),
            "poll" => Some(Call::Poll),
            _ => waits().map(Call::Waits),
        }
    }
}

/// The instruction sets with known call numbers. 32-bit programs use different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Machine {
    X86,
    Arm,
}

impl Machine {
    /// The instruction set of a process's program, from its file header; `None` for other instruction sets, including 32-bit ones.
    pub(super) fn of_process(pid: i32) -> Option<Self> {
        let mut head = [0; 20];
        File::open(format!("/proc/{pid}/exe")).ok()?.read_exact(&mut head).ok()?;
        Self::from_head(&head)
    }

    /// The instruction set, from the class (2 means 64-bit) and the machine in the first bytes of an ELF file.
    fn from_head(head: &[u8; 20]) -> Option<Self> {
        match (&head[..5], u16::from_le_bytes([head[18], head[19]])) {
            (b"\x7fELF\x02", 62) => Some(Self::X86),
            (b"\x7fELF\x02", 183) => Some(Self::Arm),
            _ => None,
        }
    }
}

/// A system call.
pub(crate) struct Known {
    /// The name of the system call.
    pub name: &'static str,
    /// The event that the call waits for, if it waits for one.
    pub(crate) waits: Option<Call>,
    /// The kernel's activity in the call, if it does not depend on a file.
    pub kind: Option<BoundKind>,
}

/// The calls of each instruction set, by number.
static CALLS: LazyLock<HashMap<(Machine, i64), Known>> = LazyLock::new(|| {
    let rows = include_str!("calls.txt").lines().filter(|line| !line.starts_with('#'));
    let cells = rows.filter_map(|line| line.split(' ').collect::<Vec<_>>().try_into().ok());
    let both = cells.flat_map(|[x86, arm, name, waits, kind]: [&'static str; 5]| {
        [(Machine::X86, x86), (Machine::Arm, arm)].into_iter().filter_map(move |(machine, number)| {
            let kind = (kind != "-").then(|| kind.parse().ok()).flatten();
            Some(((machine, number.parse().ok()?), Known { name, waits: Call::from_word(waits), kind }))
        })
    });
    both.collect()
});

/// The call with this number.
pub(crate) fn find_known(machine: Machine, number: i64) -> Option<&'static Known> {
    CALLS.get(&(machine, number))
}

/// The reason why the call with this number waits.
pub(super) fn find_call(machine: Machine, number: i64) -> Option<Call> {
    find_known(machine, number)?.waits
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
    fn every_call_has_a_kind_or_none_that_is_known() {
        let rows = include_str!("calls.txt").lines().filter(|line| !line.starts_with('#'));
        for row in rows.clone() {
            let cells: Vec<_> = row.split(' ').collect();
            let [x86, arm, name, waits, kind] = cells[..] else { panic!("{row}") };
            assert_eq!(Call::from_word(waits).is_some(), waits != "-", "{row}");
            let known: BoundKind = kind.parse().unwrap();
            assert!(kind == "-" || !matches!(known, BoundKind::Other(_)), "{row}");
            for (machine, number) in [(Machine::X86, x86), (Machine::Arm, arm)] {
                let known = number.parse().ok().and_then(|number| find_known(machine, number));
                assert_eq!(known.map(|known| known.name), (number != "-").then_some(name), "{row}");
            }
        }
        assert!(rows.count() > 300);
    }

    #[test]
    fn one_number_is_two_calls_on_two_instruction_sets() {
        assert_eq!(find_call(Machine::X86, 98), None, "getrusage");
        assert_eq!(find_call(Machine::Arm, 98), Some(Call::Futex));
        assert_eq!((find_call(Machine::Arm, 65_535), find_call(Machine::X86, -1)), (None, None));
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
