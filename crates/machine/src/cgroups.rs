//! The locations of this process's cgroups, from `/proc/self/cgroup` (the group in each hierarchy) and
//! `/proc/self/mountinfo` (the mount point of each hierarchy), for cgroup v1, cgroup v2 and hybrid setups (cgroups(7)).

use crate::root::Root;
use crate::text::unescape;

/// The cgroup version of a hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// One hierarchy for one or a few controllers.
    V1 = 1,
    /// The unified hierarchy.
    V2 = 2,
}

/// The cgroups of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cgroups {
    hierarchies: Vec<Hierarchy>,
    /// Whether `/proc/self/cgroup` lists a group. If so, a hierarchy that is not mounted here may still set limits.
    named: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Hierarchy {
    version: Version,
    /// The controllers in cgroup v1; empty in cgroup v2.
    controllers: Vec<String>,
    /// The directory of the process's own group, then of each parent up to the mount point of the hierarchy.
    folders: Vec<String>,
}

/// A mount of a hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    version: Version,
    /// In cgroup v1, the controllers, from the options of the superblock.
    options: Vec<String>,
    /// The group that is mounted; `/` for the entire hierarchy.
    group: String,
    /// The mount point.
    point: String,
}

/// A line of `/proc/self/cgroup`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Membership {
    version: Version,
    controllers: Vec<String>,
    group: String,
}

/// The files that identify the directory of a group, regardless of its name.
const QUOTED: [(Version, &str, &[&str]); 3] = [
    (Version::V1, "cpu", &["cpu.cfs_quota_us", "cpu.shares"]),
    (Version::V1, "memory", &["memory.limit_in_bytes"]),
    (
        Version::V2,
        "",
        &["cpu.max", "cpu.weight", "memory.max", "memory.high", "memory.current", "cpuset.cpus.effective"],
    ),
];

/// Maximum nesting depth of groups, which limits the cost of a corrupt path.
const MAX_DEPTH: usize = 64;

impl Cgroups {
    /// Finds the cgroups. There are none if no hierarchy is mounted or if procfs lacks the information.
    pub fn read(root: &Root) -> Self {
        if root.is_excerpt() && !root.exists("/proc/self/mountinfo") {
            return Self::quoted(root);
        }
        Self::of_process(root, "self")
    }

    /// The cgroups whose files a text quotes: a group and its ancestors. If the text quotes files of several unrelated
    /// groups, the group of the process is unknown.
    fn quoted(root: &Root) -> Self {
        let folders = root.excerpt_folders("/sys/fs/cgroup");
        let of = |(version, controller, files): &(Version, &str, &[&str])| {
            // This file exists in both versions; in cgroup v1, it is below the directory of its controller.
            let is_first = |path: &str| path.split('/').nth(3).is_some_and(|name| name.starts_with("cpu"));
            let has_times = |path: &str, names: &std::collections::BTreeSet<String>| {
                names.contains("cpu.stat")
                    && *controller != "memory"
                    && is_first(path) == (*version == Version::V1)
            };
            let holds = |path: &str, names: &std::collections::BTreeSet<String>| {
                files.iter().any(|file| names.contains(*file)) || has_times(path, names)
            };
            let own = folders.iter().filter(|(path, names)| holds(path, names)).map(|(path, _)| *path);
            let mut own: Vec<&str> = own.collect();
            own.sort_by_key(|path| std::cmp::Reverse(path.len()));
            let nested = own.windows(2).all(|two| std::path::Path::new(two[0]).starts_with(two[1]));
            let folders = own.iter().filter(|_| nested).map(|path| format!("/{path}")).collect();
            Hierarchy { version: *version, controllers: vec![(*controller).to_owned()], folders }
        };
        Self { hierarchies: QUOTED.iter().map(of).collect(), named: false }
    }

    /// The cgroups of the process with this PID (or `self`) that are visible to this process.
    pub fn of_process(root: &Root, process: &str) -> Self {
        let memberships = memberships(&root.text(&format!("/proc/{process}/cgroup")).unwrap_or_default());
        let mounts = mounts_in_mountinfo(&root.text("/proc/self/mountinfo").unwrap_or_default());
        let hierarchies = memberships
            .iter()
            .filter_map(|membership| {
                let mount = mounts.iter().find(|mount| mount.carries(membership))?;
                let folders = mount.folders(&membership.group, |folder| root.exists(folder));
                Some(Hierarchy {
                    version: membership.version,
                    controllers: membership.controllers.clone(),
                    folders,
                })
            })
            .collect();
        Self { hierarchies, named: !memberships.is_empty() }
    }

    /// The directories that may contain files of `controller` (`cpu`, `memory`, `cpuset`…): the process's own group
    /// first, then each parent. If both versions are mounted, the cgroup v1 directories come first. The cgroup v2
    /// directories are always included, even if that hierarchy does not have the controller.
    pub fn folders<'a>(&'a self, controller: &'a str) -> impl Iterator<Item = (Version, &'a str)> + 'a {
        let of = move |version: Version| {
            let has = move |one: &&Hierarchy| {
                one.version == version
                    && (version == Version::V2 || one.controllers.iter().any(|name| name == controller))
            };
            let folders = |one: &'a Hierarchy| one.folders.iter().map(String::as_str);
            self.hierarchies.iter().filter(has).flat_map(folders).map(move |folder| (version, folder))
        };
        of(Version::V1).chain(of(Version::V2))
    }

    /// The mount point of the hierarchy with this version and controller.
    pub fn top<'a>(&'a self, controller: &'a str, version: Version) -> Option<&'a str> {
        self.folders(controller).filter(|(of, _)| *of == version).last().map(|(_, folder)| folder)
    }

    /// Whether the process is in a group without a visible directory, in which case its limits are unknown.
    pub fn hidden(&self) -> bool {
        self.named && self.hierarchies.iter().all(|hierarchy| hierarchy.folders.is_empty())
    }
}

/// Visits these cgroup directories, at most `most` in total. If `visit` returns true for a directory, its
/// subdirectories are also visited.
pub fn walk(root: &Root, tops: Vec<String>, most: usize, mut visit: impl FnMut(&str) -> bool) {
    let (mut folders, mut at) = (tops, 0);
    while let Some(folder) = folders.get(at).cloned() {
        at += 1;
        if visit(&folder) {
            let below = root.folders(&folder).into_iter().map(|name| format!("{folder}/{name}"));
            folders.extend(below.take(most.saturating_sub(folders.len())));
        }
    }
}

impl Mount {
    fn carries(&self, membership: &Membership) -> bool {
        self.version == membership.version
            && membership.controllers.iter().all(|controller| self.options.contains(controller))
    }

    /// The existing directories of `group` and its parents below this mount. If the group is outside the mounted part
    /// (a container's own view), only the mount point is returned.
    fn folders(&self, group: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
        let below = if self.group == "/" {
            group
        } else {
            match group.strip_prefix(self.group.as_str()) {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
                _ => "",
            }
        };
        let parts: Vec<&str> = below.split('/').filter(|part| !part.is_empty()).take(MAX_DEPTH).collect();
        let outside = parts.contains(&"..");
        let depth = if outside { 0 } else { parts.len() };
        let point = self.point.trim_end_matches('/');
        (0..=depth)
            .rev()
            .map(|depth| {
                std::iter::once(point).chain(parts.iter().take(depth).copied()).collect::<Vec<_>>().join("/")
            })
            .skip_while(|folder| !exists(folder))
            .collect()
    }
}

/// Reads `/proc/self/cgroup`: `4:memory:/a/b` or, for cgroup v2, `0::/a/b`.
fn memberships(text: &str) -> Vec<Membership> {
    text.lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (id, controllers, group) = (fields.next()?, fields.next()?, fields.next()?);
            id.parse::<u32>().ok()?;
            let version = if controllers.is_empty() { Version::V2 } else { Version::V1 };
            let group = if group.starts_with('/') { group.to_owned() } else { return None };
            Some(Membership { version, controllers: names(controllers), group })
        })
        .take(MAX_DEPTH)
        .collect()
}

/// Reads `/proc/self/mountinfo` (proc_pid_mountinfo(5)); the last mount at a mount point hides earlier ones.
fn mounts_in_mountinfo(text: &str) -> Vec<Mount> {
    let mount = |line: &str| -> Option<Mount> {
        let (mounted, file_system) = line.split_once(" - ")?;
        let mut mounted = mounted.split(' ');
        let (group, point) = (mounted.nth(3)?, mounted.next()?);
        let mut file_system = file_system.split(' ');
        let version = match file_system.next()? {
            "cgroup" => Version::V1,
            "cgroup2" => Version::V2,
            _ => return None,
        };
        Some(Mount {
            version,
            options: names(file_system.nth(1)?),
            group: unescape(group),
            point: unescape(point),
        })
    };
    text.lines().rev().filter_map(mount).collect()
}

fn names(list: &str) -> Vec<String> {
    list.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V1: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
        35 31 0:32 /docker/ab /sys/fs/cgroup/me\\040mory rw - cgroup cgroup rw,memory\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    fn folders(cgroups: &[Membership], mounts: &[Mount], controller: &str) -> Vec<String> {
        let membership =
            cgroups.iter().find(|m| m.controllers.iter().any(|name| name == controller)).unwrap();
        let mount = mounts.iter().find(|mount| mount.carries(membership)).unwrap();
        mount.folders(&membership.group, |_| true)
    }

    #[test]
    fn a_group_and_its_parents_are_found_below_the_mount() {
        let groups = memberships("4:memory:/docker/ab/c\n2:cpu,cpuacct:/x/y\n0::/z\n");
        let mounts = mounts_in_mountinfo(V1);
        let cpu =
            ["/sys/fs/cgroup/cpu,cpuacct/x/y", "/sys/fs/cgroup/cpu,cpuacct/x", "/sys/fs/cgroup/cpu,cpuacct"];
        assert_eq!(folders(&groups, &mounts, "cpu"), cpu);
        assert_eq!(
            folders(&groups, &mounts, "memory"),
            ["/sys/fs/cgroup/me mory/c", "/sys/fs/cgroup/me mory"]
        );
    }

    #[test]
    fn a_group_outside_of_the_mount_leaves_the_mount_point() {
        let mounts = mounts_in_mountinfo(V1);
        for group in ["/docker/abc", "/elsewhere", "/", "/docker/ab/../../x"] {
            let groups = memberships(&format!("4:memory:{group}"));
            assert_eq!(folders(&groups, &mounts, "memory"), ["/sys/fs/cgroup/me mory"], "{group}");
        }
    }

    #[test]
    fn folders_that_are_not_there_are_left_out_from_the_deepest() {
        let mount =
            Mount { version: Version::V2, options: Vec::new(), group: "/".into(), point: "/m".into() };
        assert_eq!(mount.folders("/a/b/c", |folder| folder.len() < 6), ["/m/a", "/m"]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,80}|([0-9 /:,.\\\\-]|cgroup2?| - ){0,40}", group in "/[a./]{0,300}") {
            let _ = (memberships(&text), unescape(&text));
            for mount in mounts_in_mountinfo(&text) {
                prop_assert!(mount.folders(&group, |_| true).len() <= MAX_DEPTH + 1);
            }
        }
    }
}
