use proptest::prelude::*;
use record::machine::MemoryDevice;
use record::text::Value;
use record::{Label, Labels, Record, detail};

use super::*;
use crate::samples::{machine, measured};

fn breakdown<'a>(breakdowns: &'a [LossBreakdown], resource: &str) -> &'a LossBreakdown {
    breakdowns
        .iter()
        .find(|breakdown| breakdown.resource == resource)
        .unwrap_or_else(|| panic!("{breakdowns:?}"))
}

fn adds_up(breakdown: &LossBreakdown) -> bool {
    let taken: f64 = breakdown.steps.iter().map(|step| step.takes).sum::<f64>() + breakdown.unexplained;
    let end = match breakdown.better {
        Better::Higher => breakdown.ceiling - taken,
        Better::Lower => breakdown.ceiling + taken,
    };
    (end - breakdown.delivered).abs() <= 1e-6 * breakdown.ceiling.max(breakdown.delivered)
}

fn clock(record: &mut Record, cpu: u32, active: &str, hz: f64) {
    let place = Labels::new()
        .with_label(Label::Cpu, cpu)
        .with_label(Label::Active, active)
        .with_label(Label::Vector, "scalar");
    record.measurements.push(measured("core.clock", place, hz));
}

fn stolen(record: &mut Record, cpu: u32, cause: &str, share: f64) {
    let place = Labels::new().with_label(Label::Cpu, cpu).with_label(Label::Cause, cause);
    record.measurements.push(measured("stolen.share", place, share));
}

/// Two CPUs of 4 GHz that reach 3 GHz together.
fn two_cores() -> Record {
    let mut record = machine(2);
    record.machine.processor.max_hz = Some(4_000_000_000);
    for cpu in 0..2 {
        clock(&mut record, cpu, "one", 3.8e9);
        clock(&mut record, cpu, "all", 3.0e9);
    }
    record
}

#[test]
fn time_that_others_take_is_no_clock() {
    let mut record = two_cores();
    record.machine.limits.cpu_quota = Some(1.0);
    stolen(&mut record, 0, "os", 0.5);
    stolen(&mut record, 1, "os", 0.0);
    stolen(&mut record, 0, "below", 0.1);
    stolen(&mut record, 1, "below", 0.1);
    let diagnosis = crate::diagnose(&record);
    let core = breakdown(&diagnosis.loss_breakdowns, "core");
    assert_eq!((core.steps.len(), core.delivered), (1, 3.0e9), "{core:?}");
    assert!((core.unexplained / 0.2e9 - 1.0).abs() < 0.05 && adds_up(core), "{core:?}");
    let resource = &diagnosis.resources[0];
    assert_eq!((resource.delivered, resource.ceiling), (core.delivered, Some(core.ceiling)));
    let beside = resource.beside.as_ref().expect("the loss to other processes is reported");
    assert!((crate::samples::figure_in(beside, "share") - 0.35).abs() < 1e-3, "{beside:?}");
}

#[test]
fn slow_memory_devices_are_the_first_step_below_what_they_are_rated_for() {
    let mut record = machine(2);
    record.machine.memory_devices = (0..6)
        .map(|i| MemoryDevice {
            bytes: Some(32 << 30),
            channel: Some(format!("{i}")),
            configured_mt_s: Some(2100),
            rated_mt_s: Some(2933),
            ..MemoryDevice::default()
        })
        .collect();
    for (op, rate) in [("read", 80e9), ("triad", 70e9)] {
        let place = Labels::new()
            .with_label(Label::Op, op)
            .with_label(Label::Stores, "regular")
            .with_label(Label::BytesCounted, "stream")
            .with_label(Label::Threads, 2u32);
        let m = measured("memory.bandwidth", place, rate);
        record.measurements.push(m.with_detail(detail::ARRAY_BYTES, 64 << 20).with_detail(detail::ARRAYS, 3));
    }
    let diagnosis = crate::diagnose(&record);
    let memory = breakdown(&diagnosis.loss_breakdowns, "memory bandwidth");
    assert_eq!(memory.ceiling, 6.0 * 2933e6 * 8.0);
    assert_eq!(memory.ceiling_is.value("channels"), Some(&Value::from("6 populated channels")));
    assert_eq!(memory.ceiling_is.value("speed"), Some(&Value::Count(2933)));
    assert_eq!(memory.steps[0].rule.as_deref(), Some("memory-speed"));
    assert_eq!((memory.steps.len(), memory.steps[0].measured), (1, false), "{memory:?}");
    assert_eq!(memory.steps[0].leaves, 6.0 * 2100e6 * 8.0);
    assert!(adds_up(memory) && memory.unexplained > 0.0, "{memory:?}");
    // Half of the lines written by regular stores are read first; one third of the 70 GB/s is stores.
    let place = Labels::new().with_label(Label::Threads, 2u32);
    record.measurements.push(measured("memory.write_allocate_avoided", place, 0.5));
    let diagnosis = crate::diagnose(&record);
    let memory = breakdown(&diagnosis.loss_breakdowns, "memory bandwidth");
    assert!((memory.steps[1].takes / (70e9 / 6.0) - 1.0).abs() < 0.02 && adds_up(memory), "{memory:?}");
}

#[test]
fn a_slow_cpu_stands_beside_what_it_gains_itself() {
    let mut record = machine(3);
    // With idle states disabled, the three CPUs gain 0, 20 and 40 µs; the median CPU represents all of them.
    for (policy, setting, ns) in [
        ("fifo", "tuned", [9e3, 5e3, 5e3]),
        ("fifo", "as-is", [5e3, 25e3, 45e3]),
        ("other", "tuned", [4e3, 8e3, 8e3]),
        ("other", "as-is", [90e3, 80e3, 70e3]),
    ] {
        for (cpu, ns) in (0u32..).zip(ns) {
            let place = Labels::new()
                .with_label(Label::Cpu, cpu)
                .with_label(Label::Policy, policy)
                .with_label(Label::Setting, setting);
            record.measurements.push(measured(
                "wakeup.latency",
                place.with_label(Label::Corrected, false),
                ns,
            ));
        }
    }
    let diagnosis = crate::diagnose(&record);
    let finding = |rule: &str| diagnosis.findings.iter().find(|finding| finding.rule == rule).unwrap();
    let found = finding("idle-states");
    assert!((crate::samples::figure_in(&found.what, "saved") - 20e3).abs() < 50.0, "{found:?}");
    assert_eq!(found.place, Some("CPU 1".into()));
    let wake = &diagnosis.resources[0];
    assert_eq!((wake.delivered, wake.ceiling, wake.share), (25e3, Some(5e3), None), "{wake:?}");
}

#[test]
fn without_real_time_threads_a_wake_up_has_no_ceiling() {
    let mut record = machine(1);
    for (setting, ns) in [("tuned", 8e3), ("as-is", 80e3)] {
        let place = Labels::new()
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Policy, "other")
            .with_label(Label::Setting, setting);
        let m = measured("wakeup.latency", place.with_label(Label::Corrected, false), ns);
        record.measurements.push(m.with_detail(detail::TIMER_SLACK_NS, 50e3));
    }
    let diagnosis = crate::diagnose(&record);
    assert_eq!(diagnosis.loss_breakdowns, []);
    let wake = &diagnosis.resources[0];
    assert_eq!((wake.ceiling, wake.share), (None, None));
    let beside = wake.beside.as_ref().expect("the timer slack is reported");
    assert_eq!(crate::samples::figure_in(beside, "slack"), 50e3);
}

#[test]
fn the_best_measured_here_is_no_line_speed_to_fall_short_of() {
    let mut record = machine(2);
    for (page, ns) in [("2MiB", 90.0), ("4KiB", 120.0)] {
        let place = Labels::new()
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Node, 0u32)
            .with_label(Label::Bytes, 1u64 << 29)
            .with_label(Label::Page, page);
        record.measurements.push(measured("load.latency", place, ns));
    }
    let diagnosis = crate::diagnose(&record);
    assert_eq!((diagnosis.loss_breakdowns.len(), diagnosis.resources[0].share), (0, None));
}

#[test]
fn a_record_without_figures_has_no_loss_breakdown() {
    assert_eq!(crate::diagnose(&machine(4)).loss_breakdowns, []);
}

proptest! {
    #[test]
    fn every_loss_breakdown_adds_up(
        clocks in prop::collection::vec((1e9f64..5e9, 1e9f64..5e9), 1..4),
        shares in prop::collection::vec(0.0f64..1.0, 0..4),
        quota in prop::option::of(0.1f64..4.0),
        wakes in prop::collection::vec(1.0f64..1e6, 4),
    ) {
        let mut record = machine(4);
        record.machine.processor.max_hz = Some(4_500_000_000);
        record.machine.limits.cpu_quota = quota;
        for (cpu, (one, all)) in (0u32..).zip(&clocks) {
            clock(&mut record, cpu, "one", *one);
            clock(&mut record, cpu, "all", *all);
        }
        for (cpu, share) in (0u32..).zip(&shares) {
            stolen(&mut record, cpu, if cpu % 2 == 0 { "os" } else { "below" }, *share);
        }
        let places = [("fifo", "tuned"), ("fifo", "as-is"), ("other", "tuned"), ("other", "as-is")];
        for ((policy, setting), ns) in places.into_iter().zip(&wakes) {
            let place = Labels::new().with_label(Label::Cpu, 0u32).with_label(Label::Policy, policy).with_label(Label::Setting, setting);
            record.measurements.push(measured("wakeup.latency", place.with_label(Label::Corrected, false), *ns));
        }
        for breakdown in crate::diagnose(&record).loss_breakdowns {
            prop_assert!(adds_up(&breakdown), "{:?}", breakdown);
            prop_assert!(breakdown.delivered > 0.0 && breakdown.steps.iter().all(|step| step.takes > 0.0));
        }
    }
}
