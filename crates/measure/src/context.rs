//! The input of a measurement, and the destination of its results.

use std::time::{Duration, Instant};

use record::long_gap::LongGap;
use record::{Coverage, CpuList, Machine, Measurement, Snapshot, Template, Text, text};

use crate::arrays::Arrays;
use crate::budget::{Depth, memory_allowance};
use crate::cycle::Cycle;
use crate::reasons;
use crate::shape::Looker;
use crate::wakeups::Wakeups;
use os::Stop;

/// A result outside its metric's physical bounds.
pub(crate) const IMPLAUSIBLE: Template = Template::new(
    "figure-implausible",
    "discarded: {value} at {place} is outside {low} to {high}, the range of real hardware",
);

/// The reason why a measurement ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// A signal interrupted the measurement.
    Interrupted,
    /// The measurement is impossible here, with the reason.
    Impossible(Text),
}

impl<T: Into<Text>> From<T> for Halt {
    fn from(why: T) -> Self {
        Halt::Impossible(why.into())
    }
}

/// Receives the progress of a run.
pub trait Progress {
    /// A measurement begins; it is expected to take `seconds`.
    fn begin(&mut self, measurement: &str, seconds: f64);
    /// The measurement has done this share of its work (0 to 1).
    fn advance(&mut self, share: f64);
    /// The measurement ended.
    fn end(&mut self);
}

/// The input of a measurement, and the destination of its results.
pub struct Context<'a> {
    /// The machine to measure.
    pub machine: &'a Machine,
    /// The machine's state before the run.
    pub snapshot: &'a Snapshot,
    /// The thoroughness of the run.
    pub depth: Depth,
    /// The stop request.
    pub stop: &'a Stop,
    /// The CPUs to use: online, allowed, and selected by the user.
    pub cpus: CpuList,
    /// The method for measuring wake-ups.
    pub wakeups: Wakeups,
    /// The results so far.
    pub measurements: Vec<Measurement>,
    /// The coverage so far.
    pub coverage: Vec<Coverage>,
    /// The random cycle of the last latency measurement, kept for measurements that need the same cycle.
    pub(crate) kept_cycle: Option<Cycle>,
    /// The arrays of a measurement, kept for the next measurement that needs arrays.
    pub(crate) kept_arrays: Option<Arrays>,
    /// Runs the placement checks; `None` if not requested.
    pub(crate) looker: Option<Looker>,
    /// The longest gaps and latest wake-ups.
    pub(crate) long_gaps: Vec<LongGap>,
    /// The number of placement checks that preceded the results not yet pushed.
    looked: u32,
    /// The lead CPU's clock during longer measurements, Hz, in chronological order.
    pub(crate) clocks_seen: Vec<f64>,
    memory_used_before: u64,
    /// Whether the whole run is quick, regardless of the depth of this measurement.
    hurried: bool,
    progress: &'a mut (dyn Progress + Send + Sync),
    deadline: Instant,
}

impl<'a> Context<'a> {
    /// Creates a context without results.
    pub fn new(
        machine: &'a Machine,
        snapshot: &'a Snapshot,
        depth: Depth,
        cpus: CpuList,
        stop: &'a Stop,
        progress: &'a mut (dyn Progress + Send + Sync),
    ) -> Self {
        Self {
            machine,
            snapshot,
            depth,
            stop,
            cpus,
            wakeups: Wakeups::USUAL,
            measurements: Vec::new(),
            coverage: Vec::new(),
            kept_cycle: None,
            kept_arrays: None,
            looker: None,
            long_gaps: Vec::new(),
            looked: 0,
            clocks_seen: Vec::new(),
            memory_used_before: os::memory_used().unwrap_or(0),
            hurried: depth == Depth::Quick,
            progress,
            deadline: Instant::now(),
        }
    }

    /// Begins a measurement, which may take this many seconds.
    pub(crate) fn begin(&mut self, name: &str, seconds: f64) {
        self.deadline = Instant::now() + Duration::from_secs_f64(seconds);
        self.looked = self.next_look();
        self.progress.begin(name, seconds);
    }

    /// Ends the current measurement.
    pub(crate) fn end(&mut self) {
        self.progress.end();
    }

    /// Records that a part is missing or doubtful, with the reason.
    pub(crate) fn degrade(&mut self, what: impl Into<String>, why: impl Into<Text>) {
        self.coverage.push(Coverage::degraded(what, why));
    }

    /// Like [`Context::degrade`], with a remedy.
    pub(crate) fn degrade_with_remedy(
        &mut self,
        what: impl Into<String>,
        why: impl Into<Text>,
        remedy: impl Into<Text>,
    ) {
        self.coverage.push(Coverage::degraded(what, why).with_remedy(remedy));
    }

    /// The command for a measurement for which this run has too little time.
    pub(crate) fn at_more_length(&self, measurement: &str) -> String {
        match (self.hurried, self.depth < Depth::Named) {
            // In a quick run, the user may have entered the same command with `--quick`, so the text mentions the flag.
            (true, _) => format!("without --quick: linespeed run {measurement}"),
            (false, true) => format!("linespeed run {measurement}"),
            (false, false) => format!("linespeed run {measurement} --full"),
        }
    }

    /// Reports the progress of the measurement.
    pub fn advance(&mut self, share: f64) {
        self.progress.advance(share);
    }

    /// Runs a placement check, if due. Nothing else may run on the CPUs during the check. `busy`: whether all CPUs were
    /// busy until now.
    pub(crate) fn look(&mut self, busy: bool) {
        if let Some(looker) = &mut self.looker {
            looker.look_when_due(busy);
        }
    }

    /// Like [`Context::look`], but called after all results so far were pushed, so that only later results belong to this check.
    pub(crate) fn look_between(&mut self, busy: bool) {
        self.look(busy);
        self.looked = self.next_look();
    }

    /// The number of the next placement check, for samples that record the checks before and after them.
    pub(crate) fn next_look(&self) -> u32 {
        self.looker.as_ref().map_or(0, |looker| looker.len() as u32)
    }

    /// Whether the time of the measurement is over.
    pub fn out_of_time(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Seconds left of the measurement's budget.
    pub fn seconds_left(&self) -> f64 {
        self.deadline.saturating_duration_since(Instant::now()).as_secs_f64()
    }

    /// `Err` if a signal requested a stop.
    pub fn check(&self) -> Result<(), Halt> {
        if self.stop.signal().is_some() { Err(Halt::Interrupted) } else { Ok(()) }
    }

    /// Adds a finished measurement. A result outside its metric's physical bounds is discarded and reported in the
    /// coverage.
    pub fn push(&mut self, mut measurement: Measurement) {
        if measurement.summary.n == 0 {
            return;
        }
        // If no further placement check was made, all samples were taken between the same two placement checks.
        if measurement.looks.is_empty() && self.looked > 0 && self.looked == self.next_look() {
            measurement.looks = vec![self.looked];
        }
        match find_implausible(&measurement) {
            None => self.measurements.push(measurement),
            withheld => self.coverage.extend(withheld),
        }
    }

    /// Bytes that new arrays may use now, in addition to the existing ones. The kernel's estimate is read again,
    /// because other processes also allocate memory. Memory that this process has allocated since the start is
    /// subtracted from the cgroup's remaining memory.
    pub fn memory_allowance(&self) -> u64 {
        let available = os::memory_available().or(self.snapshot.memory_available_bytes);
        let taken = os::memory_used().unwrap_or(0).saturating_sub(self.memory_used_before);
        let left = self.machine.limits.memory_available_bytes.map(|bytes| bytes.saturating_sub(taken));
        memory_allowance(available, left)
    }

    /// The CPU for single-CPU measurements; see [`lead_cpu`].
    pub(crate) fn lead(&self) -> Result<u32, Halt> {
        Ok(lead_cpu(self.machine, &self.cpus).ok_or(reasons::NO_CPU)?)
    }

    /// The node of `cpu`.
    pub fn node_of(&self, cpu: u32) -> Option<u32> {
        self.machine.cpu(cpu).and_then(|cpu| cpu.node)
    }
}

/// The CPU for single-CPU measurements: the first sibling of a core of the fastest kind. Among these CPUs, the last one
/// in the first package is used, because interrupts and daemons prefer low-numbered CPUs.
pub fn lead_cpu(machine: &Machine, cpus: &CpuList) -> Option<u32> {
    let fastest =
        |id: u32| machine.cpu(id).map_or((0, 0), |c| (c.capacity.unwrap_or(0), c.max_hz.unwrap_or(0)));
    let firsts = machine.one_cpu_a_core(cpus);
    let best = firsts.iter().map(fastest).max()?;
    let fast: Vec<u32> = firsts.iter().filter(|id| fastest(*id) == best).collect();
    let package = fast.first().and_then(|id| machine.cpu(*id)).and_then(|cpu| cpu.package);
    fast.iter().rev().copied().find(|id| machine.cpu(*id).and_then(|cpu| cpu.package) == package)
}

/// The coverage entry for a result outside its metric's physical bounds; `None` for a plausible result.
pub fn find_implausible(measurement: &Measurement) -> Option<Coverage> {
    let (low, high) = measurement.metric.definition()?.plausible;
    let value = measurement.value();
    if measurement.metric.is_plausible(value) {
        return None;
    }
    let [value, low, high] = [value, low, high].map(|value| record::units::figure(value, &measurement.unit));
    let place = measurement.labels.0.iter().map(|(key, value)| format!("{key}={value}"));
    let place = place.collect::<Vec<_>>().join(" ");
    Some(Coverage::skipped(measurement.metric, text!(IMPLAUSIBLE, value, place, low, high)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use record::Label;
    use record::Labels;

    /// Progress that is not shown.
    pub(crate) struct Silent;

    impl Progress for Silent {
        fn begin(&mut self, _: &str, _: f64) {}
        fn advance(&mut self, _: f64) {}
        fn end(&mut self) {}
    }

    #[test]
    fn an_impossible_figure_is_withheld_and_named() {
        let (machine, snapshot, stop) = (Machine::default(), Snapshot::default(), Stop::new());
        let mut silent = Silent;
        let mut context = Context::new(&machine, &snapshot, Depth::Quick, CpuList::new(), &stop, &mut silent);
        context.push(Measurement::new(
            "core.clock",
            Labels::new().with_label(Label::Cpu, 0u32),
            vec![7e9; 6],
        ));
        context.push(Measurement::new(
            "core.clock",
            Labels::new().with_label(Label::Cpu, 0u32),
            vec![3e9; 6],
        ));
        assert_eq!(context.measurements.len(), 1);
        assert!(context.coverage[0].why().contains("7.00 GHz at cpu=0"));
    }

    #[test]
    fn what_a_quick_run_has_no_time_for_is_not_advised_as_a_quick_run() {
        let (machine, snapshot, stop) = (Machine::default(), Snapshot::default(), Stop::new());
        let said = |of_run, of_measurement| {
            let mut silent = Silent;
            let mut context = Context::new(&machine, &snapshot, of_run, CpuList::new(), &stop, &mut silent);
            context.depth = of_measurement;
            context.at_more_length("scaling")
        };
        assert_eq!(said(Depth::Quick, Depth::Normal), "without --quick: linespeed run scaling");
        assert_eq!(said(Depth::Normal, Depth::Normal), "linespeed run scaling");
        assert_eq!(said(Depth::Named, Depth::Named), "linespeed run scaling --full");
    }

    #[test]
    fn the_lead_cpu_is_a_fast_first_sibling_away_from_cpu_0() {
        let mut machine = Machine::default();
        for id in 0..8u32 {
            let core = id / 2;
            machine.cpus.push(record::machine::Cpu {
                id,
                online: true,
                allowed: true,
                core: Some(core),
                package: Some(0),
                max_hz: Some(if core < 3 { 5_000_000_000 } else { 3_000_000_000 }),
                ..Default::default()
            });
        }
        let (snapshot, stop) = (Snapshot::default(), Stop::new());
        let mut silent = Silent;
        let context =
            Context::new(&machine, &snapshot, Depth::Quick, machine.allowed_cpus(), &stop, &mut silent);
        assert_eq!(context.lead(), Ok(4));
    }
}
