//! The plan as commands to paste: numactl, taskset, systemd, docker. They contain only numbers from the record.

use record::plan::{Piece, Policy, Process, Snippet};

use super::available_resources::AvailableResources;
use super::words;

/// The names of the tools; a user can request one of them by name.
pub const TOOLS: [&str; 4] = ["numactl", "taskset", "systemd", "docker"];

/// A tool's lines for a process; `None` if there is nothing to set.
type Lines = fn(&Process) -> Option<Vec<String>>;

/// Lines for each tool; none if the layout is the same as without pinning.
pub(super) fn write_snippets(available: &AvailableResources, processes: &[Process]) -> Vec<Snippet> {
    if !binds(available, processes) {
        return Vec::new();
    }
    let cpus_alone = processes.iter().all(|process| process.policy == Policy::Default);
    let snippet = |(tool, lines): (&str, Lines)| {
        let piece = |process: &Process| Some(Piece { process: Some(process.number), lines: lines(process)? });
        let pieces: Vec<Piece> = processes.iter().filter_map(piece).collect();
        let says =
            words("tools", if tool == "taskset" && cpus_alone { "taskset-alone" } else { tool }).into();
        (!pieces.is_empty()).then(|| Snippet { tool: tool.to_owned(), says, pieces })
    };
    let lines: [Lines; 4] = [numactl, taskset, systemd, docker];
    TOOLS.into_iter().zip(lines).filter_map(snippet).collect()
}

/// Whether the layout differs from an unpinned run.
pub(super) fn binds(available: &AvailableResources, processes: &[Process]) -> bool {
    match processes {
        [] => false,
        [one] => one.policy != Policy::Default || one.cpus != available.cpus() || available.narrowed,
        _ => true,
    }
}

/// Whether a process may use all CPUs of all nodes. If so, only its memory policy is set.
fn everywhere(process: &Process) -> bool {
    process.policy == Policy::Interleave && process.whole_nodes
}

fn numactl(process: &Process) -> Option<Vec<String>> {
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
}

/// A process's CPUs as text for a shell: the list or, if it is unknown here, a command that reads it from the kernel.
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

fn taskset(process: &Process) -> Option<Vec<String>> {
    (!everywhere(process)).then(|| vec![format!("taskset -c {} COMMAND", cpus_in_shell(process))])
}

fn systemd(process: &Process) -> Option<Vec<String>> {
    let mut lines = vec!["[Service]".to_owned()];
    let known = !process.cpus.is_empty();
    if known && !everywhere(process) {
        lines.push(format!("AllowedCPUs={}", process.cpus));
        lines.push(format!("CPUAffinity={}", process.cpus));
    } else if !known && !everywhere(process) {
        // With this value, systemd uses the CPUs of the nodes in NUMAMask.
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
}

fn docker(process: &Process) -> Option<Vec<String>> {
    let mut words = vec!["docker run".to_owned()];
    words.extend((!everywhere(process)).then(|| format!("--cpuset-cpus={}", cpus_in_shell(process))));
    if process.policy == Policy::Bind {
        words.push(format!("--cpuset-mems={}", process.memory));
    }
    (words.len() > 1).then(|| vec![format!("{} IMAGE", words.join(" "))])
}
