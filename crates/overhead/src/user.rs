//! Runs the routine in user mode: placed by the scheduler, pinned to a CPU, or pinned with real-time priority, so that
//! no other task preempts it.

use std::ops::Range;

use kernels::primes;
use record::{CpuList, text};

use super::layer_thread::LayerThread;
use super::{Layer, LayerName, Observer, Pass, Ticks, Unavailable, crc32, page_offset};
use os::pin::Pinned;

/// The lowest real-time priority; it takes precedence over every ordinary task.
const PRIORITY: i32 = 1;

/// How a user program is run.
#[derive(Clone, Debug, PartialEq)]
pub enum UserMode {
    /// Placed by the scheduler on any of these CPUs.
    Unbound(CpuList),
    /// Pinned to this CPU.
    Bound(u32),
    /// A repetition of the pinned mode; any difference is noise.
    Again(u32),
    /// Pinned, with real-time priority.
    RealTime(u32),
}

impl UserMode {
    /// The layer's name.
    pub fn name(&self) -> LayerName {
        let (layer, bound) = match self {
            UserMode::Unbound(_) => ("user", None),
            UserMode::Bound(cpu) => ("user", Some(*cpu)),
            UserMode::Again(cpu) => (super::AGAIN, Some(*cpu)),
            UserMode::RealTime(cpu) => (super::REAL_TIME, Some(*cpu)),
        };
        LayerName { layer, bound, interrupts: true }
    }
}

/// The program in its thread; the thread's affinity does not change while the program runs.
#[derive(Debug)]
struct Running {
    cpus: CpuList,
    is_bound: bool,
    observer: Observer,
    _pinned: Pinned,
}

/// The layer of a user program.
#[derive(Debug)]
pub struct User {
    name: LayerName,
    thread: LayerThread<Running>,
}

impl User {
    /// Starts a user program that runs in this way.
    ///
    /// # Errors
    ///
    /// The thread cannot be pinned to the CPU, or real-time priority is not allowed.
    pub fn start(how: UserMode, ticks: Ticks) -> Result<Self, Unavailable> {
        let name = how.name();
        let thread = LayerThread::start(None, move || Running::prepare(&how, ticks))?;
        Ok(Self { name, thread })
    }
}

impl Layer for User {
    fn name(&self) -> LayerName {
        self.name
    }

    fn pass(&mut self, range: Range<u64>) -> Result<Pass, Unavailable> {
        self.thread.run(None, move |program| program.pass(range))
    }
}

impl Running {
    /// Sets the affinity and the priority of the calling thread.
    fn prepare(how: &UserMode, ticks: Ticks) -> Result<Self, Unavailable> {
        let (cpus, is_bound) = match how {
            UserMode::Unbound(cpus) => (cpus.clone(), false),
            UserMode::Bound(cpu) | UserMode::Again(cpu) | UserMode::RealTime(cpu) => {
                ([*cpu].into_iter().collect(), true)
            }
        };
        let pinned = Pinned::within(&cpus).map_err(|error| {
            text!("cannot pin a thread to CPU {cpus}: {error}", cpus = &cpus)
                .with_remedy(text!("choose a CPU that this process may use: --cpu or --cpus"))
        })?;
        if matches!(how, UserMode::RealTime(_)) {
            os::set_fifo(PRIORITY).map_err(|error| {
                text!("real-time priority (SCHED_FIFO) is refused: {error}").with_remedy(os::fifo_remedy())
            })?;
        }
        Ok(Self { cpus, is_bound, observer: Observer::new(ticks), _pinned: pinned })
    }

    fn pass(&mut self, range: Range<u64>) -> Result<Pass, Unavailable> {
        let (primes, seen) = self.observer.observe(|| primes::count(range.start, range.end));
        let mut ran_on = [seen.cpu_from, seen.cpu_to].into_iter().flatten();
        if let Some(cpu) = ran_on.find(|cpu| self.is_bound && !self.cpus.contains(*cpu)) {
            return Err(text!("pinned to CPU {cpus}, but ran on CPU {cpu}", cpus = &self.cpus)
                .with_remedy(text!("the CPU went offline: choose another with --cpu")));
        }
        let code = primes::code();
        let page_offset = page_offset(code.as_ptr().addr() as u64);
        Ok(Pass { primes, crc: crc32(code), page_offset, ..seen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crc32;

    #[test]
    fn every_way_of_running_it_finds_the_same_primes_in_the_same_bytes() {
        let ticks = Ticks::calibrate();
        let cpu = os::pin::allowed().unwrap().iter().last().unwrap();
        let all = os::pin::allowed().unwrap();
        for how in
            [UserMode::Unbound(all), UserMode::Bound(cpu), UserMode::Again(cpu), UserMode::RealTime(cpu)]
        {
            let mut layer = match User::start(how.clone(), ticks) {
                Ok(layer) => layer,
                Err(why) => {
                    assert_eq!(how, UserMode::RealTime(cpu), "{why:?}");
                    assert!(why.remedy.is_some(), "{why:?}");
                    continue;
                }
            };
            let pass = layer.pass(0..10_000).unwrap();
            assert_eq!((pass.primes, pass.page_offset), (1229, 0), "{how:?}");
            assert_eq!(pass.crc, crc32(primes::code()));
            assert!(pass.seconds > 0.0 && pass.clock > 1e7, "{pass:?}");
        }
    }

    #[test]
    fn a_cpu_that_is_not_there_is_a_reason_with_a_way_out() {
        let why = User::start(UserMode::Bound(60_000), Ticks::calibrate()).unwrap_err();
        assert!(why.reason.value("cpus") == Some(&"60000".into()) && why.remedy.is_some());
    }
}
