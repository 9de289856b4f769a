//! The routine in user mode: placed by the scheduler, bound to a CPU, and bound with real-time priority, so that no
//! other task takes its place.

use std::ops::Range;

use kernels::primes;
use record::{CpuList, text};

use super::layer_thread::{LayerThread, PassFunction};
use super::{Bound, Layer, LayerName, Observer, Pass, Ticks, Unavailable};
use os::pin::Pinned;

/// The least real-time priority: above every other task of the usual kind.
const PRIORITY: i32 = 1;

/// How a user program is run.
#[derive(Clone, Debug, PartialEq)]
pub enum UserMode {
    /// On these CPUs, as the scheduler places it.
    Unbound(CpuList),
    /// Bound to this CPU.
    Bound(u32),
    /// The same once more: what differs from the first is noise.
    Again(u32),
    /// Bound, with real-time priority.
    RealTime(u32),
}

impl UserMode {
    /// The layer's place.
    pub fn name(&self) -> LayerName {
        let (layer, bound) = match self {
            UserMode::Unbound(_) => ("user", Bound::None),
            UserMode::Bound(cpu) => ("user", Bound::Cpu(*cpu)),
            UserMode::Again(cpu) => (super::AGAIN, Bound::Cpu(*cpu)),
            UserMode::RealTime(cpu) => (super::REAL_TIME, Bound::Cpu(*cpu)),
        };
        LayerName { layer, bound, interrupts: true }
    }
}

/// User mode.
#[derive(Debug)]
pub struct User {
    name: LayerName,
    thread: LayerThread,
}

impl User {
    /// A user program that is run like this.
    ///
    /// # Errors
    ///
    /// The CPU cannot be bound to, or real-time priority is not allowed.
    pub fn start(how: UserMode, ticks: Ticks) -> Result<Self, Unavailable> {
        let name = how.name();
        let thread = LayerThread::start(move || prepare(&how, ticks))?;
        Ok(Self { name, thread })
    }
}

impl Layer for User {
    fn name(&self) -> LayerName {
        self.name
    }

    fn pass(&mut self, range: Range<u64>) -> Result<Pass, Unavailable> {
        self.thread.pass(range)
    }
}

/// Sets the calling thread up.
fn prepare(how: &UserMode, ticks: Ticks) -> Result<PassFunction, Unavailable> {
    let (cpus, bound) = match how {
        UserMode::Unbound(cpus) => (cpus.clone(), None),
        UserMode::Bound(cpu) | UserMode::Again(cpu) | UserMode::RealTime(cpu) => {
            ([*cpu].into_iter().collect(), Some(*cpu))
        }
    };
    let pinned = Pinned::within(&cpus).map_err(|error| {
        Unavailable::new(text!("cannot bind a thread to CPU {cpus}: {error}", cpus = &cpus, error))
            .with_remedy(text!("choose a CPU that this process may use: --cpu or --cpus"))
    })?;
    if matches!(how, UserMode::RealTime(_)) {
        os::set_fifo(PRIORITY).map_err(|error| {
            Unavailable::new(text!("real-time priority (SCHED_FIFO) is refused: {error}", error))
                .with_remedy(os::fifo_remedy())
        })?;
    }
    let mut observer = Observer::new(ticks);
    Ok(Box::new(move |range| {
        // The thread's CPUs stay as they are for as long as it lives.
        let _ = &pinned;
        let (primes, observation) = observer.observe(|| primes::count(range.start, range.end));
        let strayed = [observation.cpu_from, observation.cpu_to]
            .into_iter()
            .flatten()
            .find(|cpu| bound.is_some_and(|b| b != *cpu));
        if let Some(cpu) = strayed {
            return Err(Unavailable::new(text!(
                "bound to CPU {cpus}, but ran on CPU {cpu}",
                cpus = &cpus,
                cpu
            ))
            .with_remedy(text!("the CPU went offline: choose another with --cpu")));
        }
        let code = primes::code();
        let seconds = observation.seconds;
        Ok(observation.into_pass(primes, seconds, code, code.as_ptr().addr() as u64))
    }))
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
