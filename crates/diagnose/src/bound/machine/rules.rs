//! Causes that prevent programs from using the machine's CPUs: one rule per cause, with its share of CPU time.

use record::diagnosis::BoundBy;
use record::live::{Interval, Process, Traffic};
use record::text::Value;
use record::units::thousands;
use record::{Text, text};

use super::reference::HEARD;
use super::{Reference, busy};
use crate::bound::core::describe_stalled;
use crate::bound::{Cause, Facts, WORDS, detail as place, time, verdict};
use crate::culprits;
use crate::figures::cite_fact;
use crate::tables::rows;

/// A quota is a cause if it throttles at least this share of a group's periods.
const FELT: f64 = 0.1;

pub(super) fn quota(facts: &Facts, interval: &Interval) -> Option<Cause> {
    let throttled = interval.throttled.as_ref()?;
    let name = throttled.group.trim_start_matches("/sys/fs/cgroup").to_owned();
    let (periods, seconds) = (Value::Share(throttled.periods), Value::Figure(throttled.seconds, "s"));
    let says = text!(verdict("quota-of-group"), name, periods, seconds);
    let share = throttled.seconds / (throttled.seconds + facts.cpu()).max(1e-9);
    let share = if throttled.periods >= FELT { share } else { 0.0 };
    Some(Cause::new(BoundBy::Quota, share, says, "quota"))
}

pub(super) fn waiting(interval: &Interval) -> Option<Cause> {
    let pressure = *interval.pressure.get("io")?;
    let idle = interval.times.share(interval.times.idle + interval.times.iowait);
    let threads = |what: &str| interval.waits.get(what).map_or(0, |waits| waits.threads);
    let kinds = rows(WORDS, "disks").into_iter().filter_map(|row| Some((*row.first()?, *row.get(1)?)));
    let what = kinds.max_by_key(|(what, _)| threads(what)).filter(|(what, _)| threads(what) > 0);
    let what = what.map_or("for a disk", |(_, words)| words);
    let says = text!(verdict("tasks-wait"), what, share = Value::Share(pressure), busy = busy(interval));
    let seen = text!("I/O pressure (some) {share}", share = Value::Share(pressure));
    // The disk limits a machine less if the CPUs are busy with other work.
    Some(Cause::new(BoundBy::Waiting, pressure.min(idle), says, "disk").cite(seen, place("around")))
}

/// The process with the most CPU time, and its share of the busy time.
fn busiest(interval: &Interval) -> Option<(&Process, f64)> {
    let first = interval.processes.first()?;
    let seconds = interval.processes_seconds?;
    let busy = interval.times.busy() / interval.seconds * seconds;
    Some((first, (first.cpu / busy.max(1e-9)).min(1.0)))
}

/// Maximum length of the kernel's process names (TASK_COMM_LEN); names in records from other sources may be longer.
const NAME: usize = 16;

/// Truncates a process's name to this length.
pub(crate) fn cut(name: &str) -> String {
    name.chars().take(NAME).collect()
}

pub(in crate::bound) fn name(process: &Process) -> Text {
    text!("{name} (pid {pid})", name = cut(&process.name), pid = process.pid.to_string())
}

/// A remark on the process that uses at least half of the busy time, if there is one; `alone` means that there is no second cause.
pub(super) fn most(facts: &Facts, interval: &Interval, alone: bool) -> Option<Text> {
    let (first, of_busy) = busiest(interval).filter(|(_, of_busy)| *of_busy >= 0.5)?;
    let share = Value::Rounded(Box::new(Value::Share(of_busy)), 2);
    let about = culprits::about(first, interval.processes_seconds?, &facts.ceilings());
    (alone || about.len() > 1).then(|| {
        let about = culprits::joined(about);
        text!("{name} ({about}) uses {share} of the busy time.", name = cut(&first.name), about, share)
    })
}

/// A real-time process is mentioned if it uses at least this share of the CPUs' time.
const REAL_TIME: f64 = 0.1;

pub(super) fn run_queue(facts: &Facts, interval: &Interval) -> Option<Cause> {
    let delay = facts.without_a_cpu();
    let seconds = interval.processes_seconds.unwrap_or(interval.seconds);
    let capacity = interval.times.all() / interval.seconds * seconds;
    let urgent = interval.processes.iter().find(|one| one.real_time && one.cpu >= REAL_TIME * capacity);
    // Real-time processes do not wait, so the delay is relative to the CPU time that other processes requested.
    let of_urgent: f64 = match urgent {
        Some(_) => interval.processes.iter().filter(|one| one.real_time).map(|one| one.cpu).sum(),
        None => 0.0,
    };
    let others = (facts.cpu() - of_urgent / seconds * interval.seconds).max(0.0);
    let share = delay / (delay + others).max(1e-9);
    // This number must equal the number of runnable threads shown in the run-queue line.
    let runnable = interval.runnable.unwrap_or((delay + facts.cpu()) / interval.seconds);
    let (runnable, of) = (format!("{runnable:.1}"), Value::Share(share));
    let mut says = text!(verdict("run-queue"), share = of, runnable, cpus = interval.cpus);
    let (by, advice) = match (urgent, busiest(interval)) {
        (Some(urgent), _) => {
            let priority = culprits::class(urgent).unwrap_or_else(|| text!("a real-time priority"));
            let who = name(urgent);
            says.push(text!(verdict("urgent"), who, priority, share = Value::Share(urgent.cpu / capacity)));
            (BoundBy::CpuContention, "real-time")
        }
        (None, Some((first, of_busy))) if of_busy >= 0.8 && first.threads as f64 > interval.cpus as f64 => {
            says.push(text!("{who} has {threads} threads.", who = name(first), threads = first.threads));
            (BoundBy::TooFewCpus, "fewer-threads")
        }
        _ => {
            let named = culprits::named(&interval.processes, seconds, &facts.ceilings());
            named.into_iter().for_each(|named| says.push(text!("The busiest: {named}.", named)));
            (BoundBy::CpuContention, "move-work")
        }
    };
    Some(Cause::new(by, share, says, advice))
}

/// The kernel's work is described if it uses at least this share of the busy time.
const IN_KERNEL: f64 = 0.3;
/// Minimum CPU time per network softirq, s. By this estimate, network softirqs are mentioned if they use over a twentieth of a CPU.
const SOFTIRQ: f64 = 1e-6;

pub(super) fn kernel(facts: &Facts, interval: &Interval) -> Option<Cause> {
    let times = &interval.times;
    let share = times.kernel() / times.busy().max(1e-9);
    if share < IN_KERNEL {
        return None;
    }
    let rate = |name: &str| interval.rates.get(name).copied().unwrap_or(0.0);
    let reclaimed = rate("reclaimed-pages");
    let pressure = interval.pressure.get("memory").copied().unwrap_or(0.0);
    let (what, advice) = if times.softirq + times.irq > times.system {
        let packets = rate("softirqs-net-rx") + rate("softirqs-net-tx");
        let (says, rate) = match packets * SOFTIRQ > 0.05 {
            true => (verdict("network-softirqs"), packets),
            false => (verdict("softirqs"), rate("softirqs")),
        };
        let share = Value::Share((times.softirq + times.irq) / times.busy());
        (text!(says, share, rate = thousands(rate.round())), "interrupts")
    } else if reclaimed > 1000.0 || pressure > 0.1 {
        let [share, pressure] = [share, pressure].map(Value::Share);
        // The machine's count of scanned pages excludes pages scanned because of a cgroup's limit (mm/vmscan.c).
        let what = match reclaimed < 1.0 {
            true => text!(verdict("reclaim-of-group"), share, pressure),
            false => text!(verdict("reclaim"), share, rate = thousands(reclaimed.round()), pressure),
        };
        (what, "memory-limit")
    } else {
        return time::kernel(facts).map(|cause| Cause { share: times.share(times.kernel()), ..cause });
    };
    Some(Cause::new(BoundBy::Kernel, times.share(times.kernel()), what, advice))
}

/// Memory counts as saturated above this load: latency then rises faster than bandwidth.
const FULL: f64 = 0.5;

/// Memory load according to the memory controllers: their traffic relative to the highest measured bandwidth or, if none was measured, the
/// busy time of the buses.
fn fill_by_traffic(traffic: &Traffic, reference: &Reference) -> Option<f64> {
    let of_curve = reference.ceilings.probe.last().map(|point| point.bandwidth);
    let most = of_curve.into_iter().chain(reference.ceilings.bandwidth_all).reduce(f64::max);
    let of_most = most.filter(|most| *most > 0.0).map(|most| (traffic.bytes_per_second / most).min(1.0));
    of_most.or(traffic.bus)
}

pub(super) fn memory(interval: &Interval, reference: &Reference) -> Option<Cause> {
    let traffic = interval.traffic.as_ref().filter(|traffic| !traffic.doubtful);
    let counted = traffic.and_then(|traffic| Some((traffic, fill_by_traffic(traffic, reference)?)));
    let heard = heard(interval, reference);
    if heard.is_none_or(|(_, _, ratio)| ratio < HEARD) && counted.is_none_or(|(_, fill)| fill < FULL) {
        return None;
    }
    let (busy, two_digits) = (busy(interval), |share: f64| Value::Rounded(Box::new(Value::Share(share)), 2));
    let mut says = match heard {
        Some((now, idle, _)) => {
            let [now, idle] = [now, idle].map(|ns| Value::Rounded(Box::new(Value::Figure(ns, "ns")), 3));
            text!(verdict("memory-heard"), busy, now, idle)
        }
        None => text!("CPUs {busy} busy, but waiting for memory.", busy),
    };
    // Counted traffic is preferred to the probe's estimate.
    let fill = counted.map(|(_, fill)| fill).or_else(|| reference.fill(heard?.0));
    match (counted, fill) {
        (Some((traffic, fill)), _) => {
            let (rate, source) = (Value::Figure(traffic.bytes_per_second, "B/s"), traffic.source.clone());
            says.push(text!(verdict("bandwidth-used"), rate, fill = two_digits(fill), source));
        }
        (None, Some(fill)) => {
            let interval = interval.probe.as_ref().and_then(|probe| reference.fill_interval(probe));
            let (low, high) = interval.unwrap_or((fill, fill));
            let [fill, low, high] = [fill, low, high].map(two_digits);
            says.push(text!(verdict("bandwidth-estimated"), fill, low, high));
        }
        // If the memory traffic of this machine does not affect the probe, another guest on the host caused the latency.
        (None, None) if !reference.ceilings.probe.is_empty() => return None,
        (None, None) => says.push(text!("For an estimate, first run linespeed while idle.")),
    }
    let several = interval.probe.as_ref().filter(|probe| probe.latency_ns.len() > 1);
    if let Some((node, _)) = several.and_then(|probe| probe.slowest()) {
        says.push(text!("Node {node} has the highest memory load.", node = node.to_string()));
    }
    // Busy CPUs wait for the same memory as the probe.
    let user = interval.times.share(interval.times.user);
    let heard_full = heard.map_or(0.0, |(_, _, ratio)| 1.0 - 1.0 / ratio);
    let full = fill.map_or(heard_full, |fill| if fill >= FULL { fill } else { 0.0 });
    let cause = Cause::new(BoundBy::MemoryBandwidth, user * full, says, "spread-memory");
    let seen = |ratio| text!("memory probe: {ratio} the idle latency", ratio = Value::Factor(ratio));
    Some(cause.cite_all(heard.map(|(_, _, ratio)| cite_fact(seen(ratio), "probe.latency_ns".to_owned()))))
}

/// The probe latency of the busiest node and the latency without load, both in ns, and their ratio.
fn heard(interval: &Interval, reference: &Reference) -> Option<(f64, f64, f64)> {
    let (_, now) = interval.probe.as_ref()?.slowest()?;
    let idle = reference.idle_ns().filter(|ns| *ns > 0.0)?;
    Some((now, idle, now / idle))
}

/// If more than this share of accesses goes to other nodes, remote memory counts as the cause.
const FAR: f64 = 0.3;
/// A smaller share of stalled issue slots does not limit a core.
const STALLED: f64 = 0.4;

/// Remote memory as the cause, if the cores' counters show stalls.
pub(super) fn far(facts: &Facts, interval: &Interval) -> Option<Cause> {
    let remote = interval.remote?;
    let share = remote.touched.or(remote.held).or(remote.taken)?;
    let stalled = facts.share("backend-bound")?;
    if share < FAR || stalled.value() < STALLED {
        return None;
    }
    let [remote, slots] = [share, stalled.value()].map(|of| Value::Rounded(Box::new(Value::Share(of)), 2));
    let says = text!(verdict("remote-memory"), busy = busy(interval), remote, stalled = slots);
    let user = interval.times.share(interval.times.user);
    let cause = Cause::new(BoundBy::MemoryLatency, user * stalled.value() * share, says, "one-node");
    Some(cause.cite(describe_stalled(stalled), stalled))
}

/// A clock below this share of the best clock under the same load counts as limited.
const HELD_DOWN: f64 = 0.9;

pub(super) fn clock(interval: &Interval, reference: &Reference) -> Option<Cause> {
    let busy = interval.times.share(interval.times.busy());
    let (best, of_all) = reference.ceilings.clock_at(busy)?;
    let now = interval.probe.as_ref()?.clock_hz?;
    let lost = 1.0 - now / best;
    if now / best > HELD_DOWN || busy < 0.5 {
        return None;
    }
    let (now, best) = (Value::Figure(now, "Hz"), Value::Figure(best, "Hz"));
    let mut says = if of_all {
        text!("The clock is limited to {now}; the highest clock with all CPUs busy is {best}.", now, best)
    } else {
        text!("The clock is limited to {now}; the highest clock is {best}.", now, best)
    };
    let advice = match interval.sensors.heat_throttled.filter(|share| *share > 0.01) {
        Some(share) => {
            says.push(text!("Heat throttled the clock {share} of the time.", share = Value::Share(share)));
            "heat"
        }
        None => "clock",
    };
    Some(Cause::new(BoundBy::Clock, lost * busy, says, advice))
}
