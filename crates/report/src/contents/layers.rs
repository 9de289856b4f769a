//! The layers of a machine, and the SMT yield.

use record::diagnosis::{Answer, Claim, Layer, LayerStep, Overhead};
use record::difference::Verdict;
use record::{Record, Text, detail, metrics, units};

use super::figures::MARK;
use super::{Block, Part};
use crate::chart::bars::{Bar, Bars, Fill, Form, Piece};
use crate::table::{Field, Table};
use crate::text::range;

/// Maximum number of entries shown; the rest is in the record.
const MOST: usize = 64;

/// The layers in which a routine was timed, fastest first, with counted events, the cost of the steps between them, and the verdicts on
/// published conclusions. Empty if no layer was timed.
pub(crate) fn layers(record: &Record) -> Block {
    let timed = record.measurements_of(metrics::LAYER_TIME).next();
    let Some(first) = timed.filter(|_| !record.diagnosis.layers.is_empty()) else { return Block::default() };
    let mut parts = vec![Part::Bars(bars(record, &first.unit))];
    if let Some(overhead) = &record.diagnosis.overhead {
        parts.push(Part::Table(steps(overhead)));
        parts.push(Part::Says(overhead.floor_says.to_string()));
        parts.push(Part::Table(claims(overhead)));
    }
    parts.extend([Part::Table(times(record, &first.unit)), Part::Table(counted(record))]);
    Block::new(TITLE, Some(metrics::LAYER_TIME.name()), parts)
}

/// The extra time of a layer over the fastest layer, with the digits that its interval allows; if unresolved, the upper bound.
pub(crate) fn over_fastest(layer: &Layer) -> String {
    match layer.over_interval {
        Some((low, high)) if low <= 0.0 && high >= 0.0 => {
            format!("< {}", units::percent(units::bound(high.max(-low))))
        }
        Some(interval) => {
            let share = units::percent_to(layer.over, units::digits_within(layer.over, Some(interval)));
            format!("{}{share}", if layer.over < 0.0 { "" } else { "+" })
        }
        None => units::signed_percent(layer.over),
    }
}

/// An interval of extra time.
fn between((low, high): (f64, f64)) -> String {
    range(&units::signed_percent(low), &units::signed_percent(high))
}

/// The extra time of each layer over the fastest, with its interval.
fn bars(record: &Record, unit: &str) -> Bars {
    let layers = &record.diagnosis.layers;
    let ends = layers.iter().map(|l| l.over_interval.map_or(l.over, |(_, high)| high));
    let most = ends.filter(|end| end.is_finite()).fold(0.01, f64::max);
    let row = |layer: &Layer| {
        let (figure, time) = (over_fastest(layer), units::figure(layer.time, unit));
        let fill = if layer.over > 0.0 { Fill::Lost } else { Fill::Plain };
        let whole = Piece::new(0.0, layer.over / most, fill, format!("{}: {time}, {figure}", layer.layer));
        let mut pieces = vec![Piece { unreliable: layer.doubt.is_some(), ..whole }];
        pieces.extend(layer.over_interval.map(|(low, high)| {
            let says = format!("95 % CI {}", between((low, high)));
            Piece { form: Form::Line, ..Piece::new(low.max(0.0) / most, high / most, Fill::Same, says) }
        }));
        let bound = layer.bound.as_deref().map(|bound| if bound == "none" { "unpinned" } else { bound });
        let how = [bound, layer.interrupts.as_deref().filter(|irq| *irq == "off").map(|_| "interrupts off")];
        let how = how.into_iter().flatten().collect::<Vec<_>>().join(", ");
        Bar { name: layer.layer.clone(), how, pieces, figure, beside: time, ..Bar::default() }
    };
    Bars {
        title: "Extra time over the fastest layer".to_owned(),
        rows: layers.iter().take(MOST).map(row).collect(),
        ticks: [0.0, 0.5, 1.0].map(|at| (at, units::signed_percent(at * most))).into(),
        ..Bars::default()
    }
}

const TITLE: &str = "Routine time by layer";

fn times(record: &Record, unit: &str) -> Table {
    let layers = &record.diagnosis.layers;
    let heads = ["layer", "bound", "IRQs", "#time", "#over fastest", "?#interval"];
    let mut table = Table::new(TITLE, Some(metrics::LAYER_TIME.name()), heads);
    // Every timed layer has an entry.
    record.measurements_of(metrics::LAYER_TIME).for_each(|m| table.tells(m));
    for layer in table.first(layers.iter().collect(), MOST) {
        table.note_row(layer.doubt.as_ref().map(|doubt| doubt.gist().to_string()));
        let seconds = layer.seconds.map_or(String::new(), |took| format!(" ({})", units::figure(took, "s")));
        table.row(vec![
            layer.layer.clone(),
            layer.bound.clone().unwrap_or_default(),
            layer.interrupts.clone().unwrap_or_default(),
            format!("{}{seconds}", units::figure(layer.time, unit)),
            over_fastest(layer),
            layer.over_interval.map_or(String::new(), between),
        ]);
    }
    let most = layers.iter().filter_map(|layer| layer.variation).max_by(f64::total_cmp);
    if let (Some(most), true) = (most, layers.iter().any(|layer| layer.doubt.is_some())) {
        table.note(&format!("unreliable: passes of one layer vary by up to {}", units::percent(most)));
    }
    let details =
        record.measurements_of(metrics::LAYER_TIME).find(|m| m.detail.has(detail::CRC32)).map(|m| &m.detail);
    let same = details.and_then(|of| Some((of.get(detail::PAGE_OFFSET)?, of.get(detail::PRIMES)?)));
    if let Some((offset, primes)) = same {
        let crc = details.and_then(|of| of.get(detail::CRC32)).unwrap_or("?");
        table.note(&format!(
            "every layer ran identical code (CRC-32 {crc}, at page offset {offset}) and \
             counted {primes} primes"
        ));
    }
    if let Some(kvm) = record.measurements_of(metrics::LAYER_TIME).find_map(|m| m.detail.get(detail::KVM)) {
        table.note(&format!("guests run directly on /dev/kvm, without QEMU: {kvm}"));
    }
    table.finished()
}

const COUNTED: [Field<Layer>; 4] = [
    ("layer", |layer| layer.layer.clone()),
    ("bound", |layer| layer.bound.clone().unwrap_or_default()),
    ("IRQs", |layer| layer.interrupts.clone().unwrap_or_default()),
    ("events", |layer| layer.beside.iter().map(Text::to_string).collect::<Vec<_>>().join(", ")),
];

/// Events during the passes of each layer; without rows if nothing was counted.
fn counted(record: &Record) -> Table {
    let mut table = Table::with_fields("Events during the passes", None, &COUNTED);
    let layers = record.diagnosis.layers.iter().filter(|layer| !layer.beside.is_empty());
    layers.take(MOST).for_each(|layer| table.item(&COUNTED, layer));
    table.finished()
}

const STEPS: [Field<LayerStep>; 3] = [
    ("step", |step| step.what.to_string()),
    ("costs", said),
    ("events", |step| step.each.as_ref().map_or(String::new(), Text::to_string)),
];

fn steps(overhead: &Overhead) -> Table {
    let mut table = Table::with_fields("Cost of each step", None, &STEPS);
    for step in overhead.steps.iter().take(MOST) {
        if let (Verdict::Costs { share, .. }, false) = (&step.verdict, step.unreliable) {
            table.weigh_row(Some(*share > 0.0));
        }
        table.item(&STEPS, step);
    }
    table.finished()
}

const CLAIMS: [Field<Claim>; 3] = [
    ("conclusion", |claim| claim.claim.to_string()),
    ("here", answered),
    ("why", |claim| claim.why.to_string()),
];

/// The verdict on a published conclusion, based on these results.
pub(crate) fn answered(claim: &Claim) -> String {
    match claim.answer {
        Answer::Supported => "supported".to_owned(),
        Answer::Contradicted => "contradicted".to_owned(),
        Answer::CannotTell => "inconclusive".to_owned(),
    }
}

/// The conclusions of a published comparison, and whether these results support them.
fn claims(overhead: &Overhead) -> Table {
    let mut table = Table::with_fields("Published conclusions", None, &CLAIMS);
    overhead.claims.iter().take(MOST).for_each(|claim| table.item(&CLAIMS, claim));
    table.note("source: a published comparison of kernel, user mode and virtual machine on an i7-6500U (linespeed reference i7-6500u)");
    table.finished()
}

/// The SMT yield of each workload; empty without results.
pub(crate) fn siblings(record: &Record) -> Block {
    let says = record.diagnosis.siblings.iter().take(MOST).map(|one| {
        let size = one.bytes.map_or_else(String::new, |bytes| format!(", blocks of {}", units::bytes(bytes)));
        Part::Says(format!("{}{size}: {}", one.workload, one.says))
    });
    Block::new("Gain from SMT siblings", Some(metrics::SMT_YIELD.name()), says.collect())
}

/// The cost of a step in words, with the mark if it is based on unreliable times.
pub(crate) fn said(step: &LayerStep) -> String {
    let cost = matches!(step.verdict, Verdict::Costs { .. });
    format!("{}{}", step.says, if cost && step.unreliable { MARK } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Weight;
    use record::Label;
    use record::diagnosis::{Basis, SiblingsAdd};
    use record::{Labels, Measurement};

    #[test]
    fn layers_and_siblings_are_reported_where_there_are_any() {
        let mut record = Record::new("0", String::new(), Vec::new());
        assert!(layers(&record).is_empty() && siblings(&record).is_empty());
        record.measurements.push(Measurement::new(
            "layer.time",
            Labels::new().with_label(Label::Layer, "kernel"),
            vec![1e9],
        ));
        record.diagnosis.layers.push(Layer {
            layer: "kernel".to_owned(),
            bound: None,
            interrupts: Some("off".to_owned()),
            time: 1e9,
            interval: None,
            variation: None,
            over: 0.0,
            over_interval: None,
            seconds: Some(0.5),
            beside: Vec::new(),
            doubt: None,
            says: String::new().into(),
            from: String::new(),
        });
        let against = |over: f64, interval: (f64, f64)| {
            let mut layer = record.diagnosis.layers[0].clone();
            (layer.over, layer.over_interval) = (over, Some(interval));
            over_fastest(&layer)
        };
        assert_eq!(against(0.00245, (-0.06, 0.0742)), "< 7.42 %");
        assert_eq!(against(-0.00263, (-0.06, 0.05)), "< 6.00 %");
        assert_eq!(against(0.0119, (0.00174, 0.0222)), "+1.2 %");
        record.diagnosis.siblings.push(SiblingsAdd {
            workload: "openssl".to_owned(),
            bytes: Some(8192),
            adds: 0.13,
            basis: Basis::Measured,
            says: "SMT siblings add 13.0 %.".into(),
        });
        assert!(
            matches!(&layers(&record).parts[..], [Part::Bars(bars), Part::Table(table)] if table.rows[0][3] == "+0 %" && bars.rows.len() == 1)
        );
        let said = Part::Says("openssl, blocks of 8 KiB: SMT siblings add 13.0 %.".to_owned());
        assert_eq!(siblings(&record).parts, [said]);
    }

    /// A record of layers that were timed alternately.
    fn timed() -> Record {
        let mut record = Record::new("0", String::new(), Vec::new());
        let place = Labels::new()
            .with_label(Label::Layer, "user")
            .with_label(Label::Bound, "cpu 1")
            .with_label(Label::Interrupts, "on");
        let m = Measurement::new("layer.time", place, vec![1e9; 6])
            .with_detail(detail::CRC32, "00c0ffee")
            .with_detail(detail::PAGE_OFFSET, 0)
            .with_detail(detail::INTERRUPTS_PER_S, 251.0)
            .with_detail(detail::PRIMES, 78_498);
        record.measurements.push(m);
        record.diagnosis.layers.push(Layer {
            layer: "user".to_owned(),
            bound: Some("cpu 1".to_owned()),
            interrupts: Some("on".to_owned()),
            time: 1e9,
            interval: Some((0.999e9, 1.001e9)),
            variation: Some(0.002),
            over: 0.0,
            over_interval: None,
            seconds: Some(0.5),
            beside: vec!["251 interrupts/s".into()],
            doubt: Some("too noisy: the hypervisor took 3 % of the time".into()),
            says: String::new().into(),
            from: String::new(),
        });
        record.diagnosis.overhead = Some(Overhead {
            line_speed: "user, bound to CPU 1".to_owned(),
            floor: None,
            floor_says: "No layer was timed twice.".into(),
            steps: vec![LayerStep {
                code: None,
                what: "interrupts".into(),
                without: "kernel, interrupts off".to_owned(),
                with: "kernel".to_owned(),
                rounds: 96,
                verdict: Verdict::Costs { share: 0.05, interval: (0.04, 0.06) },
                unreliable: true,
                says: "costs 5.00 % [4.00 % – 6.00 %]".into(),
                each: Some("10250 interrupts/s with it, 0 without: 4.76 µs each".into()),
            }],
            claims: vec![Claim {
                claim: "a hypervisor takes little of it".into(),
                answer: Answer::CannotTell,
                why: "no guest was timed".into(),
            }],
        });
        record
    }

    #[test]
    fn layers_timed_in_turn_have_their_steps_and_their_counts_and_details_on_request() {
        let record = timed();
        let block = layers(&record);
        let tables: Vec<&Table> = block
            .parts
            .iter()
            .filter_map(|part| if let Part::Table(table) = part { Some(table) } else { None })
            .collect();
        assert_eq!(tables.len(), 4);
        assert_eq!(tables[2].rows[0][3], "1.00 G cycles (500 ms)");
        assert!(tables[2].notes[0].contains("too noisy"), "{:?}", tables[2].notes);
        assert_eq!(tables[3].rows, [["user", "cpu 1", "on", "251 interrupts/s"]]);
        assert!(
            tables[2]
                .remarks
                .iter()
                .any(|remark| remark.contains("00c0ffee") && remark.contains("78498 primes"))
        );
        // The layers' times are in doubt, so the uncertain cost is not colored.
        assert_eq!(tables[0].rows[0][1], format!("costs 5.00 % [4.00 % – 6.00 %]{MARK}"));
        assert_eq!(tables[0].weight(0), Weight::Plain);
    }

    #[test]
    fn a_layer_that_takes_less_than_the_fastest_has_a_minus_and_no_bar_of_a_cost() {
        let mut record = timed();
        let mut again = record.diagnosis.layers[0].clone();
        (again.layer, again.over) = ("user again".to_owned(), -0.002_63);
        record.diagnosis.layers.insert(0, again);
        let style = crate::terminal::Style::default();
        let text = crate::terminal::Screen::draw(&style, |screen| {
            crate::terminal::overhead_answer(screen, &record, true, Some("."))
        });
        assert!(text.contains("-0.263 %?") && text.contains("+0 %?"), "{text}");
        assert!(!text.contains("+-"), "{text}");
        let bars = bars(&record, "cycles");
        assert_eq!((bars.rows[0].figure.as_str(), bars.rows[0].pieces[0].fill), ("-0.263 %", Fill::Plain));
    }

    #[test]
    fn they_fit_a_narrow_terminal_and_a_wide_one() {
        for width in [80, 160] {
            let text = crate::terminal::Screen::draw(
                &crate::terminal::Style { width, color: false, ..crate::terminal::Style::default() },
                |screen| crate::terminal::report(screen, &timed(), None),
            );
            for line in text.lines() {
                assert!(crate::text::width(line) <= width, "{line}");
            }
            for words in
                ["costs 5.00 %", "4.76 µs each", "inconclusive", "00c0ffee", "No layer was timed twice"]
            {
                let words: Vec<&str> = words.split(' ').collect();
                assert!(words.iter().all(|word| text.contains(word)), "no {words:?} in:\n{text}");
            }
        }
    }
}
