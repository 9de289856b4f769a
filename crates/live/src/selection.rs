//! The selected processes of a machine: selected by PID, or all processes of a cgroup, a systemd unit or a container.

use std::collections::BTreeSet;
use std::fmt;

use machine::Root;
use machine::cgroups::{Cgroups, Version, walk};

/// Maximum number of cgroup directories searched.
const MOST_FOLDERS: usize = 20_000;
/// Maximum number of observed processes.
const MOST_PROCESSES: usize = 4096;
/// Minimum length of a container ID.
const LEAST_ID: usize = 6;

/// The observed processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The processes with these PIDs, and the processes that they start.
    Processes(Vec<i32>),
    /// The processes of the cgroup with this name (`/system.slice/nginx.service`) or directory, and of its descendants.
    Cgroup(String),
    /// The processes of this systemd unit.
    Unit(String),
    /// The processes of the container whose ID has this prefix.
    Container(String),
}

/// Why nothing can be observed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// There is no cgroup with that name.
    #[error("{0}: no such cgroup is visible; list them with systemd-cgls, or use -p PID")]
    NoGroup(Selection),
    /// Several cgroups match.
    #[error("{0} matches {all}; specify one: --cgroup {first}", all = .1.join(" or "), first = .1[0])]
    Ambiguous(Selection, Vec<String>),
    /// The group exists, but has no processes.
    #[error("cgroup {0} has no processes")]
    Empty(String),
    /// The ID is too short.
    #[error("{0} is too short for a container ID; specify at least {LEAST_ID} characters")]
    ShortId(String),
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Selection::Processes(pids) => {
                let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
                write!(f, "pid {}", pids.join(","))
            }
            Selection::Cgroup(name) => write!(f, "cgroup {name}"),
            Selection::Unit(name) => write!(f, "unit {name}"),
            Selection::Container(id) => write!(f, "container {id}"),
        }
    }
}

impl Selection {
    /// The current PIDs. If processes were selected by PID, these PIDs are returned without a search.
    pub fn find(&self, root: &Root) -> Result<Vec<i32>, SelectionError> {
        match self {
            Selection::Processes(pids) => Ok(pids.clone()),
            _ => Self::of_groups(root, &self.folders(root)?, self),
        }
    }

    /// The directory of the cgroup in the hierarchy that the kernel uses for counting events; `None` if no cgroup is
    /// selected, or the hierarchy is not mounted.
    pub(crate) fn counted_folder(&self, root: &Root) -> Option<String> {
        let folders = self.folders(root).ok()?;
        let name = below_mount(root, folders.first()?).trim_start_matches('/');
        let own = Cgroups::read(root);
        // A separate `perf_event` hierarchy takes precedence over the unified one.
        let top = own.top("perf_event", Version::V1).or_else(|| own.top("perf_event", Version::V2))?;
        Some(format!("{top}/{name}")).filter(|folder| root.exists(folder))
    }

    /// The directories of the cgroup in the hierarchies that count CPU time.
    fn folders(&self, root: &Root) -> Result<Vec<String>, SelectionError> {
        let matches: Box<dyn Fn(&str) -> bool> = match self {
            Selection::Processes(_) => return Ok(Vec::new()),
            Selection::Cgroup(name) => return Ok(named(root, name)),
            Selection::Unit(name) => {
                let wanted = if name.contains('.') { name.clone() } else { format!("{name}.service") };
                Box::new(move |folder| folder == wanted)
            }
            Selection::Container(id) if id.len() < LEAST_ID => {
                return Err(SelectionError::ShortId(id.clone()));
            }
            // docker-ID.scope, cri-containerd-ID.scope, libpod-ID.scope, and ID alone below /docker.
            Selection::Container(id) => Box::new(move |folder| {
                let name = folder.rsplit_once('-').map_or(folder, |(_, id)| id);
                name.starts_with(id.as_str()) && name.trim_end_matches(".scope").len() > id.len().min(11)
            }),
        };
        let mut found = Vec::new();
        walk(root, tops(root), MOST_FOLDERS, |folder| {
            let is_it = folder.rsplit('/').next().is_some_and(&matches);
            if is_it {
                found.push(folder.to_owned());
            }
            !is_it
        });
        Ok(found)
    }

    fn of_groups(root: &Root, folders: &[String], wanted: &Self) -> Result<Vec<i32>, SelectionError> {
        // A group that occurs in the hierarchies of several controllers counts once.
        let names: BTreeSet<&str> = folders.iter().map(|folder| below_mount(root, folder)).collect();
        if names.len() > 1 {
            let names = names.into_iter().map(str::to_owned).collect();
            return Err(SelectionError::Ambiguous(wanted.clone(), names));
        }
        let Some(name) = names.first() else { return Err(SelectionError::NoGroup(wanted.clone())) };
        let pids: BTreeSet<i32> = folders.iter().flat_map(|folder| processes_below(root, folder)).collect();
        if pids.is_empty() {
            return Err(SelectionError::Empty((*name).to_owned()));
        }
        Ok(pids.into_iter().take(MOST_PROCESSES).collect())
    }
}

/// The mount points of the hierarchies that count CPU time.
fn tops(root: &Root) -> Vec<String> {
    let own = Cgroups::read(root);
    let top = |version| own.top("cpu", version).map(str::to_owned);
    [Version::V2, Version::V1].into_iter().filter_map(top).collect()
}

/// The directories of the group with this name.
fn named(root: &Root, name: &str) -> Vec<String> {
    let name = name.trim_end_matches('/');
    let below = tops(root).into_iter().map(|top| format!("{top}/{}", name.trim_start_matches('/')));
    let folders =
        below.chain([name.to_owned()]).filter(|folder| root.exists(&format!("{folder}/cgroup.procs")));
    folders.collect()
}

/// The group's name: its directory without the mount point of its hierarchy.
fn below_mount<'a>(root: &Root, folder: &'a str) -> &'a str {
    let tops = tops(root);
    tops.iter()
        .filter_map(|top| folder.strip_prefix(top.as_str()))
        .min_by_key(|name| name.len())
        .unwrap_or(folder)
}

fn processes_below(root: &Root, folder: &str) -> Vec<i32> {
    let mut pids = Vec::new();
    walk(root, vec![folder.to_owned()], MOST_FOLDERS, |folder| {
        let text = root.text(&format!("{folder}/cgroup.procs")).unwrap_or_default();
        // 0 stands for a process in another PID namespace.
        pids.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()).filter(|pid| *pid > 0));
        true
    });
    pids
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;

    fn tree() -> Tree {
        Tree::new()
            .file("proc/self/cgroup", "3:cpu,cpuacct:/\n0::/user.slice\n")
            .file(
                "proc/self/mountinfo",
                "30 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup \
                 cgroup rw,cpu,cpuacct\n",
            )
            .file("sys/fs/cgroup/unified/user.slice/cgroup.procs", "1\n")
            .file("sys/fs/cgroup/unified/system.slice/nginx.service/cgroup.procs", "11\n12\n")
            .file("sys/fs/cgroup/unified/system.slice/nginx.service/workers/cgroup.procs", "13\n0\n")
            .file("sys/fs/cgroup/cpu/system.slice/nginx.service/cgroup.procs", "11\n12\n13\n")
            .file("sys/fs/cgroup/unified/system.slice/idle.service/cgroup.procs", "")
            .file("sys/fs/cgroup/unified/system.slice/docker-0123456789abcdef.scope/cgroup.procs", "21\n")
            .file("sys/fs/cgroup/cpu/docker/0123456789abcdef/cgroup.procs", "")
            .file("sys/fs/cgroup/unified/pods/cri-containerd-fedcba987654.scope/cgroup.procs", "31\n")
    }

    #[test]
    fn groups_units_and_containers_are_found_by_their_names() {
        let tree = tree();
        let find = |selection: Selection| selection.find(&tree.root());
        assert_eq!(find(Selection::Processes(vec![7])), Ok(vec![7]));
        let nginx = vec![11, 12, 13];
        for name in ["/system.slice/nginx.service", "system.slice/nginx.service/"] {
            assert_eq!(find(Selection::Cgroup(name.to_owned())), Ok(nginx.clone()));
        }
        let unit = Selection::Unit("nginx".to_owned());
        let counted = "/sys/fs/cgroup/unified/system.slice/nginx.service";
        assert_eq!(unit.counted_folder(&tree.root()).as_deref(), Some(counted));
        assert_eq!(Selection::Processes(vec![7]).counted_folder(&tree.root()), None);
        let folder = "/sys/fs/cgroup/unified/system.slice/nginx.service/workers";
        assert_eq!(find(Selection::Cgroup(folder.to_owned())), Ok(vec![13]));
        for name in ["nginx", "nginx.service"] {
            assert_eq!(find(Selection::Unit(name.to_owned())), Ok(nginx.clone()));
        }
        assert_eq!(find(Selection::Container("fedcba98".to_owned())), Ok(vec![31]));
    }

    #[test]
    fn what_is_not_there_is_said() {
        let tree = tree();
        let find = |selection: Selection| selection.find(&tree.root()).unwrap_err();
        let none = Selection::Unit("apache".to_owned());
        assert_eq!(find(none.clone()), SelectionError::NoGroup(none));
        assert_eq!(
            find(Selection::Unit("idle".to_owned())),
            SelectionError::Empty("/system.slice/idle.service".to_owned())
        );
        assert_eq!(find(Selection::Container("0123".to_owned())), SelectionError::ShortId("0123".to_owned()));
        // Two groups of one container, as with both versions mounted.
        let twice = Selection::Container("0123456789ab".to_owned());
        assert!(matches!(find(twice), SelectionError::Ambiguous(_, found) if found.len() == 2));
        let nothing = Tree::new();
        let any = Selection::Cgroup("/x".to_owned());
        assert_eq!(any.find(&nothing.root()), Err(SelectionError::NoGroup(any)));
    }
}
