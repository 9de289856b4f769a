//! What to install where, in the words of each distribution.

use std::fs;
use std::path::Path;

use record::{Text, text};

/// How packages are installed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Debian,
    RedHat,
    Suse,
    Arch,
    Alpine,
    Unknown,
}

fn family(root: &Path) -> Family {
    let text = ["etc/os-release", "usr/lib/os-release"]
        .iter()
        .find_map(|path| fs::read_to_string(root.join(path)).ok())
        .unwrap_or_default();
    let values = text.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        matches!(name.trim(), "ID" | "ID_LIKE").then(|| value.trim().trim_matches(['"', '\'']))
    });
    let mut words = values.flat_map(str::split_whitespace).map(str::to_lowercase);
    let known = words.find_map(|word| match word.as_str() {
        "debian" | "ubuntu" | "linuxmint" | "raspbian" | "deepin" | "uos" => Some(Family::Debian),
        "rhel" | "fedora" | "centos" | "rocky" | "almalinux" | "ol" | "amzn" | "openeuler" | "anolis"
        | "alinux" | "opencloudos" | "tencentos" => Some(Family::RedHat),
        "suse" | "opensuse" | "opensuse-leap" | "opensuse-tumbleweed" | "sles" => Some(Family::Suse),
        "arch" | "manjaro" => Some(Family::Arch),
        "alpine" => Some(Family::Alpine),
        _ => None,
    });
    known.unwrap_or(Family::Unknown)
}

/// How to install the headers of the kernel `release`, and what builds with them.
pub(crate) fn install_headers(root: &Path, release: &str) -> Text {
    let tools = "make gcc";
    let command = match family(root) {
        Family::Debian => format!("sudo apt install linux-headers-{release} {tools}"),
        // The package has the release as its version; other kernels than the usual one have a name of their own.
        Family::RedHat => {
            let kind = if release.contains("uek") { "kernel-uek" } else { "kernel" };
            format!("sudo dnf install {kind}-devel-{release} {tools}")
        }
        Family::Suse => {
            let package = match release.rsplit_once('-') {
                Some((version, flavour)) => format!("kernel-{flavour}-devel={version}"),
                None => "kernel-default-devel".to_owned(),
            };
            format!("sudo zypper install {package} {tools}")
        }
        Family::Arch => {
            let flavour = ["lts", "zen", "hardened", "rt"]
                .iter()
                .find(|word| release.ends_with(&format!("-{word}")))
                .map_or(String::new(), |word| format!("-{word}"));
            format!("sudo pacman -S linux{flavour}-headers {tools}")
        }
        Family::Alpine => {
            let flavour = release.rsplit_once('-').map_or("lts", |(_, flavour)| flavour);
            format!("doas apk add linux-{flavour}-dev {tools}")
        }
        Family::Unknown => {
            return text!(
                "install {tools} and the headers of kernel {release} (linux-headers-{release} or kernel-devel-{release}), \
                 which provide /lib/modules/{release}/build",
                tools,
                release = release.to_owned()
            );
        }
    };
    command.into()
}

/// How to install a program by the package of the same name.
pub(crate) fn install_package(root: &Path, name: &str) -> String {
    let install = match family(root) {
        Family::Debian => "sudo apt install",
        Family::RedHat => "sudo dnf install",
        Family::Suse => "sudo zypper install",
        Family::Arch => "sudo pacman -S",
        Family::Alpine => "doas apk add",
        Family::Unknown => "install",
    };
    format!("{install} {name}")
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
