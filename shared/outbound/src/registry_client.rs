//! The registry, as a host sees it.

use std::collections::{BTreeMap, BTreeSet};

use domain::{AgentId, AgentType, SecretString, Tag, Tenant, Timestamp, TypeScope};
use http::HeaderValue;
use http::header::IF_NONE_MATCH;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::client::Ask;
use crate::{CallError, Outbound, json};

/// The registry at its address.
#[derive(Debug, Clone)]
pub struct Registry {
    outbound: Outbound,
    url: Url,
}

/// What a search found.
#[derive(Debug, Clone, Deserialize)]
pub struct Found {
    /// The agents that the caller may see and that fit.
    pub agents: Vec<FoundAgent>,
    /// Every declared type with its scope.
    #[serde(default)]
    pub types: BTreeMap<AgentType, TypeScope>,
    /// The types whose agents are private; none where a registry of an older release says nothing of that.
    #[serde(default, rename = "privateTypes")]
    pub private_types: BTreeSet<AgentType>,
    /// Where the next page begins, where there is one.
    #[serde(default, rename = "nextCursor")]
    next_cursor: Option<String>,
    /// The answer's entity tag: by it the registry knows next time whether anything has changed.
    #[serde(skip)]
    pub etag: Option<EntityTag>,
}

/// What names one state of the registry, to its own judgement (RFC 9110 §8.8.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityTag(HeaderValue);

/// Most pages that are read of one answer; a tenant sees far fewer agents than fit.
const PAGES_MAX: usize = 20;

/// A registered agent.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundAgent {
    /// Its id in the registry.
    pub id: AgentId,
    /// Whose it is; `None` serves every tenant.
    #[serde(default)]
    pub tenant: Option<Tenant>,
    /// Where its card lies.
    #[serde(default)]
    pub card_url: Option<Url>,
    /// Its card, as fetched (with the registry's tags).
    pub card: Value,
    /// Whether its card could last be fetched.
    #[serde(default)]
    pub health: Option<FoundHealth>,
    /// Where it may send users to sign in, beside its card's host.
    #[serde(default)]
    pub link_hosts: Vec<String>,
}

/// Whether an agent's card could last be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundHealth {
    /// It could.
    pub ok: bool,
    /// When that was tried.
    #[serde(default)]
    pub checked_at: Option<Timestamp>,
    /// Why not.
    #[serde(default)]
    pub reason: Option<String>,
}

impl Registry {
    /// The registry at this URL.
    #[must_use]
    pub fn new(outbound: Outbound, url: Url) -> Self {
        Self { outbound, url }
    }

    /// Tells that an agent could not be reached, which is a reason to look at it.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn unreached(&self, id: AgentId, token: &SecretString) -> Result<(), CallError> {
        let url = self.below(&["agents", &id.to_string(), "unreached"])?;
        let ask = Ask::post(&url, &Value::Null).bearer(Some(token))?;
        self.outbound.exchange(ask).await?.success().map(drop)
    }

    /// An address of the registry.
    fn below(&self, path: &[&str]) -> Result<Url, CallError> {
        let mut url = self.url.clone();
        match url.path_segments_mut() {
            Ok(mut segments) => segments.pop_if_empty().extend(path),
            Err(()) => return Err(CallError::NotAllowed("it is not an HTTP address".to_owned())),
        };
        Ok(url)
    }

    /// Agents that have all the tags within one skill; `None` where they are still those of the answer that had the
    /// entity tag `known` (RFC 9110 §13.1.2).
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn agents(
        &self,
        tags: &[Tag],
        known: Option<&EntityTag>,
        token: &SecretString,
    ) -> Result<Option<Found>, CallError> {
        let mut url = self.below(&["agents"])?;
        if !tags.is_empty() {
            url.query_pairs_mut()
                .extend_pairs(tags.iter().map(|tag| ("tag", tag.to_string())));
        }
        let mut ask = Ask::get(&url).bearer(Some(token))?;
        ask.headers
            .extend(known.map(|EntityTag(known)| (IF_NONE_MATCH, known.clone())));
        let answered = self.outbound.exchange(ask).await?;
        if known.is_some() && answered.status == 304 {
            return Ok(None);
        }
        let etag = answered.etag.clone().map(EntityTag);
        let mut found: Found = json::read(answered)?;
        for _ in 1..PAGES_MAX {
            let Some(cursor) = found.next_cursor.take() else {
                break;
            };
            let mut next = url.clone();
            next.query_pairs_mut().append_pair("cursor", &cursor);
            let page: Found = self.outbound.get_json(&next, Some(token)).await?;
            found.agents.extend(page.agents);
            found.types.extend(page.types);
            found.private_types.extend(page.private_types);
            found.next_cursor = page.next_cursor;
        }
        found.etag = etag;
        Ok(Some(found))
    }
}
