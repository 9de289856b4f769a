//! Tests series of placement checks on synthetic hosts, with the correct answer for each.

use super::*;
use proptest::prelude::*;
use record::shape::Contended;

use super::samples::{jitter, looks_at as series};

/// A machine as reported by Linux: the core and package of each CPU.
fn shown(n: u32, core: impl Fn(u32) -> u32, package: impl Fn(u32) -> u32) -> Machine {
    let mut machine = Machine::default();
    machine.virtualization.hypervisor = Some("kvm".to_owned());
    machine.cpus.extend((0..n).map(|id| record::machine::Cpu {
        id,
        online: true,
        allowed: true,
        core: Some(core(id)),
        package: Some(package(id)),
        node: Some(package(id)),
        ..Default::default()
    }));
    machine
}

fn flat(n: u32) -> Machine {
    shown(n, |cpu| cpu, |_| 0)
}

fn list(cpus: &str) -> CpuList {
    cpus.parse().unwrap()
}

#[test]
fn hidden_siblings_that_stay_are_pinned_and_shared() {
    let shape = shape(&series(8, 12, |_, cpu| (0, 0, cpu / 2)), &flat(8)).unwrap();
    assert_eq!((shape.motion, shape.changes), (Motion::Pinned, 0));
    assert_eq!(
        shape.shared_cores.iter().map(|one| (one.pair, one.looks, one.shown)).collect::<Vec<_>>(),
        [(0, 1), (2, 3), (4, 5), (6, 7)].map(|pair| (pair, 12, false))
    );
    assert_eq!(shape.sharing.unwrap().count, 12);
    assert_eq!(shape.distances.len(), 1);
    assert_eq!(shape.topology, Topology::Crossing, "Linux shows separate cores");
}

#[test]
fn damaged_lists_of_cpus_are_not_judged() {
    for cpus in [vec![0, 1, 1, 3], vec![3, 2, 1, 0]] {
        let looks = Looks { cpus, ..series(4, 6, |_, cpu| (0, 0, cpu)) };
        assert_eq!(shape(&looks, &flat(4)), None);
    }
}

#[test]
fn siblings_as_told_are_no_news() {
    let shape =
        shape(&series(8, 12, |_, cpu| (cpu / 4, 0, cpu / 2)), &shown(8, |cpu| cpu / 2, |cpu| cpu / 4))
            .unwrap();
    assert_eq!((shape.motion, shape.topology), (Motion::Pinned, Topology::AsShown));
    assert!(shape.shared_cores.iter().all(|one| one.shown));
    assert_eq!((shape.sharing.unwrap().count, shape.split.unwrap().count), (0, 0));
}

#[test]
fn told_siblings_that_do_not_contend_are_named() {
    let mut looks = series(4, 6, |_, cpu| (0, 0, cpu));
    looks.looks.iter_mut().for_each(|look| look.contended.push(Contended { pair: (0, 1), slowdown: 1.02 }));
    let shape = shape(&looks, &shown(4, |cpu| cpu / 2, |_| 0)).unwrap();
    assert_eq!(shape.siblings_not_confirmed, [(0, 1)]);
    assert_eq!(shape.shared_cores, []);
}

#[test]
fn cpus_that_float_over_cores_and_packages_are_seen() {
    // In each check, a different pair shares a core, and a different CPU is in the other package.
    let place = |look: u32, cpu: u32| {
        let core = if cpu == (look * 5 + 3) % 16 { (look * 5) % 16 } else { cpu };
        (u32::from(cpu == (look * 7 + 9) % 16 && look.is_multiple_of(3)), 0, core)
    };
    let shape = shape(&series(16, 20, place), &flat(16)).unwrap();
    assert_eq!(shape.motion, Motion::Floating);
    assert!(shape.changes >= 18, "{}", shape.changes);
    assert_eq!(shape.topology, Topology::Crossing);
    assert!((5..=7).contains(&shape.split.unwrap().count), "{:?}", shape.split);
    assert!(shape.sharing.unwrap().count >= 14, "{:?}", shape.sharing);
    let away = shape.states[0].as_ref().unwrap();
    assert_eq!((&away.domains[0], &away.far_from_memory), (&vec![list("0-8,10-15"), list("9")], &list("9")));
}

#[test]
fn two_cpus_whose_pair_changes_float() {
    let shape =
        shape(&series(2, 12, |look, cpu| (if look < 5 { 0 } else { cpu }, 0, cpu)), &flat(2)).unwrap();
    assert_eq!((shape.motion, shape.changes), (Motion::Floating, 1));
    assert!(
        matches!(shape.distances.as_slice(), [near, far] if near.high_ns < 35.0 && far.low_ns > 150.0),
        "{shape:?}"
    );
    assert_eq!(shape.split.unwrap().count, 7);
}

#[test]
fn without_a_hypervisor_nothing_moves_and_nothing_is_explained_by_it() {
    // The interconnect's clock is slow for a while.
    let looks = series(8, 20, |look, cpu| (0, if (6..12).contains(&look) { cpu } else { 0 }, cpu));
    let mut record = crate::samples::machine(8);
    record.looks = Some(looks);
    let shape = of_record(&record).unwrap();
    assert_eq!((shape.motion, moved(&shape)), (Motion::Unknown, &[][..]));
    let found: Vec<String> =
        crate::diagnose(&record).findings.into_iter().map(|finding| finding.rule).collect();
    assert_eq!(found, Vec::<String>::new());
    record.machine.virtualization.hypervisor = Some("kvm".to_owned());
    assert_eq!(of_record(&record).unwrap().motion, Motion::Floating);
}

#[test]
fn two_hidden_packages_are_finer_than_told() {
    let shape = shape(&series(16, 10, |_, cpu| (cpu / 8, 0, cpu)), &flat(16)).unwrap();
    assert_eq!((shape.motion, shape.topology), (Motion::Pinned, Topology::Finer));
    assert_eq!(shape.states[3].as_ref().unwrap().domains, [[list("0-7"), list("8-15")]]);
    let memory = shape.memory.unwrap();
    assert!(memory.near_ns < 110.0 && memory.far_ns > 140.0 && memory.far.count == 80, "{memory:?}");
}

#[test]
fn modules_and_packages_are_two_bounds() {
    let place = |_: u32, cpu: u32| (cpu / 8, cpu / 4, cpu);
    let shape = shape(&series(16, 10, place), &flat(16)).unwrap();
    let state = shape.states[0].as_ref().unwrap();
    assert_eq!(
        state.domains,
        [vec![list("0-3"), list("4-7"), list("8-11"), list("12-15")], vec![list("0-7"), list("8-15")]]
    );
}

#[test]
fn uneven_domains_are_found() {
    let shape = shape(&series(7, 8, |_, cpu| (u32::from(cpu > 4), 0, cpu)), &flat(7)).unwrap();
    assert_eq!(shape.states[0].as_ref().unwrap().domains, [[list("0-4"), list("5-6")]]);
}

#[test]
fn packages_that_are_not_apart_are_coarser_than_told() {
    let shape = shape(&series(8, 8, |_, cpu| (0, 0, cpu)), &shown(8, |cpu| cpu, |cpu| cpu)).unwrap();
    assert_eq!((shape.topology, shape.motion), (Topology::Coarser, Motion::Pinned));
}

#[test]
fn a_cpu_that_is_taken_away_within_a_look_moves_nobody() {
    let mut looks = series(8, 12, |_, cpu| (0, 0, cpu));
    let positions = looks.positions();
    for (at, pair) in positions.iter().enumerate().filter(|(_, pair)| pair.0 == 3 || pair.1 == 3) {
        looks.looks[4].line_ns[at] = (pair.0 + pair.1 > 6).then_some(900_000.0);
        looks.looks[7].line_ns[at] = Some(60.0 + 40.0 * pair.1 as f64);
    }
    looks.looks[4].memory_ns[3] = None;
    let shape = shape(&looks, &flat(8)).unwrap();
    assert_eq!((shape.motion, shape.topology), (Motion::Pinned, Topology::AsShown));
    assert!(shape.distances.last().unwrap().high_ns < 2_000.0);
}

#[test]
fn one_cpu_or_no_answer_says_nothing() {
    assert_eq!(shape(&series(1, 5, |_, _| (0, 0, 0)), &flat(1)), None);
    let mut looks = series(4, 5, |_, cpu| (0, 0, cpu));
    looks.looks.iter_mut().for_each(|look| look.line_ns.fill(None));
    assert_eq!(shape(&looks, &flat(4)), None);
    // A record may contain malformed checks.
    looks.looks.iter_mut().for_each(|look| look.line_ns.truncate(2));
    looks.pairs = Some(vec![(0, 900), (1, 2)]);
    assert_eq!(shape(&looks, &flat(4)), None);
}

#[test]
fn few_looks_say_nothing_of_motion() {
    let shape = shape(&series(4, 2, |_, cpu| (0, 0, cpu)), &flat(4)).unwrap();
    assert_eq!(shape.motion, Motion::Unknown);
}

#[test]
fn one_odd_look_neither_moves_cpus_nor_shows_that_they_stay() {
    let odd = |look: u32, cpu: u32| (0, 0, if look == 3 && cpu == 1 { 0 } else { cpu });
    let shape = shape(&series(4, 9, odd), &flat(4)).unwrap();
    assert_eq!((shape.motion, shape.changes, shape.sharing.unwrap().count), (Motion::Unknown, 2, 1));
}

#[test]
fn an_interrupted_look_says_nothing() {
    // The pair is near, but whether it shares a core could not be tested.
    let mut looks = series(4, 9, |_, cpu| (0, 0, cpu / 2));
    looks.looks[5].contended.clear();
    assert_eq!(shape(&looks, &flat(4)).unwrap().changes, 2);
    looks.looks[5].interrupted = true;
    let seen = shape(&looks, &flat(4)).unwrap();
    assert_eq!((seen.motion, seen.changes, seen.looks), (Motion::Pinned, 0, 8));
    assert_eq!(seen.states[5], None);
}

#[test]
fn distances_on_one_core_and_between_cores_are_shares_of_all_pairs() {
    let seen =
        shape(&series(4, 10, |look, cpu| (0, 0, if look < 4 { cpu / 2 } else { cpu })), &flat(4)).unwrap();
    let one = seen.one_core.unwrap();
    // Two of six pairs in four of ten checks.
    assert!((one.share - 8.0 / 60.0).abs() < 1e-9 && one.high_ns < 10.0, "{one:?}");
    let all: f64 = seen.distances.iter().map(|of| of.share).sum();
    assert!((all + one.share - 1.0).abs() < 1e-9, "{all}");
    let none = shape(&series(4, 10, |_, cpu| (0, 0, cpu)), &flat(4)).unwrap();
    assert_eq!((none.one_core, none.distances[0].share), (None, 1.0));
}

#[test]
fn core_to_core_latency_of_a_pair_is_said_for_each_placement() {
    // CPUs 0 and 1 share a core in two of three checks; CPUs 2 and 3 do so in other checks.
    let place = |look: u32, cpu: u32| match cpu {
        1 if !look.is_multiple_of(3) => (0, 0, 0),
        3 if look.is_multiple_of(2) => (0, 0, 2),
        _ => (0, 0, cpu),
    };
    let pair = |from: u32, to: u32| {
        let labels = record::Labels::new()
            .with_label(Label::From, from)
            .with_label(Label::To, to)
            .with_label(Label::Handover, "cas");
        let looks: Vec<u32> = (1..=12).flat_map(|look| [look; 9]).collect();
        let time = |look: &u32| {
            let of = |cpu| place(look - 1, cpu).2;
            (if of(from) == of(to) { 7.0 } else { 57.0 }) + 0.01 * f64::from(*look)
        };
        Measurement::new(metrics::CORE_TO_CORE_LATENCY, labels, looks.iter().map(time).collect())
            .with_looks(looks)
    };
    let mut record = super::samples::record_with(crate::samples::machine(4), series(4, 12, place));
    record.measurements = vec![pair(0, 1), pair(0, 3), pair(2, 3)];
    let says = of_record(&record).unwrap().core_to_core;
    let told = |says: &record::Text| {
        let Some(record::text::Value::Sentence(by)) = says.value("by") else { panic!("{says:?}") };
        (says.value("from").cloned(), by.code().map(str::to_owned), by.value("share").cloned())
    };
    let share = |of: f64| Some(record::text::Value::Share(of));
    let cores = Some("noise-by-cores".to_owned());
    assert_eq!(
        says.iter().map(told).collect::<Vec<_>>(),
        [(Some(0u64.into()), cores.clone(), share(1.0 / 3.0)), (Some(2u64.into()), cores, share(0.5))]
    );
}

#[test]
fn five_hundred_cpus_in_a_sample_of_pairs() {
    let mut looks = series(512, 3, |_, cpu| (cpu / 128, cpu / 16, cpu));
    let keep: Vec<bool> = looks.positions().iter().map(|(a, b)| (b - a) % 9 == 1 || b - a < 6).collect();
    looks.pairs = Some(
        looks
            .positions()
            .iter()
            .zip(&keep)
            .filter(|(_, keep)| **keep)
            .map(|((a, b), _)| (*a as u32, *b as u32))
            .collect(),
    );
    for look in &mut looks.looks {
        let mut at = keep.iter();
        look.line_ns.retain(|_| *at.next().unwrap());
    }
    let shape = shape(&looks, &flat(512)).unwrap();
    let last = shape.states[2].as_ref().unwrap().domains.last().unwrap();
    assert_eq!(*last, ["0-127", "128-255", "256-383", "384-511"].map(list));
}

proptest! {
    #[test]
    fn numbers_of_cpus_change_nothing(seed in 0u32..1000, n in 3usize..12) {
        let place = |look: u32, cpu: u32| {
            (u32::from(jitter(seed, cpu, look / 3) > 0.6), 0, if jitter(cpu, look, seed) > 0.9 { 0 } else { cpu })
        };
        let looks = series(n as u32, 9, place);
        // All CPU numbers in reverse order.
        let mut turned = looks.clone();
        let positions = looks.positions();
        let at = |a: usize, b: usize| positions.iter().position(|pair| *pair == (a.min(b), a.max(b))).unwrap();
        for look in &mut turned.looks {
            let before = look.clone();
            for (to, (a, b)) in positions.iter().enumerate() {
                look.line_ns[to] = before.line_ns[at(n - 1 - a, n - 1 - b)];
            }
            look.memory_ns.reverse();
            let turn = |cpu: u32| n as u32 - 1 - cpu;
            look.contended.iter_mut().for_each(|one| one.pair = (turn(one.pair.1), turn(one.pair.0)));
        }
        let (one, other) = (shape(&looks, &flat(n as u32)), shape(&turned, &flat(n as u32)));
        let gist = |shape: &Option<Shape>| shape.as_ref().map(|s| (s.motion, s.topology, s.changes, s.looks, s.sharing, s.split, s.memory, s.shared_cores.len()));
        prop_assert_eq!(gist(&one), gist(&other));
    }

    #[test]
    fn any_looks_are_judged(times in prop::collection::vec(prop::option::of(0.0f64..5e3), 60), slow in 0.0f64..4.0) {
        let mut looks = series(4, 10, |_, cpu| (0, 0, cpu));
        for (look, times) in looks.looks.iter_mut().zip(times.chunks(6)) {
            look.line_ns.copy_from_slice(times);
            look.contended.push(Contended { pair: (1, 2), slowdown: slow });
        }
        if let Some(shape) = shape(&looks, &flat(4)) {
            prop_assert!(shape.looks as usize <= looks.looks.len());
            prop_assert!(shape.distances.windows(2).all(|pair| pair[0].high_ns < pair[1].low_ns));
        }
    }
}
