//! Records that are kept: listed, labelled, removed, and found again.

use std::path::{Path, PathBuf};
use std::process::Command;

use record::{Label, Labels, Measurement, Record};

use crate::support::confine::{Confine, NOBODY, no_mounts};
use crate::support::{Ran, folder, linespeed, measured, root, run};

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(folder())
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = linespeed(args);
        command.env("HOME", self.0.path()).current_dir(self.0.path());
        command
    }

    fn ran(&self, args: &[&str]) -> Ran {
        run(self.command(args))
    }

    fn kept(&self) -> PathBuf {
        self.0.path().join(".local/state/linespeed")
    }

    /// Keeps a record of this machine that began at that hour.
    fn keep(&self, hour: u32, metrics: &[&'static str]) -> String {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let started = format!("2026-01-02T{hour:02}:00:00Z");
        let mut record =
            Record::new("0", started.clone(), vec!["linespeed".to_owned(), format!("--hour={hour}")]);
        record.machine.hostname = Some(host.trim().to_owned());
        for metric in metrics {
            let (low, _) = record::metrics::find(metric).unwrap().plausible;
            let labels = Labels::new().with_label(Label::Cpu, 0u32);
            record.measurements.push(Measurement::new(*metric, labels, vec![low + 1.0; 6]));
        }
        std::fs::create_dir_all(self.kept()).unwrap();
        let name = record::file_name::record_name(record.machine.hostname.as_deref(), &started);
        let path = self.kept().join(format!("{name}.json"));
        std::fs::write(&path, record.to_json().unwrap()).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let age = std::time::Duration::from_secs(3600) * (24 - hour);
        file.set_modified(std::time::SystemTime::now() - age).unwrap();
        name
    }
}

const WHOLE: [&str; 3] = ["core.clock", "load.latency", "memory.bandwidth"];

#[test]
fn a_label_stands_wherever_a_record_may() {
    let home = Home::new();
    let (first, second) = (home.keep(1, &WHOLE), home.keep(2, &WHOLE));
    home.ran(&["records", "--label", "before", &first]).succeeds();
    home.ran(&["records", "--label", "after"]).succeeds();
    let listed = home.ran(&["records"]).succeeds().stdout;
    let line = |name: &str| listed.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(line(&first).contains("before") && line(&second).contains(". after"), "{listed}");
    let compared = home.ran(&["compare", "before", ".", "--json"]).succeeds().stdout;
    let compared: serde_json::Value = serde_json::from_str(&compared).unwrap();
    assert_eq!(compared["subjects"][0]["name"], "before", "{compared}");
    assert!(home.ran(&["show", "after"]).succeeds().stdout.contains("2026-01-02T02:00:00Z"));
    // The name of a record that is kept does as well.
    assert!(home.ran(&["show", &first]).succeeds().stdout.contains("2026-01-02T01:00:00Z"));
    home.ran(&["show", "nothing"]).fails(3, &["nothing", "linespeed records lists them"]);
    // A label moves; what it stood for is named and stays.
    let moved = home.ran(&["records", "--label", "before", &second]);
    assert!(moved.code == Some(0) && moved.stderr.contains(&first), "{moved:?}");
    assert!(home.kept().join(format!("{first}.json")).exists());
    home.ran(&["records", "--label", "../x"]).misused(&["letters"]);
    // Without a name, the run just made is labeled, even if another one represents the machine.
    home.keep(3, &["core.clock"]);
    home.ran(&["records", "--label", "last"]).succeeds();
    assert!(home.ran(&["show", "last"]).succeeds().stdout.contains("2026-01-02T03:00:00Z"));
}

#[test]
fn a_run_labels_its_record() {
    let home = Home::new();
    measured(home.command(&["run", "costs", "--quick", "--label", "base", "-q"])).succeeds();
    assert!(home.ran(&["show", "base"]).succeeds().stdout.contains("noise: "));
    home.ran(&["run", "costs", "--label", "base", "--json"]).fails(2, &["--label", "--output"]);
}

#[test]
fn only_what_nothing_stands_on_is_pruned() {
    let home = Home::new();
    let names: Vec<String> =
        (1..=5).map(|hour| home.keep(hour, if hour == 3 { &WHOLE } else { &["cost.syscall"] })).collect();
    home.ran(&["records", "--label", "before", &names[0]]).succeeds();
    let left = || {
        let all = names.iter().enumerate();
        all.filter(|(_, name)| home.kept().join(format!("{name}.json")).exists())
            .map(|(at, _)| at + 1)
            .collect::<Vec<_>>()
    };
    let planned = home.ran(&["records", "prune", "--keep", "1", "--dry-run"]).succeeds().stdout;
    assert!(
        planned.contains(&names[1]) && planned.contains(&names[3]) && !planned.contains(&names[0]),
        "{planned}"
    );
    assert_eq!(left(), [1, 2, 3, 4, 5]);
    home.ran(&["records", "prune"]).misused(&["--keep"]);
    home.ran(&["records", "prune", "--keep", "x"]).fails(2, &["'x'", "--keep", "use a whole number"]);
    home.ran(&["records", "label"]).fails(3, &["linespeed records RECORD --label NAME"]);
    home.ran(&["records", "label", "before"]).misused(&["linespeed records RECORD --label NAME"]);
    home.ran(&["records", "prune", "--keep", "1"]).succeeds();
    // The labelled one, the newest run of everything, the newest.
    assert_eq!(left(), [1, 3, 5]);
    home.ran(&["records", "rm", "before"]).succeeds();
    assert_eq!(left(), [3, 5]);
    let foreign = home.0.path().join("mine.json");
    std::fs::write(&foreign, "{}").unwrap();
    home.ran(&["records", "rm", foreign.to_str().unwrap()]).fails(3, &["mine.json", "linespeed records"]);
    assert!(foreign.exists());
}

#[test]
fn what_sudo_leaves_belongs_to_the_user_who_ran_it() {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let user = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| {
        let home = Path::new(fields.get(5).copied().unwrap_or("/"));
        fields[2] != "0" && home.is_dir() && home.starts_with("/var/") && fields[5].len() > 5
    });
    let Some(user) = user.filter(|_| root()) else {
        return crate::support::skipped(
            "what_sudo_leaves_belongs_to_the_user_who_ran_it",
            "needs root, and a user with a home",
        );
    };
    // What is looked for is named, and nothing is written as root into a folder of the user's.
    let mut command = linespeed(["show", "."]);
    command.env("SUDO_UID", user[2]).env("SUDO_GID", user[3]).env("HOME", "/nonexistent");
    run(command).fails(3, &["no record of this machine", user[5], "/nonexistent"]);
}

#[test]
fn what_a_user_and_sudo_keep_is_found_by_both_and_stays_the_users() {
    use std::os::unix::fs::{MetadataExt, chown};
    let test = "what_a_user_and_sudo_keep_is_found_by_both_and_stays_the_users";
    if let Some(why) = no_mounts() {
        return crate::support::skipped(test, &why);
    }
    let folder = folder();
    let program = folder.path().join("linespeed");
    crate::support::copied_to(&program);
    let (home, passwd) = (folder.path().join("home"), folder.path().join("passwd"));
    std::fs::create_dir(&home).unwrap();
    chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
    std::fs::write(&passwd, format!("ann:x:{NOBODY}:{NOBODY}::{}:/bin/sh\n", home.display())).unwrap();
    let (id, roots) = (NOBODY.to_string(), folder.path().join("root"));
    let by_sudo = |args: &[&str]| {
        let mut command = crate::support::program(&program, args).with_file("/etc/passwd", &passwd);
        command.env("SUDO_UID", &id).env("SUDO_GID", &id).env("SUDO_USER", "ann").env("HOME", &roots);
        run(command)
    };
    let by_user = |args: &[&str]| {
        let mut command = crate::support::program(&program, args).by_nobody();
        command.env("HOME", &home).current_dir(&home);
        run(command)
    };
    by_sudo(&["run", "costs", "--quick", "-q", "--label", "roots"]).succeeds();
    by_user(&["run", "costs", "--quick", "-q", "--label", "mine"]).succeeds();
    by_sudo(&["stat", "-q", "--", "true"]);
    let state = home.join(".local/state/linespeed");
    let mut below = vec![home.join(".local")];
    while let Some(path) = below.pop() {
        let data = path.symlink_metadata().unwrap();
        assert_eq!((data.uid(), data.gid()), (NOBODY, NOBODY), "{}", path.display());
        if data.is_dir() {
            below.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    assert!(!roots.exists(), "something was kept for root");
    let labels = |ran: Ran| {
        let listed: serde_json::Value = serde_json::from_str(&ran.succeeds().stdout).unwrap();
        let all = listed.as_array().unwrap().iter().map(|entry| entry["labels"].to_string());
        all.collect::<Vec<_>>()
    };
    let listed = labels(by_user(&["records", "--json"]));
    assert!(listed.len() == 3 && listed == labels(by_sudo(&["records", "--json"])), "{listed:?}");
    for name in ["roots", "mine", "."] {
        by_user(&["show", name, "-q"]).succeeds();
        by_sudo(&["show", name, "-q"]).succeeds();
    }
    by_user(&["compare", "roots", "mine", "--json"]).succeeds();
    by_user(&["plan", "--json"]).succeeds();
    by_user(&["records", "rm", "roots"]).succeeds();
    by_sudo(&["records", "rm", "mine"]).succeeds();
    assert_eq!(std::fs::read_dir(state.join("labels")).unwrap().count(), 0);

    // Recipes are the user's, too; but root runs no programs that a user's file names, unless told to.
    let recipe = home.join(".config/linespeed/recipes/mine.toml");
    std::fs::create_dir_all(recipe.parent().unwrap()).unwrap();
    std::fs::write(&recipe, "name = \"mine\"\nwhat = \"Nothing.\"\ncommand = [\"true\"]\n").unwrap();
    let scale = ["scale", "-q", "--quick", "--steps", "1", "--recipe"];
    by_sudo(&[&scale[..], &["mine"]].concat()).succeeds();
    chown(&recipe, Some(NOBODY), Some(NOBODY)).unwrap();
    by_sudo(&[&scale[..], &["mine"]].concat()).fails(3, &["mine.toml", "another user"]);
    by_sudo(&[&scale[..], &[recipe.to_str().unwrap()]].concat()).succeeds();
}
