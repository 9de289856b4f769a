use crate::{Error, Imported, Importer, Split};

fn machines(text: &str, split: Split) -> Result<Vec<Imported>, Error> {
    let mut importer = Importer::new(split);
    importer.read("text", text.as_bytes()).unwrap();
    importer.finish()
}

fn list(cpus: u32) -> String {
    format!("Architecture: x86_64\nCPU(s): {cpus}\nOn-line CPU(s) list: 0-{}\n", cpus - 1)
}

fn names(machines: &[Imported]) -> Vec<(Option<&str>, Option<u32>)> {
    machines.iter().map(|machine| (machine.name.as_deref(), machine.machine.counts.cpus_present)).collect()
}

#[test]
fn host_names_of_prompts_tell_machines_apart() {
    let text = format!(
        "root@a:~# lscpu\n{}\n[me@b x]$ lscpu\n{}\nroot@a:~# numactl -H\nnode 0 cpus: 0 1 2 3\n",
        list(4),
        list(8)
    );
    let imported = machines(&text, Split::Hosts).unwrap();
    assert_eq!(names(&imported), [(Some("a"), Some(4)), (Some("b"), Some(8))]);
    assert_eq!(imported[0].machine.hostname.as_deref(), Some("a"));
    assert_eq!((imported[0].machine.nodes.len(), imported[1].machine.nodes.len()), (1, 0));
}

#[test]
fn what_no_prompt_names_belongs_to_the_one_host() {
    let text = format!("node 0 cpus: 0 1 2 3\nroot@a:~# lscpu\n{}", list(4));
    let imported = machines(&text, Split::Hosts).unwrap();
    assert_eq!(
        (names(&imported).as_slice(), imported[0].machine.nodes.len()),
        (&[(Some("a"), Some(4))][..], 1)
    );
}

#[test]
fn two_machines_that_nothing_names_are_refused_with_both_lines() {
    let text = format!("{}\n{}", list(4), list(8));
    let Err(error @ Error::SeveralMachines(_)) = machines(&text, Split::Hosts) else { panic!("not refused") };
    let says = error.to_string();
    assert!(says.contains("text line 2 has \"CPU(s): 4\", and text line 6 has \"CPU(s): 8\""), "{says}");
    assert!(says.contains("--split headings"));
    let text = format!("{}\nnode 0 cpus: 0 1 2 3 4 5 6 7\n", list(4));
    assert!(matches!(machines(&text, Split::Hosts), Err(Error::SeveralMachines(_))));
}

#[test]
fn figures_of_one_place_that_differ_are_withheld() {
    let mlc = |version: &str, ns: &str| {
        format!(
            "Intel(R) Memory Latency Checker - {version}\nMeasuring idle latencies (in ns)...\n\t\tNuma node\nNuma node\t     \
             0\n       0\t  {ns}\n"
        )
    };
    for (version, other, withheld) in [("v3.9a", "74.1", 2), ("v3.5", "74.1", 2), ("v3.5", "88.9", 0)] {
        let text = format!("//E5-2682\n{}//8269\n{}", mlc("v3.9a", "89.3"), mlc(version, other));
        let imported = machines(&text, Split::Hosts).unwrap();
        let import = &imported[0].import;
        let found = &import.contradictions;
        assert_eq!((imported[0].measurements.len(), import.withheld.len()), (2 - withheld, withheld));
        assert_eq!(found.len(), withheld / 2, "{found:?}");
        assert!(
            found.iter().all(|one| one.origins.iter().map(|origin| origin.line).eq([6, 12])),
            "{found:?}"
        );
    }
}

#[test]
fn what_stands_in_a_last_line_without_line_end_is_in_doubt() {
    let text = "T: 0 (21462) P: 0 I:1000 C: 299848 Min: 5 Act: 11 Avg: 11 Max: 212";
    let imported = machines(text, Split::Hosts).unwrap();
    assert!(
        imported[0]
            .measurements
            .iter()
            .all(|m| m.doubt.as_ref().is_some_and(|why| why.to_string().contains("truncated")))
    );
    assert!(
        imported[0].machine.notes[0].to_string().contains("ends in the middle of line 1"),
        "{:?}",
        imported[0].machine.notes
    );
    let whole = machines(&format!("{text}\n"), Split::Hosts).unwrap();
    assert!(whole[0].machine.notes.is_empty());
    assert!(!whole[0].measurements.is_empty() && whole[0].measurements.iter().all(|m| m.doubt.is_none()));
}

#[test]
fn nodes_of_cpus_that_there_are_not_are_cut_so_that_the_record_can_be_read() {
    let text = "$ lscpu\nCPU(s): 4\nOn-line CPU(s) list: 0\nNUMA node0 CPU(s): 0-3\n";
    let mut imported = machines(text, Split::Hosts).unwrap();
    assert!(
        imported[0].import.contradictions[0].says.contains("node 0 lists 0-3"),
        "{:?}",
        imported[0].import
    );
    let empty = record::Record::new("0", String::new(), Vec::new());
    let json = imported.remove(0).into_record(empty).to_json().unwrap();
    assert!(record::Record::from_json(json.as_bytes()).is_ok());
}

#[test]
fn one_machine_twice_is_one_machine() {
    let imported = machines(&format!("{}\n{}", list(4), list(4)), Split::Hosts).unwrap();
    assert_eq!(names(&imported), [(None, Some(4))]);
    let text = "$ lscpu\nCPU(s): 8\nOn-line CPU(s) list: 0-7\n$ lscpu\nCPU(s): 8\nOn-line CPU(s) list: 0-3,5-7\nOff-line CPU(s) list: 4\n";
    let imported = machines(text, Split::Hosts).unwrap();
    assert_eq!(
        (imported[0].machine.counts.cpus_online, imported[0].machine.counts.cpus_present),
        (Some(7), Some(8))
    );
    assert!(imported[0].import.contradictions[0].says.contains("0-7 and later 0-3,5-7"));
}

#[test]
fn headings_name_machines_and_the_same_words_mean_the_same_one() {
    let rows = "| Intel (52 cores) | aes-256 ige      89602.86k    97498.37k    98271.49k    98399.91k    89101.65k |\n| 海光（32核） | aes-256 ige      76919.66k    77935.81k    79201.88k    79529.30k    79555.24k |\n";
    let text = format!(
        "# Intel and 海光\n## Machines\n### 海光\n```\n#lscpu\n{}```\n### Intel CPU\n```\n{}```\n## openssl\n{rows}## intel x86 again\n### **Results**\n```\nnode 0 cpus: 0 1\n```\n",
        list(4),
        list(8)
    );
    let imported = machines(&text, Split::Headings).unwrap();
    assert_eq!(names(&imported), [(Some("海光"), Some(4)), (Some("Intel CPU"), Some(8))]);
    assert_eq!((imported[0].measurements.len(), imported[1].measurements.len()), (5, 5));
    assert_eq!((imported[0].machine.nodes.len(), imported[1].machine.nodes.len()), (0, 1));
    let says = match machines(rows, Split::Hosts) {
        Err(refusal) => refusal.to_string(),
        Ok(_) => panic!("two labels in one table must be two machines"),
    };
    assert!(says.contains("Intel (52 cores)") && says.contains("--split"), "{says}");
}

#[test]
fn numbered_headings_are_machines_of_their_own() {
    let text = format!("## Server 1\n{}## Server 2\n{}", list(4), list(8));
    assert_eq!(
        names(&machines(&text, Split::Headings).unwrap()),
        [(Some("Server 1"), Some(4)), (Some("Server 2"), Some(8))]
    );
}

#[test]
fn what_divides_a_text_ends_what_a_prompt_before_it_named() {
    let text = format!("## A\nroot@db-1:~# lscpu\n{}### Later\n{}## B\n{}", list(4), list(4), list(8));
    let hosts = |split| -> Vec<(Option<String>, Option<String>)> {
        machines(&text, split).unwrap().into_iter().map(|one| (one.name, one.machine.hostname)).collect()
    };
    let named = |name: &str, host: Option<&str>| (Some(name.to_owned()), host.map(str::to_owned));
    let of_headings = hosts(Split::Headings);
    assert_eq!(of_headings, [named("A", Some("db-1")), named("B", None)]);
    let of_lines = hosts(Split::Lines(regex_lite::Regex::new("^## (.*)").unwrap()));
    assert_eq!(of_lines, of_headings);
    // A prompt may separate two machines.
    let text = format!("root@a:~# lscpu\n{}root@b:~# lscpu\n{}", list(4), list(8));
    let prompts = machines(&text, Split::Lines(regex_lite::Regex::new("^root@([a-z])").unwrap())).unwrap();
    let prompts: Vec<_> = prompts.iter().map(|one| one.machine.hostname.as_deref()).collect();
    assert_eq!(prompts, [Some("a"), Some("b")]);
}

#[test]
fn an_expression_names_machines_by_its_group_or_counts_them() {
    let text = format!("=== one\n{}=== two\n{}=== ONE\nnode 0 cpus: 0\n", list(4), list(8));
    let split = |text: &str| Split::Lines(regex_lite::Regex::new(text).unwrap());
    let imported = machines(&text, split("^=== (.*)")).unwrap();
    assert_eq!(names(&imported), [(Some("one"), Some(4)), (Some("two"), Some(8))]);
    let text = format!("{}{}", list(4), list(8));
    let imported = machines(&text, split("^Architecture")).unwrap();
    assert_eq!(
        imported.iter().map(|one| one.machine.counts.cpus_present).collect::<Vec<_>>(),
        [Some(4), Some(8)]
    );
    // Lines without an output are harmless, and each machine has its own name.
    let text = format!("---\n---\n{}---\n{}---\n{}", list(4), list(8), list(2));
    let imported = machines(&text, split("^-")).unwrap();
    assert_eq!(
        names(&imported),
        [(Some("---"), Some(4)), (Some("--- 2"), Some(8)), (Some("--- 3"), Some(2))]
    );
}

#[test]
fn files_are_machines_where_the_user_says_so() {
    let mut importer = Importer::new(Split::Files);
    importer.read("a.txt", list(4).as_bytes()).unwrap();
    importer.read("b.txt", list(8).as_bytes()).unwrap();
    assert_eq!(names(&importer.finish().unwrap()), [(Some("a.txt"), Some(4)), (Some("b.txt"), Some(8))]);
}

#[test]
fn text_without_any_output_says_so() {
    let refused = machines("Dear colleagues,\n\nno figures today.\n", Split::Hosts).unwrap_err();
    assert_eq!(refused.to_string(), "none of the 2 lines is output of a supported tool");
    assert_eq!(machines("", Split::Hosts).unwrap_err().to_string(), "the text is empty");
}

#[test]
fn more_than_one_record_holds_is_refused() {
    let text = format!("\"stride=64\n{}", "1.00000 5.1\n".repeat(crate::limits::MOST_ENTRIES + 1));
    let refused = machines(&text, Split::Hosts);
    assert!(matches!(&refused, Err(Error::TooMuch(_))), "{refused:?}");
}

#[test]
fn outputs_that_tell_nothing_are_no_record() {
    let refused = machines(
        "# dmidecode 3.4\nScanning /dev/mem for entry point.\n/dev/mem: Permission denied\n",
        Split::Hosts,
    );
    assert!(
        matches!(&refused, Err(Error::NothingRead { tools }) if tools.contains("dmidecode")),
        "{refused:?}"
    );
}

#[test]
fn figures_that_a_setting_tells_apart_are_of_two_places() {
    let transfers = "published figures: a paper\n\
                     machine.processor.model_name = Intel Xeon\n\
                     core_to_core.latency 8.1 ns handover=cas class=\"siblings\" method=\"core-to-core-latency\"\n\
                     core_to_core.latency 51 ns handover=cas class=\"package\" method=\"core-to-core-latency\"\n";
    let imported = &machines(transfers, Split::Hosts).unwrap()[0];
    assert_eq!(
        (imported.measurements.len(), imported.import.withheld.len()),
        (2, 0),
        "{:?}",
        imported.import
    );
}

#[test]
fn a_second_model_in_one_list_is_of_another_machine_but_on_arm() {
    let two = |architecture: &str| {
        format!(
            "Architecture: {architecture}\nCPU(s): 8\nModel name: One\n// another\nModel name: Other\nSocket(s): \
             2\nCore(s) per socket: 4\n"
        )
    };
    assert!(matches!(machines(&two("x86_64"), Split::Hosts), Err(Error::SeveralMachines(_))));
    let kinds = "Architecture: aarch64\nCPU(s): 8\nModel name: Cortex-A55\nCore(s) per cluster: 4\nCluster(s): 1\nModel \
                 name: Cortex-A76\nCore(s) per cluster: 4\nCluster(s): 1\n";
    assert_eq!(machines(kinds, Split::Hosts).unwrap()[0].machine.counts.cores, Some(8));
}

#[test]
fn core_numbers_that_name_no_cores_are_not_believed() {
    let cores = |text: &str| machines(text, Split::Hosts).unwrap()[0].machine.counts.cores;
    // On Arm, cores are numbered within clusters that lscpu does not show.
    let phone = "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,,,0,0,0,0\n1,1,0,,,1,1,1,0\n2,2,0,,,2,2,1,0\n3,0,0,,,3,3,2,0\n\
                 4,1,0,,,4,4,3,0\n5,0,0,,,5,5,4,0\n6,1,0,,,6,6,5,0\n7,0,0,,,7,7,6,0\n";
    assert_eq!(cores(phone), Some(8));
    // Performance cores have two threads, and an L1d for both.
    let hybrid = "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,0,,0,0,0,0\n1,0,0,0,,0,0,0,0\n2,1,0,0,,8,8,1,0\n3,2,0,0,,9,9,1,0\n";
    assert_eq!(cores(hybrid), Some(3));
    let no_sockets = "# CPU,Core,Socket,Node\n0,0,,\n1,1,,\n";
    assert_eq!(cores(no_sockets), Some(2));
}

#[test]
fn what_two_machines_print_in_one_text_is_refused_or_a_contradiction() {
    let log = |name: &str, tsc: &str| {
        let name =
            format!("[    0.500000] smpboot: CPU0: {name} (family: 0x6, model: 0x55, stepping: 0x7)\n");
        format!("{name}[    1.500000] tsc: Refined TSC clocksource calibration: {tsc} MHz\n")
    };
    let environment = |name: &str, count: u32| {
        format!(
            "- OS: Ubuntu 18.04.4 LTS\n- Kernel Version: 5.3.13\n- Processor: {name} x{count}\n- Sockets: 1\n"
        )
    };
    let (intel, amd) = ("Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz", "AMD EPYC 7763 64-Core Processor");
    let lscpu = format!("{}Model name: {amd}\n", list(4));
    for two in [
        format!("{}{}", log(intel, "2494.140"), log(amd, "2445.404")),
        format!("{}\n{lscpu}", log(intel, "2494.140")),
        format!("{lscpu}\n{}", log(intel, "2494.140")),
        format!("{}model name\t: {amd}\n", log(intel, "2494.140")),
        format!("{}\n{}", environment("Intel Core i7-6500U CPU", 4), environment("AMD EPYC 7763", 64)),
    ] {
        assert!(matches!(machines(&two, Split::Hosts), Err(Error::SeveralMachines(_))), "{two}");
    }
    let device = |size: &str| {
        format!(
            "Handle 0x0024, DMI type 17, 84 bytes\nMemory Device\n\tSize: {size}\n\tLocator: DIMM_A1\n\tBank Locator: NODE 1\n\n"
        )
    };
    let two = format!("{}And the other:\n\n{}", device("16 GB"), device("32 GB"));
    assert!(matches!(machines(&two, Split::Hosts), Err(Error::SeveralMachines(_))), "{two}");
    assert_eq!(
        machines(&device("16 GB").repeat(2), Split::Hosts).unwrap()[0].machine.memory_devices.len(),
        1
    );
    for (unsure, twice) in [
        (format!("{}{}", log(intel, "2494.140"), log(intel, "2445.404")), "processor.counter_hz"),
        (format!("{}\n{}", environment(amd, 64), environment(amd, 128)), "counts.cpus_online"),
    ] {
        let imported = machines(&unsure, Split::Hosts).unwrap();
        let says = &imported[0].import.contradictions[0].says;
        assert!(says.contains(twice), "{says}");
    }
    // The same log twice is from one machine.
    let same = machines(&log(intel, "2494.140").repeat(2), Split::Hosts).unwrap();
    assert_eq!(same[0].import.contradictions, []);
    assert_eq!(same[0].machine.processor.model_name.as_deref(), Some(intel));
}

#[test]
fn what_other_programs_print_between_is_no_content_of_a_file() {
    let cat = |said: &str, value: &str| {
        let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        let imported = machines(&format!("$ sudo cat {path}\n{said}\n{value}\n"), Split::Hosts).unwrap();
        imported[0].state.clocksource.clone()
    };
    for said in [
        "[sudo] password for joe:",
        "[sudo] Passwort f\u{fc}r joe:",
        "Defaulted container \"app\" out of: app, istio-proxy",
        "Warning: Permanently added '10.0.0.5' (ED25519) to the list of known hosts.",
        "user@n1's password:",
    ] {
        assert_eq!(cat(said, "hpet").as_deref(), Some("hpet"), "{said}");
    }
    // A setting that changes within a text.
    let twice =
        "/sys/devices/system/cpu/intel_pstate/no_turbo:1\n/sys/devices/system/cpu/intel_pstate/no_turbo:0\n";
    assert_eq!(machines(twice, Split::Hosts).unwrap()[0].import.contradictions.len(), 1);
    // A line that shows its file by itself.
    let greps = "$ grep -m1 \"model name\" /proc/cpuinfo; grep MemTotal /proc/meminfo\nmodel name\t: Xeon\nMemTotal:       263749124 kB\n";
    assert_eq!(machines(greps, Split::Hosts).unwrap()[0].machine.memory_bytes, Some(263_749_124 << 10));
}

#[test]
fn a_table_of_cpus_that_a_command_cut_counts_none_of_them() {
    let head = "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n";
    let row = |cpu: u32| format!("{cpu:3}    0      0 {cpu:4} {cpu}:{cpu}:{cpu}:0          yes\n");
    let rows: String = (0..4).map(row).collect();
    let counts = |text: &str| {
        let imported = machines(text, Split::Hosts).unwrap().remove(0);
        let counts = imported.machine.counts;
        (counts.cores, counts.cpus_present, counts.cpus_online, imported.import.withheld.len())
    };
    let whole = format!("$ lscpu -e\n{head}{rows}");
    assert_eq!(counts(&whole), (Some(4), Some(4), Some(4), 0));
    for filter in ["head -5", "grep -v no", "tail -n +1 | awk 1", "sed -n 1,5p", "less"] {
        let cut = whole.replace("lscpu -e", &format!("lscpu -e | {filter}"));
        assert_eq!(counts(&(cut.clone() + "$ lscpu | grep ^CPU\nCPU(s): 64\n")), (None, Some(64), None, 1));
        // Lists of all CPUs, and a second table, show that nothing is missing.
        assert_eq!(counts(&(cut.clone() + &list(4))), (Some(4), Some(4), Some(4), 0));
        assert_eq!(counts(&(cut + &whole)), (Some(4), Some(4), Some(4), 0));
    }
    for (other, present, online) in [
        ("CPU(s): 64\n", Some(64), None),
        ("node 0 cpus: 0 1 2 3\nnode 1 cpus: 4 5 6 7\n", None, None),
        ("$ cat /sys/devices/system/cpu/online\n0-63\n", Some(64), Some(64)),
        ("$ getconf _NPROCESSORS_ONLN\n16\n", None, Some(16)),
    ] {
        assert_eq!(counts(&format!("{whole}\n{other}")), (None, present, online, 1), "{other}");
    }
    // The CPUs of a node whose line is missing are unknown.
    let nodes =
        machines("$ numactl -H | head -2\navailable: 2 nodes (0-1)\nnode 0 cpus: 0 1 2 3\n", Split::Hosts);
    let nodes = nodes.unwrap().remove(0).machine;
    assert_eq!((nodes.counts.nodes, nodes.nodes.len(), nodes.cpus.len()), (Some(2), 1, 0));
}

#[test]
fn lines_that_name_two_hosts_tell_machines_apart() {
    let free = |used: u32| {
        format!(
            "              total        used        free      shared  buff/cache   available\n\
             Mem:          32095 {used:11}       20480        112        7493       27540\n"
        )
    };
    let stat = |throttled: u32| format!("nr_periods 81231\nnr_throttled {throttled}\n");
    let load =
        |load: u32| format!(" 10:11:12 up 12 days,  1:03,  1 user,  load average: {load}.20, 0.31, 0.12\n");
    let text = |one: &str, other: &str, output: &dyn Fn(u32) -> String| {
        format!("{one}\n{}{other}\n{}", output(1), output(2))
    };
    for (one, other) in [
        ("=== node1 ===", "=== node2 ==="),
        ("[node1]", "[node2]"),
        ("node1:", "node2:"),
        ("## web-1", "## web-2"),
        ("**web1.example.com**", "**web2.example.com**"),
        ("* prod-db-01:", "* prod-db-02:"),
        ("10.0.0.1:", "10.0.0.2:"),
        ("Host: frodo", "Host: gandalf"),
        ("Connecting to db1...", "Connecting to db2..."),
        ("[1] 10:11:12 [SUCCESS] frodo", "[2] 10:11:13 [SUCCESS] gandalf"),
        ("$ docker exec -it web1 sh -c x", "$ docker exec web2 sh -c x"),
        ("# kubectl -n shop exec deploy/a -- sh", "# kubectl exec -n shop deploy/b -- sh"),
        ("The host:", "The guest:"),
        ("Server A (fast):", "Server B (slow):"),
    ] {
        for output in [&free as &dyn Fn(u32) -> String, &stat, &load] {
            let two = text(one, other, output);
            assert!(matches!(machines(&two, Split::Hosts), Err(Error::SeveralMachines(_))), "{two}");
            assert_eq!(machines(&two, Split::Headings).unwrap().len(), 2, "{two}");
        }
    }
    for (one, other) in [
        ("Before:", "After:"),
        ("run 1:", "run 2:"),
        ("=== gcc12 ===", "=== gcc13 ==="),
        ("[node0]", "[node1]"),
        ("node1:", "node1:"),
        ("$ free -m", "$ sleep 5; free -m"),
        ("$ docker exec web1 sh -c x", "$ docker exec -it web1 sh -c x"),
        ("=== web1 ===", "$ docker exec app1 sh -c x"),
        // Versions, settings, parts of a machine and the same host in two spellings.
        ("=== node18 ===", "=== node20 ==="),
        ("=== app-v1 ===", "=== app-v2 ==="),
        ("## web-1.0", "## web-2.0"),
        ("== db-4.8 ==", "== db-5.0 =="),
        ("## 23.8.2.7", "## 23.9.1.1"),
        ("# vm.nr_hugepages_2m", "# vm.nr_hugepages_1g"),
        ("==> app-1.log <==", "==> app-2.log <=="),
        ("Node0:", "Node1:"),
        ("[node1]", "[node0]"),
        ("numa-node0:", "numa-node1:"),
        ("=== web1 ===", "=== Web1 ==="),
        ("=== web1 ===", "=== web1.example.com ==="),
        ("[SUCCESS] build", "[SUCCESS] deploy"),
        ("I run docker exec into the box.", "docker exec is slow there too."),
    ] {
        for output in [&free as &dyn Fn(u32) -> String, &stat, &load] {
            let one = text(one, other, output);
            let machines = machines(&one, Split::Hosts).unwrap();
            assert_eq!((machines.len(), machines[0].import.contradictions.len()), (1, 0), "{one}");
        }
    }
}

#[test]
fn of_two_loads_the_last_one_counts() {
    let imported = machines(
        "[u@h ~]$ uptime\n 09:13:01 up 41 days, 22:10,  1 user,  load average: 14.12, 13.81, 12.22\n\
         [u@h ~]$ top -bn1\ntop - 09:13:10 up 41 days, 22:10,  1 user,  load average: 14.02, 13.80, 12.23\n",
        Split::Hosts,
    );
    let imported = imported.unwrap().remove(0);
    assert_eq!(imported.state.load, Some([14.02, 13.8, 12.23]));
    assert_eq!(imported.import.contradictions, []);
}

#[test]
fn results_of_two_machines_in_one_format_are_refused() {
    let table = |seconds: f64| {
        format!(
            "\n| Command | Mean [s] | Min [s] | Max [s] | Relative |\n|:---|---:|---:|---:|---:|\n| `make` | {seconds:.3} ± 1.212 | 90.112 | 93.412 | 1.00 |\n"
        )
    };
    let yaml = |host: &str| {
        format!(
            "---\nsystem-info:\n      stress-ng-version: 0.15.06\n      hostname: {host}\n      release: 6.1.0-28-amd64\n      \
             machine: x86_64\n      cpus-online: 8\nmetrics:\n    - stressor: cpu\n      bogo-ops-per-second-real-time: 3410.98\n"
        )
    };
    let tables = |one: &str, other: &str| format!("{one}\n{}\n{other}\n{}", table(91.231), table(131.231));
    for two in [tables("Old box:", "New box:"), format!("{}\n...\n{}", yaml("node-a"), yaml("node-b"))] {
        assert!(matches!(machines(&two, Split::Hosts), Err(Error::SeveralMachines(_))), "{two}");
    }
    assert_eq!(machines(&tables("Old box:", "New box:"), Split::Headings).unwrap().len(), 2);
    let one = machines(&yaml("node-a"), Split::Hosts).unwrap().remove(0).machine;
    assert_eq!((one.hostname.as_deref(), one.counts.cpus_online), (Some("node-a"), Some(8)));
    assert_eq!(one.kernel.release.as_deref(), Some("6.1.0-28-amd64"));
    assert_eq!(machines(&tables("Before:", "After:"), Split::Hosts).unwrap()[0].measurements.len(), 2);
}
