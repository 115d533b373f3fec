//! Wakes of the pool's queues on their way to the functions. An event source mapping cannot name a tenant, and Lambda takes no event
//! without one where it isolates sandboxes: so this reads the queue, and invokes the agent's function for the tenant of each wake, as an
//! event that the function reads as its queue's. What is lost between the two harms nothing: the sweeper wakes what is due.

use std::collections::BTreeMap;

use agent::Wake;
use async_trait::async_trait;
use domain::{AgentName, Tenant};
use edge::aws::{Caller, Service};
use edge::config::{ConfigError, Env};
use edge::{BatchHandler, Error, Function, Ground, QueueError};
use futures_util::future::join_all;
use outbound::Outbound;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use routes::Routes;
use serde_json::{Value, json};
use url::Url;

/// The function's name.
pub const NAME: &str = "wake_router";

/// What an ARN is written with in a path: all but what RFC 3986 calls unreserved, as the SDK writes it.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The router's settings.
#[derive(Debug, Clone)]
pub struct Config {
    /// `WAKE_FUNCTIONS`: the function of each agent, by its ARN.
    pub functions: BTreeMap<AgentName, String>,
    /// `AWS_ENDPOINT_URL_LAMBDA`
    pub lambda: Url,
    /// `AWS_REGION`
    pub region: Option<String>,
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// Where one is missing or wrong.
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let functions = env.required_json("WAKE_FUNCTIONS");
        let lambda = env.required("AWS_ENDPOINT_URL_LAMBDA");
        let region = env.optional("AWS_REGION");
        Ok(Self {
            functions: functions?,
            lambda: lambda?,
            region: region?,
        })
    }
}

/// Builds the function. It has no endpoint; whoever asks for one is told so in typed form.
///
/// # Errors
/// None in practice.
pub async fn build(ground: Ground, config: Config) -> Result<Function, Error> {
    let router = edge::front(Routes::new(), ground.front(NAME));
    let wakes = WakeRouter {
        functions: config.functions,
        lambda: Service {
            name: "lambda",
            endpoint: config.lambda,
            region: config.region,
        },
        way: (ground.caller.clone(), ground.outbound.clone()),
    };
    Ok(Function::new(router).with_batches(wakes))
}

/// The router.
struct WakeRouter {
    functions: BTreeMap<AgentName, String>,
    lambda: Service,
    way: (Caller, Outbound),
}

/// Whom a wake is for.
type Whose = (AgentName, Tenant);

impl WakeRouter {
    /// Invokes an agent's function for a tenant, and does not wait for what it does: all wakes of the tenant in one event, so that a batch
    /// opens one sandbox of each tenant and no more.
    async fn invoke(&self, (agent, tenant): &Whose, bodies: &[&str]) -> Result<(), String> {
        let function = self.functions.get(agent);
        let function = function.ok_or_else(|| format!("there is no function of the agent {agent}"))?;
        let function = utf8_percent_encode(function, SEGMENT);
        let path = format!("/2015-03-31/functions/{function}/invocations");
        let headers = [
            ("content-type", "application/json"),
            ("x-amz-invocation-type", "Event"),
            ("x-amz-tenant-id", tenant.prefix()),
        ];
        let (caller, outbound) = &self.way;
        let body = event(bodies).to_string().into_bytes();
        let invoked = self.lambda.post((caller, outbound), &path, &headers, body).await;
        invoked.map(drop).map_err(|error| error.to_string())
    }
}

#[async_trait]
impl BatchHandler for WakeRouter {
    async fn handle(&self, bodies: &[&str]) -> Vec<Result<(), QueueError>> {
        let whose: Vec<Result<Whose, QueueError>> = bodies.iter().map(|body| whose(body)).collect();
        let mut grouped: BTreeMap<&Whose, Vec<&str>> = BTreeMap::new();
        for (whose, body) in whose.iter().zip(bodies) {
            if let Ok(whose) = whose {
                grouped.entry(whose).or_default().push(body);
            }
        }
        let invoked = grouped.iter().map(async |(whose, bodies)| {
            let invoked = self.invoke(whose, bodies).await;
            ((*whose).clone(), invoked)
        });
        let invoked: BTreeMap<Whose, Result<(), String>> = join_all(invoked).await.into_iter().collect();
        let done = whose.into_iter().map(|whose| match invoked.get(&whose?) {
            Some(Err(reason)) => Err(QueueError::Failed(reason.clone().into())),
            _ => Ok(()),
        });
        done.collect()
    }
}

fn whose(body: &str) -> Result<Whose, QueueError> {
    let wake = Wake::parse(body).map_err(|error| QueueError::Unreadable(error.to_string()))?;
    let key = wake.key();
    Ok((key.agent, key.tenant))
}

/// The wakes as the function's own queue would hand them over.
fn event(bodies: &[&str]) -> Value {
    let records = bodies.iter().enumerate();
    let records = records.map(|(id, body)| {
        json!({ "messageId": id.to_string(), "body": body, "eventSource": "aws:sqs", "attributes": {} })
    });
    json!({ "Records": records.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::SystemEntropy;
    use outbound::Policy;
    use wiremock::matchers::any;
    use wiremock::{Mock, MockServer, Request, ResponseTemplate};

    use super::*;

    fn wake(tenant: &str, agent: &str, task: u32) -> String {
        let task = format!("00000000-0000-4000-8000-{task:012}");
        json!({ "v": 1, "kind": "task", "tenant": tenant, "agent": agent, "taskId": task }).to_string()
    }

    #[tokio::test]
    async fn each_tenants_wakes_go_to_its_own_sandbox_in_one_event_and_what_fails_comes_again() {
        let lambda = MockServer::start().await;
        let answer = |request: &Request| match request.headers["x-amz-tenant-id"].as_bytes() {
            b"globex.00000001" => ResponseTemplate::new(429),
            _ => ResponseTemplate::new(202),
        };
        Mock::given(any()).respond_with(answer).mount(&lambda).await;
        let policy = Policy {
            allow_loopback: true,
            ..Policy::default()
        };
        let host = "arn:aws:lambda:eu-north-1:1:function:pool-host";
        let router = WakeRouter {
            functions: BTreeMap::from([(AgentName::parse("host").unwrap(), host.to_owned())]),
            lambda: Service {
                name: "lambda",
                endpoint: lambda.uri().parse().unwrap(),
                region: None,
            },
            way: (Caller::own(), Outbound::new(policy, Arc::new(SystemEntropy))),
        };
        let bodies = [
            wake("acme.7f3a9c2e", "host", 1),
            "rubbish".to_owned(),
            wake("globex.00000001", "host", 2),
            wake("acme.7f3a9c2e", "host", 3),
            wake("acme.7f3a9c2e", "report", 4),
        ];
        let done = router.handle(&bodies.each_ref().map(String::as_str)).await;
        let told: Vec<String> = done
            .into_iter()
            .map(|done| done.map_or_else(|error| format!("{error:?}"), |()| "done".to_owned()))
            .collect();
        assert_eq!((told[0].as_str(), told[3].as_str()), ("done", "done"), "{told:?}");
        assert!(told[1].contains("Unreadable"), "{told:?}");
        assert!(told[2].contains("429"), "{told:?}");
        assert!(told[4].contains("no function of the agent report"), "{told:?}");

        let requests = lambda.received_requests().await.unwrap();
        assert_eq!(requests.len(), 2);
        for request in requests {
            let path = "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aeu-north-1%3A1%3Afunction%3Apool-host/invocations";
            assert_eq!(request.url.path(), path);
            assert_eq!(request.headers["x-amz-invocation-type"], "Event");
            let signature = request.headers["authorization"].to_str().unwrap();
            assert!(
                signature.starts_with("AWS4-HMAC-SHA256 Credential=local/"),
                "{signature}"
            );
            assert!(
                signature.contains("x-amz-tenant-id"),
                "the tenant is signed: {signature}"
            );
            let event: Value = request.body_json().unwrap();
            let records = event["Records"].as_array().unwrap();
            let acme = request.headers["x-amz-tenant-id"] == "acme.7f3a9c2e";
            assert_eq!(records.len(), if acme { 2 } else { 1 });
        }
    }
}
