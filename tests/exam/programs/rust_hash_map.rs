//! Looks up random keys in std's HashMap.

mod exam;
use std::collections::HashMap;

fn main() {
    let count = exam::size(8 << 20) as u64;
    let map: HashMap<u64, u64> = (0..count).map(|key| (key, key * 3)).collect();
    let (mut state, mut sum) = (88172645463325252, 0u64);
    exam::measure(|| {
        for _ in 0..1000 {
            // The next key needs what was found.
            sum = sum.wrapping_add(map[&((exam::next_random(&mut state) ^ (sum & 1)) % (count & !1))]);
        }
        1000
    });
    std::hint::black_box(sum);
}
