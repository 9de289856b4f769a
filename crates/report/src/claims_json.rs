//! A reference machine's record with the claims of its documents, for programs.

use std::io;

use record::Record;
use reference::claims::JudgedClaim;

/// The record with a list `claims` beside its own fields, which readers of records pass over.
pub fn record(record: &Record, answers: &[JudgedClaim]) -> io::Result<String> {
    let text = record.to_json()?;
    let claims = serde_json::to_string(answers)?;
    let record = text.trim_end().strip_suffix('}').unwrap_or_default().trim_end();
    Ok(format!("{record},\n  \"claims\": {claims}\n}}\n"))
}
