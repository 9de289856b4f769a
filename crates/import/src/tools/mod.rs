//! The supported tools. A new one is one new file here and its line in [`TOOLS`].

pub(crate) mod columns;
mod cyclictest;
pub(crate) mod dmidecode;
pub(crate) mod files;
mod hyperfine;
pub(crate) mod lscpu;
mod lshw;
mod memory;
mod mlc;
mod numactl;
mod numactl_show;
mod numastat;
mod openssl;
mod perf_stat;
pub(crate) mod published;
mod stream;
mod stress_ng;
mod sysbench;
#[cfg(test)]
pub(crate) mod testing;

use std::collections::BTreeSet;

use crate::tool::Tool;

/// Every tool. If the opening lines of two could be the same, the earlier one is asked first.
pub(crate) const TOOLS: &[Tool] = &[
    files::FILES,
    perf_stat::PERF_STAT,
    hyperfine::HYPERFINE_JSON,
    hyperfine::HYPERFINE_CSV,
    stress_ng::STRESS_NG,
    stream::MC_CALPIN,
    mlc::MLC,
    openssl::OPENSSL_SPEED,
    cyclictest::CYCLICTEST,
    sysbench::SYSBENCH,
    published::PUBLISHED,
    lscpu::LSCPU_JSON,
    lscpu::LSCPU_PARSABLE,
    lscpu::LSCPU_EXTENDED,
    lscpu::LSCPU_CACHES,
    dmidecode::DMIDECODE,
    numactl::NUMACTL,
    numactl_show::NUMACTL_SHOW,
    numastat::NUMASTAT,
    lshw::LSHW,
    lscpu::LSCPU,
    columns::TURBOSTAT,
    columns::VMSTAT,
    columns::SYSSTAT,
    files::PATTERNS[0],
    files::PATTERNS[1],
    files::PATTERNS[2],
    files::PATTERNS[3],
    files::PATTERNS[4],
    files::PATTERNS[5],
    files::PATTERNS[6],
    files::PATTERNS[7],
    files::PATTERNS[8],
    files::PATTERNS[9],
    files::PATTERNS[10],
    files::PATTERNS[11],
    files::PATTERNS[12],
    files::PATTERNS[13],
    files::PATTERNS[14],
    files::PATTERNS[15],
];

/// The names of all supported tools, in order.
pub fn tool_names() -> BTreeSet<&'static str> {
    TOOLS.iter().map(|tool| tool.name).collect()
}
