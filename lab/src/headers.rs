//! A Debian kernel's headers, extracted from their packages without installing them, and cached.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::kernel::{fetch_packages, output};
use crate::shape::Architecture;
use crate::tree::Tree;

/// The suffix of the default kernel's release for this instruction set, which is Debian's name for it.
fn ending(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "amd64",
        Architecture::Aarch64 => "arm64",
    }
}

/// The newest release of each series (6.1, 6.12) with available headers, oldest series first.
pub fn newest(architecture: Architecture) -> Result<Vec<String>, Failure> {
    let names = output(Command::new("apt-cache").args(["pkgnames", "linux-headers-"]))
        .map_err(|why| Failure::Cannot(format!("{why}; run: apt-get update")))?;
    let found = newest_of(&names, ending(architecture));
    if found.is_empty() {
        let name = architecture.name();
        return Err(Failure::Cannot(format!(
            "the package lists contain no kernel headers for {name}; run: apt-get update"
        )));
    }
    Ok(found)
}

fn newest_of(names: &str, ending: &str) -> Vec<String> {
    let mut releases: Vec<(Vec<u64>, &str)> = names
        .lines()
        .filter_map(|name| {
            let release = name.strip_prefix("linux-headers-")?;
            let version = release.strip_suffix(ending)?.strip_suffix('-')?;
            // Excluding flavors (cloud, rt), and the package that depends on the newest.
            let (version, distribution) = version.split_once("+deb").unwrap_or((version, "0"));
            distribution.parse::<u64>().ok()?;
            let numbers = numbers(version)?;
            (numbers.len() > 2).then_some((numbers, release))
        })
        .collect();
    releases.sort();
    let mut newest: Vec<(Vec<u64>, &str)> = Vec::new();
    for (numbers, release) in releases {
        newest.retain(|(other, _)| other[..2] != numbers[..2]);
        newest.push((numbers, release));
    }
    newest.into_iter().map(|(_, release)| release.to_owned()).collect()
}

/// The numbers of a version, `6.1.0-56`; `None` if it contains anything else.
fn numbers(version: &str) -> Option<Vec<u64>> {
    version.split(['.', '-']).map(|word| word.parse().ok()).collect()
}

/// The headers of a release, below `cache`; fetched if missing.
pub fn find(cache: &Path, architecture: Architecture, release: &str) -> Result<PathBuf, Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".+-_".contains(c);
    if release.is_empty() || !release.chars().all(plain) || release.starts_with('-') {
        return Err(Failure::Usage(format!("{release:?} is not a kernel release")));
    }
    let kept = cache.join("headers").join(release);
    let folder = kept.join("usr/src").join(format!("linux-headers-{release}"));
    if !folder.join("Makefile").is_file() {
        eprintln!("lab: fetching the headers of {release} from Debian's archive");
        fetch(&kept, architecture, release)?;
    }
    Ok(folder)
}

/// The headers of a release, laid out as on a system where they are installed, without other instruction sets.
pub fn installed(
    tree: &mut Tree,
    cache: &Path,
    architecture: Architecture,
    release: &str,
) -> Result<(), Failure> {
    let folder = find(cache, architecture, release)?;
    let kept = cache.join("headers").join(release);
    let own = match architecture {
        Architecture::X86_64 => "x86",
        Architecture::Aarch64 => "arm64",
    };
    // /usr/src/linux-headers-…-common/arch/mips
    let others = |place: &Path| {
        let of_an_architecture = place.parent().is_some_and(|parent| parent.ends_with("arch"));
        of_an_architecture && place.components().count() == 6 && !place.ends_with(own)
    };
    for part in ["usr/src", "usr/lib", "lib"] {
        tree.folder(&Path::new("/").join(part), &kept.join(part), &others)?;
    }
    // It contains the path where it was unpacked.
    let makefile = folder.join("Makefile");
    let text = fs::read_to_string(&makefile).map_err(Failure::of_path(&makefile))?;
    let text = text.replace(&format!("{}/usr/src/", kept.display()), "/usr/src/");
    tree.text(&format!("/usr/src/linux-headers-{release}/Makefile"), text);
    Ok(())
}

/// Fetches the packages and unpacks them into `kept`.
fn fetch(kept: &Path, architecture: Architecture, release: &str) -> Result<(), Failure> {
    let failed = |why: String| Failure::Cannot(format!("the headers of {release} cannot be fetched: {why}"));
    let own = format!("linux-headers-{release}:{}", ending(architecture));
    let listed = output(Command::new("apt-cache").args(["depends", &own])).map_err(failed)?;
    let mut packages = needed(&listed);
    if packages.len() < 2 {
        return Err(failed(format!(
            "according to apt-cache, {own} depends on {packages:?}; run: apt-get update"
        )));
    }
    packages.push(&own);
    let work = fetch_packages(kept.parent().unwrap_or(kept), &packages)?;
    let unpacked = work.path().join("unpacked");
    // They refer to each other by their installed paths.
    let makefile = unpacked.join(format!("usr/src/linux-headers-{release}/Makefile"));
    let text = fs::read_to_string(&makefile).map_err(Failure::of_path(&makefile))?;
    let text = text.replace("/usr/src/", &format!("{}/usr/src/", kept.display()));
    fs::write(&makefile, text).map_err(Failure::of_path(&makefile))?;
    // Files that another run may have placed there in the meantime, possibly incomplete.
    let _ = fs::remove_dir_all(kept);
    fs::rename(&unpacked, kept).map_err(Failure::of_path(kept))
}

/// The additional packages needed for a build, among those listed by `apt-cache depends`: the common headers, and the
/// tools, which run here and are therefore for this machine.
fn needed(listed: &str) -> Vec<&str> {
    let names = listed.lines().map(|line| {
        let line = line.trim().trim_start_matches('|');
        let name = line.strip_prefix("Depends: ").unwrap_or(line).trim_matches(['<', '>']);
        name.split_once(':').map_or(name, |(name, _)| name)
    });
    let mut needed: Vec<&str> = names
        .filter(|name| {
            name.starts_with("linux-kbuild-")
                || name.starts_with("linux-headers-") && name.ends_with("-common")
        })
        .collect();
    needed.sort_unstable();
    needed.dedup();
    needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_each_series_is_taken() {
        let names = "linux-headers-6.1.0-9-amd64\nlinux-headers-6.1.0-56-amd64\nlinux-headers-6.1.0-57-cloud-amd64\n\
                     linux-headers-6.12.117+deb12-amd64\nlinux-headers-6.12.118+deb12-rt-amd64\nlinux-headers-6.12.107+deb12-amd64\nlinux-headers-amd64\n\
                     linux-headers-6.12-amd64\nlinux-headers-6.1.0-58-arm64\nlinux-headers-6.12.117+deb12-common\n";
        assert_eq!(newest_of(names, "amd64"), ["6.1.0-56-amd64", "6.12.117+deb12-amd64"]);
        assert_eq!(newest_of(names, "arm64"), ["6.1.0-58-arm64"]);
        assert_eq!(newest_of("", "amd64"), [""; 0]);
    }

    #[test]
    fn the_tools_are_this_machines_own() {
        let listed = "linux-headers-6.12.1-arm64:arm64\n  Depends: <linux-base:arm64>\n    linux-base\n  \
                      Depends: <linux-headers-6.12.1-common:arm64>\n    linux-headers-6.12.1-common\n |Depends: linux-image-x:arm64\n  \
                      Depends: linux-kbuild-6.12.1:arm64\n    linux-kbuild-6.12.1\n  Depends: gcc-12:arm64\n";
        assert_eq!(needed(listed), ["linux-headers-6.12.1-common", "linux-kbuild-6.12.1"]);
        assert_eq!(needed(""), [""; 0]);
    }

    #[test]
    fn in_a_machine_they_lie_where_they_would_be_installed() {
        let (cache, release) = (tempfile::tempdir().unwrap(), "6.1.0-9-amd64");
        let kept = cache.path().join("headers").join(release);
        let own = format!("usr/src/linux-headers-{release}");
        for (file, text) in [
            (format!("{own}/Makefile"), format!("include {}/usr/src/common/Makefile\n", kept.display())),
            ("usr/src/common/arch/x86/Makefile".to_owned(), "of this one".to_owned()),
            ("usr/src/common/arch/mips/Makefile".to_owned(), "of another one".to_owned()),
            ("usr/lib/linux-kbuild/scripts/x".to_owned(), String::new()),
            (format!("lib/modules/{release}/x"), String::new()),
        ] {
            fs::create_dir_all(kept.join(&file).parent().unwrap()).unwrap();
            fs::write(kept.join(&file), text).unwrap();
        }
        let (mut tree, mut archive) = (Tree::default(), wire::Archive::new());
        installed(&mut tree, cache.path(), Architecture::X86_64, release).unwrap();
        tree.write(&mut archive).unwrap();
        let text = String::from_utf8(archive.finish()).unwrap();
        assert!(text.contains("include /usr/src/common/Makefile"), "{text}");
        assert!(text.contains("of this one") && !text.contains("of another one"), "{text}");
    }

    #[test]
    fn a_release_that_is_none_is_refused() {
        for odd in ["", "../x", "-o", "a b"] {
            let error = find(Path::new("/nowhere"), Architecture::X86_64, odd).unwrap_err().to_string();
            assert!(error.contains("not a kernel release"), "{error}");
        }
    }
}
