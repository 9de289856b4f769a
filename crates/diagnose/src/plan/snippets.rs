//! The plan as lines to paste: numactl, taskset, systemd, docker. Only numbers of the record enter them.

use record::plan::{Piece, Policy, Process, Snippet};
use record::{Text, text};

use super::available_resources::AvailableResources;

/// The tools, by the name under which one alone can be asked for.
pub const TOOLS: [&str; 4] = ["numactl", "taskset", "systemd", "docker"];

/// Lines for every tool; none if the layout is the same as without pinning.
pub(super) fn write_snippets(available: &AvailableResources, processes: &[Process]) -> Vec<Snippet> {
    if !binds(available, processes) {
        return Vec::new();
    }
    [numactl(processes), taskset(processes), systemd(processes), docker(processes)]
        .into_iter()
        .flatten()
        .collect()
}

/// Whether the processes would not run so anyway.
pub(super) fn binds(available: &AvailableResources, processes: &[Process]) -> bool {
    match processes {
        [] => false,
        [one] => one.policy != Policy::Default || one.cpus != available.cpus() || available.narrowed,
        _ => true,
    }
}

/// Whether a process may use all CPUs of all nodes, so that only its memory is set.
fn everywhere(process: &Process) -> bool {
    process.policy == Policy::Interleave && process.whole_nodes
}

/// What to give a tool for each process; `None` if it has nothing to set.
fn snippet(
    tool: &str,
    says: Text,
    processes: &[Process],
    lines: impl Fn(&Process) -> Option<Vec<String>>,
) -> Option<Snippet> {
    let piece = |process: &Process| Some(Piece { process: Some(process.number), lines: lines(process)? });
    let pieces: Vec<Piece> = processes.iter().filter_map(piece).collect();
    (!pieces.is_empty()).then(|| Snippet { tool: tool.to_owned(), says, pieces })
}

fn numactl(processes: &[Process]) -> Option<Snippet> {
    let line = |process: &Process| {
        let mut words = vec!["numactl".to_owned()];
        if everywhere(process) {
        } else if process.whole_nodes && !process.memory.is_empty() {
            words.push(format!("--cpunodebind={}", process.nodes));
        } else if !process.cpus.is_empty() {
            words.push(format!("--physcpubind={}", process.cpus));
        }
        match process.policy {
            Policy::Default => {}
            Policy::Bind => words.push(format!("--membind={}", process.memory)),
            Policy::Interleave => words.push(format!("--interleave={}", process.memory)),
        }
        (words.len() > 1).then(|| vec![format!("{} COMMAND", words.join(" "))])
    };
    let says = text!("CPUs and memory, one line per process.");
    snippet("numactl", says, processes, line)
}

/// A process's CPUs for a shell: the list, or the kernel's list of its nodes if it is unknown here.
fn cpus_in_shell(process: &Process) -> String {
    if !process.cpus.is_empty() {
        return process.cpus.to_string();
    }
    let files: Vec<String> =
        process.nodes.iter().map(|node| format!("/sys/devices/system/node/node{node}/cpulist")).collect();
    match files.as_slice() {
        [one] => format!("\"$(cat {one})\""),
        several => format!("\"$(cat {} | paste -sd,)\"", several.join(" ")),
    }
}

fn taskset(processes: &[Process]) -> Option<Snippet> {
    let line = |process: &Process| {
        (!everywhere(process)).then(|| vec![format!("taskset -c {} COMMAND", cpus_in_shell(process))])
    };
    let memory = processes.iter().any(|process| process.policy != Policy::Default);
    let says = if memory {
        text!("CPUs only; memory comes from the node of the CPU that touches it first.")
    } else {
        text!("One line per process.")
    };
    snippet("taskset", says, processes, line)
}

fn systemd(processes: &[Process]) -> Option<Snippet> {
    let lines = |process: &Process| {
        let mut lines = vec!["[Service]".to_owned()];
        let known = !process.cpus.is_empty();
        if known && !everywhere(process) {
            lines.push(format!("AllowedCPUs={}", process.cpus));
            lines.push(format!("CPUAffinity={}", process.cpus));
        } else if !known && !everywhere(process) {
            // systemd uses the CPUs of NUMAMask's nodes.
            lines.push("CPUAffinity=numa".to_owned());
        }
        match process.policy {
            Policy::Default => {}
            Policy::Bind => {
                lines.push(format!("AllowedMemoryNodes={}", process.memory));
                lines.push("NUMAPolicy=bind".to_owned());
                lines.push(format!("NUMAMask={}", process.memory));
            }
            Policy::Interleave => {
                lines.push("NUMAPolicy=interleave".to_owned());
                lines.push(format!("NUMAMask={}", process.memory));
            }
        }
        (lines.len() > 1).then_some(lines)
    };
    let says = text!(
        "Save as /etc/systemd/system/NAME.service.d/layout.conf, one unit per process. Then run systemctl daemon-reload and \
         restart the unit. AllowedCPUs and AllowedMemoryNodes require cgroup v2; without it, CPUAffinity and NUMAPolicy suffice."
    );
    snippet("systemd", says, processes, lines)
}

fn docker(processes: &[Process]) -> Option<Snippet> {
    let line = |process: &Process| {
        let mut words = vec!["docker run".to_owned()];
        if !everywhere(process) {
            words.push(format!("--cpuset-cpus={}", cpus_in_shell(process)));
        }
        if process.policy == Policy::Bind {
            words.push(format!("--cpuset-mems={}", process.memory));
        }
        (words.len() > 1).then(|| vec![format!("{} IMAGE", words.join(" "))])
    };
    let says = text!("One container per process; podman accepts the same options.");
    snippet("docker", says, processes, line)
}
