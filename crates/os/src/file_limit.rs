//! How many files this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lets it have so many open beside what it has, as far as it may. Commands inherit it, which no program minds: it is what a larger
/// `ulimit -n` is.
pub fn raise_file_limit(needed: u64) {
    let needed = needed.saturating_add(256);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|now| now < needed) {
        let current = Some(limit.maximum.map_or(needed, |most| most.min(needed)));
        let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
    }
}
