//! Packs the rarely used texts of the machines (to a third of their size in the program), and creates the list from `machines.list`.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::var("OUT_DIR")?;
    println!("cargo::rerun-if-changed=machines");
    println!("cargo::rerun-if-changed=machines.list");
    let list = std::fs::read_to_string("machines.list")?;
    let mut machines = String::new();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line.split(" | ");
        let [Some(name), Some(published), Some(title)] = [(); 3].map(|()| columns.next()) else {
            return Err(format!("machines.list: {line}").into());
        };
        let packed = Path::new(&out).join(name);
        let text = std::fs::read(format!("machines/{name}.txt"))?;
        std::fs::write(&packed, miniz_oxide::deflate::compress_to_vec(&text, 10))?;
        let apart = columns.next();
        machines += &format!(
            "Machine {{ name: {name:?}, title: {title:?}, packed: include_bytes!({packed:?}), apart: {apart:?}, published: {published:?} }},\n"
        );
    }
    std::fs::write(Path::new(&out).join("machines.rs"), format!("&[{machines}]"))?;
    Ok(())
}
