//! What can be asked for.

pub(crate) use auth::scope::SCOPES;
use domain::Scopes;
use store::Client;

/// The only scope of a client that acts for itself.
pub(crate) const TASKS: &str = "tasks";
/// Asks for an identity token.
pub(crate) const OPENID: &str = "openid";
/// Asks for the person's name.
pub(crate) const PROFILE: &str = "profile";
/// Asks for a refresh token.
pub(crate) const OFFLINE: &str = "offline_access";

/// True for scopes that are about the person and not about a resource.
pub(crate) fn is_of_identity(scope: &str) -> bool {
    [OPENID, PROFILE, OFFLINE].contains(&scope)
}

/// The scopes of a `scope` parameter, where there is at least one and the client may ask for each of them.
pub(crate) fn asked(text: Option<&str>, client: &Client) -> Option<Scopes> {
    let asked: Scopes = text?
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    let may_ask = |scope: &String| {
        SCOPES.iter().any(|known| known.name == scope) && client.scopes.iter().any(|allowed| allowed == scope)
    };
    (!asked.is_empty() && asked.iter().all(may_ask)).then_some(asked)
}

/// Scopes as they travel.
pub(crate) fn text(scopes: &Scopes) -> String {
    scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// Scopes of what lies in the tables.
pub(crate) fn parsed(text: &str) -> Scopes {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}
