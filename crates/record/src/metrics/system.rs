//! What the kernel and the hypervisor cost: wake-ups, stolen time, system calls.

use super::{LOWER, Metric, Statistic, TEN_SECONDS, Whole};
use crate::label::Label;

pub(super) const METRICS: &[Metric] = &[
    Metric {
        name: "wakeup.latency",
        title: "Wake-up latency",
        unit: "ns",
        part_of: None,
        better: LOWER,
        keys: &[Label::Cpu, Label::Policy, Label::Priority, Label::Setting, Label::Corrected],
        plausible: (0.0, TEN_SECONDS),
        figure: Statistic::Median,
        glossary: "
            How late a sleeping thread runs: from the moment its timer was due to the moment it executes. What
            cyclictest measures. It stands for every reply to a packet, lock or timer.
            Also: wake-up, wake-ups, missed
            How: A thread bound to `cpu` sleeps until absolute times at a fixed interval. `policy` is `other`
            (what every program gets) or `fifo` (real-time). `setting=as-is` is the machine as it was; `awake`
            holds CPUs out of deep idle states through `/dev/cpu_dma_latency`, as cyclictest does, so that its averages
            stand beside this one's mean; `tuned` also sets the timer slack to 1 ns.
            `corrected=true` adds the periods that a long delay swallowed, which cyclictest leaves out. The headline and its
            ceiling are of one CPU: that whose gain by `tuned` is in the middle, of an even number the worse of the middle two.
            Usual: `other` as-is 55 to 80 µs in the median, 50 µs of it timer slack; averages of 11 to 55 µs were
            published for four cloud servers whose idle states were held off, with maxima of 5 to 21 ms. `fifo`
            tuned a few µs on bare metal, 5 to 25 µs in a virtual machine; maxima under 100 µs want a PREEMPT_RT
            kernel.
            Moves: Timer slack, depth of idle states, scheduling policy, load, preemption model, halting and
            waking through a hypervisor, firmware (SMI).
        ",
    },
    // cyclictest's summary line holds no median: these are its Min, Avg and Max.
    Metric {
        name: "wakeup.minimum",
        title: "Wake-up latency, minimum",
        unit: "ns",
        part_of: None,
        better: LOWER,
        keys: &[Label::Cpu, Label::Policy, Label::Priority, Label::Setting],
        plausible: (0.0, TEN_SECONDS),
        figure: Statistic::Median,
        glossary: "
            The shortest wake-up latency of a run, ns: the `Min` of cyclictest's line. Only in imported records.
            How: Read from cyclictest's output.
            Usual: 1 to 5 µs of real-time threads on an idle machine that is not virtual.
            Moves: Idle states, the hypervisor's way of delivering timers, timer slack.
        ",
    },
    Metric {
        name: "wakeup.average",
        title: "Wake-up latency, average",
        unit: "ns",
        part_of: None,
        better: LOWER,
        keys: &[Label::Cpu, Label::Policy, Label::Priority, Label::Setting],
        plausible: (0.0, TEN_SECONDS),
        figure: Statistic::Median,
        glossary: "
            Mean wake-up latency of a run, ns: the `Avg` of cyclictest's line. Only in imported records: a mean
            hides what a median and percentiles tell, and linespeed measures those (`wakeup.latency`, whose
            summary also holds the mean).
            Also: avg
            How: Read from cyclictest's output, whose timers and threads are those of `wakeup.latency`.
            Usual: As `wakeup.latency`, but one long delay in a run moves it.
            Moves: The same as `wakeup.latency`; a few delays of milliseconds from below the kernel are enough.
        ",
    },
    Metric {
        name: "wakeup.maximum",
        title: "Wake-up latency, maximum",
        unit: "ns",
        part_of: None,
        better: LOWER,
        keys: &[Label::Cpu, Label::Policy, Label::Priority, Label::Setting],
        plausible: (0.0, TEN_SECONDS),
        figure: Statistic::Median,
        glossary: "
            The longest wake-up latency of a run, ns: the `Max` of cyclictest's line. Only in imported records; it
            grows with the length of the run.
            How: Read from cyclictest's output.
            Usual: Microseconds on a real-time kernel, milliseconds on a busy virtual machine.
            Moves: Anything that can keep a CPU from a thread: other threads, interrupts, firmware, the
            hypervisor.
        ",
    },
    Metric {
        name: "stolen.share",
        title: "Time taken from the program",
        unit: "ratio",
        part_of: Some(Whole::Time),
        better: LOWER,
        keys: &[Label::Cpu, Label::Cause],
        plausible: (0.0, 1.0),
        figure: Statistic::Mean,
        glossary: "
            Share of a CPU's time that a program which never stops did not get.
            Also: taken
            How: A thread spins on the cycle counter; every gap far above the loop's own time was taken by
            somebody. `cause=os`: an interrupt, softirq or switch of this kernel was counted beside it.
            `cause=below`: none was, so it was firmware (SMI) or the hypervisor.
            Usual: Under 0.1 % on a quiet bare-metal CPU at 250 ticks a second; the kernel's own example of 1000
            interrupts a second cost 0.01 to 0.8 %. `below` is 0 on good hardware; several percent on a shared
            cloud CPU.
            Moves: Timer ticks (HZ, nohz_full), device interrupts, other programs, neighbours on the host, SMIs.
        ",
    },
    Metric {
        name: "stolen.gap",
        title: "Gaps in busy loops",
        unit: "ns",
        part_of: None,
        better: LOWER,
        keys: &[Label::Cpu, Label::Cause],
        plausible: (0.0, TEN_SECONDS),
        figure: Statistic::Median,
        glossary: "
            How long each interruption of a busy loop lasts.
            Also: gaps, longest gap, median gap, p99 gap, max gap
            How: As `stolen.share`; each gap is kept.
            Usual: Timer tick 1 to 10 µs on bare metal, several times that in a virtual machine; another program's
            time slice 1 to 10 ms; SMI 50 µs to several ms.
            Moves: As `stolen.share`; a gap of whole milliseconds is nearly always another task, a quota or the
            hypervisor's scheduler.
        ",
    },
    Metric {
        name: "cost.syscall",
        title: "System call",
        unit: "ns",
        part_of: None,
        better: LOWER,
        keys: &[Label::Cpu],
        plausible: (1.0, 1e7),
        figure: Statistic::Median,
        glossary: "
            Time for the cheapest system call, there and back.
            How: A raw system call that does nothing, many times over, less the empty loop.
            Usual: 50 to 150 ns without page-table isolation; 200 to 500 ns with it; microseconds in a sandbox
            that traps calls (gVisor) or under ptrace.
            Moves: Mitigations (Meltdown, Spectre, Retbleed), auditing, seccomp filters, sandboxes.
        ",
    },
    Metric {
        name: "cost.clock_read",
        title: "Clock read",
        unit: "ns",
        part_of: None,
        better: LOWER,
        keys: &[Label::Cpu, Label::Clocksource],
        plausible: (0.5, 1e7),
        figure: Statistic::Median,
        glossary: "
            Time to read the clock (`clock_gettime`, monotonic).
            How: The call as a program makes it, through the vDSO, many times over.
            Usual: 13 to 35 ns bare metal, to about 140 ns in some virtual machines, from the vDSO; 200 ns to 3 µs
            when it has become a system call.
            Moves: The clocksource: `tsc`, `kvm-clock`, `hyperv` and `arch_sys_counter` are read in user space;
            `hpet`, `acpi_pm`, `xen` and `jiffies` need the kernel. A trapped RDTSC costs as much.
        ",
    },
    Metric {
        name: "cost.context_switch",
        title: "Context switch",
        unit: "ns",
        part_of: None,
        better: LOWER,
        keys: &[Label::Cpu, Label::ToCpu],
        plausible: (10.0, 1e8),
        figure: Statistic::Median,
        glossary: "
            Time for one CPU to stop one thread and run another, or to hand work to a thread on another CPU
            (`to_cpu`).
            How: Two threads pass a byte to and fro through pipes; a round trip halved, less what the pipe alone
            costs.
            Usual: 1 to 3 µs on one CPU; 2 to 10 µs to another CPU, tens of µs when that CPU sleeps deeply or is
            virtual.
            Moves: Mitigations, idle states of the other CPU, preemption model, hypervisor exits for interrupts
            between CPUs.
        ",
    },
    Metric {
        name: "cost.page_fault",
        title: "Page fault",
        unit: "ns",
        part_of: None,
        better: LOWER,
        keys: &[Label::Cpu, Label::Page],
        plausible: (10.0, TEN_SECONDS),
        figure: Statistic::Median,
        glossary: "
            Time for the kernel to give a program a page at its first touch.
            How: Fresh memory is mapped and one byte of each page written. `page` is the page's size.
            Usual: 4 KiB: 0.25 to 1 µs, more under nested paging. 2 MiB: 50 to 300 µs, nearly all of it clearing
            the page, so far less per byte.
            Moves: Mitigations, nested paging, memory cgroup accounting, fragmentation (huge pages),
            `init_on_alloc`, NUMA balancing.
        ",
    },
    Metric {
        name: "cost.mutex_handover",
        title: "Mutex handover",
        unit: "ns",
        part_of: None,
        better: LOWER,
        keys: &[Label::Cpu, Label::ToCpu],
        plausible: (10.0, 1e8),
        figure: Statistic::Median,
        glossary: "
            Time from the unlock of a mutex by one thread to its holder's successor running on `to_cpu`.
            How: Two threads take a futex-based mutex in turn, each sleeping until the other has released it.
            Usual: 2 to 10 µs between awake CPUs, tens of µs when the waiter's CPU sleeps or is virtual.
            Moves: As `cost.context_switch`, and the time a cache line takes between the two CPUs.
        ",
    },
    Metric {
        name: "cost.branch_mispredict",
        title: "Branch mispredict",
        unit: "ns",
        part_of: None,
        better: LOWER,
        keys: &[Label::Cpu],
        plausible: (0.1, 1e4),
        figure: Statistic::Median,
        glossary: "
            Time lost when the CPU guesses a branch wrongly.
            How: Branches on fresh random bits against the same branches on a pattern that the CPU can learn; the
            difference over the number of wrong guesses. The sequence is never used twice: predictors memorise
            thousands of branches.
            Usual: 10 to 20 cycles (3 to 7 ns); 14 cycles on Cortex-A76, 16 to 20 on Skylake.
            Moves: The core design and its clock.
        ",
    },
    Metric {
        name: "cost.spin_hint",
        title: "Spin hint",
        unit: "ns",
        part_of: None,
        better: LOWER,
        keys: &[Label::Cpu],
        plausible: (0.05, 1e5),
        figure: Statistic::Median,
        glossary: "
            Time of the instruction that spin loops wait with: PAUSE on x86-64, YIELD or ISB on aarch64.
            How: A row of them, timed.
            Usual: About 10 cycles on Intel before Skylake, 140 since; a few tens on AMD Zen; near 0 for YIELD on
            Arm.
            Moves: The core design only. A program that counts PAUSEs to choose its back-off waits 14 times longer
            on the newer core.
        ",
    },
    Metric {
        name: "power.package",
        title: "Power",
        unit: "W",
        part_of: None,
        better: None,
        keys: &[Label::Workload, Label::Scope],
        plausible: (0.05, 20_000.0),
        figure: Statistic::Median,
        glossary: "
            Power while all CPUs do one kind of work, or none (`workload=idle`), W. `scope=packages` adds up the
            CPU packages, `machine` is a meter of the whole machine.
            Also: watts, RAPL, power key
            How: In turns of a tenth of a second, idle, `flops`, `cpu-bound`, `memory-bound` and `triad` on every
            CPU; energy from RAPL (`/sys/class/powercap/intel-rapl:*/energy_uj`, root alone), else ACPI's power
            meter in hwmon, which averages over a second and is given two.
            Usual: Flops near the package's limit; loads that wait for memory far below arithmetic.
            Moves: Vector width, clock and its limits, memory traffic, temperature.
        ",
    },
];
