//! Files of this host that are copied into a machine, each at its own path.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The entry at a path.
#[derive(Debug)]
enum Entry {
    /// A file of the host.
    Host(PathBuf),
    Text(String),
    Link(String),
}

/// Files by their path in the machine, which begins with a slash.
#[derive(Debug, Default)]
pub struct Tree(BTreeMap<String, Entry>);

impl Tree {
    /// A file of the host at `place`; links to it are followed.
    pub fn file(&mut self, place: &Path, host: &Path) -> Result<(), Failure> {
        self.0.insert(text(place)?, Entry::Host(host.to_owned()));
        Ok(())
    }

    /// A file with this text.
    pub fn text(&mut self, place: &str, text: impl Into<String>) {
        self.0.insert(place.to_owned(), Entry::Text(text.into()));
    }

    /// Adds a link, unless it would point to itself.
    pub fn link(&mut self, place: &str, target: &Path) -> Result<(), Failure> {
        let target = text(target)?;
        if place != target {
            self.0.insert(place.to_owned(), Entry::Link(target));
        }
        Ok(())
    }

    /// Adds a directory of the host at `place` with its contents, with links preserved; paths for which `left_out`
    /// returns true are omitted.
    pub fn folder(
        &mut self,
        place: &Path,
        host: &Path,
        left_out: &dyn Fn(&Path) -> bool,
    ) -> Result<(), Failure> {
        let cannot = &Failure::of_path(host);
        for entry in fs::read_dir(host).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let (place, host, kind) =
                (place.join(entry.file_name()), entry.path(), entry.file_type().map_err(cannot)?);
            if left_out(&place) {
                continue;
            }
            if kind.is_dir() {
                self.folder(&place, &host, left_out)?;
            } else if kind.is_symlink() {
                self.link(&text(&place)?, &fs::read_link(&host).map_err(cannot)?)?;
            } else if kind.is_file() {
                self.file(&place, &host)?;
            }
        }
        Ok(())
    }

    /// Writes all files to an archive, with the parent directories of each file.
    pub fn write(&self, archive: &mut wire::Archive) -> Result<(), Failure> {
        let too_long = |error: wire::TooLong| Failure::Cannot(error.to_string());
        for folder in self.folders() {
            archive.folder(folder, 0o755).map_err(too_long)?;
        }
        for (place, entry) in &self.0 {
            let place = place.trim_start_matches('/');
            let written = match entry {
                Entry::Text(text) => archive.file(place, 0o644, text.as_bytes()),
                Entry::Link(target) => archive.link(place, target),
                Entry::Host(host) => {
                    let contents = fs::read(host).map_err(Failure::of_path(host))?;
                    let metadata = fs::metadata(host).map_err(Failure::of_path(host))?;
                    let mode = metadata.permissions().mode() & 0o777;
                    archive.file(place, mode, &contents)
                }
            };
            written.map_err(too_long)?;
        }
        Ok(())
    }

    /// The required directories, each after its parent.
    fn folders(&self) -> BTreeSet<&str> {
        let above = |place: &'_ str| place.match_indices('/').skip(1).map(|(at, _)| at).collect::<Vec<_>>();
        self.0.keys().flat_map(|place| above(place).into_iter().map(|end| &place[1..end])).collect()
    }
}

fn text(path: &Path) -> Result<String, Failure> {
    let why = || Failure::Cannot(format!("{}: its name cannot be written here", path.display()));
    path.to_str().map(str::to_owned).ok_or_else(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_comes_along_with_its_links_and_without_what_is_left_out() {
        let host = tempfile::tempdir().unwrap();
        fs::create_dir_all(host.path().join("a/b")).unwrap();
        fs::create_dir_all(host.path().join("other")).unwrap();
        fs::write(host.path().join("a/b/file"), "here").unwrap();
        fs::write(host.path().join("other/file"), "not here").unwrap();
        std::os::unix::fs::symlink("b/file", host.path().join("a/link")).unwrap();
        let mut tree = Tree::default();
        tree.folder(Path::new("/usr/src"), host.path(), &|place| place == Path::new("/usr/src/other"))
            .unwrap();
        tree.text("/etc/os-release", "ID=debian\n");
        tree.link("/bin/x", Path::new("/bin/x")).unwrap();
        let places: Vec<&str> = tree.0.keys().map(String::as_str).collect();
        assert_eq!(places, ["/etc/os-release", "/usr/src/a/b/file", "/usr/src/a/link"]);
        let folders: Vec<&str> = tree.folders().into_iter().collect();
        assert_eq!(folders, ["etc", "usr", "usr/src", "usr/src/a", "usr/src/a/b"]);
        let mut archive = wire::Archive::new();
        tree.write(&mut archive).unwrap();
        let bytes = archive.finish();
        assert!(bytes.windows(6).any(|window| window == b"b/file") && bytes.windows(4).any(|w| w == b"here"));
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let mut tree = Tree::default();
        tree.file(Path::new("/bin/x"), Path::new("/nowhere/x")).unwrap();
        let why = tree.write(&mut wire::Archive::new()).unwrap_err().to_string();
        assert!(why.starts_with("/nowhere/x: No such file"), "{why}");
    }
}
