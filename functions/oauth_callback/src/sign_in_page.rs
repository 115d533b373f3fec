//! What people see who sign in, where it is not the chat.

use axum::response::Response;
use http::{HeaderMap, StatusCode};
use outbound::oauth::OAuthError;
use store::StoreError;

use crate::attempt::Lost;
use crate::issuers::SignInIssuer;
use crate::page::{Sheet, Text, escaped, is_away, request_id};
use crate::state::State;
use crate::way_back::WayBack;

/// Why somebody is not signed in, or not yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignInPage {
    /// Another site led here: somebody has to want it.
    Asked,
    /// There are several places to sign in at.
    Choose,
    /// Nobody signs in here, or not at the issuer that a link names.
    Nowhere,
    /// No answer of a provider.
    Rubbish,
    /// An answer in another browser than the one that left.
    OtherBrowser,
    /// An answer to an attempt that is over, or to none.
    Stale,
    /// An answer of somebody else.
    OtherIssuer,
    /// The person did not want to.
    Declined,
    /// The person is nobody's user any more.
    Nobody,
    /// What the person proved there counts no more; they are to prove it once more.
    TooOld,
    /// The sign-in there was not of a kind that the tenant demands.
    TooWeak,
    /// The provider cannot be asked now.
    Unreachable,
    /// The provider does not do what it should.
    Unusable,
    /// The tables are out of reach.
    Unavailable,
    /// Our own fault.
    Failed,
}

impl SignInPage {
    /// The page for a provider that did not do what it was asked.
    pub(crate) fn of_provider(error: &OAuthError) -> Self {
        tracing::warn!(
            error = error as &dyn std::error::Error,
            "the provider did not do what it was asked"
        );
        match error.is_retryable() {
            true => Self::Unreachable,
            false if error.is_invalid_grant() => Self::Stale,
            false => Self::Unusable,
        }
    }

    fn text(self) -> Text {
        let (status, title, say, then) = match self {
            Self::Asked => (
                StatusCode::OK,
                "Do you want to sign in?",
                "Another site sent you here.",
                "Go on only if you want to sign in to this chat now.",
            ),
            Self::Choose => (
                StatusCode::OK,
                "Where do you sign in?",
                "This chat knows several services that people sign in at.",
                "Choose the one that you have an account at.",
            ),
            Self::Nowhere => (
                StatusCode::NOT_FOUND,
                "Nobody signs in here",
                "This chat has no service that people sign in at.",
                "Go back to the chat.",
            ),
            Self::Rubbish => (
                StatusCode::BAD_REQUEST,
                "This page needs an answer",
                "You are sent here after you have signed in. What arrived is no such answer.",
                "Begin once more.",
            ),
            Self::OtherBrowser => (
                StatusCode::FORBIDDEN,
                "This is not the browser it began in",
                "To keep you from being signed in as somebody else, the answer counts only in the browser that asked.",
                "Begin once more, and finish in the same browser.",
            ),
            Self::Stale => (
                StatusCode::BAD_REQUEST,
                "This answer is not expected",
                "It was used before, or it took longer than ten minutes. You are not signed in by it.",
                "Begin once more.",
            ),
            Self::OtherIssuer => (
                StatusCode::BAD_REQUEST,
                "The answer came from somewhere else",
                "You were sent to one service, and another answered. You are not signed in by it.",
                "Begin once more.",
            ),
            Self::Declined => (
                StatusCode::OK,
                "You are not signed in",
                "You did not agree, so nothing has changed.",
                "If that was a mistake, begin once more.",
            ),
            Self::Nobody => (
                StatusCode::FORBIDDEN,
                "You cannot sign in here",
                "The service knows you, but you are no user of this chat, or not any more.",
                "Ask whoever runs it to let you in.",
            ),
            Self::TooOld => (
                StatusCode::FORBIDDEN,
                "Sign in once more",
                "You were signed out of this chat after you last signed in at the service.",
                "Prove there once more that it is you.",
            ),
            Self::TooWeak => (
                StatusCode::FORBIDDEN,
                "This chat asks for a stronger sign-in",
                "The service let you in without the second factor or the method that this chat demands.",
                "Set it up at the service, then sign in once more; or ask the people who run this chat.",
            ),
            Self::Unreachable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "The service does not answer",
                "The service you are to sign in at cannot be reached at the moment.",
                "Try again in a minute.",
            ),
            Self::Unusable => (
                StatusCode::BAD_GATEWAY,
                "The service did not agree",
                "The service you are to sign in at did not complete it.",
                "Begin once more; if it stays so, tell whoever runs this.",
            ),
            Self::Unavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "Not available at the moment",
                "You are not signed in yet.",
                "Try again in a minute.",
            ),
            Self::Failed => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "Something went wrong here",
                "You are not signed in.",
                "Try again; if it stays so, tell whoever runs this.",
            ),
        };
        Text {
            status,
            title,
            say,
            then,
        }
    }

    /// The page as an answer, with the way to begin once more.
    pub(crate) fn respond(self, app: &State, headers: &HeaderMap, back: &WayBack) -> Response {
        let words = match self {
            Self::Asked => Some("Sign in"),
            Self::Choose | Self::Nowhere | Self::Nobody => None,
            Self::TooOld | Self::TooWeak => Some("Sign in once more"),
            _ => Some("Begin once more"),
        };
        let text = self.text();
        let more = match text.status.is_server_error() {
            true => request_id(headers),
            false if self == Self::Choose => choices(app, back),
            false => String::new(),
        };
        let address = |words| {
            let mut url = back.sign_in(&app.base);
            if matches!(self, Self::TooOld | Self::TooWeak) {
                url.query_pairs_mut().append_pair("prompt", "login");
            }
            (words, url.into())
        };
        let sheet = Sheet {
            text,
            mark: "none",
            more,
            link: words.map(address),
            form: None,
        };
        sheet.respond(app)
    }
}

/// A link to each issuer.
fn choices(app: &State, back: &WayBack) -> String {
    let link = |issuer: &SignInIssuer| {
        let mut url = back.sign_in(&app.base);
        url.query_pairs_mut().append_pair("issuer", &issuer.id);
        let (url, name) = (escaped(url.as_str()), escaped(issuer.name()));
        format!("<p class=\"links\"><a class=\"main\" href=\"{url}\">{name}</a></p>")
    };
    app.sign_in.all().iter().map(link).collect()
}

impl From<Lost> for SignInPage {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::NotHere | Lost::NotThis => Self::OtherBrowser,
            Lost::Late => Self::Stale,
        }
    }
}

impl From<StoreError> for SignInPage {
    fn from(error: StoreError) -> Self {
        match is_away(&error) {
            true => Self::Unavailable,
            false => Self::Failed,
        }
    }
}
