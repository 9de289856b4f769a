//! Where there is less of the machine: one CPU, half a CPU, little memory, in control groups of either version.

use record::Label;
use record::Record;

use crate::support::cgroup::Group;
use crate::support::confine::Confine;
use crate::support::{emulated, figures, linespeed, lost, measured, run, says_lost, skipped};

/// A run of everything, within its limits.
#[track_caller]
fn everything(command: std::process::Command) -> Record {
    let record = measured(command).succeeds().record();
    for metric in ["core.clock", "load.latency", "cost.syscall", "wakeup.latency", "stolen.share"] {
        assert!(figures(&record, metric) > 0, "no {metric}: {:#?}", lost(&record, ""));
    }
    record
}

const QUICK: [&str; 3] = ["run", "--quick", "--json"];
/// What [`everything`] asks for, and what one CPU has not.
const NAMED: [&str; 9] =
    ["run", "--quick", "--json", "clock", "latency", "loaded-latency", "costs", "wakeup", "stolen"];

/// The first CPU that these tests may use.
fn first_cpu() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().parse::<record::CpuList>().unwrap().iter().next().unwrap()
}

/// What every run on one CPU must say.
#[track_caller]
fn is_of_one_cpu(record: &Record, cpu: u32) {
    assert_eq!(record.machine.allowed_cpus().to_string(), cpu.to_string());
    says_lost(record, "loaded-latency", "two CPUs");
    says_lost(record, "clock", "one CPU");
    says_lost(record, "costs", "one CPU");
    for measurement in &record.measurements {
        let at = measurement.labels.count(Label::Cpu);
        assert!(at.is_none_or(|at| at == u64::from(cpu)), "{} on CPU {at:?}", measurement.metric);
    }
}

#[test]
fn on_one_cpu_of_the_affinity_mask() {
    if emulated() {
        return skipped("on_one_cpu_of_the_affinity_mask", "emulated");
    }
    let cpu = first_cpu();
    is_of_one_cpu(&everything(linespeed(NAMED).on_cpu(cpu)), cpu);
}

#[test]
fn on_one_cpu_of_a_cpuset() {
    let cpu = first_cpu().to_string();
    let nodes = std::fs::read_to_string("/sys/devices/system/node/has_memory").unwrap_or("0".to_owned());
    let settings = [
        (["cpuset.cpus", &cpu], ["cpuset.cpus", cpu.as_str()]),
        (["cpuset.mems", &nodes], ["cpuset.mems", nodes.as_str()]),
    ];
    match Group::new("cpuset", &settings) {
        Err(why) => skipped("on_one_cpu_of_a_cpuset", &why),
        Ok(group) => {
            let record = everything(linespeed(QUICK).in_group(&group));
            assert_eq!(record.machine.limits.cpuset.to_string(), cpu);
            is_of_one_cpu(&record, first_cpu());
        }
    }
}

#[test]
fn with_a_quota_of_half_a_cpu() {
    let settings = [
        (["cpu.cfs_period_us", "100000"], ["cpu.max", "50000 100000"]),
        (["cpu.cfs_quota_us", "50000"], ["cpu.max", "50000 100000"]),
        // A busy machine must leave it what the quota allows, or the quota has nothing to stop.
        (["cpu.shares", "262144"], ["cpu.weight", "10000"]),
    ];
    match Group::new("cpu", &settings) {
        Err(why) => skipped("with_a_quota_of_half_a_cpu", &why),
        Ok(group) => {
            let record = everything(linespeed(NAMED).in_group(&group));
            assert_eq!(record.machine.limits.cpu_quota, Some(0.5));
            let throttled = record.conditions.after.as_ref().and_then(|after| after.quota_throttled);
            assert!(throttled.is_some_and(|periods| periods > 0), "the quota stopped it, and nobody says so");
            assert!(
                record.diagnosis.findings.iter().any(|finding| finding.what.to_string().contains("quota")),
                "a quota of half a CPU is no finding: {:#?}",
                record.diagnosis.findings
            );
        }
    }
}

#[test]
fn under_a_twentieth_of_a_cpu_layers_are_refused_before_one_is_timed() {
    let settings = [
        (["cpu.cfs_period_us", "100000"], ["cpu.max", "5000 100000"]),
        (["cpu.cfs_quota_us", "5000"], ["cpu.max", "5000 100000"]),
    ];
    match Group::new("cpu", &settings) {
        Err(why) => skipped("under_a_twentieth_of_a_cpu_layers_are_refused_before_one_is_timed", &why),
        Ok(group) => {
            let words = ["no layer can be timed", "0.05 CPUs", "at least 0.2 CPUs"];
            run(linespeed(["overhead", "--quick"]).in_group(&group)).fails(3, &words);
        }
    }
}

/// A run of everything with this much memory; it must not be killed for taking more.
fn with_memory(test: &str, mib: u64, depth: &[&str]) -> Option<Record> {
    let bytes = (mib << 20).to_string();
    let settings = [
        (["memory.limit_in_bytes", &bytes], ["memory.max", bytes.as_str()]),
        (["memory.swappiness", "0"], ["memory.swap.max", "0"]),
    ];
    match Group::new("memory", &settings) {
        Err(why) => {
            skipped(test, &why);
            None
        }
        Ok(group) => {
            let args = ["run", "--json"].iter().chain(depth);
            let ran = measured(linespeed(args).in_group(&group));
            assert_eq!(group.killed(), 0, "killed for memory with {mib} MiB: {ran:?}");
            let record = ran.succeeds().record();
            assert_eq!(record.machine.limits.memory_bytes, Some(mib << 20));
            Some(record)
        }
    }
}

#[test]
fn with_256_mib_of_memory_it_is_not_killed() {
    let Some(record) = with_memory("with_256_mib_of_memory_it_is_not_killed", 256, &["--quick"]) else {
        return;
    };
    for metric in ["load.latency", "memory.bandwidth", "core.clock"] {
        assert!(figures(&record, metric) > 0, "no {metric}: {:#?}", lost(&record, ""));
    }
    let largest = record.measurements_of("load.latency").filter_map(|m| m.labels.count(Label::Bytes)).max();
    assert!(largest.is_some_and(|bytes| bytes < 256 << 20));
    // Smaller arrays than four times the caches are a loss that must be told.
    if record.machine.last_level_bytes() > 64 << 20 {
        says_lost(&record, "latency", "latency-sets-small");
    }
}

#[test]
fn with_next_to_no_memory_it_is_not_killed() {
    // Room for the program and little else: no arrays.
    let Some(record) = with_memory("with_next_to_no_memory_it_is_not_killed", 48, &["--quick"]) else {
        return;
    };
    assert!(figures(&record, "core.clock") > 0, "{:#?}", lost(&record, ""));
    assert!(!lost(&record, "bandwidth").is_empty() && !lost(&record, "latency").is_empty());
}
