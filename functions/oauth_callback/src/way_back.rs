//! Where a browser goes once somebody has signed in: a view of the chat page of this tenant, and nowhere else.

use outbound::below;
use url::{Url, form_urlencoded};

/// Longest path of a view.
const LONGEST: usize = 160;
/// What the views below the base begin with.
const VIEWS: [&str; 4] = ["chats", "tasks", "accounts", "ops"];

/// A view of the chat page, by its path below the tenant's base; empty for the page itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WayBack(String);

impl WayBack {
    /// Reads a path below the base, with or without a slash before it. Whatever is no view of ours is the page itself: there is
    /// nothing to be said to whoever came by such a link, and nowhere else to go.
    pub(crate) fn read(path: &str) -> Self {
        let path = path.strip_prefix('/').unwrap_or(path);
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_~.".contains(c);
        let segment = |text: &str| !text.is_empty() && text.chars().all(plain) && !text.starts_with('.');
        let is_view = path.len() <= LONGEST
            && path.split('/').all(segment)
            && path.split('/').next().is_some_and(|first| VIEWS.contains(&first));
        Self(if is_view { path.to_owned() } else { String::new() })
    }

    /// The one that a query asks for; of several none.
    pub(crate) fn of_query(query: &str) -> Self {
        let mut asked = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "return");
        match (asked.next(), asked.next()) {
            (Some((_, path)), None) => Self::read(&path),
            _ => Self(String::new()),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Its address.
    pub(crate) fn url(&self, base: &Url) -> Url {
        below(base, &self.0)
    }

    /// Where somebody signs in who wants to go there.
    pub(crate) fn sign_in(&self, base: &Url) -> Url {
        let mut url = below(base, "signin");
        if !self.0.is_empty() {
            url.query_pairs_mut().append_pair("return", &self.0);
        }
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_view_of_the_page_is_gone_back_to() {
        let base = Url::parse("https://chat.example/t/acme/").unwrap();
        for (path, url) in [
            ("", "https://chat.example/t/acme/"),
            ("tasks", "https://chat.example/t/acme/tasks"),
            ("/tasks/1-2", "https://chat.example/t/acme/tasks/1-2"),
            ("chats/a/tasks/b", "https://chat.example/t/acme/chats/a/tasks/b"),
            ("/accounts", "https://chat.example/t/acme/accounts"),
        ] {
            assert_eq!(WayBack::read(path).url(&base).as_str(), url, "{path}");
        }
        let long = format!("chats/{}", "x".repeat(200));
        for bad in [
            "https://evil.example",
            "//evil.example",
            "///evil.example/tasks",
            "/\\evil.example",
            "\\evil.example",
            "tasks//evil.example",
            "tasks/../../../globex",
            "tasks/..",
            "tasks/%2e%2e/x",
            "chats/a?next=https://evil.example",
            "chats/a#x",
            "tasks@evil.example",
            "api/chats",
            "signin",
            "callback?code=x",
            "javascript:alert(1)",
            " tasks",
            "tasks\r\nset-cookie: a=b",
            "tasks/\0",
            "tasks/",
            &long,
        ] {
            let read = WayBack::read(bad);
            assert_eq!(
                read.url(&base).as_str(),
                "https://chat.example/t/acme/",
                "{bad:?}"
            );
        }
    }

    #[test]
    fn a_query_asks_for_one_way_back() {
        assert_eq!(WayBack::of_query("x=y&return=%2Ftasks%2F1").as_str(), "tasks/1");
        for none in [
            "",
            "return",
            "return=",
            "return=tasks&return=accounts",
            "%ff=%fe",
            "return=%00",
        ] {
            assert_eq!(WayBack::of_query(none).as_str(), "", "{none}");
        }
        let base = Url::parse("https://chat.example/").unwrap();
        let back = WayBack::of_query("return=tasks/1");
        assert_eq!(
            back.sign_in(&base).as_str(),
            "https://chat.example/signin?return=tasks%2F1"
        );
    }
}
