//! OAuth clients of others drive the authorization server of a running system: Authlib, openid-client, and the crate
//! `oauth2`. Each checks by its own rules what comes back, and each is refused what must be refused.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use oauth2::basic::{BasicClient, BasicErrorResponseType};
use oauth2::{
    AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, HttpRequest, HttpResponse,
    PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RequestTokenError, RevocationUrl, Scope,
    StandardRevocableToken, TokenResponse, TokenUrl,
};
use serde_json::{Value, json};
use system_testing::Local;
use system_testing::oauth::{self, CONFIDENTIAL, PUBLIC, REDIRECT_URI, SECRET};

/// What every client must have done; one with a secret the second list too.
const ALL: [&str; 12] = [
    "discovery",
    "code",
    "iss",
    "jwks",
    "userinfo",
    "wrong_verifier",
    "replayed_code",
    "replay_revokes",
    "refresh",
    "reused_refresh",
    "reuse_revokes",
    "revoked_refresh",
];
const WITH_SECRET: [&str; 3] = ["introspection", "client_credentials", "wrong_secret"];

fn given(local: &Local, client: &str, secret: Option<&str>) -> Value {
    let login = local.login("acme", 0);
    json!({
        "issuer": local.issuer("acme"), "client_id": client, "client_secret": secret,
        "redirect_uri": REDIRECT_URI, "resource": local.resource("acme"), "scope": oauth::SCOPES,
        "username": login["username"], "password": login["password"],
    })
}

/// Runs a script with what is given on its standard input, as arguments are anybody's to read.
async fn run(program: PathBuf, script: &'static str, given: Value) -> Value {
    tokio::task::spawn_blocking(move || {
        let mut process = Command::new(program)
            .arg(system_testing::folder().join(script))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut input = process.stdin.take().expect("an input");
        input.write_all(given.to_string().as_bytes()).expect("it reads");
        drop(input);
        let ran = process.wait_with_output().expect("it ends");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        serde_json::from_slice(&ran.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&ran.stdout)))
    })
    .await
    .expect("no panic")
}

async fn drives_it(program: PathBuf, script: &'static str) {
    let local = Local::start_now().await;
    oauth::register_both(&local, "acme").await;
    for (client, secret) in [(PUBLIC, None), (CONFIDENTIAL, Some(SECRET))] {
        let done = run(program.clone(), script, given(&local, client, secret)).await;
        let wanted = ALL.iter().chain(WITH_SECRET.iter().filter(|_| secret.is_some()));
        for step in wanted {
            assert_eq!(done[step], true, "{client}: {step} is missing in {done}");
        }
    }
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn authlib_drives_the_authorization_server() {
    drives_it(system_testing::python(), "python/oauth_client.py").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn openid_client_drives_the_authorization_server() {
    drives_it("node".into(), "js/openid-client.mjs").await;
}

/// The crate's requests, by the tests' HTTP client. The crate revokes at https addresses alone; this machine has none.
async fn send(request: HttpRequest) -> Result<HttpResponse, reqwest::Error> {
    let (parts, body) = request.into_parts();
    let url = parts
        .uri
        .to_string()
        .replacen("https://127.0.0.1", "http://127.0.0.1", 1);
    let answer = system_testing::user::http()
        .request(parts.method, url)
        .headers(parts.headers)
        .body(body)
        .send()
        .await?;
    let mut response = http::Response::builder().status(answer.status());
    *response.headers_mut().expect("a good response") = answer.headers().clone();
    let body = answer.bytes().await?.to_vec();
    Ok(response.body(body).expect("a response"))
}

/// True for the refusal that OAuth has for a code or token that is not good.
fn is_invalid_grant<T: std::fmt::Debug>(
    answer: &Result<T, oauth2::basic::BasicRequestTokenError<reqwest::Error>>,
) -> bool {
    matches!(answer, Err(RequestTokenError::ServerResponse(told)) if *told.error() == BasicErrorResponseType::InvalidGrant)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_crate_oauth2_drives_the_authorization_server() {
    let local = Local::start_now().await;
    oauth::register_both(&local, "acme").await;
    let metadata: Value = system_testing::user::http()
        .get(format!(
            "{}/.well-known/oauth-authorization-server",
            local.issuer("acme")
        ))
        .send()
        .await
        .expect("an answer")
        .json()
        .await
        .expect("metadata");
    let at = |name: &str| metadata[name].as_str().expect("an endpoint").to_owned();
    let resource = local.resource("acme");
    for (id, secret) in [(PUBLIC, None), (CONFIDENTIAL, Some(SECRET))] {
        let mut client = BasicClient::new(ClientId::new(id.to_owned()))
            .set_auth_uri(AuthUrl::new(at("authorization_endpoint")).expect("an address"))
            .set_token_uri(TokenUrl::new(at("token_endpoint")).expect("an address"))
            .set_redirect_uri(RedirectUrl::new(REDIRECT_URI.to_owned()).expect("an address"));
        client = match secret {
            Some(secret) => client.set_client_secret(ClientSecret::new(secret.to_owned())),
            None => client.set_auth_type(AuthType::RequestBody),
        };
        let mut browser = oauth::apps_browser();
        let mut code = async || -> (AuthorizationCode, PkceCodeVerifier) {
            let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
            let (url, state) = client
                .authorize_url(CsrfToken::new_random)
                .add_scopes(oauth::SCOPES.split(' ').map(|scope| Scope::new(scope.to_owned())))
                .add_extra_param("resource", &resource)
                .set_pkce_challenge(challenge)
                .url();
            let back = oauth::agree(&mut browser, url.as_str(), local.login("acme", 1)).await;
            let answer: std::collections::BTreeMap<_, _> = back.url.query_pairs().into_owned().collect();
            assert_eq!(answer.get("state"), Some(state.secret()), "{back:?}");
            assert_eq!(answer.get("iss"), Some(&local.issuer("acme")), "{back:?}");
            (AuthorizationCode::new(answer["code"].clone()), verifier)
        };

        let (wrong, _) = code().await;
        let (_, other) = PkceCodeChallenge::new_random_sha256();
        let answer = client
            .exchange_code(wrong)
            .set_pkce_verifier(other)
            .request_async(&send)
            .await;
        assert!(is_invalid_grant(&answer), "{answer:?}");

        let (good, verifier) = code().await;
        let first = client
            .exchange_code(good)
            .set_pkce_verifier(verifier)
            .request_async(&send)
            .await
            .expect("tokens");
        assert!(first.expires_in().expect("a time").as_secs() <= 600);
        let first = first.refresh_token().expect("a refresh token").clone();
        let second = client
            .exchange_refresh_token(&first)
            .request_async(&send)
            .await
            .expect("it is renewed");
        let second = second.refresh_token().expect("a refresh token").clone();
        assert_ne!(first.secret(), second.secret());
        let reused = client.exchange_refresh_token(&first).request_async(&send).await;
        assert!(is_invalid_grant(&reused), "{reused:?}");
        let revoked = client.exchange_refresh_token(&second).request_async(&send).await;
        assert!(is_invalid_grant(&revoked), "the family is revoked: {revoked:?}");

        let (good, verifier) = code().await;
        let token = client
            .exchange_code(good)
            .set_pkce_verifier(verifier)
            .request_async(&send)
            .await
            .expect("tokens");
        let token = token.refresh_token().expect("a refresh token").clone();
        let revoking = client.clone().set_revocation_url(
            RevocationUrl::new(at("revocation_endpoint").replacen("http:", "https:", 1)).expect("an address"),
        );
        revoking
            .revoke_token(StandardRevocableToken::RefreshToken(token.clone()))
            .expect("an address")
            .request_async(&send)
            .await
            .expect("it is revoked");
        let revoked = client.exchange_refresh_token(&token).request_async(&send).await;
        assert!(is_invalid_grant(&revoked), "{revoked:?}");
    }
    local.system.stop().await;
}
