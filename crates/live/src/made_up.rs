//! A machine's tree made up for a unit test: files below a temporary folder.

use machine::Root;

/// A tree that goes away with its value.
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

    /// Adds a file (and its folders), or replaces it.
    pub(crate) fn file(self, path: &str, contents: &str) -> Self {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, contents).unwrap();
        self
    }

    /// The tree as a root to read below.
    pub(crate) fn root(&self) -> Root {
        Root::captured(self.0.path()).unwrap()
    }
}
