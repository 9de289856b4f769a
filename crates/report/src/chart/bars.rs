//! The bars of a report: rows of pieces on one scale. For screen readers, the text and result of each row replace its
//! bar.

/// How a piece of a bar is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// A result.
    Plain,
    /// A result of one of several kinds, which are numbered.
    Series(usize),
    /// A good result.
    Good,
    /// A part that costs some speed.
    Warning,
    /// A part that costs a lot of speed.
    Serious,
    /// The loss by one cause.
    Lost,
    /// An unexplained or unused part.
    Nobody,
    /// A result without a resolved difference.
    Same,
    /// The typical range.
    Typical,
}

impl Fill {
    /// The class in the style sheet.
    pub(crate) fn class(self) -> String {
        match self {
            Fill::Plain => "f0".to_owned(),
            Fill::Series(number) => format!("f{}", number % 6),
            Fill::Good => "good".to_owned(),
            Fill::Warning => "warning".to_owned(),
            Fill::Serious => "serious".to_owned(),
            Fill::Lost => "lost".to_owned(),
            Fill::Nobody => "nobody".to_owned(),
            Fill::Same => "same".to_owned(),
            Fill::Typical => "typical".to_owned(),
        }
    }
}

/// The shape of a piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// A box with the height of the bar.
    #[default]
    Whole,
    /// A thin line, which shows an interval.
    Line,
    /// A dot at the beginning of the piece.
    Dot,
    /// A ring at the beginning of the piece.
    Ring,
    /// A vertical line at the beginning of the piece.
    Tick,
}

/// A piece of a bar; its ends are from 0 to 1, as shares of the length of the bar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Piece {
    /// The beginning of the piece.
    pub from: f64,
    /// The end of the piece.
    pub to: f64,
    /// How the piece is filled.
    pub fill: Fill,
    /// The shape of the piece.
    pub form: Form,
    /// Whether the result is unreliable.
    pub unreliable: bool,
    /// The tooltip.
    pub says: String,
}

impl Piece {
    /// A piece with the height of its bar.
    pub(crate) fn new(from: f64, to: f64, fill: Fill, says: String) -> Self {
        Self { from, to, fill, form: Form::Whole, unreliable: false, says }
    }

    /// A dot, a ring or a vertical line at a position.
    pub(crate) fn at(place: f64, form: Form, fill: Fill, says: String) -> Self {
        Self { form, ..Self::new(place, place, fill, says) }
    }
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bar {
    /// The name of the row.
    pub name: String,
    /// The source of the result; empty if obvious.
    pub how: String,
    /// The pieces of the bar; each is drawn over the previous ones.
    pub pieces: Vec<Piece>,
    /// The row's result with its unit.
    pub figure: String,
    /// A remark next to the result.
    pub beside: String,
    /// Whether this row is the total of the other rows.
    pub strong: bool,
}

/// A column of bars.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bars {
    /// The title of the bars.
    pub title: String,
    /// The rows.
    pub rows: Vec<Bar>,
    /// Labels below the bars, at positions from 0 to 1; a line runs through all bars at each position.
    pub ticks: Vec<(f64, String)>,
    /// The meaning of the fills.
    pub legend: Vec<(Fill, String)>,
}
