//! Opening `/dev/kvm`, and what to tell where it does not open.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::abi;
use crate::Unavailable;

/// Where Linux has it.
pub const PATH: &str = "/dev/kvm";

/// KVM's device, open, and of the version that is known.
#[derive(Debug)]
pub(super) struct Device {
    file: File,
    path: PathBuf,
}

/// Interrupted attempts at making a virtual machine before that is an error.
const ATTEMPTS: usize = 20;

impl Device {
    /// Opens it.
    pub(crate) fn open(path: &Path) -> Result<Self, Unavailable> {
        // Whatever stands at that path: opening it must not wait for a writer, as a pipe would.
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(flags)
            .open(path)
            .map_err(|error| not_open(path, &error))?;
        match abi::ask(file.as_fd(), abi::GET_API_VERSION, 0) {
            Ok(abi::VERSION) => Ok(Self { file, path: path.to_owned() }),
            Ok(version) => Err(Unavailable::new(format!(
                "{} speaks version {version} of KVM's interface, not {}",
                path.display(),
                abi::VERSION
            ))),
            Err(error) => Err(Unavailable::new(format!("{} is no KVM device: {error}", path.display()))),
        }
    }

    /// Makes a virtual machine of the architecture's kind.
    pub(crate) fn machine(&self, kind: std::ffi::c_ulong) -> Result<OwnedFd, Unavailable> {
        let mut last = io::Error::from(io::ErrorKind::Interrupted);
        for _ in 0..ATTEMPTS {
            match abi::ask(self.file.as_fd(), abi::CREATE_VM, kind) {
                // SAFETY: the kernel has just made this descriptor, and nobody else knows it.
                Ok(descriptor) => return Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
                Err(error) => last = error,
            }
            if last.kind() != io::ErrorKind::Interrupted {
                break;
            }
        }
        Err(no_machine(&self.path, &last))
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// What keeps a virtual machine from being made.
fn no_machine(path: &Path, error: &io::Error) -> Unavailable {
    let failure = Unavailable::new(format!("{} makes no virtual machine: {error}", path.display()));
    match error.raw_os_error() {
        Some(libc::EBUSY) => Unavailable::new(format!(
            "{} is busy: another hypervisor holds the processor's virtualization",
            path.display()
        ))
        .with_remedy(
            "end the virtual machines of VirtualBox or VMware, and unload their modules (sudo rmmod vboxdrv)",
        ),
        Some(libc::ENOMEM) => {
            failure.with_remedy("free some memory, or raise the limit of this control group")
        }
        Some(libc::EMFILE | libc::ENFILE) => failure.with_remedy("raise the limit of open files (ulimit -n)"),
        _ => failure,
    }
}

/// What keeps the device from being opened.
fn not_open(path: &Path, error: &io::Error) -> Unavailable {
    let shown = path.display();
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR | libc::ENXIO | libc::ENODEV) => absent(path),
        Some(libc::EACCES) => {
            let failure = Unavailable::new(format!("{shown} may not be opened by this user"));
            match std::fs::metadata(path).ok().and_then(|file| group_that_may(&file)) {
                Some(group) => {
                    failure.with_remedy(format!("sudo usermod -aG {group} $USER, then log in again"))
                }
                None => failure.with_remedy("run it as root"),
            }
        }
        Some(libc::EPERM) => {
            Unavailable::new(format!("{shown} may not be opened in this container or control group"))
                .with_remedy(format!("start the container with --device {shown}"))
        }
        Some(libc::EBUSY) => Unavailable::new(format!("{shown} is busy: somebody else holds it alone")),
        _ => Unavailable::new(format!("{shown} cannot be opened: {error}")),
    }
}

/// The name of the group that may read and write the file.
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

/// Why there is no device, as far as it can be told.
fn absent(path: &Path) -> Unavailable {
    let shown = path.display();
    // The kernel lists its devices whatever a container is given of them.
    if path == Path::new(PATH) && Path::new("/sys/class/misc/kvm").exists() {
        return Unavailable::new(format!(
            "{shown} is not there, though the kernel has KVM: it is not given to this container"
        ))
        .with_remedy(format!("start the container with --device {shown}"));
    }
    let failure = Unavailable::new(format!("{shown} is not there: {}", super::processor::without()));
    failure.with_remedy(super::processor::remedy())
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
            (at("file"), "is no KVM device"),
            (at("pipe"), "is no KVM device"),
            (PathBuf::from("/dev/null"), "is no KVM device"),
            (at("nothing"), "is not there"),
            (at("file/below"), "is not there"),
            (folder.path().to_owned(), "cannot be opened"),
            (PathBuf::new(), "is not there"),
        ] {
            let failure = Device::open(&path).map(drop).unwrap_err();
            assert!(failure.reason.to_string().contains(said), "{}: {}", path.display(), failure.reason);
            assert!(!failure.reason.to_string().contains('\n'));
        }
    }

    #[test]
    fn each_refusal_has_its_way_out() {
        let of = |number| not_open(Path::new("/dev/kvm"), &io::Error::from_raw_os_error(number));
        assert!(of(libc::EPERM).remedy.unwrap().to_string().contains("--device /dev/kvm"));
        assert!(of(libc::EACCES).remedy.is_some());
        assert!(of(libc::EIO).reason.to_string().contains("cannot be opened"));
        let busy = no_machine(Path::new("/dev/kvm"), &io::Error::from_raw_os_error(libc::EBUSY));
        assert!(busy.reason.to_string().contains("another hypervisor") && busy.remedy.is_some());
    }

    #[test]
    fn a_group_that_may_open_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kvm");
        std::fs::write(&path, "").unwrap();
        let reported = |mode: u32, group: u32| {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            // Only root gives files to other groups.
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
