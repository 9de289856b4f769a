//! Tests `linespeed overhead --kernel` as a user runs it: it builds, loads and runs its module, and leaves nothing
//! behind.

use record::Label;
use record::detail;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kernels::primes;
use record::{Measurement, Record};

use crate::trial::{Trial, is_loaded};
use crate::{kills, weather};

/// The polling interval.
const LOOK: Duration = Duration::from_millis(50);
/// Maximum wait for an event, such as a build in a slow emulator.
const PATIENCE: Duration = Duration::from_secs(400);
/// The pinning of each kernel row, and whether interrupts reach it; N is the CPU.
const KERNEL_ROWS: [(&str, &str); 4] = [("none", "on"), ("none", "off"), ("cpu N", "on"), ("cpu N", "off")];

/// A running linespeed process.
pub struct Running {
    child: Child,
    folder: tempfile::TempDir,
    began: Instant,
    /// Time until the module was loaded.
    loaded: Option<Duration>,
}

/// A linespeed process that has ended.
pub struct Ran {
    /// Its exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Its standard output.
    pub printed: String,
    /// Its standard error.
    pub complained: String,
    /// Its duration.
    pub took: Duration,
    loaded: Option<Duration>,
}

impl Running {
    /// Starts `linespeed overhead` with these arguments and environment variables, as this user.
    pub fn start(arguments: &[&str], variables: &[(&str, &str)], user: u32) -> Result<Self, String> {
        let cannot = |error: std::io::Error| format!("linespeed cannot be started: {error}");
        // Not in linespeed's own directory, which is checked afterwards.
        let folder = tempfile::tempdir_in("/root").map_err(cannot)?;
        let file = |name: &str| File::create(folder.path().join(name)).map_err(cannot);
        let mut command = Command::new("linespeed");
        command.arg("overhead").args(arguments).envs(variables.iter().copied());
        command.stdin(Stdio::null()).stdout(file("printed")?).stderr(file("complained")?);
        if user != 0 {
            command.uid(user).gid(user);
        }
        let began = Instant::now();
        let child = command.spawn().map_err(cannot)?;
        Ok(Self { child, folder, began, loaded: None })
    }

    /// Waits until `there` is true while the process runs.
    pub fn until(&mut self, what: &str, there: impl Fn() -> bool) -> Result<(), String> {
        while !there() {
            if self.has_ended()? || self.began.elapsed() > PATIENCE {
                return Err(format!("not: {what}, while linespeed ran: {}", self.read("complained")));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    fn has_ended(&mut self) -> Result<bool, String> {
        self.child.try_wait().map(|ended| ended.is_some()).map_err(|error| error.to_string())
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        // SAFETY: the call only takes integers; the process has not been reaped, or its PID is unused in this machine.
        unsafe { libc::kill(self.child.id().cast_signed(), signal) };
    }

    /// Waits for its end.
    pub fn end(mut self) -> Result<Ran, String> {
        while !self.has_ended()? {
            if self.loaded.is_none() && is_loaded() {
                self.loaded = Some(self.began.elapsed());
            }
            if self.began.elapsed() > PATIENCE {
                let _ = self.child.kill();
            }
            std::thread::sleep(LOOK);
        }
        let code = self.child.wait().map_err(|error| error.to_string())?.code();
        let (printed, complained) = (self.read("printed"), self.read("complained"));
        Ok(Ran { code, printed, complained, took: self.began.elapsed(), loaded: self.loaded })
    }

    fn read(&self, name: &str) -> String {
        let bytes = fs::read(self.folder.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Ran {
    /// Its record.
    pub fn record(&self) -> Result<Record, String> {
        Record::from_json(self.printed.as_bytes()).map_err(|error| {
            format!("not: the record is read: it {error}; linespeed said: {}", self.complained)
        })
    }
}

/// Runs all tests. `file` is the module that was built in advance, for runs that need not build it again.
pub fn run(file: &Path) -> Result<(), String> {
    let file = file.to_str().ok_or("the module's name cannot be written")?;
    let mut trial = Trial::default();
    good(&mut trial)?;
    again(file, &mut trial)?;
    weather::run(file, &mut trial)?;
    trial.end("linespeed overhead --kernel")
}

/// The successful case: nothing is missing.
fn good(trial: &mut Trial) -> Result<(), String> {
    let ran = Running::start(&["--kernel", "--quick", "--json"], &[], 0)?.end()?;
    let said = || format!("{:?}, {}", ran.code, ran.complained);
    trial.hold(ran.code == Some(0), "linespeed overhead --kernel --quick --json ends well", said)?;
    let record = ran.record()?;
    let refused = weather::reported(&record);
    trial.hold(refused.is_empty(), "no kernel row is missing", || format!("{refused:?}"))?;
    trial.hold(ran.loaded.is_some(), "the module was loaded meanwhile", || "it never was".to_owned())?;
    rows(&record, trial)?;
    nothing_left("the whole command", trial)?;
    println!(
        "linespeed overhead --kernel --quick --json took {:.0} s, of which {:.0} s until its module was loaded",
        ran.took.as_secs_f64(),
        ran.loaded.unwrap_or_default().as_secs_f64()
    );
    shown(&ran, trial)
}

/// The same with a module that is already built, so that only linespeed works in the machine.
fn again(file: &str, trial: &mut Trial) -> Result<(), String> {
    let arguments = ["--kernel-module", file, "--rounds", "3", "--vm", "none", "--json"];
    let ran = Running::start(&arguments, &[], 0)?.end()?;
    let said = || format!("{:?}, {}", ran.code, ran.complained);
    trial.hold(ran.code == Some(0), "linespeed overhead --kernel-module ends well", said)?;
    let record = ran.record()?;
    rows(&record, trial)?;
    own_time(&record, trial)?;
    nothing_left("a run with a module that was there", trial)
}

/// Checks that the kernel rows are present in addition to the user-mode rows, and that they did the same work with the
/// same bytes.
fn rows(record: &Record, trial: &mut Trial) -> Result<(), String> {
    let word = |row: &Measurement, key: Label| row.labels.word(key).unwrap_or_default().to_owned();
    let same = |row: &Measurement| {
        let number = |key| row.detail.get(key).map(|number: u64| number.to_string()).unwrap_or_default();
        let crc = row.detail.get(detail::CRC32).unwrap_or_default().to_owned();
        [number(detail::PRIMES), crc, number(detail::PAGE_OFFSET)]
    };
    let all: Vec<&Measurement> = record.measurements_of("layer.time").collect();
    let layers = |name: &str| all.iter().filter(|row| word(row, Label::Layer) == name).count();
    trial.hold(layers("user") == 3, "user rows are unbound, bound, and bound to another CPU", || {
        layers("user").to_string()
    })?;
    let kernel: BTreeSet<(String, String)> = all
        .iter()
        .filter(|row| word(row, Label::Layer) == "kernel")
        .map(|row| {
            (word(row, Label::Bound).replace(|c: char| c.is_ascii_digit(), "N"), word(row, Label::Interrupts))
        })
        .collect();
    let expected = KERNEL_ROWS.map(|(bound, interrupts)| (bound.to_owned(), interrupts.to_owned()));
    let right = kernel == BTreeSet::from(expected) && layers("kernel") == KERNEL_ROWS.len();
    trial.hold(right, "kernel rows are bound and not, with interrupts and without", || {
        format!("{kernel:?}")
    })?;
    for row in &all {
        let name = format!(
            "{}, {}, interrupts {}",
            word(row, Label::Layer),
            word(row, Label::Bound),
            word(row, Label::Interrupts)
        );
        let reported = same(row);
        let first = same(all[0]);
        trial.hold(
            reported == first && reported[0] == primes::KNOWN.to_string(),
            &format!("{name}: same work"),
            || format!("{reported:?}"),
        )?;
        let cycles = row.summary.median > 0.0 && row.summary.n > 0;
        trial.hold(cycles, &format!("{name}: its passes took time"), || format!("{:?}", row.summary))?;
        let [primes, crc, place] = reported;
        println!("{name}: {primes} primes, code {crc} at {place} of its page, {} passes", row.summary.n);
    }
    Ok(())
}

/// Checks that the time of the kernel threads is not attributed to other processes, because no others were busy.
fn own_time(record: &Record, trial: &mut Trial) -> Result<(), String> {
    let (before, after) =
        (&record.conditions.before, record.conditions.after.as_ref().ok_or("no state after")?);
    let busy = |state: &record::Snapshot| -> f64 {
        ["user", "nice", "system", "irq", "softirq"]
            .iter()
            .filter_map(|kind| state.cpu_seconds.get(*kind))
            .sum()
    };
    let own = |state: &record::Snapshot| state.own_cpu_seconds.unwrap_or_default();
    let others = busy(after) - busy(before) - (own(after) - own(before));
    let kernel =
        record.measurements_of("layer.time").filter(|row| row.labels.word(Label::Layer) == Some("kernel"));
    let seconds = |row: &Measurement| row.detail.get(detail::SECONDS).map(|one| one * row.summary.n as f64);
    let used: f64 = kernel.filter_map(seconds).sum();
    println!("others used {others:.2} s meanwhile; the kernel's rows used {used:.2} s");
    trial.hold(others < used, "the kernel's rows are no work of others", || format!("{others} of {used} s"))
}

/// Checks that the record can be shown like any other record.
fn shown(ran: &Ran, trial: &mut Trial) -> Result<(), String> {
    let cannot = |error: std::io::Error| error.to_string();
    let folder = tempfile::tempdir_in("/root").map_err(cannot)?;
    let file = folder.path().join("record.json");
    fs::write(&file, &ran.printed).map_err(cannot)?;
    let shown = Command::new("linespeed").arg("show").arg(&file).output().map_err(cannot)?;
    let text = String::from_utf8_lossy(&shown.stdout);
    println!("{text}");
    let there = shown.status.success() && text.lines().any(|row| row.trim_start().starts_with("kernel "));
    trial.hold(there, "linespeed show has the kernel's rows", || text.into_owned())
}

/// Checks that no module, device, directory, guardian or build process is left behind.
pub fn nothing_left(after: &str, trial: &mut Trial) -> Result<(), String> {
    let left = kills::left();
    trial.hold(left.is_none(), &format!("nothing is left after {after}"), || left.unwrap_or_default())?;
    let device = Path::new("/dev/linespeed").exists() || Path::new("/sys/module/linespeed").exists();
    trial.hold(!device, &format!("no device is left after {after}"), || "one".to_owned())?;
    let began = Instant::now();
    while !others().is_empty() && began.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(LOOK);
    }
    let others = others();
    trial.hold(others.is_empty(), &format!("no process is left after {after}"), || others.join(", "))
}

/// Programs that run in addition to this one and init; kernel threads have no program.
pub fn others() -> Vec<String> {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let others = pids.filter(|pid| *pid != 1 && *pid != own);
    let running = others.filter(|pid| fs::read_link(format!("/proc/{pid}/exe")).is_ok());
    running
        .filter_map(|pid| Some(fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim().to_owned()))
        .collect()
}
