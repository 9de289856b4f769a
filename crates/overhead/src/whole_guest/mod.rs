//! Runs the routine in a guest with its own operating system: a kernel under QEMU, with linespeed as init. linespeed
//! runs the routine in a user program and in kernel threads of the guest.
//!
//! Each vCPU is pinned to a CPU of this machine. The guest counts ranges on request over a serial port, so that it can
//! alternate with the other layers. Under KVM, guest and host read the same counter, so their times are comparable;
//! under emulation, the guest's times are meaningless. The kernel module is built on this machine, for the kernel that
//! the guest reports.

mod machine;
mod protocol;
mod qemu;
mod serve;

use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use kernels::primes;
use os::Stop;
use record::text;

use super::{Layer, LayerName, Layers, Pass, Unavailable, crc32};
use crate::kernel_module::{BuildDirectory, Source};
use crate::kvm_guest::Kind;
use machine::Machine;
use protocol::Place;

pub use serve::serve;

/// A user program in the guest.
pub const USER: &str = "guest OS user";
/// A kernel thread in the guest.
pub const KERNEL: &str = "guest OS kernel";

/// Boots the machine and returns its layers. Unavailable layers are included, each with the reason. Under emulation,
/// the run shows only whether the same code counts all primes correctly in the VM; the times are withheld.
pub fn boot_layers(spec: &WholeGuest) -> Layers {
    let mut layers = boot(spec);
    if spec.emulated() {
        for mut layer in std::mem::take(&mut layers.running) {
            let why = withhold(layer.as_mut(), spec.kvm);
            layers.missing.push((layer.name(), why));
        }
    }
    layers
}

/// The layers in the machine, emulated or not, for tests that ignore times.
pub fn boot(spec: &WholeGuest) -> Layers {
    let cpus: Vec<u32> = [spec.cpu].into_iter().chain(spec.other).collect();
    let booted = Machine::boot(spec, &cpus, spec.emulated()).map(|mut machine| {
        let module = load_module(&mut machine, spec);
        (Rc::new(RefCell::new(machine)), module)
    });
    let mut layers = Layers::default();
    for place in spec.places() {
        let name = LayerName {
            layer: if place.kernel { KERNEL } else { USER },
            bound: place.bound.then_some(spec.cpu),
            interrupts: place.interrupts,
        };
        let layer = || -> Result<GuestLayer, Unavailable> {
            let (machine, module) = booted.as_ref().map_err(Clone::clone)?;
            if place.kernel {
                module.clone()?;
            }
            if !place.bound && cpus.len() == 1 {
                return Err(one_cpu());
            }
            Ok(GuestLayer { machine: Rc::clone(machine), place, name })
        };
        layers.push(name, layer());
    }
    layers
}

fn one_cpu() -> Unavailable {
    text!("the VM has only one CPU, because this process may not use a second CPU of that type")
        .with_remedy(crate::MORE_CPUS)
}

/// Sends the module to the machine.
fn load_module(machine: &mut Machine, spec: &WholeGuest) -> Result<(), Unavailable> {
    let Some(source) = spec.module else { return Ok(()) };
    let file = source.file(spec.build_directory, &machine.release()?, spec.stop)?;
    let bytes =
        std::fs::read(&file).map_err(|error| Unavailable::new(format!("{}: {error}", file.display())))?;
    machine.load(&bytes)
}

/// The reason for withholding the times of a layer.
fn withhold(layer: &mut dyn Layer, kvm: Kind) -> Unavailable {
    let pass = match layer.pass(0..primes::LIMIT) {
        Ok(pass) => pass,
        Err(failure) => return failure,
    };
    let right = pass.primes == primes::KNOWN && pass.crc == crc32(primes::code());
    let (kvm, primes) = (kvm.word(), pass.primes);
    let reason = if right {
        text!(
            "QEMU emulates the CPU (KVM: {kvm}), so times are meaningless, although the \
             same code gave the correct result ({primes} primes)"
        )
    } else {
        text!("QEMU emulates the CPU (KVM: {kvm}), and the guest's code or result ({primes} primes) is wrong")
    };
    Unavailable::new(reason).with_remedy(text!("measure on a machine where KVM uses hardware virtualization"))
}

/// The routine in one of the machine's layers.
#[derive(Debug)]
struct GuestLayer {
    machine: Rc<RefCell<Machine>>,
    place: Place,
    name: LayerName,
}

impl Layer for GuestLayer {
    fn name(&self) -> LayerName {
        self.name
    }

    fn pass(&mut self, range: Range<u64>) -> Result<Pass, Unavailable> {
        self.machine.borrow_mut().pass(self.place, range)
    }
}

/// These tests are not run on aarch64, where QEMU runs any file as a kernel until the time limit.
#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use super::*;

    static STOP: Stop = Stop::new();

    fn spec<'a>(kernel: &'a Path, build_directory: &'a BuildDirectory) -> WholeGuest<'a> {
        let cpu = os::current_cpu().unwrap_or(0);
        WholeGuest {
            kernel: Some(kernel),
            module: Some(Source::File(Path::new("/nowhere.ko"))),
            build_directory,
            program: Path::new("/proc/self/exe"),
            cpu,
            other: None,
            kvm: Kind::None,
            stop: &STOP,
        }
    }

    #[test]
    fn what_is_no_kernel_is_reported_in_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vmlinuz");
        std::fs::write(&path, "no kernel").unwrap();
        let Layers { running: rows, missing } = boot_layers(&spec(&path, &BuildDirectory::default()));
        assert_eq!((rows.len(), missing.len()), (0, PLACES.len()));
        for (name, failure) in missing {
            // Either QEMU reports the reason, or QEMU is not installed.
            let said = failure.remedy.is_some()
                || failure.reason.is(&machine::ENDED)
                || failure.reason.value("what") == Some(&record::Text::from(machine::ENDED).into());
            assert!(said && !failure.reason.to_string().contains('\n'), "{name}: {}", failure.reason);
        }
    }
}

/// The places in the virtual machine where the routine runs. With interrupts off, only a pinned thread is used, because
/// an unpinned thread could not migrate either.
const PLACES: [Place; 5] = [
    Place { kernel: false, bound: false, interrupts: true },
    Place { kernel: false, bound: true, interrupts: true },
    Place { kernel: true, bound: false, interrupts: true },
    Place { kernel: true, bound: true, interrupts: true },
    Place { kernel: true, bound: true, interrupts: false },
];

/// The components of the virtual machine, and the CPUs on which it runs.
#[derive(Clone, Copy, Debug)]
pub struct WholeGuest<'a> {
    /// The guest's kernel; if `None`, the kernel that runs on this machine.
    pub kernel: Option<&'a Path>,
    /// The source of the guest's module; `None` if kernel mode is not requested.
    pub module: Option<Source<'a>>,
    /// The directory in which the module is built.
    pub build_directory: &'a BuildDirectory,
    /// A statically linked linespeed program, which is the machine's init.
    pub program: &'a Path,
    /// The CPU to which the machine's first vCPU is pinned; pinned threads run there.
    pub cpu: u32,
    /// The CPU of the machine's second vCPU, if any; unpinned threads may also run there.
    pub other: Option<u32>,
    /// The kind of KVM available. QEMU uses KVM if KVM runs kernels at the processor's speed; otherwise, QEMU emulates the CPU.
    pub kvm: Kind,
    /// The stop request; it also ends any wait for the machine.
    pub stop: &'static Stop,
}

impl WholeGuest<'_> {
    fn emulated(&self) -> bool {
        !matches!(self.kvm, Kind::Hardware | Kind::Nested)
    }

    /// The requested places.
    fn places(&self) -> impl Iterator<Item = Place> + use<> {
        let kernel = self.module.is_some();
        PLACES.into_iter().filter(move |place| kernel || !place.kernel)
    }
}
