//! The pages that contain the lines. Each page is used once and is bound to its home node, and its placement is
//! verified.

use record::{Text, text};
use std::io;

use os::mapping::{Mapping, Page, base_page};

/// Unused pages, each bound to its home node if the kernel supports it.
#[derive(Debug)]
pub(crate) struct Pages {
    /// The requested node.
    pub home: Option<u32>,
    mapping: Mapping,
    used: usize,
    /// The reason why the pages are not bound.
    pub unbound: Option<String>,
}

impl Pages {
    /// Pages on `home`, or wherever the kernel allocates them.
    pub(crate) fn new(home: Option<u32>) -> io::Result<Self> {
        let mapping = Mapping::new(1, Page::Base)?;
        let unbound = home.and_then(|node| os::bind_to_node(&mapping, node).err());
        Ok(Self { home, mapping, used: 0, unbound: unbound.map(|error| error.to_string()) })
    }

    /// A fresh page, touched by the calling thread, and its node or the reason why the kernel does not report it. The
    /// page stays mapped until this value is dropped, or until all pages of the mapping have been used and another page
    /// is requested.
    pub(crate) fn fresh(&mut self) -> io::Result<(*mut u8, Result<u32, Text>)> {
        let page = base_page() as usize;
        if (self.used + 1) * page > self.mapping.len() {
            *self = Self::new(self.home)?;
        }
        let start = self.mapping.start().wrapping_add(self.used * page);
        self.used += 1;
        // SAFETY: the page is within the mapping, and no other thread has its address yet.
        unsafe { start.write_volatile(0) };
        let node = match os::nodes_of_pages(&[start.cast_const()]) {
            Ok(nodes) => match nodes.first() {
                Some(node) if *node >= 0 => Ok(*node as u32),
                _ => Err(text!("the kernel does not report the node of the page")),
            },
            Err(error) => Err(text!("{error}")),
        };
        Ok((start, node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::handover::hand_over;

    #[test]
    fn every_fresh_page_is_another_and_lies_somewhere() {
        let mut pages = Pages::new(None).unwrap();
        let in_one = pages.mapping.len() / base_page() as usize;
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..in_one {
            let (page, node) = pages.fresh().unwrap();
            assert_eq!(page as usize % base_page() as usize, 0);
            assert!(seen.insert(page as usize));
            if let Ok(node) = node {
                assert!(node < 1024);
            }
        }
        // The next page is from a new mapping, but is equally usable.
        let (page, _) = pages.fresh().unwrap();
        // SAFETY: a single side accesses a fresh page.
        assert_eq!(unsafe { hand_over(page.cast(), 0, 1, 10) }, 1);
    }
}
