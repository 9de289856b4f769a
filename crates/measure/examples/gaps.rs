//! In a machine of the lab, which has tracefs: a real-time thread takes a CPU now and then, `linespeed run stolen wakeup` names it, and
//! no trace instance is left, also where linespeed is killed. `gaps LINESPEED`

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use record::long_gap::{TakerKind, Witness};

const TRACING: &std::ffi::CStr = c"/sys/kernel/tracing";
const INSTANCES: &str = "/sys/kernel/tracing/instances";
/// The thief's name, priority, and how long it takes the CPU.
const THIEF: (&str, i32, Duration) = ("thief", 50, Duration::from_millis(250));

fn main() -> Result<(), Box<dyn Error>> {
    let linespeed = std::env::args().nth(1).ok_or("gaps LINESPEED")?;
    if !Path::new(INSTANCES).exists() {
        let kind = c"tracefs";
        // SAFETY: takes texts that outlive the call.
        let code =
            unsafe { libc::mount(kind.as_ptr(), TRACING.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
        if code != 0 {
            return Err(std::io::Error::last_os_error().into());
        }
    }
    std::thread::Builder::new().name(THIEF.0.to_owned()).spawn(|| {
        let pinned = os::pin::Pinned::to(1);
        let allowed = os::set_fifo(THIEF.1);
        while pinned.is_ok() && allowed.is_ok() {
            let begun = Instant::now();
            while begun.elapsed() < THIEF.2 {
                std::hint::spin_loop();
            }
            std::thread::sleep(Duration::from_millis(150));
        }
    })?;
    let run = ["run", "stolen", "wakeup", "--output", "/tmp/gaps.json"];
    let ended = Command::new(&linespeed).args(run).output()?;
    if !ended.status.success() {
        return Err(String::from_utf8_lossy(&ended.stderr).into_owned().into());
    }
    let record: record::Record = serde_json::from_slice(&std::fs::read("/tmp/gaps.json")?)?;
    for gap in &record.long_gaps {
        println!("{gap:?}");
    }
    let traced = record.long_gaps.iter().filter(|gap| gap.witness == Witness::Trace && gap.cpu == 1);
    let mut takers = traced.clone().flat_map(|gap| &gap.takers);
    let named = takers.any(|taker| {
        taker.kind == TakerKind::Task
            && taker.name.as_deref() == Some(THIEF.0)
            && taker.priority == Some(THIEF.1 as u32)
            && taker.ns > Some(THIEF.2.as_nanos() as f64 / 4.0)
    });
    if !named {
        return Err("the real-time thread is not named".into());
    }
    let left = || std::fs::read_dir(INSTANCES).map_or(0, |entries| entries.flatten().count());
    if left() != 0 {
        return Err("a trace instance is left after the run".into());
    }
    let mut killed = Command::new(&linespeed).args(&run[..2]).spawn()?;
    wait_until("no trace began", || left() == 1)?;
    killed.kill()?;
    killed.wait()?;
    wait_until("a trace instance is left after a kill", || left() == 0)?;
    println!("{} traced gaps; the real-time thread is named, and no instance is left", traced.count());
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
