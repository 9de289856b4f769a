//! The screen of `linespeed live`: at most 23 lines, because the cursor is on the last line of a 24-line terminal. Lines stay in place from
//! one interval to the next.

mod tables;

use diagnose::Reference;
use record::diagnosis::Bound;
use record::live::{Cores, Interval, Sampled, Share};
use record::shape::Motion;
use record::{Coverage, Machine, State, Text, Watch, units};

use super::answer;
use super::room::{MORE, PROCESSES, SAYS, SCREEN};
use super::screen::Screen;
use crate::contents::command::describe_below;
use crate::contents::{places, watch};
use crate::paint::Span;
use crate::text::{pad_left, pad_right};
pub use tables::LastLook;

/// Below this width, the verdict also uses some of the lines otherwise used for processes, and tables have fewer columns.
const NARROW: usize = 64;
/// Number of lines that the verdict uses instead of the processes if the screen is narrower than that.
const FEWER: usize = 3;

/// The command that lists everything that cannot be observed.
const ALL_UNSEEN: &str = "live --once --json";

/// The contents of a screen.
#[derive(Debug)]
pub struct Live<'a> {
    /// The machine and the time, in one line.
    pub head: &'a str,
    /// The machine's activity.
    pub interval: &'a Interval,
    /// The recording so far, including this interval.
    pub watch: &'a Watch,
    /// The last sample of the machine's processes.
    pub look: &'a LastLook,
    /// The verdict; `None` if the kernel reports too little.
    pub bound: Option<&'a Bound>,
    /// The machine's earlier results, with which the verdict compares the interval.
    pub reference: &'a Reference,
    /// The coverage: available and missing sources.
    pub coverage: &'a [Coverage],
    /// Whether another screen will replace this one, so that lines must stay in place.
    pub goes_on: bool,
}

/// The machine in one line, after the observed service if there is one.
pub fn live_head(machine: &Machine, service: &str) -> String {
    // A line does not have room for both the service and the processor.
    let processor = machine.processor.model_name.as_deref().filter(|_| service.is_empty());
    let host = machine.hostname.as_deref();
    let cpus = units::cpus(machine.allowed_cpus().len() as u32);
    let words = [service, host.unwrap_or_default(), processor.unwrap_or_default(), &cpus];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The screen of one interval. On one machine, the number of lines is the same in every interval.
pub fn live(screen: &mut Screen, live: &Live) {
    let interval = live.interval;
    let slept = interval
        .suspended
        .map(|seconds| format!(", and suspended for {}", units::figure_to(seconds, "s", 2)));
    screen.line(&[Span::quiet(format!("{}{}", live.head, slept.unwrap_or_default()))]);
    let above = screen.lines();
    // Counters and sensors use one line each, which leaves less room for the sentence and the processes.
    let counted = interval.cores.is_some() || interval.sampled.is_some() || interval.service.is_some();
    let lines = usize::from(counted) + usize::from(!interval.sensors.is_empty());
    let fewer = if screen.width() < NARROW { FEWER } else { 0 };
    let says = SAYS + fewer - usize::from(lines > 0);
    let end = above + says;
    // A final screen may have a longer sentence and fewer processes.
    let more = if live.goes_on { 0 } else { MORE };
    let ended = watch::ended(live.watch);
    match live.bound {
        Some(bound) => {
            let all = Text::sequence(ended.into_iter().chain([bound.says.clone()]));
            screen.clipped(says - 1 + more, |screen| screen.hanging("", "  ", all));
            let advice = bound.advice.first().map(ToString::to_string).unwrap_or_default();
            let advice = screen.typed(&advice);
            let left = (end + more).saturating_sub(screen.lines());
            screen.clipped(left, |screen| screen.hanging("  Try: ", "    ", advice));
        }
        None => screen.line(&[Span::strong("No CPU times: /proc/stat cannot be read.")]),
    }
    // The other lines stay in place, regardless of the length of the sentence.
    let taken = screen.lines().saturating_sub(end);
    while live.goes_on && screen.lines() < end {
        screen.line(&[]);
    }
    screen.line(&[]);
    times(screen, interval);
    let (machine, own) = facts(live);
    let write = |screen: &mut Screen, (name, text): &(&str, String)| {
        screen.line(&[Span::quiet(pad_right(name, 11)), Span::plain(text)]);
    };
    machine.iter().for_each(|fact| write(screen, fact));
    screen.line(&[]);
    // The facts of a service are shown with its threads, below the facts of the machine.
    own.iter().for_each(|fact| write(screen, fact));
    let below = interval.service.as_ref().map_or(0, |service| service.below);
    let room = (PROCESSES - fewer - usize::from(lines > 1) - usize::from(below > 0)).saturating_sub(taken);
    let of_service = interval.service.is_some();
    let rows = if of_service { interval.threads.len() + 1 } else { live.look.len() };
    // At most three lines follow the table.
    let shows_way = !live.goes_on && screen.width() >= NARROW;
    let under = 3 + usize::from(below > 0) + usize::from(shows_way);
    let free = (SCREEN - 1).saturating_sub(screen.lines() + under);
    let room = if live.goes_on { room } else { room.max(free.min(PROCESSES)).min(rows + 1) };
    if below > 0 {
        let of = describe_below(below);
        screen.line(&[Span::quiet(format!("Threads of the observed processes{of}:"))]);
    }
    if of_service {
        tables::threads(screen, interval, room);
    } else {
        tables::processes(screen, interval, live.look, room);
    }
    let unseen = live.coverage.iter().filter(|one| one.state != State::Measured);
    let unseen: Vec<(String, String)> = unseen.map(|one| (one.what.clone(), one.why())).collect();
    if shows_way {
        screen.uncut("More: linespeed live --once --json, or linespeed live -o FILE for a recording");
    }
    answer::unseen_why(screen, &unseen, Some(ALL_UNSEEN), 2);
}

fn times(screen: &mut Screen, interval: &Interval) {
    let times = &interval.times;
    let columns = [
        ("user", times.user),
        ("sys", times.system),
        ("irq", times.irq + times.softirq),
        ("steal", times.steal),
        ("iowait", times.iowait),
        ("idle", times.idle),
    ];
    let heads: String = columns.iter().map(|(name, _)| pad_left(name, 8)).collect();
    let whose = if interval.service.is_some() { "Machine" } else { "" };
    screen.line(&[Span::quiet(format!("{}{heads}", pad_right(whose, 11)))]);
    let percent = |seconds: f64| pad_left(&format!("{:.1}", times.share(seconds) * 100.0), 8);
    let figures: String = columns.iter().map(|(_, seconds)| percent(*seconds)).collect();
    screen.line(&[Span::quiet(pad_right("% of CPUs", 11)), Span::plain(figures)]);
}

type Facts = Vec<(&'static str, String)>;

/// The displayed facts about the machine and about the observed service.
fn facts(live: &Live) -> (Facts, Facts) {
    let interval = live.interval;
    let shown = |value: Option<String>, columns| pad_left(value.as_deref().unwrap_or("-"), columns);
    let runnable = shown(interval.runnable.map(|threads| format!("{threads:.1}")), 6);
    let [cpu, io, memory] = ["cpu", "io", "memory"]
        .map(|of| shown(interval.pressure.get(of).map(|share| format!("{:.1} %", share * 100.0)), 7));
    let [switches, interrupts, faults] = ["context-switches", "interrupts", "page-faults"]
        .map(|event| shown(interval.rates.get(event).map(|rate| units::thousands(rate.round())), 10));
    let mut facts = vec![
        ("Run queue", format!("{runnable} runnable   pressure: cpu {cpu}, io {io}, memory {memory}")),
        ("Per second", format!("{switches} switches {interrupts} interrupts {faults} faults")),
    ];
    let probe = interval.probe.clone().unwrap_or_default();
    let memory = probe.slowest().map(|(_, ns)| {
        let beside = match (live.reference.idle_ns(), live.reference.fill(ns)) {
            (Some(idle), Some(fill)) => {
                let idle = units::figure_to(idle, "ns", 3);
                let interval = live
                    .reference
                    .fill_interval(&probe)
                    .map(|(low, high)| format!(" [{:.0} – {:.0} %]", low * 100.0, high * 100.0));
                format!("; idle {idle}; {:.0} %{} of bandwidth", fill * 100.0, interval.unwrap_or_default())
            }
            (Some(idle), None) if !live.reference.ceilings.probe.is_empty() => {
                format!("; idle {}", units::figure_to(idle, "ns", 3))
            }
            (Some(idle), None) => format!("; {} when calibrated", units::figure_to(idle, "ns", 3)),
            _ => "; calibrating".to_owned(),
        };
        format!("{} per load{beside}", pad_left(&units::figure_to(ns, "ns", 3), 8))
    });
    facts.push(("Memory", format!("{}{}", shown(memory, 8), carried(interval))));
    let mut own = Facts::new();
    match (&interval.service, &interval.cores_of_group, &interval.cores) {
        (Some(_), Some(of_group), _) => own.push(cores(of_group)),
        (_, _, Some(of_machine)) => facts.push(cores(of_machine)),
        // If a service is observed, only its samples are shown, because the machine's samples could be mistaken for them. The line is shown
        // even if there are no samples.
        (Some(service), ..) => own.push(samples(&service.sampled.clone().unwrap_or_default())),
        (None, ..) => facts.extend(interval.sampled.as_ref().map(samples)),
    }
    let clock = interval.clock.as_ref().map(|clock| (clock.hz, clock.source.as_str()));
    let clock = clock.or(probe.clock_hz.map(|hz| (hz, "dependent adds"))).map(|(hz, source)| {
        let busy = interval.times.share(interval.times.busy());
        let best = live.reference.ceilings.clock_at(busy).map(|(hz, of_all)| {
            format!("; best{} {}", if of_all { " of all" } else { "" }, units::figure_to(hz, "Hz", 3))
        });
        format!("{} ({source}){}", pad_left(&units::figure_to(hz, "Hz", 3), 8), best.unwrap_or_default())
    });
    let late = probe.late_us.map(|us| format!("   timers {} late", units::figure_to(us / 1e6, "s", 2)));
    facts.push(("Clock", format!("{}{}", shown(clock, 8), late.unwrap_or_default())));
    let sensors = &interval.sensors;
    if !sensors.is_empty() {
        let all = [
            sensors.celsius.map(|c| format!("{c:.0} °C")),
            sensors.fan_rpm.map(|rpm| format!("fan {} rpm", units::thousands(rpm))),
            sensors.watts.map(|w| format!("{w:.0} W")),
            sensors.heat_throttled.map(|share| format!("throttled by heat {:.0} %", share * 100.0)),
        ];
        facts.push(("Sensors", format!("  {}", all.into_iter().flatten().collect::<Vec<_>>().join(", "))));
    }
    let cost = interval.own_seconds / interval.seconds.max(1e-9);
    // A topology that is accurate and does not change is not mentioned.
    let shape = interval
        .shape
        .as_ref()
        .filter(|shape| shape.motion == Motion::Floating || !shape.shared_cores.is_empty());
    let shape = shape.map(|shape| format!("   CPUs move: {}", places::brief(shape, "")));
    let cost = pad_left(&format!("{:.2} %", cost * 100.0), 8);
    facts.push(("Own cost", format!("{cost} of one CPU{}", shape.unwrap_or_default())));
    (facts, own)
}

/// Memory traffic, and the share that goes to other nodes.
fn carried(interval: &Interval) -> String {
    let traffic = interval.traffic.as_ref().map(|traffic| {
        let doubt = if traffic.doubtful { "?" } else { "" };
        format!("; {}{doubt}", units::figure_to(traffic.bytes_per_second, "B/s", 3))
    });
    let remote = interval.remote.and_then(|remote| remote.held.or(remote.touched).or(remote.taken));
    let remote = remote.map(|share| format!("; {:.0} % remote", share * 100.0));
    traffic.into_iter().chain(remote).collect()
}

/// Instructions per cycle and issue slots: retiring, bad speculation, frontend bound, backend bound. Without counters, the results of samples.
fn samples(sampled: &Sampled) -> (&'static str, String) {
    let read = sampled.decoded();
    let share = |share: Share| match share {
        _ if read == 0 => "-".to_owned(),
        // A share of 0 is only an estimate, so its upper bound is shown.
        share if share.share < 0.005 => format!("<{:.0} %", (share.high * 100.0).ceil()),
        share => format!("{:.0} %", share.share * 100.0),
    };
    let far = pad_left(&share(sampled.far), 8);
    let text = format!(
        "{far} beyond caches, {} shared lines, {} spinning (n={read})",
        share(sampled.shared),
        share(sampled.spinning)
    );
    ("User time", text)
}

fn cores(cores: &Cores) -> (&'static str, String) {
    let ipc = |ipc: Option<f64>| ipc.map_or_else(|| "-".to_owned(), |ipc| format!("{ipc:.2}"));
    let slots = [
        ("retiring", "retiring"),
        ("bad", "bad-speculation"),
        ("front", "frontend-bound"),
        ("back", "backend-bound"),
    ];
    let slots: Vec<String> = slots
        .into_iter()
        .filter_map(|(name, category)| Some(format!("{name} {:.0}", cores.top_down.get(category)? * 100.0)))
        .collect();
    let slots = if slots.is_empty() { String::new() } else { format!("; % {}", slots.join(", ")) };
    ("IPC", format!("{} user, {} kernel{slots}", pad_left(&ipc(cores.ipc_user), 8), ipc(cores.ipc_kernel)))
}

#[cfg(test)]
mod tests;
