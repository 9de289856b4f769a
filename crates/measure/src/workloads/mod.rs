//! The built-in workloads: loops with a known amount of work, one file each. A new one is a file here and its line in
//! [`all`]; the measurements `workloads`, `scaling` and `smt-yield` run whatever stands there.

mod aes_256_ige;
mod arithmetic;
pub(crate) mod array_pool;
pub(crate) mod array_supply;
mod bignum_power;
mod cpu_bound;
pub(crate) mod figures;
mod flops;
mod group;
pub(crate) mod incidents;
mod memory_bound;
mod nop;
mod pi;
mod primes;
mod triad;
pub(crate) mod worker_pool;
mod workload;

pub(crate) use workload::Workload;
#[cfg(test)]
pub(crate) use {
    group::Group,
    workload::{Site, Worker, WrongResult},
};

/// Every workload, in the order in which people read them. Not each is usable on each machine.
pub(crate) fn all() -> Vec<&'static dyn Workload> {
    let mut all: Vec<&'static dyn Workload> = vec![
        &nop::Nop,
        &cpu_bound::CpuBound,
        &primes::Primes,
        &aes_256_ige::Aes256Ige,
        &bignum_power::BignumPower,
        &pi::Pi,
        &memory_bound::MemoryBound,
    ];
    all.extend(flops::LOOPS.iter().map(|flops| flops as &dyn Workload));
    all.push(&triad::Triad);
    all
}

/// The workload of this name.
#[cfg(test)]
pub(crate) fn find(name: &str) -> Option<&'static dyn Workload> {
    all().into_iter().find(|workload| workload.name() == name)
}

#[cfg(test)]
mod tests;
