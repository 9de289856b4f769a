//! What was looked at in a record, and whether it is as it should be.

use record::detail;
use record::{Coverage, Measurement, Record, Template};

/// The share of a figure's pages that must lie where it says.
const PLACED: f64 = 0.99;

/// Whether something is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Held,
    Not,
    /// Cells are missing, and the record says that time ended or that the CPUs did not run at the same time: a busy
    /// host, not a fault.
    Unsure,
}

/// What was looked at, and whether it is as it should be.
#[derive(Debug, Default)]
pub struct Verdicts {
    all: Vec<(Verdict, String)>,
}

/// Why a record has cells missing because their CPUs were somebody else's.
const BUSY: [Template; 4] = [
    Coverage::TIME_ENDED,
    Coverage::NO_PAIR_AT_ONCE,
    Coverage::PAIRS_NOT_AT_ONCE,
    Coverage::MOST_TELLING_FIRST,
];
/// Most things that did not hold which are told one by one.
const MOST_LINES: usize = 20;

impl Verdicts {
    /// All that a trial looked at held, or not, in its own words.
    pub fn of_trial(held: bool, said: &str) -> Self {
        Self { all: vec![(if held { Verdict::Held } else { Verdict::Not }, said.to_owned())] }
    }

    /// `what` must hold; `found` says what is there instead.
    pub(super) fn hold(&mut self, held: bool, what: impl Into<String>, found: impl FnOnce() -> String) {
        let what = what.into();
        self.all.push(match held {
            true => (Verdict::Held, what),
            false => (Verdict::Not, format!("{what}: found {}", found())),
        });
    }

    /// None of the cells of `measurement` may be missing, unless the record says that the host was too busy.
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

    /// Whether nothing was found wrong, and there was something to look at.
    pub fn held(&self) -> bool {
        !self.all.is_empty() && self.all.iter().all(|(verdict, _)| *verdict != Verdict::Not)
    }

    /// Whether something could not be told because the host was too busy.
    pub fn unsure(&self) -> bool {
        self.all.iter().any(|(verdict, _)| *verdict == Verdict::Unsure)
    }

    /// How many held.
    pub fn count_held(&self) -> usize {
        self.all.iter().filter(|(verdict, _)| *verdict == Verdict::Held).count()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// What did not hold, and what did where that is asked for.
    pub fn lines(&self, verbose: bool) -> Vec<String> {
        let reported = |(verdict, what): &(Verdict, String)| match verdict {
            Verdict::Held => verbose.then(|| format!("held: {what}")),
            Verdict::Not => Some(format!("not: {what}")),
            Verdict::Unsure => Some(format!("too busy to tell: {what}")),
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

/// Holds what a figure says of its memory: that pages were asked about, and that they lay on `node`.
pub(super) fn check_placed(figure: &Measurement, what: &str, node: u64, verdicts: &mut Verdicts) {
    let (on_node, pages) = (figure.detail.get(detail::ON_NODE), figure.detail.get(detail::PAGES));
    verdicts.hold(
        on_node.is_some_and(|share| share >= PLACED) && pages.is_some_and(|pages| pages >= 1),
        format!("{what}: its pages lay on node {node}"),
        || format!("share {on_node:?} of {pages:?} pages"),
    );
}
