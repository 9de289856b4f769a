//! Runs the routine in kernel mode: builds a module for the running kernel, loads it, requests passes from it, and
//! unloads it.
//!
//! The program contains the sources of the module. The routine in the module consists of the same bytes as the routine
//! in the program ([`sources`]). One linespeed at a time can use the module. A guardian unloads the module after this
//! process has ended for any reason; if both processes are killed, the next run cleans up.

mod build;
mod build_directory;
mod guardian;
mod headers;
mod layer;
mod loaded;
mod obstacles;
mod request;
pub mod sources;

use record::text;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use build::{Built, LIMIT, build};
pub use build_directory::BuildDirectory;
pub use headers::Headers;
pub use layer::KernelLayer;
pub use obstacles::find_missing_support;
pub use request::{Answer, BELOW_MAX, BURST_NS, CLOCK_MAX, Load, PassReport, Request};

use super::{LayerName, Layers, Ticks, Unavailable};
use loaded::Device;
use os::Stop;

/// The layer of a kernel thread.
pub const KERNEL: &str = "kernel";

/// The source of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// The module is built from the sources in the program.
    Build,
    /// A file that the same version of linespeed has already built for the same kernel.
    File(&'a Path),
}

impl Source<'_> {
    /// The file of the module for a kernel. The module is built if necessary.
    ///
    /// # Errors
    ///
    /// The module cannot be built, or the file does not exist.
    pub(crate) fn file(
        self,
        build_directory: &BuildDirectory,
        release: &str,
        stop: &Stop,
    ) -> Result<PathBuf, Unavailable> {
        match self {
            Source::Build => build_directory.module(release, stop),
            Source::File(file) if file.is_file() => Ok(file.to_owned()),
            Source::File(file) => {
                Err(text!("{file}: no such file", file = file.display().to_string()).into())
            }
        }
    }
}

/// The module in the running kernel. It is in use while the device is open, and is unloaded when this value is dropped.
#[derive(Debug)]
pub struct Module {
    device: Device,
    /// CPU time of the module's threads, ns. The kernel does not account this time to any process.
    thread_ns: Arc<AtomicU64>,
    _loaded: Loaded,
}

/// Unloads the module, or leaves unloading to the guardian.
#[derive(Debug)]
struct Loaded(Arc<BuildDirectory>);

impl Drop for Loaded {
    fn drop(&mut self) {
        if loaded::unload().is_err() {
            self.0.keep_guardian();
        }
    }
}

impl Module {
    /// Builds the module if necessary, and loads it.
    ///
    /// # Errors
    ///
    /// The obstacle, with its remedy. In this case, nothing remains loaded.
    pub fn load(
        source: Source,
        build_directory: &Arc<BuildDirectory>,
        stop: &Stop,
    ) -> Result<Self, Unavailable> {
        if let Some(obstacle) = obstacles::find_obstacle(Path::new("/")) {
            return Err(obstacle);
        }
        let release = release()?;
        let file = source.file(build_directory, &release, stop)?;
        let folder = build_directory.folder()?;
        loaded::load(&file, &release)?;
        let loaded = Loaded(Arc::clone(build_directory));
        let device = Device::open(folder)?;
        Ok(Self { device, thread_ns: Arc::default(), _loaded: loaded })
    }

    /// Requests passes.
    ///
    /// # Errors
    ///
    /// The error that the module returned for the request, or for an aborted pass.
    pub fn ask(&self, request: &Request) -> Result<Answer, Unavailable> {
        let add = |answer: &Answer| _ = self.thread_ns.fetch_add(answer.head.thread_ns, Ordering::Relaxed);
        self.device.ask(request).inspect(add)
    }

    /// Writes arbitrary bytes to the device, and returns at most `answer` bytes of the device's reply. Tests use this
    /// to send invalid requests.
    ///
    /// # Errors
    ///
    /// The device's error.
    pub fn raw(&self, bytes: &[u8], answer: usize) -> std::io::Result<Vec<u8>> {
        self.device.raw(bytes, answer)
    }
}

/// Returns the kernel-mode layers, unpinned and pinned to `cpu`, each with and without interrupts. Also returns the CPU
/// time of the layers' threads in ns, which is updated while the threads run. The module is unloaded when the last
/// layer is dropped. If the module is unavailable, all layers are missing, with the reason.
pub fn load_layers(
    source: Source,
    build_directory: &Arc<BuildDirectory>,
    ticks: Ticks,
    cpu: u32,
    stop: &Stop,
) -> (Layers, Arc<AtomicU64>) {
    let places = [(None, true), (Some(cpu), true), (Some(cpu), false), (None, false)];
    let module = Module::load(source, build_directory, stop).map(Rc::new);
    let mut layers = Layers::default();
    for (bound, interrupts) in places {
        let layer = module.as_ref().map(|module| KernelLayer::new(module, ticks, bound, interrupts));
        layers.push(LayerName { layer: KERNEL, bound, interrupts }, layer.map_err(Clone::clone));
    }
    (layers, module.map(|module| Arc::clone(&module.thread_ns)).unwrap_or_default())
}

/// The running kernel's release, `uname -r`.
///
/// # Errors
///
/// The release cannot be read.
pub fn release() -> Result<String, Unavailable> {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_err(|error| Unavailable::new(format!("/proc/sys/kernel/osrelease: {error}")))?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_no_module_can_be_loaded_there_is_a_reason_and_nothing_keep_guardian() {
        // The path is not a file, so nothing is loaded even if loading modules is permitted.
        let failure =
            Module::load(Source::File(Path::new("/nowhere.ko")), &Arc::default(), &Stop::new()).unwrap_err();
        assert!(!failure.reason.is_empty() && !failure.reason.to_string().contains('\n'), "{failure:?}");
        let left = fs::read_dir(os::places::temporary_folder()).unwrap().flatten().any(|entry| {
            entry.file_name().to_string_lossy() == format!("{}{}", loaded::FOLDER, std::process::id())
        });
        assert!(!left);
    }
}
