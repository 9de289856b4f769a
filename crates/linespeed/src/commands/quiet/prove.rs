//! `linespeed quiet --prove`: measures the gain of setting knobs on this machine, by alternating blocks or runs with
//! and without the settings.

use ::quiet::tuning_plan::Purpose;
use experiment::proof_cache::ProofCache;
use experiment::prove::{ProofError, ProofRequest, ProvenCommand, prove_command, prove_knobs};
use os::signals;
use record::phrase::count_noun;
use report::view::View;

use super::tuned_session;
use crate::delivery::hand_out;
use crate::failure::{Failure, signal_code};
use crate::options::{Options, Quiet};
use crate::{files, output};

/// Measures and prints the gain; returns the exit code.
pub fn run(options: &Options, quiet: &Quiet, names: &[&'static str]) -> Result<u8, Failure> {
    let begin_session = |names: &[&'static str]| tuned_session::begin(options, names, Purpose::Measuring);
    let tell = |words: &str| output::notice(&options.out, words);
    let request = ProofRequest {
        names,
        value: None,
        cpus: options.measuring.cpus.as_ref(),
        rounds: quiet.rounds.map(|rounds| rounds as usize),
        stop: signals::install(),
        begin_session: &begin_session,
        tell: &tell,
    };
    let mut proof = if quiet.command.is_empty() {
        let (proof, cache) = prove_knobs(request)?;
        if let Some(Err(why)) = cache.map(keep) {
            output::notice(&options.out, &format!("not saved for linespeed quiet: {why}"));
        }
        proof
    } else {
        let (argv, drop_caches) = (&quiet.command, quiet.drop_caches);
        prove_command(request, ProvenCommand { argv, drop_caches })?
    };
    if let Some(signal) = proof.interrupted {
        let after = count_noun(proof.rounds, "round");
        proof.remarks.push(format!("Interrupted by signal {signal} after {after}.").into());
    }
    let forms = View::new(|screen| ::drawn::proof::proof(screen, &proof)).with_value(proof.to_json());
    hand_out(options, &forms)?;
    Ok(proof.interrupted.map_or(0, signal_code))
}

/// Saves the results of `--prove` for the audit.
fn keep(cache: ProofCache) -> Result<(), Failure> {
    let written = cache.to_file(&files::state_folder()?, crate::commands::now());
    let (path, text) = written.map_err(|error| Failure::Cannot(error.to_string()))?;
    files::write(&path, &text)
}

impl From<ProofError> for Failure {
    fn from(error: ProofError) -> Self {
        match error {
            ProofError::Session(error) => error.into(),
            ProofError::CannotStart(refused) => Failure::Refused(refused),
            error => Failure::Cannot(error.to_string()),
        }
    }
}
