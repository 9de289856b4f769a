//! A recipe describes how to run a benchmark program and how to find its score.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use record::text::Value;
use record::units::parse_bytes;
use record::{Coverage, Machine, text};

use super::fields::{one, read_plain, read_positive};
use super::needs::Need;
use super::score::Score;
use super::template::{Template, Values};
use measure::budget;
use serde::{Deserialize, Deserializer};

/// The workload name of a command that is not a recipe.
pub const COMMAND: &str = "command";

/// The origin of a recipe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The recipe ships with linespeed.
    #[default]
    BuiltIn,
    /// A user file.
    File(PathBuf),
}

/// A parameter of a recipe that the user can set.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The description of the setting.
    #[serde(default)]
    pub what: String,
    /// The default value.
    #[serde(deserialize_with = "read_plain")]
    pub value: String,
    /// The value in a quick run, if different from the default.
    #[serde(default, deserialize_with = "read_small")]
    pub small: Option<String>,
    /// Whether the setting is a working-set size in bytes, with a unit. To measure memory, the working set must exceed
    /// the caches.
    #[serde(default)]
    pub beyond_caches: bool,
    /// Values that some versions of the program do not support, each with a text that replaces the program's error
    /// message.
    #[serde(default)]
    pub gone: BTreeMap<String, String>,
}

fn read_small<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    read_plain(from).map(Some)
}

/// A program that runs alongside the measured one, such as a database server. Both share the CPUs of each step.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Commands to run before the service starts, in order.
    #[serde(default)]
    pub prepare: Vec<Vec<Template>>,
    /// The command that starts the service, which must stay in the foreground.
    pub start: Vec<Template>,
    /// A command that succeeds once the service is ready.
    #[serde(default)]
    pub ready: Vec<Template>,
    /// Commands to run once the service is ready, before the measurement.
    #[serde(default)]
    pub load: Vec<Vec<Template>>,
}

impl Service {
    /// All commands of the service.
    fn commands(&mut self) -> impl Iterator<Item = &mut Vec<Template>> {
        self.prepare.iter_mut().chain(&mut self.load).chain([&mut self.start, &mut self.ready])
    }
}

/// Instructions for running a program and extracting its score.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The recipe's name, which is also the name of the workload in a record.
    pub name: String,
    /// A description of the measured quantity, in one or two sentences.
    pub what: String,
    /// The recipe's origin.
    #[serde(skip)]
    pub origin: Origin,
    /// The measured command.
    pub command: Vec<Template>,
    /// Environment variables of the command, in addition to the inherited ones.
    #[serde(default)]
    pub environment: BTreeMap<String, Template>,
    /// Whether the command runs once per CPU; otherwise, it runs once for all CPUs of the step. The default depends on
    /// the placeholders of the command.
    pub copies: Option<bool>,
    /// The unit in which the work of a run is counted if the program has no score: `runs`, `digits`.
    #[serde(default = "usual_unit")]
    pub unit: String,
    /// Units of work in one run.
    #[serde(default = "one", deserialize_with = "read_positive")]
    pub work: f64,
    /// Patterns for the score; the first match counts. If there are none, the time of a run is the score.
    #[serde(default, rename = "score")]
    pub scores: Vec<Score>,
    /// Text that the output must contain for the run to count.
    pub expect: Option<String>,
    /// The required programs.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// The recipe to use if these programs are missing.
    pub otherwise: Option<String>,
    /// The service that the recipe needs, if it needs one.
    pub service: Option<Service>,
    /// The recipe's settings.
    #[serde(default)]
    pub settings: BTreeMap<String, Setting>,
}

fn usual_unit() -> String {
    "runs".to_owned()
}

impl Recipe {
    /// A recipe for a command typed by the user: one run is one unit of work. A command with `{threads}` runs once on
    /// all CPUs of a step; any other command runs once per CPU.
    pub fn from_command(command: &[OsString]) -> Self {
        Self {
            name: COMMAND.to_owned(),
            command: command.iter().map(|argument| Template::typed(argument)).collect(),
            unit: usual_unit(),
            work: one(),
            ..Self::default()
        }
    }

    /// Whether the command runs once per CPU.
    pub fn runs_copies(&self) -> bool {
        self.copies.unwrap_or(!self.sets_threads())
    }

    /// Whether the command or its environment sets the number of threads.
    pub(super) fn sets_threads(&self) -> bool {
        self.own_templates().flat_map(Template::places).any(|name| name == "threads")
    }

    fn own_templates(&self) -> impl Iterator<Item = &Template> {
        self.command.iter().chain(self.environment.values())
    }

    /// All strings with placeholders.
    pub(super) fn templates(&self) -> impl Iterator<Item = &Template> {
        let service = self.service.iter().flat_map(|service| {
            service.prepare.iter().chain(&service.load).chain([&service.start, &service.ready]).flatten()
        });
        self.own_templates().chain(service)
    }

    /// The values of the recipe's settings: `small` or default values, overridden by the user's values in `set`. Fails
    /// if the user specifies a setting that the recipe does not have.
    pub fn values(&self, small: bool, set: &[(String, String)]) -> Result<Values, String> {
        let value = |setting: &Setting| {
            let small = setting.small.as_ref().filter(|_| small);
            small.unwrap_or(&setting.value).clone()
        };
        let mut values: Values =
            self.settings.iter().map(|(name, setting)| (name.clone(), value(setting))).collect();
        let is_whole = |text: &str| text.parse::<u64>().is_ok_and(|number| number > 0);
        let recipe = &self.name;
        for (name, value) in set {
            let Some(usual) = values.get_mut(name) else {
                let known: Vec<&str> = self.settings.keys().map(String::as_str).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(format!("the recipe {recipe} has no setting {name:?}; its settings: {known}"));
            };
            // If a program gets something other than a number, it may exit early without an error and so appear fast.
            if is_whole(usual) && !is_whole(value) {
                return Err(format!("the recipe {recipe}: {name}={value} is not a whole number above 0"));
            }
            usual.clone_from(value);
        }
        Ok(values)
    }

    /// The note that a run with these values may not measure memory, because its working set may fit into the caches of
    /// `machine`.
    pub fn within_caches(&self, values: &Values, machine: &Machine) -> Option<Coverage> {
        let needed = budget::beyond_caches(machine);
        let caches = machine.last_level_bytes();
        let settings = self.settings.iter().filter(|(_, setting)| setting.beyond_caches);
        let mut sizes = settings.filter_map(|(name, _)| Some((name, values.get(name)?)));
        let (name, value) = sizes.find(|(_, value)| parse_bytes(value).is_ok_and(|size| size < needed))?;
        let reason = match caches {
            0 => text!(
                "recipe-caches-unknown",
                "{name} of {value} may fit in the caches, whose size is unknown; the rate may be a cache rate"
            ),
            caches => text!(
                "recipe-within-caches",
                "{name} of {value} is less than four times the size of the last-level caches ({caches}), so \
                 the rate does not reflect memory performance",
                caches = Value::Bytes(caches)
            ),
        };
        let enough = needed.div_ceil(1_000_000).max(1);
        let remedy = format!("--set {name}={enough}MB");
        Some(Coverage::degraded(format!("recipe {}", self.name), reason).with_remedy(remedy))
    }

    /// Finds the required programs in `folders` and inserts their paths into the commands. The error describes a
    /// missing program and its installation; `os_release` is the text of /etc/os-release.
    pub fn find_programs(&mut self, folders: &[PathBuf], os_release: &str) -> Result<(), String> {
        let mut missing = Vec::new();
        for need in &self.needs {
            let Some(path) = need.find(folders) else {
                missing.push(need.describe_missing(os_release));
                continue;
            };
            let (Some(name), Some(path)) = (need.programs.first(), path.to_str()) else { continue };
            let (name, path) = (Template::new(name), Template::new(path));
            let commands = self.service.iter_mut().flat_map(Service::commands).chain([&mut self.command]);
            for first in commands.filter_map(|command| command.first_mut()) {
                if *first == name {
                    *first = path.clone();
                }
            }
        }
        if missing.is_empty() { Ok(()) } else { Err(missing.join("; ")) }
    }

    /// Whether a run needs a separate directory.
    pub fn needs_folder(&self) -> bool {
        let mut places = self.own_templates().flat_map(Template::places);
        self.service.is_some() || places.any(|name| matches!(name, "folder" | "socket"))
    }
}
