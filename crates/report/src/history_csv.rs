//! A machine's history as Apache Otava reads it: a row a record, its time first, then an attribute that names the record, then a
//! column a figure.

use std::collections::HashSet;

use record::history::{HEADLINE, History, Line};

use crate::csv::{field, number};

/// `time,record,FIGURE…`, the oldest first; a figure that a record lacks is empty.
pub fn history(of: &History) -> String {
    let mut taken = HashSet::new();
    let names: Vec<String> = of.lines.iter().map(|line| column(line, &mut taken)).collect();
    let heads = ["time".to_owned(), "record".to_owned()].into_iter().chain(names);
    let mut text = heads.map(|head| field(&head)).collect::<Vec<_>>().join(",") + "\r\n";
    for (at, moment) in of.records.iter().enumerate() {
        let name = moment.record.file_stem().unwrap_or_default().to_string_lossy();
        let value = |line: &Line| {
            number(line.points.iter().find(|point| point.record == at).map(|point| point.value))
        };
        let cells = [field(&moment.started), field(&name)].into_iter().chain(of.lines.iter().map(value));
        text.push_str(&cells.collect::<Vec<_>>().join(","));
        text.push_str("\r\n");
    }
    text
}

/// A column's name of letters, digits and underscores, as a metric of Otava is called.
fn column(line: &Line, taken: &mut HashSet<String>) -> String {
    let words =
        if line.what.is(&HEADLINE) { line.name.clone() } else { format!("{} {}", line.name, line.what) };
    let plain: String = words.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let parts: Vec<&str> = plain.split('_').filter(|part| !part.is_empty()).collect();
    let name = parts.join("_");
    let free = (1..).map(|number| if number == 1 { name.clone() } else { format!("{name}_{number}") });
    free.into_iter().find(|name| taken.insert(name.clone())).unwrap_or_default()
}
