//! Substitutes for the command and for other programs of the machine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::state::GROUPS;

/// The file that indicates that the command has finished its setup in its group and is working.
pub const READY: &str = "/tmp/ready";
/// The file that lists the PIDs of processes that the command moves into its group.
pub const TAKEN: &str = "/tmp/taken";

/// The groups that the command creates in its own group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Plain,
    /// Nested groups with separate CPUs, one of which contains the command itself.
    Nested,
    /// A threaded group that contains one of its threads.
    Threaded,
    /// A group that contains another user's process, and another such process outside it.
    Foreign,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Plain, Self::Nested, Self::Threaded, Self::Foreign];

    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Nested => "nested",
            Self::Threaded => "threaded",
            Self::Foreign => "foreign",
        }
    }

    pub fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

fn write(path: &Path, value: impl ToString) -> Result<(), String> {
    fs::write(path, value.to_string()).map_err(|error| format!("{}: {error}", path.display()))
}

fn make(group: PathBuf) -> Result<PathBuf, String> {
    match fs::create_dir(&group) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(format!("{}: {error}", group.display()))
        }
        _ => Ok(group),
    }
}

/// A version 2 group below the root.
pub fn group(name: &str) -> Result<PathBuf, String> {
    make(Path::new(GROUPS).join(name))
}

/// Moves a process; 0 is the caller.
pub fn move_to(group: &Path, process: u32) -> Result<(), String> {
    write(&group.join("cgroup.procs"), process)
}

/// Starts this program again, as a task that works occasionally or all the time.
pub fn start_worker(always: bool) -> Result<Child, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let how = if always { "always" } else { "sometimes" };
    Command::new(program).args(["work", how]).spawn().map_err(|error| format!("work: {error}"))
}

/// Works until it is ended, for most or for a small part of the time. It never works all the time, because an emulator
/// has few CPUs for all tasks.
pub fn work(always: bool, until: Option<Instant>) {
    let pause = Duration::from_millis(if always { 1 } else { 50 });
    while until.is_none_or(|until| Instant::now() < until) {
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(2) {
            std::hint::spin_loop();
        }
        std::thread::sleep(pause);
    }
}

/// Creates the groups of this kind in the command's group, reports that, and works for this long.
pub fn run(kind: Kind, time: Duration) -> Result<(), String> {
    let listed = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
    let name = listed.lines().find_map(|line| line.strip_prefix("0::/")).ok_or("no group of version 2")?;
    let own = Path::new(GROUPS).join(name);
    let mut beside = None;
    match kind {
        Kind::Plain => {}
        Kind::Nested => {
            let (branch, leaf) = (make(own.join("branch"))?, make(own.join("leaf"))?);
            // A group that delegates controllers cannot contain processes.
            move_to(&leaf, 0)?;
            write(&own.join("cgroup.subtree_control"), "+cpuset")?;
            write(&branch.join("cgroup.subtree_control"), "+cpuset")?;
            let twig = make(branch.join("twig"))?;
            write(
                &twig.join("cpuset.cpus"),
                fs::read_to_string(own.join("cpuset.cpus")).unwrap_or_default(),
            )?;
            let worker = start_worker(false)?;
            move_to(&twig, worker.id())?;
            beside = Some(worker);
        }
        Kind::Threaded => {
            let threaded = make(own.join("threads"))?;
            write(&threaded.join("cgroup.type"), "threaded")?;
            std::thread::spawn(|| work(false, None));
            let last = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
            let last = last.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).max();
            write(&threaded.join("cgroup.threads"), last.ok_or("no thread")?)?;
        }
        Kind::Foreign => {
            let taken = fs::read_to_string(TAKEN).map_err(|error| format!("{TAKEN}: {error}"))?;
            let group = make(own.join("foreign"))?;
            for (process, into) in taken.split_whitespace().zip([group, own.clone()]) {
                move_to(&into, process.parse().map_err(|_| "no number of a process")?)?;
            }
        }
    }
    write(Path::new(READY), own.display())?;
    work(false, Some(Instant::now() + time));
    // A session waits for all processes that its command has started.
    beside.map_or(Ok(()), |mut worker| worker.kill().map_err(|error| format!("its worker: {error}")))
}
