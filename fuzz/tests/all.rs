//! Every target reads a few inputs; `./test fuzz` gives them more.

use std::process::Command;

fn fuzz(args: &[&str]) -> (bool, String) {
    let done = Command::new(env!("CARGO_BIN_EXE_fuzz")).args(args).output().unwrap();
    (done.status.success(), String::from_utf8(done.stdout).unwrap())
}

#[test]
fn every_parser_reads_or_refuses_what_is_damaged() {
    let arch = if cfg!(target_arch = "aarch64") { "AARCH64" } else { "X86_64" };
    let runner = std::env::var(format!("CARGO_TARGET_{arch}_UNKNOWN_LINUX_GNU_RUNNER"));
    if runner.is_ok_and(|runner| !runner.trim().is_empty()) {
        println!("skipped every_parser_reads_or_refuses_what_is_damaged: the program runs under an emulator");
        return;
    }
    let (_, names) = fuzz(&["--list"]);
    let (read, said) = fuzz(&["--seconds", "0", "--runs", "5"]);
    assert!(read, "{said}");
    for name in names.lines() {
        assert!(said.contains(&format!("{name}: 5 inputs, 0 failures")), "{name}: {said}");
    }
    assert!(names.lines().count() > 10, "{names}");
}
