//! The arrays that streaming workloads walk: all CPUs' parts, shared out anew among the CPUs of each group.
//!
//! A thread alone on its node walks the parts of all CPUs of that node, since its own part would fit in the caches of
//! a large machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use record::{Coverage, Machine};

use super::{Group, Workload};
use crate::arrays::{self, Arrays, CHUNK, Part};
use crate::budget::Depth;
use crate::context::{Context, Halt};

/// Every CPU's part, touched first by that CPU.
#[derive(Debug)]
pub struct ArrayPool {
    parts: Vec<Home>,
}

#[derive(Debug)]
struct Home {
    cpu: u32,
    node: Option<u32>,
    part: Part,
    /// Where the last walk ended: the next goes on from there, so that it does not find in a cache what this one left.
    cursor: AtomicUsize,
}

impl ArrayPool {
    /// The pool of `arrays`, whose parts are those of `cpus` in their order.
    pub fn new(machine: &Machine, cpus: &[u32], arrays: &Arrays) -> Self {
        let node = |cpu: u32| machine.cpu(cpu).and_then(|cpu| cpu.node);
        let home = |(cpu, part): (&u32, &Part)| Home {
            cpu: *cpu,
            node: node(*cpu),
            part: part.clone(),
            cursor: AtomicUsize::new(0),
        };
        Self { parts: cpus.iter().zip(&arrays.parts).map(home).collect() }
    }

    /// Bytes of each array that the CPUs of a group walk together.
    pub fn walked(&self, cpus: &[u32]) -> u64 {
        let mut parts: Vec<usize> =
            (0..cpus.len()).flat_map(|index| self.share(Group { cpus, index })).collect();
        parts.sort_unstable();
        parts.dedup();
        parts.iter().map(|index| self.parts[*index].part.bytes as u64).sum()
    }

    /// The parts that one member of a group walks: every so manieth of its node's.
    pub(super) fn share(&self, group: Group) -> Vec<usize> {
        let node = |cpu: u32| self.parts.iter().find(|home| home.cpu == cpu).and_then(|home| home.node);
        let Some(own) = group.cpus.get(group.index).map(|cpu| node(*cpu)) else { return Vec::new() };
        let near: Vec<usize> =
            group.cpus.iter().enumerate().filter(|(_, cpu)| node(**cpu) == own).map(|(at, _)| at).collect();
        let place = near.iter().position(|at| *at == group.index).unwrap_or(0);
        let parts =
            self.parts.iter().enumerate().filter(|(_, home)| home.node == own).map(|(index, _)| index);
        parts.skip(place).step_by(near.len().max(1)).collect()
    }

    /// The part with this number.
    pub(super) fn part(&self, index: usize) -> Option<&Part> {
        self.parts.get(index).map(|home| &home.part)
    }

    /// The next chunk of a part: its offset, and whether it is the part's last.
    pub(super) fn next_chunk(&self, index: usize) -> (usize, bool) {
        let Some(home) = self.parts.get(index) else { return (0, true) };
        let at = home.cursor.load(Ordering::Relaxed);
        let next = at + CHUNK;
        let last = next + CHUNK > home.part.bytes;
        home.cursor.store(if last { 0 } else { next }, Ordering::Relaxed);
        (at, last)
    }
}

/// Makes the pool when the first workload asks for it: that may take longer than all others do.
#[derive(Debug)]
pub struct Supply {
    seconds: f64,
    tried: bool,
    pool: Option<Arc<ArrayPool>>,
}

impl Supply {
    /// Seconds that making the arrays may take. In the main job an earlier measurement has made them.
    pub fn seconds(depth: Depth) -> f64 {
        depth.pick_named(0.0, 0.3, 12.0, 60.0)
    }

    /// Nothing made yet.
    pub fn new(context: &Context) -> Self {
        Self { seconds: Self::seconds(context.depth), tried: false, pool: None }
    }

    /// Seconds to leave aside while any of these workloads still needs arrays that are not there.
    pub fn reserved(&self, context: &Context, rest: &[&dyn Workload]) -> f64 {
        let needed = !self.tried && rest.iter().any(|workload| workload.streams());
        if needed && context.kept_arrays.is_none() { self.seconds } else { 0.0 }
    }

    /// The arrays for `workload`, if it streams and they can be had; says why not in the coverage.
    pub fn arrays_for(
        &mut self,
        context: &mut Context,
        measurement: &str,
        workload: &dyn Workload,
    ) -> Result<Option<Arc<ArrayPool>>, Halt> {
        if !workload.streams() {
            return Ok(None);
        }
        if !self.tried {
            let made = arrays::prepare(context, measurement, self.seconds)
                .and_then(|two| arrays::with_third(context, two));
            match made {
                Ok(arrays) => {
                    let cpus: Vec<u32> = context.cpus.iter().collect();
                    self.pool = Some(Arc::new(ArrayPool::new(context.machine, &cpus, &arrays)));
                    context.kept_arrays = Some(arrays);
                }
                Err(Halt::Interrupted) => return Err(Halt::Interrupted),
                Err(Halt::Impossible(why)) => {
                    context.coverage.push(Coverage::degraded(format!("{measurement} arrays"), why));
                }
            }
            self.tried = true;
        }
        Ok(self.pool.clone())
    }
}
