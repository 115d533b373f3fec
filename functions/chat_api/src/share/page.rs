//! `GET /share/{token}`: a finished task as whoever has its link reads it: text, on a page that runs, loads and links nothing.
//!
//! It looks at no session, so that it is the same for everybody. Whatever leads nowhere (any more) is one page.

use std::fmt::{Display, Write as _};
use std::sync::{Arc, LazyLock};

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{Html, IntoResponse, Response};
use domain::{Artifact, Part, PartContent, Task, Timestamp};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, RETRY_AFTER};
use http::{HeaderName, HeaderValue, StatusCode};
use store::Share;

use crate::chat::turn;
use crate::error::RouteError;
use crate::page::app::PRODUCT;
use crate::state::AppState;
use crate::tasks::view;

const STYLE: &str = include_str!("page.css");

static POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = auth::token::hash(STYLE);
    format!(
        "default-src 'none'; style-src 'sha256-{style}='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
    )
});

/// Most bytes that agents wrote.
const WORDS_MAX: usize = 256 * 1024;
/// Most characters of a title and of a name, and most names.
const TITLE_MAX: usize = 160;
const NAME_MAX: usize = 80;
const NAMES_MAX: usize = 12;
/// Most results that are shown.
const RESULTS_MAX: usize = 40;

pub(crate) async fn page(
    State(room): State<Arc<AppState>>,
    token: Result<Path<String>, PathRejection>,
) -> Response {
    // What is no token is looked for as well.
    let token = token.map(|Path(token)| token).unwrap_or_default();
    let brand = room.own.brand().await.name;
    let brand = brand.as_deref().unwrap_or(PRODUCT);
    let (status, title, body) = match room.shared(&token).await {
        Ok(Some((share, task))) => (StatusCode::OK, "A shared answer", shown(&share, &task)),
        Ok(None) => (
            StatusCode::NOT_FOUND,
            "Nothing is shared here",
            said(
                "Nothing is shared here",
                "The link may be incomplete, or it has ended: each does after a week, and whoever shared it can end it before.",
            ),
        ),
        Err(error) => return unavailable(brand, &error),
    };
    answer(status, &document((brand, title), &body))
}

fn unavailable(brand: &str, error: &RouteError) -> Response {
    tracing::warn!(
        error = error as &dyn std::error::Error,
        "what is shared cannot be looked at now"
    );
    let title = "This cannot be shown now";
    let body = said(title, "Try again shortly.");
    let mut response = answer(StatusCode::SERVICE_UNAVAILABLE, &document((brand, title), &body));
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from_static("5"));
    response
}

fn answer(status: StatusCode, html: &str) -> Response {
    let mut response = (status, Html(html.to_owned())).into_response();
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(&POLICY) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("x-robots-tag"), "noindex"),
        (HeaderName::from_static("x-content-type-options"), "nosniff"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn document((brand, title): (&str, &str), body: &str) -> String {
    let brand = escaped(&domain::clean(brand, NAME_MAX));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"robots\" content=\"noindex\">\n\
         <title>{title} · {brand}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <p class=\"brand\">{brand}</p>\n{body}\n</main>\n</body>\n</html>\n"
    )
}

fn said(title: &str, text: &str) -> String {
    format!("<h1>{title}</h1>\n<p>{text}</p>")
}

/// The task, as it is now.
fn shown(share: &Share, task: &Task) -> String {
    let asked = view::prompt(task).unwrap_or_default();
    let mut names: Vec<String> = Vec::new();
    for job in task.jobs.iter().filter(|job| !task.is_replaced(job)) {
        let name = domain::clean(&job.agent_name, NAME_MAX);
        if names.len() < NAMES_MAX && !names.contains(&name) {
            names.push(name);
        }
    }
    let mut room = WORDS_MAX;
    let answer = turn::last_word(task);
    let mut html = format!(
        "<h1 dir=\"auto\">{}</h1>\n<dl><dt>Answered by</dt><dd>{}</dd><dt>Finished</dt><dd>{}</dd>\
         <dt>Shared until</dt><dd>{}</dd></dl>\n<h2>Answer</h2>\n{}",
        escaped(&domain::clean(&asked, TITLE_MAX)),
        escaped(&names.join(", ")),
        minute(task.status.at),
        minute(share.ends_at),
        block(&answer, &mut room),
    );
    for artifact in task.artifacts.iter().take(RESULTS_MAX) {
        html.push_str(&result(artifact, &answer, &mut room));
    }
    html.push_str(
        "\n<p class=\"note\">Agents wrote this, and somebody who asked them shares it. Nobody else has checked it: follow no address \
         and no instruction in it that you do not trust.</p>",
    );
    html
}

/// A result: its words where the answer does not have them, its data, and which files it has.
fn result(artifact: &Artifact, answer: &str, room: &mut usize) -> String {
    let mut html = String::new();
    for part in &artifact.parts {
        match &part.content {
            PartContent::Url(_) if part.detached().is_some() => {
                html.push_str(&not_shared(part, part.detached().unwrap_or_default()));
            }
            PartContent::Text(text) | PartContent::Url(text) if !answer.contains(text.trim()) => {
                html.push_str(&block(text, room));
            }
            PartContent::Text(_) | PartContent::Url(_) => {}
            PartContent::Data(data) => {
                let text = serde_json::to_string_pretty(data).unwrap_or_default();
                // Whoever has a keyboard alone scrolls it too.
                let shown = block(&text, room).replacen("<pre ", "<pre tabindex=\"0\" ", 1);
                _ = writeln!(html, "<details><summary>Data</summary>{shown}</details>");
            }
            PartContent::Raw(base64) => html.push_str(&not_shared(part, store::file_size(base64))),
        }
    }
    if html.is_empty() {
        return html;
    }
    let name = artifact.name.as_deref().unwrap_or("Result");
    format!(
        "\n<h2 dir=\"auto\">{}</h2>\n{html}",
        escaped(&domain::clean(name, NAME_MAX))
    )
}

/// Which file there is.
fn not_shared(part: &Part, bytes: impl Display) -> String {
    let name = part.filename.as_deref().unwrap_or("a file");
    let name = escaped(&domain::clean(name, NAME_MAX));
    format!("<p class=\"note\">{name} ({bytes} bytes): files are not shared.</p>\n")
}

/// Words as they are, as far as there is room for them.
fn block(text: &str, room: &mut usize) -> String {
    let text = domain::clean_lines(text, *room);
    *room = room.saturating_sub(text.len());
    format!("<pre dir=\"auto\">{}</pre>\n", escaped(&text))
}

/// A time to the minute.
fn minute(at: Timestamp) -> String {
    let text = at.to_string();
    let (day, time) = (text.get(..10), text.get(11..16));
    format!("{} {} UTC", day.unwrap_or_default(), time.unwrap_or_default())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}
