//! A matrix as SVG that takes its shades from the page's style sheet. It is drawn once, at the size at which its
//! letters are read; where the page is narrower it scrolls in a box of its own.

use maud::{Markup, html};

use super::{Heat, Shading};
use crate::chart::svg::r;
use crate::text::width;

/// Shades, `h0` to `h7` in the style sheet.
pub(crate) const SHADES: usize = 8;
/// From this shade on figures are written in the other ink; the style sheet's shades are chosen for it.
const DEEP: usize = 4;
/// Most columns with the figures written in their cells.
const WRITTEN: usize = 20;
/// Width and height of a cell with its figure in it.
const CELL: (f64, f64) = (44.0, 26.0);
/// Width that cells without figures share, and their largest and smallest size.
const SHARED: f64 = 768.0;
const SIZES: (f64, f64) = (22.0, 2.0);
/// Width of a letter of 12 units, generously.
const LETTER: f64 = 7.0;
/// Height of a line of letters.
const LINE: f64 = 15.0;

/// The drawing. `id` must be unique on the page.
pub(crate) fn draw(heat: &Heat, id: &str) -> Markup {
    let many = heat.columns.len().max(heat.rows.len());
    let written = many <= WRITTEN;
    let square = (SHARED / many.max(1) as f64).floor().clamp(SIZES.1, SIZES.0);
    let (wide, high) = if written { CELL } else { (square, square) };
    let names = heat.rows.iter().map(|head| width(&head.name)).max().unwrap_or(0) as f64 * LETTER + 8.0;
    let across = abbreviated(groups(heat.columns.iter().map(|head| head.group.as_str()), wide));
    let down = groups(heat.rows.iter().map(|head| head.group.as_str()), high);
    let longest = down.iter().map(|group| width(&group.name)).max().unwrap_or(0) as f64;
    let left = names + if longest > 0.0 { longest * LETTER + 6.0 } else { 0.0 };
    let top = LINE + 6.0 + if across.iter().any(|group| group.fits()) { LINE } else { 0.0 };
    let (right, bottom) = (left + wide * heat.columns.len() as f64, top + high * heat.rows.len() as f64);
    // The last column's name may be wider than its cell.
    let (full_width, full_height) = ((right + 14.0).ceil(), (bottom + 8.0).ceil());
    let shading = heat.shading(SHADES);
    let paths = paths(heat, shading, (left, top), (wide, high));
    let columns = spaced(heat.columns.iter().map(|head| width(&head.name) as f64 * LETTER), wide);
    let rows = spaced(heat.rows.iter().map(|_| LINE - 4.0), high);
    let (title_id, desc_id) = (format!("{id}-t"), format!("{id}-d"));
    html! {
        svg class="heat" viewBox=(format!("0 0 {full_width} {full_height}"))
            style=(format!("width:{full_width}px")) role="img" aria-labelledby=(format!("{title_id} {desc_id}")) {
            title id=(title_id) { (heat.heading()) }
            desc id=(desc_id) { (heat.description()) }
            @for (shade, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
                path class=(format!("h{shade}")) d=(path) {}
            }
            @for group in across.iter().filter(|group| group.fits()) {
                text class="tick" text-anchor="middle" x=(r(left + group.middle())) y="12" { (group.name) }
            }
            @for group in &down {
                text class="tick" x="0" y=(r((top + group.middle() + 4.0).max(top + 10.0))) { (group.name) }
            }
            @for at in columns {
                text class="tick" text-anchor="middle" x=(r(left + wide * (at as f64 + 0.5))) y=(r(top - 5.0)) {
                    (heat.columns[at].name)
                }
            }
            @for at in rows {
                text class="tick" text-anchor="end" x=(r(left - 5.0)) y=(r(top + high * (at as f64 + 0.5) + 4.0)) {
                    (heat.rows[at].name)
                }
            }
            @for group in across.iter().skip(1) {
                line class="part-line" x1=(r(left + group.from)) x2=(r(left + group.from)) y1=(r(top)) y2=(r(bottom)) {}
            }
            @for group in down.iter().skip(1) {
                line class="part-line" x1=(r(left)) x2=(r(right)) y1=(r(top + group.from)) y2=(r(top + group.from)) {}
            }
            @if written {
                @for (row, texts) in heat.written(3).iter().enumerate() {
                    @for (column, text) in texts.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
                        @let shade = heat.cells[row][column].map_or(0, |value| shading.choose_shade(value));
                        text class=(format!("v v{shade}{}", if shade >= DEEP { " deep" } else { "" }))
                            text-anchor="middle" x=(r(left + wide * (column as f64 + 0.5)))
                            y=(r(top + high * (row as f64 + 0.5) + 4.0)) { (text) }
                    }
                }
            }
        }
    }
}

/// What the shades mean, below the drawing.
pub(crate) fn legend(heat: &Heat) -> Markup {
    let shading = heat.shading(SHADES);
    let blank = heat.counts().1 > 0;
    html! {
        ul class="legend" {
            @for (shade, name) in shading.names().iter().enumerate() {
                li {
                    svg class="key" viewBox="0 0 28 10" aria-hidden="true" {
                        path class=(format!("h{shade}")) d="M0 0H28V10H0Z" {}
                    }
                    " " (name)
                }
            }
            @if blank { li { "blank: not measured" } }
        }
    }
}

/// One path a shade; neighbours of a row that share it are one piece, which keeps a matrix of 256 CPUs small.
fn paths(heat: &Heat, shading: Shading, (left, top): (f64, f64), (wide, high): (f64, f64)) -> Vec<String> {
    let mut paths = vec![String::new(); shading.shades];
    for (row, values) in heat.cells.iter().enumerate() {
        let shade = |at: usize| values.get(at).copied().flatten().map(|value| shading.choose_shade(value));
        let mut from = 0;
        while from < values.len() {
            let of = shade(from);
            let to = (from..values.len()).find(|at| shade(*at) != of).unwrap_or(values.len());
            if let Some(of) = of {
                let (x, y) = (r(left + wide * from as f64), r(top + high * row as f64));
                let (w, h) = (r(wide * (to - from) as f64), r(high));
                paths[of].push_str(&format!("M{x} {y}h{w}v{h}h-{w}z"));
            }
            from = to;
        }
    }
    paths
}

/// Neighbours that belong together.
struct Group {
    name: String,
    from: f64,
    to: f64,
}

impl Group {
    fn middle(&self) -> f64 {
        (self.from + self.to) / 2.0
    }

    /// Whether its name has room above it.
    fn fits(&self) -> bool {
        !self.name.is_empty() && width(&self.name) as f64 * LETTER + 4.0 <= self.to - self.from
    }
}

/// The groups along one side; none where all belong together.
fn groups<'a>(names: impl Iterator<Item = &'a str>, size: f64) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (at, name) in names.enumerate() {
        let (from, to) = (at as f64 * size, (at + 1) as f64 * size);
        match groups.last_mut().filter(|last| last.name == name) {
            Some(last) => last.to = to,
            None => groups.push(Group { name: name.to_owned(), from, to }),
        }
    }
    // Groups of one name nothing, and lines around every cell would hide them.
    if groups.len() < 2 || groups.iter().all(|group| group.to - group.from <= size * 1.5) {
        groups.clear();
    }
    groups
}

/// The groups above the columns, their names cut to a letter and the number where one has no room: `n12`.
fn abbreviated(mut groups: Vec<Group>) -> Vec<Group> {
    if !groups.iter().all(Group::fits) {
        for group in &mut groups {
            if let Some((word, number)) = group.name.split_once(' ') {
                group.name = format!("{}{number}", word.chars().next().unwrap_or(' '));
            }
        }
    }
    groups
}

/// Which names are written, so that none meet: every one, or every second, fourth, eighth…
fn spaced(lengths: impl Iterator<Item = f64>, size: f64) -> Vec<usize> {
    let lengths: Vec<f64> = lengths.collect();
    let longest = lengths.iter().copied().fold(0.0, f64::max) + 7.0;
    let mut every = 1;
    while (every as f64) * size < longest && every < lengths.len() {
        every *= 2;
    }
    (0..lengths.len()).step_by(every).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::heat::tests::example;

    #[test]
    fn a_map_names_itself_and_carries_no_colour() {
        let svg = draw(&example(4), "m").into_string();
        for part in
            ["role=\"img\"", "<title id=\"m-t\">Latency, ns</title>", "16 of 16 cells measured", ">160<"]
        {
            assert!(svg.contains(part), "{part} is missing from {svg}");
        }
        assert!(!svg.contains("fill=") && !svg.contains('#'), "{svg}");
        assert!(svg.contains("package 1"), "{svg}");
    }

    #[test]
    fn a_large_map_is_small_in_bytes_and_leaves_blanks() {
        let mut heat = example(256);
        heat.cells[3] = vec![None; 256];
        let svg = draw(&heat, "m").into_string();
        assert!(svg.len() < 1_500_000, "{}", svg.len());
        assert!(!svg.contains("class=\"v "), "256 figures a row would be a wall");
        assert!(legend(&heat).into_string().contains("not measured"));
    }

    #[test]
    fn names_never_meet() {
        assert_eq!(spaced([7.0; 8].into_iter(), 22.0).len(), 8);
        assert_eq!(spaced([21.0; 128].into_iter(), 6.0), (0..128).step_by(8).collect::<Vec<_>>());
    }
}
