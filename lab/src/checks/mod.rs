//! Holds a machine's record against its shape. One file for each kind of thing that is looked at.

mod cores;
mod counted;
mod facts;
mod inventory;
mod numa;
mod siblings;
mod steps;

use record::{Measurement, Record};

use crate::shape::Shape;

/// What was looked at, and whether it is as it should be.
#[derive(Debug, Default)]
pub struct Verdicts {
    all: Vec<(bool, String)>,
}

/// Most things that did not hold which are told one by one.
const MOST_LINES: usize = 20;

impl Verdicts {
    /// Nothing could be looked at.
    pub fn of_failure(why: &str) -> Self {
        Self { all: vec![(false, why.to_owned())] }
    }

    /// `what` must hold; `found` says what is there instead.
    fn hold(&mut self, held: bool, what: impl Into<String>, found: impl FnOnce() -> String) {
        let what = what.into();
        self.all.push((held, if held { what } else { format!("{what}: found {}", found()) }));
    }

    /// `found` must equal `expected`.
    fn equal<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, expected: T, found: T) {
        self.hold(expected == found, format!("{what} is {expected:?}"), || format!("{found:?}"));
    }

    /// Whether everything held, and there was something.
    pub fn held(&self) -> bool {
        !self.all.is_empty() && self.all.iter().all(|(held, _)| *held)
    }

    /// How many held.
    pub fn count_held(&self) -> usize {
        self.all.iter().filter(|(held, _)| *held).count()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// What did not hold, and what did where that is asked for.
    pub fn lines(&self, verbose: bool) -> Vec<String> {
        let told = |(held, what): &(bool, String)| {
            let mark = if *held { "held" } else { "not" };
            (verbose || !held).then(|| format!("{mark}: {what}"))
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
    fn a_record_that_is_none_is_a_failed_check() {
        let text = "summary='x'\narchitecture='x86_64'\ncpu='max'\nmemory='1GiB'";
        let shape = Shape::parse(std::path::Path::new("x.toml"), text).unwrap();
        assert!(all(&shape, b"{").lines(false)[0].contains("ends in the middle"));
    }
}
