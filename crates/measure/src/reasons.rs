//! Reasons and remedies that several measurements give.

use record::Template;

/// Nothing to run on.
pub(crate) const NO_CPU: Template = Template::new("no-cpu-allowed", "no CPU may be used");

/// What is between CPUs, where there is one.
pub(crate) const NEEDS_TWO_CPUS: Template = Template::new("needs-two-cpus", "it needs two CPUs");

/// What makes possible what needs several CPUs.
pub(crate) const MORE_CPUS: Template =
    Template::new("allow-more-cpus", "allow more CPUs (--cpus, taskset, cpuset)");

/// The one thread of a measurement.
pub(crate) const OWN_THREAD_NOT_STARTED: Template =
    Template::new("own-thread-not-started", "its thread could not be started");

/// One of several threads.
pub(crate) const THREAD_NOT_STARTED: Template =
    Template::new("thread-not-started", "a thread could not be started");

/// CPUs that sched_setaffinity refuses.
pub(crate) const NOT_PINNED: Template =
    Template::new("not-pinned", "no thread could be pinned to CPU {cpus}");

/// What leaves a CPU out that no thread can be pinned to.
pub(crate) const LEAVE_OUT: Template = Template::new("cpu-leave-out", "linespeed --cpus LIST, excluding it");

/// Memory that mmap refuses.
pub(crate) const NOT_MAPPED: Template = Template::new("memory-not-mapped", "cannot map the memory: {error}");

/// Nothing to chase through.
pub(crate) const NO_MEMORY: Template = Template::new("no-memory-left", "not enough memory for a working set");

/// What gives a measurement more memory.
pub(crate) const MORE_MEMORY: Template =
    Template::new("memory-limit-raise", "raise the memory limit or free memory");

/// What would give a node more memory to measure in.
pub(crate) const FREE_MEMORY: Template =
    Template::new("numa-free-memory", "free memory on that node: numactl --hardware shows how much it has");

/// What lets memory be bound to its node.
pub(crate) const ALLOW_MBIND: Template =
    Template::new("mbind-allow", "allow mbind, which a seccomp filter blocks");

/// Pages of which the kernel does not tell where they lie.
pub(crate) const PLACEMENT_NOT_VERIFIED: Template =
    Template::new("placement-not-verified", "placement is not verified: {why}");

/// Pages of which the kernel does not tell how large they are.
pub(crate) const PAGE_SIZE_NOT_VERIFIED: Template =
    Template::new("page-size-not-verified", "the page size is not verified: /proc/self/smaps cannot be read");

/// What gives huge pages.
pub(crate) const HUGE_PAGES: Template = Template::new(
    "huge-pages-provide",
    "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, or reserve huge pages with vm.nr_hugepages",
);

/// A CPU without vectors that a read is written for.
pub(crate) const NO_READ_KERNEL: Template = Template::new("no-read-kernel", "no read kernel is usable here");
