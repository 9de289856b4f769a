//! CPUs kept for one command by cpusets: what `cset shield` does.
//!
//! Version 2: a group whose partition is `isolated`, which takes its CPUs from everybody else and from the scheduler's
//! balancing (Documentation/admin-guide/cgroup-v2.rst). Version 1: one group for the command and one for the rest, into
//! which all tasks of the own group go that may run on all its CPUs (Documentation/admin-guide/cgroup-v1/cpusets.rst).
//! Tasks that somebody has bound stay: the kernel would forget what they were bound to.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use machine::Root;
use machine::cgroups::{Cgroups, Version};
use record::CpuList;
use serde::{Deserialize, Serialize};

/// What the shield is made of, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shield {
    /// The version of the hierarchy: 1 or 2.
    pub version: u32,
    /// The group below which it is made.
    pub parent: String,
    /// The group to which what is left in it goes back.
    pub home: String,
    /// The end of the names of its groups: the process that made it.
    pub mark: String,
    /// CPUs for the command.
    pub quiet: CpuList,
    /// CPUs for everybody else.
    pub rest: CpuList,
    /// Memory nodes, as the parent has them.
    pub mems: String,
    /// Version 2: whether the controller has to be switched on below the parent, and off again.
    pub switched: bool,
}

/// Passes over a list of tasks that grows while it is read.
const PASSES: usize = 5;
/// Looks at a group that does not get empty, and the time between two of them.
const LOOKS: usize = 400;
const PAUSE: Duration = Duration::from_millis(5);

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(path).map(|text| text.trim().to_owned()).map_err(|error| format!("{path}: {error}"))
}

fn write(path: &str, value: &str) -> Result<(), String> {
    fs::write(path, value).map_err(|error| format!("{path}: {error}"))
}

impl Shield {
    /// The shield that could be made on this machine; otherwise why there is none.
    pub fn plan(root: &Root, quiet: &CpuList, rest: &CpuList) -> Result<Self, String> {
        let cgroups = Cgroups::read(root);
        let shield = |version, parent: String, home: String, mems: String, switched| Self {
            version,
            parent,
            home,
            mark: std::process::id().to_string(),
            quiet: quiet.clone(),
            rest: rest.clone(),
            mems,
            switched,
        };
        let mut folders = cgroups.folders("cpuset");
        let Some((version, own)) = folders.next() else {
            return Err("no control groups are mounted here".to_owned());
        };
        if version == Version::V1 {
            // With the option noprefix the files have other names, and nobody mounts it so.
            let mems = root.text(&format!("{own}/cpuset.mems")).unwrap_or_default();
            let cpus = root.cpu_list(&format!("{own}/cpuset.cpus")).unwrap_or_default();
            if mems.is_empty() || cpus.is_empty() {
                return Err(format!("{own}: no cpuset that CPUs could be taken from"));
            }
            let rest = rest.intersection(&cpus);
            if !quiet.is_subset(&cpus) || rest.is_empty() {
                return Err(format!("the cpuset of this process has only CPUs {cpus}"));
            }
            return Ok(Self { rest, ..shield(1, own.to_owned(), own.to_owned(), mems, false) });
        }
        // A partition must lie below a partition; the top one is one.
        let top = folders.last().map_or(own, |(_, folder)| folder);
        let has = |file: &str| {
            let text = root.text(&format!("{top}/{file}")).unwrap_or_default();
            text.split_ascii_whitespace().any(|name| name == "cpuset")
        };
        if !has("cgroup.controllers") {
            return Err("the control groups here have no cpuset controller".to_owned());
        }
        let switched = !has("cgroup.subtree_control");
        Ok(shield(2, top.to_owned(), own.to_owned(), String::new(), switched))
    }

    /// Whether this user may make groups there.
    pub fn may_be_made(&self) -> bool {
        let Ok(parent) = std::ffi::CString::new(self.parent.as_str()) else { return false };
        // SAFETY: a string that ends with a zero byte and lives until the call returns.
        unsafe { libc::faccessat(libc::AT_FDCWD, parent.as_ptr(), libc::W_OK, libc::AT_EACCESS) == 0 }
    }

    /// The command's group.
    pub fn quiet_folder(&self) -> String {
        format!("{}/linespeed-quiet-{}", self.parent, self.mark)
    }

    fn rest_folder(&self) -> String {
        format!("{}/linespeed-rest-{}", self.parent, self.mark)
    }

    /// Makes the groups and clears the CPUs.
    pub fn make(&self) -> Result<(), String> {
        let quiet = self.quiet_folder();
        let made = |folder: &str| fs::create_dir(folder).map_err(|error| format!("{folder}: {error}"));
        if self.version == 2 {
            if self.switched {
                write(&format!("{}/cgroup.subtree_control", self.parent), "+cpuset")?;
            }
            made(&quiet)?;
            write(&format!("{quiet}/cpuset.cpus"), &self.quiet.to_string())?;
            let partition = format!("{quiet}/cpuset.cpus.partition");
            write(&partition, "isolated")?;
            let now = read(&partition)?;
            return if now == "isolated" { Ok(()) } else { Err(format!("the kernel says: {now}")) };
        }
        let rest = self.rest_folder();
        for (folder, cpus) in [(&quiet, &self.quiet), (&rest, &self.rest)] {
            made(folder)?;
            write(&format!("{folder}/cpuset.mems"), &self.mems)?;
            write(&format!("{folder}/cpuset.cpus"), &cpus.to_string())?;
        }
        self.clear(&rest);
        Ok(())
    }

    /// Moves all tasks that may run on all CPUs. The kernel keeps those that belong to one CPU.
    fn clear(&self, rest: &str) {
        let all = self.quiet.union(&self.rest);
        let mut stay = std::collections::HashSet::new();
        for _ in 0..PASSES {
            let Ok(tasks) = read(&format!("{}/tasks", self.parent)) else { return };
            let mut moved = 0;
            for task in tasks.lines() {
                if stay.contains(task) {
                    continue;
                }
                if is_free(task, &all) && write(&format!("{rest}/tasks"), task).is_ok() {
                    moved += 1;
                } else {
                    stay.insert(task.to_owned());
                }
            }
            if moved == 0 {
                return;
            }
        }
    }

    /// Puts a process into the command's group.
    pub fn enter(&self, pid: i32) -> Result<(), String> {
        write(&format!("{}/cgroup.procs", self.quiet_folder()), &pid.to_string())
    }

    /// Gives the CPUs back: what is left in the groups goes home, and the groups go.
    pub fn remove(&self) -> Result<(), String> {
        let list = if self.version == 2 { "cgroup.procs" } else { "tasks" };
        for folder in [self.quiet_folder(), self.rest_folder()] {
            self.empty(&folder, list)?;
        }
        let taken = self.version == 2 && self.switched && !others_use_cpusets(&self.parent);
        if taken {
            write(&format!("{}/cgroup.subtree_control", self.parent), "-cpuset")?;
        }
        Ok(())
    }

    fn empty(&self, folder: &str, list: &str) -> Result<(), String> {
        let mut last = String::new();
        for look in 0..LOOKS {
            let tasks = fs::read_to_string(format!("{folder}/{list}")).unwrap_or_default();
            for task in tasks.lines() {
                if let Err(why) = write(&format!("{}/{list}", self.home), task) {
                    last = why;
                }
            }
            match fs::remove_dir(folder) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                // One that has just ended leaves its group a little later.
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
                Err(error) => return Err(format!("{folder}: {error}")),
            }
            if look > 2 {
                std::thread::sleep(PAUSE);
            }
        }
        Err(format!("{folder} does not get empty; {last}"))
    }
}

/// Whether a task may run on all of these CPUs.
fn is_free(task: &str, all: &CpuList) -> bool {
    let status = fs::read_to_string(format!("/proc/{task}/status")).unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    allowed.and_then(|list| list.trim().parse::<CpuList>().ok()).is_some_and(|list| all.is_subset(&list))
}

/// Whether another group below this one has CPUs of its own.
fn others_use_cpusets(parent: &str) -> bool {
    let entries = fs::read_dir(Path::new(parent)).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        fs::read_to_string(entry.path().join("cpuset.cpus")).is_ok_and(|cpus| !cpus.trim().is_empty())
    })
}
