//! Small programs with a known bottleneck, in this test's own binary: started by name, each works for a second and a half.

use std::fs::File;
use std::hint::{black_box, spin_loop};
use std::io::{Read, Seek, Write};
use std::os::fd::FromRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Which program is to run, and the folder that it may write to.
const NAME: &str = "LINESPEED_TEST_BOTTLENECK";
const FOLDER: &str = "LINESPEED_TEST_FOLDER";
const SECONDS: f64 = 1.5;
/// Loads from memory go on for so long at least, and sleeps for so long at most.
pub const FOR_SECONDS: &str = "LINESPEED_TEST_SECONDS";

/// `linespeed stat OPTIONS -- PROGRAM`, which works in rounds for so long, or does a fixed amount of it.
pub fn stat(options: &[&str], name: &str, folder: &std::path::Path) -> Command {
    let own = std::env::current_exe().unwrap();
    let test = "bottlenecks::programs::a_program_that_other_tests_start";
    let words = ["--", own.to_str().unwrap(), "--exact", test, "--ignored", "--nocapture", "-q"];
    let mut command = crate::support::linespeed(["stat"].iter().chain(options).chain(&words));
    command.env(NAME, name).env(FOLDER, folder);
    command
}

/// The same of copies of linespeed and of this test's binary in a folder that everybody may enter.
pub fn stat_of_copies(linespeed: &Path, own: &Path, options: &[&str], name: &str) -> Command {
    let test = "bottlenecks::programs::a_program_that_other_tests_start";
    let words = ["--", own.to_str().unwrap(), "--exact", test, "--ignored", "--nocapture", "-q"];
    let mut command = crate::support::program(linespeed, ["stat"].iter().chain(options).chain(&words));
    command.env(NAME, name);
    command
}

/// The same without linespeed.
pub fn alone(name: &str, folder: &std::path::Path) -> Command {
    let test = "bottlenecks::programs::a_program_that_other_tests_start";
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture", "-q"]).env(NAME, name).env(FOLDER, folder);
    command
}

#[test]
#[ignore = "a program that other tests start"]
fn a_program_that_other_tests_start() {
    let name = std::env::var(NAME).expect("the name of a program");
    let (_, program) = PROGRAMS.iter().find(|(known, _)| *known == name).expect("a program of that name");
    program();
}

const PROGRAMS: [(&str, fn()); 16] = [
    ("memory-latency", memory_latency),
    ("memory-bandwidth", memory_bandwidth),
    ("false-sharing", false_sharing),
    ("mutex-convoy", mutex_convoy),
    ("spin-lock", spin_lock),
    ("fsync", fsync),
    ("direct-reads", direct_reads),
    ("pipe-ping-pong", pipe_ping_pong),
    ("page-faults", page_faults),
    ("small-reads", small_reads),
    ("too-many-threads", too_many_threads),
    ("sleep", sleep),
    ("branch-misses", branch_misses),
    ("one-thread", one_thread),
    ("computing", computing),
    ("polling", polling),
];

/// Does it again and again until its time is over.
fn for_some_time(mut work: impl FnMut()) {
    let began = Instant::now();
    while began.elapsed().as_secs_f64() < SECONDS {
        work();
    }
}

/// Does it by so many threads until their time is over.
fn by_threads(threads: usize, work: impl Fn(usize) + Sync) {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..threads {
            let (work, over) = (&work, &over);
            scope.spawn(move || {
                while !over.load(Relaxed) {
                    work(number);
                }
            });
        }
        thread::sleep(Duration::from_secs_f64(SECONDS));
        over.store(true, Relaxed);
    });
}

fn cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Numbers that depend on each other.
fn compute(seed: u64) -> u64 {
    (0..20_000).fold(seed, |x: u64, _| x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695))
}

/// Bytes that no cache holds: twice the largest, and 64 MiB at least.
fn beyond_caches() -> usize {
    let sizes = (0..8).filter_map(|index| {
        let size = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
        std::fs::read_to_string(size).ok()?.trim().strip_suffix('K')?.parse::<usize>().ok()
    });
    (sizes.max().unwrap_or(0) * 2048).max(64 << 20)
}

/// A cycle through all lines of a memory beyond the caches whose order no prefetcher sees; so many loads of it, however long
/// they take.
fn memory_latency() {
    // A power of two, of which the generator reaches every number.
    let count = (beyond_caches() / 64).next_power_of_two();
    let mut lines = vec![[0_usize; 8]; count];
    let first = lines.as_ptr() as usize;
    for (at, line) in lines.iter_mut().enumerate() {
        line[0] = first + at.wrapping_mul(1_103_515_245).wrapping_add(12_345) % count * 64;
    }
    let mut at = first;
    let seconds = std::env::var(FOR_SECONDS).ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(0.0);
    let began = Instant::now();
    loop {
        for _ in 0..3_000_000 {
            // SAFETY: each line holds the address of another, of an array that is there until the end.
            at = unsafe { std::ptr::read_volatile(at as *const usize) };
        }
        if began.elapsed().as_secs_f64() >= seconds {
            break;
        }
    }
    black_box((at, lines));
}

/// Copies far beyond the caches, by the C library, which is as fast in a debug build.
fn memory_bandwidth() {
    // Copied so often that the faults of new memory, which some hypervisors make dear, are a small part.
    let threads = cpus().min(4);
    let bytes = (beyond_caches() / threads).max(32 << 20);
    let times = ((3200 << 20) / bytes).max(20);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let (mut to, from) = (vec![1u8; bytes], vec![2u8; bytes]);
                for _ in 0..times {
                    black_box(&mut to).copy_from_slice(black_box(&from));
                }
            });
        }
    });
}

#[derive(Default)]
#[repr(align(128))]
struct Line([AtomicU64; 2]);

/// Two threads that count, each its own number, on one line; a fixed amount of it.
fn false_sharing() {
    let line = Line::default();
    thread::scope(|scope| {
        for own in &line.0 {
            scope.spawn(move || (0..8_000_000).for_each(|_| _ = own.fetch_add(1, Relaxed)));
        }
    });
}

fn mutex_convoy() {
    let sum = Mutex::new(0u64);
    by_threads(4, |number| {
        let mut sum = sum.lock().unwrap();
        *sum = (0..200).fold(*sum, |x, y| black_box(x.wrapping_mul(31).wrapping_add(y + number as u64)));
    });
}

/// A lock that is waited for in a loop.
fn spin_lock() {
    let (taken, sum) = (AtomicBool::new(false), AtomicU64::new(0));
    by_threads(cpus().min(4), |_| {
        while taken.swap(true, Relaxed) {
            spin_loop();
        }
        sum.store(sum.load(Relaxed) + 1, Relaxed);
        taken.store(false, Relaxed);
    });
}

/// A file in its folder that ends a program of sleeps.
pub fn over(folder: &Path) -> PathBuf {
    folder.join("over")
}

fn file() -> PathBuf {
    PathBuf::from(std::env::var_os(FOLDER).expect("a folder")).join("file")
}

fn fsync() {
    let mut file = File::create(file()).unwrap();
    for_some_time(|| {
        file.write_all(&[1; 4096]).unwrap();
        file.sync_all().unwrap();
    });
}

fn direct_reads() {
    const BLOCK: usize = 1 << 16;
    let path = file();
    std::fs::write(&path, vec![7; 64 << 20]).unwrap();
    File::open(&path).unwrap().sync_all().unwrap();
    let Ok(mut file) = File::options().read(true).custom_flags(libc::O_DIRECT).open(&path) else { return };
    let mut memory = vec![0u8; BLOCK + 4096];
    let at = memory.as_ptr().align_offset(4096);
    for_some_time(|| {
        if file.read(&mut memory[at..at + BLOCK]).unwrap() < BLOCK {
            file.rewind().unwrap();
        }
    });
}

fn pipe() -> (File, File) {
    let mut ends = [0; 2];
    // SAFETY: the kernel fills two descriptors, which nobody else owns.
    unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0);
        (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]))
    }
}

fn pipe_ping_pong() {
    let ((mut here, mut there), (mut back, mut answer)) = (pipe(), pipe());
    let mut byte = [0];
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut byte = [0];
            while here.read(&mut byte).unwrap() > 0 {
                answer.write_all(&byte).unwrap();
            }
        });
        for_some_time(|| {
            there.write_all(&[1]).unwrap();
            back.read_exact(&mut byte).unwrap();
        });
        drop(there);
    });
}

fn page_faults() {
    const BYTES: usize = 4 << 20;
    for_some_time(|| {
        // SAFETY: a new mapping, of which each page is written once, and which is then taken away.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let at =
                libc::mmap(std::ptr::null_mut(), BYTES, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(at, libc::MAP_FAILED);
            libc::madvise(at, BYTES, libc::MADV_NOHUGEPAGE);
            (0..BYTES).step_by(4096).for_each(|page| at.cast::<u8>().add(page).write_volatile(1));
            libc::munmap(at, BYTES);
        }
    });
}

fn small_reads() {
    let mut zeros = File::open("/dev/zero").unwrap();
    let mut byte = [0];
    for_some_time(|| (0..1000).for_each(|_| zeros.read_exact(&mut byte).unwrap()));
}

fn too_many_threads() {
    by_threads(cpus() * 4, |number| _ = black_box(compute(number as u64)));
}

/// Until its time is over, or a file says so.
fn sleep() {
    let over = over(&PathBuf::from(std::env::var_os(FOLDER).expect("a folder")));
    let seconds = std::env::var(FOR_SECONDS).ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(SECONDS);
    let began = Instant::now();
    while began.elapsed().as_secs_f64() < seconds && !over.exists() {
        thread::sleep(Duration::from_millis(200));
    }
}

fn branch_misses() {
    let (mut x, mut taken) = (88_172_645_463_325_252u64, 0u64);
    for_some_time(|| {
        for _ in 0..100_000 {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            if black_box(x) & 1 == 0 {
                taken += black_box(1);
            } else {
                taken ^= black_box(3);
            }
        }
    });
    black_box(taken);
}

fn one_thread() {
    let mut x = 1;
    for_some_time(|| x = compute(x));
    black_box(x);
}

/// A fixed amount of work that needs nothing but a core.
fn computing() {
    black_box((0..600).fold(1, |x, _| compute(x)));
}

/// A thread that works, writes into a pipe and sleeps, and one that waits in poll for it.
fn polling() {
    let (mut here, mut there) = pipe();
    thread::scope(|scope| {
        scope.spawn(move || {
            use std::os::fd::AsRawFd;
            let mut byte = [0];
            loop {
                let mut one = libc::pollfd { fd: here.as_raw_fd(), events: libc::POLLIN, revents: 0 };
                // SAFETY: the one file that is named.
                unsafe { libc::poll(&mut one, 1, -1) };
                if here.read(&mut byte).unwrap() == 0 {
                    return;
                }
            }
        });
        for_some_time(|| {
            let began = Instant::now();
            while began.elapsed() < Duration::from_millis(10) {
                black_box(compute(1));
            }
            there.write_all(&[1]).unwrap();
            thread::sleep(Duration::from_millis(100));
        });
        drop(there);
    });
}
