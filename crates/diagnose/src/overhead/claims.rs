//! What the published comparison of layers concluded (kernel, user mode and virtual machine on an i7-6500U, 2020; its results are in
//! `linespeed reference i7-6500u`), and whether a machine's own results agree.

use record::diagnosis::{Answer, Claim};
use record::difference::{MUCH, Verdict, compare_totals};
use record::text::Value;
use record::{Text, text};

use super::rows::{Row, Rows, Together};
use super::steps::{not_resolved, state};

type Judge = fn(&Rows, Together) -> (Answer, Text);

/// The conclusions in their order.
const CLAIMS: [(&str, Judge); 6] = [
    ("interrupt overhead is large", |rows, together| {
        conclude(together, [(interrupts_of(rows, "kernel"), Size::Much, NO_KERNEL)])
    }),
    ("migration overhead is large", migration_takes_much),
    ("hypervisor overhead is small", |rows, together| {
        conclude(together, [(guest_and_host(rows), Size::Little, NO_GUEST)])
    }),
    ("migration and interrupt overhead in a guest is large", |rows, together| {
        let guest = GUEST_KERNELS.into_iter().find(|guest| interrupts_of(rows, guest).is_some());
        let interrupts = guest.and_then(|guest| interrupts_of(rows, guest));
        let migration = guest.and_then(|guest| free_and_bound(rows, guest));
        conclude(
            together,
            [(interrupts, Size::Much, NO_GUEST_KERNEL), (migration, Size::Much, NO_FREE_GUEST)],
        )
    }),
    ("interrupts and migration cost a kernel thread more than a user program", kernel_suffers_more),
    ("hypervisor overhead is small, kernel and OS overhead is large", |rows, together| {
        let system = bound(rows, "user").zip(rows.without_interrupts("kernel"));
        conclude(together, [(guest_and_host(rows), Size::Little, NO_GUEST), (system, Size::Much, NO_SYSTEM)])
    }),
];

const NO_KERNEL: &str = "no kernel thread was timed both with and without interrupts";
const NO_GUEST: &str = "no guest was timed";
const NO_GUEST_KERNEL: &str = "no guest kernel was timed both with and without its own interrupts";
const NO_FREE_GUEST: &str = "no guest was timed unpinned";
const NO_SYSTEM: &str = "requires times of both a pinned user program and a kernel thread without interrupts";
const NONE_FREE: &str = "no layer was timed both pinned and unpinned";

/// Every conclusion with its answer. If a layer differs from itself (`floor`) by as much as counts as much, the results are inconclusive.
pub(super) fn claims(rows: &Rows, together: Together, floor: Option<&Verdict>) -> Vec<Claim> {
    let noise = floor.filter(|floor| size(floor) != Size::Little);
    let judged = CLAIMS.iter().map(|(claim, judge)| {
        let (answer, why) = match (judge(rows, together), noise) {
            ((Answer::CannotTell, why), _) => cannot(why),
            ((_, why), Some(noise)) => cannot(text!(
                "overhead-claim-within-noise",
                "the noise floor is too high (A/A control: {noise}): {why}",
                noise = state(noise)
            )),
            (judged, None) => judged,
        };
        Claim { claim: (*claim).into(), answer, why }
    });
    judged.collect()
}

/// How a cost relates to what counts as much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Much,
    Little,
    Unclear,
}

fn size(verdict: &Verdict) -> Size {
    match verdict {
        Verdict::Costs { interval: (low, _), .. } if *low >= MUCH => Size::Much,
        Verdict::Costs { interval: (_, high), .. } if *high < MUCH => Size::Little,
        Verdict::NotResolved { smaller_than } if *smaller_than < MUCH => Size::Little,
        _ => Size::Unclear,
    }
}

/// A layer with something, and the one without.
type Pair<'a> = Option<(&'a Row<'a>, &'a Row<'a>)>;

fn cannot(why: impl Into<Text>) -> (Answer, Text) {
    (Answer::CannotTell, why.into())
}

/// The answer from comparisons that must all agree; each comes with the text for the case that it could not be made.
fn conclude<const N: usize>(together: Together, parts: [(Pair, Size, &str); N]) -> (Answer, Text) {
    let mut supported = true;
    let mut contradicted = false;
    let mut why: Option<Text> = None;
    for (pair, wanted, missing) in parts {
        let (is, says) = match pair {
            None if why.is_none() => return cannot(missing),
            None => (Size::Unclear, missing.into()),
            Some((with, without)) => {
                let verdict = with.against(without, together).verdict;
                let says = text!(
                    "{with} compared with {without}: {result}",
                    with = with.label(),
                    without = without.label(),
                    result = state(&verdict)
                );
                (size(&verdict), says)
            }
        };
        supported &= is == wanted;
        contradicted |= is != wanted && is != Size::Unclear;
        why = Some(match why {
            Some(one) => text!("{one}; {other}", other = says),
            None => says,
        });
    }
    let answer = match (supported, contradicted) {
        (true, _) => Answer::Supported,
        (_, true) => Answer::Contradicted,
        _ => Answer::CannotTell,
    };
    (answer, why.unwrap_or_default())
}

fn bound<'a>(rows: &'a Rows<'a>, layer: &str) -> Option<&'a Row<'a>> {
    rows.find(layer, rows.cpu(), true).filter(|row| row.cpu.is_some())
}

fn interrupts_of<'a>(rows: &'a Rows<'a>, layer: &str) -> Pair<'a> {
    bound(rows, layer).zip(rows.without_interrupts(layer))
}

fn free_and_bound<'a>(rows: &'a Rows<'a>, layer: &str) -> Pair<'a> {
    rows.find(layer, None, true).zip(bound(rows, layer))
}

/// The layer that shows migration best: a kernel thread, as published, else a user program.
fn migration_takes_much(rows: &Rows, together: Together) -> (Answer, Text) {
    let pair = free_and_bound(rows, "kernel").or_else(|| free_and_bound(rows, "user"));
    let (answer, why) = conclude(together, [(pair, Size::Much, NONE_FREE)]);
    let Some((free, _)) = pair else { return (answer, why) };
    match free.rate(record::detail::MIGRATIONS_PER_S) {
        Some(rate) if rate > 0.0 => {
            let rate = format!("{rate:.2}");
            (answer, text!("{why}, with {rate} migrations/s"))
        }
        Some(_) => cannot(text!("no migrations while unpinned ({why})")),
        None => {
            cannot(text!("the kernel did not count migrations, so the cost may have another cause ({why})"))
        }
    }
}

/// Kernels of guests: a whole one's, as published, and one under raw KVM, which has no interrupts of its own.
const GUEST_KERNELS: [&str; 2] = ["guest OS kernel", "guest kernel"];

/// A guest and its counterpart, without interrupts if both were timed so.
fn guest_and_host<'a>(rows: &'a Rows<'a>) -> Pair<'a> {
    let guest = || GUEST_KERNELS.iter().find_map(|layer| rows.without_interrupts(layer));
    let of = |guest: &str, host: &str| bound(rows, guest).zip(bound(rows, host));
    (guest().zip(rows.without_interrupts("kernel")))
        .or_else(|| of("guest kernel", "kernel"))
        .or_else(|| of("guest user", "user"))
        .or_else(|| of("guest OS user", "user"))
}

/// Whether migration, with interrupts, costs a kernel thread more than a user program.
fn kernel_suffers_more(rows: &Rows, together: Together) -> (Answer, Text) {
    let pairs = free_and_bound(rows, "kernel").zip(free_and_bound(rows, "user"));
    let Some(((kernel_free, kernel), (user_free, user))) = pairs else {
        return cannot(text!(
            "requires times of both a kernel thread and a user program, each pinned and unpinned"
        ));
    };
    let gain = compare_totals(
        &[&kernel.portions, &user_free.portions],
        &[&kernel_free.portions, &user.portions],
        together.comparisons,
        together.floor,
    )
    .as_more();
    let why = text!(
        "unpinned, a kernel thread loses {share} more than a user program",
        share = Value::Share(gain.less_by)
    );
    match gain.verdict {
        Verdict::Costs { share, .. } if share > 0.0 => (Answer::Supported, why),
        Verdict::Costs { .. } => (Answer::Contradicted, why),
        Verdict::NotResolved { smaller_than } if smaller_than < MUCH => {
            (Answer::Contradicted, not_resolved(smaller_than))
        }
        _ => cannot(text!("too noisy to separate the two")),
    }
}
