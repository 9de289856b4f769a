mod machines;

use std::collections::HashMap;

use proptest::prelude::*;
use record::machine::CacheKind;

use super::labels::{Label, find_label, labels};
use crate::facts::key;
use crate::tools::testing::{damaged, import};

const INTEL: &str = include_str!("../../../tests/texts/lscpu-numactl-8269cy.txt");

#[test]
fn every_label_of_every_language_means_one_thing() {
    let mut seen: HashMap<&str, &str> = HashMap::new();
    for (key, text) in labels() {
        if let Some(other) = seen.insert(text, key) {
            assert_eq!(other, key, "{text}");
        }
        let (shown, part) = match key {
            key::NODE_CPUS => (text.replace("%d", "3"), "3"),
            key::CACHE => (text.replace("%s", "L1d"), "L1d"),
            "vulnerability" => (text.replace("%s", "Meltdown"), "Meltdown"),
            _ => (text.to_owned(), ""),
        };
        assert_eq!(find_label(&shown), Some(Label { key, part, text: &shown }), "{shown}");
    }
}

#[test]
fn a_list_in_any_language_gives_the_same_machine() {
    let name = |key: &str, language: usize| {
        let labels: Vec<&str> = labels().filter(|(known, _)| *known == key).map(|(_, label)| label).collect();
        labels[language % labels.len()]
    };
    for language in 0..26 {
        let label = |key| name(key, language);
        let text = format!(
            "{}: x86_64\n{}:  8\n{}： 0-7\n{} : 2\n{}: 4\n{}: 1\n{}: GenuineIntel\n{}:   Xeon X\n{}: 3000,0000\n{}: 0-7\n",
            label(key::ARCHITECTURE),
            label(key::CPUS),
            label(key::ONLINE),
            label(key::THREADS_PER_CORE),
            label(key::CORES_PER_SOCKET),
            label(key::SOCKETS),
            label(key::VENDOR),
            label(key::MODEL_NAME),
            label("max_mhz"),
            label(key::NODE_CPUS).replace("%d", "0"),
        );
        let machine = import(&text).machine;
        assert_eq!(machine.counts.cores, Some(4), "{text}");
        assert_eq!((machine.counts.cpus_online, machine.counts.packages), (Some(8), Some(1)), "{text}");
        assert_eq!(machine.processor.model_name.as_deref(), Some("Xeon X"), "{text}");
        assert_eq!(machine.processor.max_hz, Some(3_000_000_000), "{text}");
        assert_eq!(machine.nodes[0].cpus.len(), 8, "{text}");
    }
}

#[test]
fn two_languages_in_one_list_are_read() {
    let imported = import(INTEL);
    let machine = &imported.machine;
    assert_eq!(
        (machine.counts.packages, machine.counts.cores, machine.counts.cpus_online),
        (Some(2), Some(52), Some(104))
    );
    assert_eq!(
        machine.processor.model_name.as_deref(),
        Some("Intel(R) Xeon(R) Platinum 8269CY CPU @ 2.50GHz")
    );
    assert_eq!((machine.processor.max_hz, machine.processor.vector_bits), (Some(2_501_000_000), Some(512)));
    assert_eq!(machine.memory_bytes, Some(785_826 << 20));
    let l3 = machine.caches.iter().find(|cache| cache.level == 3).unwrap();
    assert_eq!((l3.bytes, l3.cpus.len()), (Some(36_608 << 10), 0));
    // The list shows the number of siblings of a core, but not their CPU numbers.
    assert!(machine.cpus.iter().all(|cpu| cpu.core.is_none() && cpu.package.is_none()));
    assert!(imported.coverage.iter().any(|part| part.what.starts_with("siblings")));
    let origin = &imported.import.inventory["machine.counts.packages"];
    assert_eq!((origin.line, origin.says.as_str()), (9, "座：                 2"));
}

#[test]
fn json_flat_and_nested_tells_the_same_as_the_list() {
    let flat = r#"{
   "lscpu": [
      {"field": "Architecture:", "data": "x86_64"},
      {"field": "CPU(s):", "data": "4"},
      {"field": "On-line CPU(s) list:", "data": "0-3"},
      {"field": "Thread(s) per core:", "data": "1"},
      {"field": "Core(s) per socket:", "data": "4"},
      {"field": "Socket(s):", "data": "1"},
      {"field": "L2 cache:", "data": "4 MiB (4 instances)"}
   ]
}
"#;
    let nested = r#"{"lscpu":[{"field":"Architecture:","data":"x86_64"},{"field":"CPU(s):","data":"4","children":[{"field":"On-line CPU(s) list:","data":"0-3"}]},{"field":"Vendor ID:","data":"x [y","children":[{"field":"Model name:","data":"M","children":[{"field":"Thread(s) per core:","data":"1"},{"field":"Core(s) per socket:","data":"4"},{"field":"Socket(s):","data":"1"}]}]},{"field":"Caches (sum of all):","data":null,"children":[{"field":"L2:","data":"4 MiB (4 instances)"}]}]}"#;
    for text in [flat, nested] {
        let imported = import(text);
        assert_eq!(imported.machine.counts.cores, Some(4), "{text}");
        let l2: Vec<_> =
            imported.machine.caches.iter().map(|cache| (cache.bytes, cache.cpus.len())).collect();
        assert_eq!(l2, vec![(Some(1 << 20), 1); 4], "{text}");
    }
    assert_eq!(import(flat).import.inventory["machine.counts.packages"].line, 8);
    let cut = import(&nested[..nested.len() - 40]);
    assert!(cut.import.withheld[0].why.contains("truncated"), "{:?}", cut.import);
}

#[test]
fn tables_tell_cores_and_who_shares_which_cache() {
    let text = "$ lscpu -e\nCPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE    MAXMHZ   MINMHZ\n  0    0      0    0 0:0:0:0          yes 3000.0000 800.0000\n  1    0      0    1 1:1:1:0          yes 3000.0000 800.0000\n  2    0      0    0 0:0:0:0          yes 3000.0000 800.0000\n  3    0      0    1 1:1:1:0          yes 3000.0000 800.0000\n\n$ lscpu -C\nNAME ONE-SIZE ALL-SIZE WAYS TYPE        LEVEL  SETS PHY-LINE COHERENCY-SIZE\nL1d       32K      64K    8 Data            1    64        1             64\nL3         8M       8M   16 Unified         3  8192        1             64\n";
    let machine = import(text).machine;
    let cores: Vec<_> = machine.cpus.iter().map(|cpu| (cpu.core, cpu.siblings.to_string())).collect();
    let expected =
        [(0, "0,2"), (1, "1,3"), (0, "0,2"), (1, "1,3")].map(|(core, list)| (Some(core), list.to_owned()));
    assert_eq!(cores, expected);
    let l1d: Vec<_> = machine.caches.iter().filter(|cache| cache.kind == CacheKind::Data).collect();
    assert_eq!((l1d.len(), l1d[0].bytes, l1d[0].ways, l1d[0].line), (2, Some(32 << 10), Some(8), Some(64)));
    assert_eq!(machine.data_cache_of(3, 3).and_then(|cache| cache.bytes), Some(8 << 20));
    let parsable = "# The following is the parsable format, which can be fed to other\n# programs.\n# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,0,,0,0,0,0\n1,0,0,0,,0,0,0,0\n";
    let machine = import(parsable).machine;
    assert_eq!((machine.counts.cores, machine.counts.cpus_online), (Some(1), Some(2)));
}

#[test]
fn caches_of_a_kernel_that_tells_no_partitions_of_a_line_have_their_fields_all_the_same() {
    let list = "Architecture: aarch64\nCPU(s): 2\nOn-line CPU(s) list: 0,1\nThread(s) per core: 1\nCore(s) per socket: 2\nSocket(s): 1\nL1d cache: 128 KiB (2 instances)\nL2 cache: 1 MiB (1 instance)\n\n";
    let table = "  NAME ONE-SIZE ALL-SIZE WAYS TYPE        LEVEL SETS PHY-LINE COHERENCY-SIZE\n  L1d       64K     128K    4 Data            1  256                      64\n  L2         1M       1M    8 Unified         2 1024                      64\n";
    let caches = import(&format!("{list}{table}")).machine.caches;
    let fields: Vec<_> =
        caches.iter().map(|cache| (cache.level, cache.bytes, cache.ways, cache.line)).collect();
    let first = (1, Some(64 << 10), Some(4), Some(64));
    assert_eq!(fields, [first, first, (2, Some(1 << 20), Some(8), Some(64))]);
    // A missing cell does not move other cells to its column.
    let moved = table.replace("  4 Data", " Data").replace("    8 Unified", "  Unified");
    let caches = import(&format!("{list}{moved}")).machine.caches;
    assert!(caches.iter().all(|cache| cache.ways.is_none() && cache.line.is_none()), "{caches:?}");
}

#[test]
fn what_cannot_be_true_stays_text() {
    let imported = import(
        "Architecture: x86_64\nCPU(s): 4\nCore(s) per socket: 0\nCPU MHz: 378407232880\nSocket(s): -\nL2 cache: 1048576\n",
    );
    assert_eq!(imported.machine.counts.cores, None);
    let what: Vec<&str> = imported.import.withheld.iter().map(|withheld| withheld.what.as_str()).collect();
    assert_eq!(what, ["machine.counts.cores", "conditions.before.clocks[].current_hz", "machine.caches.L2"]);
    assert!(imported.machine.caches.is_empty());
}

#[test]
fn a_sum_over_an_unknown_number_of_caches_is_no_cache() {
    // lscpu 2.34 to 2.36.
    let imported = import("Architecture: x86_64\nCPU(s): 8\nL1d cache:    256 KiB\n");
    assert!(imported.machine.caches.is_empty() && imported.coverage.iter().any(|part| part.what == "caches"));
}

#[test]
fn kinds_of_core_are_added_up() {
    let text = "Architecture: aarch64\nCPU(s): 6\nOn-line CPU(s) list: 0-5\nVendor ID: ARM\nModel name: Cortex-A53\nThread(s) per core: 1\nCore(s) per socket: 4\nSocket(s): 1\nModel name: Cortex-A72\nThread(s) per core: 1\nCore(s) per socket: 2\nSocket(s): 1\n";
    let machine = import(text).machine;
    assert_eq!((machine.counts.cores, machine.counts.packages), (Some(6), None));
}

#[test]
fn flags_go_on_where_a_mail_was_wrapped() {
    let text = "> Architecture: x86_64\n> Flags: fpu vme sse2 avx\n> avx2 constant_tsc\n> nonstop_tsc lahf_lm\n> hello.\n";
    let imported = import(text);
    for feature in ["avx", "avx2", "nonstop_tsc"] {
        assert!(imported.machine.processor.features.iter().any(|known| known == feature), "{feature}");
    }
    assert_eq!(
        (imported.machine.processor.counter_invariant, imported.import.not_understood.lines),
        (Some(true), 1)
    );
    // An unknown value may have been split by a line break.
    assert_eq!(imported.machine.virtualization.hypervisor, None);
}

#[test]
fn bytes_are_sizes_and_masks_are_not_read() {
    let imported =
        import("Architecture: x86_64\nCPU(s): 2\nL2 cache: 2097152 (2 instances)\nNUMA node0 CPU(s): 0x3\n");
    assert_eq!(imported.machine.caches.first().and_then(|cache| cache.bytes), Some(1 << 20));
    assert!(
        imported.machine.nodes.is_empty() && imported.import.withheld.len() == 1,
        "{:?}",
        imported.import
    );
    let mask = "Architecture: x86_64\nCPU(s): 2\nOn-line CPU(s) mask: 3\nNUMA node0 CPU(s): 3\n";
    assert!(import(mask).import.withheld[0].why.contains("mask"), "{:?}", import(mask).import);
    let imported = import("Architecture: x86_64\nCPU(s): 2\nOn-line CPU(s) list: ,\n");
    assert_eq!((imported.machine.counts.cpus_online, imported.import.withheld.len()), (None, 1));
}

proptest! {
    #[test]
    fn damaged_lists_never_panic(at: usize, cut in 0usize..200, with in "\\PC{0,20}") {
        import(&damaged(INTEL, at, cut, &with));
    }

    #[test]
    fn no_values_panic(rows in proptest::collection::vec("(CPU\\(s\\)|L[1-3][di]?|Socket\\(s\\)|NUMA node[0-9]{1,12} CPU\\(s\\)|CPU MHz|Off-line CPU\\(s\\) list): [0-9,.KMiB()a-z -]{0,14}", 0..12)) {
        import(&format!("Architecture: x86_64\n{}", rows.join("\n")));
    }
}

#[test]
fn a_cache_whose_size_or_number_has_more_behind_it_has_no_size() {
    for size in ["1,024 KiB (4 instances)", "256 KiB (2x instances)", "32 MiB (1 instance) or so", "1 MiBx"] {
        let imported = import(&format!("Architecture: x86_64\nCPU(s): 4\nL2 cache: {size}\n"));
        let caches = &imported.machine.caches;
        assert!(caches.iter().all(|cache| cache.bytes.is_none()), "{size}: {caches:?}");
        assert_eq!(imported.import.withheld.len(), 1, "{size}: {:?}", imported.import.withheld);
    }
}
