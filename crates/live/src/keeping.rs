//! A periodically saved recording, so that little is lost if linespeed ends abnormally.

use std::time::{Duration, Instant};

use machine::{Inspection, Root};
use record::diagnosis::Bound;
use record::live::Interval;
use record::{Coverage, Ended, Record, Watch};

/// Time between two writes of the record during the recording.
const BETWEEN: Duration = Duration::from_secs(60);

/// The record of a recording in progress.
#[derive(Debug)]
pub struct Keeping {
    /// The recording so far.
    pub watch: Watch,
    /// The coverage: sources that cannot be observed on this machine.
    pub coverage: Vec<Coverage>,
    record: Record,
    began: Instant,
    /// Time for which the machine was suspended since the recording began, s.
    asleep: f64,
    written: Instant,
}

impl Keeping {
    /// Begins a recording; `of` names the observed processes, and is empty for the whole machine.
    pub fn begin(mut record: Record, found: Inspection, of: String) -> Self {
        record.machine = found.machine;
        record.conditions.before = found.snapshot;
        record.coverage = found.coverage;
        // The file has this state during the recording, and keeps it if linespeed is killed.
        record.ended = Ended::Failed { reason: "saved during the recording".to_owned() };
        let now = Instant::now();
        let watch = Watch { of, ..Watch::default() };
        Self { watch, coverage: Vec::new(), record, began: now, asleep: 0.0, written: now }
    }

    /// Adds lines to the coverage, each replacing the earlier line about the same source.
    pub fn say(&mut self, lines: impl IntoIterator<Item = Coverage>) {
        for line in lines {
            self.coverage.retain(|one| one.what != line.what);
            self.coverage.push(line);
        }
    }

    /// Adds the interval that ends now, with its verdict.
    pub fn push(&mut self, interval: &Interval, bound: Option<&Bound>) {
        let after = self.watch.moments.last().map_or(0.0, |last| last.at + last.interval.seconds);
        // The time for which the machine was suspended is included, so that the offset matches the time of day.
        self.asleep += interval.suspended.unwrap_or(0.0);
        let at = self.began.elapsed().as_secs_f64() + self.asleep - interval.seconds;
        self.watch.push(at.max(after), interval, bound);
    }

    /// The current record, if it is time to write it again.
    pub fn when_due(&mut self) -> Option<Record> {
        let due = self.written.elapsed() >= BETWEEN;
        due.then(|| {
            self.written = Instant::now();
            self.record()
        })
    }

    /// The record of the whole recording.
    pub fn finish(self, root: &Root, ended: Ended) -> Record {
        let mut record = self.record();
        record.conditions.after = Some(machine::snapshot_since(root, &record.conditions.before));
        Record { ended, ..record }
    }

    fn record(&self) -> Record {
        let mut record = self.record.clone();
        record.seconds = Some(((self.began.elapsed().as_secs_f64() + self.asleep) * 100.0).round() / 100.0);
        record.watch = Some(self.watch.clone());
        record.coverage = [self.coverage.as_slice(), &self.record.coverage].concat();
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;
    use record::State;

    #[test]
    fn a_record_says_whether_the_watch_went_on() {
        let record = Record::new("1", "2026-01-01T00:00:00Z".to_owned(), Vec::new());
        let mut keeping = Keeping::begin(record, Inspection::default(), "pid 7".to_owned());
        keeping.push(&Interval { seconds: 1.0, cpus: 2, ..Interval::default() }, None);
        keeping
            .push(&Interval { suspended: Some(3600.0), ..keeping.watch.moments[0].interval.clone() }, None);
        assert!(keeping.watch.moments[1].at >= 3599.0);
        // The interval is longer than the time since the previous one ended, so it begins where that one ended.
        keeping.push(&Interval { seconds: 1.0, cpus: 2, ..Interval::default() }, None);
        assert_eq!(keeping.when_due(), None);
        keeping.written = keeping.written.checked_sub(BETWEEN).unwrap();
        assert!(matches!(keeping.when_due().unwrap().ended, Ended::Failed { .. }));
        assert_eq!(keeping.when_due(), None);
        let of = Coverage::measured;
        keeping.say([of("probe"), of("vmstat")]);
        keeping.say([Coverage::degraded("probe", "calibrated")]);
        let last = keeping.finish(&Tree::new().root(), Ended::Complete);
        let watch = last.watch.unwrap();
        assert_eq!((last.ended, watch.of.as_str(), watch.intervals), (Ended::Complete, "pid 7", 3));
        assert!(watch.moments[2].at >= watch.moments[1].at + 1.0);
        let said: Vec<(&str, State)> =
            last.coverage.iter().map(|one| (one.what.as_str(), one.state)).collect();
        assert_eq!(said, [("vmstat", State::Measured), ("probe", State::Degraded)]);
    }
}
