//! A tree of regular files that behaves like kernel files.

use machine::Root;
use quiet::files::{Files, Refusal};

/// Files of a tree with the kernel's behavior: they contain `always [madvise] never` after `madvise` was written, and
/// setting a governor enables turbo again.
pub struct Kernel<'a> {
    root: &'a Root,
}

const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";

impl<'a> Kernel<'a> {
    /// Uses this tree.
    pub fn new(root: &'a Root) -> Self {
        Self { root }
    }

    /// Writes a value atomically, as sysfs does; overwriting a regular file is not atomic.
    fn put(&self, path: &str, value: &str) -> Result<(), Refusal> {
        let refused = |error: std::io::Error| Refusal::new(path, &error);
        let real = self.root.real_path(path).map_err(|_| refused(std::io::ErrorKind::NotFound.into()))?;
        let beside = self.root.path().with_extension("being-written");
        std::fs::write(&beside, format!("{value}\n"))
            .and_then(|()| std::fs::rename(&beside, real))
            .map_err(refused)
    }
}

impl Files for Kernel<'_> {
    fn root(&self) -> &Root {
        self.root
    }

    fn write(&self, path: &str, value: &str) -> Result<(), Refusal> {
        let now = self.read(path)?;
        let chosen = now.contains('[').then(|| {
            let words = now.split(' ').map(|word| word.trim_matches(['[', ']']));
            words.map(|word| if word == value { format!("[{word}]") } else { word.to_owned() })
        });
        match chosen {
            Some(words) => {
                let words: Vec<String> = words.collect();
                if !words.iter().any(|word| word.starts_with('[')) {
                    return Err(Refusal::new(path, &std::io::Error::from_raw_os_error(libc::EINVAL)));
                }
                self.put(path, &words.join(" "))?;
            }
            None => self.put(path, value)?,
        }
        if path.ends_with("/scaling_governor") && self.read(NO_TURBO).is_ok() {
            self.put(NO_TURBO, "0")?;
        }
        Ok(())
    }
}
