//! What README and the book show is what the program prints: each command of a `console` block runs again on docs/examples.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{emulated, folder, skipped};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// README and every page of the book.
fn documents() -> Vec<PathBuf> {
    let mut all = vec![Path::new(ROOT).join("README.md")];
    let mut folders = vec![Path::new(ROOT).join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                all.push(path);
            }
        }
    }
    all.sort();
    all
}

/// What a command prints, in a folder with the examples.
fn output(command: &str, folder: &Path) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_linespeed")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec 2>&1; {command}")]).current_dir(folder);
    shell.env("PATH", path).env("HOME", folder).env("XDG_STATE_HOME", folder).env("XDG_CONFIG_HOME", folder);
    shell.env("COLUMNS", "80").env("LC_ALL", "C.UTF-8").env("NO_COLOR", "1");
    String::from_utf8(shell.output().unwrap().stdout).unwrap()
}

/// A text without its numbers and the widths of its blanks.
fn shape(text: &str) -> String {
    let mut shape = String::new();
    for sign in text.chars() {
        let sign = match sign {
            sign if sign.is_whitespace() => ' ',
            sign if sign.is_ascii_digit() => '0',
            sign => sign,
        };
        if !(matches!(sign, ' ' | '0') && shape.ends_with(sign)) {
            shape.push(sign);
        }
    }
    shape.trim().to_owned()
}

/// The document with what its commands print now.
fn renewed(text: &str, folder: &Path) -> String {
    let mut lines = text.lines().peekable();
    let (mut all, mut in_console) = (String::new(), false);
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            in_console = line == "```console";
        }
        all.push_str(&format!("{line}\n"));
        let Some(first) = line.strip_prefix("$ ").filter(|_| in_console) else { continue };
        let mut command = first.to_owned();
        while command.ends_with('\\') {
            let next = lines.next().unwrap();
            all.push_str(&format!("{next}\n"));
            command = format!("{}{next}", command.trim_end_matches('\\'));
        }
        while lines.next_if(|line| !line.starts_with("$ ") && !line.starts_with("```")).is_some() {}
        for line in output(&command, folder).lines() {
            all.push_str(&format!("{}\n", line.trim_end()));
        }
    }
    all
}

/// `RENEW_DOCUMENTS=1 cargo test -p linespeed --test program documents` writes what they print now.
#[test]
fn commands_of_the_documents_print_what_stands_below_them() {
    if emulated() {
        return skipped("documents", "the commands would run outside the emulator");
    }
    for path in documents() {
        let folder = folder();
        for example in std::fs::read_dir(Path::new(ROOT).join("docs/examples")).unwrap() {
            let example = example.unwrap();
            std::fs::copy(example.path(), folder.path().join(example.file_name())).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let now = renewed(&text, folder.path());
        if std::env::var_os("RENEW_DOCUMENTS").is_some() {
            std::fs::write(&path, now).unwrap();
            continue;
        }
        let differing =
            now.split("\n$ ").zip(text.split("\n$ ")).find(|(now, then)| shape(now) != shape(then));
        assert!(differing.is_none(), "{}: RENEW_DOCUMENTS=1 renews it: {differing:#?}", path.display());
    }
}

#[test]
fn every_page_is_a_chapter_and_no_link_is_dead() {
    let docs = Path::new(ROOT).join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        let place = path.parent().unwrap();
        if let Ok(name) = path.strip_prefix(&docs) {
            let linked = summary.contains(&format!("({})", name.display()));
            assert!(linked || name == Path::new("SUMMARY.md"), "{} is no chapter", name.display());
        }
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            if file.contains("://") {
                continue;
            }
            let target = if file.is_empty() { path.clone() } else { place.join(file) };
            assert!(target.exists(), "{}: {link}", path.display());
            if !heading.is_empty() {
                let there = std::fs::read_to_string(&target).unwrap();
                let headings = there.lines().filter(|line| line.starts_with('#')).map(anchor);
                assert!(headings.into_iter().any(|one| one == heading), "{}: {link}", path.display());
            }
        }
    }
}

/// What a heading is linked by.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|sign| sign.is_alphanumeric() || matches!(sign, ' ' | '-' | '_'));
    kept.map(|sign| if sign == ' ' { '-' } else { sign }).collect()
}
