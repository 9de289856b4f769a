//! The open-file limit of this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the open-file limit, as far as allowed, so that this many files can be opened in addition to up to 256
/// others. Commands inherit the limit, which is harmless: it is equivalent to a larger `ulimit -n`.
pub fn raise_file_limit(needed: u64) {
    let needed = needed.saturating_add(256);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|now| now < needed) {
        let current = Some(limit.maximum.map_or(needed, |most| most.min(needed)));
        let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
    }
}
