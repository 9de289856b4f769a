//! Pieces of a line, each with its tone. The text of a piece is made safe here, so that no unsafe string from a machine
//! can reach a terminal.

use crate::text::clean;

/// The highlighting of a piece. Color never carries information that is missing from the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Without highlighting.
    Plain,
    /// Headings and the most important text.
    Strong,
    /// Secondary text.
    Quiet,
    /// Costs some speed.
    Warning,
    /// Costs much.
    Serious,
    /// Gains speed.
    Better,
}

impl Tone {
    /// The SGR parameters; only the 16 colors that follow the terminal's theme.
    fn sgr(self) -> &'static str {
        match self {
            Tone::Plain => "",
            Tone::Strong => "1",
            Tone::Quiet => "2",
            Tone::Warning => "33",
            Tone::Serious => "1;31",
            Tone::Better => "32",
        }
    }
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    tone: Tone,
    text: String,
}

impl Span {
    /// A piece; control sequences in it are made visible.
    pub fn new(tone: Tone, text: impl AsRef<str>) -> Self {
        Self { tone, text: clean(text.as_ref()) }
    }

    /// A plain piece.
    pub fn plain(text: impl AsRef<str>) -> Self {
        Self::new(Tone::Plain, text)
    }

    /// A quiet piece.
    pub fn quiet(text: impl AsRef<str>) -> Self {
        Self::new(Tone::Quiet, text)
    }

    /// A strong piece.
    pub fn strong(text: impl AsRef<str>) -> Self {
        Self::new(Tone::Strong, text)
    }

    /// The text of the piece.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The highlighting of the piece.
    pub fn tone(&self) -> Tone {
        self.tone
    }
}

/// A line of pieces in the form written to the terminal, without trailing spaces.
pub(crate) fn render(spans: &[Span], color: bool) -> String {
    let kept = spans.iter().rposition(|span| !span.text.trim_end().is_empty()).map_or(0, |last| last + 1);
    let mut line = String::new();
    let mut tone = Tone::Plain;
    for (at, span) in spans[..kept].iter().enumerate() {
        let text = if at + 1 == kept { span.text.trim_end() } else { &span.text };
        if color && span.tone != tone {
            if tone != Tone::Plain {
                line.push_str("\x1b[0m");
            }
            if span.tone != Tone::Plain {
                line.push_str(&format!("\x1b[{}m", span.tone.sgr()));
            }
            tone = span.tone;
        }
        line.push_str(text);
    }
    if color && tone != Tone::Plain {
        line.push_str("\x1b[0m");
    }
    line
}

/// A line from [`render`] without its colors.
pub(crate) fn without_colour(line: &str) -> String {
    let mut pieces = line.split('\x1b');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once('m').map_or(piece, |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_only_when_asked_for() {
        let spans = [Span::strong("a"), Span::plain(" b \u{1b}[2J "), Span::quiet("  ")];
        assert_eq!(render(&spans, false), "a b \\x1b[2J");
        assert_eq!(render(&spans, true), "\x1b[1ma\x1b[0m b \\x1b[2J");
    }
}
