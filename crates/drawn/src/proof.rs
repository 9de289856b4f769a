//! The gain of setting a knob: a table of states before and after.

use experiment::prove::Proof;

use report::view::{Screen, Table};

/// The proof: `linespeed quiet --prove`.
pub fn proof(screen: &mut Screen, proof: &Proof) {
    screen.heading(proof.title);
    let heads = [proof.head, "result", "#before", "#after", "difference", "#floor"];
    let mut table = Table::new(proof.title, None, heads);
    let mut last = String::new();
    for (name, figure, compared) in &proof.compared {
        let (name, comparison) = (name.to_string(), &compared.comparison);
        table.weigh_row(comparison.is_less().map(|less| less != figure.less_is_better));
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
    // The reason is below the table, because it is too long for a cell.
    for (name, _) in &proof.missing {
        table.row([&name.to_string(), "", "", "", "not measurable here"].map(str::to_owned).to_vec());
    }
    if !table.is_empty() {
        screen.table(&table, 2);
    }
    screen.list("Not measurable here", proof.missing.iter().map(|(name, why)| (name.to_string(), why)));
    screen.blank();
    proof.remarks.iter().for_each(|remark| screen.say(remark));
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::prove::{Figure, Unit};
    use record::difference::Scale;
    use report::view::{Style, width};

    #[test]
    fn every_row_is_reported_within_the_width() {
        let row = |name: &'static str| {
            let figure = Figure { name, unit: Unit::Of("s"), scale: Scale::Ratio, less_is_better: true };
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
            let style = Style { width: columns, color: false, ..Style::default() };
            let text = Screen::draw(&style, |screen| proof(screen, &all));
            assert!(text.lines().all(|line| width(line) <= columns), "{text}");
            assert!(!text.contains('\u{1b}') && text.contains("boost"), "{text}");
        }
        let style = Style { width: 120, color: false, ..Style::default() };
        let text = Screen::draw(&style, |screen| proof(screen, &all));
        assert_eq!(text.matches("governor").count(), 1, "{text}");
        assert!(text.contains("steal") && text.contains("78.7 % less") && text.contains("3.10 %"), "{text}");
    }
}
