//! CPUs that the scheduler leaves alone.

use record::{CpuList, text};

use crate::knob::{Adjustment, Inspect, Inspection, Knob, KnobClass, KnobContext, Seen, SetWhen};
use crate::value_syntax::name_cpus;

/// What was isolated at boot. At run time a cpuset partition does the same for as long as it stands.
pub(super) const KNOB: Knob = Knob {
    name: "isolation",
    class: KnobClass::OtherTasks,
    set: SetWhen::CpusNamed,
    effect: "other tasks, the tick and RCU callbacks run on the measured CPU",
    absent: "the kernel does not show which CPUs are isolated",
    inspect: Inspect::With(inspect),
    ..Knob::ORDINARY
};

fn inspect(_: &Knob, context: &KnobContext) -> Seen {
    let list = |path: &str| context.text(path).map(|text| text.parse::<CpuList>().unwrap_or_default());
    let Some(isolated) = list("/sys/devices/system/cpu/isolated") else { return Ok(None) };
    let tickless = list("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
    let quiet = &context.quiet;
    let now = if isolated.is_empty() { "no CPU".to_owned() } else { name_cpus(&isolated) };
    Ok(Some(if quiet.is_empty() && isolated.is_empty() {
        Inspection::steady(now).note(text!("--cpus LIST inspects those CPUs"))
    } else if quiet.is_empty() {
        Inspection::steady(now)
    } else if quiet.is_subset(&isolated) && quiet.is_subset(&tickless) {
        Inspection::steady(format!("{now}, without the tick: {tickless}"))
    } else {
        let boot = format!("isolcpus=managed_irq,domain,{quiet} nohz_full={quiet} rcu_nocbs={quiet}");
        Inspection::noisy(now, name_cpus(quiet), Adjustment::BootParameters(boot))
    }))
}
