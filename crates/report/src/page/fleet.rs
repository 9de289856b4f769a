//! A fleet as a page: the slow machines and their causes, and for each class a colored table and the distributions of its results. Slow
//! machines come first, then the machines farthest from the median.

use maud::{Markup, html};
use record::fleet::{Class, Family, Fleet, MachineRow};
use record::phrase::count_noun;
use record::units::{figure, percent};

use super::{Section, own_section, prose, section};
use crate::chart::{Axis, Chart, Look, Mark, Scale, Series, bounds, svg, unit_of};
use crate::contents::fleet;

/// Maximum number of machines of a class with a row: the slow machines, then the machines farthest from the median.
const MOST_ROWS: usize = 250;
/// Maximum number of columns for one family of results. The results with the smallest spread are shown, because they are the most
/// significant.
const A_FAMILY: usize = 4;
/// Number of bars in a histogram, and maximum number of slow machines marked in it.
const BARS: usize = 20;
const MARKED: usize = 3;
/// Maximum number of classes with tables, and with a row in the list.
const MOST_CLASSES: usize = 12;
const MOST_LISTED: usize = 50;

/// The details below the answer, with a section for each of the largest classes.
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

/// The results with a column, by index in the class.
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

/// A machine's deviation from the median in its worst result.
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
        @if let Some(camp) = fleet::describe_camp(class) { p { "Group of " (camp) "." } }
        @if let Some(note) = &class.note { p { (prose(note)) } }
        p class="quiet" {
            "Speed difference from the median of " (count_noun(class.machines, "machine")) " in percent; marked machines are slow. Click a column heading to sort. "
            @if rows.len() > shown.len() { "Only " (shown.len()) " machines are shown (first the slow ones, then those farthest from the median); --csv lists all. " }
        }
        (table(number, class, &columns, shown))
        div class="flow" {
            @for (at, chart) in columns.iter().filter_map(|at| Some((at, histogram(class, *at)?))) {
                figure class="small" {
                    figcaption { (chart.title) }
                    (svg::draw(&chart, svg::SMALL, &format!("class-{number}-{at}")))
                }
            }
        }
        @if !class.varying.is_empty() {
            details {
                summary { "Settings that differ between these machines" }
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
    // Avoids a negative zero.
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

/// The distribution of a result over the machines of a class; slow machines are marked.
fn histogram(class: &Class, at: usize) -> Option<Chart> {
    let known = class.figures.get(at)?;
    let of = |row: &MachineRow| row.cells.get(at).copied().flatten().map(|cell| cell.value);
    let values: Vec<f64> = class.rows.iter().filter_map(of).collect();
    let (least, most) = bounds(values.iter().copied())?;
    let step = (most - least) / BARS as f64;
    let bar = |value: f64| (((value - least) / step) as usize).min(BARS - 1);
    let count = |number: usize| values.iter().filter(|value| bar(**value) == number).count() as f64;
    let counts = (0..BARS).map(|number| (least + step * number as f64, count(number)));
    let points = counts.chain([(most, count(BARS - 1))]).collect();
    let slow = class.rows.iter().filter(|row| row.slow).take(MARKED);
    let marks = slow.filter_map(|row| Some(Mark { at: of(row)?, name: row.machine.clone(), measured: true }));
    let (median, scale) = (figure(known.median, &known.unit), percent(known.scale.unwrap_or(0.0)));
    let x = Axis::new("", Scale::Linear, unit_of(&known.unit));
    let y = Axis::new("machines", Scale::FromZero, "count");
    let series = vec![Series::steps("machines".to_owned(), points).with_look(Look::Counts)];
    let chart = Chart::of_lines(&format!("{}: {median} ± {scale}", known.what), x, y, series)?;
    Chart { marks: marks.collect(), ..chart }.checked().filter(|_| most > least)
}
