//! `lscpu --json`: a list of field and data, nested in newer versions; the tables of `-e` and `-C` as lists of rows.

use serde_json::Value;

use super::lookup::find_label;
use super::table;
use super::values::Values;
use crate::line::{Line, PendingLine};
use crate::sink::Sink;
use crate::tool::{Fit, Reader, Tool};

/// The longest document read.
const LONGEST: usize = 1 << 20;

/// The deepest nesting followed; lscpu has two levels.
const DEEPEST: usize = 8;

/// lscpu's JSON.
pub(crate) const LSCPU_JSON: Tool = Tool {
    name: "lscpu --json",
    opens: |line, _| What::begun(line.text).is_some(),
    reader: |_| {
        Box::new(Document {
            what: What::Fields,
            text: String::new(),
            state: State::default(),
            done: false,
            foreign: false,
            first: None,
            lines: Vec::new(),
        })
    },
};

/// How far the brackets are open.
#[derive(Default)]
struct State {
    depth: u32,
    opened: bool,
    in_string: bool,
    escaped: bool,
}

struct Document {
    what: What,
    text: String,
    state: State,
    done: bool,
    /// It is another program's list of the same name.
    foreign: bool,
    first: Option<PendingLine>,
    /// Where each entry stands, where each has a line of its own.
    lines: Vec<PendingLine>,
}

/// What the document lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// lscpu's list: fields.
    Fields,
    /// `-e`: a row a CPU.
    Cpus,
    /// `-C`: a row a kind of cache.
    Caches,
}

impl What {
    /// The list that a line begins.
    fn begun(text: &str) -> Option<Self> {
        let text = text.trim_start();
        let key = |key: &str| {
            let found = if text.starts_with('{') {
                text.split_once(key)
            } else {
                text.strip_prefix(key).map(|rest| ("", rest))
            };
            found.is_some_and(|(_, rest)| {
                rest.trim_start().strip_prefix(':').is_some_and(|rest| rest.trim_start().starts_with('['))
            })
        };
        if !text.starts_with(['{', '"']) {
            None
        } else if text.starts_with("\"lscpu\"") || text.starts_with('{') && text.contains("\"lscpu\"") {
            Some(Self::Fields)
        } else if key("\"cpus\"") {
            Some(Self::Cpus)
        } else if key("\"caches\"") {
            Some(Self::Caches)
        } else {
            None
        }
    }

    /// The first key of each entry.
    fn key(self) -> &'static str {
        match self {
            Self::Fields => "\"field\"",
            Self::Cpus => "\"cpu\"",
            Self::Caches => "\"name\"",
        }
    }
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
        if self.first.is_none() {
            self.what = What::begun(line.text).unwrap_or(What::Fields);
            self.first = Some(line.into());
        }
        let text = line.text.trim_start().trim_start_matches([',', '{', '}', ' ']);
        if text.starts_with(self.what.key()) {
            self.lines.push(line.into());
        } else if self.what != What::Fields
            && self.lines.is_empty()
            && text.starts_with('"')
            && self.state.opened
        {
            self.foreign = true;
            return Fit::Over;
        }
        self.done = self.state.ends(line.text);
        // lscpu 2.38 writes nothing or a bare dash for what a CPU that is offline has not.
        let bare = line.text.trim_end().trim_end_matches(',');
        match bare.strip_suffix('-').unwrap_or(bare).trim_end().strip_suffix("\":") {
            Some(key) => {
                let comma = if line.text.trim_end().ends_with(',') { "," } else { "" };
                self.text.push_str(&format!("{key}\": null{comma}"));
            }
            None => self.text.push_str(line.text),
        }
        self.text.push('\n');
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        if self.foreign {
            return;
        }
        let text = self.text.trim().trim_start_matches('{').trim_end_matches(['}', ',', '\n', ' ']);
        // What closes the innermost objects may have gone with the outermost.
        let list = text.find('[').and_then(|at| {
            let end = text.rfind(']')?;
            text.get(at..=end)
        });
        let first = self.first.take().unwrap_or_default();
        let Some(Value::Array(entries)) = list.and_then(|list| serde_json::from_str(list).ok()) else {
            sink.withhold("machine", "the JSON of lscpu is cut off or damaged".to_owned(), first.line());
            return;
        };
        let fields = if self.what == What::Fields { flatten(&entries, 0) } else { entries.iter().collect() };
        // Where entries share lines, the first one stands for all.
        let own = self.lines.len() == fields.len();
        let lines = (0..).map(|at| if own { self.lines[at].line() } else { first.line() });
        let entries = fields.into_iter().zip(lines);
        match self.what {
            What::Fields => {
                let mut values = Values::default();
                for (field, line) in entries {
                    take_field(field, line, &mut values, sink);
                }
                values.finish(sink);
            }
            What::Cpus => {
                for (entry, line) in entries {
                    table::cpu(&row(entry), true, line, sink);
                }
            }
            What::Caches => {
                for (entry, line) in entries {
                    table::cache_row(&row(entry), line, sink);
                }
            }
        }
    }
}

/// Keys and values of a row as the table prints them.
fn row(entry: &Value) -> Vec<(String, String)> {
    let printed = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => number.to_string(),
        _ => "-".to_owned(),
    };
    let cells = entry.as_object().into_iter().flatten().take(64);
    cells.map(|(key, value)| (key.to_ascii_lowercase(), printed(value))).collect()
}

/// All fields in their order, within others too.
fn flatten(fields: &[Value], depth: usize) -> Vec<&Value> {
    let mut all = Vec::new();
    for field in fields.iter().filter(|_| depth <= DEEPEST) {
        all.push(field);
        if let Some(children) = field.get("children").and_then(Value::as_array) {
            all.extend(flatten(children, depth + 1));
        }
    }
    all
}

fn take_field(field: &Value, line: Line, values: &mut Values, sink: &mut Sink) {
    let name = field.get("field").and_then(Value::as_str).unwrap_or_default();
    let data = match field.get("data") {
        Some(Value::String(data)) => data.clone(),
        Some(Value::Number(data)) => data.to_string(),
        _ => String::new(),
    };
    let Some(label) = find_label(name.trim_end_matches([':', '：', '︰', ' '])) else { return };
    let text = if line.text.len() > 200 { data.as_str() } else { line.text };
    values.take(&label, &data, Line { text, ..line }, sink);
}
