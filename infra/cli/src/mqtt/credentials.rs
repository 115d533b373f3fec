//! `switchyard mqtt credentials`: a tenant's own client at the broker.

use a2a::mqtt::{AgentAddress, InvalidAddress};
use clap::Args;
use domain::Tenant;
use http::Method;
use local::mqtt::ORG;
use local::mqtt::access::PLATFORM;
use serde_json::{Value, json};

use crate::Failure;
use crate::client::Call;
use crate::place::{RunningSystem, admin};

#[derive(Args)]
#[command(
    after_help = "The client sees the cards of the tenant's agents and of the platform's, and may ask these. Asked again, it gets \
                  another password. With --redirect-uri it is a public client of the tenant's authorization server too, so that \
                  people can let it act for them (authorization code with PKCE)."
)]
pub(crate) struct Credentials {
    #[command(flatten)]
    place: RunningSystem,
    /// The tenant
    #[arg(long)]
    tenant: Tenant,
    /// The client's name: 1 to 64 of A-Z a-z 0-9 _ . -
    #[arg(long, value_parser = name)]
    name: String,
    /// Where the authorization server may send people back to. May be repeated
    #[arg(long, value_name = "URI", conflicts_with = "remove")]
    redirect_uri: Vec<String>,
    /// Let the client in no more
    #[arg(long)]
    remove: bool,
}

fn name(text: &str) -> Result<String, InvalidAddress> {
    AgentAddress::new(ORG, PLATFORM, text).map(|_| text.to_owned())
}

impl Credentials {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let path = format!("/tenants/{}/mqtt/{}", self.tenant.name(), self.name);
        let body = json!({ "redirectUris": self.redirect_uri });
        let asked = self.place.ask(|endpoints| {
            let url = admin(endpoints, &path);
            match self.remove {
                true => Call {
                    method: Method::DELETE,
                    ..Call::get(url)
                },
                false => Call::with_body(Method::PUT, url, &body),
            }
        });
        let told = asked.await?;
        if self.remove {
            told!(
                json!({"removed": self.name.to_string()}),
                "{} is let in no more",
                self.name
            );
            return Ok(());
        }
        let endpoints = self.place.endpoints()?;
        let of = |field: &str| told.get(field).and_then(Value::as_str);
        let broker = endpoints
            .mqtt
            .map(|mqtt| mqtt.broker.to_string())
            .unwrap_or_default();
        if crate::out::is_json() {
            let mut event = told.clone();
            if let Some(fields) = event.as_object_mut() {
                fields.insert("broker".to_owned(), broker.into());
            }
            crate::out::event(&event);
            return Ok(());
        }
        outln!("broker     {broker}");
        outln!("user       {}", of("address").unwrap_or_default());
        outln!("password   {}", of("password").unwrap_or_default());
        if let Some(client) = of("clientId") {
            outln!("client_id  {client}");
        }
        Ok(())
    }
}
