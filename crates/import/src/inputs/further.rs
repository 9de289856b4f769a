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
    // Elsewhere a name says nothing.
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
fn ibm_z_counts_its_cores_in_books_and_drawers_in_every_language() {
    let english = "Architecture: s390x\nCPU(s): 8\nOn-line CPU(s) list: 0-7\nThread(s) per core: 2\nCore(s) per socket: 2\n\
        Socket(s) per book: 2\nBook(s) per drawer: 1\nDrawer(s): 1\nVendor ID: IBM/S390\nMachine type: 3906\n";
    let german = "Architektur: s390x\nCPU(s): 8\nListe der Online-CPU(s): 0-7\nThread(s) pro Kern: 2\nKern(e) pro Socket: 2\n\
        Sockel pro Buch: 2\nBuch/Bücher pro Schublade: 1\nSchublade(n): 1\nAnbieterkennung: IBM/S390\n";
    for text in [english, german] {
        let counts = import(text).machine.counts;
        assert_eq!((counts.packages, counts.cores), (Some(2), Some(4)), "{text}");
        // A part of a machine that is larger.
        let part = import(
            &text.replace("er): 1", "er): 4").replace("(n): 1", "(n): 4").replace("wer(s): 1", "wer(s): 4"),
        );
        assert_eq!(part.machine.counts.cores, None, "{:?}", part.machine.counts);
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
