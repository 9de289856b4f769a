//! A chart in characters: lines of Braille dots, each named at its right end, so that no colour is needed.

use super::{Chart, Series, rows, spread};
use crate::paint::{Span, Tone};
use crate::text::{cut, pad_left, pad_right, width};

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
    let right = if longest > 0 { longest.min(columns / 3) + 2 } else { 0 };
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
    let verticals: Vec<usize> = chart.marks.iter().map(|mark| column_of(mark.at) / 2).collect();
    // Each name stands over its line and to the right of it; where two would meet the later goes one line higher.
    let names = chart.marks.iter().zip(&verticals).map(|(mark, at)| {
        let name = cut(&mark.name, plot);
        (left + (*at).min(plot - width(&name)), name)
    });
    let mut lines = vec![vec![Span::quiet(cut(&chart.y.label, columns))]];
    lines.extend(name_rows(names.collect()).into_iter().rev().map(|text| vec![Span::quiet(text)]));
    let lasts: Vec<(f64, f64)> =
        chart.series.iter().take(ROWS).filter_map(|series| series.points.last().copied()).collect();
    let heights: Vec<f64> = lasts.iter().map(|last| (1.0 - y.position(last.1)) * high as f64 / 4.0).collect();
    let heights = spread(&heights, 1.0, (0.0, (ROWS - 1) as f64));
    let end_of = |(number, (last, height)): (usize, (&(f64, f64), f64))| {
        let (row, end) = ((height + 1e-6) as usize, column_of(last.0) / 2);
        // Right of its end, in the margin where others are drawn there.
        let name_end = end + 3 + width(&chart.series[number].name);
        let free = (end + 1..name_end.min(plot)).all(|at| canvas.cells[row * plot + at].0 == 0);
        let column = if free || right == 0 { end + 2 } else { plot + 1 };
        let name = cut(&chart.series[number].name, (plot + right).saturating_sub(column));
        End { row, column, name, number }
    };
    let ends: Vec<End> = lasts.iter().zip(heights).enumerate().map(end_of).collect();
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
            let mark = verticals.contains(&column);
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
    let below = x.ticks(plot / 10).into_iter().map(|(value, text)| {
        let middle = left + column_of(value) / 2;
        (middle.saturating_sub(width(&text) / 2).min((left + plot).saturating_sub(width(&text))), text)
    });
    // Those that would meet are left out.
    lines.extend(name_rows(below.collect()).into_iter().take(1).map(|text| vec![Span::quiet(text)]));
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

/// A line's name and where it stands.
struct End {
    row: usize,
    column: usize,
    name: String,
    number: usize,
}

/// Names from their columns on, in as many rows as keep them apart.
fn name_rows(names: Vec<(usize, String)>) -> Vec<String> {
    let place = |(start, name): &(usize, String)| (*start as f64, (start + width(name) + 1) as f64);
    let rows = rows(&names.iter().map(place).collect::<Vec<_>>());
    let mut lines = vec![String::new(); rows.iter().map(|row| row + 1).max().unwrap_or(0)];
    for ((start, name), row) in names.into_iter().zip(rows) {
        lines[row] = pad_right(&lines[row], start) + &name;
    }
    lines
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
