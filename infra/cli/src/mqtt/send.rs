//! `switchyard mqtt send`: one message to an agent, with all that goes over the broker for it.

use std::time::{Duration, Instant};

use a2a::mqtt::{AgentAddress, Properties, Publication, Recipient, is_stream_end, property};
use auth::Grant;
use clap::Args;
use domain::{
    Clock as _, ExposeSecret as _, Owner, SecretString, SystemClock, SystemEntropy, TaskId, Tenant,
};
use mqtt::{PublishError, Published, Publisher as _, Received};
use serde_json::{Value, json};
use url::Url;

use super::connect::{AtBroker, Connected, Way, suffix};
use crate::Failure;
use crate::agents::{printable, text};
use crate::place;
use local::data::endpoints::Endpoints;
use local::data::secrets::Secrets;
use local::mqtt::ORG;
use local::mqtt::access::{OPERATOR, PLATFORM};

/// How long a token lives.
const LIFETIME: Duration = Duration::from_secs(300);
/// For how long a request is worth anything, in seconds: longer than its first answer may take.
const EXPIRY: u32 = 60;

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 the task is done, or answered; 1 refused, or nobody takes requests there (PUBACK 0x10); \
                        3 no final answer in time: ask again with --task."
)]
pub(crate) struct Send {
    #[command(flatten)]
    at: AtBroker,
    /// The agent's address
    #[arg(value_name = "ORG/UNIT/AGENT")]
    agent: AgentAddress,
    /// The message
    #[arg(value_name = "TEXT", required_unless_present = "task")]
    text: Option<String>,
    /// Send a token of this tenant, for agents of the running system
    #[arg(long, value_name = "NAME", conflicts_with = "token")]
    tenant: Option<Tenant>,
    /// The owner of the tasks that are made with that token
    #[arg(long, default_value = "terminal")]
    owner: Owner,
    /// Send this token. Better set the variable: other users of the machine can read arguments
    #[arg(long, env = "A2A_TOKEN", hide_env_values = true)]
    token: Option<SecretString>,
    /// Show each event of the task as it comes
    #[arg(long)]
    stream: bool,
    /// Continue this task; without a text, ask for its state
    #[arg(long, value_name = "ID")]
    task: Option<TaskId>,
    /// How many seconds to wait for the end
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
}

impl Send {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let way = self.at.way(OPERATOR)?;
        let token = self.token()?;
        let task = self.task.unwrap_or_else(|| TaskId::random(&SystemEntropy));
        let reply = way.prefix.reply(&way.me, &suffix()).map_err(Failure::other)?;
        let correlation = suffix();
        let Connected { session, mut heard } = way.connect(vec![reply.clone()]).await?;
        let request = self.request(&way, &task, (&reply, &correlation), token.as_ref());
        outln!("-> {}", request.topic);
        outln!("   {} {}", self.method(), task);
        outln!("   replies to  {reply}");
        outln!("   correlation {correlation}");
        let begun = Instant::now();
        match session.publish(request).await {
            Ok(Published::Taken) => outln!("   PUBACK 0x00 taken"),
            Ok(Published::NoMatchingSubscribers) => {
                outln!("   PUBACK 0x10 no matching subscribers");
                session.close().await;
                let agent = &self.agent;
                return Err(Failure::other(format!(
                    "nobody takes requests for {agent} on this broker"
                )));
            }
            Err(error) => {
                outln!("   PUBACK {}", reason(&error));
                session.close().await;
                return Err(Failure::other(error));
            }
        }
        let end = tokio::time::Instant::now() + Duration::from_secs(self.wait);
        let ended = loop {
            let Ok(Some(received)) = tokio::time::timeout_at(end, heard.recv()).await else {
                break None;
            };
            if received.publication.properties.correlation.as_deref() != Some(correlation.as_bytes()) {
                outln!("<- a reply with another correlation, ignored");
                continue;
            }
            if let Some(end) = self.item(&received, begun) {
                break Some(end);
            }
        };
        session.close().await;
        ended.unwrap_or_else(|| {
            Err(Failure::NotYet(format!(
                "no final answer after {} s; ask with `switchyard mqtt send {} --task {task}`",
                self.wait, self.agent
            )))
        })
    }

    fn method(&self) -> &'static str {
        match (&self.text, self.stream) {
            (None, _) => "GetTask",
            (Some(_), true) => "SendStreamingMessage",
            (Some(_), false) => "SendMessage",
        }
    }

    fn request(
        &self,
        way: &Way,
        task: &TaskId,
        (reply, correlation): (&str, &str),
        token: Option<&SecretString>,
    ) -> Publication {
        let params = match &self.text {
            None => json!({ "id": task }),
            Some(text) => json!({ "message": {
                "messageId": suffix(), "taskId": task, "role": "ROLE_USER", "parts": [{ "text": text }],
            } }),
        };
        let body = json!({ "jsonrpc": "2.0", "id": correlation, "method": self.method(), "params": params });
        let bearer = token.map(|token| {
            let value = format!("Bearer {}", token.expose_secret());
            (property::AUTHORIZATION.to_owned(), value)
        });
        Publication {
            topic: way.prefix.request(&Recipient::Agent(self.agent.clone())),
            payload: body.to_string().into(),
            retain: false,
            properties: Properties {
                response_topic: Some(reply.to_owned()),
                correlation: Some(correlation.to_owned().into()),
                content_type: Some("application/json".to_owned()),
                is_text: true,
                expiry: Some(EXPIRY),
                user: bearer.into_iter().collect(),
            },
        }
    }

    /// Shows an item of the answer; how it ends, where it is the last.
    fn item(&self, received: &Received, begun: Instant) -> Option<Result<(), Failure>> {
        let publication = &received.publication;
        let seconds = begun.elapsed().as_secs_f64();
        let repeat = if received.is_repeat { ", again (DUP)" } else { "" };
        outln!("<- {seconds:.3} s, {} bytes{repeat}", publication.payload.len());
        let Ok(item) = serde_json::from_slice::<Value>(&publication.payload) else {
            outln!("   no JSON");
            return None;
        };
        if let Some(error) = item.get("error").filter(|error| !error.is_null()) {
            let named = text(error, "/data/a2a_error").map_or(String::new(), |name| format!(" ({name})"));
            let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
            let message = printable(text(error, "/message").unwrap_or("?"));
            return Some(Err(Failure::other(format!("{code}{named}: {message}"))));
        }
        let result = item.get("result").cloned().unwrap_or_default();
        show(&result);
        let is_answer = self.text.is_none();
        let ends = is_stream_end(&result) && (!self.stream || result.get("task").is_none());
        (ends || is_answer).then_some(Ok(()))
    }

    /// The caller's token.
    fn token(&self) -> Result<Option<SecretString>, Failure> {
        let Some(name) = &self.tenant else {
            return Ok(self.token.clone());
        };
        let endpoints = self.at.place.endpoints()?;
        let audience = audience(&endpoints, &self.agent).ok_or_else(|| {
            let agent = &self.agent;
            Failure::other(format!(
                "{agent} is no agent of this system: give its token with --token"
            ))
        })?;
        let tenant = place::tenant(&endpoints, name)?;
        let file = self.at.place.secrets_file();
        let secrets = Secrets::load(&file)?;
        let own = secrets.as_ref().and_then(|secrets| secrets.named(name));
        let own = own.ok_or_else(|| {
            let file = file.display();
            Failure::other(format!("there is no key of {} in {file}", name.name()))
        })?;
        let grant = Grant {
            issuer: tenant.base.as_str().trim_end_matches('/'),
            subject: self.owner.as_str(),
            tenant: Some(name),
            audience: audience.as_str(),
            scopes: &["tasks"],
            lifetime: LIFETIME,
        };
        let signed = own.session.sign(&grant, SystemClock.now(), &SystemEntropy);
        signed.map(Some).map_err(Failure::other)
    }
}

/// Whom a token for an agent of the running system is for: its interface over HTTP.
fn audience(endpoints: &Endpoints, agent: &AgentAddress) -> Option<Url> {
    let named = |(name, _): &(&domain::AgentName, &Url)| name.as_str() == agent.agent();
    if agent.org() != ORG {
        return None;
    }
    if agent.unit() == PLATFORM {
        return endpoints.agents.iter().find(named).map(|(_, url)| url.clone());
    }
    let mut tenants = endpoints.tenants.iter();
    let (_, own) = tenants.find(|(tenant, _)| tenant.prefix() == agent.unit())?;
    match agent.agent() == host_agent::AGENT {
        true => Some(own.host_agent.clone()),
        false => own.agents.iter().find(named).map(|(_, url)| url.clone()),
    }
}

fn reason(error: &PublishError) -> String {
    match error {
        PublishError::NotAuthorized => "0x87 not authorized".to_owned(),
        PublishError::QuotaExceeded => "0x97 quota exceeded".to_owned(),
        PublishError::Refused(code) => format!("{code:#04x} refused"),
        error => format!("none: {error}"),
    }
}

/// What an item says, a line for its kind and the text of its parts.
fn show(result: &Value) {
    let state = |value: &Value| printable(text(value, "/status/state").unwrap_or("?"));
    let parts = |of: &Value, pointer: &str| {
        let parts = of
            .pointer(pointer)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let texts = parts.filter_map(|part| part.get("text")?.as_str());
        texts
            .flat_map(str::lines)
            .for_each(|line| outln!("   {}", printable(line)));
    };
    if let Some(update) = result.get("statusUpdate") {
        outln!("   statusUpdate {}", state(update));
        parts(update, "/status/message/parts");
    } else if let Some(update) = result.get("artifactUpdate") {
        outln!(
            "   artifactUpdate {}",
            printable(text(update, "/artifact/artifactId").unwrap_or("?"))
        );
        parts(update, "/artifact/parts");
    } else {
        let task = result.get("task").unwrap_or(result);
        outln!("   task {}", state(task));
        parts(task, "/status/message/parts");
        for artifact in task
            .get("artifacts")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            parts(artifact, "/parts");
        }
    }
}
