use super::*;

#[test]
fn files_are_found_below_the_folder_that_a_text_changed_to() {
    for text in [
        "$ cd /sys/devices/system/cpu/cpu0/cpufreq\n$ cat scaling_governor\npowersave\n",
        "$ cd /sys/devices/system/cpu && cat cpu0/cpufreq/scaling_governor\npowersave\n",
        "$ cd /sys/devices\n$ cd system/cpu/cpu1/../cpu0\n$ grep . cpufreq/*\ncpufreq/scaling_governor:powersave\n",
        "root@db-1:/sys/devices/system/cpu/cpu0/cpufreq# cat scaling_governor\npowersave\n",
        "root@db-1:/sys/devices/system/cpu/cpu0/cpufreq# grep . *\nscaling_governor:powersave\n",
        "root@db-1:/sys/devices/system/cpu/cpu0/cpufreq# tail -n +1 scaling_*\n==> scaling_governor <==\npowersave\n",
    ] {
        let state = import(text).state;
        let governor = state.clocks.first().and_then(|clock| clock.governor.as_deref());
        assert_eq!(governor, Some("powersave"), "{text}");
    }
    // In other directories, the name has no meaning.
    let home = import("root@db-1:~# cat scaling_governor\npowersave\n");
    assert!(home.state.clocks.is_empty());
}

#[test]
fn load_averages_are_read_wherever_a_tool_prints_them() {
    for text in [
        " 10:00:01 up 5 days,  3:02,  2 users,  load average: 2.50, 1.40, 0.70\n",
        " 10:00:01 up 3 min,  1 user,  load average: 2,50, 1,40, 0,70\n",
        "top - 10:00:01 up 5 days, 3:02, 2 users,  load average: 2.50, 1.40, 0.70\n",
        "$ uptime\n 22:11:37 up 109 days,  1:05,  0 users,  load average: 2.50, 1.40, 0.70\n",
    ] {
        assert_eq!(import(text).state.load, Some([2.5, 1.4, 0.7]), "{text}");
    }
    assert_eq!(import("I let it run up to 5 min, load average was high\n").state.load, None);
}

#[test]
fn the_books_and_drawers_of_ibm_z_give_no_wrong_number_of_cores() {
    let english = "Architecture: s390x\nCPU(s): 8\nOn-line CPU(s) list: 0-7\nThread(s) per core: 2\nCore(s) per socket: 2\n\
        Socket(s) per book: 2\nBook(s) per drawer: 1\nDrawer(s): 1\nVendor ID: IBM/S390\nMachine type: 3906\n";
    let german = "Architektur: s390x\nCPU(s): 8\nListe der Online-CPU(s): 0-7\nThread(s) pro Kern: 2\nKern(e) pro Socket: 2\n\
        Sockel pro Buch: 2\nBuch/Bücher pro Schublade: 1\nSchublade(n): 1\nAnbieterkennung: IBM/S390\n";
    for text in [english, german] {
        let imported = import(text);
        let counts = &imported.machine.counts;
        assert_eq!((counts.cpus_present, counts.packages, counts.cores), (Some(8), None, None), "{text}");
        assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    }
}

#[test]
fn a_user_says_of_all_figures_what_a_text_does_not() {
    let row = "aes-256 ige      89602.86k    97498.37k    98271.49k    98399.91k    89101.65k\n";
    let settings = vec![crate::Setting::parse("threads=32").expect("a setting")];
    let mut importer = Importer::new(Split::Hosts).with_settings(settings);
    importer.read("text", row.as_bytes()).expect("reading from memory does not fail");
    let imported = importer.finish().expect("a machine").remove(0);
    assert!(figures(&imported)[0].contains("threads=32"), "{:?}", figures(&imported));
    assert!(imported.measurements.iter().all(|m| m.doubt.is_none()));
    for wrong in ["threads", "colour=red", "=3"] {
        assert!(crate::Setting::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_carriers_of_texts_put_before_each_line_is_stripped() {
    const LIST: &str = "Architecture: x86_64\nCPU(s): 4\nOn-line CPU(s) list: 0-3\nThread(s) per core: 2\nCore(s) per socket: 2\nSocket(s): 1\n";
    let each = |before: &dyn Fn(usize) -> String, behind: &str| {
        LIST.lines()
            .enumerate()
            .map(|(at, line)| format!("{}{line}{behind}\n", before(at + 1)))
            .collect::<String>()
    };
    for text in [
        each(&|at| format!("build\tRun lscpu\t2024-05-01T12:00:0{at}.1234567Z "), ""),
        each(&|_| "2024-05-01T12:00:00.123456789Z stdout F ".to_owned(), ""),
        each(&|at| format!("2024-05-01 12:00:0{at},123 INFO  "), ""),
        each(&|at| format!("12:00:0{at}.123 "), ""),
        each(&|at| format!("[12:00:0{at}] "), ""),
        each(&|at| format!("L{at}: "), ""),
        each(&|_| "web1: ".to_owned(), ""),
        each(&|_| ";; ".to_owned(), ""),
        format!("┌───┐\n{}└───┘\n", each(&|_| "│ ".to_owned(), "   │")),
    ] {
        let counts = import(&text).machine.counts;
        assert_eq!((counts.cores, counts.cpus_present), (Some(2), Some(4)), "{text}");
    }
    // A name that the tool itself prints before each line is not removed.
    let epb = import(
        "cpu0: EPB 6\ncpu0: HWP_REQ: min 8 max 39 des 0 epp 128 window 0x0 (0*10^0us) use_pkg 0\ncpu0: HWP_CAP: low 1 eff 8 guar 19 high 39\n",
    );
    assert_eq!(epb.state.clocks.first().and_then(|clock| clock.epb), Some(6));
}

#[test]
fn two_machines_in_one_text_are_not_one() {
    let head = "CPU\tAvg_MHz\tBusy%\tBzy_MHz\tTSC_MHz\tPkgWatt\n";
    let sar = |host: &str| {
        format!(
            "Linux 5.4.0 ({host}) \t06/01/2023 \t_x86_64_\t(4 CPU)\n\n14:00:01        CPU     %user     %idle\n14:00:02        all      5.00     94.00\n\n"
        )
    };
    for text in [
        format!("{head}-\t1200\t40.00\t3000\t2400\t100.00\n\n{head}-\t800\t40.00\t2000\t2000\t60.00\n"),
        format!("{}{}", sar("web-1"), sar("web-2")),
        "Linux alpha 5.15.0-91-generic #101 SMP x86_64 GNU/Linux\nLinux beta 4.18.0-477.el8 #1 SMP aarch64 GNU/Linux\n".to_owned(),
    ] {
        let mut importer = Importer::new(Split::Hosts);
        importer.read("text", text.as_bytes()).expect("reading from memory does not fail");
        assert!(matches!(importer.finish(), Err(crate::Error::SeveralMachines(_))), "{text}");
    }
    let same = import(&format!("{}{}", sar("web-1"), sar("web-1.example.com")));
    assert_eq!(same.measurements.len(), 4);
}

#[test]
fn rows_of_parts_of_a_machine_are_none_of_the_whole() {
    let nodes = import(
        "03:12:00 PM NODE    %usr   %nice    %sys   %idle\n03:12:01 PM  all    1.10    0.00    0.20   98.70\n\
         03:12:01 PM    0    2.10    0.00    0.20   97.70\n",
    );
    let idle: Vec<_> =
        nodes.measurements.iter().filter(|m| figures_of(m) == "idle").map(|m| m.samples.clone()).collect();
    assert_eq!(idle, [vec![0.987]]);
    let sums = import("03:10:01 PM  CPU    intr/s\n03:10:02 PM  all   5123.00\n");
    assert_eq!(figures(&sums), ["event.rate event=interrupts: 5123"]);
    let timed = import(
        "usec\tTime_Of_Day_Seconds\tPackage\tCore\tCPU\tAPIC\tX2APIC\tAvg_MHz\tBusy%\tBzy_MHz\tTSC_MHz\tIPC\n\
         12\t1700000000.123456\t-\t-\t-\t-\t-\t2010\t67.00\t3000\t2000\t1.23\n",
    );
    let all = figures(&timed);
    assert!(all.contains(&"core.clock: 3000000000".to_owned()), "{all:?}");
    assert!(all.contains(&"core.ipc source=pmu scope=system: 1.23".to_owned()), "{all:?}");
}

fn figures_of(m: &record::Measurement) -> &str {
    m.labels.word(record::Label::State).unwrap_or_default()
}

#[test]
fn what_newer_kernels_and_tools_print_is_read() {
    let hot = "mce: CPU4: Core temperature is above threshold, cpu clock is throttled (total events = 421)\n\
        mce: CPU4: Core temperature/speed normal (total events = 421)\n";
    assert_eq!(import(hot).import.not_understood.lines, 0);
    let guest = import(
        "analyzing CPU 3:\n  no or unknown cpufreq driver is active on this CPU\n  boost state support:\n    Supported: no\n    Active: no\n",
    );
    assert_eq!(guest.state.boost, None, "unsupported boost is not disabled boost");
    let curve = "tinymembench v0.4.9 (simple benchmark for memory throughput and latency)\n\
        block size : single random read / dual random read, [MADV_NOHUGEPAGE]\n  67108864 :  190.1 ns          /   230.1 ns \n\
        block size : single random read / dual random read, [MADV_HUGEPAGE]\n  67108864 :  160.1 ns          /   180.1 ns \n";
    assert_eq!(
        figures(&import(curve)),
        ["load.latency bytes=67108864 page=base: 190.1", "load.latency bytes=67108864 page=huge: 160.1"]
    );
    let kernel =
        import("$ uname -srvm\nLinux 4.18.0-477.el8.x86_64 #1 SMP Tue May 16 11:38:37 UTC 2023 x86_64\n")
            .machine;
    assert_eq!(kernel.kernel.release.as_deref(), Some("4.18.0-477.el8.x86_64"));
    let free = import(
        "$ free\n              gesamt       benutzt     frei      gemns.  Puffer/Cache verfügbar\nSpeicher:    3884348      312456     2984512       10116      587380     3449828\nAuslager:     102396           0      102396\n",
    );
    assert_eq!(
        (free.machine.memory_bytes, free.state.swap_bytes),
        (Some(3_884_348 << 10), Some(102_396 << 10))
    );
}

#[test]
fn a_text_that_is_packed_again_and_again_is_not_unpacked_without_end() {
    let pack = |bytes: &[u8]| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        std::io::Write::write_all(&mut packed, bytes).expect("packing into memory");
        packed.finish().expect("packed")
    };
    let read = |times: usize| {
        let packed = (0..times).fold(b"CPU(s): 4\n".to_vec(), |bytes, _| pack(&bytes));
        let mut importer = Importer::new(Split::Hosts);
        importer.read("text", packed.as_slice()).expect("it is read or refused");
        importer.finish().ok().map(|machines| machines[0].machine.counts.cpus_present)
    };
    assert_eq!((read(1), read(2)), (Some(Some(4)), Some(Some(4))));
    assert_eq!(read(2000), None);
}

#[test]
fn the_sockets_of_virsh_are_those_of_one_node() {
    let nodeinfo = |cells: u32| {
        let counts = import(&format!(
            "CPU model:           x86_64\nCPU(s):              24\nCPU socket(s):       1\nCore(s) per socket:  6\n\
             Thread(s) per core:  2\nNUMA cell(s):        {cells}\nMemory size:         131923456 KiB\n"
        ));
        let counts = counts.machine.counts;
        (counts.packages, counts.cores, counts.nodes)
    };
    assert_eq!(nodeinfo(2), (None, Some(12), Some(2)));
    assert_eq!(nodeinfo(1), (Some(1), Some(6), Some(1)));
}

#[test]
fn sizes_that_are_rounded_to_nothing_are_unknown() {
    let head = "              total        used        free      shared  buff/cache   available\n";
    let free = |rows: &str| import(&format!("$ free -g\n{head}{rows}"));
    let low = free("Mem:              7           6           0           0           0           0\n");
    assert_eq!((low.machine.memory_bytes, low.state.memory_available_bytes), (Some(7 << 30), None));
    assert_eq!(low.import.withheld.len(), 1);
    let mem = "Mem:             62           9           0           0          53          51\n";
    let unused = free(&format!("{mem}Swap:             1           0           1\n")).state;
    assert_eq!((unused.swap_bytes, unused.swap_used_bytes), (Some(1 << 30), None));
    assert_eq!(unused.memory_available_bytes, Some(51 << 30));
    let used = free(&format!("{mem}Swap:             8           3           5\n")).state;
    assert_eq!(used.swap_used_bytes, Some(3 << 30));
    let total =
        import(&format!("$ free -t\n{head}Mem: 16265488 1 2 3 4 8132744\nTotal: 16265488 1 2\n")).state;
    assert_eq!(total.memory_available_bytes, Some(8_132_744 << 10));
}

#[test]
fn what_is_left_of_a_limit_is_unknown_without_the_use() {
    let limit = "$ cat /sys/fs/cgroup/memory.max\n1073741824\n";
    let left = |text: &str| {
        let limits = import(text).machine.limits;
        (limits.memory_bytes, limits.memory_available_bytes)
    };
    assert_eq!(left(limit), (Some(1 << 30), None));
    let used = format!("{limit}$ cat /sys/fs/cgroup/memory.current\n536870912\n");
    assert_eq!(left(&used), (Some(1 << 30), Some(512 << 20)));
}

#[test]
fn rows_of_turbostat_without_cpus_are_for_the_machine_only_if_they_are_first() {
    let rows = "Busy%\tBzy_MHz\tPkgWatt\n51.00\t2100\t104.12\n99.00\t3200\t104.12\n3.00\t1000\n";
    let samples = |text: &str| {
        let imported = import(text);
        let of = |metric: &str| {
            let found = imported.measurements.iter().find(|m| m.metric.name() == metric);
            found.map(|m| m.samples.clone()).unwrap_or_default()
        };
        (of("core.clock"), of("power.package"), imported.import.withheld.len())
    };
    assert_eq!(samples(rows), (vec![2.1e9], vec![104.12], 1));
    assert_eq!(samples(&rows.repeat(2)), (vec![2.1e9; 2], vec![104.12; 2], 1));
    let cores =
        "Package\tCore\tBzy_MHz\tPkgWatt\n-\t-\t2100\t104.12\n0\t0\t3200\t104.12\n0\t1\t1000\t104.12\n";
    assert_eq!(samples(cores), (vec![2.1e9], vec![104.12], 1));
    for option in ["-S", "--Summary", "-qS"] {
        let summary = format!("$ sudo turbostat {option} -i 5\nBusy%\tBzy_MHz\n51.00\t2100\n99.00\t3200\n");
        assert_eq!(samples(&summary), (vec![2.1e9, 3.2e9], vec![], 0), "{option}");
    }
}

#[test]
fn the_load_of_an_esxi_host_is_not_that_of_its_guest() {
    let host =
        " 9:12:44am up 112 days  3:12, 1231 worlds, 41 VMs, 212 vCPUs; CPU load average: 1.12, 1.09, 1.05\n";
    let guest = import(&format!(
        "{host}[root@sql01 ~]# nproc\n8\n[root@sql01 ~]# cat /proc/loadavg\n7.10 6.20 5.30 2/400 99\n"
    ));
    assert_eq!(guest.state.load, Some([7.1, 6.2, 5.3]));
    assert!(import(host).state.load.is_none());
}

#[test]
fn registers_show_limits_of_the_clock() {
    let tool = import(
        "cpu0: EPB 15\ncpu0: HWP_REQ: min 4 max 12 des 0 epp 255 window 0x0 (0*10^0us) use_pkg 0\n\
         cpu0: HWP_CAP: low 1 eff 11 guar 24 high 40\n",
    );
    let level = record::clock_holders::HwpRange { highest: 40, guaranteed: 24, allowed: 12 };
    assert_eq!(tool.state.clock_holders.hwp, Some(level));
    let clock = &tool.state.clocks[0];
    assert_eq!((clock.epp.as_deref(), clock.epb), (Some("power"), Some(15)));
    let words = "$ sudo rdmsr -a 0x770\n1\n$ sudo rdmsr -a 0x771\n10b1828\n$ sudo rdmsr -a 0x774\nff000c04\n$ sudo rdmsr -a 0x19c\n884c080d\n";
    let words = import(words).state.clock_holders;
    assert_eq!(words.hwp, Some(level));
    assert_eq!(words.holding, [record::clock_holders::HeldBy::Prochot, record::clock_holders::HeldBy::Heat]);
    assert_eq!(words.held_before, [record::clock_holders::HeldBy::Prochot]);
}

#[test]
fn vmstat_shows_the_rates_of_swapping() {
    let rows = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n\
        \x20r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n\
        12  1 2048123 322123 211123 1362123    1    2   112   312  812 1912  11   3  84   2  0\n\
        41  9 2050123 318123 211123 1360123 8812 41212  8123  9123 41231 91231  61  22   2  15  0\n";
    for (command, factor) in
        [("", 1.0), ("$ vmstat 1\n", 1.0), ("$ vmstat -S M 1\n", 1024.0), ("$ vmstat -w -SM\n", 1024.0)]
    {
        let imported = import(&format!("{command}{rows}"));
        let rate = |event: &str| the(&imported, &format!("event.rate event={event}")).value();
        let rates = (rate("kib-swapped-in"), rate("kib-swapped-out"));
        assert_eq!(rates, (8812.0 * factor, 41212.0 * factor), "{command}");
        let used = (2_050_123.0 * factor) as u64 * 1024;
        assert_eq!((imported.state.swap_bytes, imported.state.swap_used_bytes), (None, Some(used)));
    }
}

#[test]
fn turbostat_describes_the_machine_above_its_table() {
    let imported = import(
        "turbostat version 21.05.04 - Len Brown <lenb@kernel.org>\nCPUID(0): GenuineIntel 0x16 CPUID levels\n\
         CPUID(1): family:model:stepping 0x6:4f:1 (6:79:1) microcode 0xb000040\ncpu0: POLL: CPUIDLE CORE POLL IDLE\n\
         cpu0: cpufreq driver: intel_cpufreq\ncpu0: cpufreq governor: schedutil\ncpufreq intel_pstate no_turbo: 1\n\
         cpu0: MSR_PKG_POWER_INFO: 0x1200438012003c0 (120 W TDP, RAPL 67 - 36 W, 0.000000 sec.)\n\
         cpu0: PKG Limit #1: ENabled (75.000000 Watts, 1.000000 sec, clamp DISabled)\n\
         cpu0: PKG Limit #2: ENabled (150.000000 Watts, 0.007812* sec, clamp DISabled)\n10.003123 sec\n\
         Avg_MHz\tBusy%\tBzy_MHz\tTSC_MHz\tPkgWatt\n1512\t72.01\t2100\t2100\t75.01\n",
    );
    let clock = &imported.state.clocks[0];
    assert_eq!(clock.governor.as_deref(), Some("schedutil"));
    assert_eq!((imported.state.boost, imported.import.outputs.len()), (Some(false), 1));
    assert_eq!(imported.import.outputs[0].version.as_deref(), Some("21.05.04"));
    assert_eq!(imported.machine.processor.microcode.as_deref(), Some("0xb000040"));
    let limits = &imported.state.clock_holders.power_limits;
    let watts: Vec<_> = limits.iter().map(|limit| (limit.watts, limit.rated_watts)).collect();
    assert_eq!(watts, [(75.0, Some(120.0)), (150.0, None)]);
    assert_eq!(the(&imported, "core.clock").value(), 2.1e9);
}

#[test]
fn each_file_of_several_has_its_own_lines() {
    let swaps = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/dm-1                               partition\t8388604\t\t2123123\t\t-2\n";
    let load = "3.12 2.81 2.22 5/412 41231\n";
    let interrupts = "            CPU0       CPU1\n   0:         32          0   IO-APIC    2-edge      timer\n LOC:  9  8   Local timer interrupts\n";
    let softirqs = "                    CPU0       CPU1\n          HI:          1          0\n";
    for text in [
        format!("# cat /proc/swaps; cat /proc/loadavg\n{swaps}{load}"),
        format!("# cat /proc/swaps /proc/loadavg\n{swaps}{load}"),
        format!(
            "# cat /proc/interrupts | head -6; cat /proc/softirqs | head -5; cat /proc/swaps; cat /proc/loadavg\n{interrupts}{softirqs}{swaps}{load}"
        ),
    ] {
        let state = import(&text).state;
        assert_eq!(state.load, Some([3.12, 2.81, 2.22]), "{text}");
        assert_eq!((state.swap_bytes, state.swap_used_bytes), (Some(8_388_604 << 10), Some(2_123_123 << 10)));
    }
    let none = import("$ cat /proc/swaps\nFilename\tType\tSize\tUsed\tPriority\n").state;
    assert_eq!(none.swap_bytes, Some(0));
}

#[test]
fn runs_of_stream_have_the_threads_of_their_own_lines() {
    let run = |threads: u32, rate: &str| {
        format!(
            "Number of Threads requested = {threads}\nNumber of Threads counted = {threads}\nTriad:          {rate}     0.013120     0.013011     0.013212\n"
        )
    };
    let row = |rate: &str| format!("Triad:          {rate}     0.013120     0.013011     0.013212\n");
    for text in [
        format!(
            "$ OMP_NUM_THREADS=1 ./stream | grep -E 'Triad|Number'\n{}$ OMP_NUM_THREADS=16 ./stream | grep -E 'Triad|Number'\n{}",
            run(1, "12312.1"),
            run(16, "51231.1")
        ),
        format!(
            "$ for n in 1 16; do OMP_NUM_THREADS=$n ./stream; done | grep -E 'Triad|Number'\n{}{}",
            run(1, "12312.1"),
            run(16, "51231.1")
        ),
        format!(
            "$ OMP_NUM_THREADS=1 ./stream | grep Triad\n{}$ OMP_NUM_THREADS=16 ./stream | grep Triad\n{}",
            row("12312.1"),
            row("51231.1")
        ),
    ] {
        let imported = import(&text);
        let expected = [("1", "12312100000"), ("16", "51231100000")].map(|(threads, rate)| {
            format!("memory.bandwidth op=triad bytes_counted=stream threads={threads}: {rate}")
        });
        assert_eq!(figures(&imported), expected, "{text}");
    }
}
