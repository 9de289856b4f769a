//! The screen of `linespeed live`: at most 24 lines, of which none moves from one interval to the next.

use diagnose::Reference;
use record::diagnosis::Bound;
use record::live::{Cores, Interval, Process, Sampled};
use record::{Coverage, Machine, State, units};

use super::lines;
use super::screen::Screen;
use super::{Style, answer};
use crate::contents::command::describe_below;
use crate::paint::{Span, Tone};
use crate::text::{cut, pad_left, pad_right};

/// Lines of the sentence and its advice together, of which the advice has one at least.
const SAYS: usize = 5;
/// Lines more of them on a screen that no other follows.
const MORE: usize = 3;
/// Processes that are shown.
const PROCESSES: usize = 5;
/// Columns below which what it means has lines of processes, too.
const NARROW: usize = 64;
/// How many.
const FEWER: usize = 3;

/// What a screen shows.
#[derive(Debug)]
pub struct Live<'a> {
    /// The machine and the time, in a line.
    pub head: &'a str,
    /// What the machine did.
    pub interval: &'a Interval,
    /// What that means; `None` where the kernel tells too little.
    pub bound: Option<&'a Bound>,
    /// What it is held against.
    pub reference: &'a Reference,
    /// What can be seen, and what cannot.
    pub coverage: &'a [Coverage],
    /// Whether another screen follows in its place: its lines stay where they are.
    pub goes_on: bool,
}

/// The machine in a line, after the service that is meant, if any.
pub fn live_head(machine: &Machine, service: &str) -> String {
    let (host, processor) = (machine.hostname.as_deref(), machine.processor.model_name.as_deref());
    let cpus = units::cpus(machine.allowed_cpus().len() as u32);
    let words = [service, host.unwrap_or_default(), processor.unwrap_or_default(), &cpus];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The screen of one interval. It has as many lines for any interval of a machine.
pub fn live(live: &Live, style: &Style) -> String {
    Screen::draw(style, |screen| write(screen, live))
}

fn write(screen: &mut Screen, live: &Live) {
    let interval = live.interval;
    let slept = interval
        .suspended
        .map(|seconds| format!(", and suspended for {}", units::figure_to(seconds, "s", 2)));
    lines::cut(screen, &[Span::quiet(format!("{}{}", live.head, slept.unwrap_or_default()))]);
    let above = screen.lines();
    // Counters and sensors have a line each, of what it means and of the processes.
    let counted = interval.cores.is_some() || interval.sampled.is_some();
    let lines = usize::from(counted) + usize::from(!interval.sensors.is_empty());
    let fewer = if screen.width() < NARROW { FEWER } else { 0 };
    let says = SAYS + fewer - usize::from(lines > 0);
    let end = above + says;
    // What no other screen follows may say more, and show fewer processes.
    let more = if live.goes_on { 0 } else { MORE };
    match live.bound {
        Some(bound) => {
            screen.short(says - 1 + more, "", "  ", &bound.says);
            let advice = bound.advice.first().map(ToString::to_string).unwrap_or_default();
            screen.short(
                (end + more).saturating_sub(screen.lines()),
                "  Try: ",
                "    ",
                screen.typed(&advice),
            );
        }
        None => lines::cut(screen, &[Span::strong("No CPU times: /proc/stat cannot be read.")]),
    }
    // The rest stays where it is, however long the sentence is.
    let taken = screen.lines().saturating_sub(end);
    while live.goes_on && screen.lines() < end {
        screen.line(&[]);
    }
    screen.line(&[]);
    times(screen, interval);
    screen.line(&[]);
    for (name, text) in facts(live) {
        lines::cut(screen, &[Span::quiet(pad_right(name, 11)), Span::plain(text)]);
    }
    screen.line(&[]);
    let below = interval.service.as_ref().map_or(0, |service| service.below);
    let room = (PROCESSES - fewer - usize::from(lines > 1) - usize::from(below > 0)).saturating_sub(taken);
    let rows = if interval.threads.is_empty() { interval.processes.len() } else { interval.threads.len() };
    let room = if live.goes_on { room } else { room.min(rows + 1) };
    if below > 0 {
        let of = describe_below(below);
        lines::cut(screen, &[Span::quiet(format!("Threads of what was named{of}:"))]);
    }
    if interval.threads.is_empty() {
        processes(screen, interval, room)
    } else {
        threads(screen, interval, room)
    }
    let unseen = live.coverage.iter().filter(|one| one.state != State::Measured);
    let unseen: Vec<(String, String)> = unseen.map(|one| (one.what.clone(), one.why())).collect();
    answer::unseen_why(screen, &unseen);
}

/// A share of all CPUs' time, in per cent.
fn percent(interval: &Interval, seconds: f64) -> String {
    pad_left(&format!("{:.1}", interval.times.share(seconds) * 100.0), 8)
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
    lines::cut(screen, &[Span::quiet(format!("{}{heads}", pad_right("", 11)))]);
    let figures: String = columns.iter().map(|(_, seconds)| percent(interval, *seconds)).collect();
    lines::cut(screen, &[Span::quiet(pad_right("% of CPUs", 11)), Span::plain(figures)]);
}

/// A rate that keeps its width.
fn rate(interval: &Interval, name: &str) -> String {
    interval.rates.get(name).map_or_else(|| "-".to_owned(), |rate| units::thousands(rate.round()))
}

fn share(value: Option<&f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

fn facts(live: &Live) -> Vec<(&'static str, String)> {
    let interval = live.interval;
    let runnable = interval.runnable.map_or_else(|| "-".to_owned(), |threads| format!("{threads:.1}"));
    let pressure = |name: &str| pad_left(&share(interval.pressure.get(name)), 7);
    let mut facts = vec![
        (
            "Run queue",
            format!(
                "{} runnable   pressure: cpu {}, io {}, memory {}",
                pad_left(&runnable, 6),
                pressure("cpu"),
                pressure("io"),
                pressure("memory")
            ),
        ),
        (
            "Per second",
            format!(
                "{} switches {} interrupts {} faults",
                pad_left(&rate(interval, "context-switches"), 10),
                pad_left(&rate(interval, "interrupts"), 10),
                pad_left(&rate(interval, "page-faults"), 10)
            ),
        ),
    ];
    let probe = interval.probe.clone().unwrap_or_default();
    let latency = probe.slowest().map(|(_, ns)| ns);
    let memory = latency.map(|ns| {
        let idle = live.reference.idle_ns();
        let beside = match (idle, live.reference.fill(ns)) {
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
        format!("{} a load{beside}", pad_left(&units::figure_to(ns, "ns", 3), 8))
    });
    let memory = memory.unwrap_or_else(|| "       -".to_owned());
    facts.push(("Memory", format!("{memory}{}", carried(interval))));
    let counted = live.interval.cores_of_group.as_ref().or(live.interval.cores.as_ref()).map(cores);
    let of_service = interval.service.as_ref().and_then(|service| service.sampled.as_ref());
    facts.extend(counted.or_else(|| of_service.or(interval.sampled.as_ref()).map(samples)));
    let clock = interval.clock.as_ref().map(|clock| (clock.hz, clock.source.as_str()));
    let clock = clock.or(probe.clock_hz.map(|hz| (hz, "dependent adds"))).map(|(hz, source)| {
        let busy = interval.times.share(interval.times.busy());
        let best = live.reference.ceilings.clock_at(busy).map(|(hz, of_all)| {
            format!("; best{} {}", if of_all { " of all" } else { "" }, units::figure_to(hz, "Hz", 3))
        });
        format!("{} ({source}){}", pad_left(&units::figure_to(hz, "Hz", 3), 8), best.unwrap_or_default())
    });
    let late = probe.late_us.map(|us| format!("   timers {} late", units::figure_to(us / 1e6, "s", 2)));
    facts.push((
        "Clock",
        format!("{}{}", clock.unwrap_or_else(|| "       -".to_owned()), late.unwrap_or_default()),
    ));
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
    let own = interval.own_seconds / interval.seconds.max(1e-9);
    facts.push(("Own cost", format!("{} of one CPU", pad_left(&format!("{:.2} %", own * 100.0), 8))));
    facts
}

/// What memory carried, and how much of it was another node's.
fn carried(interval: &Interval) -> String {
    let traffic = interval.traffic.as_ref().map(|traffic| {
        let doubt = if traffic.doubtful { "?" } else { "" };
        format!("; {}{doubt}", units::figure_to(traffic.bytes_per_second, "B/s", 3))
    });
    let remote = interval.remote.and_then(|remote| remote.held.or(remote.touched).or(remote.taken));
    let remote = remote.map(|share| format!("; {:.0} % remote", share * 100.0));
    traffic.into_iter().chain(remote).collect()
}

/// Instructions a cycle, and where the issue slots went: retiring, bad speculation, frontend bound, backend bound.
/// What samples say, where no counter does.
fn samples(sampled: &Sampled) -> (&'static str, String) {
    let read = sampled.samples.saturating_sub(sampled.unread);
    let share = |share: f64| if read == 0 { "-".to_owned() } else { format!("{:.0} %", share * 100.0) };
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

/// From so many new processes a second on, those that end between two looks have a share of the CPUs that no line tells.
const MANY_STARTED: f64 = 500.0;

fn processes(screen: &mut Screen, interval: &Interval, room: usize) {
    let head = format!(
        "{}  {}{}{}{}",
        pad_left("PID", 9),
        pad_right("name", 17),
        pad_left("CPU %", 9),
        pad_left("sys %", 9),
        pad_left("threads", 9)
    );
    lines::cut(screen, &[Span::quiet(head)]);
    let seconds = interval.processes_seconds.unwrap_or(interval.seconds).max(1e-9);
    let mut shown: Vec<String> = interval.processes.iter().take(room).map(|one| line(one, seconds)).collect();
    shown.resize(room, String::new());
    let started = interval.rates.get("forks").copied().unwrap_or(0.0);
    if started >= MANY_STARTED
        && let Some(last) = shown.last_mut()
    {
        let started = units::thousands(started.round());
        *last = format!(
            "{}  new processes and threads a second; short ones are not listed",
            pad_left(&started, 9)
        );
    }
    for text in shown {
        lines::cut(screen, &[Span::new(Tone::Plain, text)]);
    }
}

/// Threads of the processes that are meant.
fn threads(screen: &mut Screen, interval: &Interval, room: usize) {
    let columns = |cells: [&str; 6]| {
        let [tid, name, cpu, ready, blocked, state] = cells;
        format!(
            "{}  {}{}{}{}{}",
            pad_left(tid, 9),
            pad_right(name, 17),
            pad_left(cpu, 9),
            pad_left(ready, 12),
            pad_left(blocked, 11),
            pad_left(state, 7)
        )
    };
    lines::cut(screen, &[Span::quiet(columns(["TID", "name", "CPU %", "runnable %", "blocked %", "state"]))]);
    let percent = |seconds: f64| format!("{:.1}", seconds / interval.seconds.max(1e-9) * 100.0);
    let shown = interval.threads.iter().take(room).map(|one| {
        columns([
            &one.tid.to_string(),
            &cut(&one.name, 16),
            &percent(one.cpu),
            &percent(one.runnable),
            &percent(one.blocked),
            &one.state,
        ])
    });
    let mut shown: Vec<String> = shown.collect();
    shown.resize(room, String::new());
    shown.iter().for_each(|text| lines::cut(screen, &[Span::plain(text)]));
}

fn line(process: &Process, seconds: f64) -> String {
    let percent = |of: f64| pad_left(&format!("{:.1}", of / seconds * 100.0), 9);
    let real_time = if process.real_time { "  real-time" } else { "" };
    let ended = if process.ended { "  (ended)" } else { "" };
    format!(
        "{}  {}{}{}{}{real_time}{ended}",
        pad_left(&process.pid.to_string(), 9),
        pad_right(&cut(&process.name, 16), 17),
        percent(process.cpu),
        percent(process.system),
        pad_left(&process.threads.to_string(), 9)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::live::{CpuTimes, Probe, Remote, Sensors, Traffic};

    fn show(interval: &Interval, width: usize) -> String {
        let reference = Reference { calibrated_ns: Some(100.0), ..Reference::default() };
        let bound = diagnose::watched(interval, &reference);
        let live = Live {
            head: "host, EPYC 9R14, 4 CPUs; 19:14:22",
            interval,
            bound: bound.as_ref(),
            reference: &reference,
            coverage: &[],
            goes_on: true,
        };
        super::live(&live, &Style { width, ..Style::default() })
    }

    fn busy() -> Interval {
        let times = CpuTimes { user: 37.0, system: 1.0, idle: 2.0, ..CpuTimes::default() };
        let name = "\u{1b}[2J".to_owned() + &"x".repeat(4096);
        Interval {
            seconds: 10.0,
            cpus: 4,
            times,
            probe: Some(Probe {
                latency_ns: [(0, 312.0)].into(),
                clock_hz: Some(3.1e9),
                late_us: Some(61.0),
                ..Probe::default()
            }),
            processes: vec![Process { pid: 4711, name, cpu: 30.0, threads: 4, ..Process::default() }],
            processes_seconds: Some(10.0),
            ..Interval::default()
        }
    }

    #[test]
    fn samples_have_a_line_where_no_counter_tells_and_a_single_screen_has_no_gap() {
        let sampled = Sampled { samples: 420, unread: 20, far: 0.91, shared: 0.02, ..Sampled::default() };
        let text = show(&Interval { sampled: Some(sampled.clone()), ..busy() }, 80);
        let line = text.lines().find(|line| line.starts_with("User time")).unwrap();
        assert!(
            line.contains("91 % beyond") && line.contains("n=400") && line.chars().count() <= 80,
            "{line}"
        );
        let unread = Sampled { samples: 5, unread: 5, ..sampled.clone() };
        assert!(show(&Interval { sampled: Some(unread), ..busy() }, 80).contains("- beyond caches"));
        let counted = Interval { sampled: Some(sampled), cores: Some(Cores::default()), ..busy() };
        assert!(!show(&counted, 80).contains("User time"));
        let interval = busy();
        let live = Live {
            head: "host",
            interval: &interval,
            bound: None,
            reference: &Reference::default(),
            coverage: &[],
            goes_on: false,
        };
        assert!(!super::live(&live, &Style::default()).contains("\n\n\n"));
    }

    #[test]
    fn a_screen_has_at_most_24_lines_and_no_line_moves() {
        for width in [40, 80, 160] {
            let (full, idle) =
                (show(&busy(), width), show(&Interval { cpus: 4, ..Interval::default() }, width));
            assert!(full.lines().count() <= 24, "{full}");
            assert!(full.lines().all(|line| crate::text::width(line) <= width), "{full}");
            assert!(!full.contains('\u{1b}'));
            let at = |text: &str| text.lines().position(|line| line.starts_with("Memory")).unwrap();
            assert_eq!(at(&full), at(&idle));
        }
    }

    #[test]
    fn what_it_means_is_whole_on_a_narrow_screen_too() {
        let reference = Reference { calibrated_ns: Some(100.0), ..Reference::default() };
        let mut busy = busy();
        busy.processes[0].name = "mysqld".to_owned();
        let bound = diagnose::watched(&busy, &reference).unwrap();
        for width in [40, 80] {
            let words = show(&busy, width).split_whitespace().collect::<Vec<_>>().join(" ");
            let whole = [bound.says.to_string(), bound.advice[0].to_string()];
            assert!(whole.iter().all(|whole| words.contains(whole)), "{words}");
        }
    }

    #[test]
    fn a_cgroup_with_a_hostile_name_stays_in_its_place() {
        let group = format!("/sys/fs/cgroup/\u{1b}]0;x\u{7}\n\u{9b}2J\u{202e}{}", "y".repeat(4096));
        let throttled = record::live::Throttled { group, seconds: 30.0, periods: 0.9, used: 1.0 };
        let shown = show(&Interval { throttled: Some(throttled), suspended: Some(3600.0), ..busy() }, 80);
        assert!(shown.contains("quota") && shown.contains("suspended for"), "{shown}");
        assert!(
            shown.lines().count() <= 24 && shown.lines().all(|line| crate::text::width(line) <= 80),
            "{shown}"
        );
        assert!(
            !shown.contains(|c: char| c.is_control() && c != '\n') && !shown.contains('\u{202e}'),
            "{shown:?}"
        );
    }

    #[test]
    fn what_starts_and_ends_between_two_looks_is_said() {
        let shown = |rate: f64| {
            let mut interval = busy();
            interval.rates.insert("forks".to_owned(), rate);
            show(&interval, 80)
        };
        let (few, many) = (shown(MANY_STARTED - 1.0), shown(9012.4));
        assert!(!few.contains("not listed") && few.lines().count() == many.lines().count(), "{many}");
        let line = many.lines().find(|line| line.contains("not listed")).unwrap();
        assert!(line.trim_start().starts_with("9,012 ") && crate::text::width(line) <= 80, "{line}");
    }

    #[test]
    fn the_sentence_stands_on_top() {
        insta::assert_snapshot!(show(&busy(), 80));
    }

    #[test]
    fn counters_and_sensors_have_a_line_each_on_a_screen_of_24() {
        let categories = ["retiring", "bad-speculation", "frontend-bound", "backend-bound"];
        let shares = [0.12, 0.03, 0.05, 0.8];
        let cores = Cores {
            ipc: Some(0.31),
            ipc_user: Some(0.29),
            ipc_kernel: Some(0.74),
            top_down: categories.map(str::to_owned).into_iter().zip(shares).collect(),
            coverage: 1.0,
        };
        let traffic = Traffic { bytes_per_second: 187e9, source: "amd_umc".to_owned(), ..Traffic::default() };
        let full = Interval {
            cores: Some(cores),
            traffic: Some(traffic),
            remote: Some(Remote { touched: Some(0.34), ..Remote::default() }),
            sensors: Sensors { celsius: Some(61.0), watts: Some(180.0), ..Sensors::default() },
            ..busy()
        };
        let screen = show(&full, 80);
        // Two lines of what cannot be seen come below.
        let one = Interval { sensors: Sensors::default(), ..full.clone() };
        for shown in [&screen, &show(&one, 80), &show(&busy(), 80), &show(&full, 40), &show(&one, 40)] {
            assert!(shown.lines().count() <= 22, "{shown}");
        }
        insta::assert_snapshot!(screen);
    }
}
