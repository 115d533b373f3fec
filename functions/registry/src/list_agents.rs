//! `GET /agents`: search by tags, all of them within one skill.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State as Held};
use domain::{AgentId, Tag};
use serde_json::{Value, json};

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
) -> Result<Json<Value>, RouteError> {
    let search = Search::parse(query.as_deref().unwrap_or_default())?;
    let cards = state.store.registry();
    let mut found = Vec::new();
    for part in view.parts() {
        found.extend(match search.tags.first() {
            Some(tag) => cards.by_tag(part, tag).await?,
            None => cards.all(part).await?,
        });
    }
    found.retain(|agent| search.fits(&agent.skills));
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
    let types = view::types(cards.types().await?);
    let mut body = json!({"agents": page, "types": types});
    if let (Some(next), Some(fields)) = (next, body.as_object_mut()) {
        fields.insert("nextCursor".to_owned(), json!(next));
    }
    Ok(Json(body))
}

struct Search {
    tags: Vec<Tag>,
    limit: usize,
    after: Option<AgentId>,
}

impl Search {
    fn parse(query: &str) -> Result<Self, RouteError> {
        let mut search = Self {
            tags: Vec::new(),
            limit: MAX_PAGE,
            after: None,
        };
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "tag" => search.tags.push(Tag::parse(&value).map_err(invalid)?),
                "limit" => {
                    let limit = value.parse().ok().filter(|limit| (1..=MAX_PAGE).contains(limit));
                    search.limit = limit.ok_or_else(|| invalid(format!("limit: 1 to {MAX_PAGE}")))?;
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
        ] {
            assert!(Search::parse(bad).is_err(), "{bad}");
        }
        assert!(Search::parse(&"tag=a:b&".repeat(11)).is_err());
    }
}
