//! Small costs: system call, clock reading, context switch, page fault, mutex hand-over, branch mispredict, the spin
//! hint. Each is a few thousand of the thing at a time, less what is not the thing.

use record::Label;
use record::detail;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use kernels::{branch, hint};
use record::{Coverage, CpuList, Labels, Machine, Measurement, Unavailable, text};

use crate::budget::{Budget, Depth};
use crate::context::{Context, Halt};
use crate::cycle::Random;
use crate::list::Measure;
use crate::repeat::{Effort, judge, measurement};
use crate::thread_group;
use crate::watch::{Watch, Watched};
use os::mapping::{HUGE, Mapping, Page, base_page};

/// See the module.
pub(crate) struct Costs;

/// Half-width of the interval beyond which a cost counts as too noisy.
const TARGET: f64 = 0.05;

/// Branches in one sequence: far more than any predictor memorises (5,000 to 30,000 seen).
const BRANCHES: usize = 100_000;

/// Hand-overs in one sample.
const HANDOVERS: u32 = 400;

impl Measure for Costs {
    fn name(&self) -> &'static str {
        "costs"
    }

    fn glossary(&self) -> &'static str {
        "
            What do the small things cost: system call, clock read, context switch, page fault, mutex, branch,
            spin hint? `linespeed list` says how long it takes. Two of them need a second CPU.
            How: See the metrics that begin with `cost.`.
        "
    }

    fn metrics(&self) -> &'static [&'static str] {
        &[
            "cost.syscall",
            "cost.clock_read",
            "cost.context_switch",
            "cost.page_fault",
            "cost.mutex_handover",
            "cost.branch_mispredict",
            "cost.spin_hint",
        ]
    }

    fn budget(&self, _: &Machine, _: &CpuList, depth: Depth) -> Budget {
        Budget { seconds: depth.pick(0.7, 2.0, 15.0), bytes: 80 << 20 }
    }

    fn run(&self, context: &mut Context) -> Result<(), Halt> {
        let lead = context
            .lead_cpu()
            .ok_or_else(|| Halt::Impossible(text!("no-cpu-allowed", "no CPU may be used")))?;
        let other = other_cpu(context, lead);
        let effort = Effort {
            least: context.depth.pick(7, 15, 30),
            most: context.depth.pick(15, 60, 300),
            target: 0.01,
        };
        let part = Duration::from_secs_f64(context.depth.pick(0.05, 0.3, 1.2));
        let memory = context.memory_allowance();
        let alone =
            thread_group::run_on(lead, |member| single(lead, member.pinned, effort, part, memory, context));
        let Some((measurements, coverage)) = alone else {
            return Err(Halt::Impossible(text!("own-thread-not-started", "its thread could not be started")));
        };
        measurements.into_iter().for_each(|m| context.push(m));
        context.coverage.extend(coverage);
        context.advance(0.6);
        for to in std::iter::once(lead).chain(other) {
            context.check()?;
            context_switch(context, lead, to, effort, part);
            mutex_handover(context, lead, to, effort, part);
            context.advance(if to == lead { 0.8 } else { 1.0 });
        }
        if other.is_none() {
            context.coverage.push(Coverage::degraded(
                "costs",
                text!("across-cpus-one-allowed", "across CPUs: only one CPU may be used"),
            ));
        }
        Ok(())
    }
}

/// A CPU of another core of the same package, for what goes across CPUs.
fn other_cpu(context: &Context, lead: u32) -> Option<u32> {
    let machine = context.machine;
    let of = |cpu: u32| machine.cpu(cpu).map(|c| (c.package, c.core));
    let (package, core) = of(lead)?;
    let others: Vec<u32> = context.cpus.iter().filter(|cpu| *cpu != lead).collect();
    let near = |cpu: &&u32| of(**cpu).is_some_and(|(p, c)| p == package && (c != core || c.is_none()));
    others.iter().rev().find(near).or(others.last()).copied()
}

/// A place for metrics of one CPU.
fn cpu_place(cpu: u32) -> Labels {
    Labels::new().with_label(Label::Cpu, cpu)
}

/// Everything that one thread does by itself.
fn single(
    cpu: u32,
    pinned: bool,
    effort: Effort,
    part: Duration,
    memory: u64,
    context: &Context,
) -> (Vec<Measurement>, Vec<Coverage>) {
    let mut coverage = Vec::new();
    if !pinned {
        coverage.push(Coverage::degraded(
            "costs",
            text!("costs-not-pinned", "the thread cannot be pinned to CPU {cpu}", cpu),
        ));
    }
    let mut watch = Watch::new(cpu);
    let mut all = Vec::new();
    let mut add = |metric: &'static str, place: Labels, per: f64, samples: Vec<Watched>| {
        let mut m = measurement(metric, place, &samples, |s| s.ns / per);
        judge(&mut m, TARGET);
        all.push(m);
    };
    let stopped = |end: Instant| move || Instant::now() >= end || context.stop.signal().is_some();
    let mut repeat = |work: &mut dyn FnMut()| {
        // Once for the caches, the branch predictor and the page tables.
        work();
        watch.refresh();
        effort.samples(stopped(Instant::now() + part), || watch.sample(&mut *work))
    };

    const CALLS: u32 = 2_000;
    let samples = repeat(&mut || {
        for _ in 0..CALLS {
            // SAFETY: getppid takes nothing, touches nothing and is never answered without entering the kernel.
            unsafe { libc::syscall(libc::SYS_getppid) };
        }
    });
    add("cost.syscall", cpu_place(cpu), CALLS.into(), samples);

    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let samples = repeat(&mut || {
        for _ in 0..CALLS {
            // SAFETY: the timespec outlives the call.
            unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
        }
    });
    let mut place = cpu_place(cpu);
    if let Some(source) = &context.snapshot.clocksource {
        place = place.with_label(Label::Clocksource, source.as_str());
    }
    add("cost.clock_read", place, CALLS.into(), samples);

    let (iterations, per) = (100, f64::from(hint::SPIN_HINT.work.operations) * 100.0);
    let samples = repeat(&mut || (hint::SPIN_HINT.run)(iterations));
    add("cost.spin_hint", cpu_place(cpu), per, samples);

    for (page, step, pages) in [(Page::Base, base_page() as usize, 1024), (Page::Huge, HUGE, 16)] {
        let place = cpu_place(cpu).with_label(Label::Page, page.word());
        if (step * pages) as u64 > memory {
            coverage.push(Coverage::skipped(
                format!("costs page fault {}", page.word()),
                text!("costs-memory-short", "not enough memory"),
            ));
            continue;
        }
        match page_faults(page, step, pages, effort, part, &mut watch) {
            Ok(samples) => {
                let mut m = measurement("cost.page_fault", place, &samples, |s| s.ns / pages as f64);
                judge(&mut m, TARGET);
                all.push(m);
            }
            Err(why) => coverage.push(
                why.into_impossible(format!("costs page fault {}", page.word()))
                    .with_remedy("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
            ),
        }
    }
    let mut m = mispredicts(cpu, effort, part, &mut watch);
    judge(&mut m, TARGET);
    all.push(m);
    (all, coverage)
}

/// First touches of fresh pages; mapping and unmapping are outside the time.
fn page_faults(
    page: Page,
    step: usize,
    pages: usize,
    effort: Effort,
    part: Duration,
    watch: &mut Watch,
) -> Result<Vec<Watched>, Unavailable> {
    if page == Page::Huge && !os::mapping::transparent_huge_pages_allowed() {
        return Err(text!("costs-thp-off", "transparent huge pages are off").into());
    }
    let mut failed = None;
    let end = Instant::now() + part;
    let samples = effort.samples(
        || Instant::now() >= end,
        || {
            let mapping = match Mapping::new(step * pages, page) {
                Ok(mapping) => mapping,
                Err(error) => {
                    failed = Some(text!("costs-not-mapped", "{error}", error));
                    return watch.sample(|| ());
                }
            };
            let before = os::minor_faults();
            let sample = watch.sample(|| {
                for index in 0..pages {
                    // SAFETY: within the mapping.
                    unsafe { mapping.start().add(index * step).write_volatile(1) };
                }
            });
            // Fewer faults than pages: the kernel mapped several at once, and the figure is not of one fault.
            if let (Some(before), Some(after)) = (before, os::minor_faults())
                && (after - before) < pages as u64 * 9 / 10
            {
                failed = Some(text!(
                    "costs-faults-around",
                    "{faults} faults for {pages} pages",
                    faults = (after - before),
                    pages
                ));
            }
            if page == Page::Huge && mapping.huge_share().is_some_and(|share| share < 0.99) {
                failed = Some(text!("costs-no-huge-pages", "the kernel provided no huge pages"));
            }
            sample
        },
    );
    failed.map_or(Ok(samples), |why| Err(why.into()))
}

/// (Random − predictable) ÷ the half that is mispredicted, a fresh sequence each time.
fn mispredicts(cpu: u32, effort: Effort, part: Duration, watch: &mut Watch) -> Measurement {
    let mut random = Random::new(ns_since_boot());
    let (mut bits, zeros) = (vec![0u8; BRANCHES], vec![0u8; BRANCHES]);
    let mut fixed = Vec::new();
    let end = Instant::now() + part;
    let samples = effort.samples(
        || Instant::now() >= end,
        || {
            for chunk in bits.chunks_mut(8) {
                let bytes = random.number().to_le_bytes();
                for (bit, byte) in chunk.iter_mut().zip(bytes) {
                    *bit = byte & 1;
                }
            }
            let run = |bytes: &[u8]| {
                // SAFETY: the kernel reads `count` bytes from a live slice of that length.
                let taken = unsafe { branch::branches(bytes.as_ptr(), bytes.len() as u64) };
                std::hint::black_box(taken);
            };
            let same = watch.sample(|| run(&zeros));
            let mut mixed = watch.sample(|| run(&bits));
            mixed.marks.extend(same.marks);
            fixed.push(same.ns / BRANCHES as f64);
            mixed.ns = (mixed.ns - same.ns).max(0.0);
            mixed
        },
    );
    measurement("cost.branch_mispredict", cpu_place(cpu), &samples, |s| s.ns / (BRANCHES as f64 * 0.5))
        .with_detail(detail::PREDICTED_BRANCH_NS, record::Summary::from_samples(&fixed).median)
}

fn ns_since_boot() -> u64 {
    kernels::counter::ticks()
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the kernel fills two descriptors, which are then owned here.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// What the partner of a context switch answers; anything else ends it.
const PING: u8 = 1;

fn send(to: &OwnedFd, byte: u8) {
    // SAFETY: one byte from a live array.
    unsafe { libc::write(to.as_raw_fd(), [byte].as_ptr().cast(), 1) };
}

/// The next byte, 0 when the pipe is closed or broken.
fn receive(from: &OwnedFd) -> u8 {
    let mut byte = [0u8];
    // SAFETY: one byte into a live array.
    let read = unsafe { libc::read(from.as_raw_fd(), byte.as_mut_ptr().cast(), 1) };
    if read == 1 { byte[0] } else { 0 }
}

/// A byte sent to and fro between two threads through pipes, less what one thread alone needs to write and read it:
/// lmbench's lat_ctx with two processes and no working set.
fn context_switch(context: &mut Context, cpu: u32, to: u32, effort: Effort, part: Duration) {
    let (Ok(there), Ok(back)) = (pipe(), pipe()) else {
        context
            .coverage
            .push(Coverage::impossible("costs context switch", text!("no-pipe", "no pipe can be made")));
        return;
    };
    // What is not the switch: this thread's own write and read, through a pipe that nobody waits on.
    let trip = |watch: &mut Watch, write: &OwnedFd, read: &OwnedFd| {
        watch.sample(|| {
            for _ in 0..HANDOVERS {
                send(write, PING);
                receive(read);
            }
        })
    };
    let overhead = thread_group::run_on(cpu, |member| {
        let mut watch = Watch::new(member.cpu);
        let times: Vec<f64> = (0..9).map(|_| trip(&mut watch, &back.1, &back.0).ns).collect();
        record::Summary::from_samples(&times).median / f64::from(HANDOVERS)
    })
    .unwrap_or(0.0);
    let samples = std::thread::scope(|scope| {
        let partner = scope.spawn(|| {
            let _pin = os::pin::Pinned::to(to);
            while receive(&there.0) == PING {
                send(&back.1, PING);
            }
        });
        let taken = thread_group::run_on(cpu, |member| {
            let mut watch = Watch::new(member.cpu);
            let end = Instant::now() + part;
            effort.samples(|| Instant::now() >= end, || trip(&mut watch, &there.1, &back.0))
        });
        send(&there.1, 0);
        let _ = partner.join();
        taken
    });
    let Some(samples) = samples else { return };
    let place = cpu_place(cpu).with_label(Label::ToCpu, to);
    let mut m = measurement("cost.context_switch", place, &samples, |s| {
        (s.ns / f64::from(HANDOVERS) / 2.0 - overhead).max(0.0)
    })
    .with_detail(detail::WRITE_AND_READ_NS, overhead);
    drop_switch_marks(&mut m);
    judge(&mut m, 2.0 * TARGET);
    context.push(m);
}

/// Here switching is the work, not a disturbance.
fn drop_switch_marks(m: &mut Measurement) {
    m.marks.retain(|mark| mark.mark != record::Mark::Switched);
}

/// Waits until `word` is `value`, sleeping in the kernel as a mutex does.
fn wait_for(word: &AtomicU32, value: u32) {
    loop {
        let now = word.load(Ordering::Acquire);
        if now == value || now == OVER {
            return;
        }
        // SAFETY: the word lives as long as both threads; the kernel sleeps only while it still holds `now`.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                now,
                std::ptr::null::<libc::timespec>(),
            )
        };
    }
}

fn hand_over(word: &AtomicU32, value: u32) {
    word.store(value, Ordering::Release);
    // SAFETY: the word lives as long as both threads; waking touches no memory.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1) };
}

/// Said instead of a turn when the measurement is over.
const OVER: u32 = 2;

/// A contended mutex as glibc and Rust build it on futexes: one wakes the other, which sleeps until then.
fn mutex_handover(context: &mut Context, cpu: u32, to: u32, effort: Effort, part: Duration) {
    let turn = AtomicU32::new(0);
    let samples = std::thread::scope(|scope| {
        let partner = scope.spawn(|| {
            let _pin = os::pin::Pinned::to(to);
            loop {
                wait_for(&turn, 1);
                if turn.load(Ordering::Acquire) == OVER {
                    return;
                }
                hand_over(&turn, 0);
            }
        });
        let taken = thread_group::run_on(cpu, |member| {
            let mut watch = Watch::new(member.cpu);
            let end = Instant::now() + part;
            effort.samples(
                || Instant::now() >= end,
                || {
                    watch.sample(|| {
                        for _ in 0..HANDOVERS {
                            hand_over(&turn, 1);
                            wait_for(&turn, 0);
                        }
                    })
                },
            )
        });
        hand_over(&turn, OVER);
        let _ = partner.join();
        taken
    });
    let Some(samples) = samples else { return };
    let place = cpu_place(cpu).with_label(Label::ToCpu, to);
    let mut m = measurement("cost.mutex_handover", place, &samples, |s| s.ns / f64::from(HANDOVERS) / 2.0);
    drop_switch_marks(&mut m);
    judge(&mut m, 2.0 * TARGET);
    context.push(m);
}
