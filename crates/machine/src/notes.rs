//! Collects problems in a tree: one sentence per kind, regardless of the number of files with the same problem.

use record::{CpuList, Text, text};

use crate::root::Root;

/// Problems in files, collected while a part of the inventory is read.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Each problem, with the first file that has it and the number of further files.
    kinds: Vec<(&'static str, String, usize)>,
}

impl Notes {
    /// Records that the file `path` has this problem. Only the first file is named, because a thousand CPUs may share a
    /// problem.
    pub(crate) fn add(&mut self, what: &'static str, path: &str) {
        match self.kinds.iter_mut().find(|(known, ..)| *known == what) {
            Some((_, _, more)) => *more += 1,
            None => self.kinds.push((what, path.to_owned(), 0)),
        }
    }

    /// The result of `parse` for a file. Unreadable files and invalid contents are recorded.
    pub(crate) fn read<T>(
        &mut self,
        root: &Root,
        path: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        match root.try_text(path) {
            Ok(text) => {
                let value = parse(&text);
                if value.is_none() {
                    self.add("has an invalid value", path);
                }
                value
            }
            Err(error) => {
                if !error.is_missing() {
                    self.add("cannot be read", path);
                }
                None
            }
        }
    }

    /// A list of CPUs or nodes, read from the corresponding mask file if the list is not available.
    pub(crate) fn list(&mut self, root: &Root, path: &str) -> Option<CpuList> {
        let list = self.read(root, path, |text| text.parse().ok());
        let [of_caches, of_nodes] = [("cpu_list", "cpu_map"), ("cpulist", "cpumap")]
            .map(|(list, mask)| Some(format!("{}{mask}", path.strip_suffix(list)?)));
        let mask = of_caches.or(of_nodes).or_else(|| path.strip_suffix("_list").map(str::to_owned));
        list.or_else(|| self.read(root, &mask?, |text| CpuList::from_mask(text).ok()))
    }

    /// Appends the sentences to `notes`.
    pub(crate) fn finish(self, notes: &mut Vec<Text>) {
        notes.extend(self.kinds.into_iter().map(|(what, path, more)| match more {
            0 => text!("{path}: {what}"),
            more => text!("{path}: {what} (and {more} more)"),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_equal_mistakes_are_one_sentence() {
        let mut notes = Notes::default();
        for cpu in 0..1000 {
            notes.add("not a size", &format!("/cpu{cpu}/size"));
        }
        let mut sentences = Vec::new();
        notes.finish(&mut sentences);
        assert_eq!(sentences.len(), 1);
        assert!(
            sentences[0].value("path") == Some(&"/cpu0/size".into())
                && sentences[0].value("more") == Some(&999u32.into())
        );
    }
}
