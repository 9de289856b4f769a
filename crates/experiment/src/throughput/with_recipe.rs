//! A command or a recipe with everything beside it: its folder, its service, and the guard over all its processes.

use std::path::Path;

use os::Stop;
use os::child::Guard;
use record::{Coverage, Machine, text};

use super::coverage::before_first_run;
use super::folder::Folder;
use super::rounds::{Observer, Options, Results, measure};
use super::run::Trouble;
use super::{Job, Plan, service};
use crate::recipes::Recipe;

/// Everything that starts a process: what was made is gone in the reverse order, whatever happened.
pub fn measure_with_recipe(
    job: &mut Job,
    recipe: Option<&Recipe>,
    plan: &Plan,
    machine: &Machine,
    mut options: Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Results {
    let failed = |trouble: Trouble| match trouble {
        Trouble::Stopped(signal) => {
            let reason = text!(Coverage::INTERRUPTED, when = before_first_run(signal));
            let coverage = vec![Coverage::skipped("scale", reason)];
            Results { interrupted: Some(signal), coverage, ..Results::default() }
        }
        trouble => Results { failed: Some(trouble), ..Results::default() },
    };
    let folder = match recipe.filter(|recipe| recipe.needs_folder() || recipe.service.is_some()) {
        Some(_) => match Folder::new() {
            Ok(folder) => Some(folder),
            Err(why) => return failed(Trouble::Service(why.to_string())),
        },
        None => None,
    };
    // Before any process is started, and the last to go.
    let guard = Guard::new(folder.as_ref().map(|folder| folder.path()));
    options.environment.push(guard.variable());
    if let Some(folder) = &folder {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        job.values.insert("folder".to_owned(), text(folder.path()));
        job.values.insert("socket".to_owned(), text(&folder.socket()));
    }
    job.values.insert("user".to_owned(), user_name());
    let service = match (recipe.and_then(|recipe| recipe.service.as_ref()), &folder) {
        (Some(service), Some(folder)) => {
            observer.preparing();
            match service::start(service, &job.values, &options.environment, folder.path(), stop) {
                Ok(service) => Some(service),
                Err(trouble) => return failed(trouble),
            }
        }
        _ => None,
    };
    let mut service = service;
    let results = measure(job, plan, machine, service.as_mut(), &options, stop, observer);
    if let Some(service) = &mut service {
        service.end();
    }
    drop((service, folder, guard));
    results
}

/// The name of the user that we are; the number where /etc/passwd does not have it. The C library's own look-up would load
/// other libraries into this static program.
fn user_name() -> String {
    let id = os::effective_user().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    find_user(&users, &id).unwrap_or(id)
}

fn find_user(passwd: &str, id: &str) -> Option<String> {
    let mut users = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let user = users.find(|fields| fields.get(2) == Some(&id))?;
    user.first().filter(|name| !name.is_empty()).map(|name| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn users_have_names_or_numbers() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\n::7:7\nbroken\ndb:x:104:1:,,,:/:/bin/sh\n";
        assert_eq!(super::find_user(passwd, "104").as_deref(), Some("db"));
        assert_eq!(super::find_user(passwd, "10"), None);
        assert_eq!(super::find_user(passwd, "7"), None);
    }
}
