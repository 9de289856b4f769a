//! What a thread that is not on a CPU waits for: by the system call that it is in, and the file which that is about.

use std::fs;

/// What is waited for. In this order: where several threads of a command wait, the first of these is what holds it, since
/// the others wait for the threads in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Waiting {
    /// A disk, or memory that has to be read from one.
    Disk,
    /// A socket.
    Network,
    /// A person at a terminal.
    Terminal,
    /// Another process, through a pipe.
    Pipe,
    /// The end of a sleep that it asked for.
    Sleep,
    /// Whatever comes first on a set of files: poll, select, epoll, signals.
    Events,
    /// A lock, or a condition that another thread brings about.
    Lock,
    /// The end of a process that it started.
    Child,
    /// Something else, or it may not be looked at.
    Unknown,
}

impl Waiting {
    /// The word for people and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Waiting::Disk => "disk",
            Waiting::Network => "network",
            Waiting::Terminal => "terminal",
            Waiting::Pipe => "pipe",
            Waiting::Sleep => "sleep",
            Waiting::Events => "events",
            Waiting::Lock => "lock",
            Waiting::Child => "child",
            Waiting::Unknown => "unknown",
        }
    }
}

/// What a thread in this state (of /proc/PID/stat) waits for.
pub(crate) fn find_reason(pid: i32, tid: i32, state: char) -> Waiting {
    let call = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).unwrap_or_default();
    let waiting = parse(&call).map_or(Waiting::Unknown, |(number, first)| {
        find_by_call(number, first, |fd| {
            let link = fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()?;
            Some(link.to_string_lossy().into_owned())
        })
    });
    match (waiting, state) {
        // Uninterruptible sleep that no call explains is paging.
        (Waiting::Unknown | Waiting::Lock, 'D') => Waiting::Disk,
        (waiting, _) => waiting,
    }
}

/// The number of the call and its first argument: `0 0x3 0x7f… …`. `-1 …` is outside of any call: a page fault.
fn parse(text: &str) -> Option<(i64, u64)> {
    let mut words = text.split_whitespace();
    let number = words.next()?.parse().ok()?;
    let first = words.next()?.trim_start_matches("0x");
    Some((number, u64::from_str_radix(first, 16).ok()?))
}

/// Calls in which a thread waits, whatever their arguments are.
const CALLS: &[(Waiting, &[libc::c_long])] = &[
    (Waiting::Sleep, &[libc::SYS_nanosleep, libc::SYS_clock_nanosleep]),
    (
        Waiting::Lock,
        &[libc::SYS_futex, libc::SYS_semop, libc::SYS_semtimedop, libc::SYS_flock, libc::SYS_msgrcv],
    ),
    (Waiting::Child, &[libc::SYS_wait4, libc::SYS_waitid]),
    #[cfg(target_arch = "x86_64")]
    (Waiting::Events, &[libc::SYS_poll, libc::SYS_epoll_wait, libc::SYS_pause]),
    (
        Waiting::Events,
        &[libc::SYS_ppoll, libc::SYS_epoll_pwait, libc::SYS_rt_sigsuspend, libc::SYS_rt_sigtimedwait],
    ),
    (Waiting::Network, &[libc::SYS_recvfrom, libc::SYS_recvmsg, libc::SYS_recvmmsg]),
    (Waiting::Network, &[libc::SYS_sendto, libc::SYS_sendmsg]),
    (Waiting::Network, &[libc::SYS_accept, libc::SYS_accept4, libc::SYS_connect]),
    (Waiting::Disk, &[libc::SYS_io_getevents, libc::SYS_fsync, libc::SYS_fdatasync]),
    (Waiting::Disk, &[libc::SYS_sync, libc::SYS_syncfs]),
];

/// Calls that wait for what comes first on a set of files; with no files at all they are sleeps.
const SELECTS: &[libc::c_long] = &[
    libc::SYS_pselect6,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
];

/// Calls that wait for what their first argument is open on.
const ON_A_FILE: [libc::c_long; 11] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_splice,
    libc::SYS_sendfile,
    libc::SYS_ioctl,
];

/// What the file of this name, as the links below `/proc/PID/fd` have it, is waited on for.
const FILES: [(&str, Waiting); 6] = [
    ("socket:", Waiting::Network),
    ("pipe:", Waiting::Pipe),
    ("/dev/pts/", Waiting::Terminal),
    ("/dev/tty", Waiting::Terminal),
    ("anon_inode:", Waiting::Events),
    ("/", Waiting::Disk),
];

fn find_by_call(number: i64, first: u64, link: impl Fn(u64) -> Option<String>) -> Waiting {
    let number = number as libc::c_long;
    if let Some((waiting, _)) = CALLS.iter().find(|(_, calls)| calls.contains(&number)) {
        return *waiting;
    }
    if SELECTS.contains(&number) {
        return if first == 0 { Waiting::Sleep } else { Waiting::Events };
    }
    let file = if ON_A_FILE.contains(&number) { link(first) } else { None };
    let waiting = FILES.iter().find(|(begins, _)| file.as_ref().is_some_and(|file| file.starts_with(begins)));
    waiting.map_or(Waiting::Unknown, |(_, waiting)| *waiting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn call(number: libc::c_long, first: u64, file: &str) -> Waiting {
        find_by_call(number, first, |_| Some(file.to_owned()))
    }

    #[test]
    fn a_read_is_reported_by_what_it_reads() {
        for (file, waiting) in [
            ("socket:[123]", Waiting::Network),
            ("pipe:[123]", Waiting::Pipe),
            ("/dev/pts/3", Waiting::Terminal),
            ("/var/lib/data", Waiting::Disk),
            ("anon_inode:[eventfd]", Waiting::Events),
        ] {
            assert_eq!(call(libc::SYS_read, 3, file), waiting, "{file}");
        }
        assert_eq!(call(libc::SYS_futex, 3, "/x"), Waiting::Lock);
        assert_eq!(call(libc::SYS_pselect6, 0, ""), Waiting::Sleep);
        assert_eq!(call(libc::SYS_getpid, 0, ""), Waiting::Unknown);
        assert_eq!(parse("0 0x3 0x7ff 0x400 0x0 0x0 0x0 0x7ffc 0x7f1e\n"), Some((0, 3)));
        assert_eq!(parse("running\n"), None);
        assert_eq!(parse("-1 0x7ffc 0x7f1e"), Some((-1, 0x7ffc)));
    }

    proptest! {
        #[test]
        fn no_line_panics(text in "\\PC{0,80}") {
            let _ = parse(&text);
        }
    }
}
