//! `linespeed quiet --prove`: what turning knobs gains here, from blocks before and after in turn.

mod command;
mod figure;
mod knobs;

use record::paired_comparison::least_rounds;
use record::statistics::Verdict;
use report::plural;
use report::terminal::{self, Proof, ProofRow};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::options::{Options, Quiet};
use crate::output;
use figure::{Compared, Figure};
pub use knobs::cpus;

/// Measures and prints; the exit code.
pub fn run(options: &Options, quiet: &Quiet, names: &[&'static str]) -> Result<u8, Failure> {
    if quiet.command.is_empty() {
        knobs::run(options, names, quiet.rounds)
    } else {
        command::run(options, quiet, names)
    }
}

/// What came of it all.
#[derive(Debug, Default)]
struct Findings {
    title: &'static str,
    head: &'static str,
    rounds: usize,
    compared: Vec<(String, Figure, Compared)>,
    missing: Vec<(String, String)>,
    remarks: Vec<String>,
    interrupted: Option<i32>,
}

/// One comparison, figure by figure: its rounds (before, after).
type Rounds = Vec<(Figure, Vec<(f64, f64)>)>;

/// The rounds for so many comparisons: an even number, since who comes first changes from round to round.
fn rounds(comparisons: usize, duplicate: usize) -> usize {
    (least_rounds(comparisons) + duplicate).next_multiple_of(2)
}

impl Findings {
    /// Judges comparisons. `same` is that of the machine with itself, by whose differences the others are judged.
    fn judge(&mut self, same: (String, Rounds), others: Vec<(String, Rounds)>) {
        let with_values = |(_, rounds): &(String, Rounds)| -> usize {
            rounds.iter().filter(|(_, rounds)| !rounds.is_empty()).count()
        };
        let comparisons = match others.iter().map(with_values).sum() {
            0 => with_values(&same),
            some => some,
        };
        let mut floors: Vec<(&str, Option<f64>)> = Vec::new();
        let (name, figures) = same;
        for (figure, rounds) in figures {
            if let Some(Compared { rounds, gain }) = figure.compare(rounds, comparisons, None) {
                let gain = gain.as_floor();
                floors.push((figure.name, gain.floor));
                self.compared.push((name.clone(), figure, Compared { rounds, gain }));
            }
        }
        for (name, figures) in others {
            for (figure, rounds) in figures {
                let floor =
                    floors.iter().find(|(name, _)| *name == figure.name).and_then(|(_, floor)| *floor);
                let compared = figure.compare(rounds, comparisons, floor);
                self.compared.extend(compared.map(|compared| (name.clone(), figure, compared)));
            }
        }
        let together = match comparisons {
            0 | 1 => "intervals hold at 95 %".to_owned(),
            many => format!("intervals hold at 95 % for all {many} comparisons together"),
        };
        self.remarks.push(format!(
            "Medians of {}; {together}. The rows {name:?} compare one state with itself: how far that differs is the \
             floor, and no smaller difference counts. (+N rounds): so many more would do, with --rounds.",
            plural(self.rounds, "round")
        ));
    }

    /// Prints it; the exit code.
    fn tell(mut self, options: &Options) -> Result<u8, Failure> {
        if let Some(signal) = self.interrupted {
            self.remarks
                .push(format!("Interrupted by signal {signal} after {}.", plural(self.rounds, "round")));
        }
        let text = if options.out.json {
            format!("{:#}\n", self.json())
        } else {
            terminal::proof(&self.proof(), &output::style(&options.out))
        };
        output::print(&text)?;
        Ok(self.interrupted.map_or(0, |signal| 128u8.wrapping_add(signal as u8)))
    }

    fn proof(&self) -> Proof {
        let row = |(name, figure, compared): &(String, Figure, Compared)| ProofRow {
            name: name.clone(),
            figure: figure.name.to_owned(),
            before: figure.value(compared.gain.before),
            after: figure.value(compared.gain.after),
            floor: figure.floor(&compared.gain),
            result: figure.result(&compared.gain),
            better: compared.gain.is_less().map(|less| less == figure.less_is_better),
        };
        Proof {
            title: self.title.to_owned(),
            head: self.head.to_owned(),
            rows: self.compared.iter().map(row).collect(),
            missing: self.missing.clone(),
            remarks: self.remarks.clone(),
        }
    }

    fn json(&self) -> Value {
        let row = |(name, figure, compared): &(String, Figure, Compared)| {
            let gain = &compared.gain;
            let verdict: &Verdict = &gain.verdict;
            json!({
                self.head: name,
                "figure": figure.name,
                "unit": figure.unit.symbol(),
                "compared_by": figure.scale_word(),
                "rounds": gain.rounds,
                "before": gain.before,
                "after": gain.after,
                "less_by": gain.less_by,
                "interval": gain.interval,
                "floor": gain.floor,
                "verdict": verdict,
                "samples": compared.rounds,
            })
        };
        let why = |(name, why): &(String, String)| {
            let verdict = Verdict::NotMeasurable { reason: why.clone() };
            json!({self.head: name, "why": why, "verdict": verdict})
        };
        json!({
            "rounds": self.rounds,
            "compared": self.compared.iter().map(row).collect::<Vec<_>>(),
            "not_compared": self.missing.iter().map(why).collect::<Vec<_>>(),
            "remarks": self.remarks,
        })
    }
}
