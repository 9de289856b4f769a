//! What a record of `stat` or `scale` ran: two commands are two things to measure, whatever stood before them on the line.

use record::phrase::quote_word;
use record::{Record, detail};

/// Characters of a command that are shown.
const LONGEST: usize = 60;

/// The program, without its folder, and its arguments; `None` of a record that ran no command.
pub(super) fn find_command(record: &Record) -> Option<Vec<String>> {
    let words = record.measurements.iter().find_map(|m| m.detail.get(detail::COMMAND))?;
    let words: Vec<&str> = words.iter().map(|word| word.as_ref()).collect();
    let (program, arguments) = without_wrappers(&words).split_first()?;
    let all = [file_name(program)].into_iter().chain(arguments.iter().copied());
    Some(all.map(str::to_owned).collect())
}

/// The command on a line, cut where it is long.
pub(super) fn describe(words: &[String]) -> String {
    let line = words.iter().map(|word| quote_word(word)).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{} …", &line[..at]),
        None => line,
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A program that starts another one under a condition: its options that take a value of their own, and how many operands stand
/// before the command.
struct Wrapper {
    name: &'static str,
    with_value: &'static [&'static str],
    operands: usize,
    /// Whether assignments may stand before the command.
    assigns: bool,
}

const WRAPPERS: [Wrapper; 5] = [
    Wrapper { name: "env", with_value: &["-u", "--unset", "-C", "--chdir"], operands: 0, assigns: true },
    Wrapper { name: "nice", with_value: &["-n", "--adjustment"], operands: 0, assigns: false },
    Wrapper { name: "taskset", with_value: &[], operands: 1, assigns: false },
    Wrapper { name: "chrt", with_value: &["-T", "-P", "-D"], operands: 1, assigns: false },
    Wrapper {
        name: "numactl",
        with_value: &[
            "-m",
            "--membind",
            "-N",
            "--cpunodebind",
            "-C",
            "--physcpubind",
            "-i",
            "--interleave",
            "-p",
            "--preferred",
            "-P",
            "--preferred-many",
            "-w",
            "--weighted-interleave",
        ],
        operands: 0,
        assigns: false,
    },
];

/// The command behind its wrappers; all of it where one wraps nothing.
fn without_wrappers<'a, 'b>(words: &'b [&'a str]) -> &'b [&'a str] {
    let mut inner = words;
    while let Some(wrapped) = unwrap_once(inner).filter(|wrapped| !wrapped.is_empty()) {
        inner = wrapped;
    }
    inner
}

fn unwrap_once<'a, 'b>(words: &'b [&'a str]) -> Option<&'b [&'a str]> {
    let (program, mut rest) = words.split_first()?;
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == file_name(program))?;
    while let Some(option) = rest.first().filter(|word| word.starts_with('-')) {
        let taken = if wrapper.with_value.contains(option) { 2 } else { 1 };
        rest = rest.get(taken..)?;
        if *option == "--" {
            break;
        }
    }
    while wrapper.assigns && rest.first().is_some_and(|word| word.contains('=')) {
        rest = &rest[1..];
    }
    rest.get(wrapper.operands..)
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
        find_command(&record).map(|words| words.join(" "))
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
    fn a_shell_is_no_wrapper_and_a_wrapper_of_nothing_is_the_command() {
        assert_eq!(command("sh -c bc").as_deref(), Some("sh -c bc"));
        for line in ["env", "taskset 0x3", "nice -n", "numactl --hardware", "env A=1"] {
            assert_eq!(command(line).as_deref(), Some(line), "{line}");
        }
        assert_eq!(find_command(&Record::new("0", String::new(), Vec::new())), None);
    }
}
