//! A CPU whose longest wake-up is far longer than those of all other CPUs, which have similar longest wake-ups.

use std::collections::BTreeMap;

use super::prelude::*;

/// The longest wake-up of each CPU, for the same kind of thread and the same setting.
pub(super) const RULE: Rule = Rule { name: "wakeup-outlier", find };

/// Minimum number of CPUs for an outlier.
const FEWEST: usize = 3;
/// The other CPUs are similar if the largest of their longest wake-ups is at most this many times the smallest. The
/// factor is large because maximum values vary widely from CPU to CPU.
const AGREE: f64 = 3.0;
/// The outlier's longest wake-up takes at least this many times as long as that of any other CPU.
const FAR: f64 = 10.0;

fn longest(m: &Measurement) -> f64 {
    m.summary.max
}

/// Groups of wake-up results that differ only in the CPU, each with the longest wake-up first.
pub(super) fn groups<'a>(case: &Case<'a>) -> Vec<Vec<&'a Measurement>> {
    let mut groups: BTreeMap<(String, String), Vec<&Measurement>> = BTreeMap::new();
    for metric in [metrics::WAKEUP_LATENCY, metrics::WAKEUP_MAXIMUM] {
        for m in case.figures_of(metric).filter(|m| m.labels.count(Label::Cpu).is_some() && longest(m) > 0.0)
        {
            groups.entry((metric.to_string(), labels_without(m, Label::Cpu))).or_default().push(m);
        }
    }
    groups.retain(|_, group| group.len() >= FEWEST);
    groups.values_mut().for_each(|group| group.sort_by(|a, b| longest(b).total_cmp(&longest(a))));
    groups.into_values().collect()
}

fn find(case: &Case) -> Option<Vec<Finding>> {
    let odd = groups(case).into_iter().filter(|group| {
        let [odd, next, .., least] = group[..] else { return false };
        longest(next) <= longest(least) * AGREE && longest(odd) >= longest(next) * FAR
    });
    let group = odd.max_by(|a, b| longest(a[0]).total_cmp(&longest(b[0])))?;
    let [odd, next, .., least] = group[..] else { return None };
    let [is, most, least] = [odd, next, least].map(|m| Value::Figure(longest(m), "ns"));
    let cpu = cpus_of([odd]);
    let what = text!(
        "the longest wake-up took {is} on CPU {cpu}, but {least} to {most} on other CPUs",
        cpu = &cpu,
        is = is.clone()
    );

    let rest: CpuList = group[1..].iter().flat_map(|m| cpus_of([*m]).iter().collect::<Vec<_>>()).collect();
    let finding = RULE
        .report_fact(Severity::Warning, what)
        .felt_by(Relevance::Few)
        .locate_cpus(&cpu)
        .cite(text!("longest wake-up: {is}"), odd)
        .cite(text!("longest on other CPUs: {next}", next = Value::Figure(longest(next), "ns")), next)
        .suggest(text!("find the tasks on this CPU"), format!("sudo rtla osnoise top -c {cpu} -d 30s"))
        .suggest(text!("run urgent work on other CPUs"), format!("taskset -c {rest} COMMAND"))
        .mend_as(RULE.name);
    Some(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{machine, measured};
    use record::{Labels, Record};

    fn record_with(longest: &[f64]) -> Record {
        let mut record = machine(longest.len() as u32);
        for (cpu, ns) in longest.iter().enumerate() {
            let place = Labels::new().with_label(Label::Cpu, cpu).with_label(Label::Policy, "fifo");
            record.measurements.push(measured("wakeup.maximum", place, *ns));
        }
        record
    }

    #[test]
    fn one_cpu_far_beyond_others_that_agree_is_found() {
        let finding = &found(&record_with(&[900e3, 10e3, 9e3, 11e3]), RULE)[0];
        assert_eq!((finding.place.clone(), finding.severity), (Some("CPU 0".into()), Severity::Warning));
        assert_eq!(finding.remedy[1].command.as_deref(), Some("taskset -c 1-3 COMMAND"));
    }

    #[test]
    fn longest_wake_ups_that_scatter_have_no_outlier() {
        for healthy in [&[90e3, 10e3, 9e3, 40e3][..], &[60e3, 10e3, 9e3, 11e3], &[900e3, 10e3]] {
            assert_eq!(found(&record_with(healthy), RULE), [], "{healthy:?}");
        }
        assert_eq!(missing(&record_with(&[900e3, 10e3]), RULE), Some("the longest wake-up of several CPUs"));
    }
}
