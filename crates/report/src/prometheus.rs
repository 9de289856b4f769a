//! Prometheus's classic text format, as node_exporter's textfile collector reads it
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>): HELP and TYPE once a name, base units, no times.

use std::fmt::Write;

use record::diagnosis::BoundBy;
use record::live::Interval;

/// A label's value: backslash, quote and line feed are escaped, other controls have no place.
fn escape(value: &str) -> String {
    let mut escaped = String::new();
    for c in value.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            '\n' => escaped.push_str("\\n"),
            c if c.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A gauge with its values by one label; nothing where there are none.
fn gauge(text: &mut String, name: &str, help: &str, values: &[(Option<(&str, &str)>, f64)]) {
    let finite: Vec<_> = values.iter().filter(|(_, value)| value.is_finite()).collect();
    if finite.is_empty() {
        return;
    }
    let _ = writeln!(text, "# HELP linespeed_{name} {help}\n# TYPE linespeed_{name} gauge");
    for (label, value) in finite {
        let label = label.map(|(label, of)| format!("{{{label}=\"{}\"}}", escape(of))).unwrap_or_default();
        let _ = writeln!(text, "linespeed_{name}{label} {value}");
    }
}

/// One interval of a watch.
pub fn interval(interval: &Interval, bound: Option<&BoundBy>, code: &str) -> String {
    let mut text = String::new();
    let times = &interval.times;
    let shares = [
        ("user", times.user),
        ("system", times.system),
        ("irq", times.irq),
        ("softirq", times.softirq),
        ("steal", times.steal),
        ("iowait", times.iowait),
        ("idle", times.idle),
    ];
    let shares = shares.map(|(mode, seconds)| (Some(("mode", mode)), times.share(seconds)));
    gauge(&mut text, "live_cpu_ratio", "Share of all CPUs' time by mode.", &shares);
    let of = |value: Option<f64>| value.map(|value| (None, value)).into_iter().collect::<Vec<_>>();
    if bound.is_some() {
        let help = "1 for what the machine was bound by in the last interval.";
        gauge(&mut text, "live_bound", help, &[(Some(("by", code)), 1.0)]);
    }
    let pressure: Vec<_> =
        interval.pressure.iter().map(|(what, share)| (Some(("resource", what.as_str())), *share)).collect();
    gauge(&mut text, "live_pressure_ratio", "Share of the time in which some task waited (PSI).", &pressure);
    gauge(
        &mut text,
        "live_runnable_threads",
        "Threads running or ready, on average.",
        &of(interval.runnable),
    );
    let delay = interval.run_queue_delay.map(|seconds| seconds / interval.seconds.max(1e-9));
    gauge(
        &mut text,
        "live_run_queue_delay_ratio",
        "Time that threads waited for a CPU, a second of the watch.",
        &of(delay),
    );
    let rates: Vec<_> =
        interval.rates.iter().map(|(event, rate)| (Some(("event", event.as_str())), *rate)).collect();
    gauge(&mut text, "live_events_per_second", "Events of the kernel.", &rates);
    let probe = interval.probe.clone().unwrap_or_default();
    let nodes: Vec<(String, f64)> =
        probe.latency_ns.iter().map(|(node, ns)| (node.to_string(), ns / 1e9)).collect();
    let latency: Vec<_> =
        nodes.iter().map(|(node, seconds)| (Some(("node", node.as_str())), *seconds)).collect();
    gauge(&mut text, "live_memory_latency_seconds", "Time of a load from memory, by the probe.", &latency);
    gauge(&mut text, "live_clock_hertz", "Core clock by dependent adds.", &of(probe.clock_hz));
    gauge(
        &mut text,
        "live_timer_late_seconds",
        "How late a timer came.",
        &of(probe.late_us.map(|us| us / 1e6)),
    );
    let sensors = &interval.sensors;
    gauge(&mut text, "live_temperature_celsius", "The highest temperature.", &of(sensors.celsius));
    gauge(&mut text, "live_fan_rpm", "The fastest fan.", &of(sensors.fan_rpm));
    gauge(&mut text, "live_power_watts", "Power of packages or supplies.", &of(sensors.watts));
    gauge(
        &mut text,
        "live_heat_throttled_ratio",
        "Share of the time throttled by heat.",
        &of(sensors.heat_throttled),
    );
    let own = interval.own_seconds / interval.seconds.max(1e-9);
    gauge(&mut text, "live_own_cpu_ratio", "CPU time of linespeed itself, of one CPU.", &[(None, own)]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_help_once_and_values_are_escaped() {
        let mut shown = Interval { seconds: 1.0, ..Interval::default() };
        shown.times.user = 1.0;
        shown.rates.insert("bad\"\\\n\u{1b}name".to_owned(), 7.0);
        shown.pressure.insert("cpu".to_owned(), f64::NAN);
        let text = interval(&shown, Some(&BoundBy::Cpu), "cpu");
        assert!(text.contains("linespeed_live_cpu_ratio{mode=\"user\"} 1\n"), "{text}");
        assert!(text.contains("{event=\"bad\\\"\\\\\\n\u{fffd}name\"} 7\n"), "{text}");
        assert!(!text.contains("NaN") && !text.contains("pressure"), "{text}");
        let helps: Vec<&str> = text.lines().filter(|line| line.starts_with("# HELP")).collect();
        let names: std::collections::BTreeSet<&str> =
            helps.iter().filter_map(|line| line.split(' ').nth(2)).collect();
        assert_eq!(helps.len(), names.len());
        assert!(text.ends_with('\n'));
    }
}
