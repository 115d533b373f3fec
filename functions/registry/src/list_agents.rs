//! `GET /agents`: search by tags, all of them within one skill.
//!
//! Agents that are switched off are left out, but with `disabled=true`.
//!
//! The answer's entity tag (RFC 9110 §8.8.3) changes with everything that the caller may see, but for when an agent was
//! last looked at; hence it is a weak one. Who asks again with `If-None-Match` is told `304` at the price of one look-up.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State as Held};
use axum::response::{IntoResponse as _, Response};
use domain::{AgentId, Tag};
use http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, StatusCode};
use serde_json::{Map, json};

use crate::State;
use crate::access::Reader;
use crate::error::RouteError;
use crate::view::{self, AgentView};

/// Most tags a search may name.
const MAX_TAGS: usize = 10;
/// Most agents of one page.
const MAX_PAGE: usize = 100;
/// A page ends once its cards are this large; hosts read no more than a megabyte.
const MAX_PAGE_BYTES: usize = 512 * 1024;

pub(crate) async fn list(
    Reader(view): Reader,
    Held(state): Held<Arc<State>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, RouteError> {
    let search = Search::parse(query.as_deref().unwrap_or_default())?;
    let cards = state.store.registry();
    let parts: Vec<_> = view.parts().collect();
    // Before the agents: what changes meanwhile has a newer tag, so that an answer is never taken for newer than it is.
    let tag = format!("W/\"{}\"", cards.edition(&parts).await?);
    let tagged = [
        (ETAG, tag.clone()),
        (CACHE_CONTROL, "private, no-cache".to_owned()),
    ];
    if is_known(&headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, tagged).into_response());
    }
    let mut found = Vec::new();
    for part in parts {
        found.extend(match search.tags.first() {
            Some(tag) => cards.by_tag(part, tag).await?,
            None => cards.all(part).await?,
        });
    }
    found.retain(|agent| search.fits(&agent.skills) && (search.disabled || !agent.disabled));
    found.sort_by_key(|agent| agent.id);
    let mut rest = found
        .into_iter()
        .filter(|agent| search.after.is_none_or(|after| agent.id > after))
        .peekable();

    let (mut page, mut bytes, mut last) = (Vec::new(), 0, None);
    while let Some(agent) = rest.next_if(|_| page.len() < search.limit && bytes < MAX_PAGE_BYTES) {
        bytes += agent.card.to_string().len();
        last = Some(agent.id);
        page.push(AgentView::from(agent));
    }
    let next = rest.peek().and(last);
    let declared = cards.types().await?;
    let mut body = Map::from_iter([("agents".to_owned(), json!(page))]);
    body.extend(next.map(|next| ("nextCursor".to_owned(), json!(next))));
    Ok((tagged, Json(view::with_types(body, &declared))).into_response())
}

/// True where the caller has the answer of this tag (RFC 9110 §13.1.2).
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let told = headers.get_all(IF_NONE_MATCH).iter();
    told.filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|known| known.trim().trim_start_matches("W/"))
        .any(|known| known == tag.trim_start_matches("W/") || known == "*")
}

struct Search {
    tags: Vec<Tag>,
    limit: usize,
    after: Option<AgentId>,
    /// Those that are switched off, too.
    disabled: bool,
}

impl Search {
    fn parse(query: &str) -> Result<Self, RouteError> {
        let mut search = Self {
            tags: Vec::new(),
            limit: MAX_PAGE,
            after: None,
            disabled: false,
        };
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "tag" => search.tags.push(Tag::parse(&value).map_err(invalid)?),
                "limit" => {
                    let limit = value.parse().ok().filter(|limit| (1..=MAX_PAGE).contains(limit));
                    search.limit = limit.ok_or_else(|| invalid(format!("limit: 1 to {MAX_PAGE}")))?;
                }
                "disabled" => {
                    search.disabled = value.parse().map_err(|_| invalid("disabled: true or false"))?;
                }
                "cursor" => search.after = Some(AgentId::parse(&value).map_err(|_| invalid("cursor"))?),
                _ => {}
            }
        }
        if search.tags.len() > MAX_TAGS {
            return Err(invalid(format!("at most {MAX_TAGS} tags")));
        }
        Ok(search)
    }

    fn fits(&self, skills: &[Vec<Tag>]) -> bool {
        self.tags.is_empty()
            || skills
                .iter()
                .any(|skill| self.tags.iter().all(|tag| skill.contains(tag)))
    }
}

fn invalid(what: impl ToString) -> RouteError {
    RouteError::Invalid(what.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tags_must_be_of_one_skill() {
        let tag = |text| Tag::parse(text).unwrap();
        let skills = vec![
            vec![tag("type:weather"), tag("region:eu")],
            vec![tag("type:stay"), tag("region:us")],
        ];
        let check = |query, expect| {
            assert_eq!(Search::parse(query).unwrap().fits(&skills), expect, "{query}");
        };
        check("", true);
        check("tag=type:weather", true);
        check("tag=type%3Aweather&tag=region:eu", true);
        check("tag=type:weather&tag=region:us", false);
        check("tag=type:none", false);
    }

    #[test]
    fn rubbish_in_the_query_is_refused() {
        for bad in [
            "tag=weather",
            "tag=",
            "limit=0",
            "limit=x",
            "limit=101",
            "cursor=1",
            "disabled=yes",
        ] {
            assert!(Search::parse(bad).is_err(), "{bad}");
        }
        assert!(Search::parse(&"tag=a:b&".repeat(11)).is_err());
    }
}
