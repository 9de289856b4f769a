//! The virtual machine: the QEMU process, and the communication with the linespeed process in the guest.

use std::fs;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use os::Stop;
use os::pin;
use os::pin::Pinned;
use record::{CpuList, Template, Text, text};
use wire::{Frame, Kind as Said, Reader};

use super::WholeGuest;
use super::protocol::{self, Answer, GuestCommand, PIECE, Place};
use super::qemu;
use crate::{Pass, Unavailable};

/// The time limit for booting the machine.
const BOOT: Duration = Duration::from_secs(120);
/// The interval between checks for a signal while waiting for the machine.
const LOOK: Duration = Duration::from_millis(50);
/// The time limit for an answer.
const LIMIT: Duration = Duration::from_secs(60);

/// A running virtual machine. It is terminated when this value is dropped or this process ends.
#[derive(Debug)]
pub(super) struct Machine {
    child: Child,
    asked: Option<ChildStdin>,
    stop: &'static Stop,
    frames: Receiver<Vec<u8>>,
    reader: Reader,
    seen: Vec<Frame>,
    /// The messages of the guest's kernel and of QEMU.
    console: File,
    complaint: File,
}

/// Builds the error for a part of the machine that cannot be set up.
fn cannot(what: &'static str) -> impl Fn(io::Error) -> Unavailable {
    move |error| Unavailable::new(text!("cannot set up the VM ({what}: {error})"))
}

/// QEMU has exited.
pub(super) const ENDED: Template = Template::new("vm-ended", "the VM has ended");

impl Machine {
    /// Boots the machine, with a vCPU pinned to each of `cpus`.
    pub(super) fn boot(spec: &WholeGuest, cpus: &[u32], emulated: bool) -> Result<Self, Unavailable> {
        let kernel = qemu::kernel(spec.kernel)?;
        let program = std::fs::read(spec.program).map_err(cannot("/proc/self/exe"))?;
        let archive =
            wire::first_file_system(&program).map_err(|error| Unavailable::new(error.to_string()))?;
        let file = || tempfile::tempfile().map_err(cannot("temporary file"));
        let (mut initramfs, console, complaint) = (file()?, file()?, file()?);
        initramfs.write_all(&archive.finish()).map_err(cannot("initramfs"))?;
        let reported = complaint.try_clone().map_err(cannot("temporary file"))?;
        let mut command = Command::new(qemu::PROGRAM.0);
        command
            .args(qemu::arguments(&kernel, &initramfs, &console, emulated, cpus.len()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(reported);
        let mut child = spawned(&mut command, cpus)?;
        let (sender, frames) = mpsc::sync_channel(64);
        let (asked, output) = (child.stdin.take(), child.stdout.take());
        os::child::register_own(child.id().cast_signed());
        let mut machine = Self {
            child,
            asked,
            stop: spec.stop,
            frames,
            reader: Reader::new(),
            seen: Vec::new(),
            console,
            complaint,
        };
        std::thread::Builder::new()
            .name("linespeed/vm".to_owned())
            .spawn(move || forward(output, &sender))
            .map_err(cannot("thread"))?;
        machine.next(Said::Started, BOOT)?;
        bind_cpu_threads(machine.child.id(), cpus)?;
        Ok(machine)
    }

    /// The release of the machine's kernel.
    pub(super) fn release(&mut self) -> Result<String, Unavailable> {
        match self.ask(&GuestCommand::About, b"")? {
            Answer::Release(release) => Ok(release),
            other => Err(protocol::unclear(&protocol::line(&other))),
        }
    }

    /// Sends a kernel module to the machine and has the machine load it.
    pub(super) fn load(&mut self, module: &[u8]) -> Result<(), Unavailable> {
        for piece in module.chunks(PIECE) {
            self.ask(&GuestCommand::Piece(piece.len()), piece)?;
        }
        self.ask(&GuestCommand::Load, b"").map(drop)
    }

    /// Has the machine count the primes in a range.
    pub(super) fn pass(&mut self, place: Place, range: Range<u64>) -> Result<Pass, Unavailable> {
        match self.ask(&GuestCommand::Pass(place, range), b"")? {
            Answer::Pass(pass) => Ok(pass),
            other => Err(protocol::unclear(&protocol::line(&other))),
        }
    }

    /// Sends a request with its payload, and returns the answer.
    fn ask(&mut self, asked: &GuestCommand, more: &[u8]) -> Result<Answer, Unavailable> {
        let request = [protocol::line(asked).as_bytes(), more].concat();
        let sent = self.asked.as_mut().is_some_and(|to| to.write_all(&request).is_ok());
        if !sent {
            return Err(self.over(ENDED.into()));
        }
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            line.extend(self.next(Said::Output, LIMIT)?);
        }
        protocol::answer(&String::from_utf8_lossy(&line))
    }

    /// The payload of the next frame of this kind; frames of other kinds are skipped.
    fn next(&mut self, wanted: Said, limit: Duration) -> Result<Vec<u8>, Unavailable> {
        let until = Instant::now() + limit;
        loop {
            if !self.seen.is_empty() {
                let frame = self.seen.remove(0);
                if frame.kind == wanted {
                    return Ok(frame.payload);
                }
                if frame.kind == Said::Ended {
                    return Err(self.over(ENDED.into()));
                }
                continue;
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.frames.recv_timeout(left.min(LOOK)) {
                Ok(bytes) => self.seen = self.reader.take(&bytes),
                Err(RecvTimeoutError::Disconnected) => return Err(self.over(ENDED.into())),
                Err(RecvTimeoutError::Timeout) if self.stop.signal().is_some() => {
                    self.end();
                    return Err(text!("interrupted by a signal while waiting for the VM").into());
                }
                Err(RecvTimeoutError::Timeout) if left > LOOK => {}
                Err(RecvTimeoutError::Timeout) => {
                    let limit = text::Value::Figure(limit.as_secs_f64(), "s");
                    return Err(self.over(text!("the VM did not answer within {limit}")));
                }
            }
        }
    }

    /// Terminates the machine, and reports its last message.
    fn over(&mut self, what: Text) -> Unavailable {
        self.end();
        let last = [&mut self.complaint, &mut self.console].into_iter().find_map(last_line);
        let Some(line) = last else { return what.into() };
        text!("{what} (last output: {line})").into()
    }

    fn end(&mut self) {
        self.asked = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.end();
    }
}

/// Starts QEMU on these CPUs. The kernel kills it when the calling thread ends for any reason.
fn spawned(command: &mut Command, cpus: &[u32]) -> Result<Child, Unavailable> {
    let parent = std::process::id();
    // SAFETY: only async-signal-safe calls between fork and exec. If this process exited before the child requested its
    // parent-death signal, the child already has another parent.
    unsafe {
        command.pre_exec(move || {
            // Ctrl-C must reach only this process.
            libc::setpgid(0, 0);
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            if libc::getppid().cast_unsigned() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        });
    }
    // A child inherits the affinity of the thread that starts it.
    let cpus: CpuList = cpus.iter().copied().collect();
    let _pinned = Pinned::within(&cpus)
        .map_err(|error| Unavailable::new(text!("cannot pin the VM to CPU {cpus}: {error}", cpus = &cpus)))?;
    command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => text!("{program} is not installed", program = qemu::PROGRAM.0)
            .with_remedy(format!("sudo apt install {}", qemu::PROGRAM.1)),
        _ => Unavailable::new(text!("cannot start {program}: {error}", program = qemu::PROGRAM.0)),
    })
}

fn forward(from: Option<ChildStdout>, to: &mpsc::SyncSender<Vec<u8>>) {
    let Some(mut from) = from else { return };
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if to.send(buffer[..length].to_vec()).is_err() {
            return;
        }
    }
}

/// The last non-empty line of a file, without control characters.
fn last_line(file: &mut File) -> Option<String> {
    /// Number of bytes to read from the end of the file, which is enough for its last line.
    const LAST: u64 = 4096;
    let end = file.seek(SeekFrom::End(0)).ok()?;
    file.seek(SeekFrom::Start(end.saturating_sub(LAST))).ok()?;
    let mut bytes = Vec::new();
    file.take(LAST).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().rfind(|line| !line.trim().is_empty())?;
    Some(line.chars().filter(|c| !c.is_control()).take(200).collect())
}

/// Pins the vCPU threads of the process `pid`, each to the CPU at the same index in `cpus`.
///
/// # Errors
///
/// A thread was not found or cannot be pinned.
pub(super) fn bind_cpu_threads(pid: u32, cpus: &[u32]) -> Result<(), Unavailable> {
    let threads = find_cpu_threads(Path::new(&format!("/proc/{pid}/task")));
    for (number, cpu) in (0..).zip(cpus.iter().copied()) {
        let Some((_, thread)) = threads.iter().find(|(of, _)| *of == number) else {
            return Err(text!("no QEMU thread found for vCPU {number}", number = number).into());
        };
        pin::bind_thread(*thread, &[cpu].into_iter().collect()).map_err(|error| {
            Unavailable::new(text!("cannot pin vCPU {number} to CPU {cpu}: {error}", number = number))
        })?;
    }
    Ok(())
}

/// The vCPUs with their threads, identified by QEMU's thread names: `CPU 0/KVM`, `CPU 1/TCG`.
fn find_cpu_threads(tasks: &Path) -> Vec<(u32, i32)> {
    let entries = fs::read_dir(tasks).into_iter().flatten().flatten();
    let numbered = entries.filter_map(|entry| {
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        let (cpu, _) = name.strip_prefix("CPU ")?.split_once('/')?;
        Some((cpu.parse().ok()?, entry.file_name().to_str()?.parse().ok()?))
    });
    numbered.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_those_that_say_something() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(last_line(&mut file), None);
        file.write_all(b"one\nKernel panic\x1b[0m - not syncing\r\n\n").unwrap();
        assert_eq!(last_line(&mut file).as_deref(), Some("Kernel panic[0m - not syncing"));
    }
}

#[cfg(test)]
mod thread_tests {
    use super::*;

    #[test]
    fn threads_of_cpus_are_known_by_their_names() {
        let tasks = tempfile::tempdir().unwrap();
        for (thread, name) in [
            ("10", "qemu-system-x86\n"),
            ("12", "CPU 1/TCG\n"),
            ("11", "CPU 0/KVM\n"),
            ("13", "CPU x/KVM\n"),
            ("y", "CPU 2/KVM\n"),
        ] {
            fs::create_dir(tasks.path().join(thread)).unwrap();
            fs::write(tasks.path().join(thread).join("comm"), name).unwrap();
        }
        let mut found = find_cpu_threads(tasks.path());
        found.sort_unstable();
        assert_eq!(found, [(0, 11), (1, 12)]);
    }

    #[test]
    fn a_process_without_such_threads_is_a_reason() {
        let why = bind_cpu_threads(std::process::id(), &[0]).unwrap_err();
        assert_eq!(why.reason.value("number"), Some(&0u32.into()), "{why:?}");
    }
}
