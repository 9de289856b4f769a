//! What others took of the machine while a test measured: the only excuse for a test that could not decide.

use std::time::Instant;

use crate::worker::alive;

/// CPU time of others beyond this share makes figures other than those of the handicap.
const MOST_OTHERS: f64 = 0.03;
/// The same for what the hypervisor admits to have taken.
const MOST_STEAL: f64 = 0.02;

/// The accounts at one moment, in seconds.
#[derive(Clone, Copy, Debug)]
struct Accounts {
    busy: f64,
    steal: f64,
    own: f64,
}

/// Accounts from here on.
#[derive(Debug)]
pub struct Watch {
    began: Instant,
    accounts: Accounts,
}

/// What was taken meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Disturbance {
    /// Share of all CPU time that processes which are not ours used.
    pub others: f64,
    /// Share of all CPU time that the hypervisor gave to others.
    pub steal: f64,
}

impl Disturbance {
    /// Whether it proves that nothing can be decided.
    pub fn is_too_much(self) -> bool {
        self.others > MOST_OTHERS || self.steal > MOST_STEAL
    }
}

impl std::fmt::Display for Disturbance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "others used {:.1} % of the CPUs, the hypervisor took {:.1} %",
            self.others * 100.0,
            self.steal * 100.0
        )
    }
}

impl Watch {
    /// Begins.
    pub fn begin() -> Self {
        Self { began: Instant::now(), accounts: accounts() }
    }

    /// What was taken since.
    pub fn seen(&self) -> Disturbance {
        let now = accounts();
        let all = self.began.elapsed().as_secs_f64() * f64::from(online());
        let used = now.busy - self.accounts.busy - (now.own - self.accounts.own);
        Disturbance {
            others: (used / all).max(0.0),
            steal: ((now.steal - self.accounts.steal) / all).max(0.0),
        }
    }
}

/// The number of CPUs online.
pub fn online() -> u32 {
    // SAFETY: takes a number.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(count).unwrap_or(1).max(1)
}

fn accounts() -> Accounts {
    // SAFETY: takes a number.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let line = text.lines().next().unwrap_or("");
    let kinds: Vec<f64> = line.split_whitespace().skip(1).filter_map(|n| n.parse().ok()).collect();
    // proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal.
    let [user, nice, system, _, _, irq, softirq, steal, ..] = kinds[..] else { panic!("/proc/stat: {line}") };
    let ours = |pid: &i32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // After the name in parentheses the 12th and 13th are utime and stime.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        Some(fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?)
    };
    let living: f64 = alive().iter().filter_map(ours).sum();
    Accounts {
        busy: (user + nice + system + irq + softirq) / ticks,
        steal: steal / ticks,
        own: living / ticks + used(libc::RUSAGE_SELF) + used(libc::RUSAGE_CHILDREN),
    }
}

/// CPU seconds of this process, or of those that it waited for.
fn used(who: i32) -> f64 {
    // SAFETY: rusage is plain data, for which all zeros is a value; it outlives the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
