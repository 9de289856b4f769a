//! Caches and memory devices, one line per kind.

use std::collections::BTreeMap;

use record::machine::{Cache, CacheKind, MemoryDevice};
use record::{Machine, units};

use super::{Fact, listed};
use record::phrase::count_noun;

/// Maximum number of listed sets of CPUs that share a cache; for the rest, only their number is shown.
const SETS: usize = 3;

/// `L1d`, `L1i`, `L2`.
pub(crate) fn cache_name(cache: &Cache) -> String {
    let kind = match cache.kind {
        CacheKind::Data => "d",
        CacheKind::Instruction => "i",
        CacheKind::Unified => "",
    };
    format!("L{}{kind}", cache.level)
}

/// One fact for each kind of cache: `32 MiB × 4, 16 ways, 64 B lines, each shared by 8 CPUs: 0-7 | 8-15 | 2 more`. Ways
/// and lines are omitted if only the sizes are requested.
pub(crate) fn caches(machine: &Machine, whole: bool) -> Vec<Fact> {
    let mut groups: BTreeMap<_, Vec<&Cache>> = BTreeMap::new();
    for cache in &machine.caches {
        let like = (cache.level, cache.kind, cache.bytes, cache.line, cache.ways, cache.cpus.len());
        groups.entry(like).or_default().push(cache);
    }
    groups
        .into_values()
        .map(|group| {
            let cache = group[0];
            let size = cache.bytes.map_or("size unknown".to_owned(), units::bytes);
            let sharers = match cache.cpus.len() {
                0 => None,
                1 => {
                    Some(if group.len() > 1 { "1 per CPU".to_owned() } else { format!("CPU {}", cache.cpus) })
                }
                n => {
                    let sets = group.iter().take(SETS).map(|of| of.cpus.to_string()).collect::<Vec<_>>();
                    let more = group.len().saturating_sub(SETS);
                    let more = if more > 0 { format!(" | {more} more") } else { String::new() };
                    let each = if group.len() > 1 { "each " } else { "" };
                    Some(format!("{each}shared by {n} CPUs: {}{more}", sets.join(" | ")))
                }
            };
            // An imported record may contain the size of a cache without the number of caches or the CPUs that share them.
            let unreported = cache.cpus.is_empty() && group.len() == 1;
            let number =
                if unreported { format!("{size} each") } else { format!("{size} × {}", group.len()) };
            // A guest may have only some of the cores, and the cache sharing reported in the guest may be wrong.
            let is_the_hosts = machine.has_hosts_cache(cache.level);
            let value = listed([
                Some(number),
                cache.ways.filter(|_| whole).map(|ways| count_noun(ways as usize, "way")),
                cache.line.filter(|_| whole).map(|line| format!("{line} B lines")),
                sharers,
                is_the_hosts.then(|| "host cache, shared with other guests".to_owned()),
            ]);
            Fact { key: cache_name(cache), value }
        })
        .collect()
}

/// The population of slots, and one fact for each kind of device. An imported text (`excerpt`) may not list every slot.
pub(crate) fn devices(machine: &Machine, excerpt: bool) -> Vec<Fact> {
    let slots = &machine.memory_devices;
    if slots.is_empty() {
        return Vec::new();
    }
    let populated: Vec<&MemoryDevice> = slots.iter().filter(|slot| slot.bytes.is_some()).collect();
    let mut channels: BTreeMap<(Option<u32>, &str), usize> = BTreeMap::new();
    for slot in slots {
        if let Some(channel) = &slot.channel {
            *channels.entry((slot.node, channel)).or_default() += usize::from(slot.bytes.is_some());
        }
    }
    let channels_reported = (!channels.is_empty()).then(|| {
        let used = channels.values().filter(|devices| **devices > 0).count();
        match excerpt {
            true => format!("in {}", count_noun(used, "channel")),
            false => format!("{used} of {} populated", count_noun(channels.len(), "channel")),
        }
    });
    let board = machine.memory_slots.filter(|board| excerpt && *board as usize > slots.len());
    let mut facts = vec![Fact {
        key: "Memory slots".to_owned(),
        value: listed([
            Some(match excerpt {
                true => count_listed(populated.len(), slots.len(), board.is_some()),
                false => format!("{} of {} populated", populated.len(), slots.len()),
            }),
            channels_reported,
            board.map(|board| format!("{board} slots on the board")),
        ]),
    }];
    let mut groups: BTreeMap<_, usize> = BTreeMap::new();
    for slot in populated {
        *groups.entry(device(slot)).or_default() += 1;
    }
    facts.extend(groups.into_iter().map(|(words, count)| Fact {
        key: "Memory devices".to_owned(),
        value: format!("{count} × {words}"),
    }));
    facts
}

/// The slots according to an imported text, which may mention more slots than it lists.
fn count_listed(populated: usize, listed: usize, of_more: bool) -> String {
    match of_more {
        true => format!("{populated} of the {listed} listed slots populated"),
        false => format!("{populated} of {listed} listed slots populated"),
    }
}

/// `32 GiB DDR4 DIMM, 2 ranks, rated 2933 MT/s, configured 2100 MT/s, Samsung M393A4K40CB2`.
fn device(slot: &MemoryDevice) -> String {
    let what = [slot.bytes.map(units::bytes), slot.kind.clone(), slot.form.clone()];
    let maker = [slot.vendor.clone(), slot.part.clone()];
    let words = |parts: [Option<String>; 3]| parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    listed([
        Some(words(what)),
        slot.ranks.map(|ranks| count_noun(ranks as usize, "rank")),
        slot.rated_mt_s.map(|speed| format!("rated {speed} MT/s")),
        slot.configured_mt_s.map(|speed| format!("configured {speed} MT/s")),
        Some(maker.into_iter().flatten().collect::<Vec<_>>().join(" ")),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_that_run_below_their_rating_show_both_speeds() {
        let slot = |bytes| MemoryDevice {
            bytes,
            kind: Some("DDR4".to_owned()),
            rated_mt_s: Some(2933),
            configured_mt_s: Some(2100),
            channel: Some("A".to_owned()),
            ..MemoryDevice::default()
        };
        let machine = Machine { memory_devices: vec![slot(Some(1 << 35)), slot(None)], ..Machine::default() };
        let facts = devices(&machine, false);
        assert_eq!(facts[0].value, "1 of 2 populated, 1 of 1 channel populated");
        let reported = &devices(&machine, true)[0].value;
        assert_eq!(reported, "1 of 2 listed slots populated, in 1 channel");
        let whole = Machine { memory_slots: Some(32), ..machine };
        let reported = &devices(&whole, true)[0].value;
        assert_eq!(reported, "1 of the 2 listed slots populated, in 1 channel, 32 slots on the board");
        assert_eq!(facts[1].value, "1 × 32 GiB DDR4, rated 2933 MT/s, configured 2100 MT/s");
    }

    #[test]
    fn caches_alike_share_a_line() {
        let cache = |from: u32| Cache {
            level: 3,
            kind: CacheKind::Unified,
            bytes: Some(32 << 20),
            line: Some(64),
            ways: Some(16),
            cpus: (from..from + 8).collect(),
        };
        let machine = Machine { caches: (0..8).map(|i| cache(i * 8)).collect(), ..Machine::default() };
        let facts = caches(&machine, true);
        assert_eq!(facts[0].key, "L3");
        assert_eq!(
            facts[0].value,
            "32 MiB × 8, 16 ways, 64 B lines, each shared by 8 CPUs: 0-7 | 8-15 | 16-23 | 5 more"
        );
    }
}
