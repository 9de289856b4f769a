//! A program that runs beside what is measured, from its preparation to its end.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use record::CpuList;

use super::run::{Failed, Trouble, how_it_failed, last, shown};
use crate::recipes::Service;
use crate::recipes::template::{Template, Values, fill_all};
use os::Stop;
use os::child::{Child, Exit, Input, Output, Spec};

/// Between two questions whether it is ready.
const ASK: Duration = Duration::from_millis(50);

/// What is kept of what its commands print.
const KEPT: usize = 64 << 10;

/// A service that runs.
#[derive(Debug)]
pub struct Running {
    child: Child,
    name: String,
    log: PathBuf,
}

/// Prepares a service, starts it, waits until it is ready, and loads it. What it prints goes to a file in `folder`.
pub(crate) fn start(
    service: &Service,
    values: &Values,
    environment: &[(OsString, OsString)],
    folder: &Path,
    stop: &Stop,
) -> Result<Running, Trouble> {
    let patience = Duration::from_secs_f64(service.patience);
    for command in &service.prepare {
        once(command, values, environment, folder, patience, stop)?;
    }
    let argv = fill_all(&service.start, values);
    let name = argv.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let log = folder.join("service.log");
    let written = File::create(&log)
        .map_err(|error| Trouble::Service(format!("{}: cannot be written: {error}", log.display())))?;
    let spec = Spec {
        stdin: Input::Null,
        stdout: Output::File(&written),
        stderr: Output::File(&written),
        env: environment,
        folder: Some(folder),
        own_group: true,
        ..Spec::new(&argv)
    };
    let child = Child::spawn(&spec).map_err(Trouble::CannotStart)?;
    let mut running = Running { child, name, log };
    let until = Instant::now() + patience;
    loop {
        running.check(stop)?;
        if service.ready.is_empty() {
            break;
        }
        let left = until.saturating_duration_since(Instant::now());
        match once(&service.ready, values, environment, folder, left.max(ASK), stop) {
            Ok(()) => break,
            Err(Trouble::Failed(_) | Trouble::TimedOut(_)) if Instant::now() < until => {
                std::thread::sleep(ASK);
            }
            Err(Trouble::Failed(_) | Trouble::TimedOut(_)) => {
                let words = last(&running.last_words());
                return Err(Trouble::Service(format!(
                    "{} did not get ready within {} s{words}",
                    running.name, service.patience
                )));
            }
            Err(other) => return Err(other),
        }
    }
    for command in &service.load {
        if let Err(trouble) = once(command, values, environment, folder, patience, stop) {
            running.check(stop)?;
            return Err(trouble);
        }
    }
    Ok(running)
}

/// Runs a command beside the service, which must succeed.
fn once(
    command: &[Template],
    values: &Values,
    environment: &[(OsString, OsString)],
    folder: &Path,
    patience: Duration,
    stop: &Stop,
) -> Result<(), Trouble> {
    let argv = fill_all(command, values);
    let spec = Spec {
        stdin: Input::Null,
        stdout: Output::Capture { limit: KEPT },
        stderr: Output::Capture { limit: KEPT },
        env: environment,
        folder: Some(folder),
        own_group: true,
        ..Spec::new(&argv)
    };
    let mut child = Child::spawn(&spec).map_err(Trouble::CannotStart)?;
    let ended = child.wait(stop, Some(patience));
    let name = argv.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match ended.exit {
        Exit::Stopped(signal) => Err(Trouble::Stopped(signal)),
        Exit::TimedOut => Err(Trouble::TimedOut(patience.as_secs_f64())),
        exit => match how_it_failed(exit) {
            None => Ok(()),
            Some(how) => {
                let (out, err) = child.captured();
                let text = if err.is_empty() { out } else { err };
                let words = shown(&String::from_utf8_lossy(&text));
                Err(Trouble::Failed(Failed { how: format!("{name} {how}"), words, forgivable: false }))
            }
        },
    }
}

impl Running {
    /// `Err` when it has ended by itself, with its last words.
    pub fn check(&mut self, stop: &Stop) -> Result<(), Trouble> {
        if let Some(signal) = stop.signal() {
            return Err(Trouble::Stopped(signal));
        }
        let Some(exit) = self.child.exit() else { return Ok(()) };
        self.child.end();
        let how = how_it_failed(exit).unwrap_or_else(|| "ended by itself".to_owned());
        let words = last(&self.last_words());
        Err(Trouble::Service(format!("{} {how} in the middle of the run{words}", self.name)))
    }

    /// Its process.
    pub fn pid(&self) -> i32 {
        self.child.pid()
    }

    /// Lets all its threads run on `cpus` only; what they start inherits that.
    pub fn pin(&self, cpus: &CpuList) {
        let tasks = || -> Vec<i32> {
            let entries = std::fs::read_dir(format!("/proc/{}/task", self.child.pid()));
            let names = entries.into_iter().flatten().flatten();
            names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
        };
        // A thread that was started during the first pass, by one that had not been reached yet, is reached in the second.
        for _ in 0..2 {
            for task in tasks() {
                // One that has ended meanwhile cannot be pinned and need not.
                let mask = os::pin::bit_mask(cpus);
                // SAFETY: the kernel reads the given number of bytes from a live list.
                unsafe { libc::syscall(libc::SYS_sched_setaffinity, task, mask.len() * 8, mask.as_ptr()) };
            }
        }
    }

    /// CPU seconds that it has used so far.
    pub fn cpu_seconds(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.pid())).unwrap_or_default();
        crate::incidents::cpu_seconds(&stat).unwrap_or(0.0)
    }

    /// The end of what it printed.
    fn last_words(&self) -> String {
        use std::io::{Read, Seek, SeekFrom};
        let read = || -> std::io::Result<String> {
            let mut file = File::open(&self.log)?;
            let bytes = file.metadata()?.len();
            file.seek(SeekFrom::Start(bytes.saturating_sub(KEPT as u64)))?;
            let mut text = Vec::new();
            file.take(KEPT as u64).read_to_end(&mut text)?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        };
        shown(&read().unwrap_or_default())
    }

    /// Ends it, and waits for its end.
    pub fn end(&mut self) {
        self.child.end();
    }
}
