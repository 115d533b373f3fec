//! Language models that the host is to ask, as the command line names them. What the list means is the host's to say; here
//! it is only written down.

use std::collections::BTreeMap;

use domain::SecretString;
use edge::config::Env;
use serde_json::{Value, json};
use url::Url;

/// The models of the hosts of a system.
#[derive(Debug, Clone, Default)]
pub struct Models {
    /// What `MODELS` says.
    pub list: String,
    /// What `EMBED` says.
    pub embed: String,
    /// The keys by the names of their secrets.
    pub keys: BTreeMap<String, SecretString>,
    /// Another endpoint of Bedrock than AWS's own.
    pub bedrock: Option<Url>,
    /// How many tokens a tenant may use in a day, where its own settings do not say.
    pub tokens_per_day: u64,
}

/// Enough for some hundred answers, and little enough that a mistake costs no more than a few dollars.
pub const TOKENS_PER_DAY: u64 = 1_000_000;

/// A model that is named in a way that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelNameError {
    /// It is of no known form.
    #[error(
        "a model is openai:URL,MODEL[,key-env=NAME][,context=TOKENS][,max-tokens=N][,first-byte=SECONDS], bedrock:MODEL_ID or rules"
    )]
    Form,
    /// The variable with its key is not set.
    #[error("the variable {0}, which should hold the key of a model, is not set")]
    Key(String),
}

impl Models {
    /// Reads names such as `openai:http://localhost:11434/v1,llama3.2`, in the order in which they are asked. Keys, and
    /// what AWS's own clients are told by variables, come from this environment.
    ///
    /// # Errors
    /// [`ModelNameError`] for the first that cannot be read.
    pub fn named(names: &[String], env: &mut Env) -> Result<Self, ModelNameError> {
        let mut models = Self {
            bedrock: env
                .optional("AWS_ENDPOINT_URL_BEDROCK_RUNTIME")
                .unwrap_or_default(),
            tokens_per_day: TOKENS_PER_DAY,
            ..Self::default()
        };
        if names.is_empty() {
            return Ok(models);
        }
        let listed = names.iter().map(|name| models.entry(name, env));
        let listed = listed.collect::<Result<Vec<Value>, _>>()?;
        models.list = Value::Array(listed).to_string();
        Ok(models)
    }

    /// The same, where words are understood by this model of sentences, named likewise.
    ///
    /// # Errors
    /// [`ModelNameError`] where it cannot be read.
    pub fn understood_by(mut self, name: &str, env: &mut Env) -> Result<Self, ModelNameError> {
        self.embed = self.entry(name, env)?.to_string();
        Ok(self)
    }

    fn entry(&mut self, name: &str, env: &mut Env) -> Result<Value, ModelNameError> {
        match name.split_once(':') {
            None if name == "rules" => Ok(json!({"kind": "rules"})),
            Some(("bedrock", model)) if !model.is_empty() => {
                let regions = ["AWS_REGION", "AWS_DEFAULT_REGION"];
                let region = regions
                    .into_iter()
                    .find_map(|name| env.optional::<String>(name).ok()?);
                Ok(json!({"kind": "bedrock", "model": model, "region": region}))
            }
            Some(("openai", rest)) => {
                let mut parts = rest.split(',');
                let (Some(url), Some(model)) = (parts.next(), parts.next().filter(|model| !model.is_empty()))
                else {
                    return Err(ModelNameError::Form);
                };
                let mut entry = json!({"kind": "openai", "url": url, "model": model, "key": null});
                for part in parts {
                    let (name, value) = part.split_once('=').ok_or(ModelNameError::Form)?;
                    let number = || value.parse::<u32>().map_err(|_| ModelNameError::Form);
                    let (field, value) = match name {
                        "key-env" => ("key", Value::from(self.key(value, env)?)),
                        "context" => ("prompt_tokens", number()?.into()),
                        "max-tokens" => ("max_tokens", number()?.into()),
                        "first-byte" => ("first_byte", number()?.into()),
                        _ => return Err(ModelNameError::Form),
                    };
                    let fields = entry.as_object_mut().ok_or(ModelNameError::Form)?;
                    let is_new = fields
                        .insert(field.to_owned(), value)
                        .is_none_or(|before| before.is_null());
                    if !is_new {
                        return Err(ModelNameError::Form);
                    }
                }
                Ok(entry)
            }
            _ => Err(ModelNameError::Form),
        }
    }

    /// Takes a key in; gives the name of its secret.
    fn key(&mut self, variable: &str, env: &mut Env) -> Result<String, ModelNameError> {
        let key = env.optional::<String>(variable).ok().flatten();
        let key = key.ok_or_else(|| ModelNameError::Key(variable.to_owned()))?;
        let secret = format!("switchyard/models/{variable}");
        self.keys.insert(secret.clone(), key.into());
        Ok(secret)
    }
}

#[cfg(test)]
mod tests {
    use domain::ExposeSecret;

    use super::*;

    fn named(names: &[&str]) -> Result<Models, ModelNameError> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let env = [("KEY", "hunter2"), ("AWS_DEFAULT_REGION", "eu-north-1")];
        Models::named(&names, &mut Env::of(env))
    }

    #[test]
    fn names_are_written_down_in_their_order_and_keys_apart() {
        let models = named(&[
            "openai:https://m.example/v1,a:b/c,key-env=KEY",
            "openai:http://localhost:11434/v1,llama3.2",
            "openai:http://localhost:8080/v1,q,context=8000,max-tokens=512,first-byte=300",
            "bedrock:eu.amazon.nova-pro-v1:0",
            "rules",
        ]);
        let models = models.unwrap();
        let list: Value = serde_json::from_str(&models.list).unwrap();
        assert_eq!(
            list,
            json!([
                {"kind": "openai", "url": "https://m.example/v1", "model": "a:b/c", "key": "switchyard/models/KEY"},
                {"kind": "openai", "url": "http://localhost:11434/v1", "model": "llama3.2", "key": null},
                {"kind": "openai", "url": "http://localhost:8080/v1", "model": "q", "key": null,
                    "prompt_tokens": 8000, "max_tokens": 512, "first_byte": 300},
                {"kind": "bedrock", "model": "eu.amazon.nova-pro-v1:0", "region": "eu-north-1"},
                {"kind": "rules"},
            ])
        );
        let key = &models.keys["switchyard/models/KEY"];
        assert_eq!(key.expose_secret(), "hunter2");
        assert!(!format!("{models:?}").contains("hunter2"));
    }

    #[test]
    fn a_model_of_sentences_is_written_down_alone() {
        let mut env = Env::of([("KEY", "hunter2")]);
        let none = Models::named(&[], &mut env).unwrap();
        let models = none.understood_by("openai:http://localhost:8000/v1,e5,key-env=KEY", &mut env);
        let models = models.unwrap();
        let setting: Value = serde_json::from_str(&models.embed).unwrap();
        let expected = json!({"kind": "openai", "url": "http://localhost:8000/v1", "model": "e5", "key": "switchyard/models/KEY"});
        assert_eq!(
            (setting, models.list.as_str(), models.keys.len()),
            (expected, "", 1)
        );
    }

    #[test]
    fn what_is_no_model_is_refused() {
        for form in [
            "",
            "gpt",
            "bedrock:",
            "openai:https://m.example/v1",
            "openai:https://m.example/v1,",
            "openai:https://m.example/v1,m,hunter2",
            "openai:https://m.example/v1,m,key-env=KEY,more",
            "rules:x",
        ] {
            assert_eq!(named(&[form]).err(), Some(ModelNameError::Form), "{form}");
        }
        let missing = named(&["openai:https://m.example/v1,m,key-env=NONE"]).err();
        assert_eq!(missing, Some(ModelNameError::Key("NONE".to_owned())));
    }
}
