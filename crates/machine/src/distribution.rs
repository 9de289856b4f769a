//! Families of distributions: which one an os-release describes, and how it installs a package.

use serde::Deserialize;

use crate::text::assignment;

/// A family, as a recipe names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Debian, Ubuntu and what is made of them.
    Debian,
    /// Fedora, RHEL and what is made of them.
    Fedora,
    /// SUSE's.
    Suse,
    /// Arch Linux.
    Arch,
    /// Alpine.
    Alpine,
}

/// Each with the `ID`s of os-release that mean it, how people call it, and the command that installs.
const FAMILIES: [(Family, &str, &str, &str); 5] = [
    (Family::Debian, "debian ubuntu linuxmint raspbian deepin uos", "Debian, Ubuntu", "apt install"),
    (
        Family::Fedora,
        "fedora rhel centos rocky almalinux ol amzn openeuler anolis alinux opencloudos tencentos kylin",
        "Fedora, RHEL, openEuler",
        "dnf install",
    ),
    (Family::Suse, "suse opensuse sles opensuse-leap opensuse-tumbleweed", "openSUSE", "zypper install"),
    (Family::Arch, "arch archarm manjaro", "Arch", "pacman -S"),
    (Family::Alpine, "alpine", "Alpine", "apk add"),
];

impl Family {
    /// The one that this text of os-release describes: by its `ID`, else by what it is like.
    pub fn find(os_release: &str) -> Option<Self> {
        let ids = ["ID", "ID_LIKE"].into_iter().filter_map(|key| assignment(os_release, key));
        ids.flat_map(str::split_whitespace).find_map(|id| {
            let is_own = |known: &str| known.eq_ignore_ascii_case(id);
            FAMILIES.iter().find(|(_, known, ..)| known.split(' ').any(is_own)).map(|(family, ..)| *family)
        })
    }

    /// All of them: each with its name for people, and the command that installs packages as root.
    pub fn all() -> impl Iterator<Item = (Self, &'static str, &'static str)> + Clone {
        FAMILIES.iter().map(|(family, _, people, install)| (*family, *people, *install))
    }

    /// The command that installs packages as root.
    pub fn install(self) -> &'static str {
        Self::all().find(|(family, ..)| *family == self).map_or("", |(.., install)| install)
    }
}
