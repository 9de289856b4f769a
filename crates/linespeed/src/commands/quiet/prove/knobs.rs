//! The machine's noise before and after each knob, and all together.

use std::time::Duration;

use ::quiet::audit::audit;
use ::quiet::files::Tree;
use ::quiet::turn::{Purpose, Turn};
use diagnose::gain::{Scale, least_rounds};
use machine::Root;
use measure::noise::{self, Block};
use measure::{Stop, pin};
use record::CpuList;

use super::Findings;
use super::figure::{Figure, Unit};
use crate::commands::quiet::turned::Turned;
use crate::failure::Failure;
use crate::options::Options;
use crate::{output, signals};

/// Rounds beyond the fewest that give an interval: so that one odd round does not decide.
const SPARE_ROUNDS: usize = 3;
/// How long a block takes with what is before and after it.
const BLOCK: f64 = 0.32;
/// A governor's or a sleep state's change is in force by then.
const SETTLING: Duration = Duration::from_millis(20);
/// What stands for nothing turned, and for everything.
const NOTHING: &str = "nothing";
const ALL: &str = "all of them";

const fn figure(name: &'static str, unit: Unit, scale: Scale) -> Figure {
    Figure { name, unit, scale, less_is_better: true }
}

type Look = fn(&Block) -> Option<f64>;

/// What is looked at in each block.
const FIGURES: [(Figure, Look); 4] = [
    (figure("spread of the same work", Unit::Share, Scale::Difference), |block| block.work_spread),
    (figure("stolen time", Unit::Share, Scale::Difference), |block| block.stolen),
    (figure("wake-up p99", Unit::Seconds, Scale::Ratio), |block| block.wakeup_p99.map(|ns| ns / 1e9)),
    (figure("clock's movement", Unit::Share, Scale::Difference), |block| block.clock_spread),
];

/// One state that is compared with the machine as it is.
struct Trial {
    name: &'static str,
    knobs: Vec<&'static str>,
    rounds: Vec<(Block, Block)>,
    refused: Option<String>,
}

/// Measures and prints; the exit code.
pub fn run(options: &Options, names: &[&'static str]) -> Result<u8, Failure> {
    let stop = signals::install();
    let (mut trials, mut missing) = trials(options, names)?;
    let cpus = cpus(options);
    let rounds = least_rounds(trials.len()) + SPARE_ROUNDS;
    let seconds = (rounds * trials.len() * 2) as f64 * BLOCK;
    if !options.out.quiet_output {
        output::complain(&format!(
            "{rounds} rounds of {} in turn: about {}",
            several(trials.len() * 2, "block", "blocks"),
            record::units::figure(seconds, "s")
        ));
    }
    let mut done = 0;
    for round in 0..rounds {
        for (at, trial) in trials.iter_mut().enumerate() {
            if stop.signal().is_none() && trial.refused.is_none() {
                trial.round(options, &cpus, (round + at) % 2 == 0, stop);
            }
        }
        if stop.signal().is_some() {
            break;
        }
        done += 1;
    }
    let comparisons = trials.len();
    let mut found = Findings {
        title: "Noise before and after, in turn",
        head: "turned",
        rounds: done,
        interrupted: stop.signal(),
        ..Findings::default()
    };
    for trial in trials {
        if let Some(why) = trial.refused {
            missing.push((trial.name.to_owned(), why));
            continue;
        }
        for (figure, look) in FIGURES {
            let rounds = trial.rounds.iter().filter_map(|(a, b)| Some((look(a)?, look(b)?))).collect();
            found.compared.extend(
                figure.compare(rounds, comparisons).map(|compared| (trial.name.to_owned(), figure, compared)),
            );
        }
    }
    found.missing = missing;
    found.remarks = remarks(done, comparisons, &cpus);
    found.tell(options)
}

fn several(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn remarks(rounds: usize, comparisons: usize, cpus: &[u32]) -> Vec<String> {
    let list: CpuList = cpus.iter().copied().collect();
    vec![
        Findings::how(rounds, comparisons),
        format!("On CPU {list}. With {NOTHING} turned the machine is compared with itself: that is the floor."),
        "Spread of the same work: its 95th percentile over its median, less 1. Clock's movement: the 5th to the 95th \
         percentile of the core clock over its median. The worst CPU counts."
            .to_owned(),
    ]
}

/// CPUs that are measured: those that are to be quiet, or all that this process may use.
fn cpus(options: &Options) -> Vec<u32> {
    let chosen = options.measuring.cpus.clone().or_else(pin::allowed).unwrap_or_default();
    let online = Root::live().cpu_list("/sys/devices/system/cpu/online");
    online.map_or(chosen.clone(), |online| chosen.intersection(&online)).iter().collect()
}

/// Nothing turned, each knob that can be turned here, and all of them; and those that cannot, with the reason.
#[allow(clippy::type_complexity)]
fn trials(options: &Options, names: &[&'static str]) -> Result<(Vec<Trial>, Vec<(String, String)>), Failure> {
    let root = Root::live();
    let tree = Tree::new(&root);
    let scene = crate::commands::quiet::scene(options, &root, &tree, Purpose::ForACommand)?;
    let rows = audit(&scene, names);
    let turn = Turn::of(&rows, !names.is_empty(), Purpose::ForMeasuring, &tree);
    let mut left: Vec<(String, String)> =
        turn.left.iter().map(|(name, why)| ((*name).to_owned(), why.clone())).collect();
    let turned = |name: &str| {
        turn.changes.iter().any(|change| change.knob == name)
            || turn.holds.iter().any(|(held, _)| *held == name)
            || turn.undertakings.iter().any(|(undertaken, _)| *undertaken == name)
    };
    let knobs: Vec<&'static str> =
        rows.iter().map(|row| row.knob.name()).filter(|name| turned(name)).collect();
    // Who names a knob hears of it.
    for row in rows.iter().filter(|row| names.contains(&row.knob.name())) {
        let name = row.knob.name();
        if !knobs.contains(&name) && !left.iter().any(|(said, _)| said == name) {
            left.push((name.to_owned(), format!("it is steady already: {}", row.look.now)));
        }
    }
    let trial = |name, knobs| Trial { name, knobs, rounds: Vec::new(), refused: None };
    let mut trials = vec![trial(NOTHING, Vec::new())];
    trials.extend(knobs.iter().map(|name| trial(name, vec![*name])));
    if knobs.len() > 1 {
        trials.push(trial(ALL, knobs));
    }
    Ok((trials, left))
}

impl Trial {
    /// A block as the machine is and one with the knobs turned, in this order or the other.
    fn round(&mut self, options: &Options, cpus: &[u32], plain_first: bool, stop: &Stop) {
        let plain = |before: Option<Block>| before.unwrap_or_else(|| noise::block(cpus, stop));
        let first = plain_first.then(|| noise::block(cpus, stop));
        match self.turned(options, cpus, stop) {
            Ok(after) => {
                let before = plain(first);
                if stop.signal().is_none() {
                    self.rounds.push((before, after));
                }
            }
            Err(why) => self.refused = Some(why),
        }
    }

    fn turned(&self, options: &Options, cpus: &[u32], stop: &Stop) -> Result<Block, String> {
        if self.knobs.is_empty() {
            return Ok(noise::block(cpus, stop));
        }
        let turned =
            Turned::begin(options, &self.knobs, Purpose::ForMeasuring).map_err(|why| why.to_string())?;
        std::thread::sleep(SETTLING);
        let block = noise::block(cpus, stop);
        turned.end();
        std::thread::sleep(SETTLING);
        Ok(block)
    }
}
