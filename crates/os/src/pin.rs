//! Pins a thread to a CPU, and verifies the result.

use std::io;

use record::CpuList;

use crate::error::OsError;
use crate::thread::{check_result, current_cpu};

/// Restores the calling thread's CPUs when dropped.
#[derive(Debug)]
pub struct Pinned {
    before: Vec<u64>,
}

/// CPUs or nodes as the bits of a mask, in the kernel's format.
pub fn bit_mask(cpus: &CpuList) -> Vec<u64> {
    let words = cpus.iter().max().map_or(1, |cpu| cpu as usize / 64 + 1);
    let mut mask = vec![0u64; words];
    for cpu in cpus {
        mask[cpu as usize / 64] |= 1 << (cpu % 64);
    }
    mask
}

fn read_affinity(thread: i32) -> io::Result<Vec<u64>> {
    // 65,536 CPUs: more than the kernel supports, so its mask always fits.
    let mut mask = vec![0u64; 1024];
    // SAFETY: the kernel writes at most the given number of bytes.
    let bytes = check_result(unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, thread, mask.len() * 8, mask.as_mut_ptr())
    })?;
    mask.truncate((bytes as usize).div_ceil(8));
    Ok(mask)
}

/// The online CPUs on which the calling thread may run; `None` if the kernel does not report them.
pub fn allowed() -> Option<CpuList> {
    affinity(0)
}

/// The CPUs on which a thread may run; 0 is the calling thread.
pub fn affinity(thread: i32) -> Option<CpuList> {
    let mask = read_affinity(thread).ok()?;
    let bits = (0u32..).zip(&mask).flat_map(|(word, bits)| {
        (0..64).filter(move |bit| bits & (1 << bit) != 0).map(move |bit| word * 64 + bit)
    });
    Some(bits.collect())
}

/// Sets the affinity of the thread with this TID; 0 is the calling thread.
fn set_affinity(thread: i32, mask: &[u64]) -> io::Result<()> {
    // SAFETY: the kernel reads the given number of bytes from a live slice.
    check_result(unsafe { libc::syscall(libc::SYS_sched_setaffinity, thread, mask.len() * 8, mask.as_ptr()) })
        .map(drop)
}

/// Pins another thread, given by its TID, to CPUs until that thread ends.
///
/// # Errors
///
/// A kernel error: the thread does not exist or belongs to another user, or the CPU does not exist.
pub fn bind_thread(thread: i32, cpus: &CpuList) -> io::Result<()> {
    set_affinity(thread, &bit_mask(cpus))
}

impl Pinned {
    /// Pins the calling thread to `cpu` and checks with getcpu that it runs there.
    pub fn to(cpu: u32) -> io::Result<Self> {
        let pinned = Self::within(&[cpu].into_iter().collect())?;
        match current_cpu() {
            Some(now) if now != cpu => Err(OsError::Elsewhere { cpu, now }.into()),
            _ => Ok(pinned),
        }
    }

    /// Restricts the calling thread to these CPUs; the scheduler chooses among them.
    pub fn within(cpus: &CpuList) -> io::Result<Self> {
        let before = read_affinity(0)?;
        set_affinity(0, &bit_mask(cpus))?;
        Ok(Self { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The previous CPUs may be offline by now; the kernel then keeps the thread where it can run.
        let _ = set_affinity(0, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gets_its_cpus_back() {
        let before = read_affinity(0).unwrap();
        let cpu = current_cpu().unwrap();
        {
            let _pinned = Pinned::to(cpu).unwrap();
            assert_eq!(current_cpu(), Some(cpu));
            assert_ne!(read_affinity(0).unwrap().iter().map(|w| w.count_ones()).sum::<u32>(), 0);
        }
        assert_eq!(read_affinity(0).unwrap(), before);
    }

    #[test]
    fn this_cpu_is_allowed() {
        let allowed = allowed().unwrap();
        assert!(allowed.contains(current_cpu().unwrap()) && allowed.len() < 60_000);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        assert!(Pinned::to(60_000).is_err());
    }
}
