//! A small check of a page: every tag is closed in order, and nothing in it can load or run.

use std::collections::BTreeSet;

/// Elements that have no end.
const VOID: &[&str] = &["meta"];
/// Elements that a page of ours has.
const KNOWN: &[&str] = &[
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "main",
    "footer",
    "header",
    "section",
    "h1",
    "h2",
    "h3",
    "p",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "div",
    "span",
    "b",
    "code",
    "pre",
    "details",
    "summary",
    "figure",
    "figcaption",
    "table",
    "thead",
    "colgroup",
    "tbody",
    "tr",
    "th",
    "td",
    "svg",
    "g",
    "a",
    "nav",
    "desc",
    "text",
    "line",
    "path",
    "circle",
];
/// Attributes that a page of ours has: none that loads or runs; links stay on the page.
const ATTRIBUTES: &[&str] = &[
    "lang",
    "charset",
    "href",
    "http-equiv",
    "content",
    "name",
    "id",
    "class",
    "style",
    "title",
    "role",
    "tabindex",
    "scope",
    "span",
    "colspan",
    "rowspan",
    "aria-label",
    "aria-labelledby",
    "aria-hidden",
    "viewBox",
    "d",
    "x",
    "y",
    "x1",
    "x2",
    "y1",
    "y2",
    "cx",
    "cy",
    "r",
    "text-anchor",
];

/// What is wrong with the page; `None` where nothing is.
pub fn wrong(page: &str) -> Option<String> {
    let Some(mut rest) = page.strip_prefix("<!DOCTYPE html>") else { return Some("no doctype".to_owned()) };
    let mut open: Vec<String> = Vec::new();
    let mut ids = BTreeSet::new();
    let mut links: Vec<String> = Vec::new();
    while let Some(at) = rest.find('<') {
        let (text, tag) = rest.split_at(at);
        if text.contains('>') {
            return Some(format!("a loose > in {text:?}"));
        }
        let Some(end) = tag.find('>') else { return Some("a tag that does not end".to_owned()) };
        let inside = &tag[1..end];
        rest = &tag[end + 1..];
        if let Some(name) = inside.strip_prefix('/') {
            match open.pop() {
                Some(last) if last == name => continue,
                last => return Some(format!("</{name}> ends {last:?}")),
            }
        }
        let (name, attributes) = inside.split_once(' ').unwrap_or((inside, ""));
        if !KNOWN.contains(&name) {
            return Some(format!("an unknown element <{inside}>"));
        }
        for (attribute, value) in attributes_of(attributes)? {
            if !ATTRIBUTES.contains(&attribute.as_str()) {
                return Some(format!("an unknown attribute {attribute} in <{inside}>"));
            }
            if attribute == "href" {
                links.push(value.clone());
            }
            if attribute == "id" && !ids.insert(value.clone()) {
                return Some(format!("id {value} stands twice"));
            }
        }
        if name == "style" {
            let Some(at) = rest.find("</style>") else { return Some("a style that does not end".to_owned()) };
            let css = &rest[..at];
            if ["url(", "@import", "expression(", "<"].iter().any(|word| css.contains(word)) {
                return Some("a style that loads something".to_owned());
            }
            rest = &rest[at + "</style>".len()..];
            continue;
        }
        if !VOID.contains(&name) {
            open.push(name.to_owned());
        }
    }
    let lost = |link: &&String| link.strip_prefix('#').is_none_or(|id| !ids.contains(id));
    if let Some(link) = links.iter().find(lost) {
        return Some(format!("a link to {link:?}, which is not on the page"));
    }
    open.pop().map(|name| format!("<{name}> is never closed"))
}

/// The attributes of a tag, each `name="value"`; a malformed one stands under the name `malformed`.
fn attributes_of(text: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let parts = rest.split_once("=\"").and_then(|(name, rest)| {
            let (value, rest) = rest.split_once('"')?;
            Some((name.trim().to_owned(), value.to_owned(), rest.trim_start()))
        });
        match parts {
            Some((name, value, after)) => {
                found.push((name, value));
                rest = after;
            }
            None => return Some(vec![("malformed".to_owned(), rest.to_owned())]),
        }
    }
    Some(found)
}
