//! The arrays of streaming workloads: the parts of all CPUs, redistributed among the CPUs of each group.
//!
//! A thread that is the only one on its node walks the parts of all CPUs of that node, because its own part would fit
//! in the caches of a large machine.

use std::sync::atomic::{AtomicUsize, Ordering};

use record::Machine;

use crate::arrays::{Arrays, CHUNK, Part};

/// The CPUs that work together, and the position of this CPU among them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group<'a> {
    /// All CPUs of the group.
    pub cpus: &'a [u32],
    /// The index of this CPU among them.
    pub index: usize,
}

/// Each CPU's part, first touched by that CPU.
#[derive(Debug)]
pub(crate) struct ArrayPool {
    parts: Vec<Home>,
}

#[derive(Debug)]
struct Home {
    cpu: u32,
    node: Option<u32>,
    part: Part,
    /// The position at which the last pass ended. The next pass continues there, so that its data is not in a cache.
    cursor: AtomicUsize,
}

impl ArrayPool {
    /// The pool of `arrays`, whose parts belong to `cpus`, in order.
    pub(crate) fn new(machine: &Machine, cpus: &[u32], arrays: &Arrays) -> Self {
        let node = |cpu: u32| machine.cpu(cpu).and_then(|cpu| cpu.node);
        let home = |(cpu, part): (&u32, &Part)| Home {
            cpu: *cpu,
            node: node(*cpu),
            part: part.clone(),
            cursor: AtomicUsize::new(0),
        };
        Self { parts: cpus.iter().zip(&arrays.parts).map(home).collect() }
    }

    /// Bytes of each array walked by the CPUs of a group together.
    pub(crate) fn walked(&self, cpus: &[u32]) -> u64 {
        let mut parts: Vec<usize> =
            (0..cpus.len()).flat_map(|index| self.share(Group { cpus, index })).collect();
        parts.sort_unstable();
        parts.dedup();
        parts.iter().map(|index| self.parts[*index].part.bytes as u64).sum()
    }

    /// The parts that one member of a group walks: an equal share of the parts on its node.
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

    /// The next chunk of a part: its offset, and whether it is the last chunk of the part.
    pub(super) fn next_chunk(&self, index: usize) -> (usize, bool) {
        let Some(home) = self.parts.get(index) else { return (0, true) };
        let at = home.cursor.load(Ordering::Relaxed);
        let next = at + CHUNK;
        let last = next + CHUNK > home.part.bytes;
        home.cursor.store(if last { 0 } else { next }, Ordering::Relaxed);
        (at, last)
    }
}
