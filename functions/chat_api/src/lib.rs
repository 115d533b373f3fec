//! The chat route, its history and the task views of one tenant: what a page or a terminal client talks to.
//!
//! It is an A2A client of the tenant's host agent like any other and owns the chat's messages; only the host decides
//! what happens with them. An answer is never stored here: it is built from the host's task whenever the chat is
//! read, so that one that comes late is simply there.
//!
//! Paths are relative to the tenant's base. What is not the session's own does not exist (404); a request that changes
//! something carries JSON and comes from here.

mod chat;
mod config;
mod error;
mod files;
mod host;
mod ops;
mod page;
mod push;
mod session;
mod share;
mod state;
mod tasks;

use std::sync::Arc;

use auth::web_push::WebPushKeys;
use axum::Router;
use domain::AgentName;
use edge::{Error, FILES_BODY_LIMIT, Front, Function, Ground};
use routes::{Route, Routes};

pub use config::Config;
pub use push::services::PushServices;
pub use state::{ChatSettings, State};

/// The function's name.
pub const NAME: &str = "chat_api";

/// Builds the function.
///
/// # Errors
/// Where a secret cannot be read, or does not hold what it should.
pub async fn build(ground: Ground, config: Config) -> Result<Function, Error> {
    let key = ground.signing_key(&config.session_key).await?;
    Ok(Function::new(router(State {
        push: Arc::new(WebPushKeys::of(&key, &config.tenant)?),
        key,
        tenant: config.tenant,
        base: config.base,
        host: AgentName::parse("host")?,
        host_url: config.host_url,
        registry: config.registry,
        idp: config.idp,
        store: ground.store.admitting(config.sign_in),
        outbound: ground.outbound,
        clock: ground.clock,
        entropy: ground.entropy,
        require_sign_in: config.require_sign_in,
        tokens_per_day: config.tokens_per_day,
        push_services: config.push_services,
        page: config.page,
        settings: ChatSettings {
            grace: config.grace,
            ..ChatSettings::default()
        },
    })))
}

/// The whole function, paths relative to the tenant's base.
pub fn router(state: State) -> Router {
    let front = Front::new(NAME, &state.clock, &state.entropy)
        .serving(&state.store, &state.tenant)
        .taking(FILES_BODY_LIMIT);
    edge::front(served().with_state(Arc::new(state::AppState::new(state))), front)
}

/// What the function serves, as a list.
pub fn routes() -> Vec<Route> {
    served().listed().to_vec()
}

fn served() -> Routes<Arc<state::AppState>> {
    Routes::new()
        .get("/", "the chat page", page::app::page)
        .get("/chats/{id}", "the page, at a chat", page::app::page)
        .get(
            "/chats/{id}/tasks/{task}",
            "the page, at a task of a chat",
            page::app::page,
        )
        .get("/tasks", "the page, at the list of tasks", page::app::page)
        .get("/tasks/{id}", "the page, at a task", page::app::page)
        .get(
            "/accounts",
            "the page, at the connected accounts",
            page::app::page,
        )
        .get(
            "/ops",
            "the page, at what a tenant's operators look after",
            page::app::page,
        )
        .get(
            "/share/{token}",
            "a task that somebody shares by this link, as text, for whoever has it",
            share::page::page,
        )
        .get("/assets/{file}", "a file of the page", page::app::asset)
        .get(
            "/worker.js",
            "the page's service worker, which opens it without a network",
            page::app::worker,
        )
        .get("/brand.css", "the accent colours of the tenant", page::brand::css)
        .get("/logo", "the tenant's logo", page::brand::logo)
        .get(
            "/manifest.webmanifest",
            "what the installed page is called, and its colour and icon",
            page::brand::manifest,
        )
        .get(
            "/api/session",
            "says who is signed in, or that a guest is here",
            session::who::session,
        )
        .post(
            "/api/session/guest",
            "takes over a guest's work, or leaves it",
            session::guest::guest,
        )
        .delete(
            "/api/me",
            "erases whoever is here, and all that is kept of them",
            session::me::erase,
        )
        .post(
            "/api/chat",
            "takes a message of the user, and streams the answer",
            chat::send::chat,
        )
        .get(
            "/api/chat/{id}/stream",
            "streams the running answer once more",
            chat::resume::resume,
        )
        .post(
            "/api/chat/{id}/stop",
            "cancels the chat's unfinished task",
            chat::stop::stop,
        )
        .get(
            "/api/chats/{id}/messages/{message}/files/{number}",
            "gives back a file that came with a message",
            files::kept::of_message,
        )
        .get(
            "/api/chats",
            "lists the session's chats, newest first",
            chat::list::chats,
        )
        .patch(
            "/api/chats/{id}",
            "gives a chat another title",
            chat::change::rename,
        )
        .delete("/api/chats/{id}", "deletes a chat", chat::change::delete)
        .get(
            "/api/chats/{id}/messages",
            "shows a chat's messages",
            chat::messages::messages,
        )
        .put(
            "/api/chats/{id}/feedback/{task}",
            "keeps what the user thinks of an answer",
            chat::feedback::feedback,
        )
        .get(
            "/api/events",
            "streams the cards of all tasks as they change",
            tasks::news::news,
        )
        .get(
            "/api/models",
            "lists whom a message can be for: the host, and each agent",
            chat::models::models,
        )
        .get("/api/tasks", "lists the session's tasks", tasks::list::tasks)
        .get(
            "/api/tasks/{id}",
            "shows a task with its history",
            tasks::show::task,
        )
        .get(
            "/api/tasks/{id}/files/{place}",
            "gives back a file among a task's results",
            files::kept::of_task,
        )
        .post(
            "/api/tasks/{id}/share",
            "shares a finished task by a link",
            share::link::make,
        )
        .get(
            "/api/tasks/{id}/share",
            "tells whether a task is shared, and until when",
            share::link::show,
        )
        .delete(
            "/api/tasks/{id}/share",
            "ends what is shared of a task",
            share::link::end,
        )
        .get("/api/shares", "lists what the user has shared", share::link::list)
        .get(
            "/api/tasks/{id}/events",
            "streams a task's log",
            tasks::events::events,
        )
        .post(
            "/api/tasks/{id}/{action}",
            "cancels, starts or retries a task; starts the plan that waits",
            tasks::act::act,
        )
        .get(
            "/api/connections",
            "lists where the user is connected",
            session::connections::connections,
        )
        .delete(
            "/api/connections/{id}",
            "ends a connection",
            session::connections::disconnect,
        )
        .get(
            "/api/push",
            "gives the key to subscribe with, and says whether this browser is told of tasks",
            push::browsers::show,
        )
        .put(
            "/api/push",
            "has this browser told of tasks while no page is open",
            push::browsers::subscribe,
        )
        .delete(
            "/api/push/{id}",
            "has a browser told of tasks no longer",
            push::browsers::unsubscribe,
        )
        .post(
            "/api/push/tasks",
            "takes the host's word about a task, and tells its user's browsers",
            push::told::told,
        )
        .get(
            "/api/ops/agents",
            "lists the agents that the tenant sees, for its operators",
            ops::agents::agents,
        )
        .post(
            "/api/ops/agents/{id}/{verb}",
            "has an agent of the tenant's looked at, switches it off or on, or approves its changed card",
            ops::agents::act,
        )
        .get(
            "/api/ops/audit",
            "tells who did what in the tenant, for its admins",
            ops::audit::list,
        )
        .get(
            "/api/ops/deliveries",
            "lists what agents could not tell their clients, for the tenant's operators",
            ops::deliveries::list,
        )
        .post(
            "/api/ops/deliveries/replay",
            "has a delivery tried again",
            ops::deliveries::replay,
        )
        .get(
            "/api/ops/eval",
            "tells what the host would make of a text, for the tenant's operators",
            ops::eval::eval,
        )
        .get(
            "/api/ops/keys",
            "tells which keys the tenant has, and since when, for its operators",
            ops::keys::keys,
        )
        .get(
            "/api/ops/tasks",
            "counts the tenant's tasks by state, and lists those that are not over, stuck ones first",
            ops::tasks::tasks,
        )
        .get(
            "/api/ops/usage",
            "tells what the tenant's language models took by day",
            ops::agents::usage,
        )
        .get(
            "/api/admin/users",
            "lists the tenant's users, for its admins",
            ops::users::list,
        )
        .post(
            "/api/admin/users",
            "adds a user; tells the first password once",
            ops::users::add,
        )
        .patch(
            "/api/admin/users/{username}",
            "changes a user's name or roles",
            ops::users::change,
        )
        .delete(
            "/api/admin/users/{username}",
            "removes a user, and ends whatever they had",
            ops::users::remove,
        )
        .post(
            "/api/admin/users/{username}/{verb}",
            "gives a user another password, or ends every sign-in of theirs",
            ops::users::act,
        )
        .get(
            "/api/admin/access",
            "lists who and what is in, for the tenant's admins: people with their sessions, browsers and shares; own agents",
            ops::access::list,
        )
        .get(
            "/api/admin/access/{id}",
            "lists where somebody who has signed in is connected",
            ops::access::connections,
        )
        .delete(
            "/api/admin/access/{kind}/{id}",
            "ends a person's being in, or a session, browser, share or connection of theirs; or an own agent's",
            ops::access::end,
        )
        .get(
            "/api/admin/settings",
            "tells what the tenant has set, for its admins",
            ops::settings::show,
        )
        .patch(
            "/api/admin/settings",
            "changes what the tenant has set",
            ops::settings::change,
        )
}

#[cfg(test)]
mod tests;
