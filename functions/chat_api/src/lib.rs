//! The chat route, its history and the task views of one tenant: what a page or a terminal client talks to.
//!
//! It is an A2A client of the tenant's host agent like any other and owns the chat's messages; only the host decides
//! what happens with them. An answer is never stored here: it is built from the host's task whenever the chat is
//! read, so that one that comes late is simply there.
//!
//! Paths are relative to the tenant's base. What is not the session's own does not exist (404); a request that changes
//! something carries JSON and comes from here.

mod act;
mod admin;
mod artifact_view;
mod brand;
mod built;
mod chat;
mod chat_change;
mod chats;
mod config;
mod connections;
mod consent_view;
mod deliveries;
mod error;
mod events;
mod feedback;
mod files;
mod frames;
mod guard;
mod guest;
mod history_view;
mod host;
mod kept;
mod kept_files;
mod known_models;
mod media;
mod messages;
mod models;
mod news;
mod ops;
mod ops_keys;
mod ops_tasks;
mod owned;
mod page;
mod place;
mod plan_view;
mod push;
mod push_services;
mod push_told;
mod registry;
mod relay;
mod resume;
mod seat;
mod serving;
mod session;
mod settings;
mod share;
mod share_sources;
mod shared_page;
mod shown_draft;
mod state;
mod stop;
mod tail;
mod task;
mod tasks;
mod turn;
mod ui_message;
mod view;
mod watch;
mod who;

use std::sync::Arc;

use auth::web_push::WebPushKeys;
use axum::Router;
use domain::AgentName;
use edge::{Error, FILES_BODY_LIMIT, Front, Function, Ground};
use routes::{Route, Routes};

pub use config::Config;
pub use push_services::PushServices;
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
        store: ground.store,
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
        .get("/", "the chat page", page::page)
        .get("/chats/{id}", "the page, at a chat", page::page)
        .get(
            "/chats/{id}/tasks/{task}",
            "the page, at a task of a chat",
            page::page,
        )
        .get("/tasks", "the page, at the list of tasks", page::page)
        .get("/tasks/{id}", "the page, at a task", page::page)
        .get("/accounts", "the page, at the connected accounts", page::page)
        .get(
            "/ops",
            "the page, at what a tenant's operators look after",
            page::page,
        )
        .get(
            "/share/{token}",
            "a task that somebody shares by this link, as text, for whoever has it",
            shared_page::page,
        )
        .get("/assets/{file}", "a file of the page", page::asset)
        .get(
            "/worker.js",
            "the page's service worker, which opens it without a network",
            page::worker,
        )
        .get("/brand.css", "the accent colours of the tenant", brand::css)
        .get("/logo", "the tenant's logo", brand::logo)
        .get(
            "/manifest.webmanifest",
            "what the installed page is called, and its colour and icon",
            brand::manifest,
        )
        .get(
            "/api/session",
            "says who is signed in, or that a guest is here",
            who::session,
        )
        .post(
            "/api/session/guest",
            "takes over a guest's work, or leaves it",
            guest::guest,
        )
        .post(
            "/api/chat",
            "takes a message of the user, and streams the answer",
            chat::chat,
        )
        .get(
            "/api/chat/{id}/stream",
            "streams the running answer once more",
            resume::resume,
        )
        .post(
            "/api/chat/{id}/stop",
            "cancels the chat's unfinished task",
            stop::stop,
        )
        .get(
            "/api/chats/{id}/messages/{message}/files/{number}",
            "gives back a file that came with a message",
            kept_files::of_message,
        )
        .get(
            "/api/chats",
            "lists the session's chats, newest first",
            chats::chats,
        )
        .patch(
            "/api/chats/{id}",
            "gives a chat another title",
            chat_change::rename,
        )
        .delete("/api/chats/{id}", "deletes a chat", chat_change::delete)
        .get(
            "/api/chats/{id}/messages",
            "shows a chat's messages",
            messages::messages,
        )
        .put(
            "/api/chats/{id}/feedback/{task}",
            "keeps what the user thinks of an answer",
            feedback::feedback,
        )
        .get(
            "/api/events",
            "streams the cards of all tasks as they change",
            news::news,
        )
        .get(
            "/api/models",
            "lists whom a message can be for: the host, and each agent",
            models::models,
        )
        .get("/api/tasks", "lists the session's tasks", tasks::tasks)
        .get("/api/tasks/{id}", "shows a task with its history", task::task)
        .get(
            "/api/tasks/{id}/files/{place}",
            "gives back a file among a task's results",
            kept_files::of_task,
        )
        .post(
            "/api/tasks/{id}/share",
            "shares a finished task by a link",
            share::make,
        )
        .get(
            "/api/tasks/{id}/share",
            "tells whether a task is shared, and until when",
            share::show,
        )
        .delete(
            "/api/tasks/{id}/share",
            "ends what is shared of a task",
            share::end,
        )
        .get("/api/shares", "lists what the user has shared", share::list)
        .get("/api/tasks/{id}/events", "streams a task's log", events::events)
        .post(
            "/api/tasks/{id}/{action}",
            "cancels, starts or retries a task; starts the plan that waits",
            act::act,
        )
        .get(
            "/api/connections",
            "lists where the user is connected",
            connections::connections,
        )
        .delete(
            "/api/connections/{id}",
            "ends a connection",
            connections::disconnect,
        )
        .get(
            "/api/push",
            "gives the key to subscribe with, and says whether this browser is told of tasks",
            push::show,
        )
        .put(
            "/api/push",
            "has this browser told of tasks while no page is open",
            push::subscribe,
        )
        .delete(
            "/api/push/{id}",
            "has a browser told of tasks no longer",
            push::unsubscribe,
        )
        .post(
            "/api/push/tasks",
            "takes the host's word about a task, and tells its user's browsers",
            push_told::told,
        )
        .get(
            "/api/ops/agents",
            "lists the agents that the tenant sees, for its operators",
            ops::agents,
        )
        .post(
            "/api/ops/agents/{id}/{verb}",
            "has an agent of the tenant's looked at, or switches it off or on",
            ops::act,
        )
        .get(
            "/api/ops/deliveries",
            "lists what agents could not tell their clients, for the tenant's operators",
            deliveries::list,
        )
        .post(
            "/api/ops/deliveries/replay",
            "has a delivery tried again",
            deliveries::replay,
        )
        .get(
            "/api/ops/keys",
            "tells which keys the tenant has, and since when, for its operators",
            ops_keys::keys,
        )
        .get(
            "/api/ops/tasks",
            "counts the tenant's tasks by state, and lists those that are not over, stuck ones first",
            ops_tasks::tasks,
        )
        .get(
            "/api/ops/usage",
            "tells what the tenant's language models took by day",
            ops::usage,
        )
        .get(
            "/api/admin/users",
            "lists the tenant's users, for its admins",
            admin::list,
        )
        .post(
            "/api/admin/users",
            "adds a user; tells the first password once",
            admin::add,
        )
        .patch(
            "/api/admin/users/{username}",
            "changes a user's name or roles",
            admin::change,
        )
        .delete(
            "/api/admin/users/{username}",
            "removes a user, and ends whatever they had",
            admin::remove,
        )
        .post(
            "/api/admin/users/{username}/{verb}",
            "gives a user another password, or ends every sign-in of theirs",
            admin::act,
        )
        .get(
            "/api/admin/settings",
            "tells what the tenant has set, for its admins",
            settings::show,
        )
        .patch(
            "/api/admin/settings",
            "changes what the tenant has set",
            settings::change,
        )
}

#[cfg(test)]
mod tests;
