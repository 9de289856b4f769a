//! Holds every kernel's declared instructions against independent instruction counts: of the CPU (single
//! steps), of valgrind, and of qemu for the other instruction set.

mod driver;
mod mark;
mod qemu;
mod single_step;
#[cfg(target_arch = "x86_64")]
mod valgrind;

/// A name, the instructions that the second run is declared to have beyond those of the first, and those
/// counted around the first and around the second.
type Count = (String, u64, u64, u64);

/// Fails when a kernel's declaration is not what was counted.
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
