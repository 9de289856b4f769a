//! One cache line is passed back and forth between two CPUs, with two methods, to measure the one-way latency.
//!
//! With [`hand_over`], each side spins on a plain load, without a spin hint, and stores only when it is its turn. The line therefore moves
//! only as often as necessary: once for reading and once for writing per round. On aarch64, it uses load-acquire and store-release, which
//! provide the same guarantees as plain moves on x86-64.
//!
//! With [`swap_over`], each side tries a compare-and-swap until it is its turn, as when acquiring a spin lock. Other tools
//! also use this method. Every attempt acquires the line for writing.
//!
//! Which method is faster depends on the processor. Both methods leave the same values on the line, so that a ping-pong
//! may continue with the other method on the same line. Their instructions are not declared, because the number of
//! attempts depends on the hardware.

use std::arch::asm;

#[cfg(target_arch = "x86_64")]
macro_rules! step {
    (again $operand:literal) => {
        concat!("sub {", $operand, "}, 1\njnz 2b")
    };
    (give up) => {
        "jmp 4f"
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! step {
    (again $operand:literal) => {
        concat!("subs {", $operand, "}, {", $operand, "}, #1\nb.ne 2b")
    };
    (give up) => {
        "b 4f"
    };
}

/// Runs one side of the ping-pong, as described for [`hand_over`]. `look` jumps to label 3 if it is this side's turn;
/// `pass` hands the line to the other side and sets `value` to the next value to wait for; `with` lists their operands.
macro_rules! play {
    (
        $line:ident $first:ident $rounds:ident $patience:ident;
        look [$($look:literal),*]; pass [$($pass:literal),*]; with $($operand:tt)*
    ) => {{
        if $rounds == 0 {
            return 0;
        }
        let patience = $patience.max(1);
        let left: u64;
        asm!(
            ".p2align 6",
            "2:",
            $($look,)*
            step!(again "looks"),
            step!(give up),
            "3:",
            $($pass,)*
            "mov {looks}, {patience}",
            step!(again "left"),
            "4:",
            line = in(reg) $line,
            value = inout(reg) $first => _,
            looks = inout(reg) patience => _,
            patience = in(reg) patience,
            left = inout(reg) $rounds => left,
            $($operand)*
            options(nostack)
        );
        $rounds - left
    }};
}

/// Waits until the value at `line` is `first`, stores `first + 1`, waits for `first + 2`, and so on for `rounds`
/// rounds. Returns the number of completed rounds.
///
/// Two threads form a ping-pong: one with `first` 0 and the other with `first` 1, on a line that starts at 0. The values only increase, so
/// that no round can be mistaken for another. After `n` rounds of both threads, the line contains `2 n` and has passed from one CPU to the
/// other `2 n - 1` times.
///
/// A side gives up after `patience` unsuccessful attempts in one wait (it makes at least one) and leaves the line
/// unchanged, so that it does not hang if its partner is missing or stopped. To continue where it stopped, call it
/// again with `first` increased by twice the rounds returned.
///
/// # Safety
/// `line` must be aligned to 8 bytes and valid for reading and writing for as long as the call runs, and only this function and atomic accesses
/// may access it during that time.
#[inline(never)]
pub unsafe fn hand_over(line: *mut u64, first: u64, rounds: u64, patience: u64) -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads and writes only the 8 bytes at `line`, which the caller guarantees to be valid, and named
    // registers. Each wait ends after `patience` attempts, and the loop after `rounds` waits.
    unsafe {
        play! { line first rounds patience;
        look ["cmp qword ptr [{line}], {value}", "je 3f"];
        pass ["add {value}, 1", "mov qword ptr [{line}], {value}", "add {value}, 1"]; with }
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as on x86-64.
    unsafe {
        play! { line first rounds patience;
        look ["ldar {seen}, [{line}]", "cmp {seen}, {value}", "b.eq 3f"];
        pass ["add {value}, {value}, #1", "stlr {value}, [{line}]", "add {value}, {value}, #1"];
        with seen = out(reg) _, }
    }
}

/// A method of handing over a line: [`hand_over`] or [`swap_over`].
pub type Way = unsafe fn(line: *mut u64, first: u64, rounds: u64, patience: u64) -> u64;

/// Like [`hand_over`], but with compare-and-swap: tries to replace `first` with `first + 1` until that succeeds, then
/// `first + 2` with `first + 3`, and so on. A failed attempt takes about ten times as long as a failed attempt of
/// [`hand_over`].
///
/// The instructions are `lock cmpxchg` on x86-64, and `casal` on aarch64 CPUs with the LSE extension (otherwise `ldaxr` and `stlxr`).
///
/// # Safety
/// As for [`hand_over`].
#[inline(never)]
pub unsafe fn swap_over(line: *mut u64, first: u64, rounds: u64, patience: u64) -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as in `hand_over`.
    unsafe {
        play! { line first rounds patience;
        look ["mov rax, {value}", "lock cmpxchg qword ptr [{line}], {next}", "je 3f"];
        pass ["add {value}, 2", "add {next}, 2"];
        with next = inout(reg) first.wrapping_add(1) => _, out("rax") _, }
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the caller guarantees the requirements, and the extension is used only if the CPU has it.
    unsafe {
        if std::arch::is_aarch64_feature_detected!("lse") {
            swap_over_lse(line, first, rounds, patience)
        } else {
            swap_over_exclusive(line, first, rounds, patience)
        }
    }
}

/// [`swap_over`] with a single instruction.
///
/// # Safety
/// As for [`hand_over`], on a CPU with LSE.
#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "lse")]
unsafe fn swap_over_lse(line: *mut u64, first: u64, rounds: u64, patience: u64) -> u64 {
    // SAFETY: as in `hand_over`.
    unsafe {
        play! { line first rounds patience;
        look ["mov {seen}, {value}", "casal {seen}, {next}, [{line}]", "cmp {seen}, {value}", "b.eq 3f"];
        pass ["add {value}, {value}, #2", "add {next}, {next}, #2"];
        with seen = out(reg) _, next = inout(reg) first.wrapping_add(1) => _, }
    }
}

/// [`swap_over`] on CPUs without LSE. If the line contains the expected value but the store fails, this also counts
/// as an attempt.
///
/// # Safety
/// As for [`hand_over`].
#[cfg(target_arch = "aarch64")]
unsafe fn swap_over_exclusive(line: *mut u64, first: u64, rounds: u64, patience: u64) -> u64 {
    // SAFETY: as in `hand_over`.
    unsafe {
        play! { line first rounds patience;
        look ["ldaxr {seen}, [{line}]", "cmp {seen}, {value}", "b.ne 5f", "stlxr {failed:w}, {next}, [{line}]",
            "cbz {failed:w}, 3f", "b 6f", "5:", "clrex", "6:"];
        pass ["add {value}, {value}, #2", "add {next}, {next}, #2"];
        with seen = out(reg) _, failed = out(reg) _, next = inout(reg) first.wrapping_add(1) => _, }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// All methods that this CPU supports.
    fn ways() -> Vec<(&'static str, Way)> {
        Vec::from([
            ("store", hand_over as Way),
            ("cas", swap_over),
            #[cfg(target_arch = "aarch64")]
            ("exclusive", swap_over_exclusive),
        ])
    }

    /// Runs one side to its end, even if the partner is often not running. Returns the number of completed rounds.
    fn play(way: Way, line: &AtomicU64, first: u64, rounds: u64) -> u64 {
        let mut done = 0;
        for _ in 0..1_000_000 {
            // SAFETY: the line is an atomic that outlives the call and is only accessed atomically.
            done += unsafe { way(line.as_ptr(), first + 2 * done, rounds - done, 20_000) };
            if done == rounds {
                break;
            }
            std::thread::yield_now();
        }
        done
    }

    #[test]
    fn the_line_goes_back_and_forth_as_often_as_asked() {
        const ROUNDS: u64 = 2_000;
        for (name, way) in ways() {
            let line = AtomicU64::new(0);
            let (one, other) = std::thread::scope(|scope| {
                let other = scope.spawn(|| play(way, &line, 1, ROUNDS));
                (play(way, &line, 0, ROUNDS), other.join().unwrap())
            });
            let reported = "the time would be divided by the wrong number of rounds";
            assert_eq!((one, other), (ROUNDS, ROUNDS), "{name}: {reported}");
            assert_eq!(line.load(Ordering::Relaxed), 2 * ROUNDS, "{name}");
        }
    }

    #[test]
    fn a_game_goes_on_in_the_other_way_on_the_same_line() {
        let line = AtomicU64::new(0);
        const ROUNDS: u64 = 100;
        let sides = |first: u64| {
            let mut done = 0;
            for (_, way) in ways() {
                done += play(way, &line, first + 2 * done, ROUNDS);
            }
            done
        };
        let (one, other) = std::thread::scope(|scope| {
            let other = scope.spawn(|| sides(1));
            (sides(0), other.join().unwrap())
        });
        let all = ROUNDS * ways().len() as u64;
        assert_eq!((one, other, line.load(Ordering::Relaxed)), (all, all, 2 * all));
    }

    #[test]
    fn a_partner_that_does_not_come_hangs_nobody() {
        for (name, way) in ways() {
            let line = AtomicU64::new(0);
            // SAFETY: as above; no other thread has access to the line.
            let done = |first, rounds, patience| unsafe { way(line.as_ptr(), first, rounds, patience) };
            assert_eq!(done(1, 5, 1000), 0, "{name}: it is not this side's turn");
            assert_eq!(line.load(Ordering::Relaxed), 0, "{name}: giving up must not change the line");
            assert_eq!(done(0, 5, 1000), 1, "{name}: one round, then the partner does not answer");
            assert_eq!(line.load(Ordering::Relaxed), 1, "{name}");
            assert_eq!(done(1, 0, 1000), 0, "{name}: no rounds were requested");
            // An exclusive store may fail spuriously.
            let none = if name == "exclusive" { 1000 } else { 0 };
            assert_eq!(done(1, 1, none), 1, "{name}: without patience, one attempt is still made");
            assert_eq!(line.load(Ordering::Relaxed), 2, "{name}");
        }
    }
}
