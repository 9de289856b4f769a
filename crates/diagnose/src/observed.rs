//! Compares a machine's results after an improvement of its settings, if a record contains such results, with the
//! model's prediction.

use record::text::Value;
use record::{Label, Measurement, Record, Text, detail, metrics, text};

/// The tolerance of a model's prediction.
const OFF: f64 = 1.1;

/// Whether a result was measured with the improved settings.
pub(crate) fn is_tuned(m: &Measurement) -> bool {
    m.metric == metrics::WORKLOAD_THROUGHPUT && m.labels.word(Label::Setting) == Some("tuned")
}

/// The speedup from a change of a machine's settings, for a workload measured before and after the change.
pub(crate) struct Observed {
    /// The work.
    pub(crate) work: String,
    /// The throughput afterwards, divided by the highest throughput before.
    pub(crate) factor: f64,
    /// The changed settings.
    changes: String,
}

/// Finds a workload in the record that was measured before and after a change of settings.
pub(crate) fn find_observed(record: &Record) -> Option<Observed> {
    let then = record.measurements_of(metrics::WORKLOAD_THROUGHPUT).find(|m| is_tuned(m))?;
    let work = then.labels.word(Label::Workload)?;
    let same = |m: &&Measurement| m.labels.word(Label::Workload) == Some(work) && !is_tuned(m);
    let before = record.measurements_of(metrics::WORKLOAD_THROUGHPUT).filter(same).map(Measurement::value);
    let before = before.reduce(f64::max).filter(|before| *before > 0.0)?;
    let changes = then.detail.get(detail::NOTE).unwrap_or("better settings").to_owned();
    Some(Observed { work: work.to_owned(), factor: then.value() / before, changes })
}

impl Observed {
    /// The speedup in a sentence.
    pub(crate) fn says(&self) -> Text {
        text!(
            "Observed: {factor} with {changes}.",
            factor = Value::Factor(self.factor),
            changes = self.changes.clone()
        )
    }

    /// The speedup in a sentence, followed by a comparison of the model's maximum with the part of the speedup that
    /// only binding can explain.
    pub(crate) fn against_model(&self, devices: Option<f64>, now: Option<u32>, modelled: f64) -> Text {
        let mut says = self.says();
        // The devices named in `changes` may be faster than those of the other machine.
        let named =
            self.changes.split_once(" MT/s").and_then(|(front, _)| front.rsplit(' ').next()?.parse().ok());
        let named = named.zip(now).map(|(then, now): (f64, u32)| then / f64::from(now));
        let devices = devices.map(|devices| named.unwrap_or(devices));
        if let Some(devices) = devices.filter(|devices| self.factor / devices > modelled * OFF) {
            let rest = Value::Factor(self.factor / devices);
            let (devices, modelled) = (Value::Factor(devices), Value::Factor(modelled));
            says.push(text!("Faster memory devices explain {devices}, which leaves {rest} for binding. The model predicts at most {modelled}, so the model is wrong here."));
        }
        says
    }
}
