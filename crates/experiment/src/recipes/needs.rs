//! The programs that a recipe needs: whether they are installed, and how to install them on each distribution.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use machine::distribution::Family;
use serde::Deserialize;

use super::fields::read_programs;

/// Directories with server programs that are not on every user's PATH.
const SERVERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Maximum size, in bytes, of a program that is searched for a string. The STREAM program has a few dozen kB.
const MOST_SEARCHED: u64 = 16 << 20;

/// A program that a recipe needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Need {
    /// The possible names of the program. In all commands, the first of these names is replaced by the path of the
    /// first installed program.
    #[serde(rename = "program", deserialize_with = "read_programs")]
    pub programs: Vec<String>,
    /// A string that the program's file must contain, to exclude other programs of the same name.
    pub contains: Option<String>,
    /// Other ways to install the program.
    pub hint: Option<String>,
    /// Package names by distribution.
    #[serde(flatten)]
    pub packages: BTreeMap<Family, String>,
}

/// The directories searched for programs.
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
    /// The path of the program; `None` if it is missing.
    pub fn find(&self, folders: &[PathBuf]) -> Option<PathBuf> {
        let is_program = |file: std::fs::Metadata| file.is_file() && file.permissions().mode() & 0o111 != 0;
        self.programs.iter().find_map(|name| {
            folders.iter().map(|folder| folder.join(name)).find(|path| {
                path.metadata().is_ok_and(is_program)
                    && self.contains.as_ref().is_none_or(|text| contains_text(path, text))
            })
        })
    }

    /// Describes the missing program and its installation in one sentence; `os_release` is the text of /etc/os-release.
    pub fn describe_missing(&self, os_release: &str) -> String {
        let mut words = format!("{} is not installed", self.programs.join(" or "));
        let known = Family::all().filter_map(|(family, people, install)| {
            Some((people, format!("{install} {}", self.packages.get(&family)?)))
        });
        let here = Family::find(os_release).and_then(|here| Some((here, self.packages.get(&here)?)));
        if let Some((family, package)) = here {
            words.push_str(&format!(": {} {package}", family.install()));
        } else if !self.packages.is_empty() {
            let all: Vec<String> = known.map(|(people, install)| format!("{people}: {install}")).collect();
            words.push_str(&format!(" ({})", all.join("; ")));
        }
        if let Some(hint) = &self.hint {
            words.push_str(&format!("; {hint}"));
        }
        words
    }
}

/// Whether the file contains this string.
fn contains_text(path: &Path, text: &str) -> bool {
    use std::io::Read;
    let mut content = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MOST_SEARCHED).read_to_end(&mut content));
    let wanted = std::ffi::OsStr::new(text).as_bytes();
    read.is_ok() && !wanted.is_empty() && content.windows(wanted.len()).any(|part| part == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need() -> Need {
        Need {
            programs: vec!["nosuchprogram".to_owned(), "tool".to_owned()],
            packages: [(Family::Debian, "tools"), (Family::Fedora, "tools-extra")]
                .map(|(key, package)| (key, package.to_owned()))
                .into(),
            ..Need::default()
        }
    }

    #[test]
    fn the_way_out_is_this_distributions_own() {
        let missing = |text| need().describe_missing(text);
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
