//! The programs that a recipe needs: whether they are here, and how each distribution installs them.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where servers lie that are not on everybody's PATH.
const SERVERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The most of a program that is searched for a text, bytes: STREAM is a few dozen kB; ImageMagick's library would be more.
const MOST_SEARCHED: u64 = 16 << 20;

/// Distributions, as they stand in a recipe: the key, the `ID`s of os-release that mean it, how people call it, and the
/// command that installs.
const DISTRIBUTIONS: [(&str, &[&str], &str, &str); 5] = [
    ("debian", &["debian", "ubuntu"], "Debian, Ubuntu", "apt install"),
    (
        "fedora",
        &["fedora", "rhel", "centos", "rocky", "almalinux", "openEuler", "anolis", "alinux", "kylin"],
        "Fedora, RHEL, openEuler",
        "dnf install",
    ),
    (
        "suse",
        &["suse", "opensuse", "sles", "opensuse-leap", "opensuse-tumbleweed"],
        "openSUSE",
        "zypper install",
    ),
    ("arch", &["arch", "archarm", "manjaro"], "Arch", "pacman -S"),
    ("alpine", &["alpine"], "Alpine", "apk add"),
];

/// A program that a recipe needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// Its names; the first that is found is used wherever a command begins with the first of them.
    pub programs: Vec<String>,
    /// A text that its file must hold, where another program has the same name.
    pub contains: Option<String>,
    /// Package names by distribution: `debian`, `fedora`, `suse`, `arch`, `alpine`.
    pub packages: BTreeMap<String, String>,
    /// How else to get it.
    pub hint: Option<String>,
}

/// The folders in which programs are looked for.
pub fn search_path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> =
        std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    for folder in SERVERS {
        if !folders.iter().any(|known| known == Path::new(folder)) {
            folders.push(folder.into());
        }
    }
    folders
}

impl Need {
    /// Where the program is; `None` where it is not.
    pub fn find(&self, folders: &[PathBuf]) -> Option<PathBuf> {
        self.programs.iter().find_map(|name| {
            folders
                .iter()
                .map(|folder| folder.join(name))
                .find(|path| is_program(path) && self.contains.as_ref().is_none_or(|text| holds(path, text)))
        })
    }

    /// What is missing and how to get it, in a sentence; `os_release` is the text of /etc/os-release.
    pub fn missing(&self, os_release: &str) -> String {
        let name = self.programs.join(" or ");
        let mut words = format!("{name} is not installed");
        let here = distribution(os_release).and_then(|key| Some((key, self.packages.get(key)?)));
        let command = |key: &str| DISTRIBUTIONS.iter().find(|d| d.0 == key).map(|d| (d.2, d.3));
        if let Some((key, package)) = here
            && let Some((_, install)) = command(key)
        {
            words.push_str(&format!(": {install} {package}"));
        } else if !self.packages.is_empty() {
            let all: Vec<String> = DISTRIBUTIONS
                .iter()
                .filter_map(|(key, _, people, install)| {
                    Some(format!("{people}: {install} {}", self.packages.get(*key)?))
                })
                .collect();
            words.push_str(&format!(" ({})", all.join("; ")));
        }
        if let Some(hint) = &self.hint {
            words.push_str("; ");
            words.push_str(hint);
        }
        words
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Whether the file holds a text.
fn holds(path: &Path, text: &str) -> bool {
    use std::io::Read;
    let mut content = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MOST_SEARCHED).read_to_end(&mut content));
    let wanted = std::ffi::OsStr::new(text).as_bytes();
    read.is_ok() && !wanted.is_empty() && content.windows(wanted.len()).any(|part| part == wanted)
}

/// The key of the distribution that this os-release describes, by its `ID`, else by what it is like.
fn distribution(os_release: &str) -> Option<&'static str> {
    let value = |key: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        Some(line.trim().trim_matches(['"', '\'']).to_owned())
    };
    let ids = [value("ID"), value("ID_LIKE")].into_iter().flatten();
    let ids: Vec<String> =
        ids.flat_map(|ids| ids.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect();
    ids.iter().find_map(|id| {
        let known =
            DISTRIBUTIONS.iter().find(|(_, known, ..)| known.iter().any(|k| k.eq_ignore_ascii_case(id)));
        known.map(|(key, ..)| *key)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need() -> Need {
        Need {
            programs: vec!["nosuchprogram".to_owned(), "tool".to_owned()],
            packages: [("debian", "tools"), ("fedora", "tools-extra")]
                .map(|(key, package)| (key.to_owned(), package.to_owned()))
                .into(),
            ..Need::default()
        }
    }

    #[test]
    fn the_way_out_is_this_distributions_own() {
        let missing = |text| need().missing(text);
        assert!(missing("ID=debian\n").ends_with("is not installed: apt install tools"));
        assert!(missing("NAME=x\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n").ends_with("apt install tools"));
        assert!(
            missing("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n").ends_with("dnf install tools-extra")
        );
        let unknown = missing("");
        assert!(
            unknown.contains("apt install tools; ") && unknown.contains("dnf install tools-extra"),
            "{unknown}"
        );
    }

    #[test]
    fn another_program_of_the_same_name_is_not_taken_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("tool");
        let folders = [folder.path().to_owned()];
        assert_eq!(need().find(&folders), None);
        std::fs::write(&program, "draws pictures").unwrap();
        assert_eq!(need().find(&folders), None, "a file that cannot be run was taken");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(need().find(&folders), Some(program.clone()));
        let exact = Need { contains: Some("STREAM version".to_owned()), ..need() };
        assert_eq!(exact.find(&folders), None);
        std::fs::write(&program, "xSTREAM version 5").unwrap();
        assert_eq!(exact.find(&folders), Some(program));
    }
}
