//! Small texts of people with a slow machine (`tests/inputs`): each with the values that a person reads in it.

use std::path::Path;

use record::detail;
use record::machine::{Kernel, Machine};

use crate::tools::testing::{figures, import, the};
use crate::{Imported, Importer, Split};

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs").join(name);
    std::fs::read_to_string(path).expect("the text is there")
}

fn read(name: &str) -> Imported {
    import(&text(name))
}

fn is_refused(name: &str) -> bool {
    let mut importer = Importer::new(Split::Hosts);
    importer.read("text", text(name).as_bytes()).expect("reading from memory does not fail");
    importer.finish().is_err()
}

#[test]
fn a_policy_that_cpupower_prints_is_a_clock_setting() {
    let imported = read("min-13.txt");
    let [setting] = imported.state.clocks.as_slice() else { panic!("{:?}", imported.state.clocks) };
    assert_eq!((setting.min_hz, setting.max_hz), (Some(400_000_000), Some(400_000_000)));
    assert_eq!(setting.governor.as_deref(), Some("powersave"));
    assert_eq!(setting.driver.as_deref(), Some("amd-pstate-epp"));
    assert_eq!(imported.machine.processor.max_hz, Some(4_500_000_000));
    assert_eq!(imported.state.boost, Some(true));
    assert!(imported.machine.cpus.is_empty(), "one CPU that is analysed counts none");
}

#[test]
fn files_with_their_paths_are_read_as_a_machine_s() {
    let imported = read("min-14.txt");
    assert_eq!(imported.state.clocks[0].max_hz, Some(1_500_000_000));
    assert_eq!(imported.machine.processor.max_hz, Some(2_800_000_000));
    assert_eq!(imported.state.clocksource.as_deref(), Some("hpet"));
    assert_eq!(imported.state.thp.as_deref(), Some("never"));
    let origin = &imported.import.inventory["/sys/kernel/mm/transparent_hugepage/enabled"];
    assert_eq!((origin.line, origin.says.as_str()), (9, "always madvise [never]"));
}

#[test]
fn what_the_kernel_says_of_the_tsc_is_kept() {
    let imported = read("min-16.txt");
    assert_eq!(imported.state.clocksource.as_deref(), Some("hpet"));
    let Machine { notes, .. } = &imported.machine;
    assert!(notes.iter().any(|note| note.code() == Some("tsc-unstable")), "{notes:?}");
}

#[test]
fn a_pasted_cpuinfo_names_the_processor_and_counts_nothing_that_may_be_cut() {
    let imported = read("min-17.txt");
    let processor = &imported.machine.processor;
    assert_eq!(processor.model_name.as_deref(), Some("Intel(R) Xeon(R) Gold 6134 CPU @ 3.20GHz"));
    assert_eq!(processor.microcode.as_deref(), Some("0x2000065"));
    assert_eq!(imported.machine.counts.cores, None);
    assert_eq!(processor.counter_invariant, None);
}

#[test]
fn a_quota_tells_how_often_it_held_back() {
    let imported = read("min-18.txt");
    assert_eq!(imported.machine.limits.cpu_quota, Some(0.5));
    assert_eq!((imported.state.quota_throttled, imported.state.quota_periods), (Some(60), Some(100)));
}

#[test]
fn the_kernel_of_uname_stands_beside_what_was_measured() {
    let imported = read("min-12.txt");
    let Kernel { release, preemption, .. } = &imported.machine.kernel;
    assert_eq!((release.as_deref(), preemption.as_deref()), (Some("6.1.7-rt5"), Some("rt")));
    assert_eq!(imported.measurements.len(), 12);
    assert_eq!(imported.import.not_understood.lines, 0);
}

#[test]
fn a_fence_on_the_line_of_the_first_words_loses_nothing() {
    let imported = read("min-04.txt");
    let [device] = imported.machine.memory_devices.as_slice() else { panic!("one device") };
    assert_eq!((device.rated_mt_s, device.configured_mt_s), (Some(3200), Some(2133)));
}

#[test]
fn kinds_of_core_without_a_name_are_kinds_and_their_bad_counts_count_nothing() {
    assert_eq!(read("min-01.txt").machine.counts.cores, None);
    assert_eq!(read("read-04.txt").machine.counts.cores, Some(8));
    let turkish = read("read-22.txt").machine;
    assert_eq!((turkish.counts.cores, turkish.processor.max_hz), (Some(20), Some(3_900_000_000)));
}

#[test]
fn a_hybrid_processor_shows_in_its_rows() {
    let machine = read("min-29.txt").machine;
    let kinds: Vec<Option<&str>> = machine.cpus.iter().map(|cpu| cpu.kind.as_deref()).collect();
    let (fast, slow) = (Some("performance"), Some("efficiency"));
    assert_eq!(kinds, [fast, fast, fast, fast, slow, slow, slow, slow]);
}

#[test]
fn evidence_beside_the_figures_is_kept() {
    let imported = read("min-06.txt");
    let time = the(&imported, "workload.time workload=waits");
    let spread = [detail::STANDARD_DEVIATION, detail::LEAST, detail::MOST].map(|key| time.detail.get(key));
    assert_eq!(spread, [Some(0.02), Some(0.07), Some(0.15)]);
    let threads = figures(&read("min-08.txt"));
    assert_eq!(threads, ["workload.throughput workload=sysbench threads=8: 4000"]);
    let imported = read("min-09.txt");
    assert_eq!(imported.machine.notes.len(), 1);
    assert_eq!((imported.import.not_understood.lines, imported.measurements.len()), (0, 6));
    let counts = figures(&read("min-19.txt"));
    assert!(
        counts.contains(&"counter.count event=major-faults workload=prog scope=process: 12000".to_owned())
    );
    assert!(
        counts.contains(
            &"counter.count event=involuntary-switches workload=prog scope=process: 40000".to_owned()
        )
    );
}

#[test]
fn a_figure_that_needs_a_doubt_has_one() {
    assert!(read("min-07.txt").measurements[0].doubt.is_some(), "its time went past the events");
    let imported = read("min-21.txt");
    let ipc = the(&imported, "core.ipc source=pmu scope=system");
    assert_eq!((ipc.value(), ipc.detail.get(detail::STATED)), (1.1, Some(0.5)));
    assert!(ipc.doubt.is_some());
}

#[test]
fn a_command_at_the_head_of_a_block_is_its_outputs() {
    let all = figures(&read("min-26.txt"));
    assert!(all.contains(&"workload.time workload=docker run --rm img ./prog: 13".to_owned()), "{all:?}");
}

#[test]
fn numbers_of_locales_with_a_comma_are_whole_in_fields() {
    let clock = the(&read("read-02.txt"), "counter.count event=task-clock scope=process").value();
    assert_eq!(clock, 140_970_000.0);
    let json = r#"{"counter-value" : "140,97", "unit" : "msec", "event" : "task-clock", "event-runtime" : 140973112, "pcnt-running" : 100,00}"#;
    assert_eq!(import(json).measurements[0].value(), 140_970_000.0);
    let interval = "1,000100000,140,97,msec,task-clock,140973112,100,00,0,141,CPUs utilized\n1,000100000,12,,cs,16000,75,50,,\n";
    let imported = import(interval);
    assert_eq!(imported.measurements[0].value(), 140_970_000.0);
    assert_eq!(imported.measurements[1].detail.get(detail::COVERAGE), Some(0.755));
}

#[test]
fn what_is_cut_or_of_two_machines_counts_nothing() {
    assert_eq!(read("read-08.txt").machine.counts.cores, None);
    assert!(is_refused("read-12.txt"));
}

#[test]
fn a_row_of_keys_that_a_margin_broke_has_its_own_columns() {
    let imported = read("read-07.txt");
    assert_eq!(
        the(&imported, "workload.throughput workload=openssl speed rsa 2048 bits signatures").value(),
        3528.9
    );
    assert_eq!(
        the(&imported, "workload.throughput workload=openssl speed rsa 2048 bits decryptions").value(),
        3257.6
    );
}

#[test]
fn memory_is_what_no_cache_holds() {
    assert_eq!(figures(&read("read-19.txt")), ["load.latency bytes=10485760: 11.7"]);
}

#[test]
fn what_a_stressor_prints_of_its_own_and_exports_of_a_newer_version_are_read() {
    let all = figures(&read("read-21.txt"));
    assert!(
        all.contains(&"workload.throughput workload=stress-ng --memrate read64 rate: 11234560000".to_owned()),
        "{all:?}"
    );
    assert_eq!(
        figures(&read("read-23.csv"))[1],
        "workload.time workload=sleep 0.02: 0.022355".replace("0.022355", "0.021657396000000002")
    );
}

#[test]
fn what_firmware_writes_is_not_taken_for_another_thing() {
    assert_eq!(read("read-17.txt").machine.processor.base_hz, None);
    assert_eq!(read("read-18.txt").machine.memory_devices[0].configured_mt_s, None);
}

#[test]
fn every_text_is_read_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs");
    let names = std::fs::read_dir(folder).expect("the texts are there").flatten();
    let refused: Vec<String> = names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| is_refused(name))
        .collect();
    assert_eq!(refused, ["read-12.txt"]);
}
