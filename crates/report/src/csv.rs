//! Comma-separated values (RFC 4180): a line a figure, of a comparison a line a figure and record.

use record::comparison::Row;
use record::statistics::Verdict;
use record::{Better, Comparison, Label, Record, metrics};

/// The columns.
const HEAD: &str = "kind,group,figure,metric,unit,better,per,record,value,ratio,ratio_low,ratio_high,verdict,share,slower,from,doubt";

/// Every row of a comparison, first those that sum up and then every figure; numbers as the record has them.
pub fn comparison(c: &Comparison) -> String {
    let mut text = format!("{HEAD}\r\n");
    for (kind, rows) in [("row", &c.rows), ("figure", &c.figures)] {
        for row in rows {
            write(&mut text, c, kind, row);
        }
    }
    text
}

/// Every figure of a record, with a column for each label that any of them has; numbers as the record has them.
pub fn record(record: &Record) -> String {
    let labels: Vec<Label> = Label::ALL.to_vec();
    let has = |label: &Label| record.measurements.iter().any(|m| m.labels.get(*label).is_some());
    let labels: Vec<Label> = labels.into_iter().filter(has).collect();
    let names: String = labels.iter().map(|label| format!(",{}", label.name())).collect();
    let mut text =
        format!("metric{names},unit,better,samples,min,median,mean,p99,max,mad,low,high,doubt\r\n");
    for m in &record.measurements {
        let s = &m.summary;
        let (low, high) = s.interval.unzip();
        let of_samples = |value: f64| number(Some(value).filter(|_| s.n > 0));
        let figures = [
            of_samples(s.min),
            of_samples(s.median),
            number(s.mean),
            number(s.p99),
            of_samples(s.max),
            of_samples(s.mad),
            number(low),
            number(high),
        ];
        let fields = std::iter::once(field(&m.metric))
            .chain(
                labels
                    .iter()
                    .map(|label| m.labels.get(*label).map_or(String::new(), |key| field(&key.to_string()))),
            )
            .chain([
                field(&m.unit),
                better(metrics::find(&m.metric).and_then(|metric| metric.better)).to_owned(),
                s.n.to_string(),
            ])
            .chain(figures)
            .chain([field(&m.doubt.as_ref().map(ToString::to_string).unwrap_or_default())]);
        text.push_str(&fields.collect::<Vec<_>>().join(","));
        text.push_str("\r\n");
    }
    text
}

fn number(value: Option<f64>) -> String {
    value.filter(|v| v.is_finite()).map_or(String::new(), |v| v.to_string())
}

fn better(better: Option<Better>) -> &'static str {
    match better {
        Some(Better::Higher) => "higher",
        Some(Better::Lower) => "lower",
        None => "",
    }
}

fn write(text: &mut String, c: &Comparison, kind: &str, row: &Row) {
    for (index, cell) in
        row.cells.iter().enumerate().filter(|(_, cell)| cell.value.is_some() || cell.doubt.is_some())
    {
        let (verdict, share) = match &cell.verdict {
            Some(Verdict::Costs { share, .. }) => ("costs", Some(*share)),
            Some(Verdict::NotResolved { smaller_than }) => ("not-resolved", Some(*smaller_than)),
            Some(Verdict::TooNoisy { .. }) => ("too-noisy", None),
            Some(Verdict::NotMeasurable { .. }) => ("not-measurable", None),
            None => ("", None),
        };
        let fields = [
            kind.to_owned(),
            field(&row.group),
            field(&row.what.to_string()),
            field(&row.metric),
            field(&row.unit),
            better(row.better).to_owned(),
            row.per.map_or("", |per| per.word()).to_owned(),
            field(c.subjects.get(index).map_or("", |subject| subject.name.as_str())),
            number(cell.value),
            number(cell.ratio),
            number(cell.interval.map(|interval| interval.0)),
            number(cell.interval.map(|interval| interval.1)),
            verdict.to_owned(),
            number(share),
            cell.slower.map_or(String::new(), |slower| slower.to_string()),
            field(cell.from.as_deref().unwrap_or("")),
            field(&cell.doubt.as_ref().map(ToString::to_string).unwrap_or_default()),
        ];
        text.push_str(&fields.join(","));
        text.push_str("\r\n");
    }
}

/// A field: quoted where it must be. What a spreadsheet would take for a formula gets an apostrophe before it.
pub(crate) fn field(text: &str) -> String {
    let clean = crate::text::clean(text);
    let formula = clean.starts_with(['=', '+', '-', '@']);
    let clean = if formula { format!("'{clean}") } else { clean };
    if clean.contains([',', '"']) { format!("\"{}\"", clean.replace('"', "\"\"")) } else { clean }
}

#[cfg(test)]
mod tests {
    #[test]
    fn fields_keep_their_column_and_are_no_formulas() {
        assert_eq!(super::field("a,b"), "\"a,b\"");
        assert_eq!(super::field("say \"x\""), "\"say \"\"x\"\"\"");
        assert_eq!(super::field("=cmd()"), "'=cmd()");
        assert_eq!(super::field("a\nb"), "a b");
    }
}
