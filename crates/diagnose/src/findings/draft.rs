//! Builds a finding: a rule sets its subject and cost, then adds the place, evidence and remedies one by one.

use std::borrow::BorrowMut;

use record::diagnosis::{Confidence, Evidence, Finding, Relevance, Severity};
use record::difference::Verdict;
use record::{CpuList, Remedy, Text};

use super::{Rule, needs};
use crate::figures::{Place, cite_fact, name_cpus, severity, share_of, weight};
use crate::tables::{rows, template};

/// The remedies for findings, and the reasons why costs are unknown.
const REMEDIES: &str = include_str!("remedies.txt");

/// The remedies of a section, and how to undo them.
pub(super) fn read_section(section: &str) -> (Vec<Remedy>, Vec<Remedy>) {
    let (mut remedies, mut undo) = (Vec::new(), Vec::new());
    for row in rows(REMEDIES, section) {
        let [words, command @ ..] = row.as_slice() else { continue };
        let (all, words) = match words.strip_prefix("undo:") {
            Some(words) => (&mut undo, words.trim()),
            None if words.starts_with("cost:") => continue,
            None => (&mut remedies, *words),
        };
        let text = (!words.is_empty()).then(|| template(words).into());
        all.push(Remedy { text, command: command.first().map(|one| (*one).to_owned()), sets: None });
    }
    (remedies, undo)
}

/// The remedies of a section of the table.
pub(super) fn remedies(section: &str) -> Vec<Remedy> {
    read_section(section).0
}

/// The reason why a cost is unknown.
pub(super) fn reason(section: &str) -> Text {
    let cost = rows(REMEDIES, section).into_iter().find_map(|row| row.first()?.strip_prefix("cost: "));
    cost.map_or_else(Text::default, |cost| template(cost).into())
}

impl Rule {
    /// A finding with a measured loss, which determines its severity.
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
            resource: needs::resource(self.name).map(str::to_owned),
            remedy: Vec::new(),
            undo: Vec::new(),
        }
    }

    /// A finding with a known fact and a modelled loss.
    pub(super) fn report_model(&self, loss: Verdict, what: impl Into<Text>) -> Finding {
        Finding { measured: false, confidence: Confidence::Medium, ..self.report_loss(loss, what) }
    }

    /// A finding with a known fact and an unknown loss; the rule's section of the table explains why.
    pub(super) fn report_fact(&self, severity: Severity, what: Text) -> Finding {
        self.report_fact_as(self.name, severity, what)
    }

    /// A finding with a known fact and an unknown loss; the given section of the table explains why.
    pub(super) fn report_fact_as(&self, section: &str, severity: Severity, what: Text) -> Finding {
        let loss = Verdict::NotMeasurable { reason: reason(section) };
        Finding { severity, ..self.report_model(loss, what) }
    }
}

/// Methods that add parts to a finding.
pub(super) trait Draft: BorrowMut<Finding> + Sized {
    /// Adds its place.
    fn locate(mut self, place: impl Into<Option<Text>>) -> Self {
        self.borrow_mut().place = place.into();
        self
    }

    /// Adds its CPUs.
    fn locate_cpus(self, cpus: &CpuList) -> Self {
        self.locate(name_cpus(cpus))
    }

    /// Adds evidence: its text, and its place in the record.
    fn cite(self, says: Text, from: impl Into<Place>) -> Self {
        self.cite_all([cite_fact(says, from)])
    }

    /// Adds evidence if `seen` has a value.
    fn cite_some<T>(self, seen: Option<T>, from: &str, says: impl FnOnce(T) -> Text) -> Self {
        self.cite_all(seen.map(|seen| cite_fact(says(seen), from)))
    }

    /// Adds evidence.
    fn cite_all(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        self.borrow_mut().evidence.extend(evidence);
        self
    }

    /// Adds remedies.
    fn mend(mut self, remedies: impl IntoIterator<Item = Remedy>) -> Self {
        self.borrow_mut().remedy.extend(remedies);
        self
    }

    /// Adds the remedies of a section of the table, and how to undo them.
    fn mend_as(self, section: &str) -> Self {
        let (remedies, undo) = read_section(section);
        self.mend(remedies).undo(undo)
    }

    /// Adds a command with its purpose.
    fn suggest(self, purpose: Text, command: impl Into<String>) -> Self {
        self.mend([Remedy::both(purpose, command)])
    }

    /// Adds commands that undo the remedies.
    fn undo(mut self, undo: impl IntoIterator<Item = Remedy>) -> Self {
        self.borrow_mut().undo.extend(undo);
        self
    }

    /// Adds a condition under which there would be no loss, if the record does not exclude this condition; the finding is then at most a
    /// warning.
    fn doubt(mut self, unless: Text) -> Self {
        let finding = self.borrow_mut();
        finding.what.push(unless);
        finding.severity = finding.severity.min(Severity::Warning);
        finding.confidence = Confidence::Low;
        self
    }

    /// Sets which programs are affected, which influences the severity.
    fn felt_by(mut self, relevance: Relevance) -> Self {
        let finding = self.borrow_mut();
        finding.relevance = relevance;
        let share = share_of(&finding.loss);
        // If the loss is unknown, the rule sets the severity.
        if share != 0.0 || relevance == Relevance::None {
            finding.severity = severity(weight(share, relevance));
        }
        self
    }
}

impl Draft for Finding {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn every_section_of_remedies_belongs_to_a_rule() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/findings");
        let code: String = fs::read_dir(here)
            .unwrap()
            .filter_map(|file| fs::read_to_string(file.unwrap().path()).ok())
            .filter(|text| !text.starts_with("# "))
            .collect();
        for section in REMEDIES.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']')) {
            assert!(code.contains(&format!("\"{section}\"")), "unused section [{section}]");
            let (remedies, undo) = read_section(section);
            assert!(
                !remedies.is_empty() || !undo.is_empty() || !reason(section).is_empty(),
                "{section} is empty"
            );
        }
    }
}
