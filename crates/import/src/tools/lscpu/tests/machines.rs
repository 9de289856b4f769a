//! Machines with cores of several kinds or nodes without CPUs, and texts that only look like lscpu's.

use crate::tools::testing::import;
use crate::{Error, Importer, Split};
use record::machine::CacheKind;

fn list(rest: &str) -> String {
    format!("Architecture: x86_64\n{rest}")
}

/// Level, kind and size of each kind of cache, and the number of such caches.
fn caches(text: &str) -> Vec<(u32, CacheKind, Option<u64>, usize)> {
    let mut all: Vec<(u32, CacheKind, Option<u64>, usize)> = Vec::new();
    for cache in import(text).machine.caches {
        match all.last_mut() {
            Some((level, kind, bytes, count))
                if (*level, *kind, *bytes) == (cache.level, cache.kind, cache.bytes) =>
            {
                *count += 1
            }
            _ => all.push((cache.level, cache.kind, cache.bytes, 1)),
        }
    }
    all
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

#[test]
fn sums_of_caches_are_divided_where_all_are_of_one_size() {
    use CacheKind::{Data, Unified};
    let server = list(
        "CPU(s): 80\nOn-line CPU(s) list: 0-79\nThread(s) per core: 2\nCore(s) per socket: 20\nSocket(s): 2\nL1d cache: 1.3 MiB (40 instances)\nL2 cache: 50 MiB (40 instances)\nL3 cache: 55 MiB (2 instances)\n",
    );
    assert_eq!(
        caches(&server),
        [
            (1, Data, Some(32 * KIB), 40),
            (2, Unified, Some(5 * MIB / 4), 40),
            (3, Unified, Some(55 * MIB / 2), 2)
        ]
    );
    // A P-core has 48 KiB and 1.25 MiB; four E-cores share 2 MiB.
    let hybrid = list(
        "CPU(s): 20\nOn-line CPU(s) list: 0-19\nModel name: 13th Gen Intel(R) Core(TM) i7-1370P\nThread(s) per core: 2\nCore(s) per socket: 14\nSocket(s): 1\nL1d cache: 544 KiB (14 instances)\nL1i cache: 704 KiB (14 instances)\nL2 cache: 11.5 MiB (8 instances)\nL3 cache: 24 MiB (1 instance)\n",
    );
    assert_eq!(caches(&hybrid), [(3, Unified, Some(24 * MIB), 1)]);
    let imported = import(&hybrid);
    assert!(imported.coverage.iter().any(|part| part.what == "caches"), "{:?}", imported.coverage);
    // All of these sums could be divided evenly, but 24 CPUs on 16 cores with up to two threads imply two kinds of core.
    let even = list(
        "CPU(s): 24\nThread(s) per core: 2\nCore(s) per socket: 16\nSocket(s): 1\nL1d cache: 640 KiB (16 instances)\nL1i cache: 768 KiB (16 instances)\nL2 cache: 32 MiB (16 instances)\n",
    );
    assert_eq!(caches(&even), []);
    let kinds = "Architecture: aarch64\nCPU(s): 20\nOn-line CPU(s) list: 0-19\nVendor ID: ARM\nModel name: Cortex-X925\nThread(s) per core: 1\nCore(s) per socket: 10\nSocket(s): 1\nModel name: Cortex-A725\nThread(s) per core: 1\nCore(s) per socket: 10\nSocket(s): 1\nL1d cache: 1.3 MiB (20 instances)\nL2 cache: 25 MiB (20 instances)\nL3 cache: 24 MiB (2 instances)\n";
    assert!(caches(kinds).iter().all(|(_, _, bytes, _)| bytes.is_none()), "{:?}", caches(kinds));
    let stacked = |model: &str| {
        let cores = "CPU(s): 32\nThread(s) per core: 2\nCore(s) per socket: 16\nSocket(s): 1\n";
        caches(&list(&format!(
            "{cores}Model name: {model}\nL1d cache: 512 KiB (16 instances)\nL3 cache: 128 MiB (2 instances)\n"
        )))
    };
    assert_eq!(stacked("AMD Ryzen 9 7950X3D 16-Core Processor"), [(1, Data, Some(32 * KIB), 16)]);
    assert_eq!(stacked("AMD EPYC 7313").last(), Some(&(3, Unified, Some(64 * MIB), 2)));
}

#[test]
fn the_first_size_of_a_table_is_not_that_of_all() {
    use CacheKind::{Data, Instruction, Unified};
    let head = "NAME ONE-SIZE ALL-SIZE WAYS TYPE        LEVEL  SETS PHY-LINE COHERENCY-SIZE\n";
    let even = format!(
        "{head}L1d       48K     2.6M   12 Data            1    64        1             64\nL2       1.3M      70M   20 Unified         2  1024        1             64\nL3        42M      84M   12 Unified         3 57344        1             64\n"
    );
    assert_eq!(
        caches(&even),
        [(1, Data, Some(48 * KIB), 56), (2, Unified, Some(5 * MIB / 4), 56), (3, Unified, Some(42 * MIB), 2)]
    );
    // GB10: 10 × 512 KiB and 10 × 2 MiB, 8 and 16 MiB.
    let gb10 = format!(
        "{head}L1d       64K     1.3M    4 Data            1   256        1             64\nL1i       64K     1.3M    4 Instruction     1   256        1             64\nL2       512K      25M    8 Unified         2  1024        1             64\nL3         8M      24M   16 Unified         3  8192        1             64\n"
    );
    assert_eq!(caches(&gb10), []);
    let listed = format!(
        "Architecture: aarch64\nCPU(s): 20\nThread(s) per core: 1\nCore(s) per socket: 20\nSocket(s): 1\nL1d: 1.3 MiB (20 instances)\nL1i: 1.3 MiB (20 instances)\nL2: 25 MiB (20 instances)\nL3: 24 MiB (2 instances)\n\n{gb10}"
    );
    assert!(
        caches(&listed).iter().all(|(level, _, bytes, _)| *level == 1 || bytes.is_none()),
        "{:?}",
        caches(&listed)
    );
    let p = format!(
        "{head}L1d       48K     544K   12 Data            1    64        1             64\nL1i       32K     704K    8 Instruction     1    64        1             64\nL3        24M      24M   12 Unified         3 32768        1             64\n"
    );
    assert_eq!(caches(&p), [(3, Unified, Some(24 * MIB), 1)]);
    assert!(!caches(&p).iter().any(|(_, kind, ..)| *kind == Instruction));
}

#[test]
fn physical_numbers_of_cores_need_their_package() {
    let rows: String = (0..8)
        .map(|cpu| format!("{cpu:>3} {:>4} {:>6} {:>4}\n", cpu % 2, cpu % 2, (cpu / 2) % 2 * 4))
        .collect();
    let machine = import(&format!("$ lscpu -e -y\nCPU NODE SOCKET CORE\n{rows}")).machine;
    assert_eq!((machine.counts.packages, machine.counts.cores), (Some(2), Some(4)));
    assert_eq!(machine.cpus[1].siblings.to_string(), "1,5");
    // Clusters number their cores from 0 again.
    let clusters = "CPU CLUSTER SOCKET CORE\n0 0 0 0\n1 0 0 1\n2 1 0 0\n3 1 0 1\n";
    assert_eq!(import(clusters).machine.counts.cores, Some(4));
}

#[test]
fn nodes_without_cpus_count() {
    let of = |text: &str| {
        let machine = import(&list(text)).machine;
        (machine.counts.nodes, machine.nodes.iter().map(|node| node.cpus.len()).collect::<Vec<_>>())
    };
    let some = "CPU(s): 4\nOn-line CPU(s) list: 0-3\nNUMA node(s): 3\nNUMA node0 CPU(s): 0-3\n";
    assert_eq!(of(some), (Some(3), vec![4]));
    assert_eq!(of(&format!("{some}NUMA node1 CPU(s):\nNUMA node2 CPU(s): \n")), (Some(3), vec![4, 0, 0]));
}

#[test]
fn kinds_that_share_a_package_have_a_core_for_each_cpu() {
    let kinds: String = ["Cortex-A510", "Cortex-A710", "Cortex-A715", "Cortex-X3"]
        .iter()
        .zip([3, 1, 1, 1])
        .map(|(name, cores)| {
            format!("Model name: {name}\nThread(s) per core: 1\nCore(s) per socket: {cores}\nSocket(s): 1\n")
        })
        .collect();
    let text = format!("Architecture: aarch64\nCPU(s): 8\nOn-line CPU(s) list: 0-7\n{kinds}");
    assert_eq!(import(&text).machine.counts.cores, Some(8));
}

#[test]
fn columns_in_any_order_and_number_are_read() {
    let all = "BOGOMIPS CPU CORE SOCKET CLUSTER NODE BOOK DRAWER L1d:L1i:L2:L3 POLARIZATION ADDRESS CONFIGURED ONLINE       MHZ SCALMHZ% MAXMHZ MINMHZ\n 5192.30   0    0      0       -    0    -      - 0:0:0:0       -            -       -             yes 2596.1521        -      -      -\n 5192.30   1    1      0       -    0    -      - 1:1:1:0       -            -       -             yes 2596.1521        -      -      -\n";
    let named = "CPU SOCKET CORE MODELNAME                ONLINE\n  0      0    0 AMD EPYC 9354 Processor   yes\n  1      0    1 -                         yes\n";
    let parsable = "# The following is the parsable format, which can be fed to other\n# programs. Each different item in every column has an unique ID\n# starting usually from zero.\n# BOGOMIPS,CPU,Core,Socket,Cluster,Node,,L1d,L1i,L2,L3\n5192.30,0,0,0,,0,,0,0,0,0\n5192.30,1,1,0,,0,,1,1,1,0\n";
    for text in [all, named, parsable] {
        let counts = import(text).machine.counts;
        assert_eq!(
            (counts.cores, counts.cpus_online, counts.packages),
            (Some(2), Some(2), Some(1)),
            "{text}"
        );
    }
    let bare = import("CPU NODE ONLINE\n  0    0    yes\n  1    1     no\n").machine;
    assert_eq!((bare.counts.cpus_online, bare.cpus[1].node), (Some(1), Some(1)));
    // A list from another tool.
    for other in ["CPU USER SYSTEM\n0 1 2\n", "CPU\n0\n", "# CPU,usage\n0,3\n", "cpu core\n0 1\n"] {
        assert!(import(other).machine.cpus.is_empty(), "{other}");
    }
}

#[test]
fn strides_are_read() {
    let imported = import(&list("CPU(s): 8\nOn-line CPU(s) list: 0-6:2\nNUMA node0 CPU(s): 0-6:2\n"));
    assert_eq!(
        (imported.machine.counts.cpus_online, imported.machine.nodes[0].cpus.to_string()),
        (Some(4), "0,2,4,6".to_owned())
    );
}

#[test]
fn the_same_architecture_has_several_names() {
    for (word, known) in [
        ("arm64", "aarch64"),
        ("amd64", "x86_64"),
        ("ppc64el", "ppc64le"),
        ("armhf", "aarch64"),
        ("i386", "x86_64"),
    ] {
        let list = format!("Architecture: {known}\nCPU(s): 4\nOn-line CPU(s) list: 0-3\n");
        for text in [format!("Architecture: {word}\n\n{list}"), format!("{list}\nArchitecture: {word}\n")] {
            let imported = import(&text);
            assert_eq!(
                (imported.machine.architecture.as_str(), imported.machine.counts.cpus_present),
                (known, Some(4))
            );
        }
    }
    assert_eq!(import(&list("CPU(s): 4\n").replace("x86_64", "amd64")).machine.architecture, "x86_64");
}

#[test]
fn other_tools_lines_are_not_lscpus() {
    let numactl = "available: 1 nodes (0)\nnode 0 cpus: 0 1 2 3\nnode 0 size: 100 MB\n";
    let others = [
        "CPU: 12 PID: 3344 Comm: swapper/12 Not tainted 6.1.0\n",
        "CPU  19776 Mflops\n",
        "CPU: 2x 8-core AMD EPYC 7F32 (-MT MCP SMP-) speed: 3700 MHz\n",
        "Sockets:\t\t2\nCPU dies:\t\t2\nCores per socket:\t20\nThreads per core:\t2\n",
        "Name            : util-linux\nVersion         : 2.39-1\nArchitecture    : x86_64\nURL             : https://example.org\n",
        "System Information\n  Operating System              Ubuntu 22.04.3 LTS\n  Kernel                        Linux 6.2\n",
        "Processor Information\n  Name                          AMD Ryzen 9 7950X\n",
    ];
    for other in others {
        let mut importer = Importer::new(Split::Hosts);
        importer.read("text", other.as_bytes()).unwrap();
        let refused = importer.finish();
        assert!(matches!(refused, Err(Error::NothingKnown { .. })), "{other}: {refused:?}");
        for text in [format!("{other}\n{numactl}"), format!("{numactl}\n{other}")] {
            let imported = import(&text);
            assert_eq!(imported.machine.nodes[0].cpus.len(), 4, "{text}");
            let lines = other.lines().count() as u64;
            assert_eq!(
                (imported.machine.counts.cpus_present, imported.import.not_understood.lines),
                (None, lines),
                "{text}"
            );
        }
        let imported = import(&format!("{}{other}", list("CPU(s): 4\n")));
        assert_eq!(imported.machine.counts.cpus_present, Some(4), "{other}");
    }
}

#[test]
fn two_machines_that_only_comments_part_are_refused() {
    let one = "CPU(s): 64\nOn-line CPU(s) list: 0-63\nThread(s) per core: 2\n";
    let other =
        "CPU(s): 16\nOn-line CPU(s) list: 0-15\nThread(s) per core: 2\nCore(s) per socket: 8\nSocket(s): 1\n";
    let texts = [
        format!("const A = `\n{one}`\n// the other\nconst B = `\n{other}`\n"),
        format!("{one}//\n{other}"),
        "Thread(s) per core: 2\nCore(s) per socket: 8\nThread(s) per core: 2\nCore(s) per socket: 16\n"
            .to_owned(),
        list("CPU(s): 4\nL2 cache: 4 MiB (4 instances)\n// other\nL2 cache: 8 MiB (4 instances)\n"),
    ];
    for text in texts {
        let mut importer = Importer::new(Split::Hosts);
        importer.read("text", text.as_bytes()).unwrap();
        let refused = importer.finish();
        assert!(matches!(refused, Err(Error::SeveralMachines(_))), "{text}: {refused:?}");
    }
    // The same list twice is from one machine.
    assert_eq!(import(&format!("{one}// again\n{one}")).machine.counts.cpus_present, Some(64));
}
