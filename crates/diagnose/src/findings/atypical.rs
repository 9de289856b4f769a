//! A headline result that is worse than all published results of similar machines.

use record::diagnosis::Position;

use super::prelude::*;
use crate::memory_channels;
use crate::resources::{CORE, MEMORY_BANDWIDTH, MEMORY_LATENCY, OutOfRange, WAKE_UP, out_of_range};

/// Compares each headline with the range of published results, and lists the causes that the record supports.
pub(super) const RULE: Rule = Rule { name: "atypical", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    Some(out_of_range(case).into_iter().filter_map(|out| report(case, &out)).collect())
}

fn report(case: &Case, out: &OutOfRange) -> Option<Finding> {
    let OutOfRange { resource, figure } = out;
    let typical = resource.typical.as_ref()?;
    let lower = resource.position == Some(Position::High);
    let loss = costs(if lower {
        cost_above(&figure.summary, (typical.low, typical.high))
    } else {
        let (low, high) = spread(&figure.summary);
        let middle = figure.summary.median / (typical.low * typical.high).sqrt();
        verdict(1.0 - middle, (1.0 - high / typical.low, 1.0 - low / typical.high))
    })?;
    let unit = figure.metric.definition().map_or("ns", |metric| metric.unit);
    let [low, high] = [typical.low, typical.high].map(|end| Value::Figure(end, unit));
    let ends = match low.to_string() == high.to_string() {
        true => text!("about {low}"),
        false => text!("{low} to {high}"),
    };
    let sources = record::phrase::count_noun(typical.sources.len(), "source");
    let published = text!("published: {ends} ({sources})", ends = ends.clone(), sources);
    let name = match figure.labels.word(Label::Page) {
        Some("2MiB") => text!("{name} with 2 MiB pages", name = quote_name(&resource.name)),
        _ => quote_name(&resource.name),
    };
    let (value, of) = (*figure, quote_name(&typical.of));
    let what = match typical.of_bare_metal {
        true => text!("atypical-beside-bare-metal", "{name} is {value}; typical: {ends} ({of}, bare metal)"),
        false => text!("atypical", "{name} is {value}; typical: {ends} ({of})"),
    };
    let mut finding = RULE.report_loss(loss, what);
    finding.resource = Some(resource.name.clone());
    finding.confidence = Confidence::Medium;
    // Hypervisor overhead, which makes a guest slower than bare metal, is not a fault of this guest.
    if typical.of_bare_metal {
        finding.severity = finding.severity.min(Severity::Warning);
        finding.confidence = Confidence::Low;
    }
    let finding = finding.cite(text!("measured: {figure}", figure = *figure), *figure);
    Some(finding.cite(published, processor(case)).cite_all(causes(case, &resource.name, figure)))
}

/// The field of the record that identifies the processor.
fn processor(case: &Case) -> &'static str {
    let processor = &case.record.machine.processor;
    match (&processor.model_name, processor.model) {
        (Some(_), _) => "machine.processor.model_name",
        (None, Some(_)) => "machine.processor.model",
        (None, None) => "machine.counts.cpus_online",
    }
}

/// Possible causes of such a headline: first those that the record supports, then those that it excludes.
fn causes(case: &Case, resource: &str, figure: &Measurement) -> Vec<Evidence> {
    let known: [fn(&Case, &Measurement) -> Option<Cause>; 7] =
        [clock, channels, page_size, remote_memory, sharing, power, mitigations];
    let of = |cause: &Cause| cause.of.contains(&resource);
    let (possible, excluded): (Vec<Cause>, Vec<Cause>) = known
        .into_iter()
        .filter_map(|cause| cause(case, figure))
        .filter(of)
        .partition(|cause| cause.possible);
    possible.into_iter().chain(excluded).map(|cause| cause.seen).collect()
}

/// A cause that evidence in the record supports or excludes.
struct Cause {
    /// The resources that the cause may slow down.
    of: &'static [&'static str],
    /// Whether the record shows that the cause is possible; otherwise, the cause is excluded.
    possible: bool,
    /// The evidence in the record.
    seen: Evidence,
}

const MEMORY: &[&str] = &[MEMORY_BANDWIDTH, MEMORY_LATENCY];
const LATENCY: &[&str] = &[MEMORY_LATENCY];

/// The measured clock compared with the base clock of the processor model.
fn clock(case: &Case, _: &Measurement) -> Option<Cause> {
    let all = case.clocks("scalar", "all").chain(case.clocks("scalar", "one"));
    let own = middle(all)?;
    let base = case.record.machine.processor.base_hz.map(|hz| hz as f64).filter(|hz| *hz > 0.0)?;
    let possible = own.value() < base * (1.0 - RESOLUTION);
    let base = Value::Figure(base, "Hz");
    let says = match possible {
        true => text!("atypical-clock", "possible: the clock is {own}, below the base clock of {base}"),
        false => text!("excluded: the clock is {own}, and the base clock is {base}"),
    };
    Some(Cause { of: &[CORE, MEMORY_LATENCY, WAKE_UP], possible, seen: cite_fact(says, own) })
}

/// The number of populated channels compared with the channels of the processor family.
fn channels(case: &Case, _: &Measurement) -> Option<Cause> {
    let machine = &case.record.machine;
    let of_socket = memory_channels::of_processor(machine, "mem.channels")?;
    let sockets = f64::from(machine.counts.packages?.max(1));
    let (populated, whole) = (memory_channels::channels(machine)?.populated as u64, of_socket * sockets);
    let possible = (populated as f64) < whole;
    let whole = Value::Count(whole as u64);
    let says = match possible {
        true => text!("atypical-channels", "possible: {populated} of {whole} memory channels are populated"),
        false => text!("excluded: all {whole} memory channels are populated"),
    };
    Some(Cause { of: MEMORY, possible, seen: cite_fact(says, "machine.memory_devices[].channel") })
}

/// The page size used for the measurement.
fn page_size(_: &Case, figure: &Measurement) -> Option<Cause> {
    let page = figure.labels.word(Label::Page)?;
    let possible = page == "4KiB";
    let page = quote_name(page);
    let says = match possible {
        true => text!("possible: measured on {page} pages, with page-walk overhead"),
        false => text!("atypical-not-pages", "excluded: measured on {page} pages"),
    };
    Some(Cause { of: LATENCY, possible, seen: cite_fact(says, figure) })
}

/// Whether the accessed memory was on another node.
fn remote_memory(case: &Case, figure: &Measurement) -> Option<Cause> {
    let node = figure.labels.count(Label::Node)?;
    let cpu = figure.labels.count(Label::Cpu)?;
    let own = case.record.machine.cpus.iter().find(|own| u64::from(own.id) == cpu)?.node?;
    let possible = u64::from(own) != node;
    let says = match possible {
        true => text!("possible: CPU {cpu} accessed remote memory (node {node})"),
        false => text!("atypical-not-remote", "excluded: CPU {cpu} accessed local memory"),
    };
    Some(Cause { of: LATENCY, possible, seen: cite_fact(says, figure) })
}

/// Other guests on the host.
fn sharing(case: &Case, _: &Measurement) -> Option<Cause> {
    let machine = &case.record.machine;
    let says = text!("possible: other guests share the host's memory and caches");
    machine.is_virtual().then(|| Cause {
        of: &[MEMORY_BANDWIDTH, MEMORY_LATENCY, WAKE_UP],
        possible: true,
        seen: cite_fact(says, "machine.virtualization.hypervisor"),
    })
}

/// Settings that reduce speed to save power.
fn power(case: &Case, _: &Measurement) -> Option<Cause> {
    let setting = case.record.conditions.before.clocks.first()?.governor.as_deref()?;
    let possible = setting != "performance";
    let governor = quote_name(setting);
    let says = match possible {
        true => text!("possible: the governor is {governor}"),
        false => text!("excluded: the governor is {governor}"),
    };
    Some(Cause {
        of: &[CORE, MEMORY_LATENCY, WAKE_UP],
        possible,
        seen: cite_fact(says, "conditions.before.clocks[].governor"),
    })
}

/// Mitigations that the kernel applies at each entry.
fn mitigations(case: &Case, _: &Measurement) -> Option<Cause> {
    let on = |state: &&String| state.starts_with("Mitigation");
    let count = case.record.machine.kernel.mitigations.values().filter(on).count();
    let says = text!("possible: {count} active mitigations slow down each wake-up");
    (count > 0).then(|| Cause {
        of: &[WAKE_UP],
        possible: true,
        seen: cite_fact(says, "machine.kernel.mitigations"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{add_curve, device, machine, measured};
    use record::{Labels, Record};

    /// A Milan server with all 8 channels populated, and its results.
    fn milan(latency: [f64; 2], triad: f64) -> Record {
        let mut record = machine(64);
        let processor = &mut record.machine.processor;
        processor.vendor = Some("AuthenticAMD".to_owned());
        (processor.family, processor.model) = (Some(25), Some(1));
        processor.model_name = Some("AMD EPYC 7763 64-Core Processor".to_owned());
        (processor.base_hz, processor.max_hz) = (Some(2_450_000_000), Some(3_500_000_000));
        record.machine.counts.packages = Some(1);
        record.machine.memory_devices =
            ["A", "B", "C", "D", "E", "F", "G", "H"].iter().map(|name| device(name, name, 32)).collect();
        for (page, ns) in ["4KiB", "2MiB"].into_iter().zip(latency) {
            add_curve(&mut record, page, &[(4 << 10, 1.0), (1 << 29, ns)]);
        }
        let place = Labels::new()
            .with_label(Label::Op, "triad")
            .with_label(Label::Stores, "streaming")
            .with_label(Label::BytesCounted, "stream")
            .with_label(Label::Threads, 64u32);
        record
            .measurements
            .push(measured("memory.bandwidth", place, triad).with_detail(detail::ARRAY_BYTES, 1u64 << 30));
        clocks(&mut record, 3.2e9);
        record
    }

    fn clocks(record: &mut Record, hz: f64) {
        record.measurements.retain(|m| m.metric != "core.clock");
        for active in ["one", "all"] {
            let place = Labels::new()
                .with_label(Label::Cpu, 0u32)
                .with_label(Label::Active, active)
                .with_label(Label::Vector, "scalar");
            record.measurements.push(measured("core.clock", place, hz));
        }
    }

    fn resource(record: &Record, name: &str) -> record::diagnosis::Resource {
        crate::diagnose(record).resources.into_iter().find(|resource| resource.name == name).unwrap()
    }

    fn codes(finding: &Finding) -> Vec<&str> {
        finding.evidence.iter().filter_map(|seen| seen.says.code()).collect()
    }

    #[test]
    fn a_machine_like_its_like_has_no_finding() {
        let record = milan([130.0, 110.0], 168e9);
        assert_eq!(found(&record, RULE), []);
        for name in [CORE, MEMORY_BANDWIDTH, MEMORY_LATENCY] {
            let of = resource(&record, name);
            assert_eq!(of.position, Some(Position::Normal), "{of:?}");
        }
        let core = resource(&record, CORE);
        assert!((core.share.unwrap() - 3.2 / 3.5).abs() < 1e-3, "{core:?}");
        assert_eq!(resource(&record, MEMORY_LATENCY).share, None, "its own best is not the line speed");
    }

    #[test]
    fn the_largest_anomaly_is_the_first_finding() {
        let record = milan([240.0, 212.0], 150e9);
        let all = crate::diagnose(&record).findings;
        assert_eq!((all[0].rule.as_str(), all[0].resource.as_deref()), (RULE.name, Some(MEMORY_LATENCY)));
        let Some(Value::Sentence(ends)) = all[0].what.value("ends") else { panic!("{}", all[0].what) };
        assert_eq!(["low", "high"].map(|end| crate::samples::figure_in(ends, end)), [95.0, 125.0]);
        let codes = codes(&all[0]);
        assert!(codes.contains(&"atypical-not-pages") && codes.contains(&"atypical-not-remote"), "{codes:?}");
        assert_eq!(resource(&record, MEMORY_LATENCY).position, Some(Position::High));
    }

    #[test]
    fn pages_are_no_fault_of_the_memory() {
        let record = milan([212.0, 110.0], 168e9);
        assert_eq!(found(&record, RULE), []);
        assert_eq!(resource(&record, MEMORY_LATENCY).typical.unwrap().compared, Some(110.0));
        let mut small = record;
        small.conditions.before.thp = Some("never".to_owned());
        assert!(crate::diagnose(&small).findings.iter().any(|finding| finding.rule == "page-walk"));
    }

    #[test]
    fn half_of_the_channels_are_the_first_cause() {
        let mut record = milan([130.0, 110.0], 70e9);
        record.machine.memory_devices.truncate(4);
        let finding = &found(&record, RULE)[0];
        assert_eq!(finding.resource.as_deref(), Some(MEMORY_BANDWIDTH));
        assert!(codes(finding).contains(&"atypical-channels"), "{finding:?}");
        assert_eq!(resource(&record, MEMORY_BANDWIDTH).position, Some(Position::Low));
    }

    #[test]
    fn a_throttled_core_is_below_its_base() {
        let mut record = milan([130.0, 110.0], 168e9);
        clocks(&mut record, 1.4e9);
        let finding = &found(&record, RULE)[0];
        assert_eq!(finding.resource.as_deref(), Some(CORE));
        assert_eq!(resource(&record, CORE).position, Some(Position::Low));
        assert!(codes(finding).contains(&"atypical-clock"), "{finding:?}");
    }

    #[test]
    fn beside_others_no_headline_is_better_and_none_is_judged() {
        let idle = milan([240.0, 212.0], 168e9);
        let mut busy = idle.clone();
        let at = |uptime: f64, used: f64| record::Snapshot {
            uptime_seconds: Some(uptime),
            own_cpu_seconds: Some(1.0),
            cpu_seconds: ["user", "nice", "system", "irq", "softirq"]
                .map(|kind| (kind.to_owned(), used / 5.0))
                .into(),
            ..record::Snapshot::default()
        };
        (busy.conditions.before, busy.conditions.after) = (at(100.0, 50.0), Some(at(110.0, 50.0 + 320.0)));
        assert_eq!(found(&busy, RULE), []);
        for name in [CORE, MEMORY_BANDWIDTH, MEMORY_LATENCY] {
            let (of_idle, of_busy) = (resource(&idle, name), resource(&busy, name));
            assert_eq!((of_busy.share, of_busy.position), (None, Some(Position::NotRepresentative)));
            assert_eq!(of_busy.delivered, of_idle.delivered);
        }
    }

    #[test]
    fn a_cause_that_costs_as_much_stands_for_it() {
        let mut record = milan([130.0, 110.0], 168e9);
        crate::samples::add_wakeups(&mut record, "other", "as-is", [1020e3; 2]);
        crate::samples::add_wakeups(&mut record, "other", "tuned", [20e3; 2]);
        assert_eq!(found(&record, RULE)[0].resource.as_deref(), Some(WAKE_UP));
        for m in &mut record.measurements {
            if m.labels.word(Label::Setting) == Some("as-is") {
                m.detail.set(detail::TIMER_SLACK_NS, 1000e3);
            }
        }
        let rules: Vec<String> =
            crate::diagnose(&record).findings.into_iter().map(|finding| finding.rule).collect();
        assert!(rules.contains(&"timer-slack".to_owned()), "{rules:?}");
        assert!(!rules.contains(&RULE.name.to_owned()), "{rules:?}");
    }

    #[test]
    fn of_an_unknown_processor_nothing_is_said() {
        let mut record = milan([240.0, 212.0], 70e9);
        record.machine.processor.model = Some(0xee);
        assert_eq!(found(&record, RULE), []);
        assert_eq!(missing(&record, RULE), Some("published results for this processor"));
        assert_eq!(resource(&record, MEMORY_LATENCY).position, Some(Position::UnknownMachine));
    }

    #[test]
    fn a_guest_beside_bare_metal_is_named_so_and_is_no_serious_fault() {
        let mut record = milan([240.0, 212.0], 168e9);
        record.machine.virtualization.hypervisor = Some("kvm".to_owned());
        let finding = &found(&record, RULE)[0];
        assert_eq!(finding.what.code(), Some("atypical-beside-bare-metal"));
        assert_eq!((finding.severity, finding.confidence), (Severity::Warning, Confidence::Low));
    }

    #[test]
    fn a_family_without_a_known_clock_is_a_range() {
        let mut record = milan([130.0, 110.0], 168e9);
        let processor = &mut record.machine.processor;
        (processor.max_hz, processor.base_hz) = (Some(2_450_000_000), Some(2_450_000_000));
        clocks(&mut record, 2.44e9);
        let core = resource(&record, CORE);
        // The base clock is not a ceiling, even if it is reported as the highest clock.
        assert_eq!(core.source, Some(record::diagnosis::CeilingSource::Family));
        assert_eq!((core.ceiling, core.family_ceilings), (Some(4.1e9), Some((3.45e9, 4.1e9))));
        assert!(core.share.is_some_and(|share| share < 0.7), "{core:?}");
    }
}
