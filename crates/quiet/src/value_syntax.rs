//! The format of the value in a file. The kernel may spell a value differently when it is read back.

use record::CpuList;
use serde::{Deserialize, Serialize};

/// The format of a file's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueSyntax {
    /// One word or number, unchanged.
    #[default]
    Word,
    /// All choices, with the current one in brackets: `always [madvise] never`.
    Chosen,
    /// A CPU list: `0-3,8`.
    CpuList,
    /// A CPU mask: `ff,00000003`.
    CpuMask,
}

impl ValueSyntax {
    /// The value in the text of a file, in the format used for writing; `None` if it contains no value.
    pub fn parse(self, text: &str) -> Option<String> {
        let text = text.trim();
        match self {
            ValueSyntax::Word => (!text.is_empty()).then(|| text.to_owned()),
            ValueSyntax::Chosen => match text.split_once('[') {
                Some((_, rest)) => Some(rest.split_once(']')?.0.to_owned()),
                None => (!text.is_empty() && !text.contains(' ')).then(|| text.to_owned()),
            },
            ValueSyntax::CpuList => text.parse::<CpuList>().ok().map(|_| text.to_owned()),
            ValueSyntax::CpuMask => CpuList::from_mask(text).ok().map(|_| text.to_owned()),
        }
    }

    /// Whether two texts represent the same value.
    pub fn are_equal(self, a: &str, b: &str) -> bool {
        let lists =
            |read: fn(&str) -> Option<CpuList>| matches!((read(a), read(b)), (Some(a), Some(b)) if a == b);
        match self {
            ValueSyntax::Word | ValueSyntax::Chosen => match (a.parse::<i64>(), b.parse::<i64>()) {
                (Ok(a), Ok(b)) => a == b,
                _ => a == b,
            },
            ValueSyntax::CpuList => lists(|text| text.parse().ok()),
            ValueSyntax::CpuMask => lists(|text| CpuList::from_mask(text).ok()),
        }
    }
}

/// Names CPUs: `CPU 1`, `CPUs 0-3`.
pub(crate) fn name_cpus(list: &CpuList) -> String {
    if list.len() == 1 { format!("CPU {list}") } else { format!("CPUs {list}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_is_in_force() {
        assert_eq!(ValueSyntax::Chosen.parse("always [madvise] never\n").as_deref(), Some("madvise"));
        assert_eq!(ValueSyntax::Chosen.parse("always madvise never"), None, "no choice is marked as current");
        assert_eq!(ValueSyntax::Word.parse(" performance\n").as_deref(), Some("performance"));
        assert_eq!(ValueSyntax::Word.parse("\n"), None);
        assert_eq!(ValueSyntax::CpuMask.parse("zz"), None);
    }

    #[test]
    fn spelling_makes_no_difference() {
        assert!(
            ValueSyntax::CpuMask.are_equal("3", "00000003")
                && ValueSyntax::CpuMask.are_equal("00000000,00000003", "3")
        );
        assert!(
            ValueSyntax::CpuList.are_equal("0-1", "0,1") && !ValueSyntax::CpuList.are_equal("0-1", "0-2")
        );
        assert!(
            ValueSyntax::Word.are_equal("0", "00")
                && !ValueSyntax::Word.are_equal("powersave", "performance")
        );
    }
}
