//! How noisy this machine was when it was last measured, from its own records.

use machine::Root;
use record::{Measurement, Record, units};

use crate::commands::plan::{records_here, same};

/// Records that are looked at, the newest first.
const MOST_RECORDS: usize = 5;

/// Knobs that move the clock.
const CLOCK: [&str; 6] = ["governor", "epp", "epb", "boost", "clock-range", "throttling"];
/// Knobs by which the kernel or other tasks take time from a program.
const TAKEN: [&str; 9] = [
    "interrupts",
    "workqueues",
    "nmi-watchdog",
    "timer-migration",
    "stat-interval",
    "irqbalance",
    "others",
    "shield",
    "isolation",
];

/// What records of this machine tell.
#[derive(Clone, Debug, Default)]
pub struct Noise {
    clock: Option<String>,
    taken: Option<String>,
    below: Option<String>,
    wake: Option<String>,
    lines: Vec<String>,
}

impl Noise {
    /// From the newest records of this machine that have the figures.
    pub fn known_here() -> Self {
        let machine = machine::inspect(&Root::live()).machine;
        let mut noise = Self::default();
        for path in records_here(&machine).iter().take(MOST_RECORDS) {
            let Ok(record) = Record::read(path) else { continue };
            if !same(&machine, &record.machine) {
                continue;
            }
            noise.take(&record);
            if noise.is_complete() {
                break;
            }
        }
        noise
    }

    fn is_complete(&self) -> bool {
        self.clock.is_some() && self.taken.is_some() && self.wake.is_some()
    }

    fn take(&mut self, record: &Record) {
        let day = record.started.get(..10).unwrap_or("an unknown day").to_owned();
        let mut keep = |place: &mut Option<String>, told: Option<String>| {
            if let (None, Some(told)) = (&place, told) {
                self.lines.push(format!("{told} ({day})"));
                *place = Some(told);
            }
        };
        keep(&mut self.clock, clock(record));
        keep(&mut self.taken, share(record, "os", "the kernel and other tasks took"));
        keep(&mut self.below, share(record, "below", "the hypervisor or firmware took"));
        keep(&mut self.wake, wake(record));
    }

    /// A sentence each.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// What was measured here of what a knob moves.
    pub fn of(&self, knob: &str) -> Option<String> {
        if CLOCK.contains(&knob) {
            self.clock.clone()
        } else if TAKEN.contains(&knob) {
            self.taken.clone()
        } else {
            match knob {
                "steal" => self.below.clone(),
                "idle-states" => self.wake.clone(),
                _ => None,
            }
        }
    }
}

/// How far the clock of one core moved within its samples.
fn clock(record: &Record) -> Option<String> {
    let one =
        |m: &&Measurement| m.place.word("active") == Some("one") && m.summary.n > 1 && m.summary.median > 0.0;
    let most = record
        .of("core.clock")
        .filter(one)
        .map(|m| (m.summary.max - m.summary.min) / m.summary.median)
        .max_by(f64::total_cmp)?;
    Some(format!("the clock of one core moved by {}", units::percent(most)))
}

/// The most that was taken from a CPU.
fn share(record: &Record, cause: &str, who: &str) -> Option<String> {
    let of_cause = record.of("stolen.share").filter(|m| m.place.word("cause") == Some(cause));
    let most = of_cause.map(|m| m.summary.median).max_by(f64::total_cmp)?;
    Some(format!("{who} up to {} of a CPU's time", units::percent(most)))
}

/// Wake-up p99 as the machine is, and with idle states held off.
fn wake(record: &Record) -> Option<String> {
    let p99 = |setting: &str| {
        let some = record.of("wakeup.latency").filter(|m| {
            m.place.switch("corrected") != Some(true) && m.place.word("setting") == Some(setting)
        });
        some.filter_map(|m| m.summary.p99).max_by(f64::total_cmp)
    };
    let time = |ns: f64| units::figure(ns / 1e9, "s");
    let as_is = p99("as-is")?;
    Some(match p99("tuned") {
        Some(tuned) => format!("wake-up p99 was {}, with idle states held off {}", time(as_is), time(tuned)),
        None => format!("wake-up p99 was {}", time(as_is)),
    })
}
