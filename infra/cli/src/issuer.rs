//! `switchyard issuer …`: where people sign in to a tenant's chat.

mod check;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use edge::config::Env;
use http::Method;
use serde_json::{Value, json};

use super::Failure;
use super::place::Whose;
use crate::out;

/// Where the secret is looked for that no file holds.
const SECRET: &str = "SWITCHYARD_CLIENT_SECRET";

/// Let people sign in to the chat at other OpenID providers
#[derive(Subcommand)]
pub(super) enum Issuer {
    /// Add an OpenID provider at which this chat is a client, or change it
    Add(Box<Added>),
    /// Look at what an OpenID provider says of itself: what would be refused, and why
    Check(check::Check),
    /// List the providers
    List(Whose),
    /// Remove a provider
    Remove(One),
    /// Choose which providers are offered, and demand how people sign in
    Rules(Rules),
}

#[derive(Args)]
pub(super) struct Added {
    /// A name for addresses and settings: lower-case letters, digits and dashes
    id: String,
    /// Its issuer identifier, exactly
    #[arg(long, value_name = "URL")]
    issuer: String,
    /// The chat's client_id there
    #[arg(long)]
    client_id: String,
    /// A file with the chat's client secret; without it, the variable SWITCHYARD_CLIENT_SECRET must hold the secret
    #[arg(long, value_name = "FILE")]
    client_secret_file: Option<PathBuf>,
    /// What the sign-in page calls it
    #[arg(long, default_value = "")]
    name: String,
    /// The claim of identity tokens that holds people's roles or groups
    #[arg(long, value_name = "CLAIM")]
    roles_claim: Option<String>,
    /// The role that a value of that claim gives, such as chat-admins=admin. May be repeated; without it, the values operator
    /// and admin give the roles of these names
    #[arg(long = "role", value_name = "VALUE=ROLE", value_parser = role, requires = "roles_claim")]
    roles: Vec<(String, String)>,
    #[command(flatten)]
    whose: Whose,
}

#[derive(Args)]
pub(super) struct One {
    /// The provider's name
    id: String,
    #[command(flatten)]
    whose: Whose,
}

#[derive(Args)]
pub(super) struct Rules {
    /// The providers to offer, in this order, such as corp,idp; `idp` is the tenant's own authorization server
    #[arg(long, value_delimiter = ',', value_name = "ID,…")]
    offer: Option<Vec<String>>,
    /// Accept only sign-ins with one of these values: of `acr`, or of `amr` behind `amr:` (such as "amr:mfa"), with blanks
    /// between them; empty to accept all
    #[arg(long, value_name = "VALUES")]
    require_acr: Option<String>,
    #[command(flatten)]
    whose: Whose,
}

fn role(text: &str) -> Result<(String, String), String> {
    let (value, role) = text.rsplit_once('=').ok_or("it must be VALUE=ROLE")?;
    Ok((value.to_owned(), role.to_owned()))
}

impl Issuer {
    pub(super) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Add(added) => add(*added).await,
            Self::Check(check) => check.run().await,
            Self::List(whose) => {
                print(&whose.ask(Method::GET, "/issuers", None).await?);
                Ok(())
            }
            Self::Remove(One { id, whose }) => {
                plain(&id)?;
                whose.ask(Method::DELETE, &format!("/issuers/{id}"), None).await?;
                told!(
                    json!({ "removed": id }),
                    "removed {id}: its people sign in no more, and who is signed in stays so for 12 hours at most"
                );
                Ok(())
            }
            Self::Rules(Rules {
                offer,
                require_acr,
                whose,
            }) => {
                let body = json!({ "offered": offer, "requireAcr": require_acr });
                print(&whose.ask(Method::PUT, "/issuers", Some(&body)).await?);
                Ok(())
            }
        }
    }
}

async fn add(added: Added) -> Result<(), Failure> {
    let Added {
        id,
        issuer,
        client_id,
        client_secret_file,
        name,
        roles_claim,
        roles,
        whose,
    } = added;
    plain(&id)?;
    let secret = match client_secret_file {
        Some(file) => std::fs::read_to_string(&file)
            .map_err(|error| Failure::other(format!("{} cannot be read: {error}", file.display())))?,
        None => Env::process()
            .required::<String>(SECRET)
            .map_err(|_| Failure::other(format!("set {SECRET}, or name a file with --client-secret-file")))?,
    };
    let roles: BTreeMap<String, String> = roles.into_iter().collect();
    let body = json!({
        "issuer": issuer, "client_id": client_id, "client_secret": secret.trim(),
        "sign_in": { "name": name, "roles_claim": roles_claim, "roles": roles },
    });
    print(
        &whose
            .ask(Method::PUT, &format!("/issuers/{id}"), Some(&body))
            .await?,
    );
    let endpoints = whose.place.endpoints()?;
    let found = endpoints.named(&whose.tenant);
    let base = found.map(|(_, own)| plain_base(&own.base)).unwrap_or_default();
    let (callback, logout) = (
        format!("{base}/signin/callback"),
        format!("{base}/signin/backchannel"),
    );
    told!(
        json!({ "redirectUri": callback, "backchannelLogoutUri": logout, "postLogoutRedirectUri": format!("{base}/") }),
        "register there: redirect URI {callback}\nback-channel logout URI {logout}\npost-logout redirect URI {base}/"
    );
    Ok(())
}

fn plain_base(base: &url::Url) -> String {
    base.as_str().trim_end_matches('/').to_owned()
}

fn print(told: &Value) {
    if out::is_json() {
        return out::event(told);
    }
    let list = |name: &str| {
        told.get(name)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let offered: Vec<String> = list("offered")
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    outln!("people sign in at: {}", offered.join(", "));
    for issuer in list("issuers") {
        let text = |name: &str| issuer.get(name).and_then(Value::as_str).unwrap_or_default();
        outln!("{}  {}  client {}", text("id"), text("issuer"), text("clientId"));
    }
    let demanded = told.get("requireAcr").and_then(Value::as_str).unwrap_or_default();
    if !demanded.is_empty() {
        outln!("a sign-in must have been one of: {demanded}");
    }
}

/// The id becomes a part of an address.
fn plain(id: &str) -> Result<(), Failure> {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    match !id.is_empty() && id.bytes().all(fits) {
        true => Ok(()),
        false => Err(Failure::other(format!(
            "an issuer cannot be called {id:?}: use lower-case letters, digits and dashes"
        ))),
    }
}
