//! Counts the words of a text by their length: iterators and bytes in the caches.

mod exam;

fn main() {
    let mut state = 88172645463325252;
    let text: String = (0..exam::size(64 << 10))
        .map(|_| match exam::next_random(&mut state) % 6 {
            0 => ' ',
            other => char::from(b'a' + other as u8),
        })
        .collect();
    exam::measure(|| {
        let mut lengths = [0u32; 64];
        for word in std::hint::black_box(&text).split_whitespace() {
            lengths[word.len().min(63)] += 1;
        }
        std::hint::black_box(lengths);
        text.len() as u64
    });
}
