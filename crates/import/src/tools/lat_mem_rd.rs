//! lmbench's `lat_mem_rd`: latencies by the size of what is read, in MiB.

use record::command_line::CommandLine;

use super::lmbench::{above, processes};
use crate::reading::*;

/// lmbench's `lat_mem_rd`.
pub(super) const LAT_MEM_RD: Tool = Tool {
    name: "lmbench lat_mem_rd",
    opens: |line, _| stride(line.text).is_some(),
    reader: |command| Box::new(LatencyReader { line: above(command, &["lat_mem_rd"]), stride: None }),
};

/// `"stride=64`
fn stride(text: &str) -> Option<u64> {
    let rest = text.trim().trim_start_matches(['"', '“', '”']).strip_prefix("stride=")?;
    parse_whole(rest.trim_end_matches(['"', '“', '”']))
}

/// `64.00000 117.323`
fn point(text: &str) -> Option<(f64, f64)> {
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    let [size, ns] = words[..] else { return None };
    // Sizes carry five digits behind the point (`%.5f`), latencies three.
    size.split_once(['.', ',']).filter(|(_, fraction)| fraction.len() == 5)?;
    Some((parse_decimal(size)?, parse_decimal(ns)?))
}

/// Half of the last of five digits behind the point of a MiB, in bytes.
const ROUNDED_BY: f64 = 0.5e-5 * 1_048_576.0;

/// The size that was printed rounded: of all that it may be the multiple of the largest power of two.
fn roundest(bytes: f64) -> u64 {
    let multiple = |shift: u32| {
        let step = (1_u64 << shift) as f64;
        (bytes / step).round() * step
    };
    let fits = |size: &f64| (size - bytes).abs() <= ROUNDED_BY;
    (3..=30).rev().map(multiple).find(fits).unwrap_or(bytes.round()) as u64
}

struct LatencyReader {
    line: CommandLine,
    stride: Option<u64>,
}

impl Reader for LatencyReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        if let Some(stride) = stride(line.text) {
            return if self.stride.replace(stride).is_some() { Fit::Over } else { Fit::Taken };
        }
        let Some((mib, ns)) = point(line.text) else { return Fit::Between };
        let bytes = mib * 1048576.0;
        if !(1.0..1e15).contains(&bytes) {
            sink.withhold(metrics::LOAD_LATENCY, format!("a working set of {mib} MiB cannot be"), line);
            return Fit::Taken;
        }
        let place = Labels::new()
            .with_label(Label::Bytes, roundest(bytes))
            .with_known(Label::Cpu, self.line.cpu())
            .with_known(Label::Node, self.line.node());
        let several = Some(processes(&self.line)).filter(|processes| *processes > 1);
        let mut m = Measurement::exact(metrics::LOAD_LATENCY, place, vec![ns])
            .with_known_detail(detail::PROCESSES, several);
        // `-t` walks at random and not along the stride, which prefetchers follow.
        let thrash = if self.line.has("-t") { " -t" } else { "" };
        let stride = self.stride.map(|stride| format!(", stride {stride}")).unwrap_or_default();
        m.method = Some(format!("lmbench lat_mem_rd{thrash}{stride}"));
        sink.add_figure(m, line);
        Fit::Taken
    }
}
