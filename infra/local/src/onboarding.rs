//! What takes a tenant in on AWS, and out again: keys and paths are made here, everything else is what AWS's own command
//! lines do. Nothing here calls AWS; a [`Plan`] is parameters of `infra/tenant.yaml`, values of its secrets, items of the
//! authorization server, and a script that puts them where they belong.
//!
//! Two addresses are known only once the stack is there: they stand as [`BASE_URL`] and [`IDP_URL`] until then.

use std::fmt::Write as _;

use auth::{KeyError, Sealer, SigningKey};
use domain::{Entropy, ExposeSecret, SecretString, Tenant};
use idp::{HOST_CLIENT, NewClient, NewUser, ProvisionError};
use serde_json::{Value, json};
use store::{SessionIssuer, StoreError, session_issuer_item};
use url::Url;

/// Stands for the tenant's base URL, the stack's output `BaseUrl`.
pub const BASE_URL: &str = "https://base-url.invalid";
/// Stands for the authorization server, the platform's output `IdpUrl`.
pub const IDP_URL: &str = "https://idp-url.invalid";

/// Which tenant, over which platform.
#[derive(Debug, Clone)]
pub struct Place {
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
    pub place: Place,
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
}

impl Place {
    /// # Errors
    /// [`PlanError::Name`] where a name is more than one.
    pub fn new(tenant: Tenant, stage: &str, platform: &str) -> Result<Self, PlanError> {
        let plain = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
                && !name.starts_with('-')
        };
        if !plain(stage) || !plain(platform) {
            return Err(PlanError::Name);
        }
        Ok(Self {
            tenant,
            stage: stage.to_owned(),
            platform: platform.to_owned(),
        })
    }

    /// The name of the tenant's stack.
    #[must_use]
    pub fn stack(&self) -> String {
        format!("{}-{}", self.platform, self.tenant)
    }

    fn secret(&self, name: &str) -> String {
        format!("switchyard/{}/{}/{name}", self.stage, self.tenant)
    }

    fn table(&self) -> String {
        format!("switchyard-{}-identity", self.stage)
    }

    /// The script that takes the tenant out: what it sealed can never be opened again; its tasks and chats stay in the
    /// tables until they expire.
    #[must_use]
    pub fn removal(&self, users: &[String]) -> String {
        let (tenant, stack) = (&self.tenant, self.stack());
        let mut script = self.head(&format!("Takes the tenant {tenant} out"));
        let _infallible = writeln!(
            script,
            r#"base=$(output '{stack}' BaseUrl)

# Its agents leave the registry, by a token of its own.
key=$(mktemp)
trap 'rm -f "$key"' EXIT
aws secretsmanager get-secret-value --secret-id '{session}' --query SecretString --output text > "$key"
{token}
curl --fail-with-body --silent "$registry/agents" -H "authorization: Bearer $token" |
  jq --raw-output '.agents[] | select(.tenant == "{tenant}") | .id' |
  while read -r id; do
    curl --fail-with-body --silent --show-error -X DELETE "$registry/agents/$id" -H "authorization: Bearer $token"
  done

# The authorization server knows it no longer."#,
            session = self.secret("session-key"),
            token = token_line(tenant, "\"$key\""),
        );
        let client = format!("{tenant}#client#{HOST_CLIENT}");
        let users = users.iter().map(|user| (format!("{tenant}#user#{user}"), "USER"));
        let keys = [(client.clone(), "CLIENT"), (client, "SESSIONS")]
            .into_iter()
            .chain(users);
        for (pk, sk) in keys {
            let key = json!({ "pk": { "S": pk }, "sk": { "S": sk } });
            let _infallible = writeln!(
                script,
                "aws dynamodb delete-item --table-name '{}' --key {}",
                self.table(),
                quoted(&key.to_string())
            );
        }
        script.push_str(
            "\n# At once, as a tenant of this name could not come back while they wait to be deleted.\n",
        );
        for name in SECRETS {
            let _infallible = writeln!(
                script,
                "aws secretsmanager delete-secret --secret-id '{}' --force-delete-without-recovery",
                self.secret(name)
            );
        }
        let _infallible = writeln!(script, "sam delete --stack-name '{stack}' --no-prompts");
        script
    }

    fn head(&self, what: &str) -> String {
        format!(
            r#"#!/bin/sh
# {what}. To be run at the root of the repository, with credentials of the AWS account.
set -eu
switchyard=${{SWITCHYARD:-cargo run --quiet --}}
output() {{
  aws cloudformation describe-stacks --stack-name "$1" --output text \
    --query "Stacks[0].Outputs[?OutputKey=='$2'].OutputValue"
}}
registry=$(output '{platform}' RegistryUrl)
"#,
            platform = self.platform
        )
    }
}

/// The secrets of a tenant's stack, by the last part of their names.
const SECRETS: [&str; 4] = [
    "session-key",
    "sealing-keys",
    "horizon-sealing-keys",
    "oauth-providers",
];

/// A token of the tenant's own for the registry.
fn token_line(tenant: &Tenant, key: &str) -> String {
    format!(
        "token=$($switchyard token --key {key} --issuer \"$base\" --tenant '{tenant}' --for \"$registry\" --scope registry:write)"
    )
}

impl Plan {
    /// A plan with new keys, paths and client secret. `public_url` is the API's address where it has a domain of its own.
    ///
    /// # Errors
    /// [`PlanError`] says what is wrong.
    pub fn new(
        place: Place,
        public_url: Option<&Url>,
        users: &[NewUser],
        entropy: &dyn Entropy,
    ) -> Result<Self, PlanError> {
        let (session, pem) = SigningKey::generate()?;
        let client_secret = auth::token::random("", entropy);
        let sealing = || {
            let key = Sealer::generate_key(entropy);
            SecretString::from(json!([["k1", key.expose_secret()]]).to_string())
        };
        let providers = json!({ "idp": {
            "issuer": format!("{IDP_URL}/{}", place.tenant),
            "client_id": HOST_CLIENT,
            "client_secret": client_secret.expose_secret(),
        } });
        let mut parameters = vec![
            ("PlatformStack", place.platform.clone()),
            ("Stage", place.stage.clone()),
            ("Tenant", place.tenant.to_string()),
            ("HostPath", path(entropy)),
            ("HorizonPath", path(entropy)),
            ("SessionPublicKey", session.public_jwk().to_string()),
        ];
        if let Some(url) = public_url {
            parameters.push(("PublicUrl", url.as_str().trim_end_matches('/').to_owned()));
        }
        let sessions = SessionIssuer {
            issuer: BASE_URL.to_owned(),
            keys: vec![session.public_jwk()],
        };
        let host = NewClient::host(&Url::parse(BASE_URL)?, client_secret);
        // The host comes last: it is what makes the tenant one.
        let mut items = vec![session_issuer_item(&place.tenant, &sessions)?];
        items.extend(idp::items(&place.tenant, &[host], users, entropy)?);
        let [session_key, sealing_keys, horizon_keys, oauth] = SECRETS;
        Ok(Self {
            parameters,
            secrets: vec![
                (session_key, pem),
                (sealing_keys, sealing()),
                (horizon_keys, sealing()),
                (oauth, SecretString::from(providers.to_string())),
            ],
            items,
            place,
        })
    }

    /// The files that the script reads, by their names. They hold keys.
    #[must_use]
    pub fn files(&self) -> Vec<(String, String)> {
        let parameters: serde_json::Map<String, Value> = self
            .parameters
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str())))
            .collect();
        let secrets = self.secrets.iter();
        let secrets = secrets.map(|(name, value)| ((*name).to_owned(), value.expose_secret().to_owned()));
        let items = self.items.iter().enumerate();
        let items = items.map(|(number, item)| (item_file(number), item.to_string()));
        std::iter::once((PARAMETERS.to_owned(), Value::from(parameters).to_string()))
            .chain(secrets)
            .chain(items)
            .collect()
    }

    /// The script that takes the tenant in, with its files in this folder, by its absolute path.
    #[must_use]
    pub fn script(&self, folder: &str) -> String {
        let (tenant, stack) = (&self.place.tenant, self.place.stack());
        let file = |name: &str| quoted(&format!("{folder}/{name}"));
        let mut script = self.place.head(&format!("Takes the tenant {tenant} in"));
        let _infallible = writeln!(
            script,
            r#"idp=$(output '{platform}' IdpUrl)
filled() {{ sed -e "s|{BASE_URL}|$base|g" -e "s|{IDP_URL}|$idp|g" "$1"; }}

sam build --template infra/tenant.yaml --build-dir .aws-sam/tenant
sam deploy --template .aws-sam/tenant/template.yaml --stack-name '{stack}' --capabilities CAPABILITY_IAM --resolve-s3 \
  --no-confirm-changeset --no-fail-on-empty-changeset --parameter-overrides {parameters}
base=$(output '{stack}' BaseUrl)

# What its functions sign and seal with."#,
            platform = self.place.platform,
            parameters = quoted(&format!("file://{folder}/{PARAMETERS}")),
        );
        for (name, _) in &self.secrets {
            let _infallible = writeln!(
                script,
                "filled {} | aws secretsmanager put-secret-value --secret-id '{}' --secret-string file:///dev/stdin",
                file(name),
                self.place.secret(name)
            );
        }
        script.push_str("\n# Who it is at the authorization server.\n");
        for number in 0..self.items.len() {
            let _infallible = writeln!(
                script,
                "filled {} | aws dynamodb put-item --table-name '{}' --item file:///dev/stdin",
                file(&item_file(number)),
                self.place.table()
            );
        }
        let _infallible = writeln!(
            script,
            r#"
# Its own agent in the registry; `horizon` is declared as a tenant's type once, by the platform's operator.
{token}
curl --fail-with-body --silent --show-error -X POST "$registry/agents" -H "authorization: Bearer $token" \
  -H 'content-type: application/json' \
  -d "{{\"cardUrl\":\"$(output '{stack}' HorizonAgentUrl)/.well-known/agent-card.json\"}}"
echo "{tenant} is at $base"
echo 'Nothing here needs these keys any more:' {folder}"#,
            folder = quoted(folder),
            token = token_line(tenant, &file("session-key")),
        );
        script
    }
}

/// The file of the template's parameters. `sam` reads it as YAML, of which JSON is a part.
const PARAMETERS: &str = "parameters.yaml";

fn item_file(number: usize) -> String {
    format!("identity-{number}.json")
}

/// An unguessable path, as the template wants it.
fn path(entropy: &dyn Entropy) -> String {
    let mut bytes = [0; 20];
    entropy.fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// In single quotes, where nothing but a single quote means anything to a shell.
pub(crate) fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use domain::SystemEntropy;

    use super::*;

    #[test]
    fn nothing_secret_stands_in_the_script() {
        let place = Place::new(Tenant::parse("acme").unwrap(), "prod", "switchyard").unwrap();
        let plan = Plan::new(place, None, &[], &SystemEntropy).unwrap();
        let script = plan.script("/home/o'hara/acme");
        assert!(script.contains(r"'/home/o'\''hara/acme/session-key'"), "{script}");
        for (name, value) in &plan.secrets {
            assert!(!script.contains(value.expose_secret()), "{name}");
        }
        // The host's client comes last.
        assert_eq!(plan.items.last().unwrap()["sk"]["S"], "CLIENT");
    }

    #[test]
    fn a_name_that_a_shell_could_misread_is_refused() {
        let acme = || Tenant::parse("acme").unwrap();
        for (stage, platform) in [("", "s"), ("p;rm", "s"), ("p", "$(x)"), ("p", "a'b"), ("-p", "s")] {
            assert!(Place::new(acme(), stage, platform).is_err(), "{stage} {platform}");
        }
    }
}
