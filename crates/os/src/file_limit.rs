//! How many files this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of open files to this many beyond those already open, as far as allowed. Commands inherit it, which does not affect
/// programs: it is the same as a larger `ulimit -n`.
pub fn raise_file_limit(needed: u64) {
    let needed = needed.saturating_add(256);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|now| now < needed) {
        let current = Some(limit.maximum.map_or(needed, |most| most.min(needed)));
        let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
    }
}
