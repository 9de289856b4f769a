//! Inspects the current state of all knobs without changing anything.

use record::phrase::agree;
use record::{CpuList, KnobValue, text};

use crate::compound_change::CompoundChange;
use crate::knob::{Adjustment, Inspection, Knob, KnobContext, ProcessSetting, State};
use crate::knobs::{self, KNOBS, NOT_A_GUESTS};
use crate::process_settings::dma_latency;
use crate::value_syntax::name_cpus;

/// The current state of one knob.
pub struct AuditRow {
    /// The knob.
    pub knob: &'static Knob,
    /// The result of the inspection.
    pub inspection: Inspection,
    /// The obstacle to setting the knob here; `None` if there is no obstacle, or nothing to set.
    pub needs: Option<Need>,
}

/// Inspects all knobs, or the named ones.
pub fn audit(context: &KnobContext, names: &[&str]) -> Vec<AuditRow> {
    let wanted = |knob: &&'static Knob| names.is_empty() || names.contains(&knob.name);
    KNOBS
        .iter()
        .filter(wanted)
        .map(|knob| {
            let mut inspection = knob.inspect(context);
            if let State::Absent(why) = &mut inspection.state
                && !context.live
                && !why.is(&NOT_A_GUESTS)
            {
                // A captured tree contains only some of the machine's files, so a missing file does not mean that the
                // machine lacks the knob.
                *why = text!("quiet-not-captured", "not in this captured tree");
            }
            AuditRow::new(context, knob, inspection)
        })
        .collect()
}

/// The current state of the knob that a finding names, and the changes that set it to the new value; `None` if there is
/// no such knob.
pub fn audit_value(context: &KnobContext, wanted: &KnobValue) -> Option<AuditRow> {
    let knob = knobs::find(wanted.knob.name())?;
    Some(AuditRow::new(context, knob, knob.set_to(context, wanted)))
}

impl AuditRow {
    fn new(context: &KnobContext, knob: &'static Knob, inspection: Inspection) -> Self {
        let needs = find_need(context, &inspection);
        Self { knob, inspection, needs }
    }

    /// Whether the knob prevents the machine from being quiet. Knobs that affect only a single command do not count. Opt-in knobs do not
    /// count either, because some users want their current values.
    pub fn disturbs(&self) -> bool {
        let the_commands = matches!(&self.inspection.adjustment, Adjustment::ProcessSetting(setting) if setting.is_the_commands())
            || matches!(&self.inspection.adjustment, Adjustment::Compound(CompoundChange::Shield(_)));
        self.inspection.state == State::Noisy && !the_commands && !self.knob.only_when_named()
    }
}

/// Whether no knob disturbs the machine.
pub fn is_quiet(rows: &[AuditRow]) -> bool {
    !rows.iter().any(AuditRow::disturbs)
}

/// What is required for setting a knob.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Need {
    /// The running machine, because a captured tree was inspected.
    #[error("the machine itself, not a capture")]
    ThisMachine,
    /// Root.
    #[error("root")]
    Root,
    /// Root outside this container.
    #[error("root outside this container: the kernel's files are read-only here")]
    RootOutside,
    /// A capability that root lacks.
    #[error("the capability CAP_SYS_NICE")]
    SysNice,
    /// A missing file.
    #[error("{0}, which is missing here")]
    File(&'static str),
    /// The next boot.
    #[error("a reboot")]
    Reboot,
    /// Manual action.
    #[error("you")]
    Person,
}

impl Need {
    /// Whether root, inside or outside this container, could set the knob.
    pub fn is_root(&self) -> bool {
        matches!(self, Need::Root | Need::RootOutside)
    }
}

fn find_need(context: &KnobContext, inspection: &Inspection) -> Option<Need> {
    match &inspection.adjustment {
        Adjustment::Write(_) | Adjustment::ProcessSetting(_) | Adjustment::Compound(_) if !context.live => {
            Some(Need::ThisMachine)
        }
        Adjustment::Write(changes) => {
            changes.iter().any(|change| !context.files.writable(&change.path)).then(missing_rights)
        }
        Adjustment::ProcessSetting(setting) => setting_need(context, setting),
        Adjustment::Compound(compound) => compound_need(compound),
        Adjustment::None => None,
        Adjustment::BootParameters(_) => Some(Need::Reboot),
        Adjustment::Manual(_) => Some(Need::Person),
    }
}

/// The permission that this user lacks and that writing kernel files requires.
fn missing_rights() -> Need {
    if os::is_root() { Need::RootOutside } else { Need::Root }
}

/// What is required for a process setting, if anything is missing.
fn setting_need(context: &KnobContext, setting: &ProcessSetting) -> Option<Need> {
    let own = context.own.as_ref();
    let lacks = match setting {
        ProcessSetting::DmaLatency(_) => {
            let there =
                context.files.list("/dev").iter().any(|name| format!("/dev/{name}") == dma_latency::PATH);
            if !there {
                return Some(Need::File(dma_latency::PATH));
            }
            return (!context.files.writable(dma_latency::PATH)).then(missing_rights);
        }
        ProcessSetting::Nice(nice) => own.is_some_and(|own| *nice < own.lowest_nice),
        ProcessSetting::Fifo(priority) => own.is_some_and(|own| *priority > own.highest_priority),
        ProcessSetting::Affinity(_) | ProcessSetting::IoPriority(_) | ProcessSetting::FixedAddresses => false,
    };
    lacks.then(|| if os::is_root() { Need::SysNice } else { Need::Root })
}

fn compound_need(compound: &CompoundChange) -> Option<Need> {
    let may = match compound {
        CompoundChange::Swap(_) => os::is_root(),
        CompoundChange::Shield(shield) => shield.may_be_made(),
    };
    (!may).then(missing_rights)
}

/// The reason why a list of CPUs cannot be kept quiet, if any.
pub fn refuse_cpus(quiet: &CpuList, online: &CpuList, allowed: &CpuList) -> Option<String> {
    let says = |cpus: &CpuList, is, are| format!("{} {}", name_cpus(cpus), agree(cpus.len(), is, are));
    let (unknown, forbidden) = (quiet.difference(online), quiet.difference(allowed));
    if !unknown.is_empty() {
        Some(format!("{} not online here (online: {online})", says(&unknown, "is", "are")))
    } else if !forbidden.is_empty() {
        let which = says(&forbidden, "is", "are");
        Some(format!("{which} not available to this process (available: {allowed})"))
    } else if !quiet.is_empty() && online.difference(quiet).is_empty() {
        let all = says(quiet, "is the only CPU", "are all CPUs of this machine");
        Some(format!("{all}: leave one CPU for everything else"))
    } else {
        None
    }
}
