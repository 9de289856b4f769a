//! A core that alone runs below the clock that it advertises: a limit, boost switched off, a governor, an energy
//! preference, heat or power.

use std::collections::HashMap;

use record::machine::Cpu;

use super::clock_cause::cause;
use super::prelude::*;
use crate::resources::CORE;

/// One core alone against its highest clock.
pub(super) const RULE: Rule = Rule {
    name: "clock-limit",
    resource: Some(CORE),
    needs: &[
        needs::CORE_CLOCK,
        Need::new("the advertised maximum clock of the cores", |case| {
            let machine = &case.record.machine;
            machine.processor.max_hz.is_some() || machine.cpus.iter().any(|cpu| cpu.max_hz.is_some())
        }),
    ],
    find,
};

/// Where the record tells a clock of a CPU: with itself, or once for all.
pub(super) fn hz_reported(case: &Case, cpu: u32, name: &str, hz: impl Fn(&Cpu) -> Option<u64>) -> String {
    let own = case.record.machine.cpus.iter().position(|known| known.id == cpu && hz(known).is_some());
    own.map_or_else(|| format!("machine.processor.{name}"), |at| format!("machine.cpus[{at}].{name}"))
}

/// One CPU below what it promises.
pub(super) struct Below<'a> {
    pub measured: &'a Measurement,
    pub cpu: u32,
    /// What it promises, Hz.
    pub promised: f64,
    pub loss: Verdict,
}

/// The CPUs below what they promise, the worst first. `promised` is asked for each CPU's clock in Hz.
pub(super) fn below<'a>(
    case: &Case<'a>,
    active: &str,
    promised: impl Fn(Option<&Cpu>) -> Option<f64>,
) -> Vec<Below<'a>> {
    let known: HashMap<u32, &Cpu> = case.record.machine.cpus.iter().map(|cpu| (cpu.id, cpu)).collect();
    let measure_shortfall = |measured: &'a Measurement| {
        let cpu = u32::try_from(measured.labels.count(Label::Cpu)?).ok()?;
        let promised = promised(known.get(&cpu).copied()).filter(|hz| *hz > 0.0)?;
        let loss = costs(shortfall(&measured.summary, promised))?;
        Some(Below { measured, cpu, promised, loss })
    };
    let mut found: Vec<Below> = case.clocks("scalar", active).filter_map(measure_shortfall).collect();
    found.sort_by(|a, b| share_of(&b.loss).total_cmp(&share_of(&a.loss)));
    found
}

fn find(case: &Case) -> Option<Vec<Finding>> {
    let of_all = case.record.machine.processor.max_hz;
    let found = below(case, "one", |cpu| cpu.and_then(|cpu| cpu.max_hz).or(of_all).map(|hz| hz as f64));
    let Below { measured: worst, cpu, promised, ref loss } = *found.first()?;
    let cause = cause(case, cpu, promised);
    let promised = Value::Figure(promised, "Hz");
    let what = text!(
        "one core alone reaches {is} of {advertised}: {cause}",
        is = worst,
        advertised = promised.clone(),
        cause = cause.what
    );
    let finding = RULE
        .report_loss(loss.clone(), what)
        .locate_cpus(&cpus_of(found.iter().map(|found| found.measured)))
        .cite(text!("CPU {cpu} alone runs at {worst}"), worst)
        .cite(text!("it advertises {promised}"), hz_reported(case, cpu, "max_hz", |cpu| cpu.max_hz))
        .cite_all(cause.evidence)
        .mend(cause.remedy)
        .undo(cause.undo);
    let confidence = if cause.is_set { Confidence::High } else { Confidence::Medium };
    Some(vec![Finding { confidence, ..finding }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{machine, measured};
    use record::conditions::ClockSetting;
    use record::{KnobName, KnobValue, Labels, Record, Remedy};

    fn record_with(hz: f64) -> Record {
        let mut record = machine(1);
        record.machine.processor.max_hz = Some(4_000_000_000);
        record.conditions.before.boost = Some(true);
        let place = Labels::new()
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Active, "one")
            .with_label(Label::Vector, "scalar");
        record.measurements.push(measured("core.clock", place, hz));
        record
    }

    fn set<'a>(record: &'a mut Record, governor: &str, max_hz: u64) -> &'a mut ClockSetting {
        record.conditions.before.clocks = vec![ClockSetting {
            cpus: std::iter::once(0).collect(),
            governor: Some(governor.to_owned()),
            max_hz: Some(max_hz),
            ..ClockSetting::default()
        }];
        &mut record.conditions.before.clocks[0]
    }

    /// The code of the cause that a finding names.
    fn cause_of(finding: &Finding) -> Option<&str> {
        match finding.what.value("cause") {
            Some(Value::Sentence(cause)) => cause.code(),
            _ => None,
        }
    }

    #[test]
    fn each_cause_is_named_with_its_remedy() {
        let mut record = record_with(2.5e9);
        set(&mut record, "performance", 2_500_000_000);
        let limit = &found(&record, RULE)[0];
        assert_eq!(cause_of(limit), Some("clock-cause-limit"));
        assert!(
            limit.remedy[0].to_string().starts_with("echo 4000000 |")
                && limit.undo[0].to_string().starts_with("echo 2500000 |")
        );

        set(&mut record, "schedutil", 4_000_000_000);
        let by_governor = &found(&record, RULE)[0];
        assert_eq!(cause_of(by_governor), Some("clock-cause-governor"));
        assert!(by_governor.undo[0].to_string().starts_with("echo schedutil |"));

        set(&mut record, "powersave", 4_000_000_000).epp = Some("balance_power".to_owned());
        let by_preference = &found(&record, RULE)[0];
        assert_eq!(cause_of(by_preference), Some("clock-cause-energy-preference"));
        assert!(by_preference.undo[0].to_string().starts_with("echo balance_power |"));

        set(&mut record, "performance", 4_000_000_000).epb = Some(15);
        let by_bias = &found(&record, RULE)[0];
        assert_eq!(cause_of(by_bias), Some("clock-cause-energy-bias"));
        assert!(
            by_bias.remedy[0].to_string().contains("do echo 0 |")
                && by_bias.undo[0].to_string().contains("do echo 15 |")
        );

        record.conditions.before.boost = Some(false);
        record.conditions.before.boost_source =
            Some("/sys/devices/system/cpu/intel_pstate/no_turbo".to_owned());
        let no_boost = &found(&record, RULE)[0];
        assert_eq!(
            no_boost.remedy,
            [Remedy::command("echo 0 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo")
                .sets(KnobValue::new(KnobName::Boost, "on"))]
        );
        record.conditions.before.boost_source = Some("/sys/x; reboot".to_owned());
        assert!(!found(&record, RULE)[0].remedy[0].to_string().contains("reboot"));
    }

    #[test]
    fn settings_of_other_cpus_are_left_alone() {
        let mut record = record_with(2.5e9);
        set(&mut record, "powersave", 4_000_000_000);
        let mut others = record.conditions.before.clocks[0].clone();
        others.cpus = (1..8).collect();
        others.governor = Some("performance".to_owned());
        record.conditions.before.clocks.push(others);
        let finding = &found(&record, RULE)[0];
        assert!(
            finding.remedy[0].to_string().starts_with("for cpu in 0; do echo performance |"),
            "{finding:?}"
        );
        assert!(finding.undo[0].to_string().starts_with("for cpu in 0; do echo powersave |"), "{finding:?}");
    }

    #[test]
    fn near_enough_is_no_loss_whatever_is_set() {
        let mut record = record_with(3.97e9);
        set(&mut record, "powersave", 4_000_000_000).epp = Some("power".to_owned());
        assert_eq!(found(&record, RULE), []);
    }

    #[test]
    fn without_a_clock_to_hold_it_against_it_says_so() {
        let mut record = record_with(2.0e9);
        record.machine.processor.max_hz = None;
        assert_eq!(missing(&record, RULE), Some("the advertised maximum clock of the cores"));
        assert_eq!(missing(&machine(1), RULE), Some("core clock"));
    }
}
