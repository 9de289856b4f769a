//! Throttling by the CPU quotas of cgroups, from the `cpu.stat` of each group that has or had a quota.

use std::collections::BTreeMap;

use machine::Root;
use machine::cgroups::{Cgroups, Version, walk};
use os::procfs::{count_of, throttled_seconds};
use record::live::Throttled;

/// Maximum numbers of groups read and of directories searched.
const MOST_GROUPS: usize = 256;
const MOST_FOLDERS: usize = 5000;

/// Whether a cgroup hierarchy that can report throttling is mounted.
pub(crate) fn are_shown(root: &Root) -> bool {
    Cgroups::read(root).folders("cpu").next().is_some()
}

/// The directories of the cgroups for which the kernel counts periods, because they have or had a quota.
pub(crate) fn find_groups(root: &Root) -> Vec<String> {
    let own = Cgroups::read(root);
    let tops = [Version::V1, Version::V2].into_iter().filter_map(|version| own.top("cpu", version));
    let mut found = Vec::new();
    walk(root, tops.map(str::to_owned).collect(), MOST_FOLDERS, |folder| {
        let stat = root.text(&format!("{folder}/cpu.stat"));
        if stat.as_deref().and_then(parse).is_some_and(|counters| counters.periods > 0) {
            found.push(folder.to_owned());
        }
        found.len() < MOST_GROUPS
    });
    found
}

/// The counters of one group since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counters {
    periods: u64,
    throttled: u64,
    seconds: f64,
    used: Option<f64>,
}

/// One reading of the groups with a quota, by their directories.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Quotas(BTreeMap<String, Counters>);

/// `nr_periods`, `nr_throttled` and the time for which the group was throttled; in cgroup v2, also
/// `usage_usec`.
fn parse(stat: &str) -> Option<Counters> {
    Some(Counters {
        periods: count_of(stat, "nr_periods")?,
        throttled: count_of(stat, "nr_throttled")?,
        seconds: throttled_seconds(stat)?,
        used: count_of(stat, "usage_usec").map(|us| us as f64 / 1e6),
    })
}

impl Quotas {
    /// Reads these cgroup directories.
    pub(crate) fn look<'a>(root: &Root, folders: impl Iterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        for folder in folders {
            if let Some(counters) = root.text(&format!("{folder}/cpu.stat")).as_deref().and_then(parse) {
                all.0.insert(folder.to_owned(), counters);
            }
        }
        all
    }

    /// The group with the most throttling from this reading to `now`; `None` if no group was throttled.
    pub(crate) fn until(&self, now: &Self) -> Option<Throttled> {
        let held = now.0.iter().filter_map(|(group, after)| {
            let before = self.0.get(group)?;
            let periods = after.periods.checked_sub(before.periods).filter(|periods| *periods > 0)?;
            let seconds = after.seconds - before.seconds;
            let throttled = after.throttled.checked_sub(before.throttled)?;
            let used = after.used.zip(before.used).map_or(0.0, |(after, before)| (after - before).max(0.0));
            let periods = (throttled as f64 / periods as f64).min(1.0);
            (seconds > 0.0).then(|| Throttled { group: group.clone(), seconds, periods, used })
        });
        held.max_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;
    use proptest::prelude::*;

    #[test]
    fn the_group_that_was_held_back_most_is_named() {
        let tree = |a: &str, b: &str| {
            Tree::new().file("sys/fs/cgroup/a/cpu.stat", a).file("sys/fs/cgroup/cpu/b/cpu.stat", b)
        };
        let first = tree(
            "usage_usec 1000000\nnr_periods 10\nnr_throttled 5\nthrottled_usec 100000\n",
            "nr_periods 10\nnr_throttled 5\nthrottled_time 100000000\n",
        );
        let second = tree(
            "usage_usec 1500000\nnr_periods 20\nnr_throttled 10\nthrottled_usec 700000\n",
            "nr_periods 20\nnr_throttled 5\nthrottled_time 100000000\n",
        );
        let folders = ["/sys/fs/cgroup/a", "/sys/fs/cgroup/cpu/b", "/sys/fs/cgroup/none"];
        let before = Quotas::look(&first.root(), folders.into_iter());
        let now = Quotas::look(&second.root(), folders.into_iter());
        let expected =
            Throttled { group: "/sys/fs/cgroup/a".to_owned(), seconds: 0.6, periods: 0.5, used: 0.5 };
        let found = before.until(&now).unwrap();
        assert_eq!(
            (found.group, found.periods, found.used),
            (expected.group, expected.periods, expected.used)
        );
        assert!((found.seconds - expected.seconds).abs() < 1e-9);
        // The group was created again, so its counters have restarted.
        assert_eq!(now.until(&before), None);
        assert_eq!(now.until(&now), None);
    }

    #[test]
    fn groups_with_a_quota_are_found_below_the_mount() {
        let tree = Tree::new()
            .file("proc/self/cgroup", "0::/user\n")
            .file("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n")
            .file(
                "sys/fs/cgroup/user/cpu.stat",
                "usage_usec 5\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
            )
            .file(
                "sys/fs/cgroup/pods/a/cpu.stat",
                "usage_usec 5\nnr_periods 7\nnr_throttled 0\nthrottled_usec 0\n",
            )
            .file("sys/fs/cgroup/pods/b/cpu.stat", "usage_usec 5\n");
        assert_eq!(find_groups(&tree.root()), ["/sys/fs/cgroup/pods/a"]);
        assert_eq!(find_groups(&Tree::new().root()), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(nr_periods|nr_throttled|throttled_time| |[0-9]{1,25}|\n){0,20}") {
            let _ = parse(&text);
        }
    }
}
