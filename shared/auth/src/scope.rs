//! Scopes of OAuth, with the words in which a person is asked for them.

/// A scope with its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    /// As it travels.
    pub name: &'static str,
    /// What it lets its holder do.
    pub words: &'static str,
}

/// Every scope of our own authorization server.
pub const SCOPES: [Scope; 8] = [
    scope("openid", "Know that it is you"),
    scope("profile", "See your name and user name"),
    scope(
        "offline_access",
        "Keep this access while you are away, until you end it",
    ),
    scope("orders:read", "See your orders"),
    scope("orders:write", "Change your orders"),
    scope(
        "tasks",
        "Give tasks to the agent in your name, and read their results",
    ),
    scope(
        DELIVERIES,
        "See which notifications of the agent did not arrive, and repeat them",
    ),
    scope(
        USERS,
        "See, add, change and remove the users of your organisation",
    ),
];

/// Looks after a tenant's deliveries of push notifications.
pub const DELIVERIES: &str = "deliveries";

/// Looks after a tenant's users at its authorization server.
pub const USERS: &str = "users";

/// What only people with one of these roles can allow an application.
const OF_ROLES: [(&str, &[&str]); 2] = [(DELIVERIES, &["operator", "admin"]), (USERS, &["admin"])];

/// Whether somebody with these roles can allow this scope. What is no role's, everybody can.
#[must_use]
pub fn may_allow(name: &str, roles: &[String]) -> bool {
    let of = OF_ROLES.iter().find(|(scope, _)| *scope == name);
    of.is_none_or(|(_, needed)| roles.iter().any(|role| needed.contains(&role.as_str())))
}

/// Whether a scope is a role's.
#[must_use]
pub fn is_of_role(name: &str) -> bool {
    OF_ROLES.iter().any(|(scope, _)| *scope == name)
}

/// What the platform's own chat may do beside `tasks`: say where a message came from. No authorization server grants it.
pub const CHAT: &str = "chat";

/// Has a host say what it would make of a text. Only the tenant's own key says so: no authorization server grants it.
pub const REHEARSE: &str = "rehearse";

/// What a tenant's host asks of an agent is part of a task that was admitted already. The tenant's own key says so, and of what our
/// authorization server let the host do, the verifier; no other issuer can.
pub const DELEGATED: &str = "delegated";

/// Those of Google that our agents ask for, in the words of Google's own page.
const GOOGLE: [Scope; 2] = [
    scope(
        "https://www.googleapis.com/auth/calendar.freebusy",
        "View your availability in your calendars",
    ),
    scope(
        "https://www.googleapis.com/auth/calendar.events.readonly",
        "View events on all your calendars",
    ),
];

/// What a scope lets its holder do; none where that is not known. Never what an agent says of it: whoever asks for something must
/// not choose the words.
#[must_use]
pub fn words(name: &str) -> Option<&'static str> {
    let mut known = SCOPES.iter().chain(&GOOGLE);
    known.find(|scope| scope.name == name).map(|scope| scope.words)
}

const fn scope(name: &'static str, words: &'static str) -> Scope {
    Scope { name, words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_roles_is_allowed_by_those_who_have_it() {
        let roles = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for (scope, of, allowed) in [
            ("tasks", &[][..], true),
            (DELIVERIES, &[], false),
            (DELIVERIES, &["member"], false),
            (DELIVERIES, &["operator"], true),
            (DELIVERIES, &["member", "admin"], true),
            (USERS, &[], false),
            (USERS, &["operator"], false),
            (USERS, &["admin"], true),
        ] {
            assert_eq!(may_allow(scope, &roles(of)), allowed, "{scope} {of:?}");
        }
        assert!(is_of_role(DELIVERIES) && is_of_role(USERS) && !is_of_role("tasks"));
    }

    #[test]
    fn what_is_known_has_words_and_nothing_else_has() {
        assert_eq!(words("orders:read"), Some("See your orders"));
        let google = "https://www.googleapis.com/auth/calendar.freebusy";
        assert_eq!(words(google), Some("View your availability in your calendars"));
        for unknown in [
            "",
            "orders",
            "orders:read ",
            "ORDERS:READ",
            "calendar.freebusy",
            "a b",
        ] {
            assert_eq!(words(unknown), None, "{unknown}");
        }
    }
}
