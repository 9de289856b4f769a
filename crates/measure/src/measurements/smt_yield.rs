//! SMT yield: compares all siblings of a core together with a single sibling, in interleaved rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use record::text::Value;
use record::{CpuList, Label, Labels, Machine, Measurement, Unavailable, detail, metrics, text};
use serde_json::json;

use crate::budget::{Budget, Depth};
use crate::context::{Context, Halt};
use crate::measure::Measure;
use crate::repeat::{judged, mark_samples, there_and_back};
use crate::workloads::figures::{Seen, TARGET};
use crate::workloads::session::{Session, Turn, array_bytes, array_seconds};
use crate::workloads::worker_pool::{Slice, TimeBudget};

const NAME: &str = "smt-yield";

/// The workloads of the default run.
const NORMAL: [&str; 3] = ["primes", "aes-256-ige", "flops"];

/// Rounds, which alternate between the orders "one sibling, then all" and "all, then one sibling".
const ROUNDS: usize = 7;

/// Seconds for starting and ending the threads of a slice.
const START_SECONDS: f64 = 6e-3;

/// A core with its siblings in use.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Core {
    core: u32,
    cpus: Vec<u32>,
}

pub(crate) const SMT_YIELD: Measure = Measure {
    name: NAME,
    metrics: &[metrics::SMT_YIELD],
    obstacle: |machine, snapshot, cpus| {
        let none = || no_siblings(machine, snapshot.smt.as_deref()).into_impossible(NAME);
        find_cores(machine, cpus).is_empty().then(none)
    },
    budget: |machine, cpus, depth| {
        let cores = find_cores(machine, cpus);
        if cores.is_empty() {
            return Budget::NONE;
        }
        let few = choose_cores(&cores, None, depth).len() as f64;
        Budget {
            seconds: depth.pick_named(0.0, 1.2, 2.0 + 4.0 * few, 4.0 + 12.0 * few)
                + if depth > Depth::Normal { array_seconds(depth) } else { 0.0 },
            bytes: array_bytes(machine, depth),
        }
    },
    uses_arrays: true,
    run,
};

fn run(context: &mut Context) -> Result<(), Halt> {
    let all = find_cores(context.machine, &context.cpus);
    let cores = choose_cores(&all, context.lead().ok(), context.depth);
    let normal = context.depth == Depth::Normal;
    let mut session =
        Session::begin(context, NAME, &[], |workload| !normal || NORMAL.contains(&workload.name()))?;
    let parts = cores.len() * session.chosen.len();
    let mut done = 0;
    for core in &cores {
        for index in 0..session.chosen.len() {
            let share = 1.0 / (parts - done) as f64;
            session.measure(context, index, share, |context, turn| measure_core(context, turn, core))?;
            done += 1;
            context.advance(done as f64 / parts as f64);
        }
    }
    context.check()
}

/// The cores with several usable siblings, in order.
fn find_cores(machine: &Machine, cpus: &CpuList) -> Vec<Core> {
    let mut cores: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for cpu in machine.cpus.iter().filter(|cpu| cpus.contains(cpu.id)) {
        if let Some(core) = cpu.core {
            cores.entry(core).or_default().push(cpu.id);
        }
    }
    cores.into_iter().filter(|(_, cpus)| cpus.len() > 1).map(|(core, cpus)| Core { core, cpus }).collect()
}

/// The cores to measure: the lead CPU's core and, if the user requested the measurement by name, also a distant core. A full run measures
/// up to 6 cores spread over the machine.
fn choose_cores(cores: &[Core], lead: Option<u32>, depth: Depth) -> Vec<Core> {
    let most = depth.pick_named(1, 1, 2, 6).min(cores.len());
    let first = lead
        .and_then(|lead| cores.iter().position(|core| core.cpus.contains(&lead)))
        .unwrap_or(cores.len().saturating_sub(1));
    let mut chosen: Vec<usize> = Vec::new();
    for index in 0..most {
        // The cores are distributed evenly over the machine, beginning with the lead CPU's core.
        let at = (first + index * cores.len() / most) % cores.len().max(1);
        if !chosen.contains(&at) {
            chosen.push(at);
        }
    }
    chosen.into_iter().filter_map(|at| cores.get(at).cloned()).collect()
}

/// The reason why there are no siblings, if the kernel reports it.
fn no_siblings(machine: &Machine, control: Option<&str>) -> Unavailable {
    let off = machine.cpus.iter().any(|cpu| !cpu.online) && matches!(control, Some("off" | "forceoff"));
    if off {
        return text!("siblings-off", "SMT is switched off")
            .with_remedy(text!("echo on | sudo tee /sys/devices/system/cpu/smt/control"));
    }
    let siblings = machine.cpus.iter().any(|cpu| cpu.online && cpu.siblings.len() > 1);
    if siblings {
        return text!("siblings-not-allowed", "no core has two CPUs available to this process")
            .with_remedy(text!("allow both siblings of a core (taskset, cpuset, --cpus)"));
    }
    text!("no-siblings", "no core has two siblings").into()
}

/// Measures one workload on one core.
fn measure_core(context: &mut Context, turn: &Turn, core: &Core) -> Result<(), Unavailable> {
    let workload = turn.workload;
    let bytes = workload.definition().bytes.saturating_mul(core.cpus.len() as u64);
    if bytes > context.memory_allowance() {
        let bytes = Value::Bytes(bytes);
        return Err(text!("requires {bytes} of memory for the siblings of a core").into());
    }
    let workers = turn.start_workers(context.machine, &core.cpus)?;
    let alone = &core.cpus[..1];
    let seconds = turn.seconds_left();
    let most = context.depth.pick_named(0.02, 0.03, 0.1, 0.3);
    let length = (seconds / (2 * ROUNDS) as f64 - START_SECONDS).clamp(5e-3, most);
    let mut seen = [Seen::new(workload, alone.to_vec(), None), Seen::new(workload, core.cpus.clone(), None)];
    let mut rounds: Vec<(f64, Vec<Slice>)> = Vec::new();
    for round in 0..ROUNDS {
        let mut rates: [Option<Slice>; 2] = [None, None];
        for side in there_and_back(round, 2) {
            let cpus = if side == 0 { alone } else { &core.cpus };
            let visit = workers.run_group(cpus, TimeBudget::of_one(length), turn.incidents, context.stop);
            rates[side] = visit.slices.first().cloned();
            seen[side].add(visit);
        }
        if let [Some(one), Some(all)] = rates {
            rounds.push((all.rate / one.rate, vec![one, all]));
        }
        if context.stop.signal().is_some() || Instant::now() >= turn.end && rounds.len() >= 6 {
            break;
        }
    }
    if rounds.is_empty() && context.stop.signal().is_some() {
        return Ok(());
    }
    if !seen.iter().all(|seen| seen.passes_checks(context, NAME)) {
        return Ok(());
    }
    let place = Labels::new().with_label(Label::Workload, workload.name()).with_label(Label::Core, core.core);
    context.push(make_measurement(workload.definition().work.words, core, place, &rounds, &seen));
    Ok(())
}

/// Builds the measurement from one core's rounds.
fn make_measurement(
    work: &'static str,
    core: &Core,
    place: Labels,
    rounds: &[(f64, Vec<Slice>)],
    seen: &[Seen; 2],
) -> Measurement {
    let list: CpuList = core.cpus.iter().copied().collect();
    let middle = |seen: &Seen, of: fn(&Slice) -> f64| {
        record::Summary::from_samples(&seen.run.slices.iter().map(of).collect::<Vec<_>>()).median
    };
    let m = Measurement::new(metrics::SMT_YIELD, place, rounds.iter().map(|(ratio, _)| *ratio).collect())
        .with_detail(detail::WORK, work)
        .with_detail(detail::CPUS, list.to_string())
        .with_detail(detail::ALONE, json!(middle(&seen[0], |slice| slice.rate)))
        .with_detail(detail::TOGETHER, json!(middle(&seen[1], |slice| slice.rate)))
        .with_detail(detail::CLOCK_HZ, json!(middle(&seen[1], |slice| slice.clock_hz).round()));
    let marks = |slices: &[Slice]| slices.iter().flat_map(|s| s.marks.clone()).collect::<BTreeSet<_>>();
    judged(Measurement { marks: mark_samples(rounds.iter().map(|(_, slices)| marks(slices))), ..m }, TARGET)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::machine::Cpu;

    fn made(cpus: u32, core: fn(u32) -> u32) -> Machine {
        let mut machine = Machine::default();
        for id in 0..cpus {
            let siblings = (0..cpus).filter(|other| core(*other) == core(id)).collect();
            machine.cpus.push(Cpu {
                id,
                online: true,
                allowed: true,
                core: Some(core(id)),
                siblings,
                ..Cpu::default()
            });
        }
        machine
    }

    #[test]
    fn siblings_are_found_whatever_their_numbers() {
        let apart = made(104, |id| id % 52);
        let all = find_cores(&apart, &apart.allowed_cpus());
        assert_eq!((all.len(), all[3].cpus.clone()), (52, vec![3, 55]));
        let adjacent = made(8, |id| id / 4);
        assert_eq!(find_cores(&adjacent, &adjacent.allowed_cpus())[1].cpus, [4, 5, 6, 7]);
        // One sibling of each core is in use, so there is nothing to compare.
        assert!(find_cores(&apart, &(0..52).collect()).is_empty());
    }

    #[test]
    fn the_lead_cpus_core_comes_first_and_the_others_lie_far_from_it() {
        let machine = made(104, |id| id % 52);
        let all = find_cores(&machine, &machine.allowed_cpus());
        let chosen =
            |depth| choose_cores(&all, Some(51), depth).iter().map(|core| core.core).collect::<Vec<_>>();
        assert_eq!(chosen(Depth::Normal), [51]);
        assert_eq!(chosen(Depth::Named), [51, 25]);
        assert_eq!(chosen(Depth::Full).len(), 6);
        assert_eq!(choose_cores(&all[..1], None, Depth::Full).len(), 1);
        assert!(choose_cores(&[], Some(1), Depth::Full).is_empty());
    }

    #[test]
    fn a_machine_without_siblings_is_reported_why() {
        let none = made(4, |id| id);
        assert_eq!(no_siblings(&none, None).reason.code(), Some("no-siblings"));
        let mut off = made(4, |id| id % 2);
        off.cpus[2].online = false;
        off.cpus[3].online = false;
        off.cpus.iter_mut().for_each(|cpu| cpu.siblings = [cpu.id].into_iter().collect());
        assert!(no_siblings(&off, Some("off")).remedy.unwrap().to_string().contains("smt/control"));
        let masked = made(4, |id| id % 2);
        assert_eq!(no_siblings(&masked, Some("on")).reason.code(), Some("siblings-not-allowed"));
    }
}
