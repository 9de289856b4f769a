//! The scaling of workloads with threads: the steps, the fit, and one chart per workload that includes linear scaling.

mod chart;
mod steps;

use record::diagnosis::Scaling;
use record::label::name_workload;
use record::{Record, metrics, units};

use super::block::{Block, Part, Room};
use super::figures::{MARK, MARKED, speed_up, times, withheld};
use super::side_by_side::group_by;
use super::{Section, workloads};
use crate::shown::Shown;
use crate::table::{Field, Table};
use crate::text::range;
use chart::chart;
pub(crate) use steps::DISTURBED;
use steps::{Steps, is_vague, table};

/// Minimum number of steps for a drawn fit: one more than its parameters.
const FIT_STEPS: u32 = 4;
/// Minimum number of steps for a chart: a line through two points shows no more than the two results.
const CHART_STEPS: usize = 3;
/// Maximum number of placements in a chart; four exist.
const PLACEMENTS: usize = 6;
/// Maximum number of workloads shown here; the others are in the list of all measurements.
const WORKLOADS: usize = 32;

/// A summary of all workloads, a block for each workload with enough steps for a chart (if there is room), and one block with the steps of
/// the others.
pub(crate) fn blocks(record: &Record, room: Room) -> Vec<Block> {
    let workloads = workloads(record);
    if workloads.is_empty() {
        return Vec::new();
    }
    let steps = Steps::from_record(record);
    let mut summary = Block::from(fits(&workloads, &steps));
    let (many, few): (Vec<Workload>, Vec<Workload>) = workloads
        .into_iter()
        .take(WORKLOADS)
        .partition(|(_, lines)| lines.iter().any(|line| line.steps.len() >= CHART_STEPS));
    if many.len() > room.workloads {
        summary.parts.push(Part::Says(format!(
            "Only the steps of {} are shown; the steps of all {} are on the page (--html) and in the record.",
            record::phrase::count_noun(room.workloads, "workload"),
            many.len()
        )));
    }
    summary.parts.extend((!few.is_empty()).then(|| Part::Table(table("Steps", &steps, &few))));
    let mut blocks = vec![summary];
    for (name, lines) in many.into_iter().take(room.workloads) {
        let mut meanings = Section::new("placements");
        for line in lines.iter().take(PLACEMENTS) {
            meanings.add(&line.placement, &line.meaning);
        }
        let mut parts = vec![match &lines[..] {
            [line] => Part::Says(line.meaning.to_string()),
            _ => Part::Facts(meanings),
        }];
        parts.extend(chart(record, name, &lines).map(Part::Chart));
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
            table.note(&format!("unit of work: {work}"));
        }
        parts.push(Part::Table(table));
        let title = format!("Scaling of {name}");
        blocks.push(Block { is_of_a_workload: true, ..Block::new(&title, None, parts) });
    }
    blocks
}

/// The first workload's steps, limited to this many rows: the first step and the last steps of its first placement, and the
/// last step of each other placement.
pub(crate) fn in_short(record: &Record, most: usize) -> Table {
    let Some((name, mut lines)) = workloads(record).into_iter().next() else {
        return workloads::tables(record, &Shown::default()).next().unwrap_or_default();
    };
    lines.truncate(OTHERS + 1);
    let mut kept = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let (all, room) = (line.steps.len(), if number == 0 { most + 1 - lines.len() } else { 1 });
        kept.extend((0..all).map(|at| (at == 0 && room > 1) || at + room >= all));
    }
    let mut table = table("", &Steps::from_record(record), &[(name, lines)]).without_notes();
    let mut kept = kept.into_iter();
    table.rows.retain(|_| kept.next().unwrap_or(false));
    table
}

/// Placements shown in the short table in addition to the first.
const OTHERS: usize = 3;

/// A workload with its entries, one per placement.
type Workload<'a> = (&'a str, Vec<&'a Scaling>);

/// The entries of each workload, in the order of the record.
fn workloads(record: &Record) -> Vec<Workload<'_>> {
    group_by(&record.diagnosis.scaling, |scaling| scaling.workload.as_str())
}

/// A row of the summary: a workload and placement, its last step, and the result of the fit.
struct Fitted<'a> {
    workload: &'a str,
    line: &'a Scaling,
    /// Whether the row may be noise.
    noisy: bool,
    /// Whether the last step has a speed-up.
    has_speed_up: bool,
}

impl Fitted<'_> {
    /// The last step's speed-up or efficiency.
    fn last(&self, at: usize) -> String {
        let last = self.line.steps.last().filter(|_| self.has_speed_up);
        let mark = if self.noisy { MARK } else { "" };
        last.map_or("-".to_owned(), |step| format!("{}{mark}", speed_up(self.line, step)[at]))
    }

    /// The result of the fit; `-` if the result may be noise, or if there are too few steps.
    fn fit(&self, least: u32, says: String) -> String {
        if self.noisy || self.line.points < least { "-".to_owned() } else { says }
    }

    fn between(&self) -> String {
        let between = |(low, high): (f64, f64)| range(&times(low), &times(high));
        let interval = self.line.speedup_interval.map_or(String::new(), between);
        if self.has_speed_up { interval } else { "-".to_owned() }
    }
}

fn fields<'a>() -> [Field<Fitted<'a>>; 10] {
    [
        ("workload", |of| name_workload(of.workload).to_owned()),
        ("placement", |of| of.line.placement.clone()),
        ("#threads", |of| of.line.threads.to_string()),
        ("#speed-up", |of| of.last(0)),
        ("#efficiency", |of| of.last(1)),
        ("?#serialized", |of| of.fit(0, units::percent(of.line.contention))),
        ("?#coherency", |of| of.fit(FIT_STEPS, units::percent(of.line.coherency))),
        ("#knee", |of| of.fit(0, of.line.knee.map_or("none".to_owned(), |threads| threads.to_string()))),
        ("?#off the fit", |of| of.fit(FIT_STEPS, units::percent(of.line.residual))),
        ("?#spread", Fitted::between),
    ]
}

/// The summary of all workloads.
fn fits(workloads: &[Workload], steps: &Steps) -> Table {
    let mut table =
        Table::with_fields("How workloads scale", Some(metrics::WORKLOAD_THROUGHPUT.name()), &fields());
    if workloads.len() > WORKLOADS || workloads.iter().any(|(_, lines)| lines.len() > PLACEMENTS) {
        let all: usize = workloads.iter().map(|(_, lines)| lines.len()).sum();
        table.note(&format!(
            "limited to {WORKLOADS} workloads with {PLACEMENTS} placements each; the record contains all {all} \
             lines"
        ));
    }
    for (number, (name, lines)) in workloads.iter().enumerate() {
        for (at, line) in lines.iter().enumerate() {
            steps.of_line(name, line).for_each(|m| table.tells(m));
            if number >= WORKLOADS || at >= PLACEMENTS {
                continue;
            }
            // The speed-up of a row is that of its last step; if that step is unreliable, so is the speed-up.
            let last = line.steps.last();
            let impossible = last.is_some_and(|last| !line.is_possible(last));
            table.note_row(impossible.then_some(DISTURBED));
            let throughput = last.and_then(|last| steps.find(name, line, last.threads).throughput);
            let noisy = line.is_too_noisy() || steps.doubtful(name, line);
            if noisy {
                table.note(MARKED);
            }
            let has_speed_up = !impossible && !is_vague(line) && !throughput.is_some_and(withheld);
            table.item(&fields(), &Fitted { workload: name, line, noisy, has_speed_up });
        }
    }
    without_the_same_for_all(&mut table);
    if table.rows.iter().any(|row| FIT.iter().any(|at| !row[*at].is_empty())) {
        table.note(
            "serialized and coherency are σ and κ of the Universal Scalability Law; the knee is the number \
             of threads beyond which another thread adds less than half of a single thread's throughput",
        );
    }
    table.finished()
}

/// The columns of the summary with results of the fit, and the column of the placement.
const FIT: [usize; 4] = [5, 6, 7, 8];
const PLACEMENT: usize = 1;

/// Clears columns that are empty or the same in every row, so that the rest fits a terminal.
fn without_the_same_for_all(table: &mut Table) {
    for at in FIT {
        if table.rows.iter().all(|row| row[at] == "-") {
            table.rows.iter_mut().for_each(|row| row[at].clear());
        }
    }
    let Some(first) = table.rows.first().map(|row| row[PLACEMENT].clone()) else { return };
    if table.rows.iter().all(|row| row[PLACEMENT] == first) {
        table.rows.iter_mut().for_each(|row| row[PLACEMENT].clear());
        table.note(&format!("all rows: placement {first}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::diagnosis::Step;
    use record::{Label, Labels, Measurement, detail};

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
                m.doubt = Some("too noisy: the median is known to ±9 % only".into());
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
            meaning: "4 threads do 3.60× the work of one.".into(),
            disturbed: false,
            steps,
        }];
        record
    }

    fn charts(record: &Record) -> Vec<crate::chart::Chart> {
        let workloads = workloads(record);
        workloads.iter().filter_map(|(name, lines)| chart(record, name, lines)).collect()
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
        assert_eq!(steps.find("primes", &record.diagnosis.scaling[0], 1).declared.unwrap().value(), 1.2);
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
        assert!(table.rows[1].iter().any(|cell| cell.ends_with(MARK)), "{table:?}");
        assert_eq!(table.remarks, [MARKED, "unit of work: primes below a million"]);
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
        let text = crate::terminal::Screen::draw(&crate::terminal::Style::default(), |screen| {
            crate::terminal::report(screen, &record, None)
        });
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
        assert_eq!((charts[0].marks[0].at, charts[0].marks[0].name.as_str()), (2.0, "2 cores"));
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
        assert_eq!(table.rows[0], ["primes", "2", "3.6× ?", "90 % ?", "1.00× – 4.20×"].map(str::to_owned));
        assert!(
            table.remarks.iter().all(|remark| !remark.contains("Scalability Law")),
            "{:?}",
            table.remarks
        );
        // A speed-up whose interval reaches from 0.3 to 31.3 is not shown.
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
            m.doubt = Some("too noisy: the median is known to ±30 % only".into());
        }
        let table = fits(&workloads(&record), &Steps::from_record(&record));
        assert_eq!(table.rows[0][2..], ["3.60× ?", "90.0 % ?", "3.59× – 3.61×"].map(str::to_owned));
        assert!(table.remarks.iter().any(|remark| remark == MARKED), "{table:?}");
    }
}
