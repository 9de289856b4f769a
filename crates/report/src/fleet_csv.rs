//! A fleet's figures in the long form: a line a machine and figure.

use record::fleet::Fleet;

use crate::csv::{field, number};

/// Every figure of every machine: `machine,time,metric,unit,places,value,low,high`.
pub fn fleet(fleet: &Fleet) -> String {
    let mut text = "machine,time,metric,unit,places,value,low,high\r\n".to_owned();
    for class in &fleet.classes {
        let places: Vec<String> = class
            .figures
            .iter()
            .map(|figure| match figure.labels.0.is_empty() {
                true => format!("row={}", figure.what),
                false => figure
                    .labels
                    .0
                    .iter()
                    .map(|(name, key)| format!("{name}={key}"))
                    .collect::<Vec<_>>()
                    .join(";"),
            })
            .collect();
        for row in &class.rows {
            for ((cell, figure), places) in row.cells.iter().zip(&class.figures).zip(&places) {
                let Some(cell) = cell else { continue };
                let (low, high) = cell.interval.unzip();
                let fields = [
                    field(&row.machine),
                    field(&row.started),
                    field(&figure.metric),
                    field(&figure.unit),
                    field(places),
                    number(Some(cell.value)),
                    number(low),
                    number(high),
                ];
                text.push_str(&fields.join(","));
                text.push_str("\r\n");
            }
        }
    }
    text
}
