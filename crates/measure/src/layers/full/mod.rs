//! The routine in a user program of a whole guest: a kernel under QEMU, with linespeed as its first process, bound to
//! one CPU of this machine.
//!
//! The machine counts a range when it is asked over a serial port, so that it takes turns with the other layers. Its
//! times are by the counter that this machine reads, too, where KVM runs it; under emulation they mean nothing.

mod qemu;
mod serve;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use kernels::primes;
use wire::{Frame, Kind as Said, Reader};

use super::guest::Kind;
use super::{Bound, Failure, Layer, LayerName, Pass, crc32};
use crate::Stop;
use crate::pin::Pinned;

pub use serve::serve;

/// The layer's name.
pub const LAYER: &str = "guest OS user";

/// How long the machine may take to boot.
const BOOT: Duration = Duration::from_secs(120);
/// A signal is looked for as often while the machine is waited for.
const LOOK: Duration = Duration::from_millis(50);
/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(60);

/// What the machine is made of.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The kernel, or the one that runs here.
    pub kernel: Option<&'a Path>,
    /// linespeed, a static program: the machine's first process.
    pub program: &'a Path,
    /// The CPU to which QEMU is bound.
    pub cpu: u32,
    /// What KVM there is: where it runs kernels at the processor's speed it is used, otherwise QEMU emulates.
    pub kvm: Kind,
    /// Whether to stop waiting for the machine.
    pub stop: &'static Stop,
}

/// The layer's place.
pub fn name(cpu: u32) -> LayerName {
    LayerName { layer: LAYER, bound: Bound::Cpu(cpu), interrupts: true }
}

/// Boots the machine and tries it out.
///
/// # Errors
///
/// What keeps it from running. Where QEMU emulates, the machine has counted all primes with the same bytes, or not, and
/// that is told: its times are withheld.
pub fn start(parts: &Parts) -> Result<Full, Failure> {
    let emulated = !matches!(parts.kvm, Kind::Hardware | Kind::Nested);
    let mut full = Full::boot(parts, emulated)?;
    if !emulated {
        return Ok(full);
    }
    let pass = full.pass(0..primes::LIMIT)?;
    let right = pass.primes == primes::KNOWN && pass.crc == crc32(primes::code());
    let which = if right { "the same bytes" } else { "other bytes or a wrong result" };
    Err(Failure::new(format!(
        "QEMU emulates here, since KVM is {}: the machine counted {} primes with {which}, and its times mean nothing",
        parts.kvm.word(),
        pass.primes
    ))
    .with_remedy("measure where KVM uses the processor's virtualization"))
}

/// A machine that runs. It ends when this is dropped, and when this process does.
#[derive(Debug)]
pub struct Full {
    cpu: u32,
    child: Child,
    asked: Option<ChildStdin>,
    stop: &'static Stop,
    frames: Receiver<Vec<u8>>,
    reader: Reader,
    seen: Vec<Frame>,
    /// The kernel's messages, and QEMU's own.
    console: File,
    complaint: File,
}

fn cannot(what: &'static str) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::new(format!("{what}: {error}"))
}

impl Full {
    fn boot(parts: &Parts, emulated: bool) -> Result<Self, Failure> {
        let kernel = qemu::kernel(parts.kernel)?;
        let program = std::fs::read(parts.program).map_err(cannot("linespeed itself cannot be read"))?;
        let archive = wire::first_file_system(&program).map_err(|error| Failure::new(error.to_string()))?;
        let file = || tempfile::tempfile().map_err(cannot("no file for the machine can be made"));
        let (mut initramfs, console, complaint) = (file()?, file()?, file()?);
        initramfs
            .write_all(&archive.finish())
            .map_err(cannot("the machine's file system cannot be written"))?;
        let told = complaint.try_clone().map_err(cannot("no file for the machine can be made"))?;
        let mut command = Command::new(qemu::PROGRAM.0);
        command
            .args(qemu::arguments(&kernel, &initramfs, &console, emulated))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(told);
        let mut child = spawned(&mut command, parts.cpu)?;
        let (sender, frames) = mpsc::sync_channel(64);
        let (asked, output) = (child.stdin.take(), child.stdout.take());
        crate::child::is_ours(child.id().cast_signed());
        let (cpu, stop) = (parts.cpu, parts.stop);
        let mut full = Self {
            cpu,
            child,
            asked,
            stop,
            frames,
            reader: Reader::new(),
            seen: Vec::new(),
            console,
            complaint,
        };
        std::thread::Builder::new()
            .name("linespeed/vm".to_owned())
            .spawn(move || forward(output, &sender))
            .map_err(cannot("no thread for the machine can be started"))?;
        full.next(Said::Started, BOOT)?;
        Ok(full)
    }

    /// The payload of the next frame of this kind; others are left out.
    fn next(&mut self, wanted: Said, limit: Duration) -> Result<Vec<u8>, Failure> {
        let until = Instant::now() + limit;
        loop {
            if !self.seen.is_empty() {
                let frame = self.seen.remove(0);
                if frame.kind == wanted {
                    return Ok(frame.payload);
                }
                if frame.kind == Said::Ended {
                    return Err(self.over("the machine has ended"));
                }
                continue;
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.frames.recv_timeout(left.min(LOOK)) {
                Ok(bytes) => self.seen = self.reader.take(&bytes),
                Err(RecvTimeoutError::Disconnected) => return Err(self.over("the machine has ended")),
                Err(RecvTimeoutError::Timeout) if self.stop.signal().is_some() => {
                    self.end();
                    return Err(Failure::new("a signal came while the machine was waited for"));
                }
                Err(RecvTimeoutError::Timeout) if left > LOOK => {}
                Err(RecvTimeoutError::Timeout) => {
                    let seconds = limit.as_secs();
                    return Err(self.over(&format!("the machine did not answer within {seconds} s")));
                }
            }
        }
    }

    /// Ends the machine; what it said last is told.
    fn over(&mut self, what: &str) -> Failure {
        self.end();
        let last = [&mut self.complaint, &mut self.console].into_iter().find_map(last_line);
        Failure::new(match last {
            Some(line) => format!("{what}; its last words: {line}"),
            None => what.to_owned(),
        })
    }

    fn end(&mut self) {
        self.asked = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Layer for Full {
    fn name(&self) -> LayerName {
        name(self.cpu)
    }

    fn pass(&mut self, range: Range<u64>) -> Result<Pass, Failure> {
        let request = serve::request(&range);
        let sent = self.asked.as_mut().is_some_and(|to| to.write_all(request.as_bytes()).is_ok());
        if !sent {
            return Err(self.over("the machine has ended"));
        }
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            line.extend(self.next(Said::Output, LIMIT)?);
        }
        serve::read_answer(&String::from_utf8_lossy(&line))
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        self.end();
    }
}

/// Starts QEMU on this CPU. The kernel ends it when the calling thread ends, however that comes.
fn spawned(command: &mut Command, cpu: u32) -> Result<Child, Failure> {
    let parent = std::process::id();
    // SAFETY: only async-signal-safe calls between fork and exec. If we have ended before the child asked to end with
    // us, it has another parent already.
    unsafe {
        command.pre_exec(move || {
            // Ctrl-C is for us.
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
    // A child begins on the CPUs of the thread that starts it.
    let _pinned = Pinned::to(cpu)
        .map_err(|error| Failure::new(format!("the machine cannot be bound to CPU {cpu}: {error}")))?;
    command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::new(format!("{} is not installed", qemu::PROGRAM.0))
            .with_remedy(format!("sudo apt install {}", qemu::PROGRAM.1)),
        _ => Failure::new(format!("{} cannot be started: {error}", qemu::PROGRAM.0)),
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

/// The last line of a file that says something, without what a terminal would act on.
fn last_line(file: &mut File) -> Option<String> {
    /// Enough for the last line.
    const LAST: u64 = 4096;
    let end = file.seek(SeekFrom::End(0)).ok()?;
    file.seek(SeekFrom::Start(end.saturating_sub(LAST))).ok()?;
    let mut bytes = Vec::new();
    file.take(LAST).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().rfind(|line| !line.trim().is_empty())?;
    Some(line.chars().filter(|c| !c.is_control()).take(200).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    static STOP: Stop = Stop::new();

    #[cfg(target_arch = "x86_64")]
    fn parts(kernel: &Path) -> Parts<'_> {
        let cpu = crate::sys::current_cpu().unwrap_or(0);
        Parts {
            kernel: Some(kernel),
            program: Path::new("/proc/self/exe"),
            cpu,
            kvm: Kind::None,
            stop: &STOP,
        }
    }

    /// Not on aarch64: there QEMU takes any file for a kernel's bytes and runs them, until the time is over.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn what_is_no_kernel_is_told_in_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vmlinuz");
        std::fs::write(&path, "no kernel").unwrap();
        let failure = start(&parts(&path)).unwrap_err();
        // Either QEMU says why, or it is not installed here.
        let said = failure.reason.contains("the machine has ended") || failure.remedy.is_some();
        assert!(said && !failure.reason.contains('\n'), "{}", failure.reason);
    }

    #[test]
    fn the_last_words_are_those_that_say_something() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(last_line(&mut file), None);
        file.write_all(b"one\nKernel panic\x1b[0m - not syncing\r\n\n").unwrap();
        assert_eq!(last_line(&mut file).as_deref(), Some("Kernel panic[0m - not syncing"));
    }
}
