use std::path::Path;

use super::*;

/// An observer that only counts notifications of the remaining time.
#[derive(Default)]
struct Heard {
    counted: Vec<usize>,
    warmed: Vec<usize>,
    left: usize,
}

impl Observer for Heard {
    fn ran(&mut self, turn: Turn, counts: bool, _: &Run) {
        if counts { &mut self.counted } else { &mut self.warmed }.push(turn.alternative);
    }

    fn left(&mut self, seconds: f64) {
        assert!(seconds >= 0.0);
        self.left += 1;
    }

    fn waits_for(&mut self, _: &[Process]) {}

    fn leaves_pipe(&mut self) {}
}

fn words(line: &str) -> Vec<OsString> {
    ["sh", "-c", line].map(OsString::from).to_vec()
}

fn job(argv: &[OsString]) -> Job<'_> {
    Job { argv, cpus: None, env: &[], events: false, samples: None, guard: None }
}

fn run(lines: &[(&str, Option<&str>)], warmup: u32, extent: Extent, stop: &Stop) -> (InTurns, Heard) {
    let argvs: Vec<Vec<OsString>> = lines.iter().map(|(line, _)| words(line)).collect();
    let commands: Vec<InTurn> = argvs
        .iter()
        .zip(lines)
        .map(|(argv, (_, prepare))| InTurn { job: job(argv), prepare: *prepare })
        .collect();
    let mut heard = Heard::default();
    let done = run_in_turn(Request { commands: &commands, warmup, extent, stop }, &mut heard);
    (done, heard)
}

fn lines_of(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn commands_come_forwards_and_backwards_each_after_its_own_preparation() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let say = |word: &str| format!("echo {word} >>{}", log.display());
    let (a, b, before_a, before_b) = (say("a"), say("b"), say("before-a"), say("before-b"));
    let commands = [(a.as_str(), Some(before_a.as_str())), (b.as_str(), Some(before_b.as_str()))];
    let (done, heard) = run(&commands, 1, Extent::Rounds(2), &Stop::new());
    assert!(done.ended.is_none());
    assert_eq!(done.runs.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
    assert_eq!((heard.warmed, heard.counted, heard.left), (vec![0, 1], vec![0, 1, 1, 0], 1));
    let order = ["a", "b", "a", "b", "b", "a"];
    let expected: Vec<String> =
        order.iter().flat_map(|word| [format!("before-{word}"), (*word).to_owned()]).collect();
    assert_eq!(lines_of(&log), expected);
}

#[test]
fn a_preparation_that_fails_ends_all_of_it_with_its_last_words() {
    let (done, _) =
        run(&[("true", None), ("true", Some("echo gone >&2; exit 3"))], 0, Extent::Usual, &Stop::new());
    let Some((Trouble::Prepare { how, .. }, 1)) = done.ended else { panic!("{done:?}") };
    assert_eq!((how.exit, how.last_output.as_str()), (Exit::Code(3), "gone"));
    assert_eq!(done.runs.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn a_command_that_fails_counts_and_its_first_failure_is_kept() {
    let (done, heard) =
        run(&[("exit 0", None), ("echo no >&2; exit 7", None)], 0, Extent::Rounds(3), &Stop::new());
    assert_eq!((done.runs[0].len(), done.runs[1].len(), heard.left), (3, 3, 1));
    assert!(done.failed[0].is_none() && done.ended.is_none());
    let failed = done.failed[1].as_ref().unwrap();
    assert_eq!((failed.exit, failed.last_output.as_str()), (Exit::Code(7), "no"));
}

#[test]
fn one_that_cannot_be_started_is_named_by_its_number() {
    let missing = [OsString::from("/no/such/file")];
    let there = words("true");
    let commands = [InTurn { job: job(&there), prepare: None }, InTurn { job: job(&missing), prepare: None }];
    let request = Request { commands: &commands, warmup: 0, extent: Extent::Rounds(2), stop: &Stop::new() };
    let done = run_in_turn(request, &mut Heard::default());
    assert!(matches!(done.ended, Some((Trouble::CannotStart(_), 1))), "{done:?}");
    assert_eq!(done.runs[0].len(), 1);
}

#[test]
fn a_signal_before_the_first_run_leaves_nothing() {
    let stop = Stop::new();
    stop.ask(libc::SIGINT);
    let (done, _) = run(&[("true", None), ("true", None)], 0, Extent::Usual, &stop);
    assert_eq!(done.ended, Some((Trouble::Stopped(libc::SIGINT), 0)));
    assert!(done.runs.iter().all(Vec::is_empty));
}

#[test]
fn quick_commands_have_more_rounds_and_slow_ones_ten() {
    let seconds = Duration::from_secs_f64;
    let over = |rounds, took| Extent::Usual.is_over(2, rounds, seconds(took));
    assert!(!over(9, 1000.0) && over(10, 1000.0), "slow commands get ten rounds");
    assert!(
        !over(10, 5.9) && over(10, 6.0) && !over(11, 6.1) && over(12, 6.2),
        "as many rounds forwards as backwards"
    );
    assert_eq!((Extent::Usual.seconds(2, 2.0), Extent::Usual.seconds(2, 0.1)), (20.0, 6.0));
    assert_eq!(Extent::Usual.seconds(2, 0.001), 1.0, "at most a thousand rounds");
    let time = Extent::Time(seconds(10.0));
    assert!(!time.is_over(2, 0, seconds(0.0)) && time.is_over(2, 1, seconds(5.1)), "at least one round");
    assert!(!time.is_over(2, 4, seconds(8.0)) && time.is_over(2, 5, seconds(8.4)));
    assert!(Extent::Rounds(3).is_over(2, 3, seconds(0.0)) && !Extent::Rounds(3).is_over(2, 2, seconds(1e6)));
}
