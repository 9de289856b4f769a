//! QEMU's command line, and the kernel that it boots.

use record::text;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::Unavailable;

/// The program, and the package that contains it in Debian and Ubuntu.
#[cfg(target_arch = "x86_64")]
pub(super) const PROGRAM: (&str, &str) = ("qemu-system-x86_64", "qemu-system-x86");
/// The program, and the package that contains it in Debian and Ubuntu.
#[cfg(target_arch = "aarch64")]
pub(super) const PROGRAM: (&str, &str) = ("qemu-system-aarch64", "qemu-system-arm");

/// The kernel's console, and linespeed's own serial port.
#[cfg(target_arch = "x86_64")]
const PORTS: (&str, &str) = ("ttyS0", "ttyS1");
/// The kernel's console, and linespeed's own serial port. The board `virt` has only one built-in serial port; the
/// second one is on the PCI bus.
#[cfg(target_arch = "aarch64")]
const PORTS: (&str, &str) = ("ttyAMA0", "ttyS0");

/// Memory of the machine, MiB: enough for a kernel and two copies of linespeed, both of which exist during boot.
const MEMORY: u32 = 512;

/// The path through which a child can open a file that this process has open, even if the file has no name.
fn path_of(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

/// QEMU's arguments. Requests and answers are sent through QEMU's standard input and output.
pub(super) fn arguments(
    kernel: &Path,
    initramfs: &File,
    console: &File,
    emulated: bool,
    cpus: usize,
) -> Vec<OsString> {
    let (port, channel) = PORTS;
    let orders = wire::Orders {
        arguments: vec![wire::COUNT.to_owned()],
        channel: channel.to_owned(),
        offline: Vec::new(),
        emulated,
    };
    // A kernel panic terminates the machine, and the kernel's messages are shown.
    let parameters = format!("console={port} loglevel=4 panic=-1 {}", orders.parameters());
    let (board, processor) = match (cfg!(target_arch = "x86_64"), emulated) {
        (true, true) => ("q35", "max"),
        (true, false) => ("q35", "host"),
        (false, true) => ("virt,gic-version=3", "max"),
        (false, false) => ("virt,gic-version=host", "host"),
    };
    let console = format!("file,id=console,path={}", path_of(console));
    let (memory, cpus) = (format!("{MEMORY}M"), cpus.to_string());
    let mut line: Vec<OsString> = [
        ["-nodefaults", "-no-user-config"],
        ["-no-reboot", "-nographic"],
        ["-machine", board],
        ["-accel", if emulated { "tcg" } else { "kvm" }],
        ["-cpu", processor],
        ["-smp", &cpus],
        // Names QEMU's threads, so that the vCPU threads can be identified.
        ["-name", "linespeed,debug-threads=on"],
        ["-m", &memory],
        ["-append", &parameters],
        ["-chardev", &console],
        ["-chardev", "stdio,id=channel,signal=off"],
        ["-monitor", "none"],
        ["-serial", "chardev:console"],
        if cfg!(target_arch = "x86_64") {
            ["-serial", "chardev:channel"]
        } else {
            ["-device", "pci-serial,chardev=channel"]
        },
    ]
    .as_flattened()
    .iter()
    .map(OsString::from)
    .collect();
    line.extend(["-kernel".into(), kernel.into(), "-initrd".into(), path_of(initramfs).into()]);
    line
}

const NAME_A_KERNEL: &str = "specify a kernel with --vm-kernel FILE";

/// The kernel to boot: the specified kernel or, if none is specified, the kernel that runs on this machine.
pub(super) fn kernel(named: Option<&Path>) -> Result<PathBuf, Unavailable> {
    if let Some(path) = named {
        return readable(path).map(|()| path.to_owned()).map_err(|error| {
            let kernel = path.display().to_string();
            text!("cannot read the kernel {kernel}: {error}").with_remedy(NAME_A_KERNEL)
        });
    }
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    let places = [format!("/boot/vmlinuz-{release}"), format!("/lib/modules/{release}/vmlinuz")];
    let mut why = None;
    for place in &places {
        match readable(Path::new(place)) {
            Ok(()) => return Ok(place.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => why = Some(text!("cannot read this machine's kernel {place}: {error}")),
        }
    }
    Err(match why {
        Some(why) => {
            Unavailable::new(why).with_remedy(text!("run as root, or specify a kernel with --vm-kernel FILE"))
        }
        None => text!("this machine's kernel is missing: no {place}", place = &places[0])
            .with_remedy(NAME_A_KERNEL),
    })
}

fn readable(path: &Path) -> io::Result<()> {
    match File::open(path)?.metadata()?.is_file() {
        true => Ok(()),
        false => Err(io::Error::from(io::ErrorKind::IsADirectory)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_reported_what_to_do() {
        let (initramfs, console) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        for (emulated, accelerator, processor) in [(true, "tcg", "max"), (false, "kvm", "host")] {
            let line = arguments(Path::new("/k"), &initramfs, &console, emulated, 2);
            let after = |option: &str| {
                let at = line.iter().position(|word| word == option).unwrap();
                line[at + 1].to_str().unwrap()
            };
            assert_eq!((after("-accel"), after("-cpu"), after("-kernel")), (accelerator, processor, "/k"));
            assert_eq!(after("-smp"), "2");
            let orders = wire::Orders::read(after("-append")).unwrap();
            assert_eq!((orders.arguments, orders.emulated), (vec![wire::COUNT.to_owned()], emulated));
            assert!(File::open(after("-initrd")).is_ok());
        }
    }

    #[test]
    fn a_kernel_that_cannot_be_had_is_reported_with_the_way_out() {
        for path in ["/nowhere/vmlinuz", "/"] {
            let failure = kernel(Some(Path::new(path))).unwrap_err();
            assert!(failure.reason.to_string().contains(path), "{}", failure.reason);
            assert!(failure.remedy.unwrap().to_string().contains("--vm-kernel"));
        }
        assert!(kernel(Some(Path::new("/proc/self/exe"))).is_ok());
        if let Err(failure) = kernel(None) {
            assert!(failure.remedy.unwrap().to_string().contains("--vm-kernel"));
        }
    }
}
