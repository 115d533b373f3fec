//! Every function of the system, built from the same parts that its `main.rs` builds it from on AWS.

use std::sync::Arc;
use std::time::Duration;

use agent::{Agent, WakeDoor};
use auth::{Algorithm, Issuer, JwksCache, KeyPlace, Profile, Sealer, TenantRule, TrustedIssuer, Verifier};
use axum::Router;
use domain::{AgentName, Clock, Entropy, Tenant};
use edge::agent_parts::AgentParts;
use host_agent::Directory;
use llm::{ModelConfig, Models};
use outbound::oauth::{OAuthClient, Provider, Providers};
use outbound::open_meteo::Bases;
use outbound::{Outbound, Policy};
use store::Store;
use url::Url;

use crate::client::below;
use crate::control::Ground;
use crate::secrets::{Secrets, TenantSecrets};
use crate::{Endpoints, StartError, Tempo, TenantEndpoints};

/// What the functions share.
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) wake: Arc<dyn WakeDoor>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    outbound: Outbound,
    sealer: Arc<Sealer>,
    issuers: Vec<TrustedIssuer>,
    tempo: Tempo,
}

impl Shared {
    pub(crate) fn new(
        ground: &Ground,
        wake: Arc<dyn WakeDoor>,
        outbound: Outbound,
        secrets: &Secrets,
        endpoints: &Endpoints,
    ) -> Result<Self, StartError> {
        Ok(Self {
            outbound,
            sealer: Arc::new(Sealer::new(secrets.sealing.clone()).map_err(StartError::part("sealer"))?),
            issuers: trusted(secrets, endpoints),
            store: ground.store.clone(),
            wake,
            clock: ground.clock.clone(),
            entropy: ground.entropy.clone(),
            tempo: ground.tempo.clone(),
        })
    }

    fn verifier(&self, audience: &Url) -> Result<Verifier, StartError> {
        Verifier::new(plain(audience), self.issuers.clone()).map_err(StartError::part("token verifier"))
    }

    pub(crate) fn registry(&self, url: &Url) -> Result<Router, StartError> {
        Ok(registry::router(registry::State {
            store: self.store.clone(),
            outbound: self.outbound.clone(),
            verifier: self.verifier(url)?,
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
        }))
    }

    pub(crate) fn idp(&self, url: &Url, secrets: &Secrets) -> Router {
        idp::router(idp::State {
            url: url.clone(),
            store: self.store.clone(),
            keys: secrets.idp.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            settings: idp::Settings::default(),
        })
    }

    /// What every agent works with, at its own address.
    fn parts(&self, url: &Url, verifier: Verifier) -> AgentParts {
        AgentParts {
            url: url.clone(),
            store: self.store.clone(),
            wake: self.wake.clone(),
            verifier,
            sealer: self.sealer.clone(),
            outbound: self.outbound.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            settings: self.tempo.agent.clone(),
        }
    }

    pub(crate) fn weather(&self, url: &Url, open_meteo: Bases) -> Result<Arc<Agent>, StartError> {
        let parts = self.parts(url, self.verifier(url)?);
        weather_agent::build(parts, open_meteo).map_err(StartError::part("weather agent"))
    }

    pub(crate) fn report(&self, url: &Url) -> Result<Arc<Agent>, StartError> {
        let parts = self.parts(url, self.verifier(url)?);
        report_agent::build(parts, report_agent::STEP).map_err(StartError::part("report agent"))
    }

    /// Takes the tokens of the tenant's authorization server alone: whoever asks for orders has signed in.
    pub(crate) fn horizon(
        &self,
        own: &Own<'_>,
        url: &Url,
        (idp, secrets): (&Url, &Secrets),
    ) -> Result<Arc<Agent>, StartError> {
        let part = "Horizon agent";
        let issuer = Url::parse(&idp::issuer(idp, own.name)).map_err(StartError::part(part))?;
        let trusted = idp_issuer(idp, KeyPlace::Static(secrets.idp.set().public_jwks()));
        let verifier = Verifier::with_issuers(plain(url), vec![trusted], &JwksCache::offline())
            .map_err(StartError::part(part))?;
        horizon_agent::build(self.parts(url, verifier), own.name.clone(), &issuer)
            .map_err(StartError::part(part))
    }

    pub(crate) fn host_agent(
        &self,
        own: &Own<'_>,
        registry: &Url,
        (idp, secrets): (&Url, &Secrets),
    ) -> Result<Arc<Agent>, StartError> {
        let part = "host agent";
        // Beside the tenants' own sessions, whoever has signed in at the authorization server.
        let sessions = self.issuers.iter().cloned().map(Issuer::from);
        let idps = idp_issuer(idp, KeyPlace::Static(secrets.idp.set().public_jwks()));
        let sign_in = Url::parse(&idp::issuer(idp, own.name)).map_err(StartError::part(part))?;
        let parts = host_agent::Parts {
            tenant: own.name.clone(),
            url: own.endpoints.host_agent.clone(),
            issuer: plain(&own.endpoints.base),
            key: own.secrets.session.clone(),
            trusted: sessions.chain([idps]).collect(),
            keys: JwksCache::offline(),
            sign_in: Some(sign_in),
            directory: Directory::registry(self.outbound.clone(), registry.clone()),
            webhook: below(&own.endpoints.base, "/api/webhook/tasks"),
            sealer: self.sealer.clone(),
            store: self.store.clone(),
            wake: self.wake.clone(),
            outbound: self.outbound.clone(),
            model: Models::from(ModelConfig::default()),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            patience: self.tempo.patience.clone(),
            enabled: true,
            providers: own.providers(idp),
            settings: self.tempo.agent.clone(),
        };
        Ok(host_agent::build(parts).map_err(StartError::part(part))?.agent)
    }

    pub(crate) fn webhook_receiver(&self, tenant: &Tenant, host: &AgentName) -> Router {
        webhook_receiver::router(webhook_receiver::State {
            tenant: tenant.clone(),
            host: host.clone(),
            store: self.store.clone(),
            wake: self.wake.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            token_ttl: webhook_receiver::TOKEN_TTL,
        })
    }

    pub(crate) fn oauth_callback(&self, own: &Own<'_>, idp: &Url) -> Router {
        oauth_callback::router(oauth_callback::State {
            tenant: own.name.clone(),
            base: own.endpoints.base.clone(),
            store: self.store.clone(),
            sealer: self.sealer.clone(),
            providers: own.providers(idp),
            outbound: self.outbound.clone(),
            wake: self.wake.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
        })
    }

    pub(crate) fn chat_api(&self, own: &Own<'_>, host: &AgentName, idp: &Url) -> Router {
        chat_api::router(chat_api::State {
            tenant: own.name.clone(),
            base: own.endpoints.base.clone(),
            host: host.clone(),
            host_url: own.endpoints.host_agent.clone(),
            store: self.store.clone(),
            key: own.secrets.session.clone(),
            outbound: self.outbound.clone(),
            sealer: self.sealer.clone(),
            providers: own.providers(idp),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            settings: chat_api::Settings::default(),
        })
    }
}

/// A tenant with all that is its own.
pub(crate) struct Own<'a> {
    pub(crate) name: &'a Tenant,
    pub(crate) endpoints: &'a TenantEndpoints,
    pub(crate) secrets: &'a TenantSecrets,
}

impl Own<'_> {
    /// Where its host is a client: at the tenant's own authorization server.
    fn providers(&self, idp: &Url) -> Providers {
        let client = OAuthClient {
            id: idp::HOST_CLIENT.to_owned(),
            secret: self.secrets.client_secret.clone(),
        };
        let issuer = idp::issuer(idp, self.name);
        Providers::from([("idp".to_owned(), Provider { issuer, client })])
    }
}

/// The way out of every function here; `rest` is what receivers that do not answer are left in peace for.
pub(crate) fn outbound(entropy: Arc<dyn Entropy>, rest: Duration) -> Result<Outbound, StartError> {
    // Everything here is at a loopback address; deployed functions never call one.
    let policy = Policy {
        allow_loopback: true,
        rest,
        ..Policy::default()
    };
    Outbound::new(policy, entropy).map_err(StartError::part("HTTP client"))
}

/// Who signs sessions: each tenant for itself, and the platform.
pub(crate) fn trusted(secrets: &Secrets, endpoints: &Endpoints) -> Vec<TrustedIssuer> {
    let tenants = endpoints.tenants.iter().filter_map(|(name, tenant)| {
        let own = secrets.tenants.get(name)?;
        Some(TrustedIssuer {
            issuer: plain(&tenant.base),
            tenant: Some(name.clone()),
            keys: own.session_jwks(),
        })
    });
    tenants.chain([platform(secrets, endpoints)]).collect()
}

/// The platform, as an issuer.
pub(crate) fn platform(secrets: &Secrets, endpoints: &Endpoints) -> TrustedIssuer {
    TrustedIssuer {
        issuer: plain(&endpoints.gateway),
        tenant: None,
        keys: vec![secrets.platform.public_jwk()],
    }
}

/// The authorization server, as an issuer. It is one for all tenants: a token of another tenant is known for what it
/// is, and refused as that.
pub(crate) fn idp_issuer(idp: &Url, keys: KeyPlace) -> Issuer {
    Issuer {
        issuer: format!("{}/{{tenant}}", plain(idp)),
        tenants: TenantRule::Named,
        profile: Profile::default(),
        algorithms: vec![Algorithm::Es256, Algorithm::Rs256],
        keys,
    }
}

/// The text of a URL as it stands in tokens: issuers and audiences are compared to the letter.
pub(crate) fn plain(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}
