//! Texts as users paste them, in any medium.

use super::*;

/// The errors of an import.
pub(super) fn refused(text: &str) -> Option<String> {
    let mut importer = Importer::new(Split::Hosts);
    importer.read("text", text.as_bytes()).expect("reading from memory does not fail");
    importer.finish().err().map(|error| error.to_string())
}

const LSCPU: &[&str] = &[
    "Architecture:          x86_64",
    "CPU(s):                40",
    "Thread(s) per core:    2",
    "Core(s) per socket:    10",
    "CPU socket(s):         2",
    "Model:                 62",
    "CPU MHz:               2800.000",
];

#[test]
fn what_stands_before_each_line_is_stripped_whoever_put_it_there() {
    let prefixes = [
        "2024-03-02T10:11:12+0100 host7 bench[4242]: ",
        "Mar 02 10:11:12.123456 host7 bench[4242]: ",
        "2024-03-02T10:11:12.123456Z 01O ",
        "2024-03-02 10:11:12,123 INFO  [main] com.x.Y - ",
        "2024-03-02 10:11:12,123 - INFO - ",
        "Mar 02 10:11:12 ",
        "10:11:12  ",
        "[2024-03-02T10:11:12.123Z] ",
        "out.txt:",
        "out/a.log:17:",
        "node12: ",
        "0: ",
        "[0] ",
        "[1,0]<stdout>:",
        "+",
        "-",
        "INFO:root:",
        "- ",
        "[01;31m[K",
        "2024-03-02 10:11:12 ",
        "2024/03/02 10:11:12 ",
        "02.03.2024 10:11:12: ",
        "1709290800.123 ",
        "db1\t",
        "    ",
        "> > ",
    ];
    for prefix in prefixes {
        let text: String = LSCPU.iter().map(|line| format!("{prefix}{line}\n")).collect();
        let machine = import(&text).machine;
        assert_eq!((machine.counts.cores, machine.counts.cpus_present), (Some(20), Some(40)), "{prefix}");
    }
    let body = LSCPU.join("\n");
    let objects = LSCPU.iter().map(|line| format!("{{\"log\":\"{line}\\n\",\"stream\":\"stdout\"}}\n"));
    for text in [
        format!("[code]{body}[/code]\n"),
        format!("[CODE]\n{body}\n[/CODE]\n"),
        format!("--- /dev/null\n+++ b/lscpu.txt\n@@ -0,0 +1,7 @@\n+{}\n", LSCPU.join("\n+")),
        LSCPU.iter().map(|line| format!("│ {line} │\n")).collect(),
        LSCPU.iter().map(|line| format!("echo '{line}'\n")).collect(),
        LSCPU.iter().map(|line| format!("  printf \"{line}\\n\";\n")).collect(),
        LSCPU.iter().map(|line| format!("print(\"{line}\")\n")).collect(),
        LSCPU.iter().zip(1..).map(|(line, number)| format!("{number}. {line}\n")).collect(),
        LSCPU.iter().map(|line| format!("\\e[1m{}\n", line.replacen(':', ":\\e[0m", 1))).collect(),
        LSCPU.iter().map(|line| format!("^[[32m{line}^[[0m\n")).collect(),
        format!("{{code:bash|title=x}}\n{body}\n{{code}}\n"),
        format!("{{noformat}}{body}{{noformat}}\n"),
        format!("{body}\n").replace('\n', "\r"),
        format!("$ pdsh -w db1 lscpu\ndb1: {}\n", LSCPU.join("\ndb1: ")),
        objects.collect(),
        LSCPU.iter().map(|line| format!("- `{line}`\n")).collect(),
    ] {
        let machine = import(&text).machine;
        assert_eq!((machine.counts.cores, machine.processor.model), (Some(20), Some(62)), "{text}");
    }
    // Lines of several files must not be read as one output.
    assert!(refused("a.txt:CPU(s): 4\nb.txt:Socket(s): 8\na.txt:Model name: X\n").is_some());
    // If a text is from several hosts, each host is a separate machine, whether or not their lines alternate and regardless of the program
    // that collected the lines.
    let alternate = |one: &str, other: &str, mark: &str| -> String {
        LSCPU
            .iter()
            .flat_map(|line| [format!("{one}{mark}{line}\n"), format!("{other}{mark}{line}\n")])
            .collect()
    };
    let ruler = "-".repeat(16);
    for text in [
        alternate("node1", "node2", ": "),
        alternate("alpha", "beta", ": "),
        alternate("0", "1", ": "),
        alternate("db1", "db2", "\t"),
        alternate("db1", "db2", " | "),
        format!("$ pdsh -w db[1-2] lscpu\n{}", alternate("db1", "db2", ": ")),
        format!("db1: {}\ndb2: {}\n", LSCPU.join("\ndb1: "), LSCPU.join("\ndb2: ")),
        format!("db1:\n    {}\ndb2:\n    {}\n", LSCPU.join("\n    "), LSCPU.join("\n    ")),
        format!("{ruler}\ndb1\n{ruler}\n{body}\n{ruler}\ndb[2-3] (2)\n{ruler}\n{body}\n"),
        format!("db1 | CHANGED | rc=0 >>\n{body}\ndb2 | CHANGED | rc=0 >>\n{body}\n"),
        ["db1", "db2"]
            .map(|host| format!("{host} | CHANGED | rc=0 | (stdout) {}\n", LSCPU.join("\\n")))
            .concat(),
    ] {
        let mut importer = Importer::new(Split::default());
        importer.read("text", text.as_bytes()).unwrap();
        let all = importer.finish().unwrap();
        assert_eq!(all.len(), 2, "{text}");
        assert!(all.iter().all(|one| one.machine.counts.cores == Some(20) && one.name.is_some()), "{text}");
    }
    // Repeated keys are not hosts.
    for text in
        ["processor\t: 0\nsiblings\t: 4\n".repeat(3), "real\t0m1.0s\nuser\t0m1.0s\nsys\t0m0.1s\n".repeat(3)]
    {
        let mut importer = Importer::new(Split::default());
        importer.read("text", text.as_bytes()).unwrap();
        assert!(importer.finish().is_ok_and(|all| all.len() == 1), "{text}");
    }
    assert!(
        refused("node1: Core CPU Bzy_MHz\nnode2: Core CPU Bzy_MHz\nnode1: - - 2400\nnode2: - - 3000\n")
            .is_some()
    );
}

#[test]
fn one_line_per_host_and_logs_of_several_hosts_are_several_machines() {
    let all = |text: &str| {
        let mut importer = Importer::new(Split::default());
        importer.read("text", text.as_bytes()).unwrap();
        importer.finish().unwrap_or_default()
    };
    for text in [
        "n1: MemTotal:  8388608 kB\nn2: MemTotal:  4194304 kB\n",
        "$ clush -a 'grep MemTotal /proc/meminfo'\nn1: MemTotal:  8388608 kB\nn2: MemTotal:  4194304 kB\n",
    ] {
        let bytes: Vec<_> = all(text).into_iter().map(|one| (one.name, one.machine.memory_bytes)).collect();
        assert_eq!(bytes, [(Some("n1".into()), Some(8 << 30)), (Some("n2".into()), Some(4 << 30))], "{text}");
    }
    // Neither kinds of memory nor vulnerabilities are hosts.
    for text in [
        "node0: MemTotal: 8388608 kB\nnode1: MemTotal: 8388608 kB\n",
        "run1: MemTotal: 8388608 kB\nrun2: MemTotal: 8388608 kB\n",
        "CPU7: Core temperature above threshold, cpu clock throttled (total events = 3)\n\
             CPU3: Core temperature above threshold, cpu clock throttled (total events = 3)\n",
        "spectre_v1: Mitigation: x\nspectre_v2: Mitigation: y\n",
    ] {
        assert!(all(text).len() < 2, "{text}");
    }
    let hot = |events: u32| {
        format!("CPU7: Core temperature above threshold, cpu clock throttled (total events = {events})")
    };
    let of_json =
        |host: &str, events| format!("{{\"_HOSTNAME\":\"{host}\",\"MESSAGE\":\"{}\"}}", hot(events));
    for [one, other, again] in [
        ["db1", "db2", "db1"].map(|host| format!("Nov 03 10:12:05 {host} kernel: ")),
        ["db1", "db2", "db1"].map(|host| format!("2023-11-03T10:12:05+0100 {host} kernel: [   12.345678] ")),
        ["db1", "db2", "db1"].map(|host| format!("{host} kernel: [   12.345678] ")),
    ]
    .map(|[one, other, again]| {
        [(one, 3), (other, 900), (again, 5)].map(|(front, events)| front + &hot(events))
    })
    .into_iter()
    .chain([[of_json("db1", 3), of_json("db2", 900), of_json("db1", 5)]])
    {
        let text = format!("{one}\n{other}\n{again}\n");
        let seen: Vec<_> = all(&text).into_iter().map(|one| (one.name, one.state.throttled)).collect();
        assert_eq!(seen, [(Some("db1".into()), Some(5)), (Some("db2".into()), Some(900))], "{text}");
    }
    // A machine without a name yet is no other machine, and `kernel` alone names none.
    let [one] = all(&format!(
        "Nov 03 10:12:05 localhost kernel: tsc: Detected 2694.850 MHz processor\nNov 03 10:12:06 db1 kernel: {}\n",
        hot(7)
    ))
    .try_into()
    .unwrap();
    assert_eq!(one.state.throttled, Some(7));
    assert_eq!(all("Host kernel: 6.1\nGuest kernel: 5.10\nMemTotal:  8388608 kB\n").len(), 1);
}

#[test]
fn results_below_lines_that_name_two_machines_are_refused() {
    let time = |seconds: u32| {
        format!("\n$ time ./sim\nreal    0m{seconds}.512s\nuser    0m40.400s\nsys     0m0.100s\n\n")
    };
    let text = |one: &str, other: &str| format!("{one}\n{}{other}\n{}", time(10), time(25));
    for (one, other) in [
        ("On the old server:", "On the new server:"),
        ("Machine A:", "Machine B:"),
        ("Laptop:", "Server:"),
        ("Results of server 1", "Results of server 2"),
        ("**Intel box** (E5-2620)", "**AMD box** (7302)"),
        ("## Old server (E5-2620)", "## New server (7302)"),
        ("旧服务器：", "新服务器："),
    ] {
        assert!(refused(&text(one, other)).is_some(), "{one} {other}");
    }
    for (one, other) in [
        ("Before:", "After:"),
        ("On the server:", "On the server:"),
        ("Server with SMT on:", "Server with SMT off:"),
        ("1 run on the server:", "2 runs on the server:"),
        ("Here is the output of the server:", "The new one:"),
        ("On NUMA node 1:", "On NUMA node 2:"),
    ] {
        assert_eq!(refused(&text(one, other)), None, "{one} {other}");
    }
    let prompts = text("Old server:", "New server:")
        .replacen("$ time", "me@db1:~$ time", 1)
        .replace("\n$ time", "\nme@db2:~$ time");
    assert_eq!(refused(&prompts), None, "prompts name the hosts");
}

#[test]
fn a_log_of_the_kernel_is_read_indented_and_quoted() {
    for before in ["    ", "> ", "\t", "kern  :warn  : ", "[Feb22 04:01] ", "[  +0.000001] ", "[kernel] "] {
        let text = format!(
            "{before}[ 6071.123456] tsc: Marking TSC unstable due to clocksource watchdog\n\
             {before}[ 6071.125000] clocksource: Switched to clocksource hpet\n"
        );
        assert_eq!(import(&text).state.clocksource.as_deref(), Some("hpet"), "{before:?}");
    }
    let errors = import(
        "[Hardware Error]: CPU:0 (17:1:2) MC15_STATUS[Over|CE|MiscV|-|AddrV|-|-|SyndV|-|CECC]: 0xdc2040000000011b\n\
         EDAC MC0: CE row 2, channel 0, label \"\": i3000 CE\n",
    );
    let noted = |code| errors.machine.notes.iter().filter(|note| note.code() == Some(code)).count();
    assert_eq!((noted("machine-check"), noted("memory-corrected")), (0, 1), "{:?}", errors.machine.notes);
    // A vendor and a product in a single text do not prove that the machine is bare metal.
    let cloud = |product| {
        import(&format!("[    0.000000] DMI: {product}, BIOS 1.0 10/16/2017\n"))
            .machine
            .virtualization
            .hypervisor
    };
    assert_eq!((cloud("Amazon EC2 m5.large/"), cloud("Dell Inc. PowerEdge R640/0H28RR")), (None, None));
    assert_eq!(cloud("Red Hat KVM").as_deref(), Some("kvm"));
}

/// The lines about one event are one event, which the most specific line names.
#[test]
fn one_error_in_the_log_is_counted_once() {
    const LOGGED: &str = "mce: [Hardware Error]: Machine check events logged\n";
    const STATUS: &str = "[Hardware Error]: CPU:2 (17:31:0) MC17_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]: 0xdc2040000000011b\n";
    const FATAL: &str =
        "[Hardware Error]: CPU:2 (17:31:0) MC0_STATUS[-|UE|MiscV|AddrV|-|TCC|SyndV|-|-|-]: 0xb\n";
    const AMD: &str =
        "EDAC MC0: 1 CE on mc#0csrow#1channel#5 (csrow:1 channel:5 page:0x7f4ac1 offset:0xc40)\n";
    const INTEL: &str =
        "EDAC MC1: 1 CE memory read error on CPU_SrcID#1_Ha#0_Chan#1_DIMM#0 (channel:1 slot:0)\n";
    for (lines, expected) in [
        (vec![LOGGED], ("machine-check", Some(1), None)),
        (vec![LOGGED, STATUS], ("machine-check", Some(1), None)),
        (vec![LOGGED, FATAL], ("machine-check", Some(1), None)),
        (vec![LOGGED, STATUS, AMD], ("memory-corrected", Some(1), Some("mc#0csrow#1channel#5"))),
        (vec![LOGGED, INTEL], ("memory-corrected", Some(1), Some("CPU_SrcID#1_Ha#0_Chan#1_DIMM#0"))),
    ] {
        let notes = import(&lines.concat()).machine.notes;
        let [note] = notes.as_slice() else { panic!("{notes:?}") };
        let count = note.value("count").and_then(|count| count.to_string().parse().ok());
        let reason = note.value("reason").map(ToString::to_string);
        assert_eq!((note.code().unwrap(), count, reason.as_deref()), expected, "{lines:?}");
    }
}

#[test]
fn files_below_names_with_colons_are_read_and_values_with_slashes_stay_whole() {
    let zone = |zone: &str, watts: u32| {
        let folder = format!("/sys/class/powercap/intel-rapl:{zone}");
        format!(
            "{folder}/name:package-{zone}\n{folder}/constraint_0_name:long_term\n\
             {folder}/constraint_0_power_limit_uw:{watts}000000\n{folder}/constraint_0_max_power_uw:205000000\n"
        )
    };
    let board = "/sys/class/dmi/id/product_name:X9DRi-LN4+/X9DR3-LN4+\n";
    let all = import(&format!("{}{}{board}", zone("0", 125), zone("1", 205)));
    let limits =
        all.state.clock_holders.power_limits.iter().map(|of| (of.zone.as_str(), of.watts, of.rated_watts));
    let expected = [("package-0", 125.0, Some(205.0)), ("package-1", 205.0, Some(205.0))];
    assert_eq!(limits.collect::<Vec<_>>(), expected);
    assert_eq!(all.machine.system.product.as_deref(), Some("X9DRi-LN4+/X9DR3-LN4+"));
    let group = import("/proc/self/cgroup:0::/a/b\n/sys/fs/cgroup/a/b/cpu.max:50000 100000\n");
    assert_eq!(group.machine.limits.cpu_quota, Some(0.5));
}

#[test]
fn counts_of_memory_errors_are_read() {
    let errors = import(
        "/sys/devices/system/edac/mc/mc0/ce_count:0\n/sys/devices/system/edac/mc/mc1/ce_count:48213\n\
         /sys/devices/system/edac/mc/mc0/ue_count:0\n/sys/devices/system/edac/mc/mc1/ue_count:2\n",
    );
    assert_eq!(errors.state.memory_errors, [("mc1".to_owned(), [48_213, 2])].into());
}

#[test]
fn prompts_of_containers_and_shells_without_a_host_are_prompts() {
    for prompt in ["bash-4.2$ ", "/ # ", "/app $ ", "~ # ", "(venv) $ ", "db1% ", "14:02:11 root@db1:~# "] {
        let text =
            format!("{prompt}cat /sys/devices/system/clocksource/clocksource0/current_clocksource\nhpet\n");
        assert_eq!(import(&text).state.clocksource.as_deref(), Some("hpet"), "{prompt}");
    }
}

#[test]
fn a_list_of_flags_that_a_screen_cut_hides_no_processor() {
    let cut = "processor : 0\nvendor_id : AuthenticAMD\ncpu family : 25\nmodel : 1\nmodel name : AMD EPYC 7763 64-Core Processor\n\
        flags : fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cm\n";
    let machine = import(cut).machine;
    assert_eq!(machine.processor.model_name.as_deref(), Some("AMD EPYC 7763 64-Core Processor"));
    assert_eq!((machine.architecture.as_str(), machine.virtualization.hypervisor), ("x86_64", None));
    let old = import(&cut.replace(" cm\n", " cmov clflush acpi mmx fxsr sse sse2 ss tm pni est\n")).machine;
    assert_ne!(old.architecture, "x86_64");
}

#[test]
fn what_another_host_printed_is_of_that_host() {
    let tsc = |command: &str, source: &str| format!("$ {command} cat {CLOCK_SOURCE}\n{source}\n");
    const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let text = tsc("ssh -p 22 root@db1", "hpet")
        + &tsc("ssh db2", "tsc")
        + &tsc("", "acpi_pm")
        + &tsc("ssh db2", "tsc");
    let ansible = format!(
        "db1 | CHANGED | rc=0 >>\n{CLOCK_SOURCE}: hpet\ndb2 | CHANGED | rc=0 >>\n{CLOCK_SOURCE}: tsc\n"
    );
    let sources = |text: &str| {
        let mut importer = Importer::new(Split::Hosts);
        importer.read("text", text.as_bytes()).expect("reading from memory does not fail");
        let of = |one: Imported| (one.name.unwrap_or_default(), one.state.clocksource.unwrap_or_default());
        importer.finish().expect("machines").into_iter().map(of).collect::<Vec<_>>()
    };
    let named = |name: &str, source: &str| (name.to_owned(), source.to_owned());
    assert_eq!(sources(&text), [named("db1", "hpet"), named("db2", "tsc"), named("", "acpi_pm")]);
    assert_eq!(sources(&ansible), [named("db1", "hpet"), named("db2", "tsc")]);
}

#[test]
fn throttled_periods_are_read_without_a_quota() {
    let text = "nr_periods 5000\nnr_throttled 2500\nthrottled_time 1234567890123\n";
    for text in [
        text.to_owned(),
        format!("/ # cat /sys/fs/cgroup/cpu,cpuacct/cpu.stat\n{text}"),
        "usage_usec 9\nnr_periods 5000\nnr_throttled 2500\nthrottled_usec 7\n".to_owned(),
    ] {
        let state = import(&text).state;
        assert_eq!((state.quota_throttled, state.quota_periods), (Some(2500), Some(5000)), "{text}");
    }
}

#[test]
fn two_machines_one_after_the_other_are_not_one() {
    let free =
        |total| format!("total used free shared buff/cache available\nMem: {total} 98G 1.2G 4.0G 26G 22G\n");
    for text in [
        free("125G") + &free("31G"),
        "MemTotal: 65843412 kB\nMemTotal: 32843412 kB\n".to_owned(),
        "model name : Intel(R) Xeon(R) Gold 6226R CPU @ 2.90GHz\nmodel name : AMD EPYC 7302 16-Core Processor\n".to_owned(),
    ] {
        assert!(refused(&text).is_some_and(|error| error.contains("two machines")), "{text}");
    }
    let beside = "| | a | b |\n|---|---|---|\n| CPU(s): | 8 | 16 |\n| Model name: | Intel(R) Core(TM) i7-6700 | AMD Ryzen 7 2700 |\n";
    assert_eq!(import(beside).machine.processor.model_name, None);
    let policy = |most| format!("analyzing CPU 0:\n  hardware limits: 800 MHz - {most} GHz\n");
    let both = import(&(policy("3.90") + &policy("3.10")));
    assert_eq!((both.machine.processor.max_hz, both.import.contradictions.len()), (None, 1));
    // The text is from one machine, whose memory size `free` rounds in two ways.
    let rounded = format!("$ free -h\n{}$ free -m\n{}", free("125G"), free("128500"));
    assert_eq!(refused(&rounded), None);
}

#[test]
fn facts_stand_in_the_forms_of_newer_and_older_versions() {
    let amd = "analyzing CPU 2:\n  hardware limits: 400 MHz - 5.76 GHz\n  amd-pstate limits:\n    \
        Nominal Performance: 124. Nominal Frequency: 4.50 GHz.\n";
    let imported = import(amd);
    assert_eq!(
        (imported.machine.processor.base_hz, imported.import.not_understood.lines),
        (Some(4_500_000_000), 0)
    );
    let version = import(
        "Linux a 5.14.0 #1 SMP PREEMPT_RT Wed Apr 12 10:14:41 EDT 2023 x86_64 x86_64 x86_64 GNU/Linux\n",
    );
    let version = version.machine.kernel.version.unwrap_or_default();
    assert!(version.ends_with("EDT 2023"), "{version}");
    // hyperfine before 1.0 does not print the number of runs.
    let old = import(
        "Benchmark #1: ./a\n\n  Time (mean ± σ):     11.363 s ±  0.209 s    [User: 5.480 s, System: 5.849 s]\n\n  Range (min … max):   11.142 s … 11.797 s\n",
    );
    let time = the(&old, "workload.time workload=a");
    assert_eq!((time.detail.get(detail::RUNS), time.detail.get(detail::LEAST)), (None, Some(11.142)));
    let memory = "Running memory speed test with the following options:\n  block size: 1KiB\n  operation: write\n  scope: global\n\n\
        63597.12 MiB transferred (6358.62 MiB/sec)\n\nGeneral statistics:\n    total time: 10.0001s\n    total number of events: 65123456\n";
    let memory = import(memory);
    assert_eq!(memory.measurements.iter().map(|m| m.value()).collect::<Vec<_>>(), [6358.62 * 1_048_576.0]);
}

#[test]
fn a_zero_that_perf_could_not_count_is_withheld() {
    let text = " Performance counter stats for './a':\n\n      1,234.56 msec task-clock:u   #  0.998 CPUs utilized\n             \
        0      context-switches:u  #  0.000 /sec\n             0      cpu-migrations:u    #  0.000 /sec\n           512      \
        page-faults:u       #  414.723 /sec\n\n       1.237 seconds time elapsed\n";
    let imported = import(text);
    let counts = figures(&imported).iter().filter(|figure| figure.starts_with("counter.count")).count();
    assert_eq!((counts, imported.import.withheld.len()), (2, 2), "{:?}", figures(&imported));
}
