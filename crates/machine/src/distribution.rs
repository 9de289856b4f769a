//! Families of distributions: which family an os-release file describes, and the command that installs packages on
//! it.

use serde::Deserialize;

use crate::text::assignment;

/// A family of distributions, as named in recipes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Debian, Ubuntu and derivatives.
    Debian,
    /// Fedora, RHEL and derivatives.
    Fedora,
    /// SUSE and openSUSE.
    Suse,
    /// Arch Linux.
    Arch,
    /// Alpine.
    Alpine,
}

/// Each family with its `ID`s in os-release, its displayed name, and the install command.
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
    /// The family that this os-release text describes, from `ID` or, if that is unknown, from `ID_LIKE`.
    pub fn find(os_release: &str) -> Option<Self> {
        let ids = ["ID", "ID_LIKE"].into_iter().filter_map(|key| assignment(os_release, key));
        ids.flat_map(str::split_whitespace).find_map(|id| {
            let is_own = |known: &str| known.eq_ignore_ascii_case(id);
            FAMILIES.iter().find(|(_, known, ..)| known.split(' ').any(is_own)).map(|(family, ..)| *family)
        })
    }

    /// All distributions, each with its displayed name and the command that installs packages as root.
    pub fn all() -> impl Iterator<Item = (Self, &'static str, &'static str)> + Clone {
        FAMILIES.iter().map(|(family, _, people, install)| (*family, *people, *install))
    }

    /// The command that installs packages as root.
    pub fn install(self) -> &'static str {
        Self::all().find(|(family, ..)| *family == self).map_or("", |(.., install)| install)
    }
}
