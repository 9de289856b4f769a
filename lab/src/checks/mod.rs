//! Holds a machine's record against its shape. One file for each kind of thing that is looked at.

mod cores;
mod counted;
mod facts;
mod findings;
mod inventory;
mod numa;
mod siblings;
mod steps;

use record::{Measurement, Record};

use crate::shape::Shape;

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

/// How a record says that cells are missing because their CPUs were somebody else's.
const BUSY: [&str; 4] =
    ["time ended", "ran at the same time", "run at the same time", "were measured, those"];
/// Most things that did not hold which are told one by one.
const MOST_LINES: usize = 20;

impl Verdicts {
    /// Nothing could be looked at.
    pub fn of_failure(why: &str) -> Self {
        Self { all: vec![(Verdict::Not, why.to_owned())] }
    }

    /// Everything was put back after every kill, or not, in the words of the program that killed.
    pub fn of_kills(back: bool, printed: &str) -> Self {
        Self { all: vec![(if back { Verdict::Held } else { Verdict::Not }, printed.to_owned())] }
    }

    /// All that a trial of its own looked at held, or not, in its last words.
    pub fn of_trial(held: bool, said: &str) -> Self {
        Self { all: vec![(if held { Verdict::Held } else { Verdict::Not }, said.to_owned())] }
    }

    /// `what` must hold; `found` says what is there instead.
    fn hold(&mut self, held: bool, what: impl Into<String>, found: impl FnOnce() -> String) {
        let what = what.into();
        if held {
            self.all.push((Verdict::Held, what));
        } else {
            self.all.push((Verdict::Not, format!("{what}: found {}", found())));
        }
    }

    /// None of the cells of `measurement` may be missing, unless the record says that the host was too busy.
    fn complete(&mut self, record: &Record, measurement: &str, what: String, missing: &[String]) {
        let busy = record.coverage.iter().find_map(|entry| {
            let reason = entry.reason.as_deref().filter(|_| entry.what.starts_with(measurement))?;
            BUSY.iter().any(|words| reason.contains(words)).then_some(reason)
        });
        match busy.filter(|_| !missing.is_empty()) {
            Some(reason) => {
                self.all.push((Verdict::Unsure, format!("{what}: {} missing: {reason}", missing.len())))
            }
            None => self.hold(missing.is_empty(), what, || {
                format!("{} missing: {}", missing.len(), missing[..missing.len().min(8)].join(", "))
            }),
        }
    }

    /// `found` must equal `expected`.
    fn equal<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, expected: T, found: T) {
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
        let told = |(verdict, what): &(Verdict, String)| match verdict {
            Verdict::Held => verbose.then(|| format!("held: {what}")),
            Verdict::Not => Some(format!("not: {what}")),
            Verdict::Unsure => Some(format!("too busy to tell: {what}")),
        };
        let mut lines: Vec<String> = self.all.iter().filter_map(told).collect();
        if !verbose && lines.len() > MOST_LINES {
            let more = lines.len() - MOST_LINES;
            lines.truncate(MOST_LINES);
            lines.push(format!("and {more} more"));
        }
        lines
    }
}

/// Everything that the shape says, and what must hold of each measurement that was asked for.
pub fn all(shape: &Shape, json: &[u8]) -> Verdicts {
    let mut verdicts = Verdicts::default();
    let record = match Record::from_json(json) {
        Ok(record) => record,
        Err(error) => return Verdicts::of_failure(&format!("the record {error}")),
    };
    inventory::check(shape, &record, &mut verdicts);
    facts::check(&shape.expect, json, &mut verdicts);
    findings::check(&shape.check, &record, &mut verdicts);
    let asked = |name: &str| shape.check.run.iter().any(|argument| argument == name);
    if asked("numa") {
        numa::check(shape, &record, &mut verdicts);
    }
    if asked("core-to-core") {
        cores::check(shape, &record, &mut verdicts);
    }
    if asked("smt-yield") {
        siblings::check(shape, &record, &mut verdicts);
    }
    if asked("scaling") {
        steps::check(shape, &record, &mut verdicts);
    }
    if asked("workloads") && shape.icount.is_some() {
        counted::check(&record, &mut verdicts);
    }
    verdicts
}

/// Holds what a figure says of its memory: that pages were asked about, and that they lay on `node`.
fn placed(figure: &Measurement, what: &str, node: u64, verdicts: &mut Verdicts) {
    let number = |key: &str| figure.detail.get(key).and_then(serde_json::Value::as_f64);
    let (on_node, pages) = (number("on_node"), number("pages"));
    verdicts.hold(
        on_node.is_some_and(|share| share >= PLACED) && pages.is_some_and(|pages| pages >= 1.0),
        format!("{what}: its pages lay on node {node}"),
        || format!("share {on_node:?} of {pages:?} pages"),
    );
}

/// The share of a figure's pages that must lie where it says.
const PLACED: f64 = 0.99;

#[cfg(test)]
mod made_up {
    //! Records made up for the tests of single checks.

    use record::{Measurement, Record, Where};

    use super::Verdicts;
    use crate::shape::Shape;

    /// A shape of two nodes with two CPUs each, of which the second has no memory, with `lines` before them.
    pub(super) fn shape(lines: &str, threads: u32) -> Shape {
        let text = format!(
            "summary = 'x'\narchitecture = 'x86_64'\ncpu = 'max'\n{lines}\n[cpus]\ncores = {}\nthreads = {threads}\n\
             [[node]]\ncpus = '0-1'\nmemory = '64MiB'\n[[node]]\ncpus = '2-3'\n",
            4 / threads
        );
        Shape::parse(std::path::Path::new("x.toml"), &text).unwrap()
    }

    pub(super) fn record(measurements: Vec<Measurement>) -> Record {
        let mut record = Record::new("0.1.0", "2026-01-01T00:00:00Z".to_owned(), Vec::new());
        record.measurements = measurements;
        record
    }

    /// A figure whose page lay where it says.
    pub(super) fn figure(metric: &'static str, place: Where) -> Measurement {
        Measurement::new(metric, place, vec![1.0]).with_detail("on_node", 1.0).with_detail("pages", 8)
    }

    /// What a check finds wrong.
    pub(super) fn wrong(check: impl FnOnce(&mut Verdicts)) -> String {
        let mut verdicts = Verdicts::default();
        check(&mut verdicts);
        assert!(verdicts.count() > 0);
        verdicts.lines(false).join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_looked_at_is_not_everything_in_order() {
        assert!(!Verdicts::default().held());
    }

    #[test]
    fn what_does_not_hold_is_told_with_what_is_there() {
        let mut verdicts = Verdicts::default();
        verdicts.equal("packages", 2, 2);
        assert!(verdicts.held());
        verdicts.equal("nodes", 4, 3);
        assert_eq!((verdicts.held(), verdicts.count_held(), verdicts.count()), (false, 1, 2));
        assert_eq!(verdicts.lines(false), ["not: nodes is 4: found 3"]);
        assert_eq!(verdicts.lines(true).len(), 2);
    }

    #[test]
    fn missing_cells_are_a_fault_unless_the_record_says_why() {
        let missing = ["(0, 1)".to_owned()];
        let mut record = made_up::record(Vec::new());
        let told = |record: &Record, missing: &[String]| {
            let mut verdicts = Verdicts::default();
            verdicts.complete(record, "core-to-core", "6 pairs".to_owned(), missing);
            (verdicts.held(), verdicts.unsure(), verdicts.lines(false).join(""))
        };
        assert_eq!(
            told(&record, &missing),
            (false, false, "not: 6 pairs: found 1 missing: (0, 1)".to_owned())
        );
        record.coverage.push(record::Coverage::degraded("core-to-core", "time ended after 5 of 6 pairs"));
        let (held, unsure, line) = told(&record, &missing);
        assert!(held && unsure && line.starts_with("too busy to tell: 6 pairs: 1 missing"), "{line}");
        assert_eq!(told(&record, &[]), (true, false, String::new()));
    }

    #[test]
    fn a_record_that_is_none_is_a_failed_check() {
        let text = "summary='x'\narchitecture='x86_64'\ncpu='max'\nmemory='1GiB'";
        let shape = Shape::parse(std::path::Path::new("x.toml"), text).unwrap();
        assert!(all(&shape, b"{").lines(false)[0].contains("ends in the middle"));
    }
}
