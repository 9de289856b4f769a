//! A chart as SVG that takes its colours and letters from the page's style sheet. Each mark has a title, which a browser
//! shows beside the pointer.

use maud::{Markup, html};

use super::{Chart, Look, Mark, Series, rows, spread};
use crate::text::{cut, width};

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
    /// Whether lines are named at their ends; a phone has a legend below.
    pub named: bool,
    /// Its class.
    pub class: &'static str,
}

/// For screens of a desktop, and paper.
pub(crate) const WIDE: Size =
    Size { width: 760.0, height: 360.0, x_ticks: 9, named: true, class: "chart wide" };
/// For phones.
pub(crate) const NARROW: Size =
    Size { width: 340.0, height: 300.0, x_ticks: 5, named: false, class: "chart narrow" };

/// Width of a letter of the axes' 12-unit type, generously: the page names no font, so this must hold for any.
const LETTER: f64 = 7.0;
/// Space between neighbouring lines of letters.
const LINE: f64 = 15.0;
/// Points of a line that show their value; of a longer one some, evenly.
const POINTS: usize = 96;
/// Names of lines are cut no shorter than this share of the width.
const NAMES: f64 = 0.3;

/// One drawing of a chart. `id` must be unique on the page.
pub(crate) fn draw(chart: &Chart, size: Size, id: &str) -> Markup {
    let (x, y) = chart.spans();
    let y_ticks = y.ticks(8);
    let left = y_ticks.iter().map(|(_, text)| width(text)).max().unwrap_or(0) as f64 * LETTER + 12.0;
    let named = size.named && chart.series.len() > 1;
    // Lines that end near the right edge are named beyond it.
    let near = |series: &&Series| series.points.last().is_some_and(|last| x.position(last.0) > 0.6);
    let longest = chart.series.iter().filter(near).map(|series| width(&series.name)).max().unwrap_or(0);
    let margin = if named { (longest as f64 * LETTER + 6.0).min(size.width * NAMES) } else { 0.0 };
    let (right, bottom) = (size.width - 14.0 - margin, size.height - 42.0);
    let marks = place_marks(chart, left, right, |v| left + x.position(v) * (right - left));
    let top = 24.0 + marks.iter().map(|mark| mark.row + 1).max().unwrap_or(0) as f64 * LINE;
    let at_x = |v: f64| left + x.position(v) * (right - left);
    let at_y = |v: f64| bottom - y.position(v) * (bottom - top);
    let ends: Vec<f64> =
        chart.series.iter().map(|of| of.points.last().map_or(bottom, |last| at_y(last.1))).collect();
    let heights = spread(&ends, LINE, (top, bottom - 4.0));
    let (title_id, desc_id) = (format!("{id}-t"), format!("{id}-d"));
    html! {
        svg class=(size.class) viewBox=(format!("0 0 {} {}", size.width, size.height)) role="img"
            aria-labelledby=(format!("{title_id} {desc_id}")) {
            title id=(title_id) { (chart.title) }
            desc id=(desc_id) { (chart.description()) }
            text class="label" x=(r(left)) y="12" { (chart.y.label) }
            @for (value, text) in &y_ticks {
                line class="grid" x1=(r(left)) x2=(r(right)) y1=(r(at_y(*value))) y2=(r(at_y(*value))) {}
                text class="tick" text-anchor="end" x=(r(left - 6.0)) y=(r(at_y(*value) + 4.0)) { (text) }
            }
            @for (value, text, middle) in spaced(x.ticks(size.x_ticks), &at_x, right) {
                line class="axis" x1=(r(at_x(value))) x2=(r(at_x(value))) y1=(r(bottom)) y2=(r(bottom + 5.0)) {}
                text class="tick" text-anchor="middle" x=(r(middle)) y=(r(bottom + 18.0)) { (text) }
            }
            line class="axis" x1=(r(left)) x2=(r(right)) y1=(r(bottom)) y2=(r(bottom)) {}
            text class="label" text-anchor="end" x=(r(right)) y=(r(size.height - 6.0)) { (chart.x.label) }
            @for mark in &marks {
                @let name = 24.0 + mark.row as f64 * LINE;
                line class=(if mark.measured { "mark measured" } else { "mark" }) x1=(r(mark.line)) x2=(r(mark.line))
                    y1=(r(name - 3.0)) y2=(r(bottom)) { title { (mark.text) } }
                text class="tick" text-anchor=(if mark.before { "end" } else { "start" })
                    x=(r(mark.line + if mark.before { -4.0 } else { 4.0 })) y=(r(name + 6.0)) { (mark.text) }
            }
            @for (number, series) in chart.series.iter().enumerate() {
                g class=(class(series, number)) {
                    @if series.points.len() > 1 {
                        path class="line" d=(path(&series.points, series.steps, &at_x, &at_y)) { title { (series.name) } }
                    }
                    @let dots = series.points.len() == 1 || series.look == Look::Measured;
                    @if series.look != Look::Fit {
                        @for point in series.points.iter().step_by(series.points.len() / POINTS + 1) {
                            circle class=(if dots { "dot" } else { "point" }) cx=(r(at_x(point.0))) cy=(r(at_y(point.1)))
                                r=(if dots { "4" } else { "6" }) { title { (series.name) ": " (chart.point(*point)) } }
                        }
                    }
                }
            }
            @if named {
                @for ((number, series), y) in chart.series.iter().enumerate().zip(heights) {
                    @let name = cut(&series.name, (size.width * NAMES / LETTER) as usize);
                    @let end = series.points.last().map_or(right, |last| at_x(last.0)) + 7.0;
                    @let x = end.min(size.width - width(&name) as f64 * LETTER - 2.0);
                    text class=(format!("end {}", class(series, number))) x=(r(x)) y=(r(y + 4.0)) { (name) }
                }
            }
        }
    }
}

/// The names of the lines with a piece of each, below the drawing: as text of the page it wraps. A single line needs none.
pub(crate) fn legend(chart: &Chart) -> Markup {
    html! {
        @if chart.series.len() > 1 {
            ul class="legend narrow" {
                @for (number, series) in chart.series.iter().enumerate() {
                    li {
                        svg class=(format!("key {}", class(series, number))) viewBox="0 0 28 10" aria-hidden="true" {
                            path class="line" d="M0 5H28" {}
                        }
                        " " (series.name)
                    }
                }
            }
        }
    }
}

fn class(series: &Series, number: usize) -> String {
    match series.look {
        Look::Reference => "ref".to_owned(),
        Look::Fit => "fit".to_owned(),
        _ => {
            let (color, dashes) = series.ink.unwrap_or((number, number));
            format!("s{} d{}", color % 6, dashes % 6)
        }
    }
}

/// A coordinate with one decimal.
pub(crate) fn r(value: f64) -> String {
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

/// The marks whose letters do not meet, with the middle of these: at the end of the axis they move to within the chart.
fn spaced(ticks: Vec<(f64, String)>, x: &dyn Fn(f64) -> f64, right: f64) -> Vec<(f64, String, f64)> {
    let half = |text: &str| width(text) as f64 * LETTER / 2.0;
    let middles: Vec<f64> =
        ticks.iter().map(|(value, text)| x(*value).min(right + 12.0 - half(text))).collect();
    let place =
        |((_, text), middle): (&(f64, String), &f64)| (middle - half(text), middle + half(text) + 6.0);
    let rows = rows(&ticks.iter().zip(&middles).map(place).collect::<Vec<_>>());
    let first = ticks.into_iter().zip(middles).zip(rows).filter(|(_, row)| *row == 0);
    first.map(|(((value, text), middle), _)| (value, text, middle)).collect()
}

/// An upright line: where it is, in which row its name stands, and on which side.
struct Placed {
    line: f64,
    row: usize,
    before: bool,
    text: String,
    measured: bool,
}

/// Places names so that they neither meet nor leave the drawing: on the right of their line where there is room.
fn place_marks(chart: &Chart, left: f64, right: f64, x: impl Fn(f64) -> f64) -> Vec<Placed> {
    let place = |mark: &Mark| {
        let (line, long) = (x(mark.at), width(&mark.name) as f64 * LETTER + 8.0);
        let before = line + long > right + 10.0 && line - long >= left;
        (line, before, if before { (line - long, line) } else { (line, line + long) })
    };
    let places: Vec<(f64, bool, (f64, f64))> = chart.marks.iter().map(place).collect();
    let rows = rows(&places.iter().map(|(.., span)| *span).collect::<Vec<_>>());
    let marks = chart.marks.iter().zip(places).zip(rows);
    marks
        .map(|((mark, (line, before, _)), row)| Placed {
            line,
            row,
            before,
            text: mark.name.clone(),
            measured: mark.measured,
        })
        .collect()
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
        assert_eq!(svg.matches("<g class=\"s").count(), 2);
        assert!(
            svg.contains("<title>4 KiB pages: 4 ns at 64 KiB</title>"),
            "no value beside the pointer in {svg}"
        );
    }

    #[test]
    fn strings_in_a_drawing_are_escaped() {
        let mut chart = example();
        chart.series[0].name = "</svg><script>alert(1)</script>".to_owned();
        chart.marks[0].name = "\"><img src=x>".to_owned();
        let svg = draw(&chart, NARROW, "c").into_string() + &legend(&chart).into_string();
        assert!(!svg.contains("<script") && !svg.contains("<img"), "{svg}");
    }

    #[test]
    fn lines_are_named_at_their_ends_and_a_single_one_needs_no_name() {
        let mut chart = example();
        // Both end at one place.
        chart.series[1].points[2] = chart.series[0].points[2];
        let svg = draw(&chart, WIDE, "c").into_string();
        let heights: Vec<&str> =
            svg.split("class=\"end ").skip(1).filter_map(|end| end.split("y=\"").nth(1)).collect();
        assert!(heights.len() == 2 && heights[0] != heights[1], "{heights:?}");
        chart.series.truncate(1);
        assert!(
            !draw(&chart, WIDE, "c").into_string().contains("class=\"end ")
                && legend(&chart).into_string().is_empty()
        );
    }
}
