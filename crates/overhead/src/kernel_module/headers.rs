//! Checks whether the headers and tools for building a module are present, complete and for this kernel. If not, reports the packages to
//! install.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use machine::distribution::Family;
use record::{Text, text};

use crate::Unavailable;

/// The build environment for modules of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headers {
    /// The directory in which make is run.
    pub folder: PathBuf,
    /// Additional arguments for make.
    pub arguments: Vec<String>,
}

/// The headers of the kernel `release` below `root`, with make and a compiler on `path` ($PATH).
///
/// # Errors
///
/// The headers are missing, incomplete or for a different kernel, or a tool is missing. The remedy lists the packages to install.
pub(crate) fn find_headers(root: &Path, release: &str, path: &OsStr) -> Result<Headers, Unavailable> {
    let link = root.join("lib/modules").join(release).join("build");
    let missing = |reason: Text| Unavailable::new(reason).with_remedy(install_headers(root, release));
    let name = format!("/lib/modules/{release}/build");
    if !link.join("Makefile").is_file() {
        let why = match fs::symlink_metadata(&link) {
            Ok(_) => text!("{name} contains no headers"),
            Err(_) => text!("no {name}"),
        };
        return Err(missing(text!(
            "module-headers-missing",
            "the headers of kernel {release} are not installed ({why})",
            release = release.to_owned()
        )));
    }
    let header = fs::read_to_string(link.join("include/generated/utsrelease.h")).ok();
    let Some(other) = header.as_deref().and_then(release_of) else {
        return Err(missing(text!("the headers in {name} are incomplete (no utsrelease.h)")));
    };
    if other != release {
        return Err(missing(text!(
            "{name} has the headers for kernel {other}, not {release}",
            other = other.to_owned(),
            release = release.to_owned()
        )));
    }
    let config = ["include/config/auto.conf", ".config"]
        .iter()
        .find_map(|file| fs::read_to_string(link.join(file)).ok())
        .unwrap_or_default();
    let clang = config.lines().any(|line| line == "CONFIG_CC_IS_CLANG=y");
    let tools: &[&str] = if clang { &["make", "clang", "ld.lld"] } else { &["make", "gcc", "ld"] };
    // Some distributions only provide a compiler whose name includes its version.
    let named = compiler(&config);
    for tool in tools {
        let there = is_on_path(path, tool) || *tool == "gcc" && named.is_some_and(|n| is_on_path(path, n));
        if !there {
            let package = match *tool {
                "ld" => "binutils",
                "ld.lld" => "lld",
                other => other,
            };
            return Err(text!("{tool}, needed to build the module, is not installed", tool = *tool)
                .with_remedy(install_package(root, package)));
        }
    }
    let arguments = if clang { vec!["LLVM=1".to_owned()] } else { Vec::new() };
    Ok(Headers { folder: link, arguments })
}

/// The release in `#define UTS_RELEASE "6.1.0-56-amd64"`.
fn release_of(text: &str) -> Option<&str> {
    let line = text.lines().find_map(|line| line.strip_prefix("#define UTS_RELEASE "))?;
    line.trim().strip_prefix('"')?.strip_suffix('"')
}

/// The name of the compiler with which the kernel was built, which is the first word of CONFIG_CC_VERSION_TEXT.
fn compiler(config: &str) -> Option<&str> {
    let line = config.lines().find_map(|line| line.strip_prefix("CONFIG_CC_VERSION_TEXT="))?;
    line.trim_matches('"').split_whitespace().next().filter(|word| word.contains("gcc"))
}

/// Whether an executable file with that name exists on a search path.
fn is_on_path(path: &OsStr, name: &str) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let executable =
        |file: PathBuf| fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    std::env::split_paths(path).any(|folder| executable(folder.join(name)))
}

fn family(root: &Path) -> Option<Family> {
    let files = ["etc/os-release", "usr/lib/os-release"];
    Family::find(&files.iter().find_map(|path| fs::read_to_string(root.join(path)).ok())?)
}

/// The command that installs the headers of a kernel and the build tools for a module.
pub(crate) fn install_headers(root: &Path, release: &str) -> Text {
    let Some(family) = family(root) else {
        return text!(
            "install make, gcc and the headers of kernel {release} (linux-headers-{release} or kernel-devel-{release}), which \
             provide /lib/modules/{release}/build",
            release = release.to_owned()
        );
    };
    // The kernel's flavor is at the end of the release: 6.6.52-1-lts, 6.4.0-150600.23-default. The release 6.11.1-arch1-1 is
    // Arch's default flavor.
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
    use std::os::unix::fs::OpenOptionsExt;

    const RELEASE: &str = "6.1.0-56-amd64";

    /// A synthetic system; `tools` are on its path.
    fn system(files: &[(&str, &str)], tools: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("bin")).unwrap();
        fs::create_dir_all(at("etc")).unwrap();
        fs::write(at("etc/os-release"), "ID=debian\n").unwrap();
        for tool in tools {
            fs::File::options()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o755)
                .open(at("bin").join(tool))
                .unwrap();
        }
        for (path, text) in files {
            let path = at(&format!("lib/modules/{RELEASE}/build/{path}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn find_in(root: &tempfile::TempDir) -> Result<Headers, Unavailable> {
        find_headers(root.path(), RELEASE, root.path().join("bin").as_os_str())
    }

    const MAKEFILE: (&str, &str) = ("Makefile", "");
    const HEADER: &str = "include/generated/utsrelease.h";
    const OWN: (&str, &str) = (HEADER, "#define UTS_RELEASE \"6.1.0-56-amd64\"\n");
    const TOOLS: [&str; 3] = ["make", "gcc", "ld"];

    #[test]
    fn whatever_is_missing_is_named_with_what_to_install() {
        let headers = "sudo apt install linux-headers-6.1.0-56-amd64 make gcc";
        for (files, tools, reason, remedy) in [
            (vec![], &TOOLS[..], "no /lib/modules/6.1.0-56-amd64/build", headers),
            (vec![("x", "")], &TOOLS, "contains no headers", headers),
            (vec![MAKEFILE], &TOOLS, "incomplete", headers),
            (
                vec![MAKEFILE, (HEADER, "#define UTS_RELEASE \"6.1.0-40-amd64\"\n")],
                &TOOLS,
                "has the headers for kernel 6.1.0-40-amd64, not 6.1.0-56-amd64",
                headers,
            ),
            (vec![MAKEFILE, OWN], &["gcc", "ld"], "make, needed", "sudo apt install make"),
            (vec![MAKEFILE, OWN], &["make", "ld"], "gcc, needed", "sudo apt install gcc"),
            (vec![MAKEFILE, OWN], &["make", "gcc"], "ld, needed", "sudo apt install binutils"),
            (
                vec![MAKEFILE, OWN, (".config", "CONFIG_CC_IS_CLANG=y\n")],
                &TOOLS,
                "clang, needed",
                "sudo apt install clang",
            ),
        ] {
            let failure = find_in(&system(&files, tools)).unwrap_err();
            assert!(
                failure.reason.to_string().contains(reason) && !failure.reason.to_string().contains('\n'),
                "{failure:?}"
            );
            assert_eq!(failure.remedy.unwrap().to_string(), remedy);
        }
    }

    #[test]
    fn a_compiler_with_a_version_in_its_name_is_one() {
        let text = "CONFIG_CC_VERSION_TEXT=\"gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0\"\n";
        let root = system(&[MAKEFILE, OWN, ("include/config/auto.conf", text)], &["make", "gcc-12", "ld"]);
        let headers = find_in(&root).unwrap();
        assert!(headers.folder.ends_with("lib/modules/6.1.0-56-amd64/build") && headers.arguments.is_empty());
    }

    #[test]
    fn a_kernel_of_clang_is_built_for_with_clang() {
        let config = ("include/config/auto.conf", "CONFIG_CC_IS_CLANG=y\n");
        let root = system(&[MAKEFILE, OWN, config], &["make", "clang", "ld.lld"]);
        assert_eq!(find_in(&root).unwrap().arguments, ["LLVM=1"]);
    }
}

#[cfg(test)]
mod package_tests {
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
