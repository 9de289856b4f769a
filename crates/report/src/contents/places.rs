//! Where the CPUs really are: their distances, and their state over time.

use record::live::Share;
use record::phrase::count_noun;
use record::shape::{Distance, Motion, Shape, ShapeState, Topology};
use record::{CpuList, Record, units};

use super::block::{Block, Part};
use crate::table::{Field, Table};

/// Spells that are shown; the rest is in the record.
const MOST: usize = 24;

/// The block; nothing where nobody looked.
pub(crate) fn block(record: &Record) -> Option<Block> {
    let shape = record.diagnosis.shape.as_ref().filter(|shape| shape.looks > 0)?;
    let fields: [Field<Distance>; 4] = [
        ("#median", |of| units::figure(of.median_ns, "ns")),
        ("#lowest", |of| units::figure(of.low_ns, "ns")),
        ("#highest", |of| units::figure(of.high_ns, "ns")),
        ("#part of pairs", |of| units::percent(of.share)),
    ];
    let mut table = Table::with_fields("A cache line from CPU to CPU", None, &fields);
    shape.distances.iter().for_each(|of| table.item(&fields, of));
    let mut parts = vec![Part::Says(says(shape)), Part::Table(table)];
    let spells = spells(record, shape);
    if spells.len() > 1 || spells.first().is_some_and(|spell| has_news(spell.state)) {
        let fields: [Field<Spell>; 5] = [
            ("#from", |spell| format!("{:.1} s", spell.from)),
            ("#looks", |spell| spell.looks.to_string()),
            ("on one core", |spell| lists(&spell.state.cores)),
            ("apart", |spell| spell.state.domains.last().map(|of| lists(of)).unwrap_or_default()),
            ("far from memory", |spell| spell.state.far_from_memory.to_string()),
        ];
        let mut table = Table::with_fields("Over time", None, &fields);
        table.first(spells, MOST).iter().for_each(|spell| table.item(&fields, spell));
        parts.push(Part::Table(table));
    }
    Some(Block::new("Where the CPUs are", Some("shape"), parts))
}

/// Looks of the same state, one after the other.
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

fn has_news(state: &ShapeState) -> bool {
    !state.cores.is_empty() || state.domains.iter().any(|of| of.len() > 1)
}

fn lists(of: &[CpuList]) -> String {
    if of.len() == 1 && of[0].len() > 2 {
        return "no".to_owned();
    }
    of.iter().map(CpuList::to_string).collect::<Vec<_>>().join(" | ")
}

/// The answer in a few words, with the day of the looks where that was another run's.
pub(crate) fn brief(shape: &Shape) -> Option<String> {
    let motion = match shape.motion {
        Motion::Pinned => format!("not seen in {}", count_noun(u64::from(shape.looks), "look")),
        Motion::Floating => format!(
            "yes: {} in {}",
            count_noun(u64::from(shape.changes), "change"),
            count_noun(u64::from(shape.looks), "look")
        ),
        Motion::Unknown => return None,
    };
    let shares = [shape.sharing, shape.sharing_busy]
        .into_iter()
        .flatten()
        .map(|share| share.share)
        .fold(0.0, f64::max);
    let shares = (shares > 0.0).then(|| format!(", share cores in {} of the looks", units::percent(shares)));
    let split = shape.split.filter(|split| split.count > 0);
    let split = split.map(|split| format!(", lie apart in {}", units::percent(split.share)));
    let day = shape.looked_at.as_ref().map(|at| format!("; measured {at}"));
    Some([Some(motion), shares, split, day].into_iter().flatten().collect())
}

/// The answer in a sentence or two.
fn says(shape: &Shape) -> String {
    let looks = count_noun(u64::from(shape.looks), "look");
    let motion = match shape.motion {
        Motion::Pinned => format!("The CPUs stayed where they are in {looks}."),
        Motion::Floating => {
            format!("The CPUs moved: {} in {looks}.", count_noun(u64::from(shape.changes), "change"))
        }
        Motion::Unknown => format!("{looks}: too few to say whether CPUs move."),
    };
    let shown = match shape.topology {
        Topology::AsShown => "They lie as Linux shows them.",
        Topology::Finer => "They lie in domains that Linux does not show.",
        Topology::Coarser => "Linux shows packages or nodes that are not apart.",
        Topology::Crossing => "They lie otherwise than Linux shows.",
        Topology::Unknown => "",
    };
    let share = |share: Option<Share>, when: &str| {
        let share = share.filter(|share| share.count > 0)?;
        Some(format!(
            "CPUs that Linux shows as cores of their own shared one in {} of the looks {when} [{}–{}].",
            units::percent(share.share),
            units::percent(share.low),
            units::percent(share.high)
        ))
    };
    let memory = shape.memory.map(|memory| {
        format!(
            "A load from one page took {} near it and {} far from it ({} of the loads).",
            units::figure(memory.near_ns, "ns"),
            units::figure(memory.far_ns, "ns"),
            units::percent(memory.far.share)
        )
    });
    let parts = [
        Some(motion),
        Some(shown.to_owned()).filter(|shown| !shown.is_empty()),
        share(shape.sharing, "between measurements"),
        share(shape.sharing_busy, "after all had worked"),
        memory,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
