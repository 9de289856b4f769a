//! A chart as SVG with colors and fonts from the page's style sheet. Each mark has a title, which a browser shows as a tooltip.

use maud::{Markup, html};

use super::{Chart, Look, Series};
use crate::text::width;

/// The size of a chart, in user units; the page contains one drawing for desktops and one for phones, so that the text
/// is readable on both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Horizontal size.
    pub width: f64,
    /// Vertical size.
    pub height: f64,
    /// Maximum number of marks on the horizontal axis.
    pub x_ticks: usize,
    /// The class in the style sheet.
    pub class: &'static str,
}

/// For desktop screens and paper.
pub(crate) const WIDE: Size = Size { width: 1040.0, height: 380.0, x_ticks: 11, class: "chart wide" };
/// For phones.
pub(crate) const NARROW: Size = Size { width: 340.0, height: 300.0, x_ticks: 5, class: "chart narrow" };
/// For several charts side by side.
pub(crate) const SMALL: Size = Size { width: 340.0, height: 190.0, x_ticks: 4, class: "small" };

/// Maximum width of a letter on the axes, whose font size is 12 units. It must be valid for any font, because the page
/// does not specify one.
const LETTER: f64 = 7.0;
/// Distance between neighboring lines of text.
const LINE: f64 = 15.0;
/// Vertical position of the names of marks and bands, below the name of the axis.
const NAMES: f64 = 24.0;
/// Maximum number of points on a line that show their value in a tooltip; if a line has more points, those with a
/// tooltip are evenly spaced.
const POINTS: usize = 96;

/// One drawing of a chart. `id` must be unique on the page.
pub(crate) fn draw(chart: &Chart, size: Size, id: &str) -> Markup {
    let (x, y) = chart.spans();
    let ticks = if size.height < 200.0 { 4 } else { 8 };
    let y_ticks = y.ticks(ticks);
    let left = y_ticks.iter().map(|(_, text)| width(text)).max().unwrap_or(0) as f64 * LETTER + 12.0;
    let (right, bottom) = (size.width - 14.0, size.height - 42.0);
    let at_x = |v: f64| left + x.position(v) * (right - left);
    // Each mark's name has a separate row, because there are few marks.
    let rows = chart.marks.len().max(usize::from(!chart.bands.is_empty()));
    let top = NAMES + rows as f64 * LINE;
    let at_y = |v: f64| bottom - y.position(v) * (bottom - top);
    let (title_id, desc_id) = (format!("{id}-t"), format!("{id}-d"));
    html! {
        svg class=(size.class) viewBox=(format!("0 0 {} {}", size.width, size.height)) role="img"
            aria-labelledby=(format!("{title_id} {desc_id}")) {
            title id=(title_id) { (chart.title) }
            desc id=(desc_id) { (chart.description()) }
            @for (number, band) in chart.bands.iter().enumerate() {
                @let (from, to) = (at_x(band.ends.0), at_x(band.ends.1));
                path class=(if number % 2 == 0 { "band" } else { "band odd" })
                    d=(format!("M{} {}H{}V{}H{}Z", r(from), r(NAMES - 4.0), r(to.max(from + 1.0)), r(bottom), r(from))) {
                    title { (band.says) }
                }
                // The name of the range, if there is room.
                @if width(&band.name) as f64 * LETTER <= to - from {
                    text class="tick" text-anchor="middle" x=(r(f64::midpoint(from, to))) y=(r(NAMES + 8.0)) { (band.name) }
                }
            }
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
            @for (row, mark) in chart.marks.iter().enumerate() {
                @let (at, name) = (at_x(mark.at), NAMES + row as f64 * LINE);
                // The name is to the right of its line if there is room.
                @let before = at + width(&mark.name) as f64 * LETTER > right;
                line class=(if mark.measured { "mark measured" } else { "mark" }) x1=(r(at)) x2=(r(at))
                    y1=(r(name - 3.0)) y2=(r(bottom)) { title { (mark.name) } }
                text class="tick" text-anchor=(if before { "end" } else { "start" })
                    x=(r(at + if before { -4.0 } else { 4.0 })) y=(r(name + 6.0)) { (mark.name) }
            }
            @for (number, series) in chart.series.iter().enumerate() {
                g class=(class(series, number)) {
                    @if series.interval.len() > 1 {
                        path class="area" d=(area(series, &at_x, &at_y)) { title { (series.name) ", 95 % CI" } }
                    }
                    @if series.look == Look::Counts {
                        path class="area" d=(format!("{}V{}H{}Z", path(&series.points, true, &at_x, &at_y), r(bottom),
                            r(series.points.first().map_or(left, |first| at_x(first.0))))) {}
                    }
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
        }
    }
}

/// The outline of an interval: along the lower ends, and back along the upper ends.
fn area(series: &Series, x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) -> String {
    let lower = series.interval.iter().map(|(at, low, _)| (*at, *low));
    let upper = series.interval.iter().rev().map(|(at, _, high)| (*at, *high));
    path(&lower.chain(upper).collect::<Vec<_>>(), false, x, y) + "Z"
}

/// The legend above the drawing, as page text that wraps; empty for a single line.
pub(crate) fn legend(chart: &Chart) -> Markup {
    html! {
        @if chart.series.len() > 1 {
            ul class="legend" {
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

/// The marks whose labels do not overlap, with the center of each label. At the end of the axis, labels are moved into
/// the chart.
fn spaced(ticks: Vec<(f64, String)>, x: &dyn Fn(f64) -> f64, right: f64) -> Vec<(f64, String, f64)> {
    let mut free = f64::MIN;
    let place = |(value, text): (f64, String)| {
        let half = width(&text) as f64 * LETTER / 2.0;
        let middle = x(value).min(right + 12.0 - half);
        let fits = middle - half > free;
        free = if fits { middle + half + 6.0 } else { free };
        fits.then_some((value, text, middle))
    };
    ticks.into_iter().filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Band;
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
            "no tooltip with the value in {svg}"
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
    fn lines_are_named_in_a_legend_and_a_single_one_needs_no_name() {
        let mut chart = example();
        assert_eq!(legend(&chart).into_string().matches("<li>").count(), 2);
        chart.series.truncate(1);
        assert!(legend(&chart).into_string().is_empty());
    }

    #[test]
    fn a_band_is_shaded_and_named_where_it_has_room() {
        let mut chart = example();
        let band = |ends, name: &str| Band { ends, name: name.to_owned(), says: name.to_owned() };
        chart.bands = vec![band((4096.0, 32768.0), "L1"), band((32768.0, 33000.0), "too long for it")];
        let svg = draw(&chart, WIDE, "c").into_string();
        assert_eq!((svg.matches("<path class=\"band").count(), svg.matches(">too long").count()), (2, 1));
        assert!(svg.contains(">L1</text>"), "{svg}");
    }
}
