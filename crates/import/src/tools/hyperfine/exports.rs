//! hyperfine's exports: JSON with every run, CSV and the table in Markdown.

use record::{Label, Measurement, detail};
use serde_json::Value;

use super::labels;
use crate::line::{Line, PendingLine};
use crate::numbers;
use crate::sink::Sink;
use crate::tool::{Fit, Reader, Tool};

/// The longest document read.
const LONGEST: usize = 1 << 20;
/// What `--export-csv` prints first; columns of parameters follow.
const COLUMNS: &str = "command,mean,stddev,median,user,system,min,max";

/// `--export-json`.
pub(in crate::tools) const HYPERFINE_JSON: Tool = Tool {
    name: "hyperfine --export-json",
    opens: |line, _| list(line.text).is_some(),
    reader: |_| Box::new(JsonReader::default()),
};

/// `--export-csv`.
pub(in crate::tools) const HYPERFINE_CSV: Tool = Tool {
    name: "hyperfine --export-csv",
    opens: |line, _| {
        line.text.trim().strip_prefix(COLUMNS).is_some_and(|rest| rest.is_empty() || rest.starts_with(','))
    },
    reader: |_| Box::new(CsvReader::default()),
};

/// `--export-markdown`.
pub(in crate::tools) const HYPERFINE_MARKDOWN: Tool = Tool {
    name: "hyperfine --export-markdown",
    opens: |line, _| unit(line.text).is_some(),
    reader: |_| Box::new(MarkdownReader::default()),
};

/// The list that `"results": [` begins.
fn list(text: &str) -> Option<&str> {
    let rest = text.trim_start().trim_start_matches('{').trim_start().strip_prefix("\"results\"")?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start()).filter(|list| list.starts_with('['))
}

/// A document from its list on, and where its entries begin.
#[derive(Default)]
struct JsonReader {
    text: String,
    done: bool,
    entries: Vec<PendingLine>,
}

impl Reader for JsonReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        if self.done || self.text.len() + line.text.len() > LONGEST {
            return Fit::Over;
        }
        if self.text.is_empty() || line.text.trim_start().starts_with("\"command\"") {
            self.entries.push(line.into());
        }
        self.text.push_str(if self.text.is_empty() {
            list(line.text).unwrap_or_default()
        } else {
            line.text
        });
        // A bracket closes the list, another one those of the runs.
        if line.text.contains(']') {
            let first = serde_json::Deserializer::from_str(&self.text).into_iter::<Vec<Value>>().next();
            if let Some(Ok(results)) = first {
                self.done = true;
                self.publish(&results, sink);
            }
        }
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        if let (false, Some(first)) = (self.done, self.entries.first()) {
            sink.withhold(
                "workload.time",
                "the JSON of hyperfine is cut off or damaged".to_owned(),
                first.line(),
            );
        }
    }
}

impl JsonReader {
    fn publish(&self, results: &[Value], sink: &mut Sink) {
        // The first line is the list's; where entries share lines, it stands for all.
        let own = self.entries.len() == results.len() + 1;
        for (at, result) in results.iter().enumerate() {
            let line = self.entries.get(if own { at + 1 } else { 0 });
            let (Some(line), Some(command)) = (line, result.get("command").and_then(Value::as_str)) else {
                continue;
            };
            let number = |key: &str| result.get(key).and_then(Value::as_f64);
            let times = result.get("times").and_then(Value::as_array);
            let times: Vec<f64> = times.into_iter().flatten().filter_map(Value::as_f64).collect();
            let runs = times.len() as u64;
            // Without the runs (jq, older versions) their median stands for them.
            let times = if times.is_empty() { number("median").into_iter().collect() } else { times };
            if times.is_empty() {
                continue;
            }
            let time = Measurement::exact("workload.time", labels(command), times);
            let printed = number("median").unwrap_or(time.value());
            if (printed - time.value()).abs() > 1e-9 * printed.abs() {
                let why = format!(
                    "its median is {printed} s, and that of its runs {}: runs are missing",
                    time.value()
                );
                sink.withhold("workload.time", why, line.line());
                continue;
            }
            sink.add_figure(time.with_known_detail(detail::RUNS, (runs > 0).then_some(runs)), line.line());
            add_cpu_time(command, number("user"), number("system"), line.line(), sink);
        }
    }
}

/// Means of CPU time, which are all that hyperfine keeps of it.
fn add_cpu_time(command: &str, user: Option<f64>, system: Option<f64>, line: Line, sink: &mut Sink) {
    for (state, seconds) in [("user", user), ("system", system)] {
        let Some(seconds) = seconds else { continue };
        let labels = labels(command).with_label(Label::State, state);
        sink.add_figure(Measurement::exact("workload.cpu_time", labels, vec![seconds]), line);
    }
}

#[derive(Default)]
struct CsvReader {
    columns: usize,
}

impl Reader for CsvReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let cells = cells(line.text.trim());
        if line.text.trim().starts_with(COLUMNS) {
            self.columns = cells.len();
            return Fit::Taken;
        }
        // A margin may have broken it.
        if cells.len() != self.columns {
            return Fit::Between;
        }
        let number = |at: usize| cells.get(at).and_then(|cell| numbers::parse_plain(cell));
        let (Some(command), Some(median)) = (cells.first().filter(|command| !command.is_empty()), number(3))
        else {
            return Fit::Over;
        };
        sink.add_figure(Measurement::exact("workload.time", labels(command), vec![median]), line);
        add_cpu_time(command, number(4), number(5), line, sink);
        Fit::Taken
    }
}

/// The cells of a row, of which some stand in quotes.
fn cells(row: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    let mut signs = row.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '"' if quoted && signs.peek() == Some(&'"') => {
                signs.next();
                cells.last_mut().into_iter().for_each(|cell| cell.push('"'));
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            sign => cells.last_mut().into_iter().for_each(|cell| cell.push(sign)),
        }
    }
    cells
}

/// The power of ten of the unit in the heading `Command Mean [ms] Min [ms] Max [ms] Relative`.
fn unit(heading: &str) -> Option<i32> {
    let (first, rest) = heading.split_once("Mean [")?;
    let (unit, rest) = rest.split_once(']')?;
    if first.trim() != "Command" || !rest.contains("Min [") || !rest.contains("Max [") {
        return None;
    }
    Some(match unit {
        "s" => 0,
        "ms" => -3,
        "µs" => -6,
        _ => return None,
    })
}

#[derive(Default)]
struct MarkdownReader {
    unit: Option<i32>,
}

impl Reader for MarkdownReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let Some(exponent) = self.unit else {
            self.unit = unit(line.text);
            return if self.unit.is_some() { Fit::Taken } else { Fit::Over };
        };
        // Its cells without their bars; a row is offered without its first one, too.
        let mut words: Vec<&str> = line.text.split_whitespace().collect();
        let (Some(_), Some(_), Some(_), Some(mean)) =
            (spread(&mut words), number(&mut words), number(&mut words), spread(&mut words))
        else {
            return Fit::Between;
        };
        // hyperfine writes every command in backquotes: any other words are a cell that cannot be read, or another table's.
        let command = words.join(" ").replace("\\|", "|");
        let Some(command) = command.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) else {
            return Fit::Between;
        };
        let Some(mean) = numbers::parse_scaled(mean, exponent).filter(|_| !command.is_empty()) else {
            return Fit::Between;
        };
        let time = Measurement::exact("workload.time", labels(command), vec![mean]);
        sink.add_figure(time.with_detail(detail::FROM, "mean of its runs"), line);
        Fit::Taken
    }
}

/// The number that words end with, as it stands.
fn number<'a>(words: &mut Vec<&'a str>) -> Option<&'a str> {
    words.pop().filter(|word| numbers::parse_plain(word).is_some())
}

/// The first number of `22.4 ± 1.9` that words end with, of a single run `22.4`.
fn spread<'a>(words: &mut Vec<&'a str>) -> Option<&'a str> {
    let last = number(words)?;
    let has_spread = words.last() == Some(&"±") && words.pop().is_some();
    if has_spread { number(words) } else { Some(last) }
}

#[cfg(test)]
mod tests {
    use crate::tools::testing::{damaged, figures, import, the};
    use proptest::prelude::*;
    use record::detail;

    const JSON: &str = include_str!("../../../tests/texts/hyperfine-1.15.json");
    const CSV: &str = include_str!("../../../tests/texts/hyperfine-1.15.csv");
    const MARKDOWN: &str = include_str!("../../../tests/texts/hyperfine-1.15.md");

    #[test]
    fn json_has_every_run_of_each_command() {
        let imported = import(JSON);
        let time = the(&imported, "workload.time workload=sleep 0.02");
        assert_eq!((time.samples.len(), time.detail.get(detail::RUNS)), (8, Some(8)));
        assert_eq!(time.value(), 0.021491369000000003, "the median that hyperfine prints");
        assert_eq!(time.origin.as_ref().map(|origin| origin.line), Some(4));
        assert_eq!(the(&imported, "workload.cpu_time workload=sleep 0.01 state=system").value(), 0.000275625);
        assert_eq!((imported.measurements.len(), imported.import.not_understood.lines), (6, 0));
        // On one line, as jq -c prints it.
        let compact = serde_json::from_str::<serde_json::Value>(JSON).unwrap().to_string();
        assert_eq!(figures(&import(&compact)), figures(&imported));
    }

    #[test]
    fn another_programs_results_and_a_cut_document_give_no_figure() {
        assert_eq!(figures(&import("{\n \"results\": [\n {\"name\": \"a\", \"mean\": 3}\n ]\n}\n")), [""; 0]);
        let cut = import(&JSON[..JSON.len() / 2]);
        assert_eq!((figures(&cut).len(), cut.import.withheld.len()), (0, 1));
    }

    #[test]
    fn csv_has_medians_and_commands_in_quotes() {
        let imported = import(CSV);
        assert_eq!(the(&imported, "workload.time workload=sleep 0.02").value(), 0.021491369000000003);
        assert_eq!((imported.measurements.len(), imported.import.not_understood.lines), (6, 0));
        let quoted = "command,mean,stddev,median,user,system,min,max,parameter_n\n\"awk '{a, \"\"b\"\"}' f\",2,,2.5,1,0.5,2,2,4\n";
        let imported = import(quoted);
        assert_eq!(imported.measurements[0].value(), 2.5);
        assert!(figures(&imported)[0].contains("awk"), "{:?}", figures(&imported));
    }

    #[test]
    fn the_table_in_markdown_has_means_in_the_unit_of_its_heading() {
        let imported = import(MARKDOWN);
        assert_eq!(
            figures(&imported),
            ["workload.time workload=sleep 0.02: 0.0224", "workload.time workload=sleep 0.01: 0.0122"]
        );
        assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
        let table = "| Command | Mean [s] | Min [s] | Max [s] | Relative |\n|:---|---:|---:|---:|---:|\n| `sort f \\| uniq` | 2.5 | 2.4 | 2.6 | 1.00 |\n";
        assert_eq!(figures(&import(table)), ["workload.time workload=sort f | uniq: 2.5"]);
    }

    #[test]
    fn words_without_backquotes_are_no_command_of_the_table_in_markdown() {
        let whole = figures(&import(MARKDOWN));
        let without_a_sign = MARKDOWN.replacen("12.2 ±", "12.2 ", 1);
        assert_eq!(figures(&import(&without_a_sign)), whole[..1]);
        // Another table right behind it: vmstat's.
        let joined = format!(
            "{MARKDOWN}\n13  0      0 16483752  36656 6512480    0    0  2583  4004  457 1788 49  8 43  1  0\n"
        );
        assert_eq!(figures(&import(&joined)), whole);
    }

    proptest! {
        #[test]
        fn no_damaged_export_panics(which in 0usize..3, at in 0usize..1300, cut in 0usize..40, with in "\\PC{0,12}") {
            let _ = import(&damaged([JSON, CSV, MARKDOWN][which], at, cut, &with));
        }
    }
}
