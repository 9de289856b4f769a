use crate::tools::testing::{damaged, figures, import, the};
use proptest::prelude::*;
use record::detail;

const TWO: &str = include_str!("../../../../tests/texts/hyperfine-1.15.txt");

#[test]
fn each_command_has_its_own_times() {
    let imported = import(TWO);
    assert_eq!(
        figures(&imported),
        [
            "workload.time workload=sleep 0.05: 0.066",
            "workload.cpu_time workload=sleep 0.05 state=user: 0.0013",
            "workload.cpu_time workload=sleep 0.05 state=system: 0.0005",
            "workload.time workload=sleep 0.1: 0.1118",
            "workload.cpu_time workload=sleep 0.1 state=user: 0.0017",
            "workload.cpu_time workload=sleep 0.1 state=system: 0",
        ]
    );
    assert_eq!(the(&imported, "workload.time workload=sleep 0.1").detail.get(detail::RUNS), Some(5));
    assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
}

#[test]
fn a_single_run_and_the_numbering_of_older_versions_are_read() {
    let one = "Benchmark #1: ./solve\n  Time (abs ≡):        1.5 s               [User: 900.0 µs, System: 0.7 ms]\n";
    let imported = import(one);
    assert_eq!(figures(&imported)[0], "workload.time workload=solve: 1.5");
    assert_eq!(figures(&imported)[1], "workload.cpu_time workload=solve state=user: 0.0009");
    assert_eq!(the(&imported, "workload.time workload=solve").detail.get(detail::RUNS), Some(1));
}

#[test]
fn the_tables_since_version_2_are_read() {
    let two = "Benchmark 1: sleep 0.01 (5 runs)\n                mean     ±       σ          min     …     max\n  \
        Wall Time     11.6 ms  ±     0.7 ms      11.1 ms  …    12.7 ms\n  User Time      1.5 ms  ±     0.7 ms       \
        1.1 ms  …     2.7 ms\n  Memory         3.9 MiB ±     0.1 MiB      3.8 MiB …     3.9 MiB\n\nBenchmark 2: ./solve (1 \
        run)\n               Value\n  Wall Time    1.102 s\n";
    let imported = import(two);
    assert_eq!(
        figures(&imported),
        [
            "workload.time workload=sleep 0.01: 0.0116",
            "workload.cpu_time workload=sleep 0.01 state=user: 0.0015",
            "workload.time workload=solve: 1.102",
        ]
    );
    assert_eq!(the(&imported, "workload.time workload=sleep 0.01").detail.get(detail::RUNS), Some(5));
    assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
}

proptest! {
    #[test]
    fn no_damaged_output_panics(at in 0usize..600, cut in 0usize..40, with in "\\PC{0,12}") {
        let _ = import(&damaged(TWO, at, cut, &with));
    }
}
