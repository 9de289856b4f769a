//! The supported tools. To add one, add one file here and its line in [`TOOLS`].

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

/// All tools. If two tools could have the same opening line, the earlier one in the list is tried first.
const TOOLS: &[Tool] = &[
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
    numastat::NUMASTAT,
    lshw::LSHW,
    lscpu::LSCPU,
    columns::TURBOSTAT,
    columns::VMSTAT,
    columns::MONITOR,
    columns::SYSSTAT,
];

/// All tools, including those described by patterns, which come last.
pub(crate) fn all() -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().chain(files::PATTERNS)
}

/// The names of all supported tools, in order.
pub fn tool_names() -> BTreeSet<&'static str> {
    all().map(|tool| tool.name).collect()
}
