//! The planned changes of all inspected knobs.

use record::{CpuList, KnobValue, Text, text};

use crate::audit::{AuditRow, audit, audit_value, refuse_cpus};
use crate::change::Change;
use crate::compound_change::CompoundChange;
use crate::error::Error;
use crate::files::Files;
use crate::knob::{Adjustment, KnobContext, ProcessSetting, State};

/// The purpose for which the machine is made quiet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Any purpose; the settings remain until they are restored.
    Persistent,
    /// For the duration of a command.
    Command,
    /// For the duration of linespeed's own measurements.
    Measuring,
}

/// The wanted settings.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The names of the knobs; empty for all undisputed knobs.
    pub names: &'a [&'static str],
    /// The purpose.
    pub purpose: Purpose,
    /// The CPUs to keep quiet.
    pub cpus: Option<&'a CpuList>,
    /// The value for the single named knob, if that is not the steadier value.
    pub value: Option<&'a KnobValue>,
}

impl Wanted<'_> {
    /// Plans the changes to the files of a machine.
    pub fn plan<'a>(&self, files: &'a dyn Files) -> Result<Planned<'a>, Error> {
        let context = prepare_context(files, self.cpus, self.purpose)?;
        let rows = match self.value {
            Some(value) => audit_value(&context, value).into_iter().collect(),
            None => audit(&context, self.names),
        };
        let plan = TuningPlan::from_audit(&rows, !self.names.is_empty(), self.purpose, files);
        Ok(Planned { context, rows, plan })
    }
}

/// The planned changes, and the inspected knobs.
pub struct Planned<'a> {
    /// The context in which the knobs were inspected.
    pub context: KnobContext<'a>,
    /// The current state of the knobs.
    pub rows: Vec<AuditRow>,
    /// The planned changes.
    pub plan: TuningPlan,
}

/// The planned changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TuningPlan {
    /// Values, in the order of writing.
    pub changes: Vec<Change>,
    /// Process-lifetime settings, with the knob's name.
    pub settings: Vec<(&'static str, ProcessSetting)>,
    /// Compound changes, with the knob's name.
    pub compound_changes: Vec<(&'static str, CompoundChange)>,
    /// Knobs that remain unchanged although they should be set, with the reasons.
    pub not_set: Vec<(&'static str, Text)>,
    /// Knobs that linespeed does not set: they must be set at boot or manually.
    pub advice: Vec<(&'static str, Text)>,
}

impl TuningPlan {
    /// The plan for these rows; `named` is whether the user named these knobs, as opposed to requesting all of them.
    pub fn from_audit(rows: &[AuditRow], named: bool, purpose: Purpose, files: &dyn Files) -> Self {
        let mut plan = Self::default();
        for row in rows {
            let name = row.knob.name;
            match &row.inspection.state {
                State::Noisy if named || !row.knob.only_when_named() => {
                    plan.take(row, named, purpose, files);
                }
                State::Absent(why) | State::Unseen(why) if named => {
                    plan.not_set.push((name, why.clone()));
                }
                _ => {}
            }
        }
        plan
    }

    fn take(&mut self, row: &AuditRow, named: bool, purpose: Purpose, files: &dyn Files) {
        let name = row.knob.name;
        let lacking = || row.needs.as_ref().map(|needs| text!("requires {needs}", needs = needs.to_string()));
        match &row.inspection.adjustment {
            Adjustment::None => {}
            Adjustment::Write(changes) => {
                let (open, locked): (Vec<&Change>, Vec<&Change>) =
                    changes.iter().partition(|change| files.writable(&change.path));
                self.changes.extend(open.into_iter().cloned());
                if let (Some(first), Some(why)) = (locked.first(), lacking()) {
                    let why = if locked.len() == changes.len() {
                        why
                    } else {
                        text!(
                            "{why} for {locked} of {all} values, for example {first}",
                            locked = locked.len(),
                            all = changes.len(),
                            first = &first.path
                        )
                    };
                    self.not_set.push((name, why));
                }
            }
            Adjustment::ProcessSetting(setting) if fits(setting, purpose) => match lacking() {
                Some(why) => self.not_set.push((name, why)),
                None => self.settings.push((name, setting.clone())),
            },
            Adjustment::Compound(compound)
                if purpose == Purpose::Command || !matches!(compound, CompoundChange::Shield(_)) =>
            {
                match lacking() {
                    Some(why) => self.not_set.push((name, why)),
                    None => self.compound_changes.push((name, compound.clone())),
                }
            }
            Adjustment::ProcessSetting(_) | Adjustment::Compound(_) => {
                if named {
                    let way_out = text!("only for a command: linespeed quiet {name} -- COMMAND");
                    self.not_set.push((name, way_out));
                }
            }
            Adjustment::BootParameters(parameters) => {
                let line = text!("only at boot, on the kernel command line: {parameters}");
                self.not_by_us(named).push((name, line));
            }
            Adjustment::Manual(adjustment) => {
                self.not_by_us(named).push((name, text!("manually: {adjustment}")))
            }
        }
    }

    /// Reduces the plan to the settings of the command itself, because another session is active and only one session
    /// may change the machine at a time. Returns the knobs that would have been set.
    pub fn keep_to_the_commands(&mut self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = Vec::new();
        let tuned = self
            .changes
            .drain(..)
            .filter_map(|change| crate::knobs::find(&change.knob).map(|knob| knob.name));
        for name in tuned.chain(self.compound_changes.drain(..).map(|(name, _)| name)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The list that receives knobs that linespeed cannot set: `not_set` if the user named them, otherwise `advice`.
    fn not_by_us(&mut self, named: bool) -> &mut Vec<(&'static str, Text)> {
        if named { &mut self.not_set } else { &mut self.advice }
    }

    /// Whether anything must be restored.
    pub fn leaves_traces(&self) -> bool {
        !self.changes.is_empty() || !self.compound_changes.is_empty()
    }
}

/// Prepares the context for inspecting the knobs, including the quiet CPUs; fails if these CPUs cannot be kept quiet.
pub fn prepare_context<'a>(
    files: &'a dyn Files,
    cpus: Option<&CpuList>,
    purpose: Purpose,
) -> Result<KnobContext<'a>, Error> {
    let mut wanted = cpus.cloned();
    // If all CPUs are to be measured, none of them can be kept quiet. CPUs that cannot be measured are reported by the
    // measurement itself.
    if purpose == Purpose::Measuring {
        let online = files.root().cpu_list("/sys/devices/system/cpu/online").unwrap_or_default();
        wanted = wanted.filter(|cpus| cpus.is_subset(&online) && !online.is_subset(cpus));
    }
    if wanted.as_ref().is_some_and(CpuList::is_empty) {
        return Err(Error::NoCpus);
    }
    let quiet = wanted.unwrap_or_default();
    let mut context = KnobContext::new(files, quiet.clone());
    context.stays = purpose == Purpose::Persistent;
    let allowed = if files.root().is_live() { os::pin::allowed() } else { None };
    match refuse_cpus(&quiet, &context.online, &allowed.unwrap_or_else(|| context.online.clone())) {
        Some(why) => Err(Error::Cpus(quiet, why)),
        None => Ok(context),
    }
}

/// Whether this setting can remain in effect for this purpose.
fn fits(setting: &ProcessSetting, purpose: Purpose) -> bool {
    match purpose {
        Purpose::Persistent => false,
        Purpose::Measuring => !setting.is_the_commands(),
        Purpose::Command => true,
    }
}
