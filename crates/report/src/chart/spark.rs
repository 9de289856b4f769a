//! A sparkline in characters of eight heights: a chart on a terminal.

use super::{Chart, Series};
use crate::table::Table;

/// Heights, the lowest first.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Shares of the height, from 0 to 1, as characters.
pub(crate) fn line(shares: impl IntoIterator<Item = f64>) -> String {
    let height = |share: f64| HEIGHTS.get((share.clamp(0.0, 1.0) * 7.0).round() as usize);
    shares.into_iter().filter_map(height).collect()
}

/// One row per line of a chart, with the line's first and last value and a sparkline with this many columns. A missing
/// point is drawn like the previous one.
pub(crate) fn table(chart: &Chart, columns: usize) -> Table {
    let heads = ["", &chart.y.label, "#first", "#last"];
    let mut table = Table::new(&chart.title, None, heads);
    let (x, y) = chart.spans();
    let course = |series: &Series| {
        let mut heights: Vec<Option<f64>> = vec![None; columns];
        for (at, value) in &series.points {
            let column = (x.position(*at) * (columns.max(1) - 1) as f64).round() as usize;
            if let Some(height) = heights.get_mut(column) {
                *height = Some(y.position(*value));
            }
        }
        let drawn = heights.iter().scan(None, |last, height| {
            *last = height.or(*last);
            Some(*last)
        });
        line(drawn.flatten())
    };
    for series in chart.series.iter().filter(|series| !series.look.is_quiet()) {
        let ends = [series.points.first(), series.points.last()];
        let [first, last] = ends.map(|end| end.map_or(String::new(), |point| chart.point(*point)));
        table.row(vec![series.name.clone(), course(series), first, last]);
    }
    table
}
