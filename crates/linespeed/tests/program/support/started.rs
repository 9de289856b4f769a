//! A run that is watched while it goes on: a test waits for what it says, then sends it a signal or changes the machine.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use super::{PATIENCE, Ran, emulated, emulator};

/// Has a command heed signals, whatever runs these tests: under nohup, and as a shell's background job, the tests' own
/// are ignored, and a program that inherits that rightly goes on.
pub fn heeding_signals(command: &mut Command) {
    // SAFETY: resetting a signal is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
}

/// Starts a command; again where an emulator hung at it.
pub fn spawned(command: &mut Command) -> Child {
    loop {
        let mut child = command.spawn().expect("the program starts");
        if !emulated() || emulator::begins(child.id()) {
            return child;
        }
        let _ = child.wait();
    }
}

/// A program that runs. It is killed when the test is done with it.
#[derive(Debug)]
pub struct Started {
    child: Child,
    lines: Receiver<String>,
    stdout: Option<JoinHandle<Vec<u8>>>,
}

impl Started {
    /// Starts a command. Both its outputs are read all the time, so that it never waits for its reader.
    pub fn new(mut command: Command) -> Self {
        heeding_signals(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = spawned(&mut command);
        let (mut out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(err).lines().map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        let stdout = std::thread::spawn(move || {
            let mut all = Vec::new();
            let _ = out.read_to_end(&mut all);
            all
        });
        Self { child, lines, stdout: Some(stdout) }
    }

    /// Its process number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line on its standard error that begins so.
    #[track_caller]
    pub fn wait_for(&self, beginning: &str) {
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            if line.starts_with(beginning) {
                return;
            }
        }
        panic!("it never said {beginning:?}");
    }

    /// Sends it a signal.
    pub fn send(&self, signal: i32) {
        // SAFETY: takes numbers; the child was not waited for, so the number is still its own.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    /// Waits for its end; standard error as far as it was not waited for.
    #[track_caller]
    pub fn ended(mut self) -> Ran {
        let from = Instant::now();
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None => assert!(from.elapsed() < PATIENCE, "it does not end"),
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        let stdout = self.stdout.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        let stderr: String = self.lines.iter().map(|line| line + "\n").collect();
        Ran::from(std::process::Output { status, stdout, stderr: stderr.into_bytes() })
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
