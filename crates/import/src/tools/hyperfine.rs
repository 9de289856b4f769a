//! hyperfine's exports: JSON, which contains every run, and CSV. Its text output and its Markdown table,
//! which contain means instead of runs, are read with patterns.

use record::command_line::comparable_name;
use record::units::scale_of;
use serde_json::Value;

use crate::reading::*;

/// A run time or CPU time of a command.
fn time(command: &str, state: Option<&'static str>, seconds: f64) -> Measurement {
    scan::run_time(Some(&comparable_name(command)), state, seconds)
}

/// The first columns of `--export-csv`; columns for parameters follow.
const COLUMNS: &str = "command,mean,stddev,median,user,system,min,max";

/// The first columns since version 2.0; columns for other results may follow or be missing.
const COLUMNS_OF_2: &str = "command,time_wall_clock_unit,time_wall_clock_mean";

/// `--export-json`.
pub(super) const HYPERFINE_JSON: Tool = Tool {
    name: "hyperfine --export-json",
    opens: |line, _| list(line.text).is_some(),
    reader: |_| Box::new(JsonReader(Document::default())),
};

/// `--export-csv`.
pub(super) const HYPERFINE_CSV: Tool = Tool {
    name: "hyperfine --export-csv",
    opens: |line, _| [COLUMNS, COLUMNS_OF_2].iter().any(|columns| line.text.trim().starts_with(columns)),
    reader: |_| Box::new(CsvReader(Vec::new())),
};

/// The list that begins with `"results": [`.
fn list(text: &str) -> Option<&str> {
    let rest = text.trim_start().trim_start_matches('{').trim_start().strip_prefix("\"results\"")?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start()).filter(|list| list.starts_with('['))
}

struct JsonReader(Document);

impl Reader for JsonReader {
    fn line(&mut self, line: Line, _: &mut Sink) -> Fit {
        let text = if self.0.begun() { line.text } else { list(line.text).unwrap_or_default() };
        self.0.take(line, text, "\"command\"")
    }

    fn end(&mut self, sink: &mut Sink) {
        let Some(Value::Array(results)) = self.0.value() else {
            let why = "the hyperfine JSON is truncated or damaged".to_owned();
            return sink.withhold(metrics::WORKLOAD_TIME, why, self.0.first.line());
        };
        for (result, line) in results.iter().zip(self.0.lines(results.len())) {
            let Some(command) = result.get("command").and_then(Value::as_str) else { continue };
            let number = |key: &str| result.get(key).and_then(Value::as_f64);
            let times = result.get("times").and_then(Value::as_array);
            let mut times: Vec<f64> = times.into_iter().flatten().filter_map(Value::as_f64).collect();
            // Since 2.0, each run is stored with all its results.
            let runs = result.get("measurements").and_then(Value::as_array);
            let of_runs = |name: &str| -> Option<Vec<f64>> {
                runs?.iter().map(|run| run.get(name)?.get("value")?.as_f64()).collect()
            };
            let mean_of_runs = |name: &str| {
                let all = of_runs(name).filter(|all| !all.is_empty())?;
                Some(all.iter().sum::<f64>() / all.len() as f64)
            };
            if times.is_empty() {
                times = of_runs("time_wall_clock").unwrap_or_default();
            }
            let runs = Some(times.len() as u64).filter(|runs| *runs > 0);
            // If the runs are missing (jq, older versions), use the printed median.
            let Some(printed) = number("median").or(times.first().copied()) else { continue };
            let samples = if times.is_empty() { vec![printed] } else { times };
            let m = Measurement::exact(metrics::WORKLOAD_TIME, time(command, None, 0.0).labels, samples);
            let printed = number("median").unwrap_or(m.value());
            if (printed - m.value()).abs() > 1e-9 * printed.abs() {
                let why = format!(
                    "hyperfine states a median of {printed} s, but the median of its runs is {} s: some runs are missing",
                    m.value()
                );
                sink.withhold(metrics::WORKLOAD_TIME, why, line);
                continue;
            }
            sink.add_figure(m.with_known_detail(detail::RUNS, runs), line);
            let cpu = [("user", "time_user"), ("system", "time_system")];
            let cpu = cpu.map(|(mean, of_runs)| number(mean).or_else(|| mean_of_runs(of_runs)));
            add_cpu_time(command, cpu, line, sink);
        }
    }
}

/// Adds the means of the CPU time, for which hyperfine saves no other statistic.
fn add_cpu_time(command: &str, seconds: [Option<f64>; 2], line: Line, sink: &mut Sink) {
    for (state, seconds) in ["user", "system"].into_iter().zip(seconds) {
        if let Some(seconds) = seconds {
            sink.add_figure(time(command, Some(state), seconds), line);
        }
    }
}

/// The columns, once the heading was read.
struct CsvReader(Vec<String>);

impl Reader for CsvReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let cells = cells(line.text.trim());
        if self.0.is_empty() {
            self.0 = cells;
            return Fit::Taken;
        }
        // The row may have been wrapped.
        if cells.len() != self.0.len() {
            return Fit::Between;
        }
        // Since 2.0, the columns have longer names, and the unit has its own column.
        let cell = |names: [&str; 2]| {
            let at = self.0.iter().position(|column| names.contains(&column.as_str()))?;
            cells.get(at)
        };
        let power = |unit: &String| Some(scale_of(unit, "s").filter(|(_, factor)| *factor == 1.0)?.0);
        let exponent = cell(["time_wall_clock_unit"; 2]).map_or(Some(0), power);
        let number = |names| parse_scaled(cell(names).filter(|text| parse_plain(text).is_some())?, exponent?);
        let command = cells.first().filter(|command| !command.is_empty());
        let median = number(["median", "time_wall_clock_median"]);
        let Some((command, median)) = command.zip(median) else { return Fit::Over };
        let m = time(command, None, median)
            .with_known_detail(detail::STANDARD_DEVIATION, number(["stddev", "time_wall_clock_stddev"]))
            .with_known_detail(detail::LEAST, number(["min", "time_wall_clock_min"]))
            .with_known_detail(detail::MOST, number(["max", "time_wall_clock_max"]));
        sink.add_figure(m, line);
        let cpu = [number(["user", "time_user_mean"]), number(["system", "time_system_mean"])];
        add_cpu_time(command, cpu, line, sink);
        Fit::Taken
    }
}

/// The cells of a row, some of them in quotes.
fn cells(row: &str) -> Vec<String> {
    let mut quoted = false;
    let ends_cell = |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    let bare = |cell: &str| {
        let inner = cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).unwrap_or(cell);
        inner.replace("\"\"", "\"")
    };
    row.split(ends_cell).map(bare).collect()
}

#[cfg(test)]
mod tests {
    use crate::tools::testing::{damaged, figures, import, the};
    use proptest::prelude::*;
    use record::detail;

    const JSON: &str = include_str!("../../tests/texts/hyperfine-1.15.json");
    const CSV: &str = include_str!("../../tests/texts/hyperfine-1.15.csv");
    const MARKDOWN: &str = include_str!("../../tests/texts/hyperfine-1.15.md");

    #[test]
    fn json_has_every_run_of_each_command() {
        let imported = import(JSON);
        let time = the(&imported, "workload.time workload=sleep 0.02");
        assert_eq!((time.samples.len(), time.detail.get(detail::RUNS)), (8, Some(8)));
        assert_eq!(time.value(), 0.021491369000000003, "the median that hyperfine prints");
        assert_eq!(time.origin.as_ref().map(|origin| origin.line), Some(4));
        assert_eq!(the(&imported, "workload.cpu_time workload=sleep 0.01 state=system").value(), 0.000275625);
        assert_eq!((imported.measurements.len(), imported.import.not_understood.lines), (6, 0));
        // JSON on one line, as printed by jq -c.
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
        // Another table, from vmstat, follows directly.
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
