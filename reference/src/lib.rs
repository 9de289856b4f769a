//! Reference machines: published tool output and figures, one text a machine in `machines/`, which `linespeed import`'s
//! readers turn into a record that says of each figure where it stood.
//!
//! A new machine is one new text and its line in [`MACHINES`].

#![warn(unreachable_pub)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::todo,
        clippy::unimplemented
    )
)]

pub mod claims;

use std::fmt;

use import::{Error, Importer, Split};
use miniz_oxide::inflate::decompress_to_vec;
use record::Record;

/// What begins the name of a reference machine where a record's file may stand, too.
pub const PREFIX: &str = "reference:";

/// One reference machine.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Its name, as in `reference:NAME`.
    pub name: &'static str,
    /// What it is, in one line.
    pub title: &'static str,
    /// The published output and figures, deflated.
    packed: &'static [u8],
    /// Why a default run here makes no figure that could be held against it, and what would; `None` where it makes one.
    pub apart: Option<&'static str>,
    /// When the figures were published, RFC 3339; empty where the text does not tell.
    published: &'static str,
}

macro_rules! machine {
    ($name:literal, $published:literal, $title:literal) => {
        machine!($name, $published, $title, None)
    };
    ($name:literal, $published:literal, $title:literal, $apart:expr) => {
        Machine {
            name: $name,
            title: $title,
            packed: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".txt")),
            apart: $apart,
            published: $published,
        }
    };
}

/// Every reference machine.
pub const MACHINES: &[Machine] = &[
    machine!("hygon-5280", "2021-06-18T00:00:00Z", "2 × Hygon C86 5280, 32 cores, 64 CPUs, 4 nodes"),
    machine!("hygon-7280", "2021-06-18T00:00:00Z", "2 × Hygon C86 7280, 64 cores, 8 nodes"),
    machine!(
        "hygon-7280-interleaved",
        "2021-06-18T00:00:00Z",
        "the same with the dies of a package interleaved, 2 nodes"
    ),
    machine!(
        "xeon-8269cy",
        "2021-06-18T00:00:00Z",
        "2 × Xeon Platinum 8269CY, 52 cores, 104 CPUs, NUMA off in the firmware"
    ),
    machine!(
        "xeon-8269cy-numa",
        "2021-06-18T00:00:00Z",
        "2 × Xeon Platinum 8269CY, 52 cores, 104 CPUs, 2 nodes"
    ),
    machine!("xeon-e5-2682-v4", "2021-06-18T00:00:00Z", "2 × Xeon E5-2682 v4, 32 cores, 64 CPUs, 2 nodes"),
    machine!(
        "xeon-8163",
        "2021-06-18T00:00:00Z",
        "Xeon Platinum 8163",
        Some("sysbench 0.5 and MySQL 5.7.34 alone: a default run starts no database")
    ),
    machine!("kunpeng-920-4826", "2021-06-18T00:00:00Z", "2 × Kunpeng 920-4826, 96 cores, 4 nodes"),
    machine!("phytium-ft-2500", "2021-06-18T00:00:00Z", "2 × Phytium FT-2500, 128 cores, 16 nodes"),
    machine!(
        "epyc-7h12",
        "2021-06-18T00:00:00Z",
        "EPYC 7H12, in a virtual machine",
        Some("sysbench 0.5 and MySQL 5.7.34 alone: a default run starts no database")
    ),
    machine!("cloud-server-1", "", "cloud server, 4 CPUs of Broadwell under KVM"),
    machine!("cloud-server-2", "", "cloud server, 2 CPUs of Ivy Bridge under KVM, an old region"),
    machine!("cloud-server-3", "", "cloud server, 1 CPU of Skylake under KVM"),
    machine!("cloud-server-4", "", "cloud server, 1 CPU of Sandy Bridge under Xen, a new region"),
    machine!(
        "i7-6500u",
        "",
        "Core i7-6500U: one routine in user program, kernel and guest",
        Some("times of one routine in user program, kernel and guest: linespeed overhead measures such")
    ),
    machine!(
        "i5-8259u",
        "",
        "Core i5-8259U: turbo, siblings, affinity and priority off and on",
        Some("times and counts of programs that nobody else has")
    ),
    machine!("load-generator-72", "2022-03-15T00:00:00Z", "load generator, 2 packages, 72 cores"),
    machine!(
        "load-generator-196",
        "2022-03-15T00:00:00Z",
        "load generator, 4 packages, 196 cores, no faster than the one of 72"
    ),
    machine!("graviton-2", "", "AWS Graviton2, 64 cores, a whole machine as a guest"),
    machine!("graviton-3", "", "AWS Graviton3, 64 cores"),
    machine!("graviton-4", "", "AWS Graviton4, 64 of 96 cores as a guest"),
    machine!("altra-max", "2023-01-04T00:00:00Z", "2 × Ampere Altra Max, 256 cores"),
    machine!("altra-vm", "2022-10-18T00:00:00Z", "Ampere Altra, 4 CPUs under KVM"),
    machine!("grace", "", "NVIDIA Grace CPU Superchip, 144 cores, 2 packages"),
    machine!(
        "xeon-8360y",
        "2023-04-13T00:00:00Z",
        "2 × Xeon Platinum 8360Y (Ice Lake), 72 cores, 2 nodes",
        Some("Intel MLC alone, whose way of measuring is another: import your own output of mlc")
    ),
    machine!(
        "xeon-8380",
        "2026-09-10T00:00:00Z",
        "2 × Xeon Platinum 8380 (Ice Lake), 80 cores",
        Some(
            "openssl speed alone: linespeed scale --recipe openssl-speed --set algorithm=aes-256-gcm measures it"
        )
    ),
    machine!("xeon-8375c", "", "2 × Xeon Platinum 8375C (Ice Lake), 64 cores, 128 CPUs"),
    machine!(
        "xeon-gold-6348",
        "",
        "Xeon Gold 6348 (Ice Lake)",
        Some("AES by aesbench alone: a default run enciphers in other modes")
    ),
    machine!(
        "xeon-8468",
        "",
        "2 × Xeon Platinum 8468 (Sapphire Rapids), 96 cores, 8 nodes",
        Some("Intel MLC alone, whose way of measuring is another: import your own output of mlc")
    ),
    machine!(
        "xeon-max-9460",
        "",
        "Xeon Max 9460 (Sapphire Rapids)",
        Some("AES by aesbench alone: a default run enciphers in other modes")
    ),
    machine!("epyc-7r13", "", "2 × EPYC 7R13 (Zen 3), 96 cores, 192 CPUs"),
    machine!("epyc-7v73x", "2026-02-10T00:00:00Z", "2 × EPYC 7V73X (Zen 3), 120 cores as a guest, 4 nodes"),
    machine!("epyc-9274f", "", "2 × EPYC 9274F (Zen 4), 48 cores, 96 CPUs"),
    machine!(
        "epyc-9534",
        "",
        "EPYC 9534 (Zen 4)",
        Some("AES by aesbench alone: a default run enciphers in other modes")
    ),
    machine!(
        "epyc-9655",
        "2026-08-18T00:00:00Z",
        "EPYC 9655 (Zen 5)",
        Some(
            "openssl speed alone: linespeed scale --recipe openssl-speed --set algorithm=aes-256-gcm measures it"
        )
    ),
    machine!(
        "yitian-710",
        "2022-02-23T00:00:00Z",
        "Alibaba Yitian 710 (Neoverse N2)",
        Some("openssl speed alone: linespeed scale --recipe openssl-speed --set algorithm=sm3 measures it")
    ),
    machine!(
        "kunpeng-920-7270z",
        "2026-02-06T00:00:00Z",
        "2 × Kunpeng 920 7270Z, 256 CPUs",
        Some("TPC-C by BenchmarkSQL alone: a default run starts no database")
    ),
    machine!(
        "hygon-c86-4g-7490",
        "2026-02-06T00:00:00Z",
        "2 × Hygon C86-4G 7490, 256 CPUs",
        Some("TPC-C by BenchmarkSQL alone: a default run starts no database")
    ),
];

/// The machine of this name, with or without `reference:` before it.
pub fn find(name: &str) -> Option<&'static Machine> {
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    MACHINES.iter().find(|machine| machine.name == name)
}

/// The machines that may have been meant by a name that none has: the one a slip away, else those that begin with it, then those
/// that have it within.
pub fn find_meant(name: &str) -> Vec<&'static str> {
    let names = || MACHINES.iter().map(|machine| machine.name);
    let word = name.trim().to_lowercase();
    match record::glossary::find_nearest(name, names()) {
        Some(near) => vec![near],
        None if word.is_empty() => Vec::new(),
        None => {
            let with_word = names().filter(|of| of.contains(&word));
            let (first, within): (Vec<_>, Vec<_>) = with_word.partition(|of| of.starts_with(&word));
            [first, within].concat()
        }
    }
}

/// Why a text that ships with linespeed made no record; a test holds that it does not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The import refused it.
    Refused(Error),
    /// It is of so many machines.
    Machines(usize),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Refused(refusal) => write!(f, "{refusal}"),
            Trouble::Machines(count) => write!(f, "the text is of {count} machines"),
        }
    }
}

impl std::error::Error for Trouble {}

impl Machine {
    /// The published output and figures.
    pub fn text(&self) -> String {
        // What the build packed is whole: a test reads every text.
        String::from_utf8(decompress_to_vec(self.packed).unwrap_or_default()).unwrap_or_default()
    }

    /// The record, without a diagnosis. `version` is the program's.
    pub fn record(&self, version: &str) -> Result<Record, Trouble> {
        let mut importer = Importer::new(Split::Files);
        let name = format!("{PREFIX}{}", self.name);
        importer.read(&name, self.text().as_bytes()).map_err(|_| Trouble::Machines(0))?;
        let mut machines = importer.finish().map_err(Trouble::Refused)?;
        let (Some(imported), true) = (machines.pop(), machines.is_empty()) else {
            return Err(Trouble::Machines(machines.len() + 1));
        };
        let command = vec!["linespeed".to_owned(), "reference".to_owned(), self.name.to_owned()];
        let mut record = imported.into_record(Record::new(version, self.published.to_owned(), command));
        // On a machine that was published nobody can run anything more.
        record.coverage.iter_mut().for_each(|of| of.remedy = None);
        Ok(record)
    }
}
