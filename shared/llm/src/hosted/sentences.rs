//! Models of sentences that others host: texts in, vectors out. Bedrock's by `InvokeModel`, in the dialect of the model's maker, and
//! those of every server with OpenAI's `/v1/embeddings`. What comes back is somebody else's: its size, count and numbers are bounded,
//! and the time that it may take.
//!
//! Its tokens are not counted against a tenant's day: a message is at most 2,000 characters in at most a dozen pieces, which costs
//! less than the count of it would.

use std::str::FromStr;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::config::Intercept;
use aws_sdk_bedrockruntime::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_bedrockruntime::operation::invoke_model::InvokeModelError;
use aws_sdk_bedrockruntime::primitives::Blob;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::BeforeDeserializationInterceptorContextMut;
use aws_smithy_runtime_api::client::interceptors::dyn_dispatch_hint;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::ConfigBag;
use domain::SecretString;
use futures_util::stream::{StreamExt as _, TryStreamExt as _, iter};
use http::Method;
use http_body_util::Limited;
use nlu::{Embed, EmbedError, Vector, WIDTH_MAX};
use outbound::{Outbound, TrustedOrigin};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::{sleep, timeout};
use url::Url;

use super::AwsSettings;
use super::bedrock::config;
use super::fault::{Fault, word};
use super::settings::{ModelListError, ModelParts, Setting, Written, alone};

/// How long one call may take.
const CALL: Duration = Duration::from_secs(5);
/// How often a text is given to a model that is busy or breaks off, and how long is waited in between.
const ATTEMPTS: u32 = 2;
const PAUSE: Duration = Duration::from_millis(300);
/// Calls that are under way at once, for one list of texts.
const AT_ONCE: usize = 8;
/// Most bytes of an answer of Bedrock; of other servers' as of every answer.
const ANSWER_MAX: usize = 2 * 1024 * 1024;
/// The numbers of a vector of Titan: half of what it can, which loses a hundredth of what they tell.
const TITAN_WIDTH: usize = 512;

/// A model of sentences, as an operator writes it: JSON, as one of a [`ModelList`](super::ModelList).
///
/// ```
/// use llm::SentenceSetting;
/// let own: SentenceSetting = r#"{"kind": "openai", "url": "http://10.0.0.7:8000/v1", "model": "e5", "key": "models/e5"}"#.parse()?;
/// assert_eq!(own.key(), Some("models/e5"));
/// let titan: SentenceSetting = r#"{"kind": "bedrock", "model": "amazon.titan-embed-text-v2:0"}"#.parse()?;
/// assert_eq!(titan.key(), None);
/// # Ok::<(), llm::ModelListError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SentenceSetting {
    model: Setting,
    dialect: Dialect,
    dimensions: Option<usize>,
}

/// How a model is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    OpenAi,
    Titan,
    Cohere,
}

impl Dialect {
    /// Texts of one call. Titan takes one, Cohere 96; the numbers of sixteen vectors stay below a megabyte.
    fn texts(self) -> usize {
        match self {
            Self::OpenAi => 16,
            Self::Titan => 1,
            Self::Cohere => 64,
        }
    }
}

impl FromStr for SentenceSetting {
    type Err = ModelListError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let written = Written::of_sentences(text)?;
        let dimensions = written.dimensions;
        let model = Setting::of(written).map_err(alone)?;
        let dialect = match &model {
            Setting::OpenAi { .. } => Dialect::OpenAi,
            Setting::Bedrock { model, .. } if model.contains("titan-embed-text-v2") => Dialect::Titan,
            Setting::Bedrock { model, .. } if model.contains("cohere.embed") => Dialect::Cohere,
            Setting::Bedrock { .. } => {
                return Err(alone(
                    "a model of sentences of Bedrock is amazon.titan-embed-text-v2:0 or one of cohere.embed",
                ));
            }
            Setting::Rules => return Err(alone("rules are no model of sentences")),
        };
        let dimensions = match (dialect, dimensions) {
            (Dialect::Titan, None) => Some(TITAN_WIDTH),
            (Dialect::Titan, Some(256 | 512 | 1024)) | (_, None) => dimensions,
            (Dialect::OpenAi, Some(width)) if (64..=WIDTH_MAX).contains(&width) => dimensions,
            (Dialect::Titan, _) => return Err(alone("dimensions of Titan are 256, 512 or 1024")),
            (Dialect::Cohere, _) => return Err(alone("dimensions cannot be chosen of a model of Cohere")),
            (Dialect::OpenAi, _) => return Err(alone("dimensions are 64 to 2048")),
        };
        Ok(Self {
            model,
            dialect,
            dimensions,
        })
    }
}

impl SentenceSetting {
    /// The name of the secret that holds its key, where it has one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.model.key().map(|(_, key)| key)
    }

    /// As [`ModelList::has_keys_of`](super::ModelList::has_keys_of).
    #[must_use]
    pub fn has_keys_of(&self, deployed: Option<&Self>) -> bool {
        let key = self.model.key();
        key.is_none() || deployed.is_some_and(|deployed| deployed.model.key() == key)
    }

    /// The model. Nothing is asked yet.
    ///
    /// # Errors
    /// [`ModelListError`] where its key or address cannot be used.
    pub fn build(self, parts: &ModelParts<'_>) -> Result<SentenceModel, ModelListError> {
        let width = self.dimensions.map_or(String::new(), |width| format!("/{width}"));
        let (kept_as, model, place) = match self.model {
            Setting::Rules => return Err(alone("rules are no model of sentences")),
            Setting::Bedrock { model, region, .. } => {
                let place = Place::Bedrock {
                    aws: parts.aws.clone(),
                    region,
                    client: OnceCell::new(),
                };
                (format!("bedrock:{model}{width}"), model, place)
            }
            Setting::OpenAi { url, model, key, .. } => {
                let way = match TrustedOrigin::of(&url) {
                    Some(origin) => parts.outbound.trusting(origin),
                    None => parts.outbound.clone(),
                };
                let endpoint = outbound::below(&url, "embeddings");
                way.check_url(&endpoint)?;
                let place = Place::OpenAi {
                    outbound: Box::new(way),
                    endpoint,
                    key: parts.key(key)?,
                };
                // Two servers may call two models the same.
                let kept_as = format!(
                    "openai:{model}{width}@{}{}",
                    url.origin().ascii_serialization(),
                    url.path()
                );
                (kept_as, model, place)
            }
        };
        Ok(SentenceModel {
            model: kept_as,
            id: model,
            dialect: self.dialect,
            dimensions: self.dimensions,
            place,
        })
    }
}

/// A hosted model of sentences.
pub struct SentenceModel {
    /// What vectors are kept under: what its provider calls it, and what makes its vectors others.
    model: String,
    id: String,
    dialect: Dialect,
    dimensions: Option<usize>,
    place: Place,
}

/// Where it is.
enum Place {
    Bedrock {
        aws: AwsSettings,
        region: Option<String>,
        client: OnceCell<Client>,
    },
    OpenAi {
        outbound: Box<Outbound>,
        endpoint: Url,
        key: Option<SecretString>,
    },
}

/// What it answers; what else there is in it is passed over.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    OpenAi { data: Vec<Datum> },
    Titan { embedding: Vec<f32> },
    Cohere { embeddings: Vec<Vec<f32>> },
}

#[derive(Deserialize)]
struct Datum {
    /// Whose it is; some servers leave it out, and keep the order.
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Answer {
    /// Vectors for so many texts, in their order.
    fn vectors(self, count: usize) -> Result<Vec<Vector>, Fault> {
        let unusable = |what: &str| Fault::Unusable(what.to_owned());
        let rows = match self {
            Self::Titan { embedding } => vec![embedding],
            Self::Cohere { embeddings } => embeddings,
            Self::OpenAi { mut data } => {
                data.sort_by_key(|datum| datum.index);
                let counted = data.iter().enumerate();
                let mut named = counted.filter_map(|(at, datum)| Some((at, datum.index?)));
                if named.any(|(at, index)| at != index) {
                    return Err(unusable("its vectors are of other texts"));
                }
                data.into_iter().map(|datum| datum.embedding).collect()
            }
        };
        if rows.len() != count {
            return Err(unusable("it has another number of vectors than there are texts"));
        }
        let vectors = rows.into_iter().map(Vector::read);
        let vectors: Option<Vec<Vector>> = vectors.collect();
        vectors.ok_or_else(|| unusable("a vector of it is none"))
    }
}

impl SentenceModel {
    fn body(&self, texts: &[&str]) -> Value {
        // Nobody has a vector for nothing.
        let texts = texts
            .iter()
            .map(|text| if text.trim().is_empty() { "?" } else { text });
        match self.dialect {
            Dialect::OpenAi => {
                let mut body = json!({"model": self.id, "input": texts.collect::<Vec<&str>>(), "encoding_format": "float"});
                if let (Some(width), Some(body)) = (self.dimensions, body.as_object_mut()) {
                    body.insert("dimensions".to_owned(), width.into());
                }
                body
            }
            Dialect::Titan => {
                let text: String = texts.collect();
                json!({"inputText": text, "dimensions": self.dimensions, "normalize": true})
            }
            // All are of one type: what people say is held against what people say.
            Dialect::Cohere => {
                json!({"texts": texts.collect::<Vec<&str>>(), "input_type": "classification", "truncate": "END"})
            }
        }
    }

    async fn asked(&self, body: &Value) -> Result<Answer, Fault> {
        let unusable = |_| Fault::Unusable("it is no answer of a model of sentences".to_owned());
        match &self.place {
            Place::OpenAi {
                outbound,
                endpoint,
                key,
            } => {
                let asked = outbound.request_json(Method::POST, endpoint, Some(body), key.as_ref());
                let (status, answer) = asked.await?;
                match status {
                    200..=299 => Answer::deserialize(answer).map_err(unusable),
                    status => Err(Fault::of_status(status, None, "")),
                }
            }
            Place::Bedrock { aws, region, client } => {
                let client = client.get_or_init(|| async {
                    let config = config(aws, region.as_deref()).interceptor(BoundedAnswer);
                    Client::from_conf(config.build())
                });
                let ask = client
                    .await
                    .invoke_model()
                    .model_id(&self.id)
                    .content_type("application/json")
                    .accept("application/json")
                    .body(Blob::new(body.to_string()));
                let answer = Box::pin(ask.send()).await.map_err(|error| refused(&error))?;
                serde_json::from_slice(answer.body.as_ref()).map_err(unusable)
            }
        }
    }

    /// Asks for the vectors of some texts, once more where that may help.
    async fn some(&self, texts: &[&str]) -> Result<Vec<Vector>, Fault> {
        let body = self.body(texts);
        let mut attempt = 1;
        loop {
            let asked = timeout(CALL, self.asked(&body)).await;
            let fault = match asked.unwrap_or_else(|_| Err(Fault::Broken("it takes too long".to_owned()))) {
                Ok(answer) => return answer.vectors(texts.len()),
                Err(fault) => fault,
            };
            let helps = matches!(fault, Fault::Busy { .. } | Fault::Broken(_));
            if !helps || attempt >= ATTEMPTS {
                return Err(fault);
            }
            sleep(PAUSE * attempt).await;
            attempt += 1;
        }
    }
}

#[async_trait]
impl Embed for SentenceModel {
    fn model(&self) -> &str {
        &self.model
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let parts = texts.chunks(self.dialect.texts());
        let asked: Vec<_> = parts.map(|part| self.some(part)).collect();
        let vectors: Result<Vec<Vec<Vector>>, Fault> = iter(asked).buffered(AT_ONCE).try_collect().await;
        let vectors = vectors.map_err(|fault| EmbedError::Hosted(fault.to_string()))?;
        Ok(vectors.into_iter().flatten().collect())
    }
}

/// Why no vectors came.
fn refused(error: &SdkError<InvokeModelError>) -> Fault {
    let code = error.meta().code().unwrap_or_default();
    match error.raw_response().map(|answer| answer.status().as_u16()) {
        None => Fault::Broken("it cannot be reached".to_owned()),
        // Of a model that failed, which is no word about our request.
        Some(424) => Fault::Broken(word(code)),
        Some(status @ 200..=299) => Fault::Unusable(format!("HTTP status {status} with another answer")),
        Some(status) => Fault::of_status(status, None, code),
    }
}

/// Ends an answer that grows too large; the client itself reads on.
#[derive(Debug)]
struct BoundedAnswer;

#[dyn_dispatch_hint]
impl Intercept for BoundedAnswer {
    fn name(&self) -> &'static str {
        "BoundedAnswer"
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _components: &RuntimeComponents,
        _settings: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let body = context.response_mut().body_mut();
        let whole = std::mem::replace(body, SdkBody::taken());
        *body = SdkBody::from_body_1_x(Limited::new(whole, ANSWER_MAX));
        Ok(())
    }
}
