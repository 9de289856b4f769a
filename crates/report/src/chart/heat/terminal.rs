//! A matrix in characters: each result is followed by its shade, so color is not required.

use super::Heat;
use crate::paint::{Span, Tone};
use crate::text::{pad_left, width};

/// Shades behind a result, fast to slow.
const SHADES: [&str; 5] = [" ", "░", "▒", "▓", "█"];
/// Shown on the diagonal if a CPU or node does not form a pair with itself.
const ITSELF: &str = "\\";
/// Maximum number of columns; larger matrices are summarized first.
pub(crate) const MOST: usize = 16;

/// The matrix in lines of at most `columns`; `None` if it is too large, or the terminal too narrow.
pub(crate) fn draw(heat: &Heat, columns: usize) -> Option<Vec<Vec<Span>>> {
    if heat.columns.len() > MOST || heat.rows.len() > MOST {
        return None;
    }
    let shading = heat.shading(SHADES.len());
    let names = heat.rows.iter().map(|head| width(&head.name)).max().unwrap_or(0);
    let cells = heat.written();
    let texts = heat.columns.iter().map(|head| &head.name).chain(cells.iter().flatten());
    // One additional column for the shade, and one for the gap if there is room.
    let roomy = texts.map(|text| width(text)).max().unwrap_or(0) + 2;
    let fits = |cell: &usize| names + 1 + cell * heat.columns.len() <= columns;
    let cell = [roomy, roomy - 1].into_iter().find(fits)?;
    let mut head = " ".repeat(names + 1);
    for column in &heat.columns {
        head.push_str(&format!("{} ", pad_left(&column.name, cell - 1)));
    }
    let mut lines = vec![vec![Span::quiet(head)]];
    for (row, ((name, values), texts)) in heat.rows.iter().zip(&heat.cells).zip(&cells).enumerate() {
        let mut spans = vec![Span::quiet(format!("{} ", pad_left(&name.name, names)))];
        for (column, (value, text)) in values.iter().zip(texts).enumerate() {
            match value {
                Some(value) => {
                    let shade = shading.choose_shade(*value);
                    spans.push(Span::plain(pad_left(text, cell - 1)));
                    spans.push(Span::new(tone(shade), SHADES[shade]));
                }
                None => {
                    // Cells without a value show a sign instead of a blank, because a blank is the shade of the fastest results.
                    let sign = if heat.is_cell(row, column) { "·" } else { ITSELF };
                    spans.push(Span::quiet(format!("{} ", pad_left(sign, cell - 1))));
                }
            }
        }
        lines.push(spans);
    }
    Some(lines)
}

/// The legend of the shades, as one line that the caller wraps.
pub(crate) fn legend(heat: &Heat) -> String {
    let shading = heat.shading(SHADES.len());
    let mut parts = Vec::new();
    if shading.shades > 1 {
        let named = shading.names();
        parts.extend(named.iter().enumerate().map(|(shade, name)| {
            if shade == 0 { format!("no shade {name}") } else { format!("{} {name}", SHADES[shade]) }
        }));
    }
    parts.extend((heat.counts().1 > 0).then(|| "· not measured".to_owned()));
    let itself = |(row, cells): (usize, &Vec<Option<f64>>)| (0..cells.len()).any(|at| !heat.is_cell(row, at));
    parts.extend(heat.cells.iter().enumerate().any(itself).then(|| format!("{ITSELF} no pair")));
    parts.join(", ")
}

/// The color of a shade, which only repeats the information in the character.
fn tone(shade: usize) -> Tone {
    match shade {
        0 | 1 => Tone::Quiet,
        2 => Tone::Plain,
        3 => Tone::Warning,
        _ => Tone::Serious,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::heat::tests::example;

    fn text(heat: &Heat, columns: usize) -> Vec<String> {
        let lines = draw(heat, columns).unwrap();
        lines.into_iter().map(|spans| spans.iter().map(|span| span.text()).collect()).collect()
    }

    #[test]
    fn sixteen_nodes_fit_eighty_columns_with_their_figures() {
        let lines = text(&example(16), 78);
        assert_eq!(lines.len(), 17);
        assert!(lines.iter().all(|line| width(line) <= 78), "{lines:#?}");
        assert!(lines[1].starts_with(" 0 100 160"), "{lines:#?}");
        assert!(lines[1].contains("298▓") || lines[1].contains("298█"), "{lines:#?}");
    }

    #[test]
    fn what_has_no_room_is_not_drawn() {
        assert!(draw(&example(16), 52).is_none());
        assert!(draw(&example(17), 500).is_none());
    }

    #[test]
    fn a_cpu_and_itself_do_not_look_like_the_fastest_pair() {
        let mut heat = Heat { diagonal: false, ..example(16) };
        (0..16).for_each(|at| heat.cells[at][at] = None);
        let lines = text(&heat, 78);
        assert!((0..16).all(|row| lines[row + 1].matches('\\').count() == 1), "{lines:#?}");
        assert!(legend(&heat).ends_with("\\ no pair"), "{}", legend(&heat));
        assert!(!legend(&example(4)).contains("no pair"));
    }

    #[test]
    fn what_was_not_measured_is_a_dot_and_the_legend_says_so() {
        let mut heat = example(4);
        heat.cells[1][2] = None;
        assert!(text(&heat, 78)[2].contains('·'));
        let legend = legend(&heat);
        assert!(legend.starts_with("no shade 100 – ") && legend.ends_with("· not measured"), "{legend}");
    }
}
