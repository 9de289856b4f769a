//! A chart as SVG that takes its colours and letters from the page's style sheet.

use maud::{Markup, html};

use super::{Chart, Look, Series};
use crate::text::width;

/// How large a chart is drawn, in user units; the page draws one for a desktop and one for a phone, so that the
/// letters of neither are scaled away.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// To the right.
    pub width: f64,
    /// Downwards.
    pub height: f64,
    /// Marks on the axis to the right, at most.
    pub x_ticks: usize,
    /// Its class.
    pub class: &'static str,
}

/// For screens of a desktop, and paper.
pub(crate) const WIDE: Size = Size { width: 760.0, height: 360.0, x_ticks: 9, class: "chart wide" };
/// For phones.
pub(crate) const NARROW: Size = Size { width: 340.0, height: 300.0, x_ticks: 5, class: "chart narrow" };

/// Width of a letter of the axes' 12-unit type, generously: the page names no font, so this must hold for any.
const LETTER: f64 = 7.0;
/// Space between neighbouring lines of letters.
const LINE: f64 = 15.0;

/// One drawing of a chart. `id` must be unique on the page.
pub(crate) fn draw(chart: &Chart, size: Size, id: &str) -> Markup {
    let (x, y) = chart.spans();
    let y_ticks = y.ticks(8);
    let left = y_ticks.iter().map(|(_, text)| width(text)).max().unwrap_or(0) as f64 * LETTER + 12.0;
    let (right, bottom) = (size.width - 14.0, size.height - 42.0);
    let names = names(chart, left, right, |v| left + x.position(v) * (right - left));
    let top = 24.0 + names.iter().map(|name| name.row + 1).max().unwrap_or(0) as f64 * LINE;
    let at_x = |v: f64| left + x.position(v) * (right - left);
    let at_y = |v: f64| bottom - y.position(v) * (bottom - top);
    let ids = format!("{id}-t {id}-d");
    let (title_id, desc_id) = (format!("{id}-t"), format!("{id}-d"));
    html! {
        svg class=(size.class) viewBox=(format!("0 0 {} {}", size.width, size.height)) role="img"
            aria-labelledby=(ids) {
            title id=(title_id) { (chart.title) }
            desc id=(desc_id) { (chart.description()) }
            text class="label" x=(r(left)) y="12" { (chart.y.label) }
            @for (value, text) in &y_ticks {
                line class="grid" x1=(r(left)) x2=(r(right)) y1=(r(at_y(*value))) y2=(r(at_y(*value))) {}
                text class="tick" text-anchor="end" x=(r(left - 6.0)) y=(r(at_y(*value) + 4.0)) { (text) }
            }
            @for (value, text) in spaced(x.ticks(size.x_ticks), &at_x, right) {
                line class="axis" x1=(r(at_x(value))) x2=(r(at_x(value))) y1=(r(bottom)) y2=(r(bottom + 5.0)) {}
                text class="tick" text-anchor="middle" x=(r(at_x(value))) y=(r(bottom + 18.0)) { (text) }
            }
            line class="axis" x1=(r(left)) x2=(r(right)) y1=(r(bottom)) y2=(r(bottom)) {}
            text class="label" text-anchor="end" x=(r(right)) y=(r(size.height - 6.0)) { (chart.x.label) }
            @for name in &names {
                line class="mark" x1=(r(name.line)) x2=(r(name.line)) y1=(r(24.0 + name.row as f64 * LINE - 3.0))
                    y2=(r(bottom)) {}
                text class="tick" text-anchor=(if name.before { "end" } else { "start" })
                    x=(r(name.line + if name.before { -4.0 } else { 4.0 })) y=(r(24.0 + name.row as f64 * LINE + 6.0)) {
                    (name.text)
                }
            }
            @for (number, series) in chart.series.iter().enumerate() {
                path class=(class(series, number)) d=(path(&series.points, series.steps, &at_x, &at_y)) {}
                @if series.points.len() == 1 || series.look == Look::Measured {
                    @for point in &series.points {
                        circle class=(format!("dot s{}", number % 6)) cx=(r(at_x(point.0))) cy=(r(at_y(point.1)))
                            r="3" {}
                    }
                }
            }
        }
    }
}

/// The names of the lines with a piece of each, below the drawing: as text of the page it wraps.
pub(crate) fn legend(chart: &Chart) -> Markup {
    html! {
        ul class="legend" {
            @for (number, series) in chart.series.iter().enumerate() {
                li {
                    svg class="key" viewBox="0 0 28 10" aria-hidden="true" {
                        path class=(class(series, number)) d="M0 5H28" {}
                    }
                    " " (series.name)
                }
            }
        }
    }
}

fn class(series: &Series, number: usize) -> String {
    match series.look {
        Look::Reference => "line ref".to_owned(),
        Look::Fit => "line fit".to_owned(),
        _ => format!("line s{}", number % 6),
    }
}

/// A coordinate with one decimal.
fn r(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn path(points: &[(f64, f64)], steps: bool, x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) -> String {
    let mut path = String::new();
    for (number, point) in points.iter().enumerate() {
        let (x, y) = (r(x(point.0)), r(y(point.1)));
        match (number, steps) {
            (0, _) => path.push_str(&format!("M{x} {y}")),
            (_, true) => path.push_str(&format!("H{x}V{y}")),
            (_, false) => path.push_str(&format!("L{x} {y}")),
        }
    }
    path
}

/// The marks whose letters do not meet.
fn spaced(ticks: Vec<(f64, String)>, x: &dyn Fn(f64) -> f64, right: f64) -> Vec<(f64, String)> {
    let mut free = 0.0;
    ticks
        .into_iter()
        .filter(|(value, text)| {
            let half = width(text) as f64 * LETTER / 2.0;
            let (from, to) = (x(*value) - half, x(*value) + half);
            let fits = from >= free && to <= right + 12.0;
            if fits {
                free = to + 6.0;
            }
            fits
        })
        .collect()
}

/// The name of an upright line: where the line is, in which row the name stands, and on which side.
struct Name {
    line: f64,
    row: usize,
    before: bool,
    text: String,
}

/// Places names so that they neither meet nor leave the drawing: on the right of their line where there is room.
fn names(chart: &Chart, left: f64, right: f64, x: impl Fn(f64) -> f64) -> Vec<Name> {
    let mut taken: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut names = Vec::new();
    for (value, text) in &chart.verticals {
        let line = x(*value);
        let long = width(text) as f64 * LETTER + 8.0;
        let before = line + long > right + 10.0 && line - long >= left;
        let (from, to) = if before { (line - long, line) } else { (line, line + long) };
        let meets = |row: &Vec<(f64, f64)>| row.iter().any(|(a, b)| from < *b && *a < to);
        let row = taken.iter().position(|row| !meets(row)).unwrap_or(taken.len());
        if row == taken.len() {
            taken.push(Vec::new());
        }
        taken[row].push((from, to));
        names.push(Name { line, row, before, text: text.clone() });
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::tests::example;

    #[test]
    fn a_drawing_names_itself_and_carries_no_colour() {
        let svg = draw(&example(), WIDE, "c1").into_string();
        for part in
            ["role=\"img\"", "<title id=\"c1-t\">Load latency</title>", "<desc id=\"c1-d\">", "L1, 32 KiB"]
        {
            assert!(svg.contains(part), "{part} is missing from {svg}");
        }
        assert!(!svg.contains("fill=") && !svg.contains("stroke=") && !svg.contains('#'), "{svg}");
        assert_eq!(svg.matches("class=\"line s").count(), 2);
    }

    #[test]
    fn strings_in_a_drawing_are_escaped() {
        let mut chart = example();
        chart.series[0].name = "</svg><script>alert(1)</script>".to_owned();
        chart.verticals[0].1 = "\"><img src=x>".to_owned();
        let svg = draw(&chart, NARROW, "c").into_string() + &legend(&chart).into_string();
        assert!(!svg.contains("<script") && !svg.contains("<img"), "{svg}");
    }
}
