//! What the platform and a tenant on AWS are made of: new keys and paths. Nothing here calls AWS; a [`PlatformPlan`] and a
//! [`Plan`] are the files of parameters, secrets and items that `infra/deploy.sh` puts where they belong.
//!
//! Two addresses are known only once the stack is there: they stand as [`BASE_URL`] and [`IDP_URL`] until then.

use auth::{Algorithm, BrowserKeys, KeyError, KeySet, Sealer, SigningKey};
use domain::{Clock as _, Entropy, ExposeSecret, SecretString, SystemClock, Tenant};
use idp::{HOST_CLIENT, NewClient, NewUser, ProvisionError};
use serde_json::{Value, json};
use store::{SessionIssuer, StoreError, session_issuer_item};
use url::Url;

use local::data::key_age::dated;
use local::data::secrets::slug;

/// Stands for the tenant's base URL, the stack's output `BaseUrl`.
pub const BASE_URL: &str = "https://base-url.invalid";
/// Who signs the operator's tokens; a name, as nothing is published under it.
pub const OPERATOR: &str = "switchyard-operator";
/// Stands for the authorization server, the platform's output `IdpUrl`.
pub const IDP_URL: &str = "https://idp-url.invalid";

/// A tenant's stack: which tenant, over which platform.
#[derive(Debug, Clone)]
pub struct TenantStack {
    /// The tenant.
    pub tenant: Tenant,
    /// The platform's stage.
    pub stage: String,
    /// The name of the platform's stack.
    pub platform: String,
}

/// Everything a new tenant is made of.
pub struct Plan {
    /// Which tenant.
    pub stack: TenantStack,
    /// The parameters of `infra/tenant.yaml`.
    pub parameters: Vec<(&'static str, String)>,
    /// The values of the stack's secrets, by the last part of their names.
    pub secrets: Vec<(&'static str, SecretString)>,
    /// The items of the table `identity`, in DynamoDB's JSON, in the order in which they are to be put.
    pub items: Vec<Value>,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// No key could be made.
    #[error("a key")]
    Key(#[from] KeyError),
    /// A user or the host's client is described wrongly.
    #[error(transparent)]
    Identity(#[from] ProvisionError),
    /// An item does not fit.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A constant address is none.
    #[error("an address")]
    Address(#[from] url::ParseError),
    /// A stage or a stack is named in a way that a shell could misread.
    #[error("a stage and a stack are named by letters, digits and dashes")]
    Name,
    /// The tenant is called as the pool is.
    #[error(
        "a tenant cannot be called pool on AWS: the stack and the queues that tenants share are called so"
    )]
    Pool,
}

impl TenantStack {
    /// # Errors
    /// [`PlanError::Name`] where a name is more than one, [`PlanError::Pool`] where it is the pool's.
    pub fn new(tenant: Tenant, stage: &str, platform: &str) -> Result<Self, PlanError> {
        if !is_plain(stage) || !is_plain(platform) {
            return Err(PlanError::Name);
        }
        // Its stack and its queues would be called as the pool's are.
        if tenant.name() == Tenant::POOL {
            return Err(PlanError::Pool);
        }
        Ok(Self {
            tenant,
            stage: stage.to_owned(),
            platform: platform.to_owned(),
        })
    }
}

/// The secrets of a tenant's stack, by the last part of their names; `infra/deploy.sh` fills them.
pub(crate) const SECRETS: [&str; 4] = [
    "session-key",
    "sealing-keys",
    "horizon-sealing-keys",
    "oauth-providers",
];

impl Plan {
    /// A plan with new keys, paths and client secret.
    ///
    /// # Errors
    /// [`PlanError`] says what is wrong.
    pub fn new(stack: TenantStack, users: &[NewUser], entropy: &dyn Entropy) -> Result<Self, PlanError> {
        let (session, pem) = SigningKey::generate()?;
        let now = SystemClock.now();
        let key = Sealer::generate_key(entropy);
        let sealer = Sealer::new(vec![(FIRST_KEY.to_owned(), key.clone())])?;
        let browsers = BrowserKeys::of(&sealer, &stack.tenant)?;
        let client_secret = auth::token::random("", entropy);
        let providers = json!({ "idp": {
            "issuer": format!("{IDP_URL}/{}", stack.tenant.prefix()),
            "client_id": HOST_CLIENT,
            "client_secret": client_secret.expose_secret(),
        } });
        let parameters = vec![
            ("PlatformStack", stack.platform.clone()),
            ("Stage", stack.stage.clone()),
            ("PlatformUrl", format!("/switchyard/{}/url", stack.stage)),
            ("Tenant", stack.tenant.name().to_owned()),
            ("TenantPrefix", stack.tenant.prefix().to_owned()),
            ("HostPath", slug(entropy)),
            ("HorizonPath", slug(entropy)),
            ("SessionPublicKey", session.public_jwk().to_string()),
        ];
        let sessions = SessionIssuer {
            issuer: BASE_URL.to_owned(),
            keys: dated(vec![session.public_jwk()], None, now),
            browser_keys: dated(browsers.public_jwks(), None, now),
        };
        let host = NewClient::host(&Url::parse(BASE_URL)?, client_secret);
        // The host comes last: it is what makes the tenant one.
        let mut items = vec![session_issuer_item(&stack.tenant, &sessions)?];
        items.extend(idp::items(&stack.tenant, &[host], users, entropy)?);
        let [session_key, own_sealing, horizon_sealing, oauth] = SECRETS;
        Ok(Self {
            parameters,
            secrets: vec![
                (session_key, pem),
                (own_sealing, sealing_secret(&key)),
                (horizon_sealing, sealing_keys(entropy)),
                (oauth, SecretString::from(providers.to_string())),
            ],
            items,
            stack,
        })
    }

    /// The files that the script reads, by their names. They hold keys.
    #[must_use]
    pub fn files(&self) -> Vec<(String, String)> {
        let items = self.items.iter().enumerate();
        let items = items.map(|(number, item)| (item_file(number), item.to_string()));
        files(&self.parameters, &self.secrets).chain(items).collect()
    }
}

/// Everything a new platform is made of.
pub struct PlatformPlan {
    /// The name of its stack.
    pub stack: String,
    /// The parameters of `template.yaml`.
    pub parameters: Vec<(&'static str, String)>,
    /// The values of the stack's secrets, by the last part of their names.
    pub secrets: Vec<(&'static str, SecretString)>,
    /// The operator's private key, by which the registry is administered.
    pub operator: SecretString,
}

impl PlatformPlan {
    /// A plan with new keys and paths.
    ///
    /// # Errors
    /// [`PlanError`] says what is wrong.
    pub fn new(stage: &str, stack: &str, entropy: &dyn Entropy) -> Result<Self, PlanError> {
        if !is_plain(stage) || !is_plain(stack) {
            return Err(PlanError::Name);
        }
        let (operator, pem) = SigningKey::generate()?;
        let issuer = json!({ "issuer": OPERATOR, "tenant": null, "keys": [operator.public_jwk()] });
        let (_, idp_keys) = KeySet::generate(Algorithm::Es256)?;
        Ok(Self {
            stack: stack.to_owned(),
            parameters: vec![
                ("Stage", stage.to_owned()),
                ("WeatherPath", slug(entropy)),
                ("ReportPath", slug(entropy)),
                ("AirbnbPath", slug(entropy)),
                ("CalendarPath", slug(entropy)),
                ("OperatorIssuer", issuer.to_string()),
            ],
            secrets: vec![
                ("idp-keys", idp_keys),
                ("weather-sealing-keys", sealing_keys(entropy)),
                ("report-sealing-keys", sealing_keys(entropy)),
                ("audit-sealing-keys", sealing_keys(entropy)),
                ("airbnb-sealing-keys", sealing_keys(entropy)),
                ("calendar-sealing-keys", sealing_keys(entropy)),
                // Nobody but the operator has a client at Google.
                ("calendar-providers", SecretString::from("{}")),
            ],
            operator: pem,
        })
    }

    /// The files that the script reads, by their names. They hold keys.
    #[must_use]
    pub fn files(&self) -> Vec<(String, String)> {
        let own = [
            ("stack".to_owned(), self.stack.clone()),
            (
                "operator-key".to_owned(),
                self.operator.expose_secret().to_owned(),
            ),
        ];
        files(&self.parameters, &self.secrets).chain(own).collect()
    }
}

/// Every plan's files: the parameters, and a file for each secret.
pub(crate) fn files(
    parameters: &[(&'static str, String)],
    secrets: &[(&'static str, SecretString)],
) -> impl Iterator<Item = (String, String)> {
    let parameters: serde_json::Map<String, Value> = parameters
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str())))
        .collect();
    let secrets = secrets
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.expose_secret().to_owned()));
    std::iter::once((PARAMETERS.to_owned(), Value::from(parameters).to_string())).chain(secrets)
}

/// A text of a plan once the addresses are known.
#[must_use]
pub fn filled(text: &str, base_url: &str, idp_url: &str) -> String {
    text.replace(BASE_URL, base_url).replace(IDP_URL, idp_url)
}

/// What the first of sealing keys is called.
const FIRST_KEY: &str = "k1";

/// The value of a secret of sealing keys: one new key.
fn sealing_keys(entropy: &dyn Entropy) -> SecretString {
    sealing_secret(&Sealer::generate_key(entropy))
}

/// The value of a secret of sealing keys: this one.
fn sealing_secret(key: &SecretString) -> SecretString {
    SecretString::from(json!([[FIRST_KEY, key.expose_secret()]]).to_string())
}

/// A name that no shell misreads.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') && !name.starts_with('-')
}

/// The file of the template's parameters. `sam` reads it as YAML, of which JSON is a part.
pub(crate) const PARAMETERS: &str = "parameters.yaml";

fn item_file(number: usize) -> String {
    // The script puts them in the order of their names.
    format!("identity-{number:03}.json")
}

#[cfg(test)]
mod tests {
    use domain::SystemEntropy;

    use super::*;

    #[test]
    fn the_host_comes_last_as_it_makes_the_tenant_one() {
        let stack = TenantStack::new(Tenant::parse("acme").unwrap(), "prod", "switchyard").unwrap();
        let plan = Plan::new(stack, &[], &SystemEntropy).unwrap();
        assert_eq!(plan.items.last().unwrap()["sk"]["S"], "CLIENT");
        let names: Vec<String> = plan.files().into_iter().map(|(name, _)| name).collect();
        assert!(names.contains(&"identity-000.json".to_owned()), "{names:?}");
    }

    #[test]
    fn a_name_that_a_shell_could_misread_is_refused() {
        let acme = || Tenant::parse("acme").unwrap();
        for (stage, platform) in [("", "s"), ("p;rm", "s"), ("p", "$(x)"), ("p", "a'b"), ("-p", "s")] {
            assert!(
                TenantStack::new(acme(), stage, platform).is_err(),
                "{stage} {platform}"
            );
        }
    }
}
