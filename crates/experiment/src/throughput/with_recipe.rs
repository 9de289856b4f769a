//! Runs a command or recipe with a temporary directory, a service, and the guard for all processes.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use os::Stop;
use os::child::Guard;
use os::whole_file::clear_killed;
use record::{Coverage, Machine, text};
use tempfile::TempDir;

use super::coverage::describe_early_signal;
use super::rounds::{Observer, Results, measure_steps};
use super::service::{Setting, start_service};
use super::{Job, Plan};
use crate::copies::RunOptions;
use crate::failure::Trouble;

/// Sets up everything that the processes need, measures, and always reverts the setup in reverse order.
pub fn measure_job(
    job: &Job,
    plan: &Plan,
    machine: &Machine,
    options: RunOptions,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Results {
    match try_job(job, plan, machine, options, stop, observer) {
        Ok(results) => results,
        Err(Trouble::Stopped(signal)) => {
            let reason = text!(Coverage::INTERRUPTED, when = describe_early_signal(signal));
            let coverage = vec![Coverage::skipped("scale", reason)];
            Results { interrupted: Some(signal), coverage, ..Results::default() }
        }
        Err(trouble) => Results { failed: Some(trouble), ..Results::default() },
    }
}

fn try_job(
    job: &Job,
    plan: &Plan,
    machine: &Machine,
    mut options: RunOptions,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Results, Trouble> {
    let mut job = job.clone();
    let needed = job.recipe.needs_folder().then(create_folder);
    let folder = needed.transpose()?;
    // Created before any process is started, and removed last.
    let guard = Guard::new(folder.as_ref().map(|(folder, _)| folder.path()));
    options.environment.push(guard.variable());
    let mut set = |name: &str, value: String| job.values.insert(name.to_owned(), value);
    if let Some((folder, _)) = &folder {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        set("folder", text(folder.path()));
        set("socket", text(&folder.path().join("socket")));
    }
    set("user", os::user_name());
    let mut service = None;
    if let (Some(recipe), Some((folder, _))) = (&job.recipe.service, &folder) {
        observer.preparing();
        let (values, environment) = (&job.values, options.environment.as_slice());
        let setting = Setting { values, environment, folder: folder.path(), stop };
        service = Some(start_service(recipe, setting)?);
    }
    let results = measure_steps(&job, plan, machine, service.as_mut(), &options, stop, observer);
    drop(service);
    drop(folder);
    drop(guard);
    Ok(results)
}

/// Maximum length of a Unix socket path, bytes: sun_path has 108 including the terminating zero (unix(7)).
const SOCKET_PATH: usize = 107;

/// The prefix of the directory's name.
const PREFIX: &str = "linespeed-run-";

/// Creates a directory that only this user can enter, in the temporary directory, or in /tmp if that path is too long
/// for a socket. The directory is locked until it is dropped, and is then removed with its contents.
fn create_folder() -> Result<(TempDir, Option<File>), Trouble> {
    let place = os::places::temporary_folder();
    let room = place.as_os_str().len() + "/linespeed-run-XXXXXX/socket".len() <= SOCKET_PATH;
    let place = if room { place } else { PathBuf::from("/tmp") };
    // Anyone with access to a server's socket could use the server.
    let mode = std::fs::Permissions::from_mode(0o700);
    clear_killed(&place, PREFIX);
    let folder = tempfile::Builder::new().prefix(PREFIX).permissions(mode).tempdir_in(&place);
    let folder = folder.map_err(|error| {
        let place = place.display();
        Trouble::Service(format!(
            "cannot create a temporary directory in {place} ({error}); set TMPDIR to another directory"
        ))
    })?;
    // If the file system does not support locks, leftovers are never removed.
    let lock = File::open(folder.path()).ok().filter(|lock| lock.try_lock().is_ok());
    Ok((folder, lock))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_a_run_left_that_was_killed_with_its_guard_goes_and_no_other_folder() {
        let place = tempfile::tempdir().unwrap();
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(20);
        let lay = |name: &str| {
            let path = place.path().join(name);
            fs::create_dir_all(path.join("data")).unwrap();
            let folder = File::open(&path).unwrap();
            folder.set_modified(old).unwrap();
            folder
        };
        let (_left, _other, runs) =
            (lay("linespeed-run-left"), lay("linespeed-x"), lay("linespeed-run-runs"));
        runs.try_lock().unwrap();
        fs::create_dir(place.path().join("linespeed-run-young")).unwrap();
        std::os::unix::fs::symlink(place.path().join("linespeed-x"), place.path().join("linespeed-run-link"))
            .unwrap();
        clear_killed(place.path(), PREFIX);
        let names = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut left: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        left.sort();
        assert_eq!(left, ["linespeed-run-link", "linespeed-run-runs", "linespeed-run-young", "linespeed-x"]);
    }

    #[test]
    fn nobody_else_can_enter_it_and_it_goes() {
        let (folder, lock) = create_folder().unwrap();
        let path = folder.path().to_owned();
        std::fs::create_dir(path.join("data")).unwrap();
        std::fs::write(path.join("data/file"), "x").unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert!(folder.path().join("socket").as_os_str().len() <= SOCKET_PATH);
        drop((folder, lock));
        assert!(!path.exists());
    }
}
