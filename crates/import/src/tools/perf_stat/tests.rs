//! Real outputs and their expected results.

use proptest::prelude::*;
use record::Label;
use record::detail;

use crate::Imported;
use crate::tools::testing::{damaged, figures, import, the};

const INTEL: &str = include_str!("../../../tests/texts/perf-intel.txt");
const KUNPENG: &str = include_str!("../../../tests/texts/perf-kunpeng.txt");
const HYGON: &str = include_str!("../../../tests/texts/perf-hygon.txt");
const PHYTIUM: &str = include_str!("../../../tests/texts/perf-phytium.txt");
const MEMORY_BOUND: &str = include_str!("../../../tests/texts/perf-intel-memory-bound.txt");
const CPU_BOUND: &str = include_str!("../../../tests/texts/perf-intel-cpu-bound.txt");
const REPEATED: &str = include_str!("../../../tests/texts/perf-repeated.txt");
const INTERVALS: &str = include_str!("../../../tests/texts/perf-intervals.txt");
const PER_CPU: &str = include_str!("../../../tests/texts/perf-per-cpu.txt");
const PER_SOCKET: &str = include_str!("../../../tests/texts/perf-per-socket.txt");
const FIELDS: &str = include_str!("../../../tests/texts/perf-fields.txt");
const JSON: &str = include_str!("../../../tests/texts/perf-json.txt");

const ALL: &[&str] = &[
    INTEL,
    KUNPENG,
    HYGON,
    PHYTIUM,
    MEMORY_BOUND,
    CPU_BOUND,
    REPEATED,
    INTERVALS,
    PER_CPU,
    PER_SOCKET,
    FIELDS,
    JSON,
];

const POWER: &str = "workload=echo \"7^999999\" | bc";

fn value(imported: &Imported, place: &str) -> f64 {
    the(imported, place).value()
}

#[test]
fn a_power_of_7_on_four_machines_reads_as_published() {
    let of = |text: &str, scope: &str| {
        let imported = import(text);
        let ipc = value(&imported, &format!("core.ipc {POWER} source=pmu scope={scope}"));
        (value(&imported, &format!("workload.time {POWER}")), (ipc * 100.0).round() / 100.0)
    };
    assert_eq!(of(INTEL, "process"), (18.603323495, 2.19));
    assert_eq!(of(KUNPENG, "process"), (24.604603640, 1.84));
    // These two counted the whole machine, so the IPC is not that of bc.
    assert_eq!(of(HYGON, "system"), (26.729972414, 0.92));
    assert_eq!(of(PHYTIUM, "system"), (39.654819568, 0.43));
}

#[test]
fn every_counter_is_kept_exactly_with_its_share_of_time() {
    let imported = import(INTEL);
    let branches = the(&imported, &format!("counter.count event=branches {POWER} scope=process"));
    assert_eq!((branches.value(), branches.detail.get(detail::COVERAGE)), (25_130_886_211.0, Some(0.1072)));
    assert_eq!(imported.measurements.iter().filter(|m| m.metric == "counter.count").count(), 28);
    assert_eq!(value(&imported, &format!("workload.cpu_time {POWER} state=user")), 18.525904);
    assert_eq!(value(&imported, &format!("workload.cpu_time {POWER} state=system")), 0.015197);
    let origin = branches.origin.as_ref().expect("an imported figure has its line");
    assert_eq!((origin.tool.as_str(), origin.line), ("perf stat", 5));
    assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    let ipc = the(&imported, &format!("core.ipc {POWER} source=pmu scope=process"));
    assert_eq!(
        (ipc.detail.get(detail::STATED), ipc.detail.get(detail::COVERAGE)),
        (Some(2.19), Some(0.1787))
    );
    assert!(imported.import.contradictions.is_empty(), "{:?}", imported.import.contradictions);
}

#[test]
fn the_share_below_a_second_metric_belongs_to_the_line_above() {
    let imported = import(KUNPENG);
    let instructions = the(&imported, &format!("counter.count event=instructions {POWER} scope=process"));
    assert_eq!(instructions.detail.get(detail::COVERAGE), Some(0.6498));
}

#[test]
fn what_time_printed_around_perf_is_not_the_commands() {
    let imported = import(PHYTIUM);
    assert_eq!(value(&imported, "workload.time workload=perf stat echo \"7^999999\" | bc"), 39.763);
    assert_eq!(
        value(&imported, "workload.cpu_time workload=perf stat echo \"7^999999\" | bc state=user"),
        39.635
    );
    assert_eq!(
        value(&imported, &format!("counter.count event=bus-cycles {POWER} scope=system")),
        602038279874.0
    );
}

#[test]
fn two_loops_of_one_article_keep_their_names() {
    for (text, name, seconds, ipc) in
        [(MEMORY_BOUND, "memory_bound", 16.700731355, 0.70), (CPU_BOUND, "cpu_bound", 10.838808208, 1.57)]
    {
        let imported = import(text);
        assert_eq!(value(&imported, &format!("workload.time workload={name}")), seconds);
        let read = value(&imported, &format!("core.ipc workload={name} source=pmu scope=system"));
        assert!((read - ipc).abs() < 0.005, "{read}");
    }
}

#[test]
fn counters_without_a_heading_are_the_commands_above() {
    let text = "$ perf stat -e task-clock,cycles -- ./a.exe \n    11984.691958  task-clock (msec) #    1.000 CPUs utilized\n  \
        32,427,294,227  cycles            #    2.706 GHz\n      11.989164338 seconds time elapsed\n";
    let imported = import(text);
    assert_eq!(
        figures(&imported),
        [
            "counter.count event=task-clock workload=a.exe scope=process: 11984691958",
            "counter.count event=cycles workload=a.exe scope=process: 32427294227",
            "core.clock: 2705726133.0237355",
            "workload.time workload=a.exe: 11.989164338",
        ]
    );
    assert_eq!(the(&imported, "core.clock").method.as_deref(), Some("perf stat: cycles over CPU time"));
    let imported = import(
        "$ perf stat -r 10 -- sudo nice -n -5 taskset -c 1 a.exe\n    0   context-switches\n    0   cpu-migrations\n",
    );
    assert_eq!(value(&imported, "counter.count event=context-switches workload=a.exe scope=process"), 0.0);
}

#[test]
fn several_runs_are_a_mean_with_its_error() {
    let imported = import(REPEATED);
    let faults = the(&imported, "counter.count event=page-faults workload=true scope=process");
    assert_eq!(faults.detail.get(detail::RUNS), Some(3));
    assert_eq!(faults.detail.get(detail::STANDARD_ERROR), Some(0.0068000000000000005));
    let time = the(&imported, "workload.time workload=true");
    assert_eq!((time.value(), time.detail.get(detail::STANDARD_ERROR)), (0.0011939, Some(0.0405)));
    assert_eq!(figures(&imported).len(), 3, "an unsupported event has no result: {:#?}", figures(&imported));
}

#[test]
fn intervals_add_up_and_their_sums_give_the_ipc() {
    let imported = import(INTERVALS);
    let faults = the(&imported, "counter.count event=page-faults scope=process");
    assert_eq!((faults.value(), faults.detail.get(detail::INTERVALS)), (78.0, Some(2)));
    let text = "#           time             counts unit events\n     1.000123456      1,000,000      cycles\n     1.000123456      \
        2,000,000      instructions  #  2.00  insn per cycle\n     2.000123456      1,000,000      cycles\n     2.000123456      \
        500,000      instructions  #  0.50  insn per cycle\n";
    let imported = import(text);
    assert_eq!(the(&imported, "core.ipc source=pmu").samples, [1.25]);
    // Longer intervals have more weight.
    let imported =
        import(&text.replace("1,000,000      cycles\n     2.0", "9,000,000      cycles\n     2.0"));
    assert_eq!(value(&imported, "core.ipc source=pmu"), 0.25);
    // Ended with Ctrl-C, which the terminal shows.
    let ended = format!(
        "{text}^C     2.512345678        500,000      cycles\n     2.512345678        250,000      instructions\n"
    );
    assert_eq!(value(&import(&ended), "core.ipc source=pmu"), 1.1);
    // An interval with only one of the two counts is inconclusive.
    let cut = import(&format!("{text}     2.512345678        250,000      instructions\n"));
    assert!(!figures(&cut).iter().any(|f| f.starts_with("core.ipc")) && cut.import.withheld.len() == 1);
}

#[test]
fn cpus_stay_apart_and_groups_have_a_sum() {
    let imported = import(PER_CPU);
    let clocks: Vec<String> = figures(&imported).into_iter().filter(|f| f.contains("cpu-clock")).collect();
    assert_eq!(clocks.len(), 2, "{clocks:?}");
    assert!(clocks[0].starts_with("counter.count event=cpu-clock cpu=0 scope=system"), "{clocks:?}");
    let imported = import(PER_SOCKET);
    let switches = the(&imported, "counter.count event=context-switches scope=system");
    assert_eq!(switches.detail.get(detail::SUM_OF), Some("S0"));
    assert!(
        !figures(&imported).iter().any(|f| f.starts_with("workload.time")),
        "sleep 0.1 is the window, no workload"
    );
    assert_eq!(value(&imported, "counter.count event=context-switches scope=system S0"), switches.value());
    let text = " Performance counter stats for 'system wide':\n\nS0-D0-C0      2      1,000      cycles\nS0-D0-C0      2      \
        500      instructions   #    0.50  insn per cycle\nS1-D0-C0      2      1,000      cycles\nS1-D0-C0      2      \
        1,500      instructions   #    1.50  insn per cycle\n\n       1.001 seconds time elapsed\n";
    let imported = import(text);
    for (scope, ipc) in [("system", 1.0), ("system S0-D0-C0", 0.5), ("system S1-D0-C0", 1.5)] {
        assert_eq!(value(&imported, &format!("core.ipc source=pmu scope={scope}")), ipc);
    }
    assert!(imported.import.contradictions.is_empty(), "{:?}", imported.import.contradictions);
    // If a CPU is its own group, the number of its CPUs follows it.
    let imported = import(&text.replace("S0-D0-C0", "CPU0").replace("S1-D0-C0", "CPU1"));
    assert_eq!(value(&imported, "counter.count event=cycles cpu=1 scope=system"), 1000.0);
}

#[test]
fn an_event_of_several_groups_is_one_count_and_no_sum() {
    let text = " Performance counter stats for 'x':\n\n  3,000,000,000  cycles  (50.00%)\n  4,500,000,000  instructions  \
        #    1.50  insn per cycle  (50.00%)\n  3,000,300,000  cycles  (66.00%)\n  1,000  branch-misses  (66.00%)\n  \
        2,999,700,000  cycles  (33.00%)\n  1,000  cache-misses  (33.00%)\n";
    let fields = "3000000000,,cycles,500,50.00,,\n4500000000,,instructions,500,50.00,1.50,insn per cycle\n3000300000,,cycles,660,66.00,,\n1000,,branch-misses,660,66.00,,\n2999700000,,cycles,330,33.00,,\n";
    for (text, of) in [(text, "workload=x source=pmu scope=process"), (fields, "source=pmu")] {
        let imported = import(text);
        let cycles =
            imported.measurements.iter().find(|m| m.labels.word(Label::Event) == Some("cycles")).unwrap();
        assert_eq!((cycles.value(), cycles.detail.get(detail::COVERAGE)), (3_000_300_000.0, Some(0.66)));
        let ipc = value(&imported, &format!("core.ipc {of}"));
        assert!((ipc - 1.5).abs() < 0.001, "{ipc}");
        assert!(imported.import.contradictions.is_empty(), "{:?}", imported.import.contradictions);
    }
    let apart = import(
        " Performance counter stats for 'x':\n\n  1,000  cycles  (50.00%)\n  2,000  cycles  (50.00%)\n",
    );
    assert!(apart.measurements[0].value() == 1000.0 && apart.measurements[0].doubt.is_some());
    // Within each interval, only one group's count is used as well.
    let text = "#           time             counts unit events\n     1.000123456      1,000      cycles\n     1.000123456      \
        1,010      cycles\n     2.000123456      500      cycles\n     2.000123456      510      cycles\n";
    let cycles = import(text).measurements[0].clone();
    assert_eq!((cycles.value(), cycles.detail.get(detail::INTERVALS)), (1500.0, Some(2)));
}

#[test]
fn tables_of_top_down_shares_are_read_to_level_2() {
    let old = "              retiring      bad speculation       frontend bound        backend bound     heavy operations     \
        light operations    branch mispredict       machine clears        fetch latency      fetch bandwidth         memory \
        bound           Core bound\n                 26.1%                 3.9%                43.3%                26.7%    \
        5.9%                20.2%                 3.6%                 0.3%                31.0%                12.3%      \
        15.7%                11.0%\n";
    let new = "             %  tma_retiring %  tma_bad_speculation %  tma_frontend_bound %  tma_backend_bound\n  26.1   3.9  \
        43.3  26.7\n";
    let head = " Performance counter stats for './a':\n\n";
    let end = "\n       1.001234567 seconds time elapsed\n";
    for (text, count) in [(old, 12), (new, 4)] {
        let imported = import(&format!("{head}{text}{end}"));
        assert_eq!(figures(&imported).len(), count + 1, "{:#?}", figures(&imported));
        assert_eq!(value(&imported, "counter.share category=bad-speculation workload=a"), 0.039);
        assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    }
    let metrics = "         1,234,567      slots     #     10.5 %  tma_branch_mispredicts\n    #      0.4 %  tma_machine_clears\n \
        #     12.0 %  tma_core_bound\n   #     20.5 %  tma_memory_bound\n    #      4.5 %  tma_dram_bound\n";
    let imported = import(&format!("{head}{metrics}{end}"));
    assert_eq!(value(&imported, "counter.share category=memory-bound workload=a"), 0.205);
    assert_eq!(value(&imported, "workload.time workload=a"), 1.001234567);
    assert_eq!(imported.import.withheld.len(), 1, "level 3 is withheld: {:?}", imported.import.withheld);
    let cores = "                       retiring      bad speculation       frontend bound        backend bound\nS0-D0-C0      2   \
        38.7%                 2.0%                17.0%                42.3%\n";
    let imported = import(&format!("{head}{cores}{end}"));
    assert_eq!(imported.import.withheld.len(), 1, "{:?}", imported.import.withheld);
    assert!(!figures(&imported).iter().any(|figure| figure.starts_with("counter.share")));
}

#[test]
fn what_a_margin_broke_off_a_line_is_no_event() {
    let text = " Performance counter stats for 'true':\n\n              0.54 msec task-clock                       #\n    0.107 \
        CPUs utilized\n                50      page-faults                      #\n   93.346 K/sec\n";
    assert_eq!(
        figures(&import(text)),
        [
            "counter.count event=task-clock workload=true scope=process: 540000",
            "counter.count event=page-faults workload=true scope=process: 50"
        ]
    );
}

#[test]
fn an_event_without_its_line_of_an_interval_has_no_sum() {
    let text = "#           time             counts unit events\n     1.000123456      1,000      cycles\n     1.000123456      \
        2,000      branches\n     2.000123456      500      cycles\n";
    let imported = import(text);
    assert_eq!(figures(&imported), ["counter.count event=cycles: 1500"]);
    assert_eq!(imported.import.withheld[0].what, "counter.count branches");
}

#[test]
fn top_down_shares_and_energy_are_read_in_every_form() {
    let text = " Performance counter stats for 'x':\n\n     1,589,502,677      instructions                     #    1.35  \
        insn per cycle              ( +-  0.14% )\n                        TopdownL1                 #     13.4 %  \
        tma_backend_bound\n                                                  #     35.1 %  tma_bad_speculation      \
        (88.90%)\n                                                  #     30.7 %  tma_frontend_bound\n                 \
        #     20.8 %  tma_retiring             ( +-  0.12% )\n  2.50 Joules power/energy-pkg/\n";
    let alone: String =
        text.lines().filter(|line| line.contains("tma_")).map(|line| format!("{line}\n")).collect();
    let fields = "1000,,cycles,500,100.00,,\n,,,,,,13.4,%  tma_backend_bound\n,,,,,,35.1,%  tma_bad_speculation\n,,,,,,30.7,%  tma_frontend_bound\n,,,,,,20.8,%  tma_retiring\n";
    let json: String = [
        ("13.4", "backend_bound"),
        ("35.1", "bad_speculation"),
        ("30.7", "frontend_bound"),
        ("20.8", "retiring"),
    ]
    .map(|(value, name)| format!("{{\"metric-value\" : \"{value}\", \"metric-unit\" : \"%  tma_{name}\"}}\n"))
    .concat();
    for (text, of) in [(text, " workload=x"), (&alone, ""), (fields, ""), (&json, "")] {
        let imported = import(text);
        for (category, share) in [
            ("backend-bound", 0.134),
            ("bad-speculation", 0.351),
            ("frontend-bound", 0.307),
            ("retiring", 0.208),
        ] {
            let read = value(&imported, &format!("counter.share category={category}{of}"));
            assert!((read - share).abs() < 1e-9, "{read} for {share} in {text}");
        }
    }
    let imported = import(text);
    let instructions = the(&imported, "counter.count event=instructions workload=x scope=process");
    assert!(!instructions.detail.has(detail::COVERAGE), "the share of time is the metric's");
    let energy = the(&imported, "counter.count event=power/energy-pkg/ workload=x scope=process");
    assert_eq!((energy.value(), energy.detail.get(detail::UNIT)), (2.5, Some("J")));
    assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    let hybrid = import(&text.replace("TopdownL1  ", "TopdownL1 (cpu_core)"));
    assert!(!figures(&hybrid).iter().any(|f| f.starts_with("counter.share")));
    assert_eq!(hybrid.import.withheld.len(), 4, "{:?}", hybrid.import.withheld);
}

#[test]
fn fields_parted_by_blanks_are_read() {
    let imported =
        import("0.68 msec cpu-clock 680617 100.00 0.505 CPUs utilized\n7  cs 680617 100.00 0.000 /sec\n");
    assert_eq!(value(&imported, "counter.count event=cpu-clock scope=system"), 680_000.0);
    assert_eq!(value(&imported, "counter.count event=context-switches scope=system"), 7.0);
}

#[test]
fn fields_and_json_say_what_the_text_says() {
    for text in [FIELDS, JSON] {
        let imported = import(text);
        assert_eq!(imported.measurements.len(), 2, "{:#?}", figures(&imported));
        let clock = value(&imported, "counter.count event=task-clock scope=process");
        assert!((1e5..1e7).contains(&clock), "nanoseconds: {clock}");
        assert!(value(&imported, "counter.count event=page-faults scope=process") > 10.0);
    }
}

#[test]
fn an_impossible_share_is_text_and_throws_doubt_on_the_count() {
    let text = " Performance counter stats for './pause':\n\n       436,989,474      instructions              #    0.03  insn per \
        cycle          (378407232880.48%)\n    15,542,649,611      cycles                                     \
        (378407232880.48%)\n\n       5.0 seconds time elapsed\n";
    let imported = import(text);
    assert_eq!(imported.import.withheld.len(), 2, "{:?}", imported.import.withheld);
    assert!(imported.import.withheld[0].why.contains("378407232880.48 %"), "{:?}", imported.import.withheld);
    let ipc = the(&imported, "core.ipc workload=pause source=pmu scope=process");
    assert!(ipc.doubt.is_some() && (ipc.value() - 0.0281).abs() < 1e-4, "{ipc:?}");
    assert!(!ipc.detail.has(detail::COVERAGE));
}

#[test]
fn a_stated_ipc_that_its_own_counts_deny_is_a_contradiction() {
    let text = " Performance counter stats for 'x':\n\n   1,000      cycles\n   2,000      instructions   #   0.43  insn per cycle\n";
    let imported = import(text);
    assert_eq!(imported.import.contradictions.len(), 1);
    assert_eq!(value(&imported, "core.ipc workload=x source=pmu scope=process"), 2.0);
    let text = " Performance counter stats for 'x':\n\n   1,000      cycles\n   20,000      instructions\n";
    let imported = import(text);
    assert!(!figures(&imported).iter().any(|f| f.starts_with("core.ipc")), "20 per cycle is impossible");
    assert_eq!(imported.import.withheld.len(), 1);
}

#[test]
fn modes_and_kinds_of_cores_are_not_mixed() {
    let text = " Performance counter stats for 'x':\n\n  1,000  cpu_core/cycles/u\n  2,000  cpu_core/instructions/u\n  1,000  \
        cpu_atom/cycles/u\n  500  cpu_atom/instructions/u\n  10  sched:sched_switch\n";
    let imported = import(text);
    assert_eq!(value(&imported, "core.ipc workload=x kind=cpu_core source=pmu scope=process"), 2.0);
    assert_eq!(value(&imported, "core.ipc workload=x kind=cpu_atom source=pmu scope=process"), 0.5);
    assert_eq!(value(&imported, "counter.count event=sched:sched_switch workload=x scope=process"), 10.0);
    let text = " Performance counter stats for 'x':\n\n  1,000  cycles:u\n  2,000  instructions:k\n";
    assert!(!figures(&import(text)).iter().any(|f| f.starts_with("core.ipc")));
}

#[test]
fn a_process_that_ran_already_is_not_the_command_that_waited() {
    let text = "# perf stat -e cycles,instructions -p 61238 sleep 5\n\n Performance counter stats for process id '61238':\n\n     \
        1,000      cycles\n     40      instructions\n\n    5.0012 seconds time elapsed\n";
    let imported = import(text);
    assert_eq!(value(&imported, "core.ipc workload=process 61238 source=pmu scope=process"), 0.04);
    assert!(!figures(&imported).iter().any(|f| f.starts_with("workload.time")));
}

#[test]
fn two_outputs_one_after_the_other_stay_two() {
    let imported = import(&format!("{MEMORY_BOUND}\n{CPU_BOUND}"));
    assert_eq!(imported.import.outputs.len(), 2);
    assert_eq!(value(&imported, "workload.time workload=memory_bound"), 16.700731355);
    assert_eq!(value(&imported, "workload.time workload=cpu_bound"), 10.838808208);
}

#[test]
fn a_summary_behind_intervals_is_not_added_to_them() {
    let text = "#           time             counts unit events\n     0.051455576        1,000      page-faults\n     \
        0.101455576        2,000      page-faults\n\n Performance counter stats for 'x':\n\n      3,000      page-faults\n\n       \
        0.101455576 seconds time elapsed\n";
    let imported = import(text);
    assert_eq!(imported.import.outputs.len(), 2);
    let counts: Vec<f64> =
        imported.measurements.iter().filter(|m| m.metric == "counter.count").map(|m| m.value()).collect();
    assert_eq!(counts, [3000.0, 3000.0]);
}

#[test]
fn fields_alone_tell_whose_counts_they_are_or_nobody_knows() {
    let of = |text: &str| import(text).measurements[0].clone();
    let system = of(
        "CPU0,171.96,msec,cpu-clock,171966602,100.00,1.103,CPUs utilized\nCPU1,155.96,msec,cpu-clock,155959990,100.00,,\n",
    );
    assert_eq!((system.labels.word(Label::Scope), system.doubt), (Some("system"), None));
    let socket = of("S0,2,163,,context-switches,258569831,100.00,630.398,/sec\n");
    assert_eq!(socket.labels.word(Label::Scope), Some("system"));
    let process =
        of("585703,,instructions,585703,100.00,,\n0.59,msec,task-clock,585703,100.00,0.296,CPUs utilized\n");
    assert_eq!(process.labels.word(Label::Scope), Some("process"));
    let imported = import("1000,,cycles,585703,100.00,,\n2000,,instructions,585703,100.00,,\n");
    assert!(
        imported.measurements.iter().all(|m| m.labels.word(Label::Scope).is_none() && m.doubt.is_some()),
        "{imported:?}"
    );
}

proptest! {
    #[test]
    fn no_damaged_output_panics(which in 0..ALL.len(), at in 0usize..10_000, cut in 0usize..60, with in "\\PC{0,12}") {
        let _ = import(&damaged(ALL[which], at, cut, &with));
    }
}

#[test]
fn what_a_command_was_run_under_is_kept_beside_its_figures() {
    let output = "\n Performance counter stats for 'nice -n 5 ./a.exe 3':\n\n               102      context-switches\n\n       \
                  1.235672431 seconds time elapsed\n";
    let under = |text: &str| {
        let imported = import(text);
        let m = the(&imported, "workload.time workload=a.exe 3").clone();
        m.detail.get(detail::RUN_UNDER).map(str::to_owned)
    };
    assert_eq!(under(output).as_deref(), Some("nice -n 5"));
    let typed = format!("$ taskset -c 0 perf stat nice -n 5 ./a.exe 3\n{output}");
    assert_eq!(under(&typed).as_deref(), Some("taskset -c 0 nice -n 5"));
    assert_eq!(under(&output.replace("nice -n 5 ", "")), None);
}

#[test]
fn shares_of_slots_have_the_names_that_perf_gave_them_before_tma() {
    let line = "       300,000,000      topdown-retiring                 #     30.0% Retiring                 (80.00%)\n";
    let more = "       200,000,000      topdown-bad-spec                 #     20.5% Bad Speculation          (80.00%)\n";
    let fields = "300000000,,topdown-retiring,1000500000,100.00,30.0,Retiring\n\
                  200000000,,topdown-bad-spec,1000500000,100.00,20.5,Bad Speculation\n";
    let head = " Performance counter stats for 'a.out':\n\n";
    for text in [format!("{head}{line}{more}"), format!("{line}{more}"), fields.to_owned()] {
        let imported = import(&text);
        let share = |category: &str| {
            let of = |m: &&record::Measurement| {
                m.metric == "counter.share" && m.labels.word(Label::Category) == Some(category)
            };
            imported.measurements.iter().find(of).map(|m| m.value())
        };
        assert_eq!((share("retiring"), share("bad-speculation")), (Some(0.3), Some(0.205)), "{text}");
    }
}

#[test]
fn fields_of_energy_alone_are_read() {
    let imported = import("31.25,Joules,power/energy-pkg/,1000500000,100.00,,\n");
    assert!(figures(&imported).iter().any(|figure| figure.ends_with(": 31.25")), "{:?}", figures(&imported));
}
