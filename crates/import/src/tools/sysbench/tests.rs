use crate::tools::testing::{damaged, figures, import, the};
use proptest::prelude::*;
use record::detail;

const CPU: &str = include_str!("../../../tests/texts/sysbench-1.0-cpu.txt");
const MEMORY: &str = include_str!("../../../tests/texts/sysbench-1.0-memory.txt");
const THREADS: &str = include_str!("../../../tests/texts/sysbench-1.0-threads.txt");
const OLD: &str = include_str!("../../../tests/texts/sysbench-0.5-cpu.txt");
const OLTP: &str = include_str!("../../../tests/texts/sysbench-1.0-oltp.txt");

/// A latency saved with a rate, ms.
fn ms(m: &record::Measurement, name: &str) -> f64 {
    serde_json::to_value(&m.detail).unwrap()[name].as_f64().unwrap()
}

#[test]
fn a_fixed_time_gives_a_rate_and_no_time() {
    let imported = import(CPU);
    assert_eq!(
        figures(&imported),
        ["workload.throughput workload=sysbench cpu --cpu-max-prime=10000 threads=2: 8823.6"]
    );
    assert_eq!(ms(&imported.measurements[0], "latency_p95_ms"), 0.24);
    assert_eq!(imported.import.outputs[0].version.as_deref(), Some("1.0.20"));
    assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
}

#[test]
fn a_fixed_number_of_events_gives_the_time_of_published_tables() {
    let imported = import(OLD);
    let name = "workload=sysbench cpu --cpu-max-prime=50000 threads=1";
    assert_eq!(the(&imported, &format!("workload.time {name}")).value(), 83.2642);
    let rate = the(&imported, &format!("workload.throughput {name}"));
    assert_eq!(rate.value(), 10000.0 / 83.2642);
    assert_eq!(ms(rate, "latency_avg_ms"), 8.33);
    assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
}

#[test]
fn its_memory_test_is_no_memory_bandwidth() {
    let imported = import(MEMORY);
    let name = "workload=sysbench memory --memory-block-size=1KiB --memory-oper=write --memory-scope=global threads=1";
    assert_eq!(figures(&imported).len(), 1);
    let rate = the(&imported, &format!("workload.throughput {name}"));
    assert_eq!((rate.value(), rate.detail.get(detail::WORK)), (6843.84 * 1_048_576.0, Some("B")));
    let imported = import(THREADS);
    assert_eq!(figures(&imported).len(), 1);
    let rate = the(&imported, "workload.throughput workload=sysbench threads threads=1");
    assert_eq!(rate.value(), 682.0 / 1.0040);
}

#[test]
fn databases_have_transactions_and_queries() {
    let imported = import(OLTP);
    assert_eq!(
        figures(&imported),
        [
            "workload.throughput workload=sysbench oltp_point_select --tables=10 --table-size=100000 transactions threads=4: 24674.12",
            "workload.throughput workload=sysbench oltp_point_select --tables=10 --table-size=100000 queries threads=4: 24674.12",
        ]
    );
}

#[test]
fn two_runs_stay_two_outputs() {
    let imported = import(&format!("{OLD}\n{CPU}"));
    assert_eq!((imported.import.outputs.len(), imported.measurements.len()), (2, 3));
}

#[test]
fn a_histogram_and_any_percentile_belong_to_the_run() {
    let text = CPU.replace("95th percentile", "99th percentile").replace(
        "CPU speed:",
        "Latency histogram (values are in milliseconds)\n       value  ------------- distribution ------------- count\n       \
        0.218 |                                         6\n       0.222 |**************************************** 537\n \n\
        CPU speed:",
    );
    let imported = import(&text);
    assert_eq!(
        figures(&imported),
        ["workload.throughput workload=sysbench cpu --cpu-max-prime=10000 threads=2: 8823.6"]
    );
    assert_eq!(ms(&imported.measurements[0], "latency_p99_ms"), 0.24);
    assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
}

#[test]
fn a_pace_that_was_asked_for_is_no_speed_and_an_unnamed_test_is_doubted() {
    let paced = import(
        &CPU.replace("Number of threads: 2\n", "Number of threads: 2\nTarget transaction rate: 100/sec\n"),
    );
    assert!(
        paced.measurements[0]
            .doubt
            .as_ref()
            .is_some_and(|doubt| doubt.to_string().contains("100 transactions per second"))
    );
    let (_, unnamed) = THREADS.split_once('\n').expect("the command line is the first");
    assert!(
        import(unnamed).measurements[0]
            .doubt
            .as_ref()
            .is_some_and(|doubt| doubt.to_string().contains("unknown which"))
    );
    let random = format!(
        "$ sysbench memory --memory-access-mode=rnd run\n{}",
        MEMORY.split_once('\n').map_or("", |(_, rest)| rest)
    );
    assert!(figures(&import(&random))[0].contains("--memory-access-mode=rnd"));
}

#[test]
fn a_test_of_files_is_named_and_long_runs_keep_their_threads() {
    let text = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nRunning the test with following options:\nNumber of threads: 1\nInitializing random number generator from current time\n\n\nExtra file open flags: (none)\n2 files, 2MiB each\n4MiB total file size\nBlock size 16KiB\nNumber of IO requests: 0\nRead/Write ratio for combined random IO test: 1.50\nPeriodic FSYNC enabled, calling fsync() each 100 requests.\nCalling fsync() at the end of test, Enabled.\nUsing synchronous I/O mode\nDoing random r/w test\nInitializing worker threads...\n\nThreads started!\n\n\nFile operations:\n    reads/s:                      6933.63\n    writes/s:                     4622.42\n    fsyncs/s:                     233.10\n\nThroughput:\n    read, MiB/s:                  108.34\n    written, MiB/s:               72.23\n\nGeneral statistics:\n    total time:                          2.0000s\n    total number of events:              12000\n\nLatency (ms):\n         min:                                    0.00\n         avg:                                    0.08\n";
    let imported = import(text);
    let name = "sysbench fileio --file-test-mode=rndrw --file-total-size=4MiB --file-block-size=16KiB";
    let rate = the(&imported, &format!("workload.throughput workload={name} threads=1"));
    assert!(rate.value() == 6000.0 && rate.doubt.is_none(), "{rate:?}");
    assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    let progress: String =
        (999..1020).map(|s| format!("[{s:>4}s] threads: 16, tps: 794.63, reads/s: 11129.26\n")).collect();
    let long = text
        .replace("Number of threads: 1", "Number of threads: 16")
        .replace("\n\n\nFile operations", &format!("\n{progress}\nFile operations"));
    assert_eq!(
        the(&import(&long), &format!("workload.throughput workload={name} threads=16")).value(),
        6000.0
    );
}

proptest! {
    #[test]
    fn no_damaged_output_panics(which in 0usize..5, at in 0usize..3000, cut in 0usize..60, with in "\\PC{0,12}") {
        let _ = import(&damaged([CPU, MEMORY, THREADS, OLD, OLTP][which], at, cut, &with));
    }
}
