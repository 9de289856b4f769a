//! The range of a design's published results.

use std::sync::LazyLock;

use record::Machine;

use super::{Core, Figure, all, has, names};
use crate::tables::rows;

/// The published results for one property of a design, in Hz, B/s, ns, cycles or another unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The lowest value.
    pub low: f64,
    /// The highest value.
    pub high: f64,
    /// The unit.
    pub unit: &'static str,
    /// Each publisher once.
    pub sources: Vec<String>,
    /// The source of these results: the name of the design, group or model.
    pub of: String,
    /// Whether the results were measured in guests.
    pub guest: bool,
}

/// Converts a unit used in text or in the data: the unit in records, and the conversion factor.
pub(crate) fn unit_of(written: &str) -> Option<(&'static str, f64)> {
    static UNITS: LazyLock<Vec<Vec<&str>>> = LazyLock::new(|| rows(include_str!("units.txt"), "units"));
    let row = UNITS.iter().find(|row| row.first().is_some_and(|own| own.eq_ignore_ascii_case(written)))?;
    Some((*row.get(1)?, row.get(2)?.parse().ok()?))
}

impl Figure {
    /// Both ends of the range, in the unit of records.
    pub(super) fn ends(&self) -> Option<(f64, f64, &'static str)> {
        let (unit, factor) = unit_of(&self.unit)?;
        let low = self.value.or(self.low)?;
        let high = self.value.or(self.high)?;
        // 4.1 GHz must become exactly 4,100,000,000 Hz.
        let exact = |figure: f64| (figure * factor * 1e3).round() / 1e3;
        Some((exact(low), exact(high), unit))
    }
}

impl Core {
    /// Whether this property is published for single models. The result of the design then applies to all other models.
    pub(crate) fn differs_by_model(&self, what: &str) -> bool {
        self.figures.iter().any(|figure| figure.what == what && figure.part.is_some())
    }

    /// The published results for one property of this design. Results for the exact model take precedence; otherwise, only results without
    /// a model count. For a guest, results from guests take precedence over those from bare metal.
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
            let of = || names.clone().find(|name| has(&figure.part, name)).unwrap_or(&self.name).to_owned();
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

/// The published results for a property of a design, or otherwise of its group, or of servers in general.
pub fn range_of(core: &Core, what: &str, machine: &Machine) -> Option<Range> {
    let (names, is_guest) = (names(&machine.processor).collect::<Vec<_>>(), machine.is_virtual());
    let range = |core: &Core| core.range(what, names.iter().copied(), is_guest);
    let of_group = |own: &str| [own, "servers"].into_iter().filter_map(group).find_map(range);
    range(core).or_else(|| of_group(core.group.as_deref()?))
}

/// A group by its name.
pub(super) fn group(name: &str) -> Option<&'static Core> {
    all().iter().find(|core| core.id.strip_prefix("group-") == Some(name))
}

/// The published results for Linux on any processor.
pub(crate) fn of_linux(what: &str, machine: &Machine) -> Option<Range> {
    group("linux")?.range(what, std::iter::empty(), machine.is_virtual())
}
