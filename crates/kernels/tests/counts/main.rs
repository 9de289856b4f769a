//! Compares every kernel's declared instructions with independent instruction counts: from the CPU (single steps), from
//! valgrind, and from qemu for the other instruction set.

mod driver;
mod mark;
mod qemu;
mod single_step;
#[cfg(target_arch = "x86_64")]
mod valgrind;

/// A name, the declared number of additional instructions in the second run, and the counted instructions of the first
/// and of the second run.
type Count = (String, u64, u64, u64);

/// Fails if a kernel's declaration differs from the count.
fn hold(counts: &[Count]) {
    let faults: Vec<String> = counts
        .iter()
        .filter(|(_, declared, few, most)| few + declared != *most)
        .map(|(name, declared, few, most)| {
            format!("{name} declares {declared} more; the first run took {few}, the second {most}")
        })
        .collect();
    println!("{} kernels counted", counts.len());
    assert!(counts.len() > 40, "only {} kernels were counted", counts.len());
    assert!(faults.is_empty(), "clock, IPC and flops would be wrong:\n{}", faults.join("\n"));
}

#[test]
#[should_panic(expected = "clock, IPC and flops would be wrong")]
fn a_wrong_declaration_is_found() {
    let mut counts = vec![("right".to_owned(), 66 * 3, 100, 100 + 66 * 3); 50];
    counts[7].1 -= 3;
    hold(&counts);
}
