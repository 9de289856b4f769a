//! Builds the module: runs make with the kernel's headers in a private directory.

use record::text::Value;
use record::{Text, text};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::headers::Headers;
use crate::Unavailable;
use os::Stop;

/// The time limit of a build. Building the four small files takes a few seconds, or up to two minutes in an emulator.
pub const LIMIT: Duration = Duration::from_secs(300);
/// Maximum number of parallel compilations; there are only four files.
const MOST_JOBS: usize = 4;
/// The polling interval.
const LOOK: Duration = Duration::from_millis(20);
/// The file name of the built module.
pub(super) const MODULE: &str = "linespeed.ko";
/// The file name of make's output.
const WORDS: &str = "words";
/// Maximum output of make that is read, bytes.
const MOST_WORDS: usize = 1 << 20;

/// A successful build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The module.
    pub module: PathBuf,
    /// The output of make and of the tools that it called.
    pub words: String,
}

/// The remedy if the file system of the build directory is full, or if no directory can be created in that file system.
pub(super) const BUILD_ELSEWHERE: &str = "TMPDIR=/var/tmp linespeed overhead --kernel";

/// A failed build, with a remedy if the disk is full. The file system is checked for this, because make's output does
/// not report a full disk.
fn failed_build(folder: &Path, stop: &Stop, reason: Text) -> Unavailable {
    let failure = Unavailable::new(reason);
    let full = is_full(folder) && stop.signal().is_none();
    if full { failure.with_remedy(BUILD_ELSEWHERE) } else { failure }
}

/// Builds the module within `limit` in `folder`, which contains the sources. `started` is called with the process group
/// of make, through which all processes of the build can be terminated.
///
/// # Errors
///
/// The compiler or make failed (the first error message is included), a signal was received, or the time limit was exceeded.
pub fn build(
    limit: Duration,
    headers: &Headers,
    folder: &Path,
    path: &OsStr,
    stop: &Stop,
    started: impl FnOnce(i32),
) -> Result<Built, Unavailable> {
    let odd = |c: char| c.is_whitespace() || c.is_control() || ":#$%\\'\"".contains(c);
    match folder.to_str() {
        Some(text) if !text.contains(odd) => {}
        _ => {
            return Err(text!(
                "make cannot build in {folder}: its name contains characters with a special meaning in make",
                folder = folder.display().to_string()
            )
            .with_remedy("TMPDIR=/tmp linespeed overhead --kernel"));
        }
    }
    let cannot = |what: &'static str, error: std::io::Error| {
        let full = error.kind() == std::io::ErrorKind::StorageFull && stop.signal().is_none();
        let failure = Unavailable::new(text!("cannot build the module: {what}: {error}"));
        if full { failure.with_remedy(BUILD_ELSEWHERE) } else { failure }
    };
    let words = folder.join(WORDS);
    let output = File::create(&words).map_err(|error| cannot("make's output file", error))?;
    let errors = output.try_clone().map_err(|error| cannot("make's output file", error))?;
    let mut command = Command::new("make");
    command
        .arg("-C")
        .arg(&headers.folder)
        .arg(format!("M={}", folder.display()))
        // Type information for other modules is not needed here, and generating it requires an extra tool.
        .arg("CONFIG_DEBUG_INFO_BTF_MODULES=")
        .args(&headers.arguments)
        .arg("modules")
        // Compiles in parallel, up to the number of files.
        .arg(format!(
            "-j{}",
            std::thread::available_parallelism().map_or(1, |cpus| cpus.get().min(MOST_JOBS))
        ))
        // The user's build variables are removed, and the compiler's temporary files are in our directory.
        .env_clear()
        .envs([("PATH", path), ("LC_ALL", OsStr::new("C")), ("TMPDIR", folder.as_os_str())])
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .process_group(0);
    let child = command.spawn().map_err(|error| cannot("make", error))?;
    started(child.id().cast_signed());
    let ended = wait(child, limit, stop)?;
    let said = last_words(&words);
    let module = folder.join(MODULE);
    let complaint = complaint(&said);
    let reason = if !ended {
        text!("module-build-failed", "building the module failed: {complaint}")
    } else if !module.is_file() {
        text!("module-not-built", "make built no module: {complaint}")
    } else {
        return Ok(Built { module, words: said });
    };
    Err(failed_build(folder, stop, reason))
}

/// Waits for make to exit; returns whether it succeeded.
fn wait(mut child: Child, limit: Duration, stop: &Stop) -> Result<bool, Unavailable> {
    let began = Instant::now();
    let why = loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) if stop.signal().is_some() => {
                break text!("interrupted by a signal while building the module");
            }
            Ok(None) if began.elapsed() > limit => {
                let limit = Value::Figure(limit.as_secs_f64(), "s");
                break text!("building the module took longer than {limit}");
            }
            Ok(None) => std::thread::sleep(LOOK),
            Err(error) => break text!("cannot wait for make: {error}"),
        }
    };
    // SAFETY: the call only takes integers. The group is the child's own; it has not been reaped, so its PID cannot have been reused.
    unsafe { libc::kill(-child.id().cast_signed(), libc::SIGKILL) };
    let _ = child.wait();
    Err(Unavailable::new(why))
}

/// Whether there is too little space for a build. make does not report the compiler's errno, and the compiler has
/// already removed its files when make exits.
fn is_full(folder: &Path) -> bool {
    /// Required space, bytes: more than the total size of all files that a build creates.
    const NEEDED: u64 = 16 << 20;
    rustix::fs::statvfs(folder).is_ok_and(|system| system.f_bavail.saturating_mul(system.f_frsize) < NEEDED)
}

fn last_words(words: &Path) -> String {
    let bytes = fs::read(words).unwrap_or_default();
    String::from_utf8_lossy(&bytes[..bytes.len().min(MOST_WORDS)]).into_owned()
}

/// The output line that shows the problem: the first error, otherwise the last line, without control characters.
fn complaint(words: &str) -> String {
    let lines = || words.lines().map(str::trim).filter(|line| !line.is_empty());
    let wrong = ["error:", "ERROR:", "not found", "No such file", "Error ", "cannot", "***"];
    let line = wrong
        .iter()
        .find_map(|word| lines().find(|line| line.contains(word)))
        .or_else(|| lines().next_back())
        .unwrap_or("make printed nothing");
    line.chars().filter(|c| !c.is_control()).take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Headers with a Makefile that runs this recipe.
    fn headers(recipe: &str) -> (tempfile::TempDir, Headers) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Makefile"), format!("modules:\n\t{recipe}\n")).unwrap();
        let headers = Headers { folder: folder.path().to_owned(), arguments: Vec::new() };
        (folder, headers)
    }

    fn built(recipe: &str, limit: Duration) -> Result<Built, Unavailable> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let (_kept, headers) = headers(recipe);
        let folder = tempfile::tempdir().unwrap();
        build(limit, &headers, folder.path(), &path, &Stop::new(), |_| {})
    }

    #[test]
    fn a_build_gives_its_module_or_the_first_complaint() {
        let limit = Duration::from_secs(60);
        assert!(
            built("@echo all is well; touch $(M)/linespeed.ko", limit).unwrap().words.contains("all is well")
        );
        for (recipe, said) in [
            ("@echo 'x.c:1:2: error: y'; echo z; exit 1", "x.c:1:2: error: y"),
            (
                "@echo 'ERROR: modpost: \"x\" [y.ko] undefined!'; echo 'make: *** [Makefile:9: z] Error 1'; exit 1",
                "ERROR: modpost: \"x\" [y.ko] undefined!",
            ),
            ("@no-such-program-anywhere", "no-such-program-anywhere: "),
            ("@exit 3", "Error 3"),
            ("@true", ""),
        ] {
            let failure = built(recipe, limit).unwrap_err();
            let Some(Value::Text(complaint)) = failure.reason.value("complaint") else {
                panic!("{failure:?}")
            };
            assert!(complaint.contains(said) && !complaint.contains('\n'), "{failure:?}");
            let built = if recipe == "@true" { "module-not-built" } else { "module-build-failed" };
            assert_eq!(failure.reason.code(), Some(built));
        }
    }

    #[test]
    fn a_build_that_does_not_end_is_ended() {
        let failure = built("@sleep 600", Duration::from_millis(300)).unwrap_err();
        assert_eq!(failure.reason.value("limit"), Some(&Value::Figure(0.3, "s")), "{failure:?}");
    }

    #[test]
    fn a_signal_ends_a_build() {
        let (_kept, headers) = headers("@sleep 600");
        let (folder, stop) = (tempfile::tempdir().unwrap(), Stop::new());
        stop.ask(2);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let failure = build(LIMIT, &headers, folder.path(), &path, &stop, |_| {}).unwrap_err();
        assert!(failure.to_string().contains("signal"), "{failure:?}");
    }

    #[test]
    fn a_folder_that_make_would_misread_is_refused() {
        let (_kept, headers) = headers("@true");
        let failure =
            build(LIMIT, &headers, Path::new("/tmp/a b"), OsStr::new(""), &Stop::new(), |_| {}).unwrap_err();
        assert!(failure.remedy.unwrap().to_string().contains("TMPDIR"), "{}", failure.reason);
    }

    #[test]
    fn a_full_disk_is_known_by_its_free_space() {
        // No block is free, as on a full disk.
        let reason = text!("full", "full");
        let remedy = |folder: &Path| failed_build(folder, &Stop::new(), reason.clone()).remedy;
        assert_eq!(remedy(Path::new("/proc")), Some(BUILD_ELSEWHERE.into()));
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(remedy(folder.path()), None);
    }
}
