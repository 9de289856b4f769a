//! A guest's thread: everything that asks KVM for something happens there, so that whoever waits can give up.

use record::text::Value;
use record::{Template, text};
use std::io;
use std::ops::Range;
use std::os::unix::thread::JoinHandleExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::device::Device;
use super::machine::{Exit, INTERRUPT, Machine};
use super::{Counted, ExitWay, INTERPRETED, Mode, TRIAL, TRIAL_PRIMES, processor};
use crate::{Observer, Pass, Ticks, Unavailable};
use os::Stop;
use os::pin::Pinned;

/// How long a thread that was told to leave its guest may take.
const GRACE: Duration = Duration::from_secs(1);
/// Between two looks whether a signal asks us to stop.
const LOOK: Duration = Duration::from_millis(50);
/// Most trials: what cuts into one must not read as interpreting.
const TRIALS: usize = 5;
/// A trial that takes longer is not repeated often.
const LONG: f64 = 0.05;

/// A signal took it out.
const INTERRUPTED: Template = Template { code: "kvm-guest-signalled", words: "the guest was interrupted" };

/// A guest's thread does not keep to its orders.
const OTHER_ANSWER: Template =
    Template { code: "kvm-guest-other-answer", words: "the guest's thread gave an unexpected answer" };

/// What came of the trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trial {
    /// How the guest is left.
    pub way: ExitWay,
    /// The best run, seconds.
    pub seconds: f64,
    /// How many times as long as outside.
    pub times: f64,
}

enum Order {
    TryOut,
    Pass(Range<u64>),
    /// Breaks the guest: it never ends.
    #[cfg(test)]
    Spoil,
}

enum Answer {
    Ready,
    Tried(Trial),
    Passed(Pass),
    Failed(Unavailable),
}

/// The caller's end of the thread.
#[derive(Debug)]
pub(super) struct Worker {
    orders: Option<SyncSender<Order>>,
    answers: Receiver<Answer>,
    thread: Option<JoinHandle<()>>,
    what: String,
    stop: &'static Stop,
    /// Why it does nothing any more.
    over: Option<Unavailable>,
}

impl Worker {
    /// Makes the guest. A signal that asks to stop takes its thread out of it, as the end of a limit does.
    pub(crate) fn start(
        path: &Path,
        cpu: u32,
        mode: Mode,
        (ticks, stop): (Ticks, &'static Stop),
        limit: Duration,
    ) -> Result<Self, Unavailable> {
        let (orders, receiver) = mpsc::sync_channel(1);
        let (sender, answers) = mpsc::sync_channel(1);
        let to = path.to_owned();
        let thread = Builder::new()
            .name("linespeed/guest".to_owned())
            .stack_size(256 << 10)
            .spawn(move || serve(&to, cpu, mode, ticks, &receiver, &sender))
            .map_err(|error| {
                Unavailable::new(text!("cannot start a thread for the guest: {error}", error))
            })?;
        let what = format!("KVM ({})", path.display());
        let mut worker = Self { orders: Some(orders), answers, thread: Some(thread), what, stop, over: None };
        match worker.answer(limit)? {
            Answer::Ready => Ok(worker),
            _ => Err(Unavailable::new(OTHER_ANSWER)),
        }
    }

    /// Runs the first numbers, and finds out how the guest is left and whether it is interpreted.
    pub(crate) fn try_out(&mut self, limit: Duration) -> Result<Trial, Unavailable> {
        match self.ask(Order::TryOut, limit)? {
            Answer::Tried(trial) => Ok(trial),
            _ => Err(Unavailable::new(OTHER_ANSWER)),
        }
    }

    /// Counts the primes of a range.
    pub(crate) fn pass(&mut self, range: Range<u64>, limit: Duration) -> Result<Pass, Unavailable> {
        match self.ask(Order::Pass(range), limit)? {
            Answer::Passed(pass) => Ok(pass),
            _ => Err(Unavailable::new(OTHER_ANSWER)),
        }
    }

    #[cfg(test)]
    pub(crate) fn spoil(&mut self) {
        assert!(matches!(self.ask(Order::Spoil, GRACE), Ok(Answer::Ready)));
    }

    fn ask(&mut self, order: Order, limit: Duration) -> Result<Answer, Unavailable> {
        if let Some(over) = &self.over {
            return Err(over.clone());
        }
        // The thread waits for orders, or is gone: then its answer fails.
        if let Some(orders) = &self.orders {
            let _ = orders.send(order);
        }
        self.answer(limit)
    }

    fn answer(&mut self, limit: Duration) -> Result<Answer, Unavailable> {
        let until = Instant::now() + limit;
        let failure = loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(left.min(LOOK)) {
                Ok(Answer::Failed(failure)) => break failure,
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => {
                    break Unavailable::new(text!("the guest's thread has ended"));
                }
                Err(RecvTimeoutError::Timeout) if left > LOOK && self.stop.signal().is_none() => {}
                Err(RecvTimeoutError::Timeout) => break self.given_up(limit),
            }
        };
        self.over = Some(failure.clone());
        Err(failure)
    }

    /// Ends a guest that did not answer in time, or that nobody waits for any more.
    fn given_up(&mut self, limit: Duration) -> Unavailable {
        let end = if self.leave_guest() {
            text!("kvm-guest-ended", "guest ended")
        } else {
            text!("guest cannot be ended")
        };
        let device = &self.what;
        match self.stop.signal() {
            Some(signal) => {
                let signal = signal.to_string();
                Unavailable::new(text!(
                    "{device}: interrupted by signal {signal}; {end}",
                    device,
                    signal,
                    end
                ))
            }
            None => {
                let limit = Value::Figure(limit.as_secs_f64(), "s");
                Unavailable::new(text!("{device} did not answer within {limit}; {end}", device, limit, end))
                    .with_remedy(text!("see the kernel's messages: sudo dmesg | grep -i kvm"))
            }
        }
    }

    /// Takes the thread out of its guest; whether it came.
    fn leave_guest(&mut self) -> bool {
        let Some(thread) = &self.thread else { return true };
        // SAFETY: the thread has not been joined, so its handle is a thread's. Everywhere but in the guest it has the
        // signal blocked, and where that fails it would be ignored.
        unsafe { libc::pthread_kill(thread.as_pthread_t(), INTERRUPT) };
        let left = !matches!(self.answers.recv_timeout(GRACE), Err(RecvTimeoutError::Timeout));
        if !left {
            // It hangs in the kernel: let go, it ends with the process.
            self.thread = None;
        }
        left
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread: a guest, then orders until nobody gives any more.
fn serve(
    path: &Path,
    cpu: u32,
    mode: Mode,
    ticks: Ticks,
    orders: &Receiver<Order>,
    answers: &SyncSender<Answer>,
) {
    let mut guest = match Running::make(path.to_owned(), cpu, mode, ticks) {
        Ok(guest) => guest,
        Err(failure) => {
            let _ = answers.send(Answer::Failed(failure));
            return;
        }
    };
    // Whoever asked may have given up.
    let mut sent = answers.send(Answer::Ready).is_ok();
    while sent {
        let Ok(order) = orders.recv() else { return };
        let answer = match order {
            Order::TryOut => guest.try_out().map(Answer::Tried),
            Order::Pass(range) => guest.pass(&range).map(Answer::Passed),
            #[cfg(test)]
            Order::Spoil => {
                processor::never_end(&guest.machine);
                Ok(Answer::Ready)
            }
        };
        sent = answers.send(answer.unwrap_or_else(Answer::Failed)).is_ok();
    }
}

/// The guest in its thread.
struct Running {
    machine: Machine,
    mode: Mode,
    way: Option<ExitWay>,
    ticks: Ticks,
    observer: Observer,
    path: PathBuf,
    _pinned: Pinned,
}

impl Running {
    fn make(path: PathBuf, cpu: u32, mode: Mode, ticks: Ticks) -> Result<Self, Unavailable> {
        block_signals();
        let pinned = Pinned::to(cpu).map_err(|error| {
            Unavailable::new(text!("cannot bind the guest to CPU {cpu}: {error}", cpu, error))
        })?;
        let machine = Machine::new(&Device::open(&path)?)?;
        processor::prepare(&machine)?;
        Ok(Self { machine, mode, way: None, ticks, observer: Observer::new(ticks), path, _pinned: pinned })
    }

    fn count(&self, way: ExitWay, range: &Range<u64>) -> Result<Counted, Unavailable> {
        processor::count(&self.machine, self.mode, way, range).map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &io::Error) -> Unavailable {
        let device = self.path.display().to_string();
        Unavailable::new(text!("KVM ({device}) does not run the guest: {error}", device, error))
    }

    /// The first way out that works, and how long the first numbers take.
    fn try_out(&mut self) -> Result<Trial, Unavailable> {
        let mut last = None;
        for way in processor::WAYS {
            match self.count(*way, &TRIAL) {
                Ok(counted) if counted.ended && counted.primes == TRIAL_PRIMES => {
                    self.way = Some(*way);
                    break;
                }
                Ok(counted) if counted.exit == Exit::Interrupted => return Err(interrupted()),
                Ok(counted) => last = Some(wrong(&counted, TRIAL_PRIMES)),
                Err(failure) => last = Some(failure),
            }
        }
        let Some(way) = self.way else {
            return Err(last.unwrap_or_else(|| Unavailable::new(text!("the guest cannot be left"))));
        };
        let outside = (0..TRIALS)
            .map(|_| {
                let from = self.ticks.now();
                std::hint::black_box(kernels::primes::count(TRIAL.start, TRIAL.end));
                self.ticks.since(from)
            })
            .fold(f64::INFINITY, f64::min);
        let (mut seconds, began) = (f64::INFINITY, Instant::now());
        for _ in 0..TRIALS {
            let from = self.ticks.now();
            let counted = self.count(way, &TRIAL)?;
            let around = self.ticks.since(from);
            if !counted.ended {
                return Err(wrong(&counted, TRIAL_PRIMES));
            }
            seconds = seconds.min(inside(&counted, around, self.ticks).unwrap_or(around));
            if seconds < INTERPRETED * outside || began.elapsed().as_secs_f64() > 2.0 * LONG {
                break;
            }
        }
        Ok(Trial { way, seconds, times: seconds / outside })
    }

    fn pass(&mut self, range: &Range<u64>) -> Result<Pass, Unavailable> {
        let Some(way) = self.way else {
            return Err(Unavailable::new(text!("the guest was not tested")));
        };
        let (machine, mode) = (&self.machine, self.mode);
        let (counted, beside) = self.observer.observe(|| processor::count(machine, mode, way, range));
        let counted = counted.map_err(|error| self.refused(&error))?;
        if !counted.ended {
            return Err(wrong(&counted, 0));
        }
        let code = self.machine.read(processor::ROUTINE as usize, kernels::primes::code().len());
        let code = code.ok_or_else(|| Unavailable::new(text!("cannot read the guest's code back")))?;
        let seconds = inside(&counted, beside.seconds, self.ticks).unwrap_or(beside.seconds);
        Ok(beside.into_pass(counted.primes, seconds, &code, counted.routine))
    }
}

/// The time that the guest itself read, seconds: without what entering and leaving it take, and with everything that
/// came between. `None` where its counter does not go with the machine's: it must be within the time `around` it.
fn inside(counted: &Counted, around: f64, ticks: Ticks) -> Option<f64> {
    let seconds = ticks.seconds(counted.to.checked_sub(counted.from)?);
    (seconds > 0.0 && seconds <= around).then_some(seconds)
}

fn wrong(counted: &Counted, expected: u64) -> Unavailable {
    if counted.ended {
        let primes = counted.primes;
        return Unavailable::new(text!(
            "the guest counted {primes} primes, not {expected}",
            primes,
            expected
        ));
    }
    Unavailable::new(match counted.exit {
        Exit::Shutdown => text!("an exception ended the guest"),
        Exit::Store(address) => {
            let address = format!("{address:#x}");
            text!("an exception ended the guest (store to {address})", address)
        }
        Exit::Refused(reason) => {
            let reason = format!("{reason:#x}");
            text!("the processor or KVM refused to run the guest (reason {reason})", reason)
        }
        Exit::Port(port) => {
            text!("the guest exited at port {port}", port = format!("{port:#x}"))
        }
        Exit::Other(number) => text!("the guest exited with KVM's reason {number}", number),
        Exit::Interrupted => return interrupted(),
    })
}

fn interrupted() -> Unavailable {
    // The signal is taken, so that it does not end the next run.
    // SAFETY: the set is live, and all zeros are a value of it; no time is waited.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, INTERRUPT);
        let none = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        libc::sigtimedwait(&set, std::ptr::null_mut(), &none);
    }
    Unavailable::new(INTERRUPTED)
}

/// Keeps all signals away from the calling thread: others of the process take them.
fn block_signals() {
    // SAFETY: the set is live, and all zeros are a value of it.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut set);
        libc::pthread_sigmask(libc::SIG_SETMASK, &set, std::ptr::null_mut());
    }
}
