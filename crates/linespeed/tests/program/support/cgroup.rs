//! A control group of version 1 or 2 that goes when the test ends.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// One made group.
#[derive(Debug)]
pub struct Group {
    path: PathBuf,
    version: u32,
}

impl Group {
    /// Makes a group with `settings` of `controller`: name and value for version 1, name and value for version 2.
    /// Where it cannot, why.
    pub fn new(controller: &str, settings: &[([&str; 2], [&str; 2])]) -> Result<Self, String> {
        if !super::root() {
            return Err("control groups need root".to_owned());
        }
        if super::emulated() {
            return Err("the program runs under an emulator".to_owned());
        }
        let (hierarchy, version) = hierarchy(controller)
            .ok_or_else(|| format!("no hierarchy with the controller {controller} is mounted"))?;
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = hierarchy.join(format!("linespeed-test-{}-{count}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let group = Self { path, version };
        for (one, two) in settings {
            let [name, value] = if version == 1 { one } else { two };
            let file = group.path.join(name);
            std::fs::write(&file, value).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(group)
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How often the kernel killed for memory in it.
    pub fn killed(&self) -> u64 {
        let name = if self.version == 1 { "memory.oom_control" } else { "memory.events" };
        let text = std::fs::read_to_string(self.path.join(name)).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line.and_then(|count| count.trim().parse().ok()).expect("the kernel counts its kills")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that has just died leaves its group a little later.
        for _ in 0..50 {
            if std::fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        eprintln!("{} stays behind", self.path.display());
    }
}

/// Where the hierarchy with `controller` is mounted, and its version.
fn hierarchy(controller: &str) -> Option<(PathBuf, u32)> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let place = PathBuf::from(left.split(' ').nth(4)?);
        let mut right = right.split(' ');
        match right.next()? {
            "cgroup" => right.nth(1)?.split(',').any(|option| option == controller).then_some((place, 1)),
            "cgroup2" => {
                let given = std::fs::read_to_string(place.join("cgroup.subtree_control")).ok()?;
                given.split_whitespace().any(|name| name == controller).then_some((place, 2))
            }
            _ => None,
        }
    })
}
