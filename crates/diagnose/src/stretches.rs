//! Divides a recording into stretches with one prevailing verdict each.

use record::Watch;
use record::diagnosis::BoundBy;
use record::watch::{Held, Moment};

/// Maximum number of stretches in a recording, and the minimum share of the recording's time for each stretch. A
/// shorter stretch is merged into a neighbor.
const MOST: usize = 8;
const SHORTEST: f64 = 0.05;

/// A sequence of consecutive moments, combined into one.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// The end of the stretch, in seconds since the start of the recording.
    pub to: f64,
    /// The stretch combined into one moment.
    pub all: Moment,
}

impl Stretch {
    fn of(moment: &Moment) -> Self {
        Self { to: moment.at + moment.interval.seconds, all: moment.clone() }
    }

    /// The verdict that applied for the longest time, and its share of the recorded time; `None` if there is no
    /// verdict.
    pub fn held(&self) -> Option<(&BoundBy, f64)> {
        let Held { by, seconds } = self.all.verdicts.first()?;
        Some((by, seconds / self.all.interval.seconds.max(1e-9)))
    }

    fn join(&mut self, next: Self) {
        self.to = next.to;
        self.all.join(next.all);
    }
}

/// The stretches of a recording, in chronological order.
pub fn stretches(watch: &Watch) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = watch.moments.iter().map(Stretch::of).collect();
    let shortest = watch.seconds() * SHORTEST;
    loop {
        let moments = std::mem::take(&mut all);
        for stretch in moments {
            match all.last_mut().filter(|last| last.all.bound_by() == stretch.all.bound_by()) {
                Some(last) => last.join(stretch),
                None => all.push(stretch),
            }
        }
        let seconds = |at: usize| all.get(at).map_or(0.0, |stretch| stretch.all.interval.seconds);
        let Some(at) = (0..all.len()).min_by(|a, b| seconds(*a).total_cmp(&seconds(*b))) else { break };
        if all.len() < 2 || (all.len() <= MOST && seconds(at) >= shortest) {
            break;
        }
        // The longer neighbor determines the verdict.
        let at = if at > 0 && seconds(at - 1) >= seconds(at + 1) { at - 1 } else { at };
        let next = all.remove(at + 1);
        if let Some(stretch) = all.get_mut(at) {
            stretch.join(next);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::diagnosis::Bound;
    use record::live::Interval;
    use record::text;

    fn watch(verdicts: impl Iterator<Item = BoundBy>) -> Watch {
        let mut watch = Watch::default();
        for (at, by) in verdicts.enumerate() {
            let bound =
                Bound { by, kind: None, says: text!("x", "x"), evidence: Vec::new(), advice: Vec::new() };
            let interval = Interval { seconds: 1.0, ..Interval::default() };
            watch.push(at as f64, &interval, Some(&bound));
        }
        watch
    }

    fn describe(watch: &Watch) -> Vec<(f64, f64, BoundBy, f64)> {
        let describe = |stretch: &Stretch| {
            let (by, share) = stretch.held().unwrap();
            (stretch.all.at, stretch.to, by.clone(), (share * 100.0).round())
        };
        stretches(watch).iter().map(describe).collect()
    }

    #[test]
    fn a_blink_is_no_stretch_and_lowers_the_share_of_the_one_around_it() {
        let verdict = |second: u32| match second {
            50 => BoundBy::Stolen,
            0..100 => BoundBy::Cpu,
            _ => BoundBy::Waiting,
        };
        let watch = watch((0..200).map(verdict));
        assert_eq!(
            describe(&watch),
            [(0.0, 100.0, BoundBy::Cpu, 99.0), (100.0, 200.0, BoundBy::Waiting, 100.0)]
        );
    }

    #[test]
    fn what_changes_each_second_is_a_few_stretches() {
        let verdict = |second: u32| if second.is_multiple_of(3) { BoundBy::Idle } else { BoundBy::Cpu };
        let all = describe(&watch((0..300).map(verdict)));
        assert!(all.len() <= MOST, "{all:?}");
        assert!(
            all.iter().all(|(.., by, share)| *by == BoundBy::Cpu && (60.0..75.0).contains(share)),
            "{all:?}"
        );
        assert_eq!((all.first().unwrap().0, all.last().unwrap().1), (0.0, 300.0));
        assert!(stretches(&Watch::default()).is_empty());
    }
}
