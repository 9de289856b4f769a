//! A cache whose available size is much smaller than advertised.

use record::Level;

use super::prelude::*;
use crate::levels::MUCH_SMALLER;

/// The size at which the latency curve leaves a cache level, compared with the advertised size.
pub(super) const RULE: Rule = Rule { name: "cache-smaller", find };

/// A point may still belong to a level if its interval begins at most this far above the level's latency.
const STILL_ON: f64 = 1.15;

/// If more than one in this many points is unreliable, the whole curve is considered unreliable.
const DOUBTFUL: usize = 4;

fn size_of(m: &Measurement) -> u64 {
    m.labels.count(Label::Bytes).unwrap_or(0)
}

/// The curve on 2 MiB pages.
fn on_huge_pages<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a Measurement> {
    case.figures_of(metrics::LOAD_LATENCY).filter(|m| m.labels.word(Label::Page) == Some("2MiB"))
}

fn find(case: &Case) -> Option<Vec<Finding>> {
    // A curve that was disturbed by other processes shows nothing about the machine.
    (!is_disturbed(case)).then_some(())?;
    let levels = case.levels().iter().enumerate();
    let found = levels.filter_map(|(at, level)| {
        let size = level.advertised_bytes.filter(|size| *size > 0)?;
        find_smaller(case, at, level, size).or_else(|| find_absent(case, at, level, size))
    });
    Some(found.collect())
}

/// A cache that the kernel advertises but the curve does not show: beyond the previous cache, loads are as slow as loads from memory.
fn find_absent(case: &Case, at: usize, level: &Level, size: u64) -> Option<Finding> {
    let before = case.levels().get(at.checked_sub(1)?)?.advertised_bytes?;
    let memory = case.levels().last().filter(|last| last.name == "memory")?;
    // A step within the size of the previous cache belongs to that cache.
    level.measured_bytes.is_none_or(|seen| seen <= before).then_some(())?;
    // Only working sets well beyond the cache have memory latency.
    (on_huge_pages(case).map(size_of).max()? / 2 >= size).then_some(())?;
    let as_memory = on_huge_pages(case).filter(|m| spread(&m.summary).1 >= memory.latency_ns / STILL_ON);
    let first = as_memory.min_by_key(|m| size_of(m)).filter(|m| size_of(m) > before)?;
    if size_of(first) as f64 >= size as f64 * MUCH_SMALLER {
        return None;
    }
    let what = text!(
        "cache-smaller-absent",
        "none of the {advertised} {name} is available: loads beyond {before} go to memory",
        advertised = Value::Bytes(size),
        name = &level.name,
        before = Value::Bytes(before)
    );
    let says = text!(
        "from {size} upward, loads are as slow as memory loads: {first}",
        size = Value::Bytes(size_of(first))
    );
    let finding = RULE.report_fact(Severity::Warning, what).locate(quote_name(&level.name));
    Some(finding.cite(says, first).cite_all([advertises(size)]).mend_as(remedy(case)))
}

fn advertises(size: u64) -> Evidence {
    cite_fact(text!("the kernel reports {size}", size = Value::Bytes(size)), "machine.caches[].bytes")
}

fn remedy(case: &Case) -> &'static str {
    if case.record.machine.is_virtual() { "cache-smaller guest" } else { RULE.name }
}

fn find_smaller(case: &Case, at: usize, level: &Level, size: u64) -> Option<Finding> {
    let measured = level.measured_bytes?;
    let before = at.checked_sub(1).and_then(|before| case.levels()[before].advertised_bytes);
    // A step within the size of the previous cache belongs to that cache.
    before.is_none_or(|before| measured > before).then_some(())?;
    // Below the smallest working set on 2 MiB pages, the curve uses 4 KiB pages. The physical addresses of such pages collide in some
    // cache sets, and the pages exceed the TLB early; beyond L1, both effects look like the end of a cache.
    let first_huge = on_huge_pages(case).filter_map(|m| m.labels.count(Label::Bytes)).min();
    (at == 0 || first_huge.is_some_and(|first| measured >= first)).then_some(())?;
    // The effective size is between the last working set that fit in the level and the next measured one.
    let sizes = case.figures_of(metrics::LOAD_LATENCY).filter_map(|m| m.labels.count(Label::Bytes));
    let next = sizes.filter(|size| *size > measured).min().unwrap_or(measured);
    // Uncertain points may also belong to the level.
    let may_be_on = |m: &&Measurement| spread(&m.summary).0 <= level.latency_ns * STILL_ON;
    let next = case.figures_of(metrics::LOAD_LATENCY).filter(may_be_on).map(size_of).fold(next, u64::max);
    let (least, most) = (measured as f64 / size as f64, next as f64 / size as f64);
    (most < MUCH_SMALLER && is_confirmed(case, level, size)).then_some(())?;
    // This verdict only shows whether part of the cache is missing; the missing share of the cache is not a share of speed.
    costs(verdict(1.0 - least, (1.0 - most, 1.0 - least)))?;
    let (name, seen) = (&level.name, Value::Bytes(measured));
    let says = text!(
        "the working set outgrows {name} between {seen} and {next} (latency curve)",
        seen = seen.clone(),
        next = Value::Bytes(next)
    );
    let advertised = advertises(size);
    let size = Value::Bytes(size);
    let what = text!("cache-smaller-available", "only {seen} of the {size} {name} has {name} latency");
    // Other guests on the host use varying parts of a shared cache.
    let (severity, confidence) = match case.record.machine.is_virtual() {
        true => (Severity::Note, Confidence::Low),
        false => (Severity::Warning, Confidence::High),
    };
    let finding = RULE
        .report_fact(severity, what)
        .locate(quote_name(name))
        .cite(says, format!("diagnosis.levels[{at}].measured_bytes"))
        .cite_all([advertised])
        .mend_as(remedy(case));
    Some(Finding { confidence, ..finding })
}

/// Whether the curves of at least two CPUs leave a level well before its advertised size. For a shared cache, one curve suffices. In a
/// single curve, other processes can make a private cache appear smaller.
fn is_confirmed(case: &Case, level: &Level, size: u64) -> bool {
    let beyond = on_huge_pages(case).filter(|m| {
        (size_of(m) as f64) < size as f64 * MUCH_SMALLER && spread(&m.summary).0 > level.latency_ns * STILL_ON
    });
    let is_shared = case.record.machine.caches.iter().any(|cache| {
        format!("L{}", cache.level) == level.name
            && cache.cpus.len() > case.record.machine.cpus.first().map_or(1, |cpu| cpu.siblings.len().max(1))
    });
    is_shared || cpus_of(beyond).len() > 1
}

/// Whether the curve may underestimate a cache because other processes used the cache or the curve is too noisy.
fn is_disturbed(case: &Case) -> bool {
    let points = case.figures_of(metrics::LOAD_LATENCY).count();
    let doubtful = case.figures_of(metrics::LOAD_LATENCY).filter(|m| m.doubt.is_some()).count();
    doubtful * DOUBTFUL > points || !super::other_load::RULE.findings(case).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{add_cache, add_curve, figure_in, machine, sizes, steps};
    use record::Record;

    fn record_with(seen_mib: u64) -> Record {
        let mut record = machine(2);
        add_cache(&mut record, 1, 32 << 10, 1);
        add_cache(&mut record, 2, 1 << 20, 1);
        add_cache(&mut record, 3, 128 << 20, 2);
        let curve = [(32 << 10, 1.3), (1 << 20, 4.5), (seen_mib << 20, 20.0), (u64::MAX, 100.0)];
        add_curve(&mut record, "2MiB", &steps(&sizes(4 << 10, 1 << 30), &curve));
        record
    }

    #[test]
    fn a_sixteenth_of_the_cache_is_found() {
        let finding = &found(&record_with(8), RULE)[0];
        assert_eq!(finding.what.code(), Some("cache-smaller-available"));
        assert_eq!(["seen", "size"].map(|name| figure_in(&finding.what, name) as u64 >> 20), [8, 128]);
        assert_eq!(finding.severity, Severity::Warning);
        assert!(matches!(finding.loss, record::Verdict::NotMeasurable { .. }), "{finding:?}");
    }

    #[test]
    fn three_hundred_mib_of_which_a_cpu_gets_six_are_found() {
        let mut record = machine(2);
        for (level, bytes, cpus) in [(1, 48 << 10, 1), (2, 2 << 20, 1), (3, 300 << 20, 2)] {
            add_cache(&mut record, level, bytes, cpus);
        }
        let curve = [(48 << 10, 1.6), (2 << 20, 5.0), (6 << 20, 30.0), (u64::MAX, 135.0)];
        add_curve(&mut record, "2MiB", &steps(&sizes(4 << 10, 1 << 30), &curve));
        record.machine.virtualization.hypervisor = Some("kvm".to_owned());
        let finding = &found(&record, RULE)[0];
        let mib = ["seen", "size"].map(|name| figure_in(&finding.what, name) / f64::from(1 << 20));
        assert!((5.0..=6.0).contains(&mib[0]) && mib[1] == 300.0, "{mib:?}");
    }

    #[test]
    fn a_cache_of_which_nothing_shows_is_found() {
        let none = |largest: u64| {
            let mut record = machine(2);
            for (level, bytes, cpus) in [(1, 32 << 10, 1), (2, 1 << 20, 1), (3, 32 << 20, 2)] {
                add_cache(&mut record, level, bytes, cpus);
            }
            let curve = [(32 << 10, 1.3), (1 << 20, 4.5), (u64::MAX, 100.0)];
            add_curve(&mut record, "2MiB", &steps(&sizes(4 << 10, largest), &curve));
            record
        };
        let finding = &found(&none(1 << 30), RULE)[0];
        assert_eq!(finding.what.code(), Some("cache-smaller-absent"));
        assert_eq!(["advertised", "before"].map(|name| figure_in(&finding.what, name) as u64 >> 20), [32, 1]);
        assert_eq!(found(&none(16 << 20), RULE), [], "without large working sets, memory was not measured");
        let mut busy = none(1 << 30);
        busy.conditions.before.load = Some([2.0, 1.0, 1.0]);
        assert_eq!(found(&busy, RULE), []);
    }

    #[test]
    fn what_moves_with_noise_is_silence() {
        let mut busy = record_with(8);
        busy.conditions.before.load = Some([2.0, 1.0, 1.0]);
        let mut noisy = record_with(8);
        for m in noisy.measurements.iter_mut().step_by(3) {
            m.doubt = Some("too noisy".into());
        }
        // A private cache on the curve of one CPU.
        let mut private = record_with(8);
        private.machine.caches.iter_mut().for_each(|cache| cache.cpus = (0..1).collect());
        for record in [&busy, &noisy, &private] {
            assert_eq!(found(record, RULE), []);
        }
        let other = private.measurements.clone().into_iter().map(|mut m| {
            m.labels = m.labels.with_label(Label::Cpu, 1u32);
            m
        });
        private.measurements.extend(other);
        assert_eq!(found(&private, RULE).len(), 1, "two CPUs agree");
        let mut guest = record_with(8);
        guest.machine.virtualization.hypervisor = Some("kvm".to_owned());
        let finding = &found(&guest, RULE)[0];
        assert_eq!((finding.severity, finding.confidence), (Severity::Note, Confidence::Low));
    }

    #[test]
    fn most_of_the_cache_or_no_curve_is_silence() {
        assert_eq!(found(&record_with(128), RULE), []);
        assert_eq!(found(&record_with(80), RULE), []);
        assert_eq!(missing(&machine(2), RULE), Some("load latency"));
        let mut small = record_with(8);
        small
            .measurements
            .iter_mut()
            .for_each(|m| m.labels = m.labels.clone().with_label(Label::Page, "4KiB"));
        assert_eq!(missing(&small, RULE), Some("load latency on 2 MiB pages"));
        let mut unreported = record_with(8);
        unreported.machine.caches.clear();
        assert_eq!(missing(&unreported, RULE), Some("cache sizes"));
    }

    #[test]
    fn points_that_are_known_badly_may_still_be_of_the_cache() {
        let mut record = record_with(8);
        for m in &mut record.measurements {
            let within =
                m.labels.count(Label::Bytes).is_some_and(|bytes| (8 << 20..100 << 20).contains(&bytes));
            if let (true, Some((_, high))) = (within, m.summary.interval) {
                m.summary.interval = Some((15.0, high));
            }
        }
        assert_eq!(found(&record, RULE), [], "up to 100 of 128 MiB may be available");
    }
}
