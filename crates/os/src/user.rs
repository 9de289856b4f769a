//! As whom this process runs.

/// The effective user's number.
pub fn effective_user() -> u32 {
    // SAFETY: geteuid takes and touches nothing.
    unsafe { libc::geteuid() }
}

/// Whether this process is root's.
pub fn is_root() -> bool {
    effective_user() == 0
}
