//! The record of a reference machine with the claims of its documents, as JSON for programs.

use std::io;

use record::Record;
use reference::claims::JudgedClaim;

/// The record with an additional list `claims`, which readers of records ignore.
pub fn record(record: &Record, answers: &[JudgedClaim]) -> io::Result<String> {
    let text = record.to_json()?;
    let claims = serde_json::to_string(answers)?;
    let record = text.trim_end().strip_suffix('}').unwrap_or_default().trim_end();
    Ok(format!("{record},\n  \"claims\": {claims}\n}}\n"))
}
