//! QEMU's threads: one for each CPU of its machine, which is bound to a CPU of this one.

use record::text;
use std::fs;
use std::path::Path;

use crate::Unavailable;
use os::pin;

/// Binds the threads of the process `pid` that run its machine's CPUs, each to the CPU of this machine that stands at its
/// place in `cpus`.
///
/// # Errors
///
/// One of them is not found, or cannot be bound.
pub(super) fn bind_cpu_threads(pid: u32, cpus: &[u32]) -> Result<(), Unavailable> {
    let threads = find_cpu_threads(Path::new(&format!("/proc/{pid}/task")));
    for (number, cpu) in (0..).zip(cpus) {
        let Some((_, thread)) = threads.iter().find(|(of, _)| *of == number) else {
            return Err(Unavailable::new(text!(
                "no QEMU thread found for the VM's CPU {number}",
                number = number
            )));
        };
        pin::bind_thread(*thread, &[*cpu].into_iter().collect()).map_err(|error| {
            Unavailable::new(text!(
                "cannot bind the VM's CPU {number} to CPU {cpu}: {error}",
                number = number,
                cpu = *cpu,
                error
            ))
        })?;
    }
    Ok(())
}

/// The machine's CPUs with the threads that run them, by the names that QEMU gives its threads: `CPU 0/KVM`, `CPU 1/TCG`.
fn find_cpu_threads(tasks: &Path) -> Vec<(u32, i32)> {
    let entries = fs::read_dir(tasks).into_iter().flatten().flatten();
    let numbered = entries.filter_map(|entry| {
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        let (cpu, _) = name.strip_prefix("CPU ")?.split_once('/')?;
        Some((cpu.parse().ok()?, entry.file_name().to_str()?.parse().ok()?))
    });
    numbered.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_cpus_are_known_by_their_names() {
        let tasks = tempfile::tempdir().unwrap();
        for (thread, name) in [
            ("10", "qemu-system-x86\n"),
            ("12", "CPU 1/TCG\n"),
            ("11", "CPU 0/KVM\n"),
            ("13", "CPU x/KVM\n"),
            ("y", "CPU 2/KVM\n"),
        ] {
            fs::create_dir(tasks.path().join(thread)).unwrap();
            fs::write(tasks.path().join(thread).join("comm"), name).unwrap();
        }
        let mut found = find_cpu_threads(tasks.path());
        found.sort_unstable();
        assert_eq!(found, [(0, 11), (1, 12)]);
    }

    #[test]
    fn a_process_without_such_threads_is_a_reason() {
        let why = bind_cpu_threads(std::process::id(), &[0]).unwrap_err();
        assert_eq!(why.reason.value("number"), Some(&0u32.into()), "{why:?}");
    }
}
