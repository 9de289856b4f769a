//! Actual CPU placement: distances, and states over time.

use std::collections::BTreeSet;

use record::live::Share;
use record::machine::Cpu;
use record::phrase::count_noun;
use record::shape::{Distance, Motion, Shape, ShapeState, Topology};
use record::{CpuList, Record, date, metrics, units};

use super::{Block, Part, conditions};
use crate::chart::bars::{Bar, Bars, Fill, Piece};
use crate::table::{Field, Table};
use crate::text::capitalized;

/// Maximum number of periods shown; the rest is in the record.
const MOST: usize = 24;

/// The block; empty without placement checks.
pub(crate) fn block(record: &Record) -> Option<Block> {
    let shape = record.diagnosis.shape.as_ref().filter(|shape| shape.looks > 0)?;
    let fields: [Field<(&str, &Distance)>; 5] = [
        ("placement", |(placement, _)| (*placement).to_owned()),
        ("#median", |(_, of)| units::figure(of.median_ns, "ns")),
        ("#lowest", |(_, of)| units::figure(of.low_ns, "ns")),
        ("#highest", |(_, of)| units::figure(of.high_ns, "ns")),
        ("#share of pairs", |(_, of)| units::percent(of.share)),
    ];
    let mut table = Table::with_fields("Cache-line transfer between CPUs", None, &fields);
    let apart = shape.distances.iter().map(|of| ("separate cores", of));
    let all = shape.one_core.iter().map(|of| ("one core", of)).chain(apart);
    all.for_each(|of| table.item(&fields, &of));
    let by_placement = shape.core_to_core.iter().take(MOST).map(|says| capitalized(&says.to_string()) + ".");
    let said = [Some(says(record, shape)), pairs(record, shape)].into_iter().flatten().chain(by_placement);
    let mut parts: Vec<Part> = said.map(Part::Says).collect();
    parts.extend([Part::Table(beside_shown(record, shape)), Part::Table(table)]);
    let spells = spells(record, shape);
    let is_new = |state: &ShapeState| !state.cores.is_empty() || state.domains.iter().any(|of| of.len() > 1);
    if spells.len() > 1 || spells.first().is_some_and(|spell| is_new(spell.state)) {
        let fields: [Field<Spell>; 5] = [
            ("#from", |spell| format!("{:.1} s", spell.from)),
            ("#checks", |spell| spell.looks.to_string()),
            ("on one core", |spell| lists(&spell.state.cores)),
            ("apart", |spell| {
                let last = spell.state.domains.last();
                last.map(|of| if of.len() > 1 { lists(of) } else { "no".to_owned() }).unwrap_or_default()
            }),
            ("far from memory", |spell| spell.state.far_from_memory.to_string()),
        ];
        let mut table = Table::with_fields("Over time", None, &fields);
        table.first(spells, MOST).iter().for_each(|spell| table.item(&fields, spell));
        parts.extend([Part::Bars(strip(record, shape)), Part::Table(table)]);
    }
    Some(Block::new("CPU placement", Some("shape"), parts))
}

/// The placement of the CPUs while core-to-core latency was measured.
fn pairs(record: &Record, shape: &Shape) -> Option<String> {
    let measured = record.measurements_of(metrics::CORE_TO_CORE_LATENCY);
    let looks: BTreeSet<usize> = measured.flat_map(|m| &m.looks).map(|look| *look as usize).collect();
    let states = looks.into_iter().filter_map(|look| shape.states.get(look.checked_sub(1)?)?.as_ref());
    let (apart, shared): (Vec<_>, Vec<_>) = states.partition(|state| state.cores.is_empty());
    let cores = match (shared.len(), shared.len() + apart.len()) {
        (_, 0) => return None,
        (0, _) => "all CPUs were on separate cores".to_owned(),
        (shared, all) => format!("CPUs shared a core in {shared} of {}", count_noun(all, "placement check")),
    };
    Some(format!("While core-to-core latency was measured, {cores}."))
}

/// The topology reported by Linux, compared with the measurements.
fn beside_shown(record: &Record, shape: &Shape) -> Table {
    let cpus: CpuList = record.looks.iter().flat_map(|looks| looks.cpus.iter().copied()).collect();
    let mut table =
        Table::new("Topology reported by Linux and measured topology", None, ["", "Linux shows", "measured"]);
    let counted = |of: &dyn Fn(&Cpu) -> Option<u32>| {
        let seen = record.machine.cpus.iter().filter(|cpu| cpus.contains(cpu.id));
        seen.filter_map(of).collect::<BTreeSet<u32>>().len()
    };
    let domains = |state: &ShapeState| state.domains.last().map_or(1, Vec::len);
    for (what, shown, measured) in [
        ("cores", counted(&|cpu| cpu.core), shape.cores_of(&cpus).into_keys().collect()),
        (
            "packages or nodes",
            counted(&|cpu| cpu.package).max(counted(&|cpu| cpu.node)).max(1),
            shape.states.iter().flatten().map(domains).collect::<BTreeSet<usize>>(),
        ),
    ] {
        if let (Some(least), Some(most)) = (measured.first(), measured.last()) {
            let measured = if least == most { least.to_string() } else { format!("{least} to {most}") };
            table.row(vec![what.to_owned(), shown.to_string(), measured]);
        }
    }
    if !shape.siblings_not_confirmed.is_empty() {
        let pairs = count_noun(shape.siblings_not_confirmed.len() as u64, "pair");
        table.row(vec!["siblings".to_owned(), pairs, "do not slow each other down".to_owned()]);
    }
    table
}

/// A kind of state: the name of its row, the fill, the meaning, and a function that lists the CPUs in this state. The
/// list is empty if no CPU is in this state.
type Kind = (&'static str, Fill, &'static str, fn(&ShapeState) -> String);

const KINDS: [Kind; 3] = [
    ("cores", Fill::Lost, "CPUs share a core", |state| lists(&state.cores)),
    ("domains", Fill::Warning, "CPUs in different packages or dies", |state| {
        state.domains.last().filter(|of| of.len() > 1).map(|of| lists(of)).unwrap_or_default()
    }),
    ("memory", Fill::Series(3), "CPUs far from the memory", |state| state.far_from_memory.to_string()),
];

/// One row each for cores, domains and memory, with one cell per placement check.
fn strip(record: &Record, shape: &Shape) -> Bars {
    let times: Vec<f64> =
        record.looks.iter().flat_map(|looks| &looks.looks).map(|look| look.at_seconds).collect();
    let width = 1.0 / times.len().max(1) as f64;
    let mut bars = Bars { title: "Over time, one cell per placement check".to_owned(), ..Bars::default() };
    for (name, fill, words, tells) in KINDS {
        let (mut pieces, mut news) = (Vec::new(), 0);
        for (at, (seconds, state)) in times.iter().zip(&shape.states).enumerate() {
            let Some(said) = state.as_ref().map(tells) else { continue };
            let (fill, said) = match said.is_empty() {
                true => (Fill::Same, format!("{seconds:.1} s: none")),
                false => (fill, format!("{seconds:.1} s: {words}: {said}")),
            };
            news += usize::from(fill != Fill::Same);
            pieces.push(Piece::new(at as f64 * width, (at as f64 + 0.9) * width, fill, said));
        }
        if news > 0 {
            let figure = format!("{news} of {}", count_noun(pieces.len(), "placement check"));
            bars.rows.push(Bar { name: name.to_owned(), pieces, figure, ..Bar::default() });
            bars.legend.push((fill, words.to_owned()));
        }
    }
    bars.legend.push((Fill::Same, "none".to_owned()));
    let ends = times.first().zip(times.last());
    bars.ticks = ends
        .map_or(Vec::new(), |(from, to)| vec![(0.0, format!("{from:.1} s")), (1.0, format!("{to:.1} s"))]);
    bars
}

/// Consecutive placement checks with the same state.
struct Spell<'a> {
    from: f64,
    looks: usize,
    state: &'a ShapeState,
}

fn spells<'a>(record: &Record, shape: &'a Shape) -> Vec<Spell<'a>> {
    let times = record.looks.iter().flat_map(|looks| &looks.looks).map(|look| look.at_seconds);
    let mut spells: Vec<Spell> = Vec::new();
    for (from, state) in times.zip(&shape.states).filter_map(|(at, state)| Some((at, state.as_ref()?))) {
        match spells.last_mut() {
            Some(last) if last.state == state => last.looks += 1,
            _ => spells.push(Spell { from, looks: 1, state }),
        }
    }
    spells
}

fn lists(of: &[CpuList]) -> String {
    of.iter().map(CpuList::to_string).collect::<Vec<_>>().join(" | ")
}

/// The number of cores used by a program's CPUs while it ran; empty without placement checks or for one CPU.
pub(crate) fn cores_had(record: &Record) -> Option<String> {
    let cpus: CpuList = record.looks.as_ref()?.cpus.iter().copied().collect();
    let had = record.diagnosis.shape.as_ref()?.cores_of(&cpus);
    let (looks, all) = (had.values().sum::<usize>(), count_noun(cpus.len(), "CPU"));
    if let [(cores, _)] = had.iter().collect::<Vec<_>>()[..] {
        let looks = match looks {
            1 => "the one placement check".to_owned(),
            looks => format!("all {looks} placement checks"),
        };
        return Some(format!("{all} on {} in {looks}", count_noun(*cores, "core")));
    }
    let share = |(cores, times): (&usize, &usize)| {
        format!("on {} in {}", count_noun(*cores, "core"), units::percent(*times as f64 / looks as f64))
    };
    let shares: Vec<String> = had.iter().map(share).collect();
    (!shares.is_empty()).then(|| format!("{all} {} of {looks} placement checks", shares.join(", ")))
}

/// The answer in a few words, and the age of the placement checks if another run made them.
pub(crate) fn brief(shape: &Shape, now: &str) -> String {
    let looks = count_noun(u64::from(shape.looks), "placement check");
    let motion = match shape.motion {
        Motion::Pinned => format!("not observed in {looks}"),
        Motion::Floating => format!("yes: {} in {looks}", count_noun(u64::from(shape.changes), "change")),
        Motion::Unknown => format!("unknown after {looks}"),
    };
    let shares = [shape.sharing, shape.sharing_busy].into_iter().flatten().map(|share| share.share);
    let shares = shares.fold(0.0, f64::max);
    let shares = (shares > 0.0)
        .then(|| format!(", share cores in {} of the placement checks", units::percent(shares)));
    let split = shape.split.filter(|split| split.count > 0);
    let split = split.map(|of| format!(", in different packages or dies in {}", units::percent(of.share)));
    let at = shape.looked_at.as_deref().and_then(date::seconds);
    let age = at.zip(date::seconds(now)).map(|(at, now)| now.saturating_sub(at) as f64);
    let age = age.map(|age| format!("; measured {} ago", conditions::duration(age)));
    [Some(motion), shares, split, age].into_iter().flatten().collect()
}

/// The answer in a sentence or two.
fn says(record: &Record, shape: &Shape) -> String {
    let all = record.looks.iter().flat_map(|looks| &looks.looks).count();
    let lost = all.saturating_sub(shape.looks as usize);
    let lost = (lost > 0).then(|| format!("Checks disturbed by other processes or the hypervisor: {lost}."));
    let looks = count_noun(u64::from(shape.looks), "placement check");
    let changes = count_noun(u64::from(shape.changes), "change");
    let motion = match shape.motion {
        Motion::Pinned => format!("The CPUs did not move in {looks}."),
        Motion::Floating => format!("The CPUs moved: {changes} in {looks}."),
        // CPUs may not have moved: without a hypervisor, they cannot, and a single check that differs may have been disturbed.
        Motion::Unknown if shape.looks > 3 => format!("Distances between CPUs varied: {changes} in {looks}."),
        Motion::Unknown => format!("{looks}: too few to show whether CPUs move."),
    };
    let shown = match shape.topology {
        Topology::AsShown => "Their placement matches the topology reported by Linux.",
        Topology::Finer => "The CPUs are in domains that Linux does not report.",
        Topology::Coarser => "Linux reports separate packages or nodes, but no difference was measured.",
        Topology::Crossing => "Their placement differs from the topology reported by Linux.",
        Topology::Unknown => "",
    };
    let share = |share: Option<Share>, when: &str| {
        let share = share.filter(|share| share.count > 0)?;
        Some(format!(
            "CPUs reported by Linux as separate cores shared a core in {} of the placement checks {when} \
             [{}–{}].",
            units::percent(share.share),
            units::percent(share.low),
            units::percent(share.high)
        ))
    };
    let memory = shape.memory.map(|memory| {
        format!(
            "A load from the same page took {} on near CPUs and {} on far CPUs (which made {} of the loads).",
            units::figure(memory.near_ns, "ns"),
            units::figure(memory.far_ns, "ns"),
            units::percent(memory.far.share)
        )
    });
    let parts = [
        Some(motion),
        Some(shown.to_owned()).filter(|shown| !shown.is_empty()),
        share(shape.sharing, "between measurements"),
        share(shape.sharing_busy, "after all CPUs were busy"),
        memory,
        lost,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::shape::{Look, Looks};

    /// A record of four CPUs on separate cores, as Linux shows them, with a placement check of each state one second apart.
    fn record_of(states: Vec<Option<ShapeState>>) -> Record {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        record.machine.cpus =
            (0..4).map(|id| Cpu { id, core: Some(id), package: Some(0), ..Cpu::default() }).collect();
        let looks = (0..states.len()).map(|at| Look { at_seconds: at as f64, ..Look::default() }).collect();
        record.looks = Some(Looks { cpus: (0..4).collect(), looks, ..Looks::default() });
        let looks = states.iter().flatten().count() as u32;
        record.diagnosis.shape = Some(Shape { looks, states, ..Shape::default() });
        record
    }

    fn sharing(cores: &[&str]) -> Option<ShapeState> {
        let cores = cores.iter().map(|core| core.parse().unwrap()).collect();
        Some(ShapeState { cores, ..ShapeState::default() })
    }

    #[test]
    fn a_programs_cores_are_counted_in_each_look() {
        let had = |states: &[&[&str]]| cores_had(&record_of(states.iter().map(|of| sharing(of)).collect()));
        assert_eq!(had(&[&["0-1"]]).unwrap(), "4 CPUs on 3 cores in the one placement check");
        assert_eq!(had(&[&[], &[], &[]]).unwrap(), "4 CPUs on 4 cores in all 3 placement checks");
        let some = had(&[&["0-1", "2-3"], &["0-1", "2-3"], &[], &[], &[]]).unwrap();
        assert_eq!(some, "4 CPUs on 2 cores in 40.0 %, on 4 cores in 60.0 % of 5 placement checks");
        assert_eq!((had(&[]), cores_had(&Record::new("0.1.0", String::new(), Vec::new()))), (None, None));
    }

    #[test]
    fn core_to_core_latency_is_shown_with_the_placement_at_that_time() {
        let measured = |look: u32| {
            let mut record = record_of(vec![sharing(&["0-1"]), sharing(&[]), sharing(&[])]);
            let m = record::Measurement::new(metrics::CORE_TO_CORE_LATENCY, record::Labels::new(), vec![7.0]);
            record.measurements.push(m.with_looks(vec![look]));
            let shape = record.diagnosis.shape.clone().unwrap();
            pairs(&record, &shape).unwrap_or_default()
        };
        assert!(measured(1).ends_with("shared a core in 1 of 1 placement check."), "{}", measured(1));
        assert!(measured(2).ends_with("were on separate cores."), "{}", measured(2));
        // Before the first check, and without checks, the placement is unknown.
        assert_eq!((measured(0).as_str(), measured(9).as_str()), ("", ""));
    }

    #[test]
    fn interrupted_checks_are_counted() {
        let record = record_of(vec![sharing(&[]), None, None]);
        let all = says(&record, record.diagnosis.shape.as_ref().unwrap());
        assert!(all.contains("hypervisor: 2."), "{all}");
        let record = record_of(vec![sharing(&[])]);
        assert!(!says(&record, record.diagnosis.shape.as_ref().unwrap()).contains("hypervisor:"));
    }

    #[test]
    fn an_inventory_tells_the_age_of_the_last_looks() {
        let shape = Shape { looks: 12, motion: Motion::Pinned, ..Shape::default() };
        assert_eq!(brief(&shape, "2026-11-27T10:00:00Z"), "not observed in 12 placement checks");
        let older = shape.looked_on("2026-11-24T10:00:00Z");
        assert_eq!(
            brief(&older, "2026-11-27T10:00:00Z"),
            "not observed in 12 placement checks; measured 3 days ago"
        );
        let few = Shape { looks: 2, motion: Motion::Unknown, ..older };
        assert_eq!(
            brief(&few, "2026-11-24T10:30:00Z"),
            "unknown after 2 placement checks; measured 30 min 0 s ago"
        );
    }

    #[test]
    fn the_strip_has_a_cell_for_each_look_that_says_something() {
        let apart = ShapeState {
            domains: vec![vec!["0-1".parse().unwrap(), "2-3".parse().unwrap()]],
            ..ShapeState::default()
        };
        let record = record_of(vec![sharing(&["0-1"]), None, sharing(&[]), Some(apart)]);
        let shape = record.diagnosis.shape.as_ref().unwrap();
        let bars = strip(&record, shape);
        let rows: Vec<(&str, usize, &str)> =
            bars.rows.iter().map(|row| (row.name.as_str(), row.pieces.len(), row.figure.as_str())).collect();
        assert_eq!(
            rows,
            [("cores", 3, "1 of 3 placement checks"), ("domains", 3, "1 of 3 placement checks")]
        );
        assert_eq!((bars.rows[0].pieces[0].fill, bars.rows[0].pieces[1].fill), (Fill::Lost, Fill::Same));
        assert!(bars.rows[1].pieces[2].to <= 1.0 && bars.legend.len() == 3);
        assert_eq!(
            beside_shown(&record, shape).rows,
            [["cores", "4", "3 to 4"], ["packages or nodes", "1", "1 to 2"]]
        );
    }
}
