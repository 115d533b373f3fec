//! Which model answers, by configuration.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::{Model, Rules};

/// The configured model: what the `MODEL` setting says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModelConfig {
    /// `rules`: the deterministic router, which needs no network.
    #[default]
    Rules,
}

/// A name that stands for no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no model {0:?}; there is: rules")]
pub struct UnknownModel(String);

impl FromStr for ModelConfig {
    type Err = UnknownModel;

    fn from_str(name: &str) -> Result<Self, UnknownModel> {
        match name {
            "rules" => Ok(Self::Rules),
            _ => Err(UnknownModel(name.to_owned())),
        }
    }
}

impl fmt::Display for ModelConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rules => "rules",
        })
    }
}

/// The models that there are.
#[derive(Debug)]
pub struct Models;

impl Models {
    /// The model that is configured.
    #[must_use]
    pub fn from(config: ModelConfig) -> Arc<dyn Model> {
        match config {
            ModelConfig::Rules => Arc::new(Rules),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_or_refused_in_words() {
        assert_eq!("rules".parse(), Ok(ModelConfig::default()));
        assert_eq!(ModelConfig::Rules.to_string(), "rules");
        let refused = "oracle".parse::<ModelConfig>().unwrap_err();
        assert_eq!(
            refused.to_string(),
            "there is no model \"oracle\"; there is: rules"
        );
        assert!(Models::from(ModelConfig::Rules).calls_off("never mind"));
    }
}
