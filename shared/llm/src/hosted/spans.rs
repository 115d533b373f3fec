//! What a span says of a call to a model, by version 0.1.0 of OpenTelemetry's semantic conventions for generative AI. Nothing of it is
//! anybody's words.

use domain::TokenUsage;
use tracing::Span;
use tracing::field::Empty;

use super::Fault;

/// The span of one call to the model of this name, its kind and a colon before it.
pub(super) fn chat(name: &str) -> Span {
    let (kind, model) = name.split_once(':').unwrap_or(("", name));
    tracing::debug_span!(
        "llm.model.chat",
        otel.name = format!("chat {model}"),
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = if kind == "bedrock" { "aws.bedrock" } else { kind },
        gen_ai.request.model = model,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        error.type = Empty,
    )
}

/// Tells what the call took, and which kind of fault ended it.
pub(super) fn ended(span: &Span, usage: TokenUsage, fault: Option<&Fault>) {
    span.record("gen_ai.usage.input_tokens", usage.input);
    span.record("gen_ai.usage.output_tokens", usage.output);
    if let Some(fault) = fault {
        let told = format!("{fault:?}");
        let kind = told.split(|c: char| !c.is_alphanumeric()).next();
        span.record("error.type", kind.unwrap_or_default());
    }
}
