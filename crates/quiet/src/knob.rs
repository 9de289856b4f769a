//! What every knob is: looked at, judged, and turned into changes.

use machine::Root;
use record::CpuList;

use crate::change::Change;
use crate::files::{Files, Refusal};
use crate::holds::process::{Own, own};
use crate::undertaking::Undertaking;
use crate::undertaking::shield::Shield;

/// One thing that makes measurements differ from run to run.
pub trait Knob: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// What it is known to do to measurements, one sentence.
    fn effect(&self) -> &'static str;
    /// Its state, and what would be steadier.
    fn look(&self, scene: &Scene) -> Look;
    /// Whether it is turned only when it is named: it takes something from the machine that others may need.
    fn only_when_named(&self) -> bool {
        false
    }
    /// Whether there is nothing to turn unless CPUs are named that are to be quiet.
    fn needs_cpus(&self) -> bool {
        false
    }
}

/// What a knob may look at.
pub struct Scene<'a> {
    /// The machine's files.
    pub files: &'a dyn Files,
    /// CPUs that are online.
    pub online: CpuList,
    /// CPUs that are to be quiet; empty where none were named.
    pub quiet: CpuList,
    /// Whether this is the running machine.
    pub live: bool,
    /// CPUs that the quota of this process's cgroup allows; `None` without a quota.
    pub quota: Option<f64>,
    /// What this process has for itself; `None` for a captured tree.
    pub own: Option<Own>,
    /// The shield that could be made for the quiet CPUs, or why there is none; `None` where no CPU was named.
    pub shield: Option<Result<Shield, String>>,
    /// Whether the values are to stay when this process has ended, so that nothing can be held by it.
    pub stays: bool,
}

impl<'a> Scene<'a> {
    /// What there is below a root; `files` are the files of the same root.
    pub fn of(root: &Root, files: &'a dyn Files, quiet: CpuList) -> Self {
        let online = root.cpu_list("/sys/devices/system/cpu/online");
        let online = online.unwrap_or_else(|| root.numbered("/sys/devices/system/cpu", "cpu"));
        let live = root.is_live();
        let mut scene = Self {
            files,
            quota: if live { machine::limits::quota(root) } else { None },
            own: live.then(own),
            shield: None,
            stays: false,
            online,
            quiet,
            live,
        };
        if live && !scene.quiet.is_empty() {
            scene.shield = Some(Shield::plan(root, &scene.quiet, &scene.rest()));
        }
        scene
    }

    /// CPUs that carry what the quiet ones do not: all others that are online; empty where no CPU was named.
    pub fn rest(&self) -> CpuList {
        if self.quiet.is_empty() { CpuList::new() } else { self.online.difference(&self.quiet) }
    }

    /// The text of a file, `None` where it is not there or cannot be read.
    pub fn text(&self, path: &str) -> Option<String> {
        self.files.read(path).ok()
    }
}

/// A knob as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Its value now, in a person's words.
    pub now: String,
    /// The value that would be steadier; absent where it is steady, or where there is none.
    pub steadier: Option<String>,
    /// How it is.
    pub state: State,
    /// How it can be turned.
    pub way: Way,
    /// What else should be known: where experts disagree, why.
    pub notes: Vec<String>,
}

/// How a knob stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// As steady as it gets.
    Steady,
    /// It adds noise.
    Noisy,
    /// This machine does not have it, with what that means.
    Absent(String),
    /// It could not be seen, and why.
    Unseen(String),
}

/// How a knob is turned.
#[derive(Clone, Debug, PartialEq)]
pub enum Way {
    /// Nothing is to be done.
    None,
    /// Files are written and put back.
    Write(Vec<Change>),
    /// Something that lasts as long as a process that holds it.
    Hold(Hold),
    /// More than a value, undone afterwards.
    Undertake(Undertaking),
    /// Only at boot, with the exact parameters.
    Boot(String),
    /// Only by hand, with the command or the thing to do.
    ByHand(String),
}

/// What a process holds, for itself or for the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// `/dev/cpu_dma_latency` open with this many microseconds in it.
    DmaLatency(u32),
    /// The command on these CPUs.
    Affinity(CpuList),
    /// The command's nice value.
    Nice(i32),
    /// The command under SCHED_FIFO at this priority.
    Fifo(i32),
    /// The command's input and output at this level of "best effort".
    IoPriority(i32),
    /// The command's addresses not randomized.
    FixedAddresses,
}

impl Hold {
    /// Whether it concerns a command alone, and nothing else on the machine.
    pub fn is_the_commands(&self) -> bool {
        !matches!(self, Hold::DmaLatency(_))
    }
}

impl Look {
    /// It is as steady as it gets.
    pub fn steady(now: impl Into<String>) -> Self {
        Self { now: now.into(), steadier: None, state: State::Steady, way: Way::None, notes: Vec::new() }
    }

    /// It adds noise; this would be steadier, and this is the way there.
    pub fn noisy(now: impl Into<String>, steadier: impl Into<String>, way: Way) -> Self {
        Self { now: now.into(), steadier: Some(steadier.into()), state: State::Noisy, way, notes: Vec::new() }
    }

    /// This machine does not have it.
    pub fn absent(why: impl Into<String>) -> Self {
        Self { now: "-".to_owned(), state: State::Absent(why.into()), ..Self::steady("") }
    }

    /// It could not be seen.
    pub fn unseen(refusal: &Refusal) -> Self {
        Self { now: "?".to_owned(), state: State::Unseen(refusal.to_string()), ..Self::steady("") }
    }

    /// With something else that should be known.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}
