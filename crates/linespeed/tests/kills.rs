//! `linespeed fix` killed at its system calls: whatever is killed and whenever, huge pages are as they were and no journal is left.
//! `LINESPEED_TEST_KILLS=1000` for a tenth of that many kills.
#[path = "../../quiet/examples/kills/tracer.rs"]
mod tracer;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use quiet::state_directory::{JOURNAL, SYSTEM};
use record::{Label, Labels, Measurement, Record};
use tracer::{Shot, Victim};

const PROGRAM: &str = env!("CARGO_BIN_EXE_linespeed");
const SETTINGS: &str = "/sys/kernel/mm/transparent_hugepage";
/// Kills of an ordinary run of the tests: some seconds.
const FEW: u32 = 60;
/// A fix measures before and after; the knobs' own kills set values alone.
const SHARE: u32 = 10;

/// The settings of huge pages, without what the kernel counts there.
fn settings() -> Vec<Option<String>> {
    let read = |name| std::fs::read_to_string(Path::new(SETTINGS).join(name)).ok();
    ["enabled", "defrag", "shmem_enabled", "use_zero_page"].into_iter().map(read).collect()
}

/// What huge pages are set to; `None` where root cannot switch them.
fn huge_pages() -> Option<String> {
    let path = Path::new(SETTINGS).join("enabled");
    std::fs::OpenOptions::new().write(true).open(&path).ok()?;
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.split('[').nth(1)?.split(']').next()?.to_owned())
}

fn linespeed(home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(words).env("HOME", home).env_remove("XDG_STATE_HOME");
    command
}

/// A record of this machine whose finding `page-walk` sets huge pages otherwise than they are.
fn write_record(home: &Path, now: &str) -> OsString {
    let inspected = linespeed(home, &["inspect", "--json"]).output().unwrap();
    let mut record = Record::from_json(&inspected.stdout).unwrap();
    // The finding takes `always` where it is `madvise`, and else `madvise`.
    record.conditions.before.thp = Some(if now == "madvise" { "madvise" } else { "never" }.to_owned());
    for (page, large) in [("4KiB", 140.0), ("2MiB", 100.0)] {
        for (bytes, ns) in [(1u64 << 20, 5.0), (1 << 30, large)] {
            let place = Labels::new().with_label(Label::Cpu, 0u32).with_label(Label::Bytes, bytes);
            let place = place.with_label(Label::Page, page);
            record.measurements.push(Measurement::new("load.latency", place, vec![ns; 6]));
        }
    }
    record.diagnosis = diagnose::diagnose(&record);
    let path = home.join("record.json");
    std::fs::write(&path, record.to_json().unwrap()).unwrap();
    path.into_os_string()
}

/// One fix with these shots; then what is left is put back, as the next start would: how it ended, and whether anything was left.
fn trial(home: &Path, record: &OsString, keep: bool, shots: &[Shot]) -> Option<(tracer::Followed, bool)> {
    let mut fix = linespeed(home, &["fix", "page-walk", "-q", "--rounds", "2"]);
    fix.args(keep.then_some("--keep")).arg("--record").arg(record).args(["--", "true"]);
    fix.stdout(Stdio::null()).stderr(Stdio::null());
    let become_it = || {
        let error = fix.exec();
        eprintln!("{PROGRAM}: {error}");
        // SAFETY: ends a copy that was made for the program.
        unsafe { libc::_exit(96) };
    };
    let before = settings();
    let followed = tracer::follow(become_it, shots);
    let left = settings() != before;
    let began = Instant::now();
    // A guardian may be at work still.
    while !linespeed(home, &["quiet", "--restore", "-q"]).output().unwrap().status.success() {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing could be restored after {shots:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    Some((followed?, left))
}

#[test]
fn after_every_kill_of_a_fix_huge_pages_are_as_they_were() {
    let Some(now) = huge_pages() else {
        println!("skipped after_every_kill_of_a_fix: root cannot switch huge pages here");
        return;
    };
    let arch = if cfg!(target_arch = "aarch64") { "AARCH64" } else { "X86_64" };
    let runner = std::env::var(format!("CARGO_TARGET_{arch}_UNKNOWN_LINUX_GNU_RUNNER"));
    if runner.is_ok_and(|runner| !runner.trim().is_empty()) {
        println!("skipped after_every_kill_of_a_fix: the program runs under an emulator");
        return;
    }
    let kills = std::env::var("LINESPEED_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(FEW);
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let record = write_record(home, &now);
    let before = settings();
    let journal = Path::new(SYSTEM).join(JOURNAL);
    // Where nothing is killed it ends well, so that kills hit a fix and no refusal.
    let Some((whole, _)) = trial(home, &record, false, &[]) else {
        println!("skipped after_every_kill_of_a_fix: processes cannot be traced here");
        return;
    };
    assert!(whole.code == 0 && whole.stops[1] > 0, "{whole:?}");
    assert_eq!(settings(), before);
    let kill = |victim, at| Shot { victim, at, signal: libc::SIGKILL };
    let (mut hit, mut trials, mut lefts) = (0, 0, 0);
    while hit < kills / SHARE {
        assert!(trials < kills, "{hit} kills in {trials} trials");
        // Each is further on by the golden section: evenly spread, however many there are.
        let share = (f64::from(trials) * 0.618_033_988_75).fract();
        let within = |from: u64, to: u64| from + (share * (to - from) as f64) as u64;
        // Until the guardian is there nothing is set.
        let main = within(whole.before_guardian, whole.stops[0]);
        let guardian = within(0, whole.stops[1]);
        let (keep, shots) = match trials % 4 {
            0 => (false, vec![kill(Victim::Main, main)]),
            1 => (false, vec![kill(Victim::Both, main)]),
            2 => (false, vec![kill(Victim::Guardian, guardian), kill(Victim::Main, main)]),
            _ => (true, vec![kill(Victim::Main, main)]),
        };
        let (followed, left) = trial(home, &record, keep, &shots).unwrap();
        hit += followed.shots;
        trials += 1;
        lefts += u32::from(left);
        assert_eq!(settings(), before, "keep {keep}, {shots:?}, {followed:?}");
        assert!(!journal.exists(), "keep {keep}, {shots:?}");
    }
    println!(
        "{hit} kills of a fix in {trials} trials, at {} of {} stops; {lefts} left to the next start",
        whole.stops[0] - whole.before_guardian,
        whole.stops[0]
    );
}
