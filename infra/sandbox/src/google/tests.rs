//! Codes are good once, boxes may be unticked, and what was taken back is over.

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use domain::{SystemClock, SystemEntropy};
use serde_json::json;
use tower::ServiceExt as _;
use url::form_urlencoded::Serializer;

use super::*;

const BACK: &str = "http://127.0.0.1:3000/consent/callback";
const FREE_BUSY: &str = "https://www.googleapis.com/auth/calendar.freebusy";
const EVENTS: &str = "https://www.googleapis.com/auth/calendar.events.readonly";
const WEEK: &str = "timeMin=2026-11-23T00:00:00Z&timeMax=2026-11-30T00:00:00Z";

fn google() -> Google {
    let issuer = "http://127.0.0.1:3000/sandbox/google".parse().unwrap();
    Google::new(issuer, BACK, (Arc::new(SystemClock), Arc::new(SystemEntropy)))
}

fn form(fields: &[(&str, &str)]) -> String {
    Serializer::new(String::new()).extend_pairs(fields).finish()
}

async fn sent(google: &Google, request: Request<Body>) -> (StatusCode, String, Value) {
    let response = google.router().oneshot(request).await.unwrap();
    let status = response.status();
    let location = response.headers().get("location");
    let location = location.map_or(String::new(), |value| value.to_str().unwrap().to_owned());
    let body = to_bytes(response.into_body(), 1 << 22).await.unwrap();
    (
        status,
        location,
        serde_json::from_slice(&body).unwrap_or_default(),
    )
}

async fn posted(google: &Google, path: &str, fields: &[(&str, &str)]) -> (StatusCode, String, Value) {
    let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
    sent(google, request.body(Body::from(form(fields))).unwrap()).await
}

/// Agrees to what is ticked; the code.
async fn code(google: &Google, boxes: &[&str]) -> String {
    let verifier = "v".repeat(43);
    let challenge = auth::pkce::challenge(&verifier);
    let scope = format!("{FREE_BUSY} {EVENTS}");
    let mut fields = vec![
        ("client_id", CLIENT.0),
        ("redirect_uri", BACK),
        ("response_type", "code"),
        ("code_challenge_method", "S256"),
        ("code_challenge", challenge.as_str()),
        ("access_type", "offline"),
        ("prompt", "consent"),
        ("state", "s"),
        ("scope", scope.as_str()),
        ("user", USERS[0].0),
        ("agree", "yes"),
    ];
    fields.extend(boxes.iter().map(|name| (*name, "on")));
    let (status, location, _) = posted(google, "/o/oauth2/v2/auth", &fields).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    let back: Url = location.parse().unwrap();
    let code = back.query_pairs().find(|(name, _)| name == "code").unwrap();
    code.1.into_owned()
}

async fn exchanged(google: &Google, code: &str) -> (StatusCode, Value) {
    let verifier = "v".repeat(43);
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("code_verifier", &verifier),
        ("redirect_uri", BACK),
        ("client_id", CLIENT.0),
        ("client_secret", CLIENT.1),
    ];
    let (status, _, body) = posted(google, "/token", &fields).await;
    (status, body)
}

async fn events(google: &Google, token: &Value, more: &str) -> (StatusCode, Value) {
    let request = Request::get(format!("/calendar/v3/calendars/primary/events?{WEEK}{more}"))
        .header("authorization", format!("Bearer {}", token.as_str().unwrap()));
    let (status, _, body) = sent(google, request.body(Body::empty()).unwrap()).await;
    (status, body)
}

#[tokio::test]
async fn a_code_is_good_once_and_brings_what_was_ticked() {
    let google = google();
    let code = code(&google, &["box.0"]).await;
    let (status, tokens) = exchanged(&google, &code).await;
    assert_eq!(
        (status, tokens["scope"].as_str()),
        (StatusCode::OK, Some(FREE_BUSY))
    );
    assert_eq!(exchanged(&google, &code).await.1["error"], "invalid_grant");
    assert_eq!(google.exchanged(), [code.clone(), code]);
    let (status, refused) = events(&google, &tokens["access_token"], "").await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(refused["error"]["errors"][0]["reason"], "insufficientPermissions");
}

#[tokio::test]
async fn what_expired_is_renewed_and_what_was_taken_back_is_not() {
    let google = google();
    let (_, tokens) = exchanged(&google, &code(&google, &["box.0", "box.1"]).await).await;
    assert_eq!(
        events(&google, &tokens["access_token"], "").await.0,
        StatusCode::OK
    );
    google.expire_access();
    assert_eq!(
        events(&google, &tokens["access_token"], "").await.0,
        StatusCode::UNAUTHORIZED
    );
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let renew = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh),
        ("client_id", CLIENT.0),
        ("client_secret", CLIENT.1),
    ];
    let (_, _, renewed) = posted(&google, "/token", &renew).await;
    assert!(renewed.get("refresh_token").is_none(), "as Google does");
    assert_eq!(
        events(&google, &renewed["access_token"], "").await.0,
        StatusCode::OK
    );
    let (status, ..) = posted(&google, "/revoke", &[("token", refresh)]).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        posted(&google, "/token", &renew).await.2["error"],
        "invalid_grant"
    );
    assert_eq!(
        events(&google, &renewed["access_token"], "").await.0,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        posted(&google, "/revoke", &[("token", refresh)]).await.2["error"],
        "invalid_token"
    );
    // Agreed anew, it goes on.
    let (_, tokens) = exchanged(&google, &code(&google, &["box.0", "box.1"]).await).await;
    assert_eq!(
        events(&google, &tokens["access_token"], "").await.0,
        StatusCode::OK
    );
}

#[tokio::test]
async fn events_come_in_pages_and_failures_when_they_are_wanted() {
    let google = google();
    google.plant(json!({"summary": "Planted", "start": {"dateTime": "2026-11-24T22:00:00Z"}, "end": {"dateTime": "2026-11-24T23:00:00Z"}}));
    let (_, tokens) = exchanged(&google, &code(&google, &["box.1"]).await).await;
    let (_, first) = events(&google, &tokens["access_token"], "&maxResults=3").await;
    assert_eq!(
        (
            first["items"].as_array().unwrap().len(),
            first["nextPageToken"].as_str()
        ),
        (3, Some("3"))
    );
    let (_, all) = events(&google, &tokens["access_token"], "").await;
    assert!(all["items"].to_string().contains("Planted") && all.get("nextPageToken").is_none());
    google.fail(&[Failure::RateLimit, Failure::Away]);
    let (status, refused) = events(&google, &tokens["access_token"], "").await;
    assert_eq!(
        (status, refused["error"]["errors"][0]["reason"].as_str()),
        (StatusCode::FORBIDDEN, Some("rateLimitExceeded"))
    );
    assert_eq!(
        events(&google, &tokens["access_token"], "").await.0,
        StatusCode::SERVICE_UNAVAILABLE
    );
    assert_eq!(
        events(&google, &tokens["access_token"], "").await.0,
        StatusCode::OK
    );
}

#[tokio::test]
async fn the_page_has_a_box_for_each_scope_and_refuses_what_google_refuses() {
    let google = google();
    let page = |more: &str| {
        let query = form(&[
            ("client_id", CLIENT.0),
            ("redirect_uri", BACK),
            ("response_type", "code"),
            ("code_challenge_method", "S256"),
            ("scope", &format!("{FREE_BUSY} {EVENTS}")),
            ("state", "\"><script>"),
        ]);
        Request::get(format!("/o/oauth2/v2/auth?{query}{more}"))
            .body(Body::empty())
            .unwrap()
    };
    let response = google.router().oneshot(page("")).await.unwrap();
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    let body = String::from_utf8(body.to_vec()).unwrap();
    assert_eq!(body.matches("type=\"checkbox\"").count(), 2);
    assert!(
        body.contains("View events on all your calendars") && !body.contains("<script>"),
        "{body}"
    );
    for refused in ["&resource=x", "&include_granted_scopes=true"] {
        assert_eq!(
            sent(&google, page(refused)).await.0,
            StatusCode::BAD_REQUEST,
            "{refused}"
        );
    }
}
