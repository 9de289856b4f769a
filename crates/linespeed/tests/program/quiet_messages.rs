//! `linespeed quiet` where something stands in the way, and whom it tells what: other users, a command below another session,
//! a program that reads JSON.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::quiet::{FILE, KNOB, ended, may, send, started, value};
use crate::support::confine::{Confine, no_mounts};
use crate::support::{Ran, alone, folder, linespeed, machines, program, ran, root, run, skipped};

/// Root's journal and lock.
const JOURNAL: &str = "/var/lib/linespeed/quiet.journal";
const LOCK: &str = "/var/lib/linespeed/quiet.lock";

/// A copy of the program that every user may run.
fn copy(folder: &Path) -> PathBuf {
    let copy = folder.join("linespeed");
    crate::support::copied_to(&copy);
    copy
}

/// A text without its line ends.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The only JSON document in a text.
#[track_caller]
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Runs it with root's state folder empty, in a mount namespace of its own, and this done before.
fn with_state(before: &str, words: &str) -> Ran {
    let mut command = Command::new("sh");
    let script = format!("mkdir -p /var/lib/linespeed && {before} && exec \"$0\" {words}");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_linespeed")]).env("HOME", crate::support::HOME);
    run(command.with_empty("/var/lib"))
}

#[test]
fn any_user_is_reported_what_root_has_set_by_whom_and_what_to_do() {
    let Some((_alone, before)) = may("any_user_is_told_what_root_has_set_by_whom_and_what_to_do") else {
        return;
    };
    let folder = folder();
    let copy = copy(folder.path());
    let by_nobody = |words: &[&str]| {
        let mut command = program(&copy, words);
        command.env("HOME", folder.path());
        run(command.by_nobody())
    };
    ran(["quiet", "--apply", KNOB]).succeeds();
    let reported = by_nobody(&["quiet", "--status"]);
    let restored = by_nobody(&["quiet", "--restore"]);
    let state = json(&by_nobody(&["quiet", "--status", "--json"]).stdout);
    let seen = by_nobody(&["quiet"]).stdout;
    ran(["quiet", "--restore"]).succeeds();
    assert_eq!(value(), before);
    for text in [&reported.stdout, &restored.stdout].map(|text| one_line(text)) {
        for part in
            ["Root has set knobs: 1 value set by process", "--apply", "sudo linespeed quiet --restore"]
        {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
    }
    assert!(seen.contains("Root has set knobs"), "{seen}");
    assert!(reported.stdout.contains(FILE), "{reported:?}");
    assert_eq!((reported.code, restored.code), (Some(1), Some(1)));
    assert_eq!((&state["state"], &state["root"]["state"]), (&"set by root".into(), &"stands".into()));
    assert_eq!(state["root"]["values"][0]["path"], FILE);
    assert_eq!(by_nobody(&["quiet", "--status"]).code, Some(0));
}

#[test]
fn arguments_of_a_command_are_not_reported_to_everybody() {
    let Some((_alone, _)) = may("arguments_of_a_command_are_not_told_to_everybody") else { return };
    let mut child = started("echo; : password=secret; exec sleep 60");
    let journal = std::fs::read_to_string(JOURNAL).unwrap();
    send(child.0.id(), libc::SIGTERM);
    child.0.wait().unwrap();
    assert!(journal.contains("-- sh …") && !journal.contains("secret"), "{journal}");
}

#[test]
fn with_somebody_elses_home_it_says_so_and_does_what_it_can() {
    let _alone = alone();
    if !root() {
        return skipped("with_somebody_elses_home_it_says_so_and_does_what_it_can", "it needs root");
    }
    let (folder, home) = (folder(), tempfile::tempdir().unwrap());
    let only_root = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(home.path(), only_root).unwrap();
    let copy = copy(folder.path());
    let by_nobody = |words: &[&str]| {
        let mut command = program(&copy, words);
        command.env("HOME", home.path());
        run(command.by_nobody())
    };
    for words in
        [&["quiet"][..], &["quiet", "--status"], &["quiet", "--restore"], &["quiet", "ionice", "--", "true"]]
    {
        let done = by_nobody(words);
        assert!(matches!(done.code, Some(0 | 1)), "{words:?}: {done:?}");
        assert!(!format!("{done:?}").contains("ermission denied"), "{words:?}: {done:?}");
    }
    let reported = by_nobody(&["quiet", "--status"]).stderr;
    assert!(reported.contains("belongs to another user") && reported.contains("HOME"), "{reported}");
}

#[test]
fn a_captured_machine_is_not_offered_what_only_a_running_one_has() {
    let folder = folder();
    let tree = folder.path().join("tree");
    machines::write(
        &tree,
        &[("sys/devices/system/cpu/online", "0-3\n"), ("proc/sys/kernel/nmi_watchdog", "1\n")],
    );
    let path = tree.to_str().unwrap();
    let text = ended(&["quiet", "--root", path], 0).stdout;
    assert!(text.contains("1 of the 2 knobs in this tree adds noise"), "{text}");
    for part in ["--apply", "on a running machine", "the host's"] {
        assert!(!text.contains(part), "{part:?} in {text}");
    }
    std::fs::write(tree.join("proc/sys/kernel/nmi_watchdog"), "0\n").unwrap();
    let text = ended(&["quiet", "--root", path], 0).stdout;
    assert!(text.contains("knobs in this tree adds avoidable noise") && !text.contains("Quiet:"), "{text}");
}

#[test]
fn json_of_a_command_is_one_document_however_it_ended() {
    let _alone = alone();
    for (command, code) in [("/no/such/program", 127), ("/", 126)] {
        let done = ended(&["quiet", "ionice", "--json", "--", command], code);
        let reported = json(&done.stderr);
        assert_eq!((done.stdout.as_str(), &reported["exit"]), ("", &code.into()));
        assert!(reported["error"].as_str().unwrap().contains(command), "{reported}");
        assert_eq!(reported["turned"][0]["knob"], "ionice");
    }
    let done = ended(&["quiet", "ionice", "--json", "--", "sh", "-c", "echo out; exit 5"], 5);
    let reported = json(&done.stderr);
    assert_eq!(
        (done.stdout.as_str(), &reported["exit"], &reported["error"]),
        ("out\n", &5.into(), &Value::Null)
    );
    let folder = folder();
    let file = folder.path().join("told.json");
    let words =
        ["quiet", "ionice", "--json", "--output", file.to_str().unwrap(), "--", "sh", "-c", "echo err >&2"];
    assert_eq!(ended(&words, 0).stderr, "err\n");
    assert_eq!(json(&std::fs::read_to_string(file).unwrap())["exit"], 0);
    ran(["quiet", "ionice", "--json", "--output", "/no/such/folder/file", "--", "true"])
        .fails(3, &["/no/such/folder"]);
}

#[test]
fn a_dry_run_tells_what_becomes_of_the_page_cache() {
    let would = |json: &[&str]| {
        ran([&["quiet", "ionice", "--dry-run"], json, &["--drop-caches", "--", "true"]].concat())
            .succeeds()
            .stdout
    };
    let text = would(&[]);
    assert!(text.contains("dropped on the whole machine"), "{text}");
    assert_eq!(json(&would(&["--json"]))["drop_caches"], true);
}

#[test]
fn below_another_session_a_command_runs_as_it_is_and_is_reported() {
    let Some((_alone, before)) = may("below_another_session_a_command_runs_as_it_is_and_is_told") else {
        return;
    };
    let program = env!("CARGO_BIN_EXE_linespeed");
    let inner = |words: &str| ran(["quiet", KNOB, "--", "sh", "-c", &format!("'{program}' quiet {words}")]);
    let done = inner(&format!("-- sh -c 'cat {FILE}; exit 7'"));
    assert_eq!((done.code, done.stdout.as_str()), (Some(7), "10\n"), "{done:?}");
    assert!(
        done.stderr.contains("already made quiet by process")
            && done.stderr.contains("which runs this command"),
        "{done:?}"
    );
    // What is set already may be asked for once more; what is not is refused, and so are CPUs.
    assert_eq!(inner(&format!("{KNOB} -- true")).code, Some(0));
    inner("perf-cpu-time -- true").fails(3, &["perf-cpu-time", "request it there"]);
    inner("--cpus 0 -- true").fails(3, &["does not cover CPU 0", "request it there"]);
    for words in ["--apply", "--restore"] {
        inner(words).fails(3, &[words, "when it ends"]);
    }
    assert_eq!(value(), before);
}

#[test]
fn after_apply_a_command_runs_and_is_reported_what_is_still_open() {
    let Some((_alone, before)) = may("after_apply_a_command_runs_and_is_told_what_is_still_open") else {
        return;
    };
    ran(["quiet", "--apply", KNOB]).succeeds();
    let done = ran(["quiet", "--", "cat", FILE]);
    // The command's own is given it all the same, and that is said.
    let own = ran(["quiet", "nice", "--", "nice"]);
    let named = ran(["quiet", "perf-cpu-time", "--", "true"]);
    let same = ran(["quiet", KNOB, "--", "true"]);
    ran(["quiet", "--restore"]).succeeds();
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "10\n"), "{done:?}");
    assert!(done.stderr.contains("already set by the session active since"), "{done:?}");
    if own.code == Some(0) && own.stdout == "-20\n" {
        assert!(own.stderr.contains("nothing else was set, except during this run: nice"), "{own:?}");
    }
    named.fails(3, &["perf-cpu-time", "linespeed quiet --restore"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    assert_eq!(value(), before);
}

#[test]
fn values_that_stand_though_nobody_could_be_reported_are_reported_of() {
    let Some((_alone, before)) = may("values_that_stand_though_nobody_could_be_told_are_told_of") else {
        return;
    };
    let mut command = linespeed(["quiet", "--apply", KNOB]);
    command.stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let output = command.output().unwrap();
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    ran(["quiet", "--restore"]).succeeds();
    assert_eq!(output.status.code(), Some(3), "{reported}");
    assert!(reported.contains("the values are set") && reported.contains("--restore"), "{reported}");
    assert_eq!(value(), before);
}

#[test]
fn what_lies_in_the_way_is_named_with_a_way_out() {
    let name = "what_lies_in_the_way_is_named_with_a_way_out";
    let Some((_alone, before)) = may(name) else { return };
    if let Some(why) = no_mounts() {
        return skipped(name, &why);
    }
    let apply = format!("quiet --apply {KNOB}");
    with_state(&format!("ln -s /etc/hostname {LOCK}"), &apply)
        .fails(3, &["quiet.lock: it is a symbolic link", "remove it"]);
    with_state(&format!("ln -s /etc/hostname {JOURNAL}"), &apply)
        .fails(3, &["it is a symbolic link", "remove it"]);
    with_state(&format!("echo x >{JOURNAL}"), &apply).fails(3, &["line 1", "remove it"]);
    with_state(&format!("echo x >{JOURNAL} && chmod 666 {JOURNAL}"), &apply)
        .fails(3, &["other users can write to it"]);
    with_state(&format!("echo x >{JOURNAL} && chown 65534 {JOURNAL}"), &apply).fails(3, &["another user"]);
    with_state("chmod 777 /var/lib/linespeed", &apply).fails(3, &["writable by other users", "chmod go-w"]);
    let audit = with_state(&format!("echo x >{JOURNAL}"), "quiet").stdout;
    assert!(audit.contains("No knob can be set now") && !audit.contains("For a command"), "{audit}");
    assert_eq!(value(), before);
    // Of an empty one nothing was ever set.
    let done = with_state(&format!(": >{JOURNAL}"), &format!("quiet {KNOB} -- cat {FILE}"));
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "10\n"), "{done:?}");
    with_state(&format!(": >{JOURNAL}"), "quiet --status").succeeds();
    assert_eq!(value(), before);
}

#[test]
fn a_journal_that_is_emptied_meanwhile_takes_nothing_from_putting_back() {
    let name = "a_journal_that_is_emptied_meanwhile_takes_nothing_from_putting_back";
    let Some((_alone, before)) = may(name) else { return };
    let done = ran(["quiet", KNOB, "--", "sh", "-c", &format!(": >{JOURNAL}; cat {FILE}")]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "10\n"), "{done:?}");
    assert_eq!(value(), before);
    let mut child = started(&format!(": >{JOURNAL}; echo; exec sleep 60"));
    send(child.0.id(), libc::SIGKILL);
    child.0.wait().unwrap();
    crate::quiet::is_back(&before);
}

#[test]
fn without_a_lasting_folder_that_can_be_written_the_boots_own_is_taken() {
    let name = "without_a_lasting_folder_that_can_be_written_the_boots_own_is_taken";
    let Some((_alone, before)) = may(name) else { return };
    if let Some(why) = no_mounts() {
        return skipped(name, &why);
    }
    let script = format!("ls /run/linespeed; cat {FILE}");
    let command = linespeed(["quiet", KNOB, "--", "sh", "-c", &script]);
    let done = run(command.with_empty("/run").with_reading_only("/var"));
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "quiet.journal\nquiet.lock\n10\n"), "{done:?}");
    let command = linespeed(["quiet", "--apply", KNOB]);
    let done = run(command.with_reading_only("/run").with_reading_only("/var"));
    done.fails(3, &["/var/lib/linespeed", "read-only"]);
    assert_eq!(value(), before);
}

#[test]
fn where_nice_counts_in_a_session_only_it_says_so_and_is_worth_no_more() {
    let name = "where_nice_counts_in_a_session_only_it_says_so_and_is_worth_no_more";
    let root_folder = machine::Root::live();
    let Some(words) = quiet::knobs::nice_scope_limit(&root_folder) else {
        return skipped(name, "nice counts against everybody here");
    };
    let reported = json(&ran(["quiet", "--json", "nice"]).stdout);
    let row = &reported["knobs"][0];
    if row["state"] == "noisy" {
        assert_eq!(
            (&row["notes"][0], &row["worth"]["at_most"]),
            (&words.to_string().into(), &Value::Null),
            "{row}"
        );
    }
    if root() {
        let done = ended(&["quiet", "nice", "--", "true"], 0);
        assert!(done.stderr.contains(&format!("nice: {words}")), "{done:?}");
    }
}

#[test]
fn siblings_that_cannot_be_set_are_refused_as_boost_is() {
    // While another test holds the knobs, that is what is said.
    let _beside = crate::support::beside_others();
    let row = json(&ran(["quiet", "--json", "smt"]).stdout)["knobs"][0].clone();
    if row["state"] != "absent" {
        return skipped("siblings_that_cannot_be_set_are_refused_as_boost_is", "there are siblings");
    }
    let why = row["why"].as_str().unwrap();
    for words in [&["quiet", "smt", "--", "true"][..], &["quiet", "smt", "--apply"]] {
        ran(words).fails(3, &["smt: ", why]);
    }
}

/// Where control groups of version 1 have their cpusets.
const CPUSETS: &str = "/sys/fs/cgroup/cpuset";

/// Has a command find its own group of cpusets.
const OWN_GROUP: &str = "own=/sys/fs/cgroup/cpuset$(grep :cpuset: /proc/self/cgroup | cut -d: -f3)";

/// The last CPU, for a test of a shield of version 1.
fn last_of_two(test: &str) -> Option<u32> {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let online: record::CpuList = online.trim().parse().unwrap();
    if online.len() < 2 || !Path::new(CPUSETS).join("cpuset.cpus").exists() {
        skipped(test, "it needs two CPUs and cpusets of version 1");
        return None;
    }
    online.iter().last()
}

#[test]
fn whoever_stays_on_the_commands_cpus_is_named() {
    let name = "whoever_stays_on_the_commands_cpus_is_named";
    let Some((_alone, _)) = may(name) else { return };
    let Some(last) = last_of_two(name) else { return };
    let mut bound = Command::new("sleep");
    bound.arg("60");
    let mut bound = bound.on_cpu(last).spawn().unwrap();
    let done = ran(["quiet", "--cpus", &last.to_string(), "shield", "--", "true"]);
    bound.kill().unwrap();
    bound.wait().unwrap();
    // Threads of other tests may be bound there, too, and are named beside it.
    let (who, stays) =
        (format!("sleep ({})", bound.id()), format!("pinned to CPU {last} may still run there"));
    let is_named = done.stderr.lines().any(|line| line.contains(&who) && line.contains(&stays));
    assert!(done.code == Some(0) && is_named, "{done:?}");
}

#[test]
fn a_group_that_cannot_be_removed_names_what_is_in_it_and_is_no_success() {
    let name = "a_group_that_cannot_be_removed_names_what_is_in_it_and_is_no_success";
    let Some((_alone, _)) = may(name) else { return };
    let Some(last) = last_of_two(name) else { return };
    // The kernel removes no folder that something is mounted on.
    let script = format!("{OWN_GROUP}; mkdir $own/theirs && mount -t tmpfs none $own/theirs");
    let done = ran(["quiet", "--cpus", &last.to_string(), "shield", "--", "sh", "-c", &script]);
    let groups: Vec<String> = std::fs::read_dir(CPUSETS)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter(|name| name.starts_with("linespeed-"))
        .collect();
    for group in &groups {
        Command::new("umount").arg(Path::new(CPUSETS).join(group).join("theirs")).status().unwrap();
    }
    let after = ran(["quiet", "--restore"]);
    // What everybody else is in goes all the same.
    assert!(groups.len() == 1 && groups[0].starts_with("linespeed-quiet-"), "{groups:?}");
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.stderr.contains("other groups (theirs)") && done.stderr.contains("--restore"), "{done:?}");
    assert_eq!(after.code, Some(0), "{after:?}");
}

#[test]
fn groups_that_the_command_makes_inside_the_shield_go_with_it_and_nobody_stays_confined() {
    let name = "groups_that_the_command_makes_inside_the_shield_go_with_it_and_nobody_stays_confined";
    let Some((_alone, _)) = may(name) else { return };
    let Some(last) = last_of_two(name) else { return };
    let own = |file: &str| std::fs::read_to_string(Path::new(CPUSETS).join(file)).unwrap();
    let (cpus, mems) = (own("cpuset.cpus"), own("cpuset.mems"));
    let (cpus, mems) = (["cpuset.cpus", cpus.trim()], ["cpuset.mems", mems.trim()]);
    let group = crate::support::cgroup::Group::new("cpuset", &[(cpus, cpus), (mems, mems)]).unwrap();
    let mut other = Command::new("sleep");
    other.arg("60");
    let mut other = other.in_group(&group).spawn().unwrap();
    let allowed = || os::pin::affinity(other.id() as i32).unwrap();
    let before = allowed();
    let script = format!(
        "{OWN_GROUP}; mkdir -p $own/deep/deeper; for file in cpuset.cpus cpuset.mems; do \
         cat $own/$file >$own/deep/$file; cat $own/$file >$own/deep/deeper/$file; done; \
         (echo 0 >$own/deep/deeper/cgroup.procs; exec sleep 0.5) & true"
    );
    let command = ["quiet", "--cpus", &last.to_string(), "shield", "--", "sh", "-c", &script];
    let done = run(linespeed(command).in_group(&group));
    let after = allowed();
    other.kill().unwrap();
    other.wait().unwrap();
    let restored = ran(["quiet", "--restore"]);
    assert_eq!((done.code, restored.code), (Some(0), Some(0)), "{done:?} {restored:?}");
    assert_eq!(after, before, "a task of somebody else's stays confined: {done:?}");
    let left = std::fs::read_dir(group.path()).unwrap().flatten().filter(|entry| entry.path().is_dir());
    assert_eq!(left.count(), 0);
}

#[test]
fn two_containers_whose_processes_have_the_same_numbers_do_not_take_each_others_shield_down() {
    let name = "two_containers_whose_processes_have_the_same_numbers_do_not_take_each_others_shield_down";
    let Some((_alone, _)) = may(name) else { return };
    let Some(last) = last_of_two(name) else { return };
    if let Some(why) = no_mounts() {
        return skipped(name, &why);
    }
    let ours = linespeed(["quiet", "--cpus", &last.to_string(), "shield", "--"]);
    let words: Vec<&str> = ours.get_args().map(|word| word.to_str().unwrap()).collect();
    // Each has a state of its own, and no first process's number.
    let script = format!(
        "mount -t tmpfs -o mode=755 none /var/lib && {} {} sh -c 'sleep {{}}; grep :cpuset: /proc/self/cgroup'; true",
        ours.get_program().to_str().unwrap(),
        words.join(" ")
    );
    let container = |seconds: &str| {
        let mut command = Command::new("unshare");
        command.args(["-pfm", "--mount-proc", "sh", "-c", &script.replace("{}", seconds)]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let first = container("3");
    std::thread::sleep(std::time::Duration::from_millis(1200));
    let second = container("0.2").wait_with_output().unwrap();
    let first = first.wait_with_output().unwrap();
    let groups = [&first, &second].map(|done| String::from_utf8_lossy(&done.stdout).trim().to_owned());
    for group in &groups {
        assert!(group.contains("linespeed-quiet-"), "{first:?} {second:?}");
    }
    assert_ne!(groups[0], groups[1]);
}
