//! A request from a broker: handed to its agent, and answered. What comes later reaches the bridge as the agent's own push
//! notifications ([`crate::reply`]).
//!
//! When this returns, the agent has stored what was asked, or refused it: the publication can be acknowledged.

use std::sync::Arc;
use std::time::Duration;

use a2a::mqtt::{
    AgentAddress, ArtifactMode, Asked, Publication, Recipient, Refused, ReplyWriter, Request, RequestRules,
    Topic, is_stream_end, read_request,
};
use domain::trace::within;
use domain::{ExposeSecret as _, TraceParent};
use mqtt::Publisher;
use serde_json::{Value, json};

use crate::asking::{Said, ask, publish_all};
use crate::bridge::Bridge;
use crate::config::AgentPlace;
use crate::settled::tell_working;
use crate::ticket::{Mode, Ticket};

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handled {
    /// Its agent has it, and whoever asked has the answer, or will.
    Answered,
    /// Whoever asked was told why not.
    Refused,
    /// It was dropped: there is nowhere that an answer could go.
    Dropped(&'static str),
    /// The answer could not be published.
    Unanswered,
}

/// Handles what came in for an agent of ours; `age` is for how long it has lain here.
pub async fn handle(
    bridge: &Arc<Bridge>,
    agent: &AgentAddress,
    publication: &Publication,
    age: Duration,
) -> Handled {
    let rules = RequestRules {
        prefix: &bridge.prefix,
        orgs: &bridge.orgs,
        age,
    };
    let (Some(place), Some(publisher)) = (bridge.agent(agent), bridge.publisher(agent)) else {
        return Handled::Dropped("not_ours");
    };
    match read_request(publication, &rules) {
        Err(Refused::Dropped(why)) => Handled::Dropped(why.as_str()),
        Err(Refused::Answered { reply, id, error }) => {
            let pooled = matches!(
                bridge.prefix.read(&publication.topic),
                Some(Topic::Request(Recipient::Pool(_)))
            );
            let writer = ReplyWriter {
                path: reply,
                id,
                responder: pooled.then(|| agent.clone()),
                artifacts: ArtifactMode::Json,
                max_packet: publisher.max_packet(),
            };
            tracing::debug!(mqtt.agent = %agent, reason = %error, "request refused");
            published(publisher.as_ref(), vec![writer.failure(&error)], Handled::Refused).await
        }
        Ok(request) => {
            if matches!(&request.recipient, Recipient::Agent(wanted) if wanted != agent) {
                return Handled::Dropped("not_a_request");
            }
            let trace = request.trace.as_deref().and_then(TraceParent::parse);
            let trace = trace.unwrap_or_else(|| TraceParent::random(bridge.entropy.as_ref()));
            let carried = Carried {
                bridge,
                place,
                publisher,
                request,
            };
            within(Some(trace), Box::pin(carried.carry())).await
        }
    }
}

/// A request on its way.
struct Carried<'b> {
    bridge: &'b Arc<Bridge>,
    place: &'b AgentPlace,
    publisher: Arc<dyn Publisher>,
    request: Request,
}

impl Carried<'_> {
    async fn carry(self) -> Handled {
        let writer = self.writer();
        let _handling = self.bridge.under_way.begin(&self.request.reply);
        let answered = match &self.request.asked {
            Asked::Subscribe(task) => self.subscribed(task).await,
            _ => self.asked(&self.request.body_with(self.push())).await,
        };
        let result = match answered {
            Ok(result) => result,
            Err(Said::Error(error)) => {
                let told = vec![writer.error(error)];
                return published(self.publisher.as_ref(), told, Handled::Refused).await;
            }
            Err(Said::Failed(error)) => {
                let told = vec![writer.failure(&error)];
                return published(self.publisher.as_ref(), told, Handled::Refused).await;
            }
        };
        let items: Vec<Value> = match self.request.asked {
            Asked::SendAndWait(_) if !is_stream_end(&result) => {
                // The settled task comes as a notification; until then, one look shows that there is work. Of what was asked and
                // answered it keeps no more than it needs: many may wait for theirs.
                let Some(task) = result.pointer("/task/id").cloned() else {
                    return Handled::Answered;
                };
                let asker = (self.request.token.clone(), task);
                let look = tell_working(Arc::clone(self.bridge), self.place.clone(), writer, asker);
                drop(result);
                match self.bridge.stays {
                    true => drop(tokio::spawn(look)),
                    false => look.await,
                }
                return Handled::Answered;
            }
            Asked::Stream(_) | Asked::Subscribe(_) => followed(result),
            _ => vec![result],
        };
        let told = items.into_iter().flat_map(|item| writer.result(item)).collect();
        published(self.publisher.as_ref(), told, Handled::Answered).await
    }

    fn writer(&self) -> ReplyWriter {
        ReplyWriter {
            path: self.request.reply.clone(),
            id: self.request.id.clone(),
            responder: self.names_responder().then(|| self.place.address.clone()),
            artifacts: self.request.artifacts,
            max_packet: self.publisher.max_packet(),
        }
    }

    /// Whoever asked a pool does not know who answers.
    fn names_responder(&self) -> bool {
        matches!(self.request.recipient, Recipient::Pool(_))
    }

    /// The push configuration by which the rest of the answer comes here, where there is a rest.
    fn push(&self) -> Option<Value> {
        let mode = match self.request.asked {
            Asked::SendAndWait(_) => Mode::Settled,
            Asked::Stream(_) | Asked::Subscribe(_) => Mode::Stream,
            Asked::Send(_) | Asked::Other => return None,
        };
        let ticket = Ticket {
            responder: self.place.address.clone(),
            names_responder: self.names_responder(),
            reply: self.request.reply.clone(),
            id: self.request.id.clone(),
            artifacts: self.request.artifacts,
            mode,
        };
        let token = ticket.seal(&self.bridge.sealer, self.bridge.entropy.as_ref());
        // One of a response topic: a retry that listens there moves the stream to itself.
        let id = auth::token::hash(&self.request.reply.topic);
        Some(json!({ "id": id, "url": self.bridge.reply_url.as_str(), "token": token.expose_secret() }))
    }

    /// A subscription: the task as it is, and a push configuration for what comes.
    async fn subscribed(&self, task: &str) -> Result<Value, Said> {
        let mut push = self.push().unwrap_or_default();
        if let Some(fields) = push.as_object_mut() {
            fields.insert("taskId".to_owned(), json!(task));
        }
        let asks = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": self.request.id, "method": method, "params": params });
        let found = self
            .asked(&asks("GetTask", json!({ "id": task, "historyLength": 0 })))
            .await?;
        if !is_stream_end(&json!({ "task": found })) {
            self.asked(&asks("CreateTaskPushNotificationConfig", push))
                .await?;
        }
        Ok(json!({ "task": found }))
    }

    async fn asked(&self, body: &Value) -> Result<Value, Said> {
        ask(self.bridge, self.place, self.request.token.as_ref(), body).await
    }
}

/// What a stream begins with: the task; and where that tells the end, the event that alone ends a stream.
pub(crate) fn followed(result: Value) -> Vec<Value> {
    let ends = is_stream_end(&result);
    match result.get("task").filter(|_| ends) {
        Some(task) => {
            let status = last_status(task);
            vec![result, status]
        }
        None => vec![result],
    }
}

/// The event that tells a task's state.
pub(crate) fn last_status(task: &Value) -> Value {
    let of = |name: &str| task.get(name).cloned().unwrap_or_default();
    let mut update = json!({ "taskId": of("id"), "contextId": of("contextId"), "status": of("status") });
    if let (Some(metadata), Some(fields)) = (task.get("metadata"), update.as_object_mut()) {
        fields.insert("metadata".to_owned(), metadata.clone());
    }
    json!({ "statusUpdate": update })
}

async fn published(publisher: &dyn Publisher, told: Vec<Publication>, handled: Handled) -> Handled {
    match publish_all(publisher, told).await {
        Ok(_) => handled,
        Err(_) => Handled::Unanswered,
    }
}
