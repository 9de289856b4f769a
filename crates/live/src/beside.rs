//! Who else works while something is measured: the processes with most CPU time from one look to another.

use std::collections::HashSet;

use machine::Root;
use os::procfs::Stat;
use record::live::Process;

use crate::processes::{Files, Processes};

/// Processes at the beginning of a time.
#[derive(Debug)]
pub struct Beside {
    root: Root,
    files: Files,
    before: Processes,
}

impl Beside {
    /// Looks at all processes, which takes some microseconds each.
    pub fn begin(root: Root) -> Self {
        let mut files = Files::default();
        let before = Processes::look(&root, &mut files, &Processes::default());
        Self { root, files, before }
    }

    /// Those that have worked since, the busiest first, without this process, these, and what they started.
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
}

/// The unit or container of a process: the innermost service, scope or container of its cgroup; `None` of a user's session.
pub(crate) fn unit(root: &Root, pid: i32) -> Option<String> {
    let text = root.text(&format!("/proc/{pid}/cgroup"))?;
    // `0::/system.slice/docker-0123….scope`, `4:cpu:/kubepods/burstable/pod…/0123…`.
    let group = text.lines().filter_map(|line| line.splitn(3, ':').nth(2)).max_by_key(|group| group.len())?;
    let is_id = |part: &str| part.len() >= 32 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_unit = |part: &&str| {
        let of_systemd = part.ends_with(".service") || part.ends_with(".scope");
        is_id(part) || (of_systemd && !part.starts_with("session-"))
    };
    let unit = group.rsplit('/').find(is_unit)?;
    // Engines call a container by the first twelve digits of its number.
    let begin = unit.rfind('-').map_or(0, |dash| dash + 1);
    let number = unit[begin..].trim_end_matches(".scope");
    let shown = if is_id(number) { &unit[..begin + 12] } else { unit };
    Some(record::phrase::visible(std::path::Path::new(shown)))
}

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
