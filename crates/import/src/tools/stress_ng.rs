//! stress-ng: bogus operations a second of each stressor, as `--metrics` and `--metrics-brief` print them.

use std::collections::HashMap;

use crate::reading::*;

/// Its messages.
pub(super) const STRESS_NG: Tool = Tool {
    name: "stress-ng",
    opens: |line, _| message(line.text).is_some(),
    reader: |_| Box::new(TextReader::default()),
};

/// What stands behind `stress-ng: metrc: [28637] `, before 0.14.06 behind `stress-ng: info:  [28637] `.
fn message(text: &str) -> Option<&str> {
    let (_, rest) = text.trim().strip_prefix("stress-ng: ")?.split_once('[')?;
    let (process, message) = rest.split_once(']')?;
    parse_whole(process).map(|_| message.trim())
}

#[derive(Default)]
struct TextReader {
    in_table: bool,
    instances: HashMap<String, u64>,
}

impl Reader for TextReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let Some(message) = message(line.text) else { return Fit::Between };
        if let Some(version) = message.strip_prefix("stress-ng ").and_then(|rest| rest.split(' ').next()) {
            sink.version(version);
        } else if let Some(hogs) = message.strip_prefix("dispatching hogs: ") {
            let counted = hogs.split(", ").filter_map(|hog| hog.split_once(' '));
            self.instances =
                counted.filter_map(|(n, name)| Some((name.to_owned(), parse_whole(n)?))).collect();
        } else if scan::begins(message, "stressor |(secs)") {
            self.in_table |= message.contains("bogo ops");
        } else {
            // `cpu  1191  2.00  0.69  0.01  594.93  1708.86`: operations, seconds on the clock, of user, of system, two rates.
            let (name, rest) = message.split_once(' ').unwrap_or((message, ""));
            let numbers = scan::all(rest.split_whitespace(), parse_plain).filter(|_| self.in_table);
            self.in_table = numbers.is_some();
            if let Some(&[_, _, user, system, rate, _, ..]) = numbers.as_deref() {
                // As its command line has it: other instances are other work.
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

    #[test]
    fn each_stressor_has_its_rate_and_its_cpu_time() {
        let imported = import(TEXT);
        assert_eq!(
            figures(&imported),
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

    proptest! {
        #[test]
        fn no_damaged_output_panics(at in 0usize..2300, cut in 0usize..40, with in "\\PC{0,12}") {
            let _ = import(&damaged(TEXT, at, cut, &with));
        }
    }
}
