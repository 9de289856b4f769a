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
    let (key, rest) = scan::find_start(LISTS, text.trim_start().trim_start_matches('{').trim_start())?;
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
            let cells = cells(entry);
            match self.key {
                "\"cpu\"" => drop(table::cpu(&cells, true, line, sink)),
                "\"name\"" => table::cache_row(&cells, line, sink),
                _ => take_field(&cells, line, &mut list, sink),
            }
        }
        if list.begun {
            sink.draft.facts.lscpu.push(list.output);
        }
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

/// Keys and values of an entry as tables print them.
fn cells(entry: &Value) -> Vec<(String, String)> {
    let printed = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Bool(on) => if *on { "yes" } else { "no" }.to_owned(),
        Value::Number(number) => number.to_string(),
        _ => "-".to_owned(),
    };
    let cells = entry.as_object().into_iter().flatten().take(64);
    cells.map(|(key, value)| (key.to_ascii_lowercase(), printed(value))).collect()
}

fn take_field(cells: &[(String, String)], line: Line, list: &mut List, sink: &mut Sink) {
    let cell = |name: &str| cells.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.as_str());
    let Some(label) = find_label(cell("field").trim_end_matches([':', '：', '︰', ' '])) else { return };
    let text = if line.text.len() > 200 { cell("data") } else { line.text };
    list.take(&label, cell("data"), Line { text, ..line }, sink);
}
