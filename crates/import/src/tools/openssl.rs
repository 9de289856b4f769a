//! `openssl speed`, versions 0.9.8 to 3.x: the rates of ciphers and digests by block size, and of signatures and key
//! exchanges, from the human-readable table or the lines of `-mr`.

use std::collections::BTreeSet;

use record::command_line::CommandLine;

use crate::reading::*;

/// Default block sizes of all versions, in bytes; versions up to 1.0.2 do not use the last one.
const SIZES: &[u64] = &[16, 64, 256, 1024, 8192, 16384];

/// Maximum number of block sizes in a row.
const MOST_SIZES: usize = 16;

/// Columns, key families and CPU features, from `openssl.txt`.
fn rows(kind: &'static str, name: &str) -> impl Iterator<Item = [&'static str; 5]> {
    scan::rows(include_str!("openssl.txt")).filter(move |row: &[&str; 5]| row[0] == kind && row[1] == name)
}

/// The operation that a column counts.
fn work(column: &str) -> Option<&'static str> {
    rows("work", column).next().map(|row| row[2])
}

/// Progress lines, and the description of the build.
const TALK: &str = "Doing |built on: |options:|compiler: |CPUINFO: |The 'numbers' are in|available timing options|\
    timing function used|You have chosen to measure|You will get|instead of user CPU|Forked child |Got: |version: |OpenSSL ";

/// A row of rates: `aes-256 ige      89602.86k    97498.37k …`, with its name and bytes per second by column.
fn row(text: &str) -> Option<(String, Vec<f64>)> {
    (text.contains('k') && text.contains('.')).then_some(())?;
    let words: Vec<&str> = text.split_whitespace().take(MOST_SIZES + 12).collect();
    // The last rate of a manually cut line may lack its k.
    let rate = |word: &str| {
        let digits = word.strip_suffix('k').unwrap_or(word);
        digits.split_once('.').filter(|(_, fraction)| fraction.len() == 2)?;
        parse_scaled(digits, 3).filter(|rate| *rate >= 0.0 && !digits.contains(','))
    };
    let count = words.iter().rev().take_while(|word| rate(word).is_some()).count();
    let (name, rates) = words.split_at(words.len() - count);
    let marked = rates.iter().filter(|word| word.ends_with('k')).count();
    let readable = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_/()+.".contains(c));
    let named = (1..=4).contains(&name.len())
        && name[0].starts_with(|c: char| c.is_ascii_alphabetic())
        && name.iter().all(readable);
    let fits = named && count <= MOST_SIZES && marked > 0 && marked + 1 >= count;
    Some((name.join(" "), scan::all(rates.iter().copied(), rate).filter(|_| fits)?))
}

/// The block sizes of `type             16 bytes     64 bytes`.
fn head(text: &str) -> Option<Vec<u64>> {
    let rest = text.strip_prefix("type")?.replace(" bytes", "b");
    let size = |word: &str| word.strip_suffix('b').and_then(parse_whole);
    scan::all(scan::words(&rest), size).filter(|sizes| !sizes.is_empty())
}

/// A row of keys: its algorithm, whether it lacks a key size in bits, its rates, and the number of durations that
/// precede the rates:
///
/// ```text
/// rsa 2048 bits 0.000260s 0.000016s   3846.2  60815.2
///  256 bits ecdsa (nistp256)   0.0000s   0.0001s  51115.7  16839.8
///  ML-KEM-512 0.000012s 0.000010s 0.000015s   83333.3  100000.0  66666.7
/// ```
///
/// If the row was wrapped at a margin, the last rates are missing.
fn keys(text: &str) -> Option<(String, bool, Vec<f64>, usize)> {
    // A quick check that excludes most lines.
    text.as_bytes().windows(2).any(|of| of[0].is_ascii_digit() && of[1] == b's').then_some(())?;
    let words: Vec<&str> = text.split_whitespace().take(16).collect();
    let seconds = |word: &&str| word.strip_suffix('s').and_then(parse_plain).is_some();
    let first = words.iter().position(seconds)?;
    let times = words[first..].iter().take_while(|word| seconds(word)).count();
    let rates = scan::all(words[first + times..].iter().copied(), parse_plain)?;
    let bits = words[..first].iter().take(3).any(|word| *word == "bits");
    let named = first == 1 && times == 3 && rates.len() == 3;
    let fits = (bits || named) && (1..=4).contains(&rates.len());
    fits.then(|| (words[..first].join(" "), !bits, rates, times))
}

/// The columns of a table of keys: `sign    verify    sign/s verify/s`.
fn key_head(text: &str) -> Option<Vec<&'static str>> {
    // A quick check that excludes most lines.
    text.ends_with("/s").then_some(())?;
    let rates = text.split_whitespace().filter_map(|word| word.strip_suffix("/s"));
    let works = scan::all(rates, work)?;
    let seconds = text.split_whitespace().filter(|word| work(word).is_some()).count();
    let all = text.split_whitespace().count();
    // The line may have been wrapped.
    (all <= 2 * works.len() || all == seconds + works.len()).then_some(works)
}

/// The fields of a line of `-mr`, or of a child's line with `-multi`: `+F:22:aes-256-ige:89602860.00:…`.
fn machine_line(text: &str) -> Option<Vec<&str>> {
    let fields: Vec<&str> = text.strip_prefix('+')?.split(':').take(MOST_SIZES + 4).collect();
    let (letter, number) = fields[0].split_at_checked(1)?;
    let known = match letter {
        "D" => number.len() <= 3,
        "H" => number.is_empty(),
        "F" | "R" => number.bytes().all(|b| b.is_ascii_digit()),
        _ => false,
    };
    (known && fields.len() > 1).then_some(fields)
}

/// `16801049 aes-256 ige's in 3.00s`: the end of a line that began with `Doing`.
fn is_count(text: &str) -> bool {
    let parts = text.split_once(' ').and_then(|(number, rest)| Some((number, rest.rsplit_once(" in ")?.1)));
    parts.is_some_and(|(number, time)| {
        parse_whole(number).is_some() && time.strip_suffix('s').and_then(parse_plain).is_some()
    })
}

/// `armcap=0x1`, `ia32cap=0x7ffaf3bfffebffff:0x18405f5ef1bf07ab`.
fn capabilities(text: &str) -> Option<record::Text> {
    let (of, bits) = text.split_once('=')?;
    let bits = u64::from_str_radix(bits.split([':', ' ']).next()?.strip_prefix("0x")?, 16).ok()?;
    let is_set = |row: &[&str; 5]| row[4].parse().is_ok_and(|bit: u32| bits >> bit & 1 == 1);
    let (has, lacks): (Vec<_>, Vec<_>) = rows("feature", of).partition(is_set);
    let names = |all: Vec<[&str; 5]>| match all.as_slice() {
        [] => "none".to_owned(),
        all => all.iter().map(|row| row[2]).collect::<Vec<_>>().join(", "),
    };
    Some(record::text!(
        "CPU features detected by OpenSSL: {has} (missing: {lacks})",
        has = names(has),
        lacks = names(lacks)
    ))
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

const HEADS: &str = "The 'numbers' are in 1000s of bytes per second|You have chosen to measure elapsed time";

fn opens(line: Line, command: Option<&Command>) -> bool {
    let text = line.text.trim();
    let speed = || command.is_some_and(|command| command.text.contains("speed"));
    row(text).is_some_and(|(name, rates)| rates.len() >= 5 || name.contains('-') || speed())
        || machine_line(text).is_some_and(|fields| !fields[0].starts_with('R') || speed())
        || head(text).is_some()
        || scan::begins(text, HEADS)
        || text.strip_prefix("version: ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        || speed() && scan::begins(text, TALK)
        || text.starts_with("Doing ") && text.contains("size blocks")
        || keys(text).is_some()
        || key_head(text).is_some_and(|columns| columns.len() > 1 || speed())
}

/// A printed rate.
struct Rate {
    name: String,
    bytes: Option<u64>,
    /// The counted operation, if the rate does not count bytes.
    work: Option<&'static str>,
    value: f64,
    line: PendingLine,
    /// Whether the block size was not printed and is assumed to be the version's default.
    assumed: bool,
}

#[derive(Default)]
struct SpeedReader {
    command: CommandLine,
    version: Option<String>,
    sizes: Vec<u64>,
    columns: Vec<&'static str>,
    /// A row of keys whose last rates are on the next line.
    broken: Option<(String, bool, Vec<f64>, PendingLine)>,
    rates: Vec<Rate>,
    seen: BTreeSet<String>,
    forked: u64,
    /// Whether a line of a child process was read, in which case the table with the sum may be missing.
    sent: bool,
    /// Whether progress was printed in the format of a single process; child processes of `-multi` use another format.
    alone: bool,
    /// Whether wall time was measured instead of CPU time.
    elapsed: bool,
}

impl SpeedReader {
    fn take_row(&mut self, name: &str, rates: &[f64], line: Line) {
        let asked = self.command.option(&["-bytes"]).and_then(parse_whole);
        let assumed = self.sizes.is_empty() && asked.is_none() && matches!(rates.len(), 5 | 6);
        let sizes = if assumed { SIZES } else { &self.sizes };
        let of_size = |(at, value): (usize, &f64)| {
            let printed = sizes.get(at).copied().filter(|_| assumed || sizes.len() == rates.len());
            let bytes = printed.or(asked.filter(|_| rates.len() == 1));
            Rate { name: name.to_owned(), bytes, work: None, value: *value, line: line.into(), assumed }
        };
        self.rates.extend(rates.iter().enumerate().map(of_size));
    }

    fn take_keys(&mut self, name: &str, works: &[&'static str], rates: &[f64], line: Line) {
        let of_work = |(work, value): (&&'static str, &f64)| {
            let (name, work, line) = (name.to_owned(), Some(*work), line.into());
            Rate { name, bytes: None, work, value: *value, line, assumed: false }
        };
        self.rates.extend(works.iter().zip(rates).map(of_work));
    }

    fn machine(&mut self, fields: &[&str], line: Line) -> Option<()> {
        let figures = |from: usize| scan::all(fields.get(from..)?.iter().copied(), parse_plain);
        match fields[0] {
            "H" => self.sizes = scan::all(fields[1..].iter().copied(), parse_whole).unwrap_or_default(),
            "F" => {
                let rates = figures(3)?;
                // Each rate has two decimals; in a truncated row, the last digits or rates are missing.
                let fits = |rate: &&str| rate.rsplit_once('.').is_some_and(|(_, cents)| cents.len() == 2);
                let whole = fields.iter().skip(3).all(fits);
                (whole && rates.len() >= self.sizes.len()).then_some(())?;
                self.take_row(fields.get(2)?, &rates, line);
            }
            kind if kind.starts_with('F') => {
                let [_, _, family, works, first] = rows("family", kind).next()?;
                let works: Vec<&str> = works.split(' ').collect();
                // A public-key operation takes less than a second: values below 1 are seconds per operation.
                let (rates, seconds): (Vec<f64>, Vec<f64>) =
                    figures(first.parse().ok()?)?.into_iter().partition(|rate| *rate >= 1.0);
                (seconds.is_empty() || kind == "F5" && !rates.is_empty()).then_some(())?;
                self.take_keys(&format!("{family} {} bits", fields[2]), &works, &rates, line);
            }
            _ => {}
        }
        Some(())
    }

    /// The algorithm in a row of keys, and the operations that its rates count.
    fn keys(&self, name: String, named: bool, rates: &[f64]) -> Option<(String, Vec<&'static str>)> {
        let columns = match self.columns.as_slice() {
            [] if rates.len() > 1 => vec!["signatures", "verifications", "encryptions", "decryptions"],
            [] => vec!["exchanges"],
            columns => columns.to_vec(),
        };
        let name = match named {
            false => name,
            // RSA keys are used for signatures and for encapsulation.
            true if columns.contains(&"encapsulations") => format!("kem {name}"),
            true => Some(format!("signature {name}")).filter(|_| self.columns.len() == 3)?,
        };
        Some((name, columns))
    }

    /// The number of processes, if known.
    fn threads(&self) -> Option<u64> {
        let multi = self.command.option(&["-multi"]).and_then(parse_whole);
        let alone = (self.alone || self.command.words.len() > 1)
            && !self.command.has("-multi")
            && self.command.option(&["-async_jobs"]).is_none();
        multi.or((self.forked > 0).then_some(self.forked)).or(alone.then_some(1))
    }

    /// Whether the rates were measured through the EVP interface, which uses special instructions of the CPU. Up to
    /// version 1.1, the form of the name shows this; since 3.0, every cipher uses EVP.
    fn evp(&self, name: &str) -> bool {
        if self.command.words.len() > 1 {
            return self.command.has("-evp");
        }
        let has = |of: fn(&u8) -> bool| name.bytes().any(|b| of(&b));
        let old = self.version.as_deref().is_some_and(|version| scan::begins(version, "1.|0."));
        has(u8::is_ascii_uppercase) && !has(u8::is_ascii_lowercase)
            || old && ["-cbc", "-ige", "-gcm", "-ctr", "-ecb"].iter().any(|mode| name.ends_with(mode))
    }

    fn workload(&self, name: &str) -> String {
        // OpenSSL 1.1 prints `evp` instead of the name of a digest.
        let name = self.command.option(&["-evp"]).filter(|_| name == "evp").unwrap_or(name);
        let bits = name.contains(" bits");
        let canonical = if bits { name.to_owned() } else { name.replace(' ', "-") };
        // Another operation on the same bytes is a different workload.
        let option =
            |name: &'static str| if self.command.has(name) { format!("{name} ") } else { String::new() };
        let evp = if self.evp(name) && !bits { "-evp " } else { "" };
        let (decrypt, aead) = (option("-decrypt"), option("-aead"));
        format!("openssl speed {decrypt}{aead}{evp}{}", canonical.to_ascii_lowercase())
    }
}

impl Reader for SpeedReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if text.is_empty() {
            return Fit::Between;
        }
        if let Some((name, named, mut rates, first)) = self.broken.take() {
            let more = scan::all(text.split_whitespace(), parse_plain).filter(|_| !self.seen.contains(&name));
            rates.extend(more.iter().flatten());
            match self.keys(name.clone(), named, &rates).filter(|(_, works)| works.len() == rates.len()) {
                Some((name, works)) if more.is_some() => {
                    self.seen.insert(name.clone());
                    self.take_keys(&name, &works, &rates, first.line());
                    return Fit::Taken;
                }
                _ => {
                    let why = "the row is wrapped: the meaning of its values is unknown";
                    sink.withhold(metrics::WORKLOAD_THROUGHPUT, why, first.line());
                }
            }
        }
        // A repeated row, or progress after the results of a run, belongs to the next run.
        let again = !self.rates.is_empty();
        if let Some((name, rates)) = row(text) {
            if !self.seen.insert(name.clone()) {
                return Fit::Over;
            }
            // A truncated row.
            if rates.len() < self.sizes.len() {
                return Fit::Between;
            }
            self.take_row(&name, &rates, line);
        } else if let Some(fields) = machine_line(text) {
            if fields[0].starts_with('D') && again {
                return Fit::Over;
            }
            // If there are several processes, the table with the sum of their rates follows.
            let several = self.sent || self.forked > 0 && !self.command.has("-mr");
            if several && fields[0].starts_with('F') {
                let why = "this may be the result of a single process out of several";
                sink.withhold(metrics::WORKLOAD_THROUGHPUT, why, line);
            } else if self.machine(&fields, line).is_none() {
                return Fit::Between;
            }
        } else if let Some(sizes) = head(text) {
            self.sizes = sizes;
        } else if let Some(columns) = key_head(text) {
            let goes_on = text.split_whitespace().all(|word| word.ends_with("/s")) && self.rates.is_empty();
            self.columns = if goes_on { std::mem::take(&mut self.columns) } else { Vec::new() };
            self.columns.extend(columns);
        } else if let Some((name, named, rates, _)) =
            keys(text).filter(|(.., rates, times)| rates.len() < *times)
        {
            self.broken = Some((name, named, rates, line.into()));
        } else if let Some((name, named, rates, _)) = keys(text) {
            let Some((name, works)) = self.keys(name, named, &rates) else { return Fit::Between };
            if !self.seen.insert(name.clone()) {
                return Fit::Over;
            }
            self.take_keys(&name, &works, &rates, line);
        } else if let Some(((), rest)) = scan::find_start(&[("version: ", ()), ("OpenSSL ", ())], text) {
            if self.version.is_some() {
                return Fit::Over;
            }
            let word = rest.split(' ').next().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
            word.into_iter().for_each(|version| sink.version(version));
            self.version = word.map(str::to_owned);
        } else if scan::begins(text, TALK) {
            if let Some(said) = text.strip_prefix("CPUINFO: OPENSSL_").and_then(capabilities) {
                sink.draft.machine.notes.push(said);
            }
            let doing = text.starts_with("Doing ");
            if doing && again {
                return Fit::Over;
            }
            self.alone |= doing;
            self.elapsed |= text.starts_with("You have chosen to measure elapsed time");
            // `Forked child 0` or `Got: +F:… from 0`: the table after these lines contains the sum over the children.
            let child = text.strip_prefix("Forked child ");
            let child = child.or_else(|| Some(text.strip_prefix("Got: ")?.rsplit_once(" from ")?.1));
            let forked = child.and_then(parse_whole).map_or(0, |child| child.saturating_add(1));
            self.forked = self.forked.max(forked);
        } else if !is_count(text) {
            self.sent |= text == "Got:";
            return Fit::Between;
        }
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        let threads = self.threads();
        for rate in &self.rates {
            let name = self.workload(&rate.name);
            let place = Labels::new()
                .with_label(Label::Workload, rate.work.map_or(name.clone(), |work| format!("{name} {work}")))
                .with_known(Label::Bytes, rate.bytes)
                .with_known(Label::Threads, threads);
            let assumed = rate.assumed.then_some("the default block sizes of OpenSSL");
            let elapsed = (self.elapsed || self.command.has("-elapsed")).then_some("elapsed");
            let mut m = Measurement::exact(metrics::WORKLOAD_THROUGHPUT, place, vec![rate.value])
                .with_detail(detail::WORK, rate.work.unwrap_or("B"))
                .with_known_detail(detail::BYTES_FROM, assumed)
                .with_known_detail(detail::CLOCK, elapsed);
            m.doubt = threads.is_none().then(|| "unknown number of processes".into());
            sink.add_figure(m, rate.line.line());
        }
    }
}

#[cfg(test)]
mod tests;
