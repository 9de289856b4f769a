//! Tests each function of the module, and then all kinds of misuse.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use kernels::{adds, primes};
use os::Stop;
use overhead::kernel_module::{Answer, KernelLayer, Load, Module, Request, Source};
use overhead::{Layer, Ticks, crc32};

use crate::{fuzz, kills};

/// Words that must not appear in the kernel's log.
const WRONG: [&str; 8] =
    ["BUG:", "WARNING:", "Oops", "soft lockup", "hard LOCKUP", "rcu_sched", "Call Trace", "Unpatched"];

/// Counts passed checks; the first failed check ends the trial.
#[derive(Default)]
pub struct Trial {
    held: u32,
}

impl Trial {
    /// Ends the trial; the kernel's log must contain no errors.
    pub fn end(mut self, of: &str) -> Result<(), String> {
        let wrong = log();
        self.hold(wrong.is_none(), "the kernel complains of nothing", || wrong.unwrap_or_default())?;
        println!("{} things about {of} held", self.held);
        Ok(())
    }

    /// Checks that `what` is true; otherwise, `found` describes the actual state.
    pub fn hold(&mut self, held: bool, what: &str, found: impl FnOnce() -> String) -> Result<(), String> {
        if held {
            self.held += 1;
            return Ok(());
        }
        Err(format!("not: {what}: found {}; the kernel said: {}", found(), log().unwrap_or_default()))
    }
}

/// Loads the module from its file.
pub fn load(file: &Path) -> Result<Module, String> {
    Module::load(Source::File(file), &Arc::default(), &Stop::new()).map_err(|failure| {
        format!("{}; {:?}; the kernel said: {}", failure.reason, failure.remedy, log().unwrap_or_default())
    })
}

/// A request for one pass.
pub fn request(below: u64, cpu: Option<u32>, interrupts_off: bool) -> Request {
    Request { range: 0..below, passes: 1, cpu, interrupts_off, clock_iterations: 200, load: None }
}

/// Whether the module is loaded.
pub fn is_loaded() -> bool {
    fs::read_to_string("/proc/modules").unwrap_or_default().lines().any(|line| line.starts_with("linespeed "))
}

/// The first error in the kernel's log, with the surrounding lines.
fn log() -> Option<String> {
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg").ok()?;
    let (mut lines, mut record) = (Vec::new(), [0u8; 8192]);
    while let Ok(length @ 1..) = file.read(&mut record) {
        lines.push(String::from_utf8_lossy(&record[..length]).trim_end().to_owned());
    }
    let first = lines.iter().position(|line| WRONG.iter().any(|word| line.contains(word)))?;
    let end = lines.len().min(first + 40);
    Some(lines[first.saturating_sub(12)..end].join("\n"))
}

/// Runs all tests. With `exact`, for machines whose time is proportional to instructions, only checks whether a known
/// load is measured correctly.
pub fn run(file: &Path, exact: bool) -> Result<(), String> {
    let mut trial = Trial::default();
    let module = Rc::new(load(file)?);
    trial.hold(is_loaded(), "the module is loaded", || "it is not".to_owned())?;
    injected(&module, exact, &mut trial)?;
    if !exact {
        modes(&module, &mut trial)?;
        layers(&module, &mut trial)?;
        many(&module, &mut trial)?;
        fuzz::run(&module, &mut trial)?;
        let again = load(file).err().unwrap_or_default();
        trial.hold(again.contains("another linespeed"), "a second linespeed is refused", || again)?;
    }
    drop(module);
    trial.hold(!is_loaded(), "the module is gone after its use", || "it is loaded".to_owned())?;
    if !exact {
        kills::run(file, &mut trial)?;
    }
    trial.end("the kernel module")
}

/// Complete passes must return the right count, computed by the program's own bytes.
fn modes(module: &Module, trial: &mut Trial) -> Result<(), String> {
    for (cpu, off) in [(None, false), (Some(0), false), (Some(1), false), (Some(1), true), (None, true)] {
        // Two complete passes suffice if everything is emulated.
        let below = if cpu == Some(1) { primes::LIMIT } else { primes::LIMIT / 10 };
        let name = format!("below {below}, bound {cpu:?}, interrupts off {off}");
        let answer =
            module.ask(&request(below, cpu, off)).map_err(|failure| format!("{name}: {}", failure.reason))?;
        let pass = answer.passes.first().ok_or("no pass")?;
        println!("{name}: {pass:?}");
        let known = if below == primes::LIMIT { primes::KNOWN } else { 9592 };
        trial.hold(pass.primes == known, &format!("{name}: {known} primes"), || pass.primes.to_string())?;
        same_bytes(&answer, trial)?;
        let there = cpu.is_none_or(|cpu| pass.cpu_from == cpu && pass.cpu_to == cpu && pass.cpu_changes == 0);
        trial.hold(there, &format!("{name}: it ran there"), || format!("{pass:?}"))?;
        trial
            .hold(off == (pass.longest_off_ns > 0), &format!("{name}: interrupts"), || format!("{pass:?}"))?;
        let sound = pass.ticks_inside > 0 && pass.ticks_inside <= pass.ticks_whole && pass.bursts > 3;
        trial.hold(sound, &format!("{name}: its times"), || format!("{pass:?}"))?;
    }
    Ok(())
}

/// Checks that the bytes that ran are those of this program.
fn same_bytes(answer: &Answer, trial: &mut Trial) -> Result<(), String> {
    let (routine, clock) = (primes::code(), adds::code());
    for pass in &answer.passes {
        let place = routine.as_ptr().addr() & 0xfff;
        let same = pass.crc == crc32(routine) && pass.page_offset as usize == place;
        trial.hold(same, "the routine's bytes and place are the program's own", || format!("{pass:?}"))?;
    }
    let same = answer.head.routine_bytes as usize == routine.len() && answer.head.clock_crc == crc32(clock);
    trial.hold(same, "the adds' bytes are the program's own", || format!("{answer:?}"))
}

/// The same through the layers that produce the table.
fn layers(module: &Rc<Module>, trial: &mut Trial) -> Result<(), String> {
    let ticks = Ticks::calibrate();
    for (bound, interrupts) in [(None, true), (Some(0), true), (Some(0), false)] {
        let mut layer = KernelLayer::new(module, ticks, bound, interrupts);
        let name = layer.name().to_string();
        let pass = layer.pass(10_000..50_000).map_err(|failure| format!("{name}: {}", failure.reason))?;
        println!("{name}: {pass:?}");
        let known = primes::count(10_000, 50_000);
        trial.hold(pass.primes == known, &format!("{name}: {known} primes"), || format!("{pass:?}"))?;
        trial.hold(pass.seconds > 0.0 && pass.clock > 1e6, &format!("{name}: its times"), || {
            format!("{pass:?}")
        })?;
        let refused = layer.pass(0..1 << 40).is_err();
        trial.hold(refused, "a range that is too long is refused", || "it ran".to_owned())?;
    }
    Ok(())
}

/// Several passes in one request, each with its own results.
fn many(module: &Module, trial: &mut Trial) -> Result<(), String> {
    let answer = module
        .ask(&Request { passes: 32, ..request(2_000, Some(0), true) })
        .map_err(|failure| failure.reason.to_string())?;
    let right = answer.passes.len() == 32 && answer.passes.iter().all(|pass| pass.primes == 303);
    trial.hold(right, "32 passes find 303 primes below 2,000 each", || format!("{answer:?}"))
}

/// A load of timer interrupts must be visible in the time of a pass with interrupts, and not in a pass without.
fn injected(module: &Module, exact: bool, trial: &mut Trial) -> Result<(), String> {
    // A machine whose time is proportional to instructions has one CPU.
    let cpu = u32::from(!exact);
    let working = |busy_ns: u32| Some(Load { cpu, period_ns: 100_000, busy_ns });
    let load = working(5_000);
    let ask = |off: bool, load: Option<Load>| {
        module
            .ask(&Request { load, ..request(200_000, Some(cpu), off) })
            .map_err(|failure| failure.reason.to_string())
    };
    let (plain, loaded, empty) = (ask(false, None)?, ask(false, load)?, ask(false, working(1))?);
    let (plain_off, loaded_off) = (ask(true, None)?, ask(true, load)?);
    let whole = |answer: &Answer| answer.passes.first().map_or(0.0, |pass| pass.ticks_whole as f64);
    let inside = |answer: &Answer| answer.passes.first().map_or(0.0, |pass| pass.ticks_inside as f64);
    let ns = loaded.passes.first().map_or(0.0, |pass| pass.ns_whole as f64);
    let on = whole(&loaded) / whole(&plain) - 1.0;
    let entering = whole(&empty) / whole(&plain) - 1.0;
    let off = inside(&loaded_off) / inside(&plain_off) - 1.0;
    println!(
        "a load of 10,000/s of 5 µs: {} interrupts worked {} ns of a pass of {ns} ns; with interrupts it cost {on:.4}, of which \
         {entering:.4} by interrupts that do nothing; with interrupts off {off:.4}",
        loaded.head.load_count, loaded.head.load_ns
    );
    trial.hold(loaded.head.load_count > 0, "the load's timer fires", || format!("{loaded:?}"))?;
    // At most as many as the period allows, minus missed ones.
    let most = ns / 100_000.0 + 20.0;
    trial.hold((loaded.head.load_count as f64) < most.max(60.0) * 1.5, "no oftener than asked", || {
        format!("{loaded:?}")
    })?;
    if exact {
        let work = on - entering;
        let found = (0.04..0.06).contains(&work);
        trial.hold(found, "a load of 5 % is found in the pass with interrupts", || {
            format!("{on} - {entering}")
        })?;
        trial.hold(off.abs() < 0.01, "and not in the one without", || off.to_string())?;
    }
    Ok(())
}
