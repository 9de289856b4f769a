use super::super::unrolled;
use crate::limits::LONGEST_COMMAND;
use crate::tools::testing::import;

#[test]
fn the_commands_of_a_loop_never_exceed_the_longest_command() {
    let short = unrolled("for f in cpu io; do cat /proc/pressure/$f; echo ${f}; done");
    assert_eq!(
        short.as_deref(),
        Some("cat /proc/pressure/cpu; echo cpu; cat /proc/pressure/io; echo io; "),
        "both forms of the name"
    );
    let words = [("a ", 1000), ("a ", 2), ("a", 8000), ("$f", 4000), ("$f ", 100)];
    let bodies = [("cat $f;", 1), ("cat $f;", 1000), ("${f}", 2), ("$f", 8000), ("cat x;", 1000)];
    for (word, many) in words {
        for (body, times) in bodies {
            let command = format!("for f in {}; do {} done", word.repeat(many), body.repeat(times));
            let length = unrolled(&command).map_or(0, |commands| commands.len());
            assert!(
                length <= LONGEST_COMMAND,
                "{many} times {word:?}, {times} times {body:?}: {length} bytes"
            );
        }
    }
    let huge = format!("$ for f in {}; do {} done\n", "a ".repeat(250_000), "cat $f;".repeat(70_000));
    let loadavg = "$ cat /proc/loadavg\n1.25 0.50 0.25 1/234 5678\n";
    let load = |text: &str| import(text).state.load.map(|load| load[0]);
    assert_eq!(load(&(huge + loadavg)), Some(1.25));
}

#[test]
fn a_line_of_none_of_many_requested_files_ends_the_output() {
    let asked = "/proc/pressure/cpu ".repeat(40_000);
    let some = "some avg10=1.50 avg60=0.70 avg300=0.20 total=1";
    let text = format!("$ cat {asked}\n{some}\nnothing of a file\n$ cat /proc/pressure/io\n{some}\n");
    let imported = import(&text);
    let pressure = serde_json::to_value(&imported.state).expect("a state")["pressure"].clone();
    assert_eq!(pressure.as_object().map(serde_json::Map::len), Some(2), "{pressure}");
    assert_eq!(imported.import.not_understood.lines, 1, "{:?}", imported.import.not_understood);
}
