//! Confines the program before it starts: another user, a seccomp filter, one CPU, no huge pages, its own view of the
//! file system. All that a step needs is made before the fork; the step itself makes system calls only.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The user and group `nobody` of every distribution.
pub const NOBODY: u32 = 65534;

/// Confines the program that a command starts; steps run in the order in which they were added.
pub trait Confine: Sized {
    /// Adds a step.
    fn step(self, step: impl FnMut() -> io::Result<()> + Send + Sync + 'static) -> Self;

    /// Runs as `nobody`, without any right to real-time priorities. Nothing to do when the tests are not root.
    fn by_nobody(self) -> Self {
        let root = super::root();
        self.step(move || {
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: the limit outlives the call; the rest takes numbers, and a null list of no groups.
            unsafe {
                check(libc::setrlimit(libc::RLIMIT_RTPRIO, &none))?;
                if root {
                    check(libc::setgroups(0, std::ptr::null()))?;
                    check(libc::setresgid(NOBODY, NOBODY, NOBODY))?;
                    check(libc::setresuid(NOBODY, NOBODY, NOBODY))?;
                }
            }
            Ok(())
        })
    }

    /// Answers these system calls with EPERM, as containers do.
    fn denied(self, calls: &[libc::c_long]) -> Self {
        let filter = denying(calls);
        self.step(move || {
            let program =
                libc::sock_fprog { len: filter.len() as libc::c_ushort, filter: filter.as_ptr().cast_mut() };
            // SAFETY: the kernel copies the filter, which it only reads; both outlive the calls.
            unsafe {
                check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
                check(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program, 0, 0))
            }
        })
    }

    /// Allows one CPU, as `taskset` does.
    fn on_cpu(self, cpu: u32) -> Self {
        self.step(move || {
            // SAFETY: cpu_set_t is plain data, for which all zeros is the empty set; the set outlives the call.
            unsafe {
                let mut set: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(cpu as usize, &mut set);
                check(libc::sched_setaffinity(0, size_of_val(&set), &set))
            }
        })
    }

    /// Gives the process no transparent huge pages.
    fn without_huge_pages(self) -> Self {
        // SAFETY: takes numbers.
        self.step(|| check(unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) }))
    }

    /// Has an empty folder in place of `folder`, when there is one, in a mount namespace of its own.
    fn with_empty(self, folder: &str) -> Self {
        self.with_mount(folder, move |target| {
            // SAFETY: all strings outlive the call.
            check(unsafe {
                libc::mount(c"none".as_ptr(), target.as_ptr(), c"tmpfs".as_ptr(), 0, std::ptr::null())
            })
        })
    }

    /// Has a tmpfs of `kib` KiB in place of `folder`.
    fn with_small_disk(self, folder: &Path, kib: u32) -> Self {
        let size = CString::new(format!("size={kib}k,mode=777")).unwrap();
        self.with_mount(&folder.to_string_lossy(), move |target| {
            // SAFETY: all strings outlive the call.
            check(unsafe {
                libc::mount(c"none".as_ptr(), target.as_ptr(), c"tmpfs".as_ptr(), 0, size.as_ptr().cast())
            })
        })
    }

    /// Has `content` in place of `file`, when there is one.
    fn with_file(self, file: &str, content: &Path) -> Self {
        let content = CString::new(content.as_os_str().as_bytes()).unwrap();
        self.with_mount(file, move |target| {
            // SAFETY: all strings outlive the call.
            check(unsafe {
                libc::mount(
                    content.as_ptr(),
                    target.as_ptr(),
                    std::ptr::null(),
                    libc::MS_BIND,
                    std::ptr::null(),
                )
            })
        })
    }

    /// Cannot open the device `file`, when there is one: it lies on a mount without devices.
    fn with_device_closed(self, file: &str) -> Self {
        self.with_mount(file, |target| remounted(target, libc::MS_NODEV))
    }

    /// May only read below `folder`, when there is one.
    fn with_reading_only(self, folder: &str) -> Self {
        self.with_mount(folder, |target| remounted(target, libc::MS_RDONLY))
    }

    /// Mounts something at `target`, when that exists, in a mount namespace of the program's own.
    fn with_mount(
        self,
        target: &str,
        mut mount: impl FnMut(&CString) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let exists = Path::new(target).exists();
        let target = CString::new(target).unwrap();
        self.step(move || if exists { own_namespace().and_then(|()| mount(&target)) } else { Ok(()) })
    }

    /// Enters a control group.
    fn in_group(self, group: &super::cgroup::Group) -> Self {
        let file = File::options().write(true).open(group.path().join("cgroup.procs")).unwrap();
        self.step(move || {
            // SAFETY: the byte outlives the call; 0 is the process that writes.
            check((unsafe { libc::write(file.as_raw_fd(), c"0".as_ptr().cast(), 1) }) as i32)
        })
    }
}

impl Confine for Command {
    fn step(mut self, step: impl FnMut() -> io::Result<()> + Send + Sync + 'static) -> Self {
        // SAFETY: every step here makes system calls on what was made before the fork, and allocates nothing.
        unsafe { self.pre_exec(step) };
        self
    }
}

fn check(code: i32) -> io::Result<()> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Mounts a folder on itself with these flags.
fn remounted(target: &CString, flags: libc::c_ulong) -> io::Result<()> {
    // SAFETY: all strings outlive the calls.
    unsafe {
        let (from, none) = (target.as_ptr(), std::ptr::null());
        check(libc::mount(from, from, none, libc::MS_BIND, none.cast()))?;
        check(libc::mount(none, from, none, libc::MS_REMOUNT | libc::MS_BIND | flags, none.cast()))
    }
}

/// A mount namespace whose mounts nobody else sees.
fn own_namespace() -> io::Result<()> {
    // SAFETY: the strings outlive the calls.
    unsafe {
        check(libc::unshare(libc::CLONE_NEWNS))?;
        let (none, private) = (std::ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
        check(libc::mount(none, c"/".as_ptr(), none, private, none.cast()))
    }
}

/// Why the program cannot be given mounts of its own here, `None` when it can.
pub fn no_mounts() -> Option<String> {
    if super::emulated() {
        return Some("the program runs under an emulator".to_owned());
    }
    let tried = Command::new("/bin/true").with_empty("/mnt").status();
    tried.err().map(|error| format!("mounts of its own need root and CAP_SYS_ADMIN: {error}"))
}

/// A classic BPF program over `struct seccomp_data` (linux/seccomp.h): the number of the call is its first word; for
/// each denied one, a jump to the answer. Numbers are those of the architecture that this is compiled for, and only
/// one program of it runs here, so the architecture is not asked for.
fn denying(calls: &[libc::c_long]) -> Vec<libc::sock_filter> {
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    let line = |code: u32, k: u32, jt: u8| libc::sock_filter { code: code as u16, jt, jf: 0, k };
    let mut program = vec![line(LOAD, 0, 0)];
    for (i, call) in calls.iter().enumerate() {
        program.push(line(IF_EQUAL, *call as u32, (calls.len() - i) as u8));
    }
    program.push(line(RETURN, libc::SECCOMP_RET_ALLOW, 0));
    program.push(line(RETURN, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0));
    program
}

#[test]
fn a_denied_call_fails_and_others_do_not() {
    if super::emulated() {
        return super::skipped("a_denied_call_fails_and_others_do_not", "the filter would hold the emulator");
    }
    let touch = |calls: &[libc::c_long]| {
        let mut sleep = Command::new("/bin/sleep");
        sleep.arg("0").stderr(std::process::Stdio::null());
        sleep.denied(calls).status().unwrap()
    };
    assert!(touch(&[libc::SYS_mbind, libc::SYS_move_pages]).success());
    assert!(!touch(&[libc::SYS_mbind, libc::SYS_clock_nanosleep]).success());
}
