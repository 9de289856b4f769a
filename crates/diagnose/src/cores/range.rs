//! Between which figures the published ones of a design lie.

use std::sync::LazyLock;

use record::Machine;

use super::{Core, Figure, all, has, names};
use crate::tables::rows;

/// What was published of one quantity of a design, in Hz, B/s, ns, cycles or what else its unit is.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
    /// The unit.
    pub unit: &'static str,
    /// Who published it, each once.
    pub sources: Vec<String>,
    /// Whose figures these are: the design's name, the group's, a part's.
    pub of: String,
    /// Whether they are of guests.
    pub guest: bool,
}

/// The record's unit for one that people or the data write, and what one is of the other.
pub(crate) fn unit_of(written: &str) -> Option<(&'static str, f64)> {
    static UNITS: LazyLock<Vec<Vec<&str>>> = LazyLock::new(|| rows(include_str!("units.txt"), "units"));
    let row = UNITS.iter().find(|row| row.first().is_some_and(|own| own.eq_ignore_ascii_case(written)))?;
    Some((*row.get(1)?, row.get(2)?.parse().ok()?))
}

impl Figure {
    /// Its ends, in the record's unit.
    pub(super) fn ends(&self) -> Option<(f64, f64, &'static str)> {
        let (unit, factor) = unit_of(&self.unit)?;
        let low = self.value.or(self.low)?;
        let high = self.value.or(self.high)?;
        // Of 4.1 GHz 4,100,000,000 Hz.
        let exact = |figure: f64| (figure * factor * 1e3).round() / 1e3;
        Some((exact(low), exact(high), unit))
    }
}

impl Core {
    /// What was published of a quantity of it. A part's own figures stand before the design's, which else are all that are of no
    /// one part; a guest's before bare metal's.
    pub fn range<'a>(
        &self,
        what: &str,
        names: impl Iterator<Item = &'a str> + Clone,
        is_guest: bool,
    ) -> Option<Range> {
        let of_part = |figure: &&Figure| names.clone().any(|name| has(&figure.part, name));
        let own: Vec<&Figure> = self.figures.iter().filter(|figure| figure.what == what).collect();
        let (part, rest): (Vec<&Figure>, Vec<&Figure>) = own.into_iter().partition(of_part);
        let chosen = match part.is_empty() {
            true => rest.into_iter().filter(|figure| figure.part.is_none()).collect(),
            false => part,
        };
        let guest = is_guest && chosen.iter().any(|figure| figure.guest);
        let mut range: Option<Range> = None;
        for figure in chosen.into_iter().filter(|figure| figure.guest == guest) {
            let (low, high, unit) = figure.ends()?;
            let of = || match figure.part {
                Some(_) => {
                    names.clone().find(|name| has(&figure.part, name)).unwrap_or(&self.name).to_owned()
                }
                None => self.name.clone(),
            };
            let range =
                range.get_or_insert_with(|| Range { low, high, unit, sources: Vec::new(), of: of(), guest });
            (range.low, range.high) = (range.low.min(low), range.high.max(high));
            let new: Vec<&String> =
                figure.sources.iter().filter(|source| !range.sources.contains(source)).collect();
            range.sources.extend(new.into_iter().cloned());
        }
        range
    }
}

/// What was published of a quantity of a design, else of its group.
pub fn range_of(core: &Core, what: &str, machine: &Machine) -> Option<Range> {
    let (names, is_guest) = (names(&machine.processor).collect::<Vec<_>>(), machine.is_virtual());
    let range = |core: &Core| core.range(what, names.iter().copied(), is_guest);
    range(core).or_else(|| range(group(core.group.as_deref()?)?))
}

/// A group by its name.
pub(super) fn group(name: &str) -> Option<&'static Core> {
    all().iter().find(|core| core.id.strip_prefix("group-") == Some(name))
}

/// What was published of Linux on whatever processor.
pub(crate) fn of_linux(what: &str, machine: &Machine) -> Option<Range> {
    group("linux")?.range(what, std::iter::empty(), machine.is_virtual())
}
