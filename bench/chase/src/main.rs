//! `chase BYTES [CPU]`: prints the nanoseconds per dependent load for a working set of BYTES on huge pages, pinned to CPU,
//! as one line of JSON. A single random cycle (Sattolo's algorithm on an index table) visits every line of the working set
//! once, so that neither a prefetcher nor a short cycle makes the loads faster.

use std::process::ExitCode;
use std::time::Instant;

mod cycle;
mod memory;
mod walk;

/// The number of samples per run. Together, the samples cover the complete cycle at least once.
const SAMPLES: usize = 64;

/// Minimum number of hops per sample: with fewer, the time to read the clock (tens of nanoseconds) would affect the result.
const FEWEST_HOPS: usize = 100_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match measure(&arguments) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("chase: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &[String]) -> Result<String, String> {
    let number = |text: &String| text.parse::<usize>().map_err(|_| format!("{text:?} is not a whole number"));
    let (bytes, cpu) = match arguments {
        [bytes] => (number(bytes)?, None),
        [bytes, cpu] => (number(bytes)?, Some(number(cpu)?)),
        _ => return Err("usage: chase BYTES [CPU]".to_owned()),
    };
    if let Some(cpu) = cpu {
        memory::pin(cpu)?;
    }
    let lines = bytes / cycle::LINE;
    let order = cycle::sattolo(lines)?;
    let region = memory::Region::new(lines * cycle::LINE)?;
    let first = cycle::link(&region, &order);
    // The index table, a sixteenth of the working set's size, is freed before anything is timed.
    drop(order);
    let huge_share = region.huge_share()?;

    // One lap warms up the caches, the TLB and the core's clock.
    let mut place = walk::hops(first, lines);
    let hops = walk::whole((lines / SAMPLES).max(FEWEST_HOPS));
    let mut nanoseconds = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        let start = Instant::now();
        place = walk::hops(place, hops);
        nanoseconds.push(start.elapsed().as_secs_f64() * 1e9 / hops as f64);
    }
    let samples: Vec<String> = nanoseconds.iter().map(|value| format!("{value:.4}")).collect();
    Ok(format!(
        "{{\"bytes\": {}, \"huge_share\": {huge_share:.4}, \"hops\": {hops}, \"ns\": [{}]}}",
        lines * cycle::LINE,
        samples.join(", ")
    ))
}
