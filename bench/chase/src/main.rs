//! `chase BYTES [CPU]`: nanoseconds a dependent load over a working set of BYTES on huge pages, pinned to CPU, as one
//! line of JSON. Every line of the working set is one stop of a single random cycle (Sattolo's algorithm on a
//! table of indices), so that neither a prefetcher nor a short loop can help.

use std::process::ExitCode;
use std::time::Instant;

mod cycle;
mod memory;
mod walk;

/// The samples of a run. Together they walk the whole cycle at least once, so that no part of it is left out.
const SAMPLES: usize = 64;

/// Fewest hops a sample: below, reading the clock (tens of nanoseconds) would show.
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
    // Its table is a twelfth of the working set: gone before anything is timed.
    drop(order);
    let huge_share = region.huge_share()?;

    // One lap warms caches, TLB and the core's clock.
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
