//! Other busy processes, in a sentence.

use measure::busy::Load;
use record::units;

/// Maximum number of listed processes, and the share of a CPU that a process must use to be listed.
const NAMED: usize = 5;
const WORTH_NAMING: f64 = 0.05;

/// Currently running processes, in one sentence.
pub(crate) fn describe(load: &Load, online: usize) -> String {
    let percent = |cpus: f64| format!("{:.0} %", cpus * 100.0);
    let cpus = |cpus: f64| {
        if cpus < 1.0 { format!("{} of a CPU", percent(cpus)) } else { format!("{cpus:.1} CPUs") }
    };
    let busy = load.cpus.unwrap_or_else(|| load.tasks.iter().map(|task| task.cpus).sum());
    if busy < WORTH_NAMING {
        return format!("none, sampled over {}.", units::figure(load.seconds, "s"));
    }
    let mut reported =
        format!("{} of {online}, sampled over {}.", cpus(busy), units::figure(load.seconds, "s"));
    let named: Vec<String> = load
        .tasks
        .iter()
        .filter(|task| task.cpus >= WORTH_NAMING)
        .take(NAMED)
        .map(|task| format!("{} {} ({}) {}", task.name, task.pid, task.user, percent(task.cpus)))
        .collect();
    if !named.is_empty() {
        reported.push_str(&format!(" {}.", named.join(", ")));
    }
    let users: Vec<String> =
        load.users().iter().take(NAMED).map(|(user, by)| format!("{user} {}", cpus(*by))).collect();
    if !users.is_empty() {
        reported.push_str(&format!(" By user: {}.", users.join(", ")));
    }
    if load.unseen() >= WORTH_NAMING {
        reported.push_str(&format!(" Short-lived or hidden processes: {}.", cpus(load.unseen())));
    }
    reported
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::busy::Task;

    fn task(name: &str, user: &str, cpus: f64) -> Task {
        Task { pid: 4711, name: name.to_owned(), user: user.to_owned(), cpus }
    }

    #[test]
    fn who_is_busy_is_named_with_user_and_share() {
        let tasks = vec![task("rustc", "ann", 0.96), task("sh", "bob", 0.5), task("cron", "root", 0.01)];
        let load = Load { seconds: 0.3, cpus: Some(1.75), tasks };
        let reported = describe(&load, 2);
        for part in
            ["1.8 CPUs of 2", "rustc 4711 (ann) 96 %", "sh 4711 (bob) 50 %", "By user: ann 96 % of a CPU"]
        {
            assert!(reported.contains(part), "no {part:?} in {reported}");
        }
        assert!(!reported.contains("cron"), "{reported}");
        assert!(reported.contains("hidden processes: 28 % of a CPU"), "{reported}");
        let nobody = Load { seconds: 0.3, cpus: Some(0.0), tasks: Vec::new() };
        assert_eq!(describe(&nobody, 2), "none, sampled over 300 ms.");
    }
}
