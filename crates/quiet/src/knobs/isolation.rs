//! CPUs that the scheduler leaves alone.

use record::CpuList;

use crate::form::cpus;
use crate::knob::{Knob, Look, Scene, Way};

/// What was isolated at boot. At run time a cpuset partition does the same for as long as it stands.
#[derive(Debug)]
pub struct Isolation;

impl Knob for Isolation {
    fn name(&self) -> &'static str {
        "isolation"
    }

    fn effect(&self) -> &'static str {
        "other tasks, the tick and the kernel's callbacks run on the CPU that measures"
    }

    fn needs_cpus(&self) -> bool {
        true
    }

    fn look(&self, scene: &Scene) -> Look {
        let list = |path: &str| scene.text(path).map(|text| text.parse::<CpuList>().unwrap_or_default());
        let Some(isolated) = list("/sys/devices/system/cpu/isolated") else {
            return Look::absent("this kernel does not tell which CPUs are isolated");
        };
        let tickless = list("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
        if scene.quiet.is_empty() {
            return if isolated.is_empty() {
                Look::steady("no CPU").note("with --cpus LIST those CPUs are looked at")
            } else {
                Look::steady(cpus(&isolated))
            };
        }
        let quiet = &scene.quiet;
        if quiet.is_subset(&isolated) && quiet.is_subset(&tickless) {
            return Look::steady(format!("{}, without the tick: {tickless}", cpus(&isolated)));
        }
        let now = if isolated.is_empty() { "no CPU".to_owned() } else { cpus(&isolated) };
        let boot = format!("isolcpus=managed_irq,domain,{quiet} nohz_full={quiet} rcu_nocbs={quiet}");
        Look::noisy(now, cpus(quiet), Way::Boot(boot))
    }
}
