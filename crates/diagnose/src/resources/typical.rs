//! The position of a headline relative to published results of similar machines.

use record::diagnosis::{Position, Resource, Typical};
use record::{Label, Machine, Measurement};

use super::memory::{memory_pages, triad_and_read};
use super::wake_up::wake_up_at;
use super::{CORE, MEMORY_BANDWIDTH, MEMORY_LATENCY, WAKE_UP};
use crate::cores::{self, Core, Range, range_of};
use crate::cpu_accounting::disturbance;
use crate::figures::{middle, spread};
use crate::record_index::RecordIndex;

/// Tolerance beyond the ends of a published range with several sources, and of a range with one source: two machines of one model may
/// differ by this much.
const MARGINS: (f64, f64) = (0.05, 0.1);
/// The tolerance for a clock: the variation within one model.
const CLOCK_MARGIN: f64 = 0.02;

/// The machine's result, measured with the method of the published results, and the published range.
struct Beside<'a> {
    range: Range,
    figure: Option<&'a Measurement>,
}

/// The resource with its range and its position. Under load from other processes, the share is omitted, because the result then shows
/// little about the machine.
pub(crate) fn judge(index: &RecordIndex, mut resource: Resource) -> Resource {
    let machine = &index.record.machine;
    let core = cores::of_machine(machine);
    let beside = beside(index, core, &resource);
    resource.position = match &beside {
        _ if disturbance(index.record).is_some() => Some(Position::NotRepresentative),
        Some(Beside { range, figure }) => {
            let ends = figure.map(|figure| spread(&figure.summary)).filter(|(low, high)| low <= high);
            Some(range.position(ends.unwrap_or((resource.delivered, resource.delivered))))
        }
        None => core.is_none().then_some(Position::UnknownMachine),
    };
    resource.share = resource.share.filter(|_| resource.position != Some(Position::NotRepresentative));
    resource.typical = beside.map(|Beside { range, figure }| Typical {
        low: range.low,
        high: range.high,
        compared: figure.map(Measurement::value).filter(|value| *value != resource.delivered),
        of: range.of,
        sources: range.sources,
        of_bare_metal: machine.is_virtual() && !range.guest,
    });
    resource
}

impl Range {
    /// The range for several parts together, for example sockets: `parts` times the range of one.
    pub(crate) fn times(self, parts: f64) -> Self {
        Self { low: self.low * parts, high: self.high * parts, ..self }
    }

    /// The share of its ends by which a result may be outside this range and still be normal.
    pub(crate) fn tolerance(&self) -> f64 {
        match (self.unit, self.sources.len()) {
            ("Hz", _) => CLOCK_MARGIN,
            (_, 1) => MARGINS.1,
            _ => MARGINS.0,
        }
    }

    /// The position of a result relative to the range. The true value is between `least` and `most`.
    pub(crate) fn position(&self, (least, most): (f64, f64)) -> Position {
        let margin = self.tolerance();
        match (most < self.low * (1.0 - margin), least > self.high * (1.0 + margin)) {
            (true, _) => Position::Low,
            (_, true) => Position::High,
            _ => Position::Normal,
        }
    }
}

/// The published results with the machine's own result; `None` if nothing was published.
fn beside<'a>(index: &RecordIndex<'a>, core: Option<&'static Core>, of: &Resource) -> Option<Beside<'a>> {
    let (what, figure) = match of.name.as_str() {
        CORE => {
            let scalar = |active: &str| index.clocks("scalar", active);
            let all = scalar("all").next().is_some();
            let (what, active) = if all { ("clock.all_core", "all") } else { ("clock.one_core", "one") };
            (what, middle(scalar(active)))
        }
        MEMORY_BANDWIDTH => ("stream.triad", Some(triad_and_read(index)?.0)),
        MEMORY_LATENCY => ("dram.latency_local", Some(memory_pages(index)?.1)),
        WAKE_UP => match wake_up(index, "fifo") {
            Some(real_time) => ("wakeup.realtime", Some(real_time)),
            None => ("wakeup.ordinary", Some(wake_up(index, "other")?)),
        },
        _ => return None,
    };
    Some(Beside { range: published(&index.record.machine, core, what, triad_threads(index))?, figure })
}

/// The number of threads of the triad, if it was measured.
pub(crate) fn triad_threads(index: &RecordIndex) -> Option<u64> {
    triad_and_read(index)?.0.labels.count(Label::Threads)
}

/// The published range of the quantity with this name in the data, for results of a record and for results in a line of text. `threads` is
/// the number of threads of the triad, if it is known.
pub(crate) fn published(
    machine: &Machine,
    core: Option<&'static Core>,
    what: &str,
    threads: Option<u64>,
) -> Option<Range> {
    match what {
        "clock.one_core" => clock(machine, core, what, true),
        "clock.all_core" => clock(machine, core, what, false),
        "stream.triad" => triad_range(machine, core?, threads),
        "mem.read_peak" if machine.is_virtual() => None,
        "mem.read_peak" => range_of(core?, what, machine).map(|of| of.times(sockets(machine))),
        "wakeup.realtime" | "wakeup.ordinary" => cores::of_linux(what, machine),
        _ => range_of(core?, what, machine),
    }
}

fn sockets(machine: &Machine) -> f64 {
    f64::from(machine.counts.packages.unwrap_or(1).max(1))
}

/// The wake-up latency measured with the method of the published results: real-time threads with deep idle states disabled, other threads
/// with current settings.
pub(crate) fn wake_up<'a>(index: &RecordIndex<'a>, policy: &str) -> Option<&'a Measurement> {
    let own = wake_up_at(index, policy, "as-is")?;
    let held = wake_up_at(index, policy, "tuned").filter(|h| policy == "fifo" && h.value() < own.value());
    Some(held.unwrap_or(own))
}

/// The range of this model's clock, from the vendor's list if the model is listed there. Otherwise, there are two possible ranges: the
/// family's published boost, and the processor's reported base and maximum clock. The first is preferred with one core busy, the second
/// with all cores busy.
fn clock(machine: &Machine, core: Option<&'static Core>, what: &str, alone: bool) -> Option<Range> {
    let of = |what: &str| range_of(core?, what, machine);
    let own = |hz: Option<u64>| hz.filter(|hz| *hz > 0 && !machine.is_virtual()).map(|hz| hz as f64);
    let (base, most) = (own(machine.processor.base_hz), own(machine.processor.max_hz));
    let stated = || {
        let (base, most) = base.zip(most).filter(|(base, most)| base < most)?;
        let sources = vec!["the processor's reported base and maximum clock".to_owned()];
        let of = cores::names(&machine.processor).next().unwrap_or("this part").to_owned();
        Some(Range { low: base, high: most, unit: "Hz", sources, of, guest: false })
    };
    let family = || {
        let boost = of("clock.max_turbo")?;
        // The boost clock of this part may be lower than that of the listed parts.
        let least = if alone { most } else { Some(of("clock.base")?.low) };
        // The range also applies to guests, because base and boost clocks are the same under a hypervisor.
        Some(Range { low: least.map_or(boost.low, |hz| hz.min(boost.low)), guest: true, ..boost })
    };
    of(what).or_else(|| if alone { family().or_else(stated) } else { stated().or_else(family) })
}

/// The triad range. For a whole server, it is scaled by the number of sockets. For a guest or a part of a server, it is scaled by the
/// number of cores and limited to the range of the sockets.
fn triad_range(machine: &Machine, core: &'static Core, threads: Option<u64>) -> Option<Range> {
    let sockets = sockets(machine);
    let of_socket = range_of(core, "stream.triad", machine);
    let counts = &machine.counts;
    let is_whole = !machine.is_virtual() && counts.cpus_allowed.is_none_or(|c| Some(c) == counts.cpus_online);
    if let Some(of_socket) = of_socket.clone().filter(|_| is_whole) {
        return Some(of_socket.times(sockets));
    }
    let used = range_of(core, "triad.per_core", machine)?.times(threads? as f64);
    let high = of_socket.map_or(used.high, |socket| used.high.min(socket.high * sockets));
    Some(Range { low: used.low.min(high), high, ..used })
}

/// A headline whose result is worse than all published results.
pub(crate) struct OutOfRange<'a> {
    /// The headline with its range.
    pub resource: Resource,
    /// The result measured with the method of the published results.
    pub figure: &'a Measurement,
}

/// The headlines worse than their published range.
pub(crate) fn out_of_range<'a>(index: &RecordIndex<'a>) -> Vec<OutOfRange<'a>> {
    let core = cores::of_machine(&index.record.machine);
    let worse = |headline: super::Headline| {
        let resource = judge(index, headline.resource);
        let worse = if resource.unit == "ns" { Position::High } else { Position::Low };
        let figure = beside(index, core, &resource)?.figure?;
        (resource.position == Some(worse)).then_some(OutOfRange { resource, figure })
    };
    super::resources(index).into_iter().filter_map(worse).collect()
}
