//! Doubts: reasons why a result is unreliable. Program logic depends on the kind of doubt.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::text::{Template, Text, Value};

const NOISY: Template = Template::new("doubt-too-noisy", "too noisy");
const NOISE: Template = Template::new("doubt-noise", "too noisy: {extent}");
const NOISE_EXPLAINED: Template = Template::new("doubt-noise-explained", "too noisy: {extent}; {cause}");
const NOISE_UNEXPLAINED: Template = Template::new("doubt-noise-unexplained", "too noisy: {extent}; {cause}");
const NO_CAUSE: Template = Template::new(
    "doubt-no-cause",
    "no visible cause: probably something else used the caches, memory or core",
);
const FEW_SAMPLES: Template = Template::new("doubt-few-samples", "too few samples");
const FEW_SAMPLES_OF: Template =
    Template::new("doubt-too-few-samples", "too few samples ({n}) for an interval; use --full for more time");
const UNRELIABLE: Template = Template::new("doubt-see-notes", "unreliable");

/// Maximum length in characters of a short doubt.
const SHORT: usize = 32;

/// The kind of a doubt, for program logic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoubtKind {
    /// The interval or the scatter exceeds the measurement's target.
    TooNoisy,
    /// There is no interval.
    TooFewSamples,
    /// Anything else.
    Other,
}

/// A reason why a result is unreliable. In a record, it is stored in two keys of the result: `doubt` and `doubt_code`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Written", into = "Written")]
pub struct Doubt(Text);

/// The JSON form, written among the keys of the unreliable result.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Written {
    /// Why the result is unreliable: "too noisy: …", "placed 97 % …". Absent if nothing is wrong.
    doubt: String,
    /// The code of the doubt, for programs: it stays the same if the words change. Absent in records written by version 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    doubt_code: Option<String>,
}

impl From<Written> for Doubt {
    fn from(written: Written) -> Self {
        Self(Text::read(written.doubt_code, written.doubt))
    }
}

impl From<Doubt> for Written {
    fn from(doubt: Doubt) -> Self {
        Self { doubt: doubt.0.to_string(), doubt_code: doubt.0.code().map(str::to_owned) }
    }
}

/// The extent and cause of a result's noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// The extent: `too noisy: the median is known only to ±12 %`.
    pub extent: String,
    /// The known causes, or a statement that there is no visible cause.
    pub cause: String,
    /// Whether a cause is known.
    pub is_explained: bool,
}

impl Doubt {
    /// A doubt because the interval is too wide or the scatter too large.
    pub fn too_noisy(extent: Text) -> Self {
        Self(crate::text!(NOISE, extent))
    }

    /// Like [`Self::too_noisy`], with the known causes, or a statement that there is no visible cause.
    pub fn too_noisy_for(extent: Text, causes: Vec<Text>) -> Self {
        Self(if causes.is_empty() {
            crate::text!(NOISE_UNEXPLAINED, extent, cause = Text::from(NO_CAUSE))
        } else {
            crate::text!(NOISE_EXPLAINED, extent, cause = causes)
        })
    }

    /// The same doubt about noise, with a cause found by other means; `None` if a cause is already known, or
    /// if the doubt is not about noise.
    pub fn explained_by(&self, cause: Text) -> Option<Self> {
        let noise = self.noise().filter(|noise| !noise.is_explained)?;
        // In the sentence, the fixed words of the template precede the extent; they are removed here.
        let extent = noise.extent.strip_prefix(NOISE.words.strip_suffix("{extent}")?)?.to_owned();
        Some(Self(crate::text!(NOISE_EXPLAINED, extent, cause)))
    }

    /// A doubt because there are too few samples for an interval.
    pub fn too_few_samples(n: u64) -> Self {
        Self(crate::text!(FEW_SAMPLES_OF, n))
    }

    /// The kind of doubt.
    pub fn kind(&self) -> DoubtKind {
        let is_any = |templates: &[&Template]| templates.iter().any(|template| self.0.is(template));
        if is_any(&[&NOISY, &NOISE, &NOISE_EXPLAINED, &NOISE_UNEXPLAINED]) {
            DoubtKind::TooNoisy
        } else if is_any(&[&FEW_SAMPLES, &FEW_SAMPLES_OF]) {
            DoubtKind::TooFewSamples
        } else {
            DoubtKind::Other
        }
    }

    /// A short form of the doubt.
    pub fn gist(&self) -> Self {
        match self.kind() {
            DoubtKind::TooNoisy => Self(NOISY.into()),
            DoubtKind::TooFewSamples => Self(FEW_SAMPLES.into()),
            DoubtKind::Other if self.to_string().chars().count() > SHORT => Self(UNRELIABLE.into()),
            DoubtKind::Other => self.clone(),
        }
    }

    /// The noise and its cause; `None` if the doubt is not about noise.
    pub fn noise(&self) -> Option<Noise> {
        (self.kind() == DoubtKind::TooNoisy).then_some(())?;
        let words = self.to_string();
        let (extent, cause) = words.split_once("; ")?;
        let is_explained = self.0.code() != Some(NOISE_UNEXPLAINED.code);
        Some(Noise { extent: extent.to_owned(), cause: cause.to_owned(), is_explained })
    }

    /// The doubt as a sentence.
    pub fn text(&self) -> &Text {
        &self.0
    }

    /// The code of the doubt; text from another program has none.
    pub fn code(&self) -> Option<&str> {
        self.0.code()
    }

    /// The value of a placeholder.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.0.value(name)
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Also converts text from another program.
impl<T: Into<Text>> From<T> for Doubt {
    fn from(words: T) -> Self {
        Self(words.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Labels, Measurement, text};

    fn read_back(doubt: &Doubt) -> Doubt {
        let mut m = Measurement::new("core.clock", Labels::new(), vec![3e9]);
        m.doubt = Some(doubt.clone());
        let written = serde_json::to_string(&m).unwrap();
        serde_json::from_str::<Measurement>(&written).unwrap().doubt.unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let extent = || text!("the median is known to ±{width} only", width = Value::Share(0.12));
        let unexplained = Doubt::too_noisy_for(extent(), Vec::new());
        let explained =
            Doubt::too_noisy_for(extent(), vec![text!("stolen", "steal time in {n} of 9 samples", n = 3u64)]);
        for (doubt, is_explained) in [(unexplained, false), (explained, true)] {
            for doubt in [read_back(&doubt), doubt] {
                assert_eq!((doubt.kind(), doubt.gist().kind()), (DoubtKind::TooNoisy, DoubtKind::TooNoisy));
                let noise = doubt.noise().unwrap();
                assert!(noise.is_explained == is_explained && noise.extent.ends_with("only"), "{noise:?}");
                assert_eq!(read_back(&doubt.gist()).code(), Some(NOISY.code));
            }
        }
        let few = read_back(&Doubt::too_few_samples(3));
        assert_eq!((few.kind(), few.code()), (DoubtKind::TooFewSamples, Some(FEW_SAMPLES_OF.code)));
        let alone = Doubt::too_noisy(extent());
        assert_eq!((alone.kind(), alone.noise()), (DoubtKind::TooNoisy, None));
        let other = read_back(&text!("moved", "{n} wake-ups were on another CPU", n = 3u64).into());
        assert_eq!((other.kind(), other.noise(), other.code()), (DoubtKind::Other, None, Some("moved")));
        assert_eq!(other.gist(), other);
    }

    #[test]
    fn noise_of_no_cause_takes_one_that_shows_elsewhere() {
        let extent = || text!("the median is known to ±{width} only", width = Value::Share(0.12));
        let others = || text!("others", "other programs used 1.4 CPUs");
        let unexplained = Doubt::too_noisy_for(extent(), Vec::new());
        for doubt in [read_back(&unexplained), unexplained] {
            let explained = read_back(&doubt.explained_by(others()).unwrap());
            let words = explained.to_string();
            assert!(
                words.starts_with("too noisy: the median is known")
                    && words.ends_with("; other programs used 1.4 CPUs"),
                "{words}"
            );
            assert!(explained.noise().unwrap().is_explained && explained.explained_by(others()).is_none());
        }
        assert_eq!(Doubt::too_few_samples(3).explained_by(others()), None);
    }
}
