//! `triad`: a = b + 3 c with regular stores over arrays larger than the caches, as in STREAM. It is memory-bound.

use std::sync::Arc;

use kernels::stream::{CONSTANT, Op, Stream};
use record::{Template, Unavailable, text};

use super::array_pool::{ArrayPool, Group};
use super::workload::{Definition, Site, Worker, Workload, WrongResult};
use crate::arrays::{CHUNK, widest_stream};

/// The `triad` workload.
pub(crate) struct Triad;

/// The error on a CPU that lacks the vector instructions of all triad loops.
const NO_KERNEL: Template = Template::new("workload-triad-no-kernel", "no triad loop is usable on this CPU");

impl Workload for Triad {
    fn definition(&self) -> Definition {
        let work = Template::new("work-triad", "byte of triad with regular stores, as STREAM counts them");
        Definition { streams: true, ..Definition::new("triad", work) }
    }

    fn instructions(&self) -> Option<f64> {
        let kernel = widest_stream(Op::Triad)?;
        Some(f64::from(kernel.work.instructions) / f64::from(kernel.stream_bytes()))
    }

    fn usable(&self) -> Result<(), Unavailable> {
        widest_stream(Op::Triad).map(drop).ok_or_else(|| Unavailable::new(NO_KERNEL))
    }

    fn prepare(&self, site: &Site) -> Result<Box<dyn Worker>, Unavailable> {
        let kernel = widest_stream(Op::Triad).ok_or_else(|| Unavailable::new(NO_KERNEL))?;
        let pool = site.pool.clone().ok_or_else(|| text!("the arrays could not be created"))?;
        let mut worker = Walk { kernel, pool, parts: Vec::new(), at: 0, last: None };
        worker.join(Group { cpus: &[site.cpu], index: 0 });
        Ok(Box::new(worker))
    }
}

struct Walk {
    kernel: &'static Stream,
    pool: Arc<ArrayPool>,
    /// The parts of the arrays that this worker processes in the current group.
    parts: Vec<usize>,
    at: usize,
    /// The last processed chunk: its part and its offset.
    last: Option<(usize, usize)>,
}

impl Worker for Walk {
    fn join(&mut self, group: Group) {
        self.parts = self.pool.share(group);
        self.at = 0;
        self.last = None;
    }

    fn round(&mut self) -> f64 {
        let Some(&index) = self.parts.get(self.at) else { return 0.0 };
        let (offset, end) = self.pool.next_chunk(index);
        let Some(part) = self.pool.part(index) else { return 0.0 };
        // SAFETY: each of the three arrays has at least one chunk from this offset on, and is aligned to 64 bytes;
        // within a group, each part belongs to a single worker. The loop's vector instructions are usable here.
        unsafe {
            (self.kernel.run)(part.array(0, offset), part.array(1, offset), part.array(2, offset), CHUNK)
        };
        self.last = Some((index, offset));
        if end {
            self.at = (self.at + 1) % self.parts.len();
        }
        self.kernel.iterations(CHUNK) as f64 * f64::from(self.kernel.stream_bytes())
    }

    fn verify(&mut self) -> Result<(), WrongResult> {
        let Some((index, offset)) = self.last else { return Ok(()) };
        let Some(part) = self.pool.part(index) else { return Ok(()) };
        let (sum, a, b) = (part.array(0, offset), part.array(1, offset), part.array(2, offset));
        for at in 0..CHUNK / 8 {
            // SAFETY: the address is within the chunk, which is within each array; no thread writes there now.
            let (sum, a, b) = unsafe { (*sum.add(at), *a.add(at), *b.add(at)) };
            // The arrays contain small integers, which are exact with and without fused multiply-add.
            if sum != a + CONSTANT * b {
                return Err(WrongResult(text!(
                    "{a} + {constant} × {b} is {sum}",
                    a = a.to_string(),
                    constant = CONSTANT.to_string(),
                    b = b.to_string(),
                    sum = sum.to_string()
                )));
            }
        }
        Ok(())
    }
}
