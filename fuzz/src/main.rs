//! Feeds damaged inputs to every parser of linespeed until the time is over: see `fuzz/README.md`.

mod mutate;
mod targets;
mod tree;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use clap::Parser;
use mutate::Random;
use targets::Target;

/// An input that takes longer than this counts as a hang.
const LONGEST: Duration = Duration::from_secs(60);

#[derive(Parser)]
#[command(about = "Feeds damaged inputs to every parser of linespeed")]
struct Options {
    /// Targets to run [default: all].
    targets: Vec<String>,
    /// Prints the names of all targets.
    #[arg(long)]
    list: bool,
    /// Seconds per target; the target of a tool gets a fifth of this time.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Minimum number of inputs per target.
    #[arg(long, default_value_t = 1)]
    runs: usize,
    /// Seed of the inputs [default: from the clock].
    #[arg(long)]
    seed: Option<u64>,
    /// Reads only this input.
    #[arg(long)]
    input: Option<PathBuf>,
}

thread_local! {
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The current input of each thread, with its start time.
type Reading = Mutex<Option<(String, Instant, Vec<u8>)>>;

fn main() -> ExitCode {
    let options = Options::parse();
    let known = targets::names();
    if options.list {
        println!("{}", known.join("\n"));
        return ExitCode::SUCCESS;
    }
    let chosen = if options.targets.is_empty() { known.clone() } else { options.targets.clone() };
    if let Some(unknown) = chosen.iter().find(|name| !known.contains(name)) {
        eprintln!("there is no target {unknown}; available targets: {}", known.join(" "));
        return ExitCode::from(2);
    }
    std::panic::set_hook(Box::new(|panic| PANIC.with(|said| *said.borrow_mut() = panic.to_string())));
    if let Some(path) = &options.input {
        let input = match std::fs::read(path) {
            Ok(input) => input,
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                return ExitCode::from(3);
            }
        };
        return ExitCode::from(u8::from(chosen.iter().any(|name| !reads(&targets::find(name), &input))));
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seed = options.seed.unwrap_or(now.as_nanos() as u64);
    println!("seed {seed}");
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(chosen.len());
    let reading: Vec<Reading> = (0..threads).map(|_| Mutex::default()).collect();
    let (next, found, ended) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for slot in &reading {
            let (next, found, ended, chosen, options) = (&next, &found, &ended, &chosen, &options);
            let work = move || {
                while let Some(name) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    found.fetch_add(fuzz(name, options, seed, slot), Ordering::Relaxed);
                }
                ended.fetch_add(1, Ordering::Relaxed);
            };
            // The same stack size as a program's first thread.
            std::thread::Builder::new()
                .stack_size(8 << 20)
                .spawn_scoped(scope, work)
                .expect("a thread starts");
        }
        while ended.load(Ordering::Relaxed) < threads {
            std::thread::sleep(Duration::from_millis(50));
            reading.iter().for_each(watch);
        }
    });
    ExitCode::from(u8::from(found.into_inner() > 0))
}

/// Terminates the program if an input hangs.
fn watch(slot: &Reading) {
    let reading = slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((name, from, input)) = &*reading
        && from.elapsed() > LONGEST
    {
        println!("{name}: hangs on {}", keep(name, input).display());
        std::process::exit(1);
    }
}

/// Feeds inputs to a target until its time is over; returns the number of failures.
fn fuzz(name: &str, options: &Options, seed: u64, slot: &Reading) -> usize {
    let target = targets::find(name);
    let mut random = Random(name.bytes().fold(seed, |seed, byte| seed.wrapping_mul(31) ^ u64::from(byte)));
    let (from, longest) = (Instant::now(), Duration::from_secs_f64(options.seconds * target.share));
    let (mut runs, mut found) = (0, 0);
    while (from.elapsed() < longest || runs < options.runs) && found < 5 {
        let input = mutate::harmed(&target.seeds, &mut random);
        *slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
            Some((name.to_owned(), Instant::now(), input.clone()));
        runs += 1;
        if !reads(&target, &input) {
            found += 1;
            println!("{name}: {}", keep(name, &input).display());
        }
    }
    *slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    println!("{name}: {runs} inputs, {found} failures");
    found
}

/// Whether an input is read or refused without failure; otherwise prints the reason.
fn reads(target: &Target, input: &[u8]) -> bool {
    let read = catch_unwind(AssertUnwindSafe(|| (target.read)(input)));
    if read.is_err() {
        println!("{}: {}", target.name, PANIC.with(|said| said.borrow().replace('\n', " ")));
    }
    read.is_ok()
}

/// Saves an input to a separate file.
fn keep(name: &str, input: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("found");
    let mixed = input.iter().fold(0_u64, |mixed, byte| mixed.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    let path = folder.join(format!("{name}-{mixed:016x}"));
    if let Err(error) = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, input)) {
        eprintln!("{}: {error}", path.display());
    }
    path
}
