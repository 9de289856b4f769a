//! Measures the result on which a finding relies before and after a knob is set.

use machine::Root;
use measure::context::{Progress, lead_cpu};
use measure::{Depth, Measure, Wakeups, list};
use quiet::tuning_plan::Purpose;
use record::difference::Scale;
use record::metrics::{Better, Definition};
use record::{CpuList, Key, KnobName, Label, Labels, Measurement, Text, text};

use super::comparison::{TWICE, run_with_knobs};
use super::figure::{Figure, Unit};
use super::knobs::find_settable;
use super::{Proof, ProofError, ProofRequest};

/// A repeatedly measured result.
#[derive(Clone)]
pub struct ProvenFigure {
    metric: &'static Definition,
    measure: &'static Measure,
    /// The labels of the place at which the result is measured, if known.
    place: Labels,
    /// Whether the best result over all page sizes counts, as for a program that requests huge pages.
    any_page: bool,
}

/// Additional rounds beyond the minimum for an interval, so that a single outlier does not determine the result.
const SPARE_ROUNDS: usize = 2;

/// The unchanged machine, and the machine with the knob set.
type Comparison = super::comparison::Comparison<Option<&'static str>, f64>;

impl ProvenFigure {
    /// The result that shows a knob's gain: the one cited by the finding, or the usual one for this kind of knob.
    /// `None` if only a program can show the gain, for example the gain of huge pages for programs that do not request
    /// them.
    pub fn of(knob: &record::KnobValue, cited: Option<&Measurement>) -> Option<Self> {
        let usual = knob.metric_of_gain()?;
        let cited = cited.filter(|cited| cited.metric == usual);
        let metric = usual.definition()?;
        let measure = *measure::MEASUREMENTS.iter().find(|measure| measure.metrics.contains(&usual))?;
        let place = cited.map(|cited| cited.labels.clone()).unwrap_or_default();
        Some(Self { metric, measure, place, any_page: knob.knob == KnobName::Thp })
    }

    /// The name of the result, and the place at which it is measured.
    pub fn describe(&self) -> Text {
        // The usual value of a label is not mentioned.
        let usual = |name: &str, value: &Key| name == Label::Corrected.name() && value.to_string() == "false";
        let said = self.place.0.iter().filter(|(name, value)| !usual(name, value));
        let part = |(name, value): (&String, &Key)| match Label::from_name(name) {
            Some(Label::Cpu) => format!("CPU {value}"),
            _ => format!("{name} {value}"),
        };
        let place: Vec<String> = said.map(part).collect();
        match place.is_empty() {
            true => self.metric.title.into(),
            false => text!("{title}, {place}", title = self.metric.title, place = place.join(", ")),
        }
    }

    /// Selects the new result whose labels are most similar to those of the place.
    fn pick(&self, measured: &[Measurement]) -> Option<f64> {
        let own = measured.iter().filter(|one| one.metric == self.metric.name);
        let asked = |label: &Label| !(self.any_page && *label == Label::Page);
        let likeness = |one: &Measurement| {
            let keys = self.metric.keys.iter().filter(|label| asked(label));
            keys.filter(|label| one.labels.get(**label) == self.place.get(**label)).count()
        };
        let size = |one: &Measurement| one.labels.count(Label::Bytes).unwrap_or(0);
        let nearest = own.clone().max_by_key(|one| (likeness(one), size(one)))?;
        let alike = own.filter(|one| (likeness(one), size(one)) == (likeness(nearest), size(nearest)));
        let values = alike.map(Measurement::value).filter(|value| value.is_finite() && *value > 0.0);
        match self.metric.better {
            Some(Better::Lower) => values.min_by(f64::total_cmp),
            _ => values.max_by(f64::total_cmp),
        }
    }

    /// The CPUs to measure: the CPU of the place, or all CPUs if all of them were busy together.
    fn cpus(&self, machine: &record::Machine) -> CpuList {
        let allowed = machine.allowed_cpus();
        let together = self.place.word(Label::Active) == Some("all");
        let own = self.place.count(Label::Cpu).and_then(|cpu| u32::try_from(cpu).ok());
        let own = own.filter(|cpu| allowed.contains(*cpu)).or_else(|| lead_cpu(machine, &allowed));
        if together { allowed } else { own.into_iter().collect() }
    }
}

/// Measures a result alternately with and without this knob.
pub fn prove_figure(request: ProofRequest, of: &ProvenFigure) -> Result<Proof, ProofError> {
    let (knobs, missing) = find_settable(request, request.names, Purpose::Measuring)?;
    let mut comparisons = vec![Comparison::new(TWICE, None, None)];
    comparisons.extend(knobs.iter().map(|knob| Comparison::new(knob.change.clone(), None, Some(knob.name))));
    let rounds = request.rounds.unwrap_or_else(|| super::choose_rounds(1, SPARE_ROUNDS));
    let machine = machine::inspect(&Root::live()).machine;
    let cpus = of.cpus(&machine);
    let depth = list::depth_of(of.measure, &[of.measure], &machine, &cpus, Depth::Quick);
    let each = of.measure.budget(&machine, &cpus, depth).seconds;
    let less_is_better = of.metric.better == Some(Better::Lower);
    let figure = Figure::new(of.metric.title, Unit::Of(of.metric.unit), Scale::Ratio, less_is_better);
    let mut found = Proof::of_blocks(
        request,
        ["The result before and after the change (alternating blocks)", "comparison"],
        comparisons,
        (rounds, each),
        &[(figure, |value| Some(*value))],
        |knob| measure_once(request, of, &cpus, *knob),
    )?;
    found.missing.splice(0..0, missing);
    let place = of.describe();
    found.remarks.push(text!("Measured as in linespeed run {name}: {place}.", name = of.measure.name));
    Ok(found)
}

/// The result with this knob set; `None` if a signal interrupted it.
fn measure_once(
    request: ProofRequest,
    of: &ProvenFigure,
    cpus: &CpuList,
    knob: Option<&'static str>,
) -> Result<Option<f64>, ProofError> {
    let results = run_with_knobs(request, knob.as_slice(), || {
        // The knob determines which measurements are possible: without huge pages, for example, there is no result for
        // them.
        let found = machine::inspect(&Root::live());
        let how = (Depth::Quick, Wakeups::USUAL);
        list::run(&[of.measure], &found, how, cpus, request.stop, &mut Unheard)
    })?;
    let value =
        |results: list::Results| of.pick(&results.measurements).ok_or(ProofError::NoFigure(of.measure.name));
    results.map(value).transpose()
}

/// Receives progress notifications and does not show them, because the rounds are short.
struct Unheard;

impl Progress for Unheard {
    fn begin(&mut self, _: &str, _: f64) {}
    fn advance(&mut self, _: f64) {}
    fn end(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::KnobValue;

    fn latency(cpu: u32, bytes: u64, page: &str, ns: f64) -> Measurement {
        let place = Labels::new()
            .with_label(Label::Cpu, cpu)
            .with_label(Label::Bytes, bytes)
            .with_label(Label::Page, page);
        Measurement::new("load.latency", place, vec![ns; 6])
    }

    #[test]
    fn the_figure_that_the_finding_cites_is_the_one_that_is_measured_again() {
        let cited = latency(1, 1 << 30, "4KiB", 120.0);
        let thp = ProvenFigure::of(&KnobValue::new(KnobName::Thp, "madvise"), Some(&cited)).unwrap();
        let now = [latency(1, 1 << 20, "4KiB", 5.0), latency(1, 1 << 30, "4KiB", 119.0)];
        assert_eq!(thp.pick(&now), Some(119.0));
        // A program that requests huge pages gets them now.
        let asks = [now.to_vec(), vec![latency(1, 1 << 30, "2MiB", 90.0)]].concat();
        assert_eq!(thp.pick(&asks), Some(90.0));
        assert_eq!(thp.pick(&[]), None);
    }

    #[test]
    fn what_only_a_program_shows_has_no_figure_here() {
        for knob in [
            KnobValue::new(KnobName::Thp, "always"),
            KnobValue::new(KnobName::Smt, "off"),
            KnobValue::new(KnobName::NumaBalancing, "0"),
        ] {
            assert!(ProvenFigure::of(&knob, None).is_none(), "{knob:?}");
        }
        for knob in [
            KnobName::Boost,
            KnobName::Governor,
            KnobName::Epp,
            KnobName::Epb,
            KnobName::ClockRange,
            KnobName::PowerLimit,
            KnobName::IdleStates,
        ] {
            assert!(ProvenFigure::of(&KnobValue::as_quiet(knob), None).is_some(), "{knob:?}");
        }
    }
}
