//! The state of a machine's settings, control groups and tasks, and its differences from an earlier state.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use os::child::Stat;

use crate::settings;

/// The mount point of version 2 control groups.
pub const GROUPS: &str = "/sys/fs/cgroup";
/// Directories of the other settings that a session changes.
const FOLDERS: [&str; 5] =
    ["/proc/sys", "/proc/irq", "/sys/devices/system/cpu", "/sys/devices/virtual/workqueue", "/sys/kernel/mm"];
/// Files of a group that change by themselves, or that list its tasks, which are compared separately.
const MOVING: [&str; 3] = ["cgroup.procs", "cgroup.threads", ".pressure"];
/// Files of a group that cannot be set, but are derived from other settings.
const FOLLOWING: [&str; 3] = ["cgroup.controllers", "cpuset.cpus.effective", "cpuset.mems.effective"];

/// The flag of a task whose affinity only the kernel can set (include/linux/sched.h).
const PF_NO_SETAFFINITY: u32 = 0x0400_0000;

/// The group, affinity and priority of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub name: String,
    /// Its control group.
    pub group: String,
    /// The CPUs on which it may run, in the kernel's format.
    pub cpus: String,
    /// Its nice value.
    pub nice: String,
    /// Whether it is a kernel thread; these are created and removed by the kernel.
    is_kernels: bool,
}

/// Tasks, by PID and start time.
pub type Tasks = BTreeMap<(i32, u64), Task>;

/// The complete state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    settings: BTreeMap<String, Vec<u8>>,
    pub tasks: Tasks,
}

impl State {
    pub fn read() -> Self {
        let mut settings = settings::contents(&FOLDERS.map(Path::new));
        groups(&mut settings);
        Self { settings, tasks: tasks() }
    }

    /// The differences, as lines to print, without the settings that change by themselves according to `moving`.
    pub fn differences(&self, after: &Self, moving: &dyn Fn(&str) -> bool) -> Vec<String> {
        let mut lines = settings::differences(&self.settings, &after.settings);
        lines.retain(|line| !line.split_once(": ").is_some_and(|(path, _)| moving(path)));
        for (key, was) in &self.tasks {
            match after.tasks.get(key) {
                Some(now) if now == was => {}
                None if was.is_kernels => {}
                now => lines.push(format!("task {}: {was:?} before, {now:?} after", key.0)),
            }
        }
        let new = after.tasks.iter().filter(|(key, task)| !task.is_kernels && !self.tasks.contains_key(*key));
        lines.extend(new.map(|(key, task)| format!("task {}: {task:?}, which was not there before", key.0)));
        lines
    }
}

/// Adds the settings of every group, and the existence of the group.
fn groups(all: &mut BTreeMap<String, Vec<u8>>) {
    let mut open = vec![PathBuf::from(GROUPS)];
    let mut found = settings::contents(&[Path::new(GROUPS)]);
    found.retain(|path, _| !MOVING.iter().any(|end| path.ends_with(end)));
    all.extend(found);
    while let Some(folder) = open.pop() {
        all.insert(folder.display().to_string(), b"a group".to_vec());
        for name in FOLLOWING {
            let path = folder.join(name);
            if let Ok(bytes) = fs::read(&path) {
                all.insert(path.display().to_string(), bytes);
            }
        }
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        open.extend(
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
}

/// The numeric names in a `/proc` directory.
pub fn numbers(folder: &str) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<i32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    all.sort_unstable();
    all
}

/// All threads of all processes.
pub fn tasks() -> Tasks {
    let threads = numbers("/proc").into_iter().flat_map(|process| numbers(&format!("/proc/{process}/task")));
    threads.filter_map(task).collect()
}

fn task(number: i32) -> Option<((i32, u64), Task)> {
    let started = Stat::read(number)?.started;
    let status = fs::read_to_string(format!("/proc/{number}/status")).ok()?;
    let field = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        line.map(|text| text.trim().to_owned())
    };
    // A process that has ended but was not reaped has no state.
    if field("State")?.starts_with('Z') {
        return None;
    }
    let groups = fs::read_to_string(format!("/proc/{number}/cgroup")).ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?.to_owned();
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // proc_pid_stat(5): the second field is in parentheses and may contain any characters.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let is_bound_by_kernel = fields.get(6)?.parse::<u32>().ok()? & PF_NO_SETAFFINITY != 0;
    let mut task = Task {
        name: field("Name")?,
        group,
        cpus: field("Cpus_allowed_list")?,
        nice: (*fields.get(16)?).to_owned(),
        is_kernels: field("VmSize").is_none(),
    };
    if is_bound_by_kernel {
        // A kernel worker is named after its work, and a rescuer's affinity changes with it.
        (task.name, task.cpus) = (String::new(), String::new());
    }
    Some(((number, started), task))
}
