//! Makes the built-in agents known, as anybody would: through the registry's own HTTP API.

use std::time::Duration;

use domain::{AgentName, Tenant};
use http::{Method, StatusCode};
use reqwest::Client;
use serde_json::{Value, json};
use url::Url;

use crate::address::below;
use crate::error::StartError;

/// How long the registry may take for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The registry, with the right to change it.
pub(crate) struct Registrar<'a> {
    pub(crate) registry: &'a Url,
    pub(crate) token: &'a str,
}

impl Registrar<'_> {
    /// Declares the type of an agent, registers its card, and removes what it was registered as under another port.
    /// The agent serves the tenant alone, or all of them where there is none.
    pub(crate) async fn register(
        &self,
        type_: &AgentName,
        agent: &Url,
        tenant: Option<&Tenant>,
    ) -> Result<(), StartError> {
        let scope = if tenant.is_some() { "tenant" } else { "global" };
        let client = client()?;
        let path = format!("/types/{}", type_);
        self.call(&client, Method::PUT, &path, Some(json!({"scope": scope})))
            .await?;
        let card_url = below(agent, "/.well-known/agent-card.json");
        self.call(
            &client,
            Method::POST,
            "/agents",
            Some(json!({"cardUrl": card_url, "tenant": tenant})),
        )
        .await?;

        let asked = tenant
            .map(|tenant| format!("tenant={}", tenant.prefix()))
            .unwrap_or_default();
        let path = format!("/agents?disabled=true&tag=type:{type_}&{asked}");
        let found = self.call(&client, Method::GET, &path, None).await?;
        let found = found.get("agents").and_then(Value::as_array);
        for known in found.into_iter().flatten() {
            let text = |name: &str| known.get(name).and_then(Value::as_str).unwrap_or_default();
            // The path is unguessable and ours, so the same path at another address is this agent before.
            let earlier =
                Url::parse(text("cardUrl")).is_ok_and(|url| url.path() == card_url.path() && url != card_url);
            if earlier {
                let path = format!("/agents/{}?{asked}", text("id"));
                self.call(&client, Method::DELETE, &path, None).await?;
            }
        }
        Ok(())
    }

    /// Removes every agent that is registered for this tenant alone.
    pub(crate) async fn forget(&self, tenant: &Tenant) -> Result<(), StartError> {
        let client = client()?;
        let listing = format!("/agents?disabled=true&tenant={}", tenant.prefix());
        let agents = self.listed(&client, &listing).await?.into_iter();
        // Those of everybody are listed too, and stay.
        let own = agents.filter(|agent| agent.get("tenant").and_then(Value::as_str) == Some(tenant.prefix()));
        for id in own.filter_map(|agent| Some(agent.get("id")?.as_str()?.to_owned())) {
            let path = format!("/agents/{id}?tenant={}", tenant.prefix());
            self.call(&client, Method::DELETE, &path, None).await?;
        }
        Ok(())
    }

    /// Every agent of a listing, page by page.
    async fn listed(&self, client: &Client, path: &str) -> Result<Vec<Value>, StartError> {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("{path}{cursor}");
            let mut page = self.call(client, Method::GET, &path, None).await?;
            if let Some(Value::Array(agents)) = page.get_mut("agents").map(Value::take) {
                found.extend(agents);
            }
            let Some(next) = page.get("nextCursor").and_then(Value::as_str) else {
                return Ok(found);
            };
            let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
            cursor = format!("&cursor={next}");
        }
    }

    /// The JSON that is answered; `null` where there is none, or nothing of that id.
    async fn call(
        &self,
        client: &Client,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, StartError> {
        let mut request = client
            .request(method, below(self.registry, path))
            .bearer_auth(self.token)
            .timeout(PATIENCE);
        if let Some(body) = &body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(StartError::part("registration"))?;
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(Value::Null);
        }
        let response = response
            .error_for_status()
            .map_err(StartError::part("registration"))?;
        let bytes = response.bytes().await.map_err(StartError::part("registration"))?;
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes).map_err(StartError::part("registration"))
    }
}

fn client() -> Result<Client, StartError> {
    #[expect(
        clippy::disallowed_methods,
        reason = "it asks the system's own gateway; it never takes an address from outside"
    )]
    let builder = Client::builder();
    let builder = builder.no_proxy().redirect(reqwest::redirect::Policy::none());
    builder.build().map_err(StartError::part("registration"))
}
