//! How a file writes its value: what is read back differs from what was written in spelling only.

use record::CpuList;
use serde::{Deserialize, Serialize};

/// The spelling of a file's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// One word or number, as it stands.
    Word,
    /// All choices, the one in force in brackets: `always [madvise] never`.
    Chosen,
    /// A CPU list: `0-3,8`.
    CpuList,
    /// A CPU mask: `ff,00000003`.
    CpuMask,
}

impl Form {
    /// The value in what a file says, in the spelling in which it is written there; `None` where it says none.
    pub fn value(self, text: &str) -> Option<String> {
        let text = text.trim();
        match self {
            Form::Word => (!text.is_empty()).then(|| text.to_owned()),
            Form::Chosen => match text.split_once('[') {
                Some((_, rest)) => Some(rest.split_once(']')?.0.to_owned()),
                None => (!text.is_empty() && !text.contains(' ')).then(|| text.to_owned()),
            },
            Form::CpuList => text.parse::<CpuList>().ok().map(|_| text.to_owned()),
            Form::CpuMask => CpuList::from_mask(text).ok().map(|_| text.to_owned()),
        }
    }

    /// Whether two values are the same.
    pub fn same(self, a: &str, b: &str) -> bool {
        let lists =
            |read: fn(&str) -> Option<CpuList>| matches!((read(a), read(b)), (Some(a), Some(b)) if a == b);
        match self {
            Form::Word | Form::Chosen => match (a.parse::<i64>(), b.parse::<i64>()) {
                (Ok(a), Ok(b)) => a == b,
                _ => a == b,
            },
            Form::CpuList => lists(|text| text.parse().ok()),
            Form::CpuMask => lists(|text| CpuList::from_mask(text).ok()),
        }
    }
}

/// CPUs in words: `CPU 1`, `CPUs 0-3`.
pub fn cpus(list: &CpuList) -> String {
    if list.len() == 1 { format!("CPU {list}") } else { format!("CPUs {list}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_is_in_force() {
        assert_eq!(Form::Chosen.value("always [madvise] never\n").as_deref(), Some("madvise"));
        assert_eq!(Form::Chosen.value("always madvise never"), None, "nothing says which is in force");
        assert_eq!(Form::Word.value(" performance\n").as_deref(), Some("performance"));
        assert_eq!(Form::Word.value("\n"), None);
        assert_eq!(Form::CpuMask.value("zz"), None);
    }

    #[test]
    fn spelling_makes_no_difference() {
        assert!(Form::CpuMask.same("3", "00000003") && Form::CpuMask.same("00000000,00000003", "3"));
        assert!(Form::CpuList.same("0-1", "0,1") && !Form::CpuList.same("0-1", "0-2"));
        assert!(Form::Word.same("0", "00") && !Form::Word.same("powersave", "performance"));
    }
}
