//! The server's two tools, as this agent asks them.

use std::sync::Arc;

use domain::Clock;
use futures_util::future::join_all;
use outbound::mcp::{Filled, McpAnswer, McpClient, McpError, McpForm};
use outbound::{CallError, Outbound};
use serde_json::{Map, Value, json};
use words::Currency;

use crate::Server;
use crate::listing::Listing;
use crate::wanted::Wanted;

/// Of how many listings more is asked.
const DETAILED: usize = 5;

/// Places to stay, behind an MCP server.
#[derive(Clone)]
pub(crate) struct Homes {
    client: Arc<McpClient>,
    server: Arc<Server>,
}

/// What a search brings.
pub(crate) enum Searched {
    Found(Vec<Listing>),
    Asks(McpForm),
}

impl Homes {
    pub(crate) fn new(outbound: Outbound, server: Server, clock: Arc<dyn Clock>) -> Self {
        Self {
            client: Arc::new(McpClient::new(outbound, server.url.clone(), clock)),
            server: Arc::new(server),
        }
    }

    /// Which currency its prices are in, where that is known.
    pub(crate) fn currency(&self) -> Option<Currency> {
        self.server.currency
    }

    /// What there is, the server's best first; or the form that it wants to have filled in before.
    pub(crate) async fn search(
        &self,
        wanted: &Wanted,
        filled: Option<(&McpForm, &Filled)>,
    ) -> Result<Searched, McpError> {
        let (least, most) = match wanted.is_price_for(self.currency()) {
            true => (wanted.least(), wanted.most()),
            false => (None, None),
        };
        let more = [
            ("place", json!(wanted.whole_place())),
            ("least", json!(least)),
            ("most", json!(most)),
        ];
        let (name, arguments) = (self.server.tools.name("search"), self.arguments(wanted, more));
        let found = self
            .client
            .ask(&self.server.pins, name, (arguments, filled))
            .await?;
        Ok(match found {
            McpAnswer::Done(found) => {
                let listings = Listing::all(&found, &self.server.link_hosts);
                let unread = || CallError::BadAnswer("its listings cannot be read".to_owned());
                Searched::Found(listings.ok_or_else(unread)?)
            }
            McpAnswer::Asks(form) => Searched::Asks(form),
        })
    }

    /// The same, of the first few with what more can be told. What cannot be had of one is left out.
    pub(crate) async fn with_details(&self, wanted: &Wanted, mut listings: Vec<Listing>) -> Vec<Listing> {
        let known = listings.iter().filter(|listing| !listing.id.is_empty());
        let asked = known.take(DETAILED).map(|listing| async {
            let arguments = self.arguments(wanted, [("id", json!(listing.id))]);
            let name = self.server.tools.name("details");
            self.client.call(&self.server.pins, name, arguments).await
        });
        let told = join_all(asked).await;
        let known = listings.iter_mut().filter(|listing| !listing.id.is_empty());
        for (listing, told) in known.zip(told) {
            match told {
                Ok(details) => listing.add(&details),
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "no details of a listing"
                    );
                }
            }
        }
        listings
    }

    /// When, for whom, and more, by the server's names; what is nothing is left out.
    fn arguments<const N: usize>(&self, wanted: &Wanted, more: [(&str, Value); N]) -> Map<String, Value> {
        let stay = [
            ("from", json!(wanted.first)),
            ("to", json!(wanted.last)),
            ("guests", json!(wanted.said.guests())),
            ("children", json!(wanted.said.children)),
            ("infants", json!(wanted.said.infants)),
            ("pets", json!(wanted.said.pets)),
        ];
        let told = stay.into_iter().chain(more);
        let told = told.filter(|(_, value)| !value.is_null() && value != 0);
        told.map(|(ours, value)| (self.server.tools.name(ours).to_owned(), value))
            .collect()
    }
}
