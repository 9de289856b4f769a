//! Import speed: `cargo run --release -p linespeed-import --example reading_speed FILE…`. If the machine is also doing other
//! work, use the CPU time (`/usr/bin/time`) and not the wall time.

use std::fs::File;
use std::time::Instant;

use import::{Importer, Split};

fn main() -> std::io::Result<()> {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::metadata(&path)?.len();
        let begun = Instant::now();
        let mut importer = Importer::new(Split::Hosts);
        importer.read(&path, File::open(&path)?)?;
        let lines = importer.not_understood().lines;
        let reported = importer.finish();
        let seconds = begun.elapsed().as_secs_f64();
        match reported {
            Ok(machines) => {
                let figures: usize = machines.iter().map(|machine| machine.measurements.len()).sum();
                println!(
                    "{path}: {} machines, {figures} figures, {lines} lines not understood",
                    machines.len()
                );
            }
            Err(refusal) => println!("{path}: {refusal}"),
        }
        println!("{bytes} bytes in {seconds:.3} s: {:.1} MB/s", bytes as f64 / 1e6 / seconds);
    }
    Ok(())
}
