//! A command or a recipe with everything beside it: its folder, its service, and the guard over all its processes.

use std::path::Path;

use os::Stop;
use os::child::Guard;
use record::{Coverage, Machine, text};

use super::coverage::describe_early_signal;
use super::folder::{create_folder, name_socket};
use super::rounds::{Observer, Results, measure_steps};
use super::service::{Setting, start_service};
use super::{Job, Plan};
use crate::copies::RunOptions;
use crate::failure::Trouble;

/// Everything that starts a process: what was made is gone in the reverse order, whatever happened.
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
    // Before any process is started, and the last to go.
    let guard = Guard::new(folder.as_ref().map(|folder| folder.path()));
    options.environment.push(guard.variable());
    let mut set = |name: &str, value: String| job.values.insert(name.to_owned(), value);
    if let Some(folder) = &folder {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        set("folder", text(folder.path()));
        set("socket", text(&name_socket(folder.path())));
    }
    set("user", os::user_name());
    let mut service = None;
    if let (Some(recipe), Some(folder)) = (&job.recipe.service, &folder) {
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
