//! Tests memory controllers in a synthetic `/sys`, with changing counts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::*;

/// Creates a tree of units, given their names and files.
fn tree(units: &[(&str, &[(&str, &str)])]) -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("proc")).unwrap();
    for (kind, (unit, files)) in units.iter().enumerate() {
        let kind = (10 + kind).to_string();
        for (file, text) in files.iter().copied().chain([("type", kind.as_str())]) {
            let path = folder.path().join(DEVICES.trim_start_matches('/')).join(unit).join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }
    let root = Root::captured(folder.path()).unwrap();
    (folder, root)
}

type Words = Arc<Mutex<BTreeMap<(u64, u32), Option<[u64; 3]>>>>;

/// A machine whose event counts are set by the test, by `config` word and CPU.
#[derive(Default)]
struct Made {
    words: Words,
    opened: Vec<(Code, u32)>,
    refuses: Option<(u64, i32)>,
}

impl Made {
    fn open_in(&mut self, root: &Root) -> Result<Uncore, Unavailable> {
        Uncore::open_by(root, &mut |code, cpu| self.open(code, cpu))
    }

    fn open(&mut self, code: Code, cpu: u32) -> io::Result<Event> {
        if let Some((_, errno)) = self.refuses.filter(|(config, _)| *config == code.config) {
            return Err(io::Error::from_raw_os_error(errno));
        }
        self.opened.push((code, cpu));
        let (words, key) = (Arc::clone(&self.words), (code.config, cpu));
        Ok(Box::new(move || words.lock().unwrap().get(&key).copied().unwrap_or(Some([0, 0, 0]))))
    }

    fn set(&self, config: u64, cpu: u32, words: [u64; 3]) {
        self.words.lock().unwrap().insert((config, cpu), Some(words));
    }
}

const INTEL: &[(&str, &str)] = &[
    ("cpumask", "0,28\n"),
    ("format/event", "config:0-7"),
    ("format/umask", "config:8-15"),
    ("events/cas_count_read", "event=0x04,umask=0x03"),
    ("events/cas_count_write", "event=0x04,umask=0x0c"),
];

#[test]
fn each_event_is_opened_once_on_each_package_and_counts_64_bytes() {
    let (_folder, root) = tree(&[("uncore_imc_0", INTEL), ("uncore_cha_0", INTEL)]);
    let mut made = Made::default();
    let uncore = made.open_in(&root).unwrap();
    assert_eq!((uncore.source(), uncore.is_doubtful()), ("uncore_imc", false));
    assert_eq!(
        made.opened.iter().map(|(code, cpu)| (code.config, *cpu)).collect::<Vec<_>>(),
        [(0x304, 0), (0x304, 28), (0xc04, 0), (0xc04, 28)]
    );
    for cpu in [0, 28] {
        made.set(0x304, cpu, [1000, 100, 100]);
        made.set(0xc04, cpu, [500, 100, 100]);
    }
    let before = uncore.read();
    made.set(0x304, 0, [3000, 200, 200]);
    // The event was active on a counter half of the time.
    made.set(0x304, 28, [2000, 200, 150]);
    made.set(0xc04, 0, [1500, 200, 200]);
    made.set(0xc04, 28, [500, 200, 200]);
    let traffic = uncore.between(&before, &uncore.read(), 2.0).unwrap();
    assert_eq!(traffic.read, Some((2000.0 + 2.0 * 1000.0) * 64.0 / 2.0));
    assert_eq!(traffic.written, Some(1000.0 * 64.0 / 2.0));
    assert_eq!(traffic.bytes_per_second, traffic.read.unwrap() + traffic.written.unwrap());
}

#[test]
fn what_stands_still_goes_backwards_or_has_no_turn_is_no_figure() {
    let (_folder, root) = tree(&[("uncore_imc_0", INTEL)]);
    let made_at = |read: [u64; 3]| {
        let mut made = Made::default();
        let uncore = made.open_in(&root).unwrap();
        for (config, cpu) in [(0x304, 0), (0x304, 28), (0xc04, 0), (0xc04, 28)] {
            made.set(config, cpu, [1000, 100, 100]);
        }
        let before = uncore.read();
        for (config, cpu) in [(0x304, 28), (0xc04, 0), (0xc04, 28)] {
            made.set(config, cpu, [1000, 200, 200]);
        }
        made.set(0x304, 0, read);
        uncore.between(&before, &uncore.read(), 1.0)
    };
    assert_eq!(made_at([1001, 200, 200]).unwrap().bytes_per_second, 64.0);
    for none in [[1000, 200, 200], [999, 200, 200], [2000, 200, 100], [2000, 50, 50], [u64::MAX, 200, 200]] {
        assert_eq!(made_at(none), None, "{none:?}");
    }
    let (_folder, root) = tree(&[("uncore_imc_0", INTEL)]);
    let made = Made::default();
    let uncore = Made { words: Arc::clone(&made.words), ..Made::default() }.open_in(&root).unwrap();
    made.words.lock().unwrap().insert((0x304, 28), None);
    assert_eq!(uncore.between(&uncore.read(), &uncore.read(), 1.0), None);
}

#[test]
fn free_running_counters_go_first_where_they_count_bytes() {
    let free: &[(&str, &str)] = &[
        ("cpumask", "0\n"),
        ("format/event", "config:0-7"),
        ("format/umask", "config:8-15"),
        ("events/read", "event=0xff,umask=0x20"),
        ("events/write", "event=0xff,umask=0x21"),
    ];
    let (_folder, root) = tree(&[("uncore_imc_0", INTEL), ("uncore_imc_free_running_0", free)]);
    let mut made = Made::default();
    assert_eq!(made.open_in(&root).unwrap().source(), "uncore_imc_free_running");
    assert_eq!(made.opened.iter().map(|(code, _)| code.config).collect::<Vec<_>>(), [0x20ff, 0x21ff]);
    // Sapphire Rapids: the same encodings count queue cycles, under other names.
    let queues: &[(&str, &str)] =
        &[("cpumask", "0\n"), ("format/event", "config:0-7"), ("events/rpq_cycles", "event=0xff")];
    let (_folder, root) = tree(&[("uncore_imc_0", INTEL), ("uncore_imc_free_running_0", queues)]);
    assert_eq!(Made::default().open_in(&root).unwrap().source(), "uncore_imc");
}

#[test]
fn amds_controllers_tell_the_buss_share_too() {
    let umc: &[(&str, &str)] =
        &[("cpumask", "0\n"), ("format/event", "config:0-7"), ("format/rdwrmask", "config:8-9")];
    let (_folder, root) = tree(&[("amd_umc_0", umc)]);
    let mut made = Made::default();
    let uncore = made.open_in(&root).unwrap();
    let before = uncore.read();
    for (config, count) in [(0x10a, 100), (0x20a, 50), (0x14, 300), (0x00, 200)] {
        made.set(config, 0, [count, 10, 10]);
    }
    let traffic = uncore.between(&before, &uncore.read(), 1.0).unwrap();
    assert_eq!((traffic.bytes_per_second, traffic.bus), (150.0 * 64.0, Some(0.75)));
    // If the counters of the bus are missing, the rest is unchanged.
    let mut made = Made { refuses: Some((0x14, libc::EINVAL)), ..Made::default() };
    let uncore = made.open_in(&root).unwrap();
    made.set(0x10a, 0, [1, 10, 10]);
    made.set(0x20a, 0, [1, 10, 10]);
    let traffic = uncore.between(&Carried(vec![Some([0; 3]); 3]), &uncore.read(), 1.0).unwrap();
    assert_eq!((traffic.bytes_per_second, traffic.bus), (128.0, None));
}

#[test]
fn arms_controllers_count_by_their_own_names() {
    let event: (&str, &str) = ("format/event", "config:0-7");
    let hip08: &[(&str, &str)] =
        &[("cpumask", "0\n"), event, ("events/flux_wr", "config=0x0"), ("events/flux_rd", "config=0x1")];
    let hip09: &[(&str, &str)] =
        &[("cpumask", "0\n"), event, ("events/flux_wr", "event=0x83"), ("events/flux_rd", "event=0x84")];
    let yitian: &[(&str, &str)] = &[
        ("cpumask", "0\n"),
        event,
        ("events/hif_rd", "config=0x2"),
        ("events/hif_wr", "config=0x1"),
        ("events/hif_rmw", "config=0x3"),
    ];
    let grace: &[(&str, &str)] = &[
        ("cpumask", "0\n"),
        ("format/event", "config:0-63"),
        ("events/cmem_rd_data", "event=0x1a5"),
        ("events/cmem_wr_total_bytes", "event=0x1db"),
    ];
    for (unit, files, codes, bytes) in [
        ("hisi_sccl1_ddrc0", hip08, vec![1, 0], 64.0),
        ("hisi_sccl3_ddrc0_1", hip09, vec![0x84, 0x83], 64.0),
        ("ali_drw_21000", yitian, vec![2, 1, 3], 192.0),
        ("nvidia_scf_pmu_0", grace, vec![0x1a5, 0x1db], 33.0),
    ] {
        let (_folder, root) = tree(&[(unit, files)]);
        let mut made = Made::default();
        let uncore = made.open_in(&root).unwrap();
        assert_eq!(made.opened.iter().map(|(code, _)| code.config).collect::<Vec<_>>(), codes, "{unit}");
        let before = uncore.read();
        codes.iter().for_each(|code| made.set(*code, 0, [1, 10, 10]));
        assert_eq!(uncore.between(&before, &uncore.read(), 1.0).unwrap().bytes_per_second, bytes, "{unit}");
    }
}

#[test]
fn a_fabrics_counters_are_doubtful_and_what_is_refused_says_why() {
    let fabric: &[(&str, &str)] =
        &[("cpumask", "0\n"), ("format/event", "config:0-7,32-35"), ("format/umask", "config:8-15")];
    let (_folder, root) = tree(&[("amd_df", fabric)]);
    let mut made = Made::default();
    let uncore = made.open_in(&root).unwrap();
    assert_eq!((uncore.is_doubtful(), made.opened.len()), (true, 8));
    assert_eq!(made.opened[4].0.config, 0x1_0000_3807);
    let none = made.open_in(&tree(&[]).1).unwrap_err();
    assert_eq!(none.reason.code(), Some("uncore-none"));
    let (_folder, root) = tree(&[("uncore_imc_0", INTEL)]);
    for (errno, code) in [(libc::EINVAL, "uncore-refused"), (libc::EBUSY, "uncore-refused")] {
        let mut made = Made { refuses: Some((0xc04, errno)), ..Made::default() };
        assert_eq!(made.open_in(&root).unwrap_err().reason.code(), Some(code));
    }
    let mut made = Made { refuses: Some((0x304, libc::EACCES)), ..Made::default() };
    assert_ne!(made.open_in(&root).unwrap_err().reason.code(), Some("uncore-refused"));
}

#[test]
fn more_controllers_than_are_opened_are_no_figure() {
    let all = [("cpumask", "0-255\n"), INTEL[1], INTEL[2], INTEL[3], INTEL[4]];
    let (_folder, root) = tree(&[("uncore_imc_0", &all)]);
    let mut made = Made::default();
    assert!(made.open_in(&root).is_ok() && made.opened.len() == MOST);
    let (_folder, root) = tree(&[("uncore_imc_0", &all), ("uncore_imc_1", INTEL)]);
    let refused = Made::default().open_in(&root).unwrap_err();
    assert_eq!(refused.reason.code(), Some("uncore-too-many"));
}

proptest! {
    #[test]
    fn no_name_or_file_of_a_unit_brings_it_down(name in "(uncore_imc_|amd_umc_|hisi_sccl|ali_drw_)[0-9a-f_x]{0,9}(_ddrc0)?",
        mask in "[-0-9,]{0,12}", event in ".{0,20}") {
        let files = [("cpumask", mask.as_str()), ("events/read", &event), ("events/cas_count_read", &event),
            ("events/cas_count_write", &event), ("format/event", &event)];
        let (_folder, root) = tree(&[(&name, &files)]);
        let _ = Made::default().open_in(&root);
    }
}

#[test]
fn the_table_of_controllers_is_read() {
    let sources: Vec<&str> = FAMILIES.iter().map(|family| family.source).collect();
    assert!(sources.contains(&"uncore_imc") && sources.contains(&"amd_umc"), "{sources:?}");
    assert!(FAMILIES.iter().all(|family| !family.events.is_empty()), "{FAMILIES:?}");
}
