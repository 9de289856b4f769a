//! What memory carried past the last caches, by resctrl's counters where somebody mounted it
//! (Documentation/filesystems/resctrl.rst). It is never mounted here: that changes the machine.

use machine::Root;

const MOUNT: &str = "/sys/fs/resctrl";
/// Groups and caches that are looked at.
const MOST: usize = 1024;
/// What no group is: the rest of the folder.
const NO_GROUPS: [&str; 3] = ["info", "mon_groups", "mon_data"];

/// The counters of all groups with tasks or CPUs of their own, by file: bytes, where they are told. A group's own counts hold
/// those of its monitoring groups.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Carried(Vec<(String, Option<u64>)>);

impl Carried {
    /// Looks; empty where it is not mounted, or the processor does not count.
    pub(crate) fn look(root: &Root) -> Self {
        let groups = root.folders(MOUNT).into_iter().filter(|name| !NO_GROUPS.contains(&name.as_str()));
        let groups = groups.map(|name| format!("{MOUNT}/{name}")).chain([MOUNT.to_owned()]);
        let mut all = Vec::new();
        for group in groups {
            for cache in root.list(&format!("{group}/mon_data")) {
                let file = format!("{group}/mon_data/{cache}/mbm_total_bytes");
                if root.exists(&file) {
                    // A part of them would be a sum that is too small.
                    if all.len() >= MOST {
                        return Self::default();
                    }
                    // "Unavailable" and "Error" stand there, too.
                    let bytes = root.number(&file);
                    all.push((file, bytes));
                }
            }
        }
        all.sort();
        Self(all)
    }

    /// Whether it tells nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes from this look to `now`; `None` where a count is not told or went backwards, or a group came or went: the sum would
    /// lack some.
    pub(crate) fn until(&self, now: &Self) -> Option<f64> {
        if self.0.len() != now.0.len() {
            return None;
        }
        let grown = self.0.iter().zip(&now.0).map(|((file, before), (same, now))| {
            let grown = (*now)?.checked_sub((*before)?)?;
            (file == same).then_some(grown as f64)
        });
        grown.sum::<Option<f64>>().filter(|bytes| *bytes > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;

    #[test]
    fn all_groups_count_and_what_went_backwards_is_no_figure() {
        let tree = |root: &str, group: &str| {
            Tree::new()
                .file("sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", root)
                .file("sys/fs/resctrl/batch/mon_data/mon_L3_00/mbm_total_bytes", group)
                .file("sys/fs/resctrl/mon_groups/a/mon_data/mon_L3_00/mbm_total_bytes", "7")
                .file("sys/fs/resctrl/info/L3_MON/num_rmids", "64")
        };
        let look = |root, group| Carried::look(&tree(root, group).root());
        let before = look("1000", "500");
        assert_eq!(before.until(&look("3000", "900")), Some(2400.0));
        for none in [look("900", "900"), look("1000", "500"), look("3000", "Unavailable")] {
            assert_eq!(before.until(&none), None, "{none:?}");
        }
        // One that is told by neither of two looks is missing in their sum all the same.
        let never = look("1000", "Unavailable");
        assert_eq!((never.is_empty(), never.until(&look("2000", "Unavailable"))), (false, None));
        assert!(Carried::look(&Tree::new().root()).is_empty());
        let mut many = Tree::new();
        for cache in 0..=MOST {
            many = many.file(&format!("sys/fs/resctrl/mon_data/mon_L3_{cache}/mbm_total_bytes"), "1");
        }
        assert!(Carried::look(&many.root()).is_empty());
    }
}
