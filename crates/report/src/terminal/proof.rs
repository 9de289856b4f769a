//! What turning something gained: a table of states before and after.

use experiment::prove::Proof;

use super::Style;
use super::screen::Screen;
use crate::table::{Table, Weight};
use crate::text::{pad_right, width};

/// The proof: `linespeed quiet --prove`.
pub fn proof(proof: &Proof, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.heading(proof.title);
    let heads = [proof.head, "figure", "#before", "#after", "difference", "#floor"];
    let mut table = Table::new(proof.title, None, heads);
    let mut last = String::new();
    for (name, figure, compared) in &proof.compared {
        let (name, comparison) = (name.to_string(), &compared.comparison);
        table.weigh_row(match comparison.is_less() {
            None => Weight::Plain,
            Some(less) if less == figure.less_is_better => Weight::Better,
            Some(_) => Weight::Worse,
        });
        table.row(vec![
            if name == last { String::new() } else { name.clone() },
            figure.name.to_owned(),
            figure.value(comparison.before),
            figure.value(comparison.after),
            figure.result(comparison).to_string(),
            figure.floor(comparison),
        ]);
        last = name;
    }
    // Why, stands below: a reason is too long for a cell.
    for (name, _) in &proof.missing {
        table.row([&name.to_string(), "", "", "", "not measurable here"].map(str::to_owned).to_vec());
    }
    if !table.is_empty() {
        screen.table(&table, 2);
    }
    if !proof.missing.is_empty() {
        screen.heading("Not measurable here");
    }
    let column = proof.missing.iter().map(|(name, _)| width(&name.to_string())).max().unwrap_or(0) + 2;
    for (name, why) in &proof.missing {
        screen.hanging(
            &format!("  {}", pad_right(&name.to_string(), column)),
            &" ".repeat(column + 2),
            why.to_string(),
        );
    }
    screen.blank();
    for remark in &proof.remarks {
        screen.paragraph(&[], crate::paint::Tone::Plain, remark.to_string());
    }
    screen.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::prove::{Figure, Unit};
    use record::difference::Scale;

    #[test]
    fn every_row_is_reported_within_the_width() {
        let row = |name: &'static str| {
            let figure = Figure { name, unit: Unit::Seconds, scale: Scale::Ratio, less_is_better: true };
            let rounds = (0..12).map(|round| (56.2e-6 + f64::from(round) * 1e-8, 12e-6)).collect();
            ("governor".into(), figure, figure.compare(rounds, 1, Some(0.031)).unwrap())
        };
        let all = Proof {
            title: "Before and after",
            head: "knob",
            compared: vec![row("wake-up p99"), row("steal")],
            missing: vec![("boost".into(), "no file here switches boost\u{1b}[31m".into())],
            remarks: vec!["12 rounds.".into()],
            ..Proof::default()
        };
        for columns in [40, 80, 160] {
            let text = proof(&all, &Style { width: columns, color: false, ..Style::default() });
            assert!(text.lines().all(|line| width(line) <= columns), "{text}");
            assert!(!text.contains('\u{1b}') && text.contains("boost"), "{text}");
        }
        let text = proof(&all, &Style { width: 120, color: false, ..Style::default() });
        assert_eq!(text.matches("governor").count(), 1, "{text}");
        assert!(text.contains("steal") && text.contains("78.7 % less") && text.contains("3.10 %"), "{text}");
    }
}
