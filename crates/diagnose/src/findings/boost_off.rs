//! Disabled boost. It is reported here unless a measured clock shows its cost.

use super::clock_cause::no_boost;
use super::clock_limit;
use super::prelude::*;

/// The boost setting reported by the kernel. If a core was measured below its advertised clock, `clock-limit` reports
/// the setting with its cost. However, many drivers lower the advertised clock when boost is off, which leaves no clock
/// to compare with.
///
/// If the record has both clocks, the loss is modelled as 1 − base clock ÷ maximum clock. If the base clock is missing, the frequency of a
/// cpufreq policy that allows only one frequency is used instead.
pub(super) const RULE: Rule = Rule { name: "boost-off", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    let is_virtual = case.record.machine.is_virtual();
    let off = no_boost(&case.record.conditions.before).filter(|_| !is_virtual);
    let mut cause = off.filter(|cause| !clock_limit::names(case, cause))?;
    let processor = &case.record.machine.processor;
    let base = base_hz(case.record).map(|hz| hz as f64);
    let most = processor.max_hz.map(|hz| hz as f64);
    let clocks = case.figures_of(metrics::CORE_CLOCK).filter(|m| has_labels(m, &[(Label::Vector, "scalar")]));
    let best = clocks.map(Measurement::value).filter(|hz| hz.is_finite()).fold(0.0, f64::max);
    // The CPU boosts although the setting is off.
    if base.is_some_and(|base| best > base * (1.0 + RESOLUTION)) {
        return None;
    }
    let clocks = case.record.conditions.before.clocks.iter();
    let limit = clocks.filter(|set| set.min_hz == set.max_hz).filter_map(|set| set.max_hz).max();
    let is_base = base.is_some();
    let clocks = base.or(limit.map(|hz| hz as f64)).zip(most).filter(|_| best == 0.0);
    let loss = clocks.and_then(|(base, most)| Some((base, most, modelled(1.0 - base / most)?)));
    let finding = if let Some((base, most, loss)) = loss {
        let [base, most] = [base, most].map(|hz| Value::Figure(hz, "Hz"));
        let what =
            text!("boost is off: at most {base} instead of {most}", base = base.clone(), most = most.clone());
        let (says, from) = match is_base {
            true => (text!("base clock {base}"), "machine.processor.base_hz"),
            false => (text!("limited to {base}"), "conditions.before.clocks[].max_hz"),
        };
        cause.evidence.push(cite_fact(says, from));
        cause.evidence.push(cite_fact(text!("maximum clock {most}"), "machine.processor.max_hz"));
        RULE.report_model(loss, what)
    } else {
        RULE.report_fact(Severity::Note, text!("boost is off, or this processor does not support it"))
    };
    Some(vec![finding.cite_all(cause.evidence).mend(cause.remedy).undo(cause.undo)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::share_of;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{figure_in, machine, measured};
    use record::Label;
    use record::{KnobName, KnobValue, Labels, Record, Remedy};

    fn record_with(boost: Option<bool>, most: u64, clock: Option<f64>) -> Record {
        let mut record = machine(1);
        record.conditions.before.boost = boost;
        record.conditions.before.boost_source = Some("/sys/devices/system/cpu/cpufreq/boost".to_owned());
        record.machine.processor.base_hz = Some(2_500_000_000);
        record.machine.processor.max_hz = Some(most);
        let place = Labels::new()
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Active, "one")
            .with_label(Label::Vector, "scalar");
        record.measurements.extend(clock.map(|hz| measured("core.clock", place, hz)));
        record
    }

    #[test]
    fn boost_off_is_found_though_the_advertised_clock_fell_with_it() {
        let finding = &found(&record_with(Some(false), 2_500_000_000, Some(2.5e9)), RULE)[0];
        assert_eq!(finding.severity, Severity::Note);
        let command = Remedy::command("echo 1 | sudo tee /sys/devices/system/cpu/cpufreq/boost");
        assert_eq!(finding.remedy[0], command.sets(KnobValue::new(KnobName::Boost, "on")));
        assert_eq!(
            finding.undo,
            [Remedy::command("echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost")]
        );
        let inventory = &found(&record_with(Some(false), 3_500_000_000, None), RULE)[0];
        assert!((share_of(&inventory.loss) - 2.0 / 7.0).abs() < 1e-9, "{inventory:?}");
        assert_eq!([figure_in(&inventory.what, "base"), figure_in(&inventory.what, "most")], [2.5e9, 3.5e9]);
    }

    /// The clock that a board reports for its processor may belong to another model.
    #[test]
    fn a_clock_in_firmware_s_name_is_no_base_clock() {
        let mut record = record_with(Some(false), 3_500_000_000, None);
        record.machine.processor.firmware_name = Some("Some SoC CPU @ 2.5GHz".to_owned());
        assert_eq!(found(&record, RULE)[0].severity, Severity::Note);
        record.machine.processor.firmware_name = None;
        record.import = Some(Default::default());
        assert_eq!(found(&record, RULE)[0].severity, Severity::Note, "dmidecode reports a momentary speed");
        record.machine.processor.model_name = Some("Some SoC CPU @ 2.50GHz".to_owned());
        assert_eq!(found(&record, RULE)[0].severity, Severity::Serious);
    }

    #[test]
    fn what_was_measured_is_reported_by_the_other_rule() {
        let record = record_with(Some(false), 3_500_000_000, Some(2.5e9));
        assert_eq!(found(&record, RULE), []);
        assert_eq!(found(&record, clock_limit::RULE).len(), 1);
    }

    #[test]
    fn boost_on_clocks_beyond_the_base_and_guests_are_silence() {
        assert_eq!(found(&record_with(Some(true), 2_500_000_000, Some(2.5e9)), RULE), []);
        assert_eq!(found(&record_with(Some(false), 3_500_000_000, Some(3.49e9)), RULE), []);
        assert_eq!(missing(&record_with(None, 2_500_000_000, None), RULE), Some("the boost setting"));
        let mut guest = record_with(Some(false), 2_500_000_000, None);
        guest.machine.virtualization.hypervisor = Some("kvm".to_owned());
        assert_eq!(found(&guest, RULE), []);
        assert_eq!(missing(&guest, RULE), None);
    }
}
