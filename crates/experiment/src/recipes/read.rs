//! A recipe's file, read and checked; what is wrong with it is told with its line.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::needs::Need;
use super::recipe::{Origin, Recipe, Service, Setting};
use super::score::{Kind, Pick, Score, Stream, compile, places};
use super::template::{GIVEN, Template, Values};

/// Recipes are a page of text; a larger file is something else.
const MOST_BYTES: u64 = 256 << 10;

/// Seconds that a service may take to get ready when its recipe does not say.
const PATIENCE: f64 = 120.0;

/// What is wrong with a recipe's file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// The file, or the name of a recipe that ships with linespeed.
    pub file: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// What is wrong, and the way out.
    pub why: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.why),
            None => write!(f, "{}: {}", self.file, self.why),
        }
    }
}

impl std::error::Error for ReadError {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: Spanned<String>,
    what: String,
    command: Spanned<Vec<Spanned<String>>>,
    #[serde(default)]
    environment: BTreeMap<String, Spanned<String>>,
    copies: Option<Spanned<bool>>,
    unit: Option<String>,
    work: Option<Spanned<f64>>,
    #[serde(default)]
    score: Vec<RawScore>,
    expect: Option<Spanned<String>>,
    #[serde(default)]
    needs: Vec<RawNeed>,
    otherwise: Option<String>,
    service: Option<RawService>,
    #[serde(default)]
    settings: BTreeMap<String, RawSetting>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScore {
    pattern: Spanned<String>,
    kind: Option<Spanned<String>>,
    stream: Option<Spanned<String>>,
    pick: Option<Spanned<String>>,
    scale: Option<Spanned<f64>>,
    unit: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNeed {
    program: Spanned<OneOrMore>,
    contains: Option<String>,
    hint: Option<String>,
    debian: Option<String>,
    fedora: Option<String>,
    suse: Option<String>,
    arch: Option<String>,
    alpine: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawService {
    #[serde(default)]
    prepare: Vec<Vec<Spanned<String>>>,
    start: Spanned<Vec<Spanned<String>>>,
    #[serde(default)]
    ready: Vec<Spanned<String>>,
    #[serde(default)]
    load: Vec<Vec<Spanned<String>>>,
    patience: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSetting {
    #[serde(default)]
    what: String,
    value: Plain,
    small: Option<Plain>,
    #[serde(default)]
    beyond_caches: bool,
}

/// A setting's value: text, or a number as it is written.
#[derive(Deserialize)]
#[serde(untagged)]
enum Plain {
    Text(String),
    Whole(i64),
    Number(f64),
}

impl Plain {
    fn text(self) -> String {
        match self {
            Plain::Text(text) => text,
            Plain::Whole(number) => number.to_string(),
            Plain::Number(number) => number.to_string(),
        }
    }
}

/// Reads the recipe in a file.
pub fn file(path: &Path) -> Result<Recipe, ReadError> {
    use std::io::Read;
    let name = path.to_string_lossy().into_owned();
    let failed = |why: String| ReadError { file: name.clone(), line: None, why };
    let cannot = |error: std::io::Error| failed(format!("cannot be read: {error}"));
    // Opening a pipe would wait for a writer that never comes.
    let kind = std::fs::metadata(path).map_err(cannot)?.file_type();
    if !kind.is_file() {
        return Err(failed("is no regular file; a recipe is a TOML file".to_owned()));
    }
    let file = std::fs::File::open(path).map_err(cannot)?;
    let mut content = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut content).map_err(cannot)?;
    if content.len() as u64 > MOST_BYTES {
        return Err(failed(format!(
            "is larger than any recipe ({} KiB); recipes are small TOML files",
            MOST_BYTES >> 10
        )));
    }
    let text = String::from_utf8(content).map_err(|error| {
        let line =
            error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
        ReadError { line: Some(line), ..failed("is not UTF-8 text; a recipe is a TOML file".to_owned()) }
    })?;
    text_of(&text, &name, Origin::File(path.to_owned()))
}

/// Reads the recipe in a text; `file` is what complaints call it.
pub fn text_of(text: &str, file: &str, origin: Origin) -> Result<Recipe, ReadError> {
    let reader = Reader { text, file };
    let raw: Raw = toml::from_str(text).map_err(|error| ReadError {
        file: file.to_owned(),
        line: error.span().map(|span| reader.line(span)),
        why: error.message().split_whitespace().collect::<Vec<_>>().join(" "),
    })?;
    reader.recipe(raw, origin)
}

struct Reader<'a> {
    text: &'a str,
    file: &'a str,
}

impl Reader<'_> {
    fn line(&self, span: Range<usize>) -> usize {
        let before = self.text.as_bytes().get(..span.start).unwrap_or_default();
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    fn wrong<T>(&self, at: &Spanned<T>, why: impl Into<String>) -> ReadError {
        ReadError { file: self.file.to_owned(), line: Some(self.line(at.span())), why: why.into() }
    }

    fn recipe(&self, raw: Raw, origin: Origin) -> Result<Recipe, ReadError> {
        let name = raw.name.get_ref();
        let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '_');
        if name.is_empty() || name.len() > 60 || !name.chars().all(sound) {
            return Err(self.wrong(&raw.name, "a name is 1 to 60 of a-z, 0-9, - . _"));
        }
        if let Some(clash) = raw.settings.keys().find(|name| {
            GIVEN.iter().any(|(given, _)| given == name) || matches!(name.as_str(), "score" | "word")
        }) {
            return Err(ReadError {
                file: self.file.to_owned(),
                line: self.text.lines().position(|line| line.contains(clash.as_str())).map(|at| at + 1),
                why: format!("{clash} is filled in by linespeed and cannot be a setting"),
            });
        }
        let settings: BTreeMap<String, Setting> = raw
            .settings
            .into_iter()
            .map(|(name, raw)| {
                let small = raw.small.map(Plain::text);
                let (what, value, beyond_caches) = (raw.what, raw.value.text(), raw.beyond_caches);
                (name, Setting { what, value, small, beyond_caches })
            })
            .collect();
        let template = |text: &Spanned<String>| self.template(text, &settings);
        let templates = |texts: &[Spanned<String>]| texts.iter().map(template).collect::<Result<Vec<_>, _>>();
        let command = templates(raw.command.get_ref())?;
        if command.is_empty() {
            return Err(
                self.wrong(&raw.command, "the command is empty; write a list such as [\"bc\", \"-q\"]")
            );
        }
        let environment = raw
            .environment
            .iter()
            .map(|(name, value)| {
                if name.is_empty() || name.contains(['=', '\0']) {
                    return Err(
                        self.wrong(value, format!("{name:?} cannot be the name of an environment variable"))
                    );
                }
                Ok((name.clone(), template(value)?))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let many = command.iter().chain(environment.iter().map(|(_, value)| value));
        let many = many.flat_map(Template::places).any(|name| name == "threads");
        let copies = raw.copies.as_ref().map_or(!many, |copies| *copies.get_ref());
        if copies
            && many
            && let Some(at) = &raw.copies
        {
            return Err(self.wrong(
                at,
                "copies = true runs one command for each CPU, but {threads} gives one command all of them; leave one out",
            ));
        }
        let usual: Values =
            settings.iter().map(|(name, setting)| (name.clone(), setting.value.clone())).collect();
        let scores = raw.score.iter().map(|raw| self.score(raw, &usual)).collect::<Result<Vec<_>, _>>()?;
        if let Some(expect) = &raw.expect {
            self.pattern(expect, &usual, false)?;
        }
        let work = match &raw.work {
            Some(work) => self.positive(work, "work")?,
            None => 1.0,
        };
        let needs = raw.needs.into_iter().map(|need| self.need(need)).collect::<Result<Vec<_>, _>>()?;
        let service = match &raw.service {
            None => None,
            Some(service) => {
                let start = templates(service.start.get_ref())?;
                if start.is_empty() {
                    return Err(self
                        .wrong(&service.start, "the service's start is empty; write the program to start"));
                }
                let lists = |lists: &[Vec<Spanned<String>>]| {
                    let lists = lists.iter().filter(|list| !list.is_empty()).map(|list| templates(list));
                    lists.collect::<Result<Vec<_>, _>>()
                };
                let patience = match &service.patience {
                    Some(patience) => self.positive(patience, "patience")?,
                    None => PATIENCE,
                };
                Some(Service {
                    prepare: lists(&service.prepare)?,
                    start,
                    ready: templates(&service.ready)?,
                    load: lists(&service.load)?,
                    patience: patience.min(3600.0),
                })
            }
        };
        Ok(Recipe {
            name: raw.name.into_inner(),
            what: raw.what.split_whitespace().collect::<Vec<_>>().join(" "),
            origin,
            command,
            environment,
            copies,
            unit: raw.unit.unwrap_or_else(|| "runs".to_owned()),
            work,
            scores,
            expect: raw.expect.map(Spanned::into_inner),
            needs,
            otherwise: raw.otherwise,
            service,
            settings,
        })
    }

    fn template(
        &self,
        text: &Spanned<String>,
        settings: &BTreeMap<String, Setting>,
    ) -> Result<Template, ReadError> {
        if text.get_ref().contains('\0') {
            return Err(self.wrong(text, "an argument cannot hold a zero byte"));
        }
        let template = Template::new(text.get_ref());
        let known = |name: &str| settings.contains_key(name) || GIVEN.iter().any(|(given, _)| *given == name);
        let unknown = template.places().find(|name| !known(name)).map(str::to_owned);
        match unknown {
            None => Ok(template),
            Some(unknown) => {
                let given: Vec<&str> = GIVEN.iter().map(|(name, _)| *name).collect();
                Err(self.wrong(
                    text,
                    format!(
                        "{{{unknown}}} is neither a setting of this recipe nor one of {}; for the text itself write \
                         {{{{{unknown}}}}}",
                        given.join(", ")
                    ),
                ))
            }
        }
    }

    fn pattern(&self, text: &Spanned<String>, values: &Values, score: bool) -> Result<(), ReadError> {
        if let Some(unknown) = places(text.get_ref()).iter().find(|name| !values.contains_key(*name)) {
            return Err(self.wrong(
                text,
                format!("{{{unknown}}} in a pattern is neither {{score}}, {{word}}, {{...}} nor a setting"),
            ));
        }
        compile(text.get_ref(), values, score).map(drop).map_err(|why| self.wrong(text, why))
    }

    fn score(&self, raw: &RawScore, values: &Values) -> Result<Score, ReadError> {
        self.pattern(&raw.pattern, values, true)?;
        let scale = match &raw.scale {
            Some(scale) => self.positive(scale, "scale")?,
            None => 1.0,
        };
        Ok(Score {
            pattern: raw.pattern.get_ref().clone(),
            kind: self.one_of(
                raw.kind.as_ref(),
                &[("rate", Kind::Rate), ("seconds", Kind::Seconds), ("work", Kind::Work)],
                Kind::Rate,
            )?,
            stream: self.one_of(
                raw.stream.as_ref(),
                &[("stdout", Stream::Stdout), ("stderr", Stream::Stderr), ("both", Stream::Both)],
                Stream::Stdout,
            )?,
            pick: self.one_of(
                raw.pick.as_ref(),
                &[("first", Pick::First), ("last", Pick::Last), ("sum", Pick::Sum)],
                Pick::First,
            )?,
            scale,
            unit: raw.unit.get_ref().clone(),
        })
    }

    fn one_of<T: Copy>(
        &self,
        word: Option<&Spanned<String>>,
        words: &[(&str, T)],
        usual: T,
    ) -> Result<T, ReadError> {
        let Some(word) = word else { return Ok(usual) };
        let found = words.iter().find(|(name, _)| name == word.get_ref()).map(|(_, value)| *value);
        found.ok_or_else(|| {
            let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
            self.wrong(word, format!("{:?} is none of {}", word.get_ref(), names.join(", ")))
        })
    }

    fn positive(&self, number: &Spanned<f64>, name: &str) -> Result<f64, ReadError> {
        let value = *number.get_ref();
        if value.is_finite() && value > 0.0 {
            Ok(value)
        } else {
            Err(self.wrong(number, format!("{name} must be a number above 0")))
        }
    }

    fn need(&self, raw: RawNeed) -> Result<Need, ReadError> {
        let empty = match raw.program.get_ref() {
            OneOrMore::One(name) => name.is_empty(),
            OneOrMore::More(names) => names.is_empty() || names.iter().any(String::is_empty),
        };
        if empty {
            return Err(self.wrong(&raw.program, "program must name a program"));
        }
        let programs = match raw.program.into_inner() {
            OneOrMore::One(name) => vec![name],
            OneOrMore::More(names) => names,
        };
        let packages = [
            ("debian", raw.debian),
            ("fedora", raw.fedora),
            ("suse", raw.suse),
            ("arch", raw.arch),
            ("alpine", raw.alpine),
        ];
        let packages =
            packages.into_iter().filter_map(|(key, package)| Some((key.to_owned(), package?))).collect();
        Ok(Need { programs, contains: raw.contains, packages, hint: raw.hint })
    }
}
