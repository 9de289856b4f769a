//! A kernel thread as a layer: pinned or unpinned, with or without interrupts.

use record::text;
use std::ops::Range;
use std::rc::Rc;

use super::Module;
use super::request::{BELOW_MAX, CLOCK_MAX, PassReport, Request};
use crate::observer::{CpuCounts, grown};
use crate::{Disturbed, Layer, LayerName, Pass, Ticks, Unavailable};
use measure::watch;
use os::procfs::USER_HZ;

/// Duration of one clock reading, seconds.
const LOOK: f64 = 100e-6;

/// The routine in a kernel thread.
#[derive(Debug)]
pub struct KernelLayer {
    module: Rc<Module>,
    ticks: Ticks,
    bound: Option<u32>,
    interrupts: bool,
    clock_iterations: u32,
    /// The counts of the CPU to which the thread is pinned.
    counts: Option<CpuCounts>,
}

impl KernelLayer {
    /// Creates a layer of a loaded module; `ticks` is the clock of all layers.
    pub fn new(module: &Rc<Module>, ticks: Ticks, bound: Option<u32>, interrupts: bool) -> Self {
        let operations = kernels::adds::ADDS;
        let iterations = LOOK * watch::look_at_clock() / f64::from(operations);
        let counts = bound.map(CpuCounts::of);
        let clock_iterations = (iterations as u32).clamp(1, CLOCK_MAX);
        Self { module: Rc::clone(module), ticks, bound, interrupts, clock_iterations, counts }
    }

    fn counted(&mut self) -> [Option<u64>; 3] {
        self.counts.as_mut().map_or([None; 3], CpuCounts::read)
    }
}

impl Layer for KernelLayer {
    fn name(&self) -> LayerName {
        LayerName { layer: super::KERNEL, bound: self.bound, interrupts: self.interrupts }
    }

    fn pass(&mut self, range: Range<u64>) -> Result<Pass, Unavailable> {
        if range.end > BELOW_MAX || range.start > range.end {
            return Err(text!(
                "the kernel module counts primes only below {most}, to avoid disabling interrupts for long",
                most = BELOW_MAX
            )
            .into());
        }
        let request = Request {
            range: range.clone(),
            passes: 1,
            cpu: self.bound,
            interrupts_off: !self.interrupts,
            clock_iterations: self.clock_iterations,
            load: None,
        };
        let before = self.counted();
        let answer = self.module.ask(&request)?;
        let counted = grown(before, self.counted());
        let report = answer
            .passes
            .first()
            .ok_or_else(|| Unavailable::new(text!("the kernel module reported no passes")))?;
        read_report(report, self.ticks, self.interrupts, counted)
    }
}

/// Converts a pass that the module reported; `counted` contains the interrupts, softirqs and stolen ticks of the CPU to
/// which the thread was pinned.
fn read_report(
    report: &PassReport,
    ticks: Ticks,
    interrupts: bool,
    counted: [Option<u64>; 3],
) -> Result<Pass, Unavailable> {
    // With interrupts on, the time between bursts counts, because interrupts occur then as well; with interrupts off,
    // it does not count.
    let spent = if interrupts { report.ticks_whole } else { report.ticks_inside };
    let adds = f64::from(report.clock_iterations) * f64::from(kernels::adds::ADDS);
    let hz = |looked: u64| adds / ticks.seconds(looked);
    let (before, after) = (hz(report.clock_before), hz(report.clock_after));
    let clock = (before + after) / 2.0;
    let offset = u16::try_from(report.page_offset).ok().filter(|offset| *offset < 4096);
    let sound = spent > 0 && clock.is_finite() && clock > 0.0 && report.ticks_inside <= report.ticks_whole;
    let (Some(page_offset), true) = (offset, sound) else {
        return Err(text!("the kernel module reported impossible times").into());
    };
    let moved = u64::from(report.cpu_changes);
    let [counted_interrupts, softirqs, stolen] = counted;
    // With interrupts off, these counts are 0: no interrupt disturbs a burst, and the time between bursts does not count.
    let off = (!interrupts).then_some(0);
    Ok(Pass {
        primes: report.primes,
        seconds: ticks.seconds(spent),
        clock,
        clock_moved: (after - before).abs() / clock,
        crc: report.crc,
        page_offset,
        cpu_from: Some(report.cpu_from),
        cpu_to: Some(report.cpu_to),
        disturbed: Disturbed {
            interrupts: off.or(counted_interrupts),
            softirqs: off.or(softirqs),
            involuntary: off.or(Some(u64::from(report.preemptions))),
            voluntary: off.or(Some(u64::from(report.switches))),
            migrations: off.or(Some(moved)),
            stolen: stolen.map(|ticks| ticks as f64 / USER_HZ),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> PassReport {
        PassReport {
            primes: 7,
            ticks_inside: 900,
            ticks_whole: 1000,
            clock_before: 100,
            clock_after: 102,
            clock_iterations: 10,
            crc: 5,
            bursts: 2,
            cpu_from: 1,
            cpu_to: 1,
            preemptions: 3,
            ..PassReport::default()
        }
    }

    #[test]
    fn with_interrupts_off_only_the_bursts_count() {
        let ticks = Ticks::calibrate();
        let counted = [Some(4), Some(2), Some(0)];
        let on = read_report(&report(), ticks, true, counted).unwrap();
        let off = read_report(&report(), ticks, false, counted).unwrap();
        assert!((off.seconds / on.seconds - 0.9).abs() < 1e-9, "{on:?} {off:?}");
        assert_eq!((on.disturbed.interrupts, on.disturbed.involuntary), (Some(4), Some(3)));
        assert_eq!((off.disturbed.interrupts, off.disturbed.involuntary), (Some(0), Some(0)));
        assert!((on.clock_moved - 2.0 / 101.0).abs() < 1e-4, "{on:?}");
    }

    #[test]
    fn times_that_cannot_be_make_no_pass() {
        let ticks = Ticks::calibrate();
        for odd in [
            PassReport { ticks_whole: 0, ticks_inside: 0, ..report() },
            PassReport { clock_before: 0, ..report() },
            PassReport { clock_iterations: 0, ..report() },
            PassReport { page_offset: 4096, ..report() },
            PassReport { ticks_inside: 2000, ..report() },
        ] {
            assert!(read_report(&odd, ticks, true, [None; 3]).is_err(), "{odd:?}");
        }
    }
}
