//! Wake-ups that are slow because CPUs enter deep idle states between them.

use record::machine::IdleState;

use super::prelude::*;
use super::timer_slack::Gain;

/// FIFO wake-up latency (without timer slack) with current settings, compared with deep idle states disabled.
pub(super) const RULE: Rule = Rule { name: "idle-states", find };

/// A smaller ratio between the longest wake-ups may be due to chance, because each is a single wake-up among thousands.
const TAIL: f64 = 3.0;

fn find(case: &Case) -> Option<Vec<Finding>> {
    let gain = Gain::find(case, "fifo")?;
    let saved = Value::Figure(gain.ns, "ns");
    let is_virtual = case.record.machine.is_virtual();
    // A vCPU that polls instead of halting uses up its share of the host's CPU time, and the host may then deschedule it.
    let [before, after] = [gain.as_is, gain.tuned].map(|m| m.summary.max);
    let tail = (after > TAIL * before).then_some(after / before);
    let saved = || saved.clone();
    let what = match (is_virtual, tail) {
        (true, None) => text!("waking a halted vCPU adds {saved} (hypervisor exit)", saved = saved()),
        (false, None) => text!("idle states delay each wake-up by {saved}", saved = saved()),
        (true, Some(times)) => text!(
            "idle-states-worse",
            "polling instead of halting makes most wake-ups {saved} faster, but the longest takes {times} as long",
            saved = saved(),
            times = Value::Factor(times)
        ),
        (false, Some(times)) => text!(
            "without idle states, most wake-ups are {saved} faster, but the longest takes {times} as long",
            saved = saved(),
            times = Value::Factor(times)
        ),
    };
    let as_is = text!("median wake-up of a real-time thread: {as_is}", as_is = gain.as_is);
    let tuned = text!("with deep idle states disabled: {tuned}", tuned = gain.tuned);
    let states = &case.record.machine.idle_states;
    let mut finding = RULE
        .report_loss(costs(gain.loss_beside(0.0))?, what)
        .felt_by(Relevance::Some)
        .locate_cpus(&cpus_of([gain.as_is]))
        .cite(as_is, gain.as_is)
        .cite(tuned, gain.tuned)
        .mend(tail.and_then(|_| poll_briefly(case)))
        .mend(remedy(case, states))
        .mend(tail.is_none().then(|| poll_briefly(case)).flatten())
        .undo(poll_briefly(case).map(|_| halt_at_once(case)))
        .undo(heeds_disabled(case).then(|| restore_states(states)));
    if tail.is_some() {
        let [before, after] = [before, after].map(|ns| Value::Figure(ns, "ns"));
        let says = text!("idle-states-tail", "the longest wake-up grew from {before} to {after}");
        finding = finding.cite(says, gain.tuned);
        finding.confidence = finding.confidence.min(Confidence::Medium);
    }
    // In a guest, the driver only guesses the exit latencies; the hypervisor decides when the vCPU resumes.
    let own = if is_virtual { &[][..] } else { states };
    let deepest = own.iter().rposition(|state| state.disabled != Some(true));
    if let Some((at, exit)) = deepest.and_then(|at| Some((at, own[at].exit_ns?))) {
        let exit = Value::Figure(exit as f64, "ns");
        let says = text!("exit latency of the deepest idle state in use: {exit}");
        finding = finding.cite(says, format!("machine.idle_states[{at}].exit_ns"));
    }
    Some(vec![finding])
}

/// Whether disabling idle states has an effect. It has none with the haltpoll governor, which polls and halts in any case
/// (drivers/cpuidle/governors/haltpoll.c).
fn heeds_disabled(case: &Case) -> bool {
    case.record.machine.idle.governor.as_deref() != Some("haltpoll")
}

/// The file that contains how long the haltpoll governor polls before it halts the CPU, ns.
const POLL_NS: &str = "/sys/module/haltpoll/parameters/guest_halt_poll_ns";
/// The kernel command-line option that sets this time.
const POLL_OPTION: &str = "haltpoll.guest_halt_poll_ns=";

/// The remedy for a guest whose governor polls before it halts the CPU: polling briefly uses less of the host's time than polling without
/// ever halting.
fn poll_briefly(case: &Case) -> Option<Remedy> {
    let may = case.record.machine.is_virtual() && !heeds_disabled(case);
    remedies("idle-states poll").pop().filter(|_| may)
}

fn halt_at_once(case: &Case) -> Remedy {
    let options = &case.record.machine.kernel.options;
    let was = options.iter().find_map(|option| option.strip_prefix(POLL_OPTION));
    restore_command(was.unwrap_or_default(), POLL_NS)
}

fn remedy(case: &Case, states: &[IdleState]) -> Vec<Remedy> {
    let knob = if case.record.machine.is_virtual() { KnobName::GuestHalt } else { KnobName::IdleStates };
    let for_one = format!("sudo linespeed quiet {} -- COMMAND", knob.name());
    let mut all = vec![Remedy::both(text!("for one command"), for_one).sets(KnobValue::as_quiet(knob))];
    all.extend(remedies(RULE.name));
    // A guest without idle states has none to disable, because the hypervisor handles halts.
    if heeds_disabled(case) && (!case.record.machine.is_virtual() || !states.is_empty()) {
        let until_boot = text!("until the next boot");
        // `cpupower idle-set -D` disables the first sleep state, given by its exit latency in µs, and deeper ones. This has the same effect
        // as the latency request of 0 that was used for the measurement.
        let exits = states.iter().filter_map(|state| state.exit_ns).filter(|ns| *ns > 0);
        let shallowest_us = exits.min().map_or(1, |ns| (ns / 1000).max(1));
        all.push(Remedy::both(until_boot, format!("sudo cpupower idle-set -D {shallowest_us}")));
    }
    all
}

/// The command that enables all states again, except those that were disabled before.
fn restore_states(states: &[IdleState]) -> Remedy {
    let off = states.iter().enumerate().filter(|(_, state)| state.disabled == Some(true));
    let off: String = off.map(|(at, _)| format!("; sudo cpupower idle-set -d {at}")).collect();
    Remedy::command(format!("sudo cpupower idle-set -E{off}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::share_of;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{add_wakeups, figure_in, machine};
    use record::{Label, Record};

    #[test]
    fn deep_sleep_is_found_in_real_time_threads() {
        let mut record = machine(2);
        add_wakeups(&mut record, "fifo", "as-is", [60e3; 2]);
        add_wakeups(&mut record, "fifo", "tuned", [5e3; 2]);
        record.machine.idle_states = vec![IdleState { exit_ns: Some(133_000), ..IdleState::default() }];
        let finding = &found(&record, RULE)[0];
        assert!((figure_in(&finding.what, "saved") - 55e3).abs() < 50.0, "{finding:?}");
        assert_eq!(figure_in(&finding.evidence[2].says, "exit"), 133e3);
        assert_eq!(finding.undo, [Remedy::command("sudo cpupower idle-set -E")]);
        assert!(finding.remedy[2].to_string().ends_with("-D 133"), "{finding:?}");
        let (poll, shallow) = (0, 2_000);
        let states = [poll, shallow].map(|exit| IdleState { exit_ns: Some(exit), ..IdleState::default() });
        record.machine.idle_states.splice(0..0, states);
        // All states from the first sleep state on, as in the measurement.
        assert!(found(&record, RULE)[0].remedy[2].to_string().ends_with("-D 2"));
        record.machine.idle.governor = Some("haltpoll".to_owned());
        let heedless = &found(&record, RULE)[0];
        assert!(heedless.remedy.iter().all(|line| !line.to_string().contains("idle-set")), "{heedless:?}");
        assert_eq!(heedless.undo, []);
        record.machine.idle.governor = None;
        record.machine.idle_states.drain(..2);
        record.machine.idle_states.push(IdleState { disabled: Some(true), ..IdleState::default() });
        assert_eq!(
            found(&record, RULE)[0].undo,
            [Remedy::command("sudo cpupower idle-set -E; sudo cpupower idle-set -d 1")]
        );
    }

    #[test]
    fn a_longer_tail_is_cited_and_makes_it_less_sure() {
        let mut record = machine(2);
        add_wakeups(&mut record, "fifo", "as-is", [60e3; 2]);
        add_wakeups(&mut record, "fifo", "tuned", [20e3; 2]);
        let cites = |record: &Record| {
            let finding = found(record, RULE).remove(0);
            (
                finding.evidence.iter().any(|seen| seen.says.code() == Some("idle-states-tail")),
                finding.confidence,
            )
        };
        let (cited, before) = cites(&record);
        for m in &mut record.measurements {
            m.summary.max = if m.labels.word(Label::Setting) == Some("tuned") { 20e6 } else { 3e6 };
        }
        assert!(!cited && before > Confidence::Medium);
        assert_eq!(cites(&record), (true, Confidence::Medium));
        // If polling makes the longest wake-up worse, the finding states this first.
        record.machine.virtualization.hypervisor = Some("kvm".to_owned());
        record.machine.idle.governor = Some("haltpoll".to_owned());
        record.machine.kernel.options = vec!["haltpoll.guest_halt_poll_ns=0".to_owned()];
        let worse = &found(&record, RULE)[0];
        assert_eq!(worse.what.code(), Some("idle-states-worse"));
        assert_eq!(worse.remedy[0].command, Some(write_command("200000", POLL_NS)));
        assert_eq!(worse.undo, [Remedy::command(write_command("0", POLL_NS))]);
    }

    #[test]
    fn what_one_cpu_gains_is_no_gain_of_both() {
        let mut record = machine(2);
        add_wakeups(&mut record, "fifo", "as-is", [33.1e3, 40.0e3]);
        add_wakeups(&mut record, "fifo", "tuned", [32.8e3, 23.1e3]);
        let finding = &found(&record, RULE)[0];
        assert_eq!(finding.place, Some("CPU 1".into()), "CPU 0 gains nothing");
        assert!((share_of(&finding.loss) - 16.9 / 40.0).abs() < 0.01, "{finding:?}");
    }

    #[test]
    fn when_waking_is_as_fast_or_was_not_measured_it_is_silent() {
        let mut record = machine(2);
        assert_eq!(missing(&record, RULE), Some("wake-up latency"));
        add_wakeups(&mut record, "other", "as-is", [60e3; 2]);
        assert_eq!(
            missing(&record, RULE),
            Some("real-time wake-up latency with idle states disabled (requires root)")
        );
        add_wakeups(&mut record, "fifo", "as-is", [5.05e3; 2]);
        add_wakeups(&mut record, "fifo", "tuned", [5e3; 2]);
        assert_eq!(found(&record, RULE), []);
    }
}
