//! Short texts from users with a slow machine (`tests/inputs`), each with the values that a human reader finds in it.

use std::path::Path;

use record::machine::{Kernel, Machine};
use record::{Measurement, detail};

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
    assert!(imported.machine.cpus.is_empty(), "one analyzed CPU does not show the number of CPUs");
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
    assert!(read("min-07.txt").measurements[0].doubt.is_some(), "most of its time was spent outside events");
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
fn nodes_of_a_rounded_table_have_their_memory_and_no_cpus_that_it_does_not_tell() {
    let machine = read("min-02.txt").machine;
    let nodes: Vec<_> = machine.nodes.iter().map(|node| (node.bytes, node.cpus.len())).collect();
    assert_eq!(nodes, [(Some(1000 << 20), 0); 2]);
    assert_eq!((machine.counts.nodes, machine.counts.cpus_present), (None, None));
}

#[test]
fn banks_of_a_cut_list_are_those_that_it_shows() {
    let devices = read("min-03.txt").machine.memory_devices;
    let bytes: Vec<_> = devices.iter().map(|device| device.bytes).collect();
    assert_eq!(bytes, [Some(16 << 30), None]);
    assert_eq!(devices[0].rated_mt_s, Some(3200));
}

#[test]
fn an_empty_socket_is_no_package() {
    let machine = read("read-01.txt").machine;
    let counts = &machine.counts;
    assert_eq!((counts.packages, counts.cores, counts.cpus_present), (Some(1), Some(6), Some(12)));
    let slots: Vec<_> = machine.memory_devices.iter().map(|slot| slot.bytes).collect();
    assert_eq!(slots, [Some(16 << 30), None]);
}

#[test]
fn clusters_that_lscpu_calls_sockets_count_cores() {
    let counts = read("read-03.txt").machine.counts;
    assert_eq!((counts.cores, counts.cpus_present, counts.nodes), (Some(6), Some(6), Some(1)));
}

#[test]
fn devices_of_controllers_that_name_no_channel_are_all_there() {
    let devices = read("read-06.txt").machine.memory_devices;
    let fitted: Vec<_> = devices.iter().filter(|device| device.bytes.is_some()).collect();
    assert_eq!((devices.len(), fitted.len()), (4, 2));
    assert!(fitted.iter().all(|device| device.configured_mt_s == Some(3200)));
}

#[test]
fn typographic_quotes_tell_the_scope() {
    let expected = [
        "counter.count event=cycles scope=system: 1000000000",
        "counter.count event=instructions scope=system: 2000000000",
        "core.ipc source=pmu scope=system: 2",
    ];
    assert_eq!(figures(&read("read-14.txt")), expected);
}

#[test]
fn a_record_of_a_hybrid_processor_has_both_kinds_of_cores() {
    let record: record::Record = serde_json::from_str(&text("min-30.json")).expect("a record");
    let kinds = |kind: &str| -> Vec<u32> {
        let of_kind = record.machine.cpus.iter().filter(|cpu| cpu.kind.as_deref() == Some(kind));
        of_kind.map(|cpu| cpu.id).collect()
    };
    assert_eq!((kinds("performance"), kinds("efficiency")), (vec![0, 1, 2, 3], vec![4, 5, 6, 7]));
}

#[test]
fn every_text_is_read_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs");
    let names = std::fs::read_dir(folder).expect("the texts are there").flatten();
    let refused: Vec<String> = names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.ends_with(".json") && is_refused(name))
        .collect();
    assert_eq!(refused, ["read-12.txt"]);
}

#[test]
fn files_of_loops_and_counted_lines_are_read() {
    let text = "$ for f in cpu io memory; do echo $f; cat /proc/pressure/$f; done\ncpu\nsome avg10=1.50 avg60=0.70 avg300=0.20 total=1\n\
        full avg10=0.00 avg60=0.00 avg300=0.00 total=0\nio\nsome avg10=2.50 avg60=0.80 avg300=0.30 total=2\n\
        full avg10=2.00 avg60=0.60 avg300=0.20 total=1\nmemory\nsome avg10=3.50 avg60=0.90 avg300=0.40 total=3\n";
    let pressure = import(text).state;
    let some = serde_json::to_value(&pressure).expect("a state")["pressure"].clone();
    assert_eq!(some.as_object().map(serde_json::Map::len), Some(3), "{some}");
    let text = "$ sort /proc/cpuinfo | uniq -c\n     16 microcode\t: 0x2000065\n     16 model name\t: Intel(R) Xeon(R) Gold 6134 CPU @ 3.20GHz\n";
    let processor = import(text).machine.processor;
    assert_eq!(processor.model_name.as_deref(), Some("Intel(R) Xeon(R) Gold 6134 CPU @ 3.20GHz"));
}

#[test]
fn siblings_without_a_list_of_cpus_are_reported() {
    let text = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list:0,4\n/sys/devices/system/cpu/cpu1/topology/thread_siblings_list:1,5\n";
    let imported = import(text);
    assert_eq!((imported.machine.counts.cpus_present, imported.machine.cpus.len()), (None, 0));
    assert!(imported.coverage.iter().any(|one| one.what.to_string().contains("siblings")));
}

#[test]
fn runs_are_told_apart_by_the_comment_above_them_and_by_their_threads() {
    let text =
        "```bash\n# turbo on\n$ time ./solve\nreal\t0m1.0s\n# turbo off\n$ time ./solve\nreal\t0m2.0s\n```\n";
    let notes: Vec<_> =
        import(text).measurements.iter().map(|m| m.detail.get(detail::NOTE).map(str::to_owned)).collect();
    assert_eq!(notes, [Some("turbo on".to_owned()), Some("turbo off".to_owned())]);
    let row = "aes-256 ige      89602.86k    97498.37k    98271.49k    98399.91k    89101.65k\n";
    let text = format!("CPU(s): 64\n\nwith 32 threads\n\n{row}\non all cores\n\n{row}");
    let threads: Vec<_> = import(&text)
        .measurements
        .iter()
        .map(|m| m.labels.get(record::Label::Threads).map(ToString::to_string))
        .collect();
    assert_eq!((threads[0].as_deref(), threads[5].as_deref()), (Some("32"), Some("64")));
}

#[test]
fn a_sibling_that_was_taken_offline_is_known_to_be_one() {
    let text = "$ lscpu\nCPU(s): 4\nOn-line CPU(s) list: 0-2\nOff-line CPU(s) list: 3\n$ cat /sys/devices/system/cpu/cpu0/topology/thread_siblings_list\n0,2\n\
        $ cat /sys/devices/system/cpu/cpu1/topology/thread_siblings_list\n1,3\n$ cat /sys/devices/system/cpu/cpu1/topology/thread_siblings_list\n1\n";
    let machine = import(text).machine;
    assert_eq!(machine.counts.cores, Some(2));
    assert_eq!((machine.cpus[3].online, machine.cpus[3].core), (false, Some(1)));
}

#[test]
fn what_carries_a_text_is_stripped() {
    const LIST: &str = "Architecture: x86_64\nCPU(s): 4\nOn-line CPU(s) list: 0-3\nThread(s) per core: 2\nCore(s) per socket: 2\nSocket(s): 1\n";
    let each = |with: &dyn Fn(usize, &str) -> String| {
        LIST.lines().enumerate().map(|(at, line)| with(at + 1, line) + "\n").collect::<String>()
    };
    for text in [
        each(&|_, line| format!("2024-01-15T10:00:00.1234567Z {line}")),
        each(&|_, line| format!("Jan 18 00:00:00 host bench[12]: {line}")),
        each(&|at, line| format!("{at:6}\t{line}")),
        each(&|at, line| format!("{at}: {line}")),
        each(&|_, line| format!("# {line}")),
        each(&|_, line| format!("// {line}")),
        each(&|_, line| format!("bench-1  | {line}")),
        each(&|_, line| format!("      \"{line}\\n\",")),
        format!("ok: [web1] => {{\"stdout\": \"{}\"}}\n", LIST.replace('\n', "\\n")),
        each(&|_, line| format!("[1m{}", line.replacen(':', ":[0m", 1))),
        format!("|a|b|\n|--|--|\n{}", each(&|_, line| format!("| {} |", line.replacen(':', " |", 1)))),
    ] {
        let counts = import(&text).machine.counts;
        assert_eq!((counts.cores, counts.cpus_present), (Some(2), Some(4)), "{text}");
    }
}

#[test]
fn a_path_tells_what_a_line_is_however_it_stands_there() {
    for (text, governor) in [
        ("==> /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor <==\npowersave\n", "powersave"),
        ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor:powersave\n", "powersave"),
        ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor = powersave\n", "powersave"),
        ("cpu0/cpufreq/scaling_governor:powersave\n", "powersave"),
        ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor\npowersave\n", "powersave"),
        ("$ cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor\npowersave\npowersave\n", "powersave"),
        (
            "$ cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor | sort | uniq\npowersave\n",
            "powersave",
        ),
    ] {
        let state = import(text).state;
        assert_eq!(
            state.clocks.first().and_then(|clock| clock.governor.as_deref()),
            Some(governor),
            "{text}"
        );
    }
    assert_eq!(import("kernel.numa_balancing = 1\nvm.zone_reclaim_mode = 0\n").state.numa_balancing, Some(1));
    for nothing in [
        "I saw that /sys/kernel/mm/transparent_hugepage/enabled was never, is it ok?\n",
        "$ cat /proc/cpuinfo | grep -c processor\n64\n",
        "$ cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor\npowersave\nperformance\n",
        "$ cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor | wc -l\n1\n",
    ] {
        assert_eq!(import(nothing), Imported::default(), "{nothing}");
    }
    let twice =
        "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) A\nprocessor\t: 0\nmodel name\t: AMD EPYC B\n";
    let mut importer = Importer::new(Split::Hosts);
    importer.read("text", twice.as_bytes()).expect("reading from memory does not fail");
    assert!(matches!(importer.finish(), Err(crate::Error::SeveralMachines(_))));
}

#[test]
fn archives_of_the_two_trees_are_read() {
    let mut archive = Vec::new();
    for (path, text) in [
        ("./capture/sys/devices/system/cpu/online", "0-7\n"),
        ("capture/proc/sys/kernel/numa_balancing", "1\n"),
    ] {
        let mut header = [0_u8; 512];
        header[..path.len()].copy_from_slice(path.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", text.len()).as_bytes());
        header[156] = b'0';
        header[257..263].copy_from_slice(b"ustar\0");
        archive.extend(header);
        archive.extend(text.bytes().chain(std::iter::repeat(0)).take(512));
    }
    archive.extend([0; 1024]);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &archive).expect("packing into memory");
    for bytes in [archive.clone(), packed.finish().expect("packed")] {
        let mut importer = Importer::new(Split::Hosts);
        importer.read("text", bytes.as_slice()).expect("reading from memory does not fail");
        let imported = importer.finish().expect("a machine").remove(0);
        assert_eq!((imported.machine.counts.cpus_online, imported.state.numa_balancing), (Some(8), Some(1)));
    }
}

#[test]
fn two_boards_one_after_the_other_are_refused() {
    let board = |part: &str, gb: u32| {
        format!(
            "Handle 0x0010, DMI type 17, 84 bytes\nMemory Device\n\tSize: {gb} GB\n\tLocator: A1\n\tBank Locator: B0\n\tType: DDR4\n\tSpeed: 2666 MT/s\n\tPart Number: {part}\n\n"
        )
    };
    let twice = |one: String, other: String| {
        let mut importer = Importer::new(Split::Hosts);
        importer
            .read("text", format!("# dmidecode 3.3\n{one}# dmidecode 3.2\n{other}").as_bytes())
            .expect("reading from memory does not fail");
        importer.finish().map(|machines| machines[0].machine.memory_devices.len()).ok()
    };
    assert_eq!(twice(board("X1", 16), board("X1", 16)), Some(1));
    assert_eq!(twice(board("X1", 16), board("Y2", 16)), None);
    assert_eq!(twice(board("X1", 16), board("X1", 32)), None);
}

/// Further kinds of pasted texts: files relative to a directory, load averages, IBM Z in two languages.
mod further;
/// Texts as users paste them.
mod pasted;
/// Quantities that resemble others.
mod quantities;
/// Tables of results.
mod tables;

#[test]
fn other_texts_of_each_kind_are_read() {
    let parts = import(
        "$ grep MHz /proc/cpuinfo\ncpu MHz\t\t: 1200.000\ncpu MHz\t\t: 2600.000\n$ grep 'model name' /proc/cpuinfo\nmodel name\t: Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz\n",
    );
    assert_eq!(parts.machine.processor.base_hz, Some(2_400_000_000));
    let away = import("$ kubectl exec -it web-1 -- cat /sys/fs/cgroup/cpu.max\n150000 100000\n");
    assert_eq!(away.machine.limits.cpu_quota, Some(1.5));
    let dashes = import(
        "CPU(s): 8\nOn-line CPU(s) list: 0–7\nThread(s) per core: 2\nCore(s) per socket: 4\nSocket(s): 1\n",
    );
    assert_eq!(dashes.machine.counts.cpus_online, Some(8));
    let compressed = import(
        "available: 2 nodes (0-1)\nnode 0 cpus: 0-1, 4-5 (4)\nnode 0 size: 100 MB\nnode 1 cpus: 2-3, 6-7 (4)\nnode 1 size: 100 MB\n",
    );
    assert_eq!(compressed.machine.nodes[1].cpus.to_string(), "2-3,6-7");
    let peak = |buffer: &str| {
        import(&format!(
            "Intel(R) Memory Latency Checker - v3.11\nUsing buffer size of {buffer}/thread for reads\nMeasuring Maximum Memory Bandwidths for the system\nALL Reads        :\t350123.45\n"
        ))
    };
    assert_eq!(figures(&peak("100.000MiB")), ["memory.bandwidth op=read: 350123450000"]);
    let small = peak("1.000MiB");
    assert_eq!((small.measurements.len(), small.import.withheld.len()), (0, 1));
    let rates = import(
        "10:00:01    kbmemfree   kbavail  %memused   %commit\n10:00:02       500000   3000000     87.50     90.00\n",
    );
    assert_eq!((rates.measurements.len(), rates.state.memory_available_bytes), (0, Some(3_072_000_000)));
    let caches = import(
        "Measuring cache-to-cache transfer latency (in ns)...\nLocal Socket LLC->LLC HITM latency\t65.3\n",
    );
    assert_eq!(figures(&caches), ["core_to_core.latency state=hitm: 65.3"]);
}
