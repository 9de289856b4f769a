//! What the outputs told of one machine, put together.

use record::import::{Import, NotUnderstood, Text};
use record::{Coverage, Machine, Measurement, Record, Snapshot};

use crate::dispatch::Refusal;
use crate::parts::Part;

/// One machine, as other tools' output tells of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// What the text calls it: a host name, a heading; `None` where nothing names it.
    pub name: Option<String>,
    /// The inventory. What no output told is absent.
    pub machine: Machine,
    /// Its state, as far as a tool told it.
    pub state: Snapshot,
    /// Figures, each with its origin.
    pub measurements: Vec<Measurement>,
    /// What is not known.
    pub coverage: Vec<Coverage>,
    /// Where everything came from.
    pub import: Import,
}

impl Imported {
    /// Fills a new record.
    pub fn into_record(self, mut record: Record) -> Record {
        record.machine = self.machine;
        record.conditions.before = self.state;
        record.measurements = self.measurements;
        record.coverage = self.coverage;
        record.import = Some(self.import);
        record
    }
}

/// Puts together what the outputs of one machine told.
pub fn assemble(part: Part, texts: &[Text], not_understood: &NotUnderstood) -> Result<Imported, Refusal> {
    let name = part.name();
    let Part { host, draft, outputs, .. } = part;
    let mut machine = draft.machine;
    machine.hostname = machine.hostname.or(host);
    let of_it = |text: &&Text| outputs.iter().any(|output| output.text == text.name);
    let import = Import {
        texts: texts.iter().filter(of_it).cloned().collect(),
        outputs: outputs.clone(),
        inventory: draft.told.into_iter().collect(),
        withheld: draft.withheld,
        contradictions: draft.contradictions,
        not_understood: not_understood.clone(),
    };
    Ok(Imported {
        name,
        machine,
        state: draft.state,
        measurements: draft.measurements,
        coverage: Vec::new(),
        import,
    })
}
