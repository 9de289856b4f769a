//! Prompts, command lines and headings, which terminals and documents add between the outputs.

use std::collections::HashMap;
use std::sync::OnceLock;

use regex_lite::Regex;

use crate::scan;

/// The kinds of lines other than output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mark<'a> {
    /// A prompt, with or without a command.
    Prompt {
        /// The host in the prompt.
        host: Option<&'a str>,
        /// The directory, if the prompt shows the full path.
        folder: Option<&'a str>,
        /// The command line; empty if nothing was typed.
        command: &'a str,
    },
    /// A command line without a prompt, or after a bare `#` that could also begin a comment: it begins with the name of a known tool and
    /// has the form of a command line for that tool.
    Command(&'a str),
    /// A heading of a document.
    Heading {
        /// The level of the heading: 1 to 6.
        level: u8,
        /// The words of the heading.
        text: &'a str,
    },
}

/// Maximum length of a prompt, without its `#` or `$`.
const LONGEST_PROMPT: usize = 160;

/// Common names that do not identify a machine.
const NAMELESS: &str = "localhost|localhost.localdomain|bogon|host|hostname|server|(none)";

/// The kind of `line`. `in_fence` means that the line is in a code block, in which `#` does not begin a heading.
pub(crate) fn find_mark(line: &str, in_fence: bool) -> Option<Mark<'_>> {
    let text = line.trim();
    let first = *text.as_bytes().first()?;
    // A time may precede the prompt.
    let timed = text.get(2..3) == Some(":") || text.starts_with('[') && text.get(3..4) == Some(":");
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || "[:] ".contains(c));
    let of_windows = || {
        let (folder, command) = text.strip_prefix("PS ")?.split_once('>')?;
        let is_path = folder.get(1..3) == Some(":\\") || folder.starts_with(['/', '~']);
        is_path.then_some((None, None, command.trim()))
    };
    let host = of_windows().or_else(|| split_host(text)).or_else(|| split_host(rest).filter(|_| timed));
    let bare = || Some((None, None, bare_prompt(text)?));
    // Ansible's line above the output of a host.
    let ansible = || {
        let (host, _) = text.strip_suffix(">>")?.split_once(" | ")?;
        is_user(&host.replace(['[', ']', ','], "")).then_some((Some(host), None, ""))
    };
    let prompt = host.or_else(|| before_command(text)).or_else(bare).or_else(ansible);
    if let Some((host, folder, command)) = prompt {
        return Some(Mark::Prompt { host, folder, command });
    }
    // `set -x`.
    if let Some(command) = text.strip_prefix('+').map(|rest| rest.trim_start_matches('+').trim_start())
        && is_command(command)
    {
        return Some(Mark::Command(command));
    }
    if first == b'#' {
        let after = text.trim_start_matches('#');
        let level = text.len() - after.len();
        let command = after.trim_start();
        if level == 1 && is_command(command) {
            return Some(Mark::Command(command));
        }
        let is_heading = !in_fence && level <= 6 && after.starts_with([' ', '\t']) && line.starts_with('#');
        let words = command.trim_end_matches('#').trim().trim_matches(['*', '_', '`']).trim();
        return (is_heading && !words.is_empty())
            .then_some(Mark::Heading { level: level as u8, text: words });
    }
    is_command(text).then_some(Mark::Command(text))
}

/// `root@host:~# command`, `[user@host dir]$ command`, `host:~ # command`.
fn split_host(text: &str) -> Option<(Option<&str>, Option<&str>, &str)> {
    // The name of a virtual environment precedes the prompt: (base) user@host.
    let body = match text.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((_, rest)) if rest.contains('@') => rest.trim_start(),
        _ => text,
    };
    let marks = ['#', '$', '%', '>'];
    let (prompt, command) = match body.strip_prefix('[') {
        Some(inner) => {
            let (prompt, rest) = inner.split_once(']')?;
            (prompt, rest.trim_start().strip_prefix(marks)?)
        }
        // The prompt ends at the first mark after the host and its directory.
        None => {
            let at = body.find(['@', ':'])?;
            let end = at + body[at..].find(marks)?;
            (&body[..end], &body[end + 1..])
        }
    };
    let name = match prompt.split_once('@') {
        _ if prompt.len() > LONGEST_PROMPT => return None,
        Some((user, rest)) if is_user(user) => host_name(rest)?,
        // SUSE: `linux-8hx2:~ # `.
        None => {
            let (host, path) = prompt.split_once(':')?;
            host_name(host).filter(|name| *name == host && path.starts_with(['~', '/']))?
        }
        Some(_) => return None,
    };
    let folder = prompt.split_once(':').map(|(_, folder)| folder.trim());
    let folder = folder.filter(|folder| folder.starts_with(['/', '~']));
    Some((Some(name).filter(|name| is_telling(name)), folder, command.trim()))
}

pub(crate) fn is_telling(host: &str) -> bool {
    !scan::is_one_of(&host.to_ascii_lowercase(), NAMELESS)
}

fn is_user(user: &str) -> bool {
    !user.is_empty()
        && user.len() <= 64
        && user.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '\\' | '+'))
}

/// The host at the beginning of `host:~/dir`, `host dir`, `host ~>`; the rest must look like a directory.
fn host_name(rest: &str) -> Option<&str> {
    let end =
        rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))).unwrap_or(rest.len());
    let (host, folder) = rest.split_at(end);
    let named = !host.is_empty() && host.len() <= 255;
    // The branch of a repository is in brackets.
    let folder = folder.split(" (").next().unwrap_or_default().trim_start_matches([':', ' ']).trim_end();
    // In prose, words follow a mail address.
    (named && !folder.contains(", ") && folder.split(' ').count() <= 2).then_some(host)
}

/// Prompts that are recognized only because a known command follows: `bash-5.1$ lscpu`, `/app # lscpu`, `(venv) $ lscpu`, `db1# lscpu`,
/// `[db1 ~]$ lscpu`, `db1 ~ ❯ lscpu`, `GUEST $ lscpu`.
fn before_command(text: &str) -> Option<(Option<&str>, Option<&str>, &str)> {
    let marks = text.match_indices(['$', '#', '%', '>', 'λ', '❯', '»', '✗']);
    let (front, command) = marks.take(4).find_map(|(at, mark)| {
        let command = text[at + mark.len()..].trim_start();
        (at <= LONGEST_PROMPT && is_command(command)).then(|| (&text[..at], command))
    })?;
    ((!front.is_empty() || text.starts_with(['λ', '»', '>'])) && !is_command(front)).then_some(())?;
    let is_path = |word: &&str| word.starts_with(['~', '/']) || word.get(1..3) == Some(":\\");
    let bare = |word| str::trim_matches(word, ['[', ']', '<', '>']);
    let words: Vec<&str> = front.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect();
    let path = words.iter().copied().find(is_path);
    // If the prompt is only a host name, a blank may precede the mark only if the mark is $ or the name is in brackets.
    let is_close =
        !front.ends_with(' ') || text[front.len()..].starts_with('$') || front.contains(['[', '<']);
    let of_shell = |word: &str| {
        let name = word.trim_start_matches('-').split('-').next().unwrap_or_default();
        scan::is_one_of(name, "sh|bash|zsh|ksh|dash|csh|tcsh|fish|root|user")
    };
    let host = match words[..] {
        [] => None,
        [one] if is_path(&one) || of_shell(one) || one.starts_with('(') && one.ends_with(')') => None,
        [host] => Some(host).filter(|host| is_close && is_user(host)).map(Some)?,
        [host, path] if is_user(host) && is_path(&path) => Some(host),
        // A prompt with times, branches or other words must contain a directory.
        _ => path.filter(|_| words.len() <= 8 && !front.contains([',', '=', ';'])).and(None),
    };
    (words.len() <= 1 || path.is_some()).then(|| (host.filter(|host| is_telling(host)), path, command))
}

/// `$ command`, `└─# command`, `/ # command`; `% command` and `➜  ~ command` of zsh.
fn bare_prompt(text: &str) -> Option<&str> {
    text.starts_with(|c: char| !c.is_ascii() || matches!(c, '$' | '%' | '/')).then_some(())?;
    let boxed = text.strip_prefix("└─").or_else(|| text.strip_prefix("╰─"));
    if let Some(command) = boxed.and_then(|rest| rest.strip_prefix(['$', '#', '❯'])) {
        return Some(command.trim());
    }
    if let Some(rest) = text.strip_prefix("➜") {
        let command = rest.trim_start().split_once(' ').map_or("", |(_, command)| command.trim_start());
        let branch = command.strip_prefix("git:(").and_then(|rest| rest.split_once(')'));
        return Some(branch.map_or(command, |(_, command)| command.trim_start_matches([' ', '✗'])).trim());
    }
    let rest = text.strip_prefix("/ #").or_else(|| text.strip_prefix(['$', '%', '❯']))?;
    if rest.is_empty() {
        return Some("");
    }
    let command = rest.trim_start();
    let spaced = rest.len() > command.len();
    let begins =
        command.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '.' | '/' | '~' | '_' | '('));
    // `$HOME` in a text, `%CPU` in a table and headers printed by perf are not prompts.
    let head = command.starts_with("tma_");
    (begins && !head && (spaced || is_command(command))).then_some(command)
}

/// Maximum length of a line that names a host, because longer lines take long to match.
const LONGEST_TITLE: usize = 500;

/// The host or the container that a line names, and the kind of line, according to `titles.txt`.
pub(crate) fn titled_host(text: &str) -> Option<(&'static str, &str)> {
    static TITLES: OnceLock<Vec<(&str, &str, Regex)>> = OnceLock::new();
    let titles = TITLES.get_or_init(|| {
        let rows = scan::rows::<3>(include_str!("titles.txt"));
        rows.filter_map(|[kind, word, title]| Some((kind, word, Regex::new(title).ok()?))).collect()
    });
    let titles = titles.iter().filter(|(_, word, _)| text.len() <= LONGEST_TITLE && text.contains(word));
    titles.into_iter().find_map(|(kind, _, title)| {
        let name = title.captures(text)?.get(1)?.as_str();
        is_telling(name).then_some((*kind, name))
    })
}

/// Words before a command that only change how the command is run.
const RUNNERS: &str = "sudo|time|nice|ionice|taskset|chrt|numactl|env|watch|nohup|stdbuf|timeout|wsl|wsl.exe";

/// Whether `text` looks like a command line of a known tool, and not like prose that begins with the tool's name.
pub(crate) fn is_command(text: &str) -> bool {
    let mut words = text.split_whitespace().peekable();
    let mut ran = false;
    // The number of words examined is limited, because real commands do not have more prefixes.
    for _ in 0..12 {
        let Some(word) = words.next() else { return false };
        let next = words.peek().copied();
        let name = word.rsplit('/').next().unwrap_or(word);
        let is_list = || word.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '-' | 'x'));
        if is_assignment(word) || ran && (word.starts_with('-') || is_list()) {
            continue;
        }
        if is_tool_line(name, word, next, ran) {
            return true;
        }
        if !scan::is_one_of(name, RUNNERS) {
            return false;
        }
        ran = true;
    }
    false
}

/// Whether the first line of a code block, if not otherwise recognized, may be the command that printed the rest. Such a command is the
/// path of a program, or a program's name and at least one further word.
pub(crate) fn may_be_command(text: &str) -> bool {
    let (name, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "./_-~+".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || matches!(c, '.' | '/' | '~'));
    begins
        && name.chars().all(is_name)
        && (!rest.is_empty() || name.contains('/'))
        && !text.trim_end().ends_with([':', '.'])
}

/// The number of threads according to this text, if any; 0 for one thread per CPU.
pub(crate) fn find_threads(text: &str) -> Option<u64> {
    // A quick check that excludes most lines.
    let is_word =
        |four: &[u8]| ["core", "cpus", "thre"].iter().any(|word| four.eq_ignore_ascii_case(word.as_bytes()));
    (!text.is_ascii() || text.as_bytes().windows(4).any(is_word)).then_some(())?;
    let lower = text.to_lowercase();
    let says = |all: &str| all.split('|').any(|words| lower.contains(words));
    if says("单线程|单核|single thread|single-thread|one thread") {
        return Some(1);
    }
    if says("所有核|all cores|all cpus|all threads|every core") {
        return Some(0);
    }
    let counted =
        ["个线程", "线程", " threads", " 个线程", "-thread"].iter().find_map(|word| lower.split_once(word));
    let front = counted?.0.trim_end();
    let digits = front.len() - front.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    front[front.len() - digits..].parse().ok().filter(|threads| (1..=65_536).contains(threads))
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    })
}

/// Whether a program's name and the next word begin a command line, according to `commands.txt`.
fn is_tool_line(name: &str, word: &str, next: Option<&str>, ran: bool) -> bool {
    let may_follow = |form: &str| match (form, next) {
        ("/", _) => word.contains('/'),
        (";", _) => {
            next.is_none_or(|next| next.starts_with(['|', '>', ';', '&', '2']) && !next.starts_with("2."))
        }
        (form, Some(next)) => match form.split_once('*') {
            Some((start, end)) => next.starts_with(start) && next.ends_with(end),
            None => next == form,
        },
        (_, None) => false,
    };
    static KNOWN: OnceLock<HashMap<&str, &str>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let rows = scan::rows::<2>(include_str!("commands.txt"));
        rows.flat_map(|[names, forms]| names.split(' ').map(move |name| (name, forms))).collect()
    });
    // Any program may follow `time` or `taskset`, even one that is not in the table.
    let any = || Some("/ -*").filter(|_| ran && name.starts_with(|c: char| c.is_ascii_alphabetic()));
    known.get(name).copied().or_else(any).is_some_and(|forms| forms.split(' ').any(may_follow))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn prompt<'a>(host: Option<&'a str>, command: &'a str) -> Option<(Option<&'a str>, &'a str)> {
        Some((host, command))
    }

    fn found(line: &str) -> Option<(Option<&str>, &str)> {
        match find_mark(line, true)? {
            Mark::Prompt { host, command, .. } => Some((host, command)),
            _ => None,
        }
    }

    #[test]
    fn prompts_of_many_shells_tell_host_and_command() {
        let cases = [
            ("root@iZbp1079:~# lscpu ", prompt(Some("iZbp1079"), "lscpu")),
            ("[root@db-1 ~]# numactl -H", prompt(Some("db-1"), "numactl -H")),
            ("[root@db-1 ~]#numactl -H", prompt(Some("db-1"), "numactl -H")),
            ("user@host.example.org:~/src$ ./x # y", prompt(Some("host.example.org"), "./x # y")),
            ("(base) me@box:/tmp$ perf stat ls", prompt(Some("box"), "perf stat ls")),
            ("linux-8hx2:~ # lscpu", prompt(Some("linux-8hx2"), "lscpu")),
            ("me@fish ~/x> lscpu", prompt(Some("fish"), "lscpu")),
            ("root@localhost:~# lscpu", prompt(None, "lscpu")),
            ("root@a:~#", prompt(Some("a"), "")),
            ("$ cat /proc/cpuinfo", prompt(None, "cat /proc/cpuinfo")),
            (r"PS C:\Users\My Name> ssh a numactl -H", prompt(None, "ssh a numactl -H")),
            ("PS /home/me> lscpu", prompt(None, "lscpu")),
            (r"PS C:\>", prompt(None, "")),
            (r"C:\Users\me>wsl cat /proc/cpuinfo", prompt(None, "wsl cat /proc/cpuinfo")),
            ("$lscpu", prompt(None, "lscpu")),
            ("HOST $ numactl -H", prompt(None, "numactl -H")),
            ("GUEST $ lscpu", prompt(Some("GUEST"), "lscpu")),
            ("└─$ lscpu", prompt(None, "lscpu")),
            ("➜  ~ lscpu", prompt(None, "lscpu")),
            ("bash-4.2$ lscpu", prompt(None, "lscpu")),
            ("/app # cat /proc/cpuinfo", prompt(None, "cat /proc/cpuinfo")),
            ("(venv) $ lscpu", prompt(None, "lscpu")),
            ("db2% lscpu", prompt(Some("db2"), "lscpu")),
            ("db1 [~]# lscpu", prompt(Some("db1"), "lscpu")),
            ("db1 ~ # lscpu", prompt(Some("db1"), "lscpu")),
            ("[db1 ~]$ lscpu", prompt(Some("db1"), "lscpu")),
            ("[db1]$ lscpu", prompt(Some("db1"), "lscpu")),
            ("<db1> lscpu", prompt(Some("db1"), "lscpu")),
            ("db1> lscpu", prompt(Some("db1"), "lscpu")),
            ("host% lscpu", prompt(None, "lscpu")),
            ("root# lscpu", prompt(None, "lscpu")),
            ("sh$ lscpu", prompt(None, "lscpu")),
            ("~/src ❯ lscpu", prompt(None, "lscpu")),
            ("me in db1 in ~ ❯ lscpu", prompt(None, "lscpu")),
            ("» lscpu", prompt(None, "lscpu")),
            ("➜  src git:(main) ✗ lscpu", prompt(None, "lscpu")),
            ("me@db1 ~/src (main *)> lscpu", prompt(Some("db1"), "lscpu")),
            ("14:02:11 root@db1:~# lscpu", prompt(Some("db1"), "lscpu")),
            ("[14:02][root@db1:~]$ lscpu", prompt(Some("db1"), "lscpu")),
        ];
        for (line, expected) in cases {
            assert_eq!(found(line), expected, "{line}");
        }
        let folder = |line| match find_mark(line, true) {
            Some(Mark::Prompt { folder, .. }) => folder,
            _ => None,
        };
        assert_eq!(folder("root@db-1:/sys/kernel/mm# ls"), Some("/sys/kernel/mm"));
        assert_eq!(folder("[root@db-1 mm]# ls"), None);
    }

    #[test]
    fn a_hash_before_a_command_is_a_prompt_and_before_words_a_comment() {
        for line in [
            "#lscpu",
            "# numactl -H",
            "#dmidecode -t processor | grep Version",
            "# sudo perf stat -e x -a ./y",
            "#time perf stat -a ./cpu_bound",
            "+ lscpu",
            "++ cat /proc/cpuinfo",
        ] {
            assert!(matches!(find_mark(line, true), Some(Mark::Command(_))), "{line}");
        }
        let comments = [
            "# dmidecode 3.2",
            "# /dev/cpu_dma_latency set to 0us",
            "# SMBIOS implementations newer than version 3.0 are not",
            "# lscpu of the second machine",
            "# started on Mon Nov 21 2022",
            "# Total: 000000999",
            "# time is short",
            "# 测试结果",
        ];
        for line in comments {
            assert_eq!(find_mark(line, true), None, "{line}");
        }
    }

    #[test]
    fn bare_commands_are_known_by_their_tool() {
        for line in [
            "sudo perf stat -e x -- ls",
            "time perf stat -a -- bash -c 'x'",
            "openssl speed aes-256-ige -multi 1",
            "LC_ALL=C lscpu",
            "numactl -C 7 -m 0 ./bin/stream -W 5 -N 5 -M 64M",
            "taskset -c 0 ./a.exe",
        ] {
            assert!(matches!(find_mark(line, false), Some(Mark::Command(_))), "{line}");
        }
        for line in [
            "time is what counts",
            "stream copies memory",
            "perf is a tool",
            "lscpu tells this",
            "CPU(s): 4",
            "openssl 3.0.2",
            "nice work",
            "real\t0m1.2s",
        ] {
            assert_eq!(find_mark(line, false), None, "{line}");
        }
    }

    #[test]
    fn headings_stand_outside_code_only() {
        assert_eq!(find_mark("### **海光** ###", false), Some(Mark::Heading { level: 3, text: "海光" }));
        assert_eq!(find_mark("# Results", true), None);
        assert_eq!(find_mark("#lscpu", false), Some(Mark::Command("lscpu")));
    }

    #[test]
    fn output_and_prose_are_no_prompts() {
        for line in [
            "node 0 cpus: 0 1 2 3",
            "write to me@example.org, or $ 5",
            "CPU MHz:  2400  # measured",
            "    13055.200832  task-clock (msec) #    0.993 CPUs utilized",
            "T: 0 ( 9136) P: 0 I:1000 C: 299848 Min:      5 Act:   11 Avg:   11 Max:   21205",
            "100 % of all",
            "%CPU %MEM",
            "the file is written by % lscpu",
            "words, then # lscpu",
        ] {
            assert_eq!(find_mark(line, true), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "\\PC{0,80}", fence: bool) {
            find_mark(&line, fence);
        }

        #[test]
        fn no_prompt_like_line_panics(line in "[a-c@:#$%>\\[\\]()~/ └─➜座]{0,30}", fence: bool) {
            find_mark(&line, fence);
        }
    }
}
