//! The included shapes: the TOML files in `lab/shapes/`.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::shape::Shape;

/// Their directory, in the source tree from which the lab was built.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/shapes");

/// A shape by name or file.
pub fn find(name: &str) -> Result<Shape, Failure> {
    let own = Path::new(name);
    // A name takes precedence over a directory of the same name.
    let path = if own.extension().is_some() || name.contains('/') {
        own.to_owned()
    } else {
        let path = Path::new(FOLDER).join(format!("{name}.toml"));
        if !path.exists() {
            let names = names()?.join(", ");
            return Err(Failure::Usage(format!("there is no shape {name:?}; there are: {names}")));
        }
        path
    };
    Shape::read(&path).map_err(|error| Failure::Usage(error.to_string()))
}

/// All shapes, in order of their names.
pub fn all() -> Result<Vec<Shape>, Failure> {
    names()?.iter().map(|name| find(name)).collect()
}

fn names() -> Result<Vec<String>, Failure> {
    let entries = std::fs::read_dir(FOLDER)
        .map_err(|error| Failure::Cannot(format!("{FOLDER}: {error}; build the lab where its shapes are")))?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut names: Vec<String> = paths
        .filter(|path: &PathBuf| path.extension().is_some_and(|ending| ending == "toml"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_that_comes_along_can_be_built() {
        let shapes = all().unwrap_or_else(|failure| panic!("{failure}"));
        assert!(shapes.iter().any(|shape| shape.check.quick));
        for shape in shapes {
            crate::qemu::kernel_parameters(&shape, &shape.check.run).unwrap();
            assert!(!shape.summary.is_empty() && !shape.summary.contains('\n'), "{}", shape.name);
        }
    }

    #[test]
    fn a_shape_that_is_not_there_is_answered_with_those_that_are() {
        let why = find("vax-11").unwrap_err().to_string();
        assert!(why.contains("hygon-5280") && why.contains("ft-2500"), "{why}");
    }
}
