//! Tests the counters that are available on the test machine. If the kernel refuses even software events, only the
//! report of the refusal is tested.

use record::Label;
use record::detail;
use std::time::Duration;

use super::*;
use os::mapping::{self, Mapping, Page};

/// The software events, if this machine allows counting them.
fn software() -> Option<Counters> {
    let counters = Counters::open(Target::ThisThread, Set::Software);
    if counters.is_empty() {
        assert_eq!(counters.refused().len(), 6, "no event is open, and some refusals are not reported");
        return None;
    }
    Some(counters)
}

/// Stops counting and preserves the counts.
fn disable(counters: &Counters) {
    counters.groups.iter().rev().for_each(Group::disable);
}

#[test]
fn sleeps_are_switches_and_touched_pages_are_faults() {
    let Some(counters) = software() else { return };
    counters.enable();
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (pages, page) = (300, mapping::base_page() as usize);
    let memory = Mapping::new(pages * page, Page::Base).unwrap();
    for index in 0..pages {
        // SAFETY: the address is within the mapping, which nothing else uses.
        unsafe { memory.start().add(index * page).write_volatile(1) };
    }
    disable(&counters);
    let reading = counters.read();
    let faults = reading.get("page-faults").unwrap();
    assert!(faults.raw as usize >= pages, "{} faults of {pages} pages", faults.raw);
    assert_eq!(faults.coverage(), 1.0);
    match reading.get("context-switches") {
        Some(switches) => assert!(switches.raw >= 5, "{} switches of 5 sleeps", switches.raw),
        None => assert!(counters.refused().iter().any(|(event, _)| *event == "context-switches")),
    }
    let minor = reading.get("minor-faults").unwrap().raw + reading.get("major-faults").unwrap().raw;
    assert_eq!(minor, faults.raw);
    // Counting has stopped, so nothing more is counted.
    std::thread::sleep(Duration::from_millis(1));
    assert_eq!(counters.read().get("page-faults").unwrap().raw, faults.raw);
}

#[test]
fn before_it_is_enabled_nothing_is_counted_and_a_difference_begins_at_nothing() {
    let Some(counters) = software() else { return };
    std::thread::sleep(Duration::from_millis(1));
    assert!(counters.read().get("context-switches").is_none_or(|count| count.raw == 0));
    counters.enable();
    // An allocator may return memory that was already touched.
    let memory = Mapping::new(1 << 20, Page::Base).unwrap();
    memory.touch(1 << 20);
    assert!(counters.read().get("page-faults").unwrap().raw > 0);
    let before = counters.read();
    let after = counters.read().since(&before);
    let faults = |reading: &Reading| reading.get("page-faults").map_or(0, |count| count.raw);
    assert!(faults(&after) < 100, "{} faults since", faults(&after));
}

/// A shell that, as soon as it reads a line, calls exec to become a shell with `children` children.
fn waiting_shell(children: u32) -> (std::process::Child, i32) {
    let script = format!("read x; exec sh -c 'i=0; while [ $i -lt {children} ]; do env; i=$((i+1)); done'");
    let child = std::process::Command::new("sh")
        .args(["-c", &script])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id() as i32;
    (child, pid)
}

fn faults_of(children: u32, inherit: bool) -> Option<u64> {
    use std::io::Write;
    let (mut child, pid) = waiting_shell(children);
    let counters = Counters::open(Target::Process { pid, inherit, enable_on_exec: true }, Set::Software);
    let before = counters.read();
    assert!(before.counts.iter().all(|count| count.raw == 0), "counted before exec: {before:?}");
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
    if counters.is_empty() {
        return None;
    }
    let reading = counters.read();
    let clock = reading.get("task-clock").unwrap();
    assert!(clock.raw > 0 && clock.coverage() == 1.0, "{clock:?}");
    Some(reading.get("page-faults").unwrap().raw)
}

#[test]
fn a_program_counts_from_its_exec_on_and_its_children_with_it() {
    let Some(alone) = faults_of(20, false) else { return };
    let all = faults_of(20, true).unwrap();
    // Each child is a process with separate pages, so it causes more than 20 faults with any C library.
    assert!(all > alone + 20 * 20, "{alone} faults of a shell, {all} with its 20 children");
}

#[test]
fn without_descriptors_the_limit_is_named() {
    // An emulator counts nothing, and programs for the emulated architecture cannot be started directly.
    if software().is_none() {
        return;
    }
    // The limit applies to a whole process, so the test below runs in a separate one.
    let name = "counters::live_tests::with_few_descriptors";
    let program = std::env::current_exe().unwrap();
    let run = format!("ulimit -n 10; exec {} --exact {name} --ignored", program.display());
    let output = std::process::Command::new("sh").args(["-c", &run]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1 passed"), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "run by the test above, with few descriptors"]
fn with_few_descriptors() {
    let open: Vec<Counters> = (0..3).map(|_| Counters::open(Target::ThisThread, Set::Software)).collect();
    let last = open.last().unwrap();
    assert!(last.refused().len() >= 5, "{:?}", last.refused());
    let denied = Counters::open(Target::ThisThread, Set::Software).is_empty() && open[0].is_empty();
    assert!(
        denied || last.refused().iter().all(|(_, why)| why.code() == Some("counters-no-descriptor")),
        "{:?}",
        last.refused()
    );
}

#[test]
fn what_is_not_there_is_named_for_each_event() {
    let counters = Counters::open(Target::ThisThread, Set::Full);
    let here = availability();
    counters.enable();
    let spun: u64 = (0..100_000u64).map(std::hint::black_box).sum();
    std::hint::black_box(spun);
    disable(&counters);
    let reading = counters.read();
    for event in EVENTS.iter() {
        let refused = counters.refused().iter().find(|(name, _)| *name == event.name);
        let counted = reading.get(event.name).is_some();
        let idle = reading.not_counted.iter().any(|(name, _)| *name == event.name);
        assert!(refused.is_some() ^ (counted || idle), "{}: {refused:?} {counted} {idle}", event.name);
        if let Some((_, why)) = refused {
            assert!(!why.is_empty() && !why.to_string().contains('\n'), "{why:?}");
        }
    }
    assert_eq!(here.pmu, here.refusal.is_none(), "{here:?}");
    match reading.ipc() {
        Some(ipc) => assert!(here.pmu && (0.01..12.0).contains(&ipc), "{ipc}"),
        None => assert!(!here.pmu || !reading.not_counted.is_empty(), "{reading:?}"),
    }
}

#[test]
fn a_process_that_is_not_there_is_a_reason_not_a_failure() {
    for pid in [0, -1, i32::MAX] {
        let target = Target::Process { pid, inherit: true, enable_on_exec: false };
        let counters = Counters::open(target, Set::Software);
        assert!(counters.is_empty());
        assert_eq!(counters.refused().len(), 6, "{:?}", counters.refused());
        counters.enable();
        assert_eq!(counters.read(), Reading::default());
    }
}

#[test]
fn readings_become_measurements_that_the_record_takes() {
    let Some(counters) = software() else { return };
    counters.enable();
    std::thread::sleep(Duration::from_millis(1));
    let place = record::Labels::new().with_label(Label::Workload, "sleep");
    let measured = measurements(&counters.read(), place);
    assert!(measured.len() >= 4);
    for measurement in &measured {
        let metric = measurement.metric.definition().unwrap();
        assert!(
            measurement.labels.0.keys().all(|key| metric.keys.iter().any(|label| label.name() == key)),
            "{measurement:?}"
        );
        assert_eq!(measurement.labels.word(Label::Workload), Some("sleep"));
        assert_eq!(measurement.detail.get(detail::COVERAGE).unwrap(), 1.0);
    }
}
