//! `openssl speed`, versions 0.9.8 to 3.x: rates of ciphers and digests by block size, of signatures and key exchanges;
//! the table that people read and the lines of `-mr`.

use std::collections::BTreeSet;

use record::command_line::CommandLine;
use record::{Label, Labels, Measurement, detail, metrics};

use crate::line::{Line, PendingLine};
use crate::numbers::{parse_plain, parse_scaled, parse_whole};
use crate::scan;
use crate::sink::Sink;
use crate::tool::{Command, Fit, Reader, Tool};

/// Block sizes in bytes that every version takes where no option says other: up to 1.0.2 without the last.
const SIZES: &[u64] = &[16, 64, 256, 1024, 8192, 16384];

/// Most block sizes of a row.
const MOST_SIZES: usize = 16;

/// Rows of one output; `openssl speed` of everything has about 100, and a child of `-multi` sends each again.
const MOST_ROWS: usize = 8192;

/// What columns of a table of signatures are, by what stands before `/s`.
const WORKS: &[(&str, &str)] = &[
    ("sign", "signatures"),
    ("signs", "signatures"),
    ("verify", "verifications"),
    ("encr", "encryptions"),
    ("encr.", "encryptions"),
    ("encrypt", "encryptions"),
    ("decr", "decryptions"),
    ("decr.", "decryptions"),
    ("decrypt", "decryptions"),
    ("keygen", "keys made"),
    ("keygens", "keys made"),
    ("encaps", "encapsulations"),
    ("decaps", "decapsulations"),
    ("op", "exchanges"),
];

/// A family of keys, what its figures are (RSA encrypts, too, since 3.2), and the field of the first.
type Family = (&'static str, &'static [&'static str], usize);

/// Lines of `-mr` for keys.
const FAMILIES: &[(&str, Family)] = &[
    ("F2", ("rsa", &["signatures", "verifications", "encryptions", "decryptions"], 3)),
    ("F3", ("dsa", &["signatures", "verifications"], 3)),
    ("F4", ("ecdsa", &["signatures", "verifications"], 3)),
    ("F5", ("ecdh", &["exchanges"], 3)),
    ("F6", ("eddsa", &["signatures", "verifications"], 4)),
    ("F7", ("sm2", &["signatures", "verifications"], 4)),
    ("F8", ("ffdh", &["exchanges"], 3)),
];

/// What it prints while it works, and of itself.
const TALK: &str = "Doing |built on: |options:|compiler: |CPUINFO: |The 'numbers' are in|available timing options|\
    timing function used|You have chosen to measure|You will get|instead of user CPU|options: |Forked child |version: |OpenSSL ";

/// A row of rates: `aes-256 ige      89602.86k    97498.37k …`, with its name and bytes a second by column.
fn row(text: &str) -> Option<(String, Vec<f64>)> {
    if !text.contains("k") || !text.contains('.') {
        return None;
    }
    let words: Vec<&str> = text.split_whitespace().take(MOST_SIZES + 12).collect();
    // The last rate of a line that was cut by hand may lack its k.
    let rate = |word: &str| {
        let digits = word.strip_suffix('k').unwrap_or(word);
        digits.split_once('.').filter(|(_, fraction)| fraction.len() == 2)?;
        parse_plain(digits).filter(|rate| *rate >= 0.0).and_then(|_| parse_scaled(digits, 3))
    };
    let count = words.iter().rev().take_while(|word| rate(word).is_some()).count();
    let (name, rates) = words.split_at(words.len() - count);
    let marked = rates.iter().filter(|word| word.ends_with('k')).count();
    let readable = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_/()+.".contains(c));
    let named = (1..=4).contains(&name.len())
        && name[0].starts_with(|c: char| c.is_ascii_alphabetic())
        && name.iter().all(readable);
    let fits = named && (1..=MOST_SIZES).contains(&count) && marked > 0 && marked + 1 >= count;
    fits.then_some(())?;
    Some((name.join(" "), scan::all(rates.iter().copied(), rate)?))
}

/// The block sizes of `type             16 bytes     64 bytes`.
fn head(text: &str) -> Option<Vec<u64>> {
    let rest = text.strip_prefix("type")?.replace(" bytes", "b");
    let size = |word: &str| word.strip_suffix('b').and_then(parse_whole);
    scan::all(scan::words(&rest), size).filter(|sizes| !sizes.is_empty())
}

/// A row of keys, and whether it is of one with a name alone:
///
/// ```text
/// rsa 2048 bits 0.000260s 0.000016s   3846.2  60815.2
///  256 bits ecdsa (nistp256)   0.0000s   0.0001s  51115.7  16839.8
///  ML-KEM-512 0.000012s 0.000010s 0.000015s   83333.3  100000.0  66666.7
/// ```
fn keys(text: &str) -> Option<(String, bool, Vec<f64>)> {
    let words: Vec<&str> = text.split_whitespace().take(16).collect();
    let seconds = |word: &&str| word.strip_suffix('s').and_then(parse_plain).is_some();
    let first = words.iter().position(seconds)?;
    let times = words[first..].iter().take_while(|word| seconds(word)).count();
    let rates = scan::all(words[first + times..].iter().copied(), parse_plain)?;
    let bits = words[..first].iter().take(3).any(|word| *word == "bits");
    let named = first == 1 && times == 3 && rates.len() == 3;
    let fits = (bits || named) && (1..=4).contains(&rates.len());
    fits.then(|| (words[..first].join(" "), !bits, rates))
}

/// What the columns of a table of keys are: `sign    verify    sign/s verify/s`.
fn key_head(text: &str) -> Option<Vec<&'static str>> {
    // Most lines have no such column, and every line is asked.
    text.ends_with("/s").then_some(())?;
    let rates = text.split_whitespace().filter_map(|word| word.strip_suffix("/s"));
    let works = scan::all(rates, |word| scan::find(WORKS, word))?;
    (text.split_whitespace().count() <= 2 * works.len()).then_some(works)
}

/// A line of `-mr`, or of what a child of `-multi` sent: `+F:22:aes-256-ige:89602860.00:…`, `Got: +F:… from 0`.
fn machine_line(text: &str) -> Option<(Vec<&str>, Option<u64>)> {
    let sent = text.strip_prefix("Got: ").and_then(|rest| rest.rsplit_once(" from "));
    let (rest, child) = match sent {
        Some((rest, child)) => (rest, Some(parse_whole(child)?)),
        None => (text, None),
    };
    let fields: Vec<&str> = rest.strip_prefix('+')?.split(':').take(MOST_SIZES + 4).collect();
    let numbered = |letter: char| {
        fields[0].strip_prefix(letter).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
    };
    let doing = fields[0].len() <= 4 && fields[0].starts_with('D');
    let known = fields[0] == "H" || doing || numbered('F') || numbered('R');
    (known && fields.len() > 1).then_some((fields, child))
}

/// `16801049 aes-256 ige's in 3.00s`: the end of a line that began with `Doing`.
fn is_count(text: &str) -> bool {
    let Some((number, rest)) = text.split_once(' ') else { return false };
    let seconds = rest.rsplit_once(" in ").and_then(|(_, seconds)| seconds.strip_suffix('s'));
    number.bytes().all(|b| b.is_ascii_digit()) && seconds.and_then(parse_plain).is_some()
}

/// `openssl speed`.
pub(super) const OPENSSL_SPEED: Tool = Tool {
    name: "openssl speed",
    opens,
    reader: |command| {
        let command = CommandLine::above(command.map(|command| command.text.as_str()), &["openssl"]);
        Box::new(SpeedReader { command, ..SpeedReader::default() })
    },
};

fn opens(line: Line, command: Option<&Command>) -> bool {
    let text = line.text.trim();
    let speed = || command.is_some_and(|command| command.text.contains("speed"));
    row(text).is_some_and(|(name, rates)| rates.len() >= 5 || name.contains('-') || speed())
        || machine_line(text).is_some_and(|(fields, _)| fields[0].starts_with(['F', 'H', 'D']) || speed())
        || scan::begins(
            text,
            "The 'numbers' are in 1000s of bytes per second|You have chosen to measure elapsed time",
        )
        || head(text).is_some()
        || scan::begins(text, TALK) && speed()
        || text.starts_with("Doing ") && text.contains("size blocks")
        || keys(text).is_some()
        || key_head(text).is_some_and(|columns| columns.len() > 1 || speed())
}

/// A rate that a row printed.
struct Rate {
    name: String,
    bytes: Option<u64>,
    /// What is done, where it is not bytes.
    work: Option<&'static str>,
    value: f64,
    line: PendingLine,
    /// Whether the block size is what versions take by themselves, and not told.
    assumed: bool,
}

#[derive(Default)]
struct SpeedReader {
    command: CommandLine,
    version: Option<String>,
    sizes: Vec<u64>,
    columns: Vec<&'static str>,
    rates: Vec<Rate>,
    seen: BTreeSet<String>,
    forked: u64,
    /// A line that a child sent was cut, so that what follows may be its figures.
    cut: bool,
    /// It told while it worked what it was doing, which children of `-multi` do in another form.
    alone: bool,
    /// Wall-clock time and not that of CPUs was measured.
    elapsed: bool,
}

impl SpeedReader {
    fn take_row(&mut self, name: &str, rates: &[f64], line: Line) {
        let asked = self.command.option(&["-bytes"]).and_then(parse_whole);
        let assumed = self.sizes.is_empty() && asked.is_none() && matches!(rates.len(), 5 | 6);
        let sizes = if assumed { SIZES } else { &self.sizes };
        for (at, value) in rates.iter().enumerate() {
            let printed = sizes.get(at).copied().filter(|_| assumed || sizes.len() == rates.len());
            let bytes = printed.or(asked.filter(|_| rates.len() == 1));
            let (name, line) = (name.to_owned(), line.into());
            self.rates.push(Rate { name, bytes, work: None, value: *value, line, assumed });
        }
    }

    fn take_keys(&mut self, name: &str, works: &[&'static str], rates: &[f64], line: Line) {
        for (work, value) in works.iter().zip(rates) {
            let (name, work, line) = (name.to_owned(), Some(*work), line.into());
            self.rates.push(Rate { name, bytes: None, work, value: *value, line, assumed: false });
        }
    }

    fn machine(&mut self, fields: &[&str], line: Line) -> Option<()> {
        let figures = |from: usize| scan::all(fields.get(from..)?.iter().copied(), parse_plain);
        match fields[0] {
            "H" => self.sizes = scan::all(fields[1..].iter().copied(), parse_whole).unwrap_or_default(),
            "F" => self.take_row(fields.get(2)?, &figures(3)?, line),
            kind if kind.starts_with('F') => {
                let (family, works, first) = scan::find(FAMILIES, kind)?;
                // A public-key operation takes less than a second: what is less than 1 is the seconds of one.
                let (rates, seconds): (Vec<f64>, Vec<f64>) =
                    figures(first)?.into_iter().partition(|rate| *rate >= 1.0);
                (seconds.is_empty() || kind == "F5" && !rates.is_empty()).then_some(())?;
                self.take_keys(&format!("{family} {} bits", fields[2]), works, &rates, line);
            }
            _ => {}
        }
        Some(())
    }

    /// How many processes ran, where it is told.
    fn threads(&self) -> Option<u64> {
        let multi = self.command.option(&["-multi"]).and_then(parse_whole);
        let alone = (self.alone || self.command.words.len() > 1)
            && !self.command.has("-multi")
            && self.command.option(&["-async_jobs"]).is_none();
        multi.or((self.forked > 0).then_some(self.forked)).or(alone.then_some(1))
    }

    /// Whether the rates were made through the EVP interface, which takes the CPU's own instructions. Up to 1.1 it is
    /// told by how the name is printed; since 3.0 every cipher goes that way.
    fn evp(&self, name: &str) -> bool {
        if self.command.words.len() > 1 {
            return self.command.has("-evp");
        }
        let upper =
            name.bytes().any(|b| b.is_ascii_uppercase()) && !name.bytes().any(|b| b.is_ascii_lowercase());
        let old = self.version.as_deref().is_some_and(|version| scan::begins(version, "1.|0."));
        upper || old && ["-cbc", "-ige", "-gcm", "-ctr", "-ecb"].iter().any(|mode| name.ends_with(mode))
    }

    fn workload(&self, name: &str) -> String {
        let bits = name.contains(" bits");
        let canonical = if bits { name.to_owned() } else { name.replace(' ', "-") };
        // What is done to the bytes is another work.
        let decrypt = if self.command.has("-decrypt") { "-decrypt " } else { "" };
        let aead = if self.command.has("-aead") { "-aead " } else { "" };
        let evp = if self.evp(name) && !bits { "-evp " } else { "" };
        format!("openssl speed {decrypt}{aead}{evp}{}", canonical.to_ascii_lowercase())
    }
}

impl Reader for SpeedReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if text.is_empty() {
            return Fit::Between;
        }
        if self.seen.len() >= MOST_ROWS || self.rates.len() >= MOST_ROWS * 4 {
            return Fit::Over;
        }
        if let Some((name, rates)) = row(text) {
            if !self.seen.insert(name.clone()) {
                return Fit::Over;
            }
            // A row that was cut.
            if rates.len() < self.sizes.len() {
                return Fit::Between;
            }
            self.take_row(&name, &rates, line);
        } else if let Some((fields, child)) = machine_line(text) {
            // What is done next is another run's where rates stand already.
            if fields[0].starts_with('D') && !self.rates.is_empty() {
                return Fit::Over;
            }
            // What the children did together stands in a table behind.
            self.forked = self.forked.max(child.map_or(0, |child| child.saturating_add(1)));
            let several = self.cut || self.forked > 0 && !self.command.has("-mr");
            if child.is_none() && fields[0] == "F" && several {
                let why = "of several processes it may be one's alone, whose mark is lost".to_owned();
                sink.withhold(metrics::WORKLOAD_THROUGHPUT, why, line);
                return Fit::Taken;
            }
            if child.is_none() && self.machine(&fields, line).is_none() {
                return Fit::Between;
            }
        } else if let Some(sizes) = head(text) {
            self.sizes = sizes;
        } else if let Some(columns) = key_head(text) {
            self.columns = columns;
        } else if let Some((name, named, rates)) = keys(text) {
            let name = match named {
                // Keys of RSA are made for either.
                true if self.columns.contains(&"encapsulations") => format!("kem {name}"),
                true if self.columns.len() == 3 => format!("signature {name}"),
                true => return Fit::Between,
                false => name,
            };
            if !self.seen.insert(name.clone()) {
                return Fit::Over;
            }
            let columns = match self.columns.len() {
                0 if rates.len() > 1 => FAMILIES[0].1.1.to_vec(),
                0 => vec!["exchanges"],
                _ => self.columns.clone(),
            };
            self.take_keys(&name, &columns, &rates, line);
        } else if let Some(((), rest)) = scan::find_start(&[("version: ", ()), ("OpenSSL ", ())], text) {
            if self.version.is_some() {
                return Fit::Over;
            }
            let version =
                rest.split(' ').next().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
            version.into_iter().for_each(|version| sink.version(version));
            self.version = version.map(str::to_owned);
        } else if let Some(child) = text.strip_prefix("Forked child ").and_then(parse_whole) {
            self.forked = self.forked.max(child.saturating_add(1));
        } else if text.starts_with("Doing ") {
            // After the figures of one run, this is the next one's.
            if !self.rates.is_empty() {
                return Fit::Over;
            }
            self.alone = true;
        } else if !scan::begins(text, TALK) && !is_count(text) {
            self.cut |= text.starts_with("Got:");
            return Fit::Between;
        }
        self.elapsed |= text.starts_with("You have chosen to measure elapsed time");
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        let threads = self.threads();
        for rate in &self.rates {
            let name = self.workload(&rate.name);
            let workload = rate.work.map_or(name.clone(), |work| format!("{name} {work}"));
            let place = Labels::new()
                .with_label(Label::Workload, workload)
                .with_known(Label::Bytes, rate.bytes)
                .with_known(Label::Threads, threads);
            let assumed = rate.assumed.then_some("the block sizes that OpenSSL takes by itself");
            let elapsed = (self.elapsed || self.command.has("-elapsed")).then_some("elapsed");
            let mut m = Measurement::exact(metrics::WORKLOAD_THROUGHPUT, place, vec![rate.value])
                .with_detail(detail::WORK, rate.work.unwrap_or("B"))
                .with_known_detail(detail::BYTES_FROM, assumed)
                .with_known_detail(detail::CLOCK, elapsed);
            m.doubt = threads.is_none().then(|| "how many processes ran is not told".into());
            sink.add_figure(m, rate.line.line());
        }
    }
}

#[cfg(test)]
mod tests;
