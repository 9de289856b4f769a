//! The steps of workloads: their measurements, and the tables of them.

use record::diagnosis::Scaling;
use record::{Label, Measurement, Record, detail, metrics, units};
use std::collections::HashMap;

use super::Workload;
use crate::contents::figures::{bare_value, mark, marked_speed_up, rate, remarks, spread, value, withheld};
use crate::table::Table;

/// Steps of one table.
const STEPS: usize = 256;

/// Why a row has no speed-up though its throughput is known.
pub(crate) const DISTURBED: &str = "no speed-up (-): the run of one thread was disturbed";

/// Why the last step has no speed-up though there are two throughputs.
const VAGUE: &str = "no speed-up (-): the interval is wider than the figure";

/// Whether a line's speed-up, that of its last step, is known to no better than its own size either way: then it is none.
pub(super) fn is_vague(line: &Scaling) -> bool {
    line.speedup_interval.is_some_and(|(low, high)| high - low > 2.0 * line.speedup)
}

/// The measurements of the steps, by workload, placement and threads.
#[derive(Default)]
pub(super) struct Steps<'a> {
    throughput: HashMap<(&'a str, &'a str, u64), &'a Measurement>,
    pub(super) declared: HashMap<(&'a str, &'a str, u64), &'a Measurement>,
    counted: HashMap<(&'a str, &'a str, u64), &'a Measurement>,
    time: HashMap<(&'a str, &'a str, u64), &'a Measurement>,
}

impl<'a> Steps<'a> {
    pub(super) fn from_record(record: &'a Record) -> Self {
        let mut steps = Self::default();
        for m in record.measurements.iter().filter(|m| m.summary.n > 0) {
            let map = match m.metric.as_str() {
                metrics::WORKLOAD_THROUGHPUT => &mut steps.throughput,
                metrics::CORE_IPC if m.labels.word(Label::Source) == Some("pmu") => &mut steps.counted,
                metrics::CORE_IPC => &mut steps.declared,
                metrics::WORKLOAD_TIME if m.labels.get(Label::Threads).is_some() => &mut steps.time,
                _ => continue,
            };
            let Some(workload) = m.labels.word(Label::Workload) else { continue };
            let threads = m.labels.count(Label::Threads).unwrap_or(1);
            let kept = map
                .entry(Self::place(workload, m.labels.word(Label::Placement).unwrap_or(""), threads))
                .or_insert(m);
            // The first step's own, not what the workload did alone, perhaps on another CPU.
            if kept.labels.get(Label::Threads).is_none() && m.labels.get(Label::Threads).is_some() {
                *kept = m;
            }
        }
        steps
    }

    /// Where a step is found. One thread alone has neither threads nor placement; it is the first step of any.
    pub(super) fn place<'b>(workload: &'b str, placement: &'b str, threads: u64) -> (&'b str, &'b str, u64) {
        (workload, if threads == 1 { "" } else { placement }, threads)
    }

    /// Whether a line's speed-up leans on a step in doubt, the first or the last, or its fit on as many as not.
    pub(super) fn doubtful(&self, workload: &str, line: &Scaling) -> bool {
        let doubt = |threads: u32| {
            let m = self.throughput.get(&Self::place(workload, &line.placement, threads.into()));
            m.is_some_and(|m| m.doubt.is_some())
        };
        let steps = || line.steps.iter().map(|step| step.threads);
        let ends = [steps().min(), steps().max()];
        ends.into_iter().flatten().any(doubt) || steps().filter(|n| doubt(*n)).count() * 2 > line.steps.len()
    }

    /// The figures of a line's steps: its own tables show them, or a sentence says where they stand.
    pub(super) fn of_line<'b>(
        &'b self,
        workload: &'b str,
        line: &'b Scaling,
    ) -> impl Iterator<Item = &'a Measurement> + 'b {
        line.steps.iter().flat_map(move |step| {
            let at = Self::place(workload, &line.placement, step.threads.into());
            let maps = [&self.throughput, &self.declared, &self.counted, &self.time];
            maps.into_iter().filter_map(move |map| map.get(&at).copied())
        })
    }

    /// The throughput of a line's last step.
    pub(super) fn last_of(&self, workload: &str, line: &Scaling) -> Option<&'a Measurement> {
        let last = line.steps.last()?;
        self.throughput.get(&Self::place(workload, &line.placement, last.threads.into())).copied()
    }

    /// What a unit of work is.
    pub(super) fn work(&self, workload: &str, lines: &[&Scaling]) -> Option<&str> {
        let measured = lines.iter().filter_map(|line| {
            self.throughput.get(&Self::place(workload, &line.placement, line.threads.into()))
        });
        measured.filter_map(|m| m.detail.get(detail::WORK)).find(|work| *work != "B")
    }
}

/// The steps of workloads, placement by placement.
pub(super) fn table(title: &str, steps: &Steps, workloads: &[Workload]) -> Table {
    let heads = [
        "workload",
        "placement",
        "#threads",
        "#throughput",
        "#speed-up",
        "?#efficiency",
        "#IPC (calculated)",
        "#IPC (counted)",
        "?#throughput between",
        "?#time of a run",
        "?#balance",
    ];
    let mut table = Table::new(title, Some(metrics::WORKLOAD_THROUGHPUT), heads);
    let placements = workloads.iter().any(|(_, lines)| lines.len() > 1);
    let rows = workloads.iter().flat_map(|(workload, lines)| {
        lines.iter().flat_map(move |line| line.steps.iter().map(move |step| (*workload, *line, step)))
    });
    for (workload, line, step) in table.first(rows.collect(), STEPS) {
        let at = Steps::place(workload, &line.placement, step.threads.into());
        let m = steps.throughput.get(&at);
        table.note_row(m.into_iter().flat_map(|m| remarks(m)));
        let reported = |text: String| if m.is_some_and(|m| withheld(m)) { "-".to_owned() } else { text };
        let possible = line.is_possible(step);
        if !possible {
            table.note_row([DISTURBED]);
        }
        let vague = step.threads == line.threads && is_vague(line);
        if vague {
            table.note_row([VAGUE]);
        }
        let can_be = |text: String| if possible && !vague { text } else { "-".to_owned() };
        let [speedup, efficiency] = marked_speed_up(line, step, m.copied());
        let balance = m.and_then(|m| m.detail.get(detail::FASTEST_TO_SLOWEST));
        let ipc = |m: Option<&&Measurement>| m.map_or(String::new(), |m| bare_value(m));
        table.row(vec![
            if workloads.len() > 1 { workload.to_owned() } else { String::new() },
            if placements { line.placement.clone() } else { String::new() },
            step.threads.to_string(),
            reported(format!(
                "{}{}",
                rate(step.throughput, m.and_then(|m| m.detail.get(detail::WORK)).unwrap_or_default()),
                m.map_or("", |m| mark(m))
            )),
            can_be(reported(speedup)),
            can_be(reported(efficiency)),
            ipc(steps.declared.get(&at)),
            ipc(steps.counted.get(&at)),
            m.map_or(String::new(), |m| spread(m)),
            steps.time.get(&at).map_or(String::new(), |m| value(m)),
            balance.map_or(String::new(), |ratio| units::percent(1.0 / ratio)),
        ]);
    }
    if table.rows.iter().any(|row| row.last().is_some_and(|balance| !balance.is_empty())) {
        table.note("balance: the slowest copy's rate over the fastest's");
    }
    table.finished()
}
