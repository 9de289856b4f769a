//! Opens `/dev/kvm`, or explains why it cannot be opened.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{FromRawFd, IntoRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use kvm_ioctls::{Kvm, VmFd};
use record::text;

use crate::Unavailable;

/// The path of the KVM device.
pub const PATH: &str = "/dev/kvm";

/// The only version of the interface since Linux 2.6.22.
const VERSION: i32 = 12;

/// The open KVM device, with the supported interface version.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) kvm: Kvm,
    path: PathBuf,
}

/// Maximum number of interrupted attempts to create a virtual machine.
const ATTEMPTS: usize = 20;

impl Device {
    /// Opens the device.
    pub(crate) fn open(path: &Path) -> Result<Self, Unavailable> {
        // If the path is a pipe, opening it must not wait for a writer.
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(flags)
            .open(path)
            .map_err(|error| not_open(path, &error))?;
        // SAFETY: the descriptor is open and has no other owner.
        let kvm = unsafe { Kvm::from_raw_fd(file.into_raw_fd()) };
        let device = &path.display().to_string();
        match kvm.get_api_version() {
            VERSION => Ok(Self { kvm, path: path.to_owned() }),
            ..0 => Err(text!(
                "kvm-no-kvm-device",
                "{device} is not a KVM device: {error}",
                error = io::Error::last_os_error()
            )
            .into()),
            version => Err(text!(
                "{device} has version {version} of the KVM interface, not {known}",
                version = version.unsigned_abs(),
                known = VERSION.unsigned_abs()
            )
            .into()),
        }
    }

    /// Creates a virtual machine of the type for this architecture.
    pub(crate) fn machine(&self, kind: u64) -> Result<VmFd, Unavailable> {
        let mut last = io::Error::from(io::ErrorKind::Interrupted);
        for _ in 0..ATTEMPTS {
            match self.kvm.create_vm_with_type(kind) {
                Ok(machine) => return Ok(machine),
                Err(error) => last = error.into(),
            }
            if last.kind() != io::ErrorKind::Interrupted {
                break;
            }
        }
        Err(no_machine(&self.path, &last))
    }
}

/// The reason why a virtual machine cannot be created.
fn no_machine(path: &Path, error: &io::Error) -> Unavailable {
    let device = &path.display().to_string();
    let failure = Unavailable::new(text!("{device} cannot create a virtual machine: {error}"));
    match error.raw_os_error() {
        Some(libc::EBUSY) => text!(
            "kvm-held-by-another-hypervisor",
            "{device} is busy: another hypervisor uses the processor's virtualization extensions"
        )
        .with_remedy(text!(
            "stop the VirtualBox or VMware virtual machines and unload their modules (sudo rmmod vboxdrv)"
        )),
        Some(libc::ENOMEM) => {
            failure.with_remedy(text!("free memory, or raise the memory limit of this cgroup"))
        }
        Some(libc::EMFILE | libc::ENFILE) => {
            failure.with_remedy(text!("raise the open-file limit (ulimit -n)"))
        }
        _ => failure,
    }
}

/// The reason why the device cannot be opened.
fn not_open(path: &Path, error: &io::Error) -> Unavailable {
    let device = &path.display().to_string();
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR | libc::ENXIO | libc::ENODEV) => absent(path),
        Some(libc::EACCES) => {
            let failure = Unavailable::new(text!("{device}: permission denied for this user"));
            match std::fs::metadata(path).ok().and_then(|file| group_that_may(&file)) {
                Some(group) => {
                    failure.with_remedy(text!("sudo usermod -aG {group} $USER, then log in again"))
                }
                None => failure.with_remedy("run as root"),
            }
        }
        Some(libc::EPERM) => text!("{device}: access is refused in this container or cgroup")
            .with_remedy(text!("start the container with --device {device}")),
        Some(libc::EBUSY) => {
            Unavailable::new(text!("{device} is busy: opened exclusively by another process"))
        }
        _ => Unavailable::new(text!("kvm-not-opened", "cannot open {device}: {error}")),
    }
}

/// The name of the group with read and write access to the file.
fn group_that_may(file: &std::fs::Metadata) -> Option<String> {
    if file.mode() & 0o060 != 0o060 {
        return None;
    }
    let number = file.gid().to_string();
    let groups = std::fs::read_to_string("/etc/group").ok()?;
    // kvm:x:106:
    let line = groups.lines().find(|line| line.split(':').nth(2) == Some(&number))?;
    line.split(':').next().filter(|name| !name.is_empty() && *name != "root").map(str::to_owned)
}

/// The likely reason why there is no device.
fn absent(path: &Path) -> Unavailable {
    let device = &path.display().to_string();
    // The kernel lists all its devices here, including those that are not available in a container.
    if path == Path::new(PATH) && Path::new("/sys/class/misc/kvm").exists() {
        return text!("{device} is missing from this container, although the kernel has KVM")
            .with_remedy(text!("start the container with --device {device}"));
    }
    let (why, remedy) = super::processor::explain_absence();
    text!("kvm-absent", "no {device}: {why}").with_remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn whatever_stands_there_instead_is_reported_in_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "x").unwrap();
        let pipe = CString::new(at("pipe").as_os_str().as_bytes()).unwrap();
        // SAFETY: the path ends with a zero byte.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        for (path, said) in [
            (at("file"), "kvm-no-kvm-device"),
            (at("pipe"), "kvm-no-kvm-device"),
            (PathBuf::from("/dev/null"), "kvm-no-kvm-device"),
            (at("nothing"), "kvm-absent"),
            (at("file/below"), "kvm-absent"),
            (folder.path().to_owned(), "kvm-not-opened"),
            (PathBuf::new(), "kvm-absent"),
        ] {
            let failure = Device::open(&path).map(drop).unwrap_err();
            assert_eq!(failure.reason.code(), Some(said), "{}: {}", path.display(), failure.reason);
            assert!(!failure.reason.to_string().contains('\n'));
        }
    }

    #[test]
    fn each_refusal_has_its_way_out() {
        let of = |number| not_open(Path::new("/dev/kvm"), &io::Error::from_raw_os_error(number));
        assert!(of(libc::EPERM).remedy.unwrap().value("device") == Some(&"/dev/kvm".into()));
        assert!(of(libc::EACCES).remedy.is_some());
        assert!(of(libc::EIO).reason.code() == Some("kvm-not-opened"));
        let busy = no_machine(Path::new("/dev/kvm"), &io::Error::from_raw_os_error(libc::EBUSY));
        assert!(busy.reason.code() == Some("kvm-held-by-another-hypervisor") && busy.remedy.is_some());
    }

    #[test]
    fn a_group_that_may_open_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kvm");
        std::fs::write(&path, "").unwrap();
        let reported = |mode: u32, group: u32| {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            // Only root can assign files to other groups.
            std::os::unix::fs::chown(&path, None, Some(group)).ok()?;
            group_that_may(&std::fs::metadata(&path).unwrap())
        };
        let line = |name: &str| {
            let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
            let line = groups.lines().find(|line| line.starts_with(&format!("{name}:")))?.to_owned();
            line.split(':').nth(2)?.parse::<u32>().ok()
        };
        if let Some(group) = line("disk") {
            assert!(matches!(reported(0o660, group).as_deref(), Some("disk") | None));
            assert_eq!(reported(0o600, group), None, "joining the group would not help");
        }
    }
}
