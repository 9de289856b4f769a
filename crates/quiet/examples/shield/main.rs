//! Tests the shield with version 2 control groups, on a dedicated machine. `linespeed quiet --cpus` runs a command that
//! creates groups of several kinds, alongside busy programs. The session ends normally or is killed, with or without
//! its guardian. Every setting, group and task is then compared with its original state.
//!
//! ```text
//! shield try LINESPEED [WHICH]     all trials, that many, or those whose names contain it; for a machine of the lab
//! shield inside KIND MILLISECONDS  is the command
//! shield work always|sometimes     another program
//! ```

mod inside;
#[path = "../kills/settings.rs"]
mod settings;
mod state;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use inside::{Kind, READY, TAKEN};
use quiet::state_directory::{JOURNAL, SYSTEM};
use state::{GROUPS, State};

/// The CPU assigned to the command.
const QUIET: u32 = 1;
/// Working time of a command that exits by itself, and of one that will be killed.
const SHORT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(600);
/// Maximum duration of a step, even on an emulated machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time between two checks, which are expensive on an emulated machine.
const LOOK: Duration = Duration::from_millis(100);

/// The way in which a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    ByItself,
    MainKilled,
    AllKilled,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["try", linespeed, which @ ..] => try_all(linespeed, which.first().copied().unwrap_or_default()),
        ["inside", kind, time] => match (Kind::read(kind), time.parse()) {
            (Some(kind), Ok(time)) => inside::run(kind, Duration::from_millis(time)),
            _ => Err("inside KIND MILLISECONDS".to_owned()),
        },
        ["work", how] => {
            inside::work(*how == "always", None);
            Ok(())
        }
        _ => Err("shield try LINESPEED [WHICH]".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("shield: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Ends its process when dropped, regardless of the trial's outcome.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn try_all(linespeed: &str, which: &str) -> Result<(), String> {
    let given = read(&Path::new(GROUPS).join("cgroup.controllers"))?;
    if !given.split_whitespace().any(|name| name == "cpuset") {
        return Err(format!("control groups of version 2 have no cpuset controller here, only: {given}"));
    }
    let others = inside::group("others")?;
    let beside: Vec<Ending> = [true, false, false, false, false]
        .into_iter()
        .map(|always| inside::start_worker(always).map(Ending))
        .collect::<Result<_, _>>()?;
    let numbers: Vec<u32> = beside.iter().map(|worker| worker.0.id()).collect();
    let [always, bound, bound_there, foreign @ ..] = numbers.as_slice() else {
        return Err("no workers".to_owned());
    };
    for (worker, cpu) in [(bound, QUIET), (bound_there, 2)] {
        let cpus = [cpu].into_iter().collect();
        os::pin::bind_thread(*worker as i32, &cpus).map_err(|error| error.to_string())?;
    }
    for worker in [always, bound_there] {
        inside::move_to(&others, *worker)?;
    }
    let mut machine = Machine {
        linespeed,
        always: *always,
        foreign,
        workers: &numbers,
        home: Path::new(GROUPS).to_owned(),
        moving: BTreeSet::new(),
    };
    machine.moving = moving();
    let chosen = choose(which);
    let (began, mut trials, mut wrong) = (Instant::now(), 0, Vec::new());
    for delegated in [false, true] {
        if delegated {
            // Other groups already have separate CPUs, and the session is started from such a group.
            write(&Path::new(GROUPS).join("cgroup.subtree_control"), "+cpuset")?;
            write(&others.join("cpuset.cpus"), "0,2")?;
            machine.home = inside::group("caller")?;
            inside::move_to(&machine.home, 0)?;
        }
        for kind in Kind::ALL {
            for end in [End::ByItself, End::MainKilled, End::AllKilled] {
                let name = name(delegated, kind, end);
                if !chosen.contains(&(delegated, kind, end)) {
                    continue;
                }
                trials += 1;
                let found = machine.trial(kind, end).unwrap_or_else(|why| vec![why]);
                println!("{:.0} s: {name}: {} wrong", began.elapsed().as_secs_f64(), found.len());
                found.iter().for_each(|what| println!("    {what}"));
                wrong.extend(found.into_iter().map(|what| format!("{name}: {what}")));
            }
        }
    }
    println!("{trials} sessions with a shield, {} not put back", wrong.len());
    if trials > 0 && wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Whether other groups have separate CPUs, the groups that the command creates, and how the session ends.
type Trial = (bool, Kind, End);

fn name(delegated: bool, kind: Kind, end: End) -> String {
    format!("{} {end:?}{}", kind.name(), if delegated { " delegated" } else { "" })
}

/// This many trials, spread evenly over all of them, or those whose names contain this text.
fn choose(which: &str) -> Vec<Trial> {
    let ends = [End::ByItself, End::MainKilled, End::AllKilled];
    let each = |delegated| Kind::ALL.map(|kind| ends.map(|end| (delegated, kind, end)));
    let all: Vec<Trial> = [false, true].into_iter().flat_map(each).flatten().collect();
    match which.parse::<usize>() {
        Ok(count) => (0..count).filter_map(|at| all.get(at * all.len() / count).copied()).collect(),
        Err(_) => all
            .into_iter()
            .filter(|(delegated, kind, end)| name(*delegated, *kind, *end).contains(which))
            .collect(),
    }
}

/// Settings that change by themselves.
fn moving() -> BTreeSet<String> {
    let first = State::read();
    // Some change with every process that is created.
    drop(inside::start_worker(false).map(Ending));
    std::thread::sleep(Duration::from_millis(500));
    let lines = first.differences(&State::read(), &|_| false);
    lines.iter().filter_map(|line| Some(line.split_once(": ")?.0.to_owned())).collect()
}

/// The machine used for the trials.
struct Machine<'a> {
    linespeed: &'a str,
    /// An unpinned worker that is always busy.
    always: u32,
    /// Workers that the command moves into its group.
    foreign: &'a [u32],
    /// All workers.
    workers: &'a [u32],
    /// The group from which sessions are started.
    home: PathBuf,
    moving: BTreeSet<String>,
}

impl Machine<'_> {
    /// Runs one session and returns its errors.
    fn trial(&self, kind: Kind, end: End) -> Result<Vec<String>, String> {
        for (number, worker) in self.foreign.iter().enumerate() {
            // One process is in the session's group, the other in a separate one; the cleanup only considers the first.
            let group = if number == 0 { self.home.clone() } else { Path::new(GROUPS).join("others") };
            inside::move_to(&group, *worker)?;
        }
        let taken: Vec<String> = self.foreign.iter().map(u32::to_string).collect();
        fs::write(TAKEN, taken.join(" ")).map_err(|error| error.to_string())?;
        let _ = fs::remove_file(READY);
        let before = State::read();
        let mut wrong = Vec::new();
        let mut session = self.start(kind, if end == End::ByItself { SHORT } else { LONG })?;
        let group =
            wait_for("the command", || fs::read_to_string(READY).ok().filter(|text| !text.is_empty()));
        let group = match group {
            Ok(group) => group,
            Err(why) => {
                let _ = session.kill();
                return Err(format!("{why}; {}", said()));
            }
        };
        if end != End::ByItself {
            wrong.extend(self.look_at(Path::new(&group)));
        }
        match end {
            End::ByItself => {}
            End::MainKilled => kill(session.id()),
            // The guardian is killed first, because it would restore what the next start should restore.
            End::AllKilled => self.sessions().into_iter().rev().for_each(kill),
        }
        let code = session.wait().map_err(|error| error.to_string())?.code();
        let reported = said();
        if end == End::ByItself && code != Some(0) {
            wrong.push(format!("the session ended with {code:?}: {reported}"));
        }
        let journal = Path::new(SYSTEM).join(JOURNAL);
        wait_for("the guardian's end", || self.sessions().is_empty().then_some(()))?;
        if end == End::AllKilled {
            if !journal.exists() || !Path::new(&group).exists() {
                wrong.push("nothing was left for the next start".to_owned());
            }
            let restored =
                self.linespeed(&["quiet", "--restore"])?.status().map_err(|error| error.to_string())?;
            if !restored.success() {
                wrong.push(format!("--restore: {}", said()));
            }
            wait_for("the end of --restore", || self.sessions().is_empty().then_some(()))?;
        }
        wrong.extend(self.end_left_behind());
        if journal.exists() {
            wrong.push("the journal is still there".to_owned());
            let _ = fs::remove_file(&journal);
        }
        wrong.extend(self.what_differs(&before, kind));
        Ok(wrong)
    }

    fn linespeed(&self, arguments: &[&str]) -> Result<Command, String> {
        let said = fs::File::create(SAID).map_err(|error| format!("{SAID}: {error}"))?;
        let mut command = Command::new(self.linespeed);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        Ok(command)
    }

    fn start(&self, kind: Kind, time: Duration) -> Result<Child, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let (cpu, time) = (QUIET.to_string(), time.as_millis().to_string());
        let mut command = self.linespeed(&["quiet", "--cpus", &cpu, "--"])?;
        command.arg(own).args(["inside", kind.name(), &time]);
        command.spawn().map_err(|error| format!("{}: {error}", self.linespeed))
    }

    /// The processes of linespeed, except the machine's init.
    fn sessions(&self) -> Vec<u32> {
        let program = fs::canonicalize(self.linespeed).ok();
        let is_session = |pid: &i32| *pid > 1 && fs::read_link(format!("/proc/{pid}/exe")).ok() == program;
        let all = state::numbers("/proc").into_iter().filter(is_session);
        all.filter_map(|pid| pid.try_into().ok()).collect()
    }

    /// Ends processes that the command left behind when no guardian was left to do so. Returns those that are not in
    /// the group from which the session was started.
    fn end_left_behind(&self) -> Vec<String> {
        let (own, home) = (std::env::current_exe().ok(), self.home_name());
        let mut wrong = Vec::new();
        for ((pid, _), task) in state::tasks() {
            let number = pid as u32;
            let is_here = number == std::process::id() || self.workers.contains(&number);
            if is_here || fs::read_link(format!("/proc/{pid}/exe")).ok() != own {
                continue;
            }
            if task.group != home {
                wrong.push(format!("{pid} of the command is in {}", task.group));
            }
            kill(number);
        }
        wrong
    }

    /// The name of the group from which sessions are started, as listed for tasks.
    fn home_name(&self) -> String {
        self.home.strip_prefix(GROUPS).map(|path| format!("/{}", path.display())).unwrap_or_default()
    }

    /// Checks that the shield exists and keeps other tasks off its CPUs.
    fn look_at(&self, inside: &Path) -> Vec<String> {
        let mut wrong = Vec::new();
        let partition = read(&inside.join("cpuset.cpus.partition")).unwrap_or_default();
        if partition != "isolated" {
            wrong.push(format!("{}: the partition is {partition:?}", inside.display()));
        }
        let rest = read(&Path::new(GROUPS).join("cpuset.cpus.effective")).unwrap_or_default();
        let always = state::tasks().into_iter().find(|((pid, _), _)| *pid == self.always as i32);
        let always = always.map(|(_, task)| task.cpus).unwrap_or_default();
        if rest != "0,2" || always != rest {
            wrong.push(format!("others are left CPUs {rest}, and one of them may run on {always}"));
        }
        wrong
    }

    /// All differences from the original state, after the machine has settled.
    fn what_differs(&self, before: &State, kind: Kind) -> Vec<String> {
        let home = self.home_name();
        let mut before = before.clone();
        if kind == Kind::Foreign {
            // The original group of these processes is unknown; they are in the group from which the session was
            // started.
            let is_foreign = |pid: i32| self.foreign.iter().any(|worker| *worker as i32 == pid);
            let foreign = before.tasks.iter_mut().filter(|((pid, _), _)| is_foreign(*pid));
            foreign.for_each(|(_, task)| task.group.clone_from(&home));
        }
        let began = Instant::now();
        loop {
            let lines = before.differences(&State::read(), &|path| self.moving.contains(path));
            // A killed process leaves its group slightly later.
            if lines.is_empty() || began.elapsed() > Duration::from_secs(5) {
                return lines;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn kill(pid: u32) {
    // SAFETY: a simple system call; the PID is that of a process started by this trial.
    unsafe { libc::kill(pid as i32, libc::SIGKILL) };
}

/// The file for a session's output, which processes left behind by its command also keep open.
const SAID: &str = "/tmp/said";

fn said() -> String {
    fs::read_to_string(SAID).unwrap_or_default().trim().to_owned()
}

fn wait_for<T>(what: &str, look: impl Fn() -> Option<T>) -> Result<T, String> {
    let began = Instant::now();
    loop {
        match look() {
            Some(found) => return Ok(found),
            None if began.elapsed() > PATIENCE => {
                return Err(format!("{what} did not come in {} s", PATIENCE.as_secs()));
            }
            None => std::thread::sleep(LOOK),
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text.trim().to_owned())
}

fn write(path: &Path, value: &str) -> Result<(), String> {
    fs::write(path, value).map_err(|error| format!("{}: {error}", path.display()))
}
