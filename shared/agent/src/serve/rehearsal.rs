//! `POST /rehearsal`, an operation of ours beside A2A's, of an agent that decides who does what: it says what it would make of a text
//! as the first of a conversation, and does nothing. It wants the scope [`auth::scope::REHEARSE`].

use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequestParts, Json, State};
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use domain::{AgentType, Timestamp, UserContext};
use routes::Routes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::caller::{Refused, admit, refuse_for};
use crate::{Agent, ExecuteError};

/// Most characters of a text that is rehearsed.
const SAY_MAX: usize = 2_000;

/// A text that somebody might say.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rehearsal {
    /// The text.
    pub say: String,
    /// When they would say it; now where that is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Their time zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
}

/// What would become of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rehearsed {
    /// What would be done: `send`, `plan`, `ask`, `say`; or what it would be taken for that needs no agent, such as `talk`.
    pub act: String,
    /// Who would be given what.
    pub sends: Vec<RehearsedSend>,
    /// Whom its user would be asked to choose from.
    pub asked: Vec<AgentType>,
    /// What decided.
    pub model: String,
    /// How many tokens that took.
    pub tokens: u64,
    /// How long it took.
    pub millis: u64,
}

/// What an agent would be given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RehearsedSend {
    /// The agent's type.
    pub agent: AgentType,
    /// In words.
    pub request: String,
    /// As data by the schema that the agent publishes; null where it publishes none.
    pub data: Value,
}

/// The route, relative to the agent's URL.
pub(crate) fn routes() -> Routes<Arc<Agent>> {
    Routes::new().post(
        "/rehearsal",
        "what would be made of a text; nothing is done",
        rehearse,
    )
}

/// Somebody who may try what the agent makes of texts.
struct Rehearser;

impl FromRequestParts<Arc<Agent>> for Rehearser {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, agent: &Arc<Agent>) -> Result<Self, Refused> {
        let header = parts.headers.get(AUTHORIZATION);
        let header = header.map(|value| value.to_str().unwrap_or(""));
        let admitted = admit(agent, header, auth::scope::REHEARSE).await;
        let caller = admitted.map_err(|refusal| refuse_for(agent, refusal, auth::scope::REHEARSE))?;
        tracing::Span::current().record("tenant.id", caller.tenant.name());
        Ok(Self)
    }
}

async fn rehearse(
    State(agent): State<Arc<Agent>>,
    _: Rehearser,
    body: Result<Json<Rehearsal>, JsonRejection>,
) -> Response {
    let refused = |status: StatusCode, error: &str, message: &str| {
        (status, Json(json!({"error": error, "message": message}))).into_response()
    };
    let invalid = |message: &str| refused(StatusCode::BAD_REQUEST, "invalid_request", message);
    let asked = match body {
        Ok(Json(asked)) => asked,
        Err(error) => return invalid(&error.body_text()),
    };
    if asked.say.trim().is_empty() || asked.say.chars().count() > SAY_MAX {
        return invalid(&format!("say has 1 to {SAY_MAX} characters"));
    }
    let user = match UserContext::parse(None, asked.time_zone) {
        Ok(user) => user,
        Err(error) => return invalid(&error.to_string()),
    };
    let at = asked.at.unwrap_or_else(|| agent.clock.now());
    match agent.executor.rehearse(&asked.say, at, &user).await {
        Ok(rehearsed) => Json(rehearsed).into_response(),
        Err(ExecuteError::Retry(why)) => refused(StatusCode::SERVICE_UNAVAILABLE, "unavailable", &why),
        Err(error) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "a text is not rehearsed"
            );
            refused(
                StatusCode::SERVICE_UNAVAILABLE,
                "unavailable",
                "try again shortly",
            )
        }
    }
}
