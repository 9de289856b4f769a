//! Top-down metrics of levels 1 and 2 as printed by
//! perf: `#     25.5 %  tma_backend_bound`, in fields `25.5,%  tma_backend_bound`,
//! in JSON `"metric-value" : "25.5", "metric-unit" : "%  tma_backend_bound"`.

use super::Run;
use crate::reading::*;

/// The categories of levels 1 and 2, as named in records. perf prints the names with underscores instead of hyphens, and with the prefix
/// `tma_`. Before 6.3, it printed spaces and capitals, as in `Bad Speculation`.
const CATEGORIES: &str = "retiring|bad-speculation|frontend-bound|backend-bound|heavy-operations|light-operations|\
    branch-mispredicts|machine-clears|fetch-latency|fetch-bandwidth|memory-bound|core-bound";

/// The category and the share in a line.
pub(super) fn share(text: &str) -> Option<(&'static str, f64)> {
    // With `-x`, there is no percent sign: `300000000,,topdown-retiring,1000500000,100.00,30.0,Retiring`.
    if let Some((_, rest)) = text.split_once("topdown-").filter(|_| !text.contains('%')) {
        let fields: Vec<&str> = rest.split([',', ';']).take(32).collect();
        let [.., figure, name] = fields[..] else { return None };
        return Some((category(name)?, numbers::parse_decimal(figure)? / 100.0));
    }
    // Standard errors and shares of time also have a percent sign.
    let mut percents = text.match_indices('%');
    let (front, category) =
        percents.find_map(|(at, _)| Some((&text[..at], category(text.get(at + 1..)?)?)))?;
    let number = front.trim_end_matches(|c: char| !c.is_ascii_digit());
    // A comma separates two numbers in a line of fields.
    let marks = if text.contains('#') { ".," } else { "." };
    let at = number.rfind(|c: char| !c.is_ascii_digit() && !marks.contains(c)).map_or(0, |at| at + 1);
    Some((category, numbers::parse_decimal(number.get(at..)?)? / 100.0))
}

fn category(text: &str) -> Option<&'static str> {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || "\",;|}".contains(c));
    let text = text.strip_prefix("tma_").unwrap_or(text);
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "_ ".contains(c))).unwrap_or(text.len());
    let name = text[..end].trim_end().to_ascii_lowercase().replace([' ', '_'], "-");
    // perf 5.11 to 6.2 print the singular, mispredict.
    let name = if name == "branch-mispredict" { "branch-mispredicts" } else { &name };
    CATEGORIES.split('|').find(|known| *known == name)
}

/// The columns of a table: `retiring  bad speculation  frontend bound`, since 6.3 `%  tma_retiring  %  tma_backend_bound`.
fn head(text: &str) -> Option<Vec<&'static str>> {
    let text = text.replace('%', " ");
    let names = text.split("  ").map(str::trim).filter(|name| !name.is_empty());
    scan::all(names, category).filter(|columns| columns.len() > 1)
}

/// The shares of a row, and whether the row covers only a part of the run, such as a group of CPUs or an interval:
/// `S0-D0-C0  2  38.7%  2.0%  17.0%  42.3%`.
fn row(text: &str, columns: usize) -> Option<(Vec<f64>, bool)> {
    let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "%").take(64).collect();
    let front = words.len().checked_sub(columns).filter(|front| *front <= 3)?;
    let share = |word: &str| {
        let figure = Some(word.trim_end_matches('%')).filter(|figure| figure.contains(['.', ',']))?;
        Some(numbers::parse_decimal(figure)? / 100.0)
    };
    Some((scan::all(words[front..].iter().copied(), share)?, front > 0))
}

/// Shares in the order in which they were read.
#[derive(Debug, Default)]
pub(super) struct Shares {
    /// Whether the lines are for one of several kinds of core, which the metric does not distinguish.
    of_a_kind: bool,
    all: Vec<(&'static str, f64, PendingLine)>,
    /// The columns of the current table.
    columns: Vec<&'static str>,
}

/// Maximum number of shares saved from one output.
const MOST: usize = 4096;

impl Shares {
    /// Reads the header or a row of a table; returns whether the line is one of these.
    pub(super) fn take_table(&mut self, line: Line, sink: &mut Sink) -> bool {
        let text = line.text.trim();
        if let Some(columns) = head(text) {
            self.columns = columns;
            return true;
        }
        let fits = !self.columns.is_empty() && self.all.len() < MOST;
        let Some((shares, of_a_part)) = row(text, self.columns.len()).filter(|_| fits) else { return false };
        if of_a_part {
            sink.withhold(metrics::COUNTER_SHARE, "it covers a group of CPUs or an interval", line);
        } else {
            let columns = self.columns.iter().zip(shares);
            self.all.extend(columns.map(|(category, share)| (*category, share, line.into())));
        }
        true
    }

    /// Reads the share in a line; returns whether there is one.
    pub(super) fn take(&mut self, line: Line, sink: &mut Sink) -> bool {
        let text = line.text.trim();
        if scan::begins(text, "TopdownL|PipelineL") {
            self.of_a_kind = text.contains("(cpu_");
        }
        let Some((category, share)) = share(text).filter(|_| self.all.len() < MOST) else { return false };
        if self.of_a_kind {
            sink.withhold(metrics::COUNTER_SHARE, "covers only one of several core types", line);
        } else {
            self.all.push((category, share, line.into()));
        }
        true
    }

    /// Converts each share to a result. A category listed several times, for intervals or groups of CPUs, has no result for the whole run.
    pub(super) fn into_sink(self, run: &Run, sink: &mut Sink) {
        for (category, share, line) in &self.all {
            if self.all.iter().filter(|(other, ..)| other == category).count() > 1 {
                let why = format!("{category} is listed several times, for intervals or groups of CPUs");
                sink.withhold(metrics::COUNTER_SHARE, why, line.line());
                continue;
            }
            let workload = run.workload.as_deref().filter(|_| !run.system);
            let place =
                Labels::new().with_label(Label::Category, *category).with_known(Label::Workload, workload);
            sink.add_figure(Measurement::exact(metrics::COUNTER_SHARE, place, vec![*share]), line.line());
        }
    }
}
