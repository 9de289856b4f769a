//! The top of the page, with the contents of the terminal's first screen.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use maud::{Markup, html};
use record::diagnosis::{Finding, Resource, Severity};
use record::difference::Verdict;
use record::phrase::quote_word;
use record::{Record, Remedy, units};

use super::figures::{Figures, rule_link};
use super::{Section, bars, link, prose, section};
use crate::chart::Axis;
use crate::chart::bars::{Bar, Fill, Form, Piece};
use crate::contents::conditions::quiet;
use crate::contents::figures::{line_speed, share_of};
use crate::contents::{finding, listed, loss_breakdown, summary};
use crate::text::{clean, cut, keep_units};

/// Above this share of line speed, a resource is fine unless a finding shows otherwise.
const WELL: f64 = 0.9;
/// The link to all losses.
const LOSSES: &str = "losses";
/// Maximum length of a displayed command line, in characters.
const COMMAND: usize = 200;
/// Maximum number of links from a finding to its results.
const PLACES: usize = 3;

/// The lines below the verdict: the machine, the command, and the time.
pub(super) fn header(record: &Record) -> Markup {
    // The banner of imported results is not a warning, so it is not highlighted.
    let banner = if record.import.is_some() { "banner quiet" } else { "banner" };
    // The command line, approximately as the user typed it.
    let command = record.command.iter().map(|word| quote_word(word)).collect::<Vec<_>>().join(" ");
    html! {
        @if let Some(text) = summary::banner(record) { p class=(banner) role="note" { (text) } }
        p { (keep_units(&summary::machine(record).join(", "))) }
        p class="quiet" {
            (summary::origin(record))
            @if let Some(root) = record.machine.limits.root { (if root { ", as root" } else { ", not as root" }) }
            @if !command.is_empty() { ": " code { (cut(&clean(&command), COMMAND)) } }
        }
        @if let Some(quiet) = quiet(&record.conditions) { p { (keep_units(&quiet)) } }
    }
}

/// The distance of each resource from line speed: the measured, typical and maximum values, with a separate scale for each resource.
pub(super) fn resources(record: &Record, figures: &Figures) -> Section {
    let resources = &record.diagnosis.resources;
    let inside = html! {
        @if !resources.is_empty() {
            figure class="bars bullets" {
                ul class="legend" {
                    @if resources.iter().any(|resource| resource.typical.is_some()) {
                        li { span class="key typical" {} " typical" }
                    }
                    li { span class="key tick" {} " ceiling, or best result here" }
                    li { span class="key dot f0" {} " measured" }
                    @if resources.iter().any(|resource| compared(resource).is_some()) {
                        li { span class="key dot ring f0" {} " measured with the method of the typical results" }
                    }
                }
                ul class="rows" {
                    @for resource in resources { (render_resource(record, resource, figures)) }
                }
            }
        }
        @for line in &record.diagnosis.not_reached { p { (prose(line)) } }
    };
    section("line-speed", "Distance from line speed", inside)
}

/// The result under the same conditions as the published results, if it differs from the delivered result.
fn compared(resource: &Resource) -> Option<f64> {
    resource.typical.as_ref().and_then(|typical| typical.compared)
}

/// A resource on its own scale, which extends from 0 to beyond the maximum, and the labels below the scale.
fn bullet(record: &Record, resource: &Resource, fill: Fill) -> (Bar, Vec<(f64, String)>) {
    let unit = resource.unit.as_str();
    let typical = resource.typical.as_ref().map(|typical| (typical.low, typical.high));
    let best = [resource.ceiling, resource.family_ceilings.map(|(_, high)| high)];
    let ends = best.into_iter().chain([typical.map(|(_, high)| high), compared(resource)]).flatten();
    let scale = Axis::to(ends.fold(resource.delivered, f64::max), unit);
    let at = |value: f64| scale.position(value);
    let figure = |value: f64| units::figure(value, unit);
    let mut pieces = Vec::new();
    pieces.extend(typical.map(|(low, high)| {
        let says = format!("typical {}", summary::ends_of((low, high), unit));
        Piece::new(at(low), at(high), Fill::Typical, says)
    }));
    pieces.extend(best.into_iter().flatten().map(|best| {
        Piece::at(at(best), Form::Tick, Fill::Same, format!("ceiling, or best result here: {}", figure(best)))
    }));
    pieces.extend(compared(resource).map(|value| {
        let says = format!("measured with the method of the typical results: {}", figure(value));
        Piece::at(at(value), Form::Ring, fill, says)
    }));
    let measured = !summary::is_untold(record, resource);
    let dot = Piece::at(at(resource.delivered), Form::Dot, fill, summary::held_against(record, resource));
    pieces.extend(measured.then(|| Piece { unreliable: resource.doubt.is_some(), ..dot }));
    let bar = Bar { name: resource.name.clone(), strong: true, pieces, ..Bar::default() };
    (bar, scale.ticks(5).into_iter().map(|(value, text)| (at(value), text)).collect())
}

/// The worst finding about a resource, with its number on the page.
fn worst<'a>(record: &'a Record, resource: &Resource) -> Option<(usize, &'a Finding)> {
    let findings = record.diagnosis.findings.iter().enumerate();
    let takes = |(_, finding): &(usize, &Finding)| {
        finding.resource.as_deref() == Some(resource.name.as_str()) && finding::resolved(&finding.loss)
    };
    findings.filter(takes).max_by_key(|(number, finding)| (finding.severity, Reverse(*number)))
}

fn render_resource(record: &Record, resource: &Resource, figures: &Figures) -> Markup {
    let share = line_speed(resource);
    let worst = worst(record, resource);
    let fill = match worst.map(|(_, finding)| finding.severity) {
        Some(Severity::Serious) => Fill::Serious,
        Some(Severity::Warning) => Fill::Warning,
        Some(Severity::Note) => Fill::Plain,
        None if share.is_some_and(|share| share >= WELL) => Fill::Good,
        None => Fill::Plain,
    };
    let (mut bar, ticks) = bullet(record, resource, fill);
    bar.how = summary::position(resource).unwrap_or_default().to_owned();
    bar.figure = share_of(resource).unwrap_or_else(|| summary::held_against(record, resource));
    bar.beside = share.map_or(String::new(), |_| summary::held_against(record, resource));
    let unreliable = resource.doubt.as_ref().map(|doubt| format!("unreliable: {doubt}"));
    let beside = resource.beside.as_ref().map(ToString::to_string);
    let known = listed([summary::typical(resource, true), beside, unreliable]);
    let lost = record.diagnosis.loss_breakdowns.iter().any(|found| found.resource == resource.name);
    html! {
        (bars::row(&bar, &ticks))
        (bars::scale(&ticks))
        li class="note quiet" {
            (keep_units(&known)) " "
            @if let Some((number, finding)) = worst {
                (link(&finding_id(number), &format!("{} {}", finding.severity, number + 1))) " "
            }
            @if lost { (link(LOSSES, "losses")) " " }
            @if let Some(link) = figures.headline_link(&resource.name) { (link) }
            @if !resource.meaning.is_empty() {
                details { summary { "Basis of this result" } (prose(resource.meaning.to_string())) }
            }
        }
    }
}

/// The losses of each resource, from its ceiling down.
pub(super) fn losses(record: &Record) -> Section {
    let all = loss_breakdown::bars(record);
    let inside = html! {
        @if !all.is_empty() { div class="flow long" { @for one in &all { (bars::draw(one)) } } }
    };
    section(LOSSES, loss_breakdown::TITLE, inside)
}

fn finding_id(number: usize) -> String {
    format!("finding-{}", number + 1)
}

/// The findings, the worst first.
pub(super) fn findings(record: &Record, figures: &Figures, shown_by: Option<&str>) -> Section {
    let findings = &record.diagnosis.findings;
    let inside = html! {
        @if findings.is_empty() {
            p { (summary::nothing(record, usize::MAX)) }
        } @else {
            ol class="findings" {
                @for (number, finding) in findings.iter().enumerate() {
                    li id=(finding_id(number)) { (found(record, number, finding, figures, shown_by)) }
                }
            }
        }
    };
    section("findings", "What costs speed", inside)
}

fn found(
    record: &Record,
    number: usize,
    finding: &Finding,
    figures: &Figures,
    shown_by: Option<&str>,
) -> Markup {
    let severity = finding.severity.to_string();
    // An unresolved loss is never colored; a loss of unknown size has the color of its rule's severity.
    let is_known = finding::resolved(&finding.loss) || matches!(finding.loss, Verdict::NotMeasurable { .. });
    let class = if is_known { format!("badge {severity}") } else { "badge".to_owned() };
    let mut places: Vec<(&str, &str)> =
        finding.evidence.iter().filter_map(|evidence| figures.place(&evidence.from)).collect();
    let lost =
        record.diagnosis.loss_breakdowns.iter().any(|l| Some(&l.resource) == finding.resource.as_ref());
    places.extend(lost.then_some((LOSSES, "losses")));
    let mut seen = BTreeSet::new();
    places.retain(|(id, _)| seen.insert(*id));
    let (first, others) = finding.remedy.split_at(finding.remedy.len().min(1));
    html! {
        h3 { (prose(finding.what.to_string())) }
        p {
            span class=(class) { (severity) } " " (keep_units(&finding::loss(finding)))
            @if let Some(place) = finding::place(finding) { " · " (place.to_string()) }
            @for (id, title) in places.iter().take(PLACES) { " → " (link(id, title)) }
        }
        @for remedy in first { (advice("Do", remedy)) }
        @if let Some(knob) = finding.knob() {
            (advice("Fix", &Remedy::command(finding::fix_command(number + 1, knob, shown_by))))
        }
        p class="quiet" { "More: " code { (finding::explain_command(finding)) } " (" (rule_link(&finding.rule, "here")) ")" }
        @if !(others.is_empty() && finding.evidence.is_empty() && finding.undo.is_empty()) {
            details {
                summary { (if others.is_empty() { "Evidence" } else { "More remedies, and evidence" }) }
                @for remedy in others { (advice("Do", remedy)) }
                @for undo in &finding.undo { (advice("Undo", undo)) }
                ul {
                    @for evidence in &finding.evidence {
                        li {
                            (prose(evidence.says.to_string())) " "
                            @match figures.place(&evidence.from) {
                                Some((id, _)) => (link(id, &evidence.from)),
                                None => span class="quiet" { "(" (evidence.from) ")" },
                            }
                        }
                    }
                }
            }
        }
    }
}

fn advice(word: &str, remedy: &Remedy) -> Markup {
    html! {
        @if let Some(command) = &remedy.command {
            div class="advice" {
                span {
                    span class="quiet" { (word) ":" }
                    @if let Some(text) = &remedy.text { " " (prose(text.to_string())) ":" }
                }
                pre { code { (command) } }
            }
        } @else {
            p { span class="quiet" { (word) ": " } (prose(remedy.to_string())) }
        }
    }
}

/// The missing measurements.
pub(super) fn unseen(record: &Record) -> Section {
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
    };
    section("unseen", "Not seen", inside)
}
