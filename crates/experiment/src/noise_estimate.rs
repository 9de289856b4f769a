//! Estimates the noise of this machine and the maximum possible gain of each knob, from the last proof or from a short
//! measurement.

use measure::os_noise::Block;
use os::Stop;
use quiet::audit::{AuditRow, Need};
use quiet::compound_change::CompoundChange;
use quiet::knob::{Adjustment, KnobClass};
use quiet::knobs::find;
use record::difference::Verdict;
use record::text::Value;
use record::{CpuList, Label, Measurement, Record, Text, metrics, text, units};

use crate::proof_cache::{ProofCache, Proven, measure_noise};

/// If other processes use at least this many CPUs, they cause most of the operating system's overhead.
const MANY: f64 = 0.1;

/// The possible gain of a knob on this machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Worth {
    /// A proof showed a gain; contains the gain for each result.
    Proven(Vec<Text>),
    /// A proof showed no gain above the noise floor.
    NothingSeen,
    /// A proof was inconclusive.
    TooNoisy,
    /// The gain is at most this share of a quantity. This share is below the noise floor.
    BelowFloor(&'static str, f64),
    /// The gain is at most this share of a quantity.
    AtMost(&'static str, f64),
    /// The gain is at most the first number of seconds per wake-up; the second number is the latency with deep idle states disabled.
    WakeUp(f64, Option<f64>),
    /// Other processes were busy, and their load hides the effect of the knob.
    BehindOthers,
    /// No measurement shows the gain of the knob.
    NotMeasured,
}

/// The kind of proof that could provide more information about a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofBy {
    /// There is no such proof, because the knob cannot be set for the duration of a run.
    None,
    /// A proof that the current user can run.
    Anybodys,
    /// A proof that requires root.
    Roots,
}

impl ProofBy {
    /// The kind of `--prove KNOB -- COMMAND` run that could show the gain of a knob.
    pub fn for_knob(row: &AuditRow) -> Self {
        let tuned = matches!(
            row.inspection.adjustment,
            Adjustment::Write(_)
                | Adjustment::ProcessSetting(_)
                | Adjustment::Compound(CompoundChange::Swap(_))
        );
        match &row.needs {
            None if tuned => ProofBy::Anybodys,
            Some(Need::Root) if tuned => ProofBy::Roots,
            _ => ProofBy::None,
        }
    }
}

/// The quantities of which a gain can be a share.
const OF_A_CPU: &str = "of a CPU";
const OF_THE_CLOCK: &str = "of the clock";

/// The phrase for the maximum gain from a knob that shortens wake-ups.
const WAKE_UP_BOUND: &str = "at most per wake-up";

impl Worth {
    /// The word in JSON, the maximum possible gain (as a share or in seconds), and the weight for sorting by
    /// importance: proven gains first, then possible gains by size, unknown gains last.
    pub fn rank(&self) -> (&'static str, Option<f64>, f64) {
        match self {
            Worth::Proven(_) => ("proven", None, 10.0),
            Worth::AtMost(_, share) => ("at most", Some(*share), 1.0 + share),
            // Programs mostly work and rarely sleep, so a wake-up latency of one millisecond has the same weight as a share of one
            // thousandth.
            Worth::WakeUp(seconds, _) => (WAKE_UP_BOUND, Some(*seconds), 1.0 + seconds),
            Worth::TooNoisy => ("too noisy", None, 0.5),
            Worth::BehindOthers => ("other processes are busy", None, 0.4),
            Worth::NotMeasured => ("not measured", None, 0.3),
            Worth::BelowFloor(_, share) => ("below the floor", Some(*share), 0.2),
            Worth::NothingSeen => ("below the floor", None, 0.1),
        }
    }

    /// The importance; a larger weight is more important.
    pub fn weight(&self) -> f64 {
        self.rank().2
    }

    /// The text for a table cell.
    pub fn brief(&self) -> Text {
        match self {
            Worth::Proven(gains) => gains.first().cloned().unwrap_or_default(),
            Worth::AtMost(of, share) => {
                text!("< {share} {of}", share = Value::Share(units::bound(*share)), of = *of)
            }
            Worth::WakeUp(seconds, _) => text!("< {time} per wake-up", time = Value::Figure(*seconds, "s")),
            other => other.rank().0.into(),
        }
    }

    /// The text for a sentence.
    pub fn describe(&self, knob: &str, how: ProofBy) -> Text {
        let (knob, seconds) = (knob.to_owned(), |seconds: &f64| Value::Figure(*seconds, "s"));
        match self {
            Worth::Proven(gains) => {
                let gains: Vec<String> = gains.iter().map(Text::to_string).collect();
                text!("Proven here: {gains}.", gains = gains.join("; "))
            }
            Worth::NothingSeen => text!("Tested here: no effect above the noise floor."),
            Worth::TooNoisy => {
                text!("The test was too noisy. Use more rounds: linespeed quiet --prove --rounds 100 {knob}")
            }
            Worth::BelowFloor(of, share) => {
                let (of, share) = (*of, Value::Share(*share));
                text!("At most {share} {of} here, which is below the noise floor.")
            }
            Worth::AtMost(of, share) => {
                text!("At most {share} {of} here.", share = Value::Share(*share), of = *of)
            }
            Worth::WakeUp(p99, None) => text!("Wake-up p99 here: {time}.", time = seconds(p99)),
            Worth::WakeUp(p99, Some(tuned)) => {
                let (time, tuned) = (seconds(p99), seconds(tuned));
                text!("Wake-up p99 here: {time} ({tuned} without deep idle states).")
            }
            Worth::BehindOthers => {
                text!("Unknown here: other processes hide the effect. Try again when the machine is idle.")
            }
            Worth::NotMeasured if how == ProofBy::None => text!("Not measured here."),
            Worth::NotMeasured => {
                let sudo = if how == ProofBy::Roots { "sudo " } else { "" };
                text!("Not measured here. To measure it: {sudo}linespeed quiet --prove {knob} -- COMMAND.")
            }
        }
    }
}

/// The noise of this machine.
#[derive(Clone, Debug, Default)]
pub struct NoiseEstimate {
    /// The results.
    pub measured: Block,
    /// The time and place of the measurement; empty if nothing was measured.
    pub source: Text,
    cache: Option<ProofCache>,
    tuned: Option<f64>,
    hypervisor: bool,
    /// Whether other processes were busy during the measurement.
    beside_others: bool,
    /// Whether the nice setting affects only some of the tasks.
    nice_counts_for_some: bool,
}

impl NoiseEstimate {
    /// Records that other processes used this many CPUs right before the measurement.
    pub fn with_others(mut self, cpus: Option<f64>) -> Self {
        // A cached proof is from an earlier time, and its gains already include the other processes of that time.
        self.beside_others = self.cache.is_none() && cpus.is_some_and(|cpus| cpus >= MANY);
        self
    }

    /// Records whether the nice setting affects only some of the tasks, so that the other tasks still contribute to the operating system's
    /// overhead.
    pub fn with_nice_scope(mut self, some: bool) -> Self {
        self.nice_counts_for_some = some;
        self
    }

    /// The estimate from the last proof of this boot, or from a new measurement on these CPUs. `tuned` is the wake-up
    /// p99 with deep idle states disabled, seconds, if a record contains it.
    pub fn read_or_measure(
        cache: Option<ProofCache>,
        tuned: Option<f64>,
        hypervisor: bool,
        cpus: &[u32],
        stop: &Stop,
    ) -> Self {
        let (measured, source) = match &cache {
            Some(cache) => {
                let date = cache.date.get(..16).unwrap_or(&cache.date).replace('T', " ");
                let source = text!("by --prove at {date}, CPU {cpus}", cpus = cache.cpus.clone());
                (cache.measured, source)
            }
            None => {
                let list: CpuList = cpus.iter().copied().collect();
                (measure_noise(cpus, stop), text!("now, CPU {list}"))
            }
        };
        Self { measured, source, cache, tuned, hypervisor, ..Self::default() }
    }

    /// Describes the measured noise in one sentence; `None` if nothing was measured.
    pub fn describe(&self) -> Option<String> {
        let measured = &self.measured;
        let floor = measured.floor.map(Value::Share);
        let floor = floor.map(|floor| text!("noise floor {floor} (the same work, run twice)"));
        let below_by = if self.hypervisor { "hypervisor (steal)" } else { "firmware" };
        let taken = [measured.taken_by_os, measured.taken_below, measured.taken];
        let taken = match taken.map(|share| share.map(Value::Share)) {
            [Some(os), Some(below), _] => Some(text!(
                "up to {os} of a CPU's time lost to other tasks and interrupts, {below} to the {below_by}"
            )),
            [_, _, all] => all.map(|all| text!("up to {all} of a CPU's time lost to an unknown cause")),
        };
        let wakeup = measured.wakeup_p99.map(|p99| Value::Figure(p99, "s"));
        let wakeup = wakeup.map(|time| text!("wake-up p99 {time}"));
        let clock = measured.clock_spread.map(Value::Share).map(|spread| text!("clock spread {spread}"));
        let parts = [floor, taken, wakeup, clock].into_iter().flatten();
        let parts: Vec<String> = parts.map(|part| part.to_string()).collect();
        (!parts.is_empty()).then(|| format!("{}.", parts.join("; ")))
    }

    /// The possible gain of a knob on this machine.
    pub fn find_worth(&self, knob: &str) -> Worth {
        if let Some(proven) = self.cache.as_ref().and_then(|cache| find_proven(cache, knob)) {
            return proven;
        }
        let measured = &self.measured;
        let at_most = |of: &'static str, share: Option<f64>| match (share, measured.floor) {
            (None, _) => Worth::NotMeasured,
            (Some(share), Some(floor)) if share <= floor => Worth::BelowFloor(of, share),
            (Some(share), _) => Worth::AtMost(of, share),
        };
        if knob == "nice" && self.nice_counts_for_some {
            return Worth::NotMeasured;
        }
        match find(knob).map_or(KnobClass::Other, |knob| knob.class) {
            KnobClass::Clock => at_most(OF_THE_CLOCK, measured.clock_spread),
            KnobClass::Kernel if self.beside_others => Worth::BehindOthers,
            KnobClass::OtherTasks | KnobClass::Kernel => {
                at_most(OF_A_CPU, measured.taken_by_os.or(measured.taken))
            }
            KnobClass::Hypervisor => at_most(OF_A_CPU, measured.taken_below.or(measured.taken)),
            KnobClass::WakeUp => {
                measured.wakeup_p99.map_or(Worth::NotMeasured, |p99| Worth::WakeUp(p99, self.tuned))
            }
            KnobClass::Other => Worth::NotMeasured,
        }
    }
}

/// The gain of a knob according to a proof; `None` if the proof did not include the knob.
fn find_proven(cache: &ProofCache, knob: &str) -> Option<Worth> {
    let proofs: Vec<_> = cache.proven.iter().filter(|proven| proven.knob == knob).collect();
    let resolved = proofs.iter().filter(|proof| proof.verdict.is_resolved());
    let gain = |proof: &&Proven| text!("{figure} {gain}", figure = proof.figure.clone(), gain = &proof.words);
    let gains: Vec<Text> = resolved.map(gain).collect();
    let noisy = proofs.iter().any(|proof| matches!(proof.verdict, Verdict::TooNoisy { .. }));
    (!proofs.is_empty()).then_some(match gains.is_empty() {
        false => Worth::Proven(gains),
        true if noisy => Worth::TooNoisy,
        true => Worth::NothingSeen,
    })
}

/// The wake-up p99 with deep idle states disabled, seconds.
pub fn find_tuned_p99(record: &Record) -> Option<f64> {
    let tuned = |m: &&Measurement| {
        m.labels.switch(Label::Corrected) != Some(true) && m.labels.word(Label::Setting) == Some("tuned")
    };
    let all = record.measurements_of(metrics::WAKEUP_LATENCY).filter(tuned).filter_map(|m| m.summary.p99);
    all.max_by(f64::total_cmp).map(|ns| ns / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof_cache::Proven;

    fn noise(floor: f64) -> NoiseEstimate {
        let measured = Block {
            floor: Some(floor),
            taken_by_os: Some(0.02),
            taken_below: Some(0.001),
            taken: Some(0.021),
            wakeup_p99: Some(60e-6),
            clock_spread: Some(0.004),
            ..Block::default()
        };
        NoiseEstimate { measured, source: "now, CPU 0-1".into(), ..NoiseEstimate::default() }
    }

    #[test]
    fn each_knob_is_worth_no_more_than_what_it_moves_was_measured_to_be() {
        let noise = noise(0.01);
        assert_eq!(noise.find_worth("stat-interval"), Worth::AtMost(OF_A_CPU, 0.02));
        assert_eq!(noise.find_worth("steal"), Worth::BelowFloor(OF_A_CPU, 0.001));
        assert_eq!(noise.find_worth("governor"), Worth::BelowFloor(OF_THE_CLOCK, 0.004));
        assert_eq!(noise.find_worth("aslr"), Worth::NotMeasured);
        assert_eq!(noise.find_worth("idle-states").brief().to_string(), "< 60.0 µs per wake-up");
        assert_eq!(NoiseEstimate::default().find_worth("governor"), Worth::NotMeasured);
        assert_eq!(noise.find_worth("stat-interval").brief().to_string(), "< 2.00 % of a CPU");
    }

    #[test]
    fn what_others_take_is_no_bound_of_the_kernels_own_knobs() {
        let busy = noise(0.01).with_others(Some(1.9));
        assert_eq!(busy.find_worth("stat-interval"), Worth::BehindOthers);
        assert_eq!(busy.find_worth("others"), Worth::AtMost(OF_A_CPU, 0.02));
        assert!(busy.find_worth("others").weight() > busy.find_worth("stat-interval").weight());
        for idle in [noise(0.01).with_others(Some(0.02)), noise(0.01).with_others(None)] {
            assert_eq!(idle.find_worth("stat-interval"), Worth::AtMost(OF_A_CPU, 0.02));
        }
    }

    #[test]
    fn a_nice_value_that_counts_against_some_is_not_worth_what_all_take() {
        assert_eq!(noise(0.01).find_worth("nice"), Worth::AtMost(OF_A_CPU, 0.02));
        let some = noise(0.01).with_nice_scope(true);
        assert_eq!(
            (some.find_worth("nice"), some.find_worth("fifo")),
            (Worth::NotMeasured, Worth::AtMost(OF_A_CPU, 0.02))
        );
    }

    #[test]
    fn a_proof_is_advised_where_one_can_be_made() {
        let reported = |how| Worth::NotMeasured.describe("swap", how).to_string();
        assert_eq!(reported(ProofBy::None), "Not measured here.");
        assert!(reported(ProofBy::Anybodys).ends_with(": linespeed quiet --prove swap -- COMMAND."));
        assert!(reported(ProofBy::Roots).ends_with(": sudo linespeed quiet --prove swap -- COMMAND."));
    }

    #[test]
    fn a_proof_is_believed_before_a_bound() {
        let row = |knob: &str, verdict: Verdict| Proven {
            knob: knob.to_owned(),
            figure: "wake-up p99".to_owned(),
            verdict,
            words: "12 % less (3 % to 20 %)".into(),
        };
        let less = Verdict::Costs { share: 0.12, interval: (0.03, 0.2) };
        let cache = ProofCache {
            proven: vec![
                row("governor", Verdict::NotResolved { smaller_than: 0.01 }),
                row("governor", less),
                row("ksm", Verdict::NotResolved { smaller_than: 0.01 }),
                row("nice", Verdict::TooNoisy { rounds_needed: None }),
            ],
            ..ProofCache::default()
        };
        let noise = NoiseEstimate { cache: Some(cache), ..noise(0.01) };
        assert_eq!(noise.find_worth("governor").brief().to_string(), "wake-up p99 12 % less (3 % to 20 %)");
        assert_eq!(
            (noise.find_worth("ksm"), noise.find_worth("nice")),
            (Worth::NothingSeen, Worth::TooNoisy)
        );
        assert_eq!(noise.find_worth("steal"), Worth::BelowFloor(OF_A_CPU, 0.001));
        assert!(noise.find_worth("governor").weight() > noise.find_worth("stat-interval").weight());
        assert!(noise.find_worth("stat-interval").weight() > noise.find_worth("ksm").weight());
    }

    #[test]
    fn what_is_taken_by_the_hypervisor_is_called_steal_and_the_rest_is_not() {
        let mut noise = noise(0.01);
        noise.hypervisor = true;
        let reported = noise.describe().unwrap();
        assert!(reported.contains("up to 2.00 % of a CPU's time lost to other tasks"), "{reported}");
        assert!(reported.contains("0.1 % to the hypervisor (steal)"), "{reported}");
        noise.hypervisor = false;
        assert!(!noise.describe().unwrap().contains("steal"));
        noise.measured.taken_by_os = None;
        assert!(noise.describe().unwrap().contains("unknown cause"));
        assert_eq!(NoiseEstimate::default().describe(), None);
    }
}
