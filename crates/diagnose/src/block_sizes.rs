//! A workload's rates by block size. A single size is not sufficient: small blocks measure call overhead, and one result may be an
//! outlier. Conclusions are based on the sizes at which all rates of a record have leveled off.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use record::text::Value;
use record::units::figure;
use record::{Label, Measurement, Record, Text, detail, metrics, text};

/// Rates count as leveled off if they are within this share of the best rate over all sizes.
const LEVEL: f64 = 0.05;

/// The rates of one thread count and one placement, by block size.
type Rates<'a> = BTreeMap<u64, &'a Measurement>;

/// A record's throughputs by workload, threads and block size.
#[derive(Default)]
pub struct BlockSizes<'a>(HashMap<&'a str, BTreeMap<(Option<u64>, &'a str), Rates<'a>>>);

impl<'a> BlockSizes<'a> {
    /// Collects the throughputs of a record.
    pub fn from_record(record: &'a Record) -> Self {
        let mut all = Self::default();
        let is_rate = |m: &&Measurement| m.value() > 0.0 && m.value().is_finite();
        for m in record.measurements_of(metrics::WORKLOAD_THROUGHPUT).filter(is_rate) {
            let place = m.labels.word(Label::Workload).zip(m.labels.count(Label::Bytes));
            if let Some((workload, bytes)) = place {
                all.0.entry(workload).or_default().entry(step(m)).or_default().entry(bytes).or_insert(m);
            }
        }
        all
    }

    /// The sizes at which a workload's rates have leveled off for every thread count; if there is no such size, the largest size that is
    /// not an outlier.
    pub(crate) fn level(&self, workload: &str) -> BTreeSet<u64> {
        let Some(steps) = self.0.get(workload) else { return BTreeSet::new() };
        let of_step = |rates: &Rates| -> BTreeSet<u64> {
            let best = rates.values().map(|m| m.value()).fold(0.0, f64::max);
            rates.iter().filter(|(_, m)| m.value() >= best * (1.0 - LEVEL)).map(|(bytes, _)| *bytes).collect()
        };
        let level = steps.values().map(of_step).reduce(|one, other| &one & &other).unwrap_or_default();
        if !level.is_empty() {
            return level;
        }
        let sizes: BTreeSet<u64> = steps.values().flat_map(BTreeMap::keys).copied().collect();
        let holds = |bytes: &u64| steps.values().filter_map(|all| all.get(bytes)).all(|m| !self.falls_out(m));
        sizes.iter().rev().find(|bytes| holds(bytes)).or(sizes.last()).copied().into_iter().collect()
    }

    /// Whether conclusions can be based on a result: true if it has no block size, or if the workload's rates have leveled off at its size.
    pub(crate) fn is_level(&self, m: &Measurement) -> bool {
        let place = m.labels.word(Label::Workload).zip(m.labels.count(Label::Bytes));
        place.is_none_or(|(workload, bytes)| self.level(workload).contains(&bytes))
    }

    /// Whether a rate is clearly below the rate of a smaller block.
    pub(crate) fn falls_out(&self, m: &Measurement) -> bool {
        self.find_faster(m).is_some()
    }

    /// Explains why a rate below the rate of a smaller block is an outlier: a larger block needs less work per byte.
    pub fn remark(&self, m: &Measurement) -> Option<Text> {
        let (bytes, best) = self.find_faster(m)?;
        let is_bytes = best.detail.get(detail::WORK) == Some("B");
        let unit = if is_bytes { "B/s" } else { best.unit.as_str() };
        let (share, rate) = (Value::Share(1.0 - m.value() / best.value()), figure(best.value(), unit));
        Some(text!(
            "outlier: {share} below the {rate} of {bytes} blocks, although larger blocks should not be slower",
            bytes = Value::Bytes(bytes)
        ))
    }

    /// The outlier sizes of a workload, each with the relative deficit of its rate.
    pub(crate) fn fallen(&self, workload: &str) -> BTreeMap<u64, f64> {
        let mut fallen = BTreeMap::new();
        for m in self.0.get(workload).into_iter().flat_map(BTreeMap::values).flat_map(BTreeMap::values) {
            if let (Some(bytes), Some((_, best))) = (m.labels.count(Label::Bytes), self.find_faster(m)) {
                let share: &mut f64 = fallen.entry(bytes).or_default();
                *share = share.max(1.0 - m.value() / best.value());
            }
        }
        fallen
    }

    /// The best result for smaller blocks, if it is clearly faster than this result.
    fn find_faster(&self, m: &Measurement) -> Option<(u64, &'a Measurement)> {
        let (workload, bytes) = (m.labels.word(Label::Workload)?, m.labels.count(Label::Bytes)?);
        let smaller = self.0.get(workload)?.get(&step(m))?.range(..bytes);
        let (smaller, best) = smaller.max_by(|a, b| a.1.value().total_cmp(&b.1.value()))?;
        (m.metric == metrics::WORKLOAD_THROUGHPUT && m.value() < best.value() * (1.0 - LEVEL))
            .then_some((*smaller, *best))
    }
}

/// The thread count and placement of a measurement.
fn step(m: &Measurement) -> (Option<u64>, &str) {
    (m.labels.count(Label::Threads), m.labels.word(Label::Placement).unwrap_or(""))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use record::Labels;

    pub(crate) const SIZES: [u64; 5] = [16, 64, 256, 1024, 8192];
    /// The published results of aes-256-ige by thread count and block size, in kB/s.
    pub(crate) const INTEL: [(u32, [f64; 5]); 3] = [
        (1, [89602.86, 97498.37, 98271.49, 98399.91, 89101.65]),
        (32, [2642742.25, 2690638.98, 2703860.74, 2734114.82, 2680422.40]),
        (104, [4869950.82, 5179884.71, 5135412.14, 5211367.08, 5247858.60]),
    ];
    pub(crate) const HYGON: [(u32, [f64; 5]); 2] = [
        (1, [76919.66, 77935.81, 79201.88, 79529.30, 79555.24]),
        (32, [2464568.75, 2500000.0, 2530000.0, 2540000.0, 2550723.93]),
    ];
    pub(crate) const KUNPENG: [(u32, [f64; 5]); 3] = [
        (1, [133174.89, 140578.99, 142156.46, 142663.34, 143196.16]),
        (32, [4261589.92, 4501245.55, 4552731.56, 4570456.75, 4584330.58]),
        (96, [12788358.79, 13502288.53, 13657385.98, 13710908.76, 13751432.53]),
    ];

    /// A machine with this many cores and CPUs and with these results.
    pub(crate) fn openssl(cores: u32, cpus: u32, figures: &[(u32, [f64; 5])]) -> Record {
        let mut record = Record::new("0.0.0", String::new(), Vec::new());
        record.machine.counts.cores = Some(cores);
        record.machine.counts.cpus_online = Some(cpus);
        for (threads, rates) in figures {
            for (bytes, rate) in SIZES.iter().zip(rates) {
                let place = Labels::new()
                    .with_label(Label::Workload, "openssl speed aes-256-ige")
                    .with_label(Label::Bytes, *bytes)
                    .with_label(Label::Threads, *threads);
                let m = Measurement::exact("workload.throughput", place, vec![rate * 1e3]);
                record.measurements.push(m.with_detail(detail::WORK, "B"));
            }
        }
        record
    }

    #[test]
    fn the_one_figure_that_falls_out_is_marked_and_its_size_decides_nothing() {
        let intel = openssl(52, 104, &INTEL);
        let sizes = BlockSizes::from_record(&intel);
        let marked: Vec<_> = intel.measurements.iter().filter(|m| sizes.remark(m).is_some()).collect();
        let place = |m: &Measurement| (m.labels.count(Label::Threads), m.labels.count(Label::Bytes));
        assert_eq!(marked.iter().map(|m| place(m)).collect::<Vec<_>>(), [(Some(1), Some(8192))]);
        let share = sizes.fallen("openssl speed aes-256-ige")[&8192];
        assert!((share - 0.0945).abs() < 1e-4, "{share}");
        assert_eq!(sizes.level("openssl speed aes-256-ige"), [64, 256, 1024].into());
        // Small blocks are slower on every machine, so they are neither outliers nor a basis for conclusions.
        let kunpeng = openssl(96, 96, &KUNPENG);
        let sizes = BlockSizes::from_record(&kunpeng);
        assert!(kunpeng.measurements.iter().all(|m| sizes.remark(m).is_none()));
        assert_eq!(sizes.level("openssl speed aes-256-ige"), [64, 256, 1024, 8192].into());
    }
}
