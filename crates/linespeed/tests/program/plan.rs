//! `linespeed plan`: machines of many shapes, lines that the tools take, and commands run both ways.

use record::Label;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use record::Record;
use record::difference::Verdict;
use record::plan::Plan;

use crate::support::machines::unpack;
use crate::support::started::Started;
use crate::support::{Ran, emulated, folder, linespeed, measured, ran, run, skipped};

/// The captured machine `name` as a record in `place`.
fn captured(name: &str, place: &Path) -> String {
    let root = unpack(name, place).join(name);
    let record = place.join("record.json");
    ran([
        "inspect".as_ref(),
        "--root".as_ref(),
        root.as_os_str(),
        "-q".as_ref(),
        "-o".as_ref(),
        record.as_os_str(),
    ])
    .succeeds();
    record.to_str().unwrap().to_owned()
}

/// Runs `linespeed plan ARGS --json`.
#[track_caller]
fn planned(args: &[&str]) -> Plan {
    let all = ["plan"].into_iter().chain(args.iter().copied()).chain(["--json"]);
    serde_json::from_str(&ran(all).succeeds().stdout).expect("the plan is JSON")
}

/// A record of two nodes of two CPUs each, with what other nodes' memory costs.
fn two_nodes() -> String {
    let cpu = |id: u32| {
        format!(
            r#"{{"id":{id},"online":true,"allowed":true,"core":{id},"node":{},"siblings":[{id}]}}"#,
            id / 2
        )
    };
    let node = |id: u32| {
        let (first, last) = (id * 2, id * 2 + 1);
        format!(
            r#"{{"id":{id},"cpus":"{first}-{last}","bytes":68719476736,"distances":[10,20],"allowed":true}}"#
        )
    };
    let cell = |from: u32, to: u32| {
        let ns = if from == to { 100.0 } else { 180.0 };
        format!(
            r#"{{"metric":"numa.latency","unit":"ns","where":{{"from":{from},"to":{to}}},
            "summary":{{"n":1,"min":{ns},"median":{ns},"mad":0,"max":{ns}}},"samples":[{ns}]}}"#
        )
    };
    let list = |of: &dyn Fn(u32) -> String, count: u32| (0..count).map(of).collect::<Vec<_>>().join(",");
    format!(
        r#"{{"schema":1,"tool":{{"name":"linespeed","version":"0"}},"started":"2026-01-02T03:04:05Z",
        "machine":{{"counts":{{"nodes":2,"cpus_online":4}},"cpus":[{}],"nodes":[{}]}},"measurements":[{}]}}"#,
        list(&cpu, 4),
        list(&node, 2),
        list(&|at| cell(at / 2, at % 2), 4)
    )
}

#[test]
fn captured_machines_get_the_plans_of_their_shapes() {
    let place = folder();
    let arm = captured("128arm-2pa2n8cluster4co", place.path());
    let text = ran(["plan", "--all", &arm]).succeeds().stdout;
    assert!(text.starts_with("4 processes, one per node, each with 32 threads"), "{text}");
    assert!(text.contains("linespeed run numa"), "no figure, and no word of it:\n{text}");
    let two = planned(&[&arm, "--processes", "2"]);
    let nodes: Vec<String> = two.processes.iter().map(|process| process.nodes.to_string()).collect();
    // The packages, by the firmware's distances.
    assert_eq!(nodes, ["0-1", "2-3"]);
    let place = folder();
    let eight = planned(&[&captured("16amd64-8n2c", place.path())]);
    assert_eq!((eight.processes.len(), eight.processes[7].cpus.to_string().as_str()), (8, "14-15"));
    let place = folder();
    let offline = planned(&[&captured("16em64t-4s2c2t-offlines", place.path())]);
    assert!(offline.cpus().intersection(&"2,5,13-14".parse().unwrap()).is_empty(), "{:?}", offline.processes);
    let place = folder();
    let hybrid = planned(&[&captured("20em64t-hybrid-1p6c2t+2ca4co1t", place.path())]);
    assert!(
        hybrid.cautions.iter().any(|says| says.to_string().contains("efficiency cores on CPUs 12-19")),
        "{hybrid:?}"
    );
}

#[test]
fn a_plan_of_two_nodes_names_its_gain_in_every_form() {
    let place = folder();
    let record = place.path().join("two.json");
    std::fs::write(&record, two_nodes()).unwrap();
    let record = record.to_str().unwrap();
    for (columns, color) in [("40", "never"), ("80", "never"), ("160", "always")] {
        let mut command = linespeed(["plan", "--all", record, "--color", color]);
        command.env("COLUMNS", columns);
        let text = run(command).succeeds().stdout;
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("2 processes, one per node") && flat.contains("1.40×"), "{text}");
        let wide = text.lines().filter(|line| !line.contains('\x1b')).map(|line| line.chars().count()).max();
        assert!(wide <= columns.parse().ok(), "{text}");
    }
    let plan = planned(&[record]);
    assert!((plan.gains[0].factor - 1.4).abs() < 1e-9 && plan.gains[0].interval.is_none());
    let file = place.path().join("plan.json");
    ran(["plan", record, "-q", "-o", file.to_str().unwrap()]).succeeds();
    assert_eq!(serde_json::from_slice::<Plan>(&std::fs::read(&file).unwrap()).unwrap(), plan);
    let lines = "numactl --cpunodebind=0 --membind=0 COMMAND\nnumactl --cpunodebind=1 --membind=1 COMMAND\n";
    assert_eq!(ran(["plan", record, "--as", "numactl"]).succeeds().stdout, lines);
    assert_eq!(ran(["plan", record, "--as", "numactl", "-o", file.to_str().unwrap()]).succeeds().stdout, "");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), lines);
    let page = ran(["show", record, "--html"]).succeeds().stdout;
    assert!(page.contains("Program placement") && page.contains("--cpunodebind=1"));
}

/// Lines of one tool for a plan of this machine's CPUs.
fn lines_here(tool: &str, more: &[&str]) -> String {
    let mut args = vec!["plan", "--as", tool];
    args.extend(more);
    ran(args).succeeds().stdout
}

fn cpus_here() -> record::CpuList {
    let record: Record = serde_json::from_str(&ran(["inspect", "--json"]).succeeds().stdout).unwrap();
    record.machine.allowed_cpus()
}

#[test]
fn taskset_takes_the_lines_as_they_are() {
    if emulated() {
        return skipped("taskset_takes_the_lines_as_they_are", "an emulator shows another machine's CPUs");
    }
    let first = cpus_here().first().unwrap().to_string();
    let lines = lines_here("taskset", &["--processes", "1", "--threads", "1", "--cpus", &first]);
    // Of one CPU there is nothing to choose when the machine has no other.
    let line = lines.lines().next().unwrap().replace("COMMAND", "grep Cpus_allowed_list /proc/self/status");
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]);
    assert!(run(shell).succeeds().stdout.trim_end().ends_with(&format!("\t{first}")), "{line}");
}

#[test]
fn systemd_takes_the_settings_as_they_are() {
    if !Path::new("/usr/bin/systemd-analyze").exists() {
        return skipped("systemd_takes_the_settings_as_they_are", "no systemd-analyze here");
    }
    let place = folder();
    let record = place.path().join("two.json");
    std::fs::write(&record, two_nodes()).unwrap();
    for more in [&[][..], &["--processes", "1"], &["--processes", "4"]] {
        let mut args = vec!["plan", record.to_str().unwrap(), "--as", "systemd"];
        args.extend(more);
        let text = ran(args).succeeds().stdout;
        for (number, block) in text.split("[Service]").skip(1).enumerate() {
            let settings: String =
                block.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
            assert!(settings.contains("NUMAPolicy=") && settings.contains("NUMAMask="), "{text}");
            let unit = place.path().join(format!("layout{number}.service"));
            std::fs::write(&unit, format!("[Service]\nExecStart=/bin/true{settings}")).unwrap();
            let mut verify = Command::new("systemd-analyze");
            verify.arg("verify").arg("--man=no").arg(&unit);
            let said = run(verify);
            // It complains of a line that it does not understand, and ends well nevertheless.
            let about = said.stderr.lines().filter(|line| line.contains("layout")).collect::<Vec<_>>();
            assert!(about.is_empty(), "{about:?}\n{settings}");
        }
    }
}

#[test]
fn numactl_and_docker_lines_are_whole() {
    let place = folder();
    let record = place.path().join("two.json");
    std::fs::write(&record, two_nodes()).unwrap();
    let as_ = |tool: &str| ran(["plan", record.to_str().unwrap(), "--as", tool]).succeeds().stdout;
    for line in as_("docker").lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [docker, run, cpus, mems, image] = words[..] else { panic!("{line}") };
        assert_eq!((docker, run, image), ("docker", "run", "IMAGE"));
        for (word, name) in [(cpus, "--cpuset-cpus="), (mems, "--cpuset-mems=")] {
            let list: record::CpuList = word.strip_prefix(name).unwrap().parse().unwrap();
            assert!(!list.is_empty(), "{line}");
        }
    }
    // A machine that has numactl may have other nodes; it checks the words of the line before.
    assert!(as_("numactl").lines().all(|line| line.starts_with("numactl --cpunodebind=")));
}

#[test]
fn this_machines_plan_takes_the_figures_of_its_records() {
    let state = folder();
    let plan = |args: &[&str]| {
        let mut command = linespeed(["plan", "--json"].iter().chain(args));
        command.env("XDG_STATE_HOME", state.path());
        serde_json::from_str::<Plan>(&run(command).succeeds().stdout).unwrap()
    };
    let pages = |plan: &Plan| plan.unknown.iter().any(|says| says.to_string().contains("huge pages"));
    let before = plan(&[]);
    assert!(pages(&before) && before.sources.is_empty(), "{before:?}");
    // A record of this machine with a latency curve, as a run leaves it.
    let mut record: Record = serde_json::from_str(&ran(["inspect", "--json"]).succeeds().stdout).unwrap();
    let place = record::Labels::new()
        .with_label(Label::Cpu, 0u32)
        .with_label(Label::Bytes, 4096u32)
        .with_label(Label::Page, "4KiB");
    record.measurements.push(record::Measurement::new("load.latency", place, vec![1.0; 6]));
    let ours = state.path().join("linespeed");
    std::fs::create_dir_all(&ours).unwrap();
    let host = record.machine.hostname.clone().unwrap_or("machine".to_owned());
    std::fs::write(ours.join(format!("{host}-20260102T030405Z.json")), record.to_json().unwrap()).unwrap();
    std::fs::write(ours.join(format!("{host}-20260103T030405Z.json")), "{ broken").unwrap();
    let after = plan(&[]);
    assert!(!pages(&after) && after.sources[0].to_string().starts_with("load.latency from 20"), "{after:?}");
    assert!(!after.sources[0].to_string().contains("unreliable"), "{after:?}");
    // A newer one whose figures are in doubt stands behind it, and alone it is taken with a word on that.
    let mut noisy = record.clone();
    noisy.measurements[0].doubt = Some("too noisy: another user of the CPU".into());
    let newer = ours.join(format!("{host}-20260104T030405Z.json"));
    std::fs::write(&newer, noisy.to_json().unwrap()).unwrap();
    let beside_newer = plan(&[]).sources[0].to_string();
    let why = beside_newer.strip_prefix(&after.sources[0].to_string());
    assert!(why.is_some_and(|why| why.contains("0104T") && why.contains("unreliable")), "{beside_newer}");
    std::fs::remove_file(ours.join(format!("{host}-20260102T030405Z.json"))).unwrap();
    let doubtful = plan(&[]).sources;
    assert!(
        doubtful[0].to_string().contains("0104T") && doubtful[0].to_string().contains("unreliable"),
        "{doubtful:?}"
    );
    std::fs::remove_file(&newer).unwrap();
    // Another machine's figures are not this one's.
    record.machine.processor.model_name = Some("another".to_owned());
    std::fs::write(ours.join(format!("{host}-20260102T030405Z.json")), record.to_json().unwrap()).unwrap();
    assert!(pages(&plan(&[])));
}

#[test]
fn what_cannot_be_planned_is_said_in_a_line() {
    let place = folder();
    let empty = place.path().join("empty.json");
    std::fs::write(&empty, r#"{"schema":1,"tool":{"name":"x","version":"0"},"started":""}"#).unwrap();
    let empty = empty.to_str().unwrap();
    ran(["plan", empty]).fails(3, &["empty.json", "lists neither the machine's CPUs nor several NUMA nodes"]);
    ran(["plan", "/nonexistent/x.json"]).fails(3, &["/nonexistent/x.json"]);
    ran(["plan", "reference:no-such-machine"]).fails(2, &["no-such-machine"]);
    ran(["plan", "--processes", "0"]).fails(2, &["--processes 0", "use 1 to"]);
    ran(["plan", "--cpus", "65000"]).fails(2, &["--cpus 65000", "usable CPUs: "]);
    ran(["plan", "--", "ls"]).fails(2, &["--verify -- ls"]);
    ran(["plan", "--verify"]).fails(2, &["nothing to run", "-- COMMAND"]);
    let two = ran(["plan", "--verify", empty, "--", "true"]);
    two.fails(2, &["--verify runs the command on this machine", "omit", "empty.json"]);
    let two = ran(["plan", "--verify", "--as", "numactl", "--", "true"]);
    two.fails(2, &["--verify", "--as", "omit one option"]);
    ran(["plan", "--quick"]).fails(2, &["plan does not support --quick"]);
    ran(["plan", "--verify", "--timeout", "0s", "--", "true"]).misused(&["--timeout", "30s"]);
    ran(["plan", "--verify", "--", "no-such-program-here"]).fails(127, &["command not found"]);
    measured(linespeed(["plan", "--verify", "--", "sh", "-c", "echo no table >&2; exit 4"]))
        .fails(3, &["exited with code 4", "no table"]);
    measured(linespeed(["plan", "--verify", "--timeout", "200ms", "--", "sleep", "30"]))
        .fails(3, &["--timeout"]);
}

/// The plan that `--verify` printed.
fn verification(ran: &Ran) -> record::plan::Verification {
    serde_json::from_str::<Plan>(&ran.stdout).unwrap().verification.expect("it was verified")
}

#[test]
fn a_command_runs_both_ways_and_each_process_knows_what_it_is() {
    let cpus = cpus_here();
    if cpus.len() < 2 {
        return skipped("a_command_runs_both_ways", "one CPU");
    }
    let place = folder();
    let line = format!("echo {{process}} {{threads}} {{cpus}} {{node}} >> {}/said", place.path().display());
    let args = [
        "plan",
        "--verify",
        "--processes",
        "2",
        "--threads",
        "1",
        "-r",
        "6",
        "--json",
        "--",
        "sh",
        "-c",
        &line,
    ];
    let verified = verification(&measured(linespeed(args)).succeeds());
    assert_eq!((verified.planned.len(), verified.unbound.len(), verified.ratio.n), (6, 6, 6));
    assert!(
        verified.verdict.is_some() && verified.how.to_string().starts_with("2 processes bound to"),
        "{verified:?}"
    );
    let said = std::fs::read_to_string(place.path().join("said")).unwrap();
    let count = |words: &str| said.lines().filter(|line| line.starts_with(words)).count();
    // Six rounds of both, a trial of all and one of the first.
    assert_eq!((count("0 1 "), count("1 1 ")), (14, 13), "{said}");
    let distinct: std::collections::BTreeSet<&str> = said.lines().collect();
    assert_eq!(distinct.len(), 4, "as planned each has its own CPU, unbound all:\n{said}");
}

#[test]
fn a_command_that_is_reported_nothing_runs_as_a_copy_for_each_thread() {
    let place = folder();
    let line = format!("grep Cpus_allowed_list /proc/self/status >> {}/said", place.path().display());
    let args = ["plan", "--verify", "-r", "1", "--json", "--", "sh", "-c", &line];
    let verified = verification(&measured(linespeed(args)).succeeds());
    assert_eq!(verified.verdict, Some(Verdict::TooNoisy { rounds_needed: Some(5) }), "{}", verified.says);
    let said = std::fs::read_to_string(place.path().join("said")).unwrap();
    let copies = said.lines().count();
    assert_eq!(copies % 3, 1, "two runs, a trial of all and one of the first: {copies}");
}

#[test]
fn a_signal_ends_all_copies_and_keeps_what_was_measured() {
    let mark = format!("300.{}", std::process::id());
    let _beside = crate::support::beside_others();
    let line = format!("sleep {mark} & wait");
    let mut command = linespeed(["plan", "--verify", "-v", "-r", "6", "--json", "--", "sh", "-c"]);
    // The trials are short; later runs wait for ever.
    let place = folder();
    let flag = place.path().join("runs");
    command.arg(format!("echo x >> {0}; [ $(wc -l < {0}) -gt 20 ] && {{ {line}; }}; true", flag.display()));
    let started = Started::new(command);
    let from = Instant::now();
    while !alive(&mark) {
        assert!(from.elapsed() < Duration::from_secs(60), "no copy ever waited");
        std::thread::sleep(Duration::from_millis(20));
    }
    started.send(libc::SIGINT);
    let ended = started.ended();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let verified = verification(&ended);
    assert!(verified.says.to_string().starts_with("Interrupted by signal 2 after"), "{}", verified.says);
    assert_eq!(verified.planned.len(), verified.unbound.len());
    assert!(!alive(&mark), "a copy outlived it");
}

#[test]
fn kill_9_in_the_middle_leaves_no_copy() {
    if emulated() {
        return skipped("kill_9_in_the_middle_leaves_no_copy", "the processes are the emulator's");
    }
    let mark = format!("301.{}", std::process::id());
    let line = format!("env -i setsid sleep {mark} & sleep {mark}");
    let started = Started::new(linespeed(["plan", "--verify", "--", "sh", "-c", &line]));
    let soon = |what: &str, true_now: &dyn Fn() -> bool| {
        let from = Instant::now();
        while !true_now() {
            assert!(from.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    soon("no copy began", &|| alive(&mark));
    started.send(libc::SIGKILL);
    assert_eq!(started.ended().signal, Some(libc::SIGKILL));
    soon("a copy outlived it", &|| !alive(&mark));
}

#[test]
fn a_run_whose_rest_is_ended_by_the_timeout_is_no_figure() {
    if emulated() {
        return skipped("a_run_whose_rest_is_ended_by_the_timeout_is_no_figure", "nobody but init adopts");
    }
    let ran = run(linespeed([
        "plan",
        "--verify",
        "--timeout",
        "500ms",
        "--",
        "sh",
        "-c",
        "setsid sleep 302 & true",
    ]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("it exceeded the --timeout of 0.5 s"), "{}", ran.stderr);
}

#[test]
fn a_kill_ends_all_copies_too() {
    if emulated() {
        return skipped(
            "a_kill_ends_all_copies_too",
            "the emulator has threads of its own, so no guard is posted",
        );
    }
    let mark = format!("303.{}", std::process::id());
    let _beside = crate::support::beside_others();
    let mut command = linespeed(["plan", "--verify", "--json", "--", "sh", "-c"]);
    // Every second copy leaves its shell behind, in a session of its own.
    command.arg(format!("sleep {mark} & setsid sleep {mark} & wait"));
    let started = Started::new(command);
    let from = Instant::now();
    while !alive(&mark) {
        assert!(from.elapsed() < Duration::from_secs(60), "no copy ever waited");
        std::thread::sleep(Duration::from_millis(20));
    }
    started.send(libc::SIGKILL);
    let ended = started.ended();
    assert_eq!(ended.code, None, "{ended:?}");
    let from = Instant::now();
    while alive(&mark) {
        assert!(from.elapsed() < Duration::from_secs(60), "a copy outlived it");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process with this in its command line runs.
fn alive(mark: &str) -> bool {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).any(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.starts_with(b"sleep\0") && line.windows(mark.len()).any(|part| part == mark.as_bytes())
    })
}
