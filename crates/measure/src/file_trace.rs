//! Which files a command opens: it is run once and followed with ptrace, which stops it at its system calls.
//!
//! The tracer is a process of its own, forked for that: it may wait for whatever the command starts, and when it dies the kernel
//! kills what it traces.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use os::Stop;

/// What the tracer ends with when it may not trace.
const REFUSED: i32 = 96;
/// Files that are kept at most.
const MOST_FILES: usize = 200_000;

/// Calls that open a file and return its descriptor.
#[cfg(target_arch = "x86_64")]
const OPENING: [libc::c_long; 4] = [libc::SYS_open, libc::SYS_creat, libc::SYS_openat, libc::SYS_openat2];
/// Calls that open a file and return its descriptor.
#[cfg(target_arch = "aarch64")]
const OPENING: [libc::c_long; 2] = [libc::SYS_openat, libc::SYS_openat2];

/// `PTRACE_GET_SYSCALL_INFO` and its answer's kinds (ptrace(2), Linux 5.3).
const GET_SYSCALL_INFO: libc::c_uint = 0x420e;
const ENTRY: u8 = 1;
const EXIT: u8 = 2;

/// Why a command cannot be traced.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A system call failed.
    #[error("{0}")]
    System(io::Error),
    /// ptrace is refused.
    #[error("this kernel or sandbox refuses ptrace")]
    Refused,
    /// The tracer hangs or died before it reported anything, within this time.
    #[error("no report within {} s: ptrace does not work here", .0.as_secs())]
    Silent(Duration),
}

/// Runs a command once, with nothing to read and nowhere to write, and returns the regular files that it and what it starts
/// opened, its programs among them. What a run of more than `limit` opened until then. An error says why it cannot be followed.
pub fn list_opened_files(
    argv: &[OsString],
    limit: Duration,
    stop: &Stop,
) -> Result<Vec<PathBuf>, TraceError> {
    let (from, to) = io::pipe().map_err(TraceError::System)?;
    // SAFETY: this program has one thread between measurements; the copy traces, writes into the pipe and ends.
    let tracer = unsafe { libc::fork() };
    if tracer < 0 {
        return Err(TraceError::System(io::Error::last_os_error()));
    }
    if tracer == 0 {
        drop(from);
        let code = trace(argv, to);
        // SAFETY: ends the copy without running what the original registered for its own end.
        unsafe { libc::_exit(code) }
    }
    drop(to);
    let reported = listen(from, tracer, limit, stop);
    let mut status = 0;
    // SAFETY: the status is valid for the write; the process is our child.
    while unsafe { libc::waitpid(tracer, &mut status, 0) } < 0
        && io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
    {}
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == REFUSED {
        return Err(TraceError::Refused);
    }
    // A command that was started is told of at once, as its own program.
    if reported.is_empty() && stop.signal().is_none() {
        return Err(TraceError::Silent(limit));
    }
    let paths = reported.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    let unique: BTreeSet<&[u8]> = paths.collect();
    let files = unique.into_iter().map(|path| PathBuf::from(OsString::from_vec(path.to_vec())));
    Ok(files.filter(|path| is_kept(path)).take(MOST_FILES).collect())
}

/// A file of a file system with a page cache that it can be dropped from.
fn is_kept(path: &Path) -> bool {
    let made_up = ["/proc", "/sys", "/dev"].iter().any(|folder| path.starts_with(folder));
    !made_up && std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() > 0)
}

/// What the tracer writes until it ends; it is killed when it takes too long or we are asked to stop.
fn listen(mut pipe: PipeReader, tracer: i32, limit: Duration, stop: &Stop) -> Vec<u8> {
    let began = Instant::now();
    let mut reported = Vec::new();
    let mut piece = [0u8; 64 << 10];
    loop {
        if stop.signal().is_some() || began.elapsed() > limit {
            // SAFETY: takes numbers; the process is our child and was not waited for.
            unsafe { libc::kill(tracer, libc::SIGKILL) };
            return reported;
        }
        let mut poll = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure, valid for the call.
        if unsafe { libc::poll(&mut poll, 1, 100) } <= 0 {
            continue;
        }
        match pipe.read(&mut piece) {
            Ok(0) => return reported,
            Ok(count) => reported.extend(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return reported,
        }
    }
}

/// The tracer: starts the command and follows it; its exit code.
fn trace(argv: &[OsString], pipe: PipeWriter) -> i32 {
    let Some((program, arguments)) = argv.split_first() else { return REFUSED };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: plain system calls between fork and exec.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    let Ok(child) = command.spawn() else { return REFUSED };
    let pid = child.id() as i32;
    let mut status = 0;
    // SAFETY: the status is valid for the write; the child stops at its first instruction.
    if unsafe { libc::waitpid(pid, &mut status, libc::__WALL) } != pid || !libc::WIFSTOPPED(status) {
        return REFUSED;
    }
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_EXITKILL;
    // SAFETY: the child is stopped and traced by this thread.
    if unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, options) } != 0 {
        return REFUSED;
    }
    let mut tracer = Tracer { pipe, calls: HashMap::new(), refused: false };
    tracer.report(&format!("/proc/{pid}/exe"));
    go_on(pid, 0);
    tracer.follow();
    if tracer.refused { REFUSED } else { 0 }
}

fn go_on(pid: i32, signal: i32) {
    // SAFETY: the process is stopped and traced by this thread; should it be dead by now, the call says so and no more.
    unsafe { libc::ptrace(libc::PTRACE_SYSCALL, pid, 0, signal) };
}

struct Tracer {
    pipe: PipeWriter,
    /// The call that each thread is in.
    calls: HashMap<i32, libc::c_long>,
    /// Whether the kernel does not tell which call it is.
    refused: bool,
}

impl Tracer {
    /// Until all that is traced has ended.
    fn follow(&mut self) {
        loop {
            let mut status = 0;
            // SAFETY: the status is valid for the write.
            let pid = unsafe { libc::waitpid(-1, &mut status, libc::__WALL) };
            if pid < 0 {
                if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) {
                    continue;
                }
                return;
            }
            if libc::WIFSTOPPED(status) {
                let known = self.calls.contains_key(&pid);
                let signal = libc::WSTOPSIG(status);
                let event = status >> 16;
                let mut pass_on = 0;
                if signal == libc::SIGTRAP | 0x80 {
                    self.at_call(pid);
                } else if event == libc::PTRACE_EVENT_EXEC {
                    self.report(&format!("/proc/{pid}/exe"));
                } else if event == 0 && (known || signal != libc::SIGSTOP) {
                    // A new thread begins with a stop of the tracer's making.
                    pass_on = signal;
                }
                self.calls.entry(pid).or_insert(-1);
                go_on(pid, pass_on);
            } else {
                self.calls.remove(&pid);
            }
        }
    }

    /// Before and after a system call.
    fn at_call(&mut self, pid: i32) {
        // struct ptrace_syscall_info: op, three bytes, arch, two addresses; from 24 on the call's number, or its result and
        // whether that is an error.
        let mut info = [0u64; 16];
        // SAFETY: the process is stopped and traced by this thread; the kernel writes no more than it is told there is room.
        let size =
            unsafe { libc::ptrace(GET_SYSCALL_INFO, pid, std::mem::size_of_val(&info), info.as_mut_ptr()) };
        if size < 32 {
            self.refused = true;
            return;
        }
        match info[0].to_le_bytes()[0] {
            ENTRY => {
                self.calls.insert(pid, info[3] as libc::c_long);
            }
            EXIT => {
                let failed = size > 32 && info[4].to_le_bytes()[0] != 0;
                let opened = self.calls.get(&pid).is_some_and(|call| OPENING.contains(call));
                if opened && !failed {
                    self.report(&format!("/proc/{pid}/fd/{}", info[3] as i64));
                }
            }
            _ => {}
        }
    }

    /// Writes the file behind a link of the kernel's.
    fn report(&mut self, link: &str) {
        let Ok(path) = std::fs::read_link(link) else { return };
        if !path.is_absolute() {
            return;
        }
        let mut line = path.as_os_str().as_bytes().to_vec();
        line.push(0);
        // Nobody listens any more where this fails.
        let _ = self.pipe.write_all(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn files_that_a_command_and_its_children_read_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one file"), folder.path().join("other"));
        std::fs::write(&one, "1").unwrap();
        std::fs::write(&other, "2").unwrap();
        let script =
            format!("read a <'{}'; (cat '{}'); cat /proc/self/stat; true", one.display(), other.display());
        let found =
            match list_opened_files(&argv(&["sh", "-c", &script]), Duration::from_secs(60), &Stop::new()) {
                Ok(found) => found,
                // Under an emulator, in which a copy of a process with threads may hang, or in a sandbox.
                Err(why) => {
                    assert!(!cfg!(target_arch = "x86_64") || matches!(why, TraceError::Refused), "{why}");
                    return;
                }
            };
        let real = |path: &Path| std::fs::canonicalize(path).unwrap();
        for path in [&one, &other] {
            assert!(found.contains(&real(path)), "{} is not among {found:?}", path.display());
        }
        assert!(
            found.iter().any(|path| path.ends_with("cat")
                || path.ends_with("busybox")
                || path.ends_with("coreutils"))
        );
        assert!(!found.iter().any(|path| path.starts_with("/proc")), "{found:?}");
    }

    #[test]
    fn of_a_command_that_cannot_be_followed_it_is_not_said_that_it_opens_nothing() {
        // The tracer is killed before it can tell anything.
        let why = list_opened_files(&argv(&["sleep", "600"]), Duration::ZERO, &Stop::new());
        assert!(why.is_err_and(|why| matches!(why, TraceError::Refused | TraceError::Silent(_))));
    }

    #[test]
    fn a_command_that_does_not_end_is_given_up() {
        let from = Instant::now();
        let _ = list_opened_files(&argv(&["sleep", "600"]), Duration::from_millis(300), &Stop::new());
        assert!(from.elapsed() < Duration::from_secs(300));
        let stop = Stop::new();
        stop.ask(2);
        let _ = list_opened_files(&argv(&["sleep", "600"]), Duration::from_secs(600), &stop);
        assert!(from.elapsed() < Duration::from_secs(300));
    }
}
