//! Reserves CPUs for one command with cpusets, as `cset shield` does.
//!
//! With cgroup v2, the command runs in a group whose partition is `isolated`. This removes the group's CPUs from all other groups and from
//! the scheduler's load balancing (Documentation/admin-guide/cgroup-v2.rst). The affinity of tasks is restored afterwards. With cgroup v1,
//! there is one group for the command and one for all other tasks. The tasks of our own group that may run on all of its CPUs are moved to
//! the second group (Documentation/admin-guide/cgroup-v1/cpusets.rst). Tasks with a user-set affinity are not moved, because the kernel
//! would forget their affinity.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use machine::Root;
use machine::cgroups::{Cgroups, Version};
use record::{CpuList, Text, text};
use serde::{Deserialize, Serialize};

use super::bound_tasks::BoundTask;
use super::{CompoundError, is_plain};
use crate::files::may_write;
use crate::value_syntax::name_cpus;

/// The components of the shield and their paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shield {
    /// The version of the hierarchy: 1 or 2.
    pub version: u32,
    /// The group below which the shield is created.
    pub parent: String,
    /// The group to which remaining tasks return.
    pub home: String,
    /// The suffix of the group names: the PID of the process that created the shield, and the time, because a process in another container
    /// may have the same PID.
    pub mark: String,
    /// CPUs for the command.
    pub quiet: CpuList,
    /// CPUs for all other tasks.
    pub rest: CpuList,
    /// The parent's memory nodes.
    pub mems: String,
    /// With cgroup v2: whether the controller must be enabled below the parent, and disabled afterwards.
    pub switched: bool,
    /// With cgroup v2: tasks with a user-set affinity, which the kernel may forget.
    #[serde(default)]
    pub bound: Vec<BoundTask>,
}

/// Maximum number of passes over a list of tasks that grows while it is read.
const PASSES: usize = 5;
/// Maximum number of attempts to empty and remove a group, and the pause between two attempts.
const LOOKS: usize = 400;
const PAUSE: Duration = Duration::from_millis(5);

fn read(path: &str) -> Result<String, CompoundError> {
    fs::read_to_string(path)
        .map(|text| text.trim().to_owned())
        .map_err(|error| CompoundError::at(path, &error))
}

fn write(path: &str, value: &str) -> Result<(), CompoundError> {
    fs::write(path, value).map_err(|error| CompoundError::at(path, &error))
}

/// A unique suffix for the groups: this process, and the time in hexadecimal nanoseconds.
fn mark() -> String {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    format!("{}-{time:x}", std::process::id())
}

impl Shield {
    /// The shield for this machine, or the reason why none is possible.
    pub fn plan(root: &Root, quiet: &CpuList, rest: &CpuList) -> Result<Self, String> {
        let cgroups = Cgroups::read(root);
        let shield = |version, parent: String, home: String, mems: String, switched| Self {
            version,
            parent,
            home,
            mark: mark(),
            quiet: quiet.clone(),
            rest: rest.clone(),
            mems,
            switched,
            bound: Vec::new(),
        };
        let mut folders = cgroups.folders("cpuset");
        let Some((version, own)) = folders.next() else {
            return Err("no control groups are mounted".to_owned());
        };
        if version == Version::V1 {
            // With the mount option noprefix, the files would have other names, but nobody uses this option in
            // practice.
            let mems = root.text(&format!("{own}/cpuset.mems")).unwrap_or_default();
            let cpus = root.cpu_list(&format!("{own}/cpuset.cpus")).unwrap_or_default();
            if mems.is_empty() || cpus.is_empty() {
                return Err(format!("{own}: no cpuset from which CPUs can be reserved"));
            }
            let rest = rest.intersection(&cpus);
            if !quiet.is_subset(&cpus) || rest.is_empty() {
                return Err(format!("the cpuset of this process contains only CPUs {cpus}"));
            }
            return Ok(Self { rest, ..shield(1, own.to_owned(), own.to_owned(), mems, false) });
        }
        // The parent of a partition must itself be a partition, and the root group is one.
        let top = folders.last().map_or(own, |(_, folder)| folder);
        let has = |file: &str| {
            let text = root.text(&format!("{top}/{file}")).unwrap_or_default();
            text.split_ascii_whitespace().any(|name| name == "cpuset")
        };
        if !has("cgroup.controllers") {
            return Err("the mounted control groups have no cpuset controller".to_owned());
        }
        let switched = !has("cgroup.subtree_control");
        Ok(shield(2, top.to_owned(), own.to_owned(), String::new(), switched))
    }

    /// Adds the tasks that are currently pinned to CPUs.
    pub fn prepared(&self) -> Self {
        let all = self.quiet.union(&self.rest);
        let bound = if self.version == 2 { super::bound_tasks::find_bound_tasks(&all) } else { Vec::new() };
        Self { bound, ..self.clone() }
    }

    /// A path in the shield that does not belong to a control group, if there is one. A journal with such a path must
    /// not be trusted.
    pub fn foreign_path(&self) -> Option<&str> {
        if self.mark.is_empty() || !self.mark.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        {
            return Some(&self.mark);
        }
        let foreign = |path: &&str| !is_plain(path) || is_in_another_file_system(path);
        [self.parent.as_str(), &self.home].into_iter().find(foreign)
    }

    /// Whether this user may create the groups.
    pub fn may_be_made(&self) -> bool {
        may_write(Path::new(&self.parent))
    }

    /// The command's group.
    pub fn quiet_folder(&self) -> String {
        format!("{}/linespeed-quiet-{}", self.parent, self.mark)
    }

    fn rest_folder(&self) -> String {
        format!("{}/linespeed-rest-{}", self.parent, self.mark)
    }

    /// Creates the groups and moves other tasks off the quiet CPUs. Reports the tasks that could not stay on their CPUs
    /// or could not be moved.
    pub fn make(&self) -> Result<Option<Text>, CompoundError> {
        let quiet = self.quiet_folder();
        let made = |folder: &str| fs::create_dir(folder).map_err(|error| CompoundError::at(folder, &error));
        if self.version == 2 {
            if self.switched {
                write(&format!("{}/cgroup.subtree_control", self.parent), "+cpuset")?;
            }
            made(&quiet)?;
            write(&format!("{quiet}/cpuset.cpus"), &self.quiet.to_string())?;
            let partition = format!("{quiet}/cpuset.cpus.partition");
            write(&partition, "isolated")?;
            let now = read(&partition)?;
            return if now == "isolated" {
                Ok(self.confine_bound_tasks())
            } else {
                Err(CompoundError(format!("kernel: {now}")))
            };
        }
        let rest = self.rest_folder();
        for (folder, cpus) in [(&quiet, &self.quiet), (&rest, &self.rest)] {
            made(folder)?;
            write(&format!("{folder}/cpuset.mems"), &self.mems)?;
            write(&format!("{folder}/cpuset.cpus"), &cpus.to_string())?;
        }
        Ok(describe_staying(&self.move_tasks_away(&rest), &self.quiet))
    }

    /// Restricts tasks with a user-set affinity to their remaining CPUs. Reports the tasks that have no CPUs left and therefore run on
    /// other CPUs while the CPUs are reserved.
    fn confine_bound_tasks(&self) -> Option<Text> {
        let moved: BTreeMap<String, String> = self
            .bound
            .iter()
            .filter(|bound| !bound.keep_off(&self.quiet))
            .filter_map(|bound| {
                let task = bound.task.to_string();
                let name = Task::read(&task).filter(|seen| seen.is_a_programs)?.name;
                Some((task, name))
            })
            .collect();
        (!moved.is_empty()).then(|| {
            let who = listed(moved.iter());
            let cpus = name_cpus(&self.quiet);
            text!("temporarily moved to other CPUs, although pinned to {cpus}: {who}")
        })
    }

    /// Moves all tasks that may run on all CPUs off the quiet CPUs. Returns user tasks that remain on the quiet CPUs,
    /// by TID and name. Per-CPU kernel threads also remain but are not returned.
    fn move_tasks_away(&self, rest: &str) -> BTreeMap<String, String> {
        let all = self.quiet.union(&self.rest);
        let mut stay = BTreeMap::new();
        let mut looked_at = HashSet::new();
        let Ok(rest) = open_list(&format!("{rest}/tasks")) else { return stay };
        for _ in 0..PASSES {
            let Ok(tasks) = read(&format!("{}/tasks", self.parent)) else { break };
            let mut moved = 0;
            for task in tasks.lines() {
                if looked_at.contains(task) {
                    continue;
                }
                // A task outside this container is listed with the PID 0.
                let Some(number) = task.parse().ok().filter(|number| *number > 0) else { continue };
                let Some(cpus) = os::pin::affinity(number) else { continue };
                if all.is_subset(&cpus) && (&rest).write_all(task.as_bytes()).is_ok() {
                    moved += 1;
                    continue;
                }
                if !cpus.intersection(&self.quiet).is_empty()
                    && let Some(seen) = Task::read(task).filter(|seen| seen.is_a_programs)
                {
                    stay.insert(task.to_owned(), seen.name);
                }
                looked_at.insert(task.to_owned());
            }
            if moved == 0 {
                break;
            }
        }
        stay
    }

    /// Moves a process into the command's group.
    pub fn add_process(&self, pid: i32) -> Result<(), CompoundError> {
        write(&format!("{}/cgroup.procs", self.quiet_folder()), &pid.to_string())
    }

    /// Gives the CPUs back: remaining tasks move back, and the groups are removed, including groups created inside them. If one step fails,
    /// the others are still done.
    pub fn remove(&self) -> Result<(), CompoundError> {
        let list = if self.version == 2 { "cgroup.procs" } else { "tasks" };
        let mut errors: Vec<CompoundError> = [self.rest_folder(), self.quiet_folder()]
            .iter()
            .filter_map(|folder| self.empty(folder, list).err())
            .collect();
        if self.version == 2 && self.switched && errors.is_empty() && !others_use_cpusets(&self.parent) {
            errors.extend(write(&format!("{}/cgroup.subtree_control", self.parent), "-cpuset").err());
        }
        self.bound.iter().for_each(|bound| bound.give_back(&self.quiet));
        CompoundError::all(&errors)
    }

    fn empty(&self, folder: &str, list: &str) -> Result<(), CompoundError> {
        let home = format!("{}/{list}", self.home);
        let mut last = String::new();
        for look in 0..LOOKS {
            let mut refused = None;
            for group in groups_within(Path::new(folder)) {
                if self.version == 2 {
                    // The kernel returns the CPUs of a removed partition with a delay, and may then forget the affinity of tasks after it
                    // was restored. If the partition is changed to `member` first, the CPUs are returned immediately.
                    let _ = fs::write(group.join("cpuset.cpus.partition"), "member");
                }
                self.send_home(&group, list, &home, &mut last);
                refused = fs::remove_dir(&group).err();
            }
            match refused {
                None => return Ok(()),
                Some(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                // A task leaves its group a moment after it has ended.
                Some(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
                Some(error) => return Err(CompoundError::at(folder, &error)),
            }
            if look > 2 {
                std::thread::sleep(PAUSE);
            }
        }
        Err(CompoundError(format!("the group cannot be removed: {}", describe_use(folder, list, &last))))
    }

    /// Moves a group's tasks back. If some cannot be moved, stores the reason for the last failure in `last`.
    fn send_home(&self, group: &Path, list: &str, home: &str, last: &mut String) {
        let tasks = fs::read_to_string(group.join(list)).unwrap_or_default();
        if tasks.is_empty() {
            return;
        }
        let opened = open_list(home);
        for task in tasks.lines() {
            match opened.as_ref().map(|mut home| home.write_all(task.as_bytes())) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => *last = format!("{home}: {error}"),
                Err(error) => *last = format!("{home}: {}", error.kind()),
            }
        }
    }
}

/// Whether a path exists outside the control group file systems. A path that no longer exists may have been a control
/// group.
fn is_in_another_file_system(path: &str) -> bool {
    let group = [libc::CGROUP_SUPER_MAGIC, libc::CGROUP2_SUPER_MAGIC];
    rustix::fs::statfs(path).is_ok_and(|there| !group.contains(&there.f_type))
}

/// A group and all its descendants, the innermost groups first.
fn groups_within(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![folder.to_owned()];
    let mut at = 0;
    while let Some(group) = all.get(at) {
        let entries = fs::read_dir(group).into_iter().flatten().flatten();
        let below: Vec<PathBuf> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.path())
            .collect();
        all.extend(below);
        at += 1;
    }
    all.reverse();
    all
}

/// Opens a group's list of tasks: writing a number to it moves that task into the group.
fn open_list(list: &str) -> io::Result<fs::File> {
    fs::OpenOptions::new().write(true).open(list)
}

/// A task, as reported by the kernel.
struct Task {
    name: String,
    /// Whether the task is a user task, not a kernel thread.
    is_a_programs: bool,
}

impl Task {
    /// `None` if the task has exited.
    fn read(task: &str) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{task}/status")).ok()?;
        let field = |key: &str| machine::text::field(&status, key);
        Some(Self {
            name: field("Name").unwrap_or_default().to_owned(),
            // Kernel threads have no user memory.
            is_a_programs: field("VmSize").is_some(),
        })
    }
}

/// Maximum number of tasks listed on one line.
const NAMED: usize = 5;

/// Lists some tasks by name and TID.
fn listed(tasks: impl ExactSizeIterator<Item = (impl Display, impl Display)>) -> String {
    let more = tasks.len().saturating_sub(NAMED);
    let named: Vec<String> = tasks.take(NAMED).map(|(task, name)| format!("{name} ({task})")).collect();
    let named = named.join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

/// A description of the tasks that remain on the quiet CPUs; `None` if there are none.
fn describe_staying(stay: &BTreeMap<String, String>, quiet: &CpuList) -> Option<Text> {
    if stay.is_empty() {
        return None;
    }
    let who = listed(stay.iter());
    let cpus = name_cpus(quiet);
    Some(text!("{who} pinned to {cpus} may still run there; move them with taskset -cp LIST PID"))
}

/// Describes why a group cannot be removed: tasks remain in the group or in nested groups (with the last error from
/// moving them) or, if there are no tasks, nested groups remain.
fn describe_use(folder: &str, list: &str, refusal: &str) -> String {
    let groups = groups_within(Path::new(folder));
    let read = |group: &PathBuf| fs::read_to_string(group.join(list)).unwrap_or_default();
    let tasks: String = groups.iter().map(read).collect();
    let name = |task| Task::read(task).map_or_else(|| "?".to_owned(), |task| task.name);
    let named: Vec<(&str, String)> = tasks.lines().map(|task| (task, name(task))).collect();
    let tasks = listed(named.into_iter());
    let below = |group: &PathBuf| Some(group.strip_prefix(folder).ok()?.to_str()?.to_owned());
    let below: Vec<String> = groups.iter().filter_map(below).filter(|name| !name.is_empty()).collect();
    match (tasks.is_empty(), below.is_empty()) {
        (false, _) if refusal.is_empty() => format!("{tasks} cannot be moved out of it; terminate them"),
        (false, _) => format!("{tasks} cannot be moved out of it ({refusal}); terminate them"),
        (true, false) => format!("it contains other groups ({}); remove them", below.join(", ")),
        (true, true) => "the kernel still uses it".to_owned(),
    }
}

/// Whether another group below the parent has its own CPUs.
fn others_use_cpusets(parent: &str) -> bool {
    let entries = fs::read_dir(Path::new(parent)).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        fs::read_to_string(entry.path().join("cpuset.cpus")).is_ok_and(|cpus| !cpus.trim().is_empty())
    })
}
