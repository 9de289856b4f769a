//! Between which figures the published ones of a design lie.

use record::Machine;

use super::{Core, Figure, all, has, names};

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

/// Units of the data, the record's, and what one is of the other.
pub(super) const UNITS: [(&str, &str, f64); 15] = [
    ("ns", "ns", 1.0),
    ("us", "ns", 1e3),
    ("cycles", "cycles", 1.0),
    ("GHz", "Hz", 1e9),
    ("MT/s", "MT/s", 1.0),
    ("GB/s", "B/s", 1e9),
    ("KiB", "B", 1024.0),
    ("MiB", "B", 1048576.0),
    ("channels", "channels", 1.0),
    ("threads", "threads", 1.0),
    ("ratio", "ratio", 1.0),
    ("B/cycle", "B/cycle", 1.0),
    ("bits", "bits", 1.0),
    ("instructions/cycle", "instructions/cycle", 1.0),
    ("flops/cycle", "flops/cycle", 1.0),
];

impl Figure {
    /// Its ends, in the record's unit.
    pub(super) fn ends(&self) -> Option<(f64, f64, &'static str)> {
        let (_, unit, factor) = UNITS.iter().find(|(own, ..)| *own == self.unit)?;
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
