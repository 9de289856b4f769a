//! Checks the conclusions of a published comparison of layers (kernel, user mode and virtual machine on an i7-6500U, 2020; results in
//! `linespeed reference i7-6500u`) against a machine's own results.

use record::diagnosis::{Answer, Claim};
use record::difference::{MUCH, Verdict, compare_totals};
use record::text::Value;
use record::{Text, text};

use super::rows::{Row, Rows, Together};
use super::steps::{find, not_resolved, state};
use crate::tables::rows;

/// The conclusions in order, each with the comparisons on which its answer depends.
const CLAIMS: &str = include_str!("claims.txt");

/// Every conclusion with its answer. The answers are inconclusive if two runs of the same layer differ greatly (`floor`).
pub(super) fn claims(layers: &Rows, together: Together, floor: Option<&Verdict>) -> Vec<Claim> {
    let noise = floor.filter(|floor| size(floor) != Size::Little);
    let judged = rows(CLAIMS, "claims").into_iter().filter_map(|row| {
        let [claim, parts @ ..] = row.as_slice() else { return None };
        let judged = match parts {
            [] => kernel_suffers_more(layers, together),
            [_, pairs, _, "migrations"] => by_migrations(layers, pairs, conclude(layers, together, parts)),
            _ => conclude(layers, together, parts),
        };
        let (answer, why) = match (judged, noise) {
            ((Answer::CannotTell, why), _) => cannot(why),
            ((_, why), Some(noise)) => cannot(text!(
                "overhead-claim-within-noise",
                "the noise floor is too high (A/A control: {noise}) for this result: {why}",
                noise = state(noise)
            )),
            (judged, None) => judged,
        };
        Some(Claim { claim: (*claim).into(), answer, why })
    });
    judged.collect()
}

/// The size of a cost compared with the threshold for a large cost.
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

/// Two layers that differ in one property: the layer with this property, and the layer without it.
type Pair<'a> = Option<(&'a Row<'a>, &'a Row<'a>)>;

fn cannot(why: impl Into<Text>) -> (Answer, Text) {
    (Answer::CannotTell, why.into())
}

/// The first pair for which both layers were timed.
fn find_pair<'a>(layers: &'a Rows<'a>, pairs: &str) -> Pair<'a> {
    pairs.split(" | ").find_map(|pair| {
        let (with, without) = pair.split_once(" > ")?;
        find(layers, with).zip(find(layers, without))
    })
}

/// The answer from comparisons that must all agree. For each comparison, `parts` contains a message that is reported if the comparison is
/// missing.
fn conclude(layers: &Rows, together: Together, parts: &[&str]) -> (Answer, Text) {
    let mut supported = true;
    let mut contradicted = false;
    let mut why: Option<Text> = None;
    for part in parts.chunks_exact(3) {
        let [wanted, pairs, missing] = *part else { continue };
        let wanted = if wanted == "much" { Size::Much } else { Size::Little };
        let (is, says) = match find_pair(layers, pairs) {
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

/// The answer about migration. It requires that migrations were counted for the unpinned layer.
fn by_migrations(layers: &Rows, pairs: &str, (answer, why): (Answer, Text)) -> (Answer, Text) {
    let Some((free, _)) = find_pair(layers, pairs) else { return (answer, why) };
    match free.rate(record::detail::MIGRATIONS_PER_S) {
        Some(rate) if rate > 0.0 => {
            let rate = format!("{rate:.2}");
            (answer, text!("{why}, with {rate} migrations/s"))
        }
        Some(_) => cannot(text!("no migrations occurred while the layer was unpinned ({why})")),
        None => {
            cannot(text!("the kernel did not count migrations, so the cost may have another cause ({why})"))
        }
    }
}

/// Whether migration and interrupts cost a kernel thread more than a user program.
fn kernel_suffers_more(layers: &Rows, together: Together) -> (Answer, Text) {
    let of_user = find_pair(layers, "user unpinned > user");
    let pairs = find_pair(layers, "kernel unpinned > kernel").zip(of_user);
    let Some(((kernel_free, kernel), (user_free, user))) = pairs else {
        return cannot(text!(
            "requires timings of both a kernel thread and a user program, each pinned and unpinned"
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
        _ => cannot(text!("too noisy to distinguish the two costs")),
    }
}
