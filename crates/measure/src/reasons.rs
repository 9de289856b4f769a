//! Reasons and remedies shared by several measurements.

use record::Template;

/// The reason if no CPU is allowed.
pub(crate) const NO_CPU: Template = Template::new("no-cpu-allowed", "no CPU is available");

/// The reason why a measurement between CPUs is impossible on a single CPU.
pub(crate) const NEEDS_TWO_CPUS: Template = Template::new("needs-two-cpus", "requires two CPUs");

/// The remedy for too few CPUs.
pub(crate) const MORE_CPUS: Template =
    Template::new("allow-more-cpus", "allow more CPUs (--cpus, taskset, cpuset)");

/// A measurement's single thread could not be started.
pub(crate) const OWN_THREAD_NOT_STARTED: Template =
    Template::new("own-thread-not-started", "its thread could not be started");

/// One of several threads could not be started.
pub(crate) const THREAD_NOT_STARTED: Template =
    Template::new("thread-not-started", "a thread could not be started");

/// CPUs refused by sched_setaffinity.
pub(crate) const NOT_PINNED: Template =
    Template::new("not-pinned", "no thread could be pinned to CPU {cpus}");

/// The remedy for a CPU to which no thread can be pinned.
pub(crate) const LEAVE_OUT: Template = Template::new("cpu-leave-out", "linespeed --cpus LIST, excluding it");

/// Memory refused by mmap.
pub(crate) const NOT_MAPPED: Template = Template::new("memory-not-mapped", "cannot map the memory: {error}");

/// Too little memory for a chase.
pub(crate) const NO_MEMORY: Template = Template::new("no-memory-left", "not enough memory for a working set");

/// The remedy for too little memory.
pub(crate) const MORE_MEMORY: Template =
    Template::new("memory-limit-raise", "raise the memory limit or free memory");

/// The remedy for too little memory on a node.
pub(crate) const FREE_MEMORY: Template =
    Template::new("numa-free-memory", "free memory on that node (numactl --hardware shows how much is free)");

/// The remedy for memory that cannot be bound to its node.
pub(crate) const ALLOW_MBIND: Template =
    Template::new("mbind-allow", "allow mbind, which a seccomp filter blocks");

/// Pages whose node the kernel does not report.
pub(crate) const PLACEMENT_NOT_VERIFIED: Template =
    Template::new("placement-not-verified", "placement is not verified: {why}");

/// Pages whose size the kernel does not report.
pub(crate) const PAGE_SIZE_NOT_VERIFIED: Template =
    Template::new("page-size-not-verified", "the page size is not verified: /proc/self/smaps cannot be read");

/// The remedy for missing huge pages.
pub(crate) const HUGE_PAGES: Template = Template::new(
    "huge-pages-provide",
    "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, or reserve huge pages with vm.nr_hugepages",
);

/// A CPU that lacks the vector instructions of all read loops.
pub(crate) const NO_READ_KERNEL: Template = Template::new("no-read-kernel", "no read loop is usable here");
