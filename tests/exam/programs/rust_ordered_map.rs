//! Looks up random keys in std's BTreeMap.

mod exam;
use std::collections::BTreeMap;

fn main() {
    let count = exam::size(8 << 20) as u64;
    let map: BTreeMap<u64, u64> = (0..count).map(|key| (key, key * 3)).collect();
    let (mut state, mut sum) = (88172645463325252, 0u64);
    exam::measure(|| {
        for _ in 0..1000 {
            sum = sum.wrapping_add(map[&(exam::next_random(&mut state) % count)]);
        }
        1000
    });
    std::hint::black_box(sum);
}
