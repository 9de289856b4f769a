//! The machine's noise before and after each knob, and all together.

use std::time::Duration;

use ::quiet::audit::{Row, audit};
use ::quiet::files::Tree;
use ::quiet::knob::Hold;
use ::quiet::turn::{Purpose, Turn};
use diagnose::gain::Scale;
use machine::Root;
use measure::noise::{self, Block};
use measure::{Stop, pin};
use record::CpuList;

use super::figure::{Compared, Figure, Unit, names};
use super::{Findings, Rounds};
use crate::commands::quiet::kept::{Kept, Proven};
use crate::commands::quiet::noise::{Measured, floor as noise_floor};
use crate::commands::quiet::turned::Turned;
use crate::failure::Failure;
use crate::options::Options;
use crate::{output, signals};

/// Rounds beyond the fewest that give an interval: so that one odd round does not decide.
const SPARE_ROUNDS: usize = 3;
/// How long a block takes with what is before and after it.
const BLOCK: f64 = 0.34;
/// A governor's or a sleep state's change is in force by then. Each block comes after as long a rest, turned or not.
const SETTLING: Duration = Duration::from_millis(20);
/// A share that is worth knowing: a point.
const WORTH: Scale = Scale::Difference { worth: 0.01 };
/// What stands for nothing turned, and for everything.
const NOTHING: &str = "nothing";
const ALL: &str = "all of them";

const fn figure(name: &'static str, unit: Unit, scale: Scale) -> Figure {
    Figure { name, unit, scale, less_is_better: true }
}

type Look = fn(&Block) -> Option<f64>;

/// What is looked at in each block. Whose the taken time was is told where /proc/interrupts tells it.
fn figures(hypervisor: Option<&str>) -> [(Figure, Look); 6] {
    let below = if hypervisor == Some("none") { names::FIRMWARE } else { names::STEAL };
    let untold: Look = |block| if block.taken_by_os.is_none() { block.taken } else { None };
    [
        (figure(names::WORK, Unit::Ratio, Scale::Ratio), |block| block.work_p95),
        (figure(names::OS, Unit::Share, WORTH), |block| block.taken_by_os),
        (figure(below, Unit::Share, WORTH), |block| block.taken_below),
        (figure(names::ANYBODY, Unit::Share, WORTH), untold),
        (figure(names::WAKEUP, Unit::Seconds, Scale::Ratio), |block| block.wakeup_p99.map(|ns| ns / 1e9)),
        (figure(names::CLOCK, Unit::Share, WORTH), |block| block.clock_spread),
    ]
}

/// Figures of one comparison that have values: whose the taken time was is either told or not.
const TOLD: usize = 5;

/// One state that is compared with the machine as it is.
struct Trial {
    name: &'static str,
    knobs: Vec<&'static str>,
    rounds: Vec<(Block, Block)>,
    refused: Option<String>,
}

/// Measures and prints; the exit code.
pub fn run(options: &Options, names: &[&'static str], wanted: Option<u32>) -> Result<u8, Failure> {
    let stop = signals::install();
    let Turnable { knobs, left: mut missing } = turnable(options, names, Purpose::ForMeasuring)?;
    let mut trials = trials(knobs);
    let cpus = cpus(options);
    let rounds =
        wanted.map_or_else(|| super::rounds((trials.len() - 1).max(1) * TOLD, SPARE_ROUNDS), |n| n as usize);
    let seconds = (rounds * trials.len() * 2) as f64 * BLOCK;
    if !options.out.quiet_output {
        output::complain(&format!(
            "{} of {} blocks in turn: about {}",
            report::plural(rounds, "round"),
            trials.len() * 2,
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
    let mut found = Findings {
        title: "Noise before and after, in turn",
        head: "turned",
        rounds: done,
        interrupted: stop.signal(),
        ..Findings::default()
    };
    let figures = figures(machine::inspect(&Root::live()).machine.virtualization.hypervisor.as_deref());
    let mut same = (NOTHING.to_owned(), Rounds::new());
    let mut others = Vec::new();
    for trial in trials {
        let told = of_figures(&trial.rounds, &figures);
        match trial.refused {
            Some(why) => missing.push((trial.name.to_owned(), why)),
            None if trial.knobs.is_empty() => same.1 = told,
            None => others.push((trial.name.to_owned(), told)),
        }
    }
    found.judge(same, others);
    found.missing = missing;
    let list: CpuList = cpus.iter().copied().collect();
    if found.interrupted.is_none()
        && let Err(why) = kept(&found, &list, noise_floor(&cpus, stop)).write()
        && !options.out.quiet_output
    {
        output::complain(&format!("linespeed quiet will not know of this: {why}"));
    }
    found.remarks.push(format!(
        "On CPU {list}, the worst of them. p95 of same work: over its median. Clock's movement: the 5th to the 95th \
         percentile of the core clock over its median."
    ));
    found.tell(options)
}

/// What the audit is to know of it.
fn kept(found: &Findings, cpus: &CpuList, floor: Option<f64>) -> Kept {
    let as_it_is = |name: &str| {
        let row = found.compared.iter().find(|(turned, figure, _)| turned == NOTHING && figure.name == name);
        row.map(|(_, _, compared)| compared.gain.before)
    };
    let proven = |(turned, figure, compared): &(String, Figure, Compared)| Proven {
        knob: turned.clone(),
        figure: figure.name.to_owned(),
        verdict: compared.gain.verdict.clone(),
        words: figure.result(&compared.gain),
    };
    let of_knobs = found.compared.iter().filter(|(turned, ..)| turned != NOTHING && turned != ALL);
    Kept {
        boot_id: crate::commands::quiet::boot(),
        cpus: cpus.to_string(),
        measured: Measured {
            floor,
            taken_by_os: as_it_is(names::OS),
            taken_below: as_it_is(names::STEAL).or_else(|| as_it_is(names::FIRMWARE)),
            taken: as_it_is(names::ANYBODY),
            wakeup_p99: as_it_is(names::WAKEUP),
            clock_spread: as_it_is(names::CLOCK),
        },
        proven: of_knobs.map(proven).collect(),
        ..Kept::default()
    }
}

fn of_figures(rounds: &[(Block, Block)], figures: &[(Figure, Look)]) -> Rounds {
    let of = |look: Look| rounds.iter().filter_map(|(a, b)| Some((look(a)?, look(b)?))).collect();
    figures.iter().map(|(figure, look)| (*figure, of(*look))).collect()
}

/// CPUs that are measured: those that are to be quiet, or all that this process may use.
pub fn cpus(options: &Options) -> Vec<u32> {
    let chosen = options.measuring.cpus.clone().or_else(pin::allowed).unwrap_or_default();
    let online = Root::live().cpu_list("/sys/devices/system/cpu/online");
    online.map_or(chosen.clone(), |online| chosen.intersection(&online)).iter().collect()
}

/// Knobs that can be turned here, and those that cannot, with the reason.
#[derive(Debug, Default)]
pub struct Turnable {
    /// Names, in the order of writing.
    pub knobs: Vec<Named>,
    /// What cannot be turned, and why.
    pub left: Vec<(String, String)>,
}

/// A knob that can be turned.
#[derive(Clone, Debug)]
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// From what to what, in a person's words.
    pub change: String,
    /// What a process holds for it.
    pub hold: Option<Hold>,
}

/// Which of these knobs, or of all, can be turned for this purpose.
pub fn turnable(options: &Options, names: &[&'static str], purpose: Purpose) -> Result<Turnable, Failure> {
    let root = Root::live();
    let tree = Tree::new(&root);
    let scene = crate::commands::quiet::scene(options, &root, &tree, Purpose::ForACommand)?;
    let rows = audit(&scene, names);
    let turn = Turn::of(&rows, !names.is_empty(), purpose, &tree);
    let mut left: Vec<(String, String)> =
        turn.left.iter().map(|(name, why)| ((*name).to_owned(), why.clone())).collect();
    let turned = |name: &str| {
        turn.changes.iter().any(|change| change.knob == name)
            || turn.holds.iter().any(|(held, _)| *held == name)
            || turn.undertakings.iter().any(|(undertaken, _)| *undertaken == name)
    };
    let told = |row: &Row| Named {
        name: row.knob.name(),
        change: format!("{}, then {}", row.look.now, row.look.steadier.as_deref().unwrap_or("steadier")),
        hold: turn.holds.iter().find(|(name, _)| *name == row.knob.name()).map(|(_, hold)| hold.clone()),
    };
    let knobs: Vec<Named> = rows.iter().filter(|row| turned(row.knob.name())).map(told).collect();
    // Who names a knob hears of it.
    for row in rows.iter().filter(|row| names.contains(&row.knob.name())) {
        let name = row.knob.name();
        if !knobs.iter().any(|knob| knob.name == name) && !left.iter().any(|(said, _)| said == name) {
            left.push((name.to_owned(), format!("it is steady already: {}", row.look.now)));
        }
    }
    Ok(Turnable { knobs, left })
}

/// Nothing turned, each knob, and all of them.
fn trials(knobs: Vec<Named>) -> Vec<Trial> {
    let trial = |name, knobs| Trial { name, knobs, rounds: Vec::new(), refused: None };
    let mut trials = vec![trial(NOTHING, Vec::new())];
    trials.extend(knobs.iter().map(|knob| trial(knob.name, vec![knob.name])));
    if knobs.len() > 1 {
        trials.push(trial(ALL, knobs.iter().map(|knob| knob.name).collect()));
    }
    trials
}

impl Trial {
    /// A block as the machine is and one with the knobs turned, in this order or the other.
    fn round(&mut self, options: &Options, cpus: &[u32], plain_first: bool, stop: &Stop) {
        let plain = || {
            std::thread::sleep(SETTLING);
            noise::block(cpus, stop)
        };
        let first = plain_first.then(plain);
        match self.turned(options, cpus, stop) {
            Ok(after) => {
                let before = first.unwrap_or_else(plain);
                if stop.signal().is_none() {
                    self.rounds.push((before, after));
                }
            }
            Err(why) => self.refused = Some(why),
        }
    }

    fn turned(&self, options: &Options, cpus: &[u32], stop: &Stop) -> Result<Block, String> {
        let turned = match self.knobs.is_empty() {
            true => None,
            false => Some(
                Turned::begin(options, &self.knobs, Purpose::ForMeasuring).map_err(|why| why.to_string())?,
            ),
        };
        std::thread::sleep(SETTLING);
        let block = noise::block(cpus, stop);
        if let Some(turned) = turned {
            turned.end();
        }
        Ok(block)
    }
}
