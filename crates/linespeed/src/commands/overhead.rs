//! `linespeed overhead`: runs a routine alternately in each layer, and reports the cost of each step from one layer
//! to the next.

use std::path::Path;

use measure::Progress;
use measure::context::lead_cpu;
use os::signals;
use overhead::images::{check_kernel, check_module};
use overhead::kernel_module::Source;
use overhead::{Effort, Event, Guests, LayerName, PORTIONS, Request, Unavailable};
use record::CpuList;
use report::terminal;

use super::measuring::{Measuring, Outcome, chosen_cpus, ended};
use crate::delivery::Kept;
use crate::failure::{Failure, signal_code};
use crate::options::{Options, Overhead, Vm};
use crate::output;
use crate::progress::Shown;

/// Maximum duration in seconds, by depth. A slow CPU may need more time for the minimum number of passes.
const SECONDS: (f64, f64, f64) = (6.0, 15.0, 60.0);

/// Times the layers and reports the results.
pub fn run(options: &Options, overhead: &Overhead) -> Result<u8, Failure> {
    let stop = signals::install();
    // Wrong usage is reported before any setting is changed.
    let cpus = chosen_cpus(options, os::pin::allowed())?;
    let guests = match overhead.guests()? {
        Vm::None => Guests::None,
        Vm::Raw => Guests::Kvm,
        Vm::Full => {
            Guests::Whole { kernel: overhead.vm_kernel.as_deref(), module: overhead.vm_module.as_deref() }
        }
    };
    check_cpu(overhead, &cpus)?;
    check_files(overhead)?;
    let measuring = Measuring::begin(options, options.measuring.quick)?;
    overhead::check_quota(&measuring.found.machine).map_err(|why| {
        let remedy = why.remedy.map_or(String::new(), |remedy| format!("; {remedy}"));
        Failure::Cannot(format!("no layer can be timed: {}{remedy}", why.reason))
    })?;
    let (quick, normal, full) = SECONDS;
    let seconds = options.measuring.depth().pick(quick, normal, full);
    let lead = || lead_cpu(&measuring.found.machine, &cpus).or_else(|| cpus.iter().last());
    let cpu = overhead.cpu.or_else(lead);
    let request = Request {
        machine: &measuring.found.machine,
        cpus: &cpus,
        cpu: cpu.ok_or_else(|| Failure::cannot("no CPU is usable"))?,
        kernel: overhead
            .kernel_module
            .as_deref()
            .map(Source::File)
            .or(overhead.kernel.then_some(Source::Build)),
        build_for_guest: overhead.kernel,
        guests,
        effort: overhead.rounds.map_or(Effort::Seconds(seconds), |rounds| Effort::Rounds(rounds as usize)),
        stop,
    };
    let mut progress = Shown::new(&options.out, "overhead", seconds);
    let result = overhead::run(&request, &mut |event| show(event, &mut progress, (options, seconds)));
    progress.end();
    progress.finish();
    let mut result = result.map_err(|mismatch| Failure::Cannot(mismatch.to_string()))?;
    let outcome = Outcome {
        measurements: std::mem::take(&mut result.measurements),
        coverage: std::mem::take(&mut result.coverage),
        ended: ended(result.interrupted),
        ..Outcome::default()
    };
    let (record, destination) = measuring.finish(outcome, |conditions| {
        conditions.after.iter_mut().for_each(|after| result.add_thread_time(after));
    })?;
    if record.measurements.is_empty() && result.interrupted.is_none() {
        return Err(Failure::Cannot(explain_nothing(&result.missing)));
    }
    let all = options.out.all || options.out.verbose;
    let kept = Kept::keep(options, &record, destination.as_deref());
    let view = kept.view(options, &record, |screen, by| terminal::overhead_answer(screen, &record, all, by));
    kept.deliver(options, &view, (false, true))?;
    Ok(result.interrupted.map_or(0, signal_code))
}

/// Rejects a specified file that is not a kernel or a module before the run starts, instead of reporting a missing
/// layer afterwards.
fn check_files(overhead: &Overhead) -> Result<(), Failure> {
    let files = [
        (&overhead.vm_kernel, "--vm-kernel", check_kernel as fn(&Path, &str) -> Result<(), String>),
        (&overhead.kernel_module, "--kernel-module", check_module),
        (&overhead.vm_module, "--vm-module", check_module),
    ];
    files.into_iter().try_for_each(|(path, flag, check)| {
        let Some(path) = path else { return Ok(()) };
        check(path, flag).map_err(|why| Failure::Input { path: path.clone(), why })
    })
}

/// Rejects a CPU that this process may not use.
fn check_cpu(overhead: &Overhead, cpus: &CpuList) -> Result<(), Failure> {
    let Some(cpu) = overhead.cpu.filter(|cpu| !cpus.contains(*cpu)) else { return Ok(()) };
    Err(Failure::Usage(format!("--cpu {cpu}: this process may only use CPUs {cpus}")))
}

/// Shows the progress.
fn show(event: Event, progress: &mut Shown, (options, seconds): (&Options, f64)) {
    let verbose = |says: &str| output::verbose(&options.out, says);
    match event {
        Event::LoadingModule => verbose("building and loading the kernel module"),
        Event::BootingGuest => verbose("the full guest is booting"),
        Event::RoundsBegin => progress.begin_runs(seconds),
        Event::Portions(done, all) => {
            progress.advance(done as f64 / all as f64);
            if done.is_multiple_of(PORTIONS) {
                verbose(&format!("pass {} of {} done in each layer", done / PORTIONS, all / PORTIONS));
            }
        }
    }
}

/// Why no layer ran at all.
fn explain_nothing(missing: &[(LayerName, Unavailable)]) -> String {
    let why = |(name, failure): &(LayerName, Unavailable)| {
        let remedy = failure.remedy.as_ref().map_or(String::new(), |remedy| format!(" ({remedy})"));
        format!("{name}: {}{remedy}", failure.reason)
    };
    format!("no layer could be timed: {}", missing.iter().map(why).collect::<Vec<_>>().join("; "))
}
