//! Judges claims by the machines' results alone.

use std::cell::RefCell;
use std::collections::BTreeMap;

use record::measurement::Key;
use record::{Label, Measurement, Record};
use reference::claims::{Figure, Gap, JudgedClaim, Relation, Verdict};
use reference::{Trouble, find};

use crate::document::{Claim, Unreadable};
use crate::expression::{Atom, Condition, Expression, Extreme, Sign};
use crate::quantity::{Quantity, Unit};

/// The tolerance of "about", as a share of what is claimed: one for all claims.
const TOLERANCE: f64 = 0.1;
/// A path outside the inventory: the load average of the last minute, as a tool printed it beside its results.
const LOAD_AVERAGE: &str = "load.average";

/// The prefix of inventory paths.
const INVENTORY: &str = "machine.";
/// Beside a result's labels: one of its samples.
const SAMPLE: &str = "sample";
/// Units of calculated values.
const BASE_UNITS: [&str; 5] = ["count", "s", "Hz", "B", "B/s"];

/// Why a rule cannot be applied; a test makes sure that this happens to none of those shipped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inapplicable {
    /// Claims that cannot be read.
    #[error("{0}")]
    Claims(#[from] Unreadable),
    /// A machine that does not exist.
    #[error("no reference machine {0}")]
    Machine(String),
    /// A machine whose text gives no record.
    #[error("{0}")]
    Text(Trouble),
    /// A metric, label or path that no record can have.
    #[error("nothing can be at {0}")]
    Unknown(String),
    /// More than one result.
    #[error("{count} figures are at {atom}")]
    Ambiguous {
        /// Where.
        atom: String,
        /// How many.
        count: usize,
    },
    /// A value that is not a number.
    #[error("no number is at {0}")]
    NoNumber(String),
    /// Times compared with sizes, or a division by zero.
    #[error("the two sides cannot be compared")]
    Dimensions,
    /// A result listed as missing is present.
    #[error("{0} is there: the claim can be judged")]
    Answerable(String),
}

/// The judge: the records of the machines, created on demand.
#[derive(Debug)]
pub struct Judge<'a> {
    version: &'a str,
    records: RefCell<BTreeMap<String, (Record, serde_json::Value)>>,
}

/// The outcome of a condition.
enum Outcome {
    Compared(Gap),
    Missing(Vec<Atom>),
}

impl<'a> Judge<'a> {
    /// With the records from this version of the program.
    pub fn new(version: &'a str) -> Self {
        Self { version, records: RefCell::default() }
    }

    /// What the results show about a claim.
    pub fn judge(&self, claim: &Claim) -> Result<JudgedClaim, Inapplicable> {
        let mut compared = Vec::new();
        let mut missing = Vec::new();
        let mut evidence: Vec<Figure> = Vec::new();
        for condition in &claim.holds_if {
            for atom in condition.found.atoms().into_iter().chain(condition.claimed.atoms()) {
                if let Some(figure) = self.figure(atom)?.filter(|figure| !evidence.contains(figure)) {
                    evidence.push(figure);
                }
            }
            match self.outcome(condition)? {
                Outcome::Compared(gap) => compared.push(gap),
                Outcome::Missing(atoms) => missing.extend(atoms),
            }
        }
        for atom in &claim.needs {
            match self.matching(atom)? {
                0 => missing.push(atom.clone()),
                _ => return Err(Inapplicable::Answerable(atom.to_string())),
            }
        }
        let met = compared.iter().filter(|gap| gap.met).count();
        let verdict = match (met < compared.len(), missing.is_empty()) {
            (true, _) if claim.parts && met > 0 => Verdict::InPart,
            (true, _) => Verdict::DoesNotHold,
            (false, true) => Verdict::Holds,
            (false, false) => Verdict::CannotTell,
        };
        let needs = match verdict {
            Verdict::CannotTell => missing.iter().map(Atom::to_string).collect(),
            _ => Vec::new(),
        };
        Ok(JudgedClaim {
            compared,
            document: claim.document.clone(),
            evidence,
            id: claim.id.clone(),
            machines: claim.machines.clone(),
            measured_by: claim.measured_by.clone(),
            needs,
            note: claim.note.clone(),
            says: claim.says.clone(),
            verdict,
        })
    }

    fn outcome(&self, condition: &Condition) -> Result<Outcome, Inapplicable> {
        let sides = [&condition.found, &condition.claimed];
        let mut missing = Vec::new();
        for atom in sides.into_iter().flat_map(Expression::atoms) {
            if self.figure(atom)?.is_none() {
                missing.push(atom.clone());
            }
        }
        if !missing.is_empty() {
            return Ok(Outcome::Missing(missing));
        }
        let [found, claimed] = [self.value(sides[0])?, self.value(sides[1])?];
        if found.dimension != claimed.dimension {
            return Err(Inapplicable::Dimensions);
        }
        let tolerance = match (condition.relation, &condition.claimed) {
            (Relation::About, _) => claimed.value.abs() * TOLERANCE,
            (_, Expression::Number { half_digit, unit, .. }) => {
                unit.map_or(*half_digit, |unit| unit.of(*half_digit).value)
            }
            (_, _) => 0.0,
        };
        // Calculated values are not exact to the last bit.
        let tolerance = tolerance + claimed.value.abs() * 1e-9;
        let met = match condition.relation {
            Relation::Equal | Relation::About => (found.value - claimed.value).abs() <= tolerance,
            Relation::Below => found.value < claimed.value,
            Relation::Above => found.value > claimed.value,
        };
        // The unit of the claim, else that of the results, else that of the calculated value.
        let sides = [&condition.claimed, &condition.found];
        let written = sides.into_iter().flat_map(Expression::units);
        let figures = sides.into_iter().flat_map(Expression::atoms);
        let read = figures.filter_map(|atom| self.figure(atom).ok().flatten());
        let read = read.filter_map(|figure| Unit::find(&figure.unit));
        let base = BASE_UNITS.iter().filter_map(|name| Unit::find(name));
        let unit = written.chain(read).chain(base).find(|unit| unit.number(found).is_some());
        let number = |side: Quantity| unit.and_then(|unit| unit.number(side)).unwrap_or(side.value);
        let name = unit.map_or("", |unit| unit.name);
        let name = if name == "count" { "" } else { name };
        let (found, claimed) = (number(found), number(claimed));
        Ok(Outcome::Compared(Gap {
            claimed,
            found,
            met,
            ratio: Some(found / claimed).filter(|ratio| ratio.is_finite()),
            relation: condition.relation,
            unit: name.to_owned(),
        }))
    }

    fn value(&self, expression: &Expression) -> Result<Quantity, Inapplicable> {
        match expression {
            Expression::Number { value, unit, .. } => {
                Ok(unit.map_or_else(|| Quantity::count(*value), |unit| unit.of(*value)))
            }
            Expression::Atom(atom) => {
                let figure = self.figure(atom)?.ok_or_else(|| Inapplicable::NoNumber(atom.to_string()))?;
                let unit =
                    Unit::find(&figure.unit).ok_or_else(|| Inapplicable::NoNumber(atom.to_string()))?;
                Ok(unit.of(figure.value))
            }
            Expression::Binary(sign, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                let value = match sign {
                    Sign::Plus => left.plus(right),
                    Sign::Minus => left.minus(right),
                    Sign::Times => left.times(right),
                    Sign::Over => left.over(right),
                    Sign::ToThe => left.to_the(right),
                };
                value.ok_or(Inapplicable::Dimensions)
            }
            Expression::Extreme(which, all) => {
                let mut all = all.iter().map(|one| self.value(one));
                let mut extreme = all.next().ok_or(Inapplicable::Dimensions)??;
                for one in all {
                    let one = one?;
                    let difference = one.minus(extreme).ok_or(Inapplicable::Dimensions)?.value;
                    if (*which == Extreme::Most && difference > 0.0)
                        || (*which == Extreme::Least && difference < 0.0)
                    {
                        extreme = one;
                    }
                }
                Ok(extreme)
            }
        }
    }

    /// The number of matching results.
    fn matching(&self, atom: &Atom) -> Result<usize, Inapplicable> {
        match self.figure(atom) {
            Ok(figure) => Ok(usize::from(figure.is_some())),
            Err(Inapplicable::Ambiguous { count, .. }) => Ok(count),
            Err(why) => Err(why),
        }
    }

    /// The result, if there is one.
    fn figure(&self, atom: &Atom) -> Result<Option<Figure>, Inapplicable> {
        self.of_machine(&atom.machine, |record, inventory| match atom.path.strip_prefix(INVENTORY) {
            Some(path) => of_inventory(record, inventory, atom, path),
            None if atom.path == LOAD_AVERAGE => Ok(load_average(record, atom)),
            None => of_measurements(record, atom),
        })?
    }

    fn of_machine<T>(
        &self,
        name: &str,
        ask: impl FnOnce(&Record, &serde_json::Value) -> T,
    ) -> Result<T, Inapplicable> {
        let mut records = self.records.borrow_mut();
        if !records.contains_key(name) {
            let machine = find(name).ok_or_else(|| Inapplicable::Machine(name.to_owned()))?;
            let record = machine.record(self.version).map_err(Inapplicable::Text)?;
            let inventory = serde_json::to_value(&record.machine).unwrap_or_default();
            records.insert(name.to_owned(), (record, inventory));
        }
        let known = records.get(name).ok_or_else(|| Inapplicable::Machine(name.to_owned()))?;
        Ok(ask(&known.0, &known.1))
    }
}

fn of_inventory(
    record: &Record,
    inventory: &serde_json::Value,
    atom: &Atom,
    path: &str,
) -> Result<Option<Figure>, Inapplicable> {
    let pointer = format!("/{}", path.replace('.', "/"));
    let Some(found) = inventory.pointer(&pointer) else { return Ok(None) };
    let value = found.as_f64().ok_or_else(|| Inapplicable::NoNumber(atom.to_string()))?;
    let unit = Unit::of_field(path.rsplit('.').next().unwrap_or(path)).map_or("count", |unit| unit.name);
    let line = line_of(record, &atom.path);
    Ok(Some(Figure { figure: atom.to_string(), line, unit: unit.to_owned(), value }))
}

fn load_average(record: &Record, atom: &Atom) -> Option<Figure> {
    let text =
        record.measurements_of("wakeup.average").find_map(|m| m.detail.get(record::detail::LOADAVG))?;
    let value = text.split_whitespace().next()?.parse().ok()?;
    Some(Figure { figure: atom.to_string(), line: None, unit: "count".to_owned(), value })
}

/// The line from which a number of the inventory was read, or the line of its list.
fn line_of(record: &Record, path: &str) -> Option<u64> {
    let is_of = |key: &str| {
        let key = key.replace('[', ".").replace(']', "");
        path.strip_prefix(key.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let origin = record.import.as_ref()?.inventory.iter().find(|(key, _)| is_of(key));
    origin.map(|(_, origin)| origin.line)
}

fn of_measurements(record: &Record, atom: &Atom) -> Result<Option<Figure>, Inapplicable> {
    let unknown = || Inapplicable::Unknown(atom.to_string());
    record::metrics::find(&atom.path).ok_or_else(unknown)?;
    if atom.labels.iter().any(|(name, _)| name != SAMPLE && Label::from_name(name).is_none()) {
        return Err(unknown());
    }
    let is_it = |m: &&Measurement| {
        let at = |(name, value): &(String, String)| {
            name == SAMPLE || m.labels.named(name).is_some_and(|key| is_key(key, value))
        };
        atom.labels.iter().all(at)
    };
    let found: Vec<&Measurement> = record.measurements_of(atom.path.as_str()).filter(is_it).collect();
    let one = match found.as_slice() {
        [] => return Ok(None),
        [one] => *one,
        several => return Err(Inapplicable::Ambiguous { atom: atom.to_string(), count: several.len() }),
    };
    let sample = atom.labels.iter().find(|(name, _)| name == SAMPLE);
    let value = match sample.map(|(_, number)| number.parse::<usize>()) {
        None => Some(one.value()),
        Some(Ok(number)) => number.checked_sub(1).and_then(|at| one.samples.get(at)).copied(),
        Some(Err(_)) => return Err(unknown()),
    };
    let line = one.origin.as_ref().map(|origin| origin.line);
    Ok(value.map(|value| Figure { figure: atom.to_string(), line, unit: one.unit.clone(), value }))
}

/// Whether a label's value equals the one in a claim.
fn is_key(key: &Key, written: &str) -> bool {
    match key {
        Key::Word(word) => word == written,
        Key::Count(count) => written.parse() == Ok(*count),
        Key::Number(number) => written.parse() == Ok(*number),
        Key::Switch(switch) => written.parse() == Ok(*switch),
    }
}
