//! Top-down analysis, level 1: the shares of a core's issue slots that did useful work, were discarded, had no
//! instruction to issue, or waited at the back end. Each vendor has its own events. Those of this machine are
//! determined once, from sysfs and the processor's identity.
//!
//! | method | events | formula |
//! |---|---|---|
//! | Intel since Ice Lake, Atom since Gracemont | `topdown-*` from sysfs, in a group led by `slots` if available | `tools/perf/Documentation/topdown.txt` |
//! | Earlier Intel | `topdown-total-slots` and four more events from sysfs | A. Yasin, ISPASS 2014 |
//! | AMD since Zen 4 | dispatch slots | AMD's Processor Programming References, `pmu-events/arch/x86/amdzen4`, `amdzen5` |
//! | Arm with slots | `stall_slot*`, `op_retired`, `op_spec` | Arm's telemetry specification, `pmu-events/arch/arm64/sbsa.json` |
//! | Kunpeng 920 | `fetch_bubble`, instructions | `pmu-events/arch/arm64/hisilicon/hip08` |
//! | Arm without slots | stalled cycles | the architecture's STALL_FRONTEND and STALL_BACKEND: cycles, not slots |

use std::sync::OnceLock;

use machine::Root;
use machine::midr::Midr;

use super::attr::Code;
use super::pmu::{self, Pmu};
use super::reading::Reading;

/// The categories of a core's issue slots: retired work, discarded work (issued on a wrong path or lost to recovery),
/// nothing to issue (instruction cache, decoding, redirects), and back end stalled (waiting for memory or an execution
/// unit).
pub(crate) const CATEGORIES: [&str; 4] = ["retiring", "bad-speculation", "frontend-bound", "backend-bound"];

/// Shares of the issue slots.
#[derive(Clone, Debug, PartialEq)]
pub struct TopDown {
    /// The share of each category in `CATEGORIES`; the shares add up to 1.
    pub shares: [f64; 4],
    /// A description of the events from which the shares are computed.
    pub source: &'static str,
    /// The smallest share of time for which any of the events was counted, 0 to 1.
    pub coverage: f64,
}

/// The method used on this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Method {
    /// Counts of slots by category, directly from the CPU.
    Categories,
    /// Total, issued and retired slots, fetch and recovery bubbles. `total` and `recovery` are the scales of these events in sysfs.
    Bubbles { total: f64, recovery: f64 },
    /// AMD's dispatch slots. `width` is the number of slots per cycle.
    Dispatch { width: f64 },
    /// Arm's stalled slots: the number of slots per cycle, and whether a stall event counts one slot too many in each
    /// cycle (see [`COUNTS_CYCLES`]).
    Slots { width: f64, minus_cycles: bool },
    /// Fetch bubbles of Kunpeng 920. `width` is the number of slots per cycle.
    Fetch { width: f64 },
    /// Cycles in which nothing was issued.
    Cycles,
}

impl Method {
    fn source(self) -> &'static str {
        match self {
            Self::Categories => "CPU top-down slots",
            Self::Bubbles { .. } => "kernel topdown events",
            Self::Dispatch { .. } => "AMD's dispatch slots",
            Self::Slots { .. } => "Arm's stall slots",
            Self::Fetch { .. } => "fetch bubbles",
            Self::Cycles => "stalled cycles",
        }
    }
}

/// An event of the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    pub name: &'static str,
    pub code: Code,
}

/// The method and its groups, each for one kind of core.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub method: Method,
    pub groups: Vec<Vec<Planned>>,
}

/// The vendor of the processor, with the details that determine the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// AMD's family and model.
    Amd { family: u32, model: u32 },
    /// Arm's identification register.
    Arm(Midr),
    /// Another vendor, or an unknown one.
    Other,
}

/// Neoverse N2 and V2: with the slot width 5 reported by their first revisions, `stall_slot` and `stall_slot_frontend`
/// count one slot too many in each cycle (`pmu-events/arch/arm64/arm/neoverse-n2-v2/metrics.json`).
const COUNTS_CYCLES: [(u32, u32); 3] = [(0x41, 0xd49), (0x41, 0xd4f), (0x6d, 0xd49)];
/// Kunpeng 920 cores (TSV110), which are four slots wide.
const TSV110: (u32, u32) = (0x48, 0xd01);

const INTEL: [&str; 4] = ["topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound"];
const BUBBLES: [&str; 5] = [
    "topdown-total-slots",
    "topdown-slots-issued",
    "topdown-slots-retired",
    "topdown-fetch-bubbles",
    "topdown-recovery-bubbles",
];
const AMD: [(&str, &str); 4] = [
    ("de_no_dispatch_per_slot.no_ops_from_frontend", "event=0x1a0,umask=0x1"),
    ("de_no_dispatch_per_slot.backend_stalls", "event=0x1a0,umask=0x1e"),
    ("de_src_op_disp.all", "event=0xaa,umask=0x7"),
    ("ex_ret_ops", "event=0xc1,umask=0x0"),
];

/// This machine's top-down events; `None` if none are published.
pub(super) fn plan() -> Option<&'static Plan> {
    static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
    PLAN.get_or_init(|| {
        let root = Root::live();
        make_plan(&root, &pmu::core_units(&root)?, identity(&root))
    })
    .as_ref()
}

/// The plan for the machine below `root`, whose cores have these `units`.
pub(super) fn make_plan(root: &Root, units: &[Pmu], identity: Identity) -> Option<Plan> {
    let categories: Vec<_> = units.iter().filter_map(|unit| categories(root, unit)).collect();
    if !categories.is_empty() {
        return Some(Plan { method: Method::Categories, groups: categories });
    }
    // The other methods are for machines with one kind of core, because results from formulas of different cores cannot
    // be summed.
    let [unit] = units else { return None };
    bubbles(root, unit).or_else(|| match identity {
        Identity::Amd { family, model } => dispatch(root, unit, family, model),
        Identity::Arm(midr) => arm_slots(root, unit, midr)
            .or_else(|| kunpeng(root, unit, midr))
            .or_else(|| stalled_cycles(root, unit)),
        Identity::Other => stalled_cycles(root, unit),
    })
}

/// Events described by the unit; `None` unless it has all of them.
fn planned(root: &Root, unit: &Pmu, names: &[&'static str]) -> Option<Vec<Planned>> {
    names.iter().map(|name| Some(Planned { name, code: unit.event(root, name)? })).collect()
}

/// One group of a unit's four categories, led by `slots` if the unit has it, as the kernel requires.
fn categories(root: &Root, unit: &Pmu) -> Option<Vec<Planned>> {
    let slots = planned(root, unit, &["slots"]).unwrap_or_default();
    Some(slots.into_iter().chain(planned(root, unit, &INTEL)?).collect())
}

fn bubbles(root: &Root, unit: &Pmu) -> Option<Plan> {
    let method =
        Method::Bubbles { total: unit.scale(root, BUBBLES[0]), recovery: unit.scale(root, BUBBLES[4]) };
    // At most three events per group: a core with hyper-threading has four counters, one of which a watchdog may use.
    let groups = vec![planned(root, unit, &BUBBLES[..3])?, planned(root, unit, &BUBBLES[3..])?];
    Some(Plan { method, groups })
}

/// AMD's slots per cycle: 6 on Zen 4, 8 on Zen 5. Zen 3, which has no such events, shares Zen 4's family.
fn dispatch(root: &Root, unit: &Pmu, family: u32, model: u32) -> Option<Plan> {
    let width = match (family, model) {
        (0x19, 0x10..=0x1f | 0x60..=0x7f | 0xa0..=0xaf) => 6.0,
        (0x1a, _) => 8.0,
        _ => return None,
    };
    let encoded =
        |(name, text): &(&'static str, &str)| Some(Planned { name, code: unit.encode(root, text)? });
    let events: Vec<Planned> = AMD.iter().map(encoded).collect::<Option<_>>()?;
    Some(Plan { method: Method::Dispatch { width }, groups: events.chunks(2).map(<[_]>::to_vec).collect() })
}

fn arm_slots(root: &Root, unit: &Pmu, midr: Midr) -> Option<Plan> {
    let width = unit.capability(root, "slots").filter(|width| (1..=64).contains(width))?;
    let minus_cycles = width == 5 && COUNTS_CYCLES.contains(&(midr.implementer, midr.part));
    let groups = vec![
        planned(root, unit, &["stall_slot", "stall_slot_frontend", "stall_slot_backend"])?,
        planned(root, unit, &["op_retired", "op_spec"])?,
    ];
    Some(Plan { method: Method::Slots { width: width as f64, minus_cycles }, groups })
}

fn kunpeng(root: &Root, unit: &Pmu, midr: Midr) -> Option<Plan> {
    if (midr.implementer, midr.part) != TSV110 {
        return None;
    }
    let fetch = Planned { name: "fetch_bubble", code: unit.encode(root, "event=0x2014")? };
    let groups = vec![vec![fetch], planned(root, unit, &["inst_retired", "inst_spec"])?];
    Some(Plan { method: Method::Fetch { width: 4.0 }, groups })
}

/// A plan with the stalled cycles. Dividing the other cycles into retired and discarded work requires more than the generic stall events.
fn stalled_cycles(root: &Root, unit: &Pmu) -> Option<Plan> {
    let groups = vec![
        planned(root, unit, &["stall_frontend", "stall_backend"])?,
        planned(root, unit, &["inst_retired", "inst_spec"])?,
    ];
    Some(Plan { method: Method::Cycles, groups })
}

impl Reading {
    /// The use of this machine's issue slots; `None` if not all top-down events were counted or their values are
    /// impossible.
    pub fn top_down(&self) -> Option<TopDown> {
        shares(plan()?.method, self)
    }
}

/// The accepted range of the sum of the shares; shares with a sum in this range are normalized. The sum may differ from 1 due to
/// measurement error, because the events of AMD and Arm are not exactly complementary, and because no category contains the slots
/// used by a hyperthread sibling.
const PLAUSIBLE_SUM: std::ops::RangeInclusive<f64> = 0.3..=1.3;

pub(super) fn shares(method: Method, reading: &Reading) -> Option<TopDown> {
    let mut coverage: f64 = 1.0;
    let mut value = |name: &str| {
        let count = reading.get(name)?;
        coverage = coverage.min(count.coverage());
        Some(count.value)
    };
    let shares = match method {
        Method::Categories => {
            let four = [value(INTEL[0])?, value(INTEL[1])?, value(INTEL[2])?, value(INTEL[3])?];
            divide(four, four.iter().sum())?
        }
        Method::Bubbles { total, recovery } => {
            let slots = value(BUBBLES[0])? * total;
            let [issued, retired, fetch, lost] =
                [value(BUBBLES[1])?, value(BUBBLES[2])?, value(BUBBLES[3])?, value(BUBBLES[4])? * recovery];
            divide_with_rest([retired, issued - retired + lost, fetch], slots)?
        }
        Method::Dispatch { width } => {
            let slots = value("cycles")? * width;
            let [frontend, backend] = [value(AMD[0].0)?, value(AMD[1].0)?];
            let [dispatched, retired] = [value(AMD[2].0)?, value(AMD[3].0)?];
            divide([retired, dispatched - retired, frontend, backend], slots)?
        }
        Method::Slots { width, minus_cycles } => {
            let cycles = value("cycles")?;
            let extra = if minus_cycles { cycles } else { 0.0 };
            let slots = cycles * width;
            let (stalled, front) = (value("stall_slot")? - extra, value("stall_slot_frontend")? - extra);
            let (kept, lost) = split_issued(slots - stalled, value("op_retired")?, value("op_spec")?)?;
            divide([kept, lost, front, value("stall_slot_backend")?], slots)?
        }
        Method::Fetch { width } => {
            let slots = value("cycles")? * width;
            let (retired, issued) = (value("inst_retired")?, value("inst_spec")?);
            divide_with_rest([retired, issued - retired, value("fetch_bubble")?], slots)?
        }
        Method::Cycles => {
            let cycles = value("cycles")?;
            let (front, back) = (value("stall_frontend")?, value("stall_backend")?);
            let used = (cycles - front - back).max(0.0);
            let (kept, lost) = split_issued(used, value("inst_retired")?, value("inst_spec")?)?;
            divide([kept, lost, front, back], cycles)?
        }
    };
    Some(TopDown { shares: even_out(shares)?, source: method.source(), coverage })
}

/// Converts slot counts to shares of all slots.
fn divide(parts: [f64; 4], slots: f64) -> Option<[f64; 4]> {
    (slots > 0.0).then(|| parts.map(|part| part / slots))
}

/// Like [`divide`], but for three categories; the remaining slots waited at the back end.
fn divide_with_rest([retired, lost, fetch]: [f64; 3], slots: f64) -> Option<[f64; 4]> {
    let [retired, lost, fetch, _] = divide([retired, lost, fetch, 0.0], slots)?.map(|part| part.max(0.0));
    Some([retired, lost, fetch, (1.0 - retired - lost - fetch).max(0.0)])
}

/// Divides used slots into retired and discarded work.
fn split_issued(used: f64, retired: f64, issued: f64) -> Option<(f64, f64)> {
    let kept = (retired / issued).min(1.0);
    (issued > 0.0).then_some((kept * used, (1.0 - kept) * used))
}

/// Normalizes four shares to a sum of 1; `None` if their sum is too far from 1.
fn even_out(shares: [f64; 4]) -> Option<[f64; 4]> {
    let shares = shares.map(|share| share.max(0.0));
    let sum: f64 = shares.iter().sum();
    (sum.is_finite() && PLAUSIBLE_SUM.contains(&sum)).then(|| shares.map(|share| share / sum))
}

fn identity(root: &Root) -> Identity {
    match (Midr::of_cpu(root, 0), amd_signature()) {
        (Some(midr), _) => Identity::Arm(midr),
        (None, Some(signature)) => amd_identity(signature),
        (None, None) => Identity::Other,
    }
}

/// CPUID's signature on an AMD processor.
#[cfg(target_arch = "x86_64")]
fn amd_signature() -> Option<u32> {
    use core::arch::x86_64::__cpuid;
    // Leaf 0: the vendor's name in EBX, EDX, ECX, here "AuthenticAMD".
    let name = __cpuid(0);
    let amd = (name.ebx, name.edx, name.ecx) == (0x6874_7541, 0x6974_6e65, 0x444d_4163);
    amd.then(|| __cpuid(1).eax)
}

#[cfg(not(target_arch = "x86_64"))]
fn amd_signature() -> Option<u32> {
    None
}

/// Family and model from the signature (AMD's Programmer's Manual, volume 3, Fn0000_0001_EAX).
fn amd_identity(signature: u32) -> Identity {
    let (base, extended) = (signature >> 8 & 0xf, signature >> 20 & 0xff);
    let family = if base == 0xf { base + extended } else { base };
    let model = (signature >> 4 & 0xf) | (signature >> 16 & 0xf) << 4;
    Identity::Amd { family, model }
}

#[cfg(test)]
#[path = "top_down_tests.rs"]
mod tests;
