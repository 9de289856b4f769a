//! Finds equivalent methods, and results that are never comparable.

use std::sync::LazyLock;

use record::{Label, Measurement, Metric, Template, Text, metrics, text};

use crate::tables::rows;

/// Tools whose result has the same definition as linespeed's under the same name. The beginning of the method is matched, in
/// lower case.
static ALIKE: LazyLock<Vec<Vec<&str>>> = LazyLock::new(|| rows(include_str!("methods.txt"), "alike"));

/// The method, if it is neither linespeed's own nor equivalent to it. The tool's version is omitted because it does not affect the method.
pub(super) fn find_foreign(metric: Metric, method: &str) -> Option<String> {
    let name = tool_name(method);
    let folded = name.to_lowercase();
    let alike = ALIKE.iter().any(|row| {
        let [called, tool] = row.as_slice() else { return false };
        let rest = folded.strip_prefix(tool);
        // `lmbench stream -v 2` runs different loops from `lmbench stream`.
        metric.is_called(called) && rest.is_some_and(|rest| rest.is_empty() || !rest.starts_with(" -"))
    });
    (!alike && !name.is_empty()).then_some(name)
}

/// A method without the tool's version.
fn tool_name(method: &str) -> String {
    method.split_whitespace().filter(|word| !is_version(word)).collect::<Vec<_>>().join(" ")
}

/// Whether a word is a version: `3.9`, `v5.10`, `3.11a`.
fn is_version(word: &str) -> bool {
    let digits = word.strip_prefix('v').unwrap_or(word);
    let digits = digits.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(digits);
    digits.contains('.')
        && digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Describes a method.
pub(super) fn describe_method(method: Option<&str>) -> String {
    method.unwrap_or("linespeed").to_owned()
}

/// Whether a result was counted system-wide rather than for one program.
pub(super) fn is_system_wide(m: &Measurement) -> bool {
    m.labels.word(Label::Scope).is_some_and(|scope| scope.starts_with("system"))
}

/// Why a system-wide count that looks like the result of a program is not comparable.
pub fn remark_scope(m: &Measurement) -> Option<Text> {
    let of_program = m.labels.get(Label::Workload).is_some() || m.metric == metrics::CORE_IPC;
    (is_system_wide(m) && of_program).then(|| text!(SYSTEM_WIDE))
}

/// The reason why results counted system-wide instead of for the program are not comparable.
pub(super) const SYSTEM_WIDE: Template = Template::new(
    "comparison-system-wide",
    "counted system-wide (-a), including other programs and idle CPUs",
);

/// Whether a tool uses every CPU of the machine by default; its results may then omit the number of threads.
pub(super) fn takes_all(m: &Measurement) -> bool {
    m.method.as_deref().is_some_and(|method| tool_name(method).eq_ignore_ascii_case("intel mlc"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Labels;

    #[test]
    fn tools_that_measure_the_same_thing_are_reported_from_those_that_do_not() {
        assert_eq!(find_foreign("wakeup.average".into(), "cyclictest"), None);
        assert_eq!(find_foreign("memory.bandwidth".into(), "STREAM 5.10"), None);
        assert_eq!(find_foreign("core_to_core.latency".into(), "core-to-core-latency"), None);
        assert_eq!(find_foreign("load.latency".into(), "Intel MLC").as_deref(), Some("Intel MLC"));
        assert_eq!(find_foreign("numa.latency".into(), "Intel MLC 3.11a").as_deref(), Some("Intel MLC"));
        assert_eq!(
            find_foreign("load.latency".into(), "lmbench lat_mem_rd -t").as_deref(),
            Some("lmbench lat_mem_rd -t")
        );
    }

    #[test]
    fn counts_of_the_whole_system_are_not_the_programs() {
        let ipc = |scope: &str| {
            let place = Labels::new()
                .with_label(Label::Workload, "7^999999")
                .with_label(Label::Source, "pmu")
                .with_label(Label::Scope, scope);
            remark_scope(&Measurement::new("core.ipc", place, vec![0.92]))
        };
        assert_eq!(ipc("system"), Some(text!(SYSTEM_WIDE)));
        assert_eq!(ipc("process"), None);
    }
}
