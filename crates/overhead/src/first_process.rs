//! Runs linespeed as the only program in a virtual machine of the lab or of `linespeed overhead`. As init, linespeed mounts the required
//! file systems, measures as specified on the kernel command line, sends the results over a serial port, and powers the machine off.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::mount::MountFlags;
use rustix::process::WaitOptions;
use rustix::system::RebootCommand;
use rustix::termios::{OptionalActions, tcdrain, tcgetattr, tcsetattr};
use wire::{Kind, Orders};

/// The path at which the kernel starts the program of an initramfs.
const INIT: &str = "/init";

/// The file systems to mount: type, directory, and whether the directory must be created. `/proc` is mounted first, because it
/// contains the kernel command line with the instructions.
const MOUNTS: [(&str, &str, bool); 6] = [
    ("proc", "/proc", false),
    ("sysfs", "/sys", false),
    ("devtmpfs", "/dev", false),
    ("tmpfs", "/dev/shm", true),
    ("tmpfs", "/tmp", false),
    ("cgroup2", "/sys/fs/cgroup", false),
];

/// Whether the kernel started this process as the machine's init. A container's init does not count: its `/proc` is
/// already mounted.
pub fn is_first_process() -> bool {
    std::process::id() == 1
        && std::env::args_os().next().is_some_and(|name| name == INIT)
        && !Path::new("/proc/self").exists()
}

/// Executes the instructions and powers off. If there are no instructions, because this is not a virtual machine of the lab,
/// a message is printed instead.
pub fn run() -> ! {
    let mut notes: Vec<String> = MOUNTS.iter().take(1).filter_map(mount).collect();
    let orders = match read_orders() {
        Ok(orders) => orders,
        Err(error) => {
            eprintln!(
                "linespeed (PID 1): no instructions on the kernel command line ({error}). Only the lab boots linespeed as PID 1"
            );
            std::process::exit(3);
        }
    };
    notes.extend(MOUNTS.iter().skip(1).filter_map(mount));
    if let Err(error) = obey(&orders, notes) {
        // The message can only be written to the console.
        eprintln!("linespeed (PID 1): {error}");
    }
    power_off()
}

fn read_orders() -> io::Result<Orders> {
    let line = fs::read_to_string("/proc/cmdline").map_err(|error| with_path("/proc/cmdline", &error))?;
    Orders::read(&line).map_err(io::Error::other)
}

/// An error with its path.
fn with_path(path: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{path}: {error}"))
}

fn obey(orders: &Orders, mut notes: Vec<String>) -> io::Result<()> {
    let channel = Channel::open(&format!("/dev/{}", orders.channel))
        .map_err(|error| io::Error::other([notes.as_slice(), &[error.to_string()]].concat().join("; ")))?;
    notes.extend(orders.offline.iter().filter_map(|cpu| take_offline(*cpu)));
    for note in &notes {
        channel.send(Kind::Note, note.as_bytes());
    }
    channel.send(Kind::Started, b"");
    if orders.arguments == [wire::COUNT] {
        return count_primes(orders, &channel);
    }
    let ended = match start(&orders.arguments) {
        Ok(child) => attend(child, &channel),
        Err(error) => {
            channel.send(Kind::Note, format!("{INIT} cannot be started: {error}").as_bytes());
            "exit 3".to_owned()
        }
    };
    match fs::read(wire::RECORD) {
        Ok(record) => channel.send(Kind::Record, &record),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => channel.send(Kind::Note, format!("{}: {error}", wire::RECORD).as_bytes()),
    }
    channel.send(Kind::Ended, ended.as_bytes());
    channel.drain();
    Ok(())
}

/// Counts primes in the ranges requested by the host, until there are no more requests.
fn count_primes(orders: &Orders, channel: &Channel) -> io::Result<()> {
    let path = format!("/dev/{}", orders.channel);
    // The channel has already configured the port.
    let asked = File::open(&path).map_err(|error| with_path(&path, &error))?;
    crate::whole_guest::serve(io::BufReader::new(asked), &mut |answer| {
        channel.send(Kind::Output, answer.as_bytes());
    });
    channel.send(Kind::Ended, b"exit 0");
    channel.drain();
    Ok(())
}

/// Starts linespeed with these arguments, or another included program if the first argument is its path.
fn start(arguments: &[String]) -> io::Result<Child> {
    let (program, name, arguments) = match arguments.split_first() {
        Some((first, rest)) if first.starts_with('/') => (first.as_str(), first.as_str(), rest),
        _ => (INIT, "linespeed", arguments),
    };
    Command::new(program)
        .arg0(name)
        .args(arguments)
        .env_clear()
        .envs([("PATH", "/bin"), ("HOME", "/tmp"), ("NO_COLOR", "1")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// Forwards the program's output until it exits, and returns its exit status.
fn attend(mut child: Child, channel: &Channel) -> String {
    let (output, error) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        scope.spawn(|| pass_on(output, Kind::Output, channel));
        scope.spawn(|| pass_on(error, Kind::Error, channel));
        let ended = wait(child.id());
        // Processes left behind by the program would otherwise keep the pipes open.
        // SAFETY: the call touches no memory; -1 from init means all other processes.
        unsafe { libc::kill(-1, libc::SIGKILL) };
        ended
    })
}

fn pass_on(from: Option<impl Read>, kind: Kind, channel: &Channel) {
    let Some(mut from) = from else { return };
    let mut buffer = [0; wire::LARGEST];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => channel.send(kind, &buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Waits for `child`, and reaps every orphan that the kernel reparents to this process.
fn wait(child: u32) -> String {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended.as_raw_nonzero().get().cast_unsigned() == child => {
                return match status.terminating_signal() {
                    Some(signal) => format!("signal {signal}"),
                    None => format!("exit {}", status.exit_status().unwrap_or(0)),
                };
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return "exit 3".to_owned(),
        }
    }
}

/// The serial port, and the number of the next frame.
struct Channel(Mutex<(File, u32)>);

impl Channel {
    fn open(path: &str) -> io::Result<Self> {
        let opened = || -> io::Result<File> {
            let mut options = OpenOptions::new();
            let port = options.read(true).write(true).custom_flags(libc::O_NOCTTY).open(path)?;
            let mut settings = tcgetattr(&port)?;
            // Without raw mode, each line end would be written as two bytes.
            settings.make_raw();
            settings.set_speed(115_200)?;
            tcsetattr(&port, OptionalActions::Now, &settings)?;
            Ok(port)
        };
        opened().map(|port| Self(Mutex::new((port, 0)))).map_err(|error| with_path(path, &error))
    }

    /// Sends a frame. Errors are ignored: the host detects missing frames, and there is nowhere else to report an
    /// error.
    fn send(&self, kind: Kind, payload: &[u8]) {
        let mut channel = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (port, number) = &mut *channel;
        let _ = port.write_all(&wire::encode(kind, number, payload));
    }

    fn drain(&self) {
        let channel = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = tcdrain(&channel.0);
    }
}

/// Mounts one file system; returns the error, if any.
fn mount((kind, at, make): &(&str, &str, bool)) -> Option<String> {
    let done = || -> io::Result<()> {
        if *make {
            fs::DirBuilder::new().mode(0o755).recursive(true).create(at)?;
        }
        Ok(rustix::mount::mount(*kind, *at, *kind, MountFlags::empty(), None)?)
    };
    done().err().map(|error| format!("{kind} on {at}: {error}"))
}

/// Takes a CPU offline; returns the error, if any.
fn take_offline(cpu: u32) -> Option<String> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    fs::write(&path, "0").err().map(|error| format!("offline: {path}: {error}"))
}

fn power_off() -> ! {
    rustix::fs::sync();
    let _ = rustix::system::reboot(RebootCommand::PowerOff);
    // The kernel panics when init exits, which the host detects.
    std::process::exit(3)
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_ordinary_process_is_not_the_first() {
        assert!(!super::is_first_process());
    }
}
