//! All knobs as they stand: nothing is changed.

use record::CpuList;

use crate::compound_change::CompoundChange;
use crate::knob::{Adjustment, Inspection, Knob, KnobContext, ProcessSetting, State};
use crate::knobs::KNOBS;
use crate::process_settings::dma_latency;
use crate::value_syntax::name_cpus;

/// One knob as it stands.
pub struct AuditRow {
    /// The knob.
    pub knob: &'static dyn Knob,
    /// What was seen.
    pub inspection: Inspection,
    /// What stands in the way of setting it here; `None` where nothing does, or nothing is to be set.
    pub needs: Option<String>,
}

/// Looks at all knobs, or at those named.
pub fn audit(context: &KnobContext, names: &[&str]) -> Vec<AuditRow> {
    let wanted = |knob: &&&'static dyn Knob| names.is_empty() || names.contains(&knob.name());
    KNOBS
        .iter()
        .filter(wanted)
        .map(|knob| {
            let mut inspection = knob.inspect(context);
            if let State::Absent(why) = &mut inspection.state
                && !context.live
                && !why.contains("tree")
            {
                // Why a running machine lacks it says nothing of one of which some files were copied.
                *why = "this tree does not show it".to_owned();
            }
            let needs = needs(context, &inspection);
            AuditRow { knob: *knob, inspection, needs }
        })
        .collect()
}

impl AuditRow {
    /// Whether it keeps the machine from being quiet. What concerns one command alone does not, nor does what is set only
    /// when it is named, because some want it as it is.
    pub fn disturbs(&self) -> bool {
        let the_commands = matches!(&self.inspection.adjustment, Adjustment::ProcessSetting(setting) if setting.is_the_commands())
            || matches!(&self.inspection.adjustment, Adjustment::Compound(CompoundChange::Shield(_)));
        self.inspection.state == State::Noisy && !the_commands && !self.knob.only_when_named()
    }
}

/// Whether nothing disturbs.
pub fn is_quiet(rows: &[AuditRow]) -> bool {
    !rows.iter().any(AuditRow::disturbs)
}

fn needs(context: &KnobContext, inspection: &Inspection) -> Option<String> {
    match &inspection.adjustment {
        Adjustment::Write(_) | Adjustment::ProcessSetting(_) | Adjustment::Compound(_) if !context.live => {
            Some("this machine: it was captured".to_owned())
        }
        Adjustment::Write(changes) => changes
            .iter()
            .any(|change| !context.files.writable(&change.path))
            .then(|| missing_rights().to_owned()),
        Adjustment::ProcessSetting(setting) => setting_needs(context, setting),
        Adjustment::Compound(compound) => compound_needs(compound),
        Adjustment::None => None,
        Adjustment::BootParameters(_) => Some("a reboot".to_owned()),
        Adjustment::Manual(_) => Some("you".to_owned()),
    }
}

/// What this user lacks to write the kernel's files.
fn missing_rights() -> &'static str {
    if os::is_root() {
        "root outside of this container: the kernel's files are for reading only here"
    } else {
        "root"
    }
}

/// What a process setting needs.
fn setting_needs(context: &KnobContext, setting: &ProcessSetting) -> Option<String> {
    let own = context.own.as_ref();
    let lacks = match setting {
        ProcessSetting::DmaLatency(_) => {
            let there =
                context.files.list("/dev").iter().any(|name| format!("/dev/{name}") == dma_latency::PATH);
            if !there {
                return Some(format!("{}, which is not here", dma_latency::PATH));
            }
            return (!context.files.writable(dma_latency::PATH)).then(|| missing_rights().to_owned());
        }
        ProcessSetting::Nice(nice) => own.is_some_and(|own| *nice < own.lowest_nice),
        ProcessSetting::Fifo(priority) => own.is_some_and(|own| *priority > own.highest_priority),
        ProcessSetting::Affinity(_) | ProcessSetting::IoPriority(_) | ProcessSetting::FixedAddresses => false,
    };
    lacks.then(|| if os::is_root() { "the capability CAP_SYS_NICE" } else { "root" }.to_owned())
}

fn compound_needs(compound: &CompoundChange) -> Option<String> {
    let may = match compound {
        CompoundChange::Swap(_) => os::is_root(),
        CompoundChange::Shield(shield) => shield.may_be_made(),
    };
    (!may).then(|| missing_rights().to_owned())
}

/// Why a list of CPUs cannot be made quiet; `None` where it can.
pub fn refused(quiet: &CpuList, online: &CpuList, allowed: &CpuList) -> Option<String> {
    let unknown = quiet.difference(online);
    let forbidden = quiet.difference(allowed);
    if !unknown.is_empty() {
        let are = if unknown.len() == 1 { "is" } else { "are" };
        Some(format!("{} {are} not online here; online are {online}", name_cpus(&unknown)))
    } else if !forbidden.is_empty() {
        let are = if forbidden.len() == 1 { "is" } else { "are" };
        Some(format!("{} {are} not among those that this process may use: {allowed}", name_cpus(&forbidden)))
    } else if !quiet.is_empty() && online.difference(quiet).is_empty() {
        let all = if quiet.len() == 1 { "is the only CPU there is" } else { "are all CPUs that there are" };
        Some(format!("{} {all}: one must be left to run everything else", name_cpus(quiet)))
    } else {
        None
    }
}
