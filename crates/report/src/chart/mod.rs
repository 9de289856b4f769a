//! A chart as a report describes it, drawn from one description on the page (`svg`) and on the terminal
//! (`terminal`). Bars (`bars`) are boxes of the page, so that their words wrap on a phone.
//!
//! The charts are this crate's own because of what they must do together: follow light and dark through the
//! page's style sheet (elements carry classes, never colours), name themselves to a screen reader, fit 360 pixels
//! as well as a desktop, and be drawn in characters. kuva, which was tried, writes colours into each element and
//! has neither classes of the caller's nor titles, and brings some 70 kinds of plot for the four needed here.

pub(crate) mod bars;
pub(crate) mod heat;
pub(crate) mod scale;
pub(crate) mod svg;
pub(crate) mod terminal;

pub(crate) use scale::Scale;
use scale::Span;

/// Colours of the subjects of a comparison, by number: none that would read as a gain.
pub(crate) const SUBJECTS: [usize; 4] = [0, 1, 3, 4];

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    /// What it shows.
    pub label: String,
    /// How values lie on it.
    pub scale: Scale,
    /// Unit of the values: `B`, `ns`, `B/s`, `share`.
    pub unit: &'static str,
}

impl Axis {
    /// An axis.
    pub(crate) fn new(label: &str, scale: Scale, unit: &'static str) -> Self {
        Self { label: label.to_owned(), scale, unit }
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// What it is.
    pub name: String,
    /// Its points, ascending in x once the chart is [`Chart::checked`].
    pub points: Vec<(f64, f64)>,
    /// Whether a value holds until the next point rather than moving to it.
    pub steps: bool,
    /// How it is set off.
    pub look: Look,
    /// Its colour and its dashes, by number, where they mean something: lines of one record have one colour.
    pub ink: Option<(usize, usize)>,
}

/// How a line is set off from the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Look {
    /// A line.
    #[default]
    Line,
    /// A line whose points were measured and are marked; between them nothing was.
    Measured,
    /// What the others are held against: thin and quiet.
    Reference,
    /// What a formula says: thin, quiet and dotted.
    Fit,
}

impl Look {
    /// Whether it only accompanies what was measured.
    pub(crate) fn is_quiet(self) -> bool {
        matches!(self, Look::Reference | Look::Fit)
    }
}

impl Series {
    /// A line through points.
    pub(crate) fn line(name: String, points: Vec<(f64, f64)>) -> Self {
        Self { name, points, steps: false, look: Look::Line, ink: None }
    }

    /// The same line, set off in another way.
    pub(crate) fn with_look(self, look: Look) -> Self {
        Self { look, ..self }
    }

    /// A line of steps.
    pub(crate) fn steps(name: String, points: Vec<(f64, f64)>) -> Self {
        Self { name, points, steps: true, look: Look::Line, ink: None }
    }
}

/// An upright line with its name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mark {
    /// Where it stands.
    pub at: f64,
    /// Its name.
    pub name: String,
    /// Whether it was measured here; the others are what the machine tells of itself.
    pub measured: bool,
}

/// A chart of lines.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chart {
    /// What it shows.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
    /// Upright lines.
    pub marks: Vec<Mark>,
}

impl Chart {
    /// A chart of these lines alone, [`Chart::checked`].
    pub(crate) fn of_lines(title: &str, x: Axis, y: Axis, series: Vec<Series>) -> Option<Self> {
        Self { title: title.to_owned(), x, y, series, marks: Vec::new() }.checked()
    }

    /// The chart without what its axes cannot show (values that are not finite, and on a logarithmic axis those
    /// not above 0), its points in order. `None` where no line of two points is left.
    pub(crate) fn checked(mut self) -> Option<Self> {
        let (x, y) = (self.x.scale, self.y.scale);
        for series in &mut self.series {
            series.points.retain(|point| x.shows(point.0) && y.shows(point.1));
            series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        self.series.retain(|series| !series.points.is_empty());
        let (low, high) = bounds(self.series.iter().flat_map(|s| &s.points).map(|p| p.0))?;
        self.marks.retain(|mark| mark.at > low && mark.at < high);
        self.marks.sort_by(|a, b| a.at.total_cmp(&b.at));
        let drawn = |series: &Series| series.points.len() > 1 && !series.look.is_quiet();
        (low < high && self.series.iter().any(drawn)).then_some(self)
    }

    /// The ranges of both axes.
    fn spans(&self) -> (Span, Span) {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = bounds(points().map(|p| p.0)).unwrap_or((1.0, 2.0));
        let y = bounds(points().map(|p| p.1)).unwrap_or((1.0, 2.0));
        (Span::tight(&self.x, x), Span::round(&self.y, y))
    }

    /// A point in words: `94 ns at 1 GiB`.
    fn point(&self, (x, y): (f64, f64)) -> String {
        format!("{} at {}", scale::label(y, self.y.unit), scale::label(x, self.x.unit))
    }

    /// The chart in words: what is on the axes and from where to where each line goes.
    pub(crate) fn description(&self) -> String {
        let lines = self.series.iter().filter_map(|series| {
            let (first, last) = (series.points.first()?, series.points.last()?);
            Some(format!("{}: from {} to {}.", series.name, self.point(*first), self.point(*last)))
        });
        let axes = format!("{} to the right, {} upwards.", self.x.label, self.y.label);
        std::iter::once(axes).chain(lines).collect::<Vec<_>>().join(" ")
    }
}

/// The heights at which names stand beside the ends of their lines: in the order of the ends, so that none is taken for another's, as
/// near to them as leaves them so far `apart`, and within `room`. Heights grow downwards.
fn spread(ends: &[f64], apart: f64, room: (f64, f64)) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by(|a, b| ends[*a].total_cmp(&ends[*b]));
    let mut heights = ends.to_vec();
    let (mut least, mut most) = room;
    for at in &order {
        heights[*at] = heights[*at].max(least);
        least = heights[*at] + apart;
    }
    for at in order.iter().rev() {
        heights[*at] = heights[*at].min(most);
        most = heights[*at] - apart;
    }
    heights
}

/// The row of each name, from 0: the first in which it meets none of those before it. `places`: from where to where each goes.
fn rows(places: &[(f64, f64)]) -> Vec<usize> {
    let mut rows: Vec<usize> = Vec::new();
    for (from, to) in places {
        let meets = |row: usize| {
            rows.iter().zip(places).any(|(of, (other, end))| *of == row && from < end && other < to)
        };
        rows.push((0..).find(|row| !meets(*row)).unwrap_or(0));
    }
    rows
}

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
