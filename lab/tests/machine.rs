//! Tests the lab's commands with a script in place of QEMU: errors around a machine, and that no machine keeps running.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use wire::Kind;

/// A directory with a shape for this architecture and a script in place of QEMU.
struct Fake(tempfile::TempDir);

impl Fake {
    fn new(script: &str) -> Self {
        let fake = Self(tempfile::tempdir().unwrap());
        let architecture = std::env::consts::ARCH;
        let qemu = fake.path(&format!("qemu-system-{architecture}"));
        fs::write(&qemu, format!("#!/bin/sh\ncd {}\n{script}\n", fake.0.path().display())).unwrap();
        fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
        let shape = format!("summary = 'x'\narchitecture = '{architecture}'\ncpu = 'max'\nmemory = '1GiB'\n");
        fs::write(fake.path("small.toml"), shape).unwrap();
        fs::write(fake.path("kernel"), "").unwrap();
        fake
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes the frames that a machine would send to the file `sent`.
    fn sends(self, frames: &[(Kind, &[u8])]) -> Self {
        let mut number = 0;
        let bytes: Vec<u8> =
            frames.iter().flat_map(|(kind, payload)| wire::encode(*kind, &mut number, payload)).collect();
        fs::write(self.path("sent"), bytes).unwrap();
        self
    }

    /// `lab boot` with this QEMU. Any static program is suitable, so the lab's own program is used.
    fn boot(&self, options: &[&str]) -> Command {
        let mut command = Command::new(lab());
        command.arg("boot").arg(self.path("small.toml")).args(options);
        command.arg("--program").arg(lab()).arg("--kernel").arg(self.path("kernel"));
        command.args(["--", "inspect"]);
        let path = format!("{}:/usr/bin:/bin", self.0.path().display());
        command.env("PATH", path).stdin(Stdio::null());
        command
    }

    /// Waits for the process ID that the script writes to `pid`.
    fn pid(&self) -> i32 {
        let began = Instant::now();
        loop {
            let text = fs::read_to_string(self.path("pid")).unwrap_or_default();
            if let Some(pid) = text.strip_suffix('\n') {
                return pid.parse().unwrap();
            }
            assert!(began.elapsed() < PATIENCE, "the machine never started");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A machine that never exits by itself.
const ENDLESS: &str = "echo $$ > pid.new; mv pid.new pid; exec sleep 1000";
/// Long enough on any machine; the full time passes only if something is wrong.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether cargo runs programs for this target in an emulator, inside which the lab would start another one.
fn emulated() -> bool {
    let target = std::env::consts::ARCH.to_uppercase();
    let emulated = std::env::var_os(format!("CARGO_TARGET_{target}_UNKNOWN_LINUX_GNU_RUNNER")).is_some();
    if emulated {
        // Written directly to standard error, because the test harness hides the output of passing tests.
        let _ = writeln!(std::io::stderr(), "skipped: the lab does not run inside an emulator");
    }
    emulated
}

fn lab() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_lab"))
}

fn reported(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether a process is still running; a zombie is not.
fn runs(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

fn ends(pid: i32) -> bool {
    let began = Instant::now();
    while runs(pid) && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    !runs(pid)
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: the call accesses no memory; the child has not been waited for, so its ID has not been reused.
    unsafe { libc::kill(child.id().cast_signed(), signal) };
}

#[test]
fn what_the_machine_says_comes_back_with_its_record_and_its_exit_code() {
    if emulated() {
        return;
    }
    let record = vec![b'x'; 100_000];
    let fake = Fake::new("cat sent").sends(&[
        (Kind::Started, b""),
        (Kind::Output, b"a report\n"),
        (Kind::Error, b"a warning\n"),
        (Kind::Record, &record),
        (Kind::Ended, b"exit 1"),
    ]);
    let target = fake.path("record.json");
    let output = fake.boot(&["--output", target.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", reported(&output));
    assert_eq!(output.stdout, b"a report\n");
    let where_it_is = format!("its record, /record.json in the machine, is {} here", target.display());
    assert!(
        reported(&output).starts_with("a warning\n") && reported(&output).contains(&where_it_is),
        "{}",
        reported(&output)
    );
    assert_eq!(fs::read(target).unwrap(), record);
}

#[test]
fn a_record_that_stayed_in_the_machine_is_reported_as_gone() {
    if emulated() {
        return;
    }
    let report = b"a report\n\nRecord: /tmp/.local/state/linespeed/none-1.json\n";
    let boot = |printed: &[u8]| {
        let frames: [(Kind, &[u8]); 3] =
            [(Kind::Started, b""), (Kind::Output, printed), (Kind::Ended, b"exit 0")];
        reported(&Fake::new("cat sent").sends(&frames).boot(&[]).output().unwrap())
    };
    let said = boot(report);
    assert!(said.contains("no longer exist") && said.contains("--output FILE"), "{said}");
    assert_eq!(boot(b"an inventory\n"), "");
}

#[test]
fn a_crash_in_the_machine_is_seen() {
    if emulated() {
        return;
    }
    let fake = Fake::new("cat sent").sends(&[(Kind::Started, b""), (Kind::Ended, b"signal 11")]);
    let output = fake.boot(&[]).output().unwrap();
    assert_eq!(output.status.code(), Some(139));
    assert!(reported(&output).contains("terminated by signal 11"), "{}", reported(&output));
}

#[test]
fn qemus_own_complaint_is_passed_on() {
    if emulated() {
        return;
    }
    let fake = Fake::new("echo 'qemu: -cpu vax: unknown CPU model' >&2; exit 1");
    let output = fake.boot(&[]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let reported = reported(&output);
    assert!(
        reported.contains("stopped before it had booted") && reported.contains("unknown CPU model"),
        "{reported}"
    );
}

#[test]
fn a_panic_of_the_kernel_is_shown() {
    if emulated() {
        return;
    }
    // The console option's path= specifies the file for the kernel's messages.
    let script = r#"cat sent; for word; do case $word in file,id=console,path=*) echo 'Kernel panic - not syncing' > "${word##*path=}";; esac; done"#;
    let fake = Fake::new(script).sends(&[(Kind::Started, b"")]);
    let output = fake.boot(&[]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let reported = reported(&output);
    assert!(
        reported.contains("before its program exited") && reported.contains("Kernel panic"),
        "{reported}"
    );
}

#[test]
fn a_machine_that_hangs_is_switched_off_in_time() {
    if emulated() {
        return;
    }
    let fake = Fake::new(ENDLESS);
    let output = fake.boot(&["--seconds", "2"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(reported(&output).matches("had not booted after 1 s").count(), 2, "{}", reported(&output));
    assert!(reported(&output).contains("booting once more"), "{}", reported(&output));
    assert!(!runs(fake.pid()));
}

#[test]
fn no_machine_outlives_the_lab() {
    if emulated() {
        return;
    }
    for (number, code) in [(libc::SIGINT, Some(130)), (libc::SIGTERM, Some(143)), (libc::SIGKILL, None)] {
        let fake = Fake::new(ENDLESS);
        let mut child = fake.boot(&[]).stderr(Stdio::piped()).spawn().unwrap();
        let machine = fake.pid();
        assert!(runs(machine));
        signal(&child, number);
        let mut reported = String::new();
        child.stderr.take().unwrap().read_to_string(&mut reported).unwrap();
        assert_eq!(child.wait().unwrap().code(), code, "{reported}");
        assert!(ends(machine), "signal {number}: the machine still runs");
        assert!(code.is_none() || reported.contains("powered off"), "{reported}");
    }
}

#[test]
fn what_is_missing_is_named_with_the_way_out() {
    if emulated() {
        return;
    }
    let fake = Fake::new("");
    fs::remove_file(fake.path(&format!("qemu-system-{}", std::env::consts::ARCH))).unwrap();
    let mut command = fake.boot(&[]);
    let output = command.env("PATH", fake.0.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(reported(&output).contains("apt-get install qemu-system-"), "{}", reported(&output));

    let output = fake.boot(&["--with", "/nowhere/tool"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(reported(&output).contains("--with /nowhere/tool: No such file"), "{}", reported(&output));

    fs::write(fake.path("small.toml"), "summary = 'x'\nmemory = 1\n").unwrap();
    let output = fake.boot(&[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(reported(&output).contains("small.toml:2: "), "{}", reported(&output));
}

#[test]
fn the_shapes_that_come_along_are_listed() {
    if emulated() {
        return;
    }
    let output = Command::new(lab()).arg("list").output().unwrap();
    let list = String::from_utf8(output.stdout).unwrap();
    for name in ["hygon-5280", "kunpeng-920-4826", "ft-2500", "memory-only-node", "pmu"] {
        assert!(list.lines().any(|line| line.starts_with(name)), "{name}: {list}");
    }
}
