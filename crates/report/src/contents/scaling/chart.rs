//! A chart of a workload's speed-up by number of threads.

use record::Record;
use record::diagnosis::{Scaling, Step};

use super::{CHART_STEPS, FIT_STEPS, PLACEMENTS, is_vague};
use crate::chart::{Axis, Chart, Look, Mark, Scale, Series};

/// Points of the line that shows the fit.
const FIT_POINTS: u32 = 48;

/// Speed-up by threads: one line per placement, the line of linear scaling, and the fit of the first placement.
pub(super) fn chart(record: &Record, workload: &str, lines: &[&Scaling]) -> Option<Chart> {
    let mut series: Vec<Series> = lines
        .iter()
        .take(PLACEMENTS)
        .filter(|line| line.steps.len() >= CHART_STEPS)
        .map(|line| {
            let known =
                |step: &&Step| line.is_possible(step) && !(is_vague(line) && step.threads == line.threads);
            let points = line.steps.iter().filter(known).map(|step| (f64::from(step.threads), step.speedup));
            let name = format!("{}{}", line.placement, if line.is_too_noisy() { " ?" } else { "" });
            Series::line(name, points.collect()).with_look(Look::Measured)
        })
        .collect();
    let drawn = lines.iter().find(|line| line.steps.len() >= CHART_STEPS)?;
    let last = lines.iter().filter_map(|line| line.steps.last()).map(|step| step.threads).max()?;
    let linear = vec![(1.0, 1.0), (f64::from(last), f64::from(last))];
    series.push(Series::line("linear".to_owned(), linear).with_look(Look::Reference));
    if drawn.points >= FIT_STEPS {
        // The fit is drawn only over the range of steps on which it is based.
        let (least, most) = drawn.fitted.unwrap_or((1, drawn.threads));
        let (least, most) = (f64::from(least), f64::from(most));
        let one = drawn.steps.first().map(|step| step.throughput / step.speedup)?;
        let fit = |part: u32| {
            let threads = least + (most - least) * f64::from(part) / f64::from(FIT_POINTS);
            (threads, drawn.throughput_at(threads) / one)
        };
        let points = (0..=FIT_POINTS).map(fit).collect();
        series.push(Series::line(format!("fit, {}", drawn.placement), points).with_look(Look::Fit));
    }
    let counts = &record.machine.counts;
    let cores = counts.cores.filter(|cores| counts.cpus_online.is_some_and(|c| *cores < c && *cores < last));
    let marks = cores.map(|cores| Mark {
        at: f64::from(cores),
        name: record::phrase::count_noun(cores as usize, "core"),
        measured: false,
    });
    let title = format!("Speed-up of {} with more threads", record::label::name_workload(workload));
    let x = Axis::new("threads", Scale::Linear, "count");
    let y = Axis::new("throughput relative to one thread", Scale::FromZero, "×");
    let marks = marks.into_iter().collect();
    Chart { marks, ..Chart::of_lines(&title, x, y, series)? }.checked()
}
