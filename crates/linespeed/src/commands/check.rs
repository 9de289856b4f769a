//! `linespeed check`: compares this machine with its baseline, in one line.

use diagnose::{Comparable, Extent, Side};
use machine::{Inspection, Root};
use measure::context::lead_cpu;
use measure::{Depth, MEASUREMENTS, Measure, Wakeups, list};
use os::signals;
use record::baseline::{Baseline, ClassBaseline};
use record::check::{CHECK_VERSION, Check, Checked, Outcome};
use record::{CpuList, Record, json::write_text};
use report::terminal;
use report::view::View;
use serde_json::json;

use crate::delivery::hand_out;
use crate::failure::{FOUND, Failure, signal_code};
use crate::options::{self, Exit, Options};
use crate::progress::Shown;
use crate::{output, sources};

/// The measurements of `--probe`, which use one thread.
const PROBED: [&str; 3] = ["clock", "latency", "bandwidth"];

/// Inspects the machine, measures it if requested, and shows how it differs from the baseline.
pub fn run(options: &Options, asked: &options::Check) -> Result<u8, Failure> {
    if asked.exit == Some(Exit::Slurm) && (asked.probe || asked.screen) {
        let words = "--exit slurm only checks settings, because a prolog delays its job and other jobs \
         would distort the results; omit --probe and --screen";
        return Err(Failure::usage(words));
    }
    let done = check(options, asked);
    match (done, asked.exit) {
        (Err(failure), Some(exit)) => {
            output::complain(&failure.to_string());
            // This tells programs that read only standard output that the check failed.
            if exit != Exit::Slurm {
                output::print("unknown: the check could not run\n")?;
            }
            Ok(exit.unknown())
        }
        (done, _) => done,
    }
}

fn check(options: &Options, asked: &options::Check) -> Result<u8, Failure> {
    if asked.class {
        return passport(options, asked);
    }
    let (classes, name) = baselines(options, asked)?;
    let stop = signals::install();
    let root = super::root(asked.root.as_deref())?;
    let found = machine::inspect(&root);
    let mut record = super::record_of(&found);
    record.diagnosis.shape = super::inspect::last_shape(&record.machine, asked.root.as_deref());
    let nearest = diagnose::check_nearest(&record, &classes);
    let (mut check, class) = nearest.ok_or_else(|| no_class(&name))?;
    if (asked.probe || asked.screen) && check.outcome != Outcome::OtherClass {
        let interrupted = measure(options, asked, &found, &mut record, stop)?;
        if let Some(signal) = interrupted {
            return Ok(signal_code(signal));
        }
        let side = |name, record| Side { name, source: name, record };
        let sides = [side("baseline", &class.record), side("here", &record)];
        let comparison = diagnose::compare(&sides, 0, record.tool.clone(), Extent::Summary);
        check = diagnose::check(&record, &class.record, Some(&comparison), &class.figures);
    }
    hand_out_check(options, asked, &check, &record, &name)?;
    Ok(code(check.outcome, asked.exit))
}

/// Measures this machine, and reports whether its results can be compared with those of the baseline.
fn passport(options: &Options, asked: &options::Check) -> Result<u8, Failure> {
    let (classes, name) = baselines(options, asked)?;
    let found = machine::inspect(&Root::live());
    let mut record = super::record_of(&found);
    if let Some(signal) = measure(options, asked, &found, &mut record, signals::install())? {
        return Ok(signal_code(signal));
    }
    let passport = diagnose::nearest_passport(&record, &classes).ok_or_else(|| no_class(&name))?;
    let line = terminal::passport_line(&passport, &name);
    let value = json!({"baseline": name, "line": line, "result": passport});
    hand_out(options, &View::new(|screen| screen.uncut(&line)).with_value(value))?;
    Ok(match passport.outcome {
        Comparable::Comparable => 0,
        Comparable::Convertible => FOUND,
        Comparable::No => 3,
    })
}

fn no_class(baseline: &str) -> Failure {
    let words = "contains no machine class: fleet --baseline writes classes of at least five machines";
    Failure::Cannot(format!("{baseline} {words}"))
}

/// The baseline and its name. A record is treated as a class of one machine. A baseline without classes is refused before anything is measured.
fn baselines(options: &Options, asked: &options::Check) -> Result<(Vec<ClassBaseline>, String), Failure> {
    if let Some(argument) = &asked.baseline {
        let path = sources::locate(argument);
        let name = path.file_name().map_or(argument.clone(), |name| name.to_string_lossy().into_owned());
        let failed = |error: record::ReadError| Failure::Input { path: path.clone(), why: error.to_string() };
        if let Some(Baseline { classes, .. }) = Baseline::read(&path).map_err(failed)? {
            return if classes.is_empty() { Err(no_class(&name)) } else { Ok((classes, name)) };
        }
    }
    let source = sources::read(asked.baseline.as_deref().unwrap_or(record::source::HERE))?;
    sources::say_note(&source, &options.out);
    let day = source.record.started.get(..10).unwrap_or_default().to_owned();
    let named = asked.baseline.as_deref().is_some_and(|named| named != record::source::HERE);
    let name = if named { source.name } else { format!("this machine's record from {day}") };
    let class = ClassBaseline { name: name.clone(), machines: 1, record: source.record, figures: Vec::new() };
    Ok((vec![class], name))
}

/// Measures and adds the results to the record; returns the signal that ended the run, if any.
fn measure(
    options: &Options,
    asked: &options::Check,
    found: &Inspection,
    record: &mut Record,
    stop: &os::Stop,
) -> Result<Option<i32>, Failure> {
    let allowed = found.machine.allowed_cpus();
    let find = |names: &[&str]| names.iter().filter_map(|name| list::find(name)).collect();
    let (chosen, depth, cpus): (Vec<&Measure>, Depth, CpuList) = match (asked.screen, asked.class) {
        (true, _) => (MEASUREMENTS.to_vec(), options.measuring.depth(), allowed),
        (false, true) => (find(&PROBED[..2]), Depth::Quick, allowed),
        (false, false) => {
            (find(&PROBED), Depth::Quick, lead_cpu(&found.machine, &allowed).into_iter().collect())
        }
    };
    let seconds = chosen.iter().map(|m| m.budget(&found.machine, &cpus, depth).seconds).sum();
    let mut progress = Shown::new(&options.out, "", seconds);
    let results = list::run(&chosen, found, (depth, Wakeups::USUAL), &cpus, stop, &mut progress);
    progress.finish();
    record.conditions.after = Some(machine::snapshot_since(&Root::live(), &found.snapshot));
    record.measurements = results.measurements;
    record.coverage = results.coverage;
    let shape = results.looks.and_then(|looks| diagnose::shape(&looks, &record.machine));
    record.diagnosis.shape = shape.or(record.diagnosis.shape.take());
    if record.measurements.is_empty() && results.interrupted.is_none() {
        return Err(Failure::cannot("nothing could be measured here; linespeed list shows why"));
    }
    Ok(results.interrupted)
}

/// Prints the result as one line, or writes it in another format.
fn hand_out_check(
    options: &Options,
    asked: &options::Check,
    check: &Check,
    record: &Record,
    baseline: &str,
) -> Result<(), Failure> {
    let host = record.machine.hostname.clone().unwrap_or_default();
    let node = std::env::var("SLURMD_NODENAME").unwrap_or_else(|_| host.clone());
    let drain = (asked.exit == Some(Exit::Slurm)).then_some(node.as_str());
    let all = options.out.verbose || options.out.all;
    let value = || {
        let line = terminal::check_line(check, baseline);
        let (machine, time) = (host.as_str(), record.started.as_str());
        write_text(&Checked { check: CHECK_VERSION, machine, time, baseline, line: &line, result: check })
    };
    let forms = View::new(|screen| terminal::check(screen, check, baseline, drain, all)).with_json(value);
    hand_out(options, &forms.with_prometheus(|| report::prometheus::check(check, &record.started)))
}

/// The exit code: linespeed's own, or the one that the monitoring system expects.
fn code(outcome: Outcome, exit: Option<Exit>) -> u8 {
    match (outcome, exit) {
        (Outcome::Good, _) => 0,
        (Outcome::OtherClass | Outcome::Undecided, None) => 3,
        (Outcome::OtherClass | Outcome::Undecided, Some(exit)) => exit.unknown(),
        (Outcome::Defect, Some(Exit::Nagios)) => 2,
        (Outcome::Setting | Outcome::Defect, _) => FOUND,
    }
}

impl Exit {
    /// The exit code if the check could not run. For Slurm, this must not cause the node to be drained.
    fn unknown(self) -> u8 {
        match self {
            Exit::Slurm => 0,
            Exit::Npd => 2,
            Exit::Nagios => 3,
        }
    }
}
