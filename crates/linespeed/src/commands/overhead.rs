//! `linespeed overhead`: one routine in each layer of the machine, in turn, and what the steps between them cost.

mod named;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use machine::Root;
use measure::Progress;
use measure::context::lead_cpu;
use os::Stop;
use overhead::kernel_module::{self, BuildDirectory, Source, Spent};
use overhead::whole_guest::{self, Parts};
use overhead::{Effort, How, LayerName, PORTIONS, Ticks, Unavailable, User, kvm_guest};
use record::{Coverage, CpuList, Ended, Machine, Record, Snapshot};
use report::terminal;

use super::quiet::tuned_session;
use super::{new_record, to_standard_output};
use crate::failure::Failure;
use crate::options::{Options, Overhead, Vm};
use crate::progress::Shown;
use crate::{files, output, signals};

/// What `overhead::kernel_module` says where a kernel takes no modules.
const NO_MODULES: (&str, &str) = (
    "this kernel takes no modules (there is no /proc/modules)",
    "boot a kernel with loadable modules (CONFIG_MODULES)",
);

/// Seconds that it all may take, by depth; a slow CPU makes the fewest passes that say something all the same.
const SECONDS: (f64, f64, f64) = (6.0, 15.0, 60.0);

/// Times the layers and reports.
pub fn run(options: &Options, overhead: &Overhead) -> Result<u8, Failure> {
    let stop = signals::install();
    let began = Instant::now();
    let root = Root::live();
    // Wrong usage is said before anything is turned.
    let cpus = usable(options)?;
    let which = overhead.guests()?;
    named::check(overhead)?;
    let found = machine::inspect(&root);
    let cpu = chosen(overhead, &found.machine, &cpus)?;
    let tuned = tuned_session::for_measuring(options)?;
    let mut record = new_record();
    let destination = super::run::destination(options, &found.machine, &record)?;
    let (quick, normal, full) = SECONDS;
    let seconds = options.measuring.depth().pick(quick, normal, full);
    let effort = overhead.rounds.map_or(Effort::Seconds(seconds), |rounds| Effort::Rounds(rounds as usize));
    let ticks = Ticks::calibrate();
    let (mut layers, mut missing) = user_layers(&found.machine, &cpus, cpu, ticks);
    let (mut kvm, mut spent) = (None, Spent::default());
    let build_directory = Arc::new(BuildDirectory::default());
    let verbose = |says: &str| {
        if options.out.verbose {
            output::complain(says);
        }
    };
    if let Some(source) = source(overhead) {
        verbose("the kernel module is built and loaded");
        let kernel = kernel_module::layers(source, &build_directory, ticks, cpu, stop);
        spent = kernel.spent;
        add((&mut layers, &mut missing), (kernel.rows, kernel.missing));
    }
    if which != Vm::None && stop.signal().is_none() {
        let hypervisor = found.machine.virtualization.hypervisor.as_deref();
        let guests = kvm_guest::find(Path::new(kvm_guest::PATH), cpu, hypervisor, (ticks, stop));
        let kind = *kvm.insert(guests.kind);
        add((&mut layers, &mut missing), guests.layers(cpu));
        if which == Vm::Full {
            verbose("the whole guest boots");
            let other = beside(&found.machine, &cpus, cpu).ok();
            add((&mut layers, &mut missing), whole(overhead, &build_directory, (cpu, other), kind, stop));
        }
    }
    let mut progress = Shown::new(&options.out, seconds);
    progress.begin("overhead", seconds);
    let taken = overhead::take_turns(layers, effort, stop, &mut |done, all| {
        progress.at(done as f64 / all as f64);
        if done.is_multiple_of(PORTIONS) {
            verbose(&format!("pass {} of {} of each layer is done", done / PORTIONS, all / PORTIONS));
        }
    });
    progress.end();
    progress.finish();
    record.conditions.knobs = tuned_session::knobs(tuned.as_ref());
    record.conditions.after = Some(with_threads(machine::snapshot_since(&root, &found.snapshot), &spent));
    drop(tuned);
    let mut taken = taken.map_err(Failure::Cannot)?;
    taken.missing.extend(missing);
    record.conditions.before = found.snapshot;
    record.machine = found.machine;
    record.measurements = overhead::measurements(&taken);
    for figure in &mut record.measurements {
        let guest = figure.place.word("layer").is_some_and(|layer| layer.starts_with("guest"));
        if let Some(kvm) = kvm.filter(|_| guest) {
            figure.detail.insert("kvm", kvm.word().into());
        }
    }
    record.coverage = overhead::coverage(&taken);
    record.coverage.extend(unasked(&root, overhead));
    record.coverage.extend(found.coverage);
    if let Some(signal) = taken.interrupted {
        record.ended = Ended::Interrupted { signal };
    }
    record.seconds = Some((began.elapsed().as_secs_f64() * 100.0).round() / 100.0);
    record.diagnosis = diagnose::diagnose(&record);
    if record.measurements.is_empty() && taken.interrupted.is_none() {
        return Err(Failure::Cannot(nothing(&taken.missing)));
    }
    deliver(options, &record, destination)?;
    Ok(taken.interrupted.map_or(0, |signal| 128u8.wrapping_add(signal as u8)))
}

/// CPUs on which a program that is not bound may run.
fn usable(options: &Options) -> Result<CpuList, Failure> {
    let allowed = os::pin::allowed();
    match (&options.measuring.cpus, &allowed) {
        (Some(wanted), Some(allowed)) => super::run::check_cpus(wanted, allowed).map(|()| wanted.clone()),
        (wanted, allowed) => Ok(wanted.clone().or(allowed.clone()).unwrap_or_default()),
    }
}

/// The CPU that layers are bound to.
fn chosen(overhead: &Overhead, machine: &Machine, cpus: &CpuList) -> Result<u32, Failure> {
    match overhead.cpu {
        Some(cpu) if cpus.contains(cpu) => Ok(cpu),
        Some(cpu) => {
            Err(Failure::Usage(format!("--cpu {cpu}: this process may not use that CPU; it may use {cpus}")))
        }
        None => lead_cpu(machine, cpus)
            .or_else(|| cpus.iter().last())
            .ok_or_else(|| Failure::Cannot("no CPU may be used".to_owned())),
    }
}

/// The ways in which a user program can run here, and those in which it cannot.
fn user_layers(
    machine: &Machine,
    cpus: &CpuList,
    cpu: u32,
    ticks: Ticks,
) -> (kvm_guest::Rows, kvm_guest::Missing) {
    let mut ways = vec![How::Unbound(cpus.clone()), How::Bound(cpu), How::Again(cpu)];
    let (mut layers, mut missing): (kvm_guest::Rows, kvm_guest::Missing) = (Vec::new(), Vec::new());
    match beside(machine, cpus, cpu) {
        Ok(other) => ways.push(How::Bound(other)),
        Err((other, why)) => missing.push((How::Bound(other).name(), why)),
    }
    ways.push(How::RealTime(cpu));
    for how in ways {
        let name = how.name();
        match User::start(how, ticks) {
            Ok(layer) => layers.push(Box::new(layer)),
            Err(why) => missing.push((name, why)),
        }
    }
    (layers, missing)
}

/// Adds layers, and what is missing of them.
fn add(
    to: (&mut kvm_guest::Rows, &mut kvm_guest::Missing),
    (rows, missing): (kvm_guest::Rows, kvm_guest::Missing),
) {
    to.0.extend(rows);
    to.1.extend(missing);
}

/// Where the kernel module comes from, if one is asked for.
fn source(overhead: &Overhead) -> Option<Source<'_>> {
    let file = overhead.kernel_module.as_deref().map(Source::File);
    file.or(overhead.kernel.then_some(Source::Build))
}

/// The threads of the kernel module are no process's: what they used is counted as this one's own, not as others'.
fn with_threads(mut after: Snapshot, spent: &Spent) -> Snapshot {
    if let Some(own) = &mut after.own_cpu_seconds {
        // A hundredth, as the kernel's own counts have it.
        *own = ((*own + spent.time().as_secs_f64()) * 100.0).round() / 100.0;
    }
    after
}

/// The whole guest, its CPUs bound to these. It is started by this thread, which outlives it: QEMU ends with the thread that
/// started it.
fn whole(
    overhead: &Overhead,
    build_directory: &BuildDirectory,
    (cpu, other): (u32, Option<u32>),
    kvm: kvm_guest::Kind,
    stop: &'static Stop,
) -> (kvm_guest::Rows, kvm_guest::Missing) {
    let module = match &overhead.vm_module {
        Some(file) => whole_guest::Module::File(file),
        None if overhead.kernel => whole_guest::Module::Build(build_directory),
        None => whole_guest::Module::None,
    };
    let program = Path::new("/proc/self/exe");
    whole_guest::layers(&Parts {
        kernel: overhead.vm_kernel.as_deref(),
        module,
        program,
        cpu,
        other,
        kvm,
        stop,
    })
}

/// What kernel rows would need, where they were not asked for.
fn unasked(root: &Root, overhead: &Overhead) -> Option<Coverage> {
    source(overhead).is_none().then(|| {
        if !root.exists("/proc/modules") {
            // Who asks would be told no more; these are the words that he would be told.
            return Coverage::skipped("overhead (kernel)", NO_MODULES.0).with_remedy(NO_MODULES.1);
        }
        let why = "not asked for: a kernel thread needs --kernel, which loads a kernel module, and root";
        Coverage::skipped("overhead (kernel)", why).with_remedy("sudo linespeed overhead --kernel")
    })
}

/// Another CPU beside the one that is chosen: the first, which mostly has the most interrupts. One of another kind would
/// differ in more than them.
fn beside(machine: &Machine, cpus: &CpuList, cpu: u32) -> Result<u32, (u32, Unavailable)> {
    let kind = |id: u32| machine.cpu(id).map(|cpu| (cpu.kind.clone(), cpu.capacity));
    let alike = |other: &u32| *other != cpu && kind(*other) == kind(cpu);
    if let Some(other) = cpus.iter().find(alike) {
        return Ok(other);
    }
    let first = cpus.iter().find(|other| *other != cpu);
    Err(match first {
        Some(other) => (
            other,
            Unavailable::new(format!(
                "it is of another kind than CPU {cpu}, so more than interrupts differs"
            )),
        ),
        None => (
            u32::from(cpu == 0),
            Unavailable::new("there is no other CPU that this process may use")
                .with_remedy("allow it more than one CPU (taskset, --cpus, the container's CPU set)"),
        ),
    })
}

/// Why no layer ran at all.
fn nothing(missing: &[(LayerName, Unavailable)]) -> String {
    let why = |(name, failure): &(LayerName, Unavailable)| {
        let remedy = failure.remedy.as_ref().map_or(String::new(), |remedy| format!(" ({remedy})"));
        format!("{name}: {}{remedy}", failure.reason)
    };
    format!("no layer could be timed: {}", missing.iter().map(why).collect::<Vec<_>>().join("; "))
}

/// Writes the record and prints the table.
fn deliver(options: &Options, record: &Record, destination: Option<PathBuf>) -> Result<(), Failure> {
    let json = record.to_json();
    let mut text = String::new();
    if to_standard_output(options) {
        text.push_str(&json);
    } else if !options.out.quiet_output {
        text = terminal::overhead(record, &output::style(&options.out));
    }
    let Some(destination) = destination else { return output::print(&text) };
    // What was measured is shown even when it could not be stored.
    match files::write_or_rescue(&destination, options.out.output.is_some(), &json) {
        Ok(path) => {
            if !text.is_empty() && !to_standard_output(options) {
                text.push_str(&format!("\nRecord: {}\n", crate::failure::shown(&path)));
            }
            output::print(&text)
        }
        Err(failure) => {
            output::print(&text)?;
            Err(failure)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_thread_of_the_kernel_used_changes_nothing() {
        let after = Snapshot { own_cpu_seconds: Some(2.5), ..Snapshot::default() };
        assert_eq!(with_threads(after.clone(), &Spent::default()), after);
        assert_eq!(with_threads(Snapshot::default(), &Spent::default()).own_cpu_seconds, None);
    }
}
