//! Runs layers alternately, slice by slice, in forward and backward order, and checks all conditions under which the
//! layers are comparable.

use record::text;
use std::ops::Range;
use std::time::Instant;

use kernels::primes;

use measure::there_and_back;

use super::{Layer, LayerName, Pass, Unavailable, crc32, page_offset};
use os::Stop;

/// Slices per pass. A slice takes about 20 ms, which is several timer ticks but short compared with drift.
pub const PORTIONS: usize = 16;
/// Maximum number of passes.
pub const MOST_ROUNDS: usize = 1_000;
/// Minimum number of passes, even if they exceed the given time. Fewer passes would not show how much the results vary.
const LEAST_ROUNDS: usize = 3;

/// The number of passes to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effort {
    /// This many passes of each layer.
    Rounds(usize),
    /// As many passes as fit into this many seconds, including one for warm-up.
    Seconds(f64),
}

/// The passes of one layer, each with its slices in order.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerPasses {
    /// The name of the layer.
    pub name: LayerName,
    /// Passes, each of [`PORTIONS`] slices.
    pub passes: Vec<Vec<Pass>>,
}

/// The results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timings {
    /// Layers that completed at least one pass, in order.
    pub layers: Vec<LayerPasses>,
    /// Layers that were unavailable or ended early.
    pub missing: Vec<(LayerName, Unavailable)>,
    /// The signal that interrupted the run.
    pub interrupted: Option<i32>,
}

/// The ranges of a pass. The number of divisions grows as n to the power of 3/2; the ranges are chosen so that all
/// slices take about the same time.
pub fn portions() -> Vec<Range<u64>> {
    let end = |part: usize| match part {
        PORTIONS => primes::LIMIT,
        part => (primes::LIMIT as f64 * (part as f64 / PORTIONS as f64).powf(2.0 / 3.0)) as u64,
    };
    (0..PORTIONS).map(|part| end(part)..end(part + 1)).collect()
}

/// One running layer.
struct Runner {
    layer: Box<dyn Layer>,
    row: LayerPasses,
    /// Number of primes in each slice, as found in the first pass.
    known: Vec<u64>,
    current: Vec<Pass>,
    /// The reason why the layer runs no further slices.
    failure: Option<Unavailable>,
}

/// Runs the layers alternately. `at` is called with the number of slices that each layer has completed, and with the
/// number of slices that each layer will run.
///
/// # Errors
///
/// A layer ran different code from the other layers or ran it at a different page offset, or counted a different number
/// of primes; the error is one line with the reason. In this case, no result of the run may be shown.
pub fn run_rounds(
    layers: Vec<Box<dyn Layer>>,
    effort: Effort,
    stop: &Stop,
    at: &mut dyn FnMut(usize, usize),
) -> Result<Timings, Mismatch> {
    let portions = portions();
    let began = Instant::now();
    let (mut runners, mut one) = (Vec::new(), 0.0);
    for layer in layers {
        let mut runner = Runner::new(layer);
        let from = Instant::now();
        // An interrupted pass does not count.
        if runner.first_pass(&portions, stop)? {
            one += if runner.failure.is_none() { from.elapsed().as_secs_f64() } else { 0.0 };
            runners.push(runner);
        }
    }
    let rounds = effort.rounds(one);
    'rounds: for round in 0..rounds {
        if runners.iter().all(|runner| runner.failure.is_some()) {
            break;
        }
        for (part, range) in portions.iter().enumerate() {
            let turn = round * PORTIONS + part;
            // The order alternates between forward and backward, so that a steady drift affects both layers of each
            // pair equally.
            for index in there_and_back(turn, runners.len()) {
                if !runners[index].take_turn(range, part, stop)? {
                    break 'rounds;
                }
            }
            at(turn + 1, rounds * PORTIONS);
        }
        for runner in runners.iter_mut().filter(|runner| runner.failure.is_none()) {
            runner.row.passes.push(std::mem::take(&mut runner.current));
        }
        if effort.is_over(round + 1, began.elapsed().as_secs_f64()) {
            break;
        }
    }
    let mut timings = Timings { interrupted: stop.signal(), ..Timings::default() };
    for Runner { row, failure, .. } in runners {
        timings.missing.extend(failure.map(|failure| (row.name, failure)));
        timings.layers.extend(Some(row).filter(|row| !row.passes.is_empty()));
    }
    Ok(timings)
}

impl Effort {
    /// The number of passes if one pass of every layer takes this many seconds in total.
    fn rounds(self, one: f64) -> usize {
        match self {
            Effort::Rounds(rounds) => rounds,
            Effort::Seconds(seconds) if one > 0.0 => {
                (((seconds - one) / one) as usize).clamp(LEAST_ROUNDS, MOST_ROUNDS)
            }
            Effort::Seconds(_) => LEAST_ROUNDS,
        }
    }

    /// Whether the available time has been used up after this many passes with this total duration. If other processes
    /// slow down the passes, this happens after fewer passes than planned.
    fn is_over(self, rounds: usize, elapsed: f64) -> bool {
        match self {
            Effort::Rounds(_) => false,
            Effort::Seconds(seconds) => {
                // Another pass would take as long as the average of the previous ones, including the warm-up pass.
                let one = elapsed / (rounds + 1) as f64;
                rounds >= LEAST_ROUNDS && elapsed + one / 2.0 > seconds
            }
        }
    }
}

/// The error if a layer did not do the same work as the others. No result of such a run may be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{layer} {did}")]
pub struct Mismatch {
    /// The layer.
    pub layer: LayerName,
    /// A description of the difference.
    pub did: String,
}

impl Runner {
    fn new(layer: Box<dyn Layer>) -> Self {
        let row = LayerPasses { name: layer.name(), passes: Vec::new() };
        Self { layer, row, known: Vec::new(), current: Vec::new(), failure: None }
    }

    /// Runs a complete warm-up pass, measures its duration, and checks that all layers run the same routine. Returns
    /// `false` if a signal was received.
    fn first_pass(&mut self, portions: &[Range<u64>], stop: &Stop) -> Result<bool, Mismatch> {
        for (part, range) in portions.iter().enumerate() {
            if !self.take_turn(range, part, stop)? {
                return Ok(false);
            }
        }
        self.known = self.current.drain(..).map(|pass| pass.primes).collect();
        let found: u64 = self.known.iter().sum();
        if found == primes::KNOWN || self.failure.is_some() {
            return Ok(true);
        }
        Err(self.mismatch(format!(
            "counted {found} primes below {}, but there are {}: the work differs, so the result is discarded",
            primes::LIMIT,
            primes::KNOWN
        )))
    }

    /// Runs a slice, unless a previous one failed. Returns `false` if a signal was received. Such a signal also ends
    /// the layer's work.
    fn take_turn(&mut self, range: &Range<u64>, part: usize, stop: &Stop) -> Result<bool, Mismatch> {
        if stop.signal().is_some() {
            return Ok(false);
        }
        if self.failure.is_none() {
            match self.portion(range, part)? {
                Ok(pass) => self.current.push(pass),
                Err(_) if stop.signal().is_some() => return Ok(false),
                Err(failure) => self.failure = Some(failure),
            }
        }
        Ok(true)
    }

    fn mismatch(&self, did: String) -> Mismatch {
        Mismatch { layer: self.row.name, did }
    }

    /// Runs a slice, or returns the reason why the layer stops.
    fn portion(&mut self, range: &Range<u64>, part: usize) -> Result<Result<Pass, Unavailable>, Mismatch> {
        let pass = match self.layer.pass(range.clone()) {
            Ok(pass) => pass,
            failed => return Ok(failed),
        };
        let code = primes::code();
        let (crc, offset) = (crc32(code), page_offset(code.as_ptr().addr() as u64));
        if (pass.crc, pass.page_offset) != (crc, offset) {
            return Err(self.mismatch(format!(
                "ran different code from the other layers, so its result is discarded: CRC-32 {:08x} at page \
                 offset {} instead of {crc:08x} at {offset}",
                pass.crc, pass.page_offset
            )));
        }
        if let Some(known) = self.known.get(part).filter(|known| **known != pass.primes) {
            return Err(self.mismatch(format!(
                "counted {} primes from {} to {}, but {known} before: the CPU or its memory is unreliable, so \
                 its result is discarded",
                pass.primes, range.start, range.end
            )));
        }
        if pass.seconds > 0.0 && pass.clock > 0.0 && pass.clock.is_finite() {
            return Ok(Ok(pass));
        }
        Ok(Err(text!("the cycle counter stopped or went backwards during a slice").into()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;
    use crate::Disturbed;

    /// The number of primes in a slice, which is counted once for all tests.
    fn counted(range: &Range<u64>) -> u64 {
        static COUNTED: OnceLock<Vec<u64>> = OnceLock::new();
        let counted = COUNTED
            .get_or_init(|| portions().iter().map(|part| primes::count(part.start, part.end)).collect());
        counted[portions().iter().position(|part| part == range).unwrap()]
    }

    /// The modification that a test layer makes to the n-th requested slice.
    type Wrong = fn(&mut Pass, usize);

    /// A layer controlled by a test.
    struct Made {
        layer: &'static str,
        asked: usize,
        fails_at: Option<usize>,
        wrong: Wrong,
    }

    impl Layer for Made {
        fn name(&self) -> LayerName {
            LayerName { layer: self.layer, bound: Some(0), interrupts: true }
        }

        fn pass(&mut self, range: Range<u64>) -> Result<Pass, Unavailable> {
            self.asked += 1;
            if self.fails_at == Some(self.asked) {
                return Err(Unavailable::new("the CPU went offline"));
            }
            let mut pass = Pass {
                primes: counted(&range),
                seconds: 0.02,
                clock: 3e9,
                clock_moved: 0.0,
                crc: crc32(primes::code()),
                page_offset: 0,
                cpu_from: Some(0),
                cpu_to: Some(0),
                disturbed: Disturbed::default(),
            };
            (self.wrong)(&mut pass, self.asked);
            Ok(pass)
        }
    }

    fn made(layer: &'static str) -> Made {
        Made { layer, asked: 0, fails_at: None, wrong: |_, _| () }
    }

    fn run_made(layers: Vec<Made>, rounds: usize) -> Result<Timings, Mismatch> {
        let layers = layers.into_iter().map(|layer| Box::new(layer) as Box<dyn Layer>).collect();
        run_rounds(layers, Effort::Rounds(rounds), &Stop::new(), &mut |_, _| ())
    }

    #[test]
    fn portions_cover_a_pass_and_take_about_as_long() {
        let portions = portions();
        assert_eq!((portions[0].start, portions[PORTIONS - 1].end), (0, primes::LIMIT));
        assert!(portions.windows(2).all(|pair| pair[0].end == pair[1].start));
        let work: Vec<u64> = portions.iter().map(|range| primes::divisions(range.start, range.end)).collect();
        let fair = primes::DIVISIONS / PORTIONS as u64;
        assert!(work.iter().all(|work| (fair * 3 / 4..fair * 5 / 4).contains(work)), "{work:?}");
    }

    #[test]
    fn every_layer_makes_every_portion_of_every_round() {
        let timings = run_made(vec![made("user"), made("kernel")], 2).unwrap();
        assert_eq!(timings.layers.len(), 2);
        for row in &timings.layers {
            assert_eq!(row.passes.iter().map(Vec::len).collect::<Vec<_>>(), [PORTIONS, PORTIONS]);
        }
        assert!(timings.missing.is_empty());
    }

    #[test]
    fn other_bytes_another_place_or_another_count_refuse_the_run() {
        let wrongs: [(Wrong, &str); 4] = [
            (|pass, _| pass.crc ^= 1, "ran different code"),
            (|pass, _| pass.page_offset = 64, "at page offset 64"),
            (|pass, _| pass.primes += 1, "but there are 78498"),
            (|pass, asked| pass.primes += u64::from(asked > PORTIONS), "before: "),
        ];
        for (wrong, says) in wrongs {
            let why = run_made(vec![made("user"), Made { wrong, ..made("guest user") }], 1)
                .unwrap_err()
                .to_string();
            assert!(why.contains("guest user") && why.contains(says), "{why}");
        }
    }

    #[test]
    fn a_layer_that_fails_keeps_the_passes_that_it_made_and_the_others_go_on() {
        let fails_at = Some(2 * PORTIONS + 5);
        let timings = run_made(vec![Made { fails_at, ..made("kernel") }, made("user")], 3).unwrap();
        let passes: Vec<(&str, usize)> =
            timings.layers.iter().map(|row| (row.name.layer, row.passes.len())).collect();
        assert_eq!(passes, [("kernel", 1), ("user", 3)]);
        assert_eq!(timings.missing[0].1.reason, "the CPU went offline".into());
        let never = Made { fails_at: Some(1), ..made("kernel") };
        let timings = run_made(vec![never, made("user")], 1).unwrap();
        assert_eq!((timings.layers.len(), timings.missing.len()), (1, 1));
    }

    #[test]
    fn a_signal_keeps_whole_passes_only() {
        let stop = Stop::new();
        let layers: Vec<Box<dyn Layer>> = vec![Box::new(made("user")), Box::new(made("kernel"))];
        let timings = run_rounds(layers, Effort::Rounds(9), &stop, &mut |done, _| {
            if done > 3 * PORTIONS {
                stop.ask(2);
            }
        })
        .unwrap();
        assert_eq!(timings.interrupted, Some(2));
        assert!(timings.layers.iter().all(|row| row.passes.len() == 3), "{:?}", timings.layers.len());
    }

    #[test]
    fn as_many_passes_are_made_as_there_is_time_for() {
        assert_eq!(Effort::Seconds(15.0).rounds(2.0), 6);
        assert_eq!(Effort::Seconds(1.0).rounds(2.0), LEAST_ROUNDS);
        assert_eq!(Effort::Seconds(1e9).rounds(1e-3), MOST_ROUNDS);
        assert_eq!(Effort::Seconds(5.0).rounds(0.0), LEAST_ROUNDS);
        assert_eq!(Effort::Rounds(4).rounds(100.0), 4);
        // On a machine slowed down by other processes, the planned passes take too long.
        assert!(Effort::Seconds(15.0).is_over(5, 14.0) && !Effort::Seconds(15.0).is_over(5, 12.0));
        assert!(!Effort::Seconds(15.0).is_over(LEAST_ROUNDS - 1, 99.0) && !Effort::Rounds(9).is_over(8, 1e6));
    }
}
