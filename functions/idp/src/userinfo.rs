//! `GET` and `POST /{tenant}/userinfo` (OIDC Core §5.3): the user of an access token with `openid`.

use std::sync::Arc;

use auth::Refusal;
use axum::Json;
use axum::extract::State as Held;
use axum::response::Response;
use domain::{Owner, Timestamp};
use http::HeaderMap;
use serde_json::json;
use store::{StoreError, User};

use crate::error::{TokenError, unstored};
use crate::own_token;
use crate::scope::{OPENID, PROFILE};
use crate::state::AppState;
use crate::tenant::Here;

/// What a user's subject begins with; the rest is the user name, which is given to nobody else. No client has such an id.
pub(crate) const SUBJECT_PREFIX: &str = "user-";

pub(crate) async fn show(
    here: Here,
    Held(app): Held<Arc<AppState>>,
    headers: HeaderMap,
) -> Result<Response, TokenError> {
    let token = edge::bearer(&headers)?;
    let told = own_token::verify(&app, &here, token)?;
    if !told.has_scope(OPENID) {
        let needed = OPENID.to_owned();
        return Err(Refusal::SmallScope { needed }.into());
    }
    let subject = Owner::parse(&told.sub).map_err(|_| Refusal::Malformed)?;
    let user = user_of(&app, &here, &subject).await?;
    // Whoever was removed or signed out everywhere is nobody, also for as long as the token lives.
    let user = user
        .filter(|user| told.is_after(user.not_before))
        .ok_or(Refusal::Malformed)?;
    let mut body = json!({"sub": told.sub, "tenant_id": here.tenant.name()});
    if told.has_scope(PROFILE)
        && let Some(fields) = body.as_object_mut()
    {
        fields.insert("name".to_owned(), user.display_name.into());
        fields.insert("preferred_username".to_owned(), user.username.into());
    }
    Ok(unstored(Json(body)))
}

/// The subject of the user of that name, who has always been there.
pub(crate) fn subject_of(username: &str) -> String {
    format!("{SUBJECT_PREFIX}{username}")
}

/// The subject of somebody who was added at that time. Whoever has the name after them has another subject, and nothing of theirs at any
/// agent.
pub(crate) fn subject_since(username: &str, since: Timestamp) -> String {
    format!("{SUBJECT_PREFIX}{}~{username}", since.millis())
}

/// The names that may be in a subject, the likelier first.
fn names_in(subject: &str) -> impl Iterator<Item = &str> {
    let whole = subject.strip_prefix(SUBJECT_PREFIX);
    let is_time = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let later = whole.and_then(|whole| whole.split_once('~'));
    let later = later.filter(|(since, _)| is_time(since)).map(|(_, name)| name);
    later.into_iter().chain(whole)
}

/// The user whom a subject stands for.
pub(crate) async fn user_of(
    app: &AppState,
    here: &Here,
    subject: &Owner,
) -> Result<Option<User>, StoreError> {
    for username in names_in(subject.as_str()) {
        let found = app.identity().find_user(&here.tenant, username).await?;
        if let Some(user) = found.filter(|user| user.subject == *subject) {
            return Ok(Some(user));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_names_its_user_whenever_they_came() {
        let names = |subject: &str| names_in(subject).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(names(&subject_of("ada")), ["ada"]);
        assert_eq!(names(&subject_of("a~b")), ["a~b"]);
        let later = subject_since("ada", Timestamp::from_millis(5));
        assert_eq!(
            (later.as_str(), &names(&later)[0]),
            ("user-5~ada", &"ada".to_owned())
        );
        // A name that looks like that is found all the same.
        assert!(names(&subject_of("5~ada")).contains(&"5~ada".to_owned()));
        assert_eq!(names("host"), [""; 0]);
    }
}
