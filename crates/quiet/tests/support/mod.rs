//! Shared by the crate's tests: captured machines, and a synthetic machine of any size with all knobs.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::{Path, PathBuf};
use std::process::Command;

use quiet::audit::{AuditRow, audit};
use quiet::knob::KnobContext;
use record::CpuList;

/// The captured machines, by the names of their files.
pub const MACHINES: [&str; 4] =
    ["128arm-2pa2n8cluster4co", "16amd64-8n2c", "16em64t-4s2c2t-offlines", "20em64t-hybrid-1p6c2t+2ca4co1t"];

/// A directory that is removed when the test ends; in memory if possible.
pub fn temporary() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap()
}

/// Unpacks a captured machine into a directory that is removed when the test ends.
pub fn unpack(name: &str) -> tempfile::TempDir {
    let target = temporary();
    let archive = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../machine/tests/machines")
        .join(format!("{name}.tar.bz2"));
    let done = Command::new("tar").arg("xjf").arg(&archive).arg("-C").arg(target.path()).status().unwrap();
    assert!(done.success(), "tar could not unpack {}", archive.display());
    target
}

/// The CPUs that are online according to a tree.
pub fn online(root: &machine::Root) -> CpuList {
    machine::inspect(root).machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect()
}

/// A context of a tree.
pub fn context<'a>(files: &'a machine::Root, online: &CpuList, quiet: &str) -> KnobContext<'a> {
    let quiet = if quiet.is_empty() { CpuList::new() } else { quiet.parse().unwrap() };
    KnobContext {
        files,
        online: online.clone(),
        quiet,
        live: false,
        quota: None,
        own: None,
        shield: None,
        stays: false,
    }
}

/// All knobs of a tree.
pub fn rows(root: &machine::Root, quiet: &str) -> Vec<AuditRow> {
    audit(&context(root, &online(root), quiet), &[])
}

/// The row of a knob.
pub fn row<'a>(rows: &'a [AuditRow], name: &str) -> &'a AuditRow {
    rows.iter().find(|row| row.knob.name == name).unwrap_or_else(|| panic!("no knob {name}"))
}

/// Writes a file below a directory, and creates missing directories.
pub fn put(folder: &Path, path: &str, text: &str) {
    let real = folder.join(path.trim_start_matches('/'));
    std::fs::create_dir_all(real.parent().unwrap()).unwrap();
    std::fs::write(real, format!("{text}\n")).unwrap();
}

/// Creates a machine with this many CPUs, two per core, and all knobs that are files, each set to its noisy value. The
/// files are those of a current kernel with intel_pstate.
pub fn made_up(folder: &Path, cpus: u32) {
    let cores = cpus / 2;
    let all = format!("0-{}", cpus - 1);
    for name in ["present", "online", "possible"] {
        put(folder, &format!("sys/devices/system/cpu/{name}"), &all);
    }
    for cpu in 0..cpus {
        let at = format!("sys/devices/system/cpu/cpu{cpu}");
        let siblings = format!("{},{}", cpu % cores, cpu % cores + cores);
        put(folder, &format!("{at}/topology/thread_siblings_list"), &siblings);
        put(folder, &format!("{at}/topology/core_id"), &(cpu % cores).to_string());
        put(folder, &format!("{at}/topology/physical_package_id"), "0");
        if cpu > 0 {
            put(folder, &format!("{at}/online"), "1");
        }
        for (state, name, us) in [(0, "POLL", "0"), (1, "C1", "1"), (2, "C6", "133")] {
            put(folder, &format!("{at}/cpuidle/state{state}/name"), name);
            put(folder, &format!("{at}/cpuidle/state{state}/latency"), us);
            put(folder, &format!("{at}/cpuidle/state{state}/disable"), "0");
        }
        put(folder, &format!("{at}/thermal_throttle/core_throttle_count"), "0");
        let policy = format!("sys/devices/system/cpu/cpufreq/policy{cpu}");
        for (name, text) in [
            ("scaling_driver", "intel_pstate"),
            ("scaling_governor", "powersave"),
            ("scaling_available_governors", "performance powersave"),
            ("energy_performance_preference", "balance_performance"),
            ("energy_performance_available_preferences", "default performance balance_performance power"),
            ("scaling_min_freq", "800000"),
            ("scaling_max_freq", "3800000"),
            ("cpuinfo_min_freq", "800000"),
            ("cpuinfo_max_freq", "3800000"),
            ("base_frequency", "2100000"),
        ] {
            put(folder, &format!("{policy}/{name}"), text);
        }
    }
    // The kernel's mask of all CPUs: 32 per group.
    let first = (1u64 << if cpus.is_multiple_of(32) { 32 } else { cpus % 32 }) - 1;
    let every = format!("{first:x}") + &",ffffffff".repeat((cpus.div_ceil(32) - 1) as usize);
    for (path, text) in [
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "0"),
        ("sys/devices/system/cpu/smt/control", "on"),
        ("sys/devices/system/cpu/smt/active", "1"),
        ("sys/devices/system/cpu/isolated", ""),
        ("sys/devices/virtual/workqueue/cpumask", every.as_str()),
        ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never"),
        ("sys/kernel/mm/ksm/run", "1"),
        ("proc/sys/kernel/nmi_watchdog", "1"),
        ("proc/sys/kernel/timer_migration", "1"),
        ("proc/sys/kernel/numa_balancing", "1"),
        ("proc/sys/kernel/perf_event_max_sample_rate", "100000"),
        ("proc/sys/kernel/perf_cpu_time_max_percent", "25"),
        ("proc/sys/kernel/sched_rt_runtime_us", "950000"),
        ("proc/sys/kernel/randomize_va_space", "2"),
        ("proc/sys/vm/stat_interval", "1"),
        ("proc/irq/default_smp_affinity", every.as_str()),
        ("proc/loadavg", "0.00 0.01 0.05 1/2000 4242"),
        ("proc/stat", "cpu  100 0 100 10000 0 0 0 0 0 0"),
        ("proc/meminfo", "MemTotal: 65536 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB"),
        ("proc/1/comm", "systemd"),
    ] {
        put(folder, path, text);
    }
    for irq in 0..cpus.max(8) {
        put(folder, &format!("proc/irq/{irq}/smp_affinity_list"), if irq == 0 { "0" } else { &all });
    }
}
