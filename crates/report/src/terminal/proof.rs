//! What turning something gained: a table of states before and after.

use experiment::prove::{self, Compared, Figure};

use super::Style;
use super::screen::Screen;
use crate::table::{Table, Weight};
use crate::text::{pad_right, width};

/// One figure before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProofRow {
    /// What was turned; it stands once where several rows follow each other.
    name: String,
    /// What was measured.
    figure: String,
    /// Its median before, with its unit.
    before: String,
    /// Its median after.
    after: String,
    /// What that means, with its interval.
    result: String,
    /// How much it differs where nothing was changed; empty where that is not known.
    floor: String,
    /// Whether it is better afterwards, or worse; `None` where no difference was resolved.
    better: Option<bool>,
}

/// All that was compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Proof {
    /// What it is.
    title: String,
    /// The heading of the first column.
    head: String,
    /// The figures.
    rows: Vec<ProofRow>,
    /// What was not compared, and why.
    missing: Vec<(String, String)>,
    /// What else is to be known, a sentence each.
    remarks: Vec<String>,
}

/// The proof: `linespeed quiet --prove`.
pub fn proof(proof: &prove::Proof, style: &Style) -> String {
    draw(&table(proof), style)
}

/// What the table shows of it.
fn table(proof: &prove::Proof) -> Proof {
    let row = |(name, figure, compared): &(String, Figure, Compared)| {
        let comparison = &compared.comparison;
        ProofRow {
            name: name.clone(),
            figure: figure.name.to_owned(),
            before: figure.value(comparison.before),
            after: figure.value(comparison.after),
            floor: figure.floor(comparison),
            result: figure.result(comparison),
            better: comparison.is_less().map(|less| less == figure.less_is_better),
        }
    };
    Proof {
        title: proof.title.to_owned(),
        head: proof.head.to_owned(),
        rows: proof.compared.iter().map(row).collect(),
        missing: proof.missing.clone(),
        remarks: proof.remarks.clone(),
    }
}

fn draw(proof: &Proof, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.heading(&proof.title);
    let mut table =
        Table::new(&proof.title, None, &[&proof.head, "figure", "#before", "#after", "difference", "#floor"]);
    let mut last = "";
    for row in &proof.rows {
        let name = if row.name == last { "" } else { &row.name };
        last = &row.name;
        table.weigh_row(match row.better {
            None => Weight::Plain,
            Some(true) => Weight::Better,
            Some(false) => Weight::Worse,
        });
        let cells = [name, &row.figure, &row.before, &row.after, &row.result, &row.floor];
        table.row(cells.map(str::to_owned).to_vec());
    }
    // Why, stands below: a reason is too long for a cell.
    for (name, _) in &proof.missing {
        table.row([name.as_str(), "", "", "", "not measurable here", ""].map(str::to_owned).to_vec());
    }
    if !table.is_empty() {
        screen.table(&table, 2);
    }
    if !proof.missing.is_empty() {
        screen.heading("Not measurable here");
        let column = proof.missing.iter().map(|(name, _)| width(name)).max().unwrap_or(0) + 2;
        for (name, why) in &proof.missing {
            let first = format!("  {}", pad_right(name, column));
            screen.hanging(&first, &" ".repeat(column + 2), why);
        }
    }
    if !proof.remarks.is_empty() {
        screen.blank();
    }
    for remark in &proof.remarks {
        screen.paragraph(&[], crate::paint::Tone::Plain, remark);
    }
    screen.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_reported_within_the_width() {
        let row = |figure: &str| ProofRow {
            name: "governor".to_owned(),
            figure: figure.to_owned(),
            before: "56.2 µs".to_owned(),
            after: "12 µs".to_owned(),
            result: "78.6 % less (70 % to 81 %)".to_owned(),
            floor: "3.1 %".to_owned(),
            better: Some(true),
        };
        let all = Proof {
            title: "Before and after".to_owned(),
            head: "knob".to_owned(),
            rows: vec![row("wake-up p99"), row("steal")],
            missing: vec![("boost".to_owned(), "no file here switches boost\u{1b}[31m".to_owned())],
            remarks: vec!["12 rounds.".to_owned()],
        };
        for columns in [40, 80, 160] {
            let text = draw(&all, &Style { width: columns, color: false });
            assert!(text.lines().all(|line| width(line) <= columns), "{text}");
            assert!(!text.contains('\u{1b}') && text.contains("boost"), "{text}");
        }
        let text = draw(&all, &Style { width: 120, color: false });
        assert_eq!(text.matches("governor").count(), 1, "{text}");
        assert!(text.contains("steal") && text.contains("78.6 % less") && text.contains("3.1 %"), "{text}");
    }
}
