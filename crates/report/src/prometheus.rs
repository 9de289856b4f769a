//! Prometheus's classic text format, as node_exporter's textfile collector reads it
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>): HELP and TYPE once a name, base units in the names, no times,
//! sorted, no series twice.

mod check;
mod live;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write;

pub use check::check;
pub use live::interval;
pub use record::record;

/// What each name is that is no result's of a record.
const HELP: &str = include_str!("prometheus/help.txt");

/// A text in the making: what it is called, without `linespeed_` before it.
#[derive(Default)]
pub struct Exposition {
    families: BTreeMap<String, Family>,
}

/// All series of a name.
struct Family {
    help: String,
    /// By their labels as they are written.
    series: BTreeMap<String, f64>,
}

impl Exposition {
    /// Adds the values of a name of `HELP` by their labels.
    pub fn add<'a, Labels: IntoIterator<Item = (&'a str, &'a str)>>(
        &mut self,
        name: &str,
        values: impl IntoIterator<Item = (Labels, f64)>,
    ) {
        let help = HELP.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        self.explain(name, help.unwrap_or_default(), values);
    }

    /// Adds the values of a name by their labels; one that is no number is left out, and of two with the same labels the first
    /// stays.
    pub fn explain<'a, Labels: IntoIterator<Item = (&'a str, &'a str)>>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, f64)>,
    ) {
        for (labels, value) in values.into_iter().filter(|(_, value)| value.is_finite()) {
            let family = self.families.entry(name.to_owned());
            let family =
                family.or_insert_with(|| Family { help: escape_help(help), series: BTreeMap::new() });
            let labels: BTreeMap<&str, &str> = labels.into_iter().collect();
            let labels: Vec<String> =
                labels.into_iter().map(|(name, of)| format!("{name}=\"{}\"", escape(of))).collect();
            if let Entry::Vacant(place) = family.series.entry(labels.join(",")) {
                place.insert(value);
            }
        }
    }

    /// Adds a value without labels, where it is known.
    pub fn one(&mut self, name: &str, value: impl Into<Option<f64>>) {
        self.add(name, value.into().map(|value| ([], value)));
    }

    /// The text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, Family { help, series }) in &self.families {
            let _ = writeln!(text, "# HELP linespeed_{name} {help}\n# TYPE linespeed_{name} gauge");
            for (labels, value) in series {
                let _ = match labels.is_empty() {
                    true => writeln!(text, "linespeed_{name} {value}"),
                    false => writeln!(text, "linespeed_{name}{{{labels}}} {value}"),
                };
            }
        }
        text
    }
}

/// A label's value: backslash, quote and line feed are escaped, other controls have no place.
fn escape(value: &str) -> String {
    escape_help(value).replace('"', "\\\"")
}

/// A help: backslash and line feed are escaped.
fn escape_help(value: &str) -> String {
    let mut escaped = String::new();
    for c in value.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            c if c.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}
