//! Where people sign in to a tenant's chat: its own authorization server, and other issuers that its operator has named.

use std::collections::BTreeMap;

use outbound::oauth::SignInTerms;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::ChangeError;

/// The id of the tenant's own authorization server.
pub(crate) const OWN: &str = "idp";

/// Where people sign in, and what that must be.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SignIn {
    /// Other issuers, by their ids.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    issuers: BTreeMap<String, NamedIssuer>,
    /// The ids of those that are offered, in their order; the tenant's own server alone where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    offered: Vec<String>,
    /// `REQUIRE_ACR`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub require_acr: String,
}

/// An issuer that an operator has named.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedIssuer {
    /// Its issuer identifier, to the letter.
    pub issuer: String,
    /// How we are known there.
    pub client_id: String,
    /// The secret that goes with it.
    pub client_secret: String,
    /// What it is called, and which roles it gives.
    #[serde(default)]
    pub sign_in: SignInTerms,
}

impl SignIn {
    /// The ids of the issuers that are offered.
    pub(crate) fn offered(&self) -> Vec<String> {
        match self.offered.is_empty() {
            true => vec![OWN.to_owned()],
            false => self.offered.clone(),
        }
    }

    /// The same with the issuer that each is: whoever an id is pointed at next is somebody else.
    pub(crate) fn offered_issuers(&self) -> String {
        let named = self.offered().into_iter().map(|id| match self.issuers.get(&id) {
            Some(known) => format!("{id}={}", known.issuer),
            None => id,
        });
        named.collect::<Vec<_>>().join(",")
    }

    /// Adds an issuer behind those there are, or describes one anew.
    pub(crate) fn put(&mut self, id: &str, issuer: NamedIssuer) -> Result<(), ChangeError> {
        if id == OWN {
            return Err(ChangeError::SignIn(
                "idp is the tenant's own server; choose another id".to_owned(),
            ));
        }
        let mut offered = self.offered();
        if !offered.iter().any(|known| known == id) {
            offered.push(id.to_owned());
        }
        self.issuers.insert(id.to_owned(), issuer);
        self.offered = offered;
        Ok(())
    }

    /// Takes an issuer away.
    pub(crate) fn remove(&mut self, id: &str) -> Result<(), ChangeError> {
        let offered: Vec<String> = self.offered().into_iter().filter(|known| known != id).collect();
        if self.issuers.remove(id).is_none() {
            return Err(ChangeError::NoIssuer(id.to_owned()));
        }
        self.offered = offered;
        Ok(())
    }

    /// Says which of them are offered, in this order.
    pub(crate) fn offer(&mut self, ids: Vec<String>) -> Result<(), ChangeError> {
        if let Some(unknown) = ids
            .iter()
            .find(|id| *id != OWN && !self.issuers.contains_key(*id))
        {
            return Err(ChangeError::NoIssuer(unknown.clone()));
        }
        self.offered = ids;
        Ok(())
    }

    /// The other issuers as providers of the tenant's functions.
    pub(crate) fn providers(&self) -> impl Iterator<Item = (&String, Value)> {
        self.issuers.iter().map(|(id, known)| {
            let NamedIssuer {
                issuer,
                client_id,
                client_secret,
                sign_in,
            } = known;
            let provider = json!({
                "issuer": issuer, "dialect": "openid", "client_id": client_id, "client_secret": client_secret,
                "sign_in": sign_in,
            });
            (id, provider)
        })
    }

    /// What an operator is told: everything but the secrets.
    pub(crate) fn told(&self) -> Value {
        let issuers = self.issuers.iter().map(|(id, known)| {
            json!({ "id": id, "issuer": known.issuer, "clientId": known.client_id, "signIn": known.sign_in })
        });
        json!({
            "issuers": issuers.collect::<Vec<_>>(),
            "offered": self.offered(),
            "requireAcr": self.require_acr,
        })
    }
}
