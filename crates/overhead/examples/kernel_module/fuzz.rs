//! Sends malformed requests: the module must answer or reject them, and continue to work.

use std::time::{Duration, Instant};

use overhead::kernel_module::Module;

use crate::trial::{Trial, is_loaded, request};

/// Maximum number of requests, and maximum seconds.
const REQUESTS: u32 = 1_500;
const SECONDS: u64 = 30;
/// Size of a request, and of the answer for one pass, bytes.
const REQUEST: usize = 56;
const ANSWER: usize = 48 + 96;

/// Reproducible pseudo-random numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A boundary value, or any number.
    fn odd(&mut self) -> u64 {
        const EDGES: [u64; 14] = [
            0,
            1,
            2,
            3,
            31,
            32,
            33,
            4096,
            20_000,
            1 << 24,
            (1 << 24) + 1,
            u32::MAX as u64,
            1 << 63,
            u64::MAX,
        ];
        match self.below(3) {
            0 => self.next(),
            1 => self.below(100_000),
            _ => EDGES[self.below(EDGES.len() as u64) as usize],
        }
    }
}

/// Runs the tests.
pub fn run(module: &Module, trial: &mut Trial) -> Result<(), String> {
    lengths(module, trial)?;
    let (mut random, began) = (Random(0x9e37_79b9_7f4a_7c15), Instant::now());
    let (mut taken, mut refused) = (0u32, 0u32);
    for _ in 0..REQUESTS {
        if began.elapsed() > Duration::from_secs(SECONDS) {
            break;
        }
        let bytes = bytes(&mut random);
        match module.raw(&bytes, ANSWER) {
            Ok(_) => taken += 1,
            Err(error) => {
                let known = matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENODEV | libc::ETIME));
                trial.hold(known, "a request that makes no sense is refused as such", || {
                    format!("{error}: {bytes:?}")
                })?;
                refused += 1;
            }
        }
    }
    println!("made up requests: {taken} taken, {refused} refused");
    trial.hold(taken > 20 && refused > 20, "some were taken, some refused", || {
        format!("{taken}, {refused}")
    })?;
    at_once(module, trial)?;
    unplugged(module, trial)?;
    let answer = module.ask(&request(1000, Some(0), true)).map_err(|failure| failure.reason.to_string())?;
    let primes = answer.passes.first().map(|pass| pass.primes);
    trial.hold(is_loaded() && primes == Some(168), "it counts as before", || format!("{answer:?}"))
}

/// A request that is valid in most fields, so that single invalid ones are reached. Requests are limited so that none
/// runs long.
fn bytes(random: &mut Random) -> Vec<u8> {
    let mut one = request(
        random.below(3_000),
        (random.below(2) == 0).then(|| random.below(2) as u32),
        random.below(2) == 0,
    );
    one.range.start = random.below(one.range.end + 2);
    one.passes = 1 + random.below(2) as u32;
    one.clock_iterations = 1 + random.below(100) as u32;
    let mut bytes = one.bytes();
    // The length of a burst, and a load.
    if random.below(2) == 0 {
        bytes[32..36].copy_from_slice(&(20_000 + random.below(1_000_000) as u32).to_ne_bytes());
    }
    if random.below(3) == 0 {
        bytes[40..44].copy_from_slice(&(20_000 + random.below(1_000_000) as u32).to_ne_bytes());
        bytes[44..48].copy_from_slice(&(1 + random.below(20_000) as u32).to_ne_bytes());
        bytes[48..52].copy_from_slice(&(random.below(2) as u32).to_ne_bytes());
    }
    for _ in 0..random.below(3) {
        let odd = random.odd();
        match random.below(14) {
            // Only the end of the range is limited, because passes up to 2²⁴ would take minutes in an emulator.
            at @ 0..=3 => {
                let at = at as usize * 4;
                bytes[at..at + 4].copy_from_slice(&(odd as u32).to_ne_bytes());
            }
            4 => bytes[16..24].copy_from_slice(&((1 << 24) + 1 + odd % (1 << 62)).to_ne_bytes()),
            5 => {
                // A few of the most expensive numbers.
                bytes[8..16].copy_from_slice(&((1u64 << 24) - random.below(200)).to_ne_bytes());
                bytes[16..24].copy_from_slice(&(1u64 << 24).to_ne_bytes());
            }
            at => {
                let at = (at as usize).min(13) * 4;
                bytes[at..at + 4].copy_from_slice(&(odd as u32).to_ne_bytes());
            }
        }
    }
    bytes
}

/// Writes of all lengths except the right one, and reads of zero and of many bytes.
fn lengths(module: &Module, trial: &mut Trial) -> Result<(), String> {
    let whole = request(100, None, false).bytes();
    for length in [0, 1, REQUEST - 1, REQUEST + 1, 4096, 1 << 20] {
        let mut bytes = whole.to_vec();
        bytes.resize(length, 0);
        let reported = module.raw(&bytes, ANSWER);
        trial.hold(reported.is_err(), &format!("a write of {length} bytes is refused"), || {
            format!("{reported:?}")
        })?;
    }
    for length in [0, 1, ANSWER, 1 << 20] {
        let reported = module.raw(&whole, length).map(|bytes| bytes.len()).unwrap_or(usize::MAX);
        trial.hold(reported == length.min(ANSWER), &format!("a read of {length} bytes"), || {
            reported.to_string()
        })?;
    }
    Ok(())
}

/// Several threads that share one descriptor.
fn at_once(module: &Module, trial: &mut Trial) -> Result<(), String> {
    let right = std::thread::scope(|scope| {
        let ask = |cpu: u32| move || (0..5).all(|_| module.ask(&request(5_000, Some(cpu), true)).is_ok());
        let threads = [0, 1, 0, 1].map(|cpu| scope.spawn(ask(cpu)));
        threads.into_iter().all(|thread| thread.join().unwrap_or(false))
    });
    trial.hold(right, "four threads are served one after the other", || "one was not".to_owned())
}

/// The CPU is taken offline while a pass is pinned to it.
fn unplugged(module: &Module, trial: &mut Trial) -> Result<(), String> {
    let online = |value: &str| std::fs::write("/sys/devices/system/cpu/cpu1/online", value);
    let reported = std::thread::scope(|scope| {
        let pass = scope.spawn(|| module.ask(&request(100_000, Some(1), false)));
        std::thread::sleep(Duration::from_millis(30));
        let off = online("0");
        (off, pass.join())
    });
    println!("CPU 1 taken offline in the middle: {reported:?}");
    let refused = module.ask(&request(1_000, Some(1), false)).map_err(|failure| failure.reason.to_string());
    let back = online("1");
    let named = refused.as_ref().is_err_and(|why| why.to_string().contains("offline"));
    trial
        .hold(reported.0.is_err() || named, "a CPU that is offline is refused", || format!("{refused:?}"))?;
    trial.hold(back.is_ok(), "it comes back", || format!("{back:?}"))
}
