//! Which models there are, as an operator writes it: JSON, a list in the order in which they are asked.
//!
//! ```
//! use llm::ModelList;
//! let list: ModelList = r#"[
//!     {"kind": "bedrock", "model": "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"},
//!     {"kind": "openai", "url": "https://api.openai.com/v1", "model": "gpt-5-mini", "key": "models/openai"},
//!     {"kind": "rules"}
//! ]"#.parse()?;
//! assert_eq!(list.keys().collect::<Vec<_>>(), ["models/openai"]);
//! # Ok::<(), llm::ModelListError>(())
//! ```

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use domain::{Entropy, SecretString};
use nlu::Slot;
use outbound::{CallError, EventLimits, Outbound, TrustedOrigin};
use serde::Deserialize;
use url::Url;

use super::{AwsSettings, Bedrock, Chain, ChainLimits, Link, OpenAi, Provider};
use crate::{Budget, Model};

/// Most models of a list.
const MODELS_MAX: usize = 8;
/// Tokens of an answer, and of a prompt, where the list does not say.
const ANSWER: u32 = 4_096;
const PROMPT: usize = 32_000;
/// Least tokens of a prompt: what every model is told, with a message and what came of it.
const PROMPT_MIN: usize = 4_000;
/// Longest wait for a first byte: a model that has no graphics card reads a prompt for minutes. A function of a host has as long as
/// its template says.
const FIRST_BYTE_MAX: Duration = Duration::from_secs(600);
/// What an answer may take once it has begun.
const ANSWERS: Duration = Duration::from_secs(55);

/// The models of a deployment, in the order in which they are asked.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelList(Vec<Setting>);

/// One model of a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Setting {
    Bedrock {
        model: String,
        region: Option<String>,
        bounds: Bounds,
    },
    OpenAi {
        url: Url,
        model: String,
        key: Option<String>,
        bounds: Bounds,
    },
    Rules,
}

/// What bounds one model's answers and prompts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    answer: u32,
    prompt: usize,
    limits: EventLimits,
}

/// One model as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    kind: String,
    model: Option<String>,
    url: Option<String>,
    /// The name of the secret that holds the key.
    key: Option<String>,
    region: Option<String>,
    /// Most tokens of an answer.
    max_tokens: Option<u32>,
    /// Most tokens of a prompt, by a rough count.
    prompt_tokens: Option<usize>,
    /// Seconds until the first byte.
    first_byte: Option<f64>,
    /// Seconds of silence within an answer.
    idle: Option<f64>,
    /// Of a model of sentences: how many numbers a vector has.
    pub(super) dimensions: Option<usize>,
}

impl Written {
    /// One as it is written alone, without what only models that answer have.
    pub(super) fn of_sentences(text: &str) -> Result<Self, ModelListError> {
        let written: Self = serde_json::from_str(text).map_err(|error| form(&error))?;
        let answers = written.max_tokens.is_some() || written.prompt_tokens.is_some();
        match answers || written.first_byte.is_some() || written.idle.is_some() {
            true => Err(alone(
                "a model of sentences gives no answers that could be bounded",
            )),
            false => Ok(written),
        }
    }
}

/// Where a text stops being what it should. Serde's own message quotes values.
fn form(error: &serde_json::Error) -> ModelListError {
    ModelListError::Form {
        line: error.line(),
        column: error.column(),
    }
}

/// What is wrong with a model that is named alone.
pub(super) fn alone(problem: &'static str) -> ModelListError {
    ModelListError::Model { number: 1, problem }
}

/// What is wrong with a list. It quotes no values: one may be a key that was put in the wrong place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelListError {
    /// It is not JSON, or has unknown fields.
    #[error("it is not the JSON it should be (line {line}, column {column})")]
    Form {
        /// Where it stops being it.
        line: usize,
        /// Likewise.
        column: usize,
    },
    /// There is none, or there are too many.
    #[error("it must have 1 to {MODELS_MAX} models")]
    Count,
    /// A field of a model is missing, wrong, or not of its kind.
    #[error("model {number}: {problem}")]
    Model {
        /// Which, counted from 1.
        number: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// The address guard does not let calls to a model out.
    #[error("a model's url is not allowed: {0}")]
    Address(String),
    /// The key of a model is not there.
    #[error("the key of a model is not there: the secret {0}")]
    Key(String),
}

/// What models are made of.
pub struct ModelParts<'a> {
    /// The way out.
    pub outbound: &'a Outbound,
    /// Spreads attempts.
    pub entropy: Arc<dyn Entropy>,
    /// What may be spent.
    pub budget: Arc<dyn Budget>,
    /// Finds agents for what is said, once it is there.
    pub engine: Slot,
    /// The settings of AWS clients.
    pub aws: AwsSettings,
    /// The keys by the names of their secrets: those of [`ModelList::keys`].
    pub keys: BTreeMap<String, SecretString>,
}

impl ModelParts<'_> {
    /// The key of that name, where a model has one.
    pub(super) fn key(&self, name: Option<String>) -> Result<Option<SecretString>, ModelListError> {
        let found = |name: String| self.keys.get(&name).cloned().ok_or(ModelListError::Key(name));
        name.map(found).transpose()
    }
}

impl From<CallError> for ModelListError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::NotAllowed(reason) => Self::Address(reason),
            error => Self::Address(error.to_string()),
        }
    }
}

impl FromStr for ModelList {
    type Err = ModelListError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let written: Vec<Written> = serde_json::from_str(text).map_err(|error| form(&error))?;
        if !(1..=MODELS_MAX).contains(&written.len()) {
            return Err(ModelListError::Count);
        }
        let count = written.len();
        let numbered = (1..).zip(written);
        let settings = numbered.map(|(number, written)| {
            let has_dimensions = written.dimensions.is_some();
            let setting = Setting::of(written).and_then(|setting| match setting {
                Setting::Rules if number < count => Err("rules always answer, so they come last"),
                _ if has_dimensions => Err("only a model of sentences has dimensions"),
                setting => Ok(setting),
            });
            setting.map_err(|problem| ModelListError::Model { number, problem })
        });
        settings.collect::<Result<_, _>>().map(Self)
    }
}

impl Setting {
    pub(super) fn of(written: Written) -> Result<Self, &'static str> {
        let bounds = Bounds::of(&written)?;
        match written.kind.as_str() {
            "bedrock" if written.url.is_some() || written.key.is_some() => {
                Err("a model of Bedrock has neither url nor key: the role of the function is asked for")
            }
            "bedrock" => Ok(Self::Bedrock {
                model: named(written.model)?,
                region: written.region,
                bounds,
            }),
            "openai" if written.region.is_some() => Err("only a model of Bedrock has a region"),
            "openai" => Ok(Self::OpenAi {
                url: address(written.url)?,
                model: named(written.model)?,
                key: written.key.filter(|key| !key.is_empty()),
                bounds,
            }),
            "rules" if written.model.is_some() || written.url.is_some() || written.key.is_some() => {
                Err("rules have no settings")
            }
            "rules" => Ok(Self::Rules),
            _ => Err("its kind is not bedrock, openai or rules"),
        }
    }
}

impl Bounds {
    fn of(written: &Written) -> Result<Self, &'static str> {
        let usual = EventLimits::default();
        let seconds = |told: Option<f64>, usual: Duration| match told {
            None => Ok(usual),
            Some(told) => Duration::try_from_secs_f64(told)
                .ok()
                .filter(|wait| !wait.is_zero() && *wait <= FIRST_BYTE_MAX)
                .ok_or("first_byte and idle are seconds, up to 600"),
        };
        let first_byte = seconds(written.first_byte, usual.first_byte)?;
        let (answer, prompt) = (
            written.max_tokens.unwrap_or(ANSWER),
            written.prompt_tokens.unwrap_or(PROMPT),
        );
        if !(64..=128_000).contains(&answer) {
            return Err("max_tokens is 64 to 128000");
        }
        if !(PROMPT_MIN..=1_000_000).contains(&prompt) {
            return Err("prompt_tokens is 4000 to 1000000");
        }
        Ok(Self {
            answer,
            prompt,
            limits: EventLimits {
                first_byte,
                idle: seconds(written.idle, usual.idle)?,
                whole: usual.whole.max(first_byte + ANSWERS),
                ..usual
            },
        })
    }
}

fn named(model: Option<String>) -> Result<String, &'static str> {
    let is_name = |name: &String| !name.trim().is_empty() && !name.chars().any(char::is_control);
    model.filter(is_name).ok_or("it has no model")
}

fn address(url: Option<String>) -> Result<Url, &'static str> {
    let url = url
        .and_then(|url| Url::parse(&url).ok())
        .ok_or("it has no url, or one that is none")?;
    let is_bare = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    match TrustedOrigin::of(&url) {
        Some(_) if is_bare => Ok(url),
        Some(_) => Err("its url has a user name or a fragment; its key is the name of a secret"),
        None => Err("its url is not of http or https"),
    }
}

impl ModelList {
    /// The names of the secrets that hold its keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(Setting::key).map(|(_, key)| key)
    }

    /// True where it names no secret, and sends none anywhere, but as `deployed` does.
    #[must_use]
    pub fn has_keys_of(&self, deployed: Option<&Self>) -> bool {
        let known = |key| deployed.is_some_and(|list| list.0.iter().any(|other| other.key() == Some(key)));
        self.0.iter().filter_map(Setting::key).all(known)
    }

    /// True where one of them is hosted: it costs money.
    #[must_use]
    pub fn has_hosted(&self) -> bool {
        self.0.iter().any(|setting| !matches!(setting, Setting::Rules))
    }

    /// The models as one.
    ///
    /// # Errors
    /// [`ModelListError`] where a key or an address cannot be used.
    pub fn build(self, parts: &ModelParts<'_>) -> Result<Arc<dyn Model>, ModelListError> {
        let bounds = self.0.iter().filter_map(|setting| match setting {
            Setting::OpenAi { bounds, .. } | Setting::Bedrock { bounds, .. } => Some(bounds.limits.whole),
            Setting::Rules => None,
        });
        let usual = ChainLimits::default();
        let whole = bounds.fold(usual.whole, Duration::max);
        let links = self.0.into_iter().map(|setting| setting.link(parts));
        let links = links.collect::<Result<Vec<Link>, ModelListError>>()?;
        let chain = Chain::new(links, ChainLimits { whole, ..usual }, Arc::clone(&parts.entropy));
        let chain = chain
            .within(Arc::clone(&parts.budget))
            .finding(parts.engine.clone());
        Ok(Arc::new(chain))
    }
}

impl Setting {
    /// The name of the secret that holds its key, and where that goes.
    pub(super) fn key(&self) -> Option<(&Url, &str)> {
        match self {
            Self::OpenAi { url, key, .. } => key.as_deref().map(|key| (url, key)),
            Self::Bedrock { .. } | Self::Rules => None,
        }
    }

    fn link(self, parts: &ModelParts<'_>) -> Result<Link, ModelListError> {
        let (provider, bounds): (Box<dyn Provider>, Bounds) = match self {
            Self::Rules => return Ok(Link::Rules),
            Self::Bedrock {
                model,
                region,
                bounds,
            } => {
                let of_model = (model.as_str(), region.as_deref());
                let bounded = (bounds.answer, bounds.limits);
                (
                    Box::new(Bedrock::new(Arc::clone(&parts.aws), of_model, bounded)),
                    bounds,
                )
            }
            Self::OpenAi {
                url,
                model,
                key,
                bounds,
            } => {
                let key = parts.key(key)?;
                let bounded = (bounds.answer, bounds.limits);
                let model = OpenAi::new(parts.outbound, (&url, &model), key, bounded);
                model.check()?;
                (Box::new(model), bounds)
            }
        };
        Ok(Link::Hosted {
            provider,
            tokens: bounds.prompt,
        })
    }
}

#[cfg(test)]
mod tests;
