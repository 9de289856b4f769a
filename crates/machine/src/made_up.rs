//! A synthetic tree of a machine for unit tests: files in a temporary directory.

use std::path::Path;

use crate::Root;

/// A tree that is removed when dropped.
pub(crate) struct Tree(tempfile::TempDir);

impl Tree {
    /// A tree with empty `proc` and `sys`.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("temporary directory");
        for name in ["proc", "sys"] {
            std::fs::create_dir(folder.path().join(name)).expect("its folders");
        }
        Self(folder)
    }

    /// Adds a file (and its directories), or replaces it.
    pub(crate) fn file(self, path: &str, contents: impl AsRef<[u8]>) -> Self {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("create the directory");
        std::fs::write(&path, contents).expect("the file");
        self
    }

    /// Adds several files in one directory.
    pub(crate) fn files(self, folder: &str, files: &[(&str, &str)]) -> Self {
        files.iter().fold(self, |tree, (name, contents)| tree.file(&format!("{folder}/{name}"), contents))
    }

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The tree as a root to read below.
    pub(crate) fn root(&self) -> Root {
        Root::captured(self.path()).expect("a tree")
    }
}
