//! Properties of every inventory, regardless of errors in the tree from which it was read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use machine::{Inspection, Root, inspect};
use record::machine::{CacheKind, Cpu};
use record::{CpuList, Machine};

/// Maximum time for reading, far longer than any of these trees needs: a longer reading is blocked.
const PATIENCE: Duration = Duration::from_secs(60);

/// Inspects the tree below `folder`, which must neither hang nor panic, and checks the result.
pub fn inspect_below(folder: &Path) -> Inspection {
    let root = Root::captured(folder).unwrap();
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        // After the timeout, the receiver no longer exists.
        let _ = send.send(inspect(&root));
    });
    let inspection = match receive.recv_timeout(PATIENCE) {
        Ok(inspection) => inspection,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the inspection hangs"),
        Err(mpsc::RecvTimeoutError::Disconnected) => panic!("the inspection panicked"),
    };
    check(&inspection.machine);
    inspection
}

/// Checks an inventory for internal contradictions.
pub fn check(machine: &Machine) {
    let online: CpuList = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    assert!(machine.cpus.windows(2).all(|pair| pair[0].id < pair[1].id), "CPUs are in order, each once");
    for cpu in &machine.cpus {
        assert!(
            cpu.online || (cpu.core, cpu.package, cpu.die, cpu.cluster) == (None, None, None, None),
            "{cpu:?}"
        );
        assert!(cpu.online || !cpu.allowed, "{cpu:?} is allowed but offline");
        assert_eq!(cpu.core.is_some(), cpu.siblings.contains(cpu.id), "{cpu:?}: in its own core");
        for sibling in &cpu.siblings {
            let other = machine.cpu(sibling).unwrap();
            assert_eq!((other.core, &other.siblings), (cpu.core, &cpu.siblings), "{cpu:?} against {other:?}");
        }
    }
    let counts = &machine.counts;
    assert_eq!(counts.cpus_present.unwrap_or(0) as usize, machine.cpus.len());
    assert_eq!(counts.cpus_online.unwrap_or(0) as usize, online.len());
    assert_eq!(counts.nodes.unwrap_or(0) as usize, machine.nodes.len());
    dense(machine, counts.packages, |cpu| cpu.package);
    dense(machine, counts.dies, |cpu| cpu.die);
    dense(machine, counts.clusters, |cpu| cpu.cluster);
    dense(machine, counts.cores, |cpu| cpu.core);

    let mut cached: BTreeMap<(u32, CacheKind), CpuList> = BTreeMap::new();
    for cache in &machine.caches {
        assert!(!cache.cpus.is_empty() && cache.cpus.is_subset(&online), "{cache:?}");
        assert!(cache.bytes.is_none_or(|bytes| (1..=1 << 40).contains(&bytes)), "{cache:?}");
        let before = cached.entry((cache.level, cache.kind)).or_default();
        assert!(before.intersection(&cache.cpus).is_empty(), "{cache:?}: a CPU has two");
        *before = before.union(&cache.cpus);
    }
    assert!(machine.nodes.windows(2).all(|pair| pair[0].id < pair[1].id), "nodes are in order, each once");
    let mut placed = CpuList::new();
    for node in &machine.nodes {
        assert!(node.cpus.is_subset(&online) && placed.intersection(&node.cpus).is_empty(), "{node:?}");
        assert!(node.distances.is_empty() || node.distances.len() == machine.nodes.len(), "{node:?}");
        placed = placed.union(&node.cpus);
        for cpu in &node.cpus {
            assert_eq!(machine.cpu(cpu).unwrap().node, Some(node.id));
        }
    }
    assert!(
        machine.notes.iter().all(|note| !note.to_string().chars().any(char::is_control)),
        "{:?}",
        machine.notes
    );
    assert!(machine.notes.len() < 60, "notes without end: {:?}", machine.notes);
}

/// Checks that numbers start at 0, have no gaps, and match the count. If an online CPU has no number, there must be no
/// count.
fn dense(machine: &Machine, count: Option<u32>, number: impl Fn(&Cpu) -> Option<u32>) {
    let numbers: BTreeSet<u32> = machine.cpus.iter().filter_map(&number).collect();
    assert_eq!(numbers, (0..numbers.len() as u32).collect());
    let is_known = machine.cpus.iter().all(|cpu| !cpu.online || number(cpu).is_some());
    assert_eq!(count.unwrap_or(0), if is_known { numbers.len() as u32 } else { 0 });
}
