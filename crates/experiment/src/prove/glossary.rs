//! What a proof compares, for the glossary.

use super::figure::names;

/// Entries in the form of [`record::glossary`]: name and text. Steal time stands in the inventory.
pub const GLOSSARY: &[(&str, &str)] = &[
    (
        "prove",
        "
            What turning a knob gains here: the machine, or a command's own runs, before and after in turn.
            `linespeed quiet --prove`.
            Also: proof, gain, A/A, round
            How: In each round the two states are measured one after the other, first the one and then the
            other; the median of the rounds' differences has an exact interval, wide enough that in 95 % of
            proofs in which nothing changed nothing is resolved, all comparisons taken together. Of a
            command's cold page cache: the files that it opens, seen with ptrace, are written out and dropped
            (`posix_fadvise`), which needs no root and touches no others; `--drop-caches` drops those of the
            whole machine.
            Moves: What is set, and the noise that both states share: on a machine with other work only large
            gains stand out.
        ",
    ),
    (
        "floor",
        "
            How far two measurements of one and the same state differ here, as the comparison of a state with
            itself shows (an A/A comparison).
            Also: A/A floor
            How: The end of that comparison's interval that is farther from no difference. No smaller
            difference is said to be resolved. In the audit: of the same work of 8 ms, done twice in turn on
            one CPU.
            Usual: Below 1 % on an idle machine of one's own; some percent on a shared one, and the half of
            everything beside other work.
            Moves: Other tasks, interrupts, the hypervisor's neighbours, boost and idle states.
        ",
    ),
    (
        names::WORK,
        "
            The time of the same piece of work (0.15 ms of dependent adds) in its 95th percentile, over its
            median: 1 × where it always takes the same.
            How: In blocks of 60 ms on each CPU at once; the worst CPU counts.
            Moves: Interrupts and other tasks, within the work; a clock that moves.
        ",
    ),
    (
        names::OS,
        "
            What this kernel gave to others while a program wanted to run: other tasks (preemption),
            interrupts, its own work. A share of a CPU's time. It is not steal, which the hypervisor takes.
            Also: taken by other tasks
            How: As `stolen.share` with `cause=os`: gaps of a thread that never sleeps beside which an
            interrupt or an involuntary switch of this kernel was counted. The worst CPU counts.
        ",
    ),
    (
        names::FIRMWARE,
        "
            What was taken from below the kernel where no hypervisor is: system management interrupts. In a
            virtual machine it is `steal`.
            Also: SMI
            How: As `stolen.share` with `cause=below`.
        ",
    ),
    (
        names::ANYBODY,
        "
            What was taken from a thread that never sleeps, where `/proc/interrupts` does not tell whose it
            was: of the OS, or from below.
            How: As `stolen.share` without a cause.
        ",
    ),
    (
        names::WAKEUP,
        "
            How late a thread wakes up that slept until a time, in 99 of 100 wake-ups, as an ordinary task.
            How: As `wakeup.latency`: 120 wake-ups a block, a millisecond apart, on each CPU at once.
        ",
    ),
    (
        names::CLOCK,
        "
            How far the core clock moves within a block: from the 5th to the 95th percentile, over the median.
            How: A look at a chain of dependent adds after each piece of work. The worst CPU counts.
        ",
    ),
    (
        names::TIME,
        "
            How long the command took, from its first instruction to its end.
        ",
    ),
    (
        names::CORE,
        "
            The clock of the cores on which the command ran.
            How: Counted cycles over time on a CPU; without a PMU the kernel's current clock meanwhile; else a
            chain of dependent adds just after the end.
        ",
    ),
    (
        names::SWITCHES,
        "
            How often a thread of the command, in `live` any thread of the machine, gave its CPU up or was taken off it.
            Also: switches
        ",
    ),
    (
        names::MIGRATIONS,
        "
            How often a thread of the command came to another CPU.
        ",
    ),
];
