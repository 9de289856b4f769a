//! The workloads of one measurement: the workloads that can run here, their arrays, their times, and the kernel's counts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use machine::Root;
use record::{Coverage, Label, Machine, Unavailable, metrics, text};

use super::array_pool::ArrayPool;
use super::incidents::Incidents;
use super::worker_pool::WorkerPool;
use super::workload::Workload;
use crate::array_setup;
use crate::arrays::ARRAYS;
use crate::budget::{Depth, beyond_caches};
use crate::context::{Context, Halt};
use crate::counters;

/// Maximum time for creating the arrays, seconds. In the default run, an earlier measurement has already created them.
pub(crate) fn array_seconds(depth: Depth) -> f64 {
    depth.pick_named(0.0, 0.3, 12.0, 60.0)
}

/// Bytes of the arrays of streaming workloads; 0 in a quick run.
pub(crate) fn array_bytes(machine: &Machine, depth: Depth) -> u64 {
    if depth == Depth::Quick { 0 } else { beyond_caches(machine).saturating_mul(ARRAYS as u64) }
}

/// The workloads of one measurement.
pub(crate) struct Session {
    measurement: &'static str,
    /// The workloads in the order in which they run.
    pub chosen: Vec<&'static dyn Workload>,
    incidents: Incidents,
    /// Whether an attempt to create the arrays was made. They are not created until a workload needs them, because creating them may take
    /// longer than all other steps.
    tried: bool,
    pool: Option<Arc<ArrayPool>>,
}

/// One workload's part of a measurement.
pub(crate) struct Turn<'a> {
    pub workload: &'a dyn Workload,
    pub incidents: &'a Incidents,
    /// The time at which this part ends.
    pub end: Instant,
    /// The arrays, for a streaming workload.
    pub pool: Option<Arc<ArrayPool>>,
}

impl Turn<'_> {
    /// Starts a worker on each of these CPUs.
    pub(crate) fn start_workers(
        &self,
        machine: &Machine,
        cpus: &[u32],
    ) -> Result<WorkerPool<'_>, Unavailable> {
        WorkerPool::start(self.workload, machine, cpus, self.pool.as_ref())
    }

    /// Bytes of each array that these CPUs walk in a streaming workload.
    pub(crate) fn walked(&self, cpus: &[u32]) -> Option<u64> {
        self.pool.as_ref().map(|pool| pool.walked(cpus))
    }

    /// Remaining seconds.
    pub(crate) fn seconds_left(&self) -> f64 {
        self.end.saturating_duration_since(Instant::now()).as_secs_f64()
    }
}

impl Session {
    /// The workloads that can run here and are `wanted` at this depth; the others are reported in the coverage. A
    /// streaming workload is omitted for `threads` threads if this run also measures their memory bandwidth.
    pub(crate) fn begin(
        context: &mut Context,
        measurement: &'static str,
        threads: &[usize],
        wanted: impl Fn(&dyn Workload) -> bool,
    ) -> Result<Self, Halt> {
        let mut chosen = Vec::new();
        let mut others = Vec::new();
        let measured: Vec<u64> = context
            .measurements
            .iter()
            .filter(|m| m.metric == metrics::MEMORY_BANDWIDTH)
            .filter_map(|m| m.labels.count(Label::Threads))
            .collect();
        let has_bandwidth =
            !threads.is_empty() && threads.iter().all(|threads| measured.contains(&(*threads as u64)));
        for workload in super::all() {
            if has_bandwidth && workload.definition().streams {
                continue;
            }
            if let Err(why) = workload.usable() {
                let what = format!("{measurement} {}", workload.name());
                context.coverage.push(why.into_impossible(what));
            } else if wanted(workload) {
                chosen.push(workload);
            } else {
                others.push(workload.name());
            }
        }
        if !others.is_empty() {
            let why = match context.depth {
                Depth::Quick => text!("omitted from a quick run"),
                _ => text!("skipped for lack of time"),
            };
            let skipped = Coverage::skipped(format!("{measurement} {}", others.join(", ")), why);
            context.coverage.push(skipped.with_remedy(context.at_more_length(measurement)));
        }
        if chosen.is_empty() {
            return Err(text!("no workload can run here").into());
        }
        let incidents = Incidents::new(Root::live(), context.machine.cpus.len());
        Ok(Self { measurement, chosen, incidents, tried: false, pool: None })
    }

    /// Reports once per run why only declared IPC is available, not counted IPC.
    pub(crate) fn report_counters(&self, context: &mut Context) {
        let available = counters::availability();
        if available.pmu || context.coverage.iter().any(Coverage::is_about_counters) {
            return;
        }
        let refusal = available.refusal.clone().unwrap_or_else(|| Unavailable::new(counters::NO_COUNTERS));
        context.coverage.push(refusal.into_impossible(Coverage::counters_of(self.measurement)));
    }

    /// Measures the workload with this index in its share of the remaining time.
    pub(crate) fn measure(
        &mut self,
        context: &mut Context,
        index: usize,
        share: f64,
        measure: impl FnOnce(&mut Context, &Turn) -> Result<(), Unavailable>,
    ) -> Result<(), Halt> {
        context.check()?;
        let workload = self.chosen[index];
        // Time is reserved as long as a later workload still needs arrays that do not exist yet.
        let streams = self.chosen[index..].iter().any(|workload| workload.definition().streams);
        let to_make = !self.tried && streams && context.kept_arrays.is_none();
        let reserved = if to_make { array_seconds(context.depth) } else { 0.0 };
        let seconds = (context.seconds_left() - reserved).max(0.0) * share;
        let pool = if workload.definition().streams { self.make_arrays(context)? } else { None };
        let end = Instant::now() + Duration::from_secs_f64(seconds);
        let turn = Turn { workload, incidents: &self.incidents, end, pool };
        if let Err(why) = measure(context, &turn) {
            let what = format!("{} {}", self.measurement, workload.name());
            context.coverage.push(why.into_degraded(what));
        }
        Ok(())
    }

    /// The arrays, which are created on the first call; `None` if that was impossible.
    fn make_arrays(&mut self, context: &mut Context) -> Result<Option<Arc<ArrayPool>>, Halt> {
        if !self.tried {
            self.pool = make_arrays(context, self.measurement)?;
            self.tried = true;
        }
        Ok(self.pool.clone())
    }
}

/// The arrays for streaming, possibly from an earlier measurement; if there are none, the reason is reported in the
/// coverage.
pub(crate) fn make_arrays(context: &mut Context, measurement: &str) -> Result<Option<Arc<ArrayPool>>, Halt> {
    let made = array_setup::prepare(context, measurement, array_seconds(context.depth))
        .and_then(|two| array_setup::with_third(context, two));
    match made {
        Ok(arrays) => {
            let cpus: Vec<u32> = context.cpus.iter().collect();
            let pool = ArrayPool::new(context.machine, &cpus, &arrays);
            context.kept_arrays = Some(arrays);
            Ok(Some(Arc::new(pool)))
        }
        Err(Halt::Interrupted) => Err(Halt::Interrupted),
        Err(Halt::Impossible(why)) => {
            context.degrade(format!("{measurement} arrays"), why);
            Ok(None)
        }
    }
}
