//! Holds a machine's record against its shape. One file for each kind of thing that is looked at.

mod facts;
mod inventory;

use record::Record;

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
    verdicts
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
