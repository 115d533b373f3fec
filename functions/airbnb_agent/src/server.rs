//! The server's two tools, as this agent asks them.

use std::sync::Arc;

use domain::Clock;
use futures_util::future::join_all;
use outbound::mcp::{Filled, McpAnswer, McpClient, McpError, McpForm};
use outbound::{CallError, Outbound};
use serde_json::{Map, Value};
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
        let names = &self.server.tools;
        let mut arguments = self.stay(wanted);
        arguments.insert(names.place.clone(), wanted.whole_place().into());
        if wanted.is_price_for(self.currency()) {
            let bounds = [(&names.least, wanted.least()), (&names.most, wanted.most())];
            arguments.extend(
                bounds
                    .into_iter()
                    .filter_map(|(name, price)| Some((name.clone(), price?.into()))),
            );
        }
        let found = self
            .client
            .ask(&self.server.pins, &names.search, (arguments, filled))
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
            let mut arguments = self.stay(wanted);
            arguments.insert(self.server.tools.id.clone(), listing.id.clone().into());
            let name = &self.server.tools.details;
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

    /// When, and for whom.
    fn stay(&self, wanted: &Wanted) -> Map<String, Value> {
        let names = &self.server.tools;
        let mut stay = Map::from_iter([
            (names.from.clone(), wanted.first.to_string().into()),
            (names.to.clone(), wanted.last.to_string().into()),
            (names.guests.clone(), wanted.said.guests().into()),
        ]);
        let others = [
            (&names.children, wanted.said.children),
            (&names.infants, wanted.said.infants),
            (&names.pets, wanted.said.pets),
        ];
        let others = others.into_iter().filter(|(_, count)| *count > 0);
        stay.extend(others.map(|(name, count)| (name.clone(), count.into())));
        stay
    }
}
