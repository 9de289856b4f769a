//! CPU-wide counters: instructions per cycle and top-down analysis of everything that runs on the CPUs, or only of the
//! tasks in one cgroup.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;

use record::Unavailable;
use record::live::Cores;

use super::attr::{Mode, Whose};
use super::events::CORE_GROUP;
use super::group::{Group, Opener, Wish};
use super::reading::{Reading, Tally};
use super::refusal::{self, Scope};
use super::top_down::{self, CATEGORIES, Method};
use super::wishes::hardware_wishes;

/// Maximum number of CPUs on which opening counters is tried until it succeeds. Several are tried because one kind of
/// core may support events that another lacks.
const TRIED: usize = 4;
/// Maximum plausible instructions per cycle: the widest cores on sale issue ten.
const MOST_IPC: f64 = 16.0;

/// Counters that are open on some CPUs. They count from their opening, and are closed when this value is dropped.
#[derive(Debug)]
pub struct CpuCounters {
    user: Vec<Group>,
    kernel: Vec<Group>,
    slots: Vec<Group>,
}

/// The counter values at one time, or between two times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuReading {
    user: Reading,
    kernel: Reading,
    slots: Reading,
}

impl CpuCounters {
    /// Counts everything that runs on these CPUs, or, with `cgroup` (an open cgroup directory), only the tasks of that
    /// cgroup.
    pub fn open(cpus: impl IntoIterator<Item = u32>, cgroup: Option<&File>) -> Result<Self, Unavailable> {
        let here = refusal::surroundings();
        if let Some(refusal) = here.without_unit() {
            return Err(refusal);
        }
        let core: Vec<Wish> =
            hardware_wishes(&[CORE_GROUP]).into_iter().map(|wish| Wish { pinned: false, ..wish }).collect();
        let slots: Vec<Wish> =
            top_down::plan().into_iter().flat_map(|plan| plan.groups.iter().map(Wish::from)).collect();
        let mut all = Self { user: Vec::new(), kernel: Vec::new(), slots: Vec::new() };
        let mut refused = None;
        for (tried, cpu) in cpus.into_iter().enumerate() {
            if all.user.is_empty() && tried == TRIED {
                break;
            }
            let whose = cgroup.map_or(Whose::Cpu(cpu), |folder| Whose::GroupOnCpu(folder.as_fd(), cpu));
            let user = Mode { user_only: true, ..Mode::default() };
            let kernel = Mode { kernel_only: true, ..Mode::default() };
            for (groups, mode, wishes) in [
                (&mut all.user, user, &core),
                (&mut all.kernel, kernel, &core),
                (&mut all.slots, Mode::default(), &slots),
            ] {
                let mut opener = Opener::new(whose, Scope::Machine, mode, here);
                wishes.iter().for_each(|wish| opener.open(wish));
                if opener.groups.is_empty() && refused.is_none() {
                    refused = wishes.first().and_then(|wish| opener.first_refusal(wish));
                }
                opener.groups.iter().for_each(Group::enable);
                groups.append(&mut opener.groups);
            }
        }
        match refused {
            Some(refusal) if all.user.is_empty() => Err(refusal),
            _ => Ok(all),
        }
    }

    /// The counts since the start.
    pub fn read(&self) -> CpuReading {
        CpuReading { user: sum(&self.user), kernel: sum(&self.kernel), slots: sum(&self.slots) }
    }
}

/// The sum of groups on different CPUs.
fn sum(groups: &[Group]) -> Reading {
    let readings: Vec<Reading> = groups
        .iter()
        .map(|group| {
            let mut tally = Tally::default();
            group.read(&mut tally);
            tally.reading()
        })
        .collect();
    Reading::sum(&readings)
}

impl CpuReading {
    /// The counts since `before`, an earlier reading of the same counters.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            user: self.user.since(&before.user),
            kernel: self.kernel.since(&before.kernel),
            slots: self.slots.since(&before.slots),
        }
    }

    /// The results; `None` if nothing was counted.
    pub fn cores(&self) -> Option<Cores> {
        self.cores_by(top_down::plan().map(|plan| plan.method))
    }

    fn cores_by(&self, method: Option<Method>) -> Option<Cores> {
        let ipc = |reading: &Reading| reading.ipc().filter(|ipc| *ipc > 0.0 && *ipc <= MOST_IPC);
        let both = Reading::sum([&self.user, &self.kernel]);
        let all = Reading::sum([&self.user, &self.kernel, &self.slots]);
        let top_down = method.and_then(|method| top_down::shares(method, &all));
        let counted = both.counts.iter().map(|count| count.coverage());
        let coverage = counted.chain(top_down.as_ref().map(|slots| slots.coverage)).fold(1.0, f64::min);
        let shares = top_down.map(|slots| slots.shares).into_iter().flatten();
        let top_down: BTreeMap<String, f64> =
            CATEGORIES.iter().map(|name| (*name).to_owned()).zip(shares).collect();
        let cores = Cores {
            ipc: ipc(&both),
            ipc_user: ipc(&self.user),
            ipc_kernel: ipc(&self.kernel),
            top_down,
            coverage,
        };
        (cores.ipc.is_some() || !cores.top_down.is_empty()).then_some(cores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::reading::Row;

    /// A reading with these rows of event, raw count, enabled time and running time.
    fn reading(rows: &[(&'static str, u64, u64, u64)]) -> Reading {
        let mut tally = Tally::default();
        rows.iter().for_each(|(event, raw, enabled, running)| {
            tally.add(Row { event, raw: *raw, enabled: *enabled, running: *running, user_only: false });
        });
        tally.reading()
    }

    fn core(cycles: u64, instructions: u64, running: u64) -> Reading {
        reading(&[("cycles", cycles, 1000, running), ("instructions", instructions, 1000, running)])
    }

    #[test]
    fn user_mode_and_kernel_are_apart_and_their_sum_is_scaled_by_the_time_counted() {
        let slots = [
            ("topdown-retiring", 20, 1000, 500),
            ("topdown-bad-spec", 5, 1000, 500),
            ("topdown-fe-bound", 15, 1000, 500),
            ("topdown-be-bound", 60, 1000, 500),
        ];
        let all =
            CpuReading { user: core(400, 800, 1000), kernel: core(100, 50, 500), slots: reading(&slots) };
        let cores = all.cores_by(Some(Method::Categories)).unwrap();
        assert_eq!((cores.ipc_user, cores.ipc_kernel), (Some(2.0), Some(0.5)));
        // 500 cycles, counted for 1,500 of 2,000 ns.
        assert!((cores.ipc.unwrap() - 850.0 / 500.0).abs() < 1e-9);
        assert_eq!((cores.top_down["backend-bound"], cores.coverage), (0.6, 0.5));
        assert_eq!(all.cores_by(None).unwrap().top_down.len(), 0);
    }

    #[test]
    fn what_stood_still_or_went_backwards_is_no_figure() {
        let at = |cycles, instructions, enabled| {
            let user = reading(&[
                ("cycles", cycles, enabled, enabled),
                ("instructions", instructions, enabled, enabled),
            ]);
            CpuReading { user, ..CpuReading::default() }
        };
        let (first, later) = (at(1000, 2000, 10), at(3000, 3000, 20));
        assert_eq!(later.since(&first).cores_by(None).unwrap().ipc_user, Some(0.5));
        assert_eq!(first.since(&first).cores_by(None), None);
        assert_eq!(first.since(&later).cores_by(None), None);
        // More instructions than any core retires.
        assert_eq!(at(10, 9000, 30).since(&CpuReading::default()).cores_by(None), None);
        assert_eq!(CpuReading::default().cores(), None);
    }

    #[test]
    fn a_machine_without_counters_says_why() {
        match CpuCounters::open([0], None) {
            Ok(counters) => assert!(counters.read().since(&CpuReading::default()).cores().is_some()),
            Err(why) => assert!(why.reason.code().is_some()),
        }
    }
}
