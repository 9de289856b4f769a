//! Prepares, starts and terminates a program that runs during a measurement.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use os::Stop;
use os::child::{Child, Exit, Input, Output, Spec, Stat, USER_HZ};
use os::procfs::numbers;
use record::CpuList;

use crate::failure::{Failed, LastOutput, Trouble, check_stop, last_words};
use crate::recipes::Service;
use crate::recipes::template::{Template, Values, fill_all};

/// The time limit for a service to become ready, and for each of its other commands.
const PATIENCE: Duration = Duration::from_secs(120);

/// Interval between readiness checks.
const ASK: Duration = Duration::from_millis(50);

/// The time limit for a killed service to exit.
const DYING: Duration = Duration::from_secs(1);

/// Maximum saved output of the service's commands, bytes.
const KEPT: usize = 64 << 10;

/// A running service.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    program: String,
    log: PathBuf,
}

/// Common parameters of all commands of a service.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    /// The values of the commands' placeholders.
    pub(super) values: &'a Values,
    /// Additional environment variables.
    pub(super) environment: &'a [(OsString, OsString)],
    /// The working directory of the commands.
    pub(super) folder: &'a Path,
    /// The stop request that ends the commands early.
    pub(super) stop: &'a Stop,
}

/// Prepares a service, starts it, waits until it is ready, and runs the commands that load data into it. The service's
/// output is written to a file in the directory.
pub(super) fn start_service(service: &Service, setting: Setting) -> Result<Running, Trouble> {
    service.prepare.iter().try_for_each(|command| run_command(command, setting, PATIENCE))?;
    let argv = fill_all(&service.start, setting.values);
    let log = setting.folder.join("service.log");
    let written = File::create(&log)
        .map_err(|error| Trouble::Service(format!("{}: cannot be written: {error}", log.display())))?;
    let output = Output::File(&written);
    let spec = Spec { stdout: output, stderr: output, ..setting.spec(&argv) };
    let child = Child::spawn(&spec).map_err(Trouble::CannotStart)?;
    let mut running = Running { child, program: name_program(&argv), log };
    running.wait_until_ready(service, setting)?;
    for command in &service.load {
        if let Err(trouble) = run_command(command, setting, PATIENCE) {
            running.check(setting.stop)?;
            return Err(trouble);
        }
    }
    Ok(running)
}

impl<'a> Setting<'a> {
    fn spec(&self, argv: &'a [OsString]) -> Spec<'a> {
        let (env, folder) = (self.environment, Some(self.folder));
        Spec { stdin: Input::Null, env, folder, own_group: true, ..Spec::new(argv) }
    }
}

fn name_program(argv: &[OsString]) -> String {
    argv.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Runs a command while the service runs. The command must succeed.
fn run_command(command: &[Template], setting: Setting, patience: Duration) -> Result<(), Trouble> {
    let argv = fill_all(command, setting.values);
    let captured = Output::Capture { limit: KEPT };
    let spec = Spec { stdout: captured, stderr: captured, ..setting.spec(&argv) };
    let mut child = Child::spawn(&spec).map_err(Trouble::CannotStart)?;
    match child.wait(setting.stop, Some(patience)).exit {
        Exit::Code(0) => Ok(()),
        Exit::Stopped(signal) => Err(Trouble::Stopped(signal)),
        Exit::TimedOut => Err(Trouble::TimedOut(patience.as_secs_f64())),
        exit => {
            let (out, err) = child.captured();
            let printed = if err.is_empty() { &out } else { &err };
            Err(Trouble::Failed(Failed::alone(exit, Some(name_program(&argv)), printed)))
        }
    }
}

impl Running {
    fn wait_until_ready(&mut self, service: &Service, setting: Setting) -> Result<(), Trouble> {
        let until = Instant::now() + PATIENCE;
        loop {
            self.check(setting.stop)?;
            if service.ready.is_empty() {
                return Ok(());
            }
            let left = until.saturating_duration_since(Instant::now());
            match run_command(&service.ready, setting, left.max(ASK)) {
                Err(Trouble::Failed(_) | Trouble::TimedOut(_)) if Instant::now() < until => {
                    std::thread::sleep(ASK);
                }
                Err(Trouble::Failed(_) | Trouble::TimedOut(_)) => {
                    let how = format!("was not ready within {} s", PATIENCE.as_secs());
                    return Err(self.trouble(&how));
                }
                other => return other,
            }
        }
    }

    /// Returns an error if the service has exited on its own.
    pub(super) fn check(&mut self, stop: &Stop) -> Result<(), Trouble> {
        check_stop(stop)?;
        let Some(exit) = self.child.exit() else { return Ok(()) };
        self.child.end();
        let how = if exit == Exit::Code(0) { "exited on its own".to_owned() } else { exit.to_string() };
        Err(self.trouble(&format!("{how} during the run")))
    }

    /// Describes how the service exited, with its last output.
    fn trouble(&self, did: &str) -> Trouble {
        let (program, output) = (&self.program, self.read_last_output());
        Trouble::Service(format!("{program} {did}{}", LastOutput(&output)))
    }

    /// Waits a short time and returns an error if the service exits during this time. A large process takes a while to
    /// exit.
    pub(super) fn check_again(&mut self, stop: &Stop) -> Result<(), Trouble> {
        let until = Instant::now() + DYING;
        while Instant::now() < until {
            std::thread::sleep(ASK);
            self.check(stop)?;
        }
        Ok(())
    }

    /// Restricts all threads of the service to `cpus`; processes that they start inherit this affinity.
    pub(super) fn pin_threads(&self, cpus: &CpuList) {
        // The second pass visits threads that were started during the first pass by a thread that had not yet been
        // visited.
        for _ in 0..2 {
            for task in numbers(format!("/proc/{}/task", self.child.pid())) {
                // A thread that has exited in the meantime cannot and need not be pinned.
                let _ = os::pin::bind_thread(task, cpus);
            }
        }
    }

    /// CPU time used so far, seconds.
    pub(super) fn cpu_seconds(&self) -> f64 {
        Stat::read(self.child.pid()).map_or(0.0, |stat| stat.all_ticks() as f64 / USER_HZ)
    }

    /// The end of the service's output.
    fn read_last_output(&self) -> String {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(&self.log)?;
            let bytes = file.metadata()?.len();
            file.seek(SeekFrom::Start(bytes.saturating_sub(KEPT as u64)))?;
            let mut text = Vec::new();
            file.take(KEPT as u64).read_to_end(&mut text)?;
            Ok(text)
        };
        last_words(&String::from_utf8_lossy(&read().unwrap_or_default()))
    }
}
