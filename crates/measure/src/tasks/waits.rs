//! What threads of chosen processes wait for, at a cost that is bounded: for watching a machine, where nobody may notice it.

use std::collections::HashMap;
use std::time::Instant;

use record::command_run::{Looks, ThreadWaits};

use super::calls::Waiting;
use super::program::Program;
use super::seen::{Seen, Sleeper};
use super::spells::{self, Spells};
use super::thread::{list_threads, look_at_state};

/// Threads of which it is found out what they wait for, in one look.
const MOST_WAITING: usize = 24;

/// Looks at the threads of processes, told which anew each time.
#[derive(Debug, Default)]
pub struct WaitLooks {
    /// What each thread of the last look was blocked in, since `take`.
    threads: HashMap<(i32, i32), Spells>,
    programs: HashMap<i32, Program>,
    seen: Seen,
}

impl WaitLooks {
    /// Looks once at up to `most` threads of these processes.
    pub fn look(&mut self, pids: &[i32], most: usize) {
        let mut sleepers: Vec<Sleeper> = Vec::new();
        let (mut active, mut looked) = (0, HashMap::new());
        let threads = pids.iter().flat_map(|pid| list_threads(*pid).into_iter().map(move |tid| (*pid, tid)));
        for (pid, tid) in threads.take(most) {
            let Some((state, had, slices)) = look_at_state(pid, tid) else { continue };
            let mut thread = self.threads.remove(&(pid, tid)).unwrap_or_default();
            let again = thread.look(Instant::now(), had, slices);
            let ran = thread.ran();
            looked.insert((pid, tid), thread);
            match state {
                'R' => active += 1,
                'Z' | 'X' | 'T' | 't' | 'I' => {}
                // Those that sleep for long, as most threads of a server do, hold nothing back.
                _ if ran || state == 'D' => sleepers.push(Sleeper { pid, tid, state, again }),
                _ => {}
            }
        }
        self.seen.add_look(active);
        sleepers.sort_by_key(|one| !one.again);
        let asked = sleepers.into_iter().take(MOST_WAITING);
        self.seen.ask(asked, &mut self.programs, |key, waiting| {
            if let Some(thread) = looked.get_mut(&key) {
                thread.waits(waiting);
            }
        });
        self.threads = looked;
        self.programs.retain(|pid, _| pids.contains(pid));
    }

    /// What was seen since this was asked last.
    pub fn take(&mut self) -> (Looks, ThreadWaits) {
        let mut seen = std::mem::take(&mut self.seen);
        seen.name_uninterruptible(0);
        if let Some(locks) = spells::longest(self.threads.iter().map(|((pid, _), thread)| (*pid, thread))) {
            seen.waits.entry(Waiting::Lock).or_default().locks = Some(locks);
        }
        self.threads.values_mut().for_each(Spells::restart);
        let waits = seen.waits.into_iter().map(|(what, waits)| (what.word().to_owned(), waits));
        (seen.looks, waits.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn a_program_that_sleeps_again_and_again_is_seen_to_sleep() {
        let script = "while :; do sleep 0.001; done";
        let mut child = Command::new("python3")
            .args(["-c", "import time\nwhile True: time.sleep(0.001)"])
            .spawn()
            .or_else(|_| Command::new("sh").args(["-c", script]).spawn())
            .unwrap();
        let (mut looks, pid) = (WaitLooks::default(), child.id() as i32);
        let until = Instant::now() + Duration::from_secs(60);
        let mut again = 0;
        while again < 5 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
            looks.look(&[pid], 100);
            again = looks.seen.waits.values().map(|waits| waits.again).sum::<u64>();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let (seen, waits) = looks.take();
        assert!(again >= 5 && seen.all > 0, "{seen:?} {waits:?}");
        assert_eq!(looks.take(), (Looks::default(), ThreadWaits::new()));
    }
}
