//! `lscpu --json`: a list of field and data, nested in newer versions.

use serde_json::Value;

use super::values::Values;
use super::{Label, label};
use crate::sink::Sink;
use crate::tools::{Command, Fit, Line, Reader, Tool};

/// The longest document read.
const LONGEST: usize = 1 << 20;

/// The deepest nesting followed; lscpu has two levels.
const DEEPEST: usize = 8;

/// lscpu's JSON.
pub struct LscpuJson;

impl Tool for LscpuJson {
    fn name(&self) -> &'static str {
        "lscpu --json"
    }

    fn opens(&self, line: Line, _: Option<&Command>) -> bool {
        let text = line.text.trim_start();
        text.starts_with("\"lscpu\"") || text.starts_with('{') && text.contains("\"lscpu\"")
    }

    fn reader(&self, _: Option<&Command>) -> Box<dyn Reader> {
        Box::new(Document { text: String::new(), state: State::default(), done: false, lines: Vec::new() })
    }
}

/// How far the brackets are open.
#[derive(Default)]
struct State {
    depth: u32,
    opened: bool,
    in_string: bool,
    escaped: bool,
}

struct Document {
    text: String,
    state: State,
    done: bool,
    /// Where each field's value stands: its number and text.
    lines: Vec<(u64, String)>,
}

impl State {
    /// Whether the list has ended within `text`.
    fn ends(&mut self, text: &str) -> bool {
        for c in text.chars() {
            match c {
                _ if self.escaped => self.escaped = false,
                '\\' if self.in_string => self.escaped = true,
                '"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                '[' => {
                    self.depth += 1;
                    self.opened = true;
                }
                ']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.opened && self.depth == 0 {
                        return true;
                    }
                }
                _ => {}
            }
        }
        false
    }
}

impl Reader for Document {
    fn line(&mut self, line: Line, _: &mut Sink) -> Fit {
        if self.done {
            let closing = line.text.trim().trim_end_matches(',') == "}";
            return if closing { Fit::Taken } else { Fit::Over };
        }
        if self.text.len() + line.text.len() > LONGEST {
            return Fit::Over;
        }
        self.done = self.state.ends(line.text);
        self.text.push_str(line.text);
        self.text.push('\n');
        self.lines.push((line.number, line.text.to_owned()));
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        let text = self.text.trim().trim_start_matches('{').trim_end_matches(['}', ',', '\n', ' ']);
        // What closes the innermost objects may have gone with the outermost.
        let list = text.find('[').and_then(|at| {
            let end = text.rfind(']')?;
            text.get(at..=end)
        });
        let Some(Value::Array(fields)) = list.and_then(|list| serde_json::from_str(list).ok()) else {
            let first = self.lines.first().map_or((1, String::new()), Clone::clone);
            let line = Line { number: first.0, text: &first.1 };
            sink.withhold("machine", "the JSON of lscpu is cut off or damaged".to_owned(), line);
            return;
        };
        let mut values = Values::default();
        let mut at = 0;
        self.walk(&fields, 0, &mut at, &mut values, sink);
        values.finish(sink);
    }
}

impl Document {
    fn walk(&self, fields: &[Value], depth: usize, at: &mut usize, values: &mut Values, sink: &mut Sink) {
        if depth > DEEPEST {
            return;
        }
        for field in fields {
            let name = field.get("field").and_then(Value::as_str).unwrap_or_default();
            let data = match field.get("data") {
                Some(Value::String(data)) => data.clone(),
                Some(Value::Number(data)) => data.to_string(),
                _ => String::new(),
            };
            let name = name.trim_end_matches([':', '：', '︰', ' ']);
            if let Some(Label { key, part }) = label(name) {
                // Fields stand in the order of their lines: the search goes on where the last one was found.
                let found = self.lines[*at..].iter().position(|(_, text)| text.contains(name));
                *at += found.unwrap_or(0);
                let (number, text) =
                    self.lines.get(*at).map_or((1, ""), |(number, text)| (*number, text.as_str()));
                let says = if text.len() > 200 { data.as_str() } else { text };
                values.take(&Label { key, part }, &data, Line { number, text: says }, sink);
            }
            if let Some(Value::Array(children)) = field.get("children") {
                self.walk(children, depth + 1, at, values, sink);
            }
        }
    }
}
