//! Memory: NUMA policies, the node of each page, and the available amount.

use std::io;

use rustix::process::{Resource, getrlimit};

use crate::mapping::{Mapping, base_page};
use crate::thread::check_result;

/// `mbind` mode: allocate on the given nodes only.
const MPOL_BIND: libc::c_long = 2;

/// `set_mempolicy` mode: pages are allocated alternately on the given nodes.
const MPOL_INTERLEAVE: libc::c_long = 3;

/// The mode of a memory policy: pages interleaved over the given nodes, or allocated only on the given nodes.
pub(crate) fn policy_mode(interleave: bool) -> libc::c_int {
    (if interleave { MPOL_INTERLEAVE } else { MPOL_BIND }) as libc::c_int
}

/// Binds the pages of a mapping that have not been touched yet to `node`.
pub fn bind_to_node(mapping: &Mapping, node: u32) -> io::Result<()> {
    let (start, bytes) = (mapping.start(), mapping.len());
    let bits = usize::BITS;
    let mut mask = vec![0 as libc::c_ulong; (node / bits) as usize + 1];
    mask[(node / bits) as usize] |= 1 << (node % bits);
    // The kernel reads maxnode - 1 bits.
    let maxnode = mask.len() * bits as usize + 1;
    // SAFETY: mbind only changes the policy of the range; the mask outlives the call and has maxnode - 1 bits.
    check_result(unsafe {
        libc::syscall(libc::SYS_mbind, start, bytes, MPOL_BIND, mask.as_ptr(), maxnode, 0)
    })
    .map(drop)
}

/// The node of each page with an address in `pages`; a negative number is the kernel's error for that page (`-ENOENT`
/// if the page was not touched).
pub fn nodes_of_pages(pages: &[*const u8]) -> io::Result<Vec<i32>> {
    nodes_of_pages_of(0, pages)
}

/// The node of the page at an address of a process; `None` if there is no page, or the kernel does not report it.
pub fn node_of_page(pid: i32, address: u64) -> Option<u32> {
    let nodes = nodes_of_pages_of(pid, &[address as *const u8]).ok()?;
    nodes.first().and_then(|node| u32::try_from(*node).ok())
}

fn nodes_of_pages_of(pid: i32, pages: &[*const u8]) -> io::Result<Vec<i32>> {
    let mut status = vec![0i32; pages.len()];
    // SAFETY: with a null list of target nodes, move_pages moves nothing and fills `status`, one i32 for each page.
    let done = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            pid,
            pages.len(),
            pages.as_ptr(),
            std::ptr::null::<i32>(),
            status.as_mut_ptr(),
            0,
        )
    };
    check_result(done)?;
    Ok(status)
}

/// MemAvailable of /proc/meminfo in bytes.
pub fn memory_available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Resident memory of this process, bytes.
pub fn memory_used() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages = text.split_whitespace().nth(1)?.parse::<u64>().ok()?;
    pages.checked_mul(base_page())
}

/// The stack limit of a process's first thread, bytes; `None` if unlimited.
pub fn stack_limit() -> Option<u64> {
    getrlimit(Resource::Stack).current
}

/// The address space still available to this process, bytes; `None` if unlimited.
pub fn address_space_left() -> Option<u64> {
    let limit = getrlimit(Resource::As).current?;
    let taken = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages = taken.split_whitespace().next()?.parse::<u64>().ok()?;
    Some(limit.saturating_sub(pages.saturating_mul(base_page())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_touched_page_has_a_node_and_an_untouched_one_has_not() {
        let page = vec![1u8; 8192];
        match nodes_of_pages(&[page.as_ptr()]) {
            Ok(nodes) => assert!(nodes[0] >= 0, "{nodes:?}"),
            // A kernel without NUMA support, or a sandbox, lacks this system call.
            Err(error) => assert!(
                matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)),
                "unexpected error {error}"
            ),
        }
    }
}
