//! The gateway: one listener in front of every function, as API Gateway is on AWS. It finds the function by the
//! first part of the path and takes that part away; the functions never see where they are mounted.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use edge::config::BasePath;
use http::uri::{PathAndQuery, Uri};
use http::{StatusCode, header};
use tower::ServiceExt;

use crate::StartError;

/// Functions by path; the first that fits answers.
#[derive(Default)]
pub(crate) struct Gateway {
    mounts: Vec<Mount>,
}

struct Mount {
    base: BasePath,
    /// Only paths that start so are this function's; several functions may share a base.
    below: &'static str,
    router: Router,
}

impl Gateway {
    /// Mounts a function at a path.
    pub(crate) fn mount(&mut self, path: &str, router: Router) -> Result<(), StartError> {
        self.mount_below(path, "/", router)
    }

    /// Mounts a function for the paths below `below`, seen from `path`; before others at the same path.
    pub(crate) fn mount_below(
        &mut self,
        path: &str,
        below: &'static str,
        router: Router,
    ) -> Result<(), StartError> {
        let base = path.parse().map_err(StartError::part("gateway"))?;
        self.mounts.push(Mount { base, below, router });
        Ok(())
    }

    /// The whole, with a page for people at `/`.
    pub(crate) fn into_router(self, index: String) -> Router {
        let page = move || {
            let index = index.clone();
            async move { ([(header::CACHE_CONTROL, "no-store")], Html(index)) }
        };
        Router::new()
            .route("/", get(page))
            .route("/healthz", get(async || "ok\n"))
            .fallback(dispatch)
            .with_state(Arc::new(self.mounts))
    }
}

async fn dispatch(State(mounts): State<Arc<Vec<Mount>>>, mut request: Request<Body>) -> Response {
    let path = request.uri().path();
    let found = mounts.iter().find_map(|mount| {
        let rest = mount.base.strip(path)?;
        rest.starts_with(mount.below).then(|| (mount, rest.to_owned()))
    });
    let Some((mount, rest)) = found else {
        let body = r#"{"error":"not_found","message":"nothing is served here"}"#;
        return (
            StatusCode::NOT_FOUND,
            [(header::CONTENT_TYPE, "application/json")],
            body,
        )
            .into_response();
    };
    let Some(uri) = with_path(request.uri(), rest) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    *request.uri_mut() = uri;
    match mount.router.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

fn with_path(uri: &Uri, mut path: String) -> Option<Uri> {
    if let Some(query) = uri.query() {
        path.push('?');
        path.push_str(query);
    }
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(path).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn body(router: &Router, path: &str) -> (StatusCode, String) {
        let request = Request::builder().uri(path).body(Body::empty()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = axum::body::to_bytes(response.into_body(), 1 << 16).await.unwrap();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn functions_see_their_own_paths() {
        let echo = |name: &'static str| {
            Router::new().fallback(move |uri: Uri| async move { format!("{name} {uri}") })
        };
        let mut gateway = Gateway::default();
        gateway
            .mount_below("/t/acme", "/api/webhook/", echo("webhook"))
            .unwrap();
        gateway.mount("/t/acme", echo("chat")).unwrap();
        gateway.mount("/a/x1", echo("agent")).unwrap();
        let router = gateway.into_router("<h1>all</h1>".to_owned());
        for (path, expect) in [
            ("/t/acme", "chat /"),
            ("/t/acme/", "chat /"),
            ("/t/acme/api/chat?a=b%20c", "chat /api/chat?a=b%20c"),
            ("/t/acme/api/webhook/tasks", "webhook /api/webhook/tasks"),
            ("/t/acme/api/webhooks", "chat /api/webhooks"),
            (
                "/a/x1/.well-known/agent-card.json",
                "agent /.well-known/agent-card.json",
            ),
            ("/a/x1//message:send", "agent //message:send"),
            ("/", "<h1>all</h1>"),
            ("/healthz", "ok\n"),
        ] {
            assert_eq!(
                body(&router, path).await,
                (StatusCode::OK, expect.to_owned()),
                "{path}"
            );
        }
        for path in ["/t/acmes", "/t", "/a/x12", "/a/", "/t/%61cme", "/x"] {
            assert_eq!(body(&router, path).await.0, StatusCode::NOT_FOUND, "{path}");
        }
    }
}
