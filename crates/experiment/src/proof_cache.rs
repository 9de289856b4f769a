//! Results of the last proof on this machine, saved for the audit: the noise, and the gain of each knob.
//!
//! The file is in the state directory, next to the records, and is valid until the next boot, but for at most a week.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use measure::os_noise::{self, Block};
use os::Stop;
use record::difference::{Scale, Verdict, compare_pairs};
use record::{Text, regular_file};
use serde::{Deserialize, Serialize};

/// The name of the file in the state directory.
const NAME: &str = "noise.json";
/// Maximum age of a valid file. Older results are ignored, because the load of other processes changes.
const AGE: Duration = Duration::from_secs(7 * 86_400);
/// Maximum size of the file.
const MOST: u64 = 1 << 20;

/// The effect of one knob on one result, according to a proof.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proven {
    /// The knob.
    pub knob: String,
    /// The result's name in the proof.
    pub figure: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The verdict in words.
    pub words: Text,
}

/// The saved part of a proof.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProofCache {
    /// The ID of the boot.
    pub boot_id: String,
    /// The time, in the format of a record.
    pub date: String,
    /// The measured CPUs.
    pub cpus: String,
    /// The noise of the machine without changes.
    pub measured: Block,
    /// The gains of knobs.
    pub proven: Vec<Proven>,
}

impl ProofCache {
    /// The last proof of this boot in the state directory; `None` if there is none, if the proof is too old, or if the
    /// file does not contain a proof.
    pub fn read(state: &Path, boot: &str) -> Option<Self> {
        let (text, data) = regular_file::read(&state.join(NAME), MOST).ok()?;
        let age = SystemTime::now().duration_since(data.modified().ok()?).unwrap_or_default();
        if age > AGE { None } else { Self::parse(&text, boot) }
    }

    fn parse(text: &[u8], boot: &str) -> Option<Self> {
        let cache: Self = serde_json::from_slice(text).ok()?;
        (cache.boot_id == boot && cache.measured.is_sound()).then_some(cache)
    }

    /// The path and contents to write. Results of an earlier proof of this boot for other knobs are preserved.
    pub fn to_file(mut self, state: &Path, date: String) -> serde_json::Result<(PathBuf, String)> {
        if let Some(before) = Self::read(state, &self.boot_id) {
            let known = self.proven.clone();
            let is_known = |proven: &Proven| known.iter().any(|known| known.knob == proven.knob);
            self.proven.extend(before.proven.into_iter().filter(|proven| !is_known(proven)));
        }
        self.date = date;
        Ok((state.join(NAME), format!("{}\n", serde_json::to_string(&self)?)))
    }
}

/// Measures the current noise of the machine. This takes half a second.
pub(crate) fn measure_noise(cpus: &[u32], stop: &Stop) -> Block {
    Block { floor: measure_floor(cpus, stop), ..os_noise::sample_block(cpus, stop) }
}

/// Measures the difference between two runs of the same work, on the last of the CPUs.
pub(crate) fn measure_floor(cpus: &[u32], stop: &Stop) -> Option<f64> {
    let rounds = os_noise::time_same_work(*cpus.last()?, stop);
    compare_pairs(&rounds, Scale::Ratio, 1, None).as_floor().floor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_of_another_boot_or_that_cannot_be_read_is_none() {
        let cache = ProofCache {
            boot_id: "a".to_owned(),
            proven: vec![Proven {
                knob: "governor".to_owned(),
                figure: "wake-up p99".to_owned(),
                verdict: Verdict::Costs { share: 0.2, interval: (0.1, 0.3) },
                words: "20 % less (10 % to 30 %)".into(),
            }],
            ..ProofCache::default()
        };
        let text = serde_json::to_string(&cache).unwrap();
        assert_eq!(ProofCache::parse(text.as_bytes(), "a"), Some(cache));
        assert_eq!(ProofCache::parse(text.as_bytes(), "b"), None);
        for damaged in
            ["", "{}", "[]", &text[..text.len() / 2], &text.replace("\"floor\":null", "\"floor\":-5.0")]
        {
            assert_eq!(ProofCache::parse(damaged.as_bytes(), "a"), None, "{damaged}");
        }
    }
}
