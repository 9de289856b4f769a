//! Measures the cost of observing a large machine: synthetic `/proc` and `/sys` trees with 512 CPUs and 5,000 processes of four
//! threads each.
//!
//! `cargo run --release -p linespeed-live --example cost [SECONDS]` prints the CPU time per second of each interval, as a share of
//! one CPU, and the peak memory. Reading below a captured root resolves every path separately and costs more than reading the
//! kernel's own files, but does not include the cost of generating files in procfs.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

use live::Watch;
use machine::Root;
use measure::accesses::Hierarchy;
use os::Stop;

const CPUS: u32 = 512;
const PROCESSES: u32 = 5000;

fn file(root: &Path, path: &str, text: &str) -> std::io::Result<()> {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap_or(root))?;
    fs::write(path, text)
}

fn make(root: &Path) -> std::io::Result<()> {
    let mut stat = "cpu  100 0 100 1000 0 0 0 0 0 0\n".to_owned();
    let mut schedstat = "version 15\ntimestamp 1\n".to_owned();
    for cpu in 0..CPUS {
        let _ = writeln!(stat, "cpu{cpu} 100 0 100 1000 0 0 0 0 0 0");
        let _ = writeln!(schedstat, "cpu{cpu} 0 0 10 5 6 3 700 1500 9");
        for domain in 0..4 {
            let _ = writeln!(schedstat, "domain{domain} {} {}", "ffffffff,".repeat(16), "0 ".repeat(36));
        }
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        file(root, &format!("{folder}/cpufreq/scaling_cur_freq"), "2600000\n")?;
        file(root, &format!("{folder}/topology/physical_package_id"), &format!("{}\n", cpu / 256))?;
        file(root, &format!("{folder}/topology/core_id"), &format!("{}\n", cpu % 256 / 2))?;
        for of in ["core", "package"] {
            file(root, &format!("{folder}/thermal_throttle/{of}_throttle_total_time_ms"), "7\n")?;
        }
    }
    let _ = writeln!(
        stat,
        "intr 5{}\nctxt 900\nprocesses 5\nprocs_running 1\nprocs_blocked 0",
        " 0".repeat(4000)
    );
    file(root, "proc/stat", &stat)?;
    file(root, "proc/schedstat", &schedstat)?;
    file(root, "proc/loadavg", "1.0 1.0 1.0 3/20000 1\n")?;
    file(root, "proc/vmstat", &"pgfault 1\nnr_free_pages 5\n".repeat(90))?;
    file(root, "sys/devices/system/cpu/online", &format!("0-{}\n", CPUS - 1))?;
    for pid in 1..=PROCESSES {
        let fields = "0 ".repeat(40);
        file(root, &format!("proc/{pid}/stat"), &format!("{pid} (worker) S 1 1 1 {fields}\n"))?;
    }
    Ok(())
}

fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"))?;
    Some(kib.trim().parse::<u64>().ok()? * 1024)
}

fn main() -> Result<(), Box<dyn Error>> {
    let seconds: u32 = std::env::args().nth(1).map_or(Ok(10), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    make(folder.path())?;
    let root = Root::captured(folder.path())?;
    let machine = machine::inspect(&root).machine;
    let (mut watch, _) = Watch::begin(root, Hierarchy { machine: &machine, curve: &[] });
    let stop = Stop::new();
    for _ in 0..seconds {
        let interval = watch.watch(Duration::from_secs(1), false, &stop);
        println!("{:.3} % of one CPU", interval.own_seconds / interval.seconds * 100.0);
    }
    println!("{} MB at the most", peak_bytes().unwrap_or(0) / 1_000_000);
    Ok(())
}
