//! Runs one machine from start to end: its output is forwarded as it arrives, its record is saved, and no QEMU process
//! outlives this one.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, PipeReader, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use os::child::{Child, Input, Output, SpawnError, Spec};
use wire::{Frame, Kind, Reader};

use crate::failure::Failure;
use crate::qemu::{self, Parts};
use crate::shape::Shape;
use crate::signals::STOP;
use crate::smbios;

/// The job of a machine.
pub struct Job<'a> {
    /// The machine.
    pub shape: &'a Shape,
    /// Its kernel.
    pub kernel: PathBuf,
    /// Its initial file system.
    pub initramfs: &'a [u8],
    /// linespeed's arguments.
    pub arguments: &'a [String],
    /// Time limit including boot, after which it is powered off.
    pub limit: Duration,
    /// Whether its output is forwarded to this process's output.
    pub pass_on: bool,
    /// Whether QEMU's command line is shown.
    pub verbose: bool,
}

/// The exit status of the program in the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It exited with this code.
    Exit(u8),
    /// It was terminated by this signal.
    Signal(u8),
}

impl Ended {
    fn read(text: &[u8]) -> Option<Self> {
        let (word, number) = std::str::from_utf8(text).ok()?.split_once(' ')?;
        let number = number.parse().ok()?;
        match word {
            "exit" => Some(Self::Exit(number)),
            "signal" => Some(Self::Signal(number)),
            _ => None,
        }
    }

    /// The corresponding exit code of the lab.
    pub fn code(self) -> u8 {
        match self {
            Self::Exit(code) => code,
            Self::Signal(signal) => 128u8.saturating_add(signal),
        }
    }
}

/// The result of running a machine.
#[derive(Debug)]
pub struct Outcome {
    /// The exit status of its program.
    pub ended: Ended,
    /// Its record, if it wrote one.
    pub record: Option<Vec<u8>>,
    /// The program's standard output and standard error.
    pub printed: Vec<u8>,
    /// From the start of QEMU to the start of the program.
    pub boot: Duration,
    /// From the start of QEMU to its end.
    pub whole: Duration,
}

impl Outcome {
    /// Whether its program succeeded.
    pub fn succeeded(&self) -> bool {
        self.ended == Ended::Exit(0)
    }

    /// The output of its program, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.printed).trim_end().to_owned()
    }
}

/// Interval between checks of the time limit and of signals.
const LOOK: Duration = Duration::from_millis(100);
/// Time limit for QEMU to exit after the machine's last message.
const POWER_OFF: Duration = Duration::from_secs(20);

/// Boots the machine and runs it to its end. If its program has not started after half of the time, the kernel or QEMU
/// hangs, and the machine is booted once more.
pub fn run(job: &Job) -> Result<Outcome, Failure> {
    match once(job) {
        Err(Failure::NotBooted(why)) => {
            eprintln!("lab: {why}\nlab: {}: booting once more", job.shape.name);
            once(job)
        }
        other => other,
    }
}

fn once(job: &Job) -> Result<Outcome, Failure> {
    let shape = job.shape;
    let memory = |name: &str, bytes: &[u8]| {
        MemoryFile::new(name, bytes).map_err(|error| Failure::Cannot(format!("a file in memory: {error}")))
    };
    let initramfs = memory("initramfs", job.initramfs)?;
    let mut console = memory("console", b"")?;
    let tables = match shape.memory_devices.as_slice() {
        [] => None,
        devices => Some(memory("tables", &smbios::memory_devices(devices))?),
    };
    let parameters = qemu::kernel_parameters(shape, job.arguments).map_err(Failure::Usage)?;
    let parts = Parts {
        kernel: job.kernel.clone(),
        initramfs: initramfs.path(),
        tables: tables.as_ref().map(MemoryFile::path),
        console: console.path(),
    };
    let arguments = qemu::arguments(shape, &parts, &parameters);
    if job.verbose {
        eprintln!("lab: {} {}", qemu::program(shape.architecture), arguments.join(" "));
    }
    let began = Instant::now();
    let mut machine = Machine::start(shape, &arguments)?;
    let mut seen = Seen::default();
    let watched = watch(job, began, &mut machine, &mut seen);
    let complaint = machine.end(if matches!(watched, Ok(None)) { POWER_OFF } else { Duration::ZERO });
    let booted = seen.boot.is_some();
    let (why, failure): (String, fn(String) -> Failure) = match watched? {
        Some(why) if booted => (why, Failure::Cannot),
        Some(why) => (why, Failure::NotBooted),
        None => match seen.outcome(began.elapsed()) {
            Ok(outcome) => return Ok(outcome),
            Err(why) => (why, Failure::Cannot),
        },
    };
    let words = [complaint, console.text()].concat();
    // QEMU's warnings at start-up precede the reason for its exit.
    let reported: Vec<&str> = words.lines().filter(|line| !line.trim().is_empty()).collect();
    let reported = reported[reported.len().saturating_sub(12)..].join("\n    ");
    let said = if reported.is_empty() { String::new() } else { format!("; last messages:\n    {reported}") };
    Err(failure(format!("{}: {why}{said}", shape.name)))
}

/// Receives data from the machine until its last message or until it closes the channel; returns the reason if it was
/// powered off.
fn watch(
    job: &Job,
    began: Instant,
    machine: &mut Machine,
    seen: &mut Seen,
) -> Result<Option<String>, Failure> {
    while seen.ended.is_none() {
        if let Some(signal) = STOP.signal() {
            return Err(Failure::Signal(signal));
        }
        let booted = seen.boot.is_some();
        let limit = if booted { job.limit } else { job.limit / 2 };
        if began.elapsed() > limit {
            let seconds = limit.as_secs();
            let how = if booted { "its program was still running" } else { "it had not booted" };
            let way_out = "allow more time with --seconds N";
            return Ok(Some(format!("{how} after {seconds} s and it was powered off; {way_out}")));
        }
        match machine.output.recv_timeout(LOOK) {
            Ok(bytes) => {
                for frame in seen.reader.take(&bytes) {
                    seen.take(frame, began, job.pass_on);
                }
            }
            // QEMU's messages are read in the meantime, so QEMU never waits for a reader.
            Err(RecvTimeoutError::Timeout) => drop(machine.child.exit()),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(None)
}

/// The data received so far.
#[derive(Default)]
struct Seen {
    reader: Reader,
    boot: Option<Duration>,
    record: Vec<u8>,
    printed: Vec<u8>,
    ended: Option<Ended>,
}

impl Seen {
    fn take(&mut self, frame: Frame, began: Instant, pass_on: bool) {
        // There may be no reader; the machine continues regardless.
        match frame.kind {
            Kind::Started => self.boot = Some(began.elapsed()),
            Kind::Record => self.record.extend(frame.payload),
            Kind::Note => eprintln!("lab: in the machine: {}", String::from_utf8_lossy(&frame.payload)),
            Kind::Ended => self.ended = Ended::read(&frame.payload),
            Kind::Output | Kind::Error => {
                if pass_on && frame.kind == Kind::Output {
                    let mut output = io::stdout();
                    let _ = output.write_all(&frame.payload).and_then(|()| output.flush());
                } else if pass_on {
                    let _ = io::stderr().write_all(&frame.payload);
                }
                self.printed.extend(frame.payload);
            }
        }
    }

    fn outcome(self, whole: Duration) -> Result<Outcome, String> {
        let lost = self.reader.lost();
        if lost > 0 {
            return Err(format!("{lost} frames were damaged on the serial port; boot the machine again"));
        }
        match (self.ended, self.boot) {
            (Some(ended), Some(boot)) => Ok(Outcome {
                ended,
                record: (!self.record.is_empty()).then_some(self.record),
                printed: self.printed,
                boot,
                whole,
            }),
            (None, Some(_)) => Err("the machine stopped before its program exited".to_owned()),
            (_, None) => Err("the machine stopped before it had booted".to_owned()),
        }
    }
}

/// Maximum size of QEMU's saved messages.
const MOST_WORDS: usize = 1 << 16;

/// A running QEMU process, which is terminated on drop, and by the kernel when this process exits.
struct Machine {
    child: Child,
    output: Receiver<Vec<u8>>,
}

impl Machine {
    fn start(shape: &Shape, arguments: &[String]) -> Result<Self, Failure> {
        let program = qemu::program(shape.architecture);
        let argv: Vec<OsString> =
            [program].into_iter().chain(arguments.iter().map(String::as_str)).map(OsString::from).collect();
        let (from, to) = io::pipe().map_err(|error| Failure::Cannot(format!("{program}: {error}")))?;
        let to = File::from(OwnedFd::from(to));
        let spec = Spec {
            stdin: Input::Null,
            stdout: Output::File(&to),
            stderr: Output::Capture { limit: MOST_WORDS },
            // Ctrl-C must reach only the lab, which then terminates the machine itself.
            own_group: true,
            ..Spec::new(&argv)
        };
        let child = Child::spawn(&spec).map_err(|error| match error {
            SpawnError::NotFound { .. } => {
                let package = qemu::package(shape.architecture);
                Failure::Cannot(format!("{program} is not installed; run: apt-get install {package}"))
            }
            error => Failure::Cannot(error.to_string()),
        })?;
        let (sender, output) = mpsc::channel();
        std::thread::spawn(move || forward(from, &sender));
        Ok(Self { child, output })
    }

    /// Waits up to `patience` for QEMU to exit, terminates it otherwise, and returns its messages.
    fn end(&mut self, patience: Duration) -> String {
        self.child.wait(&STOP, Some(patience));
        String::from_utf8_lossy(&self.child.captured().1).into_owned()
    }
}

fn forward(mut from: PipeReader, to: &Sender<Vec<u8>>) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if to.send(buffer[..length].to_vec()).is_err() {
            return;
        }
    }
}

/// An unnamed file: nothing is left behind, however this process exits.
struct MemoryFile(File);

impl MemoryFile {
    fn new(name: &str, contents: &[u8]) -> io::Result<Self> {
        let name = CString::new(name)?;
        // SAFETY: the name ends with a zero byte; nothing else owns the returned descriptor, which children inherit.
        let mut file = unsafe {
            match libc::memfd_create(name.as_ptr(), 0) {
                descriptor @ 0.. => File::from_raw_fd(descriptor),
                _ => return Err(io::Error::last_os_error()),
            }
        };
        file.write_all(contents)?;
        Ok(Self(file))
    }

    /// The path with which a child that inherited the file can open it again.
    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }

    /// Its content, without terminal control characters.
    fn text(&mut self) -> String {
        let mut bytes = Vec::new();
        let _ = self.0.seek(SeekFrom::Start(0)).and_then(|_| self.0.read_to_end(&mut bytes));
        let text = String::from_utf8_lossy(&bytes);
        text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(frames: &[(Kind, &[u8])]) -> Seen {
        let (mut seen, mut number) = (Seen::default(), 0);
        for (kind, payload) in frames {
            let bytes = wire::encode(*kind, &mut number, payload);
            for frame in seen.reader.take(&bytes) {
                seen.take(frame, Instant::now(), false);
            }
        }
        seen
    }

    #[test]
    fn a_machines_end_is_passed_on_and_its_record_kept_whole() {
        let record = vec![b'{'; 9000];
        let frames: [(Kind, &[u8]); 5] = [
            (Kind::Started, b""),
            (Kind::Output, b"out"),
            (Kind::Error, b"err"),
            (Kind::Record, &record),
            (Kind::Ended, b"signal 11"),
        ];
        let outcome = seen(&frames).outcome(Duration::ZERO).unwrap();
        assert_eq!((outcome.ended, outcome.ended.code()), (Ended::Signal(11), 139));
        assert_eq!((outcome.record, outcome.printed.as_slice()), (Some(record), b"outerr".as_slice()));
    }

    #[test]
    fn a_machine_that_dies_early_is_reported_from_one_that_never_came_up() {
        let early = seen(&[(Kind::Started, b"")]).outcome(Duration::ZERO).unwrap_err();
        assert!(early.contains("before its program"), "{early}");
        let never = seen(&[]).outcome(Duration::ZERO).unwrap_err();
        assert!(never.contains("before it had booted"), "{never}");
    }

    #[test]
    fn a_record_with_a_hole_is_no_record() {
        let mut seen = seen(&[(Kind::Started, b"")]);
        let mut number = 2;
        for frame in seen.reader.take(&wire::encode(Kind::Ended, &mut number, b"exit 0")) {
            seen.take(frame, Instant::now(), false);
        }
        let why = seen.outcome(Duration::ZERO).unwrap_err();
        assert!(why.contains("1 frames were damaged"), "{why}");
    }

    #[test]
    fn the_end_reads_as_it_was_written() {
        assert_eq!(Ended::read(b"exit 3"), Some(Ended::Exit(3)));
        for odd in [b"exit".as_slice(), b"exit 300", b"left 1", b"\xff 1", b""] {
            assert_eq!(Ended::read(odd), None);
        }
    }
}
