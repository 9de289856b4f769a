//! hyperfine's JSON, which has every run.

use serde_json::Value;

use super::time;
use crate::reading::*;

/// `--export-json`.
pub(in crate::tools) const HYPERFINE_JSON: Tool = Tool {
    name: "hyperfine --export-json",
    opens: |line, _| scan::json_list(line.text, "results").is_some(),
    reader: |_| Box::new(JsonReader(Document::default())),
};

struct JsonReader(Document);

impl Reader for JsonReader {
    fn line(&mut self, line: Line, _: &mut Sink) -> Fit {
        let text = if self.0.begun() {
            line.text
        } else {
            scan::json_list(line.text, "results").unwrap_or_default()
        };
        self.0.take(line, text, "\"command\"")
    }

    fn end(&mut self, sink: &mut Sink) {
        let Some(Value::Array(results)) = self.0.value() else {
            let why = "the JSON of hyperfine is cut off or damaged".to_owned();
            return sink.withhold(metrics::WORKLOAD_TIME, why, self.0.first.line());
        };
        for (result, line) in results.iter().zip(self.0.lines(results.len())) {
            let Some(command) = result.get("command").and_then(Value::as_str) else { continue };
            let number = |key: &str| result.get(key).and_then(Value::as_f64);
            let times = result.get("times").and_then(Value::as_array);
            let times: Vec<f64> = times.into_iter().flatten().filter_map(Value::as_f64).collect();
            let runs = Some(times.len() as u64).filter(|runs| *runs > 0);
            // Without the runs (jq, older versions) their median stands for them.
            let Some(printed) = number("median").or(times.first().copied()) else { continue };
            let samples = if times.is_empty() { vec![printed] } else { times };
            let m = Measurement::exact(metrics::WORKLOAD_TIME, time(command, None, 0.0).labels, samples);
            let printed = number("median").unwrap_or(m.value());
            if (printed - m.value()).abs() > 1e-9 * printed.abs() {
                let why = format!(
                    "its median is {printed} s, and that of its runs {}: runs are missing",
                    m.value()
                );
                sink.withhold(metrics::WORKLOAD_TIME, why, line);
                continue;
            }
            sink.add_figure(m.with_known_detail(detail::RUNS, runs), line);
            // Of CPU time hyperfine keeps means alone.
            for state in ["user", "system"] {
                if let Some(seconds) = number(state) {
                    sink.add_figure(time(command, Some(state), seconds), line);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tools::testing::{damaged, figures, import, the};
    use proptest::prelude::*;
    use record::detail;

    const JSON: &str = include_str!("../../../tests/texts/hyperfine-1.15.json");

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

    proptest! {
        #[test]
        fn no_damaged_export_panics(at in 0usize..1300, cut in 0usize..40, with in "\\PC{0,12}") {
            let _ = import(&damaged(JSON, at, cut, &with));
        }
    }
}
