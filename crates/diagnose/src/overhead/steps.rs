//! Steps between two layers in which one thing differs, and what the cost of each would mean for what was counted.

use record::DetailKey;
use record::detail;
use record::diagnosis::LayerStep;
use record::statistics::Verdict;
use record::units::{figure, percent, significant};

use super::rows::{Row, Rows, Together};
use crate::layers::REAL_TIME;

/// No interrupt takes longer from the CPU that it comes to, its softirqs included: what costs more is something else.
const LONGEST_INTERRUPT: f64 = 100e-6;

/// What a step's cost is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Events {
    Interrupts,
    Switches,
    Migrations,
    None,
}

impl Events {
    /// Their name in the details, and for people.
    fn detail_and_label(self) -> Option<(DetailKey<f64>, &'static str)> {
        match self {
            Events::Interrupts => Some((detail::INTERRUPTS_PER_S, "interrupts")),
            Events::Switches => Some((detail::INVOLUNTARY_SWITCHES_PER_S, "involuntary switches")),
            Events::Migrations => Some((detail::MIGRATIONS_PER_S, "migrations")),
            Events::None => None,
        }
    }
}

/// A step that could be made.
struct Pair<'a> {
    what: String,
    with: &'a Row<'a>,
    without: &'a Row<'a>,
    events: Events,
}

/// What two layers cost that differ in one thing, for all of them that were timed.
pub(super) fn steps<'a>(rows: &'a Rows<'a>, together: Together) -> Vec<LayerStep> {
    pairs(rows).iter().map(|pair| step(pair, together)).collect()
}

/// How many comparisons are made together, that of a layer with itself among them.
pub(super) fn comparisons(rows: &Rows) -> usize {
    pairs(rows).len() + 1
}

fn pairs<'a>(rows: &'a Rows<'a>) -> Vec<Pair<'a>> {
    let cpu = rows.cpu();
    let mut pairs = Vec::new();
    let mut add = |what: &str, with: Option<&'a Row<'a>>, without: Option<&'a Row<'a>>, events| {
        if let (Some(with), Some(without)) = (with, without) {
            pairs.push(Pair { what: what.to_owned(), with, without, events });
        }
    };
    let bound = |layer: &str| rows.find(layer, cpu, true).filter(|row| row.cpu.is_some());
    let free = |layer: &str| rows.find(layer, None, true);
    add("not bound to a CPU", free("user"), bound("user"), Events::Migrations);
    if let (Some(other), Some(here)) = (rows.elsewhere().and_then(|row| row.cpu), cpu) {
        let what = format!("on CPU {other} instead of CPU {here}");
        add(&what, rows.elsewhere(), bound("user"), Events::Interrupts);
    }
    add("other tasks on its CPU", bound("user"), bound(REAL_TIME), Events::Switches);
    add("kernel thread not bound to a CPU", free("kernel"), bound("kernel"), Events::Migrations);
    add("interrupts", bound("kernel"), rows.without_interrupts("kernel"), Events::Interrupts);
    add("user mode instead of a kernel thread", bound("user"), bound("kernel"), Events::None);
    add("hypervisor: guest user mode", bound("guest user"), bound("user"), Events::None);
    let whole = bound("guest OS user");
    add("hypervisor and a guest's operating system", whole, bound("user"), Events::None);
    add("a guest's operating system", whole, bound("guest user"), Events::None);
    let guest_kernel = bound("guest kernel");
    add("hypervisor: guest kernel mode", guest_kernel, bound("kernel").or(bound("user")), Events::None);
    let (whole_kernel, quiet) = (bound("guest OS kernel"), rows.without_interrupts("guest OS kernel"));
    add(
        "hypervisor: a guest's kernel, interrupts off",
        quiet,
        rows.without_interrupts("kernel"),
        Events::None,
    );
    add("interrupts of a guest's kernel", whole_kernel, quiet, Events::Interrupts);
    add(
        "guest's kernel thread not bound to a CPU",
        free("guest OS kernel"),
        whole_kernel,
        Events::Migrations,
    );
    add("guest's program not bound to a CPU", free("guest OS user"), whole, Events::Migrations);
    add("user mode instead of a kernel thread, in a guest", whole, whole_kernel, Events::None);
    pairs
}

fn step(pair: &Pair, together: Together) -> LayerStep {
    let gain = pair.with.against(pair.without, together);
    LayerStep {
        what: pair.what.clone(),
        without: pair.without.label(),
        with: pair.with.label(),
        rounds: gain.rounds as u64,
        says: in_words(&gain.verdict).into(),
        each: each(pair, &gain.verdict).map(Into::into),
        verdict: gain.verdict,
    }
}

/// A verdict about a step in words.
pub(super) fn in_words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Costs { share, interval: (low, high) } if *share >= 0.0 => {
            format!("costs {} [{} – {}]", percent(*share), percent(*low), percent(*high))
        }
        Verdict::Costs { share, interval: (low, high) } => {
            format!("saves {} [{} – {}]", percent(-share), percent(-high), percent(-low))
        }
        Verdict::NotResolved { smaller_than } => {
            format!("no difference resolved (smaller than {})", percent(*smaller_than))
        }
        Verdict::TooNoisy { rounds_needed: Some(more) } => {
            format!("too noisy to tell; {more} portions more would do")
        }
        Verdict::TooNoisy { rounds_needed: None } => "too noisy to tell".to_owned(),
        Verdict::NotMeasurable { reason } => format!("not measurable: {reason}"),
    }
}

/// What the cost means for each of the events beside it.
fn each(pair: &Pair, verdict: &Verdict) -> Option<String> {
    let (count, word) = pair.events.detail_and_label()?;
    let (with, without) = (pair.with.rate(count)?, pair.without.rate(count)?);
    let counted = format!("{} {word}/s with it, {} without", significant(with), significant(without));
    let Verdict::Costs { share, .. } = verdict else { return Some(counted) };
    // Of one second without it: events with it come in 1 + share seconds.
    let more = with * (1.0 + share) - without;
    if *share <= 0.0 {
        return Some(counted);
    }
    // What comes no more often only has more time to come in.
    if with <= without || more <= 0.0 {
        return Some(format!("{counted}: not what costs this"));
    }
    let seconds = share / more;
    let each = figure(seconds * 1e9, "ns");
    if pair.events == Events::Interrupts && seconds > LONGEST_INTERRUPT {
        return Some(format!(
            "{counted}: {each} each, which no interrupt takes ({} at most): something else costs this",
            figure(LONGEST_INTERRUPT * 1e9, "ns")
        ));
    }
    Some(format!("{counted}: {each} each"))
}
