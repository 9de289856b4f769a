//! The machines that ship, and what the documents that they come from concluded, as the program prints it.

use record::Record;
use record::comparison::{Comparison, Support};

use crate::support::{linespeed, ran, run, share_of};

/// What `linespeed ARGS` prints, words with one space between.
#[track_caller]
fn said(args: &[&str]) -> String {
    let mut command = linespeed(args);
    command.env("COLUMNS", "160");
    run(command).succeeds().stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What `linespeed compare` prints of these machines.
#[track_caller]
fn compared(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("reference:{name}")).collect();
    let with = |first: &[&'static str]| {
        said(&first.iter().copied().chain(names.iter().map(String::as_str)).collect::<Vec<_>>())
    };
    with(&["compare"]) + " " + &with(&["compare", "--all"])
}

/// Checks that all of these stand in a text, in this order.
#[track_caller]
fn in_order(text: &str, words: &[&str]) {
    let mut rest = text;
    for word in words {
        let at = rest.find(word).unwrap_or_else(|| panic!("no {word:?} (in this order) in:\n{text}"));
        rest = &rest[at + word.len()..];
    }
}

#[test]
fn the_list_names_every_machine_and_each_is_a_record_that_says_where_its_figures_stood() {
    let (list, mut names) = (said(&["reference", "--all"]), Vec::new());
    for name in [
        "hygon-5280",
        "hygon-7280",
        "hygon-7280-interleaved",
        "xeon-8269cy",
        "xeon-8269cy-numa",
        "xeon-e5-2682-v4",
        "xeon-8163",
        "kunpeng-920-4826",
        "phytium-ft-2500",
        "sunway-3231",
        "epyc-7h12",
        "cloud-server-1",
        "cloud-server-2",
        "cloud-server-3",
        "cloud-server-4",
        "i7-6500u",
        "load-generator-72",
        "load-generator-196",
        "graviton-2",
        "graviton-3",
        "graviton-4",
        "altra-max",
        "altra-vm",
        "grace",
        "xeon-8360y",
        "xeon-8380",
        "xeon-8375c",
        "xeon-gold-6348",
        "xeon-8468",
        "xeon-max-9460",
        "epyc-7r13",
        "epyc-7v73x",
        "epyc-9274f",
        "epyc-9534",
        "epyc-9655",
        "yitian-710",
        "kunpeng-920-7270z",
        "hygon-c86-4g-7490",
    ] {
        assert!(list.contains(name), "{list}");
        names.push(name);
    }
    for name in share_of("the_list_names_every_machine", 3, names) {
        let text = said(&["reference", name, "--all"]);
        in_order(&text, &["Imported results from", "Sources of the results", &format!("reference:{name}")]);
        let record: Record =
            serde_json::from_str(&ran(["reference", name, "--json"]).succeeds().stdout).unwrap();
        let lines = ran(["reference", name, "--text"]).succeeds().stdout;
        for m in &record.measurements {
            let origin = m.origin.as_ref().expect("a figure says where it stood");
            let line = lines.lines().nth(origin.line as usize - 1).unwrap_or("");
            assert!(line.contains(origin.says.trim()), "{name}: {origin:?} against {line:?}");
        }
    }
    // The page names the line of each figure.
    let page = ran(["reference", "load-generator-196", "--html"]).succeeds().stdout;
    assert!(page.contains("published figures, line 12") && page.contains("Notes and contradictions"));
}

#[test]
fn what_a_document_says_in_two_ways_stands_on_the_first_screen() {
    let texts: [(&str, &[&str]); 6] = [
        ("i7-6500u", &["12.4454 %", "is 11.51 %", "11.2556 %", "is 11.67 %"]),
        ("hygon-7280", &["Zen 2", "is Zen 1", "2.0 and as 2.1 GHz"]),
        ("kunpeng-920-4826", &["lscpu shows 1 NUMA node, numactl shows 4"]),
        ("hygon-5280", &["0.2 of a core", "13 % more", "counted over the whole system"]),
        ("xeon-8269cy", &["half a core", "about 17 % more"]),
        ("load-generator-196", &["49 a package", "read on another machine", "one period"]),
    ];
    for (name, words) in texts {
        let text = said(&["show", &format!("reference:{name}")]);
        let screen = text.split("What costs speed").next().unwrap();
        in_order(screen, &["Notes and contradictions"]);
        for word in words {
            assert!(screen.contains(word), "{name}: no {word:?} in {screen}");
        }
    }
}

#[test]
fn the_bigger_load_generator_is_said_to_wait_for_its_memory_before_anything_else() {
    let text = compared(&["load-generator-72", "load-generator-196"]);
    in_order(
        &text,
        &[
            "load-generator-196 is no faster than load-generator-72",
            "2.72× the cores at 1.14× the clock",
            "largest first: memory time per element",
            "75.0 % of accesses remote, at 1.54× the local latency",
            "50.0 %",
            "speed of memory devices (2100 MT/s vs. 2900 MT/s)",
            "Unexplained: at least 1.66×",
            "processes bound to nodes",
            "Estimate for a memory-bound program: 2.84× to 3.52× the current speed",
            "Observed: 3.60×",
            "(baseline)",
        ],
    );
    in_order(&said(&["plan", "reference:load-generator-196"]), &["4 processes, one per node", "1.41×"]);
}

#[test]
fn cloud_servers_are_ordered_and_the_slowest_does_not_lose_to_its_caches() {
    let all = compared(&["cloud-server-1", "cloud-server-2", "cloud-server-3", "cloud-server-4"]);
    in_order(
        &all,
        &[
            "cloud-server-1 (11.0 µs), cloud-server-3 (18.0 µs), cloud-server-4 (41.0 µs) and cloud-server-2 (55.0 µs)",
            "cloud-server-4 is faster than cloud-server-2 but has less",
            "From the fastest record to the slowest, the load average increases",
            "Not supported by the results: interference from neighbors on the host",
        ],
    );
    let two = compared(&["cloud-server-2", "cloud-server-4"]);
    in_order(
        &two,
        &[
            "cloud-server-4 is 1.34× as fast as cloud-server-2",
            "Contradicted by the results: the caches",
            "the number of CPUs",
            "Not supported by the results: local load (load average 1.17 on cloud-server-2, 1.09 on cloud-server-4",
            "neighbors on the host",
        ],
    );
}

#[test]
fn a_long_power_has_its_order_and_ipc_of_the_whole_system_is_refused() {
    let names = ["xeon-8269cy", "kunpeng-920-4826", "hygon-5280", "phytium-ft-2500"];
    let text = compared(&names);
    in_order(
        &text,
        &[
            "xeon-8269cy (18.6 s), kunpeng-920-4826 (24.6 s), hygon-5280 (26.7 s) and phytium-ft-2500 (39.7 s)",
            "Not comparable: core.ipc",
            "hygon-5280 and phytium-ft-2500 (counted system-wide",
        ],
    );
    assert!(text.contains("memory on other sockets takes 3.10× as long to access as local memory"), "{text}");
    let mut args = vec!["compare".to_owned(), "--json".to_owned()];
    args.extend(names.iter().map(|name| format!("reference:{name}")));
    let said: Comparison = serde_json::from_str(&ran(args).succeeds().stdout).unwrap();
    let row = said
        .rows
        .iter()
        .find(|row| row.what.to_string().starts_with("instructions per cycle, 7^999999"))
        .expect("IPC");
    let values: Vec<Option<f64>> =
        row.cells.iter().map(|cell| cell.value.map(|v| (v * 100.0).round())).collect();
    assert_eq!(values, [Some(219.0), Some(184.0), None, None]);
    assert!(row.cells[2].doubt.as_ref().is_some_and(|why| why.to_string().contains("system-wide")));
    let claim = said
        .explanations
        .iter()
        .flat_map(|e| &e.claims)
        .find(|c| c.code == "comparison-claim-ipc" && c.claim.to_string().contains("hygon"));
    assert_eq!(claim.expect("judged").support, Support::NotSupported);
}

#[test]
fn openssl_scales_as_its_figures_say() {
    let hygon = said(&["reference", "hygon-5280", "--all"]);
    assert!(hygon.contains("SMT siblings add 13.1 %") && hygon.contains("0.131 of a core"), "{hygon}");
    let both = compared(&["xeon-8269cy", "hygon-5280"]);
    assert!(both.contains("SMT adds about 17.3 % if all 52 cores are as fast as the 32 measured"), "{both}");
    assert!(both.contains("8 KiB blocks are excluded: xeon-8269cy is an outlier there"), "{both}");
    let kunpeng = compared(&["hygon-5280", "kunpeng-920-4826"]);
    assert!(kunpeng.contains("(64 B to 8 KiB): 100 % of linear scaling with 96 threads"), "{kunpeng}");
}

#[test]
fn each_layer_is_held_against_the_fastest() {
    let text = said(&["reference", "i7-6500u", "--all"]);
    in_order(
        &text,
        &[
            "kernel none off 1.35 G cycles +0 %",
            "guest kernel none off 1.36 G cycles +1.03 %",
            "kernel cpu on 1.43 G cycles +6.63 %",
            "guest user cpu 3 on 1.50 G cycles +11.5 %",
            "guest user none on 1.50 G cycles +11.7 %",
            "kernel none on 1.51 G cycles +12.1 %",
        ],
    );
}

#[test]
fn dies_interleaved_or_not_are_alike_for_a_program_that_ignores_nodes() {
    let text = compared(&["hygon-7280", "hygon-7280-interleaved"]);
    in_order(&text, &["no difference without NUMA binding. With NUMA binding, hygon-7280 is 1.43× as fast"]);
}

#[test]
fn a_plan_of_many_nodes_is_one_that_each_tool_takes() {
    let text = ran(["plan", "--all", "reference:phytium-ft-2500"]).succeeds().stdout;
    in_order(
        &text,
        &["16 processes, one per node, each with 8 threads", "numactl --cpunodebind=15 --membind=15 COMMAND"],
    );
}

#[test]
fn nobody_is_told_to_run_a_tool_on_a_published_machine() {
    for machine in share_of("nobody_is_told_to_run_a_tool_on_a_published_machine", 3, reference::MACHINES) {
        let record: Record =
            serde_json::from_str(&said(&["show", &format!("reference:{}", machine.name), "--json"])).unwrap();
        let advised: Vec<_> = record.coverage.iter().filter(|of| of.remedy.is_some()).collect();
        assert!(advised.is_empty(), "{}: {advised:?}", machine.name);
    }
}

#[test]
fn a_record_and_a_line_stand_beside_what_was_published_of_their_like() {
    let like = |args: &[&str]| -> serde_json::Value {
        let args: Vec<&str> = ["reference", "--json", "--like"].iter().chain(args).copied().collect();
        serde_json::from_str(&ran(&args).succeeds().stdout).unwrap()
    };
    let line = like(&["MLC idle latency 142 ns on EPYC 9554"]);
    assert_eq!(line["design"], "AMD Zen 4 (Genoa)");
    let figure = &line["figures"][0];
    assert_eq!((&figure["position"], &figure["range"][1]), (&"high".into(), &125.0.into()), "{line}");
    assert!(figure["sources"].as_array().is_some_and(|sources| sources.len() > 1), "{line}");

    let record = like(&["reference:xeon-8269cy-numa"]);
    assert_eq!(record["design"], "Intel Cascade Lake-SP (Xeon Scalable 2nd gen)");
    let latency = |like: &serde_json::Value| {
        let all = like["figures"].as_array().unwrap();
        all.iter().find(|row| row["what"] == "memory latency, own node").unwrap().clone()
    };
    assert_eq!(latency(&record)["position"], "normal", "{record}");
    let folder = crate::support::folder();
    for name in ["hygon-5280", "hygon-7280"] {
        let json = ran(["reference", name, "--json"]).succeeds().stdout;
        std::fs::write(folder.path().join(format!("{name}.json")), json).unwrap();
    }
    let among = like(&["reference:hygon-7280", "--among", folder.path().to_str().unwrap()]);
    assert_eq!((&among["among"], &latency(&among)["percentile"]), (&2.into(), &0.75.into()), "{among}");

    ran(["reference", "--like", "idle latency 142 ns"]).fails(3, &["processor"]);
    ran(["reference", "--like", "142 ns on EPYC 9554", "--among", "."]).fails(2, &["--among"]);
}
