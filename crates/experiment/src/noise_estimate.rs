//! How noisy this machine is, and what each knob can be worth here at most: from the last proof, or from a short measurement.

use measure::os_noise;
use os::Stop;
use quiet::audit::{AuditRow, Need};
use quiet::compound_change::CompoundChange;
use quiet::knob::{Adjustment, KnobClass};
use quiet::knobs::find;
use record::Label;
use record::paired_comparison::{Scale, compare_pairs};
use record::statistics::Verdict;
use record::{Measurement, Record, units};
use serde::{Deserialize, Serialize};

use crate::proof_cache::ProofCache;

/// CPUs in use by others from which on most of what the operating system takes is theirs.
const MANY: f64 = 0.1;

/// What was measured of the machine as it is; what could not be is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// How far two runs of the same work differ, a share: the machine's floor.
    pub floor: Option<f64>,
    /// What this kernel, its interrupts and other tasks take of a CPU's time: a share.
    pub taken_by_os: Option<f64>,
    /// What the hypervisor or the firmware takes.
    pub taken_below: Option<f64>,
    /// What anybody takes, where whose it is is not told.
    pub taken: Option<f64>,
    /// 99th percentile of wake-up latency, seconds.
    pub wakeup_p99: Option<f64>,
    /// How far the clock moves: a share.
    pub clock_spread: Option<f64>,
}

impl Measured {
    /// Measures it now: half a second.
    pub fn measure(cpus: &[u32], stop: &Stop) -> Self {
        let block = os_noise::sample_block(cpus, stop);
        Self {
            floor: measure_floor(cpus, stop),
            taken_by_os: block.taken_by_os,
            taken_below: block.taken_below,
            taken: block.taken,
            wakeup_p99: block.wakeup_p99.map(|ns| ns / 1e9),
            clock_spread: block.clock_spread,
        }
    }

    /// Whether these can be what they say.
    pub fn is_sound(&self) -> bool {
        [self.floor, self.taken_by_os, self.taken_below, self.taken, self.wakeup_p99, self.clock_spread]
            .into_iter()
            .flatten()
            .all(|value| value.is_finite() && value >= 0.0)
    }
}

/// How far two runs of the same work differ here, on the last of the CPUs.
pub(crate) fn measure_floor(cpus: &[u32], stop: &Stop) -> Option<f64> {
    let rounds = os_noise::time_same_work(*cpus.last()?, stop);
    compare_pairs(&rounds, Scale::Ratio, 1, None).as_floor().floor
}

/// What a knob can be worth here.
#[derive(Clone, Debug, PartialEq)]
pub enum Worth {
    /// Proven: what it gained, figure by figure.
    Proven(Vec<String>),
    /// Proven to be no more than the machine differs from itself.
    NothingSeen,
    /// A proof could not tell.
    TooNoisy,
    /// No more than the machine differs from itself, of this.
    BelowFloor(&'static str, f64),
    /// At most this share of something.
    AtMost(&'static str, f64),
    /// At most so many seconds of a wake-up; with idle states held off so many.
    AWakeUp(f64, Option<f64>),
    /// Others were busy, and what they took cannot be told from it.
    BehindOthers,
    /// Nothing measured says.
    NotMeasured,
}

/// Whose proof would tell more of a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofBy {
    /// Nobody's: it cannot be set for the time of a run.
    None,
    /// That of whoever asks.
    Anybodys,
    /// Root's.
    Roots,
}

impl ProofBy {
    /// Whether `--prove KNOB -- COMMAND` could tell what it gains.
    pub fn for_knob(row: &AuditRow) -> Self {
        let tuned = match &row.inspection.adjustment {
            Adjustment::Write(_)
            | Adjustment::ProcessSetting(_)
            | Adjustment::Compound(CompoundChange::Swap(_)) => true,
            Adjustment::None
            | Adjustment::Compound(CompoundChange::Shield(_))
            | Adjustment::BootParameters(_)
            | Adjustment::Manual(_) => false,
        };
        match &row.needs {
            None if tuned => ProofBy::Anybodys,
            Some(Need::Root) if tuned => ProofBy::Roots,
            _ => ProofBy::None,
        }
    }
}

/// Shares of what.
const OF_A_CPU: &str = "of a CPU";
const OF_THE_CLOCK: &str = "of the clock";

impl Worth {
    /// In a cell of a table.
    pub fn brief(&self) -> String {
        match self {
            Worth::Proven(gains) => gains.first().cloned().unwrap_or_default(),
            Worth::NothingSeen | Worth::BelowFloor(..) => "below the floor".to_owned(),
            Worth::TooNoisy => "too noisy".to_owned(),
            Worth::AtMost(of, share) => format!("< {} {of}", units::percent(*share)),
            Worth::AWakeUp(seconds, _) => format!("< {} a wake-up", units::figure(*seconds, "s")),
            Worth::BehindOthers => "others are busy".to_owned(),
            Worth::NotMeasured => "not measured".to_owned(),
        }
    }

    /// In a sentence.
    pub fn describe(&self, knob: &str, how: ProofBy) -> String {
        match self {
            Worth::Proven(gains) => format!("Proven here: {}.", gains.join("; ")),
            Worth::NothingSeen => {
                "Proven here: nothing that is larger than what the machine differs from itself.".to_owned()
            }
            Worth::TooNoisy => {
                format!("Here too noisy to tell: linespeed quiet --prove --rounds 100 {knob}")
            }
            Worth::BelowFloor(of, share) => format!(
                "Here at most {} {of}, which is not larger than this machine's floor.",
                units::percent(*share)
            ),
            Worth::AtMost(of, share) => {
                format!("Here it can be worth at most {} {of}.", units::percent(*share))
            }
            Worth::AWakeUp(seconds, tuned) => {
                let tuned = tuned.map_or(String::new(), |tuned| {
                    format!(", with idle states held off {}", units::figure(tuned, "s"))
                });
                format!("Here wake-up p99 is {}{tuned}.", units::figure(*seconds, "s"))
            }
            Worth::BehindOthers => {
                "Not told here: others are busy, and what they take hides it; look again when they are done."
                    .to_owned()
            }
            Worth::NotMeasured => match how {
                ProofBy::None => "Not measured here.".to_owned(),
                ProofBy::Anybodys => format!("Not measured here: linespeed quiet --prove {knob} -- COMMAND."),
                ProofBy::Roots => {
                    format!("Not measured here: sudo linespeed quiet --prove {knob} -- COMMAND.")
                }
            },
        }
    }

    /// The word in JSON, and the largest that it can be: a share, or seconds.
    pub fn to_code(&self) -> (&'static str, Option<f64>) {
        match self {
            Worth::Proven(_) => ("proven", None),
            Worth::NothingSeen => ("below the floor", None),
            Worth::TooNoisy => ("too noisy", None),
            Worth::BelowFloor(_, share) => ("below the floor", Some(*share)),
            Worth::AtMost(_, share) => ("at most", Some(*share)),
            Worth::AWakeUp(seconds, _) => ("at most a wake-up", Some(*seconds)),
            Worth::BehindOthers => ("others are busy", None),
            Worth::NotMeasured => ("not measured", None),
        }
    }

    /// For an order by importance: what is proven first, then by size, what nothing is known of last.
    pub fn weight(&self) -> f64 {
        match self {
            Worth::Proven(_) => 10.0,
            Worth::AtMost(_, share) => 1.0 + share,
            // A program sleeps seldom and works mostly: a wake-up of a millisecond counts as a thousandth.
            Worth::AWakeUp(seconds, _) => 1.0 + seconds,
            Worth::TooNoisy => 0.5,
            Worth::BehindOthers => 0.4,
            Worth::NotMeasured => 0.3,
            Worth::BelowFloor(..) => 0.2,
            Worth::NothingSeen => 0.1,
        }
    }
}

/// How noisy this machine is.
#[derive(Clone, Debug, Default)]
pub struct NoiseEstimate {
    /// The figures.
    pub measured: Measured,
    /// When and where they were measured; empty where they were not.
    pub source: String,
    cache: Option<ProofCache>,
    tuned: Option<f64>,
    hypervisor: bool,
    /// Whether others were busy while it was measured.
    beside_others: bool,
    /// Whether a nice value counts against some tasks only.
    nice_counts_for_some: bool,
}

impl NoiseEstimate {
    /// Others used so many CPUs just before it was measured.
    pub fn with_others(mut self, cpus: Option<f64>) -> Self {
        // A proof of another hour has its own company, and told its gains beside it.
        self.beside_others = self.cache.is_none() && cpus.is_some_and(|cpus| cpus >= MANY);
        self
    }

    /// What the operating system takes is by all other tasks; a nice value may count against some of them only.
    pub fn with_nice_scope(mut self, some: bool) -> Self {
        self.nice_counts_for_some = some;
        self
    }

    /// By the last proof of this boot, or measured now on these CPUs. `tuned` is wake-up p99 with idle states held off, seconds,
    /// where a record tells it.
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
                (cache.measured.clone(), format!("by --prove at {date}, CPU {}", cache.cpus))
            }
            None => {
                let list: record::CpuList = cpus.iter().copied().collect();
                (Measured::measure(cpus, stop), format!("now, CPU {list}"))
            }
        };
        Self { measured, source, cache, tuned, hypervisor, beside_others: false, nice_counts_for_some: false }
    }

    /// What was measured, in one sentence; `None` where nothing was.
    pub fn describe(&self) -> Option<String> {
        let measured = &self.measured;
        let percent = units::percent;
        let mut parts = Vec::new();
        if let Some(floor) = measured.floor {
            parts.push(format!("two runs of the same work differ by up to {} (the floor)", percent(floor)));
        }
        match (measured.taken_by_os, measured.taken_below, measured.taken) {
            (Some(os), Some(below), _) => {
                let who = if self.hypervisor { "the hypervisor (steal)" } else { "the firmware" };
                parts.push(format!(
                    "the OS takes up to {} of a CPU by other tasks and interrupts, {who} {}",
                    percent(os),
                    percent(below)
                ));
            }
            (_, _, Some(all)) => {
                parts.push(format!("up to {} of a CPU is taken, by whom is not told", percent(all)));
            }
            _ => {}
        }
        if let Some(p99) = measured.wakeup_p99 {
            parts.push(format!("wake-up p99 is {}", units::figure(p99, "s")));
        }
        if let Some(spread) = measured.clock_spread {
            parts.push(format!("the clock moves by {}", percent(spread)));
        }
        (!parts.is_empty()).then(|| format!("{}.", parts.join("; ")))
    }

    /// What a knob can be worth here.
    pub fn find_worth(&self, knob: &str) -> Worth {
        if let Some(proven) = self.cache.as_ref().and_then(|cache| proven(cache, knob)) {
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
        match find(knob).map_or(KnobClass::Other, |knob| knob.class()) {
            KnobClass::Clock => at_most(OF_THE_CLOCK, measured.clock_spread),
            KnobClass::Kernel if self.beside_others => Worth::BehindOthers,
            KnobClass::OtherTasks | KnobClass::Kernel => {
                at_most(OF_A_CPU, measured.taken_by_os.or(measured.taken))
            }
            KnobClass::Hypervisor => at_most(OF_A_CPU, measured.taken_below.or(measured.taken)),
            KnobClass::WakeUp => {
                measured.wakeup_p99.map_or(Worth::NotMeasured, |p99| Worth::AWakeUp(p99, self.tuned))
            }
            KnobClass::Other => Worth::NotMeasured,
        }
    }
}

/// What a proof says of a knob; `None` where it was not in it.
fn proven(cache: &ProofCache, knob: &str) -> Option<Worth> {
    let mut any = false;
    let mut gains = Vec::new();
    let mut noisy = false;
    for proven in cache.find_proofs(knob) {
        any = true;
        match &proven.verdict {
            Verdict::Costs { .. } => gains.push(format!("{} {}", proven.figure, proven.words)),
            Verdict::TooNoisy { .. } => noisy = true,
            Verdict::NotResolved { .. } | Verdict::NotMeasurable { .. } => {}
        }
    }
    any.then_some(match gains.is_empty() {
        false => Worth::Proven(gains),
        true if noisy => Worth::TooNoisy,
        true => Worth::NothingSeen,
    })
}

/// Wake-up p99 with idle states held off, seconds.
pub fn find_tuned_p99(record: &Record) -> Option<f64> {
    let tuned = |m: &&Measurement| {
        m.labels.switch(Label::Corrected) != Some(true) && m.labels.word(Label::Setting) == Some("tuned")
    };
    let all = record.measurements_of("wakeup.latency").filter(tuned).filter_map(|m| m.summary.p99);
    all.max_by(f64::total_cmp).map(|ns| ns / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof_cache::Proven;

    fn noise(floor: f64) -> NoiseEstimate {
        let measured = Measured {
            floor: Some(floor),
            taken_by_os: Some(0.02),
            taken_below: Some(0.001),
            taken: Some(0.021),
            wakeup_p99: Some(60e-6),
            clock_spread: Some(0.004),
        };
        NoiseEstimate { measured, source: "now, CPU 0-1".to_owned(), ..NoiseEstimate::default() }
    }

    #[test]
    fn each_knob_is_worth_no_more_than_what_it_moves_was_measured_to_be() {
        let noise = noise(0.01);
        assert_eq!(noise.find_worth("stat-interval"), Worth::AtMost(OF_A_CPU, 0.02));
        assert_eq!(noise.find_worth("steal"), Worth::BelowFloor(OF_A_CPU, 0.001));
        assert_eq!(noise.find_worth("governor"), Worth::BelowFloor(OF_THE_CLOCK, 0.004));
        assert_eq!(noise.find_worth("aslr"), Worth::NotMeasured);
        assert_eq!(noise.find_worth("idle-states").brief(), "< 60.0 µs a wake-up");
        assert_eq!(NoiseEstimate::default().find_worth("governor"), Worth::NotMeasured);
        assert_eq!(noise.find_worth("stat-interval").brief(), "< 2.00 % of a CPU");
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
        let reported = |how| Worth::NotMeasured.describe("swap", how);
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
            words: "12 % less (3 % to 20 %)".to_owned(),
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
        assert_eq!(noise.find_worth("governor").brief(), "wake-up p99 12 % less (3 % to 20 %)");
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
        assert!(reported.contains("the OS takes up to 2.00 % of a CPU by other tasks"), "{reported}");
        assert!(reported.contains("the hypervisor (steal) 0.1 %"), "{reported}");
        noise.hypervisor = false;
        assert!(!noise.describe().unwrap().contains("steal"));
        noise.measured.taken_by_os = None;
        assert!(noise.describe().unwrap().contains("by whom is not told"));
        assert_eq!(NoiseEstimate::default().describe(), None);
    }
}
