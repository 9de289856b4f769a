//! CPUs that the scheduler leaves alone.

use record::{CpuList, Text, text};

use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext};
use crate::value_syntax::name_cpus;

/// What was isolated at boot. At run time a cpuset partition does the same for as long as it stands.
#[derive(Debug)]
pub struct Isolation;

impl Knob for Isolation {
    fn name(&self) -> &'static str {
        "isolation"
    }

    fn glossary(&self) -> &'static str {
        "
            CPUs that the scheduler leaves alone since boot, without the tick and without the kernel's
            callbacks.
            Also: rcu_nocbs
            How: Only on the kernel's command line; `linespeed quiet --cpus LIST` prints the line.
        "
    }

    fn class(&self) -> KnobClass {
        KnobClass::OtherTasks
    }

    fn effect(&self) -> Text {
        text!("quiet-isolation-effect", "other tasks, the tick and RCU callbacks run on the measured CPU")
    }

    fn needs_cpus(&self) -> bool {
        true
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        let list = |path: &str| context.text(path).map(|text| text.parse::<CpuList>().unwrap_or_default());
        let Some(isolated) = list("/sys/devices/system/cpu/isolated") else {
            return Inspection::absent(text!(
                "quiet-isolation-absent",
                "the kernel does not show which CPUs are isolated"
            ));
        };
        let tickless = list("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
        if context.quiet.is_empty() {
            return if isolated.is_empty() {
                Inspection::steady("no CPU")
                    .note(text!("quiet-isolation-needs-cpus", "--cpus LIST inspects those CPUs"))
            } else {
                Inspection::steady(name_cpus(&isolated))
            };
        }
        let quiet = &context.quiet;
        if quiet.is_subset(&isolated) && quiet.is_subset(&tickless) {
            return Inspection::steady(format!("{}, without the tick: {tickless}", name_cpus(&isolated)));
        }
        let now = if isolated.is_empty() { "no CPU".to_owned() } else { name_cpus(&isolated) };
        let boot = format!("isolcpus=managed_irq,domain,{quiet} nohz_full={quiet} rcu_nocbs={quiet}");
        Inspection::noisy(now, name_cpus(quiet), Adjustment::BootParameters(boot))
    }
}
