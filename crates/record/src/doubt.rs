//! Doubts: what stands against a figure. A record holds them as text; how that is written and how it is read stand here, so
//! that nobody else decides by its words.

use crate::Measurement;

/// How the text of a figure begins that is too noisy.
const TOO_NOISY: &str = "too noisy";
/// How the text of a figure begins that has too few samples for an interval.
const TOO_FEW_SAMPLES: &str = "too few samples";
/// How a cause begins that is none.
const NO_CAUSE: &str = "no cause seen";

/// What a doubt is about, as far as something is decided by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoubtKind {
    /// The interval, or the scatter, is wider than the measurement's target.
    TooNoisy,
    /// There is no interval.
    TooFewSamples,
    /// Anything else.
    Other,
}

/// A doubt that was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Doubt<'a> {
    /// What it is about.
    pub kind: DoubtKind,
    /// All of it.
    pub text: &'a str,
}

/// How noisy a figure is and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise<'a> {
    /// How much: `too noisy: the median is known to ±12 % only`.
    pub extent: &'a str,
    /// The cause that the marks tell.
    pub cause: &'a str,
    /// Whether that is one.
    pub is_explained: bool,
}

/// The text of a figure that is too noisy: how much, and the cause where marks tell one.
pub fn too_noisy(how: &str, cause: Option<&str>) -> String {
    let none = format!("{NO_CAUSE} from here: another user of the caches, the memory or the core below");
    format!("{TOO_NOISY}: {how}; {}", cause.unwrap_or(&none))
}

/// The text of a figure that has too few samples for an interval.
pub fn too_few_samples(n: u64) -> String {
    format!("{TOO_FEW_SAMPLES} ({n}) for an interval; give it more time with --full")
}

impl<'a> Doubt<'a> {
    /// A doubt of this text.
    pub fn read(text: &'a str) -> Self {
        let kind = if text.starts_with(TOO_NOISY) {
            DoubtKind::TooNoisy
        } else if text.starts_with(TOO_FEW_SAMPLES) {
            DoubtKind::TooFewSamples
        } else {
            DoubtKind::Other
        };
        Self { kind, text }
    }

    /// Its gist: the text up to its first explanation.
    pub fn gist(&self) -> &'a str {
        self.text.split([':', ';', '(']).next().unwrap_or(self.text).trim()
    }

    /// The noise and its cause, where it is about noise of which a cause is told.
    pub fn noise(&self) -> Option<Noise<'a>> {
        let (extent, cause) = self.text.split_once("; ").filter(|_| self.kind == DoubtKind::TooNoisy)?;
        Some(Noise { extent, cause, is_explained: !cause.starts_with(NO_CAUSE) })
    }
}

impl Measurement {
    /// What stands against it.
    pub fn read_doubt(&self) -> Option<Doubt<'_>> {
        self.doubt.as_deref().map(Doubt::read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let unexplained = too_noisy("the median is known to ±12 % only", None);
        let doubt = Doubt::read(&unexplained);
        assert_eq!((doubt.kind, doubt.gist()), (DoubtKind::TooNoisy, "too noisy"));
        assert!(doubt.noise().is_some_and(|noise| !noise.is_explained && noise.extent.ends_with("only")));
        let explained = too_noisy("samples scatter by ±3 %", Some("time was stolen in 3 of 9 samples"));
        assert!(Doubt::read(&explained).noise().is_some_and(|noise| noise.is_explained));
        let few = too_few_samples(3);
        assert_eq!(Doubt::read(&few).kind, DoubtKind::TooFewSamples);
        let other = Doubt::read("3 wake-ups were on another CPU");
        assert_eq!((other.kind, other.noise()), (DoubtKind::Other, None));
    }
}
