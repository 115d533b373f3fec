//! `switchyard issuer check`: what of an OpenID provider a sign-in or a consent would refuse, before anybody stands before it.

use std::error::Error;
use std::sync::Arc;

use clap::Args;
use domain::SystemEntropy;
use outbound::oauth::ServerMetadata;
use outbound::{Outbound, Policy};
use serde_json::{Value, json};
use url::Url;

use crate::Failure;

/// Most keys of a provider that are told one by one.
const KEYS_MAX: usize = 20;

#[derive(Args)]
#[command(
    after_help = "It asks the provider from this machine, as the chat will, and changes nothing. Exit code 1 where something would be \
                  refused.\n\nExample:\n  switchyard issuer check https://login.example/tenant/v2.0"
)]
pub(crate) struct Check {
    /// Its issuer identifier, exactly as its identity tokens have it
    #[arg(value_name = "URL")]
    issuer: String,
}

/// Whether it is well, what was looked at, and what is said of it.
type Row = (&'static str, &'static str, String);

/// It is as it should be.
const GOOD: &str = "ok";
/// It works with less.
const LESS: &str = "less";
const REFUSED: &str = "refused";

impl Check {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        // Whoever sits at this machine may look at a provider that runs here; a deployed chat calls none inside.
        let policy = Policy {
            allow_loopback: true,
            ..Policy::default()
        };
        let outbound = Outbound::new(policy, Arc::new(SystemEntropy));
        let rows = match outbound.server_metadata(&self.issuer).await {
            Ok(found) => rows(&outbound, &found).await,
            Err(error) => vec![(REFUSED, "metadata", causes(&error))],
        };
        for (verdict, what, told) in &rows {
            told!(
                json!({ "found": verdict, "what": what, "told": told }),
                "{verdict:8} {what:22} {told}"
            );
        }
        match rows.iter().any(|(verdict, ..)| *verdict == REFUSED) {
            true => Err(Failure::other(format!(
                "nobody could sign in at {:?} as it is",
                self.issuer
            ))),
            false => Ok(()),
        }
    }
}

async fn rows(outbound: &Outbound, found: &ServerMetadata) -> Vec<Row> {
    let mut rows = vec![(GOOD, "metadata", found.issuer.clone())];
    rows.push(reached(
        outbound,
        "authorization endpoint",
        &found.authorization_endpoint,
    ));
    rows.push(reached(outbound, "token endpoint", &found.token_endpoint));
    rows.push(match &found.jwks_uri {
        None => (
            REFUSED,
            "keys",
            "it names none: no identity token could be checked".to_owned(),
        ),
        Some(place) => keys(outbound, place).await,
    });
    let scopes = &found.scopes_supported;
    rows.push(
        match scopes.is_empty() || scopes.iter().any(|scope| scope == "openid") {
            true => (GOOD, "scope openid", "it has it, or does not say".to_owned()),
            false => (
                REFUSED,
                "scope openid",
                "it does not have it: it is no OpenID provider".to_owned(),
            ),
        },
    );
    rows.push(match &found.end_session_endpoint {
        Some(place) => (GOOD, "sign-out", place.to_string()),
        None => (
            LESS,
            "sign-out",
            "whoever signs out here stays signed in there".to_owned(),
        ),
    });
    rows.push(match found.iss_in_answer {
        true => (GOOD, "names itself (RFC 9207)", String::new()),
        false => (
            LESS,
            "names itself (RFC 9207)",
            "its answers do not say whose they are; each has a state of its own all the same".to_owned(),
        ),
    });
    rows
}

fn reached(outbound: &Outbound, what: &'static str, place: &Url) -> Row {
    match outbound.check_url(place) {
        Ok(()) => (GOOD, what, place.to_string()),
        Err(error) => (REFUSED, what, format!("{place}: {}", causes(&error))),
    }
}

/// The keys that an identity token may be signed with, and why others are not.
async fn keys(outbound: &Outbound, place: &Url) -> Row {
    let found: Value = match outbound.get_json(place, None).await {
        Ok(found) => found,
        Err(error) => return (REFUSED, "keys", format!("{place}: {}", causes(&error))),
    };
    let judged = auth::judged_keys(&found);
    let good: Vec<&str> = judged
        .iter()
        .flatten()
        .map(String::as_str)
        .take(KEYS_MAX)
        .collect();
    match good.as_slice() {
        [] => {
            let reasons = judged.iter().filter_map(|key| key.as_ref().err()).take(KEYS_MAX);
            let reasons: Vec<String> = reasons.map(ToString::to_string).collect();
            let told = if reasons.is_empty() {
                "there are none".to_owned()
            } else {
                reasons.join("; ")
            };
            (REFUSED, "keys", format!("{place}: {told}"))
        }
        good => (GOOD, "keys", domain::clean(&good.join(", "), 200)),
    }
}

/// An error with what caused it, in one line.
fn causes(error: &dyn Error) -> String {
    let mut told = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        told = format!("{told}: {cause}");
        next = cause.source();
    }
    domain::clean(&told, 300)
}
