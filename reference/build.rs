//! Packs the texts of the machines, each of which is asked for seldom: a third of their size in the program.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::var("OUT_DIR")?;
    println!("cargo::rerun-if-changed=machines");
    for file in std::fs::read_dir("machines")? {
        let path = file?.path();
        let name = path.file_name().ok_or("a file has a name")?;
        let packed = miniz_oxide::deflate::compress_to_vec(&std::fs::read(&path)?, 10);
        std::fs::write(Path::new(&out).join(name), packed)?;
    }
    Ok(())
}
