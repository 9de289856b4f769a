//! What differs between the subjects of a comparison.

use std::collections::BTreeMap;

use record::comparison::Difference;

use super::facts::Fact;

/// What differs between the subjects: facts that at least one of them tells otherwise than another. A fact that only some
/// records tell is no difference by itself.
pub(super) fn differences(all: &[Vec<Fact>]) -> Vec<Difference> {
    let mut order: Vec<(String, &Fact)> = Vec::new();
    let mut values: BTreeMap<String, Vec<Option<String>>> = BTreeMap::new();
    for (index, facts) in all.iter().enumerate() {
        for fact in facts {
            let row = values.entry(fact.what.to_string()).or_insert_with_key(|what| {
                order.push((what.clone(), fact));
                vec![None; all.len()]
            });
            row[index] = Some(fact.value.clone());
        }
    }
    let mut found: Vec<Difference> = Vec::new();
    for (what, fact) in order {
        let Some(row) = values.remove(&what) else { continue };
        let mut reported = row.iter().flatten();
        let first = reported.next();
        if reported.any(|value| Some(value) != first) {
            found.push(Difference {
                kind: fact.kind,
                what: fact.what.clone(),
                code: fact.what.code().unwrap_or_default().to_owned(),
                from: fact.from.to_owned(),
                values: row,
            });
        }
    }
    found.sort_by_key(|difference| difference.kind);
    found
}
