//! The implementation of each command.

use std::io::Write;
use std::path::Path;

use crate::boot::{Along, boot_shape, cache, target};
use crate::checks::{self, Verdicts};
use crate::failure::Failure;
use crate::guest::{Ended, Outcome};
use crate::options::{Boot, Check, Command, Options, Parts};
use crate::shape::{Architecture, Shape};
use crate::{headers, kernel, module, program, shapes, trials};

/// Executes the command; returns the exit code.
pub fn run(options: &Options) -> Result<u8, Failure> {
    match &options.command {
        Command::Boot(boot) => self::boot(boot, &options.parts),
        Command::Check(check) => self::check(check, &options.parts),
        Command::All => check_shapes(&shapes::all()?, None, &options.parts),
        Command::List => list(),
        Command::Module { architectures, share } => build_modules(architectures, *share, &options.parts),
        Command::Kernel { architectures } => fetch(architectures),
    }
}

fn boot(boot: &Boot, parts: &Parts) -> Result<u8, Failure> {
    let shape = shapes::find(&boot.shape)?;
    let along = Along::files(boot.with.as_slice());
    let outcome = boot_shape(&shape, &boot.arguments, boot.output.is_some(), &along, true, parts)?;
    report_times(&shape, &outcome, parts);
    if let Some(path) = &boot.output {
        match &outcome.record {
            Some(record) => {
                write(path, record)?;
                if path != Path::new("-") {
                    let (name, record, here) = (&shape.name, wire::RECORD, path.display());
                    eprintln!("lab: {name}: its record, {record} in the machine, is {here} here");
                }
            }
            None => eprintln!("lab: {}: linespeed wrote no record", shape.name),
        }
    } else if outcome.text().lines().any(|line| line.starts_with(CLOSING)) {
        eprintln!(
            "lab: {}: the files listed above were in the machine and no longer exist; --output FILE saves its record",
            shape.name
        );
    }
    if let Ended::Signal(signal) = outcome.ended {
        eprintln!("lab: {}: linespeed was terminated by signal {signal}", shape.name);
    }
    Ok(outcome.ended.code())
}

/// The beginning of the line with the path of linespeed's record.
const CLOSING: &str = "Record: ";

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written =
        if path == Path::new("-") { std::io::stdout().write_all(bytes) } else { std::fs::write(path, bytes) };
    written.map_err(|error| Failure::Cannot(format!("{}: cannot be written: {error}", path.display())))
}

fn check(check: &Check, parts: &Parts) -> Result<u8, Failure> {
    let quick = || -> Result<Vec<Shape>, Failure> {
        Ok(shapes::all()?.into_iter().filter(|shape| shape.check.quick).collect())
    };
    let chosen = match check.share {
        Some(number) => draw_two(quick()?, number),
        None if check.quick => quick()?,
        None => check.shapes.iter().map(|name| shapes::find(name)).collect::<Result<Vec<_>, _>>()?,
    };
    check_shapes(&chosen, check.records.as_deref(), parts)
}

/// Selects two different elements by a number; all pairs occur as the number increases.
fn draw_two<T>(mut all: Vec<T>, number: usize) -> Vec<T> {
    if all.len() <= 2 {
        return all;
    }
    let first = all.remove(number % all.len());
    let second = all.remove(number / (all.len() + 1) % all.len());
    vec![first, second]
}

/// Checks the machines in sequence; 0 if all checks passed.
fn check_shapes(chosen: &[Shape], records: Option<&Path>, parts: &Parts) -> Result<u8, Failure> {
    let mut failed = Vec::new();
    for shape in chosen {
        let verdicts = match check_shape(shape, records, parts) {
            Ok(verdicts) => verdicts,
            Err(signal @ Failure::Signal(_)) => return Err(signal),
            // A machine that does not boot is a failed check; the other machines are still checked.
            Err(failure) => Verdicts::of_trial(false, &failure.to_string()),
        };
        let held = verdicts.held() && !(parts.strict && verdicts.unsure());
        let mark = if held { "ok    " } else { "FAILED" };
        println!("{mark} {:24} {} of {} checks passed", shape.name, verdicts.count_held(), verdicts.count());
        for line in verdicts.lines(parts.verbose) {
            println!("       {line}");
        }
        if !held {
            failed.push(shape.name.as_str());
        }
    }
    println!("{} of {} machines passed", chosen.len() - failed.len(), chosen.len());
    Ok(u8::from(!failed.is_empty()))
}

fn check_shape(shape: &Shape, records: Option<&Path>, parts: &Parts) -> Result<Verdicts, Failure> {
    if let Some(verdicts) = trials::run_trial(shape, parts) {
        return verdicts;
    }
    let outcome = boot_shape(shape, &shape.check.run, true, &Along::default(), false, parts)?;
    report_times(shape, &outcome, parts);
    if !outcome.succeeded() {
        let how = format!("{:?}", outcome.ended).to_lowercase();
        return Err(Failure::Cannot(format!("linespeed exited with {how}: {}", outcome.text())));
    }
    let Some(record) = &outcome.record else {
        return Err(Failure::Cannot(format!("linespeed wrote no record: {}", outcome.text())));
    };
    if let Some(folder) = records {
        std::fs::create_dir_all(folder).map_err(Failure::of_path(folder))?;
        write(&folder.join(format!("{}.json", shape.name)), record)?;
    }
    Ok(checks::check_all(shape, record))
}

fn report_times(shape: &Shape, outcome: &Outcome, parts: &Parts) {
    if parts.verbose {
        let (boot, whole) = (outcome.boot.as_secs_f64(), outcome.whole.as_secs_f64());
        eprintln!("lab: {}: booted in {boot:.1} s, over after {whole:.1} s", shape.name);
    }
}

fn list() -> Result<u8, Failure> {
    let mut text = String::new();
    for shape in shapes::all()? {
        let (name, kind, cpus) = (&shape.name, shape.architecture.name(), shape.cpus.count());
        let nodes = shape.nodes.len().max(1);
        let end = if nodes == 1 { " " } else { "s" };
        text.push_str(&format!("{name:24} {kind:8} {cpus:3} CPUs {nodes:2} node{end} {}\n", shape.summary));
    }
    // A closed output is not an error.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(0)
}

/// The instruction sets with these names; all if none are specified.
fn chosen(names: &[String]) -> Result<Vec<Architecture>, Failure> {
    let named = |name: &String| {
        Architecture::ALL.into_iter().find(|architecture| architecture.name() == name).ok_or_else(|| {
            Failure::Usage(format!("there is no kernel for {name:?}; supported: x86_64, aarch64"))
        })
    };
    match names {
        [] => Ok(Architecture::ALL.to_vec()),
        names => names.iter().map(named).collect(),
    }
}

/// Builds the kernel module for each kernel, or for one of them; 0 if all builds succeeded.
fn build_modules(names: &[String], share: Option<usize>, parts: &Parts) -> Result<u8, Failure> {
    let mut kernels = Vec::new();
    for architecture in chosen(names)? {
        kernels.extend(headers::newest(architecture)?.into_iter().map(|release| (architecture, release)));
    }
    if let Some(number) = share {
        kernels = vec![kernels.swap_remove(number % kernels.len())];
    }
    let mut all = true;
    for (architecture, release) in kernels {
        let linespeed = parts.program.clone().map_or_else(|| program::find(&target(), architecture), Ok)?;
        let odd = module::build_alone(architecture, &linespeed, &release, &cache())?;
        all &= odd.is_none();
        println!("{}", odd.unwrap_or_else(|| format!("ok     {release}: built without warnings")));
    }
    Ok(u8::from(!all))
}

fn fetch(names: &[String]) -> Result<u8, Failure> {
    for architecture in chosen(names)? {
        println!("{}", kernel::fetch(&cache(), architecture)?.display());
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_machines_has_its_turn() {
        let drawn = |number| draw_two(vec![0, 1, 2, 3, 4], number);
        let mut pairs: Vec<Vec<i32>> = (0..20).map(drawn).collect();
        assert!(pairs.iter().all(|pair| pair.len() == 2 && pair[0] != pair[1]));
        pairs.iter_mut().for_each(|pair| pair.sort());
        pairs.sort();
        pairs.dedup();
        assert_eq!(pairs.len(), 10);
    }
}
