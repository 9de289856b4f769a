//! A record as one HTML page: no outside reference, no script; opens from a mail, prints, follows light and dark,
//! and is readable on a phone.

mod bars;
mod command;
mod compare;
mod figures;
mod loss_breakdown;
mod plan;
mod shape;
mod summary;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use record::{Comparison, Record, Tool};

use crate::text::{clean_page, keep_units};

const STYLE: &str = include_str!("style.css");

/// Nothing may be loaded or run, whatever a string of the machine manages to look like.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// The whole page.
pub fn html(record: &Record) -> String {
    let name = crate::contents::summary::host_name(&record.machine).unwrap_or("a machine");
    let body = html! {
        (summary::header(record))
        (summary::contradictions(record))
        (command::verdict(record))
        (summary::resources(record))
        (summary::findings(record))
        (plan::section(record))
        (summary::unseen(record))
        (summary::noise(record))
        (figures::sections(record))
        (shape::section(&record.machine))
        (figures::inventory(record))
        (figures::conditions(record))
        (figures::coverage(record))
        (figures::provenance(record))
        (figures::all(record))
        (figures::glossary(record))
    };
    page(name, &record.tool, &body)
}

/// Records side by side as a page.
pub fn comparison(comparison: &Comparison) -> String {
    page(&crate::contents::compare::title(comparison), &comparison.tool, &compare::body(comparison))
}

/// A page around its contents.
fn page(name: &str, tool: &Tool, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { "linespeed: " (name) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main { (body) }
                footer { "Made by " (tool.name) " " (tool.version) ". One file: it loads nothing." }
            }
        }
    };
    clean_page(&page.into_string())
}

/// Prose with `names` between backticks set as code, and figures kept with their units.
fn prose(text: impl std::fmt::Display) -> Markup {
    html! {
        @for (number, part) in text.to_string().split('`').enumerate() {
            @if number % 2 == 1 { code { (part) } } @else { (keep_units(part)) }
        }
    }
}

/// A section with a heading; empty where there is nothing in it.
fn section(id: &str, title: &str, inside: Markup) -> Markup {
    html! {
        @if !inside.0.is_empty() {
            section id=(id) aria-labelledby=(format!("{id}-h")) {
                h2 id=(format!("{id}-h")) { (title) }
                (inside)
            }
        }
    }
}
