//! Damages inputs.

/// Pseudorandom numbers: splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `count`, which must not be 0.
    pub fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    /// A position in a sequence of this length, including its end.
    fn place(&mut self, length: usize) -> usize {
        self.below(length + 1)
    }
}

/// Words inserted into an input, or substituted for a number.
const WORDS: [&str; 36] = [
    "0",
    "-1",
    "1",
    "255",
    "65536",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "9223372036854775808",
    "99999999999999999999999",
    "1e308",
    "1e999",
    "-0.0",
    "nan",
    "inf",
    "0x",
    "1,000",
    "3.5GHz2",
    "",
    "\0",
    "\n",
    "\r\n",
    "\u{1b}[31m",
    "\u{feff}",
    "\u{20000}",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    "../",
    "{...}",
    "{score}",
    "null",
    "\nroot@other:~# lscpu\n",
];

/// Maximum size of an input, bytes.
const MOST: usize = 2 << 20;

/// One of the seeds, damaged in one to eight ways.
pub fn harmed(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(8) {
        harm(&mut input, seeds, random);
    }
    input.truncate(MOST);
    input
}

/// A piece of an input, usually a short one.
fn piece(input: &[u8], random: &mut Random) -> std::ops::Range<usize> {
    let from = random.place(input.len());
    let most = [4, 40, 400, 4000][random.below(4)];
    from..(from + random.below(most)).min(input.len())
}

fn harm(input: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let at = random.place(input.len());
    match random.below(9) {
        0 => input.truncate(at),
        1 => drop(input.drain(piece(input, random))),
        2 => {
            let own = input[piece(input, random)].to_vec();
            let times = [1, 2, 50][random.below(3)];
            input.splice(at..at, own.repeat(times));
        }
        3 => {
            let other = &seeds[random.below(seeds.len())];
            let other = other[piece(other, random)].to_vec();
            input.splice(at..at, other);
        }
        4 => drop(input.splice(at..at, WORDS[random.below(WORDS.len())].bytes())),
        5 | 6 => {
            // Replace a number with another.
            let digit = input[at..].iter().position(u8::is_ascii_digit);
            if let Some(start) = digit.map(|offset| at + offset) {
                let length = input[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                input.splice(start..start + length, WORDS[random.below(WORDS.len())].bytes());
            }
        }
        _ => {
            if let Some(byte) = input.get_mut(at) {
                *byte = match random.below(3) {
                    0 => *byte ^ (1 << random.below(8)),
                    1 => [0, 0xff, 0x7f, 0x80][random.below(4)],
                    _ => random.below(256) as u8,
                };
            }
        }
    }
}
