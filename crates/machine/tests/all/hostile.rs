//! Trees with all kinds of invalid files: reading must terminate, the inventory must be consistent, and a note must
//! name the invalid file.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::support::sound::inspect_below;
use crate::support::tree::{Files, Shape};
use machine::Root;
use proptest::prelude::*;
use record::Machine;

const SMALL: Shape = Shape { cpus: 8, nodes: 2, packages: 2, threads: 2 };
const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

/// Inspects the small machine with replaced files.
fn with(changes: &[(&str, &str)]) -> Machine {
    let mut files = SMALL.files();
    for (path, text) in changes {
        files.texts.insert((*path).to_owned(), (*text).to_owned());
    }
    read(&files)
}

fn read(files: &Files) -> Machine {
    let folder = crate::support::temporary();
    files.write(folder.path()).unwrap();
    inspect_below(folder.path()).machine
}

/// The parts of the inventory that describe the machine's shape.
fn shape_of(
    machine: &Machine,
) -> (Vec<record::machine::Cpu>, Vec<record::machine::Cache>, Vec<record::machine::Node>) {
    (machine.cpus.clone(), machine.caches.clone(), machine.nodes.clone())
}

fn noted(machine: &Machine, path: &str) -> bool {
    machine.notes.iter().any(|note| note.value("path") == Some(&format!("/{path}").into()))
}

#[test]
fn the_small_machine_reads_as_it_was_made() {
    let machine = with(&[]);
    assert!(machine.notes.is_empty(), "{:?}", machine.notes);
    let counts = &machine.counts;
    assert_eq!(
        (counts.packages, counts.dies, counts.cores, counts.nodes),
        (Some(2), Some(2), Some(4), Some(2))
    );
    assert_eq!((machine.caches.len(), machine.cpu(1).unwrap().siblings.to_string()), (12, "1,5".to_owned()));
}

#[test]
fn lists_of_a_billion_cpus_are_refused() {
    let sound = shape_of(&with(&[]));
    for absurd in ["0-999999999", "1000000000", "0-65535", "5-2", "-1", "garbage\u{1b}[31m"] {
        let path = format!("{CPU}/present");
        let machine = with(&[(&path, absurd)]);
        assert_eq!(shape_of(&machine), sound, "{absurd:?}");
        assert!(noted(&machine, &path), "{absurd:?}: {:?}", machine.notes);
    }
}

#[test]
fn a_cpu_that_runs_is_present_whatever_the_list_says() {
    let (present, online) = (format!("{CPU}/present"), format!("{CPU}/online"));
    let machine = with(&[(&present, "0")]);
    assert_eq!((machine.counts.cpus_present, machine.counts.cpus_online), (Some(8), Some(8)));
    assert!(noted(&machine, &online), "{:?}", machine.notes);
}

#[test]
fn an_online_list_beyond_the_cpus_is_cut() {
    let path = format!("{CPU}/online");
    let machine = with(&[(&path, "0-3,100-60000")]);
    assert_eq!(machine.counts.cpus_online, Some(4));
    assert!(noted(&machine, &path), "{:?}", machine.notes);
    // No list remains: each CPU reports its own data.
    assert_eq!(with(&[(&path, "100-200")]).counts.cpus_online, Some(8));
}

#[test]
fn siblings_that_contradict_each_other_are_noted_and_split() {
    let list = |cpu: u32| format!("{CPU}/cpu{cpu}/topology/core_cpus_list");
    let machine = with(&[(&list(0), "0-1"), (&list(1), "1-2"), (&list(2), "2,0")]);
    let siblings: Vec<String> = machine.cpus.iter().take(3).map(|cpu| cpu.siblings.to_string()).collect();
    assert_eq!(siblings, ["0-1", "0-1", "2"]);
    assert!(noted(&machine, &list(1)), "{:?}", machine.notes);

    // Every CPU lists all others, but not itself.
    let machine = with(&[(&list(0), "1-7"), (&list(1), "0-60000")]);
    assert_eq!(machine.counts.cores, Some(1));
    assert!(noted(&machine, &list(0)), "{:?}", machine.notes);
}

#[test]
fn a_core_across_packages_is_noted() {
    let list = |cpu: u32| format!("{CPU}/cpu{cpu}/topology/core_cpus_list");
    let machine = with(&[(&list(0), "0,2"), (&list(2), "0,2"), (&list(4), "4"), (&list(6), "6")]);
    assert!(noted(&machine, &format!("{CPU}/cpu0/topology")), "{:?}", machine.notes);
}

#[test]
fn absurd_caches_lose_their_figure_or_are_left_out() {
    let file = |cpu: u32, name: &str| format!("{CPU}/cpu{cpu}/cache/index3/{name}");
    for absurd in ["99999999999999K", "-32768K", "lots", ""] {
        let machine = with(&[(&file(0, "size"), absurd)]);
        assert_eq!(machine.data_cache_of(0, 3).unwrap().bytes, None, "{absurd:?}");
        assert!(noted(&machine, &file(0, "size")), "{absurd:?}: {:?}", machine.notes);
    }
    // The next CPU that shares the cache has the data.
    let machine = with(&[(&file(0, "level"), "4294967295")]);
    assert_eq!(machine.data_cache_of(0, 3).unwrap().cpus.to_string(), "0-1,4-5");
    assert!(noted(&machine, &file(0, "level")), "{:?}", machine.notes);
    // A cache that also lists another node's CPUs.
    let machine = with(&[(&file(0, "shared_cpu_list"), "0-7"), (&file(0, "shared_cpu_map"), "ff")]);
    assert_eq!(machine.data_caches(3).count(), 1);
}

#[test]
fn a_row_of_distances_of_another_length_is_left_out() {
    let path = format!("{NODE}/node1/distance");
    for row in ["10", "21 10 21", "21 x", "-1 10", "21 99999999999"] {
        let machine = with(&[(&path, row)]);
        assert_eq!((machine.nodes[0].distances.len(), machine.nodes[1].distances.len()), (2, 0), "{row:?}");
        assert!(noted(&machine, &path), "{row:?}: {:?}", machine.notes);
    }
}

#[test]
fn a_node_list_that_goes_beyond_the_nodes_is_cut() {
    let path = format!("{NODE}/online");
    for list in ["0-999999999", "0-60000", "x"] {
        let machine = with(&[(&path, list)]);
        assert_eq!(machine.counts.nodes, Some(2), "{list:?}");
        assert!(noted(&machine, &path), "{list:?}: {:?}", machine.notes);
    }
}

#[test]
fn a_cpu_on_two_nodes_stays_on_the_first() {
    let path = format!("{NODE}/node1/cpulist");
    let machine = with(&[(&path, "0-7")]);
    assert_eq!(machine.cpu(0).unwrap().node, Some(0));
    assert!(noted(&machine, &path), "{:?}", machine.notes);
}

#[test]
fn control_characters_in_files_do_not_reach_a_note() {
    let garbage = "\u{1b}]0;title\u{7}\u{1b}[2J";
    let mut files = SMALL.files();
    for text in files.texts.values_mut() {
        *text = garbage.to_owned();
    }
    // The check of the notes is one of the checks that every inventory must pass.
    assert!(!read(&files).notes.is_empty());
}

#[test]
fn a_tree_of_empty_files_is_read() {
    let mut files = SMALL.files();
    files.texts.values_mut().for_each(String::clear);
    let machine = read(&files);
    assert_eq!(machine.counts.cpus_present, Some(8), "the folders still tell the CPUs");
}

#[test]
fn folders_in_place_of_files_are_no_trouble() {
    let folder = crate::support::temporary();
    for path in SMALL.files().texts.keys() {
        fs::create_dir_all(folder.path().join(path)).unwrap();
    }
    let machine = inspect_below(folder.path()).machine;
    assert_eq!(machine.counts.cores, None);
}

#[test]
fn without_topology_cpuinfo_tells_cores_and_without_both_the_coverage_says_so() {
    let mut files = SMALL.files();
    files.texts.retain(|path, _| !path.contains("/topology/"));
    let folder = crate::support::temporary();
    files.write(folder.path()).unwrap();
    let inspection = inspect_below(folder.path());
    let covered = |inspection: &machine::Inspection, what: &str| {
        inspection.coverage.iter().find(|entry| entry.what == what).map(|entry| entry.state)
    };
    assert_eq!((inspection.machine.counts.cores, inspection.machine.counts.packages), (Some(4), Some(2)));
    assert_eq!(covered(&inspection, "topology"), Some(record::State::Degraded));

    fs::remove_file(folder.path().join("proc/cpuinfo")).unwrap();
    let inspection = inspect_below(folder.path());
    assert_eq!(inspection.machine.counts.cores, None);
    assert_eq!(covered(&inspection, "topology"), Some(record::State::Impossible));
}

#[test]
fn without_caches_the_coverage_says_so() {
    let mut files = SMALL.files();
    files.texts.retain(|path, _| !path.contains("/cache/"));
    let folder = crate::support::temporary();
    files.write(folder.path()).unwrap();
    let inspection = inspect_below(folder.path());
    assert!(inspection.machine.caches.is_empty());
    assert!(inspection.coverage.iter().any(|entry| entry.what == "caches" && entry.remedy.is_some()));
}

#[test]
fn without_sysfs_procfs_tells_the_cpus() {
    let mut files = SMALL.files();
    files.texts.retain(|path, _| path.starts_with("proc/"));
    files.links.clear();
    let machine = read(&files);
    assert_eq!(
        (machine.counts.cpus_online, machine.counts.cores, machine.counts.nodes),
        (Some(8), Some(4), Some(1))
    );
    assert_eq!(machine.nodes[0].bytes, machine.memory_bytes);
    assert!(machine.memory_bytes.is_some());
}

/// One way to spoil a file.
#[derive(Clone, Debug)]
enum Spoil {
    Delete,
    Text(String),
    Bytes(Vec<u8>),
    Folder,
    Pipe,
    Link(String),
    /// The contents of another file of the tree.
    OfOther(prop::sample::Index),
}

fn spoil() -> impl Strategy<Value = Spoil> {
    const ABSURD: &[&str] = &[
        "",
        "-1",
        "4294967296",
        "18446744073709551616",
        "0-999999999",
        "0-65535",
        "5-2",
        "0x",
        "65535",
        "0",
    ];
    const LINKS: &[&str] =
        &[".", "..", "/", "/proc/self/environ", "loop", "../../../../../../../../../etc/passwd", "/dev/zero"];
    prop_oneof![
        Just(Spoil::Delete),
        prop::sample::select(ABSURD).prop_map(|text| Spoil::Text(text.to_owned())),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(Spoil::Bytes),
        proptest::collection::vec(0u32..12, 0..6)
            .prop_map(|cpus| Spoil::Text(cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(","))),
        Just(Spoil::Folder),
        Just(Spoil::Pipe),
        prop::sample::select(LINKS).prop_map(|target| Spoil::Link(target.to_owned())),
        any::<prop::sample::Index>().prop_map(Spoil::OfOther),
    ]
}

fn apply(folder: &Path, path: &str, spoil: &Spoil, files: &Files) {
    let target = folder.join(path);
    // An earlier corruption may already occupy the path.
    let _ = fs::remove_file(&target);
    let _ = fs::remove_dir(&target);
    match spoil {
        Spoil::Delete => {}
        Spoil::Text(text) => fs::write(target, text).unwrap(),
        Spoil::Bytes(bytes) => fs::write(target, bytes).unwrap(),
        Spoil::Folder => fs::create_dir(target).unwrap(),
        Spoil::Pipe => assert!(Command::new("mkfifo").arg(target).status().unwrap().success()),
        Spoil::Link(to) => symlink(to, target).unwrap(),
        Spoil::OfOther(index) => {
            let other = index.get(&files.texts.values().collect::<Vec<_>>()).to_owned().clone();
            fs::write(target, other).unwrap();
        }
    }
}

proptest! {
    // Each case writes and reads a tree of some hundred files, which takes seconds under emulation.
    #![proptest_config(ProptestConfig {
        cases: if cfg!(target_arch = "x86_64") { 48 } else { 8 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn however_a_tree_is_spoiled_it_is_read_without_contradiction(
        spoils in proptest::collection::vec((any::<prop::sample::Index>(), spoil()), 1..120),
    ) {
        let files = SMALL.files();
        let folder = crate::support::temporary();
        files.write(folder.path()).unwrap();
        let paths: Vec<&str> = files.texts.keys().map(String::as_str).collect();
        for (index, spoil) in &spoils {
            apply(folder.path(), index.get::<&str>(&paths), spoil, &files);
        }
        let inspection = inspect_below(folder.path());
        prop_assert!((1..=8).contains(&inspection.machine.cpus.len()), "the folders still tell the CPUs");
        // Reading again yields the same result.
        let again = machine::inspect(&Root::captured(folder.path()).unwrap()).machine;
        prop_assert_eq!(inspection.machine, again);
    }
}
