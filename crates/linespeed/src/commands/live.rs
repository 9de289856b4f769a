//! `linespeed live`: what a machine at work does with its CPUs, interval by interval.

use std::time::Duration;

use ::live::{Service, Watch};
use diagnose::Reference;
use machine::Root;
use os::terminal::Redrawn;
use os::{Stop, signals};
use record::diagnosis::{Bound, BoundBy};
use record::live::Interval;
use record::{Coverage, Machine, text};
use report::terminal;

use super::{now, to_standard_output};
use crate::failure::Failure;
use crate::options::{Live, Options};
use crate::{ceilings, files, output};

/// Readings of the probe where no record tells what it hears without load: two seconds of them.
const READINGS: usize = 20;
const BETWEEN: Duration = Duration::from_millis(100);

/// Watches until somebody asks to stop, or once.
pub fn run(options: &Options, live: &Live) -> Result<u8, Failure> {
    let stop = signals::install();
    let root = Root::live();
    let found = machine::inspect(&root);
    let mut coverage = Vec::new();
    let mut reference = Reference::default();
    match ceilings::of_this_machine() {
        Ok(known) => reference.ceilings = known,
        Err(why) => coverage.push(Coverage::degraded("ceilings", why).with_remedy("run linespeed once")),
    }
    let find = |selection| Service::new(selection, &root);
    let service = live.selection().map(find).transpose();
    let mut service = service.map_err(|error| Failure::Cannot(error.to_string()))?;
    let (mut watch, unseen) = Watch::begin(root, &found.machine);
    coverage.extend(unseen);
    let mut shown =
        Shown { screen: Redrawn::default(), head: head(&found.machine, service.as_ref()), said: false };
    if let Some(length) = live.once {
        if reference.ceilings.probe.is_empty() {
            reference.calibrated_ns = watch.listen(READINGS, BETWEEN, stop);
            coverage.push(calibrated(watch.restart()));
        }
        let (interval, bound) = look(&mut watch, service.as_ref(), (length, true), &reference, stop);
        shown.show(options, live, &interval, bound.as_ref(), &reference, &coverage)?;
        return Ok(code(stop));
    }
    let mut verdicts: Vec<(BoundBy, f64)> = Vec::new();
    let mut seconds = 0.0;
    while stop.signal().is_none() && !service.as_ref().is_some_and(Service::has_ended) {
        if let Some(service) = &mut service {
            // Between the last one's end and the next one's start a unit has no process.
            let _ = service.refresh(&Root::live());
        }
        let (interval, bound) = look(&mut watch, service.as_ref(), (live.interval, false), &reference, stop);
        let heard =
            interval.probe.as_ref().and_then(|probe| probe.latency_ns.values().copied().reduce(f64::max));
        if let Some(bound) = &bound {
            match verdicts.iter_mut().find(|(by, _)| *by == bound.by) {
                Some((_, of)) => *of += interval.seconds,
                None => verdicts.push((bound.by.clone(), interval.seconds)),
            }
        }
        seconds += interval.seconds;
        shown.show(options, live, &interval, bound.as_ref(), &reference, &coverage)?;
        if reference.ceilings.probe.is_empty() && reference.calibrated_ns.is_none() && seconds >= 2.0 {
            reference.calibrated_ns = heard;
            coverage.extend(heard.map(|_| calibrated(interval.times.share(interval.times.busy()))));
        }
    }
    if !to_standard_output(options) && !options.out.quiet_output {
        verdicts.sort_by(|a, b| b.1.total_cmp(&a.1));
        output::print(&terminal::live_summary(seconds, &verdicts, &output::style(&options.out)))?;
    }
    Ok(code(stop))
}

/// One interval: what the processes that are meant, or else the whole machine, are bound by.
fn look(
    watch: &mut Watch,
    service: Option<&Service>,
    length: (Duration, bool),
    reference: &Reference,
    stop: &Stop,
) -> (Interval, Option<Bound>) {
    let (interval, done) = watch.watch_beside(service, length, stop);
    let bound = match done {
        Some(done) => diagnose::watched_service(done, &interval, reference),
        None => diagnose::watched(&interval, reference),
    };
    (interval, bound)
}

/// Ctrl-C is how a watch ends.
fn code(stop: &Stop) -> u8 {
    match stop.signal() {
        None | Some(libc::SIGINT) => 0,
        Some(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
    }
}

/// What the probe is held against is what it heard just before, with so much of the CPUs busy.
fn calibrated(busy: f64) -> Coverage {
    let reason = text!(
        "live-calibrated",
        "calibrated on the spot, CPUs {busy} busy",
        busy = text::Value::Rounded(Box::new(text::Value::Share(busy)), 2)
    );
    Coverage::degraded("memory probe", reason).with_remedy("run linespeed once while it is idle")
}

fn head(machine: &Machine, service: Option<&Service>) -> String {
    let host = machine.hostname.clone().unwrap_or_default();
    let processor = machine.processor.model_name.clone().unwrap_or_default();
    let cpus = record::units::cpus(machine.allowed_cpus().len() as u32);
    let service = service.map(|service| service.selection().to_string()).unwrap_or_default();
    [service, host, processor, cpus]
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

/// What stands on the terminal.
struct Shown {
    screen: Redrawn,
    head: String,
    /// Whether it was said that a file cannot be written.
    said: bool,
}

impl Shown {
    fn show(
        &mut self,
        options: &Options,
        live: &Live,
        interval: &Interval,
        bound: Option<&Bound>,
        reference: &Reference,
        coverage: &[Coverage],
    ) -> Result<(), Failure> {
        if let Some(path) = &live.prom {
            let code = bound.map(|bound| word(&bound.by)).unwrap_or_default();
            let text = report::prometheus::interval(interval, bound.map(|bound| &bound.by), &code);
            // A disk that is full now may have room later.
            match files::write(path, &text) {
                Err(failure) if live.once.is_some() => return Err(failure),
                Err(failure) if !self.said => {
                    self.said = true;
                    output::complain(&failure.to_string());
                }
                _ => {}
            }
        }
        let time = now();
        if to_standard_output(options) {
            let object = serde_json::json!({ "time": time, "interval": interval, "bound": bound, "coverage": coverage });
            return output::print(&format!("{object}\n"));
        }
        if options.out.quiet_output {
            return Ok(());
        }
        let head = format!("{}; {} of {time}", self.head, record::units::figure(interval.seconds, "s"));
        let screen = terminal::Live { head: &head, interval, bound, reference, coverage };
        let text = terminal::live(&screen, &output::style(&options.out));
        if live.once.is_some() {
            return output::print(&text);
        }
        output::print(&self.screen.over(&text, &std::io::stdout()))
    }
}

/// A verdict's code, as JSON has it.
fn word(by: &BoundBy) -> String {
    serde_json::to_value(by).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
