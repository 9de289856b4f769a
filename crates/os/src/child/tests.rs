//! Tests commands that misbehave, as users would observe them.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use super::*;
use crate::Stop;
use record::CpuList;

fn command_line(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn shell(line: &str) -> Vec<OsString> {
    command_line(&["sh", "-c", line])
}

/// Runs a shell command line and captures both of its outputs.
fn ran(line: &str, limit: usize) -> (Ended, String, String) {
    let argv = shell(line);
    let capture = Output::Capture { limit };
    let spec =
        Spec { stdin: Input::Null, stdout: capture, stderr: capture, own_group: true, ..Spec::new(&argv) };
    let mut child = Child::spawn(&spec).unwrap();
    let ended = child.wait(&Stop::new(), None);
    let (out, err) = child.captured();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (ended, text(out), text(err))
}

fn alive(pid: i32) -> bool {
    !tree::has_ended(pid)
}

#[test]
fn codes_signals_and_outputs_come_back() {
    let (ended, out, err) = ran("echo out; echo err >&2; exit 7", 100);
    assert_eq!((ended.exit, out.as_str(), err.as_str()), (Exit::Code(7), "out\n", "err\n"));
    assert!(ended.usage.max_rss_bytes > 0 && ended.usage.minor_faults > 0, "{ended:?}");
    assert_eq!(ran("kill -9 $$", 0).0.exit, Exit::Signal(9));
}

#[test]
fn gigabytes_do_not_fill_memory() {
    let (ended, out, _) = ran("head -c 300000000 /dev/zero", 1000);
    assert_eq!(ended.exit, Exit::Code(0));
    assert!(out.contains("[299999000 bytes omitted]"), "{out:?}");
    assert!(out.len() < 1100, "{}", out.len());
}

#[test]
fn what_had_ended_before_its_command_did_not_outlive_it() {
    let (ended, ..) = ran("(sleep 0.01 &) >/dev/null 2>&1; sleep 0.5", 100);
    assert_eq!((ended.exit, &ended.left), (Exit::Code(0), &Vec::new()));
}

#[test]
fn what_forks_away_is_waited_for_and_counted() {
    let line =
        "(trap '' HUP; sleep 0.2; head -c 30000000 /dev/zero | cksum >/dev/null) >/dev/null 2>&1 & exit 0";
    let (ended, ..) = ran(line, 100);
    assert_eq!(ended.exit, Exit::Code(0));
    if !become_subreaper() {
        // Under user-mode emulation, only init adopts processes.
        return;
    }
    assert!(!ended.left.is_empty(), "the process that it left behind was not noticed");
    assert!(ended.wall >= Duration::from_millis(200), "{ended:?}");
    assert!(ended.usage.user + ended.usage.system > 0.0);
}

#[test]
fn a_gated_child_waits_and_starts_when_it_is_let() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("began");
    let argv = command_line(&["touch", file.to_str().unwrap()]);
    let mut child = Child::spawn(&Spec { gate: true, ..Spec::new(&argv) }).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert!(!file.exists() && child.exit().is_none());
    child.release();
    assert_eq!(child.started(), Ok(()));
    assert_eq!(child.wait(&Stop::new(), None).exit, Exit::Code(0));
    assert!(file.exists());
    // Reporting the end twice gives the same result.
    assert_eq!(child.wait(&Stop::new(), None).exit, Exit::Code(0));
}

#[test]
fn a_child_runs_where_and_with_what_it_was_reported() {
    let folder = tempfile::tempdir().unwrap();
    let cpu = crate::current_cpu().unwrap();
    let cpus: CpuList = [cpu].into_iter().collect();
    let argv = shell("pwd; echo $GREETING; grep Cpus_allowed_list /proc/self/status; cat");
    let env = [(OsString::from("GREETING"), OsString::from("hi"))];
    let spec = Spec {
        cpus: Some(&cpus),
        stdin: Input::Null,
        stdout: Output::Capture { limit: 1000 },
        env: &env,
        folder: Some(folder.path()),
        own_group: true,
        ..Spec::new(&argv)
    };
    let mut child = Child::spawn(&spec).unwrap();
    assert_eq!(child.wait(&Stop::new(), None).exit, Exit::Code(0));
    let out = String::from_utf8(child.captured().0).unwrap();
    let real = folder.path().canonicalize().unwrap();
    assert_eq!(out, format!("{}\nhi\nCpus_allowed_list:\t{cpu}\n", real.display()));
}

#[test]
fn children_are_timed_each_for_itself() {
    let (short, long) = (command_line(&["sleep", "0.05"]), command_line(&["sleep", "0.4"]));
    let mut first = Child::spawn(&Spec { gate: true, ..Spec::new(&long) }).unwrap();
    let mut second = Child::spawn(&Spec { gate: true, ..Spec::new(&short) }).unwrap();
    first.release();
    second.release();
    let ends = wait_all(&mut [&mut first, &mut second], &Stop::new(), None, &mut |_: &[Process]| {});
    assert!(ends[0].wall >= Duration::from_millis(400), "{ends:?}");
    // The short command has its own time, not that of the previous command.
    assert!(ends[1].wall < ends[0].wall, "{ends:?}");
}

/// A watcher during whose second check the child with this number exits. The check then takes long, as if this process had been stopped.
struct Slow {
    looks: u32,
    pid: i32,
    ends: std::path::PathBuf,
}

impl Watcher for Slow {
    fn tick(&mut self) -> Duration {
        self.looks += 1;
        if self.looks == 2 {
            std::fs::write(&self.ends, "").unwrap();
            let from = Instant::now();
            while alive(self.pid) {
                assert!(from.elapsed() < Duration::from_secs(60), "it does not end");
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(Duration::from_millis(600));
        }
        Duration::from_millis(20)
    }
}

#[test]
fn an_end_during_a_look_is_known_to_be_seen_late() {
    let folder = tempfile::tempdir().unwrap();
    let ends = folder.path().join("ends");
    let argv = shell(&format!("while [ ! -e {} ]; do sleep 0.01; done", ends.display()));
    let mut child = Child::spawn(&Spec::new(&argv)).unwrap();
    let mut slow = Slow { looks: 0, pid: child.pid(), ends };
    let ends = wait_all(&mut [&mut child], &Stop::new(), None, &mut slow);
    assert!(ends[0].late >= Duration::from_millis(500), "{ends:?}");
}

#[test]
fn a_command_that_cannot_be_started_says_why_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str, mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let refused = |argv: &[&str], gate: bool| {
        let argv = command_line(argv);
        let spec = Spec { gate, ..Spec::new(&argv) };
        let error = match Child::spawn(&spec) {
            Err(error) => error,
            Ok(mut child) => {
                child.release();
                child.started().expect_err("it started")
            }
        };
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
        error
    };
    let script = file("script", "#!/nonexistent/perl\n", 0o755);
    let plain = file("plain", "echo hi\n", 0o644);
    let foreign = file("foreign", "\x7fELF\x02\x01\x01 not really", 0o755);
    for gate in [false, true] {
        for (argv, hint) in [
            (&["no-such-program"][..], Hint::NotOnPath),
            (&["/no/such"], Hint::NoSuchFile),
            (&["echo hi | wc"], Hint::ShellLine),
            (&["cd"], Hint::ShellBuiltin),
            (&[""], Hint::Empty),
            (&[], Hint::Empty),
        ] {
            let error = refused(argv, gate);
            let program = argv.first().copied().unwrap_or_default().to_owned();
            assert_eq!((error.code(), error), (127, SpawnError::NotFound { program, hint }));
        }
        for (program, why) in [
            ("/tmp", NotExecutable::Folder),
            (&plain, NotExecutable::NoPermission(plain.clone())),
            (&script, NotExecutable::NoInterpreter("/nonexistent/perl".to_owned())),
            (&foreign, NotExecutable::OtherArchitecture),
        ] {
            let error = refused(&[program], gate);
            let program = program.to_owned();
            assert_eq!((error.code(), error), (126, SpawnError::NotExecutable { program, why }));
        }
    }
    let nowhere: CpuList = [60_000].into_iter().collect();
    let argv = command_line(&["true"]);
    let error = Child::spawn(&Spec { cpus: Some(&nowhere), ..Spec::new(&argv) }).unwrap_err();
    let why = Obstacle::NoSuchCpus("60000".to_owned());
    assert_eq!(error, SpawnError::Other { program: "true".to_owned(), why });
}

#[test]
fn a_file_of_shell_commands_runs_as_a_shell_would_run_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    std::fs::write(&path, "exit $1\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let argv = command_line(&[path.to_str().unwrap(), "9"]);
    let mut child = Child::spawn(&Spec::new(&argv)).unwrap();
    assert_eq!(child.wait(&Stop::new(), None).exit, Exit::Code(9));
}

/// Starts a shell that ignores every signal that can be ignored, with a child that does the same and a child in a
/// separate session. Returns the shell and the PIDs.
fn stubborn() -> (Child, Vec<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    let line = format!(
        "trap '' INT TERM HUP; echo $$ >>{0}; sh -c 'echo $$ >>{0}; sleep 100; true' & \
         setsid sh -c 'echo $$ >>{0}; sleep 100; true' & wait; sleep 100",
        file.display()
    );
    let argv = shell(&line);
    let child = Child::spawn(&Spec { stdin: Input::Null, own_group: true, ..Spec::new(&argv) }).unwrap();
    let from = Instant::now();
    loop {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let pids: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        if pids.len() == 3 && text.ends_with('\n') {
            return (child, pids);
        }
        assert!(from.elapsed() < Duration::from_secs(60), "it does not start");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_signal_to_us_ends_the_whole_tree_however_stubborn() {
    let (mut child, pids) = stubborn();
    let stop = Stop::new();
    stop.ask(libc::SIGINT);
    assert_eq!(child.wait(&stop, None).exit, Exit::Stopped(libc::SIGINT));
    assert!(!pids.iter().any(|pid| alive(*pid)), "left running: {pids:?}");
}

#[test]
fn what_starts_while_it_is_ended_is_ended_too() {
    if !become_subreaper() {
        // A user-mode emulator cannot adopt processes.
        let name = "what_starts_while_it_is_ended_is_ended_too";
        return eprintln!("skipped {name}: the emulator has no subreaper");
    }
    for round in 0..5 {
        let mark = format!("300.{round}{}", std::process::id());
        // Background processes of a shell ignore SIGINT; the shell itself ends while it starts more of them.
        let argv = shell(&format!("i=0; while [ $i -lt 500 ]; do sleep {mark} & i=$((i+1)); done; wait"));
        let mut child =
            Child::spawn(&Spec { stdin: Input::Null, own_group: true, ..Spec::new(&argv) }).unwrap();
        let from = Instant::now();
        while sleeping(&mark).is_empty() {
            assert!(from.elapsed() < Duration::from_secs(60), "it does not start");
        }
        let stop = Stop::new();
        stop.ask(libc::SIGINT);
        assert_eq!(child.wait(&stop, None).exit, Exit::Stopped(libc::SIGINT));
        let rest = sleeping(&mark);
        for pid in &rest {
            // SAFETY: the call only takes integers.
            unsafe { libc::kill(*pid, libc::SIGKILL) };
        }
        assert!(rest.is_empty(), "left running in round {round}: {rest:?}");
    }
}

/// Processes that sleep for this duration.
fn sleeping(mark: &str) -> Vec<i32> {
    let wanted = format!("sleep\0{mark}\0");
    let asked = |pid: &i32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    processes().into_keys().filter(|pid| asked(pid).ends_with(wanted.as_bytes())).collect()
}

#[test]
fn too_long_is_ended_and_said() {
    let argv = shell("sleep 100 & wait");
    let mut child = Child::spawn(&Spec::new(&argv)).unwrap();
    let ended = child.wait(&Stop::new(), Some(Duration::from_millis(100)));
    assert_eq!(ended.exit, Exit::TimedOut);
    assert!(ended.wall < Duration::from_secs(100));
}

#[test]
fn what_forks_away_and_stays_too_long_makes_the_run_too_long() {
    if !become_subreaper() {
        return;
    }
    let argv = shell("setsid sleep 100 & exit 0");
    let mut child = Child::spawn(&Spec { own_group: true, ..Spec::new(&argv) }).unwrap();
    let ended = child.wait(&Stop::new(), Some(Duration::from_millis(300)));
    assert_eq!(ended.exit, Exit::TimedOut, "{ended:?}");
}

#[test]
fn a_program_whose_first_thread_has_ended_still_runs() {
    // exit(2) ends a thread; its numbers on x86-64, arm64 and others.
    let line = "import ctypes, platform, threading, time\n\
        threading.Thread(target=time.sleep, args=(100,)).start()\n\
        ctypes.CDLL(None).syscall(60 if platform.machine() == 'x86_64' else 93, 0)";
    let argv = command_line(&["python3", "-c", line]);
    let mut child = Child::spawn(&Spec { stdin: Input::Null, ..Spec::new(&argv) }).unwrap();
    let stat = format!("/proc/{}/stat", child.pid());
    let began = Instant::now();
    while !std::fs::read_to_string(&stat).unwrap().contains(") Z ") {
        assert!(began.elapsed() < Duration::from_secs(60), "its first thread does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(child.exit(), None);
    assert!(alive(child.pid()));
    // SAFETY: the call only takes integers.
    unsafe { libc::kill(child.pid(), libc::SIGKILL) };
    while child.exit().is_none() {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not end");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(child.exit(), Some(Exit::Signal(libc::SIGKILL)));
    assert_eq!(child.wait(&Stop::new(), None).exit, Exit::Signal(libc::SIGKILL));
    assert_eq!(child.exit(), Some(Exit::Signal(libc::SIGKILL)));
}

#[test]
fn a_child_that_is_dropped_is_gone() {
    let (child, pids) = stubborn();
    drop(child);
    assert!(!pids.iter().any(|pid| alive(*pid)), "left running: {pids:?}");
    let argv = command_line(&["sleep", "100"]);
    let gated = Child::spawn(&Spec { gate: true, ..Spec::new(&argv) }).unwrap();
    let pid = gated.pid();
    drop(gated);
    assert!(!alive(pid));
}

/// Whether [`note`] was called in this process's memory.
static NOTED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

extern "C" fn note(_: i32) {
    NOTED.store(true, std::sync::atomic::Ordering::SeqCst);
}

#[test]
fn a_signal_to_a_child_at_its_gate_is_not_ours() {
    let handler: extern "C" fn(i32) = note;
    // SAFETY: the handler stores a constant; nothing else uses this signal.
    let before = unsafe { libc::signal(libc::SIGWINCH, handler as libc::sighandler_t) };
    let argv = command_line(&["true"]);
    let mut child = Child::spawn(&Spec { gate: true, ..Spec::new(&argv) }).unwrap();
    // SAFETY: the call only takes integers.
    unsafe { libc::kill(child.pid(), libc::SIGWINCH) };
    child.release();
    assert_eq!(child.started(), Ok(()));
    assert_eq!(
        child.wait(&Stop::new(), None).exit,
        Exit::Code(0),
        "this signal does not terminate a process without a handler"
    );
    // SAFETY: the call only takes integers.
    unsafe { libc::signal(libc::SIGWINCH, before) };
    assert!(!NOTED.load(std::sync::atomic::Ordering::SeqCst), "our handler ran for a child's signal");
}

#[test]
fn children_that_start_at_once_and_never_pass_their_gates_leave_all_as_it_is() {
    std::thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || {
                for round in 0..20 {
                    let code = (number * 20 + round).to_string();
                    let argv = shell(&format!("exit {code}"));
                    let waiting = Child::spawn(&Spec { gate: true, ..Spec::new(&argv) }).unwrap();
                    let mut running = Child::spawn(&Spec { gate: true, ..Spec::new(&argv) }).unwrap();
                    running.release();
                    drop(waiting);
                    let expected = Exit::Code(number * 20 + round);
                    assert_eq!(running.wait(&Stop::new(), None).exit, expected);
                }
            });
        }
    });
}
