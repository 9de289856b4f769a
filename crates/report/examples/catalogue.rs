//! Lists all sentence templates, for editors and translators: words, code (if any), and place of declaration.
//!
//!     cargo run -p linespeed-report --example catalogue

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A declared template.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    code: String,
    words: String,
    place: String,
}

/// The string literal at the beginning of a text, unescaped, and the text after it.
fn literal(text: &str) -> Option<(String, &str)> {
    let mut letters = text.strip_prefix('"')?.char_indices();
    let mut said = String::new();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((said, &text[1 + at + 1..])),
            '\\' => match letters.next()?.1 {
                'n' => said.push('\n'),
                't' => said.push('\t'),
                // The line goes on behind the blanks of the next one.
                '\n' => {
                    let rest = letters.as_str();
                    let blanks = rest.len() - rest.trim_start().len();
                    let skipped = rest[..blanks].chars().count();
                    letters.by_ref().take(skipped).for_each(|_| {});
                }
                other => said.push(other),
            },
            other => said.push(other),
        }
    }
    None
}

/// The code (empty if there is none) and the words after `text!(` or `Template {`, if present.
fn declared(behind: &str, is_struct: bool) -> Option<(String, String)> {
    let field = |text: &'_ str, name: &str| -> Option<usize> {
        let rest = text.trim_start();
        let skipped = text.len() - rest.len();
        if !is_struct {
            return Some(skipped);
        }
        let rest = rest.strip_prefix(name)?.trim_start().strip_prefix(':')?;
        Some(text.len() - rest.trim_start().len())
    };
    let (first, rest) = literal(&behind[field(behind, "code")?..])?;
    let second = rest.trim_start().strip_prefix(',').and_then(|rest| literal(&rest[field(rest, "words")?..]));
    Some(match second {
        Some((words, _)) => (first, words),
        None => (String::new(), first),
    })
}

/// The templates declared in a source file, without its tests.
fn of_source(text: &str, name: &str) -> Vec<Entry> {
    let product = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    for (start, is_struct) in [("text!(", false), ("Template {", true)] {
        for (at, _) in product.match_indices(start) {
            let line = product[..at].rsplit('\n').next().unwrap_or_default();
            if line.trim_start().starts_with("//") {
                continue;
            }
            if let Some((code, words)) = declared(&product[at + start.len()..], is_struct) {
                let line = product[..at].matches('\n').count() + 1;
                found.push(Entry { code, words, place: format!("{name}:{line}") });
            }
        }
    }
    found
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

/// The templates of all crates, by code, or by their words if they have none.
fn catalogue() -> io::Result<BTreeMap<String, Vec<Entry>>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&crates)? {
        let source = entry?.path().join("src");
        if source.is_dir() {
            sources(&source, &mut files)?;
        }
    }
    files.sort();
    let mut all: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for file in files {
        let name = file.strip_prefix(&crates).unwrap_or(&file).display().to_string();
        for entry in of_source(&std::fs::read_to_string(&file)?, &name) {
            let key = if entry.code.is_empty() { &entry.words } else { &entry.code };
            all.entry(key.clone()).or_default().push(entry);
        }
    }
    Ok(all)
}

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for entry in catalogue()?.into_values().flatten() {
        writeln!(out, "{}\n    {}\n    {}", entry.code, entry.words, entry.place)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_found_whatever_their_form() {
        let text = "let a = text!(\n    \"a-b\",\n    \"one \\\n     line, {x} \\\"so\\\"\",\n    x = 1\n);\n\
                    const T: Template = Template { code: \"c\", words: \"w\" };\ntext!(T, x = 1);\n\
                    text!(\"alone {y}\", y);\n\
                    #[cfg(test)]\nmod tests { fn f() { text!(\"no\", \"no\") } }";
        let found: Vec<(String, String)> =
            of_source(text, "f").into_iter().map(|entry| (entry.code, entry.words)).collect();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(found, [pair("a-b", "one line, {x} \"so\""), pair("", "alone {y}"), pair("c", "w")]);
    }

    #[test]
    fn a_code_stands_for_one_sentence() {
        let all = catalogue().unwrap();
        assert!(all.len() > 10, "{} templates", all.len());
        for entries in all.into_values() {
            let code = &entries[0].code;
            assert!(code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{code}");
            assert!(entries.iter().all(|entry| entry.words == entries[0].words), "{code}: {entries:#?}");
        }
    }
}
