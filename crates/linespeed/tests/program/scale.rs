//! `linespeed scale`: every recipe for real, commands of all kinds, and nothing left behind whatever happens.

use record::Label;
use record::detail;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use record::{Ended, Record, State};

use crate::support::cgroup::Group;
use crate::support::confine::Confine;
use crate::support::started::Started;
use crate::support::{
    Ran, emulated, figures, folder, has_its_turn, linespeed, lost, measured, program, ran, run, says_lost,
    skipped, sound,
};

/// `linespeed scale ARGS` whose temporary folders lie in `place`.
pub fn scale(place: &Path, args: &[&str]) -> std::process::Command {
    let mut command = linespeed(["scale"].iter().chain(args));
    command.env("TMPDIR", place).env("XDG_CONFIG_HOME", place.join("config"));
    command
}

/// CPUs that may be used.
pub fn cpus() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().parse::<record::CpuList>().unwrap().len()
}

/// Processes whose command line or environment holds `mark`.
pub fn processes(mark: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let holds = |pid: u32, file: &str| {
        let content = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        content.windows(mark.len()).any(|part| part == mark.as_bytes())
    };
    pids.filter(|pid| *pid != std::process::id() && (holds(*pid, "cmdline") || holds(*pid, "environ")))
        .collect()
}

/// Waits until a condition holds.
#[track_caller]
pub fn soon(what: &str, mut holds: impl FnMut() -> bool) {
    let from = Instant::now();
    while !holds() {
        assert!(from.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A number of seconds to sleep that no other process of this machine sleeps: it marks a test's processes.
pub fn long_sleep(test: u32) -> String {
    format!("100{test}.{}", std::process::id())
}

pub fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

/// Whether there is such a program here.
pub fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(more).any(|folder| folder.join(program).is_file())
}

/// Recipes that are run for real, each by a test of its own.
const RECIPES: [&str; 10] = [
    "bc-pi",
    "bc-power",
    "likwid-stream",
    "mysql-oltp-read-only",
    "mysql-point-select",
    "openssl-speed",
    "stream",
    "stress-ng-matrix",
    "sysbench-cpu",
    "sysbench-memory",
];

#[test]
fn a_cipher_that_openssl_3_does_not_have_is_said_with_what_does_that_work() {
    let place = folder();
    // As OpenSSL 3 answers.
    let fake = place.path().join("openssl");
    let says = "#!/bin/sh\necho 'speed: Unknown algorithm aes-256-ige' >&2\nexit 1\n";
    std::fs::write(&fake, says).unwrap();
    std::fs::set_permissions(&fake, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command =
        scale(place.path(), &["--recipe", "openssl-speed", "--quick", "--set", "algorithm=aes-256-ige"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", place.path().display()));
    let ran = run(command);
    assert_ne!(ran.code, Some(0));
    let lines: Vec<&str> =
        ran.stderr.lines().filter(|line| line.contains("OpenSSL 3 has no aes-256-ige")).collect();
    assert!(lines.len() == 1 && lines[0].contains("linespeed run workloads"), "{ran:?}");
    assert!(!ran.stderr.contains("Unknown algorithm"), "{ran:?}");
}

/// Runs a recipe on small settings, for real.
fn for_real(recipe: &str, programs: &[&str], unit: &str) {
    if !has_its_turn(&RECIPES, recipe) {
        return;
    }
    if let Some(missing) = programs.iter().find(|program| !installed(program)) {
        return skipped(recipe, &format!("{missing} is not installed"));
    }
    let place = folder();
    let ran = measured(scale(place.path(), &["--recipe", recipe, "--quick", "--json"]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(is_empty(place.path()), "{recipe} left files behind");
    let record = ran.record();
    assert_eq!(record.ended, Ended::Complete);
    let steps: Vec<_> = record.measurements_of("workload.throughput").collect();
    assert!(!steps.is_empty() && steps.len() >= cpus().min(2), "{:#?}", lost(&record, ""));
    for step in steps {
        assert_eq!(step.labels.word(Label::Workload), Some(recipe));
        assert_eq!(step.detail.get(detail::WORK), Some(unit));
        assert!(step.value() > 0.0);
    }
    assert_eq!(record.diagnosis.scaling.is_empty(), cpus() < 2, "how it scales is not told");
}

#[test]
fn bc_power() {
    for_real("bc-power", &["bc"], "runs");
}

#[test]
fn bc_pi() {
    for_real("bc-pi", &["bc"], "runs");
}

#[test]
fn sysbench_cpu() {
    for_real("sysbench-cpu", &["sysbench"], "events");
}

#[test]
fn sysbench_memory() {
    for_real("sysbench-memory", &["sysbench"], "B");
}

#[test]
fn openssl_speed() {
    for_real("openssl-speed", &["openssl"], "B");
}

#[test]
fn stress_ng_matrix() {
    for_real("stress-ng-matrix", &["stress-ng"], "bogo ops");
}

#[test]
fn mysql_oltp_read_only() {
    for_real("mysql-oltp-read-only", &["mariadbd", "mariadb-install-db", "sysbench"], "transactions");
}

#[test]
fn mysql_point_select() {
    for_real("mysql-point-select", &["mariadbd", "mariadb-install-db", "sysbench"], "queries");
}

#[test]
fn likwid_stream() {
    for_real("likwid-stream", &["likwid-bench"], "B");
}

#[test]
fn stream_is_run_by_what_is_there() {
    if !has_its_turn(&RECIPES, "stream") {
        return;
    }
    if installed("stream_c.exe") || installed("stream_c") {
        return for_real("stream", &[], "B");
    }
    let place = folder();
    let ran = measured(scale(place.path(), &["--recipe", "stream", "--quick", "--json"]));
    if !installed("likwid-bench") {
        // ImageMagick's stream is not taken for it.
        ran.fails(3, &["is not installed", "stream.c"]);
        return skipped(
            "stream_is_run_by_what_is_there",
            "neither stream_c.exe nor likwid-bench is installed",
        );
    }
    assert!(ran.stderr.contains("likwid-stream"), "{}", ran.stderr);
    let record = ran.record();
    assert!(
        record
            .measurements_of("workload.throughput")
            .all(|m| m.labels.word(Label::Workload) == Some("likwid-stream"))
    );
    says_lost(&record, "recipe stream", "is not installed");
}

#[test]
fn openssl_measures_any_algorithm() {
    if !has_its_turn(&RECIPES, "openssl-speed") {
        return;
    }
    if !installed("openssl") {
        return skipped("openssl_measures_any_algorithm", "openssl is not installed");
    }
    let place = folder();
    for (settings, unit) in [
        (&["--set", "algorithm=sha256"][..], "B"),
        (&["--set", "algorithm=rsa2048", "--set", "evp="], "signatures"),
        (&["--set", "algorithm=ecdsap256", "--set", "evp="], "signatures"),
    ] {
        let args = [&["--recipe", "openssl-speed", "--quick", "--steps", "1", "--json"], settings].concat();
        let record = measured(scale(place.path(), &args)).succeeds().record();
        let step = record.measurements_of("workload.throughput").next().unwrap();
        assert_eq!(step.detail.get(detail::WORK), Some(unit), "{settings:?}");
    }
    let args = ["--recipe", "openssl-speed", "--quick", "--set", "algorithm=rot13"];
    measured(scale(place.path(), &args)).fails(3, &["openssl-speed", "exited with code", "rot13"]);
}

/// The record of a typed command.
#[track_caller]
pub fn typed(place: &Path, options: &[&str], line: &str) -> Record {
    let args = [options, &["--json", "--", "sh", "-c", line]].concat();
    measured(scale(place, &args)).succeeds().record()
}

#[test]
fn rounds_are_interleaved_and_the_trial_does_not_count() {
    if cpus() < 2 {
        return skipped("rounds_are_interleaved_and_the_trial_does_not_count", "one CPU");
    }
    let place = folder();
    let log = place.path().join("log");
    let line = format!("echo {{threads}} >> {}", log.display());
    let record = typed(place.path(), &["-r", "3", "--steps", "1,2", "--placement", "cores-first"], &line);
    let order = std::fs::read_to_string(log).unwrap().split_whitespace().collect::<String>();
    assert_eq!(order, "1122112");
    assert!(record.measurements_of("workload.throughput").all(|m| m.summary.n == 3));
}

#[test]
fn a_commands_time_is_no_shorter_than_it_says_itself() {
    let place = folder();
    let log = place.path().join("log");
    let line = format!("a=$(date +%s%N); sleep 0.2; b=$(date +%s%N); echo $((b - a)) >> {}", log.display());
    let record = typed(place.path(), &["-r", "2", "--steps", "1"], &line);
    let own = std::fs::read_to_string(log).unwrap();
    let least = own.lines().map(|ns| ns.parse::<f64>().unwrap() / 1e9).fold(f64::INFINITY, f64::min);
    let times = record.measurements_of("workload.time").next().unwrap();
    assert_eq!((times.labels.word(Label::Workload), times.summary.n), (Some("command"), 2));
    assert!(times.summary.min >= least, "{} s, but the command itself says {least}", times.summary.min);
}

#[test]
fn a_step_that_fails_is_named_and_the_others_stay() {
    if cpus() < 2 {
        return skipped("a_step_that_fails_is_named_and_the_others_stay", "one CPU");
    }
    let place = folder();
    let record = typed(
        place.path(),
        &["--steps", "1,2", "-r", "2"],
        "test {threads} = 1 || { echo no way >&2; exit 7; }",
    );
    let threads: Vec<_> =
        record.measurements_of("workload.throughput").map(|m| m.labels.count(Label::Threads)).collect();
    assert_eq!(threads, [Some(1)]);
    says_lost(&record, "scale: 2 CPUs", "exited with code 7; its last output: no way");
}

#[test]
fn commands_that_cannot_be_measured_are_reported_in_one_line() {
    let place = folder();
    let try_it = |args: &[&str]| measured(scale(place.path(), args));
    try_it(&["--", "no-such-program-here"]).fails(127, &["no-such-program-here", "not found"]);
    try_it(&["--", "/etc/passwd"]).fails(126, &["/etc/passwd", "cannot be run"]);
    try_it(&["--", "sh", "-c", "echo broken >&2; exit 4"]).fails(3, &["exited with code 4", "broken"]);
    try_it(&["--", "sh", "-c", "kill -9 $$"]).fails(3, &["killed (signal 9)"]);
    let sleep = long_sleep(1);
    try_it(&["--timeout", "200ms", "--", "sleep", &sleep]).fails(3, &["0.2 s", "--timeout"]);
    assert_eq!(processes(&sleep), [0; 0]);
}

#[test]
fn wrong_usage_is_reported_with_the_way_out() {
    let place = folder();
    let fails = |args: &[&str], words: &[&str]| drop(run(scale(place.path(), args)).fails(2, words));
    fails(&[], &["-- COMMAND", "--recipe"]);
    fails(&["--recipe", "bc-powr"], &["did you mean bc-power?", "sysbench-cpu"]);
    fails(&["--recipe", "bc-power", "--set", "exponnt=3"], &["exponnt", "its settings: exponent"]);
    fails(&["--steps", "0,1", "--", "true"], &["--steps", "use 1 to"]);
    fails(&["--steps", "60000", "--", "true"], &["60000", "use 1 to"]);
    fails(&["--cpus", "60000", "--", "true"], &["60000", "may only use CPUs"]);
    let misused = |args: &[&str], words: &[&str]| drop(run(scale(place.path(), args)).misused(words));
    misused(&["--recipe", "bc-power", "--", "true"], &["--recipe", "COMMAND"]);
    misused(&["--recipe", "bc-power", "--set", "exponent"], &["NAME=VALUE"]);
    misused(&["--set", "a=b", "--", "true"], &["--set", "COMMAND"]);
    misused(&["-r", "0", "--", "true"], &["--repeat", "1..=10000"]);
    misused(&["--timeout", "0s", "--", "true"], &["--timeout", "30s"]);
    misused(&["--timeout", "soon", "--", "true"], &["--timeout", "soon"]);
    misused(&["--placement", "random", "--", "true"], &["random", "node-spread"]);
    misused(&["--steps", "4-1", "--", "true"], &["--steps"]);
    assert!(is_empty(place.path()));
}

#[test]
fn bad_recipes_are_reported_with_file_and_line() {
    let place = folder();
    let file = place.path().join("mine.toml");
    let tried = |text: &str| {
        std::fs::write(&file, text).unwrap();
        measured(scale(place.path(), &["--recipe", file.to_str().unwrap(), "--quick"]))
    };
    let head = "name = \"mine\"\nwhat = \"x\"\n";
    tried("name = \"mine\"\nwhat = \"x\ncommand = []\n").fails(3, &["mine.toml:2: "]);
    tried(&format!("{head}command = [\"echo\", \"{{size}}\"]\n"))
        .fails(3, &["mine.toml:3: {size}", "setting"]);
    let needs = "[[needs]]\nprogram = \"no-such-tool\"\ndebian = \"no-such-package\"\nfedora = \"other\"\n";
    let missing = tried(&format!("{head}command = [\"no-such-tool\"]\n{needs}"));
    missing.fails(3, &["no-such-tool is not installed", "install"]);
    let score = "[[score]]\npattern = \"rate: {score}\"\nunit = \"events\"\n";
    let unread = tried(&format!("{head}command = [\"echo\", \"rate unknown today\"]\n{score}"));
    unread.fails(3, &["\"rate: {score}\"", "rate unknown today"]);
    let good = tried(&format!("{head}command = [\"echo\", \"rate: 12.5\"]\n{score}"));
    assert_eq!(good.code, Some(0), "{good:?}");
    assert!(good.stdout.contains("12.5 /s"), "{}", good.stdout);
    run(scale(place.path(), &["--recipe", "nowhere/x.toml"])).fails(3, &["nowhere/x.toml", "cannot be read"]);
}

#[test]
fn recipes_are_listed_with_peoples_own() {
    let place = folder();
    let own = place.path().join("config/linespeed/recipes");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("mine.toml"), "name = \"mine\"\nwhat = \"counts sheep\"\ncommand = [\"true\"]\n")
        .unwrap();
    std::fs::write(own.join("broken.toml"), "name = ").unwrap();
    let brief = run(scale(place.path(), &["--list"])).succeeds().stdout;
    assert!(brief.contains("counts sheep") && brief.lines().count() <= 24, "{brief}");
    let text = run(scale(place.path(), &["--list", "--all"])).succeeds().stdout;
    for words in ["mysql-point-select", "counts sheep", "broken.toml:1", "--set exponent=999999"] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80));
    let json = run(scale(place.path(), &["--list", "--json"])).succeeds().stdout;
    let list: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    assert!(list.iter().any(|entry| entry["name"] == "mine" && entry["missing"].is_null()));
    assert_eq!(measured(scale(place.path(), &["--recipe", "mine", "--quick", "--json"])).code, Some(0));
}

#[test]
fn a_command_that_prints_without_end_or_reads_is_borne() {
    let place = folder();
    typed(place.path(), &["--quick", "--steps", "1"], "yes | head -c 300000000; yes | head -c 3000000 >&2");
    typed(place.path(), &["--quick", "--steps", "1"], "cat");
}

#[test]
fn what_a_command_leaves_behind_is_waited_for_and_reported() {
    if emulated() {
        return skipped("what_a_command_leaves_behind_is_waited_for_and_told", "emulated: it is not adopted");
    }
    let place = folder();
    let away = measured(scale(
        place.path(),
        &["--quick", "--steps", "1", "--json", "--", "sh", "-c", "setsid sleep 0.8 & exit 0"],
    ));
    // It may not have become `sleep` yet when it is seen first.
    assert!(away.stderr.contains("still running: s"), "{}", away.stderr);
    let record = away.record();
    says_lost(&record, "command", "the command exited before");
    // What it left behind is part of its time.
    assert!(record.measurements_of("workload.time").all(|m| m.summary.min >= 0.8));
}

#[test]
fn the_report_and_its_record() {
    let place = folder();
    let file = place.path().join("a.json");
    let args = ["--quick", "--output", file.to_str().unwrap(), "--", "sleep", "0.01"];
    let text = measured(scale(place.path(), &args)).succeeds().stdout;
    for words in ["threads", "speed-up", "Record: "] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    let record = sound::record(&std::fs::read(&file).unwrap());
    assert_eq!(figures(&record, "workload.throughput"), figures(&record, "workload.time"));
    let shown = ran(["show".as_ref(), file.as_os_str()]).succeeds().stdout;
    assert!(shown.contains("speed-up") && !shown.contains("How workloads scale"), "{shown}");
}

/// A command whose trial and first run are quick, and whose next run lasts for ever, in a process that leads a session of
/// its own below a shell.
pub fn stuck(place: &Path, sleep: &str) -> Started {
    let log = place.join("log");
    let line = format!(
        "echo x >> {0}; test $(wc -l < {0}) -le 2 || setsid sh -c 'sleep {sleep}; true' & wait; true # {{threads}}",
        log.display()
    );
    Started::new(scale(place, &["-v", "-r", "5", "--steps", "1", "--json", "--", "sh", "-c", &line]))
}

#[test]
fn a_signal_ends_every_child_and_keeps_what_was_measured() {
    if emulated() {
        return skipped("a_signal_ends_every_child_and_keeps_what_was_measured", "emulated");
    }
    for (test, (signal, code)) in
        [(2, (libc::SIGINT, 130)), (3, (libc::SIGTERM, 143)), (4, (libc::SIGHUP, 129))]
    {
        let place = folder();
        let sleep = long_sleep(test);
        let started = stuck(place.path(), &sleep);
        started.wait_for("linespeed: 1 of 5");
        soon("the command does not start", || processes(&sleep).len() >= 2);
        started.send(signal);
        let ran = started.ended();
        assert_eq!((ran.code, ran.signal), (Some(code), None), "{}", ran.stderr);
        assert_eq!(processes(&sleep), [0; 0], "processes were left behind");
        let record = ran.record();
        assert_eq!(record.ended, Ended::Interrupted { signal });
        assert_eq!(
            record.measurements_of("workload.throughput").map(|m| m.summary.n).collect::<Vec<_>>(),
            [1]
        );
    }
}

#[test]
fn kill_9_leaves_no_process_and_no_folder() {
    if emulated() {
        return skipped("kill_9_leaves_no_process_and_no_folder", "emulated");
    }
    let place = folder();
    let sleep = long_sleep(5);
    let recipe = place.path().join("mine.toml");
    let text = format!(
        "name = \"mine\"\nwhat = \"x\"\ncommand = [\"sh\", \"-c\", \"echo x > {{folder}}/file; setsid sleep {sleep} & env -i setsid sleep {sleep} & wait\"]\n"
    );
    std::fs::write(&recipe, text).unwrap();
    let started = Started::new(scale(place.path(), &["--recipe", recipe.to_str().unwrap()]));
    soon("the command does not start", || !processes(&sleep).is_empty());
    started.send(libc::SIGKILL);
    assert_eq!(started.ended().signal, Some(libc::SIGKILL));
    soon("a process was left behind", || processes(&sleep).is_empty());
    soon("the folder was left behind", || std::fs::read_dir(place.path()).unwrap().count() == 1);
}

/// A run against a database that has begun.
fn database(place: &Path) -> Option<Started> {
    if emulated() || ["mariadbd", "mariadb-install-db", "sysbench"].iter().any(|program| !installed(program))
    {
        return None;
    }
    let args = [
        "--recipe",
        "mysql-point-select",
        "--quick",
        "--set",
        "seconds=3",
        "-r",
        "20",
        "--steps",
        "1",
        "-v",
        "--json",
    ];
    Some(Started::new(scale(place, &args)))
}

/// Processes of the run that `started` is.
fn of_run(started: &Started) -> Vec<u32> {
    processes(&format!("LINESPEED_RUN={}-", started.id()))
}

#[test]
fn a_database_that_dies_leaves_nothing_behind() {
    let place = folder();
    let Some(started) = database(place.path()) else {
        return skipped(
            "a_database_that_dies_leaves_nothing_behind",
            "emulated, or no mariadbd and sysbench",
        );
    };
    started.wait_for("linespeed: 1 of 20");
    let server = of_run(&started).into_iter().find(|pid| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "mariadbd")
    });
    // SAFETY: takes numbers; the process is one of the run's own.
    unsafe { libc::kill(server.expect("no server runs") as i32, libc::SIGKILL) };
    let mark = format!("LINESPEED_RUN={}-", started.id());
    let ran = started.ended();
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("mariadbd was killed"), "{}", ran.stderr);
    assert_eq!(processes(&mark), [0; 0]);
    assert!(is_empty(place.path()), "the folder was left behind");
    let record = ran.record();
    assert!(matches!(record.ended, Ended::Failed { .. }), "{:?}", record.ended);
    assert_eq!(figures(&record, "workload.throughput"), 1, "what was measured is gone");
}

#[test]
fn ctrl_c_shuts_the_database_down() {
    // Before the server is ready, and while it is measured.
    for line in ["linespeed: mysql-point-select: preparing", "linespeed: 1 of 20"] {
        let place = folder();
        let Some(started) = database(place.path()) else {
            return skipped("ctrl_c_shuts_the_database_down", "emulated, or no mariadbd and sysbench");
        };
        started.wait_for(line);
        started.send(libc::SIGINT);
        let mark = format!("LINESPEED_RUN={}-", started.id());
        let ran = started.ended();
        assert_eq!(ran.code, Some(130), "{}", ran.stderr);
        assert_eq!(processes(&mark), [0; 0]);
        assert!(is_empty(place.path()), "the folder was left behind");
        assert_eq!(ran.record().ended, Ended::Interrupted { signal: libc::SIGINT });
    }
}

#[test]
fn a_database_runs_for_any_user_without_servers_on_the_path() {
    if ["mariadbd", "mariadb-install-db", "sysbench"].iter().any(|program| !installed(program)) {
        return skipped(
            "a_database_runs_for_any_user_without_servers_on_the_path",
            "no mariadbd and sysbench",
        );
    }
    let place = folder();
    let copy = place.path().join("linespeed");
    crate::support::copied_to(&copy);
    let work = folder();
    let args = ["scale", "--recipe", "mysql-point-select", "--quick", "--steps", "1", "--json"];
    let mut command = program(&copy, args).by_nobody();
    command.env("TMPDIR", work.path()).env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir("/");
    let record = measured(command).succeeds().record();
    assert_eq!(figures(&record, "workload.throughput"), 1, "{:#?}", lost(&record, ""));
    assert!(is_empty(work.path()));
}

#[test]
fn a_database_that_does_not_start_shows_why() {
    if ["mariadbd", "mariadb-install-db", "sysbench"].iter().any(|program| !installed(program)) {
        return skipped("a_database_that_does_not_start_shows_why", "no mariadbd and sysbench");
    }
    let place = folder();
    let args = ["--recipe", "mysql-point-select", "--quick", "--set", "memory=nonsense"];
    measured(scale(place.path(), &args)).fails(3, &["mariadbd", "nonsense"]);
    assert!(is_empty(place.path()));
}

#[test]
fn more_copies_than_memory_allows_are_refused() {
    let test = "more_copies_than_memory_allows_are_refused";
    if cpus() < 2 {
        return skipped(test, "one CPU");
    }
    let limit = (192u64 << 20).to_string();
    let settings = [(["memory.limit_in_bytes", limit.as_str()], ["memory.max", limit.as_str()])];
    match Group::new("memory", &settings) {
        Err(why) => skipped(test, &why),
        Ok(group) => {
            let place = folder();
            let args = [
                "--quick",
                "--steps",
                "1,2",
                "--json",
                "--",
                "dd",
                "if=/dev/zero",
                "of=/dev/null",
                "bs=100M",
                "count=1",
            ];
            let ran: Ran = measured(scale(place.path(), &args).in_group(&group)).succeeds();
            let record = ran.record();
            says_lost(&record, "scale: 2 CPUs", "2 copies require");
            let one: Vec<_> = record
                .measurements_of("workload.throughput")
                .map(|m| m.labels.count(Label::Threads))
                .collect();
            assert_eq!(one, [Some(1)]);
            assert_eq!(group.killed(), 0, "it tried all the same");
            assert!(record.coverage.iter().any(|c| c.what.starts_with("scale") && c.state == State::Skipped));
        }
    }
}
