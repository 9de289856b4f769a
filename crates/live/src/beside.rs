//! Other processes that run during a measurement: the processes with the most CPU time between two samples.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use machine::Root;
use measure::accesses::{Accesses, Hierarchy};
use os::procfs::Stat;
use record::live::Process;

use crate::processes::{Files, Processes};

/// The limits for sampling the busiest processes: the minimum number of CPUs that a process uses, the maximum number of processes,
/// and the duration.
const WORTH_ASKING: f64 = 0.05;
const MOST_ASKED: usize = 3;
const ASKED_FOR: Duration = Duration::from_millis(600);

/// The processes at the beginning of a period.
#[derive(Debug)]
pub struct Beside {
    began: Instant,
    root: Root,
    files: Files,
    before: Processes,
}

impl Beside {
    /// Reads all processes, which takes a few microseconds for each.
    pub fn begin(root: Root) -> Self {
        let mut files = Files::default();
        let before = Processes::look(&root, &mut files, &Processes::default());
        Self { began: Instant::now(), root, files, before }
    }

    /// The processes that have run since [`Self::begin`], busiest first, excluding this process, the given processes, and all
    /// their descendants.
    pub fn until_now(&mut self, own: &[i32]) -> Vec<Process> {
        let now = Processes::look(&self.root, &mut self.files, &self.before);
        let own: HashSet<i32> = own.iter().copied().chain([std::process::id() as i32]).collect();
        let is_own = |pid: i32| {
            let parent = |pid: &i32| now.account(*pid).map(|stat: &Stat| stat.parent);
            std::iter::successors(Some(pid), parent).take(64).any(|pid| own.contains(&pid))
        };
        let mut all = self.before.busiest_until(&now, is_own);
        all.iter_mut().for_each(|one| one.within = unit(&self.root, one.pid));
        all
    }

    /// Samples the busiest processes after the measurement to determine which resources they use besides CPU time.
    pub fn ask(self, all: &mut [Process], known: Hierarchy) {
        let least = WORTH_ASKING * self.began.elapsed().as_secs_f64();
        let busy = all.iter_mut().filter(|one| one.cpu >= least && !one.ended);
        let mut asked: Vec<&mut Process> = busy.take(MOST_ASKED).collect();
        let pids: Vec<i32> = asked.iter().map(|one| one.pid).collect();
        if !pids.is_empty() {
            let sampled = Accesses::sample(known, &pids, ASKED_FOR);
            asked.iter_mut().zip(sampled).for_each(|(one, sampled)| one.sampled = sampled.map(Box::new));
        }
    }
}

/// The owner of a process: the innermost service, scope or container of its cgroup, otherwise its cgroup, otherwise its
/// separate PID namespace. `None` if the process belongs to a user's session or to the unit of this process.
pub(crate) fn unit(root: &Root, pid: i32) -> Option<String> {
    let text = root.text(&format!("/proc/{pid}/cgroup"))?;
    let own = root.text("/proc/self/cgroup").unwrap_or_default();
    let is_ours = |line: &&str| own.lines().any(|other| other == *line);
    // Lines such as `0::/system.slice/docker-0123….scope` and `4:cpu:/kubepods/burstable/pod…/0123…`.
    let others = text.lines().filter(|line| !is_ours(line));
    let group = others.filter_map(|line| line.splitn(3, ':').nth(2)).max_by_key(|group| group.len());
    let group = group.unwrap_or_default();
    let is_id = |part: &str| part.len() >= 32 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_unit = |part: &&str| {
        let of_systemd = part.ends_with(".service") || part.ends_with(".scope");
        is_id(part) || (of_systemd && !part.starts_with("session-"))
    };
    let shown = if let Some(unit) = group.rsplit('/').find(is_unit) {
        // Container engines use the first twelve digits of the ID as a short name.
        let begin = unit.rfind('-').map_or(0, |dash| dash + 1);
        let number = unit[begin..].trim_end_matches(".scope");
        (if is_id(number) { &unit[..begin + 12] } else { unit }).to_owned()
    } else if group.len() > 1 && !group.starts_with("/user.slice") {
        group.to_owned()
    } else {
        let namespace = |of: &str| std::fs::read_link(root.path().join(format!("proc/{of}/ns/pid"))).ok();
        (namespace(&pid.to_string())? != namespace("self")?).then(|| OWN_NAMESPACE.to_owned())?
    };
    Some(record::phrase::visible(std::path::Path::new(&shown)))
}

/// Shown as the owner of a process in a separate PID namespace, such as that of a container.
const OWN_NAMESPACE: &str = "separate PID namespace";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;

    #[test]
    fn a_containers_process_has_its_unit_and_a_sessions_has_none() {
        let id = "0123456789abcdef0123456789abcdef";
        let of = |group: &str| {
            let tree = Tree::new().file("proc/7/cgroup", group);
            unit(&tree.root(), 7)
        };
        let docker = format!("docker-{id}.scope");
        assert_eq!(of(&format!("0::/system.slice/{docker}\n")), Some("docker-0123456789ab".to_owned()));
        assert_eq!(
            of(&format!("4:cpu:/kubepods/burstable/pod7/{id}\n1:name=systemd:/\n")),
            Some("0123456789ab".to_owned())
        );
        assert_eq!(of("0::/system.slice/nginx.service\n"), Some("nginx.service".to_owned()));
        assert_eq!(of("0::/user.slice/user-0.slice/session-3.scope\n"), None);
        assert_eq!((of("0::/\n"), of("x")), (None, None));
        assert_eq!(of("0::/\n4:cpu:/box\n"), Some("/box".to_owned()));
        let apart = Tree::new().file("proc/7/cgroup", "0::/\n").file("proc/self/cgroup", "0::/\n");
        let apart = apart.link("proc/7/ns/pid", "pid:[7]").link("proc/self/ns/pid", "pid:[1]");
        assert_eq!(unit(&apart.root(), 7).as_deref(), Some(OWN_NAMESPACE));
        let beside_us =
            Tree::new().file("proc/7/cgroup", "4:cpu:/box\n").file("proc/self/cgroup", "4:cpu:/box\n");
        assert_eq!(unit(&beside_us.root(), 7), None);
        let both = format!("3:memory:/{id}\n4:cpu:/box\n");
        let other =
            Tree::new().file("proc/7/cgroup", &both).file("proc/self/cgroup", &format!("3:memory:/{id}\n"));
        assert_eq!(unit(&other.root(), 7).as_deref(), Some("/box"));
    }

    #[test]
    fn who_works_beside_is_named_and_own_children_are_not() {
        let mut beside = Beside::begin(Root::live());
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
        let pid = child.id() as i32;
        let named = beside.until_now(&[]).iter().any(|one| one.pid == pid);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!named);
    }
}
