//! `lscpu --json`: a list of entries, each with a field and its data, nested in newer versions.

use serde_json::Value;

use super::labels::find_label;
use super::values::List;
use crate::reading::*;

/// Maximum nesting depth that is read; lscpu uses two levels.
const DEEPEST: usize = 8;

/// lscpu's JSON.
pub(crate) const LSCPU_JSON: Tool = Tool {
    name: "lscpu --json",
    opens: |line, _| begun(line.text).is_some(),
    reader: |_| Box::new(JsonReader(Document::default())),
};

/// The list that begins on a line such as `"lscpu": [`.
fn begun(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(['{', ' ', '\t']).strip_prefix("\"lscpu\"")?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start()).filter(|list| list.starts_with('['))
}

struct JsonReader(Document);

impl Reader for JsonReader {
    fn line(&mut self, line: Line, _: &mut Sink) -> Fit {
        let text = if self.0.begun() { line.text } else { begun(line.text).unwrap_or_default() };
        self.0.take(line, text, "\"field\"")
    }

    fn end(&mut self, sink: &mut Sink) {
        let Some(Value::Array(entries)) = self.0.value() else {
            let line = self.0.first.line();
            return sink.withhold("machine", "the lscpu JSON is truncated or damaged", line);
        };
        let mut fields = Vec::new();
        flatten(&entries, 0, &mut fields);
        let mut list = List::default();
        for (entry, line) in fields.iter().zip(self.0.lines(fields.len())) {
            let word = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
            let (field, data) = (word("field").trim_end_matches([':', '：', '︰', ' ']), word("data"));
            if let Some(label) = find_label(field) {
                let text = if line.text.len() > 200 { data } else { line.text };
                list.take(&label, data, Line { text, ..line }, sink);
            }
        }
        list.end(sink);
    }
}

/// All entries in order, including nested ones.
fn flatten<'a>(entries: &'a [Value], depth: usize, all: &mut Vec<&'a Value>) {
    for entry in entries.iter().filter(|_| depth <= DEEPEST) {
        all.push(entry);
        let children = entry.get("children").and_then(Value::as_array);
        flatten(children.map_or(&[], Vec::as_slice), depth + 1, all);
    }
}
