//! How an input text is split by machine, in addition to the host names in its prompts.

use regex_lite::{Regex, RegexBuilder};

/// Maximum size of a compiled regular expression, bytes.
const MOST_REGEX: usize = 1 << 20;

/// How an input text is split by machine, in addition to the host names in its prompts.
#[derive(Clone, Debug, Default)]
pub enum Split {
    /// Split only at host names in prompts.
    #[default]
    Hosts,
    /// Each file is a separate machine.
    Files,
    /// A heading names the machine to which the outputs below it belong; the first cell of a table row names the machine of that row.
    /// Headings of one level that begin with the same words refer to the same machine.
    Headings,
    /// A line that matches this expression starts the outputs of a machine, which is named by the first capture group.
    /// Without a group, each such line starts a new machine.
    Lines(Regex),
}

/// Why an argument of `--split` is rejected.
#[derive(Debug, thiserror::Error)]
pub enum SplitError {
    /// The expression is empty.
    #[error("--split is empty; use files, headings or a regular expression")]
    Empty,
    /// The text is not a valid regular expression.
    #[error("--split {0:?} is not a regular expression: {1}; files and headings also work")]
    Expression(String, regex_lite::Error),
}

impl Split {
    /// `files`, `headings`, or a regular expression.
    ///
    /// # Errors
    ///
    /// The text has none of these forms.
    pub fn parse(text: &str) -> Result<Self, SplitError> {
        match text {
            "files" => Ok(Self::Files),
            "headings" => Ok(Self::Headings),
            "" => Err(SplitError::Empty),
            text => {
                let expression = RegexBuilder::new(text).size_limit(MOST_REGEX).build();
                expression.map(Self::Lines).map_err(|error| SplitError::Expression(text.to_owned(), error))
            }
        }
    }
}
