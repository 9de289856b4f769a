//! The command in a record of `stat` or `scale`. Different commands are not comparable; wrappers that run a command are ignored.

use std::collections::BTreeSet;

use record::command_line::CommandLine;
use record::in_turn::times;
use record::{Record, detail};

use super::work::name_long_number;

/// Maximum length of a displayed command, in characters.
const LONGEST: usize = 60;

/// The program (without its directory) and its arguments on one line; `None` for a record without a command, or with several alternating
/// commands, whose results are labeled with the respective command.
pub(super) fn find_command(record: &Record) -> Option<String> {
    times(record).is_empty().then_some(())?;
    let words = record.measurements.iter().find_map(|m| m.detail.get(detail::COMMAND))?;
    let name = CommandLine::from_words(words.iter().map(|word| word.as_ref())).name;
    Some(name_long_number(&name).unwrap_or(name))
}

/// The wrappers of a record's commands, outermost first; empty if there are none, `None` if they are unknown.
pub(super) fn find_conditions(record: &Record) -> Option<String> {
    let all = record.measurements.iter();
    let Some(words) = all.clone().find_map(|m| m.detail.get(detail::COMMAND)) else {
        let under: BTreeSet<&str> = all.filter_map(|m| m.detail.get(detail::RUN_UNDER)).collect();
        // Other tools' command lines show that there was no wrapper.
        let times = |tool: &str| matches!(tool, "perf stat" | "time" | "hyperfine");
        let mut outputs =
            record.import.iter().flat_map(|import| &import.outputs).filter(|one| times(&one.tool)).peekable();
        let is_known = outputs.peek().is_some() && outputs.all(|one| one.command.is_some());
        return (is_known || !under.is_empty()).then(|| under.into_iter().collect::<Vec<_>>().join("; "));
    };
    Some(CommandLine::from_words(words.iter().map(|word| word.as_ref())).conditions.join(" "))
}

/// The command on one line, truncated if it is long.
pub(super) fn describe(line: &str) -> String {
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{} …", &line[..at]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Labels, Measurement};

    fn command(line: &str) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let m =
            Measurement::new("workload.time", Labels::new(), vec![1.0]).with_detail(detail::COMMAND, words);
        let mut record = Record::new("0", String::new(), Vec::new());
        record.measurements.push(m);
        find_command(&record)
    }

    #[test]
    fn commands_in_turn_have_their_names_in_their_places() {
        let mut record = Record::new("0", String::new(), Vec::new());
        let words = vec!["bc".to_owned()];
        let time = Measurement::new("workload.time", Labels::new(), vec![1.0]);
        record.measurements.push(time.with_detail(detail::COMMAND, words).with_detail(detail::TURN, 1));
        assert_eq!(find_command(&record), None);
    }

    #[test]
    fn wrappers_are_conditions_and_the_program_is_known_by_its_name_and_arguments() {
        for line in [
            "bc -l x",
            "/usr/bin/bc -l x",
            "taskset -c 0-3 bc -l x",
            "taskset 0x3 bc -l x",
            "nice bc -l x",
            "nice -n 5 bc -l x",
            "nice -5 bc -l x",
            "numactl -N 0 --membind=0 bc -l x",
            "numactl --interleave all -- bc -l x",
            "env -u HOME LC_ALL=C bc -l x",
            "env LC_ALL=C nice -n 19 taskset -c 1 /bin/bc -l x",
            "chrt -f 50 bc -l x",
        ] {
            assert_eq!(command(line).as_deref(), Some("bc -l x"), "{line}");
        }
    }

    #[test]
    fn dropping_the_file_cache_before_a_command_is_a_condition() {
        let dropped = "echo 3 | sudo tee /proc/sys/vm/drop_caches && sync && time -p git status";
        assert_eq!(record::command_line::conditions(dropped).as_deref(), Some("drop_caches"));
        assert_eq!(record::command_line::conditions("time -p git status"), None);
    }

    #[test]
    fn a_shell_is_looked_into_and_a_wrapper_of_nothing_is_the_command() {
        assert_eq!(command("sh -c bc").as_deref(), Some("bc"));
        for line in ["env", "taskset 0x3", "nice -n", "numactl --hardware", "env A=1"] {
            assert_eq!(command(line).as_deref(), Some(line), "{line}");
        }
        assert_eq!(find_command(&Record::new("0", String::new(), Vec::new())), None);
    }
}
