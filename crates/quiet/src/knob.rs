//! The common parts of all knobs: inspecting them, assessing their state, and planning changes.

use std::collections::BTreeSet;

use record::{CpuList, KnobValue, Text, text};
use serde::Deserialize;

use crate::change::Change;
use crate::compound_change::CompoundChange;
use crate::compound_change::shield::Shield;
use crate::files::{Files, Refusal};
use crate::process_settings::process::{ProcessAttributes, read_attributes};
use crate::value_syntax::ValueSyntax;

/// One setting that makes results vary from run to run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knob {
    /// The knob's name on the command line.
    pub name: &'static str,
    /// How the knob affects results.
    #[serde(default)]
    pub class: KnobClass,
    /// The condition under which the knob is set.
    #[serde(default)]
    pub set: SetWhen,
    /// The known effect on measurements, in one sentence.
    pub effect: &'static str,
    /// The reason why some users would not set the knob; `None` if the setting is undisputed.
    pub disputed: Option<&'static str>,
    /// The reason why a machine may lack the knob.
    pub absent: &'static str,
    /// The method of inspection.
    #[serde(default)]
    pub inspect: Inspect,
}

/// Returns the state of a knob and the changes that set it to a value, for all CPUs or only for the given ones.
pub type SetTo = fn(&Knob, &KnobContext, &str, Option<&CpuList>) -> Seen;

/// The state of a knob, and the steadier value; `None` if this machine lacks the knob, an error if the knob cannot be
/// read.
pub type Seen = Result<Option<Inspection>, Refusal>;

/// How a knob is inspected.
#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", bound = "'de: 'static")]
pub enum Inspect {
    /// One file with one value.
    File(FileValue),
    /// Several files with the same word.
    Words(WordFiles),
    /// A function that inspects the knob and, if the knob can have values other than the steadier one, a second function
    /// that sets a given value.
    #[serde(skip)]
    With(fn(&Knob, &KnobContext) -> Seen, Option<SetTo>),
    /// There is no way to inspect the knob.
    #[default]
    Unknown,
}

/// Files that all have the same word.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WordFiles {
    /// Whether each file belongs to a CPU or to a policy.
    pub of: FileOf,
    /// The file name in that component's directory.
    pub file: &'static str,
    /// The file in the same directory that lists the accepted values, if any.
    pub choices: Option<&'static str>,
    /// The steadier word.
    pub steadier: &'static str,
}

/// Whether there is one file per CPU or one per policy.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileOf {
    /// Each CPU.
    Cpu,
    /// Each cpufreq policy.
    Policy,
}

/// A file with a value, and the steadier value.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileValue {
    /// The file.
    pub path: &'static str,
    /// The format of the file's value.
    #[serde(default)]
    pub syntax: ValueSyntax,
    /// The steadier value.
    pub steadier: &'static str,
    /// Another value that makes results equally steady.
    pub as_steady: Option<&'static str>,
    /// If set, this number and all higher ones make results equally steady.
    pub as_steady_from: Option<u32>,
}

/// The condition under which a knob is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetWhen {
    /// The knob is set together with all others.
    #[default]
    Always,
    /// The knob is set only if the user names it, because the setting may disable something that other users need.
    Named,
    /// The knob is set only if quiet CPUs are given; otherwise, there is nothing to set.
    CpusNamed,
}

impl FileValue {
    fn is_steady(&self, value: &str) -> bool {
        let is_enough = |least| value.parse::<u32>().is_ok_and(|number| number >= least);
        self.as_steady == Some(value) || self.as_steady_from.is_some_and(is_enough)
    }
}

impl Knob {
    /// Whether the knob is set only when named.
    pub fn only_when_named(&self) -> bool {
        self.set == SetWhen::Named
    }

    /// The state of the knob, and the steadier value.
    pub fn inspect(&self, context: &KnobContext) -> Inspection {
        let inspection = self.conclude(match &self.inspect {
            Inspect::File(file) => self.file_towards(context, file, file.steadier).map(|seen| {
                seen.map(|seen| match file.is_steady(&seen.now.to_string()) {
                    true => Inspection::steady(seen.now),
                    false => seen,
                })
            }),
            Inspect::Words(words) => self.words_towards(context, words, words.steadier, None),
            Inspect::With(inspect, _) => inspect(self, context),
            Inspect::Unknown => Ok(None),
        });
        // If the knob need not be changed, objections to setting it do not matter.
        match self.disputed.filter(|_| inspection.steadier.is_some()) {
            Some(disputed) => inspection.note(disputed),
            None => inspection,
        }
    }

    /// The state of the knob, and the changes that set it to the value in a finding. That value is not necessarily the
    /// steadier one: a finding may, for example, recommend boost, or huge pages for all programs.
    pub fn set_to(&self, context: &KnobContext, wanted: &KnobValue) -> Inspection {
        let Some(value) = &wanted.value else { return self.inspect(context) };
        let cpus = wanted.cpus.as_ref();
        self.conclude(match &self.inspect {
            Inspect::File(file) => self.file_towards(context, file, value),
            Inspect::Words(words) => self.words_towards(context, words, value, cpus),
            Inspect::With(_, Some(set_to)) => set_to(self, context, value, cpus),
            // These knobs can only be set to the steadier value.
            Inspect::With(_, None) | Inspect::Unknown => return self.inspect(context),
        })
    }

    /// The state, or the reason why it is unknown.
    fn conclude(&self, seen: Seen) -> Inspection {
        match seen {
            Ok(Some(inspection)) => inspection,
            Ok(None) => Inspection::absent(self.absent),
            Err(refusal) if refusal.is_missing() => Inspection::absent(self.absent),
            Err(refusal) => Inspection::unseen(&refusal),
        }
    }

    fn file_towards(&self, context: &KnobContext, file: &FileValue, value: &str) -> Seen {
        let change = self.plan(context, file.path, file.syntax, value)?;
        let now = change.as_ref().map(|change| change.old.clone()).unwrap_or_default();
        Ok(Some(Inspection::towards(now, value, change.into_iter().collect())))
    }

    /// The change of a file to a value; `None` if it already has that value.
    pub fn plan(
        &self,
        context: &KnobContext,
        path: &str,
        syntax: ValueSyntax,
        new: &str,
    ) -> Result<Option<Change>, Refusal> {
        Change::plan(context.files, self.name, path, syntax, new)
    }

    /// The changes of all these files to one word. Missing files are skipped.
    pub fn plan_words(
        &self,
        context: &KnobContext,
        paths: impl IntoIterator<Item = String>,
        word: &str,
    ) -> Result<PlannedWords, Refusal> {
        let mut planned = PlannedWords::default();
        for path in paths {
            match self.plan(context, &path, ValueSyntax::Word, word) {
                Ok(change) => {
                    planned.now.push(change.as_ref().map_or(word, |change| &change.old).to_owned());
                    planned.changes.extend(change);
                }
                Err(refusal) if refusal.is_missing() => {}
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(planned)
    }

    /// Plans the changes of all these files to one word.
    fn words_towards(
        &self,
        context: &KnobContext,
        words: &WordFiles,
        steadier: &str,
        cpus: Option<&CpuList>,
    ) -> Seen {
        let paths = match words.of {
            FileOf::Policy => context.policy_files(cpus, words.file),
            FileOf::Cpu => {
                let file = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/{}", words.file);
                cpus.unwrap_or(&context.online).iter().map(file).collect()
            }
        };
        let mut planned = self.plan_words(context, paths, steadier)?;
        if planned.now.is_empty() {
            return Ok(None);
        }
        let now = planned.now.into_iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ");
        if planned.changes.is_empty() {
            return Ok(Some(Inspection::steady(now)));
        }
        planned.changes.retain(|change| {
            let folder = change.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let listed = words.choices.and_then(|choices| context.text(&format!("{folder}/{choices}")));
            listed.is_none_or(|all| all.split_ascii_whitespace().any(|word| word == steadier))
        });
        let adjustment = if planned.changes.is_empty() {
            Adjustment::Manual(text!("this driver has no setting {steadier}", steadier = steadier.to_owned()))
        } else {
            Adjustment::Write(planned.changes)
        };
        Ok(Some(Inspection::noisy(now, steadier.to_owned(), adjustment)))
    }
}

/// The planned changes for files that should all contain the same word.
#[derive(Debug, Default)]
pub struct PlannedWords {
    /// The current words of the files.
    pub now: Vec<String>,
    /// The changes needed.
    pub changes: Vec<Change>,
}

/// The way in which a knob affects results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KnobClass {
    /// The core clock.
    Clock,
    /// CPU time used by other tasks, which can be kept off the CPUs of the measured program.
    OtherTasks,
    /// Kernel overhead, which does not appear in the CPU time of other tasks.
    Kernel,
    /// Time taken by the hypervisor or the firmware.
    Hypervisor,
    /// The wake-up time of an idle CPU.
    WakeUp,
    /// None of the above.
    #[default]
    Other,
}

const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";

/// What is needed for inspecting a knob.
pub struct KnobContext<'a> {
    /// The machine's files.
    pub files: &'a dyn Files,
    /// Online CPUs.
    pub online: CpuList,
    /// The CPUs to keep quiet; empty if none were named.
    pub quiet: CpuList,
    /// Whether this is the running machine.
    pub live: bool,
    /// Number of CPUs allowed by the quota of this process's cgroup; `None` without a quota.
    pub quota: Option<f64>,
    /// The attributes of this process; `None` for a captured tree.
    pub own: Option<ProcessAttributes>,
    /// The possible shield for the quiet CPUs, or the reason why there is none; `None` if no CPU was named.
    pub shield: Option<Result<Shield, String>>,
    /// Whether the values persist after this process exits. If they do, settings that last only as long as a process
    /// are not possible.
    pub stays: bool,
}

impl<'a> KnobContext<'a> {
    /// The context of a machine with these files.
    pub fn new(files: &'a dyn Files, quiet: CpuList) -> Self {
        let root = files.root();
        let online = root.cpu_list("/sys/devices/system/cpu/online");
        let online = online.unwrap_or_else(|| root.numbered("/sys/devices/system/cpu", "cpu"));
        let live = root.is_live();
        let mut context = Self {
            files,
            quota: if live { machine::limits::quota(root) } else { None },
            own: live.then(read_attributes),
            shield: None,
            stays: false,
            online,
            quiet,
            live,
        };
        if live && !context.quiet.is_empty() {
            context.shield = Some(Shield::plan(root, &context.quiet, &context.rest()));
        }
        context
    }

    /// The other online CPUs, which take over the work of the quiet CPUs; empty if no CPU was named.
    pub fn rest(&self) -> CpuList {
        if self.quiet.is_empty() { CpuList::new() } else { self.online.difference(&self.quiet) }
    }

    /// Whether a mask contains none of the quiet CPUs.
    pub fn is_clear(&self, mask: &str) -> bool {
        CpuList::from_mask(mask).is_ok_and(|cpus| cpus.intersection(&self.quiet).is_empty())
    }

    /// The CPUs whose settings are changed: the quiet CPUs, or all online CPUs if none were named.
    pub fn targets(&self) -> &CpuList {
        if self.quiet.is_empty() { &self.online } else { &self.quiet }
    }

    /// The text of a file; `None` if it is missing or unreadable.
    pub fn text(&self, path: &str) -> Option<String> {
        self.files.read(path).ok()
    }

    /// The entries of a directory whose names are numbers.
    pub fn numbered(&self, folder: &str) -> Vec<String> {
        self.files.list(folder).into_iter().filter(|name| name.parse::<u32>().is_ok()).collect()
    }

    /// A file of each cpufreq policy; if CPUs are given, only of policies that include one of them.
    pub fn policy_files(&self, cpus: Option<&CpuList>, file: &str) -> Vec<String> {
        let concerns = |policy: &&String| {
            policy.strip_prefix("policy").is_some_and(|number| number.parse::<u32>().is_ok())
                && cpus.is_none_or(|cpus| {
                    let related = self.text(&format!("{POLICIES}/{policy}/related_cpus")).unwrap_or_default();
                    let mut named = related.split_ascii_whitespace().filter_map(|cpu| cpu.parse().ok());
                    named.any(|cpu| cpus.contains(cpu))
                })
        };
        let policies = self.files.list(POLICIES);
        policies.iter().filter(concerns).map(|policy| format!("{POLICIES}/{policy}/{file}")).collect()
    }

    /// The number in a file.
    pub fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }
}

/// The current state of a knob.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspection {
    /// The knob's current value, in words.
    pub now: Text,
    /// The steadier value; `None` if the current value is already steady, or if there is no steadier value.
    pub steadier: Option<Text>,
    /// The knob's state.
    pub state: State,
    /// How to set the knob.
    pub adjustment: Adjustment,
    /// Other remarks, for example why experts disagree about the setting.
    pub notes: Vec<Text>,
}

/// The state of a knob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The knob is as steady as possible.
    Steady,
    /// The knob adds noise.
    Noisy,
    /// This machine does not have the knob, for this reason.
    Absent(Text),
    /// The knob could not be read, for this reason.
    Unseen(Text),
}

/// How a knob is set.
#[derive(Clone, Debug, PartialEq)]
pub enum Adjustment {
    /// Nothing to do.
    None,
    /// Files are written and restored.
    Write(Vec<Change>),
    /// A setting that remains in effect as long as a process holds it.
    ProcessSetting(ProcessSetting),
    /// A compound change, which is undone afterwards.
    Compound(CompoundChange),
    /// The knob can only be set at boot, with these kernel parameters.
    BootParameters(String),
    /// The knob can only be set manually, through this command or action.
    Manual(Text),
}

/// A setting that lasts as long as a process, and affects that process or the whole machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessSetting {
    /// `/dev/cpu_dma_latency` is held open with this latency limit, microseconds.
    DmaLatency(u32),
    /// The command is pinned to these CPUs.
    Affinity(CpuList),
    /// The command's nice value.
    Nice(i32),
    /// The command runs under SCHED_FIFO with this priority.
    Fifo(i32),
    /// The I/O priority of the command, as a level of the "best effort" class.
    IoPriority(i32),
    /// The command runs without address space layout randomization.
    FixedAddresses,
}

impl ProcessSetting {
    /// The name of the knob that makes this setting.
    pub fn knob(&self) -> &'static str {
        match self {
            ProcessSetting::DmaLatency(_) => "idle-states",
            ProcessSetting::Affinity(_) => "affinity",
            ProcessSetting::Nice(_) => "nice",
            ProcessSetting::Fifo(_) => "fifo",
            ProcessSetting::IoPriority(_) => "ionice",
            ProcessSetting::FixedAddresses => "aslr",
        }
    }

    /// Whether the setting affects only a command, and nothing else on the machine.
    pub fn is_the_commands(&self) -> bool {
        !matches!(self, ProcessSetting::DmaLatency(_))
    }
}

impl Inspection {
    /// The inspection of a knob that is as steady as possible.
    pub fn steady(now: impl Into<Text>) -> Self {
        Self {
            now: now.into(),
            steadier: None,
            state: State::Steady,
            adjustment: Adjustment::None,
            notes: Vec::new(),
        }
    }

    /// The inspection of a noisy knob, with the steadier value and the way to set this value.
    pub fn noisy(now: impl Into<Text>, steadier: impl Into<Text>, adjustment: Adjustment) -> Self {
        Self { steadier: Some(steadier.into()), state: State::Noisy, adjustment, ..Self::steady(now) }
    }

    /// The inspection with the changes that lead from the current state to a value. If there are no changes, the knob
    /// already has that value.
    pub(crate) fn towards(now: impl Into<Text>, value: &str, changes: Vec<Change>) -> Self {
        match changes.is_empty() {
            true => Self::steady(value.to_owned()),
            false => Self::noisy(now, value.to_owned(), Adjustment::Write(changes)),
        }
    }

    /// The inspection of a knob that this machine does not have.
    pub fn absent(why: impl Into<Text>) -> Self {
        Self { state: State::Absent(why.into()), ..Self::steady("-") }
    }

    /// The inspection of a knob that could not be read.
    pub fn unseen(refusal: &Refusal) -> Self {
        Self { state: State::Unseen(refusal.to_string().into()), ..Self::steady("?") }
    }

    /// Adds a remark.
    pub fn note(mut self, note: impl Into<Text>) -> Self {
        self.notes.push(note.into());
        self
    }
}
