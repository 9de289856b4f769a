//! Runs in a lab VM that has tracefs. A real-time thread, interrupts, softirqs and a kernel worker occupy a CPU, and
//! `linespeed run stolen wakeup` must identify each of them. No trace instance may remain, even if linespeed is killed.
//! Usage: `gaps LINESPEED`

use std::error::Error;
use std::fs;
use std::io::Write;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use record::long_gap::{LongGap, Taker, TakerKind, Witness};

const TRACING: &std::ffi::CStr = c"/sys/kernel/tracing";
const INSTANCES: &str = "/sys/kernel/tracing/instances";
const CPU: u32 = 1;
/// The real-time thread's name, its priority, and the time for which it uses the CPU.
const THIEF: (&str, i32, Duration) = ("thief", 50, Duration::from_millis(250));
/// Maximum number of runs alongside each load.
const RUNS: usize = 5;
/// Number of network namespaces that are removed together.
const NAME_SPACES: usize = 32;
/// The IRQ of a PC's first serial port.
const PORT: u32 = 4;

/// A load that runs on a CPU until it is told to stop, and the expected cause of its gaps.
struct Load {
    what: &'static str,
    /// The CPU, if it is always the same.
    cpu: Option<u32>,
    work: fn(&AtomicBool) -> Result<(), Box<dyn Error>>,
    named: fn(&Taker) -> bool,
}

const LOADS: [Load; 4] = [
    Load {
        what: "a real-time thread",
        cpu: Some(CPU),
        work: real_time_thread,
        named: |taker| {
            let is = taker.kind == TakerKind::Task && taker.name.as_deref() == Some(THIEF.0);
            is && taker.priority == Some(THIEF.1 as u32) && taker.ns > Some(THIEF.2.as_nanos() as f64 / 4.0)
        },
    },
    Load {
        what: "interrupts of a serial port",
        cpu: Some(CPU),
        work: interrupts,
        named: |taker| {
            taker.kind == TakerKind::Irq && taker.name.as_ref().is_some_and(|name| name.starts_with("4 "))
        },
    },
    Load {
        what: "softirqs of received packets",
        cpu: Some(CPU),
        work: packets,
        named: |taker| taker.kind == TakerKind::Softirq && taker.name.as_deref() == Some("NET_RX"),
    },
    Load {
        what: "a worker of the kernel",
        cpu: None,
        work: name_spaces,
        named: |taker| {
            let name = taker.name.as_deref().unwrap_or_default();
            taker.kind == TakerKind::Task && name.starts_with("kworker/u")
        },
    },
];

fn main() -> Result<(), Box<dyn Error>> {
    let linespeed = std::env::args().nth(1).ok_or("gaps LINESPEED")?;
    if !Path::new(INSTANCES).exists() {
        let kind = c"tracefs";
        // SAFETY: the strings outlive the call.
        let code =
            unsafe { libc::mount(kind.as_ptr(), TRACING.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
        if code != 0 {
            return Err(std::io::Error::last_os_error().into());
        }
    }
    let mut unnamed = Vec::new();
    for load in LOADS {
        if !is_named(&load, &linespeed)? {
            unnamed.push(load.what);
        }
    }
    if !unnamed.is_empty() {
        return Err(format!("not named: {}", unnamed.join(", ")).into());
    }
    let left = || fs::read_dir(INSTANCES).map_or(0, |entries| entries.flatten().count());
    if left() != 0 {
        return Err("a trace instance is left after the run".into());
    }
    let mut killed = Command::new(&linespeed).args(["run", "stolen"]).spawn()?;
    wait_until("no trace began", || left() == 1)?;
    killed.kill()?;
    killed.wait()?;
    wait_until("a trace instance is left after a kill", || left() == 0)?;
    println!("no trace instance is left");
    Ok(())
}

/// Whether a run alongside the load identifies it. Several runs may be needed because the emulator's host can cause the
/// longest gaps of a run.
fn is_named(load: &Load, linespeed: &str) -> Result<bool, Box<dyn Error>> {
    for _ in 0..RUNS {
        let gaps = measured_beside(load, linespeed)?;
        let traced = gaps
            .iter()
            .filter(|gap| gap.witness == Witness::Trace && load.cpu.is_none_or(|cpu| gap.cpu == cpu));
        let named = traced.clone().filter(|gap| gap.takers.iter().any(load.named)).count();
        println!("{}: named in {named} of {} traced gaps", load.what, traced.count());
        if named > 0 {
            return Ok(true);
        }
        gaps.iter().for_each(|gap| println!("{gap:?}"));
    }
    Ok(false)
}

/// The longest gaps of a run alongside the load.
fn measured_beside(load: &Load, linespeed: &str) -> Result<Vec<LongGap>, Box<dyn Error>> {
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new()
            .name(THIEF.0.to_owned())
            .spawn_scoped(scope, || (load.work)(&ends).map_err(|error| error.to_string()))?;
        let run = ["run", "stolen", "wakeup", "--output", "/tmp/gaps.json"];
        let ended = Command::new(linespeed).args(run).output();
        ends.store(true, Ordering::Relaxed);
        worker.join().map_err(|_| "the load panicked")?.map_err(|error| format!("{}: {error}", load.what))?;
        let ended = ended?;
        if !ended.status.success() {
            return Err(String::from_utf8_lossy(&ended.stderr).into_owned().into());
        }
        let record: record::Record = serde_json::from_slice(&fs::read("/tmp/gaps.json")?)?;
        Ok(record.long_gaps)
    })
}

fn real_time_thread(ends: &AtomicBool) -> Result<(), Box<dyn Error>> {
    let _pinned = os::pin::Pinned::to(CPU)?;
    os::set_fifo(THIEF.1)?;
    while !ends.load(Ordering::Relaxed) {
        let begun = Instant::now();
        while begun.elapsed() < THIEF.2 {
            std::hint::spin_loop();
        }
        std::thread::sleep(Duration::from_millis(150));
    }
    Ok(())
}

/// The serial port raises an interrupt for every 16 bytes sent.
fn interrupts(ends: &AtomicBool) -> Result<(), Box<dyn Error>> {
    let mut port = fs::File::options().write(true).open("/dev/ttyS0")?;
    fs::write(format!("/proc/irq/{PORT}/smp_affinity_list"), CPU.to_string())?;
    while !ends.load(Ordering::Relaxed) {
        port.write_all(&[b' '; 64])?;
    }
    Ok(())
}

/// A packet flood over the loopback device, received on CPU 1 (Documentation/networking/scaling.rst, RPS).
fn packets(ends: &AtomicBool) -> Result<(), Box<dyn Error>> {
    let _pinned = os::pin::Pinned::to(0)?;
    fs::write("/sys/class/net/lo/queues/rx-0/rps_cpus", format!("{:x}", 1 << CPU))?;
    let receiver = UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: zeroes are a valid request, and the kernel reads it within the call.
    let code = unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[..2].copy_from_slice(&[b'l' as libc::c_char, b'o' as libc::c_char]);
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        libc::ioctl(receiver.as_raw_fd(), libc::SIOCSIFFLAGS, &request)
    };
    if code != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    let sender = UdpSocket::bind("127.0.0.1:0")?;
    sender.connect(("127.0.0.1", receiver.local_addr()?.port()))?;
    while !ends.load(Ordering::Relaxed) {
        sender.send(&[0; 64])?;
    }
    Ok(())
}

/// Network namespaces are released together and removed by an unbound kernel worker. The worker preempts the busy
/// loops, as a bound worker would on a busy machine.
fn name_spaces(ends: &AtomicBool) -> Result<(), Box<dyn Error>> {
    while !ends.load(Ordering::Relaxed) {
        let together = Barrier::new(NAME_SPACES);
        let refused = std::thread::scope(|scope| {
            let one = || {
                // SAFETY: the call takes no pointers, and the affected thread ends soon.
                let code = unsafe { libc::unshare(libc::CLONE_NEWNET) };
                let error = std::io::Error::last_os_error();
                together.wait();
                (code != 0).then_some(error)
            };
            let threads: Vec<_> = (0..NAME_SPACES).map(|_| scope.spawn(one)).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()?).next()
        });
        // Namespaces may be limited in number, and the worker removes them late.
        if let Some(error) = refused.filter(|error| error.raw_os_error() != Some(libc::ENOSPC)) {
            return Err(error.into());
        }
        for process in fs::read_dir("/proc")?.flatten() {
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            if let (true, Some(pid)) = (name.starts_with("kworker/u"), process.file_name().to_str()) {
                // SAFETY: the call only takes integers.
                unsafe { libc::setpriority(libc::PRIO_PROCESS, pid.parse()?, -20) };
            }
        }
    }
    Ok(())
}

fn wait_until(or: &str, holds: impl Fn() -> bool) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    while !holds() {
        if begun.elapsed() > Duration::from_secs(60) {
            return Err(or.into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
