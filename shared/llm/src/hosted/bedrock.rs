//! Bedrock's Converse, streamed, by AWS's own client: it speaks to every model there in the same way.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::config::retry::RetryConfig;
use aws_sdk_bedrockruntime::config::{StalledStreamProtectionConfig, timeout::TimeoutConfig};
use aws_sdk_bedrockruntime::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_sdk_bedrockruntime::operation::converse_stream::ConverseStreamError;
use aws_sdk_bedrockruntime::types::error::ConverseStreamOutputError;
use aws_sdk_bedrockruntime::types::{
    CachePointBlock, CachePointType, ContentBlock, ContentBlockDelta, ContentBlockStart, ConversationRole,
    ConverseStreamOutput, InferenceConfiguration, Message, SpecificToolChoice, SystemContentBlock, Tool,
    ToolChoice, ToolConfiguration, ToolInputSchema, ToolSpecification,
};
use aws_smithy_types::Document;
use aws_types::SdkConfig;
use outbound::EventLimits;
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout, timeout_at};

use super::Provider;
use super::answer::{End, Gathered};
use super::decision::{DECIDE, RawCall};
use super::dialogue::{Dialogue, Speaker};
use super::fault::{Fault, word};
use crate::Draft;
use domain::TokenUsage;

/// How long is waited for the count of tokens once the answer is whole.
const EPILOGUE: Duration = Duration::from_secs(2);

/// Where the settings that all AWS clients share come from. They are asked for at the first call, by region where the
/// model names one of its own.
pub type AwsSettings = Arc<dyn Fn(Option<&str>) -> SdkConfig + Send + Sync>;

/// A model of Amazon Bedrock. Its client is made at the first call.
pub struct Bedrock {
    name: String,
    model: String,
    region: Option<String>,
    max_tokens: u32,
    limits: EventLimits,
    aws: AwsSettings,
    client: OnceCell<Client>,
    /// What the model has refused, and is not sent again.
    refused: Mutex<BTreeSet<&'static str>>,
}

/// What not every model takes, by the words with which it is refused. Without a forced choice the tool is still there.
const OPTIONAL: [(&str, &[&str]); 4] = [
    ("prompt caching", &["caching", "cachepoint"]),
    ("a forced choice", &["toolchoice", "tool_choice", "tool choice"]),
    ("tools", &["tool use", "toolconfig", "tools"]),
    ("a temperature", &["temperature"]),
];

impl Bedrock {
    /// The model, or inference profile, of that id.
    #[must_use]
    pub fn new(
        aws: AwsSettings,
        (model, region): (&str, Option<&str>),
        (max_tokens, limits): (u32, EventLimits),
    ) -> Self {
        Self {
            name: format!("bedrock:{model}"),
            model: model.to_owned(),
            region: region.map(str::to_owned),
            max_tokens,
            limits,
            aws,
            client: OnceCell::new(),
            refused: Mutex::default(),
        }
    }

    async fn client(&self) -> &Client {
        let made = self
            .client
            .get_or_init(|| async { Client::from_conf(config(&self.aws, self.region.as_deref()).build()) });
        made.await
    }

    /// Whether it is sent this.
    fn takes(&self, what: &str) -> bool {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        !refused.contains(what)
    }

    /// What heals by less, or why it does not.
    fn healed(&self, refusal: Refusal) -> Fault {
        let lower = refusal.words.to_lowercase();
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let is_named = |names: &[&str]| names.iter().any(|name| lower.contains(name));
        let found = OPTIONAL.iter().filter(|_| matches!(refusal.status, 400 | 403));
        let mut found = found.filter(|(what, names)| is_named(names) && !refused.contains(what));
        match found.next() {
            Some((what, _)) => {
                refused.insert(what);
                Fault::Unknown(what)
            }
            None => Fault::of_words(refusal.status, &refusal.words).unwrap_or(refusal.fault),
        }
    }

    async fn gather(
        &self,
        dialogue: &Dialogue,
        draft: &mut dyn Draft,
        gathered: &mut Gathered,
    ) -> Result<(), Fault> {
        let started = Instant::now();
        let unusable = |error: BuildError| Fault::Unusable(error.to_string());
        let most = i32::try_from(dialogue.most(self.max_tokens)).unwrap_or(i32::MAX);
        let mut bounds = InferenceConfiguration::builder().max_tokens(most);
        if dialogue.schema.is_some() && self.takes("a temperature") {
            bounds = bounds.temperature(0.0);
        }
        let mut ask = self
            .client()
            .await
            .converse_stream()
            .model_id(&self.model)
            .inference_config(bounds.build())
            .system(SystemContentBlock::Text(dialogue.system.clone()));
        if self.takes("prompt caching") {
            let cache = CachePointBlock::builder().r#type(CachePointType::Default);
            // What stands before the mark is the same for every message.
            ask = ask.system(SystemContentBlock::CachePoint(cache.build().map_err(unusable)?));
        }
        if let Some(schema) = dialogue.schema.as_ref().filter(|_| self.takes("tools")) {
            ask = ask.tool_config(forced(schema, self.takes("a forced choice")).map_err(unusable)?);
        }
        let ask = ask.set_messages(Some(messages(dialogue).map_err(unusable)?));
        let until = started + self.limits.first_byte;
        let late = |_| Fault::Broken("it says nothing".to_owned());
        let asked = timeout_at(until, Box::pin(ask.send())).await.map_err(late)?;
        let mut stream = asked.map_err(|error| self.healed(refused(&error)))?.stream;
        let mut blocks = Blocks::default();
        let mut until = until;
        let mut left = self.limits.bytes;
        loop {
            let event = match gathered.end {
                None => timeout_at(until, stream.recv())
                    .await
                    .map_err(late)?
                    .map_err(|error| broken(&error))?,
                // The answer is whole; what goes wrong with the rest does not matter any more.
                Some(_) => timeout(EPILOGUE, stream.recv())
                    .await
                    .ok()
                    .and_then(Result::ok)
                    .flatten(),
            };
            let Some(event) = event else {
                break;
            };
            until = Instant::now() + self.limits.idle;
            let size = blocks.take(event, gathered, draft);
            let more = left.checked_sub(size);
            left = more
                .ok_or_else(|| Fault::Unusable(format!("it is larger than {} bytes", self.limits.bytes)))?;
        }
        Ok(())
    }
}

fn messages(dialogue: &Dialogue) -> Result<Vec<Message>, BuildError> {
    let message = |(by, text): &(Speaker, String)| {
        let role = match by {
            Speaker::User => ConversationRole::User,
            Speaker::Model => ConversationRole::Assistant,
        };
        Message::builder()
            .role(role)
            .content(ContentBlock::Text(text.clone()))
            .build()
    };
    dialogue.messages.iter().map(message).collect()
}

impl std::fmt::Debug for Bedrock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bedrock")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for Bedrock {
    fn name(&self) -> &str {
        &self.name
    }

    fn max_tokens(&self) -> u32 {
        self.max_tokens
    }

    async fn attempt(
        &self,
        dialogue: &Dialogue,
        draft: &mut dyn Draft,
        gathered: &mut Gathered,
    ) -> Result<(), Fault> {
        let whole = timeout(
            self.limits.whole,
            Box::pin(self.gather(dialogue, draft, gathered)),
        )
        .await;
        whole.map_err(|_| Fault::Broken("it takes too long".to_owned()))?
    }
}

/// What every client of Bedrock is told: whoever asks tries again, and our own limits end what is silent.
pub(crate) fn config(aws: &AwsSettings, region: Option<&str>) -> aws_sdk_bedrockruntime::config::Builder {
    aws_sdk_bedrockruntime::config::Builder::from(&aws(region))
        .retry_config(RetryConfig::disabled())
        .timeout_config(TimeoutConfig::disabled())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
}

/// The decision as the one tool that there is.
fn forced(schema: &Value, is_forced: bool) -> Result<ToolConfiguration, BuildError> {
    let spec = ToolSpecification::builder()
        .name(DECIDE)
        .description("Says what is to be done.")
        .input_schema(ToolInputSchema::Json(document(schema)));
    let mut config = ToolConfiguration::builder().tools(Tool::ToolSpec(spec.build()?));
    if is_forced {
        let choice = SpecificToolChoice::builder().name(DECIDE).build()?;
        config = config.tool_choice(ToolChoice::Tool(choice));
    }
    config.build()
}

/// The blocks of an answer as they grow.
#[derive(Default)]
struct Blocks {
    /// Which block each call is.
    calls: Vec<i32>,
}

impl Blocks {
    /// Takes an event in; gives the bytes that it added.
    fn take(&mut self, event: ConverseStreamOutput, gathered: &mut Gathered, draft: &mut dyn Draft) -> usize {
        match event {
            ConverseStreamOutput::ContentBlockStart(start) => {
                if let Some(ContentBlockStart::ToolUse(call)) = start.start {
                    let call = RawCall {
                        id: call.tool_use_id,
                        name: call.name,
                        arguments: String::new(),
                    };
                    self.calls.push(start.content_block_index);
                    gathered.calls.push(call);
                }
                64
            }
            ConverseStreamOutput::ContentBlockDelta(delta) => match delta.delta {
                Some(ContentBlockDelta::Text(text)) => {
                    draft.grows(&text);
                    gathered.text.push_str(&text);
                    text.len()
                }
                Some(ContentBlockDelta::ToolUse(more)) => {
                    let place = delta.content_block_index;
                    let at = self.calls.iter().rposition(|at| *at == place);
                    if let Some(call) = at.and_then(|at| gathered.calls.get_mut(at)) {
                        call.arguments.push_str(&more.input);
                    }
                    more.input.len()
                }
                _ => 0,
            },
            ConverseStreamOutput::MessageStop(stop) => {
                gathered.end = Some(match stop.stop_reason.as_str() {
                    "max_tokens" | "model_context_window_exceeded" => End::Length,
                    "content_filtered" | "guardrail_intervened" | "refusal" => End::Refused,
                    "malformed_tool_use" | "malformed_model_output" => End::Malformed,
                    _ => End::Natural,
                });
                0
            }
            ConverseStreamOutput::Metadata(told) => {
                if let Some(usage) = told.usage {
                    let count = |count: i32| u64::try_from(count).unwrap_or_default();
                    let cached = count(usage.cache_read_input_tokens.unwrap_or_default());
                    let written = count(usage.cache_write_input_tokens.unwrap_or_default());
                    gathered.usage = TokenUsage {
                        // Bedrock counts what comes from the cache, or goes into it, apart.
                        input: count(usage.input_tokens) + cached + written,
                        output: count(usage.output_tokens),
                        cached,
                    };
                }
                0
            }
            _ => 0,
        }
    }
}

/// A refusal, with the provider's words, which are for decisions alone.
struct Refusal {
    status: u16,
    words: String,
    fault: Fault,
}

/// Why no stream came.
fn refused(error: &SdkError<ConverseStreamError>) -> Refusal {
    let words = error.meta().message().unwrap_or_default().to_owned();
    let status = error.raw_response().map_or(0, |answer| answer.status().as_u16());
    let fault = cause(error, &words);
    Refusal { status, words, fault }
}

/// What an operator can do about a refusal that Bedrock gives one code for.
const CAUSES: [(&str, &str); 4] = [
    (
        "on-demand throughput",
        "it is to be asked by an inference profile's id",
    ),
    ("access to the model", "access to the model is not granted"),
    ("expired", "the credentials have expired"),
    ("model identifier", "there is no such model in this region"),
];

fn cause(error: &SdkError<ConverseStreamError>, words: &str) -> Fault {
    let Some(answer) = error.raw_response() else {
        return match error {
            SdkError::ConstructionFailure(_) => Fault::Denied("the request cannot be made".to_owned()),
            _ => Fault::Broken("it cannot be reached".to_owned()),
        };
    };
    let wait = answer.headers().get("retry-after");
    let wait = wait
        .and_then(|wait| wait.trim().parse().ok())
        .map(Duration::from_secs);
    let code = error.meta().code().unwrap_or_default();
    let service = error.as_service_error();
    match answer.status().as_u16() {
        // The first event is an exception already, whose code is its type.
        200..=299 => match service {
            Some(told) if told.is_validation_exception() => {
                Fault::of_status(400, None, "ValidationException")
            }
            Some(_) => Fault::of_status(503, None, code),
            None => Fault::Broken("what came is no stream".to_owned()),
        },
        status => match (service, Fault::of_status(status, wait, code)) {
            (Some(ConverseStreamError::ModelNotReadyException(_)), _) => Fault::Starting,
            (
                Some(
                    ConverseStreamError::ModelTimeoutException(_)
                    | ConverseStreamError::ModelErrorException(_),
                ),
                _,
            ) => Fault::Busy {
                wait,
                cause: word(code),
            },
            (_, Fault::Denied(cause)) => {
                let lower = words.to_lowercase();
                let told = CAUSES.iter().find(|(said, _)| lower.contains(said));
                Fault::Denied(told.map_or(cause.clone(), |(_, told)| format!("{cause}: {told}")))
            }
            (_, fault) => fault,
        },
    }
}

/// Why a stream broke: an exception is an event of it.
fn broken<R>(error: &SdkError<ConverseStreamOutputError, R>) -> Fault {
    match error.as_service_error() {
        Some(told) if told.is_validation_exception() => Fault::of_status(400, None, "ValidationException"),
        Some(told) if told.is_throttling_exception() => Fault::of_status(429, None, "ThrottlingException"),
        Some(told) if told.is_model_stream_error_exception() => {
            Fault::Broken("ModelStreamErrorException".to_owned())
        }
        Some(_) => Fault::of_status(503, None, "an exception within the stream"),
        None => Fault::Broken("the stream broke".to_owned()),
    }
}

/// JSON as the client has it.
fn document(value: &Value) -> Document {
    match value {
        Value::Null => Document::Null,
        Value::Bool(value) => Document::Bool(*value),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Document::from(number),
            (None, Some(number)) => Document::from(number),
            (None, None) => Document::from(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Document::String(text.clone()),
        Value::Array(items) => Document::Array(items.iter().map(document).collect()),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), document(value)));
            Document::Object(fields.collect())
        }
    }
}
