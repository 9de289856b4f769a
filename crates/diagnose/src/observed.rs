//! The results of a machine after its settings were improved, if a record contains them, compared with the expectation.

use record::text::Value;
use record::{Label, Measurement, Record, Text, detail, metrics, text};

/// Tolerance of a model.
const OFF: f64 = 1.1;

/// Whether a result is of the machine with later settings.
pub(crate) fn is_tuned(m: &Measurement) -> bool {
    m.metric == metrics::WORKLOAD_THROUGHPUT && m.labels.word(Label::Setting) == Some("tuned")
}

/// Speed-up of a machine after a change, for work measured both ways.
pub(crate) struct Observed {
    /// The work.
    pub(crate) work: String,
    /// Throughput afterwards divided by the highest before.
    pub(crate) factor: f64,
    /// The changed settings.
    changes: String,
}

/// The corresponding results of a record.
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
    /// In a sentence.
    pub(crate) fn says(&self) -> Text {
        text!(
            "Observed: {factor} with {changes}.",
            factor = Value::Factor(self.factor),
            changes = self.changes.clone()
        )
    }

    /// The same, with the remainder for binding compared with the maximum of the model.
    pub(crate) fn against_model(&self, devices: Option<f64>, modelled: f64) -> Text {
        let mut says = self.says();
        if let Some(devices) = devices.filter(|devices| self.factor / devices > modelled * OFF) {
            let rest = Value::Factor(self.factor / devices);
            let (devices, modelled) = (Value::Factor(devices), Value::Factor(modelled));
            says.push(text!("Faster memory devices explain {devices}, which leaves {rest} for binding. The model predicts at most {modelled}, so it is wrong here."));
        }
        says
    }
}
