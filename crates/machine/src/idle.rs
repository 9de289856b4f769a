//! CPU idle states of the boot CPU, and the idle driver and governor.

use record::machine::{Idle, IdleState};
use record::{Coverage, Machine};

use crate::{Root, text};

const CPUS: &str = "/sys/devices/system/cpu";

/// Fills [`Machine::idle_states`] and [`Machine::idle`].
pub(crate) fn read(root: &Root, machine: &mut Machine, _coverage: &mut Vec<Coverage>) {
    let first = |names: &[&str]| {
        let file = |name: &&str| root.text(&format!("{CPUS}/cpuidle/{name}"));
        names.iter().find_map(file).as_deref().and_then(text::name)
    };
    machine.idle = Idle {
        driver: first(&["current_driver"]),
        // Kernels before Linux 5.8 that were booted without cpuidle_sysfs_switch have only the file whose name
        // ends in `_ro`.
        governor: first(&["current_governor", "current_governor_ro"]),
    };
    machine.idle_states = states(root, 0);
    if machine.idle_states.is_empty() {
        // A kernel with a registered idle driver lists states for every online CPU.
        let online = text::cpu_list(root.text("/sys/devices/system/cpu/online"));
        if let Some(cpu) = online.first().filter(|cpu| *cpu != 0) {
            machine.idle_states = states(root, cpu);
        }
    }
}

fn states(root: &Root, cpu: u32) -> Vec<IdleState> {
    let folder = format!("{CPUS}/cpu{cpu}/cpuidle");
    // The kernel supports at most 10 states (CPUIDLE_STATE_MAX).
    let states = root.numbered(&folder, "state");
    states
        .iter()
        .take(16)
        .filter_map(|state| {
            let file = |name: &str| root.text(&format!("{folder}/state{state}/{name}"));
            let ns = |name: &str| file(name)?.parse::<u64>().ok()?.checked_mul(1000);
            Some(IdleState {
                name: file("name").as_deref().and_then(text::name)?,
                exit_ns: ns("latency"),
                residency_ns: ns("residency"),
                // Bit 0 is set if the user disabled the state, bit 1 if the driver did.
                disabled: file("disable").and_then(|text| text.parse::<u64>().ok()).map(|bits| bits != 0),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;
    use proptest::prelude::*;

    #[test]
    fn states_come_deepest_last_in_nanoseconds() {
        let state = |n: u32, name: &str, latency: &str, disable: &str| {
            (
                format!("sys/devices/system/cpu/cpu0/cpuidle/state{n}"),
                [
                    ("name".to_owned(), name.to_owned()),
                    ("latency".to_owned(), latency.to_owned()),
                    ("residency".to_owned(), "600\n".to_owned()),
                    ("disable".to_owned(), disable.to_owned()),
                ],
            )
        };
        let mut tree = Tree::new()
            .file("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n")
            .file("sys/devices/system/cpu/cpuidle/current_governor_ro", "menu\n");
        for (folder, files) in
            [state(0, "POLL", "0", "0"), state(10, "C10", "890", "1"), state(2, "C6", "133", "0")]
        {
            for (name, value) in files {
                tree = tree.file(&format!("{folder}/{name}"), value);
            }
        }
        let mut machine = Machine::default();
        read(&tree.root(), &mut machine, &mut Vec::new());
        let names: Vec<&str> = machine.idle_states.iter().map(|state| state.name.as_str()).collect();
        assert_eq!(names, ["POLL", "C6", "C10"]);
        assert_eq!(machine.idle_states[1].exit_ns, Some(133_000));
        assert_eq!(machine.idle_states[1].residency_ns, Some(600_000));
        assert_eq!(machine.idle_states[2].disabled, Some(true));
        assert_eq!(machine.idle.driver.as_deref(), Some("intel_idle"));
        assert_eq!(machine.idle.governor.as_deref(), Some("menu"));
    }

    proptest! {
        // Each case writes a tree, so fewer than the usual 256 cases run.
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn no_contents_panic(name in "\\PC{0,8}", latency in "[0-9]{0,22}|\\PC{0,4}", disable in "[0-9]{0,22}|-1") {
            let folder = "sys/devices/system/cpu/cpu0/cpuidle/state1";
            let tree = Tree::new().files(folder, &[("name", &name), ("latency", &latency), ("disable", &disable)]);
            read(&tree.root(), &mut Machine::default(), &mut Vec::new());
        }
    }
}
