//! A record's results compared with published results of its peers.

use diagnose::{Comparable, Like, Passport, Row};
use record::diagnosis::Position;
use record::phrase::count_noun;
use record::units;

use super::screen::Screen;
use crate::contents::summary::{ends_of, position_word};
use crate::paint::Tone;
use crate::table::{Field, Table};

/// Maximum number of results listed in the answer.
const MOST: usize = 3;

const ROWS: [Field<Row>; 5] = [
    ("result", |row| row.what.clone()),
    ("#here", |row| units::figure(row.value, row.unit)),
    ("#typical", |row| row.range.map_or("-".to_owned(), |range| ends_of(range, row.unit))),
    ("?#sources", |row| if row.sources.is_empty() { "-".to_owned() } else { row.sources.len().to_string() }),
    ("stands", stands),
];

/// The column with each result's percentile among other records, if such records were given.
const AMONG: Field<Row> =
    ("#percentile", |row| row.percentile.map_or("-".to_owned(), |share| format!("{:.0}", share * 100.0)));

/// A result's position among published results. A normal result outside the printed range shows the tolerance.
fn stands(row: &Row) -> String {
    let is_outside = row.range.is_some_and(|(low, high)| !(low..=high).contains(&row.value));
    let tolerance = row.tolerance.filter(|_| is_outside && row.position == Some(Position::Normal));
    let within = tolerance.map(|share| format!(" with {:.0} % tolerance", share * 100.0)).unwrap_or_default();
    match row.position {
        None if row.unreliable => "unreliable".to_owned(),
        Some(Position::UnknownMachine) | None => "nothing published".to_owned(),
        Some(position) if row.of_bare_metal => {
            format!("{}{within}, from bare metal", position_word(position))
        }
        Some(position) => format!("{}{within}", position_word(position)),
    }
}

/// A result compared with its published range, in a sentence.
fn sentence(row: &Row, like: &Like) -> String {
    let published = row.range.zip(row.of.as_ref()).map(|(range, of)| {
        let none = if like.design.as_ref() == Some(of) { "" } else { ", none for this design" };
        let sources = count_noun(row.sources.len(), "published source");
        format!(" ({} in {sources} for {of}{none})", ends_of(range, row.unit))
    });
    let value = units::figure(row.value, row.unit);
    format!("{} {value}: {}{}", row.what, stands(row), published.unwrap_or_default())
}

/// The answer: the results outside the published range.
fn answer(like: &Like) -> String {
    if let [one] = like.figures.as_slice() {
        return sentence(one, like);
    }
    let stand = |position| like.figures.iter().filter(move |row| row.position == Some(position));
    let outside: Vec<&Row> = stand(Position::Low).chain(stand(Position::High)).collect();
    let judged = outside.len() + stand(Position::Normal).count();
    if let Some(disturbed) = &like.disturbed {
        return format!("not judged, because {disturbed} during this run. Measure again");
    }
    if judged == 0 {
        return "no published results for comparison".to_owned();
    }
    let judged = count_noun(judged, "result");
    let said = outside.iter().take(MOST).map(|row| format!(". {}", sentence(row, like)));
    format!("{} of {judged} outside the published range{}", outside.len(), said.collect::<String>())
}

/// The answer, the table, and its sources.
pub fn like(screen: &mut Screen, like: &Like) {
    let of = like
        .design
        .clone()
        .unwrap_or_else(|| "unknown machine (no published results for its processor)".to_owned());
    let guest = if like.guest { ", as a guest" } else { "" };
    screen.paragraph(&[], Tone::Strong, format!("{of}{guest}: {}.", answer(like)));
    if let Some(others) = like.among {
        screen.say(format!("Percentiles refer to {} of similar machines.", count_noun(others, "record")));
    }
    let mut fields = ROWS.to_vec();
    fields.extend(like.among.map(|_| AMONG));
    // If the answer states one position for all results, the column with the position is omitted.
    fields.retain(|field| field.0 != "stands" || like.disturbed.is_none());
    let mut table = Table::with_fields("", None, &fields);
    like.figures.iter().for_each(|row| table.item(&fields, row));
    if like.figures.is_empty() {
        return;
    }
    screen.blank();
    screen.table(&table, 0);
    let sourced = like.figures.iter().filter(|row| !row.sources.is_empty());
    let sources = sourced.map(|row| {
        let of = row.of.as_ref().map(|of| format!("{of}: ")).unwrap_or_default();
        (row.what.clone(), format!("{of}{}", row.sources.join("; ")))
    });
    screen.list("Sources", sources);
}

/// The result of a class check in one line.
pub fn passport_line(passport: &Passport, baseline: &str) -> String {
    let of = passport.design.as_ref().map(|design| format!("{design}, ")).unwrap_or_default();
    let interval = passport.interval.map(|(low, high)| format!(" [{low:.3}, {high:.3}]")).unwrap_or_default();
    let ratio = passport.clock_ratio.unwrap_or_default();
    let clock = format!("clock ratio to {baseline} {ratio:.3}{interval}");
    match passport.outcome {
        Comparable::Comparable => format!("comparable: {of}{clock}"),
        Comparable::Convertible => {
            format!("convertible: {of}{clock}. Multiply CPU-bound times by {ratio:.3}")
        }
        Comparable::No => {
            let reasons: Vec<String> = passport.reasons.iter().map(ToString::to_string).collect();
            format!("not comparable with {baseline}: {}", reasons.join("; "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_normal_result_outside_the_printed_range_shows_the_tolerance() {
        let row = |value: f64, position| Row {
            what: String::new(),
            value,
            unit: "ns",
            range: Some((89.0, 89.4)),
            of: None,
            of_bare_metal: false,
            position: Some(position),
            sources: Vec::new(),
            tolerance: Some(0.1),
            unreliable: false,
            percentile: None,
        };
        assert!(stands(&row(92.0, Position::Normal)).contains("10 %"));
        assert_eq!(stands(&row(89.2, Position::Normal)), position_word(Position::Normal));
        assert_eq!(stands(&row(120.0, Position::High)), position_word(Position::High));
    }
}
