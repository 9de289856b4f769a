//! A fleet as a page: the slow machines and why, a coloured table of each class, the distributions of its figures. The
//! slow machines stand first, then those farthest off.

use maud::{Markup, html};
use record::fleet::{Class, Family, Fleet, MachineRow};
use record::phrase::count_noun;
use record::units::{figure, percent, significant};

use super::{Section, bars, own_section, prose, section};
use crate::chart::bars::{Bar, Bars, Fill, Form, Piece};
use crate::contents::fleet;

/// Machines of a class that have a row: the slow ones, then those farthest off.
const MOST_ROWS: usize = 250;
/// Figures of a family that have a column: those in which the machines differ least, which show most.
const A_FAMILY: usize = 4;
/// Classes with tables, and classes that have a row in theirs.
const MOST_CLASSES: usize = 12;
const MOST_LISTED: usize = 50;

/// What stands below the answer, with a section for each of the largest classes.
pub(super) fn sections(of: &Fleet) -> Vec<Section> {
    let mut sections: Vec<Section> = fleet::blocks(of, MOST_LISTED).iter().map(own_section).collect();
    let classes = of.classes.iter().enumerate().take(MOST_CLASSES).filter(|(_, class)| class.machines > 1);
    let class = |(number, class)| {
        section(&format!("class-{number}"), &fleet::name_class(class), class_section(number, class))
    };
    let notes = sections.pop();
    sections.extend(classes.map(class).chain(notes));
    sections
}

/// Which figures have a column: by their index in the class, in its order.
fn columns(class: &Class) -> Vec<usize> {
    let scale = |at: &usize| class.figures.get(*at).and_then(|figure| figure.scale).unwrap_or(0.0);
    let of_family = Family::ALL.iter().flat_map(|family| {
        let mut of: Vec<usize> =
            (0..class.figures.len()).filter(|at| class.families.get(*at) == Some(family)).collect();
        of.sort_by(|a, b| scale(a).total_cmp(&scale(b)));
        of.truncate(A_FAMILY);
        of.sort_unstable();
        of
    });
    of_family.collect()
}

/// How far a machine is off in its worst figure.
fn worst(row: &MachineRow) -> f64 {
    row.cells.iter().flatten().map(|cell| if cell.speed < 0.99 { cell.z } else { 0.0 }).fold(0.0, f64::max)
}

fn class_section(number: usize, class: &Class) -> Markup {
    let columns = columns(class);
    let mut rows: Vec<&MachineRow> = class.rows.iter().collect();
    rows.sort_by(|a, b| {
        b.slow.cmp(&a.slow).then(worst(b).total_cmp(&worst(a))).then(a.machine.cmp(&b.machine))
    });
    let shown = &rows[..rows.len().min(MOST_ROWS)];
    html! {
        @if let Some(camp) = fleet::describe_camp(class) { p { "Camp of " (camp) "." } }
        @if let Some(note) = &class.note { p { (prose(note)) } }
        p class="quiet" {
            "Speed against the median of " (count_noun(class.machines, "machine")) ", per cent; marked ones are slow. "
            @if rows.len() > shown.len() { "The " (shown.len()) " farthest off are shown; --csv has all. " }
        }
        (table(number, class, &columns, shown))
        (bars::draw(&distributions(class, &columns)))
        @if !class.varying.is_empty() {
            details {
                summary { "Facts in which these machines differ" }
                ul {
                    @for fact in &class.varying {
                        li {
                            (fact.what) ": "
                            @for (at, (value, machines)) in fact.values.iter().enumerate() {
                                @if at > 0 { "; " } (value) " (" (machines) ")"
                            }
                        }
                    }
                }
            }
        }
    }
}

fn table(number: usize, class: &Class, columns: &[usize], rows: &[&MachineRow]) -> Markup {
    html! {
        div class="fleet" {
            (super::table::hint())
            div class="scroll" role="region" tabindex="0" aria-label=(format!("Machines of class {}", number + 1)) {
                table {
                    thead {
                        tr {
                            th scope="col" { "machine" }
                            @for at in columns { th scope="col" { span { (name(class, *at)) } } }
                        }
                    }
                    tbody {
                        @for row in rows {
                            tr class=[row.slow.then_some("marked")] {
                                th scope="row" { (row.machine) }
                                @for column in columns { (cell(class, row, *column)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn name(class: &Class, at: usize) -> String {
    class.figures.get(at).map_or(String::new(), |figure| figure.what.to_string())
}

fn cell(class: &Class, row: &MachineRow, at: usize) -> Markup {
    let Some(cell) = row.cells.get(at).copied().flatten() else {
        return html! { td class="none" { "·" } };
    };
    let unit = class.figures.get(at).map_or("", |figure| figure.unit.as_str());
    // No zero below zero.
    let off = ((cell.speed - 1.0) * 1000.0).round() / 10.0 + 0.0;
    let shade = match cell.speed {
        _ if cell.speed < 0.99 && cell.z > 6.0 => "d3",
        _ if cell.speed < 0.99 && cell.z > 4.0 => "d2",
        _ if cell.speed < 0.99 && cell.z > 2.5 => "d1",
        _ if cell.speed > 1.01 && cell.z < -4.0 => "u2",
        _ if cell.speed > 1.01 && cell.z < -2.5 => "u1",
        _ => "d0",
    };
    html! { td class=(shade) title=(figure(cell.value, unit)) { (format!("{off:+.1}")) } }
}

/// Each figure over the machines of a class, from the slowest to the fastest.
fn distributions(class: &Class, columns: &[usize]) -> Bars {
    let legend =
        vec![(Fill::Same, "most of the class".to_owned()), (Fill::Serious, "a slow machine".to_owned())];
    let mut bars = Bars { title: "Distributions, slower to the left".to_owned(), legend, ..Bars::default() };
    for at in columns {
        let of = |row: &MachineRow| row.cells.get(*at).copied().flatten().map(|cell| cell.speed);
        let Some((least, most)) = crate::chart::bounds(class.rows.iter().filter_map(of)) else { continue };
        let Some(known) = class.figures.get(*at).filter(|_| most > least) else { continue };
        let place = |speed: f64| (speed - least) / (most - least);
        let range = format!("{} to {} of the median", significant(least), significant(most));
        let scale = known.scale.unwrap_or(0.0);
        let mut pieces = vec![
            Piece { form: Form::Line, ..Piece::new(0.0, 1.0, Fill::Same, range) },
            Piece::new(
                place(1.0 - scale).max(0.0),
                place(1.0 + scale).min(1.0),
                Fill::Same,
                format!("± {}", percent(scale)),
            ),
        ];
        for row in class.rows.iter().filter(|row| row.slow) {
            let Some(speed) = of(row) else { continue };
            let says = format!("{}: {} of the median", row.machine, significant(speed));
            let dot = Piece::new(place(speed), place(speed), Fill::Serious, says);
            pieces.push(Piece { form: Form::Dot, ..dot });
        }
        let figure = format!("{} ± {}", figure(known.median, &known.unit), percent(scale));
        bars.rows.push(Bar { name: name(class, *at), pieces, figure, ..Bar::default() });
    }
    bars
}
