//! The gateway: one listener in front of every function, as API Gateway is on AWS. It finds the function by the
//! first part of the path and takes that part away; the functions never see where they are mounted.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use edge::config::BasePath;
use edge::{Reader, Source};
use http::StatusCode;
use http::uri::{PathAndQuery, Uri};
use routes::{Route, Routes};
use tower::ServiceExt;

use crate::error::StartError;
use crate::like_aws::Invocations;

/// Functions by path; the first that fits answers.
#[derive(Default, Clone)]
pub(crate) struct Gateway {
    mounts: Vec<Mount>,
}

#[derive(Clone)]
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

    /// Which function a path is for, and the path as that one sees it.
    fn find(&self, path: &str) -> Option<(Router, String)> {
        self.mounts.iter().find_map(|mount| {
            let rest = mount.base.strip(path)?;
            let is_its = rest.starts_with(mount.below);
            is_its.then(|| (mount.router.clone(), rest.to_owned()))
        })
    }
}

/// Who has the functions of tenants, which are built when somebody asks for them.
#[async_trait]
pub(crate) trait Tenants: Send + Sync {
    /// The functions of the tenant that a path is below, if it is one's. Where the path is the authorization server's for a tenant,
    /// that one is ready as well, though its functions do not answer.
    async fn below(&self, path: &str) -> Result<Option<Gateway>, StartError>;
}

/// The functions of now. Every clone is the same; they are changed all at once, and what was begun ends as it began.
#[derive(Clone, Default)]
pub(crate) struct Served {
    gateway: Arc<RwLock<Arc<Gateway>>>,
    like_aws: Option<Invocations>,
}

impl Served {
    /// Nothing yet; answered as on AWS where these are the invocations.
    pub(crate) fn new(like_aws: Option<Invocations>) -> Self {
        Self {
            gateway: Arc::default(),
            like_aws,
        }
    }

    /// Puts these functions in the place of those before.
    pub(crate) fn replace(&self, gateway: Gateway) {
        *self.gateway.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(gateway);
    }

    /// The gateway's router over whatever is served at the moment, and over the functions of tenants.
    pub(crate) fn router(&self, tenants: Arc<dyn Tenants>) -> Router {
        let everything = (self.clone(), tenants);
        served().into_router().fallback(dispatch).with_state(everything)
    }

    fn now(&self) -> Arc<Gateway> {
        self.gateway
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// What the gateway itself serves, as a list.
pub(crate) fn routes() -> Vec<Route> {
    served().listed().to_vec()
}

type Everything = (Served, Arc<dyn Tenants>);

fn served() -> Routes<Everything> {
    Routes::new()
        .get("/healthz", "whether the system is up", async || "ok\n")
        .get("/openapi.json", "the API document", async || {
            Json(crate::openapi::document())
        })
}

async fn dispatch(State((served, tenants)): State<Everything>, mut request: Request<Body>) -> Response {
    // Who is connected, not what a header says: clients write those.
    let peer = request.extensions_mut().remove::<ConnectInfo<SocketAddr>>();
    if let Some(ConnectInfo(peer)) = peer {
        request.extensions_mut().insert(Source(peer.ip()));
    }
    let inserted = edge::below_its_subject(request.uri().path());
    let path = inserted.as_deref().unwrap_or_else(|| request.uri().path());
    let found = match tenants.below(path).await {
        Ok(Some(own)) => own.find(path),
        Ok(None) => served.now().find(path),
        Err(error) => {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a tenant's functions do not start"
            );
            let message = "the tenant's functions do not start";
            return edge::refused(StatusCode::INTERNAL_SERVER_ERROR, "internal", message);
        }
    };
    let Some((router, rest)) = found else {
        return match Reader::of(request.method(), request.headers()) {
            Reader::Person => edge::nothing_here(Reader::Person),
            Reader::Program => edge::refused(StatusCode::NOT_FOUND, "not_found", "nothing is served here"),
        };
    };
    let Some(uri) = with_path(request.uri(), rest) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    *request.uri_mut() = uri;
    if let Some(invocations) = &served.like_aws {
        return invocations.answer(router, request).await;
    }
    match router.oneshot(request).await {
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

    /// The tenant at `/t/acme` alone.
    struct Acme(Gateway);

    #[async_trait]
    impl Tenants for Acme {
        async fn below(&self, path: &str) -> Result<Option<Gateway>, StartError> {
            Ok(path.starts_with("/t/").then(|| self.0.clone()))
        }
    }

    #[tokio::test]
    async fn functions_see_their_own_paths() {
        let echo = |name: &'static str| {
            Router::new().fallback(move |uri: Uri| async move { format!("{name} {uri}") })
        };
        let (mut gateway, mut acme) = (Gateway::default(), Gateway::default());
        acme.mount_below("/t/acme", "/api/webhook/", echo("webhook"))
            .unwrap();
        acme.mount("/t/acme", echo("chat")).unwrap();
        gateway.mount("/a/x1", echo("agent")).unwrap();
        let served = Served::default();
        served.replace(gateway);
        let router = served.router(Arc::new(Acme(acme)));
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
            (
                "/.well-known/oauth-protected-resource/a/x1",
                "agent /.well-known/oauth-protected-resource",
            ),
            (
                "/.well-known/openid-configuration/t/acme/x?y=1",
                "chat /x/.well-known/openid-configuration?y=1",
            ),
            ("/healthz", "ok\n"),
        ] {
            assert_eq!(
                body(&router, path).await,
                (StatusCode::OK, expect.to_owned()),
                "{path}"
            );
        }
        for path in [
            "/",
            "/t/acmes",
            "/t",
            "/a/x12",
            "/a/",
            "/t/%61cme",
            "/x",
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-protected-resource/",
            "/.well-known/oauth-protected-resource/a/x2",
            "/.well-known/agent-card.json/a/x1",
        ] {
            assert_eq!(body(&router, path).await.0, StatusCode::NOT_FOUND, "{path}");
        }

        // Who opens it in a browser reads a page; what is there is answered as ever.
        let open = async |path: &str, accept: &str| {
            let request = Request::builder().uri(path).header("accept", accept);
            let request = request.body(Body::empty()).unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            let media = response.headers().get("content-type");
            let media = media.map(|media| media.to_str().unwrap().to_owned());
            (response.status().as_u16(), media.unwrap_or_default())
        };
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        assert_eq!(
            open("/t/nobody/", browser).await,
            (404, "text/html; charset=utf-8".into())
        );
        for accept in ["application/json", "*/*"] {
            assert_eq!(open("/t/nobody/", accept).await, (404, "application/json".into()));
        }
        assert_eq!(open("/t/acme/", browser).await.0, 200);

        let mut gateway = Gateway::default();
        gateway.mount("/a/x2", echo("another")).unwrap();
        served.replace(gateway);
        assert_eq!(body(&router, "/a/x2").await.1, "another /");
        assert_eq!(body(&router, "/a/x1").await.0, StatusCode::NOT_FOUND);
    }
}
