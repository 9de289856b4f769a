//! The distance of each resource from its ceiling, with the source of the ceiling and the delivered result.

mod memory;
mod reached;
mod repeatability;
#[cfg(test)]
mod tests;
mod typical;
mod wake_up;

use record::diagnosis::{CeilingSource, Resource};
use record::text::Value;
use record::{Doubt, DoubtKind, Label, Machine, Measurement, Text, metrics, text};

use crate::cores;
use crate::figures::{RESOLUTION, cpus_of, median, name_cpus};
use crate::record_index::RecordIndex;
pub(crate) use memory::{memory_pages, triad_and_read};
pub use reached::beyond_caches;
pub(crate) use reached::{MEMORY, Walk, beyond, last_cache, not_reached, walked};
pub(crate) use repeatability::state_repeatability;
pub(crate) use typical::{OutOfRange, judge, out_of_range, published, triad_threads, wake_up};
pub(crate) use wake_up::{DEFAULT_SLACK_NS, wake_up_cpu};

/// The clock with all cores busy.
pub(crate) const CORE: &str = "core";
/// Bytes per second between memory and all CPUs.
pub(crate) const MEMORY_BANDWIDTH: &str = "memory bandwidth";
/// Time of a load from memory.
pub const MEMORY_LATENCY: &str = "memory latency";
/// Time from the expiry of a timer until the waiting thread runs.
pub(crate) const WAKE_UP: &str = "wake-up";

/// A resource with descriptions of its results.
#[derive(Clone, Debug, PartialEq)]
pub struct Headline {
    /// The resource.
    pub resource: Resource,
    /// The delivered result.
    pub delivered_is: Text,
    /// The description of the ceiling.
    pub ceiling_is: Text,
}

impl Headline {
    fn new(resource: Resource, delivered_is: Text, ceiling_is: Text) -> Self {
        let mut headline = Self { resource, delivered_is, ceiling_is };
        headline.state_meaning();
        headline
    }

    /// Describes the meaning of the resource: its delivered result, compared with its ceiling.
    pub fn state_meaning(&mut self) {
        self.resource.meaning = text!(
            "{delivered}, compared with {ceiling}",
            delivered = &self.delivered_is,
            ceiling = &self.ceiling_is
        );
    }
}

/// One headline per resource: core, memory bandwidth, memory latency, wake-up. A resource is absent if its inputs are
/// missing. Memory is also absent if nothing was measured beyond the caches; `not_reached` reports this.
pub fn resources(index: &RecordIndex) -> Vec<Headline> {
    [core(index), memory::bandwidth(index), memory::latency(index), wake_up::wake_up(index)]
        .into_iter()
        .flatten()
        .collect()
}

/// The first doubt about these measurements. If it is about noise, only the kind of doubt is stated; otherwise, the full text.
fn doubt<'a>(behind: impl IntoIterator<Item = &'a Measurement>) -> Option<Doubt> {
    let first = behind.into_iter().find_map(|m| m.doubt.as_ref())?;
    Some(if first.kind() == DoubtKind::Other { first.clone() } else { first.gist() })
}

/// The mean share of CPU time that a continuously busy program loses.
fn taken(index: &RecordIndex) -> Option<f64> {
    let mean = |cause: Option<&str>| {
        let all = index.figures_of(metrics::STOLEN_SHARE).filter(|m| m.labels.word(Label::Cause) == cause);
        let shares: Vec<f64> = all.map(Measurement::value).filter(|share| share.is_finite()).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    };
    mean(None).or_else(|| Some(mean(Some("os"))? + mean(Some("below"))?)).filter(|share| *share >= RESOLUTION)
}

/// The highest clock of this model, and its source: the kernel or CPUID or, failing these, the vendor's list. There is no ceiling if the
/// hypervisor reports the base clock as the highest one, or if the only known clock is part of a name in the firmware.
fn advertised(machine: &Machine) -> Option<(f64, Text)> {
    let processor = &machine.processor;
    let is_base = |hz: &u64| processor.family.is_some() && processor.base_hz.is_some_and(|base| *hz <= base);
    let stated = processor.max_hz.filter(|hz| *hz > 0 && !is_base(hz)).map(|hz| hz as f64);
    let stated = stated.map(|hz| (hz, text!("core-clock-advertised", "the highest advertised core clock")));
    stated.or_else(|| {
        let of_part = cores::range_of(cores::of_machine(machine)?, "clock.one_core", machine)?;
        Some((of_part.high, text!("the boost clock of {part} with one core busy", part = of_part.of)))
    })
}

/// The core clock: the all-core clock relative to the advertised clock.
fn core(index: &RecordIndex) -> Option<Headline> {
    let scalar = |active: &str| index.clocks("scalar", active);
    let best_of =
        |active: &str| scalar(active).map(Measurement::value).filter(|hz| hz.is_finite()).fold(0.0, f64::max);
    let (alone, beside) = (best_of("one"), best_of("all"));
    let best = alone.max(beside);
    let all = scalar("all").next().is_some();
    let active = if all { "all" } else { "one" };
    let delivered = median(scalar(active).map(Measurement::value)).filter(|hz| *hz > 0.0)?;
    let machine = &index.record.machine;
    // A result above the ceiling shows that the ceiling was reported incorrectly.
    let holds = |hz: &f64| best <= *hz * (1.0 + RESOLUTION);
    let boost = || cores::range_of(cores::of_machine(machine)?, "clock.max_turbo", machine);
    let mut family_ceilings = None;
    let (ceiling, source, ceiling_is) =
        if let Some((hz, is)) = advertised(machine).filter(|(hz, _)| holds(hz)) {
            (hz, CeilingSource::Parts, is)
        } else if let Some(boost) = boost().filter(|boost| holds(&boost.high)) {
            family_ceilings = Some((boost.low, boost.high));
            let [low, high] = [boost.low, boost.high].map(|hz| Value::Figure(hz, "Hz"));
            let is = text!(
                "the boost clock of {family} with one core busy, {low} to {high} depending on the model",
                family = boost.of
            );
            (boost.high, CeilingSource::Family, is)
        } else {
            // The single-core clock may have been measured only once, on a CPU disturbed by other processes.
            let is = match alone >= beside {
                true => {
                    text!(
                        "core-clock-measured",
                        "the highest core clock measured with scalar code, one core busy"
                    )
                }
                false => text!(
                    "core-clock-measured-beside",
                    "the highest core clock measured with scalar code, all cores busy"
                ),
            };
            (best, CeilingSource::Measured, is)
        };
    let (sure, doubtful): (Vec<_>, Vec<_>) = scalar(active).partition(|m| m.doubt.is_none());
    let cpus = name_cpus(&cpus_of(scalar(active))).unwrap_or_else(|| text!("the CPUs"));
    let resource = Resource {
        name: CORE.to_owned(),
        unit: "Hz".to_owned(),
        ceiling: Some(ceiling),
        source: Some(source),
        delivered,
        share: (source != CeilingSource::Measured).then_some(delivered / ceiling),
        family_ceilings,
        beside: taken(index)
            .map(|share| text!("a busy loop lost {share} of CPU time", share = Value::Share(share))),
        // A median is reliable if most of its values are reliable.
        doubt: doubt(doubtful.iter().copied().filter(|_| doubtful.len() >= sure.len())),
        ..Resource::default()
    };
    let delivered_is = if all {
        text!("core-clock-of-all", "median clock of {cpus}, all cores busy")
    } else {
        text!("median clock of {cpus}, one core busy")
    };
    Some(Headline::new(resource, delivered_is, ceiling_is))
}
