//! Synthetic curves with known levels.

use super::*;
use crate::samples::{add_cache, add_curve, gradual, has_code, machine, noisy, sizes, sizes_by, steps};
use proptest::prelude::*;
use record::Label;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn levels(record: &Record) -> Vec<Level> {
    super::levels(&RecordIndex::new(record))
}

/// A machine of four CPUs with a 32 KiB L1, a 1 MiB L2 and a shared L3.
fn server(l3: u64) -> Record {
    let mut record = machine(4);
    add_cache(&mut record, 1, 32 * KIB, 1);
    add_cache(&mut record, 2, MIB, 1);
    add_cache(&mut record, 3, l3, 4);
    record
}

fn names(levels: &[Level]) -> Vec<&str> {
    levels.iter().map(|level| level.name.as_str()).collect()
}

const INCLUSIVE: [(u64, f64); 4] = [(32 * KIB, 1.3), (MIB, 4.5), (32 * MIB, 18.0), (u64::MAX, 85.0)];

#[test]
fn caches_that_are_there_are_as_advertised() {
    let mut record = server(32 * MIB);
    add_curve(&mut record, "2MiB", &steps(&sizes(4 * KIB, GIB), &INCLUSIVE));
    let levels = levels(&record);
    assert_eq!(names(&levels), ["L1", "L2", "L3", "memory"]);
    for (level, (size, ns)) in levels.iter().zip(INCLUSIVE) {
        assert!((level.latency_ns / ns - 1.0).abs() < 0.01, "{level:?}");
        if level.name != "memory" {
            assert_eq!(level.judgement.code(), Some("level-as-advertised"), "{level:?}");
            assert_eq!((level.measured_bytes, level.advertised_bytes), (Some(size), Some(size)));
        }
    }
}

#[test]
fn a_ripple_of_memory_at_the_advertised_size_is_no_cache() {
    // A virtual machine that gets 4 MiB of the host's 260 MiB, with neighbors that make memory slower in the middle of the run.
    for ripple in [200 * MIB, 600 * MIB] {
        let mut record = server(260 * MIB);
        let curve = [(32 * KIB, 1.7), (MIB, 5.4), (4 * MIB, 35.0), (ripple, 138.0), (u64::MAX, 168.0)];
        add_curve(&mut record, "2MiB", &steps(&sizes_by(4.0, 4 * KIB, GIB), &curve));
        let levels = levels(&record);
        assert_eq!(names(&levels), ["L1", "L2", "L3", "memory"], "{levels:?}");
        assert_eq!(levels[2].measured_bytes, Some(4 * MIB), "{levels:?}");
        assert!((levels[2].latency_ns - 35.0).abs() < 0.5 && levels[3].latency_ns > 130.0, "{levels:?}");
        assert!(has_code(&levels[2].judgement, "level-part-of-cache"), "{levels:?}");
    }
}

#[test]
fn memory_is_as_slow_as_the_largest_sets_of_few() {
    let mut record = server(260 * MIB);
    let mut quick = steps(&sizes_by(2.0, 4 * KIB, 4 * MIB), &[(32 * KIB, 1.7), (MIB, 5.4), (u64::MAX, 34.0)]);
    quick.extend([(11 * MIB, 112.0), (45 * MIB, 144.0)]);
    add_curve(&mut record, "2MiB", &quick);
    let levels = levels(&record);
    assert_eq!(levels.last().unwrap().latency_ns, 144.0, "{levels:?}");
}

#[test]
fn two_sizes_an_octave_are_enough() {
    let mut record = server(32 * MIB);
    let curve = [(48 * KIB, 1.3), (MIB, 4.5), (30 * MIB, 18.0), (u64::MAX, 85.0)];
    for seed in 0..100 {
        record.measurements.clear();
        add_curve(
            &mut record,
            "2MiB",
            &noisy(steps(&sizes_by(2.0, 4 * KIB, GIB), &curve), 0.02, seed * 16 + 1),
        );
        let levels = levels(&record);
        assert_eq!(names(&levels), ["L1", "L2", "L3", "memory"], "seed {seed}");
        assert!(levels.iter().all(|level| !has_code(&level.judgement, "level-part-of-cache")), "{levels:?}");
    }
}

#[test]
fn a_level_that_drifts_upward_is_left_at_its_end() {
    let mut record = server(32 * MIB);
    // As measured on a core with an L2 of 2 MiB: flat to 400 KiB, a third more at 1.4 MiB, then a jump.
    let mut points =
        steps(&sizes(4 * KIB, GIB), &[(32 * KIB, 1.4), (MIB, 4.45), (32 * MIB, 40.0), (u64::MAX, 150.0)]);
    for (bytes, ns) in &mut points {
        if (400 * KIB..=MIB).contains(bytes) {
            *ns *= (*bytes as f64 / (400 * KIB) as f64).powf(0.22);
        }
    }
    add_curve(&mut record, "2MiB", &points);
    assert_eq!(levels(&record)[1].judgement.code(), Some("level-as-advertised"));
}

#[test]
fn noise_does_not_change_the_levels() {
    for seed in 0..200 {
        let mut record = server(32 * MIB);
        add_curve(&mut record, "2MiB", &noisy(steps(&sizes(4 * KIB, GIB), &INCLUSIVE), 0.05, seed));
        let levels = levels(&record);
        assert_eq!(names(&levels), ["L1", "L2", "L3", "memory"], "seed {seed}");
        assert!((levels[3].latency_ns / 85.0 - 1.0).abs() < 0.05, "seed {seed}: {:?}", levels[3]);
    }
}

#[test]
fn caches_that_replace_at_random_are_found_at_their_sizes() {
    let mut record = server(32 * MIB);
    let caches = [(32 * KIB, 1.3), (MIB, 4.5), (32 * MIB, 18.0)];
    add_curve(&mut record, "2MiB", &gradual(&sizes(4 * KIB, GIB), &caches, 85.0));
    let levels = levels(&record);
    assert_eq!(names(&levels), ["L1", "L2", "L3", "memory"]);
    for level in &levels[..3] {
        assert!(matches!(level.judgement.code(), Some("level-as-advertised" | "level-seen-at")), "{level:?}");
    }
}

#[test]
fn a_victim_cache_adds_the_one_before_it() {
    let mut record = server(16 * MIB);
    let curve = [(32 * KIB, 1.3), (MIB, 4.5), (17 * MIB, 12.0), (u64::MAX, 85.0)];
    add_curve(&mut record, "2MiB", &steps(&sizes(4 * KIB, GIB), &curve));
    assert_eq!(levels(&record)[2].judgement.code(), Some("level-as-advertised"));
}

#[test]
fn a_cache_of_which_a_part_is_given_is_reported() {
    let mut record = server(480 * MIB);
    let curve = [(32 * KIB, 1.3), (MIB, 4.5), (30 * MIB, 25.0), (u64::MAX, 110.0)];
    add_curve(&mut record, "2MiB", &steps(&sizes(4 * KIB, 2 * GIB), &curve));
    let levels = levels(&record);
    assert_eq!(names(&levels), ["L1", "L2", "L3", "memory"]);
    let reported = &levels[2].judgement;
    assert!(has_code(reported, "level-part-of-cache"), "{reported}");
    assert_eq!(reported.value("advertised"), Some(&Value::Bytes(480 * MIB)));
    assert!(
        matches!(reported.value("left"), Some(Value::Bytes(left)) if (20 * MIB..30 * MIB).contains(left)),
        "{reported}"
    );
}

#[test]
fn a_ramp_instead_of_a_plateau_is_no_step() {
    let mut record = server(480 * MIB);
    let points: Vec<(u64, f64)> = sizes(4 * KIB, 2 * GIB)
        .into_iter()
        .map(|bytes| match bytes {
            0..=32768 => (bytes, 1.3),
            32769..=1_048_576 => (bytes, 4.5),
            _ => (bytes, 4.5 * (bytes as f64 / MIB as f64).powf(0.42)),
        })
        .collect();
    add_curve(&mut record, "2MiB", &points);
    let levels = levels(&record);
    assert_eq!(names(&levels), ["L1", "L2", "L3", "memory"]);
    assert_eq!(levels[2].judgement.code(), Some("level-no-step"));
    assert_eq!(levels[2].measured_bytes, None);
}

#[test]
fn without_an_advertised_l3_none_is_made_up() {
    let mut record = machine(1);
    add_cache(&mut record, 1, 32 * KIB, 1);
    add_cache(&mut record, 2, MIB, 1);
    let curve = [(32 * KIB, 1.3), (MIB, 4.5), (u64::MAX, 85.0)];
    add_curve(&mut record, "2MiB", &steps(&sizes(4 * KIB, GIB), &curve));
    assert_eq!(names(&levels(&record)), ["L1", "L2", "memory"]);
}

#[test]
fn a_cache_that_nobody_advertises_is_seen() {
    let mut record = machine(1);
    add_cache(&mut record, 1, 32 * KIB, 1);
    add_cache(&mut record, 2, MIB, 1);
    add_curve(&mut record, "2MiB", &steps(&sizes(4 * KIB, GIB), &INCLUSIVE));
    let levels = levels(&record);
    assert_eq!(names(&levels), ["L1", "L2", "L3", "memory"]);
    assert_eq!((levels[2].advertised_bytes, levels[2].measured_bytes), (None, Some(32 * MIB)));
}

#[test]
fn without_any_cache_table_the_curve_still_has_levels() {
    let mut record = machine(1);
    add_curve(&mut record, "4KiB", &steps(&sizes(4 * KIB, GIB), &INCLUSIVE));
    assert_eq!(names(&levels(&record)), ["L1", "L2", "L3", "memory"]);
}

#[test]
fn a_step_of_the_tlb_is_no_cache() {
    let mut record = server(32 * MIB);
    let curve = [(32 * KIB, 1.3), (256 * KIB, 4.5), (MIB, 6.5), (32 * MIB, 25.0), (u64::MAX, 110.0)];
    add_curve(&mut record, "4KiB", &steps(&sizes(4 * KIB, GIB), &curve));
    let levels = levels(&record);
    assert_eq!(names(&levels), ["L1", "L2", "L3", "memory"]);
    assert_eq!(levels[1].measured_bytes, Some(MIB));
}

#[test]
fn with_little_memory_the_last_level_is_not_called_memory() {
    let mut record = server(32 * MIB);
    add_curve(&mut record, "2MiB", &steps(&sizes(4 * KIB, 16 * MIB), &INCLUSIVE));
    let levels = levels(&record);
    assert_eq!(names(&levels), ["L1", "L2", "L3"]);
    assert_eq!(levels[2].judgement.code(), Some("level-not-left"));
    assert_eq!(levels[2].measured_bytes, None);
}

#[test]
fn small_sizes_come_from_small_pages_where_huge_ones_begin_late() {
    let mut record = server(32 * MIB);
    let all = steps(&sizes(4 * KIB, GIB), &INCLUSIVE);
    let (small, huge): (Vec<_>, Vec<_>) = all.into_iter().partition(|(bytes, _)| *bytes < 2 * MIB);
    add_curve(&mut record, "4KiB", &small);
    add_curve(&mut record, "2MiB", &huge);
    assert_eq!(names(&levels(&record)), ["L1", "L2", "L3", "memory"]);
}

#[test]
fn cycles_come_from_their_measurement_or_from_the_clock() {
    let mut record = server(32 * MIB);
    add_curve(&mut record, "2MiB", &steps(&sizes(4 * KIB, GIB), &INCLUSIVE));
    assert_eq!(levels(&record)[0].latency_cycles, None);
    let place = record::Labels::new()
        .with_label(Label::Cpu, 0u32)
        .with_label(Label::Active, "one")
        .with_label(Label::Vector, "scalar");
    record.measurements.push(crate::samples::measured("core.clock", place, 4e9));
    let by_clock = levels(&record)[0].latency_cycles.unwrap_or(0.0);
    assert!((by_clock - 5.2).abs() < 0.02, "{by_clock}");
    let of_latency: Vec<Measurement> = record.measurements_of("load.latency").cloned().collect();
    for m in of_latency {
        let cycles = m.value() * 3.0;
        record.measurements.push(crate::samples::measured("load.latency_cycles", m.labels, cycles));
    }
    let measured = levels(&record)[0].latency_cycles.unwrap_or(0.0);
    assert!((measured - 3.9).abs() < 0.02, "{measured}");
}

#[test]
fn nothing_comes_of_nothing() {
    assert_eq!(levels(&machine(2)), []);
    let mut record = server(32 * MIB);
    add_curve(&mut record, "2MiB", &[(4096, 1.3)]);
    assert_eq!(levels(&record), []);
}

proptest! {
    #[test]
    fn whatever_the_points_levels_never_get_faster(
        points in proptest::collection::vec(
            (prop_oneof![Just(0u64), 1u64..1 << 40, Just(u64::MAX), Just(4096)],
             prop_oneof![0.1f64..1e4, proptest::num::f64::ANY]), 0..120),
        caches in proptest::collection::vec((1u32..6, prop_oneof![Just(0u64), 1u64..1 << 36, Just(u64::MAX)]), 0..5),
    ) {
        let mut record = machine(2);
        for (level, size) in caches {
            add_cache(&mut record, level, size, 2);
        }
        for (i, (size, ns)) in points.iter().enumerate() {
            let page = if i % 3 == 0 { "4KiB" } else { "2MiB" };
            let place = record::Labels::new().with_label(Label::Cpu, 0u32).with_label(Label::Bytes, *size).with_label(Label::Page, page);
            record.measurements.push(Measurement::new("load.latency", place, vec![*ns]));
        }
        let levels = levels(&record);
        for pair in levels.windows(2) {
            prop_assert!(pair[0].latency_ns <= pair[1].latency_ns);
        }
        for level in &levels {
            prop_assert!(level.latency_ns.is_finite() && level.latency_ns > 0.0);
            prop_assert!(level.latency_cycles.is_none_or(|cycles| cycles.is_finite()));
        }
    }

    #[test]
    fn steps_well_apart_are_found_whatever_the_noise(
        seed in 0u64..10_000,
        l2 in 2u32..6,
        l3 in 2u32..6,
        ratios in proptest::collection::vec(2.0f64..5.0, 3),
    ) {
        let (l1, l2, l3) = (32 * KIB, (32 * KIB) << l2, (32 * KIB) << (l2 + l3));
        let mut record = machine(1);
        for (level, size) in [(1, l1), (2, l2), (3, l3)] {
            add_cache(&mut record, level, size, 1);
        }
        let ns = [1.2, 1.2 * ratios[0], 1.2 * ratios[0] * ratios[1], 1.2 * ratios[0] * ratios[1] * ratios[2]];
        let curve = [(l1, ns[0]), (l2, ns[1]), (l3, ns[2]), (u64::MAX, ns[3])];
        add_curve(&mut record, "2MiB", &noisy(steps(&sizes(4 * KIB, l3 * 8), &curve), 0.04, seed));
        let levels = levels(&record);
        prop_assert_eq!(names(&levels), ["L1", "L2", "L3", "memory"]);
        for (level, ns) in levels.iter().zip(ns) {
            prop_assert!((level.latency_ns / ns - 1.0).abs() < 0.06, "{:?}", levels);
        }
    }
}

#[test]
fn memory_is_what_lies_beyond_the_caches_though_it_was_measured_once() {
    let mut record = server(32 * MIB);
    // The curve of a run that ran out of time: sizes up to 5.7 MiB, then one much larger size.
    let mut points = steps(&sizes_by(2.0, 4 * KIB, 6 * MIB), &INCLUSIVE);
    points.push((90 * MIB + 512 * KIB, 148.8));
    add_curve(&mut record, "2MiB", &points);
    let levels = levels(&record);
    let memory = levels.last().expect("levels");
    assert_eq!((memory.name.as_str(), memory.latency_ns), ("memory", 148.8));
    assert_eq!(memory.judgement.value("largest"), Some(&Value::Bytes(90 * MIB + 512 * KIB)), "{memory:?}");
}
