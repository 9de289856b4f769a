//! The input and output of the device /dev/linespeed, as defined in kmod/linespeed.h.

use std::ops::Range;

use zerocopy::FromBytes;

/// Constants that both the module and linespeed use.
const VERSION: u32 = 2;
/// The largest end of a range that the module accepts. Testing a number below this limit needs at most 4096 divisions,
/// so that interrupts are never off for long.
pub const BELOW_MAX: u64 = 1 << 24;
/// Maximum duration of a burst, ns. No interrupt is delayed for longer than this.
pub const BURST_NS: u32 = 2_000_000;
/// Maximum number of iterations of the dependent adds per clock reading.
pub const CLOCK_MAX: u32 = 8192;

const BOUND: u32 = 1;
const INTERRUPTS_OFF: u32 = 2;
const ANSWER_BYTES: usize = size_of::<AnswerHead>();
const PASS_BYTES: usize = size_of::<PassReport>();

/// A load for tests: timer interrupts of known duration on one CPU during the passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The CPU that receives the interrupts.
    pub cpu: u32,
    /// The interrupt period, ns; at least 20,000.
    pub period_ns: u32,
    /// The duration of each interrupt, ns; at most half the period, and at most 500,000.
    pub busy_ns: u32,
}

/// A request for passes from the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The range of numbers, below [`BELOW_MAX`].
    pub range: Range<u64>,
    /// The number of passes, 1 to 32.
    pub passes: u32,
    /// The CPU to which the thread is pinned.
    pub cpu: Option<u32>,
    /// Whether interrupts are disabled within bursts.
    pub interrupts_off: bool,
    /// Iterations of the chain of dependent adds per clock reading, 1 to [`CLOCK_MAX`].
    pub clock_iterations: u32,
    /// A concurrent load.
    pub load: Option<Load>,
}

impl Request {
    /// Encodes the request.
    pub fn bytes(&self) -> Vec<u8> {
        let flags =
            if self.cpu.is_some() { BOUND } else { 0 } | if self.interrupts_off { INTERRUPTS_OFF } else { 0 };
        let load = self.load.unwrap_or(Load { cpu: 0, period_ns: 0, busy_ns: 0 });
        let (cpu, iterations) = (self.cpu.unwrap_or(0), self.clock_iterations);
        let rest = [self.passes, cpu, BURST_NS, iterations, load.period_ns, load.busy_ns, load.cpu, 0];
        let mut bytes = [VERSION, flags].map(u32::to_ne_bytes).concat();
        bytes.extend([self.range.start, self.range.end].map(u64::to_ne_bytes).as_flattened());
        bytes.extend(rest.map(u32::to_ne_bytes).as_flattened());
        bytes
    }

    /// The size of the answer to this request, in bytes.
    pub fn answer_bytes(&self) -> usize {
        ANSWER_BYTES + self.passes as usize * PASS_BYTES
    }
}

/// One pass, as reported by the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, FromBytes)]
#[repr(C)]
pub struct PassReport {
    /// Primes found.
    pub primes: u64,
    /// Ticks of the counter, summed over the bursts.
    pub ticks_inside: u64,
    /// Ticks from the beginning of the first burst to the end of the last burst.
    pub ticks_whole: u64,
    /// The duration of the period from the first to the last burst, in ns of the kernel's clock.
    pub ns_whole: u64,
    /// Duration of a clock reading before the pass, in ticks: the fastest of three readings.
    pub clock_before: u64,
    /// Duration of a clock reading after the pass, in ticks: the fastest of three readings.
    pub clock_after: u64,
    /// The longest time with interrupts off, ns.
    pub longest_off_ns: u64,
    /// Iterations of the dependent adds per clock reading.
    pub clock_iterations: u32,
    /// CRC-32 of the routine's bytes as executed.
    pub crc: u32,
    /// The offset of these bytes in a page of 4096 bytes.
    pub page_offset: u32,
    /// Number of bursts.
    pub bursts: u32,
    /// The CPU at the start.
    pub cpu_from: u32,
    /// The CPU at the end.
    pub cpu_to: u32,
    /// Migrations between CPUs, as observed between bursts.
    pub cpu_changes: u32,
    /// Voluntary context switches.
    pub switches: u32,
    /// Involuntary context switches.
    pub preemptions: u32,
    /// Reserved for later versions.
    pub reserved: u32,
}

/// The header of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, FromBytes)]
#[repr(C)]
pub struct AnswerHead {
    version: u32,
    passes: u32,
    /// Size of the routine, bytes.
    pub routine_bytes: u32,
    /// Size of the adds' code, bytes.
    pub clock_bytes: u32,
    /// CRC-32 of the adds' bytes as executed.
    pub clock_crc: u32,
    /// The offset of these bytes in a page of 4096 bytes.
    pub clock_offset: u32,
    /// Number of interrupts that the load caused.
    pub load_count: u64,
    /// Total duration of these interrupts, ns.
    pub load_ns: u64,
    /// CPU time of the thread that ran the passes, ns.
    pub thread_ns: u64,
}

/// The module's reply to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The values that apply to all passes together.
    pub head: AnswerHead,
    /// The passes.
    pub passes: Vec<PassReport>,
}

impl Answer {
    /// Reads an answer to a request of this many passes; `None` if the bytes are not an answer.
    pub fn read(bytes: &[u8], passes: u32) -> Option<Self> {
        let (head, rest) = AnswerHead::read_from_prefix(bytes).ok()?;
        let known = (head.version, head.passes) == (VERSION, passes);
        let reports = rest.chunks(PASS_BYTES).map(|bytes| PassReport::read_from_bytes(bytes).ok());
        let passes = reports.collect::<Option<Vec<_>>>()?;
        (known && passes.len() == head.passes as usize).then_some(Self { head, passes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request() -> Request {
        let load = Some(Load { cpu: 3, period_ns: 100_000, busy_ns: 5_000 });
        Request { range: 2..1000, passes: 2, cpu: Some(1), interrupts_off: true, clock_iterations: 7, load }
    }

    #[test]
    fn a_request_is_laid_out_as_the_module_reads_it() {
        let bytes = request().bytes();
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!((word(0), word(4)), (VERSION, 3));
        assert_eq!(u64::from_ne_bytes(bytes[16..24].try_into().unwrap()), 1000);
        let rest: Vec<u32> = (24..bytes.len()).step_by(4).map(word).collect();
        assert_eq!(rest, [2, 1, 2_000_000, 7, 100_000, 5_000, 3, 0]);
    }

    #[test]
    fn numbers_are_the_same_on_both_sides() {
        let header = include_str!("../../../../kmod/linespeed.h");
        for line in [
            format!("LINESPEED_VERSION {VERSION}"),
            format!("LINESPEED_BOUND {BOUND}"),
            format!("LINESPEED_INTERRUPTS_OFF {INTERRUPTS_OFF}"),
            format!("LINESPEED_CLOCK_MAX {CLOCK_MAX}"),
            format!("LINESPEED_BURST_MAX {BURST_NS}"),
            format!("LINESPEED_BELOW_MAX (1 << {})", BELOW_MAX.trailing_zeros()),
        ] {
            assert!(header.contains(&format!("#define {line}\n")), "{line}");
        }
        let main = include_str!("../../../../kmod/main.c");
        for (name, bytes) in
            [("request", request().bytes().len()), ("answer", ANSWER_BYTES), ("pass", PASS_BYTES)]
        {
            let line = format!("BUILD_BUG_ON(sizeof(struct linespeed_{name}) != {bytes});");
            assert!(main.contains(&line), "{line}");
        }
    }

    #[test]
    fn an_answer_is_read_number_by_number() {
        let mut bytes: Vec<u8> = [VERSION, 2, 117, 843, 5, 64].iter().flat_map(|n| n.to_ne_bytes()).collect();
        bytes.extend([6u64, 7, 8].iter().flat_map(|n| n.to_ne_bytes()));
        for pass in [100u64, 200] {
            bytes.extend((0..7).flat_map(|n| (pass + n).to_ne_bytes()));
            bytes.extend((0..10).flat_map(|n| (pass as u32 + 50 + n).to_ne_bytes()));
        }
        let answer = Answer::read(&bytes, 2).unwrap();
        assert_eq!((answer.head.routine_bytes, answer.head.clock_crc), (117, 5));
        assert_eq!((answer.head.load_count, answer.head.load_ns, answer.head.thread_ns), (6, 7, 8));
        let pass = &answer.passes[1];
        assert_eq!((pass.primes, pass.longest_off_ns, pass.clock_iterations), (200, 206, 250));
        assert_eq!((pass.cpu_from, pass.preemptions), (254, 258));
        assert_eq!(Answer::read(&bytes, 1), None);
        assert_eq!(Answer::read(&bytes[..bytes.len() - 1], 2), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), passes in 0u32..4) {
            let _ = Answer::read(&bytes, passes);
        }
    }
}
