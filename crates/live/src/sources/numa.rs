//! Use of memory on other nodes: the kernel's counters of allocated pages (/proc/vmstat, nodeN/numastat) and of accesses sampled by NUMA
//! balancing, and the location of a process's pages (/proc/PID/numa_maps).

use std::collections::BTreeSet;

use machine::Root;
use os::procfs::{Stat, count_of};
use record::live::Remote;
use record::machine::Node;

/// Smaller numbers of pages or accesses are insignificant.
const LEAST: u64 = 100;
/// Limits: the number of processes whose pages are read, the number of threads of each, and the length of the text.
const MOST_PROCESSES: usize = 4;
const MOST_THREADS: usize = 256;
const MOST_TEXT: usize = 16 << 20;
/// Processes with more memory than this, in bytes, are skipped: the kernel walks all their pages and blocks changes of their address
/// space in the meantime.
const MOST_MEMORY: u64 = 4 << 30;
const PAGE: u64 = 4096;

/// Numbers of pages and accesses since boot, over all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pages {
    /// Pages allocated on the node of the allocating CPU, and on another node (Documentation/admin-guide/numastat.rst).
    taken: Option<(u64, u64)>,
    /// Hinting faults, and the hinting faults on the node's own memory.
    hints: Option<(u64, u64)>,
}

impl Pages {
    /// Reads the text of /proc/vmstat; missing counters are read from the nodes' own files.
    pub(crate) fn look(vmstat: &str, root: &Root, nodes: &[u32]) -> Self {
        let both =
            |text: &str, here: &str, there: &str| Some((count_of(text, here)?, count_of(text, there)?));
        let of_node = |node: &u32| {
            let text = root.text(&format!("/sys/devices/system/node/node{node}/numastat"))?;
            both(&text, "local_node", "other_node")
        };
        let of_nodes = || {
            let all: Option<Vec<(u64, u64)>> = nodes.iter().map(of_node).collect();
            let add = |sum: (u64, u64), one: &(u64, u64)| {
                (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1))
            };
            all.map(|all| all.iter().fold((0, 0), add))
        };
        Self {
            taken: both(vmstat, "numa_local", "numa_other").or_else(of_nodes),
            hints: both(vmstat, "numa_hint_faults", "numa_hint_faults_local"),
        }
    }

    /// Whether the kernel counts pages by node.
    pub(crate) fn is_shown(&self) -> bool {
        self.taken.is_some()
    }

    /// The shares of remote pages and accesses from this reading to `now`; `None` if there were too few or if a count went backwards.
    pub(crate) fn until(&self, now: &Self) -> Option<Remote> {
        let grown = |before: Option<(u64, u64)>, now: Option<(u64, u64)>| {
            let (before, now) = (before?, now?);
            Some((now.0.checked_sub(before.0)?, now.1.checked_sub(before.1)?))
        };
        let taken =
            grown(self.taken, now.taken).and_then(|(here, there)| share(there, here.saturating_add(there)));
        let touched = grown(self.hints, now.hints).and_then(|(all, here)| share(all.checked_sub(here)?, all));
        let remote = Remote { taken, touched, held: None };
        (remote != Remote::default()).then_some(remote)
    }
}

fn share(part: u64, all: u64) -> Option<f64> {
    (all >= LEAST).then(|| part as f64 / all as f64)
}

/// The share of these processes' pages on nodes where none of their threads last ran. `None` if this process may not read the data, or if
/// the processes use too much memory.
pub(crate) fn held(root: &Root, pids: &[i32], nodes: &[Node]) -> Option<f64> {
    let (mut here, mut there) = (0u64, 0u64);
    for pid in pids.iter().take(MOST_PROCESSES) {
        let resident = root.text(&format!("/proc/{pid}/statm"))?;
        let pages: u64 = resident.split_ascii_whitespace().nth(1)?.parse().ok()?;
        if pages.saturating_mul(PAGE) > MOST_MEMORY {
            return None;
        }
        let tasks = root.list(&format!("/proc/{pid}/task"));
        let cpus = tasks
            .iter()
            .take(MOST_THREADS)
            .filter_map(|tid| Stat::parse(&root.text(&format!("/proc/{pid}/task/{tid}/stat"))?)?.cpu);
        let home = |cpu: u32| nodes.iter().find(|node| node.cpus.contains(cpu)).map(|node| node.id);
        let homes: BTreeSet<u32> = cpus.filter_map(home).collect();
        let text = root.bytes(&format!("/proc/{pid}/numa_maps"), MOST_TEXT)?;
        for (node, bytes) in pages_by_node(&String::from_utf8_lossy(&text)) {
            let sum = if homes.contains(&node) { &mut here } else { &mut there };
            *sum = sum.saturating_add(bytes);
        }
    }
    (here.saturating_add(there) >= LEAST * PAGE).then(|| there as f64 / (here as f64 + there as f64))
}

/// The nodes and bytes in all lines such as `N0=12 N1=3 kernelpagesize_kB=4` (Documentation/filesystems/proc.rst).
fn pages_by_node(text: &str) -> Vec<(u32, u64)> {
    let mut all = Vec::new();
    for line in text.lines() {
        let words = || line.split_ascii_whitespace();
        let size = words().find_map(|word| word.strip_prefix("kernelpagesize_kB=")?.parse::<u64>().ok());
        let bytes = size.unwrap_or(PAGE / 1024).saturating_mul(1024);
        all.extend(words().filter_map(|word| {
            let (node, pages) = word.strip_prefix('N')?.split_once('=')?;
            Some((node.parse().ok()?, pages.parse::<u64>().ok()?.saturating_mul(bytes)))
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;
    use proptest::prelude::*;

    fn node(id: u32, cpus: &str) -> Node {
        Node { id, cpus: cpus.parse().unwrap(), ..Node::default() }
    }

    #[test]
    fn pages_of_other_nodes_are_a_share_of_those_taken() {
        let none = Tree::new();
        let look = |text: &str| Pages::look(text, &none.root(), &[0, 1]);
        let before = look("numa_local 1000\nnuma_other 50\nnuma_hint_faults 10\nnuma_hint_faults_local 10\n");
        let now = look("numa_local 1600\nnuma_other 450\nnuma_hint_faults 210\nnuma_hint_faults_local 60\n");
        let expected = Remote { taken: Some(0.4), touched: Some(0.75), held: None };
        assert_eq!(before.until(&now), Some(expected));
        // Counts that did not change; counts that went backwards; a kernel without nodes.
        assert_eq!((now.until(&now), now.until(&before)), (None, None));
        assert!(!look("pgfault 7\n").is_shown());
        let tree = |other: u64| {
            Tree::new()
                .file("sys/devices/system/node/node0/numastat", "numa_hit 9\nlocal_node 100\nother_node 0\n")
                .file(
                    "sys/devices/system/node/node1/numastat",
                    &format!("local_node 0\nother_node {other}\n"),
                )
        };
        let of = |tree: Tree| Pages::look("", &tree.root(), &[0, 1]);
        assert_eq!(of(tree(0)).until(&of(tree(300))).unwrap().taken, Some(1.0));
    }

    #[test]
    fn a_processs_pages_lie_where_its_threads_are_or_elsewhere() {
        let fields = |cpu: u32| format!("7 (a) b) S {} {cpu} 0 0\n", "0 ".repeat(35).trim_end());
        let tree = |resident: u64| {
            Tree::new()
                .file("proc/7/statm", &format!("9 {resident} 0\n"))
                .file("proc/7/task/7/stat", &fields(1))
                .file(
                    "proc/7/numa_maps",
                    "7f0 default anon=4 N0=300 N1=100 kernelpagesize_kB=4\n7f1 default file=/x N1=1 \
                     kernelpagesize_kB=2048\n",
                )
        };
        let nodes = [node(0, "0-1"), node(1, "2-3")];
        let share = held(&tree(900).root(), &[7], &nodes).unwrap();
        let (here, there) = (300.0 * 4096.0, 100.0 * 4096.0 + 2048.0 * 1024.0);
        assert_eq!(share, there / (here + there));
        assert_eq!(held(&tree(9 << 30).root(), &[7], &nodes), None);
        assert_eq!(held(&Tree::new().root(), &[7], &nodes), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(N[0-9]{0,12}=[0-9]{0,25}| |kernelpagesize_kB=[0-9]{0,25}|numa_local [0-9]{0,25}|\n){0,20}") {
            let _ = pages_by_node(&text);
            let _ = Pages::look(&text, &Tree::new().root(), &[]);
        }
    }
}
