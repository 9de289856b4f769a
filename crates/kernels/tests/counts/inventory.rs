//! A list of all kernels of this instruction set, for tests that iterate over them.

use std::fmt;

use kernels::branch::{BRANCHES, Branches};
use kernels::chain::{self, Chain};
use kernels::heavy::{self, Heavy};
use kernels::stream::{self, Stream};
use kernels::{Variant, Work, chase, cpu_bound, flush, hint};

/// A kernel, with the data needed to run it.
#[derive(Clone, Copy, Debug)]
pub enum Kernel {
    /// A chain or a hint, which needs no data.
    Chain(&'static Chain),
    /// A heavy loop, which needs no data.
    Heavy(&'static Heavy),
    /// A chase along this many chains; one iteration is [`chase::UNROLL`] hops of each chain.
    Chase(usize),
    /// A stream: needs its arrays.
    Stream(&'static Stream),
    /// The branches: need their bits; one iteration is one item.
    Branches(&'static Branches),
    /// A line flushed and loaded again: needs the line, and [`flush::available`].
    Reload,
}

/// One kernel of the list.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The kernel.
    pub kernel: Kernel,
    /// The instruction set extension that it needs.
    pub variant: Variant,
    /// The work of one iteration.
    pub work: Work,
}

/// A unique name: `add`, `heavy.avx2`, `chase.4`, `stream.triad.streaming.avx512`.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kernel {
            Kernel::Chain(chain) => f.write_str(chain.name),
            Kernel::Heavy(heavy) => write!(f, "{}.{}", heavy.name, heavy.variant),
            Kernel::Chase(chains) => write!(f, "chase.{chains}"),
            Kernel::Stream(stream) => write!(f, "stream.{}.{}.{}", stream.op, stream.stores, stream.variant),
            Kernel::Branches(branches) => f.write_str(branches.name),
            Kernel::Reload => f.write_str("reload"),
        }
    }
}

/// All kernels that have a declaration, whether usable on this CPU or not.
pub fn inventory() -> impl Iterator<Item = Entry> {
    static BRANCHES_LIST: [Branches; 1] = [BRANCHES];
    static CPU_BOUND_LIST: [Chain; 1] = [cpu_bound::CPU_BOUND];
    let scalar = |kernel, work| Entry { kernel, variant: Variant::Scalar, work };
    let chains = chain::all()
        .iter()
        .chain(hint::all())
        .chain(&CPU_BOUND_LIST)
        .map(move |chain| scalar(Kernel::Chain(chain), chain.work));
    let heavy = heavy::all().iter().map(|heavy| Entry {
        kernel: Kernel::Heavy(heavy),
        variant: heavy.variant,
        work: heavy.work,
    });
    let chases = (1..=chase::MAX_CHAINS)
        .filter_map(move |chains| chase::work(chains).map(|work| scalar(Kernel::Chase(chains), work)));
    let streams = stream::all().iter().map(|stream| Entry {
        kernel: Kernel::Stream(stream),
        variant: stream.variant,
        work: stream.work,
    });
    let branches =
        BRANCHES_LIST.iter().map(move |branches| scalar(Kernel::Branches(branches), branches.work));
    chains
        .chain(heavy)
        .chain(chases)
        .chain(streams)
        .chain(branches)
        .chain([scalar(Kernel::Reload, flush::WORK)])
}
