//! What the kernel and the hypervisor cost: wake-ups, stolen time, system calls.

use super::{Definition, LOWER, TEN_SECONDS, Whole};
use crate::label::Label;

metrics! {
    WAKEUP_LATENCY = Definition::new("wakeup.latency", "Wake-up latency", "ns", LOWER, (0.0, TEN_SECONDS))
        .at(&[Label::Cpu, Label::Policy, Label::Priority, Label::Setting, Label::Corrected])
        .explained("
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
        "),
    // cyclictest's summary line holds no median: these are its Min, Avg and Max.
    WAKEUP_MINIMUM = Definition::new("wakeup.minimum", "Wake-up latency, minimum", "ns", LOWER, (0.0, TEN_SECONDS))
        .at(&[Label::Cpu, Label::Policy, Label::Priority, Label::Setting])
        .explained("
            The shortest wake-up latency of a run, ns: the `Min` of cyclictest's line. Only in imported records.
            How: Read from cyclictest's output.
            Usual: 1 to 5 µs of real-time threads on an idle machine that is not virtual.
            Moves: Idle states, the hypervisor's way of delivering timers, timer slack.
        "),
    WAKEUP_AVERAGE = Definition::new("wakeup.average", "Wake-up latency, average", "ns", LOWER, (0.0, TEN_SECONDS))
        .at(&[Label::Cpu, Label::Policy, Label::Priority, Label::Setting])
        .explained("
            Mean wake-up latency of a run, ns: the `Avg` of cyclictest's line. Only in imported records: a mean
            hides what a median and percentiles tell, and linespeed measures those (`wakeup.latency`, whose
            summary also holds the mean).
            Also: avg
            How: Read from cyclictest's output, whose timers and threads are those of `wakeup.latency`.
            Usual: As `wakeup.latency`, but one long delay in a run moves it.
            Moves: The same as `wakeup.latency`; a few delays of milliseconds from below the kernel are enough.
        "),
    WAKEUP_MAXIMUM = Definition::new("wakeup.maximum", "Wake-up latency, maximum", "ns", LOWER, (0.0, TEN_SECONDS))
        .at(&[Label::Cpu, Label::Policy, Label::Priority, Label::Setting])
        .explained("
            The longest wake-up latency of a run, ns: the `Max` of cyclictest's line. Only in imported records; it
            grows with the length of the run.
            How: Read from cyclictest's output.
            Usual: Microseconds on a real-time kernel, milliseconds on a busy virtual machine.
            Moves: Anything that can keep a CPU from a thread: other threads, interrupts, firmware, the
            hypervisor.
        "),
    STOLEN_SHARE = Definition::new("stolen.share", "Time taken from the program", "ratio", LOWER, (0.0, 1.0))
        .at(&[Label::Cpu, Label::Cause])
        .part_of(Whole::Time)
        .added_up()
        .explained("
            Share of a CPU's time that a program which never stops did not get.
            Also: taken
            How: A thread spins on the cycle counter; every gap far above the loop's own time was taken by
            somebody. `cause=os`: an interrupt, softirq or switch of this kernel was counted beside it.
            `cause=below`: none was, so it was firmware (SMI) or the hypervisor.
            Usual: Under 0.1 % on a quiet bare-metal CPU at 250 ticks a second; the kernel's own example of 1000
            interrupts a second cost 0.01 to 0.8 %. `below` is 0 on good hardware; several percent on a shared
            cloud CPU.
            Moves: Timer ticks (HZ, nohz_full), device interrupts, other programs, neighbours on the host, SMIs.
        "),
    STOLEN_GAP = Definition::new("stolen.gap", "Gaps in busy loops", "ns", LOWER, (0.0, TEN_SECONDS))
        .at(&[Label::Cpu, Label::Cause])
        .explained("
            How long each interruption of a busy loop lasts.
            Also: gaps, longest gap, median gap, p99 gap, max gap
            How: As `stolen.share`; each gap is kept.
            Usual: Timer tick 1 to 10 µs on bare metal, several times that in a virtual machine; another program's
            time slice 1 to 10 ms; SMI 50 µs to several ms.
            Moves: As `stolen.share`; a gap of whole milliseconds is nearly always another task, a quota or the
            hypervisor's scheduler.
        "),
    COST_SYSCALL = Definition::new("cost.syscall", "System call", "ns", LOWER, (1.0, 1e7))
        .at(&[Label::Cpu])
        .explained("
            Time for the cheapest system call, there and back.
            How: A raw system call that does nothing, many times over, less the empty loop.
            Usual: 50 to 150 ns without page-table isolation; 200 to 500 ns with it; microseconds in a sandbox
            that traps calls (gVisor) or under ptrace.
            Moves: Mitigations (Meltdown, Spectre, Retbleed), auditing, seccomp filters, sandboxes.
        "),
    COST_CLOCK_READ = Definition::new("cost.clock_read", "Clock read", "ns", LOWER, (0.5, 1e7))
        .at(&[Label::Cpu, Label::Clocksource])
        .explained("
            Time to read the clock (`clock_gettime`, monotonic).
            How: The call as a program makes it, through the vDSO, many times over.
            Usual: 13 to 35 ns bare metal, to about 140 ns in some virtual machines, from the vDSO; 200 ns to 3 µs
            when it has become a system call.
            Moves: The clocksource: `tsc`, `kvm-clock`, `hyperv` and `arch_sys_counter` are read in user space;
            `hpet`, `acpi_pm`, `xen` and `jiffies` need the kernel. A trapped RDTSC costs as much.
        "),
    COST_CONTEXT_SWITCH = Definition::new("cost.context_switch", "Context switch", "ns", LOWER, (10.0, 1e8))
        .at(&[Label::Cpu, Label::ToCpu])
        .explained("
            Time for one CPU to stop one thread and run another, or to hand work to a thread on another CPU
            (`to_cpu`).
            How: Two threads pass a byte to and fro through pipes; a round trip halved, less what the pipe alone
            costs.
            Usual: 1 to 3 µs on one CPU; 2 to 10 µs to another CPU, tens of µs when that CPU sleeps deeply or is
            virtual.
            Moves: Mitigations, idle states of the other CPU, preemption model, hypervisor exits for interrupts
            between CPUs.
        "),
    COST_PAGE_FAULT = Definition::new("cost.page_fault", "Page fault", "ns", LOWER, (10.0, TEN_SECONDS))
        .at(&[Label::Cpu, Label::Page])
        .explained("
            Time for the kernel to give a program a page at its first touch.
            How: Fresh memory is mapped and one byte of each page written. `page` is the page's size.
            Usual: 4 KiB: 0.25 to 1 µs, more under nested paging. 2 MiB: 50 to 300 µs, nearly all of it clearing
            the page, so far less per byte.
            Moves: Mitigations, nested paging, memory cgroup accounting, fragmentation (huge pages),
            `init_on_alloc`, NUMA balancing.
        "),
    COST_MUTEX_HANDOVER = Definition::new("cost.mutex_handover", "Mutex handover", "ns", LOWER, (10.0, 1e8))
        .at(&[Label::Cpu, Label::ToCpu])
        .explained("
            Time from the unlock of a mutex by one thread to its holder's successor running on `to_cpu`.
            How: Two threads take a futex-based mutex in turn, each sleeping until the other has released it.
            Usual: 2 to 10 µs between awake CPUs, tens of µs when the waiter's CPU sleeps or is virtual.
            Moves: As `cost.context_switch`, and the time a cache line takes between the two CPUs.
        "),
    COST_BRANCH_MISPREDICT = Definition::new("cost.branch_mispredict", "Branch mispredict", "ns", LOWER, (0.1, 1e4))
        .at(&[Label::Cpu])
        .explained("
            Time lost when the CPU guesses a branch wrongly.
            How: Branches on fresh random bits against the same branches on a pattern that the CPU can learn; the
            difference over the number of wrong guesses. The sequence is never used twice: predictors memorise
            thousands of branches.
            Usual: 10 to 20 cycles (3 to 7 ns); 14 cycles on Cortex-A76, 16 to 20 on Skylake.
            Moves: The core design and its clock.
        "),
    COST_SPIN_HINT = Definition::new("cost.spin_hint", "Spin hint", "ns", LOWER, (0.05, 1e5))
        .at(&[Label::Cpu])
        .explained("
            Time of the instruction that spin loops wait with: PAUSE on x86-64, YIELD or ISB on aarch64.
            How: A row of them, timed.
            Usual: About 10 cycles on Intel before Skylake, 140 since; a few tens on AMD Zen; near 0 for YIELD on
            Arm.
            Moves: The core design only. A program that counts PAUSEs to choose its back-off waits 14 times longer
            on the newer core.
        "),
    POWER_PACKAGE = Definition::new("power.package", "Power", "W", None, (0.05, 20_000.0))
        .at(&[Label::Workload, Label::Scope])
        .explained("
            Power while all CPUs do one kind of work, or none (`workload=idle`), W. `scope=packages` adds up the
            CPU packages, `machine` is a meter of the whole machine.
            Also: watts, RAPL, power key
            How: In turns of a tenth of a second, idle, `flops`, `cpu-bound`, `memory-bound` and `triad` on every
            CPU; energy from RAPL (`/sys/class/powercap/intel-rapl:*/energy_uj`, root alone), else ACPI's power
            meter in hwmon, which averages over a second and is given two.
            Usual: Flops near the package's limit; loads that wait for memory far below arithmetic.
            Moves: Vector width, clock and its limits, memory traffic, temperature.
        "),
}
