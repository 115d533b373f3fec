//! The secrets of functions, by the names that their settings give them; on AWS those of Secrets Manager.

use std::collections::BTreeMap;

use domain::{ExposeSecret, SecretString, Tenant};
use serde_json::json;

use crate::data::current::{Current, Own};
use crate::mqtt::access;
use crate::options::Outside;

/// The secret of the authorization server's keys.
pub(crate) const IDP_KEYS: &str = "switchyard/idp-keys";
/// The secret of the sealing keys.
pub(crate) const SEALING_KEYS: &str = "switchyard/sealing-keys";

/// The secret with the agents' passwords at the MQTT broker.
pub(crate) const MQTT_PASSWORDS: &str = "switchyard/mqtt-passwords";
/// The secret of the platform's signing key.
pub(crate) const PLATFORM_KEY: &str = "switchyard/platform-key";

/// The secret with what makes the calendar agent known at Google.
pub(crate) const CALENDAR_PROVIDERS: &str = "switchyard/calendar-providers";

/// The secret of a tenant's session key.
pub(crate) fn session_key(tenant: &Tenant) -> String {
    format!("switchyard/{}/session-key", tenant.name())
}

/// The secret with the authorization servers that know a tenant's host.
pub(crate) fn oauth_providers(tenant: &Tenant) -> String {
    format!("switchyard/{}/oauth-providers", tenant.name())
}

/// The tenant whose secret a name is of, where it is one's.
pub(crate) fn whose(current: &Current, secret: &str) -> Option<Tenant> {
    let (name, _) = secret.strip_prefix("switchyard/")?.split_once('/')?;
    let name = Tenant::parse(name).ok()?;
    current.endpoints.named(&name).map(|(tenant, _)| tenant.clone())
}

/// The platform's secrets by their names, and those of this tenant.
pub(crate) fn secrets(
    current: &Current,
    outside: &Outside,
    tenant: Option<Own<'_>>,
) -> BTreeMap<String, SecretString> {
    let Current { secrets, endpoints } = current;
    let sealing: Vec<(&str, &str)> = secrets
        .sealing
        .iter()
        .map(|(name, key)| (name.as_str(), key.expose_secret()))
        .collect();
    let mut known = BTreeMap::from([
        (IDP_KEYS.to_owned(), secrets.idp_text.clone()),
        (PLATFORM_KEY.to_owned(), secrets.platform_pem.clone()),
        (SEALING_KEYS.to_owned(), json!(sealing).to_string().into()),
        (
            CALENDAR_PROVIDERS.to_owned(),
            outside.google.providers(&endpoints.gateway),
        ),
    ]);
    if outside.mqtt.as_ref().is_some_and(|broker| broker.signs_in()) {
        let passwords = access::passwords(secrets).into_iter();
        let passwords: BTreeMap<_, _> = passwords
            .map(|(name, password)| (name, password.expose_secret().to_owned()))
            .collect();
        known.insert(MQTT_PASSWORDS.to_owned(), json!(passwords).to_string().into());
    }
    if let Some(Own {
        name: tenant,
        secrets: own,
        ..
    }) = tenant
    {
        let mut providers = json!({"idp": {
            "issuer": idp::issuer(&endpoints.idp, tenant),
            "client_id": idp::HOST_CLIENT,
            "client_secret": own.client_secret.expose_secret(),
        }});
        if let Some(known) = providers.as_object_mut() {
            known.extend(
                own.sign_in
                    .providers()
                    .map(|(id, provider)| (id.clone(), provider)),
            );
        }
        known.insert(session_key(tenant), own.session_pem.clone());
        known.insert(oauth_providers(tenant), providers.to_string().into());
    }
    let keys = outside.models.iter().flat_map(|models| models.keys.clone());
    known.extend(keys);
    known
}
