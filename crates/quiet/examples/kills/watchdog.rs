//! Detects a trial that never ends, and reports what each process waits for.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Maximum duration of a trial, even on an emulated machine.
const LONGEST: Duration = Duration::from_secs(180);

/// Is notified of progress. Without progress, it prints what each process waits for and exits the program.
#[derive(Clone, Default)]
pub struct Watchdog(Arc<AtomicU32>);

impl Watchdog {
    /// Starts watching until the end of the program.
    pub fn start() -> Self {
        let dog = Self::default();
        let watched = dog.clone();
        std::thread::spawn(move || watched.watch());
        dog
    }

    pub fn heard(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn watch(&self) {
        let (mut last, mut since) = (0, Instant::now());
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = self.0.load(Ordering::Relaxed);
            if now != last {
                (last, since) = (now, Instant::now());
            } else if since.elapsed() > LONGEST {
                println!("trial {now} has not ended within {} s; every process:", LONGEST.as_secs());
                processes().for_each(|line| println!("{line}"));
                std::process::exit(1);
            }
        }
    }
}

/// The existing processes, and what each waits for.
fn processes() -> impl Iterator<Item = String> {
    let numbered = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(numbered);
    all.map(|pid| {
        let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let status = read("status");
        let reported =
            |key: &str| status.lines().find(|line| line.starts_with(key)).unwrap_or_default().to_owned();
        let fields =
            ["Name:", "State:", "PPid:", "TracerPid:", "SigPnd:", "ShdPnd:", "SigBlk:", "SigIgn:", "SigCgt:"]
                .map(reported);
        let stack: Vec<String> = read("stack").lines().take(12).map(str::to_owned).collect();
        format!("{pid} {} syscall {} | {}", fields.join(" "), read("syscall").trim(), stack.join(" "))
    })
}
