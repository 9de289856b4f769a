//! Proof that memory lies where it was meant to: page by page with move_pages.

use crate::mapping::Mapping;
use crate::sys;

/// Pages asked about for one mapping at most: enough that a share of 99 % is told from 98 % (±0.3 %), few enough
/// that a mapping of terabytes takes milliseconds.
const MOST_PAGES: usize = 8192;

/// A cell with a smaller share of its pages in place is refused.
pub const LEAST_SHARE: f64 = 0.99;

/// Where the pages of the first `bytes` of a mapping lie.
#[derive(Clone, Debug, PartialEq)]
pub enum Placement {
    /// This share of the pages asked about lies on the node.
    Share {
        /// Share, 0 to 1.
        on_node: f64,
        /// Pages asked about.
        pages: usize,
    },
    /// The kernel does not tell, with its error.
    Unknown(String),
}

impl Placement {
    /// Asks where the touched pages of the first `bytes` lie.
    pub fn of(mapping: &Mapping, bytes: usize, node: u32) -> Self {
        Self::of_range(mapping, 0, bytes, node)
    }

    /// Asks where the touched pages of `[from, from + bytes)` lie.
    pub fn of_range(mapping: &Mapping, from: usize, bytes: usize, node: u32) -> Self {
        let base = crate::mapping::base_page() as usize;
        let bytes = bytes.min(mapping.len().saturating_sub(from));
        let step = (bytes / MOST_PAGES).next_multiple_of(base).max(base);
        let pages: Vec<*const u8> = (0..bytes)
            .step_by(step)
            // Within the mapping, so the address is valid; it is only asked about, never read.
            .map(|offset| mapping.start().wrapping_add(from + offset).cast_const())
            .collect();
        match sys::nodes_of_pages(&pages) {
            Err(error) => Placement::Unknown(error.to_string()),
            Ok(nodes) => {
                let touched = nodes.iter().filter(|node| **node >= 0).count();
                let right = nodes.iter().filter(|n| **n >= 0 && **n as u32 == node).count();
                if touched == 0 {
                    Placement::Unknown("no page was told".to_owned())
                } else {
                    Placement::Share { on_node: right as f64 / touched as f64, pages: touched }
                }
            }
        }
    }

    /// Whether a figure may be taken from it: placed, or not told (which the coverage must then say).
    pub fn acceptable(&self) -> bool {
        match self {
            Placement::Share { on_node, .. } => *on_node >= LEAST_SHARE,
            Placement::Unknown(_) => true,
        }
    }

    /// In words, for a measurement's detail.
    pub fn words(&self, node: u32) -> String {
        match self {
            Placement::Share { on_node, pages } => {
                format!(
                    "{} of {pages} pages asked about lie on node {node}",
                    record::units::percent(*on_node)
                )
            }
            Placement::Unknown(why) => format!("not verified: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Page;

    #[test]
    fn memory_that_was_not_touched_proves_nothing() {
        let mapping = Mapping::new(4 << 20, Page::Base).unwrap();
        assert!(matches!(Placement::of(&mapping, 4 << 20, 0), Placement::Unknown(_)));
    }

    #[test]
    fn memory_on_another_node_is_refused() {
        let mapping = Mapping::new(4 << 20, Page::Base).unwrap();
        mapping.touch(4 << 20);
        if let Placement::Share { on_node, .. } = Placement::of(&mapping, 4 << 20, 4000) {
            assert_eq!(on_node, 0.0);
            assert!(!Placement::Share { on_node, pages: 1 }.acceptable());
        }
    }
}
