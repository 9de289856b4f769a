//! Tests top-down analysis on synthetic trees of each vendor's machines, based on files published in the kernel
//! sources.

use super::*;
use crate::counters::reading::{Row, Tally};

/// A tree with the files of one unit, and its root.
fn tree(unit: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    add(&folder, unit, files);
    let root = Root::captured(folder.path()).unwrap();
    (folder, root)
}

fn add(folder: &tempfile::TempDir, unit: &str, files: &[(&str, &str)]) {
    let base = folder.path().join("sys/bus/event_source/devices").join(unit);
    for (name, text) in files {
        let path = base.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }
}

fn plan(root: &Root, identity: Identity) -> Option<Plan> {
    make_plan(root, &pmu::core_units(root).unwrap(), identity)
}

fn row(event: &'static str, raw: u64, running: u64) -> Row {
    Row { event, raw, enabled: 1_000, running, user_only: false }
}

fn reading(rows: &[(&'static str, u64)]) -> Reading {
    let mut tally = Tally::default();
    for (event, raw) in rows {
        tally.add(row(event, *raw, 1_000));
    }
    tally.reading()
}

fn close(top_down: &TopDown, shares: [f64; 4]) {
    for (got, wanted) in top_down.shares.iter().zip(shares) {
        assert!((got - wanted).abs() < 1e-9, "{top_down:?} is not {shares:?}");
    }
}

/// arch/x86/events/intel/core.c: icl_events_attrs, icl_td_events_attrs.
const ICE_LAKE: &[(&str, &str)] = &[
    ("type", "4"),
    ("format/event", "config:0-7"),
    ("format/umask", "config:8-15"),
    ("events/slots", "event=0x00,umask=0x4"),
    ("events/topdown-retiring", "event=0x00,umask=0x80"),
    ("events/topdown-bad-spec", "event=0x00,umask=0x81"),
    ("events/topdown-fe-bound", "event=0x00,umask=0x82"),
    ("events/topdown-be-bound", "event=0x00,umask=0x83"),
];

#[test]
fn ice_lakes_slots_lead_their_group() {
    let (_folder, root) = tree("cpu", ICE_LAKE);
    let plan = plan(&root, Identity::Other).unwrap();
    let group: Vec<_> = plan.groups[0].iter().map(|event| (event.name, event.code.config)).collect();
    let wanted = [
        ("slots", 0x400),
        ("topdown-retiring", 0x8000),
        ("topdown-bad-spec", 0x8100),
        ("topdown-fe-bound", 0x8200),
        ("topdown-be-bound", 0x8300),
    ];
    assert_eq!(group, wanted);
    let counted = reading(&[
        ("slots", 1_000),
        ("topdown-retiring", 500),
        ("topdown-bad-spec", 50),
        ("topdown-fe-bound", 150),
        ("topdown-be-bound", 300),
    ]);
    close(&shares(plan.method, &counted).unwrap(), [0.5, 0.05, 0.15, 0.3]);
}

#[test]
fn a_hybrid_machine_has_a_group_for_each_kind_of_core() {
    let (folder, _) = tree("cpu_core", ICE_LAKE);
    add(&folder, "cpu_core", &[("cpus", "0-15")]);
    // adl_hybrid_events_attrs: the small cores count the categories on ordinary counters, without slots.
    add(
        &folder,
        "cpu_atom",
        &[
            ("type", "10"),
            ("cpus", "16-23"),
            ("format/event", "config:0-7"),
            ("format/umask", "config:8-15"),
            ("events/topdown-retiring", "event=0xc2,umask=0x0"),
            ("events/topdown-bad-spec", "event=0x73,umask=0x0"),
            ("events/topdown-fe-bound", "event=0x71,umask=0x0"),
            ("events/topdown-be-bound", "event=0x74,umask=0x0"),
        ],
    );
    let root = Root::captured(folder.path()).unwrap();
    let plan = plan(&root, Identity::Other).unwrap();
    assert_eq!(plan.groups.len(), 2);
    assert_eq!(plan.groups[0][0].name, "slots");
    assert_eq!((plan.groups[1][0].name, plan.groups[1][0].code.kind), ("topdown-retiring", 10));
    // A kind of core whose cores are all offline has no events to open.
    add(&folder, "cpu_atom", &[("cpus", "")]);
    assert_eq!(pmu::core_units(&Root::captured(folder.path()).unwrap()).unwrap().len(), 1);
}

#[test]
fn skylakes_bubbles_are_scaled_as_sysfs_says() {
    // core.c: snb_events_attrs with hyper-threading on.
    let (_folder, root) = tree(
        "cpu",
        &[
            ("type", "4"),
            ("format/event", "config:0-7"),
            ("format/umask", "config:8-15"),
            ("format/any", "config:21"),
            ("format/cmask", "config:24-31"),
            ("events/topdown-total-slots", "event=0x3c,umask=0x0,any=1"),
            ("events/topdown-total-slots.scale", "2"),
            ("events/topdown-slots-issued", "event=0xe,umask=0x1"),
            ("events/topdown-slots-retired", "event=0xc2,umask=0x2"),
            ("events/topdown-fetch-bubbles", "event=0x9c,umask=0x1"),
            ("events/topdown-recovery-bubbles", "event=0xd,umask=0x3,cmask=1,any=1"),
            ("events/topdown-recovery-bubbles.scale", "2"),
        ],
    );
    let plan = plan(&root, Identity::Other).unwrap();
    assert_eq!(plan.method, Method::Bubbles { total: 2.0, recovery: 2.0 });
    assert!(plan.groups.iter().all(|group| group.len() <= 3), "more counters than a watchdog leaves free");
    assert_eq!(plan.groups[0][0].code.config, 1 << 21 | 0x3c);
    let counted = reading(&[
        ("topdown-total-slots", 500),
        ("topdown-slots-issued", 600),
        ("topdown-slots-retired", 500),
        ("topdown-fetch-bubbles", 100),
        ("topdown-recovery-bubbles", 25),
    ]);
    close(&shares(plan.method, &counted).unwrap(), [0.5, 0.15, 0.1, 0.25]);
}

const AMD_UNIT: &[(&str, &str)] = &[
    ("type", "4"),
    ("format/event", "config:0-7,32-35"),
    ("format/umask", "config:8-15"),
    ("format/cmask", "config:24-31"),
];

#[test]
fn zen_4_and_5_count_dispatch_slots_and_zen_3_has_none() {
    let (_folder, root) = tree("cpu", AMD_UNIT);
    let of = |signature| plan(&root, amd_identity(signature));
    // Signatures of an EPYC 9654, a Ryzen 9 9950X, an EPYC 7763, and a first-generation Zen such as Hygon's.
    let genoa = of(0x00a1_0f11).unwrap();
    assert_eq!(genoa.method, Method::Dispatch { width: 6.0 });
    assert_eq!(genoa.groups[0][0].code.config, 0x1_0000_01a0);
    assert_eq!(of(0x00b4_0f40).unwrap().method, Method::Dispatch { width: 8.0 });
    assert_eq!(of(0x00a0_0f11), None);
    assert_eq!(of(0x0080_0f12), None);
    // 100 cycles, 600 slots; a hyperthread sibling used 120 of these slots.
    let counted = reading(&[
        ("cycles", 100),
        ("de_no_dispatch_per_slot.no_ops_from_frontend", 60),
        ("de_no_dispatch_per_slot.backend_stalls", 180),
        ("de_src_op_disp.all", 240),
        ("ex_ret_ops", 192),
    ]);
    close(&shares(genoa.method, &counted).unwrap(), [0.4, 0.1, 0.125, 0.375]);
}

/// Files of an Arm PMU, as created by drivers/perf/arm_pmuv3.c; `slots` is the value from PMMIR_EL1.
fn arm(slots: &str) -> (tempfile::TempDir, Root) {
    tree(
        "armv8_pmuv3_0",
        &[
            ("type", "8"),
            ("cpus", "0-63"),
            ("caps/slots", slots),
            ("format/event", "config:0-15"),
            ("events/stall_slot", "event=0x003f"),
            ("events/stall_slot_frontend", "event=0x003e"),
            ("events/stall_slot_backend", "event=0x003d"),
            ("events/op_retired", "event=0x003a"),
            ("events/op_spec", "event=0x003b"),
            ("events/stall_frontend", "event=0x0023"),
            ("events/stall_backend", "event=0x0024"),
            ("events/inst_retired", "event=0x0008"),
            ("events/inst_spec", "event=0x001b"),
        ],
    )
}

fn part(implementer: u32, part: u32) -> Identity {
    Identity::Arm(Midr { implementer, variant: 0, part, revision: 0 })
}

#[test]
fn arms_slots_come_from_the_width_that_the_core_tells() {
    let (_folder, root) = arm("0x00000008");
    let neoverse_v1 = plan(&root, part(0x41, 0xd40)).unwrap();
    assert_eq!(neoverse_v1.method, Method::Slots { width: 8.0, minus_cycles: false });
    let counted = reading(&[
        ("cycles", 100),
        ("stall_slot", 400),
        ("stall_slot_frontend", 160),
        ("stall_slot_backend", 240),
        ("op_retired", 300),
        ("op_spec", 400),
    ]);
    close(&shares(neoverse_v1.method, &counted).unwrap(), [0.375, 0.125, 0.2, 0.3]);
    // The first version of Neoverse N2 counts one slot too many per cycle. It can be recognized by its reported width
    // of 5.
    let (_folder, root) = arm("0x00000005");
    let n2 = plan(&root, part(0x41, 0xd49)).unwrap();
    assert_eq!(n2.method, Method::Slots { width: 5.0, minus_cycles: true });
    let counted = reading(&[
        ("cycles", 100),
        ("stall_slot", 350),
        ("stall_slot_frontend", 200),
        ("stall_slot_backend", 150),
        ("op_retired", 200),
        ("op_spec", 250),
    ]);
    close(&shares(n2.method, &counted).unwrap(), [0.4, 0.1, 0.2, 0.3]);
}

#[test]
fn arm_without_slots_falls_back_to_cycles_and_says_so() {
    // The kernel reports 0 if the core has no value.
    let (_folder, root) = arm("0x00000000");
    let plan_n1 = plan(&root, part(0x41, 0xd0c)).unwrap();
    assert_eq!(plan_n1.method, Method::Cycles);
    let counted = reading(&[
        ("cycles", 1_000),
        ("stall_frontend", 200),
        ("stall_backend", 300),
        ("inst_retired", 900),
        ("inst_spec", 1_000),
    ]);
    let top_down = shares(plan_n1.method, &counted).unwrap();
    close(&top_down, [0.45, 0.05, 0.2, 0.3]);
    assert!(top_down.source.contains("cycles"));
    let kunpeng = plan(&root, part(0x48, 0xd01)).unwrap();
    assert_eq!(kunpeng.method, Method::Fetch { width: 4.0 });
    assert_eq!(kunpeng.groups[0][0].code.config, 0x2014);
    let counted =
        reading(&[("cycles", 100), ("fetch_bubble", 40), ("inst_retired", 200), ("inst_spec", 220)]);
    close(&shares(kunpeng.method, &counted).unwrap(), [0.5, 0.05, 0.1, 0.35]);
}

#[test]
fn a_core_without_the_events_has_no_top_down_rather_than_a_wrong_one() {
    // A Cortex-A53 has no stall events.
    let files = [("type", "8"), ("cpus", "0-3"), ("format/event", "config:0-15")];
    let (_folder, root) = tree("armv8_cortex_a53", &files);
    assert_eq!(plan(&root, part(0x41, 0xd03)), None);
    // A virtual machine's PMU with an empty directory.
    let (_folder, root) = tree("cpu", &[("type", "4")]);
    assert_eq!(plan(&root, amd_identity(0x00a1_0f11)), None);
    // A machine with only software PMUs, and one without sysfs.
    let (_folder, root) = tree("software", &[("type", "1")]);
    assert_eq!(pmu::core_units(&root), Some(Vec::new()));
    let empty = tempfile::tempdir().unwrap();
    std::fs::create_dir(empty.path().join("proc")).unwrap();
    assert_eq!(pmu::core_units(&Root::captured(empty.path()).unwrap()), None);
}

#[test]
fn what_cannot_be_is_no_share() {
    let four = |[a, b, c, d]: [u64; 4]| {
        reading(&[
            ("cycles", 100),
            ("ex_ret_ops", a),
            ("de_src_op_disp.all", b),
            ("de_no_dispatch_per_slot.no_ops_from_frontend", c),
            ("de_no_dispatch_per_slot.backend_stalls", d),
        ])
    };
    let method = Method::Dispatch { width: 6.0 };
    assert!(shares(method, &four([600, 600, 900, 900])).is_none(), "more slots than exist");
    assert!(shares(method, &four([1, 1, 1, 1])).is_none(), "hardly any counted");
    assert!(shares(method, &reading(&[("cycles", 100)])).is_none());
    assert!(shares(Method::Categories, &reading(&[])).is_none());
    // Fewer slots dispatched than retired, within counting error: the discarded share is 0, not negative.
    let top_down = shares(method, &four([300, 297, 150, 150])).unwrap();
    assert_eq!(top_down.shares[1], 0.0);
}

#[test]
fn the_least_counted_event_gives_the_coverage() {
    let mut tally = Tally::default();
    for (event, running) in
        [("topdown-retiring", 1_000), ("topdown-bad-spec", 1_000), ("topdown-fe-bound", 250)]
    {
        tally.add(row(event, 100, running));
    }
    tally.add(row("topdown-be-bound", 100, 1_000));
    let top_down = shares(Method::Categories, &tally.reading()).unwrap();
    assert_eq!(top_down.coverage, 0.25);
}
