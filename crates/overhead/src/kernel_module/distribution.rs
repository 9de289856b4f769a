//! How a distribution installs the headers of a kernel, and a program.

use std::fs;
use std::path::Path;

use machine::distribution::Family;
use record::{Text, text};

fn family(root: &Path) -> Option<Family> {
    let files = ["etc/os-release", "usr/lib/os-release"];
    Family::find(&files.iter().find_map(|path| fs::read_to_string(root.join(path)).ok())?)
}

/// The command that installs the headers of a kernel, and what a module is built with.
pub(crate) fn install_headers(root: &Path, release: &str) -> Text {
    let Some(family) = family(root) else {
        return text!(
            "install make, gcc and the headers of kernel {release} (linux-headers-{release} or kernel-devel-{release}), which \
             provide /lib/modules/{release}/build",
            release = release.to_owned()
        );
    };
    // What a kernel is built for stands at the end: 6.6.52-1-lts, 6.4.0-150600.23-default; 6.11.1-arch1-1 is Arch's usual one.
    let is_word = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphabetic());
    let flavour = release.rsplit_once('-').filter(|(_, last)| is_word(last));
    let headers = match (family, flavour) {
        (Family::Debian, _) => format!("linux-headers-{release}"),
        (Family::Fedora, _) if release.contains("uek") => format!("kernel-uek-devel-{release}"),
        (Family::Fedora, _) => format!("kernel-devel-{release}"),
        (Family::Suse, Some((version, flavour))) => format!("kernel-{flavour}-devel={version}"),
        (Family::Suse, None) => "kernel-default-devel".to_owned(),
        (Family::Arch, Some((_, flavour))) => format!("linux-{flavour}-headers"),
        (Family::Arch, None) => "linux-headers".to_owned(),
        (Family::Alpine, flavour) => format!("linux-{}-dev", flavour.map_or("lts", |(_, flavour)| flavour)),
    };
    format!("sudo {} {headers} make gcc", family.install()).into()
}

/// The command that installs a package.
pub(crate) fn install_package(root: &Path, name: &str) -> String {
    family(root).map_or(format!("install {name}"), |family| format!("sudo {} {name}", family.install()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(os_release: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("etc")).unwrap();
        fs::write(root.path().join("etc/os-release"), os_release).unwrap();
        root
    }

    #[test]
    fn the_exact_package_is_named() {
        for (os, release, said) in [
            ("ID=debian\n", "6.1.0-56-amd64", "sudo apt install linux-headers-6.1.0-56-amd64 make gcc"),
            (
                "NAME=\"X\"\nID_LIKE=\"ubuntu debian\"\nID=mint\n",
                "6.8.0-45-generic",
                "linux-headers-6.8.0-45-generic",
            ),
            ("ID=\"openEuler\"\n", "5.10.0-60.oe2203.aarch64", "kernel-devel-5.10.0-60.oe2203.aarch64"),
            (
                "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n",
                "5.14.0-1.el9.x86_64",
                "dnf install kernel-devel-5.14",
            ),
            ("ID=ol\nID_LIKE=fedora\n", "5.15.0-100.el8uek.x86_64", "kernel-uek-devel-5.15"),
            ("ID=opensuse-leap\n", "6.4.0-150600.23-default", "kernel-default-devel=6.4.0-150600.23"),
            ("ID=arch\n", "6.6.52-1-lts", "linux-lts-headers"),
            ("ID=arch\n", "6.11.1-arch1-1", "linux-headers"),
            ("ID=alpine\n", "6.6.52-0-virt", "linux-virt-dev"),
            ("ID=slackware\n", "6.6.1", "/lib/modules/6.6.1/build"),
            ("", "6.6.1", "/lib/modules/6.6.1/build"),
        ] {
            let reported = install_headers(root(os).path(), release).to_string();
            assert!(reported.contains(said), "{os}: {reported}");
        }
        assert_eq!(install_package(root("ID=fedora\n").path(), "make"), "sudo dnf install make");
    }
}
