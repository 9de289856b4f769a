//! A synthetic tree of a machine for unit tests: files in a temporary directory.

use machine::Root;

/// A tree whose directory is removed when the value is dropped.
pub(crate) struct Tree(tempfile::TempDir);

impl Tree {
    /// A tree with empty `proc` and `sys`.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["proc", "sys"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self(folder)
    }

    /// Adds a file (and its parent directories), or replaces it.
    pub(crate) fn file(self, path: &str, contents: &str) -> Self {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, contents).unwrap();
        self
    }

    /// Adds a link (and its parent directories), or replaces it.
    pub(crate) fn link(self, path: &str, to: &str) -> Self {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(to, path).unwrap();
        self
    }

    /// Adds a directory, which cannot be read as a file.
    pub(crate) fn folder(self, path: &str) -> Self {
        std::fs::create_dir_all(self.0.path().join(path)).unwrap();
        self
    }

    /// Removes a file, or a directory with its contents.
    pub(crate) fn without(self, path: &str) -> Self {
        let path = self.0.path().join(path);
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap()
        } else {
            std::fs::remove_file(path).unwrap()
        }
        self
    }

    /// The tree as the root below which files are read.
    pub(crate) fn root(&self) -> Root {
        Root::captured(self.0.path()).unwrap()
    }
}
