//! CPUs that work together.

/// The CPUs that work together, and which of them this is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group<'a> {
    /// All of them.
    pub cpus: &'a [u32],
    /// This one's place among them.
    pub index: usize,
}
