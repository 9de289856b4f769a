//! Measures small costs: system call, clock reading, context switch, page fault, mutex hand-over, branch misprediction,
//! spin hint. Each operation is executed a few thousand times per sample, and the overhead is subtracted.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use kernels::{branch, hint};
use record::{Coverage, Label, Labels, Measurement, Text, detail, metrics, text};

use crate::budget::Budget;
use crate::context::{Context, Halt};
use crate::cycle::Random;
use crate::measure::{Measure, NO_OBSTACLE};
use crate::reasons::OWN_THREAD_NOT_STARTED;
use crate::repeat::{Effort, judged, measurement};
use crate::thread_group;
use crate::watch::{Watch, Watched};
use os::mapping::{HUGE, Mapping, Page, base_page};

const NAME: &str = "costs";

/// Maximum half-width of the 95 % CI; a cost with a wider interval is too noisy.
const TARGET: f64 = 0.05;

/// Branches in one sequence: far more than any predictor memorizes (5,000 to 30,000 observed).
const BRANCHES: usize = 100_000;

/// Hand-overs in one sample.
const HANDOVERS: u32 = 400;

pub(crate) const COSTS: Measure = Measure {
    name: NAME,
    metrics: &[
        metrics::COST_SYSCALL,
        metrics::COST_CLOCK_READ,
        metrics::COST_CONTEXT_SWITCH,
        metrics::COST_PAGE_FAULT,
        metrics::COST_MUTEX_HANDOVER,
        metrics::COST_BRANCH_MISPREDICT,
        metrics::COST_SPIN_HINT,
    ],
    obstacle: NO_OBSTACLE,
    budget: |_, _, depth| Budget { seconds: depth.pick(0.7, 2.0, 15.0), bytes: 80 << 20 },
    uses_arrays: false,
    run,
};

/// When to stop sampling one cost: when its samples agree, or when its part of the time is used up.
#[derive(Clone, Copy)]
struct Sampling {
    effort: Effort,
    part: Duration,
}

impl Sampling {
    fn samples(self, sample: impl FnMut() -> Watched) -> Vec<Watched> {
        let end = Instant::now() + self.part;
        self.effort.samples(|| Instant::now() >= end, sample)
    }
}

fn run(context: &mut Context) -> Result<(), Halt> {
    let lead = context.lead()?;
    let other = other_cpu(context, lead);
    let depth = context.depth;
    let effort = Effort { least: depth.pick(7, 15, 30), most: depth.pick(15, 60, 300), target: 0.01 };
    let sampling = Sampling { effort, part: Duration::from_secs_f64(depth.pick(0.05, 0.3, 1.2)) };
    let inside = &mut *context;
    thread_group::run_on(lead, move |member| {
        if !member.pinned {
            inside.degrade(NAME, text!("the thread cannot be pinned to CPU {cpu}", cpu = lead));
        }
        measure_single(inside, lead, sampling);
    })
    .ok_or(OWN_THREAD_NOT_STARTED)?;
    context.advance(0.6);
    for to in std::iter::once(lead).chain(other) {
        context.check()?;
        context_switch(context, lead, to, sampling);
        mutex_handover(context, lead, to, sampling);
        context.advance(if to == lead { 0.8 } else { 1.0 });
    }
    if other.is_none() {
        context.degrade(NAME, text!("only one CPU is available, so costs between CPUs are not measured"));
    }
    Ok(())
}

/// A CPU of another core in the same package, for costs between CPUs.
fn other_cpu(context: &Context, lead: u32) -> Option<u32> {
    let machine = context.machine;
    let of = |cpu: u32| machine.cpu(cpu).map(|c| (c.package, c.core));
    let (package, core) = of(lead)?;
    let others: Vec<u32> = context.cpus.iter().filter(|cpu| *cpu != lead).collect();
    let near = |cpu: &&u32| of(**cpu).is_some_and(|(p, c)| p == package && (c != core || c.is_none()));
    others.iter().rev().find(near).or(others.last()).copied()
}

/// Labels for metrics of one CPU.
fn cpu_place(cpu: u32) -> Labels {
    Labels::new().with_label(Label::Cpu, cpu)
}

/// Measures the costs within a single thread.
fn measure_single(context: &mut Context, cpu: u32, sampling: Sampling) {
    let mut watch = Watch::new(cpu);
    let stop = context.stop;
    let repeat = |watch: &mut Watch, work: &mut dyn FnMut()| {
        // One untimed run warms up the caches, the branch predictor and the page tables.
        work();
        watch.refresh();
        let end = Instant::now() + sampling.part;
        let stopped = || Instant::now() >= end || stop.signal().is_some();
        sampling.effort.samples(stopped, || watch.sample(&mut *work))
    };

    const CALLS: u32 = 2_000;
    let calls = repeat(&mut watch, &mut || {
        for _ in 0..CALLS {
            // SAFETY: getppid takes no arguments, touches no memory and always enters the kernel.
            unsafe { libc::syscall(libc::SYS_getppid) };
        }
    });
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let clock_reads = repeat(&mut watch, &mut || {
        for _ in 0..CALLS {
            // SAFETY: the timespec outlives the call.
            unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
        }
    });
    let hints = repeat(&mut watch, &mut || (hint::SPIN_HINT.run)(100));
    let clock_place = cpu_place(cpu).with_known(Label::Clocksource, context.snapshot.clocksource.clone());
    let hints_a_sample = f64::from(hint::SPIN_HINT.work.operations) * 100.0;
    for (metric, place, samples, each) in [
        (metrics::COST_SYSCALL, cpu_place(cpu), calls, f64::from(CALLS)),
        (metrics::COST_CLOCK_READ, clock_place, clock_reads, f64::from(CALLS)),
        (metrics::COST_SPIN_HINT, cpu_place(cpu), hints, hints_a_sample),
    ] {
        context.push(judged(measurement(metric, place, &samples, |s| s.ns / each), TARGET));
    }

    for (page, step, pages) in [(Page::Base, base_page() as usize, 1024), (Page::Huge, HUGE, 16)] {
        let what = format!("costs page fault {}", page.word());
        if (step * pages) as u64 > context.memory_allowance() {
            context.coverage.push(Coverage::skipped(what, text!("not enough memory")));
            continue;
        }
        match page_faults(page, step, pages, sampling, &mut watch) {
            Ok(samples) => {
                let place = cpu_place(cpu).with_label(Label::Page, page.word());
                let m = measurement(metrics::COST_PAGE_FAULT, place, &samples, |s| s.ns / pages as f64);
                context.push(judged(m, TARGET));
            }
            Err(why) => {
                let remedy = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
                context.coverage.push(Coverage::impossible(what, why).with_remedy(remedy));
            }
        }
    }
    context.push(judged(mispredicts(cpu, sampling, &mut watch), TARGET));
}

/// Measures first touches of fresh pages; mapping and unmapping are not timed.
fn page_faults(
    page: Page,
    step: usize,
    pages: usize,
    sampling: Sampling,
    watch: &mut Watch,
) -> Result<Vec<Watched>, Text> {
    if page == Page::Huge && !os::mapping::transparent_huge_pages_allowed() {
        return Err(text!("transparent huge pages are off"));
    }
    let mut failed = None;
    let samples = sampling.samples(|| {
        let mapping = match Mapping::new(step * pages, page) {
            Ok(mapping) => mapping,
            Err(error) => {
                failed = Some(text!("{error}"));
                return watch.sample(|| ());
            }
        };
        let before = os::minor_faults();
        let sample = watch.sample(|| {
            for index in 0..pages {
                // SAFETY: the address is within the mapping.
                unsafe { mapping.start().add(index * step).write_volatile(1) };
            }
        });
        // If there are fewer faults than pages, the kernel mapped several pages per fault, and the result is not the
        // cost of a fault on one page.
        if let (Some(before), Some(after)) = (before, os::minor_faults())
            && (after - before) < pages as u64 * 9 / 10
        {
            let faults = after - before;
            failed = Some(text!("only {faults} page faults for {pages} pages"));
        }
        if page == Page::Huge && mapping.huge_share().is_some_and(|share| share < 0.99) {
            failed = Some(text!("the kernel provided no huge pages"));
        }
        sample
    });
    failed.map_or(Ok(samples), Err)
}

/// Time with random branches minus time with predictable branches, divided by the number of mispredicted branches (half
/// of all), with a fresh sequence each time.
fn mispredicts(cpu: u32, sampling: Sampling, watch: &mut Watch) -> Measurement {
    let mut random = Random::new(kernels::counter::ticks());
    let (mut bits, zeros) = (vec![0u8; BRANCHES], vec![0u8; BRANCHES]);
    let samples = sampling.samples(|| {
        for chunk in bits.chunks_mut(8) {
            for (bit, byte) in chunk.iter_mut().zip(random.number().to_le_bytes()) {
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
        mixed.ns = (mixed.ns - same.ns).max(0.0);
        mixed
    });
    measurement(metrics::COST_BRANCH_MISPREDICT, cpu_place(cpu), &samples, |s| s.ns / (BRANCHES as f64 * 0.5))
}

/// The byte exchanged in a context switch; any other value ends the partner.
const PING: u8 = 1;

fn send(mut to: &PipeWriter, byte: u8) {
    // The error is ignored: a missing partner is detected by the lack of an answer.
    let _ = to.write(&[byte]);
}

/// The next byte; 0 if the pipe is closed or broken.
fn receive(mut from: &PipeReader) -> u8 {
    let mut byte = [0u8];
    if matches!(from.read(&mut byte), Ok(1)) { byte[0] } else { 0 }
}

/// Samples `trip` on `cpu` while `partner` runs on `to`. Finally, `end` stops the partner.
fn sample_beside(
    (cpu, to): (u32, u32),
    sampling: Sampling,
    partner: impl FnOnce() + Send,
    trip: impl Fn() + Sync,
    end: impl FnOnce(),
) -> Option<Vec<Watched>> {
    std::thread::scope(|scope| {
        let partner = scope.spawn(move || {
            let _pin = os::pin::Pinned::to(to);
            partner();
        });
        let taken = thread_group::run_on(cpu, |member| {
            let mut watch = Watch::new(member.cpu);
            sampling.samples(|| watch.sample(&trip))
        });
        end();
        let _ = partner.join();
        taken
    })
}

/// Sends a byte back and forth between two threads through pipes, and subtracts the time that a single thread takes to
/// write and read it. This corresponds to lmbench's `lat_ctx` with two processes and no working set.
fn context_switch(context: &mut Context, cpu: u32, to: u32, sampling: Sampling) {
    let (Ok(there), Ok(back)) = (io::pipe(), io::pipe()) else {
        let why = text!("cannot create a pipe");
        context.coverage.push(Coverage::impossible("costs context switch", why));
        return;
    };
    let trip = |to: &PipeWriter, from: &PipeReader| {
        for _ in 0..HANDOVERS {
            send(to, PING);
            receive(from);
        }
    };
    // The overhead: this thread's own write and read, through a pipe on which no reader waits.
    let overhead = thread_group::run_on(cpu, |member| {
        let mut watch = Watch::new(member.cpu);
        let times: Vec<f64> = (0..9).map(|_| watch.sample(|| trip(&back.1, &back.0)).ns).collect();
        record::Summary::from_samples(&times).median / f64::from(HANDOVERS)
    })
    .unwrap_or(0.0);
    let partner = || {
        while receive(&there.0) == PING {
            send(&back.1, PING);
        }
    };
    let trip = || trip(&there.1, &back.0);
    let samples = sample_beside((cpu, to), sampling, partner, trip, || send(&there.1, 0));
    let place = cpu_place(cpu).with_label(Label::ToCpu, to);
    let one = |s: &Watched| (s.ns / f64::from(HANDOVERS) / 2.0 - overhead).max(0.0);
    let m = measurement(metrics::COST_CONTEXT_SWITCH, place, &samples.unwrap_or_default(), one);
    push_switches(context, m.with_detail(detail::WRITE_AND_READ_NS, overhead));
}

/// Pushes a cost whose operation consists of context switches, so that context switches do not count as disturbances.
fn push_switches(context: &mut Context, mut m: Measurement) {
    m.marks.retain(|mark| mark.mark != record::Mark::Switched);
    context.push(judged(m, 2.0 * TARGET));
}

/// Waits until `word` is `value`, sleeping in the kernel as a mutex does.
fn wait_for(word: &AtomicU32, value: u32) {
    loop {
        let now = word.load(Ordering::Acquire);
        if now == value || now == OVER {
            return;
        }
        // SAFETY: the word lives as long as both threads; the kernel sleeps only while the word still contains `now`.
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
    // SAFETY: the word lives as long as both threads; waking accesses no memory.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1) };
}

/// The value that ends the measurement instead of handing over the turn.
const OVER: u32 = 2;

/// Measures a contended mutex, as glibc and Rust implement it with futexes: one thread wakes the other, which sleeps
/// until then.
fn mutex_handover(context: &mut Context, cpu: u32, to: u32, sampling: Sampling) {
    let turn = AtomicU32::new(0);
    let partner = || {
        loop {
            wait_for(&turn, 1);
            if turn.load(Ordering::Acquire) == OVER {
                return;
            }
            hand_over(&turn, 0);
        }
    };
    let trip = || {
        for _ in 0..HANDOVERS {
            hand_over(&turn, 1);
            wait_for(&turn, 0);
        }
    };
    let samples = sample_beside((cpu, to), sampling, partner, trip, || hand_over(&turn, OVER));
    let place = cpu_place(cpu).with_label(Label::ToCpu, to);
    let one = |s: &Watched| s.ns / f64::from(HANDOVERS) / 2.0;
    let samples = samples.unwrap_or_default();
    push_switches(context, measurement(metrics::COST_MUTEX_HANDOVER, place, &samples, one));
}
