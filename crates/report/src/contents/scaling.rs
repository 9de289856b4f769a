//! How workloads scale with threads: the steps, the fit, and a chart a workload with the linear line.

use record::Label;
use record::detail;
use std::collections::HashMap;

use record::diagnosis::Scaling;
use record::{Measurement, Record, units};

use super::block::{Block, Part, Room};
use super::figures::{brief_remarks, spread, withheld};
use super::section::Section;
use crate::chart::{Axis, Chart, Look, Scale, Series};
use crate::table::Table;
use crate::text::range;

/// Fewest steps of a chart: two points are a line whatever they are.
const CHART_STEPS: usize = 3;
/// Fewest steps of a fit that is worth drawing: one more than it has parameters.
const FIT_STEPS: u32 = 4;
/// Points of the line that shows the fit.
const FIT_POINTS: u32 = 48;
/// Placements of one chart; there are four.
const PLACEMENTS: usize = 6;
/// Steps of one table.
const STEPS: usize = 256;
/// Workloads that are told at all; the rest is among all measurements.
const WORKLOADS: usize = 32;

/// A summary of all workloads, a block for each that has steps enough for a chart and for which there is room, and one
/// of the steps of the others.
pub(crate) fn blocks(record: &Record, room: Room) -> Vec<Block> {
    let workloads = workloads(record);
    if workloads.is_empty() {
        return Vec::new();
    }
    let steps = Steps::from_record(record);
    let mut summary = Block::new("How workloads scale", Some("workload.throughput"));
    summary.parts.push(Part::Table(fits(&workloads, &steps)));
    let (many, few): (Vec<Workload>, Vec<Workload>) = workloads
        .into_iter()
        .take(WORKLOADS)
        .partition(|(_, lines)| lines.iter().any(|line| line.steps.len() >= CHART_STEPS));
    if many.len() > room.workloads {
        summary.parts.push(Part::Says(format!(
            "The steps of {} are shown; those of all {} are on the page (--html) and in the record.",
            record::phrase::count_noun(room.workloads, "workload"),
            many.len()
        )));
    }
    if !few.is_empty() {
        summary.parts.push(Part::Table(table("Steps", &steps, &few)));
    }
    let mut blocks = vec![summary];
    for (name, lines) in many.into_iter().take(room.workloads) {
        let mut block = Block::new(&format!("Scaling of {name}"), None);
        let mut meanings = Section::new("placements");
        for line in lines.iter().take(PLACEMENTS) {
            meanings.add(&line.placement, &line.meaning);
        }
        block.parts.push(match &lines[..] {
            [line] => Part::Says(format!("{}.", line.meaning.to_string().trim_end_matches('.'))),
            _ => Part::Facts(meanings),
        });
        block.parts.extend(chart(record, name, &lines).map(Part::Chart));
        let all = lines.len();
        let reported: Vec<&Scaling> = lines.into_iter().take(room.placements).collect();
        let title = match &reported[..] {
            [line] => format!("Steps of {name}, {}", line.placement),
            _ => format!("Steps of {name}"),
        };
        let left_out = reported.len() < all;
        let work = steps.work(name, &reported);
        let mut table = table(&title, &steps, &[(name, reported)]);
        if left_out {
            table.note("the steps of the other placements are on the page (--html) and in the record");
        }
        if let Some(work) = work {
            table.note(&format!("a unit of work is: {work}"));
        }
        block.parts.push(Part::Table(table));
        blocks.push(block);
    }
    blocks
}

/// A workload with its entries, one a placement.
type Workload<'a> = (&'a str, Vec<&'a Scaling>);

/// The entries of each workload, in the order of the record.
fn workloads(record: &Record) -> Vec<Workload<'_>> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut workloads: Vec<Workload> = Vec::new();
    for scaling in &record.diagnosis.scaling {
        let number = *numbers.entry(&scaling.workload).or_insert_with(|| {
            workloads.push((&scaling.workload, Vec::new()));
            workloads.len() - 1
        });
        workloads[number].1.push(scaling);
    }
    workloads
}

/// A row a workload and placement: how far it came, and what the fit says.
fn fits(workloads: &[Workload], steps: &Steps) -> Table {
    let heads = [
        "workload",
        "placement",
        "#threads",
        "#speed-up",
        "#efficiency",
        "?#serialized",
        "?#coherency",
        "#knee",
        "?#off the fit",
        "?#spread",
    ];
    let mut table = Table::new("How workloads scale", Some("workload.throughput"), &heads);
    if workloads.len() > WORKLOADS || workloads.iter().any(|(_, lines)| lines.len() > PLACEMENTS) {
        let all: usize = workloads.iter().map(|(_, lines)| lines.len()).sum();
        table.note(&format!(
            "{WORKLOADS} workloads and {PLACEMENTS} placements of each at most; all {all} lines are in the record"
        ));
    }
    for (name, lines) in workloads.iter() {
        for line in lines {
            steps.of_line(name, line).for_each(|m| table.tells(m));
        }
    }
    for (name, lines) in workloads.iter().take(WORKLOADS) {
        for line in lines.iter().take(PLACEMENTS) {
            let efficiency = line.steps.last().map(|step| units::percent(step.efficiency));
            // What cannot be told from noise is not told.
            let doubtful = steps.doubtful(name, line);
            let noisy = line.is_too_noisy() || doubtful;
            // A speed-up leans on its last step: where that is no figure, neither is it.
            let impossible = line.steps.last().is_some_and(|last| !line.is_possible(last));
            if impossible {
                table.note_row(DISTURBED);
            }
            let none = impossible || is_vague(line) || steps.last_of(name, line).is_some_and(withheld);
            if noisy {
                table.note_row(if doubtful { "steps in doubt" } else { "too noisy to lean on" });
            }
            let reported = |text: String| if noisy { "-".to_owned() } else { text };
            let between = line.speedup_interval.map_or(String::new(), |(low, high)| {
                range(&format!("{}×", units::significant(low)), &format!("{}×", units::significant(high)))
            });
            table.row(vec![
                (*name).to_owned(),
                line.placement.clone(),
                line.threads.to_string(),
                if none { "-".to_owned() } else { format!("{}×", units::significant(line.speedup)) },
                if none { "-".to_owned() } else { efficiency.unwrap_or_default() },
                reported(share(line.contention)),
                reported(if line.points >= FIT_STEPS { share(line.coherency) } else { "-".to_owned() }),
                reported(line.knee.map_or("none".to_owned(), |threads| threads.to_string())),
                reported(if line.points >= FIT_STEPS { share(line.residual) } else { "-".to_owned() }),
                if none { "-".to_owned() } else { between },
            ]);
        }
    }
    without_the_same_for_all(&mut table);
    if table.rows.iter().any(|row| FIT.iter().any(|at| !row[*at].is_empty())) {
        table.note(
            "serialized and coherency: σ and κ of the Universal Scalability Law; knee: threads beyond which each adds \
             less than half of one's work",
        );
    }
    table.finished()
}

/// The columns of the summary that tell what the fit says, and that of the placement.
const FIT: [usize; 4] = [5, 6, 7, 8];
const PLACEMENT: usize = 1;

/// Empties the columns that tell every row the same, or nothing: what is left fits a terminal.
fn without_the_same_for_all(table: &mut Table) {
    for at in FIT {
        if table.rows.iter().all(|row| row[at] == "-") {
            table.rows.iter_mut().for_each(|row| row[at].clear());
        }
    }
    let Some(first) = table.rows.first().map(|row| row[PLACEMENT].clone()) else { return };
    if table.rows.iter().all(|row| row[PLACEMENT] == first) {
        table.rows.iter_mut().for_each(|row| row[PLACEMENT].clear());
        table.note(&format!("placement of all: {first}"));
    }
}

/// Why a row has no speed-up though its throughput is known.
pub(crate) const DISTURBED: &str = "more than so many threads can do: one alone was disturbed";

/// Why the last step has no speed-up though there are two throughputs.
const VAGUE: &str = "no speed-up (-): known to no better than ± its own size";

/// Whether a line's speed-up, that of its last step, is known to no better than its own size either way: then it is none.
fn is_vague(line: &Scaling) -> bool {
    line.speedup_interval.is_some_and(|(low, high)| high - low > 2.0 * line.speedup)
}

/// A share in percent; 0 where it is too small for any figure.
fn share(value: f64) -> String {
    if value.abs() < 5e-7 { "0 %".to_owned() } else { units::percent(value) }
}

/// The measurements of the steps, by workload, placement and threads.
struct Steps<'a> {
    throughput: HashMap<(&'a str, &'a str, u64), &'a Measurement>,
    declared: HashMap<(&'a str, &'a str, u64), &'a Measurement>,
    counted: HashMap<(&'a str, &'a str, u64), &'a Measurement>,
}

impl<'a> Steps<'a> {
    fn from_record(record: &'a Record) -> Self {
        let mut steps =
            Self { throughput: HashMap::new(), declared: HashMap::new(), counted: HashMap::new() };
        for m in record.measurements.iter().filter(|m| m.summary.n > 0) {
            let map = match m.metric.as_str() {
                "workload.throughput" => &mut steps.throughput,
                "core.ipc" if m.labels.word(Label::Source) == Some("pmu") => &mut steps.counted,
                "core.ipc" => &mut steps.declared,
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
    fn place<'b>(workload: &'b str, placement: &'b str, threads: u64) -> (&'b str, &'b str, u64) {
        (workload, if threads == 1 { "" } else { placement }, threads)
    }

    /// Whether a line's speed-up leans on a step in doubt, the first or the last, or its fit on as many as not.
    fn doubtful(&self, workload: &str, line: &Scaling) -> bool {
        let doubt = |threads: u32| {
            let m = self.throughput.get(&Self::place(workload, &line.placement, threads.into()));
            m.is_some_and(|m| m.doubt.is_some())
        };
        let steps = || line.steps.iter().map(|step| step.threads);
        let ends = [steps().min(), steps().max()];
        ends.into_iter().flatten().any(doubt) || steps().filter(|n| doubt(*n)).count() * 2 > line.steps.len()
    }

    /// The figures of a line's steps: its own tables tell them, or a sentence says where they stand.
    fn of_line<'b>(
        &'b self,
        workload: &'b str,
        line: &'b Scaling,
    ) -> impl Iterator<Item = &'a Measurement> + 'b {
        line.steps.iter().flat_map(move |step| {
            let at = Self::place(workload, &line.placement, step.threads.into());
            let maps = [&self.throughput, &self.declared, &self.counted];
            maps.into_iter().filter_map(move |map| map.get(&at).copied())
        })
    }

    /// The throughput of a line's last step.
    fn last_of(&self, workload: &str, line: &Scaling) -> Option<&'a Measurement> {
        let last = line.steps.last()?;
        self.throughput.get(&Self::place(workload, &line.placement, last.threads.into())).copied()
    }

    /// What a unit of work is.
    fn work(&self, workload: &str, lines: &[&Scaling]) -> Option<&str> {
        let measured = lines.iter().filter_map(|line| {
            self.throughput.get(&Self::place(workload, &line.placement, line.threads.into()))
        });
        measured.filter_map(|m| m.detail.get(detail::WORK)).next()
    }
}

/// The steps of workloads, placement by placement.
fn table(title: &str, steps: &Steps, workloads: &[Workload]) -> Table {
    let heads = [
        "workload",
        "placement",
        "#threads",
        "#throughput",
        "#speed-up",
        "?#efficiency",
        "#IPC declared",
        "#IPC counted",
        "?#throughput between",
    ];
    let mut table = Table::new(title, Some("workload.throughput"), &heads);
    let placements = workloads.iter().any(|(_, lines)| lines.len() > 1);
    let rows = workloads.iter().flat_map(|(workload, lines)| {
        lines.iter().flat_map(move |line| line.steps.iter().map(move |step| (*workload, *line, step)))
    });
    let all = rows.clone().count();
    if all > STEPS {
        table.note(&format!("the first {STEPS} of {all} steps; all are in the record"));
    }
    for (workload, line, step) in rows.take(STEPS) {
        let at = Steps::place(workload, &line.placement, step.threads.into());
        let m = steps.throughput.get(&at);
        for remark in m.into_iter().flat_map(|m| brief_remarks(m)) {
            table.note_row(&remark);
        }
        let reported = |text: String| if m.is_some_and(|m| withheld(m)) { "-".to_owned() } else { text };
        let possible = line.is_possible(step);
        if !possible {
            table.note_row(DISTURBED);
        }
        let vague = step.threads == line.threads && is_vague(line);
        if vague {
            table.note_row(VAGUE);
        }
        let can_be = |text: String| if possible && !vague { text } else { "-".to_owned() };
        let ipc = |m: Option<&&Measurement>| m.map_or(String::new(), |m| units::significant(m.value()));
        table.row(vec![
            if workloads.len() > 1 { workload.to_owned() } else { String::new() },
            if placements { line.placement.clone() } else { String::new() },
            step.threads.to_string(),
            reported(units::figure(step.throughput, "work/s")),
            can_be(reported(format!("{}×", units::significant(step.speedup)))),
            can_be(reported(units::percent(step.efficiency))),
            ipc(steps.declared.get(&at)),
            ipc(steps.counted.get(&at)),
            m.map_or(String::new(), |m| spread(m)),
        ]);
    }
    table.finished()
}

/// The charts of all workloads that have steps enough, in the order of the record.
pub(crate) fn charts(record: &Record) -> Vec<Chart> {
    let workloads = workloads(record);
    workloads.iter().take(WORKLOADS).filter_map(|(name, lines)| chart(record, name, lines)).collect()
}

/// Speed-up over threads: a line a placement, the linear line, and the fit of the first placement.
fn chart(record: &Record, workload: &str, lines: &[&Scaling]) -> Option<Chart> {
    let mut series: Vec<Series> = lines
        .iter()
        .take(PLACEMENTS)
        .filter(|line| line.steps.len() >= CHART_STEPS)
        .map(|line| {
            let possible = line.steps.iter().filter(|step| line.is_possible(step));
            let points = possible.map(|step| (f64::from(step.threads), step.speedup)).collect();
            Series::line(line.placement.clone(), points).with_look(Look::Measured)
        })
        .collect();
    let drawn = lines.iter().find(|line| line.steps.len() >= CHART_STEPS)?;
    let last = lines.iter().filter_map(|line| line.steps.last()).map(|step| step.threads).max()?;
    let linear = vec![(1.0, 1.0), (f64::from(last), f64::from(last))];
    series.push(Series::line("linear".to_owned(), linear).with_look(Look::Reference));
    if drawn.points >= FIT_STEPS {
        // Beyond the steps that it was made of the fit says nothing.
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
    let cores =
        counts.cores.filter(|cores| counts.cpus_online.is_some_and(|cpus| *cores < cpus && *cores < last));
    Chart {
        title: format!("Speed-up of {workload} with more threads"),
        x: Axis::new("threads", Scale::FromZero, "count"),
        y: Axis::new("throughput over that of one thread", Scale::FromZero, "×"),
        series,
        verticals: cores
            .map(|cores| (f64::from(cores), record::phrase::count_noun(cores as usize, "core")))
            .into_iter()
            .collect(),
    }
    .checked()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Labels;
    use record::diagnosis::Step;

    fn record(threads: &[u32]) -> Record {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        record.machine.counts.cores = Some(2);
        record.machine.counts.cpus_online = Some(4);
        let steps: Vec<Step> = threads
            .iter()
            .map(|n| Step {
                threads: *n,
                throughput: f64::from(*n) * 90.0,
                speedup: f64::from(*n) * 0.9,
                efficiency: 0.9,
            })
            .collect();
        for n in threads {
            let place = Labels::new()
                .with_label(Label::Workload, "primes")
                .with_label(Label::Threads, *n)
                .with_label(Label::Placement, "cores-first");
            let mut m = Measurement::new("workload.throughput", place.clone(), vec![f64::from(*n) * 90.0; 6]);
            if *n == 2 {
                m.doubt = Some("too noisy: the median is known to ±9 % only".to_owned());
            }
            record.measurements.push(m.with_detail(detail::WORK, "primes below a million"));
            for (source, ipc) in [("declared", 1.2), ("pmu", 1.19)] {
                let place = place.clone().with_label(Label::Source, source);
                record.measurements.push(Measurement::new("core.ipc", place, vec![ipc; 6]));
            }
        }
        record.diagnosis.scaling = vec![Scaling {
            workload: "primes".to_owned(),
            placement: "cores-first".to_owned(),
            points: threads.len() as u32,
            fitted: None,
            rate: 100.0,
            contention: 0.01,
            coherency: 0.0,
            residual: 0.002,
            speedup: 3.6,
            speedup_interval: Some((3.59, 3.61)),
            threads: *threads.last().unwrap(),
            knee: None,
            meaning: "4 threads do 3.60 times the work of one".into(),
            disturbed: false,
            steps,
        }];
        record
    }

    #[test]
    fn a_speed_up_that_cannot_be_is_not_shown() {
        let mut record = record(&[1, 2]);
        let line = &mut record.diagnosis.scaling[0];
        line.disturbed = true;
        let last = line.steps.last_mut().unwrap();
        (last.speedup, last.efficiency) = (7.73, 3.87);
        line.speedup = 7.73;
        let shown = format!("{:?}", blocks(&record, Room { rows: 16, workloads: 3, placements: 1 }));
        assert!(!shown.contains("7.73") && !shown.contains("387"), "{shown}");
        assert!(shown.contains(DISTURBED), "{shown}");
    }

    #[test]
    fn the_first_step_shows_its_own_ipc_and_not_that_of_another_run() {
        let mut record = record(&[1, 2]);
        let place = Labels::new()
            .with_label(Label::Cpu, 1u32)
            .with_label(Label::Workload, "primes")
            .with_label(Label::Source, "declared");
        record.measurements.insert(0, Measurement::new("core.ipc", place, vec![9.87; 6]));
        let steps = Steps::from_record(&record);
        assert_eq!(steps.declared[&Steps::place("primes", "cores-first", 1)].value(), 1.2);
    }

    #[test]
    fn a_step_shows_both_ipc_and_its_doubt() {
        let record = record(&[1, 2, 3, 4]);
        let blocks = blocks(&record, Room { rows: 16, workloads: 3, placements: 1 });
        assert_eq!(blocks.len(), 2);
        let table = blocks[1].parts.iter().find_map(|part| match part {
            Part::Table(table) => Some(table),
            _ => None,
        });
        let table = table.unwrap();
        assert_eq!(table.title, "Steps of primes, cores-first");
        assert_eq!(table.rows[1][0], "2");
        assert!(table.rows[1].contains(&"1.20".to_owned()) && table.rows[1].contains(&"1.19".to_owned()));
        assert_eq!(table.rows[1].last().map(String::as_str), Some("[1]"));
        assert_eq!(table.notes, ["too noisy to lean on"]);
        assert_eq!(table.remarks, ["a unit of work is: primes below a million"]);
    }

    #[test]
    fn the_summary_of_all_workloads_and_placements_is_a_table_of_eighty_columns() {
        let mut record = record(&[1, 2, 3, 4]);
        let one = record.diagnosis.scaling[0].clone();
        for (workload, placement) in [
            ("bignum-power", "siblings-first"),
            ("memory-bound", "node-compact"),
            ("aes-256-ige", "cores-first"),
        ] {
            let (workload, placement) = (workload.to_owned(), placement.to_owned());
            let noisy = Some((1.0, 4.2));
            record.diagnosis.scaling.push(Scaling {
                workload,
                placement,
                speedup_interval: noisy,
                ..one.clone()
            });
        }
        let text = crate::terminal::report(&record, &crate::terminal::Style::default());
        let below = text.split("How workloads scale\n").nth(1).unwrap();
        let head = below.lines().next().unwrap();
        for column in ["workload", "placement", "threads", "speed-up", "efficiency", "knee"] {
            assert!(head.contains(column), "{text}");
        }
    }

    #[test]
    fn the_chart_has_the_linear_line_the_fit_and_the_cores() {
        let charts = charts(&record(&[1, 2, 3, 4]));
        let names: Vec<&str> = charts[0].series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["cores-first", "linear", "fit, cores-first"]);
        assert_eq!(charts[0].verticals, [(2.0, "2 cores".to_owned())]);
    }

    #[test]
    fn two_steps_are_a_table_and_no_chart() {
        let record = record(&[1, 2]);
        assert!(charts(&record).is_empty());
        let blocks = blocks(&record, Room { rows: 16, workloads: 3, placements: 1 });
        let [summary] = &blocks[..] else { panic!("{blocks:?}") };
        let [Part::Table(_), Part::Table(steps)] = &summary.parts[..] else { panic!("{summary:?}") };
        assert_eq!(steps.rows.len(), 2);
    }

    #[test]
    fn noise_gives_no_share_that_is_serialized() {
        let mut record = record(&[1, 2]);
        record.diagnosis.scaling[0].speedup_interval = Some((1.0, 4.2));
        let table = fits(&workloads(&record), &Steps::from_record(&record));
        assert_eq!(
            table.rows[0],
            ["primes", "2", "3.60×", "90.0 %", "1.00× – 4.20×", "[1]"].map(str::to_owned)
        );
        assert!(
            table.remarks.iter().all(|remark| !remark.contains("Scalability Law")),
            "{:?}",
            table.remarks
        );
        // 1.64 on two threads, between 0.275 and 31.3, is no figure.
        record.diagnosis.scaling[0].speedup_interval = Some((0.3, 31.3));
        let table = fits(&workloads(&record), &Steps::from_record(&record));
        assert_eq!(table.rows[0][..5], ["primes", "2", "-", "-", "-"].map(str::to_owned));
    }

    #[test]
    fn a_speed_up_from_a_step_in_doubt_is_marked_and_concludes_nothing() {
        let mut record = record(&[1, 2, 3, 4]);
        let sure = fits(&workloads(&record), &Steps::from_record(&record));
        assert_eq!((sure.rows[0][4].as_str(), sure.rows[0].len()), ("1.00 %", 9));
        for m in record.measurements.iter_mut().filter(|m| m.labels.count(Label::Threads) == Some(4)) {
            m.doubt = Some("too noisy: the median is known to ±30 % only".to_owned());
        }
        let table = fits(&workloads(&record), &Steps::from_record(&record));
        assert_eq!(table.rows[0].len(), 6, "{:?}", table.rows);
        assert_eq!(table.rows[0][4..], ["3.59× – 3.61×", "[1]"].map(str::to_owned));
        assert_eq!(table.notes[0], "steps in doubt");
    }
}
