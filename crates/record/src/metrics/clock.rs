//! The core's clock.

use super::{Definition, HIGHER};
use crate::label::Label;

metrics! {
    // 6.5 GHz: above the highest stock boost clock sold (6.2 GHz); overclocked records are not a server's.
    CORE_CLOCK = Definition::new("core.clock", "Core clock", "Hz", HIGHER, (2e7, 6.5e9))
        .at(&[Label::Cpu, Label::Active, Label::Vector])
        .explained("
            The clock that a core really runs at, in Hz: cycles a second while it works, not what a file in sysfs
            claims.
            How: A chain of dependent register additions takes one cycle each, so time tells the clock; a chain of
            dependent multiplies must give the same answer within 1 %. Time for 2N minus time for N, so that
            starting and stopping cancel. `active=one` runs alone, `active=all` on every CPU at once; `vector`
            says whether plain (`scalar`) or heavy 256-bit or 512-bit work ran beside it.
            Usual: 2 to 5.7 GHz. Servers: base clock 2.0 to 3.0 GHz, one core alone 3.2 to 4.5 GHz; all cores
            together a tenth to a third lower. Kunpeng 920 stays at 2.6 GHz and Phytium FT-2500 at 2.1 GHz,
            whatever runs.
            Moves: Governor, boost, EPP, limits set by hand, heat, power limits, how many cores work, wide
            vectors, a hypervisor that gives the CPU away.
        "),
}
