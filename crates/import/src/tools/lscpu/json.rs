//! `lscpu --json`: a list of field and data, nested in newer versions; the tables of `-e` and `-C` as lists of rows.

use std::borrow::Cow;

use serde_json::Value;

use super::labels::find_label;
use super::table;
use super::values::List;
use crate::reading::*;

/// The deepest nesting followed; lscpu has two levels.
const DEEPEST: usize = 8;

/// The lists of lscpu, of `-e` and of `-C`, and the first key of each one's entries.
const LISTS: &[(&str, &str)] =
    &[("\"lscpu\"", "\"field\""), ("\"cpus\"", "\"cpu\""), ("\"caches\"", "\"name\"")];

/// lscpu's JSON.
pub(crate) const LSCPU_JSON: Tool = Tool {
    name: "lscpu --json",
    opens: |line, _| begun(line.text).is_some(),
    reader: |_| Box::new(JsonReader { key: "", of_rows: false, document: Document::default() }),
};

/// The key of the entries of the list that a line begins, and the list.
fn begun(text: &str) -> Option<(&'static str, &str)> {
    let (key, rest) = scan::find_start(LISTS, text.trim_start_matches(['{', ' ', '\t']))?;
    Some((key, rest.trim_start().strip_prefix(':')?.trim_start())).filter(|(_, list)| list.starts_with('['))
}

struct JsonReader {
    key: &'static str,
    /// An entry has begun, and is one of the list's.
    of_rows: bool,
    document: Document,
}

impl Reader for JsonReader {
    fn line(&mut self, line: Line, _: &mut Sink) -> Fit {
        if !self.document.begun() {
            let Some((key, list)) = begun(line.text) else { return Fit::Over };
            self.key = key;
            return self.document.take(line, list, key);
        }
        // It may be another program's list of the same name.
        let text = line.text.trim();
        self.of_rows |= text.contains(self.key);
        if text.starts_with('"') && !self.of_rows {
            return Fit::Over;
        }
        // lscpu 2.38 writes nothing or a bare dash for what a CPU that is offline has not.
        let bare = text.trim_end_matches(',');
        let text = match bare.strip_suffix('-').unwrap_or(bare).trim_end().strip_suffix("\":") {
            Some(key) => Cow::from(format!("{key}\": null{}", if text.ends_with(',') { "," } else { "" })),
            None => Cow::from(text),
        };
        self.document.take(line, &text, self.key)
    }

    fn end(&mut self, sink: &mut Sink) {
        let Some(Value::Array(entries)) = self.document.value() else {
            if self.of_rows || self.key == LISTS[0].1 {
                let why = "the JSON of lscpu is cut off or damaged".to_owned();
                sink.withhold("machine", why, self.document.first.line());
            }
            return;
        };
        let mut fields = Vec::new();
        flatten(&entries, 0, &mut fields);
        let mut list = List::default();
        for (entry, line) in fields.iter().zip(self.document.lines(fields.len())) {
            let cells: Vec<(String, String)> = entry.as_object().into_iter().flatten().map(cell).collect();
            let cells: Vec<(&str, &str)> =
                cells.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            let data = table::find(&cells, "data").unwrap_or_default();
            let field = table::find(&cells, "field").unwrap_or_default();
            match (self.key, find_label(field.trim_end_matches([':', '：', '︰', ' ']))) {
                ("\"cpu\"", _) => drop(table::take_cpu(&cells, true, line, sink)),
                ("\"name\"", _) => drop(table::take_cache(&cells, line, sink)),
                (_, Some(label)) => {
                    let text = if line.text.len() > 200 { data } else { line.text };
                    list.take(&label, data, Line { text, ..line }, sink);
                }
                _ => {}
            }
        }
        list.end(sink);
    }
}

/// All entries in their order, within others too.
fn flatten<'a>(entries: &'a [Value], depth: usize, all: &mut Vec<&'a Value>) {
    for entry in entries.iter().filter(|_| depth <= DEEPEST) {
        all.push(entry);
        let children = entry.get("children").and_then(Value::as_array);
        flatten(children.map_or(&[], Vec::as_slice), depth + 1, all);
    }
}

/// Key and value as tables print them.
fn cell((key, value): (&String, &Value)) -> (String, String) {
    let printed = match value {
        Value::String(text) => text.clone(),
        Value::Bool(on) => if *on { "yes" } else { "no" }.to_owned(),
        Value::Number(number) => number.to_string(),
        _ => "-".to_owned(),
    };
    (key.to_ascii_lowercase(), printed)
}
