//! Tests that the command line accepts every command in README, the book and contrib/.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

fn documents(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            documents(&path, all);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            all.push(path);
        }
    }
}

/// The words of each linespeed command in the code blocks of a document, up to a comment, a pipe or a redirection.
fn commands(text: &str) -> Vec<Vec<String>> {
    let (mut all, mut fenced) = (Vec::new(), false);
    for line in text.replace("\\\n", " ").lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        let inside = if fenced { Some(line) } else { line.strip_prefix("    ") };
        let line = inside.unwrap_or_default().trim_start_matches("$ ").trim_start_matches("sudo ");
        if let Some(rest) = line.strip_prefix("linespeed ").filter(|rest| !rest.starts_with(' ')) {
            let ends = [" # ", " | ", " > ", " && ", " || ", " 2>", "; "];
            let end = ends.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
            let words = shell_words::split(&rest[..end]).unwrap_or_else(|_| panic!("{line}"));
            all.push(words);
        }
    }
    all
}

#[test]
fn commands_of_the_documents_are_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md")];
    documents(&root.join("docs"), &mut files);
    documents(&root.join("contrib"), &mut files);
    let mut seen = 0;
    for file in files {
        let at = file.display();
        for words in commands(&std::fs::read_to_string(&file).unwrap()) {
            let line: Vec<OsString> =
                std::iter::once("linespeed".to_owned()).chain(words.clone()).map(OsString::from).collect();
            let (options, matches) =
                super::reading::read(line).unwrap_or_else(|error| panic!("{at}: {words:?}: {error}"));
            let checked = options.check(&matches);
            assert!(checked.is_ok(), "{at}: {words:?}: {:?}", checked.err().map(|f| f.to_string()));
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}
