//! A tenant's chat as the terminal's own session there sees it: what `chat`, `tasks`, `task` and `open` have in common.

use clap::Args;
use domain::Tenant;
use serde_json::Value;
use url::Url;

use crate::Failure;
use crate::chat::session::Sessions;
use crate::client::{Call, Client};
use crate::place::{self, RunningSystem};
use local::address::below;
use local::data::endpoints::Endpoints;

/// Which tenant's chat.
#[derive(Args)]
pub(crate) struct AtTenant {
    #[command(flatten)]
    pub(crate) place: RunningSystem,
    /// The tenant; may be left out where there is only one, or only one was talked to
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
}

/// The chat, and the terminal's session there.
pub(crate) struct Here {
    pub(crate) tenant: Tenant,
    pub(crate) base: Url,
    pub(crate) sessions: Sessions,
    pub(crate) client: Client,
}

impl AtTenant {
    pub(crate) fn open(&self) -> Result<Here, Failure> {
        let endpoints = self.place.endpoints()?;
        let sessions = Sessions::load(self.place.beside("chat.json"))?;
        let tenant = named_or_known(self.tenant.as_ref(), &endpoints, &sessions)?;
        Ok(Here {
            base: place::tenant(&endpoints, &tenant)?.base.clone(),
            tenant,
            sessions,
            client: Client::new().map_err(Failure::other)?,
        })
    }
}

/// The tenant that is named, or need not be: the only one, or the only one that was talked to.
pub(crate) fn named_or_known(
    named: Option<&Tenant>,
    endpoints: &Endpoints,
    sessions: &Sessions,
) -> Result<Tenant, Failure> {
    if let Some(named) = named {
        return Ok(named.clone());
    }
    let all: Vec<_> = endpoints.tenants.iter().collect();
    let talked = all.iter().filter(|(_, own)| sessions.known(&own.base).is_some());
    match (all.as_slice(), talked.collect::<Vec<_>>().as_slice()) {
        ([(only, _)], _) | (_, [(only, _)]) => Ok((*only).clone()),
        _ => {
            let names: Vec<&str> = all.iter().map(|(tenant, _)| tenant.name()).collect();
            Err(Failure::other(format!(
                "there are several tenants ({}): name one with --tenant",
                names.join(", ")
            )))
        }
    }
}

impl Here {
    pub(crate) fn cookie(&self) -> Option<&str> {
        let known = self.sessions.known(&self.base);
        known.and_then(|known| known.cookie.as_deref())
    }

    /// What the chat's API answers at a path.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Failure> {
        let mut url = below(&self.base, path.split('?').next().unwrap_or_default());
        url.set_query(path.split_once('?').map(|(_, query)| query));
        let call = Call {
            cookie: self.cookie(),
            ..Call::get(url)
        };
        Ok(self.client.json(call).await?)
    }
}
