//! A claim as an expression over results of the reference machines:
//!
//! ```text
//! cloud-server-3:wakeup.average / cloud-server-1:wakeup.average ~ 1
//! cloud-server-1:machine.caches.3.bytes - cloud-server-3:machine.caches.3.bytes < 1 MiB
//! (a:workload.throughput{threads=32} / a:workload.throughput{threads=1}) ^ 0.2 - 100 % = 80 %
//! max(a:core.ipc{threads=1}, a:core.ipc{threads=4}) > 0.5
//! ```
//!
//! Left of the sign is what was found, right of it what is claimed: `=` as near as its digits allow, `~` within the common tolerance of all
//! claims. `much` is the share from which on a cost counts as much.

use std::fmt;

use reference::claims::Relation;

use crate::quantity::Unit;

/// The deepest nesting of brackets.
const DEPTH: usize = 32;
/// The longest rule, bytes: the nesting may be as deep as its length.
const LONGEST: usize = 4096;

/// One result: a measurement of a machine by its labels, or a number of its inventory.
#[derive(Clone, Debug, PartialEq)]
pub struct Atom {
    /// The reference machine.
    pub machine: String,
    /// A metric, or `machine.` and a path of the inventory.
    pub path: String,
    /// Labels of the measurement; it may have others. `sample=2` is its second sample.
    pub labels: Vec<(String, String)>,
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.machine, self.path)?;
        let label = |(name, value): &(String, String)| match value.contains([',', '}']) {
            true => format!("{name}='{value}'"),
            false => format!("{name}={value}"),
        };
        let labels: Vec<String> = self.labels.iter().map(label).collect();
        if labels.is_empty() { Ok(()) } else { write!(f, "{{{}}}", labels.join(", ")) }
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A number as written, with the precision of its last digit.
    Number {
        /// The number.
        value: f64,
        /// Half a unit of its last digit.
        half_digit: f64,
        /// Its unit.
        unit: Option<Unit>,
    },
    /// A result.
    Atom(Atom),
    /// Two values and a sign between them.
    Binary(Sign, Box<Expression>, Box<Expression>),
    /// The largest or least of several.
    Extreme(Extreme, Vec<Expression>),
}

/// A sign between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
    /// `^`
    ToThe,
}

/// Which of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// `max(…)`
    Most,
    /// `min(…)`
    Least,
}

/// A condition for a claim to hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// What was found.
    pub found: Expression,
    /// The required relation to what is claimed.
    pub relation: Relation,
    /// What is claimed.
    pub claimed: Expression,
}

/// Why a text is not a condition: what is at which byte.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{wanted} expected at byte {at} of {text:?}")]
pub struct NotUnderstood {
    wanted: &'static str,
    at: usize,
    text: String,
}

impl Condition {
    /// Reads `EXPRESSION = EXPRESSION`, or `~`, `<` or `>` in place of `=`.
    pub fn parse(text: &str) -> Result<Self, NotUnderstood> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        if text.len() > LONGEST {
            return Err(parser.wanted("a shorter rule"));
        }
        let found = parser.sum()?;
        let relation = match parser.take_one("=~<>") {
            Some('=') => Relation::Equal,
            Some('~') => Relation::About,
            Some('<') => Relation::Below,
            Some('>') => Relation::Above,
            _ => return Err(parser.wanted("=, ~, < or >")),
        };
        let claimed = parser.sum()?;
        parser.end()?;
        Ok(Self { found, relation, claimed })
    }
}

impl Atom {
    /// Reads `MACHINE:PATH{label=value, …}`.
    pub fn parse(text: &str) -> Result<Self, NotUnderstood> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        parser.blanks();
        let atom = parser.atom()?;
        parser.end()?;
        Ok(atom)
    }
}

impl Expression {
    /// The results in it, in order.
    pub fn atoms(&self) -> Vec<&Atom> {
        match self {
            Self::Number { .. } => Vec::new(),
            Self::Atom(atom) => vec![atom],
            Self::Binary(_, left, right) => {
                let mut atoms = left.atoms();
                atoms.extend(right.atoms());
                atoms
            }
            Self::Extreme(_, all) => all.iter().flat_map(Self::atoms).collect(),
        }
    }

    /// The units of the numbers in it, in order.
    pub fn units(&self) -> Vec<Unit> {
        match self {
            Self::Number { unit, .. } => unit.iter().copied().collect(),
            Self::Atom(_) => Vec::new(),
            Self::Binary(_, left, right) => [left.units(), right.units()].concat(),
            Self::Extreme(_, all) => all.iter().flat_map(Self::units).collect(),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn wanted(&self, wanted: &'static str) -> NotUnderstood {
        NotUnderstood { wanted, at: self.at, text: self.text.to_owned() }
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn end(&mut self) -> Result<(), NotUnderstood> {
        self.blanks();
        if self.rest().is_empty() { Ok(()) } else { Err(self.wanted("the end")) }
    }

    /// One of these ASCII characters after optional blanks.
    fn take_one(&mut self, any: &str) -> Option<char> {
        self.blanks();
        let found = self.rest().chars().next().filter(|&next| any.contains(next))?;
        self.at += found.len_utf8();
        Some(found)
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|next| !wanted(next)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    fn sum(&mut self) -> Result<Expression, NotUnderstood> {
        let mut left = self.product()?;
        while let Some(sign) = self.take_one("+-") {
            let sign = if sign == '+' { Sign::Plus } else { Sign::Minus };
            left = Expression::Binary(sign, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, NotUnderstood> {
        let mut left = self.power()?;
        while let Some(sign) = self.take_one("*/") {
            let sign = if sign == '*' { Sign::Times } else { Sign::Over };
            left = Expression::Binary(sign, Box::new(left), Box::new(self.power()?));
        }
        Ok(left)
    }

    fn power(&mut self) -> Result<Expression, NotUnderstood> {
        let base = self.value()?;
        match self.take_one("^") {
            Some(_) => Ok(Expression::Binary(Sign::ToThe, Box::new(base), Box::new(self.value()?))),
            None => Ok(base),
        }
    }

    fn value(&mut self) -> Result<Expression, NotUnderstood> {
        self.blanks();
        let extreme = [("max(", Extreme::Most), ("min(", Extreme::Least)];
        if let Some((name, which)) = extreme.into_iter().find(|(name, _)| self.rest().starts_with(name)) {
            self.at += name.len();
            let mut all = vec![self.inner()?];
            while self.take_one(",").is_some() {
                all.push(self.inner()?);
            }
            self.close()?;
            return Ok(Expression::Extreme(which, all));
        }
        if self.rest().starts_with("much") {
            self.at += "much".len();
            return Ok(Expression::Number {
                value: diagnose::MUCH * 100.0,
                half_digit: 0.0,
                unit: Unit::find("%"),
            });
        }
        if self.take_one("(").is_some() {
            let inner = self.inner()?;
            self.close()?;
            return Ok(inner);
        }
        match self.rest().chars().next() {
            Some(digit) if digit.is_ascii_digit() => self.number(),
            Some(letter) if letter.is_ascii_lowercase() => self.atom().map(Expression::Atom),
            _ => Err(self.wanted("a number, a figure or (")),
        }
    }

    fn inner(&mut self) -> Result<Expression, NotUnderstood> {
        if self.depth >= DEPTH {
            return Err(self.wanted("fewer brackets"));
        }
        self.depth += 1;
        let inner = self.sum();
        self.depth -= 1;
        inner
    }

    fn close(&mut self) -> Result<(), NotUnderstood> {
        self.take_one(")").map(|_| ()).ok_or_else(|| self.wanted(")"))
    }

    fn number(&mut self) -> Result<Expression, NotUnderstood> {
        let digits = self.take_while(|next| next.is_ascii_digit() || next == '.');
        let value = digits.parse().map_err(|_| self.wanted("a number"))?;
        let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let half_digit = 0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(i32::MAX));
        self.blanks();
        let before = self.at;
        let name = self.take_while(|next| next.is_ascii_alphabetic() || next == '%' || next == '/');
        let unit = Unit::find(name.trim_end_matches('/'));
        let read = unit.map_or(0, |unit| unit.name.len());
        self.at = before + read;
        Ok(Expression::Number { value, half_digit, unit })
    }

    fn atom(&mut self) -> Result<Atom, NotUnderstood> {
        let name = |next: char| next.is_ascii_lowercase() || next.is_ascii_digit() || next == '-';
        let machine = self.take_while(name).to_owned();
        if machine.is_empty() || !self.rest().starts_with(':') {
            return Err(self.wanted("a machine and :"));
        }
        self.at += 1;
        let path = self.take_while(|next| next.is_ascii_alphanumeric() || "_.".contains(next)).to_owned();
        if path.is_empty() {
            return Err(self.wanted("a metric"));
        }
        let mut labels = Vec::new();
        if self.rest().starts_with('{') {
            self.at += 1;
            loop {
                self.blanks();
                let label = self.take_while(|next| next.is_ascii_lowercase() || next == '_').to_owned();
                if label.is_empty() || !self.rest().starts_with('=') {
                    return Err(self.wanted("a label and ="));
                }
                self.at += 1;
                let value = match self.rest().starts_with('\'') {
                    true => self.quoted()?,
                    false => self.take_while(|next| !",}".contains(next)).trim().to_owned(),
                };
                labels.push((label, value));
                match self.take_one(",}") {
                    Some(',') => {}
                    Some(_) => break,
                    None => return Err(self.wanted(", or }")),
                }
            }
        }
        Ok(Atom { machine, path, labels })
    }

    fn quoted(&mut self) -> Result<String, NotUnderstood> {
        self.at += 1;
        let value = self.take_while(|next| next != '\'').to_owned();
        if !self.rest().starts_with('\'') {
            return Err(self.wanted("'"));
        }
        self.at += 1;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = Condition::parse(&text);
            let _ = Atom::parse(&text);
        }

        #[test]
        fn what_looks_like_a_condition_is_read_or_refused(text in "[a-z0-9:{}=~<>()+*/^., '%-]{0,60}") {
            let _ = Condition::parse(&text);
        }

        #[test]
        fn a_figure_is_read_as_it_is_printed(
            machine in "[a-z][a-z0-9-]{0,9}", path in "[a-z][a-z_.]{0,9}",
            labels in proptest::collection::vec(("[a-z_]{1,5}", "[a-z0-9 ,]{0,3}[a-z0-9]"), 0..3),
        ) {
            let labels = labels.into_iter().map(|(name, value)| (name, value.trim().to_owned())).collect();
            let atom = Atom { machine, path, labels };
            prop_assert_eq!(Atom::parse(&atom.to_string()), Ok(atom));
        }
    }

    #[test]
    fn products_bind_before_sums_and_the_left_before_the_right() {
        let number = |value| Expression::Number { value, half_digit: 0.5, unit: None };
        let read = Condition::parse("8 - 2 * 3 - 1 = 1").unwrap();
        let product = Expression::Binary(Sign::Times, Box::new(number(2.0)), Box::new(number(3.0)));
        let first = Expression::Binary(Sign::Minus, Box::new(number(8.0)), Box::new(product));
        assert_eq!(read.found, Expression::Binary(Sign::Minus, Box::new(first), Box::new(number(1.0))));
    }

    #[test]
    fn powers_bind_before_products() {
        let read = Condition::parse("2 * 3 ^ 4 = 162").unwrap();
        let Expression::Binary(Sign::Times, _, right) = read.found else { panic!("{read:?}") };
        assert!(matches!(*right, Expression::Binary(Sign::ToThe, ..)), "{right:?}");
    }

    #[test]
    fn units_follow_numbers_and_division_follows_units() {
        let read = Condition::parse("5 MiB / 2 B > 2.5 x").unwrap();
        let Expression::Binary(Sign::Over, left, _) = read.found else { panic!("{read:?}") };
        assert_eq!(*left, Expression::Number { value: 5.0, half_digit: 0.5, unit: Unit::find("MiB") });
        let Expression::Number { half_digit, unit, .. } = read.claimed else { panic!() };
        assert_eq!((half_digit, unit), (0.05, Unit::find("x")));
    }

    #[test]
    fn brackets_do_not_exhaust_the_stack() {
        assert!(Condition::parse(&"(".repeat(LONGEST)).is_err());
        assert!(Condition::parse(&format!("{}1 = 1", "1+".repeat(100_000))).is_err());
    }
}
