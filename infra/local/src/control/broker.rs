//! Clients of a tenant at the MQTT broker: programs of others that ask the tenant's agents there.

use a2a::mqtt::AgentAddress;
use domain::{SecretString, SystemEntropy, Tenant};
use idp::{NewClient, provision};
use store::audit::Action;

use super::{Change, Control};
use crate::address::plain;
use crate::data::secrets::Stored;
use crate::error::{ChangeError, StartError};
use crate::mqtt::{BrokerAccess, ORG, access};

/// A client as it was let in.
pub(crate) struct AdmittedClient {
    pub(crate) address: AgentAddress,
    pub(crate) password: SecretString,
    /// Its id at the tenant's authorization server, where it is a client there.
    pub(crate) client_id: Option<String>,
}

/// The id of such a client at the authorization server: no client of another kind has it.
fn client_id(client: &str) -> String {
    format!("mqtt-{client}")
}

impl Control {
    /// Gives a client of a tenant a password at the broker, another one where it has one. With redirect URIs it is a public client of
    /// the tenant's authorization server too, which people let act for them.
    pub(crate) async fn admit_client(
        &self,
        name: &Tenant,
        client: &str,
        redirect_uris: Vec<String>,
    ) -> Result<AdmittedClient, ChangeError> {
        let mut vault = self.vault.lock().await;
        let (tenant, address) = self.broker_client(name, client)?;
        let client_id = (!redirect_uris.is_empty()).then(|| client_id(client));
        if client_id.is_some() {
            let application = self.application(&tenant, client, redirect_uris);
            let store = &self.site.store;
            provision(store, &tenant, &[application], &[], &*self.site.entropy).await?;
        }
        let password: SecretString = crate::data::secrets::slug(&SystemEntropy).into();
        let kept = |stored: &mut Stored| stored.put_broker_client(&tenant, client, Some(&password));
        let draft = self.draft(&vault, kept)?;
        let current = self.take_over(&mut vault, draft, Change::Of(&tenant)).await?;
        self.list(&current.endpoints)?;
        self.site
            .told(Action::TenantSet, Some(&tenant), &format!("mqtt {client}"))
            .await;
        Ok(AdmittedClient {
            address,
            password,
            client_id,
        })
    }

    /// Lets a client of a tenant in no more, neither at the broker nor at the authorization server.
    pub(crate) async fn dismiss_client(&self, name: &Tenant, client: &str) -> Result<(), ChangeError> {
        let mut vault = self.vault.lock().await;
        let (tenant, _) = self.broker_client(name, client)?;
        let kept = |stored: &mut Stored| stored.put_broker_client(&tenant, client, None);
        let draft = self.draft(&vault, kept)?;
        let current = self.take_over(&mut vault, draft, Change::Of(&tenant)).await?;
        let identity = self.site.store.identity();
        let gone = identity.remove_client(&tenant, &client_id(client)).await;
        gone.map_err(StartError::part("authorization server"))?;
        // Whoever was connected before is not any more.
        if let Some(broker) = &self.site.outside.mqtt {
            broker.admit(&current, None)?;
        }
        self.site
            .told(Action::TenantSet, Some(&tenant), &format!("mqtt {client}"))
            .await;
        Ok(())
    }

    fn broker_client(&self, name: &Tenant, client: &str) -> Result<(Tenant, AgentAddress), ChangeError> {
        let broker = self.site.outside.mqtt.as_ref().ok_or(ChangeError::NoBroker)?;
        if !matches!(broker.access, BrokerAccess::Own(_)) {
            return Err(ChangeError::NotOurBroker);
        }
        let tenant = self.named(name)?;
        let wrong = || ChangeError::BrokerClientName(client.chars().take(64).collect());
        let address = AgentAddress::new(ORG, tenant.prefix(), client).map_err(|_| wrong())?;
        let current = self.now();
        let is_agent = current
            .endpoints
            .tenants
            .get(&tenant)
            .is_some_and(|own| access::is_agent(own, client));
        match is_agent {
            true => Err(wrong()),
            false => Ok((tenant, address)),
        }
    }

    /// It may ask for what a person can allow it: the agents of the tenant and those of the platform.
    fn application(&self, tenant: &Tenant, client: &str, redirect_uris: Vec<String>) -> NewClient {
        let endpoints = &self.now().endpoints;
        let own = endpoints.tenants.get(tenant);
        let own = own
            .into_iter()
            .flat_map(|own| own.agents.values().chain([&own.host_agent]));
        let resources = endpoints.agents.values().chain(own).map(plain).collect();
        NewClient {
            client_id: client_id(client),
            name: client.to_owned(),
            secret: None,
            redirect_uris,
            signed_out_uris: Vec::new(),
            grant_types: ["authorization_code", "refresh_token"]
                .map(str::to_owned)
                .to_vec(),
            resources,
            this_machine: endpoints.container_host(),
            scopes: NewClient::scopes_of_people(),
        }
    }
}
