//! The built-in workloads: loops with a known amount of work, each in its own file or as a row of a table. To add one,
//! create a file here and add a line in [`all`]. The measurements `workloads`, `scaling` and `smt-yield` run all
//! workloads in the list.

mod aes_256_ige;
mod arithmetic;
pub(crate) mod array_pool;
pub(crate) mod figures;
mod flops;
pub(crate) mod incidents;
mod long_numbers;
mod loops;
mod memory_bound;
mod page_faults;
mod primes;
pub(crate) mod session;
mod triad;
pub(crate) mod worker_pool;
mod workload;

#[cfg(test)]
pub(crate) use array_pool::Group;
pub(crate) use workload::Workload;
#[cfg(test)]
pub(crate) use workload::{Definition, Site, Worker, WrongResult};

/// All workloads, in display order. Some are not usable on every machine.
pub(crate) fn all() -> Vec<&'static dyn Workload> {
    let mut all: Vec<&'static dyn Workload> = vec![
        &loops::LOOPS[0],
        &loops::LOOPS[1],
        &primes::Primes,
        &aes_256_ige::Aes256Ige,
        &long_numbers::LONG_NUMBERS[0],
        &long_numbers::LONG_NUMBERS[1],
        &memory_bound::MemoryBound,
        &page_faults::PageFaults,
    ];
    all.extend(flops::LOOPS.iter().map(|flops| flops as &dyn Workload));
    all.push(&triad::Triad);
    all
}

/// The workload with this name.
pub(crate) fn find(name: &str) -> Option<&'static dyn Workload> {
    all().into_iter().find(|workload| workload.name() == name)
}

#[cfg(test)]
mod tests;
