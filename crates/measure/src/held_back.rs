//! For how long tasks were held back, as the kernel accounts it: all of them in /proc/pressure, a cgroup's in cpu.stat.

/// The time for which some task waited, µs since boot: of the line `some … total=` (Documentation/accounting/psi.rst).
pub fn some_waited_us(pressure: &str) -> Option<u64> {
    let line = pressure.lines().find(|line| line.starts_with("some "))?;
    line.split_ascii_whitespace().find_map(|field| field.strip_prefix("total="))?.parse().ok()
}

/// The number behind a name in cpu.stat.
pub fn cpu_stat(stat: &str, name: &str) -> Option<u64> {
    let mut words = stat.lines().map(str::split_ascii_whitespace);
    words.find_map(|mut words| (words.next()? == name).then(|| words.next()?.parse().ok())?)
}

/// Seconds for which a quota held a cgroup back: `throttled_usec` of version 2, `throttled_time` (ns) of version 1.
pub fn throttled_seconds(stat: &str) -> Option<f64> {
    let (us, ns) = (cpu_stat(stat, "throttled_usec"), cpu_stat(stat, "throttled_time"));
    us.map(|us| us as f64 / 1e6).or(ns.map(|ns| ns as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kernels_files_read_as_they_are_documented() {
        let pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 total=7\n";
        assert_eq!(some_waited_us(pressure), Some(2_500_000));
        assert_eq!(some_waited_us("full avg10=0.00 total=7\n"), None);
        assert_eq!(throttled_seconds("nr_periods 5\nnr_throttled 2\nthrottled_usec 1500000\n"), Some(1.5));
        assert_eq!(throttled_seconds("nr_periods 5\nnr_throttled 2\nthrottled_time 1500000000\n"), Some(1.5));
        assert_eq!(throttled_seconds("usage_usec 5\n"), None);
    }

    proptest! {
        #[test]
        fn no_file_panics(text in "\\PC{0,80}") {
            let text = format!("some total={text}\nthrottled_usec {text}");
            let _ = (some_waited_us(&text), throttled_seconds(&text));
        }
    }
}
