//! The reasons why a text yields no record.

use std::collections::BTreeSet;

use record::import::Origin;

/// The reason why a text yields no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// None of the texts contains output of a supported tool.
    #[error("{}", describe_unknown(*.lines, *.rows))]
    NothingKnown {
        /// The number of non-blank lines.
        lines: u64,
        /// The number of table rows with numbers.
        rows: u64,
    },
    /// The description of a table matches no row.
    #[error(
        "--table {0:?} matches no row: the table must be below that heading, have that column and contain numbers"
    )]
    UnusedTable(String),
    /// The outputs contain no readable value, because the tool had no permission or printed only a header.
    #[error("the text contains output of {}, but no usable values", .tools.iter().map(String::as_str).collect::<Vec<_>>().join(", "))]
    NothingRead {
        /// The tools that wrote the outputs.
        tools: BTreeSet<String>,
    },
    /// The outputs are from several machines, but nothing separates the machines.
    #[error(
        "{0}: the text describes two machines. Separate them with --split headings, --split files or --split REGEX"
    )]
    SeveralMachines(Clash),
    /// A line contains the same label twice, as printed by sdiff.
    #[error("line {1} has two values of {0:?} side by side; import the text of each machine by itself")]
    SideBySide(String, u64),
    /// The input exceeds a limit for one import.
    #[error("the text exceeds {0}; import it in parts")]
    TooMuch(String),
}

/// A contradiction within the data of one machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Clash {
    /// Two lines that cannot be from the same machine.
    #[error("{}, and {}", shorten(&.0[0]), shorten(&.0[1]))]
    Lines(Box<[Origin; 2]>),
    /// The first cells of two table rows, each with its line.
    #[error(
        "a table has results of {:?} (line {}) and {:?} (line {})",
        .0[0].0, .0[0].1, .0[1].0, .0[1].1
    )]
    Labels([(String, u64); 2]),
}

fn describe_unknown(lines: u64, rows: u64) -> String {
    match lines {
        0 => "the text is empty".to_owned(),
        1 => "its only line is not output of a supported tool".to_owned(),
        lines if rows == 0 => format!("none of the {lines} lines is output of a supported tool"),
        lines => format!(
            "none of the {lines} lines is output of a supported tool, but {rows} are table rows with numbers: map them to \
             a metric with --table"
        ),
    }
}

fn shorten(origin: &Origin) -> String {
    let words: Vec<&str> = origin.says.split_whitespace().collect();
    let says: String = words.join(" ").chars().take(60).collect();
    format!("{} line {} has {says:?}", origin.text, origin.line)
}
