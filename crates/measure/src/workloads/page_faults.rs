//! `page-faults`: touches fresh memory page by page and frees it, as allocators, starting processes and buffer pools
//! do. All threads share one address space, so the slowdown with several threads is due to the kernel's lock on that
//! address space, and to the hypervisor's lock on the guest's memory.

use os::mapping::{HUGE, Mapping, Page};
use record::{Template, Text, Unavailable, text};

use super::loops::checked;
use super::workload::{Definition, Site, Worker, Workload};
use crate::reasons::NOT_MAPPED;

/// The workload that this module describes.
pub(crate) struct PageFaults;

impl Workload for PageFaults {
    fn definition(&self) -> Definition {
        let work = Template::new("work-page-faults", "base page mapped, touched and unmapped");
        // A mapping reserves twice the memory, for alignment to a huge page, but touches only half of it.
        Definition { bytes: HUGE as u64, ..Definition::new("page-faults", work) }
    }

    fn prepare(&self, _: &Site) -> Result<Box<dyn Worker>, Unavailable> {
        Mapping::new(HUGE, Page::Base).map_err(|error| text!(NOT_MAPPED, error))?;
        // If memory runs out during the run, no work is done, and the slice counts as a slice without work.
        Ok(checked(|| Mapping::new(HUGE, Page::Base).map_or((0.0, None), |memory| touch(&memory))))
    }
}

/// Touches each page of the mapping. Returns the number of pages, and any error in a fresh page's content.
fn touch(memory: &Mapping) -> (f64, Option<Text>) {
    let (page, mut wrong) = (Page::Base.bytes(), None);
    for at in (0..memory.len()).step_by(page) {
        // SAFETY: both bytes are in this page of the mapping, which is writable and used only by this thread. The write
        // comes first and causes one fault; a prior read would cause another one, for the shared zero page.
        let beside = unsafe {
            let start = memory.start().add(at);
            start.write_volatile(1);
            start.add(page / 2).read_volatile()
        };
        if beside != 0 {
            wrong = Some(beside);
        }
    }
    let wrong = wrong.map(|got| text!("a fresh page contains {got} instead of zeros"));
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
        // SAFETY: the byte is within the mapping.
        unsafe { used.start().add(Page::Base.bytes() / 2).write(7) };
        assert_eq!(touch(&used).1.unwrap().value("got"), Some(&7u64.into()));
    }
}
