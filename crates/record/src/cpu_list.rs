//! Sets of CPU (or node) numbers, in the list format of the kernel: `0-3,8`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The largest CPU number believed: eight times the largest `NR_CPUS` that any kernel configuration allows today
/// (8192), so that a corrupt file (`0-999999999`) costs an error and not the memory of this process.
pub const MAX_CPU: u32 = 65_535;

/// An ordered set of CPU or node numbers. Text form: `0-3,8`. JSON form: an array of numbers (the text form is
/// accepted when reading).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(transparent)]
pub struct CpuList(BTreeSet<u32>);

/// Why a CPU list could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuListError {
    /// Neither a number nor a range of numbers.
    NotANumber(String),
    /// The range ends before it starts.
    Reversed(String),
    /// A number above [`MAX_CPU`].
    TooLarge(String),
}

impl fmt::Display for CpuListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CpuListError::NotANumber(part) => {
                write!(f, "{part:?} is not a CPU number or a range; write a list such as 0-3,8")
            }
            CpuListError::Reversed(part) => write!(f, "the range {part:?} ends before it starts"),
            CpuListError::TooLarge(part) => write!(f, "{part:?} is above the largest CPU number, {MAX_CPU}"),
        }
    }
}

impl std::error::Error for CpuListError {}

impl CpuList {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + '_ {
        self.0.iter().copied()
    }

    /// How many CPUs are in the set.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// Adds `cpu`; numbers above [`MAX_CPU`] are ignored.
    pub fn insert(&mut self, cpu: u32) {
        if cpu <= MAX_CPU {
            self.0.insert(cpu);
        }
    }

    /// Removes `cpu`.
    pub fn remove(&mut self, cpu: u32) {
        self.0.remove(&cpu);
    }

    /// The lowest CPU.
    pub fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    /// The CPUs in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    /// The CPUs in either set.
    pub fn union(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).copied().collect())
    }

    /// The CPUs of this set that are not in `other`.
    pub fn difference(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }

    /// Whether every CPU of this set is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// Reads the kernel's mask format: comma-separated groups of 32 bits in hexadecimal, most significant first
    /// (`00000000,0000ffff`), as in `shared_cpu_map`.
    pub fn from_mask(text: &str) -> Result<Self, CpuListError> {
        let mut set = BTreeSet::new();
        let groups: Vec<&str> = text.trim().split(',').collect();
        if groups.len() > (MAX_CPU as usize / 32) + 1 {
            return Err(CpuListError::TooLarge(format!("a mask of {} words", groups.len())));
        }
        for (index, group) in groups.iter().rev().enumerate() {
            let group = group.trim();
            if group.is_empty() || group.len() > 8 {
                return Err(CpuListError::NotANumber(group.chars().take(20).collect()));
            }
            let bits = u32::from_str_radix(group, 16)
                .map_err(|_| CpuListError::NotANumber(group.chars().take(20).collect()))?;
            for bit in 0..32 {
                if bits & (1 << bit) != 0 {
                    set.insert(index as u32 * 32 + bit);
                }
            }
        }
        Ok(Self(set))
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self(cpus.into_iter().filter(|cpu| *cpu <= MAX_CPU).collect())
    }
}

impl<'a> IntoIterator for &'a CpuList {
    type Item = u32;
    type IntoIter = std::iter::Copied<std::collections::btree_set::Iter<'a, u32>>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().copied()
    }
}

impl FromStr for CpuList {
    type Err = CpuListError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut set = BTreeSet::new();
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
            match part.split_once('-') {
                None => {
                    set.insert(number(part)?);
                }
                Some((from, to)) => {
                    let (from, to) = (number(from)?, number(to)?);
                    if to < from {
                        return Err(CpuListError::Reversed(shown()));
                    }
                    set.extend(from..=to);
                }
            }
        }
        Ok(Self(set))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        let mut iter = self.0.iter().copied().peekable();
        while let Some(from) = iter.next() {
            let mut to = from;
            while iter.peek() == Some(&(to + 1)) {
                to += 1;
                iter.next();
            }
            if !text.is_empty() {
                text.push(',');
            }
            text.push_str(&from.to_string());
            if to > from {
                // The kernel writes two neighbours as a range too: 0-1.
                text.push('-');
                text.push_str(&to.to_string());
            }
        }
        f.pad(&text)
    }
}

impl Serialize for CpuList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter())
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
