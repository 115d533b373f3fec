//! Makes the built-in agents known, as anybody would: through the registry's own HTTP API.

use domain::{AgentName, Tenant};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use url::Url;

use crate::StartError;
use crate::client::{Call, Client, ClientError, below};

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
        let client = Client::new().map_err(StartError::part("registration"))?;
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
        let client = Client::new().map_err(StartError::part("registration"))?;
        let listing = below(
            self.registry,
            &format!("/agents?disabled=true&tenant={}", tenant.prefix()),
        );
        let agents = client.pages(self.token, listing, "agents").await;
        // Those of everybody are listed too, and stay.
        let agents = agents.map_err(StartError::part("registration"))?.into_iter();
        let own = agents.filter(|agent| agent.get("tenant").and_then(Value::as_str) == Some(tenant.prefix()));
        for id in own.filter_map(|agent| Some(agent.get("id")?.as_str()?.to_owned())) {
            let path = format!("/agents/{id}?tenant={}", tenant.prefix());
            self.call(&client, Method::DELETE, &path, None).await?;
        }
        Ok(())
    }

    async fn call(
        &self,
        client: &Client,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, StartError> {
        let url = below(self.registry, path);
        match client
            .json(Call {
                method,
                body,
                token: Some(self.token),
                ..Call::get(url)
            })
            .await
        {
            Err(ClientError::Refused {
                status: StatusCode::NOT_FOUND,
                ..
            }) => Ok(Value::Null),
            answer => answer.map_err(StartError::part("registration")),
        }
    }
}
