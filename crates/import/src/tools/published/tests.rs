//! A list of every kind of line, and each mistake.

use crate::tools::testing::{figures, import, the};
use proptest::prelude::*;
use record::detail;

const LIST: &str = r#"published figures: a comparison of processors, 2021
# the node that the memory was on
load.latency 117.323 ns bytes=64MiB cpu=0 node=0 method="lmbench lat_mem_rd -t, stride 64"
memory.bandwidth 8700.75 MB/s op=copy bytes_counted=stream threads=1 cpus=7 node=0 method="lmbench stream"
wakeup.average 11 us policy=other setting=awake
core.clock 2.6 GHz cpu=0
workload.time 18.603323495 s workload='echo "7^999999" | bc'
core.ipc 2.19 IPC workload='echo "7^999999" | bc' source=pmu scope=process note="counters shared"
workload.throughput 133174.89 kB/s workload="openssl speed aes-256-ige" bytes=16 threads=1
workload.throughput 24,674 queries/s workload="sysbench oltp_point_select queries" threads=1
workload.throughput 12,390 tpmC workload="TPC-C, 1000 warehouses" threads=1
memory.loaded_latency 78.92 ns bandwidth=2867.2MB/s method="Intel MLC 3.9"
memory.loaded_latency 261.5 ns bandwidth=225452500000 method="Intel MLC 3.9"

machine.architecture = aarch64
machine.counts.packages = 2
machine.processor.max_hz = 2.6 GHz
machine.processor.model_name = Kunpeng 920-4826
machine.caches = [{"level": 3, "kind": "unified", "bytes": 25165824, "cpus": "0-23"}]
machine.memory_devices[0].rated_mt_s = 2933
machine.memory_devices.0.configured_mt_s = 2100
machine.nodes[0].distances = [10, 20]
machine.nodes[1].distances = 20,10
machine.memory_bytes = 64GiB
note: measured in a virtual machine
contradiction: the summary says 3.87 ns, the list 4.10 ns
"#;

#[test]
fn figures_facts_and_contradictions_are_read_with_their_units() {
    let imported = import(LIST);
    assert!(imported.import.withheld.is_empty(), "{:#?}", imported.import.withheld);
    assert_eq!(
        figures(&imported),
        [
            "load.latency cpu=0 node=0 bytes=67108864: 117.323",
            "memory.bandwidth op=copy bytes_counted=stream threads=1 cpus=7 node=0: 8700750000",
            "wakeup.average policy=other setting=awake: 11000",
            "core.clock cpu=0: 2600000000",
            "workload.time workload=echo \"7^999999\" | bc: 18.603323495",
            "core.ipc workload=echo \"7^999999\" | bc source=pmu scope=process: 2.19",
            "workload.throughput workload=openssl speed aes-256-ige bytes=16 threads=1: 133174890",
            "workload.throughput workload=sysbench oltp_point_select queries threads=1: 24674",
            "workload.throughput workload=TPC-C, 1000 warehouses threads=1: 206.5",
            "memory.loaded_latency bandwidth=2867200000: 78.92",
            "memory.loaded_latency bandwidth=225452500000: 261.5",
        ]
    );
    let latency = the(&imported, "load.latency cpu=0 node=0 bytes=67108864");
    assert_eq!(latency.method.as_deref(), Some("lmbench lat_mem_rd -t, stride 64"));
    assert_eq!(latency.detail.get(detail::PUBLISHED_IN), Some("a comparison of processors, 2021"));
    assert_eq!(imported.measurements[7].detail.get(detail::WORK), Some("queries"));
    let machine = &imported.machine;
    assert_eq!((machine.architecture.as_str(), machine.counts.packages), ("aarch64", Some(2)));
    assert_eq!(machine.processor.max_hz, Some(2_600_000_000));
    assert_eq!(machine.memory_devices[0].configured_mt_s, Some(2100));
    assert_eq!((machine.caches[0].bytes, machine.memory_bytes), (Some(24 << 20), Some(64 << 30)));
    assert!(imported.import.inventory.contains_key("machine.nodes[0].distances"));
    assert!(
        machine.notes.iter().any(|note| *note == "measured in a virtual machine".into()),
        "{:?}",
        machine.notes
    );
    assert!(imported.import.inventory.contains_key("machine.memory_devices[0].configured_mt_s"));
    assert_eq!(imported.import.contradictions.len(), 1);
    assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
}

#[test]
fn what_is_wrong_is_reported_with_its_line_and_no_figure_is_guessed() {
    for (line, why) in [
        ("load.latency 117 furlongs", "is not a unit of load.latency, which uses ns"),
        ("load.latency many ns", "is not a number"),
        ("load.latency 117", "the unit is missing"),
        ("load.latency 117 ns size=3", "has no key size"),
        ("load.latency 117 ns bytes=big", "is not a size"),
        ("load.latency 117 ns note=\"open", "a quotation mark is not closed"),
        ("load.latncy 117 ns", "did you mean load.latency?"),
        ("load.latency 0.001 ns", "is physically impossible"),
        ("machine.counts.packges = 2", "an inventory has no counts.packges"),
        ("machine.counts.packages = two", "is not a valid value"),
        ("machine.counts.packages = 0", "0 is out of range"),
        ("machine.counts.packages = 4294967295", "is out of range"),
        ("machine.processor.base_hz = 99 GHz", "is out of range"),
        ("machine.memory_devices.0.rated_mt_s = 32768", "is out of range"),
        ("machine.counts.packages 2", "use machine.PATH = VALUE"),
        ("machine.memory_devices[7].ranks = 2", "the preceding entry is missing"),
    ] {
        let imported = import(&format!("published figures: x\n{line}\n"));
        assert!(imported.measurements.is_empty(), "{line}");
        let says: Vec<&str> = imported.import.withheld.iter().map(|withheld| withheld.why.as_str()).collect();
        assert!(says.len() == 1 && says[0].contains(why), "{line}: {says:?}");
        assert_eq!(imported.import.withheld[0].origin.line, 2);
    }
}

proptest! {
    #[test]
    fn no_list_panics(text in "\\PC{0,60}", rest in "[a-z0-9.=\"' /_,-]{0,60}") {
        for line in [text.clone(), format!("load.latency {rest}"), format!("machine.{rest}"), format!("machine.counts.{text}")] {
            let _ = import(&format!("published figures: x\n{line}\n"));
        }
    }
}
