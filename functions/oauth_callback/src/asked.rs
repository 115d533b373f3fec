//! What `GET /signin` is asked for.

use url::form_urlencoded;

use crate::way_back::WayBack;

/// How much the issuer is to ask the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prompt {
    /// As it sees fit.
    Usual,
    /// Nothing at all: whoever is signed in there comes back as that (`prompt=none`).
    Silent,
    /// Once more, whoever is signed in there (`prompt=login`): what was proved before counts no more.
    Fresh,
}

impl Prompt {
    /// As it stands in a `state`.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::Usual => "u",
            Self::Silent => "s",
            Self::Fresh => "f",
        }
    }

    /// The value for the issuer, where there is one.
    pub(crate) fn value(self) -> Option<&'static str> {
        match self {
            Self::Usual => None,
            Self::Silent => Some("none"),
            Self::Fresh => Some("login"),
        }
    }
}

/// What a link to sign in asks for. What is odd in it counts as if it were not there: there is nothing to be said to whoever came
/// by such a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) back: WayBack,
    pub(crate) issuer: Option<String>,
    pub(crate) prompt: Prompt,
}

impl Asked {
    pub(crate) fn read(query: &str) -> Self {
        let one = |name: &str| {
            let mut found = form_urlencoded::parse(query.as_bytes()).filter(|(known, _)| known == name);
            let (first, second) = (found.next(), found.next());
            first
                .filter(|_| second.is_none())
                .map(|(_, value)| value.into_owned())
        };
        Self {
            back: WayBack::of_query(query),
            issuer: one("issuer"),
            prompt: match one("prompt").as_deref() {
                Some("none") => Prompt::Silent,
                Some("login") => Prompt::Fresh,
                _ => Prompt::Usual,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_asks_for_an_issuer_and_a_prompt() {
        let asked = Asked::read("return=tasks&issuer=corp&prompt=none");
        assert_eq!(
            (asked.issuer.as_deref(), asked.prompt),
            (Some("corp"), Prompt::Silent)
        );
        assert_eq!(asked.back.as_str(), "tasks");
        for odd in [
            "",
            "issuer=a&issuer=b",
            "prompt=none&prompt=login",
            "prompt=consent",
            "%ff",
        ] {
            let asked = Asked::read(odd);
            assert_eq!((asked.issuer, asked.prompt), (None, Prompt::Usual), "{odd}");
        }
    }
}
