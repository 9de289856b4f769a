//! One result in free text, compared with its peers: `MLC idle latency 142 ns on EPYC 9554`.

use record::diagnosis::Position;
use record::text::Value;
use record::{Machine, Record, Text, text};
use regex_lite::{Captures, Regex, RegexBuilder};

use crate::cores::{self, unit_of};
use crate::like::{LIKE, Like, Seen, judge, others, title};
use crate::tables::rows;

fn expression(text: &str) -> Option<Regex> {
    RegexBuilder::new(text).case_insensitive(true).build().ok()
}

/// A pattern of `like.txt`.
fn pattern(name: &str) -> Option<Regex> {
    let row = rows(LIKE, "patterns").into_iter().find(|row| row.first() == Some(&name))?;
    expression(row.get(1)?)
}

/// The line in the form that the other patterns expect: numbers without groups, one spelling of each unit, processors without numbers.
fn plain(line: &str) -> String {
    rows(LIKE, "writing").iter().fold(line.to_owned(), |line, row| match row.as_slice() {
        [written, plain] => expression(written).map_or(line.clone(), |e| e.replace_all(&line, *plain).into()),
        _ => line,
    })
}

fn read(figure: &Captures) -> Option<(f64, &'static str)> {
    let (unit, factor) = unit_of(figure.get(2)?.as_str())?;
    Some((figure.get(1)?.as_str().parse::<f64>().ok()? * factor, unit))
}

/// Compares the result in a line with its peers, or returns the reason if the line contains too little information. A bandwidth of all CPUs
/// is that of as many sockets as the line names; if the line names none, one socket is assumed, as the answer states.
pub fn like_line(line: &str, published: &[(String, Record)]) -> Result<Like, Text> {
    let line = line.trim();
    let rest = plain(line);
    let figure = pattern("figure");
    let written = figure.iter().flat_map(|figure| figure.captures_iter(&rest));
    let mut figures: Vec<(f64, &str)> = written.filter_map(|one| read(&one)).collect();
    // The clock at which a result was measured.
    if figures.iter().any(|(_, unit)| *unit != "Hz") {
        figures.retain(|(_, unit)| *unit != "Hz");
    }
    let (value, unit) = match figures.as_slice() {
        [one] => *one,
        [] => {
            let units = "ns, cycles, GB/s or GHz; Gb/s and Gbps could be bits";
            return Err(text!("line-no-figure", "found no number with a unit ({units})"));
        }
        several => {
            let count = several.len();
            return Err(text!("line-several-figures", "found {count} results; write one per line"));
        }
    };
    let Some(core) = cores::named_in(line) else {
        return Err(text!(
            "line-no-processor",
            "the processor's model is missing or unknown; add it to the line, for example EPYC 9554, \
             Xeon Platinum 8480+ or Graviton3 (for this machine, run linespeed reference --like .)"
        ));
    };
    let matches = |words: &str| expression(words).is_some_and(|words| words.is_match(&rest));
    let kinds = rows(LIKE, "kinds");
    let is_named = |row: &[&str]| row.iter().skip(2).all(|words| matches(words));
    let kind = kinds.iter().find(|row| row.first() == Some(&unit) && is_named(row));
    let Some(quantity) = kind.and_then(|row| row.get(1)).filter(|quantity| **quantity != "-") else {
        return Err(text!(
            "line-no-kind",
            "the kind of result is ambiguous or has no published range; specify idle or remote memory latency, L2 or L3 latency, \
             core to core on one socket, STREAM triad, memory read bandwidth of one or all cores, or boost or all-core clock"
        ));
    };
    let says = |name: &str| pattern(name).is_some_and(|words| words.is_match(&rest));
    let known = [("one-socket", 1), ("eight-sockets", 8), ("four-sockets", 4), ("two-sockets", 2)];
    let sockets = known.into_iter().find(|(name, _)| says(name)).map(|(_, sockets)| sockets);
    let of_sockets = matches!(*quantity, "stream.triad" | "mem.read_peak");
    let method = if of_sockets && sockets.is_none() { ", assuming one socket" } else { "" };
    let sockets = sockets.unwrap_or(1);
    if !could_be(quantity, if of_sockets { value / f64::from(sockets) } else { value }) {
        let (value, what) = (Value::Figure(value, unit), format!("{}{method}", title(quantity)));
        return Err(text!("line-implausible", "{value} is implausible ({what}); check the unit", what));
    }
    let is_guest = says("virtual") || says("cloud") && !says("bare-metal");
    let mut machine = Machine::default();
    machine.processor.model_name = Some(line.to_owned());
    machine.virtualization.hypervisor = is_guest.then(|| "unknown".to_owned());
    machine.counts.packages = Some(sockets);
    let others = others(Some(core), is_guest, published);
    let seen = Seen { method, ..Seen::exact(value, unit) };
    let mut row = judge(&machine, Some(core), None, &others, (quantity, &seen));
    // The range of one model is named after the model, not after the whole line.
    let part = core.names.as_ref().and_then(|names| names.find(line));
    row.of = row.of.map(|of| part.filter(|_| of == line).map_or(of, |part| part.as_str().to_owned()));
    // Prefetchers shorten the latency of regular strides; lat_mem_rd -t uses a random order.
    row.unreliable |= says("strided") && !line.contains(" -t") && row.position == Some(Position::Low);
    row.position = row.position.filter(|_| !row.unreliable);
    Ok(Like { design: Some(core.name.clone()), guest: is_guest, figures: vec![row], ..Like::default() })
}

/// Whether a value is possible for a quantity.
fn could_be(quantity: &str, value: f64) -> bool {
    let row = rows(LIKE, "quantities").into_iter().find(|row| row.first() == Some(&quantity));
    let end = |cell: usize| row.as_ref()?.get(cell)?.parse::<f64>().ok();
    end(2).zip(end(3)).is_some_and(|(low, high)| (low..=high).contains(&value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::like::{like, title};
    use crate::samples::{add_curve, machine, measured};
    use record::{Label, Labels};

    #[test]
    fn figures_of_public_posts_are_judged() {
        for (line, what, position) in [
            ("MLC idle latency 142 ns on EPYC 9554", "dram.latency_local", Position::High),
            (
                "Intel MLC: idle latencies (in ns) 81.2 ns, Xeon Platinum 8280",
                "dram.latency_local",
                Position::Normal,
            ),
            ("STREAM Triad: 346,512.3 MB/s on dual EPYC 7763", "stream.triad", Position::Normal),
            ("triad 190 GB/s, 2x Xeon Gold 6148 CPU @ 2.40GHz", "stream.triad", Position::Normal),
            ("triad 380 GB/s, 4x Xeon Gold 6148 CPU @ 2.40GHz", "stream.triad", Position::Normal),
            // Neither the organization of memory devices nor a time is a number of sockets.
            ("triad 190 GB/s, 2S Xeon Gold 6148", "stream.triad", Position::Normal),
            ("triad 95 GB/s in 4 s, Xeon Gold 6148, 6 x 16GB 2Rx4 DDR4", "stream.triad", Position::Normal),
            ("Triad 95 GB/s, EPYC 9654, single socket", "stream.triad", Position::Low),
            ("STREAM Triad: 346,512.3 MB/s on 2P EPYC 7763", "stream.triad", Position::Normal),
            ("STREAM Triad: 346,512.3 MB/s on EPYC 7763 x2", "stream.triad", Position::Normal),
            ("latency from node 0 to node 1: 140.4 ns (Gold 6240)", "dram.latency_remote", Position::Normal),
            ("single core read bandwidth 6.1 GB/s on Xeon E5-2680 v4", "read.single_core", Position::Low),
            ("core-to-core latency same socket 47 ns, Graviton3", "c2c.same_socket", Position::Normal),
            ("core to core latency across sockets 196 ns on EPYC 9454", "c2c.other_socket", Position::Normal),
            ("L2 latency 14 cycles, EPYC 9274F", "l2.latency", Position::Normal),
            ("L3 latency: 102 cycles on Sapphire Rapids Xeon 8480+", "l3.latency_cycles", Position::Normal),
            ("remote NUMA memory latency 140.4 ns (Gold 6240)", "dram.latency_remote", Position::Normal),
            ("boost 3.7 GHz on AMD EPYC 9654 96-Core Processor", "clock.one_core", Position::Normal),
            ("all-core clock 2.1 GHz Xeon Platinum 8160 under load", "clock.all_core", Position::Low),
            (
                "idle latencies: 93.4 ns Xeon(R) Platinum 8352Y, 16 x 2x32GB",
                "dram.latency_local",
                Position::Normal,
            ),
            ("single-threaded read bandwidth 6.1 GB/s on Xeon E5-2680 v4", "read.single_core", Position::Low),
            ("idle latency 110 ns on 2P EPYC 9754", "dram.latency_local", Position::Normal),
            ("single core turbo 2.1 GHz on Xeon Gold 6338", "clock.one_core", Position::Low),
            ("L3 latency 50 cycles EPYC 7742", "l3.latency_cycles", Position::High),
            ("lat_mem_rd 101.3 ns on Hygon C86 7285", "dram.latency_local", Position::Normal),
        ] {
            let like = like_line(line, &[]).unwrap_or_else(|why| panic!("{line}: {why}"));
            let row = &like.figures[0];
            assert!(row.what.starts_with(title(what)), "{line}: {row:?}");
            match row.range {
                // If nothing was published, nothing is reported.
                None => assert_eq!((what, row.position), ("l3.latency_cycles", None), "{line}"),
                Some(_) => assert_eq!(row.position, Some(position), "{line}: {row:?}"),
            }
        }
    }

    #[test]
    fn what_is_ambiguous_has_its_reason() {
        for (line, code) in [
            ("my server is slow on EPYC 9554", "line-no-figure"),
            ("idle latency 142 ns", "line-no-processor"),
            ("idle latency 142 ns on Ryzen 9 7950X", "line-no-processor"),
            ("latency 80 ns local and 140 ns remote on Xeon Gold 6148", "line-several-figures"),
            ("memory bandwidth 140 GB/s on EPYC 7763", "line-no-kind"),
            ("core to core 47 ns on EPYC 7763", "line-no-kind"),
            ("STREAM copy 140 GB/s on EPYC 7763", "line-no-kind"),
            ("loaded latency 240 ns on EPYC 7763", "line-no-kind"),
            ("lmbench stream copy latency 2.84 ns on EPYC 7763", "line-no-kind"),
            ("mutex lock latency 25 ns on EPYC 7763", "line-no-kind"),
            ("redis latency 120 ns on EPYC 7763", "line-no-kind"),
            ("fio read 7 GB/s on EPYC 7763", "line-no-kind"),
            ("triad 12 GB/s on EPYC 7763, single-threaded", "line-no-kind"),
            ("EPYC 7763 at 3.2 GHz", "line-no-kind"),
            ("EPYC 7763 idle latency 0 ns", "line-implausible"),
            ("EPYC 7763 idle latency 1420000 us", "line-implausible"),
            ("EPYC 7302 memory latency 0.5 ns", "line-implausible"),
            ("EPYC 7302 memory latency 92 µs", "line-implausible"),
            ("EPYC 7302 triad 7.2 TB/s", "line-implausible"),
            ("EPYC 7302 L3 latency 5000 cycles", "line-implausible"),
            ("EPYC 7763 triad 125.000 MB/s", "line-implausible"),
            ("EPYC 9554 STREAM triad 720 Gb/s", "line-no-figure"),
            ("EPYC 9554 STREAM triad 720 Gbps", "line-no-figure"),
            ("EPYC 9554 STREAM triad 180 Mb/s", "line-no-figure"),
            ("EPYC 9554 STREAM triad 2 x 360 GB/s", "line-no-figure"),
            ("EPYC 7763 memory latency < 100 ns", "line-no-figure"),
            ("EPYC 7763 memory latency 92 ns/access", "line-no-figure"),
            ("Geekbench single core 1450 EPYC 7302", "line-no-figure"),
            ("7z b 32 MB dict 345 GIPS EPYC 7302", "line-no-figure"),
            ("Xeon Gold 6148 idle latency 80 ns 140 ns", "line-several-figures"),
            ("MLC idle latencies node 0: 81.2 139.8 ns Xeon Gold 6248", "line-several-figures"),
            ("EPYC 7302 read all cores 140 GB/s 22 GB/s", "line-several-figures"),
            ("MLC: 85–90 ns idle latency EPYC 7763", "line-several-figures"),
            ("EPYC 7763 memory latency 80ns-140ns", "line-several-figures"),
            ("EPYC 7763 memory latency 80/140 ns", "line-several-figures"),
            ("L1/L2/L3: 5/14/70 cycles Xeon Gold 6148", "line-several-figures"),
            ("EPYC 7763 memory latency local 80 ns, remote 140", "line-no-kind"),
            ("EPYC 7302 sysbench memory read 5.2 GB/s", "line-no-kind"),
            ("EPYC 7302 dd read 5.2 GB/s", "line-no-kind"),
            ("EPYC 7302 hdparm -T cached reads 5.2 GB/s", "line-no-kind"),
            ("EPYC 7302 ZFS reads 5.2 GB/s", "line-no-kind"),
            ("EPYC 7302 reads 5.2 GB/s", "line-no-kind"),
            ("EPYC 7302 L3 read bandwidth 900 GB/s", "line-no-kind"),
            ("EPYC 7302 STREAM triad 20 GB/s with 4 threads", "line-no-kind"),
            ("EPYC 7302 page fault latency 500 ns", "line-no-kind"),
            ("EPYC 7302 interrupt latency 900 ns", "line-no-kind"),
            ("EPYC 7302 kafka latency 900 ns", "line-no-kind"),
            ("EPYC 7302 p99 memory latency 900 ns", "line-no-kind"),
            ("EPYC 7302 latency 900 ns", "line-no-kind"),
            ("EPYC 7302 CXL memory latency 280 ns", "line-no-kind"),
            ("EPYC 7302 Local Socket L2->L2 HIT latency 48 ns", "line-no-kind"),
            ("EPYC 7302 max memory clock 1.6 GHz", "line-no-kind"),
            ("EPYC 7302 8x DDR4-3200: 143 GB/s", "line-no-kind"),
            ("Xeon E5-2680 v4 LLC miss latency 84 ns", "line-no-kind"),
            ("EPYC 7302 with LLC of 16 MB: memory latency 250 cycles", "line-no-kind"),
            ("EPYC 7302 latency beyond L2 11.5 ns", "line-no-kind"),
            ("EPYC 7763 triad 6 GB/s per core", "line-no-kind"),
            ("EPYC 7763 NVMe disks read 6 GB/s", "line-no-kind"),
            ("Xeon Gold 6130 with 2x AVX-512, all-core 2.1 GHz", "line-no-kind"),
            ("EPYC 7763 triad 2x 75 GB/s", "line-no-figure"),
            ("Kunpeng 920-lite memory latency 95 ns", "line-no-processor"),
            ("Kunpeng 920 7280Z memory latency 95 ns", "line-no-processor"),
            ("Kunpeng 920B memory latency 95 ns", "line-no-processor"),
            ("EPYC 9654 all-core boost 3.55 GHz under AVX-512", "line-no-kind"),
            ("openssl speed aes-256-gcm 7.2 GB/s EPYC 7302 single thread", "line-no-kind"),
            ("7-Zip compressing 120 MB/s EPYC 7302", "line-no-kind"),
            ("idle latency 142 ns, EPYC 9554 against EPYC 7763", "line-no-processor"),
            ("", "line-no-figure"),
        ] {
            let why = like_line(line, &[]).expect_err(line);
            assert_eq!(why.code(), Some(code), "{line}: {why}");
        }
    }

    #[test]
    fn figures_are_read_as_people_write_them() {
        for (line, what, value) in [
            ("EPYC 7763 2S triad 345 012.3 MB/s", "stream.triad", 345.0123e9),
            ("STREAM Triad 351.234,5 MB/s 2x EPYC 7763", "stream.triad", 351.2345e9),
            ("STREAM Triad 351'234 MB/s 2x EPYC 7763", "stream.triad", 351.234e9),
            ("EPYC 9554 2S STREAM triad 720 GBps", "stream.triad", 720e9),
            ("STREAM Triad 300 GiB/s dual-socket EPYC 7763", "stream.triad", 300.0 * 1024f64.powi(3)),
            ("Graviton 3 triad 250 GB/s", "stream.triad", 250e9),
            ("Ampere Altra Max M128-30 STREAM triad 170 GB/s", "stream.triad", 170e9),
            ("Xeon Platinum 8480+ DDR5-4800 STREAM triad 260 GB/sec, 1 socket", "stream.triad", 260e9),
            ("MLC ALL Reads: 214,345.6 MB/s, 2x Xeon Gold 6248", "mem.read_peak", 214.3456e9),
            ("AIDA64 memory read 142 GB/s EPYC 7302", "mem.read_peak", 142e9),
            ("EPYC 7763, single thread memory read 22 GB/s", "read.single_core", 22e9),
            ("MLC v3.10 idle latency 95.2 ns Xeon Platinum 8480+", "dram.latency_local", 95.2),
            ("MLC --idle_latency 112.7ns Xeon Platinum 8592+", "dram.latency_local", 112.7),
            ("MLC idle latency local 81,2 ns Xeon Gold 6248", "dram.latency_local", 81.2),
            ("EPYC 7763: memory latency ≈ 92.4 ns ± 3 ns", "dram.latency_local", 92.4),
            ("EPYC 7763: memory latency (~92ns)", "dram.latency_local", 92.0),
            ("memory latency 95 nanoseconds EPYC 7763", "dram.latency_local", 95.0),
            ("memory latency 0,095 µs EPYC 7763", "dram.latency_local", 95.0),
            ("Ubuntu 22.04, 95 ns memory latency, EPYC 7763", "dram.latency_local", 95.0),
            ("EPYC 7763 node 0 92 ns memory latency", "dram.latency_local", 92.0),
            ("DRAM latency: 92.1\u{a0}ns | EPYC 7763", "dram.latency_local", 92.1),
            ("Graviton 3 memory latency 118 ns", "dram.latency_local", 118.0),
            ("Apple M1 memory latency 111 ns", "dram.latency_local", 111.0),
            ("AIDA64 memory latency 102.3 ns EPYC 7302", "dram.latency_local", 102.3),
            ("lat_mem_rd -t 1024 512: 101.3 ns on Xeon Platinum 8269CY", "dram.latency_local", 101.3),
            ("other socket memory latency 192 ns EPYC 7763", "dram.latency_remote", 192.0),
            ("EPYC 7302 memory latency 108 ns, 128 MB L3", "dram.latency_local", 108.0),
            ("EPYC 7302 (L2 512 KB, L3 16 MB), memory latency 108 ns", "dram.latency_local", 108.0),
            ("EPYC 7302 DRAM latency beyond L3: 108 ns", "dram.latency_local", 108.0),
            ("remote memory latency 192 ns, EPYC 7763, 256 MB L3", "dram.latency_remote", 192.0),
            ("EPYC 7302 16 MB L3 latency 12.3 ns", "l3.latency_ns", 12.3),
            ("Intel Memory Latency Checker v3.10: L3 hit latency 20 ns Gold 6248", "l3.latency_ns", 20.0),
            ("Kunpeng 920 memory latency 95 ns", "dram.latency_local", 95.0),
            ("Huawei Kunpeng 920 memory latency 95 ns", "dram.latency_local", 95.0),
            ("Kunpeng-920, memory latency 95 ns", "dram.latency_local", 95.0),
            ("Kunpeng 920-4826 memory latency 95 ns", "dram.latency_local", 95.0),
            ("EPYC 7763 triad 150 GB/s (2 threads per core)", "stream.triad", 150e9),
            ("EPYC 7763 with 2 DIMMs per channel triad 150 GB/s", "stream.triad", 150e9),
            ("EPYC 7763 with NVMe disks, memory latency 95 ns", "dram.latency_local", 95.0),
            ("AIDA64 L3 latency 12,3 ns EPYC 7302", "l3.latency_ns", 12.3),
            ("L3 latency 46 clk on EPYC 7302", "l3.latency_cycles", 46.0),
            ("Apple M1 Max L2 latency 18 cycles", "l2.latency", 18.0),
            ("L1 latency 4 cycles, Xeon Gold 6148", "l1d.latency", 4.0),
            ("EPYC 9654 max boost 3,7 GHz", "clock.one_core", 3.7e9),
            ("EPYC 9654 base clock 2400MHz", "clock.base", 2.4e9),
            ("core-to-core same CCX 22 ns EPYC 7763", "c2c.same_ccx", 22.0),
        ] {
            let like = like_line(line, &[]).unwrap_or_else(|why| panic!("{line}: {why}"));
            let row = &like.figures[0];
            let is_read = row.what.starts_with(title(what)) && (row.value / value - 1.0).abs() < 1e-9;
            assert!(is_read, "{line}: {row:?}");
        }
    }

    #[test]
    fn a_bandwidth_is_that_of_the_named_sockets() {
        let low = |line: &str| {
            let row =
                like_line(line, &[]).unwrap_or_else(|why| panic!("{line}: {why}")).figures.swap_remove(0);
            (row.range.unwrap().0, row.what)
        };
        let (one, named) = low("EPYC 9554, one socket, triad 350 GB/s");
        let (assumed, unnamed) = low("EPYC 9554, triad 720 GB/s");
        assert_eq!(assumed, one);
        assert_ne!(named, unnamed);
        for (words, sockets) in [
            ("EPYC 9554 (2S)", 2),
            ("EPYC 9554 × 2", 2),
            ("EPYC 9554, 2-way", 2),
            ("2 EPYC 9554", 2),
            ("dual EPYC 9554", 2),
            ("EPYC 9554 2P", 2),
            ("EPYC 9554 dual", 2),
            ("EPYC 9554 2x", 2),
            ("EPYC 9554 (2x)", 2),
            ("EPYC 9554 (4 sockets)", 4),
            ("EPYC 9554 8x,", 8),
            ("Socket(s): 2, EPYC 9554", 2),
            ("EPYC 9554 2x64 cores", 2),
            ("2S EPYC 9554, 64 cores per socket,", 2),
            ("2S EPYC 9554 per-socket", 1),
            ("2S EPYC 9554 on one socket", 1),
            ("EPYC 9554P", 1),
        ] {
            let per = low(&format!("{words} triad 350 GB/s"));
            assert_eq!(per, (one * f64::from(sockets), named.clone()), "{words}");
        }
        for line in ["2S EPYC 9554 triad per socket 350 GB/s", "2S EPYC 9554 triad 350 GB/s/socket"] {
            assert_eq!(low(line), (one, named.clone()), "{line}");
        }
        for line in [
            "EPYC 7763 8x 32GB DDR4-3200 STREAM triad 150 GB/s",
            "EPYC 7302 8x DDR4-3200: triad 143 GB/s",
            "EPYC 7302 (8x) STREAM triad 140 GB/s",
            "EPYC 7302 (2) STREAM triad 140 GB/s",
            "Xeon Gold 5318Y (8x 32 GB) STREAM triad 150 GB/s",
            "Xeon Gold 6248 with 2x 32GB triad 20 GB/s",
            "Xeon Gold 6130 memory read 2x AVX2 100 GB/s",
            "Xeon Gold 6130 AVX2 triad 70 GB/s",
        ] {
            assert!(low(line).1.contains("assuming one socket"), "{line}");
        }
        for words in ["dual-rank DDR5", "2-way SMT", "8 x 2 GB"] {
            assert_eq!(
                low(&format!("EPYC 9554, {words}, triad 350 GB/s")),
                (one, unnamed.clone()),
                "{words}"
            );
        }
    }

    #[test]
    fn a_short_latency_of_regular_strides_is_not_low() {
        let row = |line: &str| like_line(line, &[]).unwrap().figures.swap_remove(0);
        let strided = row("lat_mem_rd 69.8 ns on Xeon Platinum 8269CY");
        assert!(strided.position.is_none() && strided.unreliable && strided.range.is_some(), "{strided:?}");
        assert_eq!(row("idle latency 69.8 ns on Xeon Platinum 8269CY").position, Some(Position::Low));
        assert_eq!(row("lat_mem_rd 169.8 ns on Xeon Platinum 8269CY").position, Some(Position::High));
    }

    #[test]
    fn bare_metal_of_a_cloud_is_no_guest() {
        for (line, guest) in [
            ("AWS c7i.metal-48xl Xeon Platinum 8488C idle latency 117 ns", false),
            ("EC2 m5.metal Xeon Platinum 8259CL idle latency 85 ns", false),
            ("OCI cloud BM.Standard.E4.128 EPYC 7J13 idle latency 117 ns", false),
            ("Equinix m3.large.x86 EPYC 7502P idle latency 105 ns", false),
            ("GCP c3-standard-192-metal Xeon Platinum 8481C idle latency 120 ns", false),
            ("cloud instance ecs.ebmg7.32xlarge Xeon Platinum 8369B idle latency 92 ns", false),
            ("AWS c7i.24xlarge Xeon Platinum 8488C idle latency 117 ns", true),
            ("VM.Standard.E4.Flex VM EPYC 7J13 idle latency 117 ns", true),
            ("gcp c3-standard-22 Xeon Platinum 8481C idle latency 120 ns", true),
        ] {
            let like = like_line(line, &[]).unwrap_or_else(|why| panic!("{line}: {why}"));
            assert_eq!((like.guest, like.figures[0].of_bare_metal), (guest, guest), "{line}: {like:?}");
        }
    }

    #[test]
    fn a_range_of_one_model_is_named_after_the_model() {
        let like = like_line("all-core 2.9 GHz on EPYC 9554 in our lab", &[]).unwrap();
        assert_eq!(like.figures[0].of.as_deref(), Some("EPYC 9554"), "{like:?}");
    }

    /// One value has one judgement, whether a record or a line contains it.
    #[test]
    fn a_record_and_a_line_judge_alike() {
        let name = "Xeon Platinum 8488C";
        for guest in [false, true] {
            let mut record = machine(2);
            record.machine.processor.model_name = Some(format!("Intel(R) {name} CPU"));
            record.machine.virtualization.hypervisor = Some(if guest { "kvm" } else { "none" }.to_owned());
            record.machine.counts.packages = Some(1);
            for (active, hz) in [("one", 2.47e9), ("all", 2.2e9)] {
                let labels = [(Label::Cpu, "0"), (Label::Active, active), (Label::Vector, "scalar")];
                let place =
                    labels.into_iter().fold(Labels::new(), |all, (key, word)| all.with_label(key, word));
                record.measurements.push(measured("core.clock", place, hz));
            }
            for page in ["4KiB", "2MiB"] {
                add_curve(&mut record, page, &[(4 << 10, 1.0), (1 << 30, 212.0)]);
            }
            let own = like(&record, &[], None).figures;
            let vm = if guest { "in a VM" } else { "" };
            for (what, line) in [
                ("clock, one core busy", format!("boost 2.47 GHz {name} {vm}")),
                ("clock, all cores busy", format!("all cores 2.2 GHz {name} {vm}")),
                ("memory latency, own node", format!("idle latency 212 ns {name} {vm}")),
            ] {
                let row =
                    own.iter().find(|row| row.what.starts_with(what)).unwrap_or_else(|| panic!("{own:?}"));
                let line = &like_line(&line, &[]).unwrap().figures[0];
                assert!(line.position.is_some(), "{line:?}");
                assert_eq!((line.position, line.range), (row.position, row.range), "{what} {guest}");
            }
        }
    }

    #[test]
    fn a_guest_stands_beside_bare_metal() {
        let like = like_line("idle latency 150 ns in a KVM guest on EPYC 9554", &[]).unwrap();
        assert!(like.guest && like.figures[0].of_bare_metal, "{like:?}");
    }

    proptest::proptest! {
        #[test]
        fn no_line_panics(line in ".{0,200}") {
            let _ = like_line(&line, &[]);
        }
    }
}
