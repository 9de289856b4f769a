//! What the published comparison of layers concluded (kernel, user mode and virtual machine on an i7-6500U, 2020; the
//! figures stand in `linespeed reference i7-6500u`), and whether a machine's own figures say the same.

use record::diagnosis::{Answer, Claim};
use record::statistics::Verdict;
use record::text::Value;
use record::{Template, Text, text};

use super::rows::{Row, Rows};
use super::steps::{not_resolved, state};
use super::totals::{Together, compare_totals};
use crate::figures::MUCH;

type Judge = fn(&Rows, Together) -> (Answer, Text);

/// The conclusions in their order.
const CLAIMS: [(Template, Judge); 6] = [
    (
        Template { code: "overhead-claim-interrupts", words: "interrupts take much of a CPU's speed" },
        interrupts_take_much,
    ),
    (
        Template { code: "overhead-claim-migration", words: "migration takes much of a CPU's speed" },
        migration_takes_much,
    ),
    (
        Template { code: "overhead-claim-hypervisor", words: "a hypervisor takes little of a CPU's speed" },
        hypervisor_takes_little,
    ),
    (
        Template {
            code: "overhead-claim-guests",
            words: "migration and interrupts take much of a guest's speed",
        },
        guests_suffer,
    ),
    (
        Template {
            code: "overhead-claim-kernel-more",
            words: "interrupts and migration cost a kernel thread more than a user program",
        },
        kernel_suffers_more,
    ),
    (
        Template {
            code: "overhead-claim-system",
            words: "a hypervisor takes little, kernel and operating system take much",
        },
        system_takes_more_than_hypervisor,
    ),
];

/// Every conclusion with its answer. Where a layer differs from itself (`floor`) by as much as is called much, the figures
/// tell nothing.
pub(super) fn claims(rows: &Rows, together: Together, floor: Option<&Verdict>) -> Vec<Claim> {
    let noise = floor.filter(|floor| size(floor) != Size::Little);
    let judged = CLAIMS.iter().map(|(claim, judge)| {
        let (answer, why) = match (judge(rows, together), noise) {
            ((Answer::CannotTell, why), _) => cannot(why),
            ((_, why), Some(noise)) => cannot(text!(
                "overhead-claim-within-noise",
                "the noise floor is too high (A/A control: {noise}): {why}",
                noise = state(noise),
                why
            )),
            (judged, None) => judged,
        };
        Claim { claim: (*claim).into(), answer, why }
    });
    judged.collect()
}

/// How a cost stands to what is much.
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

/// What one layer takes more than another, with the words for it.
fn compared(with: &Row, without: &Row, together: Together) -> (Size, Text) {
    let verdict = with.against(without, together).verdict;
    let why = text!(
        "{with} against {without}: {result}",
        with = with.label(),
        without = without.label(),
        result = state(&verdict)
    );
    (size(&verdict), why)
}

fn cannot(why: impl Into<Text>) -> (Answer, Text) {
    (Answer::CannotTell, why.into())
}

/// The answer of one comparison, where its outcome supports the conclusion.
fn judge(with: &Row, without: &Row, together: Together, supported: Size) -> (Answer, Text) {
    let (size, why) = compared(with, without, together);
    (answer(size, supported), why)
}

/// The answer where much supports it, or where little does.
fn answer(size: Size, supported: Size) -> Answer {
    match size {
        Size::Unclear => Answer::CannotTell,
        size if size == supported => Answer::Supported,
        _ => Answer::Contradicted,
    }
}

fn bound<'a>(rows: &'a Rows<'a>, layer: &str) -> Option<&'a Row<'a>> {
    rows.find(layer, rows.cpu(), true).filter(|row| row.cpu.is_some())
}

const NO_KERNEL: Template = Template {
    code: "overhead-no-kernel-thread",
    words: "no kernel thread was timed both with and without interrupts",
};
const NO_GUEST: Template = Template { code: "overhead-no-guest", words: "no guest was timed" };

/// Two comparisons in one sentence.
fn state_both(one: Text, other: Text) -> Text {
    text!("{one}; {other}", one, other)
}

fn interrupts_take_much(rows: &Rows, together: Together) -> (Answer, Text) {
    let (Some(with), Some(without)) = (bound(rows, "kernel"), rows.without_interrupts("kernel")) else {
        return cannot(NO_KERNEL);
    };
    judge(with, without, together, Size::Much)
}

/// The layer in which migration is told best: a kernel thread, as published, else a user program.
fn migration_takes_much(rows: &Rows, together: Together) -> (Answer, Text) {
    let of = |layer| Some((rows.find(layer, None, true)?, bound(rows, layer)?));
    let Some((free, bound)) = of("kernel").or_else(|| of("user")) else {
        return cannot(text!("no layer was timed both bound to a CPU and not bound"));
    };
    let (answer, why) = judge(free, bound, together, Size::Much);
    match free.rate(record::detail::MIGRATIONS_PER_S) {
        Some(rate) if rate > 0.0 => {
            let rate = format!("{rate:.2}");
            let why = text!("{why}, with {rate} migrations/s", why, rate);
            (answer, why)
        }
        Some(_) => cannot(text!("no migration while not bound ({why})", why)),
        None => cannot(text!(
            "migrations not counted by the kernel: the cost may have another cause ({why})",
            why
        )),
    }
}

/// Kernels of guests: that of a whole one, which was published, and one of raw KVM, which has no interrupts of its own.
const GUEST_KERNELS: [&str; 2] = ["guest OS kernel", "guest kernel"];

/// A guest and what it is held against, without interrupts where both were timed so.
fn guest_and_host<'a>(rows: &'a Rows<'a>) -> Option<(&'a Row<'a>, &'a Row<'a>)> {
    let guest = || GUEST_KERNELS.iter().find_map(|layer| rows.without_interrupts(layer));
    let quiet = || Some((guest()?, rows.without_interrupts("kernel")?));
    let kernel = || Some((bound(rows, "guest kernel")?, bound(rows, "kernel")?));
    let user = || Some((bound(rows, "guest user")?, bound(rows, "user")?));
    let whole = || Some((bound(rows, "guest OS user")?, bound(rows, "user")?));
    quiet().or_else(kernel).or_else(user).or_else(whole)
}

fn hypervisor_takes_little(rows: &Rows, together: Together) -> (Answer, Text) {
    let Some((guest, host)) = guest_and_host(rows) else { return cannot(NO_GUEST) };
    judge(guest, host, together, Size::Little)
}

fn guests_suffer(rows: &Rows, together: Together) -> (Answer, Text) {
    let both = |layer: &'static str| Some((layer, bound(rows, layer)?, rows.without_interrupts(layer)?));
    let Some((layer, with, without)) = GUEST_KERNELS.into_iter().find_map(both) else {
        return cannot(text!("no guest kernel was timed both with and without interrupts of its own"));
    };
    let (interrupts, why) = compared(with, without, together);
    let Some(free) = rows.find(layer, None, true) else {
        let answer = if interrupts == Size::Little { Answer::Contradicted } else { Answer::CannotTell };
        return (answer, text!("{why}; no guest was timed without being bound", why));
    };
    let (migration, more) = compared(free, with, together);
    let answer = match (interrupts, migration) {
        (Size::Much, Size::Much) => Answer::Supported,
        (Size::Little, _) | (_, Size::Little) => Answer::Contradicted,
        _ => Answer::CannotTell,
    };
    (answer, state_both(why, more))
}

/// Whether being free to move, with interrupts, costs a kernel thread more than a user program.
fn kernel_suffers_more(rows: &Rows, together: Together) -> (Answer, Text) {
    let of = |layer| Some((rows.find(layer, None, true)?, bound(rows, layer)?));
    let (Some((kernel_free, kernel)), Some((user_free, user))) = (of("kernel"), of("user")) else {
        return cannot(text!(
            "kernel thread and user program were not both timed bound to a CPU and not bound"
        ));
    };
    let gain = compare_totals(
        &[&kernel_free.portions, &user.portions],
        &[&kernel.portions, &user_free.portions],
        together,
    );
    let why = text!(
        "without a bound CPU a kernel thread loses {share} more than a user program",
        share = Value::Share(gain.share)
    );
    match (&gain.verdict, gain.interval) {
        (Verdict::Costs { .. }, Some((low, _))) if low > 0.0 => (Answer::Supported, why),
        (Verdict::Costs { .. }, _) => (Answer::Contradicted, why),
        (Verdict::NotResolved { smaller_than }, _) if *smaller_than < MUCH => {
            (Answer::Contradicted, not_resolved(*smaller_than))
        }
        _ => cannot(text!("too noisy to separate the two")),
    }
}

fn system_takes_more_than_hypervisor(rows: &Rows, together: Together) -> (Answer, Text) {
    let Some((guest, host)) = guest_and_host(rows) else { return cannot(NO_GUEST) };
    let Some(line_speed) = rows.without_interrupts("kernel") else {
        return cannot(text!(
            "no kernel thread was timed without interrupts as the baseline of the operating system"
        ));
    };
    let Some(user) = bound(rows, "user") else {
        return cannot(text!("no user program was timed bound to a CPU"));
    };
    let (hypervisor, of_the_guest) = compared(guest, host, together);
    let (system, of_the_system) = compared(user, line_speed, together);
    let answer = match (hypervisor, system) {
        (Size::Little, Size::Much) => Answer::Supported,
        (Size::Much, _) | (_, Size::Little) => Answer::Contradicted,
        _ => Answer::CannotTell,
    };
    (answer, state_both(of_the_guest, of_the_system))
}
