//! The whole table once more while the tenant is suspended: the very requests that were answered well with good credentials are
//! refused, and are answered again as soon as the tenant is resumed.

use std::cell::RefCell;

use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::json;

use super::Row;
use super::world::{SENT, World, told};
use crate::tenants::admin;

/// Requests, and how they were answered.
pub(super) type Sent = Vec<(RequestBuilder, StatusCode)>;

/// What `work` comes to, and what it sent meanwhile.
pub(super) async fn noted<T>(work: impl Future<Output = T>) -> (T, Sent) {
    let noted = async {
        let done = work.await;
        (done, SENT.with(RefCell::take))
    };
    SENT.scope(RefCell::default(), noted).await
}

/// What is answered while `acme` is suspended, because it is not of `acme`: what the platform itself serves, by its operator's token or to
/// callers that say no tenant, and what is the same for everybody.
fn is_of_nobody(row: &Row, request: &reqwest::Request) -> bool {
    let has_token =
        request.headers().contains_key("authorization") || request.headers().contains_key("cookie");
    match row.function {
        // The bridge of a row is gone with it.
        "mqtt_bridge" | "gateway" | "registry" => true,
        // Cards and keys are public, and those who check what was signed before need them.
        "agent" if row.route.starts_with("/.well-known/") => true,
        "idp" if row.route.ends_with(".json") => true,
        "agent" => !has_token && !["horizon", "host"].contains(&row.at),
        _ => false,
    }
}

async fn hold(world: &World, suspended: bool) {
    let body = json!({ "suspended": suspended });
    let path = "/tenants/acme/status";
    let (status, told) = admin(&world.local, Method::PUT, path, Some(body)).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{told}");
}

/// What is wrong with the answers.
pub(super) async fn all_refused(world: &World, sent: Vec<(&Row, Sent)>) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut refused, mut answered) = (0, 0);
    let mut looks = Vec::new();
    for (row, requests) in &sent {
        for (request, before) in requests.iter().filter(|_| row.method == "GET") {
            let copy = || request.try_clone().expect("a request without a body");
            // A link stays ended once its tenant was suspended. Rows that come later may have taken away what others lead to.
            if row.route != "/share/{token}" && before.is_success() && told(copy()).await.status == *before {
                looks.push((row, copy(), *before));
            }
        }
    }
    hold(world, true).await;
    for (row, requests) in &sent {
        for (request, _) in requests.iter().filter(|(_, status)| !status.is_client_error()) {
            let copy = || request.try_clone().expect("a request with a body of bytes");
            let built = copy().build().expect("a request");
            if is_of_nobody(row, &built) {
                continue;
            }
            let answer = told(copy()).await;
            match answer.status.as_u16() {
                403 | 503
                    if ["suspended", "This is closed"]
                        .iter()
                        .any(|word| answer.text.contains(word)) =>
                {
                    refused += 1;
                }
                // A link of an agent of the platform: nothing of the tenant is there.
                404 if row.function == "oauth_callback" => refused += 1,
                _ => {
                    let (name, method, url) = (row.name(), built.method(), built.url());
                    wrong.push(format!("{name}, suspended: {method} {url}: {answer:?}"));
                }
            }
        }
    }
    hold(world, false).await;
    for (row, request, before) in looks {
        let answer = told(request).await;
        match answer.status == before {
            true => answered += 1,
            false => wrong.push(format!("{}, resumed: was {before}, is {answer:?}", row.name())),
        }
    }
    println!(
        "{refused} good requests refused while the tenant is suspended, {answered} answered again after it"
    );
    assert!(refused > 50 && answered > 20, "{refused} {answered}");
    wrong
}
