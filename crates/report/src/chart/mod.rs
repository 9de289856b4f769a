//! A chart of a report, drawn on the page (`svg`); a terminal shows a sparkline for each line (`spark`). Bars (`bars`) are
//! boxes on the page, so that their text wraps on phones.
//!
//! This crate draws its own charts because they must support light and dark mode through the page's style sheet (elements have classes,
//! never colors), screen readers, and widths from 360 pixels to a desktop. The kuva crate was evaluated and rejected: it writes colors into
//! each element, supports neither custom classes nor titles, and includes about 70 kinds of plot, although only four are needed here.

pub(crate) mod bars;
pub(crate) mod heat;
pub(crate) mod scale;
pub(crate) mod spark;
pub(crate) mod svg;

pub(crate) use scale::Scale;
use scale::Span;

/// Colors of the subjects of a comparison, by number; none of these colors suggests a gain.
pub(crate) const SUBJECTS: [usize; 4] = [0, 1, 3, 4];

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    /// What the axis shows.
    pub label: String,
    /// The axis's scale.
    pub scale: Scale,
    /// Unit of the values: `B`, `ns`, `B/s`, `share`; `date` for seconds since 1970.
    pub unit: &'static str,
    /// The axis's range; by default the range of the points.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// An axis.
    pub(crate) fn new(label: &str, scale: Scale, unit: &'static str) -> Self {
        Self { label: label.to_owned(), scale, unit, range: None }
    }

    /// A time axis in seconds since 1970; charts of the same period use the same axis.
    pub(crate) fn time((from, to): (f64, f64)) -> Self {
        let day = scale::label(from, scale::DATE).chars().take(10).collect::<String>();
        Self { range: Some((from, to)), ..Self::new(&format!("UTC, from {day}"), Scale::Time, scale::DATE) }
    }

    /// An axis from 0 to a round value above this value.
    pub(crate) fn to(most: f64, unit: &str) -> Span {
        Span::round(&Self::new("", Scale::FromZero, unit_of(unit)), (0.0, most))
    }
}

/// Units that are printed with the values of an axis; other units are part of the axis name.
pub(crate) fn unit_of(unit: &str) -> &'static str {
    UNITS.into_iter().find(|known| *known == unit).unwrap_or("")
}

const UNITS: [&str; 6] = ["Hz", "B/s", "ns", "work/s", "ratio", "B"];

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// The name of the line.
    pub name: String,
    /// The points of the line; in a chart returned by [`Chart::checked`], they are sorted by x.
    pub points: Vec<(f64, f64)>,
    /// Whether each value applies until the next point (a step).
    pub steps: bool,
    /// The line's style.
    pub look: Look,
    /// The numbers of the line's color and dash pattern, if these have a meaning: for example, all lines of a record have the same color.
    pub ink: Option<(usize, usize)>,
    /// The 95 % CI around the line: position, lower and upper end.
    pub interval: Vec<(f64, f64, f64)>,
}

/// The style of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Look {
    /// A line.
    #[default]
    Line,
    /// A line through measured points, which are marked; values in between were not measured.
    Measured,
    /// A distribution: steps, filled down to the axis.
    Counts,
    /// A reference line: thin and unobtrusive.
    Reference,
    /// A model: thin, unobtrusive and dotted.
    Fit,
}

impl Look {
    /// Whether the line shows something other than measured values.
    pub(crate) fn is_quiet(self) -> bool {
        matches!(self, Look::Reference | Look::Fit)
    }
}

impl Series {
    /// A line through points.
    pub(crate) fn line(name: String, points: Vec<(f64, f64)>) -> Self {
        Self { name, points, steps: false, look: Look::Line, ink: None, interval: Vec::new() }
    }

    /// The same line in another style.
    pub(crate) fn with_look(self, look: Look) -> Self {
        Self { look, ..self }
    }

    /// A line drawn as steps.
    pub(crate) fn steps(name: String, points: Vec<(f64, f64)>) -> Self {
        Self { steps: true, ..Self::line(name, points) }
    }
}

/// A vertical line with its name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mark {
    /// The position of the line.
    pub at: f64,
    /// The name next to the line.
    pub name: String,
    /// Whether the position was measured here; if not, it was reported by the machine.
    pub measured: bool,
}

/// A shaded range of the horizontal axis, with its name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Band {
    /// The two ends of the range.
    pub ends: (f64, f64),
    /// The name of the range.
    pub name: String,
    /// The tooltip.
    pub says: String,
}

/// A chart of lines.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chart {
    /// What the chart shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
    /// Vertical lines.
    pub marks: Vec<Mark>,
    /// Shaded ranges.
    pub bands: Vec<Band>,
}

impl Chart {
    /// A chart that contains only these lines, after [`Chart::checked`].
    pub(crate) fn of_lines(title: &str, x: Axis, y: Axis, series: Vec<Series>) -> Option<Self> {
        Self { title: title.to_owned(), x, y, series, marks: Vec::new(), bands: Vec::new() }.checked()
    }

    /// The chart with its points in order, without values that its axes cannot show (not finite, or not above 0 on a logarithmic
    /// axis). `None` if no line with two points remains.
    pub(crate) fn checked(mut self) -> Option<Self> {
        let (x, y) = (self.x.scale, self.y.scale);
        for series in &mut self.series {
            series.points.retain(|point| x.shows(point.0) && y.shows(point.1));
            series.interval.retain(|(at, low, high)| x.shows(*at) && y.shows(*low) && y.shows(*high));
            series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        self.series.retain(|series| !series.points.is_empty());
        let (low, high) = bounds(self.series.iter().flat_map(|s| &s.points).map(|p| p.0))?;
        self.marks.retain(|mark| mark.at >= low && mark.at <= high);
        self.marks.sort_by(|a, b| a.at.total_cmp(&b.at));
        let drawn = |series: &Series| series.points.len() > 1 && !series.look.is_quiet();
        (low < high && self.series.iter().any(drawn)).then_some(self)
    }

    /// The ranges of both axes.
    fn spans(&self) -> (Span, Span) {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let ends = self.series.iter().flat_map(|series| &series.interval).flat_map(|of| [of.1, of.2]);
        let x = self.x.range.or_else(|| bounds(points().map(|p| p.0))).unwrap_or((1.0, 2.0));
        let y = bounds(points().map(|p| p.1).chain(ends)).unwrap_or((1.0, 2.0));
        (Span::tight(&self.x, x), Span::round(&self.y, y))
    }

    /// A point in words: `94 ns at 1 GiB`.
    fn point(&self, (x, y): (f64, f64)) -> String {
        format!("{} at {}", scale::label(y, self.y.unit), scale::label(x, self.x.unit))
    }

    /// The chart in words: its axes, and the first and last point of each line.
    pub(crate) fn description(&self) -> String {
        let lines = self.series.iter().filter_map(|series| {
            let (first, last) = (series.points.first()?, series.points.last()?);
            Some(format!("{}: from {} to {}.", series.name, self.point(*first), self.point(*last)))
        });
        let axes = format!("Horizontal: {}; vertical: {}.", self.x.label, self.y.label);
        std::iter::once(axes).chain(lines).collect::<Vec<_>>().join(" ")
    }
}

/// The minimum and the maximum of these values.
pub(crate) fn bounds(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |bounds, v| {
        Some(bounds.map_or((v, v), |(low, high): (f64, f64)| (low.min(v), high.max(v))))
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A chart with two lines and a mark.
    pub(crate) fn example() -> Chart {
        Chart {
            title: "Load latency".to_owned(),
            x: Axis::new("working set", Scale::Binary, "B"),
            y: Axis::new("latency", Scale::Decades, "ns"),
            series: vec![
                Series::line("4 KiB pages".to_owned(), vec![(4096.0, 1.0), (65536.0, 4.0), (1e9, 130.0)]),
                Series::line("2 MiB pages".to_owned(), vec![(4096.0, 1.0), (65536.0, 4.0), (1e9, 90.0)]),
            ],
            marks: vec![Mark { at: 32768.0, name: "L1, 32 KiB".to_owned(), measured: false }],
            bands: Vec::new(),
        }
    }

    #[test]
    fn points_that_no_axis_shows_are_left_out() {
        let mut chart = example();
        chart.series[0].points.extend([(0.0, 1.0), (f64::NAN, 2.0), (8192.0, f64::INFINITY), (5000.0, -1.0)]);
        assert_eq!(chart.checked(), Some(example()));
    }

    #[test]
    fn a_single_point_is_no_chart() {
        let mut chart = example();
        chart.series.truncate(1);
        chart.series[0].points.truncate(1);
        assert_eq!(chart.checked(), None);
    }

    #[test]
    fn the_description_says_what_the_lines_do() {
        let text = example().description();
        assert!(text.contains("4 KiB pages: from 1 ns at 4 KiB to 130 ns at"), "{text}");
    }
}
