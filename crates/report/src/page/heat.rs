//! A matrix as a table of shaded cells (slower is darker) with its legend. In a large matrix, cells are too small for values, which are
//! shown in another table.

use maud::{Markup, html};

use super::table::{hint, table};
use crate::chart::heat::{Head, Heat};

/// Number of shades: `h0` to `h7` in the style sheet.
const SHADES: usize = 8;
/// Maximum number of rows or columns for a matrix whose cells show their values.
const WRITTEN: usize = 20;
/// Width in pixels of a larger matrix, and the largest and smallest size of its cells.
const SHARED: usize = 768;
const SIZES: (usize, usize) = (2, 22);

/// The matrix in a box that scrolls.
pub(super) fn draw(heat: &Heat) -> Markup {
    let many = heat.columns.len().max(heat.rows.len());
    let written = many <= WRITTEN;
    let size = (SHARED / many.max(1)).clamp(SIZES.0, SIZES.1);
    html! {
        figure {
            figcaption { (heat.heading()) " " span class="quiet" { "(" (heat.axes()) ")" } }
            @if heat.columns.len() > 6 { (hint()) }
            div class="scroll" role="region" tabindex="0" aria-label=(heat.title) {
                table class=(if written { "heat" } else { "heat many" }) style=(format!("--cell:{size}px"))
                    aria-label=(heat.description()) { (cells(heat, written)) }
            }
            (legend(heat))
        }
        @for note in &heat.notes { p class="quiet what" { (note) } }
        @if !written { details { summary { "As a table" } (table(&heat.table(), "")) } }
    }
}

/// The names of columns and rows, and the cells. If `written` is set, the cells show their values, and all rows and
/// columns are named, not just their groups.
fn cells(heat: &Heat, written: bool) -> Markup {
    let (across, down) = (groups(&heat.columns), groups(&heat.rows));
    let leading = usize::from(down.len() > 1) + usize::from(written);
    let shading = heat.shading(SHADES);
    let mut rows = heat.cells.iter().zip(heat.written());
    html! {
        @if leading > 0 { colgroup span=(leading) {} }
        @for group in &across { colgroup span=(group.len()) {} }
        thead {
            @if across.len() > 1 {
                tr {
                    @if leading > 0 { td colspan=(leading) {} }
                    @for group in &across { th scope="colgroup" colspan=(group.len()) { (group[0].group) } }
                }
            }
            @if written {
                tr { td colspan=(leading) {} @for head in &heat.columns { th scope="col" { (head.name) } } }
            }
        }
        @for group in &down {
            tbody {
                @for (number, (head, (values, texts))) in group.iter().zip(rows.by_ref()).enumerate() {
                    tr {
                        @if number == 0 && down.len() > 1 {
                            th scope="rowgroup" rowspan=(group.len()) { (head.group) }
                        }
                        @if written { th scope="row" { (head.name) } }
                        @for (value, text) in values.iter().zip(&texts) {
                            td class=[value.map(|value| format!("h{}", shading.choose_shade(value)))] {
                                @if written { (text) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Adjacent rows or columns of the same group; a single group if every group has only one member.
fn groups(heads: &[Head]) -> Vec<&[Head]> {
    let groups: Vec<&[Head]> = heads.chunk_by(|a, b| a.group == b.group).collect();
    if groups.iter().all(|group| group.len() == 1) { vec![heads] } else { groups }
}

/// The meaning of the shades.
fn legend(heat: &Heat) -> Markup {
    html! {
        ul class="legend" {
            @for (shade, name) in heat.shading(SHADES).names().iter().enumerate() {
                li { span class=(format!("key h{shade}")) {} " " (name) }
            }
            @if heat.counts().1 > 0 { li { "blank: not measured" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::heat::tests::example;

    #[test]
    fn a_map_names_itself_and_carries_no_colour() {
        let map = draw(&example(4)).into_string();
        for part in ["Latency, ns", "16 of 16 cells measured", ">160<", "package 1"] {
            assert!(map.contains(part), "{part} is missing from {map}");
        }
        assert!(!map.contains("color") && !map.contains('#'), "{map}");
    }

    #[test]
    fn a_large_map_is_small_in_bytes_and_leaves_blanks() {
        let mut heat = example(256);
        heat.cells[3] = vec![None; 256];
        let map = draw(&heat).into_string();
        let (map, figures) = map.split_once("<details").unwrap();
        assert!(map.len() < 1_500_000, "{}", map.len());
        assert!(!map.contains(">160<") && figures.contains(">160<"), "256 results per row are unreadable");
        assert!(map.contains("not measured"));
    }
}
