//! Tests the contents of the screen.

use super::*;
use crate::terminal::Style;
use record::live::{CpuTimes, Probe, Process, Remote, Sensors, Service, Thread, Traffic};

fn drawn(of: &Live, style: &Style) -> String {
    Screen::draw(style, |screen| live(screen, of))
}

fn show(interval: &Interval, width: usize) -> String {
    show_with(interval, &looked_at(&[interval]), width)
}

/// The last sample of the processes after these intervals.
fn looked_at(intervals: &[&Interval]) -> LastLook {
    let mut look = LastLook::default();
    intervals.iter().for_each(|interval| look.take(interval));
    look
}

fn begun(_: &Service) -> Service {
    Service { seconds: 2.0, ..Service::default() }
}

fn show_with(interval: &Interval, look: &LastLook, width: usize) -> String {
    let reference = Reference { calibrated_ns: Some(100.0), ..Reference::default() };
    let bound = diagnose::watched(interval, &reference);
    let mut watch = Watch::default();
    // The interval begins two seconds after the recording started.
    watch.push(0.0, &Interval { service: interval.service.as_ref().map(begun), ..Interval::default() }, None);
    watch.push(2.0, interval, bound.as_ref());
    let live = Live {
        head: "host, EPYC 9R14, 4 CPUs; 19:14:22",
        interval,
        watch: &watch,
        look,
        bound: bound.as_ref(),
        reference: &reference,
        coverage: &[],
        goes_on: true,
    };
    drawn(&live, &Style { width, ..Style::default() })
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
    let sampled = Sampled {
        samples: 420,
        undecoded: 20,
        far: Share::of((0.91 * 400.0) as u64, 400, 0),
        shared: Share::of((0.02 * 400.0) as u64, 400, 0),
        ..Sampled::default()
    };
    let text = show(&Interval { sampled: Some(sampled.clone()), ..busy() }, 80);
    let line = text.lines().find(|line| line.starts_with("User time")).unwrap();
    assert!(line.contains("91 % beyond") && line.contains("n=400") && line.chars().count() <= 80, "{line}");
    let unread = Sampled { samples: 5, undecoded: 5, ..sampled.clone() };
    assert!(show(&Interval { sampled: Some(unread), ..busy() }, 80).contains("- beyond caches"));
    let counted = Interval { sampled: Some(sampled), cores: Some(Cores::default()), ..busy() };
    assert!(!show(&counted, 80).contains("User time"));
    let interval = busy();
    let live = Live {
        head: "host",
        interval: &interval,
        watch: &Watch::default(),
        look: &looked_at(&[&interval]),
        bound: None,
        reference: &Reference::default(),
        coverage: &[],
        goes_on: false,
    };
    assert!(!drawn(&live, &Style::default()).contains("\n\n\n"));
}

#[test]
fn a_screen_has_at_most_23_lines_and_no_line_moves() {
    for width in [40, 80, 160] {
        let (full, idle) = (show(&busy(), width), show(&Interval { cpus: 4, ..Interval::default() }, width));
        assert!(full.lines().count() <= 23, "{full}");
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
        shown.lines().count() <= 23 && shown.lines().all(|line| crate::text::width(line) <= 80),
        "{shown}"
    );
    assert!(
        !shown.contains(|c: char| c.is_control() && c != '\n') && !shown.contains('\u{202e}'),
        "{shown:?}"
    );
}

#[test]
fn what_starts_and_ends_between_two_looks_is_said() {
    let shown = |rate: f64, cpu: f64| {
        let mut interval = busy();
        interval.rates.insert("forks".to_owned(), rate);
        interval.processes[0].cpu = cpu;
        show(&interval, 80)
    };
    let (few, many) = (shown(499.0, 38.0), shown(9012.4, 38.0));
    assert!(!few.contains("not listed") && few.lines().count() == many.lines().count(), "{many}");
    let line = many.lines().find(|line| line.contains("not listed")).unwrap();
    assert!(line.trim_start().starts_with("9,012 ") && crate::text::width(line) <= 80, "{line}");
    // The row for other processes also shows the rate of new processes.
    let (few, many) = (shown(499.0, 30.0), shown(9012.4, 30.0));
    let others = |shown: &str| shown.lines().find(|line| line.contains("others")).unwrap().to_owned();
    assert!(others(&many).contains(" 80.0 ") && others(&many).ends_with("9,012 forks/s"), "{many}");
    assert!(!others(&few).contains("forks"), "{few}");
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
    // Two more lines for missing observations follow.
    let one = Interval { sensors: Sensors::default(), ..full.clone() };
    for shown in [&screen, &show(&one, 80), &show(&busy(), 80), &show(&full, 40), &show(&one, 40)] {
        assert!(shown.lines().count() <= 21, "{shown}");
    }
    insta::assert_snapshot!(screen);
}

/// An interval of one second with two busy CPUs and this much CPU time of each process.
fn second(processes: &[(i32, f64)], over: Option<f64>) -> Interval {
    let processes = processes.iter().map(|(pid, cpu)| Process {
        pid: *pid,
        name: "cc1plus".to_owned(),
        cpu: *cpu,
        threads: 1,
        ..Process::default()
    });
    Interval {
        seconds: 1.0,
        cpus: 2,
        times: CpuTimes { user: 1.5, system: 0.5, ..CpuTimes::default() },
        processes: processes.collect(),
        processes_seconds: over,
        ..Interval::default()
    }
}

#[test]
fn the_last_table_of_processes_stays_until_the_next_look_and_says_over_what_time_it_was_taken() {
    let (none, looked) = (second(&[], None), second(&[(4711, 4.0)], Some(2.0)));
    let own = second(&[(4711, 2.0)], Some(1.0));
    let row = |shown: &str| shown.lines().find(|line| line.contains("4711")).map(str::to_owned);
    let head = |shown: &str| shown.lines().find(|line| line.contains("PID")).unwrap().to_owned();
    let at_once = show_with(&own, &looked_at(&[&own]), 80);
    assert!(!head(&at_once).contains("over"), "{at_once}");
    for look in [looked_at(&[&none, &looked]), looked_at(&[&none, &looked, &none])] {
        for width in [40, 80] {
            let shown = show_with(&none, &look, width);
            assert!(head(&shown).ends_with("over 2.0 s"), "{shown}");
            assert!(row(&shown).is_some_and(|row| row.contains("200.0")), "{shown}");
        }
    }
    // A table from an earlier interval shows its period, even if both intervals have the same length.
    assert!(head(&show_with(&none, &looked_at(&[&own, &none]), 80)).ends_with("over 1.0 s"));
}

#[test]
fn what_no_row_has_of_the_busy_time_is_the_last_row() {
    let few: Vec<(i32, f64)> = (1..=8).map(|pid| (pid, 0.11)).collect();
    let busy = second(&few, Some(1.0));
    let others = |look: &LastLook| {
        let shown = show_with(&busy, look, 80);
        shown.lines().find(|line| line.trim_start().starts_with("others")).map(str::to_owned)
    };
    // The CPUs used 200 %, of which the four rows contain 44 %.
    let row = others(&looked_at(&[&busy])).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["others", "156.0", "50.0"]);
    // A table that covers two seconds is compared with the CPU time of both seconds.
    let rest = second(&[], None);
    let two = Interval { processes_seconds: Some(2.0), ..busy.clone() };
    let row = others(&looked_at(&[&rest, &two])).unwrap();
    assert_eq!(row.split_whitespace().nth(1), Some("178.0"));
    // No row for others is shown if the period is unknown, or if less than 10 % of a CPU is missing from the rows.
    assert_eq!(others(&looked_at(&[&two])), None);
    assert_eq!(others(&looked_at(&[&second(&[(1, 1.91)], Some(1.0))])), None);
    assert!(others(&looked_at(&[&second(&[(1, 1.89)], Some(1.0))])).is_some());
}

#[test]
fn a_narrow_table_has_whole_columns_or_none() {
    let threads = vec![Thread { tid: 4_194_304, name: "rustc".repeat(9), cpu: 1.0, ..Thread::default() }];
    let process = Interval {
        processes: vec![Process {
            name: "rustc".repeat(9),
            ..second(&[(4_194_304, 1.0)], None).processes[0].clone()
        }],
        ..second(&[], Some(1.0))
    };
    for width in [40, 48, 63, 64, 80] {
        for interval in [
            &process,
            &Interval { threads: threads.clone(), service: Some(Service::default()), ..process.clone() },
        ] {
            let shown = show(interval, width);
            let row = shown.lines().rfind(|line| line.trim_start().starts_with("4194304")).unwrap();
            assert!(
                row.contains("rustc") && row.contains("  100.0") && row.matches('…').count() == 1,
                "{shown}"
            );
            let head = shown.lines().find(|line| line.contains("ID ")).unwrap();
            assert!(head.contains("CPU %") && !head.contains('…'), "{shown}");
        }
    }
}

#[test]
fn of_what_cannot_be_seen_the_last_words_are_how_many_more_and_where_they_are() {
    let why = record::text!("why", "this kernel was built without it (CONFIG_SCHEDSTATS)");
    let all: Vec<Coverage> =
        (0..9).map(|number| Coverage::degraded(format!("source {number}"), why.clone())).collect();
    let interval = busy();
    for width in [40, 80, 160] {
        for goes_on in [true, false] {
            let live = Live {
                head: "host",
                interval: &interval,
                watch: &Watch::default(),
                look: &looked_at(&[&interval]),
                bound: None,
                reference: &Reference::default(),
                coverage: &all,
                goes_on,
            };
            let shown = drawn(&live, &Style { width, ..Style::default() });
            assert!(shown.trim_end().ends_with(" more (live --once --json)"), "{shown}");
            // The cursor needs the last of 24 lines.
            assert!(shown.lines().count() <= 23, "{shown}");
        }
    }
}

/// Eight threads, of which five have rows, observed for a second.
fn watched() -> Interval {
    let states = [("user", 1.0), ("system", 0.25), ("runnable", 0.5), ("blocked", 6.31), ("off-cpu", 0.0)];
    let service = Service {
        seconds: 1.0,
        threads: 8,
        states: states.map(|(state, seconds)| (state.to_owned(), seconds)).into(),
        ..Service::default()
    };
    let thread =
        |tid| Thread { tid, name: "worker".to_owned(), cpu: 0.2, blocked: 1.005, ..Thread::default() };
    Interval { threads: (1..=5).map(thread).collect(), service: Some(service), ..second(&[], None) }
}

#[test]
fn a_service_has_a_row_of_all_its_threads_and_none_is_blocked_for_longer_than_the_interval() {
    let shown = show(&watched(), 80);
    let row = |beginning: &str| {
        let line = shown.lines().find(|line| line.trim_start().starts_with(beginning)).unwrap();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("all 8"), ["all", "8", "threads", "125.0", "50.0", "631.0"]);
    assert_eq!(row("1 "), ["1", "worker", "20.0", "0.0", "100.0"]);
    // For a single thread, a row for all threads would repeat the thread's own row.
    let mut one = watched();
    one.service.as_mut().unwrap().threads = 1;
    assert!(!show(&one, 80).contains("all 1"));
}

#[test]
fn beside_a_service_the_machines_lines_say_whose_they_are() {
    let sampled =
        Sampled { samples: 400, far: Share::of((0.99 * 400.0) as u64, 400, 0), ..Sampled::default() };
    let idle = Interval {
        sampled: Some(Sampled { far: Share::of((0.48 * 400.0) as u64, 400, 0), ..sampled.clone() }),
        ..watched()
    };
    let mut busy = idle.clone();
    busy.service.as_mut().unwrap().sampled = Some(sampled);
    let line = |interval: &Interval| {
        let shown = show(interval, 80);
        let at = |what: &str| shown.lines().position(|line| line.contains(what)).unwrap();
        assert!(at("Machine  ") < at("Own cost") && at("Own cost") < at("User time"), "{shown}");
        (at("User time"), shown.lines().nth(at("User time")).unwrap().to_owned())
    };
    // The machine's 48 % must not be shown for a service without samples.
    let ((here, own), (there, none)) = (line(&busy), line(&idle));
    assert!(own.contains("99 %") && here == there && none.contains("- beyond caches"), "{own} {none}");
    let machine = Interval { service: None, ..idle };
    assert!(!show(&machine, 80).contains("Machine") && line_of(&machine, "User time").contains("48 %"));
}

fn line_of(interval: &Interval, what: &str) -> String {
    show(interval, 80).lines().find(|line| line.contains(what)).unwrap().to_owned()
}

#[test]
fn the_end_of_what_was_watched_is_said_and_after_how_long() {
    let ended = |processes| {
        let mut interval = watched();
        let service = interval.service.as_mut().unwrap();
        (service.seconds, service.ended) = (0.11, processes);
        show(&interval, 80)
    };
    assert!(ended(1).contains("The process exited after 2.1 s."), "{}", ended(1));
    assert!(ended(2).contains("All processes exited after 2.1 s."), "{}", ended(2));
    assert!(!ended(0).contains("ended"), "{}", ended(0));
}

#[test]
fn a_narrow_screen_that_no_other_follows_has_rows_of_processes_and_of_the_others() {
    let interval = second(&[(1, 0.9), (2, 0.1), (3, 0.1)], Some(1.0));
    let look = looked_at(&[&interval]);
    let reference = Reference::default();
    let bound = diagnose::watched(&interval, &reference);
    let live = Live {
        head: "host",
        interval: &interval,
        watch: &Watch::default(),
        look: &look,
        bound: bound.as_ref(),
        reference: &reference,
        coverage: &[],
        goes_on: false,
    };
    let shown = drawn(&live, &Style { width: 40, ..Style::default() });
    assert!(shown.contains("cc1plus          90.0") && shown.contains("others           90.0"), "{shown}");
    assert!(shown.lines().count() <= 21, "{shown}");
}
