//! Tables of results, as the user describes them.

use super::*;
use crate::Table;

fn several(text: &str, split: &str, tables: &[&str]) -> Vec<Imported> {
    let tables = tables.iter().map(|table| Table::parse(table).expect("a mapping")).collect();
    let mut importer = Importer::new(Split::parse(split).expect("a valid division")).with_tables(tables);
    importer.read("text", text.as_bytes()).expect("reading from memory does not fail");
    importer.finish().expect("machines")
}

#[test]
fn ordinary_tables_are_read_as_the_user_says() {
    let text = "### Host kernel\n\n| NO BIND | BIND |\n|:-:|:-:|\n| <b>1508746974</b> | 1434743820 |\n\n### Shares\n\n| NO BIND | BIND |\n|---|---|\n| 12.1% | 6.6% |\n";
    let layers = several(text, "x^", &["layer.time: heading=layer, cols=bound, unit=ticks"]);
    let expected = [
        "layer.time layer=Host kernel bound=NO BIND: 1508746974",
        "layer.time layer=Host kernel bound=BIND: 1434743820",
    ];
    assert_eq!(figures(&layers[0]), expected, "percentages are not ticks");
    let text = "|  | seconds | IPC |\n|---|---|---|\n| One | 26.7 | 0.92 |\n| Two | 18,6 | 2.19 |\n";
    let machines = several(
        text,
        "x^",
        &[
            "workload.time: rows=machine, col=seconds, workload=bc, unit=s",
            "core.ipc: rows=machine, col=IPC, workload=bc",
        ],
    );
    assert_eq!(
        machines.iter().map(|machine| machine.name.clone().unwrap()).collect::<Vec<_>>(),
        ["One", "Two"]
    );
    assert_eq!(figures(&machines[1]), ["workload.time workload=bc: 18.6", "core.ipc workload=bc: 2.19"]);
    for wrong in
        ["workload.time: rows=bandwidth", "no.metric: rows=cpu", "workload.time", "workload.time: rows"]
    {
        assert!(Table::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn cells_with_remarks_lists_and_rows_without_a_label_are_read() {
    let text = "## Copy\n\n| CPU | pinned | copy ns |\n|---|---|---|\n| FT 2500 | cpu7 -> n0 | 2.84 |\n| | cpu7 -> n1 | 3.16 |\n\
        | Xeon | cpu0 / 16 -> n0 | 1.15 / 1.12 |\n\n## Select\n\n| cores | Hygon 7280 | Hygon 7280 Kylin | Hygon 7280 CentOS |\n|---|---|---|---|\n\
        | 1 | 13441 (.46) | 10236 | 12000 |\n| HT pair | 59199 (.60); 8 cores 31210 | - | 1996l |\n\n## Clock\n\n| CPU | clock |\n|---|---|\n| Xeon | 2.5G |\n";
    let copies = "stream.ns_per_element: below=Copy, rows=machine, cpu=pinned, col=copy ns, op=copy";
    let selects =
        "workload.throughput: below=Select, rows=threads, cols=machine, workload=\"a \"b\"\", unit=queries/s";
    let clocks = "core.clock: below=Clock, rows=machine, col=clock, unit=GHz";
    let machines = several(text, "x^", &[copies, selects, clocks]);
    let of = |name: &str| machines.iter().find(|one| one.name.as_deref() == Some(name)).expect("a machine");
    assert_eq!(machines.len(), 5, "names that begin alike are several machines");
    let copied: Vec<_> = of("FT 2500").measurements.iter().map(Measurement::value).collect();
    assert_eq!(copied, [2.84, 3.16]);
    assert_eq!(of("Xeon").measurements[0].samples, [1.15, 1.12]);
    assert_eq!(of("Xeon").measurements[1].value(), 2.5e9);
    let selected: Vec<_> = of("Hygon 7280").measurements.iter().map(Measurement::value).collect();
    assert_eq!(selected, [13441.0, 59199.0]);
    assert_eq!(of("Hygon 7280").measurements[0].labels.word(record::Label::Workload), Some("a \"b\""));
    assert_eq!(of("Hygon 7280 Kylin").measurements.len(), 1);
    let centos = of("Hygon 7280 CentOS");
    assert_eq!((centos.measurements.len(), centos.import.withheld.len()), (1, 1), "1996l is reported");
}

#[test]
fn an_empty_first_cell_continues_only_a_label() {
    let text = "| bc | aes |\n|---|---|\n| 18.6 | 2.1 |\n| | 2.2 |\n";
    let machines = several(text, "x^", &["workload.time: cols=workload"]);
    let all = |at: usize| -> Vec<f64> {
        let place = ["bc", "aes"].map(|name| format!("workload.time workload={name}: "));
        let found = figures(&machines[0]).into_iter();
        found.filter_map(|one| one.strip_prefix(&place[at])?.parse().ok()).collect()
    };
    assert_eq!((all(0), all(1)), (vec![18.6], vec![2.1, 2.2]), "bc was measured once");
    let text = "| CPU | bc |\n|---|---|\n| Xeon | 18.6 |\n| | 18.7 |\n| EPYC | 9 |\n";
    for table in ["workload.time: machine=CPU, cols=workload", "workload.time: rows=machine, cols=workload"] {
        let machines = several(text, "x^", &[table]);
        let values: Vec<Vec<f64>> =
            machines.iter().map(|one| one.measurements.iter().map(Measurement::value).collect()).collect();
        assert_eq!(values, [vec![18.6, 18.7], vec![9.0]], "{table}");
    }
}

#[test]
fn only_labels_of_a_row_make_a_list_of_a_cell() {
    let text = "| CPU | 4 KiB | 2 MiB |\n|---|---|---|\n| Xeon | 1.2 / 3.4 | 2.2 / 4.4 |\n| EPYC | 1.5 | 2.5 / 4.5 |\n\
        | cpu0 / 16 | 1.3 / 1.4 | 2.3 / 2.4 |\n";
    let machines = several(text, "x^", &["load.latency: rows=machine, cols=page, unit=ns"]);
    let values: Vec<(Option<&str>, Vec<&[f64]>)> = machines
        .iter()
        .map(|one| (one.name.as_deref(), one.measurements.iter().map(|m| &m.samples[..]).collect()))
        .collect();
    let listed: Vec<&[f64]> = vec![&[1.3, 1.4], &[2.3, 2.4]];
    assert_eq!(values, [(Some("EPYC"), vec![&[1.5][..]]), (Some("cpu0 / 16"), listed)]);
    assert_eq!(machines[0].import.withheld.len(), 1, "reading and writing are not samples of one result");
    let text = "| cache | rate | cpu |\n|---|---|---|\n| L1/L2 | 2.5 GB/s | 0 |\n| L3 | 1.5 / 1.6 | 0/1 |\n";
    let rates = "memory.bandwidth: machine=cache, col=rate, work=cpu, unit=GB/s";
    let samples: Vec<Vec<f64>> = several(text, "x^", &[rates])
        .iter()
        .flat_map(|one| one.measurements.iter().map(|m| m.samples.clone()))
        .collect();
    assert_eq!(samples, [vec![2.5e9], vec![1.5e9, 1.6e9]], "a unit with a slash is not a list");
}

#[test]
fn tables_that_are_not_read_are_reported() {
    let read = |text: &str, tables: &[&str]| {
        let tables = tables.iter().map(|table| Table::parse(table).expect("a mapping")).collect();
        let mut importer = Importer::new(Split::Hosts).with_tables(tables);
        importer.read("text", text.as_bytes()).expect("reading from memory does not fail");
        importer.finish().expect_err("nothing is read")
    };
    let text = "| a | b |\n|---|---|\n| x | 1 |\n| y | 2 |\n";
    assert_eq!(read(text, &[]), crate::Error::NothingKnown { lines: 4, rows: 2 });
    let other = "workload.time: rows=workload, col=c";
    assert_eq!(read(text, &[other]), crate::Error::UnusedTable(other.to_owned()));
}
