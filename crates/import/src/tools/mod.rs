//! The tools whose output is known. A new one is one new file here and its line in [`TOOLS`].

mod cyclictest;
pub(crate) mod dmidecode;
mod hyperfine;
mod lmbench;
mod lscpu;
mod lshw;
mod mlc;
mod numactl;
mod openssl;
mod perf_stat;
mod published;
mod stream;
mod sysbench;
#[cfg(test)]
mod testing;
mod time;

use std::collections::BTreeSet;

use crate::tool::Tool;

/// Every tool. Where the opening lines of two could be the same, the earlier one is asked first.
pub(crate) const TOOLS: &[&dyn Tool] = &[
    &perf_stat::PerfStat,
    &time::Time,
    &hyperfine::Hyperfine,
    &lmbench::Stream,
    &lmbench::LatMemRd,
    &stream::McCalpin,
    &mlc::Mlc,
    &openssl::OpensslSpeed,
    &cyclictest::Cyclictest,
    &sysbench::Sysbench,
    &published::Published,
    &lscpu::LscpuJson,
    &lscpu::LscpuParsable,
    &lscpu::LscpuExtended,
    &lscpu::LscpuCaches,
    &dmidecode::Dmidecode,
    &numactl::Numactl,
    &lshw::Lshw,
    &lscpu::Lscpu,
];

/// The names of all tools whose output is known, in order.
pub fn tool_names() -> BTreeSet<&'static str> {
    TOOLS.iter().map(|tool| tool.name()).collect()
}
