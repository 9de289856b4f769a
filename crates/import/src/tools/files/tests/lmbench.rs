use crate::tools::testing::{damaged, figures, import, the};
use proptest::prelude::*;
use record::detail;

const STREAM: &str = "# numactl -C 7 -m 0 ./bin/stream -W 5 -N 5 -M 64M\nSTREAM copy latency: 1.84 nanoseconds\nSTREAM copy \
    bandwidth: 8700.75 MB/sec\nSTREAM scale latency: 1.86 nanoseconds\nSTREAM scale bandwidth: 8623.60 MB/sec\nSTREAM add \
    latency: 2.18 nanoseconds\nSTREAM add bandwidth: 10987.04 MB/sec\nSTREAM triad latency: 3.03 nanoseconds\nSTREAM triad \
    bandwidth: 7926.87 MB/sec\n";
const LATENCY: &str = "$ numactl -C 0 -m 0 ./bin/lat_mem_rd -W 5 -N 5 -t 64M\n\"stride=64\n0.00049 1.550\n0.00098 1.550\n0.04688 2.1\n48.00000 110.1\n64.00000 \
    117.323\n";

#[test]
fn nanoseconds_per_element_are_no_latency() {
    let imported = import(STREAM);
    let all = figures(&imported);
    assert_eq!(all.len(), 8, "{all:#?}");
    assert_eq!(all[0], "stream.ns_per_element op=copy cpu=7 node=0: 1.84");
    assert_eq!(all[1], "memory.bandwidth op=copy bytes_counted=stream threads=1 cpus=7 node=0: 8700750000");
    assert_eq!(all[7], "memory.bandwidth op=triad bytes_counted=stream threads=1 cpus=7 node=0: 7926870000");
    let copy = the(&imported, "stream.ns_per_element op=copy cpu=7 node=0");
    assert_eq!(copy.method.as_deref(), Some("lmbench stream"));
    assert_eq!(copy.detail.get(detail::ARRAY_BYTES), Some(64 << 20));
}

#[test]
fn outputs_in_a_row_stay_apart_and_stream2_has_its_own_operations() {
    let imported = import("STREAM copy latency: 1.84 nanoseconds\nSTREAM copy latency: 2.05 nanoseconds\n");
    assert_eq!(imported.import.outputs.len(), 2);
    let imported =
        import("STREAM2 fill latency: 0.50 nanoseconds\nSTREAM2 fill bandwidth: 16000.00 MB/sec\n");
    let fill = the(&imported, "stream.ns_per_element op=fill");
    assert_eq!(fill.method.as_deref(), Some("lmbench stream -v 2"));
    assert_eq!(
        figures(&import("$ ./bin/stream -P 4 -M 64M\nSTREAM copy bandwidth: 1.00 MB/sec\n")),
        ["memory.bandwidth op=copy bytes_counted=stream threads=4: 1000000"]
    );
}

#[test]
fn a_latency_curve_has_its_sizes_in_bytes_and_its_method() {
    let imported = import(LATENCY);
    assert_eq!(
        figures(&imported),
        [
            "load.latency cpu=0 node=0 bytes=512: 1.55",
            "load.latency cpu=0 node=0 bytes=1024: 1.55",
            "load.latency cpu=0 node=0 bytes=49152: 2.1",
            "load.latency cpu=0 node=0 bytes=50331648: 110.1",
            "load.latency cpu=0 node=0 bytes=67108864: 117.323",
        ]
    );
    let last = the(&imported, "load.latency cpu=0 node=0 bytes=67108864");
    assert_eq!(last.method.as_deref(), Some("lmbench lat_mem_rd -t, stride 64"));
    let two = import("\"stride=64\n1.00000 5.1\n\"stride=128\n1.00000 6.1\n");
    assert_eq!(two.import.outputs.len(), 2);
    assert_eq!(two.measurements[1].method.as_deref(), Some("lmbench lat_mem_rd, stride 128"));
}

proptest! {
    #[test]
    fn no_damaged_output_panics(latency in any::<bool>(), at in 0usize..2000, cut in 0usize..40, with in "\\PC{0,12}") {
        let _ = import(&damaged(if latency { LATENCY } else { STREAM }, at, cut, &with));
    }
}
