//! What of a run could not be had: measurements that are impossible here, CPUs that went offline.

use std::fmt;

use machine::Root;
use record::{Coverage, CpuList, State, text};

use crate::list::Results;
use crate::measure::Measure;

/// None of the measurements that were named can be made here: each with its entry of the coverage.
#[derive(Debug)]
pub struct AllImpossible(Vec<Coverage>);

impl fmt::Display for AllImpossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, entry) in self.0.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { "; " })?;
            match entry.reason.as_ref() {
                Some(reason) => write!(f, "{} cannot be measured here: {reason}", entry.what)?,
                None => write!(f, "{} cannot be measured here", entry.what)?,
            }
            if let Some(remedy) = &entry.remedy {
                write!(f, " ({remedy})")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for AllImpossible {}

impl Results {
    /// Refuses a run of which nothing can be measured here; not one of which something could be, or might have been.
    ///
    /// # Errors
    ///
    /// Each of the measurements is impossible.
    pub fn refuse_impossible(&self, chosen: &[&Measure]) -> Result<(), AllImpossible> {
        if !self.measurements.is_empty() || self.interrupted.is_some() {
            return Ok(());
        }
        let entry = |m: &&Measure| {
            self.coverage.iter().find(|c| c.what == m.name && c.state == State::Impossible).cloned()
        };
        chosen.iter().map(entry).collect::<Option<_>>().map_or(Ok(()), |all| Err(AllImpossible(all)))
    }
}

/// CPUs that were to be measured and are offline now. The kernel moves their threads to others without a word.
pub fn find_offline(root: &Root, cpus: &CpuList) -> Option<Coverage> {
    let online = root.cpu_list("/sys/devices/system/cpu/online")?;
    let gone = cpus.difference(&online);
    (!gone.is_empty()).then(|| {
        let reason =
            text!("CPU {gone} went offline during the run; its figures may be of another CPU", gone = &gone);
        let left = cpus.intersection(&online);
        let again = text!("measure again, or leave it out: linespeed --cpus {left}", left);
        Coverage::degraded("cpus", reason).with_remedy(again)
    })
}
