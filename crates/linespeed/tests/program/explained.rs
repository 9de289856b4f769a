//! `linespeed explain` has what `linespeed live` says and shows.

use std::collections::BTreeSet;

use record::diagnosis::BoundBy::{self, *};
use record::live::{Cores, Interval, Sensors, Service, Thread};

use crate::support::ran;

/// What `explain` says, on one line.
fn explain(name: &str) -> String {
    ran(["explain", name]).succeeds().stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_verdict_of_live_is_explained() {
    let verdicts = [
        Cpu,
        MemoryLatency,
        MemoryBandwidth,
        Frontend,
        Branches,
        Waiting,
        CpuContention,
        TooFewCpus,
        Kernel,
        Quota,
        OneThread,
        Imbalance,
        Stolen,
        Lock,
        Cache,
        OwnThreads,
        Clock,
        Idle,
        Unknown,
    ];
    // One that is added stands above, too.
    let _ = |by: BoundBy| match by {
        Cpu | MemoryLatency | MemoryBandwidth | Frontend | Branches | Waiting | CpuContention => {}
        TooFewCpus | Kernel | Quota | OneThread | Imbalance | Stolen | Lock | Cache | OwnThreads => {}
        Clock | Idle | Unknown | Other(_) => {}
    };
    let bound = explain("bound by");
    for code in verdicts.iter().map(BoundBy::code) {
        assert!(bound.contains(&code), "{code}: {bound}");
        assert!(!explain(&code).is_empty(), "{code}");
    }
}

/// The names on the screens of a machine and of a service.
fn columns() -> BTreeSet<String> {
    let sensors = Sensors { celsius: Some(60.0), ..Sensors::default() };
    let machine = Interval { seconds: 1.0, cores: Some(Cores::default()), sensors, ..Interval::default() };
    let watched = Some(Service { threads: 2, ..Service::default() });
    let service = Interval { threads: vec![Thread::default()], service: watched, ..machine.clone() };
    let reference = diagnose::Reference::default();
    let mut all = BTreeSet::new();
    for interval in [&machine, &service] {
        let live = report::terminal::Live {
            head: "",
            interval,
            watch: &record::Watch::default(),
            look: &report::terminal::LastLook::default(),
            bound: None,
            reference: &reference,
            coverage: &[],
            goes_on: true,
        };
        let style = report::terminal::Style { width: 80, ..Default::default() };
        for line in
            report::terminal::Screen::draw(&style, |screen| report::terminal::live(screen, &live)).lines()
        {
            let heads = line.contains("steal") || line.contains("  name ");
            let fact = line.get(..11).filter(|name| !name.starts_with(' ')).unwrap_or("");
            let line = line.replace("% ", "%  ");
            let fact = fact.to_owned();
            let names = if heads { &line } else { &fact }.split("  ").map(|name| name.trim().to_owned());
            all.extend(names.filter(|name| !name.is_empty() && !name.starts_with("No CPU")));
        }
    }
    all
}

#[test]
fn every_column_of_live_is_explained() {
    let (screen, columns) = (explain("screen"), columns());
    assert!(columns.len() >= 20, "{columns:?}");
    for column in columns {
        assert!(screen.to_lowercase().contains(&column.to_lowercase()), "{column}: {screen}");
    }
}

/// Whoever types what the screen prints is told what that is, and not what another command calls so.
#[test]
fn words_of_lives_screen_lead_to_what_explains_them() {
    for (word, entry, says) in [
        ("CPU %", "screen", "100 % is one CPU"),
        ("sys %", "screen", "in the kernel"),
        ("runnable %", "runnable", "got no CPU"),
        ("blocked %", "blocked", "neither running nor ready"),
        ("state", "screen", "waiting for a disk"),
        ("switches", "context switches", "lost its CPU"),
        ("faults", "screen", "first access to a page"),
        ("own cost", "screen", "CPU time of linespeed itself"),
        ("late", "screen", "the delay of linespeed's own timers"),
        ("timers late", "screen", "the delay of linespeed's own timers"),
        ("held down", "bound by", "limited by heat"),
        ("beyond caches", "memory access samples", "last-level cache"),
        ("shared lines", "memory access samples", "Shared lines"),
        ("spinning", "memory access samples", "until another thread"),
        ("memory full", "memory probe", "memory"),
        ("waiting for a CPU", "runnable", "got no CPU"),
        ("in the kernel", "bound by", "system calls"),
        ("threads", "step", "the number of threads of a process"),
        ("probe", "probe", "memory probe"),
        ("pressure", "pressure", "over each interval"),
        ("Not seen", "coverage", "could not be measured"),
        ("others", "others", "without a row of their own"),
        ("User time", "workload.cpu_time", "(sampled)"),
    ] {
        let text = explain(word).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.starts_with(&format!("{entry} ")) && text.contains(says), "{word}: {text}");
    }
}

#[test]
fn a_word_without_an_entry_leads_to_those_that_have_it() {
    let hint = |name: &str| ran(["explain", name]).fails(2, &["no entry", "linespeed explain"]).stderr;
    for word in ["halt", "wide"] {
        let text = hint(word);
        let (_, names) = text.split_once("it occurs in: ").unwrap_or_else(|| panic!("{text}"));
        let names: Vec<&str> = names.split_once(". ").unwrap().0.split(", ").collect();
        assert!((1..=5).contains(&names.len()), "{text}");
        for name in names {
            assert!(
                explain(name).to_lowercase().contains(word) || name.contains(word),
                "{word} is not in {name}"
            );
        }
    }
    assert!(hint("governer").contains("did you mean governor?"));
    assert!(explain("warning").contains("a warning if it costs 5 %"));
}
