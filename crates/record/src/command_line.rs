//! Command lines as typed by users: the program that is finally run, its CPU and memory binding, and the name under
//! which runs of the command are compared between machines.

use crate::CpuList;

/// A word or an operator of a shell command line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// A word without its quotes.
    Word(String),
    /// `|`, `&&`, `;`, `>`, `2>`, `&`…
    Operator(String),
}

/// A parsed command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The words of the program that is finally run, starting with its name without a path: `stream`, `-W`, `5` for
    /// `sudo numactl -C 7 ./bin/stream -W 5`. For a pipeline, the words of its first program.
    pub words: Vec<String>,
    /// The whole command line in a form that is the same on all machines that ran the same command: without binding, path, redirection or `sudo`,
    /// and with uniform quoting.
    pub name: String,
    /// CPUs that the program was pinned to.
    pub cpus: Option<CpuList>,
    /// Nodes whose CPUs the program was bound to.
    pub cpu_nodes: Option<CpuList>,
    /// Nodes that the program's memory was bound to.
    pub memory_nodes: Option<CpuList>,
    /// The wrappers that set the program's conditions, outermost first: `taskset -c 0`, `nice -n -5`.
    pub conditions: Vec<String>,
    /// Whether `time` preceded the program.
    pub timed: bool,
    /// The options of `perf stat`, if the program was run under it.
    pub perf: Option<Perf>,
}

/// The options of `perf stat` that determine its output format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Perf {
    /// `-a`, `-A`, `-C`: events are counted on CPUs, not for a process.
    pub system: bool,
    /// `-p`, `-t`: events are counted for a process or thread that was already running.
    pub attached: Option<String>,
    /// `-x`: the separator of fields.
    pub separator: Option<String>,
    /// `-r`: the number of runs.
    pub runs: Option<u64>,
}

/// Programs that run another program: their names, and their options whose value is a separate word.
const WRAPPERS: &str = include_str!("wrappers.txt");

/// Options of `perf stat` whose value is a separate word.
const PERF_VALUES: &str = "\
    -e --event -r --repeat -x --field-separator -I --interval-print -C --cpu -p --pid -t --tid -o \
    --output -G --cgroup -M --metrics -D --delay --timeout --interval-count --filter --pre --post \
    --log-fd -b --bpf-prog --td-level";

/// The maximum number of wrappers before the program; further wrappers are not removed.
const MOST_WRAPPERS: usize = 32;
/// Commands that only prepare the next command.
const PREPARES: &[&str] =
    &["cd", "export", "source", ".", "ulimit", "set", "sync", "sleep", "module", "date"];
/// The deepest nesting of scripts that is parsed.
const DEEPEST: usize = 4;
/// Maximum length of a parsed command line, in bytes; users type shorter command lines, but imported text may contain
/// anything.
const LONGEST: usize = 64 * 1024;

impl CommandLine {
    /// Reads a command line. Text with invalid shell syntax (an unmatched quote) is read up to the error.
    pub fn read(text: &str) -> Self {
        let mut end = text.len().min(LONGEST);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut command = Self::default();
        command.take(&text[..end], 0);
        command
    }

    /// Reads a command from the words with which it was started.
    pub fn from_words<'w>(words: impl Iterator<Item = &'w str>) -> Self {
        let mut command = Self::default();
        command.name = command.unwrap(words.map(str::to_owned).collect(), true, 0);
        command
    }

    /// The command line that precedes a tool's output, if that command line runs one of these programs (possibly in a
    /// loop) and may therefore have produced the output.
    pub fn above(command: Option<&str>, programs: &[&str]) -> Self {
        let line = command.map(Self::read).unwrap_or_default();
        if programs.contains(&line.program()) { line } else { Self::default() }
    }

    /// The program's name.
    pub fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// The value of an option: the word after `-m`, or the text after `--threads=`.
    pub fn option(&self, names: &[&str]) -> Option<&str> {
        let words = &self.words;
        words.iter().enumerate().skip(1).find_map(|(at, word)| {
            if names.contains(&word.as_str()) {
                return words.get(at + 1).map(String::as_str);
            }
            let (name, value) = word.split_once('=')?;
            names.contains(&name).then_some(value)
        })
    }

    /// Whether an option is present.
    pub fn has(&self, name: &str) -> bool {
        self.words.iter().skip(1).any(|word| word == name)
    }

    /// The CPU that the program was pinned to, if there was only one.
    pub fn cpu(&self) -> Option<u32> {
        self.cpus.as_ref().filter(|cpus| cpus.len() == 1).and_then(CpuList::first)
    }

    /// The node that the program's memory was bound to, if there was only one.
    pub fn node(&self) -> Option<u32> {
        self.memory_nodes.as_ref().filter(|nodes| nodes.len() == 1).and_then(CpuList::first)
    }

    fn take(&mut self, text: &str, depth: usize) {
        let tokens = tokens(text);
        let mut parts: Vec<Vec<String>> = vec![Vec::new()];
        let mut joints: Vec<String> = Vec::new();
        let mut rest = tokens.into_iter().peekable();
        while let Some(token) = rest.next() {
            match token {
                Token::Word(text) => {
                    if let Some(part) = parts.last_mut() {
                        part.push(text);
                    }
                }
                Token::Operator(operator) if operator.ends_with(['>', '<']) => {
                    // Skips the target of a redirection. In contrast, `2>&1` is a single operator without a separate
                    // target.
                    if matches!(rest.peek(), Some(Token::Word(_))) {
                        rest.next();
                    }
                }
                Token::Operator(operator) if operator.contains('>') => {}
                Token::Operator(operator) => {
                    joints.push(operator);
                    parts.push(Vec::new());
                }
            }
        }
        if parts.iter().any(|part| part.first().is_some_and(|word| KEYWORDS.contains(&word.as_str()))) {
            // The text is a script, which cannot be split without changing its meaning.
            if let Some(first) = parts.into_iter().next() {
                self.unwrap(first, true, depth);
            }
            self.name = script(text);
            return;
        }
        let mut name = String::new();
        let mut first = true;
        let mut measured = false;
        for (index, part) in parts.into_iter().enumerate() {
            let joint = if index == 0 { "" } else { joints.get(index - 1).map_or("|", String::as_str) };
            let piped = matches!(joint, "|" | "|&");
            // `time a | b; c` measures the pipeline.
            if measured && !piped {
                break;
            }
            // `cd x && time ./y`: the commands before `time` are not measured, and changing the directory is not work.
            let before = (self.timed, self.perf.is_some());
            if !piped && PREPARES.contains(&self.words.first().map_or("", String::as_str)) {
                first = true;
                name.clear();
            }
            let starts = index > 0 && !piped && part.iter().any(|word| matches!(base(word), "time" | "perf"));
            let unwrapped = self.unwrap(part, first || starts, depth);
            measured |= before != (self.timed, self.perf.is_some());
            if unwrapped.is_empty() {
                continue;
            }
            if before != (self.timed, self.perf.is_some()) {
                name.clear();
            }
            first = false;
            if !name.is_empty() {
                name.push_str(&if joint == ";" { "; ".to_owned() } else { format!(" {joint} ") });
            }
            name.push_str(&unwrapped);
        }
        self.name = name;
    }

    /// Removes wrappers that run another program, records their effect, and returns the remaining words in a comparable
    /// form.
    fn unwrap(&mut self, mut words: Vec<String>, first: bool, depth: usize) -> String {
        // The number of wrappers is limited; real commands have only a few.
        for _ in 0..MOST_WRAPPERS {
            let assignments = words.iter().take_while(|word| is_assignment(word)).count();
            self.conditions.extend(words.drain(..assignments));
            let Some(program) = words.first().map(|word| base(word).to_owned()) else { return String::new() };
            if program == "perf" && words.get(1).is_some_and(|word| word == "stat") {
                let taken = self.perf(&words[2..]);
                words.drain(..2 + taken);
                continue;
            }
            let shell = matches!(program.as_str(), "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash");
            if shell && let Some(at) = words.iter().position(|word| word == "-c" || word == "-lc") {
                // If the command was typed at a prompt, the script is one word. In perf's output, which lacks the
                // quotes, the script is the rest of the line.
                words.drain(..=at);
                if words.len() != 1 {
                    continue;
                }
                if depth < DEEPEST {
                    let mut inner = Self::default();
                    inner.take(&words[0], depth + 1);
                    self.conditions.append(&mut inner.conditions);
                    if first {
                        self.words = inner.words;
                        self.cpus = inner.cpus.or(self.cpus.take());
                        self.memory_nodes = inner.memory_nodes.or(self.memory_nodes.take());
                        self.cpu_nodes = inner.cpu_nodes.or(self.cpu_nodes.take());
                    }
                    return inner.name;
                }
            }
            let is_own = |row: &&str| row.split(' ').next() == Some(&program);
            let Some(valued) = WRAPPERS.lines().find(is_own) else { break };
            let taken = self.wrapper(&program, valued, &words);
            if taken >= words.len() && program != "time" {
                break;
            }
            let wrapper = words.drain(..taken.min(words.len())).map(|word| quoted(base(&word)));
            let wrapper = wrapper.collect::<Vec<_>>().join(" ");
            // Programs that only measure the time, run another program or change the user do not count as conditions.
            if !matches!(program.as_str(), "time" | "exec" | "command" | "sudo" | "doas") {
                self.conditions.push(wrapper);
            }
        }
        if let Some(program) = words.first_mut() {
            *program = base(program).to_owned();
        }
        let name = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        if first {
            self.words = words;
        }
        name
    }

    /// The number of words that a wrapper and its options take up.
    fn wrapper(&mut self, program: &str, valued: &str, words: &[String]) -> usize {
        self.timed |= program == "time";
        let (mut listed, mut attached) = (false, false);
        let at = 1 + read_options(&words[1..], valued, |option, value| {
            let list = || value.and_then(|value| value.parse().ok());
            match (program, option) {
                ("numactl", "-C" | "--physcpubind") => self.cpus = list(),
                ("numactl", "-m" | "--membind") => self.memory_nodes = list(),
                ("numactl", "-N" | "--cpunodebind") => self.cpu_nodes = list(),
                ("taskset", _) if option.starts_with("-c") && option.len() > 2 => {
                    (self.cpus, attached) = (option[2..].parse().ok(), true);
                }
                ("taskset", _) => {
                    listed |= option == "--cpu-list" || option.contains('c') && !option.starts_with("--");
                }
                _ => {}
            }
        });
        match program {
            "env" => at + words[at..].iter().take_while(|word| is_assignment(word)).count(),
            "taskset" if attached => at,
            "taskset" => {
                let list = words.get(at).and_then(|word| match listed {
                    true => word.parse().ok(),
                    false => CpuList::from_mask(word.trim_start_matches("0x")).ok(),
                });
                self.cpus = list.or(self.cpus.take());
                at + 1
            }
            "chrt" | "timeout" | "setarch" => at + 1,
            _ => at,
        }
    }

    /// The number of words that the options of `perf stat` take up.
    fn perf(&mut self, words: &[String]) -> usize {
        let mut perf = Perf::default();
        let taken = read_options(words, PERF_VALUES, |option, value| match option {
            "-a" | "--all-cpus" | "-A" | "--no-aggr" | "-C" | "--cpu" => perf.system = true,
            "-p" | "--pid" => perf.attached = value.map(|pid| format!("process {pid}")),
            "-t" | "--tid" => perf.attached = value.map(|tid| format!("thread {tid}")),
            "-x" | "--field-separator" => {
                perf.separator = value.filter(|value| !value.is_empty()).map(str::to_owned);
            }
            "-r" | "--repeat" => perf.runs = value.and_then(|value| value.parse().ok()),
            _ => {}
        });
        self.perf = Some(perf);
        taken
    }
}

/// The number of leading words that are options or their values, including `--`. `valued` lists the options with a
/// separate value, and `each` is called with every option and its value.
fn read_options(words: &[String], valued: &str, mut each: impl FnMut(&str, Option<&str>)) -> usize {
    let takes_value = |option: &str| valued.split(' ').any(|valued| valued == option);
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-') && *word != "-") {
        at += 1;
        if word == "--" {
            break;
        }
        let short = word.get(..2).filter(|option| word.len() > 2 && takes_value(option));
        let (option, attached) = match (word.split_once('='), short) {
            (Some((option, value)), _) if option.starts_with("--") => (option, Some(value)),
            (_, Some(option)) => (option, Some(&word[2..])),
            _ => (word.as_str(), None),
        };
        let separate = attached.is_none() && takes_value(option);
        each(option, attached.or_else(|| words.get(at).filter(|_| separate).map(String::as_str)));
        at += usize::from(separate);
    }
    at.min(words.len())
}

/// Words that start loops and conditionals in a shell.
const KEYWORDS: [&str; 8] = ["while", "until", "for", "if", "case", "do", "{", "("];

/// The script in a command line, joined into one line: the argument of `sh -c`, or else the whole command line.
fn script(text: &str) -> String {
    let shells = ["sh -c ", "bash -c ", "zsh -c ", "dash -c "];
    let at = shells.iter().filter_map(|shell| Some(text.find(shell)? + shell.len())).min();
    let script = text.get(at.unwrap_or(0)..).unwrap_or(text).trim();
    let bare = ['\'', '"']
        .iter()
        .find_map(|quote| script.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or(script);
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The name under which runs of a command are compared.
pub fn comparable_name(text: &str) -> String {
    CommandLine::read(text).name
}

/// The conditions of a command, outermost first; `None` if there are none.
pub fn conditions(text: &str) -> Option<String> {
    let mut conditions = CommandLine::read(text).conditions;
    let before = text.find("drop_caches").filter(|at| text[*at..].contains(['&', ';']));
    conditions.extend(before.map(|_| "drop_caches".to_owned()));
    Some(conditions.join(" ")).filter(|conditions| !conditions.is_empty())
}

/// Whether a word is an assignment before a command: `NAME=VALUE`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// A program's name without its path.
fn base(word: &str) -> &str {
    word.rsplit('/').find(|part| !part.is_empty()).unwrap_or(word)
}

/// A word as it appears in a name: in double quotes if a shell would treat it as more than one word.
fn quoted(word: &str) -> String {
    let safe = |c: char| c.is_alphanumeric() || "_@%+=:,./-{}".contains(c);
    if !word.is_empty() && word.chars().all(safe) { word.to_owned() } else { format!("\"{word}\"") }
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut word = String::new();
    let (mut inside, mut quoted) = (false, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                (inside, quoted) = (true, true);
                word.extend(chars.by_ref().take_while(|c| *c != '\''));
            }
            '"' => {
                (inside, quoted) = (true, true);
                while let Some(c) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' if matches!(chars.peek(), Some('"' | '\\' | '$' | '`')) => {
                            word.extend(chars.next());
                        }
                        c => word.push(c),
                    }
                }
            }
            '\\' => {
                inside = true;
                word.extend(chars.next());
            }
            '|' | '&' | ';' | '<' | '>' => {
                let mut operator = String::new();
                // In `2>`, the number belongs to the redirection.
                let number =
                    matches!(c, '<' | '>') && inside && !quoted && matches!(word.as_str(), "0" | "1" | "2");
                if number {
                    operator.push_str(&word);
                    word.clear();
                    inside = false;
                }
                tokens.extend(inside.then(|| Token::Word(std::mem::take(&mut word))));
                (inside, quoted) = (false, false);
                operator.push(c);
                while let Some(next) = chars.next_if(|next| matches!(next, '|' | '&' | '<' | '>')) {
                    operator.push(next);
                }
                if operator.ends_with(">&") || operator.ends_with("<&") {
                    // In `2>&1` and `>&-`, the descriptor belongs to the redirection. Otherwise, a file name follows.
                    while let Some(next) = chars.next_if(|next| next.is_ascii_digit() || *next == '-') {
                        operator.push(next);
                    }
                    if operator.ends_with('&') {
                        operator = ">".to_owned();
                    }
                }
                tokens.push(Token::Operator(operator));
            }
            c if c.is_whitespace() => {
                tokens.extend(inside.then(|| Token::Word(std::mem::take(&mut word))));
                (inside, quoted) = (false, false);
            }
            c => {
                inside = true;
                word.push(c);
            }
        }
    }
    tokens.extend(inside.then_some(Token::Word(word)));
    tokens
}

#[cfg(test)]
mod tests;
