use crate::tools::testing::{figures, import};
use proptest::prelude::*;
use record::{Label, Measurement, metrics};

/// Real, user and system seconds of a text.
fn times(text: &str) -> [Option<f64>; 3] {
    let imported = import(text);
    let of = |state: Option<&str>| {
        let is_it = |m: &&Measurement| match state {
            None => m.metric == metrics::WORKLOAD_TIME,
            state => m.metric == metrics::WORKLOAD_CPU_TIME && m.labels.word(Label::State) == state,
        };
        imported.measurements.iter().find(is_it).map(Measurement::value)
    };
    [of(None), of(Some("user")), of(Some("system"))]
}

#[test]
fn every_shell_tells_the_same_three_times() {
    assert_eq!(times("real\t0m39.763s")[0], Some(39.763));
    assert_eq!(times("user 1h2m3,5s")[1], Some(3723.5));
    assert_eq!(times("real 2,57")[0], Some(2.57));
    let all = [Some(39.763), Some(39.63), Some(0.13)];
    assert_eq!(times("bc -l -q  39.63s user 0.13s system 99% cpu 39.763 total"), all);
    assert_eq!(
        times("39.63user 0.13system 0:39.763elapsed 99%CPU (0avgtext+0avgdata 1684maxresident)k"),
        all
    );
    assert_eq!(times("39.63u 0.13s 0:39.763 99.9%\t0+0k 0+0io 0pf+0w"), all);
    assert_eq!(times("       39.763 real         39.63 user         0.13 sys"), all);
    assert_eq!(times("Elapsed (wall clock) time (h:mm:ss or m:ss): 1:02:03")[0], Some(3723.0));
    assert_eq!(times("Executed in   10.05 millis    fish           external")[0], Some(0.01005));
    assert_eq!(times("   usr time    0.92 millis    0.00 micros    0.92 millis")[1], Some(0.00092));
    for text in
        ["", "real", "real estate", "user 5 was here", "sys", "real 1e5", "total", "5 total", "real -m1s"]
    {
        assert_eq!(times(text), [None; 3], "{text}");
    }
}

#[test]
fn the_times_are_of_the_command_that_was_timed() {
    let imported = import("$ time ./solver --grid 512\n\nreal\t1m0.500s\nuser\t0m59.000s\nsys\t0m0.250s\n");
    assert_eq!(
        figures(&imported),
        [
            "workload.time workload=solver --grid 512: 60.5",
            "workload.cpu_time workload=solver --grid 512 state=user: 59",
            "workload.cpu_time workload=solver --grid 512 state=system: 0.25",
        ]
    );
    let verbose = "\tCommand being timed: \"/usr/bin/sleep 0.01\"\n\tUser time (seconds): 0.00\n\tSystem time (seconds): \
        0.01\n\tPercent of CPU this job got: 9%\n\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:00.01\n\tExit status: 0\n";
    assert_eq!(
        figures(&import(verbose)),
        [
            "workload.cpu_time workload=sleep 0.01 state=user: 0",
            "workload.cpu_time workload=sleep 0.01 state=system: 0.01",
            "workload.time workload=sleep 0.01: 0.01",
        ]
    );
}

#[test]
fn zsh_names_the_command_whatever_it_begins_with() {
    for command in ["sleep 0.01", "./run.sh -x", "user-tool a b", "12monkeys"] {
        let imported = import(&format!("{command}  0.00s user 0.00s system 6% cpu 0.020 total\n"));
        let name = command.trim_start_matches("./");
        assert_eq!(figures(&imported)[2], format!("workload.time workload={name}: 0.02"));
    }
    let unknown = import("real\t0m0.012s\nuser\t0m0.001s\nsys\t0m0.000s\n");
    assert!(unknown.measurements.iter().all(|m| m.doubt.is_some()), "the timed command is unknown");
}

proptest! {
    #[test]
    fn no_line_panics(text in "\\PC{0,80}", digits in "[0-9a-z:.,% -]{0,60}") {
        for line in [text, format!("real {digits}"), format!("{digits} total"), digits] {
            let _ = times(&line);
        }
    }
}
