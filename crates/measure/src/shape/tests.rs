//! Tests the results and the cost of a placement check.

use super::*;

#[test]
fn each_meets_each_other_once_and_nobody_twice_in_a_round() {
    for n in 2..40 {
        let mut met = BTreeSet::new();
        for round in 0..rounds_of(n) {
            for one in 0..n {
                let Some(other) = partner(round, one, n) else { continue };
                assert_eq!(partner(round, other, n), Some(one), "{one} of {n} in round {round}");
                assert_ne!(one, other);
                if one < other {
                    assert!(met.insert((one, other)), "{one} and {other} of {n}");
                }
            }
        }
        assert_eq!(met.len(), n * (n - 1) / 2);
    }
}

#[test]
fn the_page_is_one_cycle_through_all_lines() {
    let Some(page) = make_page() else { return };
    let lines = base_page() as usize / LINE;
    let mut seen = BTreeSet::new();
    let mut at = page.start().cast_const();
    for _ in 0..lines {
        assert!(seen.insert(at as usize));
        // SAFETY: each line of the page contains the address of another line.
        at = unsafe { at.cast::<*const u8>().read() };
    }
    assert_eq!((at, seen.len()), (page.start().cast_const(), lines));
}

#[test]
fn a_look_at_this_machine_answers_for_each_pair_or_says_that_it_did_not() {
    let machine = machine::inspect(&machine::Root::live()).machine;
    let cpus: CpuList = machine.allowed_cpus().iter().take(4).collect();
    let Some(mut looker) = Looker::new(&machine, &cpus) else { return };
    // Other tests keep the CPUs busy, so one side may not run.
    let looks: Vec<Look> = (0..20).map(|_| looker.look(false)).collect();
    let n = cpus.len();
    assert!(looks.iter().all(|look| look.line_ns.len() == n * (n - 1) / 2 && look.took_ms > 0.0));
    let times = looks.iter().flat_map(|look| look.line_ns.iter().flatten());
    assert!(times.clone().all(|ns| *ns > 0.0), "{looks:?}");
    assert!(looks.iter().all(|look| look.memory_ns.len() == if kernels::flush::available() { n } else { 0 }));
    assert!(looks.iter().flat_map(|look| &look.contended).all(|one| one.slowdown > 0.2), "{looks:?}");
}

#[test]
fn one_cpu_has_nothing_to_look_at() {
    assert!(Looker::new(&Machine::default(), &[3].into_iter().collect()).is_none());
}

#[test]
fn cpus_that_are_not_there_have_no_answer_and_nobody_waits_long() {
    let machine = machine::inspect(&machine::Root::live()).machine;
    let Some(here) = machine.allowed_cpus().first() else { return };
    // CPUs that went offline or were removed from the cpuset: threads cannot be pinned to them.
    let mut looker = Looker::new(&machine, &[here, 4000, 4001].into_iter().collect()).unwrap();
    let look = looker.look(false);
    assert_eq!((look.line_ns, look.contended, look.interrupted), (vec![None; 3], Vec::new(), true));
    assert!(look.memory_ns.iter().skip(1).all(Option::is_none));
}

#[test]
fn of_many_cpus_a_sample_covers_each() {
    let looker = Looker::new(&Machine::default(), &(0..512).collect()).unwrap();
    let positions = looker.looks.positions();
    assert_eq!(positions.len(), 127 * 256);
    let of = |cpu: usize| positions.iter().filter(|(a, b)| *a == cpu || *b == cpu).count();
    assert!((0..512).all(|cpu| of(cpu) == 127));
}

#[test]
fn near_pairs_of_a_sample_lead_to_all_that_are_alike() {
    for (n, step) in [(512, 1), (512, 256), (300, 150), (160, 80)] {
        let mut looker = Looker::new(&Machine::default(), &(0..n as u32).collect()).unwrap();
        let on_one = |(a, b): (usize, usize)| if step == 1 { a / 2 == b / 2 } else { b - a == step };
        let line_ns = |looker: &Looker| {
            let times = |pair| Some(if on_one(pair) { 9.0 } else { 90.0 });
            looker.looks.positions().into_iter().map(times).collect::<Vec<_>>()
        };
        let sampled = Look { line_ns: line_ns(&looker), ..Look::default() };
        looker.looks.looks.push(sampled.clone());
        let rounds = looker.add_suspicious(&sampled);
        let positions: BTreeSet<(usize, usize)> = looker.looks.positions().into_iter().collect();
        let hidden = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).filter(|pair| on_one(*pair));
        assert!(hidden.clone().all(|pair| positions.contains(&pair)), "{n} {step}");
        assert!(positions.len() <= n * 127 / 2 + 4 * n && rounds.len() < 40, "{n} {step}: {}", rounds.len());
        assert!(rounds.iter().flat_map(pairs_of).all(|pair| positions.contains(&pair)));
        // Earlier checks have no times for added pairs, and each pair has its own line and index.
        assert_eq!(looker.looks.looks[0].line_ns.len(), looker.lines.len());
        let look = Look { line_ns: line_ns(&looker), ..Look::default() };
        assert_eq!(looker.near(&look).len(), n / 2);
        assert!(looker.add_suspicious(&look).len() <= 40);
    }
    // If all pairs are measured, there is nothing to add.
    let mut all = Looker::new(&Machine::default(), &(0..8).collect()).unwrap();
    let look = Look { line_ns: vec![Some(9.0); 28], ..Look::default() };
    assert!(all.add_suspicious(&look).is_empty());
}

#[test]
fn a_look_has_a_bound_whoever_does_not_run() {
    let ms = |cpus| longest(cpus).as_secs_f64() * 1e3;
    assert!(ms(16) <= 15.0 && ms(128) <= 100.0, "{} and {}", ms(16), ms(128));
    assert!((2..128).all(|cpus| ms(cpus) <= ms(cpus + 1)), "more CPUs never take less time");
    // The blocks of a pair, even between packages, take less time than the wait for a side that does not run.
    assert!(Duration::from_nanos(250) * (2 * (WARM_UP + ROUNDS * BLOCKS)) as u32 <= WAIT);
}

#[test]
fn a_lost_test_discards_a_check_only_if_the_pair_is_near_or_most_are_lost() {
    let looker = Looker::new(&Machine::default(), &(0..4).collect()).unwrap();
    let tested: Vec<(usize, usize)> = looker.at.keys().copied().collect();
    let look = |near: Option<f64>, seen: &[(u32, u32)]| {
        let contended = seen.iter().map(|pair| Contended { pair: *pair, slowdown: 1.0 }).collect();
        let line_ns = vec![near, None, Some(40.0), Some(60.0), Some(60.0), Some(60.0)];
        looker.is_lost(&Look { line_ns, contended, ..Look::default() }, &tested)
    };
    let but_first = [(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    assert!(look(Some(9.0), &but_first), "the only near pair is unknown");
    assert!(!look(Some(20.0), &but_first));
    assert!(!look(None, &but_first));
    assert!(!look(Some(9.0), &[(0, 1), (0, 2), (1, 3)]));
    assert!(look(Some(9.0), &[(0, 1), (0, 2)]), "four of six are unknown");
    assert!(!looker.is_lost(&Look::default(), &[]));
}

#[test]
fn a_run_without_placement_gives_the_true_reason() {
    let mut looker = Looker::new(&Machine::default(), &(0..2).collect()).unwrap();
    let reasons = |looker: &Looker| looker.report().map(|of| (of.what, of.reason.unwrap().to_string()));
    let short = reasons(&looker).unwrap();
    looker.is_crowded = true;
    let crowded = reasons(&looker).unwrap();
    looker.looks.looks.push(Look { line_ns: vec![Some(50.0)], interrupted: true, ..Look::default() });
    let interrupted = reasons(&looker).unwrap();
    looker.looks.looks.push(Look { line_ns: vec![None], ..Look::default() });
    assert_eq!(reasons(&looker), Some(interrupted.clone()));
    assert!(short != crowded && crowded != interrupted && short != interrupted);
    assert!([&short, &crowded, &interrupted].iter().all(|(what, _)| what == "placement"));
    looker.looks.looks.push(Look { line_ns: vec![Some(50.0)], ..Look::default() });
    assert_eq!(reasons(&looker), None);
}

#[test]
fn tasks_on_other_cpus_of_the_machine_do_not_prevent_checks() {
    let machine = machine::inspect(&machine::Root::live()).machine;
    let looker = Looker::new(&machine, &machine.allowed_cpus().iter().take(2).collect());
    let Some(mut looker) = looker else { return };
    assert_eq!(Some(looker.online), machine.counts.cpus_online);
    looker.online = u32::MAX;
    assert!(!looker.would_be_interrupted());
}

#[test]
fn looks_keep_to_their_share_of_a_run() {
    let machine = machine::inspect(&machine::Root::live()).machine;
    let Some(looker) = Looker::new(&machine, &machine.allowed_cpus().iter().take(2).collect()) else {
        return;
    };
    // A run that has just started and has no known times has no time for a check.
    let mut looker = looker;
    looker.began = Instant::now();
    looker.look_when_due(false);
    assert!(looker.is_empty());
    looker.plan(10.0, false);
    looker.look_when_due(false);
    assert_eq!(looker.len(), 1);
    // A second check this soon would exceed the share of time.
    looker.last = None;
    looker.began = Instant::now();
    looker.look_when_due(false);
    assert_eq!(looker.len(), 1);
    looker.began -= Duration::from_secs(60);
    looker.look_when_due(true);
    assert_eq!(looker.len(), 2);
}
