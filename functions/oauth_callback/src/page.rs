//! What people see: one small page, without scripts, that says what happened and what to do next.

use std::time::Duration;

use auth::occasion::Occasion;
use axum::response::{Html, IntoResponse, Response};
use domain::{Brand, ExposeSecret, SecretString, Timestamp};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, REFRESH, RETRY_AFTER,
    SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use outbound::oauth::OAuthError;
use store::StoreError;
use url::Url;

use crate::state::State;

const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// What a page calls itself where its tenant has not said.
const PRODUCT: &str = "Switchyard";

/// The same for a page with a form: it is sent to one origin alone. The Origin header that comes with it says where it stood,
/// which `no-referrer` would hide.
const REFERRER_OF_FORM: &str = "strict-origin";

/// What a request ends with, where it is no redirect. `again` is the link to begin anew with.
#[derive(Debug)]
pub(crate) enum ResultPage {
    /// On to the provider.
    Onward { url: Url },
    /// Granted.
    Connected { scopes: Vec<String> },
    /// Granted in another browser than the starter's: this code is to be typed in the chat.
    Code {
        code: SecretString,
        /// What was asked for, where its task is still there.
        asked: Option<Occasion>,
    },
    /// The user left these boxes out, and they are needed.
    TooLittle {
        missing: Vec<String>,
        again: Option<Url>,
    },
    /// Refused by the user just now.
    Declined,
    /// Refused before.
    Denied,
    /// Granted before.
    Used,
    /// The link's time is over; its task still waits, or does not.
    Expired { waits: bool },
    /// The task is over.
    NotNeeded,
    /// No such link.
    Unknown,
    /// The starter's own browser is on its way already.
    Elsewhere,
    /// Too many follow the link at once.
    Busy,
    /// No answer of a provider.
    Rubbish,
    /// An answer to no question that is open.
    Stale { again: Option<Url> },
    /// An answer in another browser than the one that left.
    OtherBrowser { again: Option<Url> },
    /// An answer of somebody else.
    OtherIssuer { again: Option<Url> },
    /// A proof of the starter's browser that does not count.
    Unproven { again: Option<Url> },
    /// The provider cannot be asked now.
    Unreachable { again: Option<Url> },
    /// The provider does not do what it should.
    Unusable { again: Option<Url> },
    /// The tables are out of reach.
    Unavailable,
    /// Our own fault.
    Failed,
}

/// What stands on a page.
pub(crate) struct Text {
    pub(crate) status: StatusCode,
    pub(crate) title: &'static str,
    pub(crate) say: &'static str,
    pub(crate) then: &'static str,
}

impl ResultPage {
    /// The page for a provider that did not do what it was asked.
    pub(crate) fn of_provider(error: &OAuthError, again: Option<Url>) -> Self {
        tracing::warn!(
            error = error as &dyn std::error::Error,
            "the provider did not do what it was asked"
        );
        if error.is_retryable() {
            Self::Unreachable { again }
        } else {
            Self::Unusable { again }
        }
    }

    fn text(&self) -> Text {
        let text = |status, title, say, then| Text {
            status,
            title,
            say,
            then,
        };
        match self {
            Self::Onward { .. } => text(
                StatusCode::OK,
                "On to the service you sign in at",
                "You are led there now.",
                "If nothing happens, go on yourself.",
            ),
            Self::Connected { .. } => text(
                StatusCode::OK,
                "You are connected",
                "Thank you. Your task goes on by itself.",
                "You can close this page.",
            ),
            Self::Code { .. } => text(
                StatusCode::OK,
                "One more step",
                "Type this code in the chat where you started. Nothing is granted before that.",
                "Only do so if you started this yourself: whoever gets the code can act for you. It is good for ten \
                 minutes, and once.",
            ),
            Self::TooLittle { .. } => text(
                StatusCode::OK,
                "A box was left out",
                "Your task needs this as well, so nothing was granted:",
                "Begin once more, and tick it.",
            ),
            Self::Declined | Self::Denied => text(
                match self {
                    Self::Declined => StatusCode::OK,
                    _ => StatusCode::GONE,
                },
                "Nothing was granted",
                "You did not agree, so what needs it is not done.",
                "If that was a mistake, ask for it once more in the chat.",
            ),
            Self::Used => text(
                StatusCode::GONE,
                "This link has been used",
                "You agreed to this before; there is nothing left to do here.",
                "You can close this page.",
            ),
            Self::Expired { waits: true } => text(
                StatusCode::GONE,
                "This link has run out",
                "Your task still waits. It gets a fresh link in the chat in a moment.",
                "Go back to the chat and follow that one.",
            ),
            Self::Expired { waits: false } => text(
                StatusCode::GONE,
                "This link has run out",
                "The task it belongs to no longer waits for it.",
                "Ask for it once more in the chat.",
            ),
            Self::NotNeeded => text(
                StatusCode::GONE,
                "This is no longer needed",
                "The task it belongs to is over.",
                "You can close this page.",
            ),
            Self::Unknown => text(
                StatusCode::NOT_FOUND,
                "There is no such link",
                "It may have been cut off, or it is very old.",
                "Go back to the chat and follow the link there.",
            ),
            Self::Elsewhere => text(
                StatusCode::CONFLICT,
                "This is under way in another browser",
                "The person who started it is answering it there.",
                "If that was you, go on in that browser.",
            ),
            Self::Busy => text(
                StatusCode::CONFLICT,
                "This link was opened several times at once",
                "Nothing was granted.",
                "Go back to the chat and follow the link there once more.",
            ),
            Self::Rubbish => text(
                StatusCode::BAD_REQUEST,
                "This page needs an answer",
                "Services send you here after you have signed in. What arrived is no such answer; nothing was granted.",
                "Go back to the chat and follow the link there.",
            ),
            Self::Stale { .. } => text(
                StatusCode::BAD_REQUEST,
                "This answer is not expected",
                "It was used before, or it belongs to a sign-in that was started anew since. Nothing was granted.",
                "Go on in the newest page, or begin once more.",
            ),
            Self::OtherBrowser { .. } => text(
                StatusCode::FORBIDDEN,
                "This is not the browser it began in",
                "To keep others from acting in your name, the answer counts only in the browser that asked. Nothing was \
                 granted.",
                "Begin once more, and finish in the same browser.",
            ),
            Self::OtherIssuer { .. } => text(
                StatusCode::BAD_REQUEST,
                "The answer came from somewhere else",
                "You were sent to one service, and another answered. Nothing was granted.",
                "Begin once more.",
            ),
            Self::Unproven { .. } => text(
                StatusCode::FORBIDDEN,
                "This page cannot be sure that it was you",
                "The page before this one was open for too long, was used before, or belongs to something else. Nothing was \
                 granted.",
                "Go back to the chat and follow the link there. Begin here instead, and you will be shown a code to type in the \
                 chat.",
            ),
            Self::Unreachable { .. } => text(
                StatusCode::SERVICE_UNAVAILABLE,
                "The service does not answer",
                "The service you are to sign in at cannot be reached at the moment. Nothing was granted.",
                "Try again in a minute.",
            ),
            Self::Unusable { .. } => text(
                StatusCode::BAD_GATEWAY,
                "The service did not agree",
                "The service you are to sign in at did not complete it. Nothing was granted.",
                "Begin once more; if it stays so, tell whoever runs this.",
            ),
            Self::Unavailable => text(
                StatusCode::SERVICE_UNAVAILABLE,
                "Not available at the moment",
                "Nothing was granted.",
                "Try the link in the chat again in a minute.",
            ),
            Self::Failed => text(
                StatusCode::INTERNAL_SERVER_ERROR,
                "Something went wrong here",
                "Nothing was granted.",
                "Try the link in the chat again; if it stays so, tell whoever runs this.",
            ),
        }
    }

    fn again(&self) -> Option<&Url> {
        match self {
            Self::TooLittle { again, .. }
            | Self::Stale { again }
            | Self::OtherBrowser { again }
            | Self::OtherIssuer { again }
            | Self::Unproven { again }
            | Self::Unreachable { again }
            | Self::Unusable { again } => again.as_ref(),
            _ => None,
        }
    }

    /// The page as an answer.
    pub(crate) fn respond(self, app: &State, headers: &HeaderMap) -> Response {
        let text = self.text();
        let mut more = String::new();
        if let Self::Code { code, asked } = &self {
            let asked = asked.as_ref().map(|asked| told(asked, app.clock().now()));
            more = format!(
                "{}<p class=\"code\"><code>{}</code></p>",
                asked.unwrap_or_default(),
                code.expose_secret()
            );
        }
        if let Self::Connected { scopes } = &self
            && !scopes.is_empty()
        {
            let list: String = scopes
                .iter()
                .map(|scope| format!("<li>{}</li>", escaped(scope)))
                .collect();
            more = format!("<p>What you agreed to:</p><ul>{list}</ul>");
        }
        if let Self::TooLittle { missing, .. } = &self {
            let list: String = missing
                .iter()
                .map(|box_| format!("<li>{}</li>", escaped(box_)))
                .collect();
            more = format!("<ul>{list}</ul>");
        }
        if text.status.is_server_error() {
            more = request_id(headers);
        }
        Sheet {
            mark: match self {
                Self::Connected { .. } => "good",
                Self::Code { .. } => "wait",
                _ => "none",
            },
            more,
            link: match &self {
                Self::Onward { url } => Some(("Go on", url.as_str().to_owned())),
                _ => self
                    .again()
                    .map(|again| ("Begin once more", again.as_str().to_owned())),
            },
            form: None,
            text,
        }
        .respond(app)
    }
}

/// What was asked for, when and from where.
fn told(asked: &Occasion, now: Timestamp) -> String {
    let lines = [
        ("Agent", Some(escaped(&asked.agent))),
        ("Asked for", Some(format!("“{}”", escaped(&asked.words)))),
        ("When", Some(asked.ago(now))),
        ("From", asked.place.as_deref().map(escaped)),
    ];
    let lines = lines.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let list: String = lines
        .map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>"))
        .collect();
    format!("<dl>{list}</dl>")
}

/// A page as it is drawn, whatever it is about.
pub(crate) struct Sheet {
    pub(crate) text: Text,
    pub(crate) mark: &'static str,
    /// Between its two sentences, as HTML.
    pub(crate) more: String,
    /// What to press first: its words and its address.
    pub(crate) link: Option<(&'static str, String)>,
    /// A form that leads on, in place of that.
    pub(crate) form: Option<Form>,
}

/// A form with one button and one field that nobody sees.
pub(crate) struct Form {
    pub(crate) action: Url,
    pub(crate) field: (&'static str, String),
    pub(crate) button: &'static str,
    /// Whose link it is, and its host.
    pub(crate) about: (String, String),
    /// After how long the page is loaded again.
    pub(crate) again: Duration,
}

impl Form {
    fn html(&self) -> String {
        let (name, value) = &self.field;
        let (who, host) = &self.about;
        format!(
            "<p><strong>{}</strong> asks for this, and leads you on from <code>{}</code>.</p>\
             <form method=\"post\" action=\"{}\"><input type=\"hidden\" name=\"{name}\" value=\"{}\">\
             <button class=\"main\">{}</button></form>",
            escaped(who),
            escaped(host),
            escaped(self.action.as_str()),
            escaped(value),
            self.button,
        )
    }

    /// The page's policy: its form goes to one origin, and nowhere else.
    fn policy(&self) -> String {
        let origin = self.action.origin().ascii_serialization();
        POLICY.replace("form-action 'none'", &format!("form-action {origin}"))
    }
}

impl Sheet {
    /// The page as an answer.
    pub(crate) fn respond(self, app: &State) -> Response {
        let Self {
            text,
            mark,
            mut more,
            link,
            form,
        } = self;
        more += &form.as_ref().map(Form::html).unwrap_or_default();
        let base = escaped(app.base.path().trim_end_matches('/'));
        // An agent of the platform does not know where its users' chats are.
        let (tenant, chat) = match app.serves_all() {
            true => ("", String::new()),
            false => (
                app.tenant().name(),
                format!("<a href=\"{base}/\">Back to the chat</a>"),
            ),
        };
        let brand = match app.serves_all() {
            true => Brand::default(),
            false => app.brand(),
        };
        let product = escaped(brand.name.as_deref().unwrap_or(PRODUCT));
        // Both are the chat's, below the same base.
        let accent = match brand.accents {
            Some(_) => format!("  <link rel=\"stylesheet\" href=\"{base}/brand.css\">\n"),
            None => String::new(),
        };
        let logo = match brand.logo {
            Some(hash) => format!("<img src=\"{base}/logo?v={hash}\" alt=\"\">"),
            None => String::new(),
        };
        let mut links = String::new();
        if let Some((words, place)) = link {
            links = format!("<a class=\"main\" href=\"{}\">{words}</a> ", escaped(&place));
        }
        let html = format!(
            include_str!("page.html"),
            base = base,
            product = product,
            accent = accent,
            logo = logo,
            tenant = tenant,
            chat = chat,
            mark = mark,
            title = text.title,
            say = text.say,
            more = more,
            then = text.then,
            links = links,
        );
        let mut response = (text.status, Html(html)).into_response();
        for (name, value) in [
            (CACHE_CONTROL, "no-store"),
            (CONTENT_SECURITY_POLICY, POLICY),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "no-referrer"),
        ] {
            response
                .headers_mut()
                .insert(name, HeaderValue::from_static(value));
        }
        if let Some(form) = form {
            let again = HeaderValue::from(form.again.as_secs());
            let policy = HeaderValue::from_str(&form.policy());
            let headers = response.headers_mut();
            headers.insert(REFRESH, again);
            headers.insert(REFERRER_POLICY, HeaderValue::from_static(REFERRER_OF_FORM));
            if let Ok(policy) = policy {
                headers.insert(CONTENT_SECURITY_POLICY, policy);
            }
        }
        if text.status == StatusCode::SERVICE_UNAVAILABLE {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from_static("30"));
        }
        response
    }
}

impl From<StoreError> for ResultPage {
    fn from(error: StoreError) -> Self {
        match is_away(&error) {
            true => Self::Unavailable,
            false => Self::Failed,
        }
    }
}

/// Whether the tables are out of reach for a while; what they said goes to the log.
pub(crate) fn is_away(error: &StoreError) -> bool {
    let away = matches!(
        error,
        StoreError::Throttled { .. } | StoreError::Unavailable { .. }
    );
    let error = error as &dyn std::error::Error;
    match away {
        true => tracing::warn!(error, "the tables are out of reach"),
        false => tracing::error!(error, "the request failed"),
    }
    away
}

/// An answer that leads elsewhere, with a cookie where there is one; nothing where it cannot be written.
pub(crate) fn leads_to(url: &Url, cookie: Option<HeaderValue>) -> Option<Response> {
    let Ok(location) = HeaderValue::from_str(url.as_str()) else {
        tracing::error!("a redirect cannot be written");
        return None;
    };
    let headers = [
        (LOCATION, location),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    let mut response = (StatusCode::FOUND, headers).into_response();
    response
        .headers_mut()
        .extend(cookie.map(|cookie| (SET_COOKIE, cookie)));
    Some(response)
}

/// The number of the request, for whoever is told of the fault.
pub(crate) fn request_id(headers: &HeaderMap) -> String {
    let id = headers.get("x-request-id").and_then(|id| id.to_str().ok());
    id.map_or_else(String::new, |id| {
        format!("<p class=\"soft\">Request <code>{}</code></p>", escaped(id))
    })
}

pub(crate) async fn style() -> Response {
    let headers = [
        (CONTENT_TYPE, "text/css; charset=utf-8"),
        (CACHE_CONTROL, "max-age=3600"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, include_str!("page.css")).into_response()
}

/// Text that may stand between tags and in attributes.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}
