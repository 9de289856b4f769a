//! A chart in characters: lines of Braille dots, each named at its right end, so that no colour is needed.

use super::{Chart, Series};
use crate::paint::{Span, Tone};
use crate::text::{cut, pad_left, width};

/// Rows of characters that a chart is high; each is four dots.
const ROWS: usize = 14;
/// Narrowest plot, in characters, that still shows a curve.
const LEAST_COLUMNS: usize = 20;

/// Dots of a Braille character, by column and row: Unicode 16, section 21.1 (U+2800 and the bit of each dot).
const DOTS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

struct Canvas {
    columns: usize,
    /// Dots and the series drawn last, a cell.
    cells: Vec<(u32, usize)>,
}

impl Canvas {
    fn dot(&mut self, x: usize, y: usize, series: usize) {
        let (column, row) = (x / 2, y / 4);
        if column < self.columns && row < ROWS {
            let cell = &mut self.cells[row * self.columns + column];
            cell.0 |= DOTS[x % 2][y % 4];
            cell.1 = series;
        }
    }

    /// A straight line between two dots.
    fn line(&mut self, from: (usize, usize), to: (usize, usize), series: usize) {
        let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
        for step in 0..=steps {
            let part = step as f64 / steps as f64;
            let between = |a: usize, b: usize| (a as f64 + (b as f64 - a as f64) * part).round() as usize;
            self.dot(between(from.0, to.0), between(from.1, to.1), series);
        }
    }

    fn series(&mut self, series: &Series, number: usize, at: impl Fn(&(f64, f64)) -> (usize, usize)) {
        for pair in series.points.windows(2) {
            let (from, to) = (at(&pair[0]), at(&pair[1]));
            if series.steps {
                self.line(from, (to.0, from.1), number);
                self.line((to.0, from.1), to, number);
            } else {
                self.line(from, to, number);
            }
        }
    }
}

/// The chart in lines of at most `columns`; `None` where that is too narrow for one.
pub(crate) fn draw(chart: &Chart, columns: usize) -> Option<Vec<Vec<Span>>> {
    let (x, y) = chart.spans();
    let ticks = y.ticks(ROWS / 2);
    let left = ticks.iter().map(|(_, text)| width(text)).max().unwrap_or(0) + 2;
    // Lines that end near the right edge are named in a margin.
    let near = |series: &&Series| series.points.last().is_some_and(|last| x.position(last.0) > 0.7);
    let longest = chart.series.iter().filter(near).map(|series| width(&series.name)).max().unwrap_or(0);
    let right = if longest > 0 { longest.min(columns / 4) + 2 } else { 0 };
    let plot = columns.checked_sub(left + right).filter(|plot| *plot >= LEAST_COLUMNS)?;
    let (wide, high) = (plot * 2 - 1, ROWS * 4 - 1);
    let row_of = |v: f64| ((1.0 - y.position(v)) * high as f64).round() as usize;
    let column_of = |v: f64| (x.position(v) * wide as f64).round() as usize;
    let mut canvas = Canvas { columns: plot, cells: vec![(0, 0); plot * ROWS] };
    // What the others are held against lies below them.
    let (below_all, above): (Vec<_>, Vec<_>) =
        chart.series.iter().enumerate().partition(|(_, series)| series.look.is_quiet());
    for (number, series) in below_all.into_iter().chain(above) {
        canvas.series(series, number, |point| (column_of(point.0), row_of(point.1)));
    }
    let verticals: Vec<(usize, &str)> =
        chart.marks.iter().map(|mark| (column_of(mark.at) / 2, mark.name.as_str())).collect();

    let mut lines = vec![vec![Span::quiet(cut(&chart.y.label, columns))]];
    lines.extend(names(&verticals, left, plot).map(|text| vec![Span::quiet(text)]));
    let ends = ends(chart, &canvas, plot + right, |point| (column_of(point.0) / 2, row_of(point.1) / 4));
    for row in 0..ROWS {
        let tick = ticks.iter().find(|(value, _)| row_of(*value) / 4 == row);
        let (text, sign) = tick.map_or(("", "│"), |(_, text)| (text.as_str(), "┤"));
        let mut spans = vec![Span::quiet(format!("{} {sign}", pad_left(text, left - 2)))];
        let mut column = 0;
        while column < plot + right {
            if let Some(end) = ends.iter().find(|end| (end.row, end.column) == (row, column)) {
                spans.push(Span::new(tone(chart, end.number), &end.name));
                column += width(&end.name).max(1);
                continue;
            }
            let (dots, series) = if column < plot { canvas.cells[row * plot + column] } else { (0, 0) };
            let mark = verticals.iter().any(|(at, _)| *at == column);
            match char::from_u32(0x2800 + dots).filter(|_| dots != 0) {
                Some(c) => spans.push(Span::new(tone(chart, series), c.to_string())),
                None if mark => spans.push(Span::quiet("┊")),
                None => spans.push(Span::plain(" ")),
            }
            column += 1;
        }
        lines.push(spans);
    }
    lines.push(vec![Span::quiet(format!("{}└{}", " ".repeat(left - 1), "─".repeat(plot)))]);
    lines.push(vec![Span::quiet(below(&x.ticks(plot / 10), left, plot, |v| column_of(v) / 2))]);
    let label = cut(&chart.x.label, plot);
    lines.push(vec![Span::quiet(format!("{}{}", " ".repeat(left), pad_left(&label, plot)))]);
    Some(lines)
}

fn tone(chart: &Chart, series: usize) -> Tone {
    match chart.series.get(series).map(|series| series.look) {
        Some(look) if look.is_quiet() => Tone::Quiet,
        _ => Tone::Series(series),
    }
}

/// Where each line's name stands: (row, column, series). Right of the line's end where that is free, else as near
/// to it as there is room; `columns` includes the margin on the right, in which nothing is drawn. Names of lines that end side by
/// side stand in the order of their ends: else one is taken for the other's.
fn ends(
    chart: &Chart,
    canvas: &Canvas,
    columns: usize,
    end_of: impl Fn(&(f64, f64)) -> (usize, usize),
) -> Vec<End> {
    let lines = chart.series.iter().enumerate().take(ROWS);
    let mut lines: Vec<Line> = lines
        .filter_map(|(number, series)| {
            let last = series.points.last()?;
            let (column, row) = end_of(last);
            Some(Line { number, name: cut(&series.name, columns / 3), column, row, height: last.1 })
        })
        .collect();
    // What ends furthest to the right is named first: a name right of another line's end would be taken for its.
    let further = |a: &Line, b: &Line| b.column.cmp(&a.column);
    lines.sort_by(|a, b| further(a, b).then(b.height.total_cmp(&a.height)));
    let downwards = named_in_turn(canvas, columns, &lines);
    if downwards.len() == lines.len() {
        return downwards;
    }
    // Near the lower edge there is more room when the lowest is named first.
    lines.sort_by(|a, b| further(a, b).then(a.height.total_cmp(&b.height)));
    let upwards = named_in_turn(canvas, columns, &lines);
    if upwards.len() > downwards.len() { upwards } else { downwards }
}

/// The end of a line and its name.
struct Line {
    number: usize,
    name: String,
    column: usize,
    row: usize,
    height: f64,
}

/// Names each line as near to its end as those before it leave room.
fn named_in_turn(canvas: &Canvas, columns: usize, lines: &[Line]) -> Vec<End> {
    let mut taken: Vec<(End, &Line)> = Vec::new();
    for line in lines {
        let length = width(&line.name);
        let free = |row: usize, column: usize| {
            let drawn = |at: usize| at < canvas.columns && canvas.cells[row * canvas.columns + at].0 != 0;
            let named = |at: usize| {
                taken.iter().any(|(end, _)| {
                    end.row == row && (end.column..end.column + width(&end.name) + 1).contains(&at)
                })
            };
            let in_order = taken.iter().all(|(end, other)| {
                other.column.abs_diff(line.column) > SIDE_BY_SIDE
                    || other.height == line.height
                    || row.cmp(&end.row) == other.height.total_cmp(&line.height)
            });
            // One cell on either side stays free, so that a name is not taken for a part of a line.
            in_order && (column.saturating_sub(1)..column + length + 1).all(|at| !drawn(at) && !named(at))
        };
        let rows = (0..ROWS).flat_map(|row| (0..columns.saturating_sub(length)).map(move |at| (row, at)));
        // Rows are twice as high as columns are wide; a name begins right of its end rather than left of it.
        let beside = line.column + 2;
        let distance = |(row, at): &(usize, usize)| {
            row.abs_diff(line.row) * 4 + beside.abs_diff(*at) + if *at < beside { 6 } else { 0 }
        };
        let mut places: Vec<(usize, usize)> = rows.collect();
        places.sort_by_key(distance);
        if let Some((row, column)) = places.into_iter().find(|(row, at)| free(*row, *at)) {
            taken.push((End { row, column, name: line.name.clone(), number: line.number }, line));
        }
    }
    taken.into_iter().map(|(end, _)| end).collect()
}

/// Ends of lines that are so many columns apart or fewer are told apart by their order alone.
const SIDE_BY_SIDE: usize = 12;

struct End {
    row: usize,
    column: usize,
    name: String,
    number: usize,
}

/// The names of upright lines above the plot, each over its line and to the right of it; where two would meet the
/// later goes one line higher.
fn names(verticals: &[(usize, &str)], left: usize, plot: usize) -> impl Iterator<Item = String> {
    let mut rows: Vec<String> = Vec::new();
    for (at, name) in verticals {
        let room = plot - at.min(&plot);
        let (name, at) = if width(name) <= room {
            ((*name).to_owned(), *at)
        } else {
            let name = cut(name, plot);
            let at = plot - width(&name);
            (name, at)
        };
        let start = left + at;
        let fits = |row: &String| width(row) < start || row.is_empty();
        let row = match rows.iter().position(fits) {
            Some(row) => row,
            None => {
                rows.push(String::new());
                rows.len() - 1
            }
        };
        let gap = start.saturating_sub(width(&rows[row]));
        rows[row] = format!("{}{}{name}", rows[row], " ".repeat(gap));
    }
    rows.into_iter().rev()
}

/// The figures below the plot, those that would meet left out.
fn below(ticks: &[(f64, String)], left: usize, plot: usize, column_of: impl Fn(f64) -> usize) -> String {
    let mut line = String::new();
    for (value, text) in ticks {
        let wanted = left + column_of(*value);
        let start = wanted.saturating_sub(width(text) / 2).min((left + plot).saturating_sub(width(text)));
        if line.is_empty() || width(&line) < start {
            let gap = start - width(&line);
            line = format!("{line}{}{text}", " ".repeat(gap));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::tests::example;

    fn text(columns: usize) -> Vec<String> {
        let lines = draw(&example(), columns).unwrap();
        lines.into_iter().map(|spans| spans.iter().map(|span| span.text()).collect()).collect()
    }

    #[test]
    fn lines_are_named_at_their_ends_and_fit() {
        for columns in [60, 80, 160] {
            let lines = text(columns);
            assert!(lines.iter().all(|line| width(line.trim_end()) <= columns), "{lines:#?}");
            for name in ["4 KiB pages", "2 MiB pages"] {
                assert!(lines.iter().any(|line| line.trim_end().ends_with(name)), "{lines:#?}");
            }
            assert!(lines.iter().any(|line| line.contains("L1, 32 KiB")), "{lines:#?}");
        }
    }

    #[test]
    fn names_of_lines_that_end_side_by_side_stand_in_the_order_of_their_ends() {
        for (first, second) in
            [(130.0, 128.0), (128.0, 130.0), (130.0, 115.0), (1.0, 1.02), (1.02, 1.0), (60.0, 130.0)]
        {
            let mut chart = example();
            chart.series[0].points = vec![(4096.0, 1.0), (65536.0, 200.0), (1e9, first)];
            chart.series[1].points = vec![(4096.0, 1.0), (65536.0, 200.0), (1e9, second)];
            let lines = draw(&chart, 80).unwrap();
            let row_of = |name: &str| {
                let text = |spans: &Vec<Span>| spans.iter().map(|span| span.text()).collect::<String>();
                lines.iter().position(|spans| text(spans).contains(name)).unwrap()
            };
            let rows = (row_of("4 KiB pages"), row_of("2 MiB pages"));
            assert_eq!(rows.0 < rows.1, first > second, "{first} {second} {rows:?}");
        }
    }

    #[test]
    fn a_line_that_ends_early_is_named_there() {
        let mut chart = example();
        chart.series[1].points = vec![(4096.0, 1.0), (16384.0, 60.0)];
        let lines = draw(&chart, 80).unwrap();
        let lines: Vec<String> =
            lines.into_iter().map(|spans| spans.iter().map(|span| span.text()).collect()).collect();
        let named = lines.iter().find_map(|line| line.find("2 MiB pages").map(|at| width(&line[..at])));
        assert!(named.is_some_and(|at| at < 40), "{lines:#?}");
    }

    #[test]
    fn a_terminal_too_narrow_gets_no_chart() {
        assert!(draw(&example(), 30).is_none());
    }
}
