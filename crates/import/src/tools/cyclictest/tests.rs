//! Real outputs and their expected results.

use proptest::prelude::*;
use record::detail;

use crate::tools::testing::{damaged, figures, import, the};

const SERVER: &str = include_str!("../../../tests/texts/cyclictest-server.txt");
const BOUND: &str = include_str!("../../../tests/texts/cyclictest-bound.txt");
const HISTOGRAM: &str = include_str!("../../../tests/texts/cyclictest-histogram.txt");
const SUMMED: &str = include_str!("../../../tests/texts/cyclictest-histogram-summed.txt");
const VERBOSE: &str = include_str!("../../../tests/texts/cyclictest-verbose.txt");
const JSON: &str = include_str!("../../../tests/texts/cyclictest.json");
const ALL: &[&str] = &[SERVER, BOUND, HISTOGRAM, SUMMED, VERBOSE, JSON];

#[test]
fn an_ordinary_thread_kept_awake_is_neither_tuned_nor_as_is() {
    let imported = import(SERVER);
    assert_eq!(
        figures(&imported),
        [
            "wakeup.minimum policy=other priority=0 setting=awake: 5000",
            "wakeup.average policy=other priority=0 setting=awake: 11000",
            "wakeup.maximum policy=other priority=0 setting=awake: 21205000",
        ]
    );
    let average = the(&imported, "wakeup.average policy=other priority=0 setting=awake");
    assert_eq!(average.detail.get(detail::DMA_LATENCY_US), Some(0));
    assert_eq!(average.detail.get(detail::CYCLES), Some(299_848));
    assert_eq!(average.detail.get(detail::LOADAVG), Some("0.00 0.04 0.69 1/235 9864"));
    assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
}

#[test]
fn bound_real_time_threads_have_their_cpus() {
    let imported = import(BOUND);
    let all = figures(&imported);
    assert_eq!(all.len(), 6, "{all:#?}");
    assert_eq!(all[1], "wakeup.average cpu=0 policy=fifo priority=80 setting=tuned: 15000");
    assert_eq!(all[5], "wakeup.maximum cpu=1 policy=fifo priority=80 setting=tuned: 1008000");
}

#[test]
fn a_histogram_gives_the_median_that_no_line_tells() {
    let imported = import(HISTOGRAM);
    let m = the(&imported, "wakeup.latency cpu=1 policy=other setting=awake corrected=false");
    assert_eq!((m.summary.n, m.summary.min, m.summary.max), (300, 64_000.0, 3_968_000.0));
    assert_eq!((m.summary.median, m.summary.mean), (72_000.0, Some(168_000.0)));
    assert_eq!(m.distribution.iter().map(|bucket| bucket.count).sum::<u64>(), 291);
    let first = the(&imported, "wakeup.latency cpu=0 policy=other setting=awake corrected=false");
    assert_eq!((first.summary.n, first.detail.get(detail::OVERFLOW)), (300, Some(18)));
    assert_eq!(the(&imported, "wakeup.maximum cpu=0 policy=other setting=awake").value(), 17_398_000.0);
    assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
}

#[test]
fn the_largest_number_is_no_overflow() {
    let imported = import(
        "Max CPUs = 1\nThread 0 Interval: 1000\n       0:       0:      18446744073709551615\n       0:       1:       5\n",
    );
    assert!(imported.measurements.iter().all(|m| m.value().is_finite()), "{:#?}", figures(&imported));
}

#[test]
fn a_histogram_that_is_cut_off_gives_no_median() {
    let cuts = [
        ("\n000090", "# Total"),
        ("# Total", "# Total"),
        ("# Max", "last lines"),
        ("# Histogram Overflows", "last lines"),
    ];
    for (at, why) in cuts {
        let cut = HISTOGRAM.find(at).unwrap() + 1;
        let imported = import(&format!("{}\n", &HISTOGRAM[..cut - usize::from(at.starts_with('#'))]));
        assert!(imported.measurements.is_empty(), "{at}: {:#?}", figures(&imported));
        assert!(imported.import.withheld[0].why.contains(why), "{at}: {:?}", imported.import.withheld);
    }
    let imported = import(&HISTOGRAM.replace("000099 000001\t000000\n", ""));
    assert!(imported.import.withheld[0].why.contains("# Total is 282"), "{:?}", imported.import.withheld);
}

#[test]
fn the_column_of_all_threads_is_no_thread_and_an_overflowing_median_is_none() {
    let imported = import(SUMMED);
    assert!(
        !figures(&imported).iter().any(|figure| figure.starts_with("wakeup.latency")),
        "{:#?}",
        figures(&imported)
    );
    assert_eq!(imported.import.withheld.len(), 2, "{:?}", imported.import.withheld);
    // Unbound threads are reported together.
    assert_eq!(the(&imported, "wakeup.minimum policy=other setting=awake").value(), 20_000.0);
    assert_eq!(the(&imported, "wakeup.maximum policy=other setting=awake").value(), 21_978_000.0);
}

#[test]
fn rows_that_are_missing_leave_the_extremes() {
    let whole = figures(&import(HISTOGRAM));
    let extremes =
        |all: &[String]| all.iter().filter(|f| !f.starts_with("wakeup.latency")).cloned().collect::<Vec<_>>();
    let some = HISTOGRAM.lines().enumerate().filter(|(at, line)| !(line.starts_with("0000") && at % 2 == 0));
    let cut: String = some.map(|(_, line)| format!("{line}\n")).collect();
    let imported = import(&cut);
    assert_eq!(figures(&imported), extremes(&whole));
    assert_eq!(imported.import.withheld.len(), 1, "{:?}", imported.import.withheld);
    // The rows are recognized without the header line.
    let bare: String =
        HISTOGRAM.lines().filter(|line| *line != "# Histogram").map(|line| format!("{line}\n")).collect();
    assert_eq!(figures(&import(&bare)), whole);
    assert!(!whole.is_empty());
}

#[test]
fn each_wake_up_counts() {
    let imported = import(VERBOSE);
    let latencies: Vec<u64> =
        imported.measurements.iter().filter(|m| m.metric == "wakeup.latency").map(|m| m.summary.n).collect();
    assert_eq!(latencies, [5, 5]);
    assert_eq!(imported.measurements[0].summary.median, 65_000.0);
    assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
}

#[test]
fn json_carries_the_decimals_of_its_average() {
    let imported = import(JSON);
    assert_eq!(the(&imported, "wakeup.average cpu=0 policy=other").value(), 72_590.0);
    assert_eq!(the(&imported, "wakeup.maximum cpu=1 policy=other").value(), 82_000.0);
    assert_eq!(imported.import.outputs[0].version.as_deref(), Some("2.40"));
    let cut = import(&format!("$ cyclictest --json=-\n{}", &JSON[..JSON.len() / 2]));
    assert!(cut.measurements.is_empty() && cut.import.withheld.len() == 1);
}

#[test]
fn the_last_line_of_a_thread_counts_and_another_run_is_another_output() {
    let line = |cycles: u32, average: u32| {
        format!("T: 0 ( 9136) P:80 I:1000 C:{cycles:7} Min:      5 Act:   11 Avg:{average:5} Max:   21205\n")
    };
    let imported = import(&format!("{}{}", line(100, 11), line(200, 12)));
    assert_eq!(the(&imported, "wakeup.average policy=fifo priority=80").value(), 12_000.0);
    let imported = import(&format!("{}{}", line(200, 12), line(100, 11)));
    assert_eq!(imported.import.outputs.len(), 2);
    let imported =
        import("T: 0 ( 9136) P:80 I:1000 C:      0 Min:1000000 Act:    0 Avg:    0 Max:       0\n");
    assert!(imported.measurements.is_empty() && imported.import.withheld.len() == 1);
}

#[test]
fn nanoseconds_that_no_command_line_tells_are_no_microseconds() {
    let text = "T: 0 ( 5350) P: 0 I:1000 C:    958 Min:  24786 Act:   72529 Avg:  129216 Max: 5416805\n";
    let imported = import(text);
    assert!(
        imported.measurements.is_empty() && imported.import.withheld[0].why.contains("-N"),
        "{:?}",
        imported.import
    );
    let imported = import(&format!("$ cyclictest -N -q -D 1\n{text}"));
    assert_eq!(the(&imported, "wakeup.average policy=other priority=0").value(), 129_216.0);
}

#[test]
fn a_terminal_that_was_overwritten_is_one_run() {
    let screen = |load: &str, first: &str, second: &str| {
        format!("\x1b[4Apolicy: other/other: loadavg: {load}          \n\n{first}\n{second}\n")
    };
    let before = "T: 0 (    0) P: 0 I:1000 C:      0 Min:1000000 Act:    0 Avg:    0 Max:       0";
    let one = "T: 0 ( 5413) P: 0 I:1000 C:   1851 Min:     21 Act:   81 Avg:  164 Max:   10743";
    let other = "T: 1 ( 5414) P: 0 I:1500 C:   1235 Min:     66 Act:   81 Avg:  208 Max:   20962";
    let text = format!(
        "{}{}",
        screen("1 2 3", before, &before.replace("T: 0", "T: 1")),
        screen("4 5 6", one, other)
    );
    let imported = import(&text);
    assert_eq!(
        (imported.import.outputs.len(), imported.import.withheld.len()),
        (1, 0),
        "{:?}",
        imported.import
    );
    assert_eq!(the(&imported, "wakeup.maximum policy=other priority=0").value(), 20_962_000.0);
}

#[test]
fn json_tells_the_machine_and_files_of_other_programs_are_theirs() {
    let file = "{\n  \"file_version\": 1,\n  \"cmdline:\": \"cyclictest -D 1 -q --json=x -S\",\n  \"sysinfo\": {\n    \"nodename\": \
        \"db1\",\n    \"release\": \"6.1.0\",\n    \"machine\": \"x86_64\"\n  },\n  \"resolution_in_ns\": 0,\n  \"thread\": {\n    \"0\": {\n      \
        \"cycles\": 957,\n      \"min\": 46,\n      \"max\": 10609,\n      \"avg\": 137.38,\n      \"cpu\": 0\n    }\n  }\n}\n";
    let imported = import(file);
    assert_eq!(imported.machine.hostname.as_deref(), Some("db1"));
    assert_eq!(imported.machine.kernel.release.as_deref(), Some("6.1.0"));
    assert_eq!(
        (imported.measurements.len(), imported.import.not_understood.lines),
        (3, 0),
        "{:?}",
        imported.import
    );
    let other = import(&file.replace("cyclictest", "signaltest"));
    assert!(other.measurements.is_empty() && other.import.withheld[0].why.contains("signaltest"));
}

/// A row of seven values with these blanks before the labels.
fn row(blanks: [&str; 7]) -> String {
    let [p, i, c, min, act, avg, max] = blanks;
    format!(
        "T: 0 (12345){p}P:99{i}I:1000{c}C:1000000{min}Min:      5{act}Act:   11{avg}Avg:   12{max}Max:   21205\n"
    )
}

#[test]
fn columns_without_a_blank_between_are_read_whole_or_not_at_all() {
    let whole = figures(&import(&row([" "; 7])));
    assert_eq!(whole.len(), 3);
    for places in 0..1 << 7 {
        let blanks = std::array::from_fn(|at| if places >> at & 1 == 1 { "" } else { " " });
        assert_eq!(figures(&import(&row(blanks))), whole, "{}", row(blanks));
    }
    let glued = row([""; 7]);
    // A damaged label or a unit does not end a number.
    for (from, to) in [("1000000Min:", "1000000in:"), ("1000000Min", "1000000kMin"), ("5Act", "5 7Act")] {
        let imported = import(&glued.replace(from, to));
        assert!(
            glued.contains(from) && imported.measurements.is_empty(),
            "{from}: {:#?}",
            figures(&imported)
        );
    }
    let rows = "# Histogram\n000058 000003000004\n000059 000001000002\n# Total: 004000006\n# Min Latencies: 00058\n\
        # Avg Latencies: 00058\n# Max Latencies: 00059\n# Histogram Overflows: 00000\n";
    let imported = import(rows);
    assert!(figures(&imported).iter().all(|f| !f.starts_with("wakeup.latency")), "{:#?}", figures(&imported));
}

/// A reader cannot detect a cut within a number, but detects all other damage.
#[test]
fn a_glued_row_that_lost_some_of_its_text_gives_no_other_value() {
    let (whole, glued) = (figures(&import(&row([" "; 7]))), row([""; 7]));
    for (at, end) in (0..glued.len()).flat_map(|at| (at + 1..=glued.len()).map(move |end| (at, end))) {
        if glued[at..end].contains(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let some = figures(&import(&damaged(&glued, at, end - at, "")));
        assert!(some.iter().all(|figure| whole.contains(figure)), "without {:?}: {some:?}", &glued[at..end]);
    }
}

proptest! {
    #[test]
    fn no_damaged_output_panics(which in 0..ALL.len(), at in 0usize..6000, cut in 0usize..60, with in "\\PC{0,12}") {
        let _ = import(&damaged(ALL[which], at, cut, &with));
    }
}
