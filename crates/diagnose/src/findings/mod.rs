//! The rules that turn a record into findings, and the order of findings. A new rule requires a new file here, a line in [`RULES`] and a
//! section in `rules.txt`.

mod all_core_clock;
mod atypical;
mod bandwidth_below_parts;
pub(crate) mod bandwidth_shared;
mod boost_off;
mod busy_stalled;
mod cache_smaller;
mod clock_cause;
mod clock_held;
mod clock_holders;
mod clock_limit;
mod clocksource;
mod counter_not_invariant;
mod cpu_quota;
mod cpuset_smaller;
mod draft;
mod floating_cpus;
mod hidden_domains;
mod huge_pages;
mod huge_pages_refused;
mod idle_states;
mod kernel_log;
mod memory_mixed;
mod memory_population;
mod memory_pressure;
mod memory_speed;
mod memoryless_nodes;
mod mitigations;
mod needs;
mod numa_balancing;
mod numa_distances;
mod numa_latency;
mod numa_off;
mod off_cpu;
mod offline_cpus;
mod other_load;
mod outlier_cores;
mod own_priority;
mod page_walk;
mod preemption;
mod prelude;
mod quota;
mod shared_cores;
mod smt_yield;
mod steal;
mod steal_time;
mod stolen_by_hypervisor;
mod swap;
mod taken_by_kernel;
mod throttled;
mod timer_slack;
mod timer_tick;
mod vector_clock;
mod virtual_topology;
mod wakeup_outlier;

use std::collections::HashSet;
use std::ops::Deref;

use record::diagnosis::{Confidence, Evidence, Finding, NotLookedFor, Numa, Severity};
use record::difference::Verdict;
use record::machine::MemoryDevice;
use record::{DoubtKind, Metric, text};

use crate::figures::{cite_fact, locate_figure, severity, share_of, weight};
use crate::resources::memory_pages;
use crate::{cores, memory_channels};

use draft::Draft;

use crate::record_index::RecordIndex;

/// Explains the subject and method of each rule, in the format of [`record::glossary`]. Some rules have no entry of their own, because the
/// entry of a metric explains them.
pub const GLOSSARY: &str = include_str!("glossary.md");

/// The input of a rule: the indexed results of a record.
#[derive(Debug)]
pub struct Case<'a> {
    /// The record.
    pub index: &'a RecordIndex<'a>,
    /// Conclusions from the node matrices of a machine with several nodes.
    pub numa: Option<&'a Numa>,
}

impl<'a> Deref for Case<'a> {
    type Target = RecordIndex<'a>;

    fn deref(&self) -> &RecordIndex<'a> {
        self.index
    }
}

/// A rule. It reports nothing if required data is missing (`rules.txt`) or if the loss is unresolved.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The rule's stable name, which is part of its findings.
    pub name: &'static str,
    /// Returns the findings, if any; called only if no data is missing.
    pub find: fn(&Case) -> Option<Vec<Finding>>,
}

impl Rule {
    /// The first requirement that the record does not meet; `None` if the rule can run, or if this machine cannot have the problem that the
    /// rule detects.
    pub fn missing(&self, case: &Case) -> Option<&'static str> {
        needs::missing(self.name, case)
    }

    /// The rule's findings; empty if data is missing. Findings without a specific remedy have the rule's remedy.
    pub fn findings(&self, case: &Case) -> Vec<Finding> {
        if self.missing(case).is_some() {
            return Vec::new();
        }
        let mend = |finding: Finding| match finding.remedy.is_empty() {
            true => finding.mend_as(self.name),
            false => finding,
        };
        (self.find)(case).unwrap_or_default().into_iter().map(mend).collect()
    }
}

/// Every rule.
pub const RULES: &[Rule] = &[
    all_core_clock::RULE,
    atypical::RULE,
    bandwidth_below_parts::RULE,
    bandwidth_shared::RULE,
    boost_off::RULE,
    busy_stalled::RULE,
    cache_smaller::RULE,
    clock_held::RULE,
    clock_limit::RULE,
    clocksource::RULE,
    counter_not_invariant::RULE,
    cpu_quota::RULE,
    cpuset_smaller::RULE,
    floating_cpus::RULE,
    hidden_domains::RULE,
    huge_pages_refused::RULE,
    idle_states::RULE,
    kernel_log::RULES[1],
    kernel_log::RULES[2],
    memory_mixed::RULE,
    memory_population::RULE,
    memory_pressure::RULE,
    memory_speed::RULE,
    kernel_log::RULES[3],
    memoryless_nodes::RULE,
    mitigations::RULE,
    numa_balancing::RULE,
    numa_distances::RULE,
    numa_latency::RULE,
    numa_off::RULE,
    off_cpu::RULE,
    offline_cpus::RULE,
    other_load::RULE,
    outlier_cores::RULE,
    own_priority::RULE,
    page_walk::RULE,
    preemption::RULE,
    shared_cores::RULE,
    smt_yield::RULE,
    steal::RULE,
    stolen_by_hypervisor::RULE,
    taken_by_kernel::RULE,
    swap::RULE,
    throttled::RULE,
    timer_slack::RULE,
    timer_tick::RULE,
    kernel_log::RULES[0],
    vector_clock::RULE,
    virtual_topology::RULE,
    wakeup_outlier::RULE,
];

/// A condition: its name, and the function that tests it.
type Condition = (&'static str, fn(&Case) -> bool);

/// Conditions that are used in `rules.txt`.
const CONDITIONS: &[Condition] = &[
    ("any-result", |case| !case.record.measurements.is_empty()),
    ("both-pages", |case| case.pages().is_some()),
    ("both-pages-of-memory", |case| memory_pages(case).is_some()),
    ("clock-limit-set", |case| clock_limit::find_limited(case).is_some()),
    ("clocks-of-many", |case| case.clocks("scalar", "all").count() >= outlier_cores::FEWEST),
    ("counted-work", busy_stalled::is_counted),
    ("faults-in-log", kernel_log::has_faults),
    ("few-cpus", |case| !outlier_cores::is_many(case)),
    ("guest", |case| case.record.machine.is_virtual()),
    ("known-channels", |case| memory_channels::channels(&case.record.machine).is_some()),
    ("known-design", |case| cores::of_machine(&case.record.machine).is_some()),
    ("made-up-memory", |case| memory_channels::are_made_up(&case.record.machine)),
    ("memory-with-a-speed", |case| has_memory(case, |of| of.rated_mt_s.or(of.configured_mt_s).is_some())),
    ("memory-with-both-speeds", |case| {
        has_memory(case, |of| of.rated_mt_s.and(of.configured_mt_s).is_some())
    }),
    ("no-guest", |case| !case.record.machine.is_virtual()),
    ("no-siblings", |case| smt_yield::siblings(case) < 2),
    ("one-allowed-cpu", |case| case.record.machine.allowed_cpus().len() == 1),
    ("one-cpu", |case| case.record.machine.allowed_cpus().len() < 2),
    ("one-node", |case| !numa_latency::has_nodes(case)),
    ("part-of-machine", |case| !bandwidth_below_parts::is_whole(case)),
    ("placement-checks", |case| case.shape().is_some()),
    ("results-of-nodes", |case| case.numa.is_some() || numa_latency::find_reach(case).is_some()),
    ("tail-of-wakeups", |case| preemption::worst(case).is_some()),
    ("time-of-others", |case| other_load::used(case).is_some()),
    ("turns-of-others", |case| bandwidth_shared::turns(case).is_some()),
    ("wakeups-of-many", |case| !wakeup_outlier::groups(case).is_empty()),
];

fn has_memory(case: &Case, is: fn(&MemoryDevice) -> bool) -> bool {
    memory_channels::populated(&case.record.machine).any(is)
}

/// Groups of rules that detect the same cause in different ways; in each group, the most general rule is first.
const ONE_CAUSE: [&[&str]; 2] = [
    &[other_load::RULE.name, taken_by_kernel::RULE.name, bandwidth_shared::RULE.name],
    &[stolen_by_hypervisor::RULE.name, steal::RULE.name],
];

/// The findings of all rules, one per cause, ordered by severity, then by the weight of their losses, then by rule name, the kernel's default
/// for several nodes last. A loss of CPU time to other processes is listed first, because everything else was measured in the remaining time.
pub(crate) fn findings(case: &Case) -> Vec<Finding> {
    let mut found: Vec<Finding> = RULES.iter().flat_map(|rule| rule.findings(case)).collect();
    for finding in &mut found {
        finding.place.get_or_insert_with(|| Finding::WHOLE_MACHINE.into());
        weaken(case, finding);
    }
    prefer_busy_loops(case, &mut found);
    for rules in ONE_CAUSE {
        merge(&mut found, rules);
    }
    drop_explained(&mut found);
    let weight_of = |finding: &Finding| weight(share_of(&finding.loss), finding.relevance);
    let is_first = |finding: &Finding| {
        ONE_CAUSE[0].contains(&finding.rule.as_str()) && finding.severity > Severity::Note
    };
    let is_default = |finding: &Finding| finding.rule == numa_balancing::RULE.name;
    found.sort_by(|a, b| {
        is_first(b)
            .cmp(&is_first(a))
            .then_with(|| b.severity.cmp(&a.severity))
            .then_with(|| weight_of(b).total_cmp(&weight_of(a)))
            .then_with(|| (is_default(a), &a.rule).cmp(&(is_default(b), &b.rule)))
    });
    found
}

/// The finding, if any, that Linux shows several packages as one node.
pub(crate) fn numa_off(index: &RecordIndex) -> Option<Finding> {
    numa_off::RULE.findings(&Case { index, numa: None }).into_iter().next()
}

/// Whether the losses found by this rule are losses of CPU time.
pub fn takes_cpu_time(rule: &str) -> bool {
    let rules = [cpu_quota::RULE.name, other_load::RULE.name, taken_by_kernel::RULE.name];
    rules.contains(&rule) || ONE_CAUSE[1].contains(&rule)
}

/// Whether the losses found by this rule affect only rare wake-ups, not the median wake-up.
pub fn takes_from_tail(rule: &str) -> bool {
    rule == preemption::RULE.name
}

/// If the time that a busy thread lost to other processes was measured, this loss replaces the loss computed for the whole run. The latter
/// is less accurate: it is based on the run-queue delay of the measuring threads, which includes the time that they waited for each other.
/// The busy loops ran only for part of the run, so their loss is limited to the CPU time of other processes.
fn prefer_busy_loops(case: &Case, found: &mut [Finding]) {
    let costs = |rule: &Rule| {
        let rule = rule.name;
        move |finding: &Finding| finding.rule == rule && share_of(&finding.loss) > 0.0
    };
    let (Some(loops), Some(other)) = (
        found.iter().position(|finding| costs(&taken_by_kernel::RULE)(finding) && finding.measured),
        found.iter().position(costs(&other_load::RULE)),
    ) else {
        return;
    };
    if let (Verdict::Costs { share, interval }, Some(most)) =
        (&mut found[loops].loss, other_load::used_share(case))
        && most < *share
    {
        (*share, *interval) = (most, (interval.0.min(most), most));
        found[loops].severity = found[loops].severity.min(severity(most));
    }
    let Finding { severity, place, loss, confidence, .. } = found[loops].clone();
    let other = &mut found[other];
    (other.severity, other.place, other.loss, other.confidence) = (severity, place, loss, confidence);
}

/// Merges the findings of these rules into one: the first finding with a known cost or, if there is none, the first finding. The merged
/// finding has the highest measured cost of all, and the other findings become its evidence. A modelled cost counts only if no cost was
/// measured.
fn merge(found: &mut Vec<Finding>, rules: &[&str]) {
    let rank = |finding: &Finding| rules.iter().position(|rule| *rule == finding.rule);
    let mut same: Vec<Finding> = found.extract_if(.., |finding| rank(finding).is_some()).collect();
    same.sort_by_key(|finding| (share_of(&finding.loss) <= 0.0, rank(finding)));
    let mut same = same.into_iter();
    let Some(mut head) = same.next() else { return };
    for finding in same {
        // If several losses are of the same kind, the largest counts; shares of CPU time and of bandwidth are different kinds.
        let is_dearer = finding.resource == head.resource && share_of(&finding.loss) > share_of(&head.loss);
        if finding.measured && (!head.measured || is_dearer) {
            let Finding { severity, place, loss, relevance, measured, confidence, resource, .. } =
                finding.clone();
            // For a loss of CPU time, the merged finding lists the affected CPUs; the loss of a resource affects all CPUs.
            let place = if resource.is_none() { place } else { head.place };
            head = Finding { severity, place, loss, relevance, measured, confidence, resource, ..head };
        }
        let from = finding.evidence.first().map_or_else(String::new, |seen| seen.from.clone());
        head.evidence.push(cite_fact(finding.what, from));
    }
    found.push(head);
}

/// Drops the finding about an atypical headline if the cost of another finding about the same resource reaches the lower bound of the
/// headline's loss, because that finding then explains the headline. Memory latency is excluded: it is judged by loads on huge pages, and
/// the causes of the other findings do not slow down these loads.
fn drop_explained(found: &mut Vec<Finding>) {
    let costs: Vec<(Option<String>, f64)> = found
        .iter()
        .filter(|finding| finding.rule != atypical::RULE.name)
        .map(|finding| (finding.resource.clone(), share_of(&finding.loss)))
        .collect();
    found.retain(|finding| {
        let Verdict::Costs { interval: (least, _), .. } = finding.loss else { return true };
        let is_explained = costs.iter().any(|(of, share)| *of == finding.resource && *share >= least);
        let is_of_memory = finding.resource.as_deref() == Some(crate::resources::MEMORY_LATENCY);
        finding.rule != atypical::RULE.name || is_of_memory || !is_explained
    });
}

/// The rules that could not run, each with the missing data, in the order of [`RULES`].
pub(crate) fn not_looked_for(case: &Case) -> Vec<NotLookedFor> {
    let unreported = |rule: &Rule| {
        let missing = rule.missing(case)?;
        Some(NotLookedFor { rule: rule.name.to_owned(), missing: missing.into() })
    };
    RULES.iter().filter_map(unreported).collect()
}

/// A finding that relies on an unreliable measurement becomes a note with a remark about the doubt. If noise is the only doubt, the finding
/// instead gets the severity of the smallest loss compatible with the noise, but at most a warning. A finding that relies on a single
/// sample, as is common in other tools' results, is less certain than its interval suggests.
fn weaken(case: &Case, finding: &mut Finding) {
    let figures = |seen: &Evidence| {
        let (from, metric) = (seen.from.clone(), seen.from.split(' ').next().unwrap_or_default());
        case.figures_of(Metric::from(metric)).filter(move |m| locate_figure(m) == from)
    };
    let single = finding.evidence.iter().find(|seen| figures(seen).any(|m| m.summary.n == 1));
    let single = single.filter(|_| finding.measured).map(|seen| {
        let says = text!("finding-one-sample", "only one sample: the spread is unknown");
        cite_fact(says, seen.from.clone())
    });
    let doubtful = |seen: &Evidence| figures(seen).find_map(|m| m.doubt.as_ref());
    let noise_alone = finding.evidence.iter().filter_map(doubtful).all(|d| d.kind() == DoubtKind::TooNoisy);
    let doubt = |seen: &Evidence| {
        let says = text!("finding-in-doubt", "unreliable: {doubt}", doubt = doubtful(seen)?.text());
        Some(cite_fact(says, seen.from.clone()))
    };
    let mut doubts: Vec<Evidence> = finding.evidence.iter().filter_map(doubt).collect();
    // The doubt about a result is stated once, even if the finding cites the result several times.
    let mut from: HashSet<String> = HashSet::new();
    doubts.retain(|doubt| from.insert(doubt.from.clone()));
    if let Some(single) = single.filter(|single| doubts.iter().all(|doubt| doubt.from != single.from)) {
        finding.confidence = finding.confidence.min(Confidence::Medium);
        finding.evidence.push(single);
    }
    if let Verdict::Costs { share, interval: (least, most) } = &finding.loss
        && finding.measured
        && most - least > *share
    {
        finding.confidence = Confidence::Low;
    }
    if !doubts.is_empty() {
        let least = match &finding.loss {
            Verdict::Costs { interval: (least, most), .. } if noise_alone && least < most => {
                severity(weight(*least, finding.relevance))
            }
            _ => Severity::Note,
        };
        finding.severity = finding.severity.min(least).min(Severity::Warning);
        finding.confidence = Confidence::Low;
        finding.evidence.extend(doubts);
    }
}

/// The verdict if it is a loss, otherwise `None`.
fn costs(loss: Verdict) -> Option<Verdict> {
    matches!(loss, Verdict::Costs { .. }).then_some(loss)
}

#[cfg(test)]
pub(crate) mod invariants;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wording;
