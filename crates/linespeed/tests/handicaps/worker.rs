//! Processes that do some work in rounds, confined as the program under test is: what a handicap really costs.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::FromRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use crate::support::confine::Confine;

/// The processes of ours that are alive: their CPU time is not others'.
static ALIVE: Mutex<Vec<i32>> = Mutex::new(Vec::new());

/// The processes of ours that are alive now.
pub fn alive() -> Vec<i32> {
    ALIVE.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

type Step = Box<dyn FnMut() -> io::Result<()> + Send + Sync>;

/// A process that is yet to begin.
#[derive(Default)]
pub struct Worker {
    steps: Vec<Step>,
}

impl Confine for Worker {
    fn step(mut self, step: impl FnMut() -> io::Result<()> + Send + Sync + 'static) -> Self {
        self.steps.push(Box::new(step));
        self
    }
}

impl Worker {
    /// Forks: the process confines itself, makes its work, for which this waits, and does one round of it whenever it is
    /// told to.
    pub fn start<W: FnMut() -> f64>(mut self, make: impl FnOnce() -> W) -> Running {
        let (mut orders, go) = pipe();
        let (reported, mut tell) = pipe();
        // SAFETY: the child goes on as the only thread of a copy; the C library keeps its memory usable there, and it
        // ends by _exit.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0, "fork: {}", io::Error::last_os_error());
        if pid == 0 {
            drop((go, reported));
            // SAFETY: takes numbers. Its end is ours.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            let worked = catch_unwind(AssertUnwindSafe(|| -> io::Result<()> {
                for step in &mut self.steps {
                    step()?;
                }
                let mut work = make();
                tell.write_all(&0f64.to_ne_bytes())?;
                while orders.read(&mut [0])? > 0 {
                    tell.write_all(&work().to_ne_bytes())?;
                }
                Ok(())
            }));
            // SAFETY: takes a number.
            unsafe { libc::_exit(i32::from(!matches!(worked, Ok(Ok(()))))) };
        }
        // A worker that ends before it is made is heard of by the end of its pipe, which this process must not hold open.
        drop((orders, tell));
        ALIVE.lock().unwrap_or_else(PoisonError::into_inner).push(pid);
        let made = Running { pid, go, reported };
        made.ended();
        made
    }
}

/// A process of ours; it is killed when the test is done with it.
#[derive(Debug)]
pub struct Running {
    pid: i32,
    go: File,
    reported: File,
}

impl Running {
    /// Its number.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Has it begin a round.
    pub fn begin(&self) {
        (&self.go).write_all(b"x").expect("the worker takes orders");
    }

    /// What the round gave; waits for its end.
    pub fn ended(&self) -> f64 {
        let mut bytes = [0; 8];
        (&self.reported).read_exact(&mut bytes).expect("the worker tells what it did");
        f64::from_ne_bytes(bytes)
    }

    /// One round.
    pub fn round(&self) -> f64 {
        self.begin();
        self.ended()
    }

    /// Stops it where it is.
    pub fn pause(&self) {
        self.send(libc::SIGSTOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.send(libc::SIGCONT);
    }

    fn send(&self, signal: i32) {
        // SAFETY: takes numbers; the child was not waited for, so the number is its own.
        unsafe { libc::kill(self.pid, signal) };
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.send(libc::SIGKILL);
        // SAFETY: a null status is allowed; the child was not waited for.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
        ALIVE.lock().unwrap_or_else(PoisonError::into_inner).retain(|pid| *pid != self.pid);
    }
}

/// One round of all of them at the same time: the sum of what they did.
pub fn together(team: &[Running]) -> f64 {
    team.iter().for_each(Running::begin);
    team.iter().map(Running::ended).sum()
}

/// The reading and the writing end, closed on exec.
fn pipe() -> (File, File) {
    let mut ends = [0; 2];
    // SAFETY: the array has room for both; each is owned by one File from here on.
    unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0, "{}", io::Error::last_os_error());
        (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]))
    }
}
