//! Bedrock's Converse, streamed, by AWS's own client: it speaks to every model there in the same way.

use std::sync::Arc;
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
    ConverseStreamOutput, InferenceConfiguration, Message, ReasoningContentBlock, ReasoningContentBlockDelta,
    ReasoningTextBlock, SystemContentBlock, Tool, ToolConfiguration, ToolInputSchema, ToolResultBlock,
    ToolResultContentBlock, ToolResultStatus, ToolSpecification, ToolUseBlock,
};
use aws_smithy_types::Document;
use aws_types::SdkConfig;
use outbound::EventLimits;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout, timeout_at};

use super::Provider;
use super::answer::{End, Gathered};
use super::dialogue::{Dialogue, Piece, Speaker, Spoken};
use super::fault::{Fault, word};
use super::tools::RawCall;
use crate::{Answer, Draft};
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
}

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
        }
    }

    async fn client(&self) -> &Client {
        let made = self
            .client
            .get_or_init(|| async { Client::from_conf(config(&self.aws, self.region.as_deref()).build()) });
        made.await
    }

    async fn gathered(&self, dialogue: &Dialogue, draft: &mut dyn Draft) -> Result<Gathered, Fault> {
        let started = Instant::now();
        let unusable = |error: BuildError| Fault::Unusable(error.to_string());
        let most = i32::try_from(self.max_tokens).unwrap_or(i32::MAX);
        let cache = CachePointBlock::builder()
            .r#type(CachePointType::Default)
            .build()
            .map_err(unusable)?;
        let ask = self
            .client()
            .await
            .converse_stream()
            .model_id(&self.model)
            .inference_config(InferenceConfiguration::builder().max_tokens(most).build())
            .system(SystemContentBlock::Text(dialogue.system.clone()))
            // What stands before the mark is the same for every step of every task.
            .system(SystemContentBlock::CachePoint(cache))
            .tool_config(tools(dialogue).map_err(unusable)?)
            .set_messages(Some(self.messages(dialogue).map_err(unusable)?));
        let until = started + self.limits.first_byte;
        let late = |_| Fault::Broken("it says nothing".to_owned());
        let asked = timeout_at(until, Box::pin(ask.send())).await.map_err(late)?;
        let mut stream = asked.map_err(|error| refused(&error))?.stream;
        let mut gathered = Gathered::default();
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
            let size = blocks.take(event, &mut gathered, draft);
            let more = left.checked_sub(size);
            left = more
                .ok_or_else(|| Fault::Unusable(format!("it is larger than {} bytes", self.limits.bytes)))?;
        }
        gathered.calls = blocks.calls.into_iter().map(|(_, call)| call).collect();
        gathered.opaque = Some(Value::Array(blocks.thoughts)).filter(|thoughts| thoughts != &json!([]));
        Ok(gathered)
    }

    fn messages(&self, dialogue: &Dialogue) -> Result<Vec<Message>, BuildError> {
        dialogue
            .messages
            .iter()
            .map(|spoken| self.message(spoken))
            .collect()
    }

    fn message(&self, spoken: &Spoken) -> Result<Message, BuildError> {
        let role = match spoken.by {
            Speaker::User => ConversationRole::User,
            Speaker::Model => ConversationRole::Assistant,
        };
        let mut message = Message::builder().role(role);
        for piece in &spoken.parts {
            match piece {
                Piece::Text(text) => message = message.content(ContentBlock::Text(text.clone())),
                Piece::Thought(thought) if thought.model == self.name => {
                    for block in thought
                        .value
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(reasoning)
                    {
                        message = message.content(ContentBlock::ReasoningContent(block));
                    }
                }
                // Another model's.
                Piece::Thought(_) => {}
                Piece::Call { id, name, arguments } => {
                    let call = ToolUseBlock::builder().tool_use_id(id).name(name);
                    message =
                        message.content(ContentBlock::ToolUse(call.input(document(arguments)).build()?));
                }
                Piece::Result {
                    call_id,
                    text,
                    failed,
                } => {
                    let status = match failed {
                        true => ToolResultStatus::Error,
                        false => ToolResultStatus::Success,
                    };
                    let result = ToolResultBlock::builder()
                        .tool_use_id(call_id)
                        .content(ToolResultContentBlock::Text(text.clone()))
                        .status(status);
                    message = message.content(ContentBlock::ToolResult(result.build()?));
                }
            }
        }
        message.build()
    }
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

    async fn attempt(&self, dialogue: &Dialogue, draft: &mut dyn Draft) -> Result<Answer, Fault> {
        let whole = timeout(self.limits.whole, Box::pin(self.gathered(dialogue, draft))).await;
        let late = |_| Fault::Broken("it takes too long".to_owned());
        whole.map_err(late)??.answer(&self.name, dialogue)
    }
}

/// What every client of Bedrock is told: whoever asks tries again, and our own limits end what is silent.
pub(crate) fn config(aws: &AwsSettings, region: Option<&str>) -> aws_sdk_bedrockruntime::config::Builder {
    aws_sdk_bedrockruntime::config::Builder::from(&aws(region))
        .retry_config(RetryConfig::disabled())
        .timeout_config(TimeoutConfig::disabled())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
}

fn tools(dialogue: &Dialogue) -> Result<ToolConfiguration, BuildError> {
    let mut config = ToolConfiguration::builder();
    for tool in &dialogue.tools {
        let spec = ToolSpecification::builder()
            .name(tool.name)
            .description(tool.description)
            .input_schema(ToolInputSchema::Json(document(&tool.schema)));
        config = config.tools(Tool::ToolSpec(spec.build()?));
    }
    config.build()
}

/// The blocks of an answer as they grow.
#[derive(Default)]
struct Blocks {
    calls: Vec<(i32, RawCall)>,
    thoughts: Vec<Value>,
    /// Which block the last thought is.
    thinking: Option<i32>,
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
                    self.calls.push((start.content_block_index, call));
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
                    let grows = self.calls.iter_mut().rfind(|(at, _)| *at == place);
                    if let Some((_, call)) = grows {
                        call.arguments.push_str(&more.input);
                    }
                    more.input.len()
                }
                Some(ContentBlockDelta::ReasoningContent(more)) => {
                    self.think(delta.content_block_index, &more)
                }
                _ => 0,
            },
            ConverseStreamOutput::MessageStop(stop) => {
                gathered.end = Some(match stop.stop_reason.as_str() {
                    "max_tokens" | "model_context_window_exceeded" => End::Length,
                    "content_filtered" | "guardrail_intervened" | "refusal" => End::Refused,
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

    fn think(&mut self, place: i32, more: &ReasoningContentBlockDelta) -> usize {
        let (key, more) = match more {
            ReasoningContentBlockDelta::Text(text) => ("text", text.clone()),
            ReasoningContentBlockDelta::Signature(signature) => ("signature", signature.clone()),
            ReasoningContentBlockDelta::RedactedContent(blob) => {
                ("redacted", aws_smithy_types::base64::encode(blob.as_ref()))
            }
            _ => return 0,
        };
        if self.thinking.replace(place) != Some(place) {
            self.thoughts.push(json!({}));
        }
        if let Some(thought) = self.thoughts.last_mut().and_then(Value::as_object_mut) {
            let before = thought.get(key).and_then(Value::as_str).unwrap_or_default();
            let grown = format!("{before}{more}");
            thought.insert(key.to_owned(), grown.into());
        }
        more.len()
    }
}

/// A thought as the model wants to see it again: signed, or sealed.
fn reasoning(thought: &Value) -> Option<ReasoningContentBlock> {
    let text = |key: &str| thought.get(key).and_then(Value::as_str);
    if let Some(sealed) = text("redacted") {
        let sealed = aws_smithy_types::base64::decode(sealed).ok()?;
        return Some(ReasoningContentBlock::RedactedContent(sealed.into()));
    }
    let block = ReasoningTextBlock::builder()
        .text(text("text").unwrap_or_default())
        .set_signature(text("signature").map(str::to_owned));
    block.build().ok().map(ReasoningContentBlock::ReasoningText)
}

/// Why no stream came.
fn refused(error: &SdkError<ConverseStreamError>) -> Fault {
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
        status => match service {
            Some(
                ConverseStreamError::ModelNotReadyException(_)
                | ConverseStreamError::ModelTimeoutException(_)
                | ConverseStreamError::ModelErrorException(_),
            ) => Fault::Busy {
                wait,
                cause: word(code),
            },
            _ => Fault::of_status(status, wait, code),
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
