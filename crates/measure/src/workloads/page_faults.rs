//! `page-faults`: fresh memory touched page by page and given back, as allocators, process starts and buffer pools do. All
//! threads share one address space, so what they lose together is the kernel's lock on it, and the hypervisor's on theirs.

use os::mapping::{HUGE, Mapping, Page};
use record::{Template, Text, Unavailable, text};

use super::loops::checked;
use super::workload::{Definition, Site, Worker, Workload};
use crate::reasons::NOT_MAPPED;

/// See the module.
pub(crate) struct PageFaults;

impl Workload for PageFaults {
    fn definition(&self) -> Definition {
        let work = Template { code: "work-page-faults", words: "base page mapped, touched and unmapped" };
        // A mapping reserves as much again to lie at a huge page's boundary, and touches none of that.
        Definition { bytes: HUGE as u64, ..Definition::new("page-faults", work) }
    }

    fn prepare(&self, _: &Site) -> Result<Box<dyn Worker>, Unavailable> {
        Mapping::new(HUGE, Page::Base).map_err(|error| text!(NOT_MAPPED, error))?;
        // Memory that ran out in mid-run is no work done, and shows as a slice without any.
        Ok(checked(|| Mapping::new(HUGE, Page::Base).map_or((0.0, None), |memory| touch(&memory))))
    }
}

/// Touches each page of the mapping: how many there were, and what a fresh one held.
fn touch(memory: &Mapping) -> (f64, Option<Text>) {
    let (page, mut wrong) = (Page::Base.bytes(), None);
    for at in (0..memory.len()).step_by(page) {
        // SAFETY: both bytes lie in this page of the mapping, which is writable and this thread's alone. The write comes
        // first and is one fault; a read before it would be another, of the page of zeros that all share.
        let beside = unsafe {
            let start = memory.start().add(at);
            start.write_volatile(1);
            start.add(page / 2).read_volatile()
        };
        if beside != 0 {
            wrong = Some(beside);
        }
    }
    let wrong = wrong.map(|got| text!("a fresh page holds {got} instead of zeros"));
    ((memory.len() / page) as f64, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_touched_once_and_a_used_one_is_noticed() {
        let mut worker = PageFaults.prepare(&Site { cpu: 0, pool: None }).unwrap();
        assert_eq!(worker.round(), HUGE as f64 / Page::Base.bytes() as f64);
        assert_eq!(worker.verify(), Ok(()));
        let used = Mapping::new(HUGE, Page::Base).unwrap();
        // SAFETY: the byte lies in the mapping.
        unsafe { used.start().add(Page::Base.bytes() / 2).write(7) };
        assert_eq!(touch(&used).1.unwrap().value("got"), Some(&7u64.into()));
    }
}
