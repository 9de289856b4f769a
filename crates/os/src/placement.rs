//! Checks that memory is on the intended node, page by page, with move_pages.

use std::io;

use record::text::Value;
use record::{Text, text};

use crate::mapping::Mapping;
use crate::memory::nodes_of_pages;

/// Maximum number of pages queried per mapping: enough to distinguish a share of 99 % from 98 % (±0.3 %), and few
/// enough that checking a mapping of terabytes takes milliseconds.
const MOST_PAGES: usize = 8192;

/// Minimum share of correctly placed pages; a cell with a lower share is rejected.
pub const LEAST_SHARE: f64 = 0.99;

/// The placement of the pages of the first `bytes` of a mapping.
#[derive(Clone, Debug, PartialEq)]
pub enum Placement {
    /// This share of the queried pages is on the node.
    Share {
        /// Share, 0 to 1.
        on_node: f64,
        /// Queried pages.
        pages: usize,
    },
    /// The kernel does not report the nodes, for this reason.
    Unknown(Text),
}

impl Placement {
    /// Queries the touched pages of the first `bytes`.
    pub fn check(mapping: &Mapping, bytes: usize, node: u32) -> Self {
        Self::check_range(mapping, 0, bytes, node)
    }

    /// Queries the touched pages of `[from, from + bytes)`. If the kernel may move pages (unbound memory with NUMA balancing), the calling
    /// thread must run on a CPU of the intended node, because the thread may have to read some pages.
    pub fn check_range(mapping: &Mapping, from: usize, bytes: usize, node: u32) -> Self {
        let base = crate::mapping::base_page() as usize;
        let bytes = bytes.min(mapping.len().saturating_sub(from));
        let step = (bytes / MOST_PAGES).next_multiple_of(base).max(base);
        let pages: Vec<*const u8> = (0..bytes)
            .step_by(step)
            // The address is within the mapping and therefore valid; it is only queried, never read.
            .map(|offset| mapping.start().wrapping_add(from + offset).cast_const())
            .collect();
        // Pages from the pool of reserved huge pages are not read: they are never temporarily unmapped, and reading a missing page may be
        // fatal.
        let read = |page: *const u8| {
            if !mapping.reserved() {
                // SAFETY: the address is within the readable mapping; an untouched page reads as 0.
                std::hint::black_box(unsafe { page.read_volatile() });
            }
        };
        match nodes_of(&pages, nodes_of_pages, read) {
            Err(error) => Placement::Unknown(error.to_string().into()),
            Ok(nodes) => {
                let touched = nodes.iter().filter(|node| **node >= 0).count();
                let right = nodes.iter().filter(|n| **n >= 0 && **n as u32 == node).count();
                if touched == 0 {
                    Placement::Unknown(text!("the kernel reports no node for these pages"))
                } else {
                    Placement::Share { on_node: right as f64 / touched as f64, pages: touched }
                }
            }
        }
    }

    /// Whether the memory may be measured: its placement is correct, or unknown. In the latter case, the coverage must report this.
    pub fn acceptable(&self) -> bool {
        match self {
            Placement::Share { on_node, .. } => *on_node >= LEAST_SHARE,
            Placement::Unknown(_) => true,
        }
    }

    /// The placement as a detail of a measurement.
    pub fn describe(&self, node: u32) -> Text {
        match self {
            Placement::Share { on_node, pages } => {
                let share = Value::Share(*on_node);
                text!("{share} of {pages} sampled pages on node {node}", pages = *pages)
            }
            Placement::Unknown(why) => text!("not verified: {why}"),
        }
    }
}

/// The node of each page, from `ask`; pages without an answer are queried again after a `read`.
///
/// NUMA balancing occasionally makes pages inaccessible, to detect which CPU reads them next, and moves some. Some kernels do not report
/// the node of such a page, and none reports the node of a page that is being moved; after the next read, the node is reported again. This
/// always affects a complete huge page, which may contain all the memory of a small part of an array.
fn nodes_of(
    pages: &[*const u8],
    ask: impl Fn(&[*const u8]) -> io::Result<Vec<i32>>,
    read: impl Fn(*const u8),
) -> io::Result<Vec<i32>> {
    let mut nodes = ask(pages)?;
    let silent: Vec<usize> =
        (0..pages.len()).filter(|at| nodes.get(*at).is_none_or(|node| *node < 0)).collect();
    if silent.is_empty() {
        return Ok(nodes);
    }
    let again: Vec<*const u8> = silent.iter().map(|at| pages[*at]).collect();
    again.iter().for_each(|page| read(*page));
    for (at, node) in silent.into_iter().zip(ask(&again)?) {
        if let Some(reported) = nodes.get_mut(at) {
            *reported = node;
        }
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    #[test]
    fn pages_that_balancing_has_hidden_are_read_and_then_reported() {
        let memory = [0u8; 4];
        let pages: Vec<*const u8> = memory.iter().map(std::ptr::from_ref).collect();
        // The last two pages are hidden until they are read, and the last one is never reported.
        let hidden = RefCell::new(BTreeSet::from([pages[2], pages[3]]));
        let ask = |asked: &[*const u8]| {
            let node = |page: &*const u8| {
                if hidden.borrow().contains(page) || *page == pages[3] { -libc::ENOENT } else { 1 }
            };
            Ok(asked.iter().map(node).collect())
        };
        let read = |page: *const u8| assert!(hidden.borrow_mut().remove(&page), "node already reported");
        assert_eq!(nodes_of(&pages, ask, read).unwrap(), [1, 1, 1, -libc::ENOENT]);
        assert!(hidden.borrow().is_empty());
        let refused = |_: &[*const u8]| Err(io::Error::from_raw_os_error(libc::ENOSYS));
        assert!(nodes_of(&pages, refused, |_| panic!("read although no node is reported")).is_err());
    }
    use crate::mapping::Page;

    #[test]
    fn memory_that_was_not_touched_proves_nothing() {
        let mapping = Mapping::new(4 << 20, Page::Base).unwrap();
        assert!(matches!(Placement::check(&mapping, 4 << 20, 0), Placement::Unknown(_)));
    }

    #[test]
    fn memory_on_another_node_is_refused() {
        let mapping = Mapping::new(4 << 20, Page::Base).unwrap();
        mapping.touch(4 << 20);
        if let Placement::Share { on_node, .. } = Placement::check(&mapping, 4 << 20, 4000) {
            assert_eq!(on_node, 0.0);
            assert!(!Placement::Share { on_node, pages: 1 }.acceptable());
        }
    }
}
