//! Packs the texts that the program carries: a fifth of their size is left.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::{env, fs};

use flate2::Compression;
use flate2::write::DeflateEncoder;

const TEXTS: [(&str, &str); 3] = [
    ("words", "../../docs/words.md"),
    ("record", "src/schema/record.json"),
    ("comparison", "src/schema/comparison.json"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let out = env::var("OUT_DIR")?;
    for (name, path) in TEXTS {
        println!("cargo::rerun-if-changed={path}");
        let text = fs::read(path).map_err(|error| format!("{path}: {error}"))?;
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&text)?;
        fs::write(Path::new(&out).join(name), encoder.finish()?)?;
    }
    Ok(())
}
