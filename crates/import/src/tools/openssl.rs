//! `openssl speed`, versions 0.9.8 to 3.x: rates of ciphers and digests by block size, of signatures and key exchanges;
//! the table that people read and the lines of `-mr` and `-multi`.

use std::collections::{BTreeMap, BTreeSet};

use record::{Label, Labels, Measurement, detail};

use crate::line::{Line, PendingLine};
use crate::numbers;
use crate::sink::Sink;
use crate::tool::{Command, Fit, Reader, Tool};
use record::command_line::CommandLine;

/// Block sizes in bytes that every version takes where no option says other: up to 1.0.2 without the last.
const SIZES: &[u64] = &[16, 64, 256, 1024, 8192, 16384];

/// Most block sizes of a row.
const MOST_SIZES: usize = 16;

/// A row of rates: `aes-256 ige      89602.86k    97498.37k …`, with its name and bytes a second by column.
fn row(text: &str) -> Option<(String, Vec<f64>)> {
    if !text.contains('k') {
        return None;
    }
    let last = text.rsplit(char::is_whitespace).find(|word| !word.is_empty())?;
    if !last.contains('.') || !last.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let words: Vec<&str> = text.split_whitespace().take(MOST_SIZES + 12).collect();
    // The last rate of a line that was cut by hand may lack its k.
    let rate =
        |word: &str| numbers::parse_plain(word.strip_suffix('k').unwrap_or(word)).filter(|rate| *rate >= 0.0);
    let printed = |word: &&&str| {
        let digits = word.strip_suffix('k').unwrap_or(word);
        digits.split_once('.').is_some_and(|(_, fraction)| fraction.len() == 2) && rate(word).is_some()
    };
    let count = words.iter().rev().take_while(printed).count();
    let (name, rates) = words.split_at(words.len() - count);
    let marked = rates.iter().filter(|word| word.ends_with('k')).count();
    let named = (1..=4).contains(&name.len()) && name[0].starts_with(|c: char| c.is_ascii_alphabetic());
    if !named || !(1..=MOST_SIZES).contains(&count) || marked == 0 || marked + 1 < count {
        return None;
    }
    let readable = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_/()+.".contains(c));
    let rates: Option<Vec<f64>> =
        rates.iter().map(|word| numbers::parse_scaled(word.strip_suffix('k').unwrap_or(word), 3)).collect();
    name.iter().all(readable).then_some(())?;
    Some((name.join(" "), rates?))
}

/// The block sizes of `type           1024 bytes   8192 bytes`, of `type             16 bytes     64 bytes`.
fn head(text: &str) -> Option<Vec<u64>> {
    let rest = text.trim().strip_prefix("type")?;
    let words: Vec<&str> = rest.split_whitespace().take(2 * MOST_SIZES).collect();
    let sizes: Option<Vec<u64>> = words
        .chunks(2)
        .map(|pair| numbers::parse_whole(pair[0]).filter(|_| pair.get(1) == Some(&"bytes")))
        .collect();
    sizes.filter(|sizes| !sizes.is_empty())
}

/// A row of signatures: `rsa 2048 bits 0.000260s 0.000016s   3846.2  60815.2`,
/// ` 256 bits ecdsa (nistp256)   0.0000s   0.0001s  51115.7  16839.8`, ` 253 bits ecdh (X25519)   0.0000s  31633.0`.
fn keys(text: &str) -> Option<(String, Vec<f64>)> {
    if !text.contains("bits ") {
        return None;
    }
    let words: Vec<&str> = text.split_whitespace().take(16).collect();
    let at = words.iter().position(|word| *word == "bits")?;
    let seconds = |word: &&&str| word.strip_suffix('s').and_then(numbers::parse_plain).is_some();
    let times = words.iter().skip_while(|word| !seconds(word)).take_while(seconds).count();
    let first = words.iter().position(|word| seconds(&word))?;
    let rates: Option<Vec<f64>> =
        words[first + times..].iter().map(|word| numbers::parse_plain(word)).collect();
    let rates = rates.filter(|rates| !rates.is_empty() && rates.len() <= 4)?;
    (at <= 2 && first > at).then_some(())?;
    Some((words[..first].join(" "), rates))
}

/// A row of key encapsulations or signatures, since 3.2: `ML-KEM-512 0.000012s 0.000010s 0.000015s   83333.3  100000.0
/// 66666.7`.
fn named_keys(text: &str) -> Option<(String, Vec<f64>)> {
    let words: Vec<&str> = text.split_whitespace().take(8).collect();
    let [name, times @ .., _, _, _] = words.as_slice() else { return None };
    let seconds = |word: &&str| word.strip_suffix('s').and_then(numbers::parse_plain).is_some();
    let rates: Option<Vec<f64>> =
        words[words.len() - 3..].iter().map(|word| numbers::parse_plain(word)).collect();
    (times.len() == 3 && times.iter().all(seconds)).then_some(((*name).to_owned(), rates?))
}

/// What the columns of a table of signatures are: `sign    verify    sign/s verify/s`.
fn key_head(text: &str) -> Option<Vec<String>> {
    // Most lines have no such column, and every line is asked.
    if !text.ends_with("/s") {
        return None;
    }
    let columns: Vec<String> = text
        .split_whitespace()
        .take(16)
        .filter_map(|word| word.strip_suffix("/s"))
        .map(str::to_owned)
        .collect();
    let words = text.split_whitespace().count();
    let known = [
        "sign", "verify", "op", "encr", "decr", "encr.", "decr.", "encrypt", "decrypt", "keygen", "encaps",
        "decaps", "keygens", "signs",
    ];
    let all = columns.iter().all(|column| known.contains(&column.as_str()));
    (!columns.is_empty() && all && words <= 2 * columns.len()).then_some(columns)
}

/// A line of `-mr`, or of what a child of `-multi` sent: `+F:22:aes-256-ige:89602860.00:…`, `Got: +F:… from 0`.
fn machine_line(text: &str) -> Option<(Vec<&str>, Option<u64>)> {
    let (rest, child) = match text.strip_prefix("Got: ") {
        Some(rest) => {
            let (line, child) = rest.rsplit_once(" from ")?;
            (line, Some(numbers::parse_whole(child)?))
        }
        None => (text, None),
    };
    let rest = rest.trim().strip_prefix('+')?;
    let fields: Vec<&str> = rest.split(':').take(MOST_SIZES + 4).collect();
    let numbered = |letter: char| {
        fields[0].strip_prefix(letter).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
    };
    // What it begins to do, by the kind of work.
    let doing = fields[0].len() <= 4
        && fields[0].starts_with('D')
        && fields[0].bytes().all(|b| b.is_ascii_uppercase());
    let known = fields[0] == "H" || doing || numbered('F') || numbered('R');
    (known && fields.len() > 1).then_some((fields, child))
}

/// What a child sent and a margin cut: `Got: +F:22:aes-256-ige:89602860.00:9749`.
fn is_cut(text: &str) -> bool {
    text == "Got:"
        || text.starts_with("Got: +") && machine_line(text).is_none_or(|(_, child)| child.is_none())
}

/// `16801049 aes-256 ige's in 3.00s`: the end of a line that began with `Doing`.
fn is_count(text: &str) -> bool {
    let Some((number, rest)) = text.split_once(' ') else { return false };
    let Some((_, seconds)) = rest.rsplit_once(" in ") else { return false };
    number.bytes().all(|b| b.is_ascii_digit())
        && seconds.strip_suffix('s').and_then(numbers::parse_plain).is_some()
}

/// What it prints while it works, and of itself.
fn is_talk(text: &str) -> bool {
    let starts = [
        "Doing ",
        "version: ",
        "built on: ",
        "options:",
        "compiler: ",
        "CPUINFO: ",
        "OpenSSL ",
        "Forked child ",
        "The 'numbers' are in",
        "available timing options",
        "timing function used",
        "You have chosen to measure",
        "You will get",
        "instead of user CPU",
        "options: ",
        "You have chosen",
    ];
    starts.iter().any(|start| text.starts_with(start))
}

/// `openssl speed`.
pub(super) const OPENSSL_SPEED: Tool = Tool { name: "openssl speed", opens, reader };

fn opens(line: Line, command: Option<&Command>) -> bool {
    let text = line.text.trim();
    let speed = || command.is_some_and(|command| command.text.contains("speed"));
    row(text).is_some_and(|(name, rates)| rates.len() >= 5 || name.contains('-') || speed())
        || machine_line(text).is_some_and(|(fields, _)| fields[0].starts_with(['F', 'H', 'D']) || speed())
        || is_cut(text)
        || text.starts_with("The 'numbers' are in 1000s of bytes per second")
        || head(text).is_some()
        || is_talk(text) && speed()
        || text.starts_with("Doing ") && text.contains("size blocks")
        || text.starts_with("You have chosen to measure elapsed time")
        || keys(text).is_some()
        || named_keys(text).is_some()
        || key_head(text).is_some_and(|columns| columns.len() > 1 || speed())
}

fn reader(command: Option<&Command>) -> Box<dyn Reader> {
    let command = CommandLine::above(command.map(|command| command.text.as_str()), &["openssl"]);
    Box::new(SpeedReader { command, ..SpeedReader::default() })
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

/// What one child of `-multi` measured.
struct Child {
    number: u64,
    name: String,
    rates: Vec<f64>,
    line: PendingLine,
}

#[derive(Default)]
struct SpeedReader {
    command: CommandLine,
    version: Option<String>,
    sizes: Vec<u64>,
    columns: Vec<String>,
    rates: Vec<Rate>,
    seen: BTreeSet<String>,
    children: Vec<Child>,
    child_sizes: Vec<u64>,
    forked: u64,
    /// It told while it worked what it was doing, which children of `-multi` do in another form.
    alone: bool,
    /// Wall-clock time and not that of CPUs was measured.
    elapsed: bool,
}

/// Rates a second of what `-mr` prints for signatures: versions before 1.1 print the seconds of one there. A public-key
/// operation takes less than a second and more than a nanosecond anywhere, so that the figures themselves tell which; where
/// they do not agree, nothing is known.
fn each_second(figures: Vec<f64>) -> Option<Vec<f64>> {
    let slow = |value: &&f64| **value < 1.0;
    match figures.iter().filter(slow).count() {
        0 => Some(figures),
        // `+F5` has the other form of its figure behind it.
        _ if figures.len() == 2 && (figures[0] * figures[1] - 1.0).abs() < 0.05 => {
            let rate = figures[0].max(figures[1]);
            Some(vec![rate])
        }
        slow if slow == figures.len() && figures.iter().all(|value| *value > 0.0) => {
            Some(figures.iter().map(|seconds| 1.0 / seconds).collect())
        }
        _ => None,
    }
}

/// The longest line that a child of `-multi` sends.
const LONGEST_SENT: usize = 1000;

/// Rows of one output; `openssl speed` of everything has about 100, and a child of `-multi` sends each again.
const MOST_ROWS: usize = 8192;

impl SpeedReader {
    fn sizes_of(&self, count: usize, printed: &[u64]) -> (Vec<Option<u64>>, bool) {
        if printed.len() == count {
            return (printed.iter().copied().map(Some).collect(), false);
        }
        let asked = self.command.option(&["-bytes"]).and_then(numbers::parse_whole);
        if count == 1 && asked.is_some() {
            return (vec![asked], false);
        }
        if printed.is_empty() && asked.is_none() && matches!(count, 5 | 6) {
            return (SIZES[..count].iter().copied().map(Some).collect(), true);
        }
        (vec![None; count], false)
    }

    fn take_row(&mut self, name: &str, rates: &[f64], printed: &[u64], line: Line) {
        let (sizes, assumed) = self.sizes_of(rates.len(), printed);
        let (name, pending) = (name.to_owned(), PendingLine::from(line));
        for (value, bytes) in rates.iter().zip(sizes) {
            self.rates.push(Rate {
                name: name.clone(),
                bytes,
                work: None,
                value: *value,
                line: pending.clone(),
                assumed,
            });
        }
    }

    fn machine(&mut self, fields: &[&str], child: Option<u64>, line: Line) -> Fit {
        let rates = |from: usize| {
            fields[from.min(fields.len())..].iter().map(|field| numbers::parse_plain(field)).collect()
        };
        match fields[0] {
            "H" => {
                let sizes: Option<Vec<u64>> =
                    fields[1..].iter().map(|size| numbers::parse_whole(size)).collect();
                self.child_sizes = sizes.unwrap_or_default();
            }
            "F" if fields.len() > 3 => {
                let rates: Option<Vec<f64>> = rates(3);
                let Some(rates) = rates else { return Fit::Between };
                let name = fields[2];
                match child {
                    Some(number) => {
                        self.forked = self.forked.max(number.saturating_add(1));
                        self.children.push(Child { number, name: name.to_owned(), rates, line: line.into() })
                    }
                    // Of several processes it may be one's alone, whose mark is lost.
                    None if self.forked > 0 && !self.command.has("-mr") => return Fit::Between,
                    None => {
                        let sizes = self.child_sizes.clone();
                        self.take_row(name, &rates, &sizes, line);
                    }
                }
            }
            "F2" | "F3" | "F4" | "F5" | "F6" | "F7" | "F8" if child.is_none() => {
                let (family, works, first): (_, &[&str], usize) = match fields[0] {
                    // Since 3.2 it encrypts and decrypts, too.
                    "F2" => ("rsa", &["sign", "verify", "encr", "decr"], 3),
                    "F3" => ("dsa", &["sign", "verify"], 3),
                    "F4" => ("ecdsa", &["sign", "verify"], 3),
                    "F5" => ("ecdh", &["op"], 3),
                    // Their curve is named.
                    "F6" => ("eddsa", &["sign", "verify"], 4),
                    "F7" => ("sm2", &["sign", "verify"], 4),
                    _ => ("ffdh", &["op"], 3),
                };
                let rates: Option<Vec<f64>> = rates(first);
                let (Some(rates), Some(bits)) = (rates, fields.get(2)) else { return Fit::Between };
                let Some(rates) = each_second(rates) else { return Fit::Between };
                let columns: Vec<String> = works.iter().map(|work| (*work).to_owned()).collect();
                self.take_keys(&format!("{family} {bits} bits"), &columns, &rates, line);
            }
            // Encapsulations and signatures by a number that only the program's own list explains.
            "F9" | "F10" => return Fit::Between,
            _ => {}
        }
        Fit::Taken
    }

    fn full(&self) -> bool {
        self.seen.len() + self.children.len() >= MOST_ROWS || self.rates.len() >= MOST_ROWS * 4
    }

    fn take_keys(&mut self, name: &str, columns: &[String], rates: &[f64], line: Line) {
        let (name, pending) = (name.to_owned(), PendingLine::from(line));
        for (column, value) in columns.iter().zip(rates) {
            let work = match column.as_str() {
                "sign" | "signs" => "signatures",
                "verify" => "verifications",
                "encr" | "encr." | "encrypt" => "encryptions",
                "decr" | "decr." | "decrypt" => "decryptions",
                "keygen" | "keygens" => "keys made",
                "encaps" => "encapsulations",
                "decaps" => "decapsulations",
                _ => "exchanges",
            };
            let rate = Rate {
                name: name.clone(),
                bytes: None,
                work: Some(work),
                value: *value,
                line: pending.clone(),
                assumed: false,
            };
            self.rates.push(rate);
        }
    }

    /// How many processes ran, where it is told.
    fn threads(&self) -> Option<u64> {
        let multi = self.command.option(&["-multi"]).and_then(numbers::parse_whole);
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
        let old = self.version.as_deref().is_some_and(|v| v.starts_with("1.") || v.starts_with("0."));
        upper || old && ["-cbc", "-ige", "-gcm", "-ctr", "-ecb"].iter().any(|mode| name.ends_with(mode))
    }

    fn workload(&self, name: &str) -> String {
        let joined = name.split_whitespace().collect::<Vec<_>>().join("-");
        let canonical = if name.contains(" bits") { name.to_owned() } else { joined };
        let evp = if self.evp(name) && !name.contains(" bits") { "-evp " } else { "" };
        // What is done to the bytes is another work.
        let how: String = ["-decrypt", "-aead"]
            .iter()
            .filter(|option| self.command.has(option))
            .map(|option| format!("{option} "))
            .collect();
        format!("openssl speed {how}{evp}{}", canonical.to_ascii_lowercase())
    }

    /// What the children did together, where no table says it.
    fn sum_children(&mut self) {
        let asked = self.command.option(&["-multi"]).and_then(numbers::parse_whole);
        let mut by_name: BTreeMap<&str, Vec<&Child>> = BTreeMap::new();
        for child in &self.children {
            by_name.entry(child.name.as_str()).or_default().push(child);
        }
        let folded = |name: &str| name.to_ascii_lowercase().replace(' ', "-");
        let printed: BTreeSet<String> = self.rates.iter().map(|rate| folded(&rate.name)).collect();
        let mut sums: Vec<(String, Vec<f64>, PendingLine, u64)> = Vec::new();
        for (name, of) in by_name {
            let mut numbers: Vec<u64> = of.iter().map(|child| child.number).collect();
            numbers.sort_unstable();
            let forked = self.forked == 0 || self.forked == numbers.len() as u64;
            let all = numbers.iter().enumerate().all(|(at, number)| at as u64 == *number);
            let same = of.iter().all(|child| child.rates.len() == of[0].rates.len());
            let as_many = asked.is_none_or(|asked| asked == numbers.len() as u64);
            if !all || !same || !as_many || !forked || printed.contains(&folded(name)) {
                continue;
            }
            let sum = |column: usize| of.iter().map(|child| child.rates[column]).sum::<f64>();
            let rates: Vec<f64> = (0..of[0].rates.len()).map(sum).collect();
            sums.push((name.to_owned(), rates, of[0].line.clone(), numbers.len() as u64));
        }
        let sizes = self.child_sizes.clone();
        for (name, rates, line, processes) in sums {
            self.forked = processes;
            self.take_row(&name, &rates, &sizes, line.line());
        }
    }
}

impl Reader for SpeedReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if text.is_empty() {
            return Fit::Between;
        }
        if self.full() {
            return Fit::Over;
        }
        if is_cut(text) && text.len() < LONGEST_SENT {
            return Fit::Unfinished;
        }
        if let Some((name, rates)) = row(text) {
            if self.seen.contains(&name) {
                return Fit::Over;
            }
            // A row that mail broke at its margin goes on in the next line.
            if rates.len() < self.sizes.len() {
                return Fit::Unfinished;
            }
            let sizes = std::mem::take(&mut self.sizes);
            self.take_row(&name, &rates, &sizes, line);
            self.sizes = sizes;
            self.seen.insert(name);
            return Fit::Taken;
        }
        if let Some((fields, child)) = machine_line(text) {
            // What is done next is another run's where rates stand already.
            if fields[0].starts_with('D') && !self.rates.is_empty() {
                return Fit::Over;
            }
            return self.machine(&fields, child, line);
        }
        if let Some(sizes) = head(text) {
            self.sizes = sizes;
            return Fit::Taken;
        }
        if let Some(columns) = key_head(text) {
            self.columns = columns;
            return Fit::Taken;
        }
        if let Some((name, rates)) = named_keys(text).filter(|_| self.columns.len() == 3) {
            // Keys of RSA are made for either.
            let kind = if self.columns.iter().any(|column| column == "encaps") { "kem" } else { "signature" };
            let name = format!("{kind} {name}");
            if !self.seen.insert(name.clone()) {
                return Fit::Over;
            }
            let columns = self.columns.clone();
            self.take_keys(&name, &columns, &rates, line);
            return Fit::Taken;
        }
        if let Some((name, rates)) = keys(text) {
            if self.seen.contains(&name) {
                return Fit::Over;
            }
            self.seen.insert(name.clone());
            let columns = match self.columns.len() {
                0 if rates.len() > 1 => ["sign", "verify", "encr", "decr"].map(str::to_owned).to_vec(),
                0 => vec!["op".to_owned()],
                _ => self.columns.clone(),
            };
            self.take_keys(&name, &columns, &rates, line);
            return Fit::Taken;
        }
        let version = text.strip_prefix("version: ").or_else(|| text.strip_prefix("OpenSSL "));
        if let Some(version) = version.and_then(|rest| rest.split_whitespace().next()) {
            if self.version.is_some() {
                return Fit::Over;
            }
            if version.starts_with(|c: char| c.is_ascii_digit()) {
                sink.version(version);
                self.version = Some(version.to_owned());
            }
            return Fit::Taken;
        }
        if let Some(child) = text.strip_prefix("Forked child ").and_then(numbers::parse_whole) {
            self.forked = self.forked.max(child.saturating_add(1));
            return Fit::Taken;
        }
        // After the figures of one run, this is the next one's.
        if text.starts_with("Doing ") {
            if !self.rates.is_empty() {
                return Fit::Over;
            }
            self.alone = true;
        }
        self.elapsed |= text.starts_with("You have chosen to measure elapsed time");
        if is_talk(text) || is_count(text) { Fit::Taken } else { Fit::Between }
    }

    fn end(&mut self, sink: &mut Sink) {
        self.sum_children();
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
            let mut m = Measurement::exact("workload.throughput", place, vec![rate.value])
                .with_detail(detail::WORK, rate.work.unwrap_or("B"))
                .with_known_detail(detail::BYTES_FROM, assumed)
                .with_known_detail(detail::CLOCK, elapsed);
            if threads.is_none() {
                m.doubt = Some("how many processes ran is not told".into());
            }
            sink.add_figure(m, rate.line.line());
        }
    }
}

#[cfg(test)]
mod tests;
