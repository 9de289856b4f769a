//! The tools whose output is known. A new one is one new file here and its line in [`TOOLS`].

mod cyclictest;
mod dmidecode;
mod hyperfine;
mod lat_mem_rd;
mod lmbench;
mod lscpu;
mod lshw;
mod memory;
mod mlc;
mod numactl;
mod numastat;
mod openssl;
mod perf_stat;
mod published;
mod stream;
mod stress_ng;
mod sysbench;
#[cfg(test)]
mod testing;
mod time;

use std::collections::BTreeSet;

use crate::tool::Tool;

/// Every tool. Where the opening lines of two could be the same, the earlier one is asked first.
pub(crate) const TOOLS: &[Tool] = &[
    perf_stat::PERF_STAT,
    time::TIME,
    hyperfine::HYPERFINE,
    hyperfine::HYPERFINE_JSON,
    stress_ng::STRESS_NG,
    lmbench::STREAM,
    lat_mem_rd::LAT_MEM_RD,
    stream::MC_CALPIN,
    mlc::MLC,
    openssl::OPENSSL_SPEED,
    cyclictest::CYCLICTEST,
    sysbench::SYSBENCH,
    published::PUBLISHED,
    lscpu::LSCPU_JSON,
    lscpu::LSCPU_PARSABLE,
    lscpu::LSCPU_EXTENDED,
    dmidecode::DMIDECODE,
    numactl::NUMACTL,
    numastat::NUMASTAT,
    lshw::LSHW,
    lscpu::LSCPU,
];

/// The names of all tools whose output is known, in order.
pub fn tool_names() -> BTreeSet<&'static str> {
    TOOLS.iter().map(|tool| tool.name).collect()
}
