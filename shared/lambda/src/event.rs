//! Which kind of event an invocation carries. Nothing is guessed: an event that is no known kind, or a broken one of
//! a known kind, fails the invocation with a typed error.

use std::collections::BTreeMap;

use aws_lambda_events::sqs::SqsEvent;
use edge::IotMessage;
use lambda_http::request::LambdaRequest;
use lambda_runtime::Diagnostic;
use serde::Deserialize;
use serde_json::Value;

use crate::iot;

/// An event of a known kind.
pub(crate) enum Event {
    /// API Gateway, REST or HTTP API; the query of the former, which its own type cannot be trusted with.
    Http(Box<LambdaRequest>, RestQuery),
    /// A request that an API asks its authorizer about.
    Authorize(AuthorizerRequest),
    /// A batch of queue messages.
    Batch(SqsEvent),
    /// A schedule of EventBridge.
    Schedule,
    /// A publication that a rule of IoT Core hands over.
    Iot(Box<IotMessage>),
}

/// What an API asks its authorizer (a `REQUEST` one, of a REST API).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuthorizerRequest {
    /// What is to be allowed or denied.
    pub(crate) method_arn: String,
    path_parameters: Option<BTreeMap<String, String>>,
}

impl AuthorizerRequest {
    /// The segment of the path in place of `{tenant}`.
    pub(crate) fn tenant(&self) -> &str {
        let parameters = self.path_parameters.as_ref();
        parameters
            .and_then(|all| all.get("tenant"))
            .map_or("", String::as_str)
    }
}

/// The query parameters of a REST API's event, decoded, in the order of their names.
pub(crate) type RestQuery = Vec<(String, String)>;

/// Why an event was not served.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// It is none of the known kinds.
    #[error(
        "the event is neither an API Gateway request, nor an SQS batch, nor a schedule, nor a publication of IoT Core"
    )]
    Unknown,
    /// It looks like a known kind, but is not one.
    #[error("the event looks like {kind} but is not: {reason}")]
    Malformed {
        /// The kind it looks like.
        kind: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// This function has nothing that serves such events.
    #[error("this function does not serve {kind} events")]
    NotServed {
        /// The event's kind.
        kind: &'static str,
    },
    /// The answer's body broke off.
    #[error("the answer could not be read to its end")]
    Answer(#[source] axum::Error),
    /// The authorizer could not tell.
    #[error("the authorizer could not tell")]
    Authorizer(#[source] edge::Error),
    /// The scheduled run failed.
    #[error("the scheduled run failed")]
    Schedule(#[from] edge::ScheduleError),
    /// A publication of IoT Core was not handled, and comes again.
    #[error("the publication was not handled")]
    Iot(#[from] edge::IotHandlerError),
}

impl EventError {
    /// The error type that Lambda reports.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown => "Edge.UnknownEvent",
            Self::Malformed { .. } => "Edge.MalformedEvent",
            Self::NotServed { .. } => "Edge.EventNotServed",
            Self::Answer(_) => "Edge.AnswerBroken",
            Self::Authorizer(_) => "Edge.AuthorizerFailed",
            Self::Schedule(_) => "Edge.ScheduleFailed",
            Self::Iot(_) => "Edge.PublicationFailed",
        }
    }
}

impl From<EventError> for Diagnostic {
    fn from(error: EventError) -> Self {
        Self {
            error_type: error.code().to_owned(),
            error_message: error.to_string(),
        }
    }
}

/// Recognises an event.
pub(crate) fn recognise(payload: Value) -> Result<Event, EventError> {
    let text = |name: &str| payload.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("type") == "REQUEST" && payload.get("methodArn").is_some() {
        let request =
            serde_json::from_value(payload).map_err(|error| malformed("an authorizer's request", &error))?;
        Ok(Event::Authorize(request))
    } else if payload.get("requestContext").is_some() || payload.get("httpMethod").is_some() {
        let query = rest_query(&payload);
        let request =
            serde_json::from_value(payload).map_err(|error| malformed("an API Gateway request", &error))?;
        Ok(Event::Http(Box::new(request), query))
    } else if payload.get("Records").is_some() {
        let batch =
            serde_json::from_value::<SqsEvent>(payload).map_err(|error| malformed("an SQS batch", &error))?;
        let foreign = |source: &Option<String>| source.as_deref().is_some_and(|name| name != "aws:sqs");
        if batch.records.iter().any(|record| foreign(&record.event_source)) {
            return Err(EventError::Unknown);
        }
        Ok(Event::Batch(batch))
    } else if matches!(text("source"), "aws.events" | "aws.scheduler") {
        Ok(Event::Schedule)
    } else if text("source") == iot::SOURCE {
        let read = iot::read(payload).map_err(|error| EventError::Malformed {
            kind: "a publication of IoT Core",
            reason: error.to_string(),
        })?;
        Ok(Event::Iot(Box::new(read)))
    } else {
        Err(EventError::Unknown)
    }
}

fn malformed(kind: &'static str, error: &serde_json::Error) -> EventError {
    EventError::Malformed {
        kind,
        reason: error.to_string(),
    }
}

fn rest_query(payload: &Value) -> RestQuery {
    let field = |name: &str| {
        payload
            .get(name)
            .and_then(Value::as_object)
            .filter(|map| !map.is_empty())
    };
    let many = field("multiValueQueryStringParameters");
    let found = many.or_else(|| field("queryStringParameters"));
    let mut query = RestQuery::new();
    for (name, value) in found.into_iter().flatten() {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        query.extend(
            values
                .iter()
                .filter_map(Value::as_str)
                .map(|value| (name.clone(), value.to_owned())),
        );
    }
    query
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn code(payload: Value) -> &'static str {
        match recognise(payload) {
            Ok(Event::Http(..)) => "http",
            Ok(Event::Batch(_)) => "batch",
            Ok(Event::Authorize(request)) if request.tenant() == "acme" => "authorize",
            Ok(Event::Authorize(_)) => "authorize nobody",
            Ok(Event::Schedule) => "schedule",
            Ok(Event::Iot(_)) => "iot",
            Err(error) => error.code(),
        }
    }

    #[test]
    fn rubbish_is_a_typed_error() {
        for rubbish in [
            json!(null),
            json!(7),
            json!("x"),
            json!([]),
            json!({}),
            json!({"source": "aws.s3"}),
        ] {
            assert_eq!(code(rubbish.clone()), "Edge.UnknownEvent", "{rubbish}");
        }
        for broken in [
            json!({"Records": 7}),
            json!({"Records": [{"body": {}}]}),
            json!({"requestContext": 7}),
            json!({"httpMethod": "GET", "path": "/"}),
            json!({"httpMethod": "G E T", "requestContext": {"httpMethod": "GET"}}),
            json!({"version": "2.0", "requestContext": {}}),
            json!({"source": "aws.iot", "topic": 7}),
        ] {
            assert_eq!(code(broken.clone()), "Edge.MalformedEvent", "{broken}");
        }
        assert_eq!(
            code(json!({"Records": [{"eventSource": "aws:s3"}]})),
            "Edge.UnknownEvent"
        );
    }

    #[test]
    fn an_authorizers_request_is_no_request_to_a_function() {
        let asked = |parameters: Value| {
            json!({ "type": "REQUEST", "methodArn": "arn:aws:execute-api:eu-north-1:1:a/prod/GET/t/acme", "httpMethod": "GET",
                    "requestContext": {}, "pathParameters": parameters })
        };
        for (parameters, expected) in [
            (json!({"tenant": "acme", "proxy": "api/chats"}), "authorize"),
            (json!(null), "authorize nobody"),
            (json!({"proxy": "acme"}), "authorize nobody"),
            (json!({"tenant": 7}), "Edge.MalformedEvent"),
        ] {
            assert_eq!(code(asked(parameters.clone())), expected, "{parameters}");
        }
    }

    #[test]
    fn a_rest_query_keeps_repeated_names_and_survives_empty_lists() {
        let query = rest_query(&json!({
            "queryStringParameters": {"tag": "last"},
            "multiValueQueryStringParameters": {"tag": ["type:a b", "k:v"], "none": []},
        }));
        let pair = |value: &str| ("tag".to_owned(), value.to_owned());
        assert_eq!(query, [pair("type:a b"), pair("k:v")]);
    }
}
