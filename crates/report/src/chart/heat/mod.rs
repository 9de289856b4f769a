//! A matrix of a report, drawn as a shaded table on the page (`page/heat.rs`) and as shaded results on the terminal (`terminal`):
//! slower cells are darker. The results are also shown in words or as a table, so the shades are not essential.

pub(crate) mod terminal;

use record::units;

use crate::table::Table;
use crate::text::range;

/// If the values of all cells differ by less than this share, all cells have the same shade.
const ALIKE: f64 = 0.05;

/// One row or column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The short name of the row or column: a number.
    pub name: String,
    /// The group of the row or column (`node 3`); adjacent rows or columns can have the same group. Empty if there is none.
    pub group: String,
}

/// A matrix. After [`Heat::checked`], every row has one cell per column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heat {
    /// What the matrix shows.
    pub title: String,
    /// Unit of the values: `ns`, `B/s`.
    pub unit: &'static str,
    /// Whether larger values are slower.
    pub lower_is_better: bool,
    /// The meaning of rows: `requesting node`.
    pub down: String,
    /// The meaning of columns: `memory node`.
    pub across: String,
    /// The rows.
    pub rows: Vec<Head>,
    /// The columns.
    pub columns: Vec<Head>,
    /// Whether the cells on the diagonal can have values: a node has local memory, but a CPU does not form a pair with
    /// itself.
    pub diagonal: bool,
    /// The values by row; `None` if not measured.
    pub cells: Vec<Vec<Option<f64>>>,
    /// Notes on the values.
    pub notes: Vec<String>,
}

impl Heat {
    /// The matrix without invalid values (not finite, or not above 0), with one cell per column in every row. `None` if no value remains.
    pub(crate) fn checked(mut self) -> Option<Self> {
        self.cells.resize(self.rows.len(), Vec::new());
        for row in &mut self.cells {
            row.resize(self.columns.len(), None);
            for cell in row {
                *cell = cell.filter(|value| *value > 1e-30 && *value < 1e30);
            }
        }
        self.bounds().is_some().then_some(self)
    }

    /// Every value with its row and column.
    fn values(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        self.cells.iter().enumerate().flat_map(|(at, row)| {
            row.iter().enumerate().filter_map(move |(column, value)| Some((at, column, (*value)?)))
        })
    }

    /// Whether a cell could have been measured.
    fn is_cell(&self, row: usize, column: usize) -> bool {
        self.diagonal || self.rows[row].name != self.columns[column].name
    }

    /// The number of cells that could have been measured, and how many of them were not measured.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let all = self.cells.iter().enumerate().flat_map(|(row, cells)| {
            cells.iter().enumerate().filter(move |(column, _)| self.is_cell(row, *column))
        });
        all.fold((0, 0), |(all, none), (_, cell)| (all + 1, none + usize::from(cell.is_none())))
    }

    /// The minimum and the maximum.
    fn bounds(&self) -> Option<(f64, f64)> {
        super::bounds(self.values().map(|(_, _, value)| value))
    }

    /// The shading of the values, with at most this many shades.
    pub(crate) fn shading(&self, most: usize) -> Shading {
        let (low, high) = self.bounds().unwrap_or((1.0, 1.0));
        let shades = if high > low * (1.0 + ALIKE) { most.max(1) } else { 1 };
        Shading { low, high, shades, lower_is_better: self.lower_is_better, unit: self.unit }
    }

    /// The unit in which all cells are written, and its size in base units.
    fn written_in(&self) -> (f64, &'static str) {
        let steps: &[(f64, &str)] = match self.unit {
            "ns" => &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")],
            "B/s" => &[(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s"), (1e12, "TB/s")],
            unit => return (1.0, unit),
        };
        let mut values: Vec<f64> = self.values().map(|(_, _, value)| value).collect();
        values.sort_by(f64::total_cmp);
        if self.unit == "ns" {
            // Latencies of up to five digits are shown in ns, because people compare them with other results in ns. In
            // larger units, they have at most four digits.
            let most = values.last().copied().unwrap_or(1.0);
            let fits = |scale: f64| most < scale * if scale > 1.0 { 1e4 } else { 1e5 };
            return steps.iter().find(|(scale, _)| fits(*scale)).copied().unwrap_or((1e9, "s"));
        }
        let median = values.get(values.len() / 2).copied().unwrap_or(1.0);
        let fitting = steps.iter().rev().find(|(scale, _)| median >= *scale);
        fitting.copied().unwrap_or(steps[0])
    }

    /// Every cell as text: `98.4`, `103`; empty if there is no value.
    pub(crate) fn written(&self) -> Vec<Vec<String>> {
        let (scale, _) = self.written_in();
        let text = |value: &Option<f64>| value.map_or(String::new(), |of| units::significant(of / scale));
        self.cells.iter().map(|row| row.iter().map(text).collect()).collect()
    }

    /// The title with the unit of its cells.
    pub(crate) fn heading(&self) -> String {
        format!("{}, {}", self.title, self.written_in().1)
    }

    /// The meaning of rows and columns.
    pub(crate) fn axes(&self) -> String {
        format!("row: {}; column: {}", self.down, self.across)
    }

    /// The matrix in words: its axes and its range.
    pub(crate) fn description(&self) -> String {
        let values: Vec<(usize, usize, f64)> = self.values().collect();
        let by = |a: &&(usize, usize, f64), b: &&(usize, usize, f64)| a.2.total_cmp(&b.2);
        let (Some(least), Some(most)) = (values.iter().min_by(by), values.iter().max_by(by)) else {
            return String::new();
        };
        let at = |(row, column, value): &(usize, usize, f64)| {
            let figure = units::figure(*value, self.unit);
            format!("{figure} at row {}, column {}", self.rows[*row].name, self.columns[*column].name)
        };
        format!(
            "Rows: {}. Columns: {}. Minimum {}; maximum {}; {} of {} cells measured.",
            self.down,
            self.across,
            at(least),
            at(most),
            self.counts().0 - self.counts().1,
            self.counts().0
        )
    }

    /// The matrix as a table.
    pub(crate) fn table(&self) -> Table {
        let columns = self.columns.iter().map(|head| format!("#{}", head.name));
        let heads: Vec<String> = std::iter::once("#".to_owned()).chain(columns).collect();
        let mut table = Table::new(&self.heading(), None, heads);
        for (head, row) in self.rows.iter().zip(self.written()) {
            table.row(std::iter::once(head.name.clone()).chain(row).collect());
        }
        table
    }
}

/// The mapping of values to shades: 0 is the fastest. For each shade, the ratio of its highest to its lowest value is the same, because
/// users compare results by factors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shading {
    low: f64,
    high: f64,
    /// Number of shades in use: one if all values are similar.
    shades: usize,
    lower_is_better: bool,
    unit: &'static str,
}

impl Shading {
    /// The shade of a value.
    pub(crate) fn choose_shade(&self, value: f64) -> usize {
        if self.shades == 1 {
            return 0;
        }
        let place = (value / self.low).ln() / (self.high / self.low).ln();
        let slow = if self.lower_is_better { place } else { 1.0 - place };
        if slow.is_finite() { ((slow * self.shades as f64) as usize).min(self.shades - 1) } else { 0 }
    }

    /// The values of each shade in words, fastest first: `150 – 190 ns`.
    pub(crate) fn names(&self) -> Vec<String> {
        let at = |part: usize| self.low * (self.high / self.low).powf(part as f64 / self.shades as f64);
        let figure = |value| units::figure(value, self.unit);
        (0..self.shades)
            .map(|shade| if self.lower_is_better { shade } else { self.shades - 1 - shade })
            .map(|part| range(&figure(at(part)), &figure(at(part + 1))))
            .collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn head(name: usize, group: &str) -> Head {
        Head { name: name.to_string(), group: group.to_owned() }
    }

    /// A synthetic latency matrix of this many nodes, half of them in each of two packages.
    pub(crate) fn example(nodes: usize) -> Heat {
        let package = |node: usize| node * 2 / nodes.max(1);
        let heads: Vec<Head> = (0..nodes).map(|n| head(n, &format!("package {}", package(n)))).collect();
        let cell = |from: usize, to: usize| match (from == to, package(from) == package(to)) {
            (true, _) => 100.0,
            (_, true) => 160.0,
            _ => 290.0 + (from + to) as f64,
        };
        Heat {
            title: "Latency".to_owned(),
            unit: "ns",
            lower_is_better: true,
            down: "requesting node".to_owned(),
            across: "memory node".to_owned(),
            diagonal: true,
            rows: heads.clone(),
            columns: heads,
            cells: (0..nodes).map(|from| (0..nodes).map(|to| Some(cell(from, to))).collect()).collect(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn slower_is_darker_whichever_direction_is_better() {
        let latency = example(4);
        let shading = latency.shading(8);
        assert_eq!((shading.choose_shade(100.0), shading.choose_shade(294.0)), (0, 7));
        let bandwidth = Heat { lower_is_better: false, unit: "B/s", ..example(4) };
        let shading = bandwidth.shading(8);
        assert_eq!((shading.choose_shade(100.0), shading.choose_shade(294.0)), (7, 0));
        let names = latency.shading(2).names();
        assert_eq!(names, ["100 – 171 ns", "171 – 294 ns"]);
        assert_eq!(bandwidth.shading(2).names()[0], "171 – 294 B/s");
    }

    #[test]
    fn a_matrix_without_differences_has_one_shade() {
        let mut alike = example(2);
        alike.cells = vec![vec![Some(100.0), Some(101.0)]; 2];
        assert_eq!(alike.shading(8).shades, 1);
    }

    #[test]
    fn cells_that_are_no_figures_are_blank() {
        let mut heat = example(2);
        heat.cells = vec![vec![Some(f64::NAN)], vec![Some(-1.0), Some(80.0), Some(7.0)]];
        let heat = heat.checked().unwrap();
        assert_eq!(heat.cells, [[None, None], [None, Some(80.0)]]);
        assert!(heat.description().contains("1 of 4 cells measured"), "{}", heat.description());
        let mut none = example(2);
        none.cells = Vec::new();
        assert_eq!(none.checked(), None);
    }

    #[test]
    fn figures_are_short_however_slow_the_machine() {
        let of = |cells: [f64; 2]| Heat { cells: vec![cells.map(Some).to_vec(); 2], ..example(2) };
        for (cells, heading, written) in [
            ([98.4, 14_250.0], "Latency, ns", ["98.4", "14250"]),
            ([39_906.0, 112_561.0], "Latency, µs", ["39.9", "113"]),
            ([3_990_686.0, 11_256_170.0], "Latency, ms", ["3.99", "11.3"]),
        ] {
            let heat = of(cells);
            assert_eq!(
                (heat.heading().as_str(), heat.written()[0].as_slice()),
                (heading, &written.map(str::to_owned)[..])
            );
        }
    }

    #[test]
    fn bandwidths_share_one_unit() {
        let heat = Heat { unit: "B/s", cells: vec![vec![Some(1.13e11), Some(5.1e9)]; 2], ..example(2) };
        assert_eq!(heat.heading(), "Latency, GB/s");
        assert_eq!(heat.written()[0], ["113", "5.10"]);
    }
}
