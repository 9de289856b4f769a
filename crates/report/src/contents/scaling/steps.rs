//! The scaling steps of workloads: their measurements and tables.

use record::diagnosis::{Scaling, Step};
use record::{Label, Measurement, Record, detail, metrics, units};
use std::collections::HashMap;

use super::Workload;
use crate::contents::figures::{bare_value, mark, marked_speed_up, rate, remarks, spread, value, withheld};
use crate::table::{Field, Table};

/// Maximum number of steps in one table.
const STEPS: usize = 256;

/// The reason for a missing speed-up in a row with a known throughput.
pub(crate) const DISTURBED: &str = "no speed-up (-): the single-threaded run was disturbed";

/// The reason for a missing speed-up of the last step if both throughputs are known.
const VAGUE: &str = "no speed-up (-): the 95 % CI is wider than ±100 %";

/// Whether a line's last speed-up is not shown because its interval is wider than ±100 %.
pub(super) fn is_vague(line: &Scaling) -> bool {
    line.speedup_interval.is_some_and(|(low, high)| high - low > 2.0 * line.speedup)
}

/// The measurements of a step.
#[derive(Clone, Copy, Default)]
pub(super) struct StepFigures<'a> {
    pub(super) throughput: Option<&'a Measurement>,
    pub(super) declared: Option<&'a Measurement>,
    counted: Option<&'a Measurement>,
    time: Option<&'a Measurement>,
}

/// The measurements of the steps, by workload, placement and threads.
#[derive(Default)]
pub(super) struct Steps<'a>(HashMap<(&'a str, &'a str, u64), StepFigures<'a>>);

impl<'a> Steps<'a> {
    pub(super) fn from_record(record: &'a Record) -> Self {
        let mut steps = Self::default();
        let has_threads = |m: &Measurement| m.labels.get(Label::Threads).is_some();
        for m in record.measurements.iter().filter(|m| m.summary.n > 0) {
            let Some(workload) = m.labels.word(Label::Workload) else { continue };
            let threads = m.labels.count(Label::Threads).unwrap_or(1);
            let place = place(workload, m.labels.word(Label::Placement).unwrap_or(""), threads);
            let figures = steps.0.entry(place).or_default();
            let kept = match m.metric {
                metrics::WORKLOAD_THROUGHPUT => &mut figures.throughput,
                metrics::CORE_IPC if m.labels.word(Label::Source) == Some("pmu") => &mut figures.counted,
                metrics::CORE_IPC => &mut figures.declared,
                metrics::WORKLOAD_TIME if has_threads(m) => &mut figures.time,
                _ => continue,
            };
            // The first step's own result is used, not that of the single-threaded workload, which may have run on
            // another CPU.
            if kept.is_none_or(|kept| !has_threads(kept) && has_threads(m)) {
                *kept = Some(m);
            }
        }
        steps
    }

    /// The measurements of a step of a line.
    pub(super) fn find(&self, workload: &str, line: &Scaling, threads: u32) -> StepFigures<'a> {
        self.0.get(&place(workload, &line.placement, threads.into())).copied().unwrap_or_default()
    }

    /// Whether a line is unreliable: its speed-up depends on an unreliable step (the first or last), or its fit is
    /// based on more unreliable steps than reliable ones.
    pub(super) fn doubtful(&self, workload: &str, line: &Scaling) -> bool {
        let doubt = |threads| {
            self.find(workload, line, threads).throughput.is_some_and(|throughput| throughput.doubt.is_some())
        };
        let steps = || line.steps.iter().map(|step| step.threads);
        let ends = [steps().min(), steps().max()];
        ends.into_iter().flatten().any(doubt) || steps().filter(|n| doubt(*n)).count() * 2 > line.steps.len()
    }

    /// The results of a line's steps, which are shown in its own tables or referenced in a sentence.
    pub(super) fn of_line<'b>(
        &'b self,
        workload: &'b str,
        line: &'b Scaling,
    ) -> impl Iterator<Item = &'a Measurement> + 'b {
        line.steps.iter().flat_map(move |step| {
            let of = self.find(workload, line, step.threads);
            [of.throughput, of.declared, of.counted, of.time].into_iter().flatten()
        })
    }

    /// The unit of work.
    pub(super) fn work(&self, workload: &str, lines: &[&Scaling]) -> Option<&'a str> {
        let measured = lines.iter().filter_map(|line| self.find(workload, line, line.threads).throughput);
        measured.filter_map(|m| m.detail.get(detail::WORK)).find(|work| *work != "B")
    }
}

/// The key of a step. Results for a single thread have neither a number of threads nor a placement; they are the first
/// step of every line.
fn place<'b>(workload: &'b str, placement: &'b str, threads: u64) -> (&'b str, &'b str, u64) {
    (workload, if threads == 1 { "" } else { placement }, threads)
}

/// A row: a step, and whether it can have a speed-up.
struct Row<'a> {
    workload: &'a str,
    line: &'a Scaling,
    step: &'a Step,
    of: StepFigures<'a>,
    has_speed_up: bool,
}

impl Row<'_> {
    fn is_withheld(&self) -> bool {
        self.of.throughput.is_some_and(withheld)
    }

    fn throughput(&self) -> String {
        let m = self.of.throughput;
        let work = m.and_then(|m| m.detail.get(detail::WORK)).unwrap_or_default();
        if self.is_withheld() {
            "-".to_owned()
        } else {
            rate(self.step.throughput, work) + m.map_or("", mark)
        }
    }

    /// The speed-up and the efficiency.
    fn speed_up(&self) -> [String; 2] {
        match self.has_speed_up && !self.is_withheld() {
            true => marked_speed_up(self.line, self.step, self.of.throughput),
            false => ["-", "-"].map(str::to_owned),
        }
    }

    fn balance(&self) -> Option<String> {
        Some(units::percent(1.0 / self.of.throughput?.detail.get(detail::FASTEST_TO_SLOWEST)?))
    }
}

fn shown(m: Option<&Measurement>, show: fn(&Measurement) -> String) -> String {
    m.map_or(String::new(), show)
}

fn fields<'a>() -> [Field<Row<'a>>; 11] {
    [
        ("workload", |row| row.workload.to_owned()),
        ("placement", |row| row.line.placement.clone()),
        ("#threads", |row| row.step.threads.to_string()),
        ("#throughput", Row::throughput),
        ("#speed-up", |row| row.speed_up()[0].clone()),
        ("?#efficiency", |row| row.speed_up()[1].clone()),
        ("#IPC (calculated)", |row| shown(row.of.declared, bare_value)),
        ("#IPC (counted)", |row| shown(row.of.counted, bare_value)),
        ("?#throughput range", |row| shown(row.of.throughput, spread)),
        ("?#time of a run", |row| shown(row.of.time, value)),
        ("?#balance", |row| row.balance().unwrap_or_default()),
    ]
}

/// The steps of workloads, placement by placement.
pub(super) fn table(title: &str, steps: &Steps, workloads: &[Workload]) -> Table {
    let mut table = Table::with_fields(title, Some(metrics::WORKLOAD_THROUGHPUT.name()), &fields());
    let rows = workloads.iter().flat_map(|(workload, lines)| {
        lines.iter().flat_map(move |line| line.steps.iter().map(move |step| (*workload, *line, step)))
    });
    for (workload, line, step) in table.first(rows.collect(), STEPS) {
        let of = steps.find(workload, line, step.threads);
        table.note_row(of.throughput.into_iter().flat_map(remarks));
        let (possible, vague) = (line.is_possible(step), step.threads == line.threads && is_vague(line));
        table.note_row((!possible).then_some(DISTURBED).into_iter().chain(vague.then_some(VAGUE)));
        table.item(&fields(), &Row { workload, line, step, of, has_speed_up: possible && !vague });
    }
    let is_shown = |at: usize| table.rows.iter().any(|row| !row[at].is_empty());
    if is_shown(table.columns.len() - 1) {
        table.note("balance: rate of the slowest copy divided by the rate of the fastest");
    }
    // Information above the table is not repeated in each row.
    for (at, several) in [(0, workloads.len() > 1), (1, workloads.iter().any(|(_, lines)| lines.len() > 1))] {
        table.rows.iter_mut().filter(|_| !several).for_each(|row| row[at].clear());
    }
    table.finished()
}
