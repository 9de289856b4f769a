//! `linespeed quiet --prove`: what turning knobs gains here, from blocks before and after in turn.

mod command;
mod figure;
mod knobs;

use record::statistics::Verdict;
use report::terminal::{self, Proof, ProofRow};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::options::{Options, Quiet};
use crate::output;
use figure::{Compared, Figure};

/// Measures and prints; the exit code.
pub fn run(options: &Options, quiet: &Quiet, names: &[&'static str]) -> Result<u8, Failure> {
    if quiet.command.is_empty() { knobs::run(options, names) } else { command::run(options, quiet) }
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

impl Findings {
    /// How sure the figures are.
    fn how(rounds: usize, comparisons: usize) -> String {
        let together = match comparisons {
            1 => "intervals hold at 95 %.".to_owned(),
            many => format!("intervals hold at 95 % for all {many} comparisons of a figure together."),
        };
        format!("Medians of {rounds} rounds; {together}")
    }

    /// Prints it; the exit code.
    fn tell(mut self, options: &Options) -> Result<u8, Failure> {
        if let Some(signal) = self.interrupted {
            self.remarks.push(format!("Interrupted by signal {signal} after {} rounds.", self.rounds));
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
                "verdict": verdict,
                "samples": compared.rounds,
            })
        };
        let why = |(name, why): &(String, String)| json!({self.head: name, "why": why});
        json!({
            "rounds": self.rounds,
            "compared": self.compared.iter().map(row).collect::<Vec<_>>(),
            "not_compared": self.missing.iter().map(why).collect::<Vec<_>>(),
            "remarks": self.remarks,
        })
    }
}
