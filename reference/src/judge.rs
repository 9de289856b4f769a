//! Claims judged by the figures of the machines alone.

use std::cell::RefCell;
use std::collections::BTreeMap;

use record::measurement::Key;
use record::{Label, Measurement, Record};

use crate::claims::{self, Claim, Unreadable};
use crate::expression::{Atom, Condition, Expression, Extreme, Relation, Sign};
use crate::quantity::{Quantity, Unit};
use crate::{Trouble, find};

/// What begins the path of a number of the inventory.
const INVENTORY: &str = "machine.";
/// Beside the labels of a figure, one of its samples.
const SAMPLE: &str = "sample";
/// Units of what is computed of figures.
const BASE_UNITS: [&str; 5] = ["count", "s", "Hz", "B", "B/s"];

/// What the figures say of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Every condition is met.
    Holds,
    /// These conditions are not met.
    DoesNotHold(Vec<Gap>),
    /// The figures do not decide it.
    CannotTell {
        /// Those that would.
        needs: Vec<Atom>,
    },
}

impl Verdict {
    /// For programs; it stays when words change.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold(_) => "does-not-hold",
            Self::CannotTell { .. } => "cannot-tell",
        }
    }
}

/// Both sides of a condition, in the unit of the claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// What is found.
    pub found: f64,
    /// How it would have to stand to what is claimed.
    pub relation: Relation,
    /// What is claimed.
    pub claimed: f64,
    /// Unit of both.
    pub unit: &'static str,
}

impl Gap {
    /// Found by claimed; absent where nothing is claimed to be there.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.found / self.claimed).filter(|ratio| ratio.is_finite())
    }
}

/// A figure that a verdict rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Which.
    pub atom: Atom,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// The line of the machine's text that it was read from.
    pub line: Option<u64>,
}

/// A claim with what the figures say of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The claim.
    pub claim: Claim,
    /// What the figures say.
    pub verdict: Verdict,
    /// Both sides of each condition.
    pub compared: Vec<Gap>,
    /// The figures.
    pub evidence: Vec<Figure>,
}

/// Why a rule cannot be applied; a test holds that no rule of those that ship is so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inapplicable {
    /// Claims that cannot be read.
    #[error("{0}")]
    Claims(#[from] Unreadable),
    /// A machine that does not exist.
    #[error("no reference machine {0}")]
    Machine(String),
    /// A machine whose text makes no record.
    #[error("{0}")]
    Text(Trouble),
    /// A metric, label or path that no record can have.
    #[error("nothing can be at {0}")]
    Unknown(String),
    /// More than one figure.
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
    /// Times held against sizes, or a division by nothing.
    #[error("the two sides cannot be compared")]
    Dimensions,
    /// What is said to be missing is there.
    #[error("{0} is there: the claim can be judged")]
    Answerable(String),
}

/// What judges: the records of the machines, made when they are asked for.
#[derive(Debug)]
pub struct Judge<'a> {
    version: &'a str,
    records: RefCell<BTreeMap<String, (Record, serde_json::Value)>>,
}

/// What a condition comes to.
enum Outcome {
    Met(Gap),
    NotMet(Gap),
    Missing(Vec<Atom>),
}

/// The claims about a machine, each with what the figures say of it.
pub fn about(machine: &str, version: &str) -> Result<Vec<Answer>, Inapplicable> {
    let judge = Judge::new(version);
    let claims = claims::all()?;
    let about = claims.iter().filter(|claim| claim.machines.iter().any(|name| name == machine));
    about.map(|claim| judge.judge(claim)).collect()
}

impl<'a> Judge<'a> {
    /// With the records that this version of the program makes.
    pub fn new(version: &'a str) -> Self {
        Self { version, records: RefCell::default() }
    }

    /// What the figures say of a claim.
    pub fn judge(&self, claim: &Claim) -> Result<Answer, Inapplicable> {
        let mut compared = Vec::new();
        let mut refuted = Vec::new();
        let mut missing = Vec::new();
        let mut evidence: Vec<Figure> = Vec::new();
        for condition in &claim.holds_if {
            for atom in condition.found.atoms().into_iter().chain(condition.claimed.atoms()) {
                if let Some(figure) = self.figure(atom)?.filter(|figure| !evidence.contains(figure)) {
                    evidence.push(figure);
                }
            }
            match self.outcome(condition, claim.within)? {
                Outcome::Met(gap) => compared.push(gap),
                Outcome::NotMet(gap) => {
                    compared.push(gap.clone());
                    refuted.push(gap);
                }
                Outcome::Missing(atoms) => missing.extend(atoms),
            }
        }
        for atom in &claim.needs {
            match self.matching(atom)? {
                0 => missing.push(atom.clone()),
                _ => return Err(Inapplicable::Answerable(atom.to_string())),
            }
        }
        let verdict = if !refuted.is_empty() {
            Verdict::DoesNotHold(refuted)
        } else if missing.is_empty() {
            Verdict::Holds
        } else {
            Verdict::CannotTell { needs: missing }
        };
        Ok(Answer { claim: claim.clone(), verdict, compared, evidence })
    }

    fn outcome(&self, condition: &Condition, within: Option<f64>) -> Result<Outcome, Inapplicable> {
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
        let tolerance = match (within, &condition.claimed) {
            (Some(share), _) => claimed.value.abs() * share,
            (None, Expression::Number { half_digit, unit, .. }) => {
                unit.map_or(*half_digit, |unit| unit.of(*half_digit).value)
            }
            (None, _) => 0.0,
        };
        // What is computed is not exact to the last bit.
        let tolerance = tolerance + claimed.value.abs() * 1e-9;
        let met = match condition.relation {
            Relation::About => (found.value - claimed.value).abs() <= tolerance,
            Relation::Below => found.value < claimed.value,
            Relation::Above => found.value > claimed.value,
        };
        // As the claim is written, else as the figures are, else as what is computed of them is.
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
        let gap =
            Gap { found: number(found), relation: condition.relation, claimed: number(claimed), unit: name };
        Ok(if met { Outcome::Met(gap) } else { Outcome::NotMet(gap) })
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

    /// How many figures are there.
    fn matching(&self, atom: &Atom) -> Result<usize, Inapplicable> {
        match self.figure(atom) {
            Ok(figure) => Ok(usize::from(figure.is_some())),
            Err(Inapplicable::Ambiguous { count, .. }) => Ok(count),
            Err(why) => Err(why),
        }
    }

    /// The figure, where it is there.
    fn figure(&self, atom: &Atom) -> Result<Option<Figure>, Inapplicable> {
        self.of_machine(&atom.machine, |record, inventory| match atom.path.strip_prefix(INVENTORY) {
            Some(path) => of_inventory(record, inventory, atom, path),
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
    Ok(Some(Figure { atom: atom.clone(), value, unit: unit.to_owned(), line }))
}

/// The line that a number of the inventory was read from, or the list that it is in.
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
    let found: Vec<&Measurement> = record.measurements_of(&atom.path).filter(is_it).collect();
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
    Ok(value.map(|value| Figure { atom: atom.clone(), value, unit: one.unit.clone(), line }))
}

/// Whether a label's value is what a claim writes.
fn is_key(key: &Key, written: &str) -> bool {
    match key {
        Key::Word(word) => word == written,
        Key::Count(count) => written.parse() == Ok(*count),
        Key::Number(number) => written.parse() == Ok(*number),
        Key::Switch(switch) => written.parse() == Ok(*switch),
    }
}
