//! stress-ng: bogus operations per second of each stressor, as printed by `--metrics` and `--metrics-brief`. The output of `--yaml` is read
//! with patterns.

use std::collections::HashMap;

use crate::reading::*;

/// stress-ng.
pub(super) const STRESS_NG: Tool = Tool {
    name: "stress-ng",
    opens: |line, command| message(line.text).is_some() || brief(line.text).is_some() && asked(command),
    reader: |command| Box::new(TextReader { brief: asked(command), ..TextReader::default() }),
};

/// The text after `stress-ng: metrc: [28637] ` or, before version 0.14.06, after `stress-ng: info:  [28637] `.
fn message(text: &str) -> Option<&str> {
    let (_, rest) = text.trim().strip_prefix("stress-ng: ")?.split_once('[')?;
    let (process, message) = rest.split_once(']')?;
    parse_whole(process).map(|_| message.trim())
}

/// The message as printed with `--log-brief`.
fn brief(text: &str) -> Option<&str> {
    let text = text.trim();
    (message(text).is_none() && !text.is_empty()).then(|| text.strip_prefix("stress-ng: ").unwrap_or(text))
}

fn asked(command: Option<&Command>) -> bool {
    command.is_some_and(|command| command.text.contains("stress-ng") && command.text.contains("--log-brief"))
}

/// A result specific to a stressor: `memrate           11234.56 MB per sec read64 rate (harmonic mean of 1 instance)`.
fn own_figure(message: &str) -> Option<(&str, f64, &str, i32)> {
    let (name, rest) = message.split_once(' ')?;
    let (value, what) = rest.trim_start().split_once(' ')?;
    let what = what.split(" (").next()?.trim();
    let (exponent, what) = scan::find_start(&[("MB per sec ", 6), ("MB/sec ", 6), ("GB per sec ", 9)], what)
        .unwrap_or((0, what));
    let value = parse_scaled(parse_plain(value).map(|_| value)?, exponent)?;
    (!what.is_empty()).then_some((name, value, what, exponent))
}

#[derive(Default)]
struct TextReader {
    in_table: bool,
    /// Whether results specific to stressors follow.
    own: bool,
    brief: bool,
    instances: HashMap<String, u64>,
}

impl Reader for TextReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let message = message(line.text).or_else(|| brief(line.text).filter(|_| self.brief));
        let Some(message) = message else { return Fit::Between };
        if let Some(version) = message.strip_prefix("stress-ng ").and_then(|rest| rest.split(' ').next()) {
            sink.version(version);
        } else if let Some(hogs) = message.strip_prefix("dispatching hogs: ") {
            let counted = hogs.split(", ").filter_map(|hog| hog.split_once(' '));
            self.instances =
                counted.filter_map(|(n, name)| Some((name.to_owned(), parse_whole(n)?))).collect();
        } else if message == "miscellaneous metrics:" {
            self.own = true;
        } else if let Some((name, value, what, exponent)) = own_figure(message).filter(|_| self.own) {
            let place = Labels::new().with_label(Label::Workload, format!("stress-ng --{name} {what}"));
            let m = Measurement::exact(metrics::WORKLOAD_THROUGHPUT, place, vec![value]);
            // linespeed has a metric only for rates.
            if exponent > 0 || what.contains("per sec") {
                sink.add_figure(m.with_detail(detail::WORK, if exponent > 0 { "B" } else { what }), line);
            }
        } else if scan::begins(message, "stressor |(secs)") {
            self.in_table |= message.contains("bogo ops");
        } else {
            // `cpu  1191  2.00  0.69  0.01  594.93  1708.86`: operations, wall time, user time and system time in seconds, and two rates.
            let (name, rest) = message.split_once(' ').unwrap_or((message, ""));
            let numbers = scan::all(rest.split_whitespace(), parse_plain).filter(|_| self.in_table);
            self.in_table = numbers.is_some();
            if let Some(&[_, _, user, system, rate, _, ..]) = numbers.as_deref() {
                // The workload's name contains the number of instances, as in the command line.
                let instances = self.instances.get(name).map(|count| format!(" {count}")).unwrap_or_default();
                let name = format!("stress-ng --{name}{instances}");
                let place = Labels::new().with_label(Label::Workload, name.as_str());
                let m = Measurement::exact(metrics::WORKLOAD_THROUGHPUT, place, vec![rate]);
                sink.add_figure(m.with_detail(detail::WORK, "bogo ops"), line);
                for (state, seconds) in [("user", user), ("system", system)] {
                    sink.add_figure(scan::run_time(Some(&name), Some(state), seconds), line);
                }
            }
        }
        Fit::Taken
    }
}

#[cfg(test)]
mod tests {
    use crate::tools::testing::{damaged, figures, import};
    use proptest::prelude::*;

    const TEXT: &str = include_str!("../../tests/texts/stress-ng-0.15.txt");
    const YAML: &str = include_str!("../../tests/texts/stress-ng-0.15.yaml");

    #[test]
    fn each_stressor_has_its_rate_and_its_cpu_time() {
        let imported = import(TEXT);
        assert_eq!(
            figures(&imported)[6],
            "workload.throughput workload=stress-ng --matrix add matrix ops per sec: 78529.39"
        );
        assert_eq!(
            figures(&imported)[..6],
            [
                "workload.throughput workload=stress-ng --cpu 1: 594.93",
                "workload.cpu_time workload=stress-ng --cpu 1 state=user: 0.69",
                "workload.cpu_time workload=stress-ng --cpu 1 state=system: 0.01",
                "workload.throughput workload=stress-ng --matrix 1: 1447.93",
                "workload.cpu_time workload=stress-ng --matrix 1 state=user: 0.6",
                "workload.cpu_time workload=stress-ng --matrix 1 state=system: 0",
            ]
        );
        assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    }

    #[test]
    fn messages_of_older_versions_and_longer_rows_are_read() {
        let old = "stress-ng: info:  [17] dispatching hogs: 4 cpu\n\
            stress-ng: info:  [17] successful run completed in 10.01s\n\
            stress-ng: info:  [17] stressor       bogo ops real time  usr time  sys time   bogo ops/s   bogo ops/s CPU used per       RSS Max\n\
            stress-ng: info:  [17]                           (secs)    (secs)    (secs)   (real time) (usr+sys time) instance (%)  (KB)\n\
            stress-ng: info:  [17] cpu               36040     10.00     39.80      0.01      3603.90       905.30        99.5          6480\n";
        assert_eq!(figures(&import(old))[0], "workload.throughput workload=stress-ng --cpu 4: 3603.9");
    }

    #[test]
    fn its_yaml_gives_the_same_with_the_version() {
        let imported = import(YAML);
        let all = figures(&imported);
        assert_eq!(all[0], "workload.throughput workload=stress-ng --cpu: 594.933478");
        assert_eq!(
            (all.len(), all[5].as_str()),
            (6, "workload.cpu_time workload=stress-ng --matrix state=system: 0")
        );
        assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
        assert_eq!(imported.import.outputs[0].version.as_deref(), Some("0.15.06"));
    }

    proptest! {
        #[test]
        fn no_damaged_output_panics(yaml in any::<bool>(), at in 0usize..2300, cut in 0usize..40, with in "\\PC{0,12}") {
            let _ = import(&damaged(if yaml { YAML } else { TEXT }, at, cut, &with));
        }
    }
}
