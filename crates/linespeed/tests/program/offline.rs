//! A CPU goes offline in mid-run. It takes the CPU from the whole machine, so it runs only when
//! LINESPEED_TEST_OFFLINE is set.

use std::path::PathBuf;

use crate::support::started::Started;
use crate::support::{alone, emulated, figures, has_its_turn, linespeed, lost, root, skipped};

/// The highest CPU that can be taken offline.
fn removable() -> Option<(u32, PathBuf)> {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?;
    let last = online.trim().parse::<record::CpuList>().ok()?.iter().max().filter(|cpu| *cpu > 0)?;
    let file = PathBuf::from(format!("/sys/devices/system/cpu/cpu{last}/online"));
    file.exists().then_some((last, file))
}

/// Puts the CPU back, whatever happens.
struct Back(PathBuf);

impl Drop for Back {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.0, "1");
    }
}

#[test]
fn a_cpu_that_goes_offline_in_mid_run_costs_its_figures_only() {
    const TEST: &str = "a_cpu_that_goes_offline_in_mid_run_costs_its_figures_only";
    if std::env::var_os("LINESPEED_TEST_OFFLINE").is_none_or(|value| value.is_empty()) {
        return skipped(TEST, "LINESPEED_TEST_OFFLINE is not set");
    }
    let Some((cpu, file)) = removable().filter(|_| root() && !emulated()) else {
        return skipped(TEST, "it needs root and a CPU that can be taken offline");
    };
    let _alone = alone();
    const STEPS: [&str; 3] = ["clock: ", "latency: ", "bandwidth: "];
    for after in STEPS.into_iter().filter(|after| has_its_turn(&STEPS, after)) {
        let started = Started::new(linespeed(["run", "--quick", "--json", "--verbose"]));
        started.wait_for(after);
        // In the middle of the next measurement.
        std::thread::sleep(std::time::Duration::from_millis(150));
        let back = Back(file.clone());
        if let Err(error) = std::fs::write(&file, "0") {
            return skipped(TEST, &format!("{}: {error}", file.display()));
        }
        let ran = started.ended();
        drop(back);
        assert_eq!(ran.code, Some(0), "CPU {cpu} went after {after}: {}", ran.stderr);
        let record = ran.record();
        assert!(figures(&record, "core.clock") > 0 && figures(&record, "cost.syscall") > 0);
        let said = lost(&record, "");
        for word in [format!("CPU {cpu} went offline"), "did not stay on their CPUs".to_owned()] {
            assert!(said.iter().any(|line| line.contains(&word)), "after {after} no {word:?}: {said:#?}");
        }
    }
}
