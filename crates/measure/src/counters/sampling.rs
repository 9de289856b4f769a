//! Samples user-mode execution on CPUs with a kernel timer: the address of the instruction, and the registers, from
//! which its memory operands are computed. This needs no PMU, which virtual machines rarely have.
//!
//! The layout of the ring buffer and its records is from `include/uapi/linux/perf_event.h`. The register numbers are
//! from `arch/x86/include/uapi/asm/perf_regs.h` and `arch/arm64/include/uapi/asm/perf_regs.h`.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use record::Unavailable;

use super::attr::{self, SampleAttr, Whose};
use super::refusal::{self, Scope};

/// Pages of a ring buffer after the first page, which stores the fill level. With 4 KiB pages, there is room for about
/// ninety samples on x86-64.
const PAGES: usize = 16;
/// `PERF_RECORD_SAMPLE`.
const SAMPLE: u32 = 9;
/// `PERF_RECORD_MISC_CPUMODE_MASK`, and `PERF_RECORD_MISC_KERNEL` in it.
const MODE: u16 = 7;
const IN_KERNEL: u16 = 1;
/// `PERF_RECORD_LOST`.
const LOST: u32 = 2;
/// `PERF_RECORD_FORK`.
const FORK: u32 = 7;
/// `PERF_RECORD_COMM`, and `PERF_RECORD_MISC_COMM_EXEC` of its header.
const COMM: u32 = 3;
const EXEC: u16 = 1 << 13;
/// The offsets of `data_head` and `data_tail` in `struct perf_event_mmap_page`.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// Registers of a sample, in the order of their numbers in instructions. x86-64: RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 to
/// R15. AArch64: X0 to X30, SP.
pub(crate) const REGISTERS: usize = if cfg!(target_arch = "x86_64") { 16 } else { 32 };

/// The requested registers, by the kernel's numbers.
#[cfg(target_arch = "x86_64")]
const ASKED: u64 = 0xff_01ff;
#[cfg(not(target_arch = "x86_64"))]
const ASKED: u64 = 0x1_ffff_ffff;

/// The index of each register of [`Sample::registers`] among the requested registers: the kernel's order begins with RAX,
/// RBX, RCX, RDX, RSI, RDI, RBP, RSP, and RIP precedes R8.
#[cfg(target_arch = "x86_64")]
const PLACES: [usize; REGISTERS] = [0, 2, 3, 1, 7, 6, 4, 5, 9, 10, 11, 12, 13, 14, 15, 16];
/// The index of the instruction's address in that order.
#[cfg(target_arch = "x86_64")]
const PLACE_OF_IP: usize = 8;
#[cfg(not(target_arch = "x86_64"))]
const PLACE_OF_IP: usize = REGISTERS;
#[cfg(not(target_arch = "x86_64"))]
const PLACES: [usize; REGISTERS] = {
    let mut places = [0; REGISTERS];
    let mut at = 0;
    while at < REGISTERS {
        places[at] = at;
        at += 1;
    }
    places
};

/// A sample taken on a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The PID, in this process's PID namespace.
    pub(crate) pid: i32,
    /// The TID.
    pub(crate) tid: i32,
    /// The CPU on which the sample was taken.
    pub(crate) cpu: u32,
    /// The time, ns of a clock common to all CPUs.
    pub(crate) time: u64,
    /// The address of the next instruction: either the previous instruction has just completed, or this one is waiting.
    /// For a sample in the kernel, the instruction at which user mode resumes.
    pub(crate) ip: u64,
    /// Whether the CPU was in kernel mode.
    pub(crate) in_kernel: bool,
    /// The registers at the time of the sample.
    pub(crate) registers: [u64; REGISTERS],
    /// A copy of the thread's stack, beginning at the stack pointer.
    pub(crate) stack: Vec<u8>,
}

impl Sample {
    /// Reads a value of this many bytes from the thread's stack; `None` outside the copied part. `pointer` is the stack pointer.
    pub(crate) fn on_stack(&self, pointer: u64, address: u64, bytes: u8) -> Option<u64> {
        let from = usize::try_from(address.checked_sub(pointer)?).ok()?;
        let mut value = [0; 8];
        let there = self.stack.get(from..from.checked_add(bytes.into())?)?;
        value.get_mut(..there.len())?.copy_from_slice(there);
        Some(u64::from_le_bytes(value))
    }
}

/// Messages from the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    /// A sample.
    Sample(Sample),
    /// The process with this PID has started another program (exec).
    Exec(i32),
    /// The second process, or one of its threads, started the first.
    Fork(i32, i32),
    /// This many samples were dropped for lack of buffer space.
    Lost(u64),
}

/// Samples some CPUs or threads until it is dropped.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// Attributes for sampling with and without the kernel; the kernel is included if that is allowed.
    attrs: [SampleAttr; 2],
    rings: Vec<(Whose<'static>, Ring)>,
}

/// The ring buffer for the samples of one CPU or thread.
#[derive(Debug)]
struct Ring {
    _event: OwnedFd,
    start: *mut u8,
    page: usize,
}

// SAFETY: the mapping belongs to its ring buffer, which is only read through an exclusive reference.
unsafe impl Send for Ring {}

impl Sampler {
    /// Samples each of these CPUs once per `period` ns while it is in user mode. This also wakes idle CPUs.
    pub(crate) fn of_cpus(cpus: impl IntoIterator<Item = u32>, period: u64) -> Result<Self, Unavailable> {
        let mut all = Self::of_none(period);
        for cpu in cpus {
            match all.open(Whose::Cpu(cpu)) {
                // A CPU may have gone offline in the meantime.
                Err(error) if error.raw_os_error() != Some(libc::ENODEV) => {
                    return Err(refusal::surroundings().explain(&error, Scope::Machine));
                }
                _ => {}
            }
        }
        Ok(all)
    }

    /// Samples nothing until threads are added. Each thread is sampled once per `period` ns of its CPU time while it is
    /// in user mode.
    pub(crate) fn of_none(period: u64) -> Self {
        let attrs = [true, false].map(|in_kernel| SampleAttr::new(period, ASKED, in_kernel));
        Self { attrs, rings: Vec::new() }
    }

    /// Also samples this thread.
    pub(crate) fn add_thread(&mut self, tid: i32) -> Result<(), Unavailable> {
        self.open(Whose::Thread(tid))
            .map_err(|error| refusal::surroundings().explain(&error, Scope::Process(tid)))
    }

    fn open(&mut self, whose: Whose<'static>) -> io::Result<()> {
        let [with_kernel, without] = &self.attrs;
        let event = match attr::open_sampling(with_kernel, whose) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                attr::open_sampling(without, whose)
            }
            opened => opened,
        };
        self.rings.push((whose, Ring::new(event?)?));
        Ok(())
    }

    /// Stops sampling all threads except these.
    pub(crate) fn keep_threads(&mut self, tids: &BTreeSet<i32>) {
        self.rings.retain(|(whose, _)| !matches!(whose, Whose::Thread(tid) if !tids.contains(tid)));
    }

    /// Whether anything is sampled.
    pub(crate) fn is_empty(&self) -> bool {
        self.rings.is_empty()
    }

    /// Passes the samples since the last call to `each`.
    pub(crate) fn take(&mut self, mut each: impl FnMut(Noted)) {
        self.rings.iter_mut().for_each(|(_, ring)| ring.take(&mut each));
    }
}

impl Ring {
    fn new(event: OwnedFd) -> io::Result<Self> {
        let page = os::mapping::base_page() as usize;
        // SAFETY: a mapping at an address chosen by the kernel affects no existing memory.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                (1 + PAGES) * page,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { _event: event, start: start.cast(), page })
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page is mapped for as long as this value lives, and both words are aligned in it. The
        // kernel writes the head and reads the tail as whole words.
        unsafe { AtomicU64::from_ptr(self.start.add(offset).cast()) }
    }

    /// Copies bytes from the ring buffer, which wraps around at its end.
    fn copy(&self, at: u64, to: &mut [u8]) {
        let size = PAGES * self.page;
        for (byte, at) in to.iter_mut().zip(at..) {
            let offset = self.page + (at % size as u64) as usize;
            // SAFETY: the offset is within the mapping. The kernel does not overwrite data before the head until the
            // tail has passed it.
            *byte = unsafe { self.start.add(offset).read_volatile() };
        }
    }

    /// Passes the new samples in this ring buffer to `each`.
    fn take(&mut self, each: &mut impl FnMut(Noted)) {
        let head = self.word(HEAD).load(Ordering::Acquire);
        let mut tail = self.word(TAIL).load(Ordering::Relaxed);
        let mut record = Vec::new();
        while head.wrapping_sub(tail) >= 8 {
            let mut start = [0; 8];
            self.copy(tail, &mut start);
            let (kind, flags, size) = header(start);
            if size < 8 || size as u64 > head.wrapping_sub(tail) {
                break;
            }
            record.resize(size - 8, 0);
            self.copy(tail.wrapping_add(8), &mut record);
            let event = match kind {
                SAMPLE => sample(&record, flags & MODE == IN_KERNEL).map(Noted::Sample),
                FORK => {
                    word(&record, 0).map(|word| Noted::Fork(halves(word).0 as i32, halves(word).1 as i32))
                }
                LOST => word(&record, 1).map(Noted::Lost),
                COMM if flags & EXEC != 0 => word(&record, 0).map(|word| Noted::Exec(halves(word).0 as i32)),
                _ => None,
            };
            event.into_iter().for_each(&mut *each);
            tail = tail.wrapping_add(size as u64);
        }
        self.word(TAIL).store(head, Ordering::Release);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this object owns the whole mapping, and its address is no longer in use.
        unsafe { libc::munmap(self.start.cast(), (1 + PAGES) * self.page) };
    }
}

/// Kind, flags and size of a record, parsed as `struct perf_event_header`.
fn header(bytes: [u8; 8]) -> (u32, u16, usize) {
    let [a, b, c, d, e, f, g, h] = bytes;
    (u32::from_ne_bytes([a, b, c, d]), u16::from_ne_bytes([e, f]), u16::from_ne_bytes([g, h]).into())
}

fn word(record: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(record.get(8 * at..8 * at + 8)?.try_into().ok()?))
}

/// The two 32-bit numbers of a word, in memory order.
fn halves(word: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]))
}

/// Parses a sample without its header: the address, process and thread, the time, the CPU, the register ABI, and the
/// registers. `None` for a thread without 64-bit registers.
fn sample(record: &[u8], in_kernel: bool) -> Option<Sample> {
    /// `PERF_SAMPLE_REGS_ABI_64`.
    const OF_64_BITS: u64 = 2;
    let ((pid, tid), time) = (halves(word(record, 1)?), word(record, 2)?);
    let (cpu, _) = halves(word(record, 3)?);
    if word(record, 4)? != OF_64_BITS {
        return None;
    }
    let mut registers = [0; REGISTERS];
    for (register, place) in registers.iter_mut().zip(PLACES) {
        *register = word(record, 5 + place)?;
    }
    let ip = word(record, 5 + PLACE_OF_IP)?;
    let stack = stack(record, 6 + REGISTERS).unwrap_or_default().to_vec();
    Some(Sample { pid: pid as i32, tid: tid as i32, cpu, time, ip, in_kernel, registers, stack })
}

/// The stack copy in a record. The record contains the size of the copy, the data, and the filled length.
fn stack(record: &[u8], at: usize) -> Option<&[u8]> {
    let room = usize::try_from(word(record, at)?).ok()?;
    let there = record.get(8 * at + 8..)?.get(..room)?;
    let filled = word(record, at + 1 + room / 8)?;
    there.get(..usize::try_from(filled).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_sample_is_read_as_the_kernel_writes_it() {
        let pair = |a: u32, b: u32| {
            let mut bytes = [0; 8];
            bytes[..4].copy_from_slice(&a.to_ne_bytes());
            bytes[4..].copy_from_slice(&b.to_ne_bytes());
            u64::from_ne_bytes(bytes)
        };
        let mut words = vec![0x40_1000, pair(7, 9), 5_000, pair(3, 0), 2];
        words.extend(100..=100 + REGISTERS as u64);
        words[5 + PLACE_OF_IP] = 0x40_1000;
        // A copy with room for two words of the stack, of which one was filled.
        words.extend([16, 7_000, 8_000, 8]);
        let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let read = sample(&bytes(&words), false).unwrap();
        assert_eq!((read.pid, read.tid, read.cpu, read.time, read.ip), (7, 9, 3, 5_000, 0x40_1000));
        #[cfg(target_arch = "x86_64")]
        assert_eq!(read.registers[..8], [100, 102, 103, 101, 107, 106, 104, 105]);
        assert_eq!(read.registers[REGISTERS - 1], if cfg!(target_arch = "x86_64") { 116 } else { 131 });
        let on_stack = |address| read.on_stack(0x1000, address, 8);
        assert_eq!((on_stack(0x1000), on_stack(0x1008), on_stack(0xff8)), (Some(7_000), None, None));
        words.truncate(6 + REGISTERS);
        assert!(sample(&bytes(&words), true).unwrap().stack.is_empty());
        // A truncated sample, a sample of a 32-bit program, and a sample of a kernel thread.
        assert_eq!(sample(&bytes(&words[..words.len() - 1]), false), None);
        words[4] = 1;
        assert_eq!(sample(&bytes(&words), false), None);
        assert_eq!(sample(&bytes(&words[..5]), false), None);
        assert_eq!(header([9, 0, 0, 0, 2, 0, 160, 0]), (SAMPLE, 2, 160));
    }

    /// Samples show what this process does in user mode. If sampling is refused, one line reports the refusal.
    #[test]
    fn a_loop_is_found_where_it_runs() {
        let mut sampler = match Sampler::of_cpus(0..4096, 1_000_000) {
            Ok(sampler) => sampler,
            // Some users may sample their own threads, but not whole CPUs.
            Err(_) => Sampler::of_none(1_000_000),
        };
        if sampler.is_empty()
            && let Err(why) = sampler.add_thread(0)
        {
            return assert!(!why.reason.to_string().is_empty());
        }
        let own = std::process::id() as i32;
        let until = Instant::now() + Duration::from_secs(20);
        let mut found = 0;
        while found < 20 && Instant::now() < until {
            let began = Instant::now();
            while began.elapsed() < Duration::from_millis(50) {
                std::hint::black_box((0..1000).fold(1u64, |x, y| x.wrapping_mul(y | 1)));
            }
            sampler.take(|event| {
                found +=
                    u32::from(matches!(event, Noted::Sample(sample) if sample.pid == own && sample.ip != 0));
            });
        }
        assert!(found >= 20, "{found}");
    }
}
