//! Tests the consistency of reports: each quantity is printed identically in the report, page, findings, breakdowns and
//! JSON of a record.

use std::path::Path;

use record::diagnosis::{Evidence, Finding, Resource};
use record::loss_breakdown::LossBreakdown;
use record::machine::MemoryDevice;
use record::{Better, Label, Labels, Measurement, Record, Verdict, detail};

use super::blocks::blocks;
use super::figures::{MARK, figure, known, place, value};
use super::{Part, block::Room, finding, loss_breakdown};
use crate::table::Table;
use crate::terminal::{self, Style};

#[allow(unreachable_pub)] // Also used by tests of another crate.
#[path = "../../tests/all/support/mod.rs"]
mod support;

/// A limit on rows that none of these tables reaches.
const ALL: usize = 1 << 20;
/// Shares printed with three digits are equal if they differ by less than half of the last digit.
const ROUNDING: f64 = 0.005;

fn is_near(a: f64, b: f64) -> bool {
    a.is_finite() && b.is_finite() && (a - b).abs() <= ROUNDING * a.abs().max(b.abs())
}

/// Contradictions in a record's report, one line each.
fn contradictions(record: &Record) -> Vec<String> {
    let room = Room { rows: ALL, workloads: ALL, placements: ALL };
    let shown = blocks(record, room);
    let tables = shown.iter().flat_map(|block| &block.parts).filter_map(|part| match part {
        Part::Table(table) => Some(table),
        _ => None,
    });
    let mut wrong: Vec<String> = tables.flat_map(|table| of_table(record, table)).collect();
    let diagnosis = &record.diagnosis;
    wrong.extend(diagnosis.resources.iter().filter_map(|resource| of_headline(record, resource)));
    for breakdown in &diagnosis.loss_breakdowns {
        wrong.extend(of_breakdown(record, breakdown));
    }
    wrong.extend(diagnosis.findings.iter().flat_map(|finding| of_finding(record, finding)));
    wrong.extend(of_layers(record));
    wrong.extend(of_comparison(record));
    wrong.extend(of_media(record));
    wrong
}

/// The time of each layer must be the same everywhere.
fn of_layers(record: &Record) -> Vec<String> {
    let layers = record.diagnosis.layers.iter();
    let differs = layers.filter(|layer| {
        let own = record.measurements.iter().find(|m| layer.from == cited(m));
        own.is_none_or(|m| m.value().to_bits() != layer.time.to_bits())
    });
    differs.map(|layer| format!("{}: {} differs from its result", layer.from, layer.time)).collect()
}

/// A comparison's row for a single result must contain the same value as the result's table; rows of layers must
/// contain the time that `overhead` shows.
fn of_comparison(record: &Record) -> Vec<String> {
    let side = diagnose::Side { name: "it", source: "", record };
    let tool = record.tool.clone();
    let compared = diagnose::compare(&[side, side], 1, tool, diagnose::Extent::Summary);
    let mut wrong = Vec::new();
    for row in compared.rows.iter().filter(|row| row.per.is_none()) {
        let Some(cell) = row.cells.first().filter(|cell| cell.over.is_none()) else { continue };
        let (Some(from), Some(value)) = (cell.from.as_ref(), cell.value) else { continue };
        // A share of misses must cite the count to which it refers.
        let is_own = |m: &&Measurement| m.metric == row.metric && m.unit == row.unit && *from == cited(m);
        let tables = record.measurements.iter().find(is_own).map(Measurement::value);
        let layers = record.diagnosis.layers.iter().find(|layer| layer.from == *from).map(|of| of.time);
        let others = [tables, layers].into_iter().flatten();
        let others = others.filter(|other| !is_near(*other, value));
        wrong.extend(others.map(|other| format!("compare shows {value} for {from}, others {other}")));
    }
    wrong
}

/// The table of a metric must print each result in the same way as all other places. Exceptions are bus bytes
/// of regular stores, which are a modelled range, and throughput, for which the table may show only a summary of the scaling steps.
fn of_table(record: &Record, table: &Table) -> Vec<String> {
    let cells = || table.rows.iter().flatten();
    let is_modelled = |m: &Measurement| {
        m.labels.word(Label::BytesCounted) == Some("bus") && m.labels.word(Label::Stores) == Some("regular")
    };
    let shown = record.measurements.iter().filter(|m| m.summary.n > 0 && table.shown.has(m));
    let shown = shown
        .filter(|m| m.metric != "workload.throughput")
        .filter(|m| m.metric != "layer.time" && table.word.as_deref() == Some(m.metric.name()))
        .filter(|m| !is_modelled(m));
    shown
        .filter(|m| {
            // The heading may contain the unit.
            let bare = value(m).replace(&format!(" {}", m.unit), "");
            !cells().any(|cell| *cell == value(m) || *cell == bare)
        })
        .map(|m| format!("{}: missing {} of {} {}", table.title, value(m), m.metric, place(m)))
        .collect()
}

/// The delivered value of a headline must be a result in the tables (for bandwidth, the best triad), and its share must
/// follow from this value and the ceiling.
fn of_headline(record: &Record, resource: &Resource) -> Option<String> {
    let among = |metric: &str, is: &dyn Fn(&&Measurement) -> bool| -> Vec<f64> {
        record
            .measurements_of(metric)
            .filter(|m| m.summary.n > 0)
            .filter(is)
            .map(Measurement::value)
            .collect()
    };
    let said = |m: &Measurement, label, word: &str| m.labels.word(label) == Some(word);
    let figures = match resource.name.as_str() {
        "memory bandwidth" => {
            let is_triad =
                |m: &&Measurement| said(m, Label::Op, "triad") && said(m, Label::BytesCounted, "stream");
            let threads = record
                .measurements_of("memory.bandwidth")
                .filter_map(|m| m.labels.count(Label::Threads))
                .max();
            let all =
                among("memory.bandwidth", &|m| is_triad(m) && m.labels.count(Label::Threads) == threads);
            vec![all.into_iter().fold(0.0, f64::max)]
        }
        "memory latency" => among("load.latency", &|_| true),
        "wake-up" => among("wakeup.latency", &|m| said(m, Label::Setting, "as-is")),
        _ => return None,
    };
    let shares = resource.ceiling.map(|best| (resource.delivered / best).min(best / resource.delivered));
    let follows = match (shares, resource.share) {
        (Some(follows), Some(share)) => is_near(follows, share),
        // No share is shown if the ceiling is the best result of this run, or if other processes used the machine.
        (_, share) => share.is_none(),
    };
    let stands = figures.iter().any(|figure| figure.to_bits() == resource.delivered.to_bits());
    // The result of a program that ignores nodes is modelled from two results.
    let is_model = record.diagnosis.numa.is_some() && resource.name == "memory latency";
    (!(follows && (stands || is_model))).then(|| format!("{}: {resource:?} of {figures:?}", resource.name))
}

/// A breakdown must start and end with the values of its headline and add up; the loss to a cause must equal the cost
/// of its finding.
fn of_breakdown(record: &Record, breakdown: &LossBreakdown) -> Vec<String> {
    let mut wrong = Vec::new();
    let name = &breakdown.resource;
    let headline = record.diagnosis.resources.iter().find(|resource| resource.name == *name);
    if headline.is_none_or(|of| (of.ceiling, of.delivered) != (Some(breakdown.ceiling), breakdown.delivered))
    {
        wrong.push(format!("{name}: the ends of the breakdown differ from {headline:?}"));
    }
    let sign = if breakdown.better == Better::Lower { 1.0 } else { -1.0 };
    let taken: f64 = breakdown.steps.iter().map(|step| step.takes).sum();
    if !is_near(breakdown.ceiling + sign * (taken + breakdown.unexplained), breakdown.delivered) {
        wrong.push(format!("{name}: the breakdown does not add up"));
    }
    for step in &breakdown.steps {
        let of_rule = |finding: &&Finding| Some(&finding.rule) == step.rule.as_ref();
        let Some(finding) = record.diagnosis.findings.iter().find(of_rule) else { continue };
        let Verdict::Costs { share, .. } = finding.loss else { continue };
        // If less is better, the share refers to the result with the loss, otherwise to the result without it.
        let whole = match breakdown.better {
            // The cost of other nodes' memory is a share of the results of the node measurements, which use separate
            // pages.
            Better::Lower => [
                step.leaves,
                record
                    .diagnosis
                    .numa
                    .as_ref()
                    .and_then(|numa| numa.local_ns)
                    .map_or(0.0, |ns| ns + step.takes),
            ],
            Better::Higher => [step.leaves + step.takes, breakdown.delivered + step.takes],
        };
        if !whole.iter().any(|whole| is_near(step.takes / whole, share)) {
            wrong.push(format!(
                "{name}: {} costs {} of {whole:?}, but its finding shows {share}",
                finding.rule, step.takes
            ));
        }
    }
    wrong
}

/// The form in which evidence cites a measurement.
fn cited(m: &Measurement) -> String {
    let keys = m.metric.keys();
    let labels = keys.iter().filter_map(|key| Some(format!(" {key}={}", m.labels.get(*key)?)));
    [m.metric.to_string()].into_iter().chain(labels).collect()
}

/// Evidence that cites a result must show the same value as the result's table.
fn of_finding(record: &Record, finding: &Finding) -> Vec<String> {
    let mut wrong = Vec::new();
    if let Verdict::Costs { share, interval } = finding.loss
        && !(interval.0 <= share && share <= interval.1)
    {
        wrong.push(format!("{}: {share} is outside {interval:?}", finding.rule));
    }
    let is_figure = |seen: &&Evidence| {
        !matches!(seen.says.code(), Some("finding-in-doubt" | "finding-one-sample" | "page-walk-one-set"))
    };
    for seen in finding.evidence.iter().filter(is_figure) {
        let is_cited = |m: &&Measurement| seen.from == cited(m);
        let Some(m) = record.measurements.iter().find(is_cited) else { continue };
        let says = seen.says.to_string();
        let summary = &m.summary;
        let others = [Some(summary.median), summary.mean, summary.p99, Some(summary.max), Some(summary.min)];
        let own = value(m).trim_end_matches(MARK).to_owned();
        let mut forms = others.into_iter().flatten().map(|other| figure(m, other)).chain([own]);
        if !forms.any(|form| says.contains(&form)) {
            wrong.push(format!("{}: {says:?} of {} {}", finding.rule, seen.from, value(m)));
        }
    }
    wrong
}

/// Terminal, page and JSON must show the same headlines, losses and breakdowns.
fn of_media(record: &Record) -> Vec<String> {
    let mut wrong = Vec::new();
    let one_line = |text: String| {
        text.replace('\u{a0}', " ").replace("&lt;", "<").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let style = Style { width: 400, ..Style::default() };
    let texts = [
        (
            "the report",
            one_line(terminal::Screen::draw(&style, |screen| terminal::report(screen, record, None))),
        ),
        ("the page", one_line(crate::page::html(record))),
    ];
    let diagnosis = &record.diagnosis;
    let headlines = diagnosis.resources.iter().map(|of| known(record, of.delivered, &of.unit));
    let losses = diagnosis.findings.iter().map(finding::loss);
    let bars = loss_breakdown::bars(record);
    let breakdowns = bars.iter().flat_map(|bars| &bars.rows).map(|row| row.figure.clone());
    for shown in headlines.chain(losses).chain(breakdowns) {
        let missing = texts.iter().filter(|(_, text)| !text.contains(&shown));
        wrong.extend(missing.map(|(name, _)| format!("{name} does not show {shown:?}")));
    }
    let read = record.to_json().ok().and_then(|json| Record::from_json(json.as_bytes()).ok());
    if read.is_none_or(|read| read.diagnosis != record.diagnosis || read.measurements != record.measurements)
    {
        wrong.push("JSON contains different results".to_owned());
    }
    wrong
}

fn kept() -> Vec<(String, Record)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../linespeed/tests/records/0.1");
    let read = |name: &str| {
        let mut record = Record::read(&folder.join(name)).unwrap();
        record.diagnosis = diagnose::diagnose(&record);
        (name.to_owned(), record)
    };
    ["main.json", "import.json"].map(read).into()
}

fn made_up() -> Vec<(String, Record)> {
    let record = |name: &str| {
        let mut record = support::named(name).unwrap();
        record.diagnosis = diagnose::diagnose(&record);
        (name.to_owned(), record)
    };
    let mut all: Vec<_> = ["one", "small", "large", "nodes-4", "threads-104", "emulated"].map(record).into();
    all.push(("arrays in memory".to_owned(), in_memory()));
    all.push(("layers".to_owned(), layered()));
    all
}

/// Layers with a burst of other work in one pass, which the median hides.
fn layered() -> Record {
    let mut record = support::named("one").unwrap();
    for (layer, passes) in [("kernel", [1.0; 6]), ("user", [1.1, 1.1, 1.1, 1.1, 1.1, 2.0])] {
        let place = Labels::new().with_label(Label::Layer, layer).with_label(Label::Interrupts, "on");
        let cycles = passes.map(|pass| pass * 1e9).to_vec();
        record.measurements.push(Measurement::new("layer.time", place, cycles));
    }
    record.diagnosis = diagnose::diagnose(&record);
    record
}

/// Arrays beyond all caches, which yield a bandwidth headline.
fn in_memory() -> Record {
    let mut record = support::named("small").unwrap();
    for m in record.measurements.iter_mut().filter(|m| m.metric == "memory.bandwidth") {
        m.detail.set(detail::ARRAY_BYTES, 64_u64 << 30);
    }
    // Memory devices configured below their rated speed lose bandwidth, which is a finding.
    let device = |number: u32| MemoryDevice {
        bytes: Some(64 << 30),
        channel: Some(number.to_string()),
        configured_mt_s: Some(2133),
        rated_mt_s: Some(2933),
        ..MemoryDevice::default()
    };
    record.machine.memory_devices = (0..16).map(device).collect();
    record.diagnosis = diagnose::diagnose(&record);
    record
}

#[test]
fn one_quantity_is_printed_once_or_equal() {
    let all = kept().into_iter().chain(made_up());
    let wrong: Vec<(String, Vec<String>)> = all
        .map(|(name, record)| (name, contradictions(&record)))
        .filter(|(_, wrong)| !wrong.is_empty())
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_contradiction_is_seen() {
    let all = || kept().into_iter().chain(made_up()).map(|(_, record)| record);
    let is_triad = |resource: &&mut Resource| resource.name == "memory bandwidth";
    let other_triad = |mut record: Record| {
        let triad = record.diagnosis.resources.iter_mut().find(is_triad)?;
        triad.delivered *= 1.1;
        triad.share = triad.ceiling.map(|ceiling| triad.delivered / ceiling);
        Some(contradictions(&record))
    };
    let wrong = all().find_map(other_triad).unwrap();
    assert!(wrong.iter().any(|line| line.starts_with("memory bandwidth: Resource")), "{wrong:#?}");

    let other_share = |mut record: Record| {
        let steps = record.diagnosis.loss_breakdowns.iter().flat_map(|breakdown| &breakdown.steps);
        let rules: Vec<String> = steps.filter_map(|step| step.rule.clone()).collect();
        let finding = record.diagnosis.findings.iter_mut().find(|finding| rules.contains(&finding.rule))?;
        finding.loss = Verdict::Costs { share: 0.0123, interval: (0.01, 0.02) };
        Some(contradictions(&record))
    };
    let wrong = all().find_map(other_share).unwrap();
    assert!(wrong.iter().any(|line| line.ends_with("its finding shows 0.0123")), "{wrong:#?}");

    let mut record = layered();
    assert_eq!(of_layers(&record).len() + of_comparison(&record).len(), 0);
    record.diagnosis.layers.iter_mut().for_each(|layer| layer.time = 1.1e9);
    assert!(!of_layers(&record).is_empty() && !of_comparison(&record).is_empty());

    let record = support::named("small").unwrap();
    let mut table = super::bandwidth::table(&record, ALL);
    assert_eq!(of_table(&record, &table), [""; 0]);
    table.rows.iter_mut().flatten().for_each(|cell| *cell = "1.00 GB/s".to_owned());
    assert!(!of_table(&record, &table).is_empty());
}
