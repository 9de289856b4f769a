//! One run of a command on the CPUs of a step.

use std::ffi::OsString;
use std::fmt;
use std::time::Duration;

use machine::Root;
use record::{CpuList, Mark, Text, text};

use super::Job;
use super::service::Running;
use crate::incidents::Incidents;
use crate::recipes::score::{self, Kind, MOST_OUTPUT, Scored, Unusable};
use crate::recipes::template::{Values, fill_all};
use measure::counters::{Counters, Set, Target};
use os::Stop;
use os::child::{Child, Ended, Exit, Input, Output, Process, SpawnError, Spec, Usage, Watcher, wait_all};

/// What is kept of the output of a command that has no score: its last words, should it fail.
pub(crate) const LAST_WORDS: usize = 8 << 10;

/// Characters of output that a complaint shows.
const SHOWN: usize = 600;

/// A run that counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Work a second of all copies together.
    pub throughput: f64,
    /// Unit of the work.
    pub unit: String,
    /// Wall time of each copy, seconds.
    pub seconds: Vec<f64>,
    /// Work a second of the fastest copy ÷ the slowest; 1 for one.
    pub imbalance: f64,
    /// What all copies used; the memory is that of the largest process.
    pub usage: Usage,
    /// Instructions a cycle over all copies, by the counters; `Err` with why there is none.
    pub ipc: Result<f64, Text>,
    /// What happened meanwhile.
    pub marks: Vec<Mark>,
    /// Processes that the command left behind when it ended, by name; they were waited for.
    pub left: Vec<String>,
    /// How it failed, where a failure counts too ([`Job::ignore_failure`]).
    pub failed: Option<Failed>,
}

/// How a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// How: `exited with code 2`.
    pub how: String,
    /// What it printed last, bounded.
    pub words: String,
    /// Whether it may be meant: the measured command itself ended with this exit code.
    pub forgivable: bool,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.how, last(&self.words))
    }
}

/// Why a run does not count.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// We were asked to stop by this signal.
    Stopped(i32),
    /// The command cannot be started.
    CannotStart(SpawnError),
    /// It failed, or was killed.
    Failed(Failed),
    /// It failed in every run, though failures count: there is no work to tell the rate of.
    AllFailed(Failed),
    /// It took longer than allowed, seconds.
    TimedOut(f64),
    /// Its output has no score, or not what must stand in it: which pattern, and the output, bounded.
    Unreadable {
        /// The patterns that were looked for.
        wanted: String,
        /// The output.
        output: String,
    },
    /// Its score is no number to compute with: zero, negative, `nan`, too large.
    Unusable(Unusable),
    /// The program beside it is gone, or did not start.
    Service(String),
    /// Its copies need more memory than there is.
    NoRoom(Text),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Stopped(signal) => write!(f, "stopped by signal {signal}"),
            Trouble::CannotStart(error) => write!(f, "{error}"),
            Trouble::Failed(failed) => write!(f, "the command {failed}"),
            Trouble::AllFailed(failed) => {
                write!(f, "every run failed, so there is no rate of work to tell: the command {failed}")
            }
            Trouble::TimedOut(seconds) => {
                write!(f, "the command took longer than the {seconds} s that --timeout allows, and was ended")
            }
            Trouble::Unreadable { wanted, output } if output.is_empty() => {
                write!(f, "the command printed nothing, where {wanted} was looked for")
            }
            Trouble::Unreadable { wanted, output } => {
                write!(f, "{wanted} was not found in what the command printed: {output}")
            }
            Trouble::Unusable(Unusable { number, line }) => write!(
                f,
                "the score {number} is not a usable number (one above 0 is needed); the line that the command printed: {}",
                shown(line)
            ),
            Trouble::Service(why) => write!(f, "{why}"),
            Trouble::NoRoom(why) => write!(f, "{why}"),
        }
    }
}

impl Trouble {
    /// The way out, where there is one that the words do not tell.
    pub fn way_out(&self) -> Option<Text> {
        match self {
            Trouble::Failed(Failed { forgivable: true, .. }) => {
                Some(text!("scale-count-failures", "with -i, failed runs count too, unless all fail"))
            }
            Trouble::AllFailed(Failed { forgivable: true, .. }) => Some(text!(
                "scale-hide-exit-code",
                "where this exit code is no failure, run it in a shell: -- sh -c 'COMMAND; exit 0'"
            )),
            _ => None,
        }
    }
}

/// The end of a sentence about a program that has ended: its last words, or that it had none.
pub(crate) fn last(words: &str) -> String {
    match words {
        "" => " and said nothing".to_owned(),
        words => format!("; its last words: {words}"),
    }
}

/// Hears what goes on during a run.
pub trait RunObserver {
    /// The command has ended and left these behind; they are waited for.
    fn left(&mut self, names: &[String]);
}

pub(crate) struct ForwardToObserver<'a>(pub(crate) &'a mut dyn RunObserver);

impl Watcher for ForwardToObserver<'_> {
    fn tick(&mut self) -> Duration {
        Duration::from_secs(3600)
    }

    fn left(&mut self, left: &[Process]) {
        self.0.left(&names(left));
    }
}

/// Names of processes, each once, a few.
pub(crate) fn names(processes: &[Process]) -> Vec<String> {
    let mut names: Vec<String> = processes.iter().map(|process| process.name.clone()).collect();
    names.sort();
    names.dedup();
    names.truncate(4);
    names
}

/// The last characters of a program's output on one line.
pub(crate) fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let count = line.chars().count();
    match count.checked_sub(SHOWN) {
        Some(over) if over > 0 => format!("… {}", line.chars().skip(over).collect::<String>()),
        _ => line,
    }
}

/// How a child's end reads: `exited with code 2`. `None` for a success.
pub(crate) fn how_it_failed(exit: Exit) -> Option<String> {
    match exit {
        Exit::Code(0) => None,
        Exit::Code(code) => Some(format!("exited with code {code}")),
        Exit::Signal(signal) if signal == libc::SIGKILL => {
            Some("was killed (signal 9), perhaps because memory ran out".to_owned())
        }
        Exit::Signal(signal) => Some(format!("was ended by signal {signal}")),
        Exit::TimedOut => Some("took too long".to_owned()),
        Exit::Stopped(signal) => Some(format!("was stopped by signal {signal}")),
    }
}

/// Runs the command once on `cpus`: a copy pinned to each, or one that may use them all.
pub fn run(
    job: &Job,
    cpus: &[u32],
    service: Option<&mut Running>,
    environment: &[(OsString, OsString)],
    timeout: Option<Duration>,
    stop: &Stop,
    observer: &mut dyn RunObserver,
) -> Result<Run, Trouble> {
    let set: CpuList = cpus.iter().copied().collect();
    let mut values = job.values.clone();
    let copies: Vec<CpuList> = if job.copies {
        cpus.iter().map(|cpu| [*cpu].into_iter().collect()).collect()
    } else {
        vec![set.clone()]
    };
    values.insert("threads".to_owned(), if job.copies { 1 } else { cpus.len() }.to_string());

    let mut service = service;
    if let Some(service) = &mut service {
        service.check(stop)?;
        service.pin(&set);
    }
    let mut started = start(job, &copies, &values, environment, stop)?;
    let counters: Vec<Counters> = started.iter().map(|child| counting(child.pid())).collect();
    let root = Root::live();
    let service_before = service.as_ref().map_or(0.0, |service| service.cpu_seconds());
    let before = Incidents::read(&root);
    for child in &mut started {
        child.release();
    }
    let mut waited: Vec<&mut Child> = started.iter_mut().collect();
    let ended = wait_all(&mut waited, stop, timeout, &mut ForwardToObserver(observer));
    let after = Incidents::read(&root);

    if let Some(signal) = stop.signal() {
        return Err(Trouble::Stopped(signal));
    }
    for child in &mut started {
        child.started().map_err(Trouble::CannotStart)?;
    }
    if ended.iter().any(|ended| ended.exit == Exit::TimedOut) {
        return Err(Trouble::TimedOut(timeout.unwrap_or_default().as_secs_f64()));
    }
    // A client of a server that died fails too; the server's end is the cause.
    if let Some(service) = &mut service {
        service.check(stop)?;
    }
    let outputs: Vec<(String, String)> = started
        .iter_mut()
        .map(|child| {
            let (out, err) = child.captured();
            (String::from_utf8_lossy(&out).into_owned(), String::from_utf8_lossy(&err).into_owned())
        })
        .collect();
    let failed = failure(&ended, &outputs);
    if let Some(failed) = failed.as_ref().filter(|_| !job.ignore_failure) {
        return Err(Trouble::Failed(failed.clone()));
    }
    let scored =
        outputs.iter().map(|(out, err)| read_score(job, &values, out, err)).collect::<Result<Vec<_>, _>>()?;

    let mut usage = Usage::default();
    ended.iter().for_each(|ended| usage.add(&ended.usage));
    let walls: Vec<f64> = ended.iter().map(|ended| ended.wall.as_secs_f64().max(1e-9)).collect();
    let rates: Vec<f64> =
        walls.iter().zip(&scored).map(|(wall, score)| rate(job, *wall, score.as_ref())).collect();
    let fastest = rates.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let wall = walls.iter().copied().fold(0.0, f64::max);
    let service_used = service.as_ref().map_or(0.0, |service| service.cpu_seconds()) - service_before;
    let used = usage.user + usage.system + service_used.max(0.0);
    Ok(Run {
        throughput: rates.iter().sum(),
        unit: scored.into_iter().flatten().next().map_or_else(|| job.unit.clone(), |score| score.unit),
        imbalance: fastest / slowest,
        usage,
        ipc: ipc(&counters),
        marks: before.marks_until(&after, cpus, used, wall),
        left: names(&ended.iter().flat_map(|ended| ended.left.clone()).collect::<Vec<_>>()),
        seconds: walls,
        failed,
    })
}

/// Starts all copies up to their gates.
fn start(
    job: &Job,
    copies: &[CpuList],
    values: &Values,
    environment: &[(OsString, OsString)],
    stop: &Stop,
) -> Result<Vec<Child>, Trouble> {
    let read = !job.scores.is_empty() || job.expect.is_some();
    let mut started = Vec::with_capacity(copies.len());
    for cpus in copies {
        if let Some(signal) = stop.signal() {
            return Err(Trouble::Stopped(signal));
        }
        let mut values = values.clone();
        values.insert("cpus".to_owned(), cpus.to_string());
        let argv = fill_all(&job.command, &values);
        let mut all: Vec<(OsString, OsString)> = environment.to_vec();
        all.extend(job.environment.iter().map(|(name, value)| (name.into(), value.fill(&values))));
        let spec = Spec {
            cpus: Some(cpus),
            stdin: Input::Null,
            // What nobody reads is not read: reading takes time from what is measured.
            stdout: if read { Output::Capture { limit: MOST_OUTPUT } } else { Output::Null },
            stderr: Output::Capture { limit: if read { MOST_OUTPUT } else { LAST_WORDS } },
            env: &all,
            own_group: true,
            gate: true,
            ..Spec::new(&argv)
        };
        started.push(Child::spawn(&spec).map_err(Trouble::CannotStart)?);
    }
    Ok(started)
}

fn counting(pid: i32) -> Counters {
    Counters::open(Target::Process { pid, inherit: true, enable_on_exec: true }, Set::Core)
}

/// Instructions over cycles of all copies; `Err` unless all were counted.
fn ipc(counters: &[Counters]) -> Result<f64, Text> {
    let (mut cycles, mut instructions) = (0.0, 0.0);
    for counters in counters {
        let reading = counters.read();
        let (Some(c), Some(i)) = (reading.get("cycles"), reading.get("instructions")) else {
            let refused = counters
                .refused()
                .first()
                .map(|(event, why)| text!("scale-event-refused", "{event}: {why}", event = *event, why));
            return Err(refused
                .unwrap_or_else(|| text!("scale-counters-busy", "no counter was free for the command")));
        };
        cycles += c.value;
        instructions += i.value;
    }
    if cycles > 0.0 {
        Ok(instructions / cycles)
    } else {
        Err(text!("scale-no-cycles", "the PMU counted no cycles"))
    }
}

/// How the first copy that failed did; `None` when none has.
pub(crate) fn failure(ended: &[Ended], outputs: &[(String, String)]) -> Option<Failed> {
    let failures: Vec<(usize, String)> =
        ended.iter().enumerate().filter_map(|(at, ended)| Some((at, how_it_failed(ended.exit)?))).collect();
    let (at, how) = failures.first()?;
    let how = match (ended.len(), failures.len()) {
        (1, _) => how.clone(),
        (all, failed) => format!("{how} in {failed} of {all} copies"),
    };
    let (out, err) = &outputs[*at];
    let words = shown(if err.trim().is_empty() { out } else { err });
    Some(Failed { how, words, forgivable: matches!(ended[*at].exit, Exit::Code(_)) })
}

/// The score in what a copy printed; `None` for a command that has none.
fn read_score(job: &Job, values: &Values, out: &str, err: &str) -> Result<Option<Scored>, Trouble> {
    let unreadable = |wanted: String| {
        let output = shown(if out.trim().is_empty() { err } else { out });
        Err(Trouble::Unreadable { wanted, output })
    };
    if let Some(expect) = &job.expect {
        let found = score::compile(expect, values, false)
            .is_ok_and(|pattern| pattern.is_match(out) || pattern.is_match(err));
        if !found {
            return unreadable(format!("{expect:?}"));
        }
    }
    if job.scores.is_empty() {
        return Ok(None);
    }
    match score::first(&job.scores, out, err, values).map_err(Trouble::Unusable)? {
        Some(score) => Ok(Some(score)),
        None => {
            let wanted: Vec<String> = job.scores.iter().map(|score| format!("{:?}", score.pattern)).collect();
            unreadable(format!("the score ({})", wanted.join(" or ")))
        }
    }
}

/// Work a second of one copy.
fn rate(job: &Job, wall: f64, score: Option<&Scored>) -> f64 {
    match score {
        None => job.work / wall,
        Some(Scored { value, kind: Kind::Rate, .. }) => *value,
        Some(Scored { value, kind: Kind::Seconds, .. }) => job.work / value,
        Some(Scored { value, kind: Kind::Work, .. }) => value / wall,
    }
}
