//! Command lines as users type them.

use super::*;
use proptest::prelude::*;

#[test]
fn the_same_work_has_one_name_however_it_was_started() {
    let wanted = "echo \"7^999999\" | bc";
    for text in [
        "bash -c 'echo \"7^999999\" | bc > /dev/null'",
        "bash -c echo \"7^999999\" | bc > /dev/null",
        "sudo /bin/bash -c \"echo '7^999999' | /usr/bin/bc >/dev/null 2>&1\"",
        "echo 7^999999 | bc",
        "time echo 7^999999 | bc > /dev/null &",
        "perf stat -e branch-misses,cycles -a -- bash -c 'echo \"7^999999\" | bc > /dev/null'",
        "LANG=C taskset -c 3 sh -c 'echo \"7^999999\" | bc &> /dev/null'",
    ] {
        assert_eq!(comparable_name(text), wanted, "{text}");
    }
    assert_eq!(
        comparable_name("bash -c ' echo \"scale=5000; 4*a(1)\" | bc -l -q >/dev/null '"),
        "echo \"scale=5000; 4*a(1)\" | bc -l -q"
    );
    assert_eq!(
        comparable_name("bash -c echo \"scale=5000; 4*a(1)\" | bc -l -q"),
        "echo \"scale=5000; 4*a(1)\" | bc -l -q"
    );
    assert_eq!(comparable_name("perf stat -a ./cpu_bound"), "cpu_bound");
    assert_eq!(comparable_name("sudo nice -n -5 taskset -c 1 a.exe"), "a.exe");
    assert_eq!(comparable_name("make; ./run x"), "make; run x");
    assert_eq!(comparable_name("cd /tmp/x && numactl -C 3 ./stream -M 64M"), "stream -M 64M");
    assert_eq!(
        comparable_name("echo 3 | sudo tee /proc/sys/vm/drop_caches && sync && time -p git status"),
        "git status"
    );
    assert_eq!(comparable_name("time ./a x | ./b; ./c"), "a x | b");
    assert_eq!(comparable_name(""), "");
    assert_eq!(comparable_name("sudo"), "sudo");
}

#[test]
fn bindings_are_read_from_what_stands_before_the_program() {
    let line = CommandLine::read("numactl -C 7 -m 0 ./bin/stream -W 5 -N 5 -M 64M");
    assert_eq!((line.cpu(), line.node()), (Some(7), Some(0)));
    assert_eq!(line.words, ["stream", "-W", "5", "-N", "5", "-M", "64M"]);
    assert_eq!(line.option(&["-M"]), Some("64M"));
    let line = CommandLine::read("cd lmbench; numactl -C 3 -m 1 ./stream");
    assert_eq!((line.program(), line.cpu(), line.node()), ("stream", Some(3), Some(1)));
    let line = CommandLine::read("sudo numactl --physcpubind=8-15 --membind=1 -- x");
    assert_eq!((line.cpu(), line.node()), (None, Some(1)));
    assert_eq!(line.cpus.map(|cpus| cpus.len()), Some(8));
    assert_eq!(CommandLine::read("taskset -c 2 x").cpu(), Some(2));
    assert_eq!(CommandLine::read("taskset -c2 x").cpu(), Some(2));
    assert_eq!(CommandLine::read("taskset 0x4 x").cpu(), Some(2));
    assert_eq!(CommandLine::read("bash -c 'taskset -c 4 x'").cpu(), Some(4));
    assert_eq!(CommandLine::read("numactl -N 1 -m 1 x --threads=4").option(&["--threads"]), Some("4"));
}

#[test]
fn options_of_perf_stat_are_not_the_command() {
    let line = CommandLine::read("time perf stat -r 10 -x\\; -a -e cycles,instructions -- sleep 1");
    let perf = line.perf.expect("perf stat was there");
    assert!(line.timed && perf.system && perf.separator.as_deref() == Some(";"), "{perf:?}");
    assert_eq!(line.name, "sleep 1");
    let line = CommandLine::read("perf stat -p 61238 -j");
    assert_eq!(line.name, "");
    let perf = line.perf.expect("perf stat was there");
    assert!(perf.attached.as_deref() == Some("process 61238"));
}

proptest! {
    #[test]
    fn no_command_panics(text in "\\PC{0,80}", shell in "[a-z \"'|&;<>=/0-9\\\\-]{0,80}") {
        for text in [text, format!("bash -c {shell}"), format!("perf stat {shell}"), shell] {
            let _ = CommandLine::read(&text);
        }
    }
}

#[test]
fn a_loop_keeps_its_own_words() {
    let script = "i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done";
    for line in [
        format!("perf stat -- sh -c '{script}'"),
        format!("sh -c {script}"),
        format!("taskset -c 1 bash -c \"{script}\""),
        script.to_owned(),
    ] {
        assert_eq!(comparable_name(&line), script, "{line}");
    }
    assert_eq!(CommandLine::read(&format!("taskset -c 1 sh -c '{script}'")).cpu(), Some(1));
}
