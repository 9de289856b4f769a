//! Texts whose values were read incorrectly or not at all: quantities with the same name, averages since boot, results without conditions.

use super::pasted::refused;
use super::*;

/// The results of a text, with the number of samples of each.
fn samples(text: &str) -> Vec<String> {
    let counted = |(figure, m): (String, &record::Measurement)| format!("{figure} ({})", m.samples.len());
    let imported = import(text);
    figures(&imported).into_iter().zip(&imported.measurements).map(counted).collect()
}

fn withheld(text: &str) -> Vec<String> {
    import(text).import.withheld.into_iter().map(|one| one.why).collect()
}

#[test]
fn entries_of_an_idle_state_are_no_share_of_time() {
    let intel = "Core\tCPU\tAvg_MHz\tBusy%\tBzy_MHz\tTSC_MHz\tIRQ\tC1\tC6\tC1%\tC6%\tPkgWatt\n\
        -\t-\t30\t1.20\t2500\t3600\t1200\t12\t50\t0.10\t98.50\t12.30\n";
    let amd = "CPU\tBusy%\tBzy_MHz\tTSC_MHz\tPOLL\tC1\tC2\tPOLL%\tC1%\tC2%\n-\t2.70\t3900\t3800\t12\t30\t80\t0.01\t5.20\t92.10\n";
    let states = |text: &str| -> Vec<String> {
        samples(text).into_iter().filter(|one| one.starts_with("cpu.state state=")).collect()
    };
    let [c1, c6] = ["cpu.state state=C1: 0.001 (1)", "cpu.state state=C6: 0.985 (1)"];
    assert_eq!(states(intel), ["cpu.state state=busy: 0.012 (1)", c1, c6]);
    let expected = ["C1: 0.052", "C2: 0.921", "POLL: 0.0001", "busy: 0.027"];
    let mut amd = states(amd);
    amd.sort();
    assert_eq!(amd, expected.map(|one| format!("cpu.state state={one} (1)")));
}

#[test]
fn what_the_kernel_asked_for_is_not_what_the_hardware_did() {
    let text = "              | Nehalem                   || Mperf              || Idle_Stats\n \
        PKG|CORE| CPU| C3   | C6   | PC3  | PC6  || C0   | Cx   | Freq  || POLL | C1   | C1E  | C3   | C6\n   \
        0|   0|   0|  0.10| 50.00|  0.00|  0.00||  5.10| 94.90|  3100||  0.00|  0.50|  1.20|  0.20| 92.80\n";
    let all = samples(text);
    for figure in [
        "cpu.state cpu=0 state=core c6: 0.5 (1)",
        "cpu.state cpu=0 state=C6: 0.928 (1)",
        "cpu.state cpu=0 state=C1E: 0.012 (1)",
        "cpu.state cpu=0 state=busy: 0.051 (1)",
        "core.clock cpu=0: 3100000000 (1)",
    ] {
        assert!(all.iter().any(|one| one == figure), "{figure} in {all:#?}");
    }
    // The columns are in the order requested by `-m Idle_Stats,Mperf`.
    let other = samples(
        "    | Idle_Stats           || Mperf\n CPU| POLL | C1   | C2   || C0   | Cx   | Freq\n   \
         3|  0.00|  1.00| 90.00||  9.00| 91.00|  2000\n",
    );
    let expected = ["state=C1: 0.01", "state=C2: 0.9", "state=POLL: 0", "state=busy: 0.09"];
    for figure in expected.map(|one| format!("cpu.state cpu=3 {one} (1)")) {
        assert!(other.contains(&figure), "{figure} in {other:#?}");
    }
}

const IOSTAT: &str = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n          60.00    0.00    5.00    1.00   20.00   14.00\n\n";
const SECOND: &str = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           5.00    0.00    1.00    0.00    0.00   94.00\n\n";

#[test]
fn an_average_since_boot_is_no_sample() {
    let steal = |text: &str| samples(text).into_iter().find(|one| one.contains("steal"));
    let one = |value: &str| Some(format!("cpu.state state=steal: {value} (1)"));
    assert_eq!(steal(&[IOSTAT, SECOND].concat()), one("0"));
    assert_eq!(
        steal(&format!("$ iostat -c 1 3\n{IOSTAT}{SECOND}{SECOND}")),
        Some("cpu.state state=steal: 0 (2)".to_owned())
    );
    // With -y, iostat prints no average since boot.
    assert_eq!(steal(&format!("$ iostat -cy 1 1\n{IOSTAT}")), one("0.2"));
    // Many devices below the first report do not end the output.
    let devices: String = (0..12).map(|at| format!("nvme{at}n1 1.00 2.00 3.00 4.00\n")).collect();
    let devices = format!("Device r/s rkB/s w/s wkB/s\n{devices}\n");
    let text = format!("$ iostat -x 1 2\n{IOSTAT}{devices}{SECOND}{devices}");
    assert_eq!((steal(&text), import(&text).import.not_understood.lines), (one("0"), 0));
    // mpstat without an interval prints the same time twice.
    let mpstat = |time: &str| {
        format!(
            "Linux 5.4.0 (app3) 03/02/24 _x86_64_ (4 CPU)\n\n10:00:01 CPU %usr %sys %steal %idle\n{time} all 1.00 0.00 5.00 94.00\n{time} 0 1.00 0.00 5.00 94.00\n"
        )
    };
    assert_eq!(steal(&mpstat("10:00:06")), one("0.05"));
    let vmstat = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n 1  0      0 8123456 102400 4096000    0    0     1     2   50   60  1  0 99  0  0\n";
    for text in [&mpstat("10:00:01"), IOSTAT, vmstat] {
        assert_eq!(withheld(text), ["an average since boot, not of an interval"], "{text}");
        assert!(samples(text).is_empty(), "{text}");
    }
    assert_eq!(steal(&format!("$ vmstat -y 1 1\n{vmstat}")), one("0"));
}

#[test]
fn arrays_that_fit_in_the_caches_do_not_measure_memory() {
    let stream = |elements: &str| {
        format!(
            "STREAM version $Revision: 5.10 $\nThis system uses 8 bytes per array element.\nArray size = {elements} (elements), Offset = 0 (elements)\n\
             Function    Best Rate MB/s  Avg time     Min time     Max time\nTriad:          541234.5     0.000090     0.000089     0.000100\n"
        )
    };
    let caches = "$ lscpu\nCPU(s): 16\nL3 cache: 96 MiB (1 instance)\n$ ./stream\n";
    let eight = "$ lscpu | grep L3\nL3 cache:            256 MiB (8 instances)\n$ ./stream\n";
    let doubt = |text: &str| import(text).measurements[0].doubt.as_ref().map(ToString::to_string);
    let small = Some("not memory bandwidth: the arrays fit in the L3 caches".to_owned());
    assert_eq!(doubt(&(caches.to_owned() + &stream("2000000"))), small);
    assert_eq!(doubt(&(eight.to_owned() + &stream("10000000"))), small);
    assert_eq!(doubt(&(stream("2000000") + caches)), small, "the order does not matter");
    // The result is not doubtful if the arrays (3 × 80 MB) exceed the L3 cache (96 MiB), or if no cache is known.
    assert_eq!(doubt(&(caches.to_owned() + &stream("10000000"))), None);
    assert_eq!(doubt(&stream("2000000")), None);
}

#[test]
fn an_earlier_boot_says_nothing_of_the_clock_source_now() {
    const UNSTABLE: &str = "tower kernel: tsc: Marking TSC unstable due to clocksource watchdog";
    const HPET: &str = "tower kernel: clocksource: Switched to clocksource hpet";
    const TSC: &str = "tower kernel: clocksource: Switched to clocksource tsc";
    const FILE: &str = "$ cat /sys/devices/system/clocksource/clocksource0/current_clocksource\ntsc\n";
    let log = |boot: i32, lines: &[&str]| {
        let lines: String = lines.iter().map(|line| format!("Mar 03 09:20:4{} {line}\n", boot + 2)).collect();
        format!("$ journalctl -k -b {boot} | grep tsc\n{lines}")
    };
    let read = |text: &str| {
        let imported = import(text);
        let noted = imported.machine.notes.iter().any(|note| note.code() == Some("tsc-unstable"));
        (imported.state.clocksource, noted, imported.import.contradictions.len())
    };
    let tsc = (Some("tsc".to_owned()), false, 0);
    let [earlier, now] = [log(-1, &[TSC, UNSTABLE, HPET]), log(0, &[TSC])];
    assert_eq!(read(&format!("{earlier}{now}{FILE}")), tsc);
    assert_eq!(read(&format!("{earlier}{now}")), tsc);
    assert_eq!(read(&format!("{FILE}{earlier}")), tsc);
    assert_eq!(read(&log(0, &[TSC, UNSTABLE, HPET, TSC])), tsc, "two boots in one log");
    // The log ends before the kernel switched, or the TSC was unstable again.
    assert!(read(&log(0, &[TSC, UNSTABLE])).1 && read(&log(0, &[UNSTABLE, TSC, UNSTABLE])).1);
    assert_eq!(read(&earlier), (Some("hpet".to_owned()), true, 0));
}

#[test]
fn traffic_is_what_mlc_names() {
    let loaded = |options: &str, says: &str| {
        let text = format!(
            "Intel(R) Memory Latency Checker - v3.9\nCommand line parameters: {options} \n\nMeasuring Loaded Latencies for the system\n{says}\n\
             Inject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n==========================\n 00000\t312.45\t 180123.4\n"
        );
        import(&text).measurements[0].detail.get(detail::TRAFFIC).map(str::to_owned)
    };
    let read = Some("read".to_owned());
    assert_eq!(loaded("--loaded_latency -W2 -d0", ""), None);
    assert_eq!(loaded("--loaded_latency -W5", "Using traffic type: W5"), None);
    assert_eq!(loaded("--loaded_latency -d0", ""), read);
    assert_eq!(loaded("", "Using Read-only traffic type"), read);
    let matrix = import(
        "Intel(R) Memory Latency Checker - v3.9\nCommand line parameters: --bandwidth_matrix -W3 \n\n\
         Measuring Memory Bandwidths between nodes within system \nBandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)\n\
         \t\tNuma node\nNuma node\t     0\t     1\t\n       0\t113139.4\t50923.4\t\n",
    );
    assert_eq!(figures(&matrix)[0], "numa.bandwidth from=0 to=0: 113139400000");
}

#[test]
fn two_files_side_by_side_are_two_machines() {
    for text in [
        "$ sdiff a.lscpu b.lscpu\nCPU(s):              8                          | CPU(s):              16\n",
        "CPU(s):              8                            CPU(s):              8\n",
        "CPU(s): 8\nModel name:          Intel(R) Core(TM) i7-9700K | Model name:          Intel(R) Core(TM) i9-9900K\n",
        "$ diff -y a b\nprocessor\t: 0\nmodel name\t: Intel(R) Core(TM) i7-9700K |\tmodel name\t: Intel(R) Core(TM) i9-9900K\n",
    ] {
        assert!(refused(text).is_some_and(|error| error.contains("side by side")), "{text}");
    }
    let one = import("CPU(s): 8\nModel name: Intel(R) Model name: X\n");
    assert_eq!(one.machine.counts.cpus_present, Some(8));
}

#[test]
fn of_several_iterations_of_top_the_first_is_an_average_since_boot() {
    let iteration = |user: &str, of: &str| {
        format!(
            "top - 08:00:01 up 3 min,  1 user,  load average: 4.00, 1.50, 0.60\nTasks: 120 total, 5 running, 115 sleeping\n\
             {of} {user} us,  5.0 sy,  0.0 ni, 85.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n\n"
        )
    };
    let users = |text: &str| {
        let all = figures(&import(text));
        all.into_iter().filter(|figure| figure.contains("state=user")).collect::<Vec<_>>()
    };
    assert_eq!(users(&iteration("10.0", "%Cpu(s):")), ["cpu.state state=user: 0.1"]);
    let three = ["10.0", "97.0", "95.0"].map(|user| iteration(user, "%Cpu(s):")).concat();
    assert_eq!(users(&three), ["cpu.state state=user: 0.97", "cpu.state state=user: 0.95"]);
    assert_eq!(withheld(&three).len(), 8);
    let of_cpus = ["10.0", "97.0"].map(|user| iteration(user, "%Cpu3  :")).concat();
    assert_eq!(users(&of_cpus), ["cpu.state cpu=3 state=user: 0.97"]);
    let french = import(
        "top - 10:15:32 up 41 days,  3:12,  2 users,  load average: 18,32, 12,10, 8,01\n\
         %Cpu(s): 12,5 ut, 30,1 sy,  0,0 ni, 40,2 id, 15,0 wa,  0,0 hi,  1,2 si,  1,0 st\n\
         MiB Mem :  16384,0 total,    312,4 libr,  12123,9 util,   3450,2 tamp/cache\n\
         MiB Éch :   2048,0 total,   1024,0 libr,   1024,0 util.   3201,6 dispo Mem\n",
    );
    assert!(figures(&french).contains(&"cpu.state state=steal: 0.01".to_owned()), "{:?}", figures(&french));
    assert_eq!((french.machine.memory_bytes, french.state.swap_used_bytes), (Some(16 << 30), Some(1 << 30)));
    let unread = "%Cpu(s): 12,5 xx, 30,1 yy\n";
    let count = import(&(iteration("10.0", "%Cpu(s):") + unread)).import.not_understood.lines;
    assert_eq!(count, 1, "a line in another language is listed as not read");
}

#[test]
fn top_shows_the_states_of_all_cpus() {
    for (line, steal) in [
        ("%Cpu(s): 50.0 us,  5.0 sy,  0.0 ni,  2.0 id,  0.0 wa,  0.5 hi,  0.5 si, 42.0 st", "0.42"),
        ("%CPU(s):  1,2 us,  0,5 sy,  0,0 ni, 90,0 id,  0,1 wa,  0,0 hi,  0,1 si,  8,1 st", "0.081"),
        ("Cpu(s):  0.3%us,  0.3%sy,  0.0%ni, 92.4%id,  0.0%wa,  0.0%hi,  0.0%si,  7.0%st", "0.07"),
    ] {
        let all = figures(&import(&format!("{line}\n")));
        assert!(all.len() == 8 && all.contains(&format!("cpu.state state=steal: {steal}")), "{all:?}");
    }
    let idle = "%Cpu(s):  0.0 us,  0.0 sy,  0.0 ni,100.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n";
    assert!(figures(&import(idle)).contains(&"cpu.state state=idle: 1".to_owned()));
    let one = "%Cpu12 :100.0 us,  0.0 sy,  0.0 ni,  0.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n";
    assert_eq!(figures(&import(one))[0], "cpu.state cpu=12 state=user: 1");
    let german = import(
        "MiB Spch:  15886,5 gesamt,   1234,5 frei,   5678,9 belegt,   8973,1 Puff/Cache\nMiB Swap:   2048,0 gesamt,   2048,0 frei,      0,0 belegt.   9876,5 verfü Spch\n",
    );
    assert_eq!(
        (german.machine.memory_bytes.map(|bytes| bytes >> 20), german.state.swap_bytes),
        (Some(15_886), Some(2 << 30))
    );
}

#[test]
fn mitigations_stand_below_a_heading_on_a_terminal() {
    let text = "Architecture:            x86_64\nCPU(s):                  8\nVulnerabilities:         \n  Meltdown:              Mitigation; PTI\n  \
        Mds:                   Vulnerable: Clear CPU buffers attempted, no microcode; SMT vulnerable\n  \
        Spec store bypass:     Not affected\n  Itlb multihit:         KVM: Mitigation: VMX disabled\n";
    for text in [text.to_owned(), format!("$ lscpu\n{}", text.replace("Vulnerabilities", "Schwachstellen"))] {
        let kernel = import(&text).machine.kernel;
        let names: Vec<&str> = kernel.mitigations.keys().map(String::as_str).collect();
        assert_eq!(names, ["itlb_multihit", "mds", "meltdown", "spec_store_bypass"]);
        assert_eq!(kernel.mitigations["meltdown"], "Mitigation; PTI");
    }
}

#[test]
fn clocks_without_their_cpus_are_the_range_of_all() {
    let clocks = |text: &str| import(text).state.clocks.first().and_then(|clock| clock.current_hz);
    let range = clocks("$ grep MHz /proc/cpuinfo\ncpu MHz\t\t: 4399.998\ncpu MHz\t\t: 800.112\n");
    assert_eq!(range, Some((800_112_000, 4_399_998_000)));
    // The rate of the TSC is the same on all CPUs.
    assert_eq!(clocks("$ grep MHz /proc/cpuinfo\ncpu MHz\t\t: 2599.998\ncpu MHz\t\t: 2599.998\n"), None);
}

#[test]
fn the_rate_alone_is_a_result_of_sysbench() {
    let text = "$ sysbench --threads=8 cpu run | grep events\n    events per second:  5123.45\n    total number of events:              51240\n";
    assert_eq!(figures(&import(text)), ["workload.throughput workload=sysbench cpu threads=8: 5123.45"]);
    // A second run does not replace the first.
    let runs: String =
        ["1200.50", "2390.10"].map(|rate| format!("    events per second:   {rate}\n")).concat();
    let runs = import(&format!("$ sysbench cpu run; sysbench cpu run\n{runs}"));
    assert_eq!(runs.measurements.iter().map(|m| m.value()).collect::<Vec<_>>(), [1200.5, 2390.1]);
    let old =
        "$ sysbench --test=cpu --num-threads=4 run | grep 'events per'\n    events per second:   905.12\n";
    assert_eq!(figures(&import(old)), ["workload.throughput workload=sysbench cpu threads=4: 905.12"]);
}

#[test]
fn files_of_several_commands_on_a_line_are_read() {
    let text = "$ cat /proc/meminfo | head -2; cat /proc/loadavg; cat /proc/cmdline; nproc\nMemTotal:       65796104 kB\n\
        MemFree:         1234567 kB\n0.52 0.58 0.59 1/812 12345\nBOOT_IMAGE=/vmlinuz-6.1.0 root=/dev/sda1 ro mitigations=off isolcpus=2-7\n12\n";
    let imported = import(text);
    assert_eq!(
        (imported.state.load, imported.machine.memory_bytes),
        (Some([0.52, 0.58, 0.59]), Some(65_796_104 << 10))
    );
    assert!(imported.import.inventory.contains_key("/proc/cmdline"), "{:?}", imported.import.inventory);
    // The number of lines that nproc prints is unknown.
    assert_eq!(
        import("$ nproc; cat /proc/loadavg\n12\n0.52 0.58 0.59 1/812 12345\nCPU(s): 4\n").state.load,
        None
    );
    let container = import(
        "/ # cat /sys/fs/cgroup/cpu.max\n50000 100000\n/ # grep thr /sys/fs/cgroup/cpu.stat\nnr_throttled 60\n/ # nproc\n8\n",
    );
    assert_eq!((container.machine.limits.cpu_quota, container.import.not_understood.lines), (Some(0.5), 1));
}

#[test]
fn cpupower_is_read_in_german_and_sysstat_counts_cpus() {
    let text = "$ cpupower frequency-info\nanalysiere CPU 0:\n  Treiber: acpi-cpufreq\n  Folgende CPUs laufen mit der gleichen Hardware-Taktfrequenz: 0\n  \
        Hardwarebedingte Grenzen der Taktfrequenz:  1.40 GHz - 3.60 GHz\n  momentane Taktik: die Frequenz soll innerhalb 1.40 GHz und 2.80 GHz.\n                    \
        liegen. Der Regler \"ondemand\" kann frei entscheiden,\n                    welche Taktfrequenz innerhalb dieser Grenze verwendet wird.\n";
    let imported = import(text);
    let clock = &imported.state.clocks[0];
    assert_eq!((clock.governor.as_deref(), clock.max_hz), (Some("ondemand"), Some(2_800_000_000)));
    assert_eq!(
        (imported.machine.processor.max_hz, imported.import.not_understood.lines),
        (Some(3_600_000_000), 0)
    );
    let sar = "Linux 5.4.0-150-generic (app3) \t03/02/24 \t_x86_64_\t(4 CPU)\n\n10:00:01 AM  CPU    %usr   %idle\n10:00:06 AM  all   50.10    36.40\n";
    assert_eq!(import(sar).machine.counts.cpus_online, Some(4));
}
