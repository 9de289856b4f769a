use crate::tools::testing::import;

#[test]
fn the_shells_cpus_and_nodes_are_read_in_both_forms() {
    for cpus in ["0 1 2 3 4 5 6 7 ", "0-7 "] {
        let text = format!(
            "policy: default\npreferred node: current\nphyscpubind: {cpus}\ncpubind: 0 1 \nnodebind: 0 1 \nmembind: 0 1 \npreferred: \n"
        );
        let imported = import(&text);
        let limits = &imported.machine.limits;
        assert_eq!(
            (limits.affinity.to_string(), limits.memory_nodes.to_string()),
            ("0-7".into(), "0-1".into())
        );
        assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    }
    let wrapped = import("policy: default\nphyscpubind: 0 1 2 3\n4 5 6 7\nmembind: 0\n");
    assert!(wrapped.machine.limits.affinity.is_empty(), "a truncated list is not complete");
    assert_eq!(wrapped.import.withheld.len(), 1);
}
