//! The figures of a record, read from their text without a parser: thousands of records have millions of them.

use std::borrow::Cow;

use skim::Reader;

use crate::{Better, Detail, Doubt, Key, Labels, Measurement, Summary, Unwanted};

/// The figures of the list that is next, without their samples and what is unwanted; `None` where it is for the parser to read them,
/// or to refuse them.
pub(crate) fn read_all(reader: &mut Reader, unwanted: &Unwanted) -> Option<Vec<Measurement>> {
    let mut figures = Vec::new();
    let mut open = reader.list()?;
    let mut items = 0;
    while reader.item(&mut open)? {
        items += 1;
        figures.extend(read_one(reader, unwanted)?);
    }
    (items <= skim::MOST_ITEMS).then_some(figures)
}

/// The string that is next; the parser reads one with escapes.
fn read_word<'t>(reader: &mut Reader<'t>) -> Option<Cow<'t, str>> {
    let mut ahead = reader.clone();
    if let Some(word) = ahead.word() {
        *reader = ahead;
        return Some(Cow::Borrowed(word));
    }
    serde_json::from_slice(reader.value()?).ok().map(Cow::Owned)
}

/// Sets what is read once.
fn set<T>(place: &mut Option<T>, value: Option<T>) -> Option<()> {
    match place {
        Some(_) => None,
        None => {
            *place = Some(value?);
            Some(())
        }
    }
}

/// A figure; none where its metric is unwanted.
fn read_one(reader: &mut Reader, unwanted: &Unwanted) -> Option<Option<Measurement>> {
    let (mut metric, mut unit, mut better, mut labels, mut summary) = (None, None, None, None, None);
    let (mut doubt, mut doubt_code, mut detail, mut method) = (None, None, None, None);
    let mut open = reader.object()?;
    while let Some(key) = reader.key(&mut open)? {
        match key {
            b"metric" => {
                set(&mut metric, reader.word())?;
                if metric.is_some_and(|metric| unwanted.metrics.contains(&metric)) {
                    reader.close()?;
                    return Some(None);
                }
            }
            b"unit" => set(&mut unit, read_word(reader))?,
            b"better" => set(&mut better, read_better(reader))?,
            b"where" => set(&mut labels, read_labels(reader))?,
            b"summary" => set(&mut summary, read_summary(reader))?,
            b"detail" => set(&mut detail, read_detail(reader, unwanted.details))?,
            b"doubt" if unwanted.words => {
                let is_one = reader.peek()? == b'"';
                set(&mut doubt, reader.value().filter(|_| is_one).map(|_| Cow::Borrowed("")))?;
            }
            b"doubt" => set(&mut doubt, read_word(reader))?,
            b"doubt_code" => set(&mut doubt_code, read_word(reader))?,
            b"method" => set(&mut method, read_word(reader))?,
            _ if key.contains(&b'\\') => return None,
            _ => drop(reader.value()?),
        }
    }
    Some(Some(Measurement {
        metric: metric?.to_owned(),
        unit: unit?.into_owned(),
        better,
        labels: labels?,
        summary: summary?,
        samples: Vec::new(),
        marks: Vec::new(),
        distribution: Vec::new(),
        doubt: doubt.map(|words| Doubt::read(doubt_code.map(Cow::into_owned), words.into_owned())),
        detail: detail.unwrap_or_default(),
        method: method.map(Cow::into_owned),
        origin: None,
    }))
}

fn read_better(reader: &mut Reader) -> Option<Better> {
    match reader.word()? {
        "higher" => Some(Better::Higher),
        "lower" => Some(Better::Lower),
        _ => None,
    }
}

fn read_labels(reader: &mut Reader) -> Option<Labels> {
    let mut labels = Labels::new();
    let mut open = reader.object()?;
    while let Some(name) = reader.key(&mut open)? {
        let value = match reader.peek()? {
            b'"' => Key::Word(read_word(reader)?.into_owned()),
            b't' | b'f' => match reader.value()? {
                b"true" => Key::Switch(true),
                b"false" => Key::Switch(false),
                _ => return None,
            },
            _ => match reader.clone().count() {
                Some(count) => {
                    reader.value()?;
                    Key::Count(count)
                }
                None => Key::Number(reader.number()?),
            },
        };
        let plain = !name.iter().any(|byte| *byte == b'\\' || *byte < b' ');
        labels.0.insert(std::str::from_utf8(name).ok().filter(|_| plain)?.to_owned(), value);
    }
    Some(labels)
}

fn read_summary(reader: &mut Reader) -> Option<Summary> {
    let (mut n, mut interval) = (None, None);
    // As they stand in a summary.
    let [mut min, mut median, mut mad, mut max] = [None; 4];
    let [mut p95, mut p99, mut p999, mut mean, mut variation] = [None; 5];
    let mut open = reader.object()?;
    while let Some(key) = reader.key(&mut open)? {
        let place = match key {
            b"n" => {
                set(&mut n, reader.count())?;
                continue;
            }
            b"interval" => {
                set(&mut interval, read_pair(reader))?;
                continue;
            }
            b"min" => &mut min,
            b"median" => &mut median,
            b"mad" => &mut mad,
            b"max" => &mut max,
            b"p95" => &mut p95,
            b"p99" => &mut p99,
            b"p999" => &mut p999,
            b"mean" => &mut mean,
            b"variation" => &mut variation,
            _ => return None,
        };
        set(place, reader.number())?;
    }
    Some(Summary {
        n: n?,
        min: min?,
        median: median?,
        mad: mad?,
        max: max?,
        interval,
        p95,
        p99,
        p999,
        mean,
        variation,
    })
}

fn read_pair(reader: &mut Reader) -> Option<(f64, f64)> {
    let mut open = reader.list()?;
    let mut next = || reader.item(&mut open)?.then(|| reader.number())?;
    let pair = (next()?, next()?);
    (!reader.item(&mut open)?).then_some(pair)
}

/// The details but for those with these names, by the parser: they have all kinds of values.
fn read_detail(reader: &mut Reader, unwanted: &[&str]) -> Option<Detail> {
    let mut detail = Detail::default();
    let mut open = reader.object()?;
    while let Some(name) = reader.key(&mut open)? {
        let value = reader.value()?;
        let plain = !name.iter().any(|byte| *byte == b'\\' || *byte < b' ');
        let name = std::str::from_utf8(name).ok().filter(|_| plain)?;
        if !unwanted.contains(&name) {
            skim::memory_of(value).ok()?;
            let value: serde_json::Value = serde_json::from_slice(value).ok()?;
            detail.set_named(name, value);
        }
    }
    Some(detail)
}
