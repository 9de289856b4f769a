//! Packs the JSON Schemas and the glossary, which are long and asked for seldom: a quarter of their size in the program.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::var("OUT_DIR")?;
    for folder in ["src/schema", "src/glossary"] {
        println!("cargo::rerun-if-changed={folder}");
        for file in std::fs::read_dir(folder)? {
            let path = file?.path();
            let name = path.file_name().ok_or("a file has a name")?;
            let packed = miniz_oxide::deflate::compress_to_vec(&std::fs::read(&path)?, 10);
            std::fs::write(Path::new(&out).join(name), packed)?;
        }
    }
    Ok(())
}
