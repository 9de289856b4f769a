//! Wide vector work that lowers the core clock.

use std::collections::{BTreeMap, HashMap};

use super::prelude::*;

/// The core clock during 512-bit or 256-bit work, compared with the clock during scalar work.
pub(super) const RULE: Rule = Rule { name: "vector-clock", find };

/// Maximum number of vector widths. No processor has more, but a handwritten record may list any number.
const MOST_VECTORS: usize = 16;

fn find(case: &Case) -> Option<Vec<Finding>> {
    // On x86-64, the names are widths in bits; on aarch64, the names of instruction sets.
    let mut vectors: BTreeMap<&str, Vec<&Measurement>> = BTreeMap::new();
    for m in case.figures_of(metrics::CORE_CLOCK) {
        let Some(vector) = m.labels.word(Label::Vector) else { continue };
        if vectors.len() < MOST_VECTORS || vectors.contains_key(vector) {
            vectors.entry(vector).or_default().push(m);
        }
    }
    let plain = vectors.remove("scalar")?;
    let plain: HashMap<_, &Measurement> = plain.into_iter().map(|m| (cpu_and_load(m), m)).collect();
    let widths = vectors.into_iter().rev();
    Some(widths.filter_map(|(width, clocks)| find_slow_vectors(width, &clocks, &plain)).collect())
}

/// The CPU on which a clock was measured, and whether all cores were busy.
type CpuAndLoad = (Option<u64>, bool);

fn cpu_and_load(m: &Measurement) -> CpuAndLoad {
    (m.labels.count(Label::Cpu), m.labels.word(Label::Active) == Some("all"))
}

fn find_slow_vectors(
    width: &str,
    clocks: &[&Measurement],
    plain: &HashMap<CpuAndLoad, &Measurement>,
) -> Option<Finding> {
    let at_work = |active| clocks.iter().copied().filter(move |m| has_labels(m, &[(Label::Active, active)]));
    // If the clock with all cores busy was measured, it is used, because programs with vector code usually use all cores.
    let active = if at_work("all").next().is_some() { "all" } else { "one" };
    let mut pairs: Vec<_> = at_work(active)
        .filter_map(|wide| {
            // The comparison is with scalar code on the same CPU and with the same number of busy cores.
            let plain = *plain.get(&cpu_and_load(wide))?;
            Some((wide, plain, loss(&wide.summary, &plain.summary, Better::Higher)))
        })
        .collect();
    pairs.sort_by(|a, b| share_of(&a.2).total_cmp(&share_of(&b.2)));
    let (wide, plain, loss) = pairs.get(pairs.len().checked_sub(1)? / 2)?.clone();
    let (vectors, narrower) = match width {
        "512" => ("512-bit".to_owned(), Some("256")),
        "256" => ("256-bit".to_owned(), Some("128")),
        other => (other.to_uppercase(), None),
    };
    let remedy = match narrower {
        Some(width) => text!(
            "if only part of the code is vectorized, run that part on separate CPUs, or compile it with -mprefer-vector-width={width}",
            width = width
        ),
        None => text!(
            "vector-clock-apart",
            "if only part of the code is vectorized, run that part on separate CPUs"
        ),
    };
    let beside = text!("core clock with {vectors} code: {clock}", vectors = &vectors, clock = wide);
    let scalar = text!("core clock with scalar code: {clock}", clock = plain);
    let what = text!("{vectors} vectors lower the clock of all code from {scalar} to {wide}", scalar = plain);
    let finding = RULE
        .report_loss(costs(loss)?, what)
        .felt_by(Relevance::Some)
        .locate_cpus(&cpus_of(pairs.iter().map(|pair| pair.0)))
        .cite(beside, wide)
        .cite(scalar, plain)
        .mend([Remedy::advice(remedy)]);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{figure_in, machine, measured};
    use record::{Labels, Record};

    fn record_with(vector: &str, hz: f64) -> Record {
        let mut record = machine(1);
        for (vector, hz) in [("scalar", 3.0e9), (vector, hz)] {
            let place = Labels::new()
                .with_label(Label::Cpu, 0u32)
                .with_label(Label::Active, "all")
                .with_label(Label::Vector, vector);
            record.measurements.push(measured("core.clock", place, hz));
        }
        record
    }

    #[test]
    fn a_lower_clock_beside_wide_vectors_is_found() {
        let finding = &found(&record_with("512", 2.4e9), RULE)[0];
        assert_eq!(finding.what.value("vectors"), Some(&"512-bit".into()));
        assert!((figure_in(&finding.what, "scalar") - 3e9).abs() < 1e3, "{finding:?}");
        assert!((figure_in(&finding.what, "wide") - 2.4e9).abs() < 1e3, "{finding:?}");
        assert_eq!(finding.remedy[0].text.as_ref().and_then(|text| text.value("width")), Some(&"256".into()));
    }

    #[test]
    fn other_instruction_sets_vectors_are_found_too() {
        let finding = &found(&record_with("neon", 2.4e9), RULE)[0];
        assert_eq!(finding.what.value("vectors"), Some(&"NEON".into()));
        assert_eq!(finding.remedy[0].text.as_ref().and_then(record::Text::code), Some("vector-clock-apart"));
    }

    #[test]
    fn the_same_clock_or_no_wide_measurement_is_silence() {
        assert_eq!(found(&record_with("512", 2.99e9), RULE), []);
        assert_eq!(found(&record_with("neon", 2.99e9), RULE), []);
        assert_eq!(missing(&machine(1), RULE), Some("core clock"));
    }
}
