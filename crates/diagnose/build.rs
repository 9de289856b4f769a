//! Packs the processor data (`reference/cores/`): each file as JSON under its name, all of them deflated together.

use std::error::Error;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    const FOLDER: &str = "../../reference/cores";
    println!("cargo::rerun-if-changed={FOLDER}");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(FOLDER)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.sort();
    let mut cores = Vec::new();
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let read = |text: &str| toml::from_str::<serde_json::Map<String, serde_json::Value>>(text);
        let mut core =
            read(&std::fs::read_to_string(&file)?).map_err(|why| format!("{}: {why}", file.display()))?;
        let id = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        core.insert("id".to_owned(), id.into());
        cores.push(core);
    }
    let packed = miniz_oxide::deflate::compress_to_vec(&serde_json::to_vec(&cores)?, 10);
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("cores"), packed)?;
    Ok(())
}
