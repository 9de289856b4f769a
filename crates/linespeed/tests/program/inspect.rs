//! The inventory: of this machine, of captured machines, and of trees that are none.

use std::path::Path;

use crate::support::{Ran, folder, machines, ran};

fn inspect(root: &Path, more: &[&str]) -> Ran {
    let args = ["inspect".as_ref(), "--root".as_ref(), root.as_os_str()];
    ran(args.into_iter().chain(more.iter().map(|arg| arg.as_ref())))
}

#[test]
fn this_machine_is_described() {
    let record = ran(["inspect", "--json"]).succeeds().record();
    assert!(record.machine.counts.cpus_online >= Some(1) && !record.machine.allowed_cpus().is_empty());
    assert!(
        record.measurements.is_empty() && record.machine.memory_bytes.is_some_and(|bytes| bytes > 64 << 20)
    );
    let text = ran(["inspect"]).succeeds().stdout;
    assert!(text.lines().count() > 10, "{text}");
    let tree = ran(["inspect", "--tree"]).succeeds().stdout;
    assert!(tree.to_lowercase().contains("package"), "{tree}");
}

#[test]
fn captured_machines_come_out_as_they_are() {
    // Packages, cores, CPUs online, nodes: as hwloc reads them.
    for (name, packages, cores, cpus, nodes) in [
        ("128arm-2pa2n8cluster4co", 2, 128, 128, 4),
        ("16amd64-8n2c", 8, 16, 16, 8),
        ("16em64t-4s2c2t-offlines", 4, 7, 12, 1),
        ("20em64t-hybrid-1p6c2t+2ca4co1t", 1, 14, 20, 1),
    ] {
        let folder = folder();
        let root = machines::unpack(name, folder.path());
        let counts = inspect(&root, &["--json"]).succeeds().record().machine.counts;
        let got = [counts.packages, counts.cores, counts.cpus_online, counts.nodes];
        assert_eq!(got, [packages, cores, cpus, nodes].map(Some), "{name}");
        for more in [&[][..], &["--tree"], &["--color", "always"]] {
            assert!(inspect(&root, more).succeeds().stdout.lines().count() > 3, "{name} {more:?}");
        }
    }
}

#[test]
fn a_captured_machine_has_nothing_of_this_one() {
    let folder = folder();
    machines::write(
        folder.path(),
        &[("sys/devices/system/cpu/online", "0\n"), ("sys/devices/system/cpu/cpu0/online", "1\n")],
    );
    let record = inspect(folder.path(), &["--json"]).succeeds().record();
    assert_eq!(record.machine.counts.cpus_online, Some(1));
    assert_eq!((record.machine.hostname, record.machine.memory_bytes), (None, None));
    assert!(record.machine.processor.features.is_empty(), "CPUID of this machine");
}

#[test]
fn a_root_that_is_no_tree_is_named() {
    let folder = folder();
    let file = folder.path().join("tree.tar.bz2");
    std::fs::write(&file, "BZh9").unwrap();
    inspect(Path::new("/nonexistent/tree"), &[]).fails(3, &["/nonexistent/tree"]);
    inspect(&file, &[]).fails(3, &["tree.tar.bz2", "directory"]);
    inspect(&folder.path().join("tree.tar.bz2/x"), &[]).fails(3, &["tree.tar.bz2/x"]);
    inspect(folder.path(), &["--json"]).fails(3, &["sys"]);
}

#[test]
fn a_tree_with_nothing_in_it_says_what_is_missing() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("sys")).unwrap();
    let record = inspect(folder.path(), &["--json"]).succeeds().record();
    assert!(!record.coverage.is_empty(), "an empty tree without a word");
    inspect(folder.path(), &[]).succeeds();
    inspect(folder.path(), &["--tree"]).succeeds();
}

#[test]
fn garbage_and_absurd_numbers_neither_stop_it_nor_reach_the_terminal() {
    const CPU: &str = "sys/devices/system/cpu";
    let evil = "\u{1b}[2J\u{1b}]0;x\u{7}<script>\u{0}\u{9b}31m";
    let files: Vec<(String, String)> = vec![
        (format!("{CPU}/online"), "0-999999999,4294967295-\n".to_owned()),
        (format!("{CPU}/present"), "-5\n".to_owned()),
        (format!("{CPU}/cpu0/topology/core_id"), "-1\n".to_owned()),
        (format!("{CPU}/cpu0/topology/thread_siblings_list"), "1\n".to_owned()),
        (format!("{CPU}/cpu1/topology/thread_siblings_list"), "0\n".to_owned()),
        (format!("{CPU}/cpu0/cache/index0/size"), "-32K\n".to_owned()),
        (format!("{CPU}/cpu0/cache/index0/level"), "99999999999999999999\n".to_owned()),
        (format!("{CPU}/cpu0/cache/index0/shared_cpu_list"), "0-4000000000\n".to_owned()),
        (format!("{CPU}/cpu1000000000/online"), "1\n".to_owned()),
        (
            "sys/devices/system/node/node0/meminfo".to_owned(),
            "Node 0 MemTotal: 99999999999999999999 kB".to_owned(),
        ),
        ("sys/devices/system/node/node0/distance".to_owned(), "10 -3 1e9".to_owned()),
        ("sys/class/dmi/id/product_name".to_owned(), evil.to_owned()),
        ("proc/cpuinfo".to_owned(), format!("model name\t: {evil}\nprocessor\t: {evil}\n")),
        ("proc/version".to_owned(), evil.repeat(1000)),
        ("proc/sys/kernel/hostname".to_owned(), evil.to_owned()),
        ("proc/cmdline".to_owned(), format!("isolcpus=0-999999999 {evil}")),
        ("proc/meminfo".to_owned(), "MemTotal: -1 kB\nMemAvailable: kB".to_owned()),
        ("sys/firmware/dmi/tables/DMI".to_owned(), "\u{11}\u{22}garbage".to_owned()),
    ];
    let folder = folder();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    machines::write(folder.path(), &files);
    inspect(folder.path(), &["--json"]).succeeds().record();
    for more in [&[][..], &["--tree"]] {
        let text = inspect(folder.path(), more).succeeds().stdout;
        let bad = text.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(bad, None, "{text:?}");
    }
}
