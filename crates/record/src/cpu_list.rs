//! Sets of CPU (or node) numbers, in the list format of the kernel: `0-3,8`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The largest accepted CPU number: eight times the largest `NR_CPUS` of any kernel configuration today (8192). Because
/// of this limit, a corrupt file (`0-999999999`) causes an error instead of exhausting this process's memory.
pub const MAX_CPU: u32 = 65_535;

/// An ordered set of CPU or node numbers, stored as ranges: a list of all CPUs of a large machine uses no more memory than a list of
/// two. As text, the set is written as `0-3,8`; in JSON, as an array of numbers (the text form is also accepted).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuList {
    /// The first and last number of each range. The ranges are in ascending order, with gaps between them.
    ranges: Vec<(u32, u32)>,
}

/// Why a CPU list could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpuListError {
    /// The text is neither a number nor a range of numbers.
    #[error("{0:?} is not a CPU number or range; use a list such as 0-3,8")]
    NotANumber(String),
    /// The range ends before it starts.
    #[error("the range {0:?} ends before it starts")]
    Reversed(String),
    /// The number is above [`MAX_CPU`].
    #[error("{0:?} is above the largest accepted CPU number, {MAX_CPU}")]
    TooLarge(String),
    /// The mask has this many groups of 32 bits, that is, more bits than the maximum number of CPUs.
    #[error("a mask of {0} groups extends beyond the largest accepted CPU number, {MAX_CPU}")]
    LongMask(usize),
}

impl CpuList {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a set from ranges in any order.
    fn of_ranges(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (from, to) in ranges {
            match merged.last_mut() {
                Some(last) if from <= last.1.saturating_add(1) => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        Self { ranges: merged }
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        self.ranges.iter().flat_map(|(from, to)| *from..=*to)
    }

    /// The number of CPUs in the set.
    pub fn len(&self) -> usize {
        self.ranges.iter().map(|(from, to)| (to - from) as usize + 1).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        let at = self.ranges.partition_point(|(_, to)| *to < cpu);
        self.ranges.get(at).is_some_and(|(from, _)| *from <= cpu)
    }

    /// Adds `cpu`; numbers above [`MAX_CPU`] are ignored.
    pub fn insert(&mut self, cpu: u32) {
        if cpu > MAX_CPU || self.contains(cpu) {
            return;
        }
        match self.ranges.last_mut() {
            // Most sets are built in ascending order.
            Some(last) if last.1 + 1 == cpu => last.1 = cpu,
            _ => {
                let mut ranges = std::mem::take(&mut self.ranges);
                ranges.push((cpu, cpu));
                *self = Self::of_ranges(ranges);
            }
        }
    }

    /// The lowest CPU.
    pub fn first(&self) -> Option<u32> {
        self.ranges.first().map(|(from, _)| *from)
    }

    /// The CPUs in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        self.iter().filter(|cpu| other.contains(*cpu)).collect()
    }

    /// The CPUs in either set.
    pub fn union(&self, other: &Self) -> Self {
        Self::of_ranges(self.ranges.iter().chain(&other.ranges).copied().collect())
    }

    /// The CPUs of this set that are not in `other`.
    pub fn difference(&self, other: &Self) -> Self {
        self.iter().filter(|cpu| !other.contains(*cpu)).collect()
    }

    /// Whether every CPU of this set is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|cpu| other.contains(cpu))
    }

    /// The set as a mask in the kernel's format: groups of 32 bits in hexadecimal, most significant first.
    pub fn to_mask(&self) -> String {
        let mut words = vec![0u32; self.iter().last().map_or(1, |last| last as usize / 32 + 1)];
        for cpu in self.iter() {
            if let Some(word) = words.get_mut(cpu as usize / 32) {
                *word |= 1 << (cpu % 32);
            }
        }
        let mut text = String::new();
        for (at, word) in words.iter().rev().enumerate() {
            text.push_str(&if at == 0 { format!("{word:x}") } else { format!(",{word:08x}") });
        }
        text
    }

    /// Reads the kernel's mask format: comma-separated groups of 32 bits in hexadecimal, most significant first
    /// (`00000000,0000ffff`), as in `shared_cpu_map`.
    pub fn from_mask(text: &str) -> Result<Self, CpuListError> {
        let groups: Vec<&str> = text.trim().split(',').map(str::trim).collect();
        if groups.len() > (MAX_CPU as usize / 32) + 1 {
            return Err(CpuListError::LongMask(groups.len()));
        }
        let mut set = Vec::new();
        for (index, group) in groups.iter().rev().enumerate() {
            let bits = u32::from_str_radix(group, 16).ok().filter(|_| group.len() <= 8);
            let bits = bits.ok_or_else(|| CpuListError::NotANumber(group.chars().take(20).collect()))?;
            set.extend((0..32).filter(|bit| bits & (1 << bit) != 0).map(|bit| index as u32 * 32 + bit));
        }
        Ok(set.into_iter().collect())
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self::of_ranges(cpus.into_iter().filter(|cpu| *cpu <= MAX_CPU).map(|cpu| (cpu, cpu)).collect())
    }
}

impl<'a> IntoIterator for &'a CpuList {
    type Item = u32;
    type IntoIter = Box<dyn DoubleEndedIterator<Item = u32> + 'a>;
    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

impl FromStr for CpuList {
    type Err = CpuListError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut ranges = Vec::new();
        for part in text.trim().split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let shown = || part.chars().take(20).collect::<String>();
            let number = |digits: &str| -> Result<u32, CpuListError> {
                let digits = digits.trim();
                if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                    return Err(CpuListError::NotANumber(shown()));
                }
                match digits.parse::<u32>() {
                    Ok(n) if n <= MAX_CPU => Ok(n),
                    _ => Err(CpuListError::TooLarge(shown())),
                }
            };
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to) = (number(from)?, number(to)?);
            if to < from {
                return Err(CpuListError::Reversed(shown()));
            }
            ranges.push((from, to));
        }
        Ok(Self::of_ranges(ranges))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Like the kernel, this writes even two adjacent numbers as a range: 0-1.
        let range = |(a, b): &(u32, u32)| if b > a { format!("{a}-{b}") } else { a.to_string() };
        f.pad(&self.ranges.iter().map(range).collect::<Vec<_>>().join(","))
    }
}

impl Serialize for CpuList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for CpuList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Numbers(Vec<u32>),
            Text(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Numbers(numbers) => Ok(numbers.into_iter().collect()),
            Form::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn masks_are_the_kernels() {
        for (list, text) in
            [("0", "1"), ("0-3,8", "10f"), ("32", "1,00000000"), ("0,95", "80000000,00000000,00000001")]
        {
            let cpus: CpuList = list.parse().unwrap();
            assert_eq!(cpus.to_mask(), text);
            assert_eq!(CpuList::from_mask(text).unwrap(), cpus);
        }
    }

    #[test]
    fn lists_read_as_the_kernel_writes_them() {
        let list: CpuList = "0-3,8,10-11\n".parse().unwrap();
        assert_eq!(list.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(list.to_string(), "0-3,8,10-11");
        assert_eq!("".parse::<CpuList>().unwrap(), CpuList::new());
    }

    #[test]
    fn absurd_lists_are_refused_rather_than_expanded() {
        for bad in ["0-999999999", "4294967295", "99999999999999999999", "-3", "5-2", "a", "1-", "0x3"] {
            assert!(bad.parse::<CpuList>().is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn masks_read_most_significant_word_first() {
        assert_eq!(CpuList::from_mask("00000001,80000003").unwrap().to_string(), "0-1,31-32");
        assert!(CpuList::from_mask("zz").is_err());
        assert!(CpuList::from_mask("").is_err());
    }

    #[test]
    fn json_takes_both_forms_and_writes_numbers() {
        let list: CpuList = serde_json::from_str("\"0-2\"").unwrap();
        assert_eq!(serde_json::to_string(&list).unwrap(), "[0,1,2]");
    }

    proptest! {
        #[test]
        fn sets_of_ranges_do_what_sets_do(
            a in proptest::collection::btree_set(0u32..60, 0..40),
            b in proptest::collection::btree_set(0u32..60, 0..40),
            one in 0u32..60,
        ) {
            let (x, y): (CpuList, CpuList) = (a.iter().copied().collect(), b.iter().copied().collect());
            let same = |list: CpuList, set: Vec<u32>| {
                prop_assert_eq!(list.len(), set.len());
                prop_assert_eq!(list.iter().collect::<Vec<_>>(), set);
                // One form per set, so that lists compare equal.
                prop_assert_eq!(&list.iter().collect::<CpuList>(), &list);
                Ok(())
            };
            same(x.union(&y), a.union(&b).copied().collect())?;
            same(x.intersection(&y), a.intersection(&b).copied().collect())?;
            same(x.difference(&y), a.difference(&b).copied().collect())?;
            prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
            prop_assert_eq!(x.contains(one), a.contains(&one));
            let (mut more, mut set) = (x.clone(), a.clone());
            more.insert(one);
            set.insert(one);
            same(more, set.into_iter().collect())?;
        }

        #[test]
        fn any_set_survives_its_text_form(cpus in proptest::collection::btree_set(0u32..2000, 0..200)) {
            let list: CpuList = cpus.iter().copied().collect();
            prop_assert_eq!(list.to_string().parse::<CpuList>().unwrap(), list);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = text.parse::<CpuList>();
            let _ = CpuList::from_mask(&text);
        }
    }
}
