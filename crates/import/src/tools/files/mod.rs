//! Files of `/sys`, `/proc` and control groups that a text quotes: with the path at the start of each line, below a line with the
//! path, or below the command that prints them. They are read by the same code as on a live machine.

mod kinds;
mod patterns;

use std::collections::{BTreeMap, HashSet, VecDeque};

use super::published;
use crate::limits::LONGEST_COMMAND;
use crate::reading::*;
use crate::sink::{is_long, is_setting};
use patterns::tool;

macro_rules! tools {
    ($($at:literal $name:literal)*) => { &[$(tool::<$at>($name)),*] };
}

/// The tools of `patterns.txt`.
pub(super) const PATTERNS: &[Tool] = tools! {
    0 "cpupower frequency-info" 1 "cpupower idle-info" 2 "x86_energy_perf_policy" 3 "rdmsr" 4 "uname"
    5 "uptime and top" 6 "free" 7 "free of procps before 3.3.10" 8 "dmesg" 9 "tinymembench" 10 "time"
    11 "hyperfine" 12 "hyperfine --export-markdown" 13 "stress-ng --yaml" 14 "lmbench stream"
    15 "lmbench lat_mem_rd" 16 "numactl --show" 17 "UnixBench" 18 "7-Zip benchmark" 19 "mbw"
    20 "cryptsetup benchmark" 21 "hackbench" 22 "CoreMark" 23 "lmbench operations" 24 "environment list" 25 "nproc"
    26 "turbostat"
};

/// The lines above turbostat's table.
pub(super) const TURBOSTAT: Tool = tool::<26>("turbostat");

/// The files quoted in an output, each with its first line, and the lines about CPUs that were read so far.
#[derive(Debug, Default)]
struct Found(BTreeMap<String, (String, PendingLine)>, HashSet<String>);

impl Found {
    /// Adds a line of a file. If the path ends in `+`, the line is appended. If the path ends in `=`, the line is the value of
    /// another CPU, which is added if it differs.
    fn add(&mut self, path: &str, text: &str, line: Line) {
        let (path, same) = path.strip_suffix('=').map_or((path, false), |path| (path, true));
        let (path, further) = path.strip_suffix('+').map_or((path, same), |path| (path, true));
        let fresh = || (String::new(), line.into());
        let (known, at) = self.0.entry(path.to_owned()).or_insert_with(fresh);
        if !further && !is_long(path) && !path.contains('*') {
            (*known, *at) = fresh();
        }
        // The kernel prints a blank line between CPUs, which may be missing in a text.
        if text.starts_with("processor") {
            known.push_str(if known.is_empty() || known.ends_with("\n\n") { "" } else { "\n" });
            self.1.insert(text.to_owned());
        }
        if !same || known.lines().all(|line| line != text) {
            known.push_str(text);
            known.push('\n');
        }
    }

    /// Appends a line to a list of flags that was wrapped at a margin; returns whether the line belongs to the list.
    fn go_on(&mut self, path: &str, text: &str) -> bool {
        let is_flag = |word: &str| word.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        let Some((known, _)) = self.0.get_mut(path).filter(|_| text.split(' ').all(is_flag)) else {
            return false;
        };
        let lists =
            known.lines().last().is_some_and(|last| scan::begins(last, "flags|Features|bugs|vmx flags"));
        if lists {
            known.truncate(known.trim_end().len());
            known.push_str(&format!(" {text}\n"));
            // The line break may have split a word, so `lahf_lm`, which marks a complete list, is removed.
            *known = known.replace(" lahf_lm", "");
        }
        lists
    }

    /// Whether a line is from another machine or from a later time, because it repeats the entry of a CPU or of the memory, or names
    /// another processor.
    fn is_other(&self, path: &str, line: &str) -> bool {
        let Some((known, _)) = self.0.get(path) else { return false };
        let (key, value) = scan::pair(line).unwrap_or_default();
        match key {
            "processor" => self.1.contains(line),
            // On Arm, these names include revisions.
            "model name" => machine::text::field(known, key).is_some_and(|known| {
                ["Intel", "AMD"].iter().any(|vendor| known.contains(vendor))
                    && known.split_whitespace().ne(value.split_whitespace())
            }),
            "MemTotal" => machine::text::field(known, key).is_some(),
            _ => is_setting(path) && known.trim() != line.trim(),
        }
    }

    fn hand_over(self, sink: &mut Sink) {
        for (path, (mut text, line)) in self.0 {
            if let Some(fact) = path.strip_prefix("machine:") {
                if text.trim_end().contains('\n') {
                    let what = format!("machine.{fact}");
                    sink.withhold(what, "the list is wrapped over several lines", line.line());
                } else {
                    published::add_fact(&format!("{fact} = {text}"), line.line(), sink);
                }
                continue;
            }
            // The first two groups of flags contain `lm`, or at least `pni`, so a list without both was truncated.
            let is_early = |flag: &str| scan::is_one_of(flag, "lm|pni|constant_tsc");
            let is_cut = |line: &str| line.starts_with("flags") && !line.split(' ').any(is_early);
            if path == "/proc/cpuinfo" && text.lines().any(is_cut) {
                text = text.lines().filter(|line| !is_cut(line)).flat_map(|line| [line, "\n"]).collect();
            }
            // In cgroup v1, times are in nanoseconds.
            let is_old = path == OWN_TIMES && text.contains("throttled_time");
            let path = if is_old { path.replace("/cpu.stat", "/cpu/cpu.stat") } else { path };
            if path.ends_with("/no_turbo") && text.lines().nth(1).is_some() {
                let why = "turbo is on for some CPUs and off for others";
                sink.withhold("conditions.before.boost", why, line.line());
                continue;
            }
            let Some((front, back)) = path.split_once('*') else {
                sink.add_file(path, text, line.line());
                continue;
            };
            // The files of all CPUs were printed in the order of their names, so the value of each CPU is known only if all values
            // are the same.
            let mut values = text.lines();
            let first = values.next().unwrap_or_default();
            if values.all(|value| value == first) {
                for cpu in 0..text.lines().count() {
                    sink.add_file(format!("{front}{cpu}{back}"), format!("{first}\n"), line.line());
                }
            }
        }
    }
}

/// The file to which the times of a control group are assigned if no path is given.
const OWN_TIMES: &str = "/sys/fs/cgroup/cpu.stat";

/// Lines that shells and other programs print between those of a file.
const BETWEEN: &str = "[sudo] |Defaulted container|Warning: |Connection to |bash: |-bash: |sh: ";

/// Files that contain a single name.
const NAMES: &str = "current_clocksource|scaling_governor|scaling_driver|current_driver|current_governor";

/// Marks an entry in the list of requested files that is not a file, but a line printed by `echo`.
const ECHO: &str = "echo ";

/// Whether a line can be in this file.
fn is_line_of(path: &str, text: &str) -> bool {
    if let Some(echoed) = path.strip_prefix(ECHO) {
        return echoed == text;
    }
    let (first, rest) = text.split_once([' ', '\t']).unwrap_or((text, ""));
    match path.rsplit('/').next().unwrap_or_default() {
        name if scan::is_one_of(name, NAMES) => {
            let is_of_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-');
            text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(is_of_name)
        }
        "cpuinfo" | "meminfo" | "status" => {
            text.split_once(':').is_some_and(|(key, _)| key.len() <= 40 && !key.contains('.'))
        }
        "cpu.stat" | "memory.stat" | "vmstat" | "stat" => {
            scan::all(rest.split_whitespace(), parse_plain).is_some_and(|all| !all.is_empty())
        }
        _ if path.contains("/pressure/") || path.ends_with(".pressure") => matches!(first, "some" | "full"),
        "os-release" => text.contains('='),
        "interrupts" | "softirqs" => first.ends_with(':') || first.starts_with("CPU"),
        "swaps" => scan::begins(text, "Filename|/"),
        "loadavg" => rest.contains('/'),
        _ => true,
    }
}

/// The full path of a file, if it is one that an inspection may read.
fn absolute(word: &str) -> Option<String> {
    // The directory of a cgroup v1 hierarchy has two names.
    let word = &word
        .replace("/clocksource*/", "/clocksource0/")
        .replace("/cpu,cpuacct/", "/cpu/")
        .replace("/cpuacct,cpu/", "/cpu/");
    let of_all = ["/cpu*/", "/cpu[0-9]*/"].iter().find_map(|glob| word.split_once(glob));
    if let Some((front, back)) = of_all.filter(|_| word.starts_with("/sys/")) {
        return absolute(&format!("{front}/{back}")).map(|_| format!("{front}/cpu*/{back}"));
    }
    if scan::begins(word, "/sys/|/proc/|/etc/os-release|/boot/config-") {
        return Some(word.to_owned()).filter(|word| !word.contains(['*', '?', '[', '{', '$', '<', '>']));
    }
    let word = word.trim_start_matches("./");
    let cpu = word.strip_prefix("cpu").or(word.strip_prefix("policy")).and_then(|rest| rest.split_once('/'));
    let numbered = cpu.is_some_and(|(number, _)| parse_whole(number).is_some());
    let folder = match numbered {
        true if word.starts_with('p') => Some("/sys/devices/system/cpu/cpufreq/"),
        true => Some("/sys/devices/system/cpu/"),
        false => {
            let mut rows = scan::rows::<2>(include_str!("folders.txt"));
            rows.find_map(|[start, folder]| word.starts_with(start).then_some(folder))
        }
    };
    folder.filter(|_| !word.contains(['*', '?', '[', '{', '$'])).map(|folder| format!("{folder}{word}"))
}

/// The file specified in a line: `path:value` from grep, `path = value`, `kernel.name = value` from sysctl, a path alone, or a path
/// between arrows, as `head` prints above each of several files. `folder` is the directory for names without a path.
fn stated<'t>(text: &'t str, folder: &str) -> Option<(String, Option<&'t str>)> {
    let text = text.trim();
    if let Some(path) = text.strip_prefix("==> ").and_then(|rest| rest.strip_suffix(" <==")) {
        return Some((absolute_from(folder, path)?, None));
    }
    // Names of devices contain colons: `intel-rapl:0:0/name`, `0000:3b:00.0/numa_node`.
    let is_hex = |number: &str| u64::from_str_radix(number, 16).is_ok();
    let is_number = |part: &str| part.split([':', '.']).all(is_hex);
    let is_name = |rest: &str| rest.starts_with(|c: char| c.is_ascii_lowercase());
    let is_named = |at: usize| {
        text[at + 1..].split_once('/').is_some_and(|(part, rest)| is_number(part) && is_name(rest))
    };
    let mut ends = text.match_indices([':', '=', ' ', '\t']);
    let end = ends.find(|(at, mark)| *mark != ":" || !is_named(*at)).map_or(text.len(), |(at, _)| at);
    let (path, rest) = text.split_at(end);
    // Most lines contain no file name.
    let named = !folder.is_empty() && rest.starts_with(':');
    (named || path.contains(['/', '.', '_'])).then_some(())?;
    let value = rest.trim_start_matches([' ', '\t']);
    let (marked, value) = value.strip_prefix([':', '=']).map_or((false, value), |value| (true, value.trim()));
    if scan::begins(path, "kernel.|vm.|fs.|net.|dev.|abi.|debug.|user.") && rest.starts_with(" =") {
        return Some((format!("/proc/sys/{}", path.replace('.', "/")), Some(value)));
    }
    let whole = absolute_from(folder, path)?;
    match value {
        "" if rest.is_empty() || rest == ":" => path.contains('/').then_some((whole, None)),
        // Several words are accepted only after a separator; otherwise, the line is prose.
        value if marked || !value.contains(' ') => Some((whole, Some(value))),
        _ => None,
    }
}

/// The working directory after this command, which ran in `folder`; empty if unknown.
pub(crate) fn folder_after(folder: &str, command: &str) -> String {
    let changes = command.split([';', '&']).map(str::trim).filter_map(|part| part.strip_prefix("cd "));
    changes.fold(folder.to_owned(), |folder, to| {
        within(&folder, to.trim().trim_matches(['"', '\'']).trim_end_matches('/'))
    })
}

/// A path relative to a directory, made absolute.
fn within(folder: &str, path: &str) -> String {
    if path.starts_with('/') || !folder.starts_with('/') {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The full path of a file specified by a command in this directory.
fn absolute_from(folder: &str, word: &str) -> Option<String> {
    let relative = scan::begins(folder, "/sys|/proc") && !word.contains('=');
    absolute(&if relative { within(folder, word) } else { word.to_owned() })
}

/// The working directory of a command that prints the names of files before their contents.
fn named_from(command: Option<&Command>) -> String {
    let names = |command: &&Command| ["grep", "head", "tail"].iter().any(|name| command.text.contains(name));
    let folder = command.filter(names).map(|command| folder_after(&command.folder, &command.text));
    folder.filter(|folder| scan::begins(folder, "/sys|/proc")).unwrap_or_default()
}

/// The files printed by a command, in order; empty if the command processes their content.
fn asked(command: &Command) -> VecDeque<String> {
    let mut folder = command.folder.clone();
    let command = unrolled(&command.text).unwrap_or_else(|| command.text.clone());
    // tee prints its input, which it also writes to the file.
    if let Some((_, written)) = command.rsplit_once("tee ")
        && command.starts_with("echo ")
    {
        let word = written.split_whitespace().find(|word| !word.starts_with('-'));
        let path = word.filter(|_| !written.contains("&&")).and_then(|word| absolute_from(&folder, word));
        return path.into_iter().collect();
    }
    let counts =
        |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains(['c', 'o', 'l', 'L']);
    let is_kept = |stage: &str| {
        let mut words = stage.split_whitespace();
        let name = words.next().unwrap_or_default();
        scan::is_one_of(name, "grep|egrep|head|tail|sort|uniq|less|more|cat|tee") && !words.any(counts)
    };
    let mut paths = VecDeque::new();
    for part in command.split([';', '&']).map(str::trim).filter(|part| !part.is_empty()) {
        let (part, stages) = part.split_once('|').unwrap_or((part, ""));
        let stages = stages.split('|').map(str::trim);
        if part.starts_with("cd ") {
            folder = folder_after(&folder, part);
            continue;
        }
        if let Some(echoed) = part.strip_prefix(ECHO)
            && !part.contains(['>', '|'])
            && !echoed.starts_with('-')
        {
            paths.push_back(format!("{ECHO}{}", echoed.trim().trim_matches(['"', '\''])));
            continue;
        }
        // The command runs in a container or on another machine.
        let away = scan::begins(
            part,
            "kubectl |docker |podman |ssh |wsl |wsl.exe |oc |lxc |nsenter |chroot |adb |pdsh |dsh |clush |srun |pssh ",
        );
        let reads = |word: &&str| scan::is_one_of(word, "cat|head|tail|grep");
        let part = &part.replace(if away { ['\'', '"'] } else { ['\0'; 2] }, "");
        let around = |word: &&str| away && !reads(word) || scan::is_one_of(word, "sudo|doas|time|watch|$");
        let mut words = part.split_whitespace().skip_while(around);
        let name = words.next().and_then(|name| name.rsplit('/').next()).unwrap_or_default();
        let greps = name.ends_with("grep");
        let reads = greps || scan::is_one_of(name, "cat|head|tail|more|less|bat|sort");
        // The number of lines that another program prints is unknown.
        if !reads || !stages.filter(|stage| !stage.is_empty()).all(is_kept) {
            return paths;
        }
        let (options, words): (Vec<&str>, Vec<&str>) = words.partition(|word| word.starts_with('-'));
        let named = words.iter().skip(usize::from(greps)).filter(|word| word.parse::<u32>().is_err());
        let named_paths: Option<Vec<String>> =
            named.map(|word| absolute_from(&folder, word.trim_matches(['"', '\'']))).collect();
        let unclear = |more: &Vec<String>| greps && (more.len() > 1 || options.iter().any(|o| counts(o)));
        let Some(more) = named_paths.filter(|more| !more.is_empty() && !unclear(more)) else { return paths };
        paths.extend(more);
    }
    paths
}

/// The commands of a loop such as `for f in cpu io; do cat /proc/pressure/$f; done`, repeated for each word; `None` if they are too long.
fn unrolled(command: &str) -> Option<String> {
    let (name, rest) = command.strip_prefix("for ")?.split_once(" in ")?;
    let (words, body) = rest.split_once(';')?;
    let body = body.trim_start().strip_prefix("do ")?.trim_end().strip_suffix("done")?;
    let (name, braced) = (format!("${name}"), format!("${{{name}}}"));
    let body = body.replace(&braced, &name);
    let length = words.split_whitespace().count() * body.len() + body.matches(&name).count() * words.len();
    (length <= LONGEST_COMMAND)
        .then(|| words.split_whitespace().map(|word| body.replace(&name, word)).collect())
}

/// A line without the count that `uniq -c` prints before it.
fn uncounted(text: &str) -> &str {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let is_counted = rest.len() < text.len() && !rest.starts_with("processor");
    if is_counted && self_described(rest) == Some("/proc/cpuinfo") { rest } else { text }
}

/// The file to which a line belongs, if the line alone identifies it.
fn self_described(text: &str) -> Option<&'static str> {
    let text = text.trim();
    let (key, value) = text.split_once([':', ' ', '\t']).unwrap_or((text, ""));
    if matches!(key, "nr_periods" | "nr_throttled" | "usage_usec") && parse_whole(value).is_some() {
        return Some(OWN_TIMES);
    }
    if key == "MemTotal" && value.ends_with(" kB") {
        return Some("/proc/meminfo");
    }
    // The kernel prints a blank before the colon; lscpu does not.
    let (key, value) = text.split_once(':')?;
    let (name, known) =
        (key.trim_end(), "processor|vendor_id|model name|cpu MHz|microcode|CPU implementer|cpu family");
    let number = || name != "processor" || parse_whole(value).is_some();
    (name.len() < key.len() && scan::is_one_of(name, known) && number()).then_some("/proc/cpuinfo")
}

/// Files of `/sys` and `/proc`.
pub(super) const FILES: Tool = Tool {
    name: "files of /sys and /proc",
    opens: |line, command| {
        let text = uncounted(line.text.trim());
        !text.is_empty()
            && (stated(text, &named_from(command)).is_some()
                || self_described(text).is_some()
                || command
                    .is_some_and(|command| asked(command).front().is_some_and(|path| is_line_of(path, text))))
    },
    reader: |command| {
        let asked = command.map(asked).unwrap_or_default();
        Box::new(FilesReader { asked, folder: named_from(command), ..FilesReader::default() })
    },
};

#[derive(Default)]
struct FilesReader {
    /// Files whose contents have not yet been read.
    asked: VecDeque<String>,
    /// The directory for names without a path.
    folder: String,
    /// The current file.
    current: Option<String>,
    after_blank: bool,
    found: Found,
}

impl Reader for FilesReader {
    fn line(&mut self, line: Line, _sink: &mut Sink) -> Fit {
        let text = uncounted(line.text.trim());
        if text.is_empty() {
            self.after_blank = true;
            return Fit::Between;
        }
        let mut after_blank = std::mem::take(&mut self.after_blank);
        if scan::begins(text, BETWEEN) {
            return Fit::Taken;
        }
        if scan::begins(text, "cat: |head: |grep: ") {
            self.asked.pop_front();
            return Fit::Taken;
        }
        if let Some((path, value)) = stated(text, &self.folder) {
            let is_odd = |value: &&str| !value.is_empty() && !is_line_of(&path, value);
            if value.is_some_and(|value| self.found.is_other(&path, value)) {
                return Fit::Over;
            } else if value.as_ref().is_some_and(is_odd) {
                return Fit::Between;
            }
            self.asked.clear();
            self.current = Some(path.clone()).filter(|_| value.is_none());
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                self.found.add(&path, value, line);
            }
            return Fit::Taken;
        }
        // A line may show that it belongs to the next file.
        let own = self_described(text);
        self.current.take_if(|path| path.ends_with("info") && own.is_some_and(|own| own != path));
        loop {
            let path = self.current.take().or_else(|| self.asked.pop_front());
            let path = path.or_else(|| self_described(text).map(str::to_owned));
            let Some(path) = path else { return Fit::Over };
            // An ellipsis means that CPUs may have been omitted.
            if scan::is_elision(text) {
                self.found.add(&path, "processor : left out", line);
                return Fit::Taken;
            }
            let long = is_long(&path) || path.contains('*');
            if self.found.is_other(&path, text) {
                return Fit::Over;
            }
            // The list of flags was wrapped at a margin.
            if !after_blank && path.ends_with("cpuinfo") && self.found.go_on(&path, text) {
                self.current = Some(path);
                return Fit::Taken;
            }
            if !is_line_of(&path, text)
                || after_blank && !path.ends_with("cpuinfo") && self.found.0.contains_key(&path)
            {
                // The next requested file, or a line of another output.
                if self.asked.is_empty() {
                    return Fit::Over;
                }
                after_blank = false;
                continue;
            }
            if path.starts_with(ECHO) {
                return Fit::Taken;
            }
            self.found.add(&path, text, line);
            self.current = Some(path).filter(|_| long);
            return Fit::Taken;
        }
    }

    fn end(&mut self, sink: &mut Sink) {
        std::mem::take(&mut self.found).hand_over(sink);
    }
}

#[cfg(test)]
mod tests {
    mod benchmarks;
    mod hyperfine;
    mod lmbench;
    mod loops;
    mod numactl;
    mod time;
}
