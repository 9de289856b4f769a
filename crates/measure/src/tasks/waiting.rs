//! Determines the wait reason of an off-CPU thread: from its system call and the call's file, or else from the kernel
//! function in which it sleeps.

use std::fs::{self, FileType};
use std::os::unix::fs::FileTypeExt;

use machine::text::field;

use super::calls::{Call, Machine, Waiting, find_call, find_known};

/// The reason why a thread in this state (from /proc/PID/stat) waits; `None` if nothing about it is readable. System
/// call numbers are interpreted for `machine`, and ignored if it is `None`.
pub(super) fn find_reason(pid: i32, tid: i32, state: char, machine: Option<Machine>) -> Option<Waiting> {
    let text = |name: &str| fs::read_to_string(format!("/proc/{pid}/task/{tid}/{name}")).ok();
    let call = text("syscall").as_deref().and_then(parse);
    let by_call = |(call, machine)| find_by_call(machine, call, |file| name_file(pid, file));
    let named = call.zip(machine).and_then(by_call);
    // Outside any system call, uninterruptible sleep is a page fault.
    let paging = state == 'D' && call.is_some_and(|(number, ..)| number == -1);
    let named = if paging { Some(Waiting::Faults) } else { named };
    // The kernel function is used if the call does not show the reason. It also shows why a thread sleeps uninterruptibly in a call on a
    // lock.
    let function = || find_by_function(text("wchan")?.trim());
    match named {
        Some(named) if state != 'D' || !named.is_a_lock() => Some(named),
        _ => function().or(match (state, call) {
            ('D', Some(_)) => Some(Waiting::Disk),
            ('D', None) => Some(Waiting::Uninterruptible),
            (_, Some(_)) => named.or(Some(Waiting::Unknown)),
            (_, None) => None,
        }),
    }
}

/// Whether a thread that was just ready or running now waits in a system call that syncs data.
pub(super) fn is_in_sync(pid: i32, tid: i32, machine: Option<Machine>) -> bool {
    let call = || {
        let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
        find_call(machine?, parse(&text)?.0)
    };
    call() == Some(Call::Waits(Waiting::Fsync))
}

/// The number of a system call and its first four arguments.
pub(crate) type Arguments = (i64, [u64; 4]);

/// Parses `0 0x3 0x7f… …`. `-1 0x… 0x…`, with only the stack pointer and the program counter, means that the thread is
/// outside any system call.
fn parse(text: &str) -> Option<Arguments> {
    let mut words = text.split_whitespace();
    let number = words.next()?.parse().ok()?;
    let mut next = || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
    Some((number, [next()?, next()?, next().unwrap_or(0), next().unwrap_or(0)]))
}

/// The reasons for waits on files, by the prefix of the link in `/proc/PID/fd`.
const FILES: [(&str, Waiting); 8] = [
    ("server:", Waiting::Server),
    ("socket:", Waiting::Network),
    ("pipe:", Waiting::Pipe),
    ("device:/dev/pts/", Waiting::Terminal),
    ("device:/dev/tty", Waiting::Terminal),
    ("device:", Waiting::Events),
    ("anon_inode:", Waiting::Events),
    ("/", Waiting::Disk),
];

/// Types of file systems whose files are on a server.
const SERVED: &str =
    "nfs nfs4 cifs smb3 9p ceph afs lustre orangefs vboxsf virtiofs fuse glusterfs beegfs gpfs";
/// Types of file systems that a program of this machine serves, usually from a disk.
const LOCAL: &str = "fuseblk fuse.fuse-overlayfs fuse.mergerfs fuse.squashfuse fuse.squashfuse_ll fuse.bindfs fuse.gocryptfs fuse.ntfs-3g";

/// The name of a process's open file in `/proc/PID/fd`. That of a file that is not on a disk begins with its kind.
pub(super) fn name_file(pid: i32, file: u64) -> Option<String> {
    let place = format!("/proc/{pid}/fd/{file}");
    let link = fs::read_link(&place).ok()?.to_string_lossy().into_owned();
    let text = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let is = |what: fn(&FileType) -> bool| fs::metadata(&place).is_ok_and(|of| what(&of.file_type()));
    if !link.starts_with('/') {
        return Some(link);
    }
    Some(match is_served(&text(&format!("fdinfo/{file}")), &text("mountinfo")) {
        Some(true) => format!("server:{link}"),
        // Reading the type of a file may wait for its server, but reading the mounts does not.
        Some(false) if is(FileType::is_fifo) => format!("pipe:{link}"),
        Some(false) if is(FileType::is_char_device) => format!("device:{link}"),
        None if link.starts_with("/dev/") => format!("device:{link}"),
        _ => link,
    })
}

/// Whether an open file is on a server, from its `fdinfo` and the mounts; `None` if this is unknown.
fn is_served(info: &str, mounts: &str) -> Option<bool> {
    let mount = mounts.lines().find(|line| line.split(' ').next() == field(info, "mnt_id"))?;
    let kind = mount.split_once(" - ")?.1.split(' ').next()?;
    let is_one_of = |kinds: &str| kinds.split(' ').any(|one| one == kind);
    (!is_one_of(LOCAL)).then(|| is_one_of(SERVED) || kind.starts_with("fuse."))
}

/// Kernel functions in which threads sleep, by parts of their names. Locks include those of an address space or a
/// directory. For a page wait, it is unknown whether the page is being read or written back.
const FUNCTIONS: [(Waiting, &str); 13] = [
    (Waiting::Lock, "futex rwsem_down"),
    (Waiting::Sleep, "nanosleep"),
    (Waiting::Pipe, "pipe_"),
    (Waiting::Events, "ep_poll epoll poll_schedule do_sys_poll do_select sigsuspend sigtimedwait"),
    (Waiting::Ring, "io_cqring_wait"),
    (Waiting::Fsync, "log_wait_commit xlog_"),
    (Waiting::Network, "unix_stream sk_wait_data skb_wait inet_csk_accept"),
    (Waiting::Terminal, "n_tty_read"),
    (Waiting::Output, "n_tty_write"),
    (Waiting::Server, "rpc_wait_bit request_wait_answer p9_client_rpc cifs_"),
    (Waiting::Child, "do_wait"),
    (Waiting::Faults, "handle_userfault"),
    (Waiting::Uninterruptible, "wait_on_page_bit folio_wait_bit"),
];

/// The reason from the name of the kernel function. `0` means that this user may not read it.
fn find_by_function(name: &str) -> Option<Waiting> {
    let contains = |(_, parts): &&(Waiting, &str)| parts.split(' ').any(|part| name.contains(part));
    FUNCTIONS.iter().find(contains).map(|(waiting, _)| *waiting)
}

/// Futex operations (linux/include/uapi/linux/futex.h), without the flags for private futexes and for the clock of the
/// timeout.
const FUTEX_WAIT: u64 = 0;
const FUTEX_LOCK_PI: u64 = 6;
const FUTEX_WAIT_BITSET: u64 = 9;
const FUTEX_LOCK_PI2: u64 = 13;
const FUTEX_OPTIONS: u64 = 128 | 256;
/// The value of a mutex with waiters in glibc (nptl/lowlevellock.h), Rust (sys/sync/mutex/futex.rs) and Go
/// (runtime/lock_futex.go). A condition variable's expected value is a count, which rarely has this value.
const LOCKED_WITH_WAITERS: u64 = 2;

fn is_a_mutex(operation: u64, expected: u64) -> bool {
    match operation & !FUTEX_OPTIONS & 0xffff_ffff {
        FUTEX_LOCK_PI | FUTEX_LOCK_PI2 => true,
        FUTEX_WAIT | FUTEX_WAIT_BITSET => expected & 0xffff_ffff == LOCKED_WITH_WAITERS,
        _ => false,
    }
}

/// The reason from the number of a system call and its first four arguments. `link` looks up the name of an open file.
pub(crate) fn find_by_call(
    machine: Machine,
    (number, [first, second, third, fourth]): Arguments,
    link: impl Fn(u64) -> Option<String>,
) -> Option<Waiting> {
    let events = |files: u64| if files == 0 { Waiting::Sleep } else { Waiting::Events };
    match find_call(machine, number)? {
        Call::Waits(waiting) => Some(waiting),
        Call::Futex if is_a_mutex(second, third) => Some(Waiting::Mutex),
        Call::Futex => Some(if fourth == 0 { Waiting::Lock } else { Waiting::Timed }),
        Call::Select => Some(events(first)),
        Call::Poll => Some(events(second)),
        Call::OnAFile => {
            let file = link(first)?;
            let (_, waiting) = FILES.iter().find(|(begins, _)| file.starts_with(begins))?;
            let writes = *waiting == Waiting::Terminal && find_known(machine, number)?.name.contains("write");
            Some(if writes { Waiting::Output } else { *waiting })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn call(number: i64, first: u64, second: u64, file: &str) -> Option<Waiting> {
        find_by_call(Machine::X86, (number, [first, second, 0, 0]), |_| Some(file.to_owned()))
    }

    #[test]
    fn a_read_is_reported_by_what_it_reads() {
        for (file, waiting) in [
            ("socket:[123]", Waiting::Network),
            ("pipe:[123]", Waiting::Pipe),
            ("device:/dev/pts/3", Waiting::Terminal),
            ("device:/dev/fuse", Waiting::Events),
            ("/var/lib/data", Waiting::Disk),
            ("anon_inode:[eventfd]", Waiting::Events),
            ("server:/mnt/data", Waiting::Server),
        ] {
            assert_eq!(call(0, 3, 0, file), Some(waiting), "{file}");
        }
        assert_eq!([1, 20].map(|write| call(write, 1, 0, "device:/dev/pts/3")), [Some(Waiting::Output); 2]);
        assert_eq!(call(202, 3, 128, "/x"), Some(Waiting::Lock));
        let futex = |operation, expected| {
            find_by_call(Machine::X86, (202, [0x7f, operation, expected, 0]), |_| None).unwrap()
        };
        // A mutex in glibc, a mutex in Rust, and one with priority inheritance; then a condition variable in glibc, and
        // a joined thread.
        for (operation, expected) in [(0x80, 2), (0x89, 2), (0x86, 0)] {
            assert_eq!(futex(operation, expected), Waiting::Mutex);
        }
        for (operation, expected) in [(0x189, 0), (0x109, 4711), (0x80, 0)] {
            assert_eq!(futex(operation, expected), Waiting::Lock);
        }
        let timed = find_by_call(Machine::X86, (202, [0x7f, 0x189, 0, 0x7ffc]), |_| None);
        assert_eq!(timed, Some(Waiting::Timed));
        assert_eq!(
            (call(426, 5, 0, ""), call(40, 5, 0, "socket:[1]")),
            (Some(Waiting::Ring), Some(Waiting::Network))
        );
        assert_eq!((call(270, 0, 0, ""), call(270, 5, 0, "")), (Some(Waiting::Sleep), Some(Waiting::Events)));
        assert_eq!((call(7, 9, 0, ""), call(7, 9, 1, "")), (Some(Waiting::Sleep), Some(Waiting::Events)));
        assert_eq!(call(39, 0, 0, ""), None);
        assert_eq!(parse("0 0x3 0x7ff 0x400 0x0 0x0 0x0 0x7ffc 0x7f1e\n"), Some((0, [3, 0x7ff, 0x400, 0])));
        assert_eq!(parse("running\n"), None);
        assert_eq!(parse("-1 0x7ffc 0x7f1e"), Some((-1, [0x7ffc, 0x7f1e, 0, 0])));
    }

    #[test]
    fn files_that_are_not_on_a_disk_are_named_by_their_kind() {
        use std::os::fd::AsRawFd;
        let name = |path: &str| {
            let file = fs::File::options().read(true).write(true).open(path).unwrap();
            name_file(std::process::id() as i32, file.as_raw_fd() as u64).unwrap()
        };
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        fs::write(path("file"), "").unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
        // The directory for temporary files may itself be on a server.
        let is_served = name(&path("file")).starts_with("server:");
        assert!(is_served || name(&path("file")) == path("file"));
        assert!(is_served || name(&path("fifo")).starts_with("pipe:"));
        assert_eq!(name("/dev/null"), "device:/dev/null");
        assert_eq!(name_file(std::process::id() as i32, u64::MAX), None);
    }

    #[test]
    fn files_of_servers_are_known_by_their_mount() {
        let mounts = "\
            22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
            31 22 0:50 / /mnt/a rw master:1 - nfs4 host:/a rw\n\
            32 22 0:51 / /mnt/b rw - fuse.sshfs host:/b rw\n\
            33 22 8:17 / /mnt/c rw - fuseblk /dev/sdb1 rw\n";
        let is = |id: u32| is_served(&format!("pos:\t0\nflags:\t02\nmnt_id:\t{id}\n"), mounts);
        assert_eq!([22, 31, 32, 33, 3].map(is), [Some(false), Some(true), Some(true), None, None]);
        assert_eq!([is_served("", mounts), is_served("mnt_id: 22", "")], [None, None]);
    }

    #[test]
    fn the_kernels_function_tells_where_calls_may_not_be_read() {
        for (name, waiting) in [
            ("futex_wait_queue", Some(Waiting::Lock)),
            ("futex_wait_queue_me", Some(Waiting::Lock)),
            ("anon_pipe_read", Some(Waiting::Pipe)),
            ("hrtimer_nanosleep", Some(Waiting::Sleep)),
            ("do_epoll_wait", Some(Waiting::Events)),
            ("jbd2_log_wait_commit", Some(Waiting::Fsync)),
            ("unix_stream_read_generic", Some(Waiting::Network)),
            ("rpc_wait_bit_killable", Some(Waiting::Server)),
            ("n_tty_write", Some(Waiting::Output)),
            ("0", None),
        ] {
            assert_eq!(find_by_function(name), waiting, "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(text in "\\PC{0,80}") {
            let _ = (parse(&text), find_by_function(&text));
        }
    }
}
