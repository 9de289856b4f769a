//! The counter that every CPU reads in user mode: the time-stamp counter on x86-64, the virtual counter on
//! aarch64.
//!
//! On current machines, both run at a constant rate regardless of the core clock, so they measure time, not cycles. The
//! instructions of [`next_gap`] are not declared, because no result depends on their number.

use std::arch::asm;

/// The current counter value, not ordered with respect to surrounding instructions: the CPU may read it tens of
/// instructions early or late. Use it for long intervals and for spinning.
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let (low, high): (u64, u64);
        // SAFETY: reads the counter into two registers. On Linux, it is readable unless a process disables this for
        // itself (PR_SET_TSC), which this program does not do. No `nomem`: the compiler must not move loads and stores
        // across it.
        unsafe {
            asm!("rdtsc", out("rax") low, out("rdx") high, options(nostack, preserves_flags));
        }
        high << 32 | low
    }
    #[cfg(target_arch = "aarch64")]
    {
        let now: u64;
        // SAFETY: reads the counter, which Linux lets user mode read, into a register. No `nomem`, as above.
        unsafe {
            asm!("mrs {}, cntvct_el0", out(reg) now, options(nostack, preserves_flags));
        }
        now
    }
}

/// The counter value after all preceding instructions have been executed (LFENCE or ISB first). Use it for short
/// intervals.
#[inline(always)]
pub fn ticks_ordered() -> u64 {
    // SAFETY: the instruction has no operands and changes nothing. No `nomem`, as above.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("lfence", options(nostack, preserves_flags));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!("isb", options(nostack, preserves_flags));
    }
    ticks()
}

/// The counter's rate in Hz if the architecture exposes it to user mode: CNTFRQ_EL0 on aarch64, unless the firmware left it at 0. On
/// x86-64, the result is `None`, and the counter must be calibrated against a clock.
pub fn architectural_hz() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        None
    }
    #[cfg(target_arch = "aarch64")]
    {
        let hz: u64;
        // SAFETY: reads a register that is readable in user mode if the counter is.
        unsafe {
            asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nomem, nostack, preserves_flags));
        }
        (hz != 0).then_some(hz)
    }
}

/// Reads the counter repeatedly, starting from the previous reading `last`, and returns two consecutive readings
/// `(before, after)`: the first pair that is more than `threshold` ticks apart, or the first pair with
/// `after >= until`. Call it again with `after` as `last`, so that nothing is missed.
///
/// The shortest detectable gap is the time of one iteration. On x86-64, this is about the time of one reading, 20 to 40
/// cycles (microseconds if a hypervisor traps the reading); on aarch64, it is one tick, 1 to 40 ns. A counter that steps
/// back, as after a migration between CPUs whose counters differ, is not a gap. The maximum threshold is 2⁶³ − 1.
pub fn next_gap(last: u64, threshold: u64, until: u64) -> (u64, u64) {
    // The comparison is signed, to handle backward steps.
    let threshold = threshold.min(i64::MAX as u64);
    let mut before = last;
    let after: u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the counter, as in `ticks`, and otherwise accesses only the named registers. It ends because the
    // counter advances until `until` is reached.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "rdtsc",
            "shl rdx, 32",
            "or rax, rdx",
            "mov rdx, rax",
            "sub rdx, {before}",
            "cmp rdx, {threshold}",
            "jg 3f",
            "cmp rax, {until}",
            "jae 3f",
            "mov {before}, rax",
            "jmp 2b",
            "3:",
            before = inout(reg) before,
            threshold = in(reg) threshold,
            until = in(reg) until,
            out("rax") after,
            out("rdx") _,
            options(nostack)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as on x86-64.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "mrs {after}, cntvct_el0",
            "sub {gap}, {after}, {before}",
            "cmp {gap}, {threshold}",
            "b.gt 3f",
            "cmp {after}, {until}",
            "b.hs 3f",
            "mov {before}, {after}",
            "b 2b",
            "3:",
            before = inout(reg) before,
            after = out(reg) after,
            gap = out(reg) _,
            threshold = in(reg) threshold,
            until = in(reg) until,
            options(nostack)
        );
    }
    (before, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_goes_on() {
        let mut last = ticks();
        for _ in 0..1000 {
            let now = ticks_ordered();
            assert!(now >= last, "{now} after {last}: every interval would be wrong");
            last = now;
        }
        let start = ticks();
        while ticks() == start {}
    }

    #[test]
    fn a_gap_search_ends_when_its_time_is_over() {
        let last = ticks_ordered();
        let until = last + 10_000;
        // No gap is that long, so only the end time ends the search.
        let (before, after) = next_gap(last, u64::MAX, until);
        assert!(after >= until, "{after} before {until}");
        assert!(before >= last && before < until, "{before} is the reading before the end");
    }

    #[test]
    fn a_gap_is_reported_by_the_readings_on_its_two_sides() {
        // The time from the epoch to now is a gap for any lower threshold.
        let (before, after) = next_gap(1, 1000, u64::MAX);
        assert_eq!(before, 1);
        assert!(after - before > 1000);
    }

    #[test]
    fn a_counter_that_steps_back_is_no_gap() {
        let ahead = ticks_ordered() + 1_000_000_000_000;
        let until = ticks_ordered() + 10_000;
        let (before, after) = next_gap(ahead, i64::MAX as u64, until);
        assert!(before < ahead && after >= until, "({before}, {after})");
    }

    #[test]
    fn the_rate_is_reported_on_aarch64_alone() {
        let hz = architectural_hz();
        assert_eq!(hz.is_some(), cfg!(target_arch = "aarch64"), "{hz:?}");
        // The architecture requires 1 MHz to 1 GHz; outside this range, every time would be wrong.
        assert!(hz.is_none_or(|hz| (1_000_000..=1_000_000_000).contains(&hz)), "{hz:?}");
    }
}
