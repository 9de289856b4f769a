use proptest::prelude::*;

use crate::tools::testing::{damaged, import};

const KUNPENG: &str = include_str!("../../../tests/texts/lscpu-numactl-kunpeng.txt");
const PHYTIUM: &str = include_str!("../../../tests/texts/lscpu-distances-ft2500.txt");

#[test]
fn nodes_memory_and_distances_are_read_and_lscpus_one_node_is_contradicted() {
    let imported = import(KUNPENG);
    let machine = &imported.machine;
    assert_eq!((machine.counts.nodes, machine.nodes.len()), (Some(4), 4));
    assert_eq!(machine.nodes[3].distances, [22, 24, 12, 10]);
    assert_eq!(
        (machine.nodes[0].bytes, machine.nodes[0].free_bytes),
        (Some(192_832 << 20), Some(187_693 << 20))
    );
    assert_eq!(machine.cpus[95].node, Some(3));
    let contradiction = &imported.import.contradictions[0];
    assert_eq!(contradiction.says, "lscpu shows 1 NUMA node, numactl shows 4; the record uses numactl");
    assert_eq!(contradiction.origins.iter().map(|origin| origin.line).collect::<Vec<_>>(), [9, 22]);
    // With one thread per core, each CPU is a core.
    assert_eq!(machine.cpus[5].core, Some(5));
    assert_eq!(machine.processor.firmware_name.as_deref(), Some("Kunpeng 920-4826"));
}

#[test]
fn a_table_of_distances_alone_belongs_to_the_nodes_that_lscpu_tells() {
    let imported = import(PHYTIUM);
    assert_eq!((imported.machine.counts.cores, imported.machine.nodes.len()), (Some(128), 16));
    assert_eq!(imported.machine.nodes[0].distances[8], 100);
    assert_eq!(imported.machine.nodes[15].cpus.to_string(), "120-127");
}

#[test]
fn lines_that_a_mail_broke_are_joined() {
    let text = "> available: 2 nodes (0-1)\n> node 0 cpus: 0 1 2\n> 3 4\n> node 0 size: 100 MB\n> node 1 cpus:\n> node 1 size: 50 MB\n> node distances:\n> node   0   1\n>   0:  10  21\n>   1:  21  10\n";
    let machine = import(text).machine;
    assert_eq!(machine.nodes[0].cpus.to_string(), "0-4");
    assert!(machine.nodes[1].cpus.is_empty());
    assert_eq!(
        (machine.nodes[0].distances.as_slice(), machine.nodes[1].distances.as_slice()),
        (&[10, 21][..], &[21, 10][..])
    );
}

#[test]
fn ranges_of_cpus_are_those_that_are_listed_one_by_one() {
    let text = "available: 2 nodes (0-1)\nnode 0 cpus: 0-15 32-47\nnode 0 size: 128797 MB\nnode 0 free: 3121 MB\nnode 1 cpus: 16-31\n48-63\nnode 1 size: 129019 MB\nnode 1 free: 61770 MB\nnode distances:\nnode   0   1\n  0:  10  21\n  1:  21  10\n";
    let imported = import(text);
    let nodes = &imported.machine.nodes;
    assert_eq!(
        nodes.iter().map(|node| node.cpus.to_string()).collect::<Vec<_>>(),
        ["0-15,32-47", "16-31,48-63"]
    );
    assert_eq!((nodes[1].bytes, nodes[1].distances.as_slice()), (Some(129_019 << 20), &[21, 10][..]));
    assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    // An unreadable list is reported.
    let imported = import("available: 1 nodes (0)\nnode 0 cpus: 0-x\nnode 0 size: 1 MB\n");
    assert_eq!((imported.machine.nodes[0].cpus.len(), imported.import.withheld.len()), (0, 1));
}

#[test]
fn a_table_with_rows_missing_is_withheld() {
    let imported = import(
        "available: 2 nodes (0-1)\nnode 0 cpus: 0\nnode 1 cpus: 1\nnode distances:\nnode   0   1\n  0:  10  21\n",
    );
    assert!(imported.machine.nodes.iter().all(|node| node.distances.is_empty()));
    assert!(imported.import.withheld[0].why.contains("not square"));
}

proptest! {
    #[test]
    fn damaged_outputs_never_panic(at: usize, cut in 0usize..200, with in "\\PC{0,20}") {
        import(&damaged(KUNPENG, at, cut, &with));
        import(&damaged(PHYTIUM, at, cut, &with));
    }
}
