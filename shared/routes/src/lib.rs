//! A function's routes as data: one list makes the axum router, is held against the tests' table of attacks, and gives
//! the API document its paths. A `Router` shows nobody what it serves, so nothing could notice a route that no test
//! knows; `edge::front` therefore takes [`Routes`] alone.
//!
//! ```
//! let routes = routes::Routes::<()>::new().get("/greeting", "says hello", async || "hello");
//! assert_eq!(routes.listed()[0].path, "/greeting");
//! let router: axum::Router = routes.into_router();
//! ```

use axum::handler::Handler;
use axum::routing::{MethodRouter, any, delete, get, patch, post, put};
use axum::{Extension, Router};

/// One operation that a function serves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The path as axum writes it, `/agents/{id}`, relative to the function's URL.
    pub path: String,
    /// The HTTP method, in capitals.
    pub method: &'static str,
    /// What a call does, in one line.
    pub about: &'static str,
}

/// Routes over a state of type `S`, and the list of them.
pub struct Routes<S = ()> {
    router: Router<S>,
    listed: Vec<Route>,
}

impl<S: Clone + Send + Sync + 'static> Default for Routes<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    /// No routes yet.
    pub fn new() -> Self {
        Self {
            router: Router::new(),
            listed: Vec::new(),
        }
    }

    /// Adds a GET.
    #[must_use]
    pub fn get<H: Handler<T, S>, T: 'static>(self, path: &str, about: &'static str, handler: H) -> Self {
        self.on(("GET", path, about), get(handler))
    }

    /// Adds a POST.
    #[must_use]
    pub fn post<H: Handler<T, S>, T: 'static>(self, path: &str, about: &'static str, handler: H) -> Self {
        self.on(("POST", path, about), post(handler))
    }

    /// Adds a PUT.
    #[must_use]
    pub fn put<H: Handler<T, S>, T: 'static>(self, path: &str, about: &'static str, handler: H) -> Self {
        self.on(("PUT", path, about), put(handler))
    }

    /// Adds a PATCH.
    #[must_use]
    pub fn patch<H: Handler<T, S>, T: 'static>(self, path: &str, about: &'static str, handler: H) -> Self {
        self.on(("PATCH", path, about), patch(handler))
    }

    /// Adds a DELETE.
    #[must_use]
    pub fn delete<H: Handler<T, S>, T: 'static>(self, path: &str, about: &'static str, handler: H) -> Self {
        self.on(("DELETE", path, about), delete(handler))
    }

    /// Adds a path that takes every method, listed as `ANY`.
    #[must_use]
    pub fn any<H: Handler<T, S>, T: 'static>(self, path: &str, about: &'static str, handler: H) -> Self {
        self.on(("ANY", path, about), any(handler))
    }

    fn on(
        mut self,
        (method, path, about): (&'static str, &str, &'static str),
        handler: MethodRouter<S>,
    ) -> Self {
        let path = path.to_owned();
        self.router = self.router.route(&path, handler);
        self.listed.push(Route { path, method, about });
        self
    }

    /// Adds the routes of another list.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.listed.extend(other.listed);
        self
    }

    /// Adds the routes of another list below a path.
    #[must_use]
    pub fn nest(mut self, below: &str, other: Self) -> Self {
        self.router = self.router.nest(below, other.router);
        let nested = other.listed.into_iter().map(|route| Route {
            path: format!("{below}{}", route.path),
            ..route
        });
        self.listed.extend(nested);
        self
    }

    /// Gives every handler of the list a value that it takes as an [`Extension`].
    #[must_use]
    pub fn with_extension<E: Clone + Send + Sync + 'static>(mut self, value: E) -> Self {
        self.router = self.router.layer(Extension(value));
        self
    }

    /// Gives the handlers their state.
    pub fn with_state(self, state: S) -> Routes {
        Routes {
            router: self.router.with_state(state),
            listed: self.listed,
        }
    }

    /// Every operation, in the order it was added.
    pub fn listed(&self) -> &[Route] {
        &self.listed
    }

    /// The axum router that serves them.
    pub fn into_router(self) -> Router<S> {
        self.router
    }
}
