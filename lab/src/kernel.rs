//! A stock Debian kernel, extracted from its package without installing it, and cached.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::shape::Architecture;

/// The package that depends on the newest kernel. The cloud kernel omits drivers of real hardware and boots faster; on
/// aarch64, it lacks SMBIOS files and the PL011 driver.
fn newest(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "linux-image-cloud-amd64",
        Architecture::Aarch64 => "linux-image-arm64:arm64",
    }
}

/// The cached kernel below `cache`; fetched if there is none. If there are several, the one fetched last.
pub fn find(cache: &Path, architecture: Architecture) -> Result<PathBuf, Failure> {
    match kept(&cache.join(architecture.name())) {
        Some(kernel) => Ok(kernel),
        None => {
            eprintln!("lab: fetching a kernel for {} from Debian's archive", architecture.name());
            fetch(cache, architecture)
        }
    }
}

fn kept(folder: &Path) -> Option<PathBuf> {
    let kernels = fs::read_dir(folder).ok()?.filter_map(|entry| {
        let entry = entry.ok()?;
        entry.file_name().to_str()?.starts_with("vmlinuz-").then_some(())?;
        Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
    });
    kernels.max().map(|(_, path)| path)
}

/// Fetches the newest kernel in the package lists.
pub fn fetch(cache: &Path, architecture: Architecture) -> Result<PathBuf, Failure> {
    let listed =
        output(Command::new("apt-cache").args(["depends", newest(architecture)])).map_err(|why| {
            let foreign = match architecture {
                Architecture::X86_64 => "apt-get update",
                Architecture::Aarch64 => "dpkg --add-architecture arm64 && apt-get update",
            };
            Failure::Cannot(format!("{why}; run: {foreign}; or specify a kernel: --kernel FILE"))
        })?;
    let package = dependency(&listed).ok_or_else(|| {
        Failure::Cannot(format!("apt-cache lists no kernel that {} depends on", newest(architecture)))
    })?;
    let folder = cache.join(architecture.name());
    let work = fetch_packages(&folder, &[package])?;
    let boot = work.path().join("unpacked/boot");
    let kernel = find_vmlinuz(&boot)
        .ok_or_else(|| Failure::Cannot(format!("{package} cannot be used: it contains no kernel")))?;
    let target = folder.join(kernel.file_name().unwrap_or_default());
    fs::rename(&kernel, &target).map_err(Failure::of_path(&target))?;
    // Its modification time is from the package, but the most recently fetched kernel must count.
    let _ = fs::File::options()
        .append(true)
        .open(&target)
        .and_then(|file| file.set_modified(std::time::SystemTime::now()));
    Ok(target)
}

/// The first package listed by `apt-cache depends`.
fn dependency(listed: &str) -> Option<&str> {
    let name = listed.lines().find_map(|line| line.trim().strip_prefix("Depends: "))?;
    // It becomes an argument of apt-get.
    name.starts_with("linux-image-").then_some(name)
}

fn find_vmlinuz(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    entries.map(|entry| entry.path()).find(|path| release(path).is_ok())
}

/// The release of a kernel, from its file name `vmlinuz-6.1.0-56-cloud-amd64`.
pub fn release(kernel: &Path) -> Result<&str, Failure> {
    let name = kernel.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.strip_prefix("vmlinuz-")).ok_or_else(|| {
        let shown = kernel.display();
        Failure::Usage(format!("{shown}: the name must contain the release, as in vmlinuz-6.1.0-56-amd64"))
    })
}

/// Modules of the cached kernel `kernel`, in the order of `names`; extracted from its package if not cached yet.
pub fn modules(
    cache: &Path,
    architecture: Architecture,
    kernel: &Path,
    names: &[&str],
) -> Result<Vec<PathBuf>, Failure> {
    let release = release(kernel)?;
    let folder = cache.join(architecture.name()).join(format!("modules-{release}"));
    let files: Vec<PathBuf> = names.iter().map(|name| folder.join(format!("{name}.ko"))).collect();
    if files.iter().all(|file| file.is_file()) {
        return Ok(files);
    }
    let package = format!("linux-image-{release}");
    eprintln!("lab: fetching modules of {package} from Debian's archive");
    let work = fetch_packages(&folder, &[&package])?;
    for (name, file) in names.iter().zip(&files) {
        let found = find_below(work.path(), &format!("{name}.ko"));
        let found = found.ok_or_else(|| Failure::Cannot(format!("{package} contains no module {name}")))?;
        fs::rename(&found, file).map_err(Failure::of_path(file))?;
    }
    Ok(files)
}

/// The first file with this name below a directory.
fn find_below(folder: &Path, name: &str) -> Option<PathBuf> {
    fs::read_dir(folder).ok()?.filter_map(Result::ok).find_map(|entry| {
        let path = entry.path();
        if path.is_dir() { find_below(&path, name) } else { (entry.file_name() == name).then_some(path) }
    })
}

/// Downloads packages and unpacks them into a separate directory in `folder`, from which the wanted files can be moved
/// atomically.
pub(crate) fn fetch_packages(folder: &Path, packages: &[&str]) -> Result<tempfile::TempDir, Failure> {
    fs::create_dir_all(folder).map_err(Failure::of_path(folder))?;
    let work = tempfile::tempdir_in(folder).map_err(Failure::of_path(folder))?;
    let failed = |why: String| Failure::Cannot(format!("{} cannot be fetched: {why}", packages.join(", ")));
    // As root, apt would otherwise switch to a user without write permission here, and warn.
    let options = ["-q", "-o", "APT::Sandbox::User=root", "download"];
    output(Command::new("apt-get").args(options).args(packages).current_dir(work.path())).map_err(failed)?;
    let entries = fs::read_dir(work.path()).map_err(Failure::of_path(work.path()))?;
    for package in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if package.extension().is_some_and(|extension| extension == "deb") {
            let unpacked = work.path().join("unpacked");
            output(Command::new("dpkg-deb").arg("-x").arg(&package).arg(unpacked)).map_err(failed)?;
        }
    }
    Ok(work)
}

/// The output of a command; the last line of its error output if it failed.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|error| format!("{name}: {error}"))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&done.stderr);
    let last = complaint.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it failed");
    Err(format!("{name}: {last}"))
}

/// The command that starts a program for this instruction set on this host.
pub(crate) fn command_for(architecture: Architecture, program: &Path) -> Command {
    if architecture.name() == std::env::consts::ARCH {
        return Command::new(program);
    }
    let mut emulator = Command::new(format!("qemu-{}", architecture.name()));
    emulator.arg(program);
    emulator
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernels_file_tells_its_release() {
        assert_eq!(release(Path::new("/x/vmlinuz-6.1.0-56-cloud-amd64")).unwrap(), "6.1.0-56-cloud-amd64");
        assert!(release(Path::new("/x/bzImage")).unwrap_err().to_string().contains("release"));
    }

    #[test]
    fn the_newest_kernel_is_what_the_meta_package_depends_on() {
        let listed = "linux-image-arm64:arm64\n  Depends: linux-image-6.1.0-56-arm64:arm64\n    linux-initramfs-tool\n";
        assert_eq!(dependency(listed), Some("linux-image-6.1.0-56-arm64:arm64"));
        assert_eq!(dependency("linux-image-arm64:arm64\n"), None);
        assert_eq!(dependency("x\n  Depends: --option\n"), None);
    }

    #[test]
    fn of_several_kernels_the_one_fetched_last_is_used() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("x86_64");
        fs::create_dir(&folder).unwrap();
        assert_eq!(kept(&folder), None);
        for (name, seconds) in [("vmlinuz-6.1.0-9", 200), ("vmlinuz-6.1.0-10", 100), ("config-6.1.0-9", 300)]
        {
            let file = fs::File::create(folder.join(name)).unwrap();
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            file.set_modified(time).unwrap();
        }
        assert_eq!(find(cache.path(), Architecture::X86_64).unwrap(), folder.join("vmlinuz-6.1.0-9"));
    }
}
