//! Compares a machine's record with its shape. There is one file for each kind of check.

mod cores;
mod counted;
mod facts;
mod findings;
mod inventory;
mod numa;
mod siblings;
mod steps;
mod verdicts;

use record::Record;

pub use verdicts::Verdicts;

use crate::shape::Shape;

/// Checks all declarations of the shape, and the required properties of each requested measurement.
pub fn check_all(shape: &Shape, json: &[u8]) -> Verdicts {
    let mut verdicts = Verdicts::default();
    let record = match Record::from_json(json) {
        Ok(record) => record,
        Err(error) => return Verdicts::of_trial(false, &format!("the record {error}")),
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

#[cfg(test)]
mod made_up {
    //! Synthetic records for the tests of single checks.

    use record::{Labels, Measurement, Record};

    use super::Verdicts;
    use crate::shape::Shape;
    use record::detail;

    /// A shape with two nodes of two CPUs each, preceded by `lines`; the second node has no memory.
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

    /// A result whose page was on the stated node.
    pub(super) fn figure(metric: impl Into<record::Metric>, place: Labels) -> Measurement {
        Measurement::new(metric, place, vec![1.0])
            .with_detail(detail::ON_NODE, 1.0)
            .with_detail(detail::PAGES, 8)
    }

    /// The failures that a check reports.
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
    fn what_does_not_hold_is_reported_with_what_is_there() {
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
        let reported = |record: &Record, missing: &[String]| {
            let mut verdicts = Verdicts::default();
            verdicts.complete(record, "core-to-core", "6 pairs".to_owned(), missing);
            (verdicts.held(), verdicts.unsure(), verdicts.lines(false).join(""))
        };
        assert_eq!(
            reported(&record, &missing),
            (false, false, "not: 6 pairs: found 1 missing: (0, 1)".to_owned())
        );
        record.coverage.push(record::Coverage::degraded("core-to-core", "out of time after 5 of 6 pairs"));
        let (held, unsure, line) = reported(&record, &missing);
        assert!(
            held && unsure && line.starts_with("inconclusive (host too busy): 6 pairs: 1 missing"),
            "{line}"
        );
        assert_eq!(reported(&record, &[]), (true, false, String::new()));
    }

    #[test]
    fn a_record_that_is_none_is_a_failed_check() {
        let text = "summary='x'\narchitecture='x86_64'\ncpu='max'\nmemory='1GiB'";
        let shape = Shape::parse(std::path::Path::new("x.toml"), text).unwrap();
        assert!(check_all(&shape, b"{").lines(false)[0].contains("truncated"));
    }
}
