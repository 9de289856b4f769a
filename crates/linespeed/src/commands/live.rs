//! `linespeed live`: the activity and bottleneck of a running machine, interval by interval.

mod kept;

use std::time::Duration;

use ::live::{Keeping, Selection, Service, Watch};
use diagnose::Reference;
use machine::Root;
use measure::accesses::Hierarchy;
use measure::shape::Looker;
use os::terminal::Redrawn;
use os::{Stop, signals};
use record::diagnosis::Bound;
use record::live::{Interval, Said};
use record::phrase::join_most;
use record::redaction::{Kind, Pseudonyms};
use record::shape::Shape;
use record::{Coverage, text};
use report::terminal::{self, LastLook, Screen};

use super::{now, to_standard_output};
use crate::delivery::{PROM_WAY_OUT, as_json};
use crate::failure::{Failure, signal_code};
use crate::options::{Live, Options};
use crate::redaction::redact_with;
use crate::{ceilings, files, output, redaction};
use kept::Kept;

/// Number of readings with which the probe is calibrated if no record contains the unloaded latency. The readings take two seconds.
const READINGS: usize = 20;
const BETWEEN: Duration = Duration::from_millis(100);
/// Maximum number of process names on the screen.
const NAMED: usize = 3;

/// Observes the machine until a stop request, or for one interval.
pub fn run(options: &Options, live: &Live) -> Result<u8, Failure> {
    let stop = signals::install();
    let root = Root::live();
    let mut kept = Kept::checked(options)?;
    let found = machine::inspect(&root);
    let find = |selection| Service::new(selection, &root);
    let service = live.selection().map(find).transpose();
    let mut service = service.map_err(|error| Failure::Cannot(error.to_string()))?;
    let of = service.as_ref().map(|service| service.selection().to_string()).unwrap_or_default();
    let ceilings = ceilings::of_this_machine();
    let curve = ceilings.as_ref().map(|known| known.curve.clone()).unwrap_or_default();
    let known = Hierarchy { machine: &found.machine, curve: &curve };
    let (mut watch, seen) = Watch::begin(root, known);
    watch.sample_service(service.as_mut(), known);
    let mut names = redaction::begin(options)?;
    let mut called = service.as_ref().map(|service| service.names(&Root::live())).unwrap_or_default();
    let head = match &mut names {
        None => terminal::live_head(&found.machine, &describe(&of, &called)),
        Some(names) => {
            service.iter().for_each(|service| hide(names, service.selection()));
            let machine = redact_with(names.redact(&found.machine, ".machine"))?;
            called.iter_mut().for_each(|name| *name = names.of(Kind::Process, name));
            terminal::live_head(&machine, &describe(&names.of(Kind::Group, &of), &called))
        }
    };
    let mut shown = Shown { screen: Redrawn::default(), head, look: LastLook::default(), said: false, names };
    let machine = found.machine.clone();
    let once = live.once.is_some();
    let mut looker = if once { None } else { Looker::beside(&machine, &machine.allowed_cpus()) };
    let mut shape: Option<Box<Shape>> = None;
    let mut keeping = Keeping::begin(super::new_record(), found, of);
    let mut reference = Reference::default();
    match ceilings {
        Ok(known) => reference.ceilings = known,
        Err(why) => {
            keeping.coverage.push(Coverage::degraded("ceilings", why).with_remedy("run linespeed once"));
        }
    }
    keeping.say(seen.into_iter().chain(watch.count_group(service.as_ref())));
    keeping.watch.ceilings.clone_from(&reference.ceilings);
    if once && reference.ceilings.probe.is_empty() {
        reference.calibrated_ns = watch.listen(READINGS, BETWEEN, stop);
        keeping.say([calibrated(watch.restart())]);
        keeping.watch.calibrated_ns = reference.calibrated_ns;
        if service.as_ref().is_some_and(|service| service.ended() > 0) {
            let of = &keeping.watch.of;
            return Err(Failure::Cannot(format!("{of} ended while the memory probe was being calibrated")));
        }
    }
    loop {
        if let Some(service) = &mut service {
            // A unit may temporarily have no process, when one has exited and the next has not started yet.
            let _ = service.refresh(&Root::live());
        }
        let length = (live.once.unwrap_or(live.interval), once);
        let (mut interval, bound) = look(&mut watch, service.as_mut(), length, &reference, stop);
        let used = interval.times.share(interval.times.busy());
        if let Some(looks) = looker.as_mut().and_then(|looker| looker.look_beside(used)) {
            let said = diagnose::shape(looks, &machine);
            shape = said.map(|shape| Box::new(Shape { states: Vec::new(), ..shape }));
        }
        interval.shape.clone_from(&shape);
        keeping.push(&interval, bound.as_ref());
        shown.show(options, live, (&interval, bound.as_ref()), &reference, &keeping)?;
        let has_ended = interval.service.as_ref().is_some_and(|service| service.ended > 0);
        if once || stop.signal().is_some() || has_ended {
            break;
        }
        let uncalibrated = reference.ceilings.probe.is_empty() && reference.calibrated_ns.is_none();
        if uncalibrated && keeping.watch.seconds() >= 2.0 {
            let heard = interval.probe.as_ref();
            let heard = heard.and_then(|probe| probe.slowest()).map(|(_, ns)| ns);
            reference.calibrated_ns = heard;
            keeping.watch.calibrated_ns = heard;
            keeping.say(heard.map(|_| calibrated(interval.times.share(interval.times.busy()))));
        }
        kept.write_now_and_then(&mut keeping, shown.names.as_mut())?;
    }
    // Ctrl-C is the normal end of a recording.
    let interrupted = stop.signal().filter(|signal| *signal != libc::SIGINT);
    let mut record = keeping.finish(&Root::live(), super::measuring::ended(interrupted));
    if let Some(names) = &mut shown.names {
        record = redact_with(record.redacted(names))?;
        redaction::end(options, names);
    }
    let watch =
        record.watch.as_ref().filter(|_| !once && !to_standard_output(options) && !options.out.quiet_output);
    let printed = watch.map_or(Ok(()), |watch| {
        let draw = |screen: &mut Screen| terminal::live_summary(screen, watch);
        output::print(&Screen::draw(&output::style(&options.out), draw))
    });
    kept.write_at_the_end(&record)?;
    printed.map(|()| interrupted.map_or(0, signal_code))
}

/// Observes one interval; returns it with the bottleneck of the selected processes or of the whole machine.
fn look(
    watch: &mut Watch,
    mut service: Option<&mut Service>,
    length: (Duration, bool),
    reference: &Reference,
    stop: &Stop,
) -> (Interval, Option<Bound>) {
    let (mut interval, done) = watch.watch_beside(service.as_deref_mut(), length, stop);
    if let (Some(service), Some(times)) = (service, &mut interval.service) {
        times.ended = service.ended();
    }
    let bound = match done {
        Some(done) => diagnose::watched_service(done, &interval, reference),
        None => diagnose::watched(&interval, reference),
    };
    (interval, bound)
}

/// A description of what is observed, with the names of its processes.
fn describe(of: &str, names: &[String]) -> String {
    if names.is_empty() { of.to_owned() } else { format!("{of} ({})", join_most(names, NAMED)) }
}

/// Notes that the probe's baseline is its latency at the start, when this share of the CPUs was busy.
fn calibrated(busy: f64) -> Coverage {
    let reason = text!(
        "calibrated at the start, while the CPUs were {busy} busy",
        busy = text::Value::Rounded(Box::new(text::Value::Share(busy)), 2)
    );
    Coverage::degraded("memory probe", reason).with_remedy("run linespeed once while the machine is idle")
}

/// Registers the name of the observed cgroup, unit or container, so that sentences contain its pseudonym.
fn hide(names: &mut Pseudonyms, watched: &Selection) {
    match watched {
        Selection::Processes(_) => {}
        Selection::Cgroup(name) | Selection::Unit(name) | Selection::Container(name) => {
            for name in [name.as_str(), name.trim_end_matches(".service")] {
                names.of(Kind::Group, name);
            }
        }
    }
}

/// The text on the terminal.
struct Shown {
    screen: Redrawn,
    head: String,
    /// The last sample of the machine's processes.
    look: LastLook,
    /// Whether a failed write of a file was already reported.
    said: bool,
    /// Pseudonyms, if names are removed.
    names: Option<Pseudonyms>,
}

impl Shown {
    fn show(
        &mut self,
        options: &Options,
        live: &Live,
        (interval, bound): (&Interval, Option<&Bound>),
        reference: &Reference,
        keeping: &Keeping,
    ) -> Result<(), Failure> {
        let (interval, bound, coverage) = match &mut self.names {
            None => (interval.clone(), bound.cloned(), keeping.coverage.clone()),
            // The interval is redacted first, because the other parts quote names from it.
            Some(names) => (
                redact_with(names.redact(interval, ".interval"))?,
                redact_with(names.redact(&bound.cloned(), ".bound"))?,
                redact_with(names.redact(&keeping.coverage, ".coverage"))?,
            ),
        };
        let (interval, bound, coverage) = (&interval, bound.as_ref(), &coverage[..]);
        if let Some(path) = &options.out.prom {
            let text = report::prometheus::interval(interval, bound.map(|bound| &bound.by));
            // A full disk may have space again later.
            match files::refresh(path, &text).map_err(|failure| failure.with_way_out(PROM_WAY_OUT)) {
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
            let said = Said { time: &time, interval, bound, coverage };
            return output::print(&as_json(record::json::write_line(&said))?);
        }
        if options.out.quiet_output {
            return Ok(());
        }
        let head = format!("{}; {} until {time}", self.head, record::units::figure(interval.seconds, "s"));
        let goes_on = live.once.is_none();
        self.look.take(interval);
        let (look, watch) = (&self.look, &keeping.watch);
        let live = terminal::Live { head: &head, interval, watch, look, bound, reference, coverage, goes_on };
        let text = Screen::draw(&output::style(&options.out), |screen| terminal::live(screen, &live));
        if !goes_on {
            return output::print(&text);
        }
        output::print(&self.screen.over(&text, &std::io::stdout()))
    }
}
