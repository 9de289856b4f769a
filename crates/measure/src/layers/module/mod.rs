//! Kernel mode: the routine in a kernel module that is built for the running kernel, loaded, asked, and unloaded.
//!
//! The module's sources come along in the program and its code is the program's own bytes ([`sources`]). One linespeed at
//! a time has it; a guardian that waits for our end unloads it however that comes, and what is left when both are killed
//! is cleared away by the next one.

mod build;
mod distribution;
mod guardian;
mod headers;
mod layer;
mod loaded;
mod obstacles;
mod request;
pub mod sources;

use std::ffi::OsString;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use build::{Built, build};
pub use headers::Headers;
pub use layer::KernelLayer;
pub use request::{Answer, BELOW_MAX, BURST_NS, CLOCK_MAX, Load, Request, Told};

use super::{Bound, Failure, Layer, LayerName, Ticks};
use crate::Stop;
use guardian::Guardian;
use loaded::Device;

/// The layer that is a thread of the kernel.
pub const KERNEL: &str = "kernel";

/// Where the module comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// It is built from the sources that the program carries.
    Build,
    /// It has been built before, by the same linespeed for the same kernel.
    File(&'a Path),
}

/// The module in the running kernel; unloaded when this is dropped.
#[derive(Debug)]
pub struct Module {
    device: Option<Device>,
    folder: PathBuf,
    guardian: Option<Guardian>,
    loaded: bool,
    spent: Spent,
    /// Held until all is put back.
    _lock: UnixListener,
}

impl Module {
    /// Builds the module if need be, and loads it.
    ///
    /// # Errors
    ///
    /// Whatever stands in the way, with its remedy: nothing is left loaded or lying about then.
    pub fn load(source: Source, stop: &Stop) -> Result<Self, Failure> {
        let root = Path::new("/");
        if let Some(obstacle) = obstacles::first(root) {
            return Err(obstacle);
        }
        let release = release()?;
        let path =
            std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin:/usr/sbin:/sbin"));
        let headers = match source {
            Source::Build => Some(headers::find(root, &release, &path)?),
            Source::File(file) if !file.is_file() => {
                return Err(Failure::new(format!("{}: there is no such file", file.display())));
            }
            Source::File(_) => None,
        };
        let temporary = std::env::temp_dir();
        let lock = loaded::lock()?;
        loaded::clear_leftovers(&temporary)?;
        let folder = temporary.join(format!("{}{}", loaded::FOLDER, std::process::id()));
        let guardian = Guardian::post(Some(&folder), lock.as_raw_fd()).map_err(|error| {
            Failure::new(format!("no process can be made that would unload the kernel module: {error}"))
                .with_remedy("raise the limit of processes (ulimit -u, or pids.max of the cgroup)")
        })?;
        let mut module = Self {
            device: None,
            folder,
            guardian: Some(guardian),
            loaded: false,
            spent: Spent::default(),
            _lock: lock,
        };
        let folder = module.folder.clone();
        // Only ours: nobody else may change what is loaded.
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .map_err(|error| elsewhere(format!("{}: {error}", folder.display())))?;
        let file = match (source, headers) {
            (Source::File(file), _) => file.to_owned(),
            (Source::Build, Some(headers)) => {
                sources::write(&folder)
                    .map_err(|error| elsewhere(format!("{}: {error}", folder.display())))?;
                let mind = |group| module.guardian.iter().for_each(|guardian| guardian.mind(group));
                let built = build(&headers, &folder, &path, stop, mind)
                    .map_err(|failure| with_a_way_out(failure, root, &release, stop))?;
                // Its number may soon be another process group's.
                mind(0);
                built.module
            }
            (Source::Build, None) => return Err(Failure::new("the kernel's headers were not found")),
        };
        loaded::load(&file, &release)?;
        module.loaded = true;
        module.device = Some(Device::open(&folder)?);
        let _ = fs::remove_dir_all(&folder);
        Ok(module)
    }

    /// Has passes made.
    ///
    /// # Errors
    ///
    /// What the module says of the request, or of a pass that it ended.
    pub fn ask(&self, request: &Request) -> Result<Answer, Failure> {
        match &self.device {
            Some(device) => device.ask(request).inspect(|answer| self.spent.add(answer.thread_ns)),
            None => Err(Failure::new("the kernel module is not loaded")),
        }
    }

    /// Gives the device any bytes, and returns at most `answer` bytes of what it then tells: for tests that hold the
    /// module against requests that nobody would make.
    ///
    /// # Errors
    ///
    /// The device's own.
    pub fn raw(&self, bytes: &[u8], answer: usize) -> std::io::Result<Vec<u8>> {
        match &self.device {
            Some(device) => device.raw(bytes, answer),
            None => Err(std::io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // While it is open the module is in use.
        self.device = None;
        let unloaded = !self.loaded || loaded::unload().is_ok();
        let _ = fs::remove_dir_all(&self.folder);
        // One that is not told goes on trying when this value's end closes its pipe.
        if let Some(guardian) = self.guardian.take().filter(|_| unloaded && !self.folder.exists()) {
            guardian.dismiss();
        }
    }
}

/// It cannot be built where temporary files lie.
fn elsewhere(reason: String) -> Failure {
    Failure::new(reason).with_remedy("TMPDIR=/var/tmp linespeed overhead --kernel")
}

/// What would help where a build has failed and does not say it itself.
fn with_a_way_out(failure: Failure, root: &Path, release: &str, stop: &Stop) -> Failure {
    if failure.remedy.is_some() || stop.signal().is_some() {
        return failure;
    }
    if failure.reason.contains("No space left on device") {
        return elsewhere(failure.reason);
    }
    let install = distribution::headers(root, release);
    failure.with_remedy(format!("see that what builds modules is whole: {install}"))
}

/// CPU time of the module's threads, which the kernel counts as nobody's.
#[derive(Clone, Debug, Default)]
pub struct Spent(Arc<AtomicU64>);

impl Spent {
    fn add(&self, ns: u64) {
        self.0.fetch_add(ns, Ordering::Relaxed);
    }

    /// All of it so far.
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

/// The layers of kernel mode, and what became of them.
pub struct Kernel {
    /// Those that there are. The module is unloaded when the last of them is dropped.
    pub rows: Vec<Box<dyn Layer>>,
    /// Those that cannot be had, each with its reason.
    pub missing: Vec<(LayerName, Failure)>,
    /// What their threads use, which goes on counting while they run.
    pub spent: Spent,
}

/// The layers of kernel mode: placed by the scheduler and bound to `cpu`, each with interrupts and without. Where the
/// module cannot be had, each of them with the reason.
pub fn layers(source: Source, ticks: Ticks, cpu: u32, stop: &Stop) -> Kernel {
    let places =
        [(Bound::None, true), (Bound::Cpu(cpu), true), (Bound::Cpu(cpu), false), (Bound::None, false)];
    match Module::load(source, stop) {
        Ok(module) => {
            let module = Rc::new(module);
            let layer = |(bound, interrupts)| -> Box<dyn Layer> {
                Box::new(KernelLayer::new(&module, ticks, bound, interrupts))
            };
            Kernel { rows: places.map(layer).into(), missing: Vec::new(), spent: module.spent.clone() }
        }
        Err(failure) => {
            let name =
                |(bound, interrupts)| (LayerName { layer: KERNEL, bound, interrupts }, failure.clone());
            Kernel { rows: Vec::new(), missing: places.map(name).into(), spent: Spent::default() }
        }
    }
}

/// The running kernel's release, `uname -r`.
fn release() -> Result<String, Failure> {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_err(|error| Failure::new(format!("/proc/sys/kernel/osrelease: {error}")))?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_that_failed_says_what_to_look_at_unless_it_was_ended() {
        let (root, stop) = (Path::new("/nowhere"), Stop::new());
        let told = |failure: Failure| with_a_way_out(failure, root, "6.1.0", &stop).remedy;
        assert!(told(Failure::new("x")).unwrap().contains("the headers of kernel 6.1.0"));
        assert!(told(Failure::new("/x.s: No space left on device")).unwrap().starts_with("TMPDIR=/var/tmp "));
        assert_eq!(told(Failure::new("x").with_remedy("y")).as_deref(), Some("y"));
        stop.ask(2);
        assert_eq!(with_a_way_out(Failure::new("a signal came"), root, "6.1.0", &stop).remedy, None);
    }

    #[test]
    fn where_no_module_can_be_loaded_there_is_a_reason_and_nothing_is_left() {
        // A path that is no file, so that nothing is loaded even where it could be.
        let failure = Module::load(Source::File(Path::new("/nowhere.ko")), &Stop::new()).unwrap_err();
        assert!(!failure.reason.is_empty() && !failure.reason.contains('\n'), "{failure:?}");
        let left = fs::read_dir(std::env::temp_dir()).unwrap().flatten().any(|entry| {
            entry.file_name().to_string_lossy() == format!("{}{}", loaded::FOLDER, std::process::id())
        });
        assert!(!left);
    }
}
