//! A reference machine's record with the claims of its documents, for programs.

use std::io;

use record::Record;
use reference::expression::Atom;
use reference::judge::{Answer, Figure, Gap, Verdict};
use serde_json::{Value, json};

/// The record with a list `claims` beside its own fields, which readers of records pass over.
pub fn record(record: &Record, answers: &[Answer]) -> io::Result<String> {
    let text = record.to_json()?;
    let claims = Value::to_string(&to_json(answers));
    let record = text.trim_end().strip_suffix('}').unwrap_or_default().trim_end();
    Ok(format!("{record},\n  \"claims\": {claims}\n}}\n"))
}

fn to_json(answers: &[Answer]) -> Value {
    let figure = |of: &Figure| json!({"figure": of.atom.to_string(), "value": of.value, "unit": of.unit, "line": of.line});
    let one = |answer: &Answer| {
        let (refuted, needs): (&[Gap], &[Atom]) = match &answer.verdict {
            Verdict::Holds => (&[], &[]),
            Verdict::DoesNotHold(gaps) => (gaps, &[]),
            Verdict::CannotTell { needs } => (&[], needs),
        };
        let sides = |gap: &Gap| {
            let met = !refuted.contains(gap);
            json!({"found": gap.found, "claimed": gap.claimed, "unit": gap.unit, "ratio": gap.ratio(), "met": met})
        };
        json!({
            "id": answer.claim.id,
            "document": answer.claim.document,
            "machines": answer.claim.machines,
            "says": answer.claim.says,
            "verdict": answer.verdict.code(),
            "compared": answer.compared.iter().map(sides).collect::<Vec<_>>(),
            "needs": needs.iter().map(Atom::to_string).collect::<Vec<_>>(),
            "measured_by": answer.claim.measured_by,
            "evidence": answer.evidence.iter().map(figure).collect::<Vec<_>>(),
        })
    };
    answers.iter().map(one).collect()
}
