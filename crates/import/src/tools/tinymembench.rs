//! tinymembench: how fast one thread copies and fills memory, and how much longer than the first-level cache memory of each size takes.

use crate::reading::*;

/// tinymembench.
pub(super) const TINYMEMBENCH: Tool = Tool {
    name: "tinymembench",
    opens: |line, _| {
        line.text.trim().starts_with("tinymembench v")
            || rate(line.text).is_some()
            || latency(line.text).is_some()
    },
    reader: |_| Box::new(TinymembenchReader),
};

/// ` standard memcpy                          :  11234.5 MB/s (0.2%)`
fn rate(text: &str) -> Option<(&str, f64)> {
    let (name, value) = text.trim().split_once(" : ").or_else(|| text.trim().rsplit_once(": "))?;
    let rate = scan::quantity(value.split('(').next()?, &[("MB/s", 6)])?;
    let known = ["copy", "memcpy", "memset", "fill", "read", "write"]
        .iter()
        .any(|word| name.to_lowercase().contains(word));
    known.then(|| (name.trim(), rate))
}

/// `  67108864 :  106.7 ns          /   137.2 ns`: bytes, and nanoseconds beyond a hit of the first level, of one load at a time.
fn latency(text: &str) -> Option<(u64, f64)> {
    let (bytes, rest) = text.split_once(':')?;
    let (one, two) = rest.split_once('/')?;
    let ns = |text: &str| scan::quantity(text, &[("ns", 0)]);
    ns(two).and(Some((parse_whole(bytes)?, ns(one)?)))
}

const TALK: &str = "tinymembench v|==|block size|Note|(adding|Memory bandwidth|Memory latency|Average time|sizes.|accesses|---|The |may |\
    copying|requests|random|multiple|can |in |be |one |It |bandwidth|per ";

struct TinymembenchReader;

impl Reader for TinymembenchReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if let Some(version) = text.strip_prefix("tinymembench v") {
            sink.version(version.split(' ').next().unwrap_or_default());
        } else if let Some((name, rate)) = rate(text) {
            let place = Labels::new()
                .with_label(Label::Workload, format!("tinymembench {name}"))
                .with_label(Label::Threads, 1_u64);
            let m = Measurement::exact(metrics::WORKLOAD_THROUGHPUT, place, vec![rate]);
            sink.add_figure(m.with_detail(detail::WORK, "B"), line);
        } else if let Some((bytes, ns)) = latency(text) {
            // Sizes that the first level holds take no longer.
            if ns > 0.0 {
                let place = Labels::new().with_label(Label::Bytes, bytes);
                let mut m = Measurement::exact(metrics::LOAD_LATENCY, place, vec![ns]);
                m.doubt = Some("a hit of the first-level cache is not in it".into());
                sink.add_figure(m, line);
            }
        } else if !scan::begins(text, TALK) {
            return Fit::Between;
        }
        Fit::Taken
    }
}
