//! Measures the effective core clock with a chain of dependent adds, checked by a chain of multiplies. The clock is
//! measured on one CPU, then on all CPUs at the same time, with scalar code and right after heavy vector work of each
//! width.

use std::time::{Duration, Instant};

use kernels::{chain, heavy};
use record::text::Value;
use record::{Doubt, Label, Labels, Mark, Measurement, SampleMark, detail, metrics, text};
use serde_json::json;

use crate::budget::Budget;
use crate::context::{Context, Halt};
use crate::measure::{Measure, NO_OBSTACLE};
use crate::repeat::judged;
use crate::thread_group::{self, Member};
use crate::watch;

/// Maximum difference between the results of the two chains; beyond this, at least one of them does not show the clock.
const AGREEMENT: f64 = 0.01;

/// Maximum half-width of the 95 % CI; a clock with a wider interval is too noisy.
const TARGET: f64 = 0.01;

/// Length of one timed chain: long compared with the time to read the clock (25 ns), short compared with the interval
/// between timer ticks (1 to 4 ms).
const CHAIN_SECONDS: f64 = 150e-6;

/// Length of a burst of heavy vector work before each clock reading. Intel cores keep the lower license-based clock for
/// about 650 µs after the last heavy instruction, so a reading immediately afterwards still shows that clock.
const BURST_SECONDS: f64 = 400e-6;

/// Minimum number of samples for a 95 % CI.
const LEAST: usize = 6;

/// Extra time for sampling on a CPU that is so busy that hardly any sample is undisturbed.
const OVERTIME: Duration = Duration::from_millis(200);

/// The samples of one CPU.
#[derive(Clone, Debug, Default)]
struct Taken {
    add: Vec<f64>,
    multiply: Vec<f64>,
    marks: Vec<SampleMark>,
    /// Clocks from pairs of runs that were interrupted, Hz.
    cut: Vec<f64>,
}

impl Taken {
    fn push(&mut self, rate: Result<f64, f64>) {
        match rate {
            Ok(hz) => self.add.push(hz),
            Err(hz) => self.cut.push(hz),
        }
    }

    /// If hardly any pair was undisturbed, uses interrupted pairs with a plausible clock. Returns whether interrupted
    /// pairs were needed.
    fn make_do(&mut self) -> bool {
        let needed = self.add.len() < LEAST;
        if needed {
            self.add.extend(self.cut.drain(..).filter(|hz| metrics::CORE_CLOCK.is_plausible(*hz)));
        }
        needed
    }
}

pub(crate) const CLOCK: Measure = Measure {
    name: "clock",
    metrics: &[metrics::CORE_CLOCK],
    obstacle: NO_OBSTACLE,
    budget: |_, cpus, depth| Budget {
        seconds: depth.pick(0.8, 3.4, 18.0) + cpus.len() as f64 * 0.2e-3,
        bytes: 0,
    },
    uses_arrays: false,
    run,
};

fn run(context: &mut Context) -> Result<(), Halt> {
    let lead = context.lead()?;
    let cpus: Vec<u32> = context.cpus.iter().collect();
    // The clock is measured for scalar code and after work of each vector width, on one CPU and on all CPUs.
    let wide = |heavy: &&heavy::Heavy| heavy.variant.bits() > 128 || cfg!(target_arch = "aarch64");
    let vectors = heavy::all().iter().filter(|heavy| heavy.variant.usable()).filter(wide).map(Some);
    let vectors: Vec<Option<&heavy::Heavy>> = std::iter::once(None).chain(vectors).collect();
    let parts = 2.0 * vectors.len() as f64;
    let seconds = context.depth.pick(0.6, 3.0, 16.0) / parts;

    let mut done = 0.0;
    for (active, group) in [("one", vec![lead]), ("all", cpus)] {
        if active == "all" && group.len() < 2 {
            context.degrade("clock all", text!("only one CPU is available"));
            continue;
        }
        for vector in &vectors {
            context.check()?;
            let taken = thread_group::run(&group, |member| sample(member, seconds, *vector));
            for (cpu, taken) in group.iter().zip(taken) {
                let Some((pinned, taken)) = taken else { continue };
                if !pinned && vector.is_none() {
                    report_unpinned(context, *cpu);
                }
                context.push(summarize(*cpu, active, vector.map_or("scalar", width_word), taken));
            }
            done += 1.0;
            context.advance(done / parts);
        }
    }
    Ok(())
}

fn report_unpinned(context: &mut Context, cpu: u32) {
    context.degrade_with_remedy(
        "clock",
        text!("a thread cannot be pinned to CPU {cpu}"),
        text!("allow sched_setaffinity (a seccomp filter blocks it), or bring the CPU online"),
    );
}

fn width_word(vector: &heavy::Heavy) -> &'static str {
    match vector.variant.bits() {
        512 => "512",
        256 => "256",
        _ if cfg!(target_arch = "aarch64") => "neon",
        _ => "128",
    }
}

/// Samples both chains for `seconds`. If `vector` is given, each sample follows a burst of this vector work.
fn sample(member: Member, seconds: f64, vector: Option<&heavy::Heavy>) -> (bool, Taken) {
    let hz = watch::look_at_clock();
    let iterations = |chain: &chain::Chain, cycles_each: f64, wanted: f64| {
        ((wanted * hz) / (f64::from(chain.work.operations) * cycles_each)).ceil().max(1.0) as u64
    };
    let adds = iterations(&chain::ADD, 1.0, CHAIN_SECONDS);
    let latency = f64::from(*chain::MULTIPLY_CYCLES.start());
    let multiplies = iterations(&chain::MULTIPLY, latency, CHAIN_SECONDS);
    let burst = vector.map(|v| {
        let from = Instant::now();
        // SAFETY: `run` was called only with variants that are usable here.
        unsafe { (v.run)(1000) };
        (v, (BURST_SECONDS / (from.elapsed().as_secs_f64() / 1000.0).max(1e-9)).ceil().max(1.0) as u64)
    });
    member.wait();
    // All threads run for the same time: each CPU is measured while the others are busy.
    let end = member.start + Duration::from_secs_f64(seconds);
    let mut taken = Taken::default();
    let mut last = f64::NAN;
    while Instant::now() < end || taken.add.len() < LEAST {
        let switches = watch::involuntary_switches();
        if let Some((vector, iterations)) = burst {
            // SAFETY: as above.
            unsafe { (vector.run)(iterations) };
            // Only the add chain is timed: it must follow the burst immediately, while the lower license-based clock is still in
            // effect. An untimed first run waits for the burst's last results and for the core's return from its
            // 512-bit mode.
            let n = 40_000 / u64::from(chain::ADD.work.operations);
            (chain::ADD.run)(n);
            taken.push(watch::chain_rate(&chain::ADD, n));
        } else {
            taken.push(watch::chain_rate(&chain::ADD, adds));
            taken.multiply.extend(watch::chain_rate(&chain::MULTIPLY, multiplies));
        }
        if taken.add.len() + taken.cut.len() > 200_000
            || (Instant::now() > end + OVERTIME && taken.add.len() < LEAST)
        {
            break;
        }
        let Some(&now) = taken.add.last() else { continue };
        let index = (taken.add.len() - 1) as u32;
        let mut mark = |mark| taken.marks.push(SampleMark { sample: index, mark });
        if (now / last - 1.0).abs() > AGREEMENT {
            mark(Mark::ClockMoved);
        }
        if watch::involuntary_switches() > switches {
            mark(Mark::Switched);
        }
        if member.has_moved() {
            mark(Mark::Migrated);
        }
        last = now;
    }
    (member.pinned, taken)
}

fn summarize(cpu: u32, active: &str, vector: &str, mut taken: Taken) -> Measurement {
    let (cut, pairs) = (taken.cut.len(), taken.cut.len() + taken.add.len());
    let made_do = taken.make_do();
    let place = Labels::new()
        .with_label(Label::Cpu, cpu)
        .with_label(Label::Active, active)
        .with_label(Label::Vector, vector);
    let m = Measurement::new(metrics::CORE_CLOCK, place, taken.add)
        .with_detail(detail::KERNEL, chain::ADD.name)
        .with_detail(detail::METHOD, "t(2N) - t(N)")
        .with_known_detail(detail::PAIRS_CUT_BY_INTERRUPTION, (cut > 0).then_some(cut));
    let mut m = judged(Measurement { marks: taken.marks, ..m }, TARGET);
    if made_do && cut > 0 && m.summary.n > 0 {
        let why = text!("{cut} of {pairs} pairs of runs were interrupted");
        m.doubt = Some(Doubt::too_noisy(why));
    }
    if !taken.multiply.is_empty() && m.summary.n > 0 {
        let rate = record::Summary::from_samples(&taken.multiply).median;
        let cycles = m.summary.median / rate;
        let (least, most) = (*chain::MULTIPLY_CYCLES.start(), *chain::MULTIPLY_CYCLES.end());
        let latency = cycles.round().clamp(f64::from(least), f64::from(most));
        let second = rate * latency;
        let apart = (second / m.summary.median - 1.0).abs();
        m.detail.set(detail::MULTIPLY_CHAIN_HZ, json!(second.round()));
        m.detail.set(detail::MULTIPLY_CYCLES, json!(latency));
        m.detail.set(detail::CHAINS_DIFFER, json!((apart * 1e5).round() / 1e5));
        if apart > AGREEMENT {
            let disagree = text!(
                "clock-chains-disagree",
                "additions show a clock of {adds}, but multiplications show {multiplies}; the two should agree within {agreement}",
                adds = Value::Figure(m.summary.median, "Hz"),
                multiplies = Value::Figure(second, "Hz"),
                agreement = Value::Share(AGREEMENT)
            );
            m.doubt = Some(disagree.into());
        }
    }
    m
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::DoubtKind;

    #[test]
    fn chains_that_disagree_cast_doubt() {
        let latency = f64::from(*chain::MULTIPLY_CYCLES.start());
        let taken = |factor: f64| Taken {
            add: vec![3e9; 10],
            multiply: vec![3e9 / latency * factor; 10],
            ..Taken::default()
        };
        assert_eq!(summarize(0, "one", "scalar", taken(1.0)).doubt, None);
        assert!(
            summarize(0, "one", "scalar", taken(1.02)).doubt.unwrap().code() == Some("clock-chains-disagree")
        );
        // With two dependent adds per cycle, the multiplies appear to take twice as many cycles as they do, which is
        // more than on the slowest core.
        let twice = latency / (2.0 * f64::from(*chain::MULTIPLY_CYCLES.end()));
        assert!(summarize(0, "one", "scalar", taken(twice)).doubt.is_some());
    }

    #[test]
    fn pairs_that_something_cut_into_are_counted_and_no_samples() {
        let mut taken =
            Taken { marks: vec![SampleMark { sample: 1, mark: Mark::Switched }], ..Taken::default() };
        for rate in [Err(7e11), Ok(3e9), Ok(3e9), Err(1e9), Ok(3e9), Ok(3e9), Ok(3e9), Ok(3e9)] {
            taken.push(rate);
        }
        let m = summarize(0, "one", "scalar", taken);
        assert_eq!(m.summary.n, 6);
        assert_eq!(m.detail.get(detail::PAIRS_CUT_BY_INTERRUPTION), Some(2));
        assert_eq!(m.marks, [SampleMark { sample: 1, mark: Mark::Switched }]);
    }

    #[test]
    fn where_all_was_cut_the_possible_ones_stand_in_doubt() {
        let mut taken = Taken::default();
        for rate in [Err(7e11), Err(3e9), Err(2.8e9), Ok(3e9), Err(-1.0)] {
            taken.push(rate);
        }
        let m = summarize(0, "one", "scalar", taken);
        assert_eq!((m.summary.n, m.summary.max), (3, 3e9));
        assert_eq!(m.doubt.unwrap().kind(), DoubtKind::TooNoisy);
    }
}
