//! Tests `linespeed overhead --kernel` if something is missing, forbidden or interrupted. The other rows must be
//! present, each missing row must state the reason and the remedy, and nothing may be left behind.

use record::Label;
use std::ffi::CString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use record::Record;

use crate::command::{Ran, Running, nothing_left, others};
use crate::trial::{Trial, is_loaded};

/// The UID of the user nobody.
const NOBODY: u32 = 65534;
/// Arguments for a single pass with a record, without guests, which are irrelevant here.
const BRIEF: [&str; 5] = ["--rounds", "1", "--vm", "none", "--json"];
/// The directory in which the kernel reports lockdown.
const SECURITY: &str = "/sys/kernel/security";

/// A fault, and the expected reason and remedy of the missing rows.
struct Weather<'a> {
    /// The fault.
    name: &'a str,
    /// The source of the module, as arguments.
    source: &'a [&'a str],
    variables: &'a [(&'a str, &'a str)],
    user: u32,
    reason: &'a str,
    remedy: &'a str,
}

impl Default for Weather<'_> {
    fn default() -> Self {
        Self { name: "", source: &["--kernel"], variables: &[], user: 0, reason: "", remedy: "" }
    }
}

/// The missing kernel rows: name, reason and remedy.
pub fn reported(record: &Record) -> Vec<(String, String, String)> {
    let of = |c: &record::Coverage| {
        (c.what.clone(), c.why(), c.remedy.as_ref().map(ToString::to_string).unwrap_or_default())
    };
    record.coverage.iter().filter(|c| c.what.starts_with("overhead (kernel")).map(of).collect()
}

/// Tests all faults, with irreversible ones last.
pub fn run(file: &str, trial: &mut Trial) -> Result<(), String> {
    missing(trial)?;
    unfit(file, trial)?;
    killed(file, trial)?;
    forbidden(file, trial)
}

impl Weather<'_> {
    fn look(&self, trial: &mut Trial) -> Result<(), String> {
        let arguments = [self.source, &BRIEF].concat();
        let ran = Running::start(&arguments, self.variables, self.user)?.end()?;
        self.judge(&ran, trial)?;
        nothing_left(self.name, trial)
    }

    /// Checks that the user rows are present, and that each kernel row has the reason and the remedy.
    fn judge(&self, ran: &Ran, trial: &mut Trial) -> Result<(), String> {
        let name = self.name;
        let said = || format!("{:?}, {}", ran.code, ran.complained);
        trial.hold(ran.code == Some(0), &format!("{name}: linespeed ends well"), said)?;
        let record = ran.record()?;
        let layer = |layer: &str| {
            record
                .measurements_of("layer.time")
                .filter(|m| m.labels.word(Label::Layer) == Some(layer))
                .count()
        };
        let (user, kernel) = (layer("user"), layer("kernel"));
        trial.hold(user == 3 && kernel == 0, &format!("{name}: the other rows come"), || {
            format!("{user} of user mode, {kernel} of the kernel")
        })?;
        let reported = reported(&record);
        for (what, reason, remedy) in &reported {
            let line = !reason.contains('\n') && !remedy.contains('\n');
            let right =
                line && reason.contains(self.reason) && remedy.contains(self.remedy) && !remedy.is_empty();
            trial.hold(right, &format!("{name}: {what} says why, and what would help"), || {
                format!("{reason} | {remedy}")
            })?;
        }
        trial.hold(reported.len() == 4, &format!("{name}: each of the kernel's rows says why"), || {
            format!("{reported:?}")
        })?;
        if let Some((_, reason, remedy)) = reported.first() {
            println!("{name}: {reason} → {remedy} [{:.0} s]", ran.took.as_secs_f64());
        }
        Ok(())
    }
}

/// Hides files until it is dropped.
struct Away(Vec<(String, String)>);

impl Away {
    fn take(files: &[&str]) -> Result<Self, String> {
        let mut away = Self(Vec::new());
        for file in files {
            let aside = format!("{file}.away");
            fs::rename(file, &aside).map_err(|error| format!("{file}: {error}"))?;
            away.0.push(((*file).to_owned(), aside));
        }
        Ok(away)
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        for (file, aside) in &self.0 {
            let _ = fs::rename(aside, file);
        }
    }
}

/// The running kernel's release.
fn release() -> Result<String, String> {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease").map_err(|error| error.to_string())?;
    Ok(text.trim().to_owned())
}

/// Prerequisites of the build are missing.
fn missing(trial: &mut Trial) -> Result<(), String> {
    let release = release()?;
    let build = format!("/lib/modules/{release}/build");
    let install = format!("sudo apt install linux-headers-{release} make gcc");
    let away = Away::take(&[&build])?;
    let reason = format!("no {build}");
    let (reason, remedy) = (reason.as_str(), install.as_str());
    Weather { name: "without headers", reason, remedy, ..Weather::default() }.look(trial)?;
    drop(away);
    for (tool, package) in [("make", "make"), ("ld", "binutils")] {
        let away = Away::take(&[&format!("/bin/{tool}")])?;
        let (name, reason) = (format!("without {tool}"), format!("{tool}, needed to build"));
        let remedy = format!("sudo apt install {package}");
        Weather { name: &name, reason: &reason, remedy: &remedy, ..Weather::default() }.look(trial)?;
        drop(away);
    }
    let reason = "loading a module requires root";
    let remedy = "sudo linespeed overhead --kernel";
    Weather { name: "without root", user: NOBODY, reason, remedy, ..Weather::default() }.look(trial)
}

/// Prerequisites exist but are unusable.
fn unfit(file: &str, trial: &mut Trial) -> Result<(), String> {
    let compiler = std::process::Command::new("gcc").arg("-print-prog-name=cc1").output();
    let compiler = compiler.map_err(|error| format!("gcc: {error}"))?.stdout;
    let away = Away::take(&[String::from_utf8_lossy(&compiler).trim()])?;
    let (reason, remedy) = ("cc1", "sudo apt install linux-headers-");
    Weather { name: "with a compiler that fails", reason, remedy, ..Weather::default() }.look(trial)?;
    drop(away);
    let small = "/root/small";
    fs::create_dir_all(small).map_err(|error| format!("{small}: {error}"))?;
    // Less space than the sources need.
    mount("tmpfs", small, c"size=16k")?;
    let variables = [("TMPDIR", small)];
    let (reason, remedy) = ("No space left", "TMPDIR");
    Weather { name: "without space", variables: &variables, reason, remedy, ..Weather::default() }
        .look(trial)?;
    // A file that does not begin like a module is rejected before anything is measured.
    let broken = "/root/broken.ko";
    let whole = fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    fs::write(broken, whole.get(..4096).unwrap_or(&whole)).map_err(|error| format!("{broken}: {error}"))?;
    let source = ["--kernel-module", broken];
    let (reason, remedy) = ("refuses the module", "omit --kernel-module");
    Weather { name: "with a module that is cut off", source: &source, reason, remedy, ..Weather::default() }
        .look(trial)
}

/// The command is killed before it has finished.
fn killed(file: &str, trial: &mut Trial) -> Result<(), String> {
    let compiles = || others().iter().any(|name| name == "cc1");
    let mut running = Running::start(&["--kernel", "--json"], &[], 0)?;
    running.until("the compiler runs", compiles)?;
    running.signal(libc::SIGKILL);
    ended(running.end()?, None, "a kill in the middle of the build", trial)?;

    let mut running = Running::start(&["--kernel", "--json"], &[], 0)?;
    running.until("the compiler runs", compiles)?;
    running.signal(libc::SIGINT);
    ended(running.end()?, Some(130), "Ctrl-C in the middle of the build", trial)?;

    let long = ["--kernel-module", file, "--rounds", "1000", "--vm", "none", "--json"];
    let mut running = Running::start(&long, &[], 0)?;
    running.until("the module is loaded", is_loaded)?;
    let (reason, remedy) =
        ("another linespeed process is using the kernel module", "wait until the other linespeed has ended");
    let second = Weather { name: "beside another linespeed", reason, remedy, ..Weather::default() };
    let ran = Running::start(&[second.source, &BRIEF].concat(), &[], 0)?.end()?;
    second.judge(&ran, trial)?;
    trial.hold(is_loaded(), "the module is loaded when linespeed is killed", || "it is not".to_owned())?;
    running.signal(libc::SIGKILL);
    ended(running.end()?, None, "a kill in the middle of the passes", trial)?;

    let mut running = Running::start(&long, &[], 0)?;
    running.until("the module is loaded", is_loaded)?;
    // By then, its passes have begun or will begin soon.
    std::thread::sleep(Duration::from_secs(2));
    running.signal(libc::SIGTERM);
    let ran = running.end()?;
    ran.record()?;
    ended(ran, Some(143), "SIGTERM in the middle of the passes", trial)
}

/// Checks that it exited with this code, or was killed, and left nothing behind.
fn ended(ran: Ran, code: Option<i32>, how: &str, trial: &mut Trial) -> Result<(), String> {
    let said = || format!("{:?}, {}", ran.code, ran.complained);
    trial.hold(ran.code == code, &format!("{how} ends it with {code:?}"), said)?;
    nothing_left(how, trial)?;
    println!("{how}: the module is gone, and nothing else is left [{:.0} s]", ran.took.as_secs_f64());
    Ok(())
}

/// The kernel accepts no modules any more, which only a reboot can change.
fn forbidden(file: &str, trial: &mut Trial) -> Result<(), String> {
    let source = ["--kernel-module", file];
    mount("securityfs", SECURITY, c"")?;
    set(&format!("{SECURITY}/lockdown"), "integrity")?;
    let (reason, remedy) = ("locked down (integrity)", "lockdown=");
    Weather { name: "with a kernel that is locked down", reason, remedy, ..Weather::default() }
        .look(trial)?;
    unmount(SECURITY)?;
    // In this case, only the kernel's refusal shows the reason.
    let (reason, remedy) = ("refuses the module", "lockdown");
    Weather {
        name: "with lockdown that nothing shows",
        source: &source,
        reason,
        remedy,
        ..Weather::default()
    }
    .look(trial)?;
    set("/proc/sys/kernel/modules_disabled", "1")?;
    let (reason, remedy) = ("disabled until the next boot", "reboot");
    Weather { name: "with modules disabled", reason, remedy, ..Weather::default() }.look(trial)
}

fn set(path: &str, value: &str) -> Result<(), String> {
    if !Path::new(path).exists() {
        return Err(format!("{path}: this kernel has none"));
    }
    fs::write(path, value).map_err(|error| format!("{path}: {error}"))
}

fn mount(kind: &str, at: &str, data: &std::ffi::CStr) -> Result<(), String> {
    let text = |text: &str| CString::new(text).map_err(|error| error.to_string());
    let (name, place) = (text(kind)?, text(at)?);
    // SAFETY: strings that outlive the call.
    let done = unsafe { libc::mount(name.as_ptr(), place.as_ptr(), name.as_ptr(), 0, data.as_ptr().cast()) };
    if done == 0 { Ok(()) } else { Err(format!("{kind} on {at}: {}", std::io::Error::last_os_error())) }
}

fn unmount(at: &str) -> Result<(), String> {
    let place = CString::new(at).map_err(|error| error.to_string())?;
    // SAFETY: a string that outlives the call.
    let done = unsafe { libc::umount(place.as_ptr()) };
    if done == 0 { Ok(()) } else { Err(format!("{at}: {}", std::io::Error::last_os_error())) }
}
