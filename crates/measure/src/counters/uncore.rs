//! Memory traffic, measured with the counters of the memory controllers, which are outside the cores.
//!
//! | processor | unit | events | source |
//! |---|---|---|---|
//! | Intel servers since Ice Lake | `uncore_imc_free_running_N` | `read`, `write`, 64 bytes | `arch/x86/events/intel/uncore_snbep.c` |
//! | Intel servers | `uncore_imc_N` | `cas_count_read`, `cas_count_write`, 64 bytes | the same |
//! | AMD since Zen 4 | `amd_umc_N` | CAS commands, 64 bytes; bus utilization | `pmu-events/arch/x86/amdzen4/memory-controller.json`, `recommended.json` |
//! | Kunpeng, both generations | `hisi_scclX_ddrcY` | `flux_rd`, `flux_wr`, 32 bytes | `drivers/perf/hisilicon/hisi_uncore_ddrc_pmu.c` |
//! | Yitian 710 | `ali_drw_N` | `hif_rd`, `hif_wr`, `hif_rmw`, 64 bytes | `pmu-events/arch/arm64/freescale/yitian710/sys/metrics.json` |
//! | Grace | `nvidia_scf_pmu_N` | `cmem_rd_data` 32 bytes, `cmem_wr_total_bytes` | `Documentation/admin-guide/perf/nvidia-pmu.rst` |
//! | AMD Zen 1 to 3, Hygon | `amd_df` | requests with data on eight channels, 64 bytes; inaccurate | `pmu-events/arch/x86/amdzen1/data-fabric.json` |
//!
//! Events that have a name in the unit are opened by name, because their encodings differ between generations: on Sapphire Rapids, the
//! encodings that earlier generations use for `read` and `write` of the free-running unit count something else.

use std::io;
use std::sync::LazyLock;

use machine::Root;
use record::live::Traffic;
use record::{Unavailable, text};
use serde::Deserialize;

use super::attr::{self, Attr, Code, Mode, Whose};
use super::pmu::{self, DEVICES, Pmu};
use super::refusal::{self, Scope};

/// Maximum number of open events: eight packages of sixteen channels, each with two to four events.
const MOST: usize = 512;
/// Maximum plausible memory traffic of a machine, B/s.
const MOST_BYTES: f64 = 1e14;

/// The counted quantity of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Role {
    Read,
    Written,
    /// Reads and writes together.
    Moved,
    /// Slots in which the bus carried data: two per clock.
    BusySlots,
    /// Clock cycles of the bus.
    Clocks,
}

/// A family of similar units.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    source: &'static str,
    /// Two parts of a unit's name: its beginning, and the text before its last number.
    name: (&'static str, &'static str),
    /// Each event, given by its name in the unit or by its full encoding, with the number of bytes per event.
    events: Vec<(Role, &'static str, f64)>,
    #[serde(default)]
    doubtful: bool,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'static")]
struct Table {
    family: Vec<Family>,
}

/// The first family that a machine has is used, because two families in one machine count the same bytes.
static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| {
    let table = toml::from_str(include_str!("memory_controllers.toml"));
    table.map(|table: Table| table.family).unwrap_or_default()
});

impl Family {
    fn has(&self, unit: &str) -> bool {
        let (begins, holds) = self.name;
        let Some(rest) = unit.strip_prefix(begins) else { return false };
        let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'_');
        match holds {
            "" => number(rest),
            _ => rest.split_once(holds).is_some_and(|(first, last)| number(first) && number(last)),
        }
    }
}

/// An open event. The function returns its count, the enabled time and the actual counting time (both in ns).
type Event = Box<dyn Fn() -> Option<[u64; 3]> + Send>;

/// Opens an event on a CPU.
type Open<'a> = &'a mut dyn FnMut(Code, u32) -> io::Result<Event>;

fn open_event(code: Code, cpu: u32) -> io::Result<Event> {
    // No processor mode is excluded: memory traffic has no mode, because it is not attributed to a task, and some units
    // refuse exclusions.
    let fd = attr::open(&Attr::new(code, Mode::default()), Whose::Cpu(cpu), None)?;
    Ok(Box::new(move || {
        let mut words = [0; 3];
        (attr::read(&fd, &mut words).ok()? == words.len()).then_some(words)
    }))
}

/// Counters of all memory controllers, closed when the value is dropped.
pub struct Uncore {
    family: &'static Family,
    events: Vec<(Role, f64, Event)>,
}

impl std::fmt::Debug for Uncore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Uncore({}, {} events)", self.family.source, self.events.len())
    }
}

/// The counter values at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Carried(Vec<Option<[u64; 3]>>);

impl Uncore {
    /// Opens the counters; `root` is the current machine.
    pub fn open(root: &Root) -> Result<Self, Unavailable> {
        Self::open_by(root, &mut open_event)
    }

    fn open_by(root: &Root, open: Open) -> Result<Self, Unavailable> {
        let names = root.list(DEVICES);
        let mut refused = None;
        for family in FAMILIES.iter() {
            let units: Vec<Pmu> = names
                .iter()
                .filter(|name| family.has(name))
                .filter_map(|name| pmu::unit(root, name))
                .collect();
            match open_family(root, family, &units, open) {
                Ok(Some(all)) => return Ok(all),
                Ok(None) => {}
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        Err(refused.unwrap_or_else(|| {
            text!(
                "uncore-none",
                "no memory controller counters in /sys/bus/event_source/devices (virtual machine or missing driver)"
            )
            .into()
        }))
    }

    /// Whether the counts are known to be inaccurate.
    pub fn is_doubtful(&self) -> bool {
        self.family.doubtful
    }

    /// The name of the counters used.
    pub fn source(&self) -> &'static str {
        self.family.source
    }

    /// The counts since the start.
    pub fn read(&self) -> Carried {
        Carried(self.events.iter().map(|(_, _, event)| event()).collect())
    }

    /// Memory traffic between two readings that are this many seconds apart. `None` if a controller has no value, because the sum would be
    /// too small. Also `None` if no counter advanced: memory is always in use, so such counters do not work.
    pub fn between(&self, before: &Carried, now: &Carried, seconds: f64) -> Option<Traffic> {
        let (mut read, mut written, mut moved) = (None, None, 0.0);
        let (mut busy, mut clocks) = (Some(0.0), Some(0.0));
        for (index, (role, bytes, _)) in self.events.iter().enumerate() {
            let count = grown(before.0.get(index), now.0.get(index));
            let add = |sum: &mut Option<f64>| *sum = sum.zip(count).map(|(sum, count)| sum + count);
            match role {
                Role::BusySlots => add(&mut busy),
                Role::Clocks => add(&mut clocks),
                Role::Moved => moved += count? * bytes,
                Role::Read => *read.get_or_insert(0.0) += count? * bytes,
                Role::Written => *written.get_or_insert(0.0) += count? * bytes,
            }
        }
        let rate = |bytes: f64| bytes / seconds;
        let all = rate(moved + read.unwrap_or(0.0) + written.unwrap_or(0.0));
        if !(all > 0.0 && all <= MOST_BYTES) {
            return None;
        }
        let share = busy.zip(clocks).map(|(busy, clocks)| busy / 2.0 / clocks);
        Some(Traffic {
            bytes_per_second: all,
            read: read.map(rate),
            written: written.map(rate),
            bus: share.filter(|share| (0.0..=1.05).contains(share)).map(|share| share.min(1.0)),
            source: self.family.source.to_owned(),
            doubtful: self.family.doubtful,
        })
    }
}

/// Opens all of a family's events on all of its units. If one cannot be opened, none are, because a sum without one controller would be too
/// small. `Ok(None)`: this machine has no such unit, or no such unit with these events.
fn open_family(
    root: &Root,
    family: &'static Family,
    units: &[Pmu],
    open: Open,
) -> Result<Option<Uncore>, Unavailable> {
    let mut events = Vec::new();
    for unit in units {
        let code = |event: &str| {
            if event.contains('=') { unit.encode(root, event) } else { unit.event(root, event) }
        };
        // Events are counted once on each of these CPUs, one per package.
        let cpus = root.cpu_list(&unit.file("cpumask"));
        let Some(cpus) = cpus.filter(|cpus| !cpus.is_empty()) else { continue };
        for (role, event, bytes) in &family.events {
            let about_the_bus = matches!(role, Role::BusySlots | Role::Clocks);
            let Some(code) = code(event) else {
                if about_the_bus {
                    continue;
                }
                return Ok(None);
            };
            for cpu in cpus.iter() {
                // The sum over only some of the controllers would be too small.
                if events.len() >= MOST {
                    let reason = text!(
                        "uncore-too-many",
                        "{source} has more than {most} counters",
                        source = family.source,
                        most = MOST as u64
                    );
                    return Err(reason.into());
                }
                match open(code, cpu) {
                    Ok(event) => events.push((*role, *bytes, event)),
                    Err(_) if about_the_bus => {}
                    Err(error) => {
                        return Err(match error.raw_os_error() {
                            Some(libc::EACCES | libc::EPERM) => {
                                refusal::surroundings().explain(&error, Scope::Machine)
                            }
                            _ => text!(
                                "uncore-refused",
                                "{unit} lists {event} but cannot count it: {error}",
                                unit = unit.name.clone(),
                                event = *event
                            )
                            .into(),
                        });
                    }
                }
            }
        }
    }
    Ok((!events.is_empty()).then_some(Uncore { family, events }))
}

/// An event's count between two readings, scaled to the enabled time; `None` if it did not count or went backwards.
fn grown(before: Option<&Option<[u64; 3]>>, now: Option<&Option<[u64; 3]>>) -> Option<f64> {
    let ([count, enabled, running], [was, was_enabled, was_running]) = ((*now?)?, (*before?)?);
    let (enabled, running) = (enabled.checked_sub(was_enabled)?, running.checked_sub(was_running)?);
    let count = count.checked_sub(was)? as f64;
    let scale = if running >= enabled { 1.0 } else { enabled as f64 / running as f64 };
    (running > 0).then_some(count * scale)
}

#[cfg(test)]
#[path = "uncore_tests.rs"]
mod tests;
