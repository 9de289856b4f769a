//! How a rule makes a finding: what it is and costs, then its place, evidence and remedies, one by one.

use record::diagnosis::{Confidence, Evidence, Finding, Relevance, Severity};
use record::difference::Verdict;
use record::{CpuList, Remedy, Text};

use super::Rule;
use crate::figures::{Place, cite_fact, name_cpus, severity, share_of, weight};

impl Rule {
    /// A finding of a measured loss; its severity follows from the loss.
    pub(super) fn report_loss(&self, loss: Verdict, what: impl Into<Text>) -> Finding {
        Finding {
            rule: self.name.to_owned(),
            severity: severity(share_of(&loss)),
            what: what.into(),
            place: None,
            evidence: Vec::new(),
            loss,
            relevance: Relevance::All,
            measured: true,
            confidence: Confidence::High,
            resource: self.resource.map(str::to_owned),
            remedy: Vec::new(),
            undo: Vec::new(),
        }
    }

    /// A finding whose fact is read and whose loss follows from a model.
    pub(super) fn report_model(&self, loss: Verdict, what: impl Into<Text>) -> Finding {
        Finding { measured: false, confidence: Confidence::Medium, ..self.report_loss(loss, what) }
    }

    /// A finding whose fact is read and whose loss nothing here tells, for the reason given.
    pub(super) fn report_fact(&self, severity: Severity, reason: impl Into<Text>, what: Text) -> Finding {
        let loss = Verdict::NotMeasurable { reason: reason.into() };
        Finding { severity, ..self.report_model(loss, what) }
    }
}

/// What a rule adds to a finding.
pub(super) trait Draft: Sized {
    /// Says where it is.
    fn locate(self, place: impl Into<Option<Text>>) -> Self;
    /// Adds evidence: what it says, and where in the record it stands.
    fn cite(self, says: Text, from: impl Into<Place>) -> Self;
    /// Adds what is said of something, where it is there.
    fn cite_some<T>(self, seen: Option<T>, from: &str, says: impl FnOnce(T) -> Text) -> Self {
        self.cite_all(seen.map(|seen| cite_fact(says(seen), from)))
    }
    /// Adds evidence.
    fn cite_all(self, evidence: impl IntoIterator<Item = Evidence>) -> Self;
    /// Adds ways to mend it.
    fn mend(self, remedies: impl IntoIterator<Item = Remedy>) -> Self;
    /// Adds ways back from what mends it.
    fn undo(self, undo: impl IntoIterator<Item = Remedy>) -> Self;
    /// Says who feels it, which decides how bad its loss is.
    fn felt_by(self, relevance: Relevance) -> Self;

    /// Says on which CPUs it is.
    fn locate_cpus(self, cpus: &CpuList) -> Self {
        self.locate(name_cpus(cpus))
    }

    /// Adds words of what to do.
    fn advise(self, text: Text) -> Self {
        self.mend([Remedy::advice(text)])
    }

    /// Adds a command with what it is for.
    fn suggest(self, purpose: Text, command: impl Into<String>) -> Self {
        self.mend([Remedy::both(purpose, command)])
    }
}

impl Draft for Finding {
    fn locate(self, place: impl Into<Option<Text>>) -> Self {
        Self { place: place.into(), ..self }
    }

    fn cite(self, says: Text, from: impl Into<Place>) -> Self {
        self.cite_all([cite_fact(says, from)])
    }

    fn cite_all(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    fn mend(mut self, remedies: impl IntoIterator<Item = Remedy>) -> Self {
        self.remedy.extend(remedies);
        self
    }

    fn undo(mut self, undo: impl IntoIterator<Item = Remedy>) -> Self {
        self.undo.extend(undo);
        self
    }

    fn felt_by(self, relevance: Relevance) -> Self {
        let severity = match share_of(&self.loss) {
            // How bad a loss that nothing tells is, the rule says.
            0.0 if relevance != Relevance::None => self.severity,
            share => severity(weight(share, relevance)),
        };
        Self { severity, relevance, ..self }
    }
}
