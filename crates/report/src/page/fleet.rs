//! A fleet as a page: the slow machines and why, a coloured table of each class, the distributions of its figures. A row's place
//! by each column is written beside it, so that buttons of the page sort without a script.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};
use record::fleet::{Class, Family, Fleet, MachineRow};
use record::phrase::count_noun;
use record::units::{figure, percent, significant};

use super::{Section, own_section, prose, section, slug};
use crate::contents::fleet;
use crate::text::keep_units;

/// Machines of a class that have a row: the slow ones, then those farthest off.
const MOST_ROWS: usize = 250;
/// Figures of a family that have a column: those in which the machines differ least, which show most.
const A_FAMILY: usize = 4;
/// Classes with tables, and classes that have a row in theirs.
const MOST_CLASSES: usize = 12;
const MOST_LISTED: usize = 50;
/// Bars of a distribution, and its size.
const BARS: usize = 32;
const WIDE: f64 = 224.0;
const HIGH: f64 = 56.0;

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
        h3 { "Distributions" }
        p class="quiet" { "Each figure over the class, slower to the left; slow machines are marked." }
        div class="small-multiples" { @for at in &columns { (distribution(class, *at)) } }
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

/// The rank of each row by a column, slowest first; what has no figure comes last.
fn ranks(rows: &[&MachineRow], at: usize) -> Vec<usize> {
    let speed = |row: &MachineRow| row.cells.get(at).copied().flatten().map_or(f64::MAX, |cell| cell.speed);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|a, b| speed(rows[*a]).total_cmp(&speed(rows[*b])));
    let mut ranks = vec![0; rows.len()];
    for (rank, row) in order.into_iter().enumerate() {
        ranks[row] = rank;
    }
    ranks
}

fn table(number: usize, class: &Class, columns: &[usize], rows: &[&MachineRow]) -> Markup {
    let id = |column: usize| format!("c{number}-{column}");
    let by: Vec<Vec<usize>> = columns.iter().map(|at| ranks(rows, *at)).collect();
    let mut by_name: Vec<usize> = (0..rows.len()).collect();
    by_name.sort_by(|a, b| rows[*a].machine.cmp(&rows[*b].machine));
    let mut names = vec![0; rows.len()];
    by_name.into_iter().enumerate().for_each(|(rank, row)| names[row] = rank);
    // Column 0 is how far off it is at worst, 1 the name.
    let mut style = String::new();
    for column in 0..columns.len() + 2 {
        let _ = write!(style, "#{}:checked ~ .scroll tbody tr {{ order: var(--o{column}); }} ", id(column));
        let _ = write!(
            style,
            "#{0}:checked ~ .sorts label[for={0}] {{ font-weight: 700; color: var(--ink); }} ",
            id(column)
        );
    }
    let order = |row: usize| {
        let mut order = format!("--o0:{row};--o1:{}", names[row]);
        for (column, ranks) in by.iter().enumerate() {
            let _ = write!(order, ";--o{}:{}", column + 2, ranks[row]);
        }
        order
    };
    let name = |at: usize| class.figures.get(at).map_or(String::new(), |figure| figure.what.to_string());
    html! {
        div class="fleet" {
            style { (PreEscaped(style)) }
            @for column in 0..columns.len() + 2 {
                input type="radio" name=(format!("sort-{number}")) id=(id(column)) checked[column == 0];
            }
            div class="sorts" {
                "Sort by: "
                label for=(id(0)) { "farthest off" } " "
                label for=(id(1)) { "name" } " "
                @for (column, at) in columns.iter().enumerate() { label for=(id(column + 2)) { (name(*at)) } " " }
            }
            (super::table::hint())
            div class="scroll" role="region" tabindex="0" aria-label=(format!("Machines of class {}", number + 1)) {
                table role="table" style=(format!("--columns:{}", columns.len())) {
                    thead role="rowgroup" {
                        tr role="row" {
                            th role="columnheader" scope="col" { "machine" }
                            @for at in columns { th role="columnheader" scope="col" { span { (name(*at)) } } }
                        }
                    }
                    tbody role="rowgroup" {
                        @for (at, row) in rows.iter().enumerate() {
                            tr role="row" class=[row.slow.then_some("marked")] style=(order(at)) {
                                th role="rowheader" scope="row" { (row.machine) }
                                @for column in columns { (cell(class, row, *column)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cell(class: &Class, row: &MachineRow, at: usize) -> Markup {
    let Some(cell) = row.cells.get(at).copied().flatten() else {
        return html! { td role="cell" class="none" { "·" } };
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
    html! { td role="cell" class=(shade) title=(figure(cell.value, unit)) { (format!("{off:+.1}")) } }
}

/// A figure over the machines of a class.
fn distribution(class: &Class, at: usize) -> Markup {
    let of = |row: &MachineRow| row.cells.get(at).copied().flatten().map(|cell| cell.speed);
    let speeds: Vec<f64> = class.rows.iter().filter_map(of).collect();
    let (least, most) = speeds
        .iter()
        .fold((f64::MAX, f64::MIN), |(least, most), speed| (least.min(*speed), most.max(*speed)));
    let Some(known) = class.figures.get(at).filter(|_| most > least) else { return html! {} };
    let x = |speed: f64| (speed - least) / (most - least) * (WIDE - 8.0) + 4.0;
    let mut bars = [0usize; BARS];
    for speed in &speeds {
        bars[(((speed - least) / (most - least) * BARS as f64) as usize).min(BARS - 1)] += 1;
    }
    let highest = bars.iter().copied().max().unwrap_or(1) as f64;
    let width = (WIDE - 8.0) / BARS as f64;
    let slow: Vec<(&str, f64)> = class
        .rows
        .iter()
        .filter(|row| row.slow)
        .filter_map(|row| Some((row.machine.as_str(), of(row)?)))
        .collect();
    let scale = known.scale.map_or(String::new(), |scale| format!(" ± {}", percent(scale)));
    let label = format!("{}: {} to {} of the median", known.what, significant(least), significant(most));
    html! {
        figure id=(format!("d-{}-{at}", slug(&class.medoid))) {
            figcaption { (known.what) br; span class="quiet" { (keep_units(&figure(known.median, &known.unit))) (scale) } }
            svg viewBox=(format!("0 0 {WIDE} {HIGH}")) role="img" aria-label=(label) {
                @for (number, count) in bars.iter().enumerate().filter(|(_, count)| **count > 0) {
                    @let high = (*count as f64 / highest * (HIGH - 14.0)).max(1.0);
                    rect class="bar" x=(format!("{:.1}", 4.0 + number as f64 * width)) y=(format!("{:.1}", HIGH - 10.0 - high))
                        width=(format!("{:.1}", width - 0.6)) height=(format!("{high:.1}")) {}
                }
                line class="axis" x1="2" x2=(WIDE - 2.0) y1=(HIGH - 9.5) y2=(HIGH - 9.5) {}
                line class="mark" x1=(format!("{:.1}", x(1.0))) x2=(format!("{:.1}", x(1.0))) y1="2" y2=(HIGH - 9.5) {}
                @for (name, speed) in &slow {
                    path class="outlier" d=(format!("M{:.1} {:.1}l-4 7h8z", x(*speed), HIGH - 8.0)) {
                        title { (name) ": " (significant(*speed)) " of the median" }
                    }
                }
            }
        }
    }
}
