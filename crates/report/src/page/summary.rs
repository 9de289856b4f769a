//! The top of the page: what the terminal's first screen says.

use maud::{Markup, html};
use record::diagnosis::{Finding, Resource};
use record::{Record, Remedy, units};

use super::{prose, section};
use crate::contents::provenance;
use crate::contents::summary;
use crate::text::keep_units;

/// What the machine is.
pub(super) fn header(record: &Record) -> Markup {
    let lines = summary::machine(record);
    html! {
        header {
            @if let Some(banner) = summary::banner(record) { p class="banner" role="note" { (banner) } }
            p class="kind" { "linespeed report" }
            @for (number, line) in lines.iter().enumerate() {
                @if number == 0 { h1 { (keep_units(line)) } } @else { p { (keep_units(line)) } }
            }
            p class="quiet" { (summary::origin(record)) }
        }
    }
}

/// What the texts of an imported record say in two ways.
pub(super) fn contradictions(record: &Record) -> Markup {
    let said = provenance::contradictions(record);
    let inside = html! {
        @if !said.is_empty() { ul { @for says in &said { li { (prose(says)) } } } }
    };
    section("in-two-ways", provenance::IN_TWO_WAYS, inside)
}

/// How far from line speed each resource is.
pub(super) fn resources(record: &Record) -> Markup {
    let resources = &record.diagnosis.resources;
    let inside = html! {
        @if !resources.is_empty() {
            ul class="resources" {
                @for resource in resources { li { (render_resource(resource)) } }
            }
        }
        @for line in &record.diagnosis.not_reached { p { (prose(line)) } }
        (super::loss_breakdown::breakdowns(record))
    };
    section("line-speed", "How far from line speed", inside)
}

fn render_resource(resource: &Resource) -> Markup {
    let share = resource.share.filter(|share| share.is_finite());
    html! {
        h3 { (resource.name) }
        p class="share" {
            @match share {
                Some(share) => { (format!("{:.0} %", share * 100.0)) span class="quiet" { " of line speed" } }
                None => { (units::figure(resource.delivered, &resource.unit)) }
            }
        }
        @if let Some(share) = share {
            div class="track" aria-hidden="true" {
                div class="full" style=(format!("width:{:.1}%", share.clamp(0.0, 1.0) * 100.0)) {}
            }
        }
        p { (keep_units(&summary::delivered(resource))) }
        @if !resource.meaning.is_empty() { p class="quiet" { (prose(resource.meaning.to_string())) } }
    }
}

/// What costs speed, the worst first.
pub(super) fn findings(record: &Record) -> Markup {
    let findings = &record.diagnosis.findings;
    let inside = html! {
        @if findings.is_empty() {
            p { (summary::nothing(record)) }
        } @else {
            ol class="findings" { @for finding in findings { li { (found(finding)) } } }
        }
    };
    section("findings", "What costs speed", inside)
}

fn found(finding: &Finding) -> Markup {
    let severity = summary::severity(finding.severity);
    // A loss that may be none is never coloured.
    let class =
        if summary::resolved(&finding.loss) { format!("badge {severity}") } else { "badge".to_owned() };
    html! {
        h3 { (prose(finding.what.to_string())) }
        p {
            span class=(class) { (severity) } " " (keep_units(&summary::loss(finding)))
            @if let Some(place) = summary::place(finding) { " · " (place.to_string()) }
        }
        @for remedy in &finding.remedy { (advice("Do", remedy)) }
        @if !finding.evidence.is_empty() || !finding.undo.is_empty() {
            details {
                summary { "Evidence" }
                ul {
                    @for evidence in &finding.evidence {
                        li { (prose(evidence.says.to_string())) " " span class="quiet" { "(" (evidence.from) ")" } }
                    }
                }
                @for undo in &finding.undo { (advice("Undo", undo)) }
                p class="quiet" { "Rule: " (finding.rule) ", " (finding.confidence.word()) " confidence" }
            }
        }
    }
}

fn advice(word: &str, remedy: &Remedy) -> Markup {
    html! {
        @if let Some(command) = &remedy.command {
            @if let Some(text) = &remedy.text { p { span class="quiet" { (word) ": " } (prose(text.to_string())) ":" } }
            div class="advice" {
                @if remedy.text.is_none() { span class="quiet" { (word) ":" } }
                pre { code { (command) } }
            }
        } @else {
            p { span class="quiet" { (word) ": " } (prose(remedy.to_string())) }
        }
    }
}

/// What could not be seen.
pub(super) fn unseen(record: &Record) -> Markup {
    let items = summary::unseen(record);
    let inside = html! {
        @if !items.is_empty() {
            ul class="plain" {
                @for item in &items {
                    li {
                        span class="badge" { (item.state.word()) } " "
                        b { (item.what.join(", ")) } ": " (prose(&item.reason))
                        @if let Some(remedy) = item.remedy.as_deref().map(Remedy::of_words) {
                            " → "
                            @if let Some(text) = &remedy.text { (prose(text.to_string())) @if remedy.command.is_some() { ": " } }
                            @if let Some(command) = &remedy.command { code { (command) } }
                        }
                    }
                }
            }
        }
        @if let Some(line) = summary::not_looked_for(record) { p class="quiet" { (prose(&line)) } }
    };
    section("unseen", "What could not be seen", inside)
}

/// Where the noise stands.
pub(super) fn noise(record: &Record) -> Markup {
    let lines = summary::noise(record);
    let inside = html! {
        @if !lines.is_empty() { ul class="plain" { @for line in &lines { li { (keep_units(line)) } } } }
    };
    section("noise", "Noise", inside)
}
