//! The machine's shape as nested boxes.

use maud::{Markup, html};
use record::{CpuList, Machine};

use super::Section;
use crate::contents::placement;
use crate::contents::shape::{Kind, Part, tree, without_cpus};
use record::phrase::count_noun;

/// Above this many CPUs, similar parts inside the caches share one box, because there would otherwise be too many boxes.
const WIDE: usize = 256;
/// Maximum number of listed members of such a box.
const MEMBERS: usize = 16;
/// Lists of CPUs with fewer characters than this stay on one line.
const UNBROKEN: usize = 30;

/// The drawing, and the mapping of CPU numbers to packages.
pub(super) fn section(machine: &Machine) -> Section {
    let root = tree(machine);
    let wide = root.cpus.len() > WIDE;
    let packages = placement::packages(machine);
    let offline: CpuList = machine.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.id).collect();
    let all = html! {
        @if !root.cpus.is_empty() {
            div class="shape" {
                (inside(&root, wide))
                @for words in without_cpus(machine) { div class="part node" { p class="name" { (words) } } }
            }
        }
        @if !offline.is_empty() { p { "Offline: CPUs " (offline) } }
        @if !packages.is_empty() {
            ul class="plain" { @for fact in &packages { li { b { (fact.key) } ": " (fact.value) } } }
        }
    };
    super::section("shape", "Machine topology", all)
}

fn inside(part: &Part, wide: bool) -> Markup {
    html! {
        div class="parts" {
            @for run in part.runs() {
                @if wide && run.joined(wide) && run.parts.len() > 1 {
                    div class="part many" {
                        p class="name" {
                            (run.parts.len()) " × " (run.what())
                            @if let Some(inside) = run.inside() { ", each " (inside) }
                        }
                        p class="quiet" {
                            "CPUs "
                            @for (number, cpus) in run.members(MEMBERS).iter().enumerate() {
                                @if number > 0 { " | " }
                                @if cpus.len() < UNBROKEN { span class="list" { (cpus) } } @else { (cpus) }
                            }
                        }
                    }
                } @else {
                    @for part in run.parts { (render_part(part, wide)) }
                }
            }
        }
    }
}

fn render_part(part: &Part, wide: bool) -> Markup {
    let class = match part.labels.first().map(|label| label.kind) {
        Some(Kind::Package) => "part package",
        Some(Kind::Node) => "part node",
        _ if part.parts.is_empty() => "part core",
        _ => "part",
    };
    html! {
        @if part.parts.is_empty() {
            // A core shows only its CPU numbers, because users type these; the title and the row's name show the kind of part.
            div class=(class) title=(format!("{}: {}", part.name(), count_noun(part.cpus.len(), "CPU"))) {
                @for cpu in &part.cpus { span class="cpu" { (cpu) } }
            }
        } @else {
            div class=(class) {
                p class="name" { (part.name()) }
                @let runs = part.runs();
                @if runs.len() == 1 && runs[0].parts.iter().all(|part| part.parts.is_empty()) {
                    p class="quiet" { (runs[0].parts.len()) " × " (runs[0].what()) }
                }
                (inside(part, wide))
            }
        }
    }
}
