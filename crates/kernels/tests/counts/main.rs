//! Holds every kernel's declared instructions against independent instruction counts: of the CPU (single
//! steps), of valgrind, and of qemu for the other instruction set.

mod driver;
mod mark;
mod qemu;
mod single_step;
#[cfg(target_arch = "x86_64")]
mod valgrind;

use driver::{FEW, MOST};

/// Fails when a kernel's declaration is not what was counted. Each count has the kernel's name, the
/// instructions that it declares for an iteration, and those counted around [`FEW`] and around [`MOST`]
/// iterations.
fn hold(counts: &[(String, u32, u64, u64)]) {
    let iterations = MOST - FEW;
    let faults: Vec<String> = counts
        .iter()
        .filter(|(_, declared, few, most)| few + u64::from(*declared) * iterations != *most)
        .map(|(name, declared, few, most)| {
            format!("{name} declares {declared} an iteration; {FEW} took {few} and {MOST} took {most}")
        })
        .collect();
    println!("{} kernels counted", counts.len());
    assert!(counts.len() > 40, "only {} kernels were counted", counts.len());
    assert!(faults.is_empty(), "clock, IPC and flops would be wrong:\n{}", faults.join("\n"));
}

#[test]
#[should_panic(expected = "clock, IPC and flops would be wrong")]
fn a_wrong_declaration_is_found() {
    let mut counts = vec![("right".to_owned(), 66, 100, 100 + 66 * (MOST - FEW)); 50];
    counts[7].1 = 65;
    hold(&counts);
}
