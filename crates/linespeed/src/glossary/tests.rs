//! Tests that the glossary is complete and that the generated document is up to date.

use std::collections::BTreeMap;

use super::*;

fn to_markdown(glossary: &Glossary) -> String {
    let mut text = include_str!("../../../record/src/glossary/heading.md").to_owned();
    let mut group = "";
    for term in glossary.terms() {
        if term.group != group {
            group = term.group;
            text.push_str(&format!("\n## {group}\n"));
        }
        text.push_str(&format!("\n### {}\n\n{}\n", term.name, term.what));
        let also = (!term.also.is_empty()).then(|| term.also.join(", "));
        for (label, part) in
            [("Also", &also), ("How", &term.how), ("Usual", &term.usual), ("Influences", &term.moves)]
        {
            text.extend(part.iter().map(|part| format!("\n{label}: {part}\n")));
        }
    }
    text + &index(glossary)
}

/// All names and alternative names in alphabetical order, with one line per initial character and links to the entries.
fn index(glossary: &Glossary) -> String {
    let mut names: BTreeMap<String, BTreeMap<String, &str>> = BTreeMap::new();
    for term in glossary.terms() {
        for name in std::iter::once(term.name).chain(term.also.iter().map(String::as_str)) {
            let first = name.chars().next().map(|sign| sign.to_uppercase().to_string()).unwrap_or_default();
            names.entry(first).or_default().insert(name.to_owned(), term.name);
        }
    }
    let mut text = "\n## Index\n".to_owned();
    for (first, names) in names {
        let links = names.iter().map(|(name, entry)| format!("[{name}](#{})", anchor(entry)));
        text.push_str(&format!("\n**{first}** {}\n", links.collect::<Vec<_>>().join(", ")));
    }
    text
}

/// The link anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|sign| sign.is_alphanumeric() || matches!(sign, ' ' | '-' | '_'));
    kept.map(|sign| if sign == ' ' { '-' } else { sign }).collect()
}

#[test]
fn every_entry_says_something_and_every_name_leads_to_one() {
    let all = all();
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for term in all.terms() {
        assert!(!term.what.is_empty(), "{} says nothing", term.name);
        for name in std::iter::once(term.name).chain(term.also.iter().map(String::as_str)) {
            let folded = name.to_lowercase().replace(['_', ' '], "-");
            let other = seen.insert(folded, term.name);
            assert!(other.is_none(), "{name} stands in {} and in {other:?}", term.name);
        }
    }
}

#[test]
fn whatever_can_be_measured_set_or_found_is_explained() {
    let all = all();
    let names = measure::MEASUREMENTS.iter().map(|one| one.name);
    let names = names.chain(quiet::knobs::KNOBS.iter().map(|knob| knob.name));
    for name in names.chain(diagnose::RULES.iter().map(|rule| rule.name)) {
        assert!(all.find(name).is_some(), "{name}");
    }
}

/// `RENEW_GLOSSARY=1 cargo test -p linespeed glossary` writes the document.
#[test]
fn the_document_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/glossary.md");
    let text = to_markdown(&all());
    if std::env::var_os("RENEW_GLOSSARY").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert!(std::fs::read_to_string(path).is_ok_and(|written| written == text), "renew docs/glossary.md");
}
