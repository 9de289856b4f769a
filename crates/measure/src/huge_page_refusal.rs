//! A refusal of huge pages to this process, taken back while it is measured what they would give.

use record::text;

use crate::context::Context;

/// While it lives the process may have transparent huge pages again; then they are refused to it as before.
#[derive(Debug)]
pub(crate) struct HugePagesLifted;

impl HugePagesLifted {
    /// Lifts the refusal where there is one, and says so in the coverage of `what`.
    pub(crate) fn lift(context: &mut Context, what: &str) -> Option<Self> {
        if !is_refused() || !set(false) {
            return None;
        }
        context.degrade_with_remedy(
            format!("{what} huge pages"),
            text!(
                "refused to this process (PR_SET_THP_DISABLE), but for this measurement, which took the refusal back"
            ),
            text!("start it from a process without PR_SET_THP_DISABLE"),
        );
        Some(Self)
    }
}

impl Drop for HugePagesLifted {
    fn drop(&mut self) {
        set(true);
    }
}

/// Whether huge pages are refused to this process even where it asks for them.
fn is_refused() -> bool {
    // SAFETY: takes numbers. Since Linux 6.18 bit 1 says that memory for which they are asked may have them.
    unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1 }
}

fn set(refused: bool) -> bool {
    // SAFETY: takes numbers, and changes nothing of pages that are there.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, libc::c_ulong::from(refused), 0, 0, 0) == 0 }
}
