//! Prometheus's classic text format, for node_exporter's textfile collector
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>): HELP and TYPE once per name, base units in the names, no
//! timestamps, sorted, no duplicate series.

mod check;
mod live;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write;

pub use check::check;
pub use live::interval;
pub use record::record;

/// The help text of each metric that is not a result of a record.
const HELP: &str = include_str!("prometheus/help.txt");

/// The text under construction; names are stored without the prefix `linespeed_`.
#[derive(Default)]
struct Exposition {
    families: BTreeMap<String, Family>,
}

/// All series with the same name.
struct Family {
    help: String,
    /// The values, keyed by their labels as written in the output.
    series: BTreeMap<String, f64>,
}

impl Exposition {
    /// Adds the known values of a metric from `HELP`, one for each value of the label.
    fn add<Of: ToString, Value: Into<Option<f64>>>(
        &mut self,
        name: &str,
        label: &str,
        values: impl IntoIterator<Item = (Of, Value)>,
    ) {
        for (of, value) in values {
            self.explain(name, help(name), [(label, of.to_string())], value);
        }
    }

    /// Adds the value of a metric from `HELP` that has no labels, if the value is known.
    fn one(&mut self, name: &str, value: impl Into<Option<f64>>) {
        self.explain(name, help(name), Vec::<(&str, String)>::new(), value);
    }

    /// Adds a value of a metric with its labels. A value that is not a number is omitted. If the same labels occur
    /// twice, the first value is used.
    fn explain<Label: ToString>(
        &mut self,
        name: &str,
        help: &str,
        labels: impl IntoIterator<Item = (Label, String)>,
        value: impl Into<Option<f64>>,
    ) {
        let Some(value) = value.into().filter(|value| value.is_finite()) else { return };
        let family = self.families.entry(name.to_owned());
        let family = family.or_insert_with(|| Family { help: escape_help(help), series: BTreeMap::new() });
        let labels: BTreeMap<String, String> =
            labels.into_iter().map(|(name, of)| (name.to_string(), escape(&of))).collect();
        let labels: Vec<String> = labels.iter().map(|(name, of)| format!("{name}=\"{of}\"")).collect();
        family.series.entry(labels.join(",")).or_insert(value);
    }

    /// The text.
    fn text(&self) -> String {
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

/// The description of a metric, from `HELP`.
fn help(name: &str) -> &'static str {
    HELP.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap_or_default()
}

/// A label's value: backslash, quote and line feed are escaped, and other control characters are dropped.
fn escape(value: &str) -> String {
    escape_help(value).replace('"', "\\\"")
}

/// A help text: backslash and line feed are escaped.
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
