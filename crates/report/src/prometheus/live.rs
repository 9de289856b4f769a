//! An interval of a recording.

use record::diagnosis::BoundBy;
use record::live::{Interval, Sampled};

use super::Exposition;

/// The share of each kind of wait in the user-mode samples; empty if no sample could be decoded.
fn shares(sampled: Option<&Sampled>) -> Vec<(&'static str, f64)> {
    let read = sampled.filter(|sampled| sampled.decoded() > 0);
    read.map_or(Vec::new(), |seen| {
        let parts = [("beyond-caches", seen.far), ("shared-lines", seen.shared), ("spinning", seen.spinning)];
        parts.map(|(at, share)| (at, share.share)).to_vec()
    })
}

/// One interval of a recording.
pub fn interval(interval: &Interval, bound: Option<&BoundBy>) -> String {
    let mut text = Exposition::default();
    let (times, seconds) = (&interval.times, interval.seconds.max(1e-9));
    let modes = [
        ("user", times.user),
        ("system", times.system),
        ("irq", times.irq),
        ("softirq", times.softirq),
        ("steal", times.steal),
        ("iowait", times.iowait),
        ("idle", times.idle),
    ];
    text.add("live_cpu_ratio", "mode", modes.map(|(mode, seconds)| (mode, times.share(seconds))));
    text.add("live_bound", "by", bound.map(|by| (by.code(), 1.0)));
    text.add("live_pressure_ratio", "resource", interval.pressure.iter().map(|(what, share)| (what, *share)));
    text.one("live_runnable_threads", interval.runnable);
    text.one("live_run_queue_delay_ratio", interval.run_queue_delay.map(|delay| delay / seconds));
    text.add("live_events_per_second", "event", interval.rates.iter().map(|(event, rate)| (event, *rate)));
    let probe = interval.probe.clone().unwrap_or_default();
    let latency = probe.latency_ns.iter().map(|(node, ns)| (node, ns / 1e9));
    text.add("live_memory_latency_seconds", "node", latency);
    text.one("live_clock_hertz", probe.clock_hz);
    text.one("live_timer_late_seconds", probe.late_us.map(|us| us / 1e6));
    let cores = interval.cores.clone().unwrap_or_default();
    let ipc = [("user", cores.ipc_user), ("kernel", cores.ipc_kernel), ("all", cores.ipc)];
    text.add("live_instructions_per_cycle", "mode", ipc);
    text.add("live_issue_slots_ratio", "category", cores.top_down);
    text.add("live_user_samples_ratio", "at", shares(interval.sampled.as_ref()));
    let traffic = interval.traffic.as_ref();
    let carried = traffic.map(|traffic| (&traffic.source, traffic.bytes_per_second));
    text.add("live_memory_bytes_per_second", "source", carried);
    text.one("live_memory_bus_ratio", traffic.and_then(|traffic| traffic.bus));
    let remote = interval.remote.unwrap_or_default();
    let remote = [("taken", remote.taken), ("touched", remote.touched), ("held", remote.held)];
    text.add("live_remote_pages_ratio", "of", remote);
    if let Some(service) = &interval.service {
        let threads = |state: &str| service.states.get(state).map(|time| time / service.seconds.max(1e-9));
        let cpus = threads("user").unwrap_or(0.0) + threads("system").unwrap_or(0.0);
        text.one("live_service_cpus", cpus);
        text.one("live_service_runnable_threads", threads("runnable"));
        text.one("live_service_blocked_threads", threads("blocked"));
        text.add("live_service_user_samples_ratio", "at", shares(service.sampled.as_ref()));
    }
    let sensors = &interval.sensors;
    text.one("live_temperature_celsius", sensors.celsius);
    text.one("live_fan_rpm", sensors.fan_rpm);
    text.one("live_power_watts", sensors.watts);
    text.one("live_heat_throttled_ratio", sensors.heat_throttled);
    text.one("live_own_cpu_ratio", interval.own_seconds / seconds);
    text.text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::live::Service;

    #[test]
    fn names_have_their_help_once_and_values_are_escaped() {
        let mut shown = Interval { seconds: 1.0, ..Interval::default() };
        shown.times.user = 1.0;
        shown.rates.insert("bad\"\\\n\u{1b}name".to_owned(), 7.0);
        shown.pressure.insert("cpu".to_owned(), f64::NAN);
        let text = interval(&shown, Some(&BoundBy::Cpu));
        assert!(text.contains("linespeed_live_cpu_ratio{mode=\"user\"} 1\n"), "{text}");
        assert!(text.contains("{event=\"bad\\\"\\\\\\n\u{fffd}name\"} 7\n"), "{text}");
        assert!(!text.contains("NaN") && !text.contains("pressure"), "{text}");
        let helps: Vec<&str> = text.lines().filter(|line| line.starts_with("# HELP")).collect();
        let names: std::collections::BTreeSet<&str> =
            helps.iter().filter_map(|line| line.split(' ').nth(2)).collect();
        assert_eq!(helps.len(), names.len());
        assert!(text.ends_with('\n') && !text.contains("live_service"), "{text}");
    }

    #[test]
    fn what_is_watched_has_its_own_figures_beside_the_machines() {
        let share = |share: f64| record::live::Share::of((share * 100.0) as u64, 100, 0);
        let sampled = |far| Some(Sampled { samples: 100, far: share(far), ..Sampled::default() });
        let states = [("user", 2.0), ("system", 1.0), ("runnable", 0.5), ("blocked", 6.0)];
        let service = Service {
            seconds: 2.0,
            states: states.map(|(state, seconds)| (state.to_owned(), seconds)).into(),
            sampled: sampled(0.99),
            ..Service::default()
        };
        let shown =
            Interval { seconds: 2.0, sampled: sampled(0.48), service: Some(service), ..Interval::default() };
        let text = interval(&shown, Some(&BoundBy::MemoryLatency));
        for line in [
            "linespeed_live_user_samples_ratio{at=\"beyond-caches\"} 0.48",
            "linespeed_live_service_user_samples_ratio{at=\"beyond-caches\"} 0.99",
            "linespeed_live_service_cpus 1.5",
            "linespeed_live_service_runnable_threads 0.25",
            "linespeed_live_service_blocked_threads 3",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}: {text}");
        }
    }
}
