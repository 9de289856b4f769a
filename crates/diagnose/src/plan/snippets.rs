//! The plan as lines to paste: numactl, taskset, systemd, docker, Kubernetes. Only numbers of the record enter them.

use std::collections::BTreeMap;

use record::plan::{Piece, Policy, Process, Snippet};
use record::{CpuList, Text, text};

use super::available_resources::AvailableResources;
use crate::figures::name_cpus;

/// Nodes up to which the kubelet's topology manager starts without a setting of how many there are.
const NODES_OF_KUBELET: usize = 8;

/// The tools, by the name under which one alone can be asked for.
pub const TOOLS: [&str; 5] = ["numactl", "taskset", "systemd", "docker", "kubernetes"];

/// Lines for every tool; none when the layout is what happens without binding.
pub(super) fn write_snippets(
    available: &AvailableResources,
    processes: &[Process],
    reserved: &CpuList,
) -> Vec<Snippet> {
    if !binds(available, processes) {
        return Vec::new();
    }
    [
        numactl(processes),
        taskset(processes),
        systemd(processes),
        docker(processes),
        kubernetes(available, processes, reserved),
    ]
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

fn snippet(tool: &str, says: Text, pieces: Vec<Piece>) -> Option<Snippet> {
    (!pieces.is_empty()).then(|| Snippet { tool: tool.to_owned(), says, pieces })
}

fn each(processes: &[Process], lines: impl Fn(&Process) -> Option<Vec<String>>) -> Vec<Piece> {
    processes
        .iter()
        .filter_map(|process| Some(Piece { process: Some(process.number), lines: lines(process)? }))
        .collect()
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
    snippet("numactl", says, each(processes, line))
}

/// A process's CPUs as a shell takes them: the list, or what the kernel says of its nodes where it is not known here.
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
    snippet("taskset", says, each(processes, line))
}

fn systemd(processes: &[Process]) -> Option<Snippet> {
    let lines = |process: &Process| {
        let mut lines = vec!["[Service]".to_owned()];
        let known = !process.cpus.is_empty();
        if known && !everywhere(process) {
            lines.push(format!("AllowedCPUs={}", process.cpus));
            lines.push(format!("CPUAffinity={}", process.cpus));
        } else if !known && !everywhere(process) {
            // systemd takes the CPUs of NUMAMask's nodes.
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
        "Put into /etc/systemd/system/NAME.service.d/layout.conf, one unit per process; then systemctl daemon-reload and restart \
         it. AllowedCPUs and AllowedMemoryNodes require cgroup v2; without it CPUAffinity and NUMAPolicy suffice."
    );
    snippet("systemd", says, each(processes, lines))
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
    let says = text!("One container per process; podman takes the same options.");
    snippet("docker", says, each(processes, line))
}

/// What each pod asks for.
struct Pod {
    cpus: u32,
    /// As many as the plan has for the smallest process.
    wanted: u32,
    /// Whether it takes a core for each thread, and so the siblings too.
    siblings_idle: bool,
}

/// The CPUs of a pod beside the `reserved` ones. Pods are alike, so that the smallest process decides what is wanted and the
/// fullest node what there is: the kubelet chooses the CPUs itself, and not those that the plan names. `None` where a pod
/// would get none.
fn pod(available: &AvailableResources, processes: &[Process], reserved: &CpuList) -> Option<Pod> {
    let taken = processes.iter().fold(CpuList::new(), |all, process| all.union(&process.cpus));
    let cores = || available.seats.iter().flat_map(|seat| &seat.cores);
    // A thread on each of its cores, whose siblings stay idle.
    let alone = |process: &Process| {
        let own = || cores().filter(|core| core.iter().any(|cpu| process.cpus.contains(*cpu)));
        own().any(|core| core.len() > 1)
            && own().all(|core| core.iter().filter(|cpu| taken.contains(**cpu)).count() == 1)
    };
    let siblings_idle = processes.iter().any(alone);
    let per_core = available.per_core.max(1);
    let smallest = processes.iter().map(|process| process.cpus.len() as u32).min()?;
    // The kubelet gives whole cores.
    let wanted =
        if siblings_idle { smallest.checked_mul(per_core)? } else { smallest.next_multiple_of(per_core) };
    let mut sharing: BTreeMap<&CpuList, u32> = BTreeMap::new();
    for process in processes {
        *sharing.entry(&process.nodes).or_default() += 1;
    }
    let room = sharing.iter().map(|(nodes, count)| {
        let seats = available.seats.iter().filter(|seat| nodes.contains(seat.node));
        let free = seats
            .flat_map(|seat| &seat.cores)
            .filter(|core| !core.iter().any(|cpu| reserved.contains(*cpu)))
            .map(|core| core.len() as u32);
        free.sum::<u32>() / *count / per_core * per_core
    });
    let cpus = room.min()?.min(wanted);
    (cpus > 0).then_some(Pod { cpus, wanted, siblings_idle })
}

/// The kubelet's settings and the pod's resources.
fn kubernetes(available: &AvailableResources, processes: &[Process], reserved: &CpuList) -> Option<Snippet> {
    if processes.iter().any(everywhere) {
        return None;
    }
    let first: CpuList = match available.seats.first().and_then(|seat| seat.cores.first()) {
        Some(core) if reserved.is_empty() => core.iter().copied().collect(),
        _ => reserved.clone(),
    };
    if first.is_empty() {
        return None;
    }
    let singles = processes.iter().all(|process| process.nodes.len() == 1);
    let whole_cores = available.per_core > 1;
    let Pod { cpus, wanted, siblings_idle } = pod(available, processes, &first)?;
    let sharing = processes.len().div_ceil(available.seats.len().max(1)).max(1) as u64;
    let gib = available
        .seats
        .iter()
        .filter_map(|seat| seat.bytes)
        .min()
        .map(|bytes| (bytes / 5 * 4 / sharing) >> 30);
    let memory = gib.filter(|gib| *gib > 0).map_or("SIZE".to_owned(), |gib| format!("{gib}Gi"));
    let mut kubelet = vec![
        "# kubelet configuration".to_owned(),
        "cpuManagerPolicy: static".to_owned(),
        format!("reservedSystemCPUs: \"{first}\""),
    ];
    if whole_cores {
        kubelet.push("cpuManagerPolicyOptions:".to_owned());
        kubelet.push("  full-pcpus-only: \"true\"".to_owned());
    }
    kubelet
        .push(format!("topologyManagerPolicy: {}", if singles { "single-numa-node" } else { "restricted" }));
    kubelet.push("topologyManagerScope: pod".to_owned());
    let nodes = available.seats.len();
    if nodes > NODES_OF_KUBELET {
        kubelet.push("topologyManagerPolicyOptions:".to_owned());
        kubelet.push(format!("  max-allowable-numa-nodes: \"{nodes}\""));
    }
    let containers = match processes.len() {
        1 => text!("the pod's only container"),
        count => text!("{count} pods like this one, each with one container", count),
    };
    let mut pod = vec![format!("# {containers}")];
    if cpus < wanted {
        let fewer = text!(
            "{cpus} CPUs instead of {wanted}: the kubelet reserves {first}, and pods are alike",
            cpus,
            wanted,
            first = name_cpus(&first).unwrap_or_default()
        );
        pod.push(format!("# {fewer}"));
    }
    pod.extend([
        "resources:".to_owned(),
        "  requests:".to_owned(),
        format!("    cpu: \"{cpus}\""),
        format!("    memory: {memory}"),
        "  limits:".to_owned(),
        format!("    cpu: \"{cpus}\""),
        format!("    memory: {memory}"),
    ]);
    let mut says = text!(
        "Whole CPUs, the same for requests and limits, make a Guaranteed pod with exclusive CPUs on one node; its memory is \
         placed there by first touch (memoryManagerPolicy: Static binds it and requires reservedMemory). The kubelet \
         reserves {cpus}.",
        cpus = name_cpus(&first).unwrap_or_default()
    );
    if cpus < wanted {
        says.push(text!(
            "plan-pods-smaller",
            "This leaves {cpus} CPUs per pod where the plan has {wanted}, since pods are alike.",
            cpus,
            wanted
        ));
    }
    says.push(match (siblings_idle, cpus / available.per_core.max(1)) {
        (true, 1) => text!("plan-pod-thread", "Run 1 thread per pod, alone on its core."),
        (true, threads) => {
            text!("plan-pod-threads-on-cores", "Run {threads} threads per pod, one per core.", threads)
        }
        (false, _) if cpus < wanted => text!("plan-pod-threads", "Run {cpus} threads per pod.", cpus),
        (false, _) => Text::default(),
    });
    if nodes > NODES_OF_KUBELET {
        says.push(text!("More than {most} nodes require Kubernetes 1.31.", most = NODES_OF_KUBELET));
    }
    says.push(text!(
        "To change the kubelet's policy: drain the node, stop the kubelet, delete /var/lib/kubelet/cpu_manager_state, start \
         it."
    ));
    snippet(
        "kubernetes",
        says,
        vec![Piece { process: None, lines: kubelet }, Piece { process: None, lines: pod }],
    )
}
