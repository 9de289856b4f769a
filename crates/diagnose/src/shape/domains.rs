//! Domains in one placement check: groups of CPUs that are close to each other and far from all others.

use record::CpuList;
use record::Summary;
use record::shape::Look;

use super::Series;

/// The domains in a check, ascending; `None` if the times do not fit any domains because a CPU moved during the check.
pub(super) type Domains = Option<Vec<CpuList>>;

/// At least this share of the pairs within domains must be near, and at least this share of the pairs between domains
/// must be far.
const CLEAR: f64 = 0.75;
/// Number of passes that reassign each CPU to the nearest domain.
const PASSES: usize = 2;

/// The domains of the checked CPUs, with pairs above `bound` ns classified as far.
pub(super) fn partition(series: &Series, look: &Look, bound: f64) -> Domains {
    let n = series.looks.cpus.len();
    let mut times: Vec<Vec<(usize, f64)>> = vec![Vec::new(); n];
    for ((a, b), ns) in series.apart(look) {
        times[a].push((b, ns));
        times[b].push((a, ns));
    }
    // CPUs of one core are always close to each other.
    for core in series.cores(look) {
        let at: Vec<usize> =
            core.iter().filter_map(|cpu| series.looks.cpus.iter().position(|one| *one == cpu)).collect();
        for a in &at {
            times[*a].extend(at.iter().filter(|b| *b != a).map(|b| (*b, bound / 2.0)));
        }
    }
    let mut domain: Vec<Option<usize>> = vec![None; n];
    for _ in 0..=PASSES {
        for cpu in 0..n {
            let mut by_domain: std::collections::BTreeMap<usize, Vec<f64>> = Default::default();
            for (other, ns) in &times[cpu] {
                if let Some(of) = domain[*other] {
                    by_domain.entry(of).or_default().push(*ns);
                }
            }
            let nearest = by_domain
                .iter()
                .map(|(of, times)| (*of, Summary::from_samples(times).median))
                .min_by(|a, b| a.1.total_cmp(&b.1));
            domain[cpu] = Some(match nearest {
                Some((of, ns)) if ns <= bound => of,
                // Otherwise, the CPU starts a new domain.
                _ => cpu,
            });
        }
    }
    let (mut right, mut all) = ([0usize; 2], [0usize; 2]);
    for (cpu, others) in times.iter().enumerate() {
        for (other, ns) in others {
            let between = usize::from(domain[cpu] != domain[*other]);
            all[between] += 1;
            right[between] += usize::from((*ns > bound) == (between == 1));
        }
    }
    let is_clear = |at: usize| right[at] as f64 >= CLEAR * all[at] as f64;
    let mut lists: std::collections::BTreeMap<usize, CpuList> = Default::default();
    for (of, cpu) in domain.iter().zip(&series.looks.cpus) {
        lists.entry((*of)?).or_default().insert(*cpu);
    }
    (is_clear(0) && is_clear(1)).then(|| super::sorted(lists.into_values().collect()))
}
