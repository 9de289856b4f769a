//! A guest in its own thread. All KVM requests are made in this thread, so that the caller can stop waiting.

use record::text;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

use super::device::Device;
use super::machine::{Exit, INTERRUPT, Machine, ROUTINE};
use super::{Counted, ExitWay, INTERPRETED, Mode, TRIAL, TRIAL_PRIMES, processor};
use crate::{Observer, Pass, Ticks, Unavailable, crc32, page_offset};
use os::pin::Pinned;

/// Maximum number of runs in the trial. Several runs are done so that an interruption is not mistaken for emulation.
const TRIALS: usize = 5;
/// Runs that take longer than this, in seconds, are repeated only a few times.
const LONG: f64 = 0.05;

/// The result of the trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trial {
    /// The way in which the guest exits.
    pub way: ExitWay,
    /// The duration of the fastest run, seconds.
    pub seconds: f64,
    /// The slowdown compared with running outside the guest.
    pub times: f64,
}

/// The guest in its thread.
#[derive(Debug)]
pub(super) struct Running {
    machine: Machine,
    mode: Mode,
    ticks: Ticks,
    observer: Observer,
    path: PathBuf,
    _pinned: Pinned,
}

impl Running {
    /// Creates the guest with the device at a path, pinned to a CPU.
    pub(super) fn make(path: PathBuf, cpu: u32, mode: Mode, ticks: Ticks) -> Result<Self, Unavailable> {
        block_signals();
        let pinned = Pinned::to(cpu)
            .map_err(|error| Unavailable::new(text!("cannot pin the guest to CPU {cpu}: {error}")))?;
        let machine = Machine::new(&Device::open(&path)?)?;
        if !processor::prepare(&machine) {
            return Err(Unavailable::new("the guest's code does not fit in its memory"));
        }
        Ok(Self { machine, mode, ticks, observer: Observer::new(ticks), path, _pinned: pinned })
    }

    fn count(&mut self, way: ExitWay, range: &Range<u64>) -> Result<Counted, Unavailable> {
        processor::count(&mut self.machine, self.mode, way, range).map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &io::Error) -> Unavailable {
        let device = self.path.display().to_string();
        Unavailable::new(text!("KVM ({device}) cannot run the guest: {error}"))
    }

    /// Determines the first way to exit the guest that works, and how long the guest takes for the trial range.
    pub(super) fn try_out(&mut self) -> Result<Trial, Unavailable> {
        let mut last = Unavailable::new(text!("cannot exit the guest"));
        for way in processor::WAYS {
            match self.count(*way, &TRIAL) {
                Ok(counted) if counted.ended && counted.primes == TRIAL_PRIMES => return self.time(*way),
                Ok(counted) if counted.exit == Exit::Interrupted => return Err(interrupted()),
                Ok(counted) => last = wrong(&counted),
                Err(failure) => last = failure,
            }
        }
        Err(last)
    }

    fn time(&mut self, way: ExitWay) -> Result<Trial, Unavailable> {
        let count_outside = || _ = std::hint::black_box(kernels::primes::count(TRIAL.start, TRIAL.end));
        let outside = self.ticks.fastest(TRIALS, count_outside);
        let (mut seconds, began) = (f64::INFINITY, Instant::now());
        for _ in 0..TRIALS {
            let from = self.ticks.now();
            let counted = self.count(way, &TRIAL)?;
            let around = self.ticks.since(from);
            if !counted.ended {
                return Err(wrong(&counted));
            }
            seconds = seconds.min(inside(&counted, around, self.ticks).unwrap_or(around));
            if seconds < INTERPRETED * outside || began.elapsed().as_secs_f64() > 2.0 * LONG {
                break;
            }
        }
        Ok(Trial { way, seconds, times: seconds / outside })
    }

    /// Counts the primes in a range.
    pub(super) fn pass(&mut self, way: ExitWay, range: &Range<u64>) -> Result<Pass, Unavailable> {
        let (machine, mode) = (&mut self.machine, self.mode);
        let (counted, beside) = self.observer.observe(|| processor::count(machine, mode, way, range));
        let counted = counted.map_err(|error| self.refused(&error))?;
        if !counted.ended {
            return Err(wrong(&counted));
        }
        let code = self.machine.read(ROUTINE as usize, kernels::primes::code().len());
        let code = code.ok_or_else(|| Unavailable::new(text!("cannot read the guest's code back")))?;
        let seconds = inside(&counted, beside.seconds, self.ticks).unwrap_or(beside.seconds);
        let (crc, page_offset) = (crc32(&code), page_offset(counted.routine));
        Ok(Pass { primes: counted.primes, seconds, crc, page_offset, ..beside })
    }

    /// Replaces the guest's code with an endless loop.
    #[cfg(test)]
    pub(super) fn spoil(&mut self) {
        processor::never_end(&self.machine);
    }
}

/// The time measured by the guest, seconds. It excludes guest entry and exit, but includes all interruptions. `None` if
/// the guest's counter disagrees with the machine's counter, that is, if the result would exceed `around`, the time
/// measured outside the guest.
fn inside(counted: &Counted, around: f64, ticks: Ticks) -> Option<f64> {
    let seconds = ticks.seconds(counted.to.checked_sub(counted.from)?);
    (seconds > 0.0 && seconds <= around).then_some(seconds)
}

/// Describes the failure of a guest that exited abnormally or miscounted the primes of the trial.
fn wrong(counted: &Counted) -> Unavailable {
    if counted.ended {
        return Unavailable::new(text!(
            "the guest counted {primes} primes, not {expected}",
            primes = counted.primes,
            expected = TRIAL_PRIMES
        ));
    }
    Unavailable::new(match counted.exit {
        Exit::Shutdown => text!("an exception ended the guest"),
        Exit::Store(address) => {
            let address = format!("{address:#x}");
            text!("an exception ended the guest (store to {address})")
        }
        Exit::Refused(reason) => {
            let reason = format!("{reason:#x}");
            text!("the processor or KVM refused to run the guest (reason {reason})")
        }
        Exit::Port(port) => {
            text!("the guest exited at port {port}", port = format!("{port:#x}"))
        }
        Exit::Other(number) => text!("the guest exited (KVM exit reason {number})"),
        Exit::Interrupted => return interrupted(),
    })
}

fn interrupted() -> Unavailable {
    // The pending signal is consumed, so that it does not end the next run.
    // SAFETY: the set is live, and all zeros is a valid value; the call does not block.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, INTERRUPT);
        let none = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        libc::sigtimedwait(&set, std::ptr::null_mut(), &none);
    }
    Unavailable::new(text!("the guest was interrupted"))
}

/// Blocks all signals in the calling thread, so that other threads of the process handle them.
fn block_signals() {
    // SAFETY: the set is live, and all zeros is a valid value.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut set);
        libc::pthread_sigmask(libc::SIG_SETMASK, &set, std::ptr::null_mut());
    }
}
