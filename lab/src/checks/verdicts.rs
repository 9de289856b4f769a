//! The checks of a record, and their outcomes.

use record::detail;
use record::{Coverage, Measurement, Record, Template};

/// The share of a result's pages that must be on the stated node.
const PLACED: f64 = 0.99;

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Held,
    Not,
    /// Cells are missing, and the record reports that time ran out or that the CPUs did not run at the same time. The
    /// cause is a busy host, not a fault.
    Unsure,
}

/// The checks and their outcomes.
#[derive(Debug, Default)]
pub struct Verdicts {
    all: Vec<(Verdict, String)>,
}

/// Reasons for missing cells that are due to other processes on the host.
const BUSY: [Template; 4] = [
    Coverage::TIME_ENDED,
    Coverage::NO_PAIR_AT_ONCE,
    Coverage::PAIRS_NOT_AT_ONCE,
    Coverage::MOST_TELLING_FIRST,
];
/// Maximum number of failed checks listed one by one.
const MOST_LINES: usize = 20;

impl Verdicts {
    /// The outcome of a trial, in its own words.
    pub fn of_trial(held: bool, said: &str) -> Self {
        Self { all: vec![(if held { Verdict::Held } else { Verdict::Not }, said.to_owned())] }
    }

    /// `what` must hold; `found` returns the actual value.
    pub(super) fn hold(&mut self, held: bool, what: impl Into<String>, found: impl FnOnce() -> String) {
        let what = what.into();
        self.all.push(match held {
            true => (Verdict::Held, what),
            false => (Verdict::Not, format!("{what}: found {}", found())),
        });
    }

    /// No cell of `measurement` may be missing, unless the record reports that the host was too busy.
    pub(super) fn complete(&mut self, record: &Record, measurement: &str, what: String, missing: &[String]) {
        let mut reported = record.coverage.iter().filter(|entry| entry.topic() == measurement);
        let busy = reported.find(|entry| BUSY.iter().any(|reason| entry.is_for(reason)));
        match busy.filter(|_| !missing.is_empty()) {
            Some(entry) => self
                .all
                .push((Verdict::Unsure, format!("{what}: {} missing: {}", missing.len(), entry.why()))),
            None => self.hold(missing.is_empty(), what, || {
                format!("{} missing: {}", missing.len(), missing[..missing.len().min(8)].join(", "))
            }),
        }
    }

    /// `found` must equal `expected`.
    pub(super) fn equal<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, expected: T, found: T) {
        self.hold(expected == found, format!("{what} is {expected:?}"), || format!("{found:?}"));
    }

    /// Whether no check failed, and at least one check was made.
    pub fn held(&self) -> bool {
        !self.all.is_empty() && self.all.iter().all(|(verdict, _)| *verdict != Verdict::Not)
    }

    /// Whether a check was inconclusive because the host was too busy.
    pub fn unsure(&self) -> bool {
        self.all.iter().any(|(verdict, _)| *verdict == Verdict::Unsure)
    }

    /// The number of passed checks.
    pub fn count_held(&self) -> usize {
        self.all.iter().filter(|(verdict, _)| *verdict == Verdict::Held).count()
    }

    /// The number of checks.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// The failed checks, and the passed checks if requested.
    pub fn lines(&self, verbose: bool) -> Vec<String> {
        let reported = |(verdict, what): &(Verdict, String)| match verdict {
            Verdict::Held => verbose.then(|| format!("held: {what}")),
            Verdict::Not => Some(format!("not: {what}")),
            Verdict::Unsure => Some(format!("inconclusive (host too busy): {what}")),
        };
        let mut lines: Vec<String> = self.all.iter().filter_map(reported).collect();
        if !verbose && lines.len() > MOST_LINES {
            let more = lines.len() - MOST_LINES;
            lines.truncate(MOST_LINES);
            lines.push(format!("and {more} more"));
        }
        lines
    }
}

/// Checks a result's memory: pages were queried, and they are on `node`.
pub(super) fn check_placed(figure: &Measurement, what: &str, node: u64, verdicts: &mut Verdicts) {
    let (on_node, pages) = (figure.detail.get(detail::ON_NODE), figure.detail.get(detail::PAGES));
    verdicts.hold(
        on_node.is_some_and(|share| share >= PLACED) && pages.is_some_and(|pages| pages >= 1),
        format!("{what}: its pages are on node {node}"),
        || format!("share {on_node:?} of {pages:?} pages"),
    );
}
