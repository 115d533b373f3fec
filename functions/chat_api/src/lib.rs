//! The chat route, its history and the task views of one tenant: what a page or a terminal client talks to.
//!
//! It is an A2A client of the tenant's host agent like any other and owns the chat's messages; only the host decides
//! what happens with them. An answer is never stored here: it is built from the host's task whenever the chat is
//! read, so that one that comes late is simply there.
//!
//! Paths are relative to the tenant's base. What is not the session's own does not exist (404); a request that changes
//! something carries JSON and comes from here.
//!
//! | route | |
//! |---|---|
//! | `GET /` | the chat page |
//! | `POST /api/chat` | a message of the user; answered by a UI message stream (AI SDK 5 to 7) |
//! | `GET /api/chat/{id}/stream` | the running answer once more; 204 where none runs |
//! | `POST /api/chat/{id}/stop` | calls the chat's unfinished task off |
//! | `GET /api/chats`, `GET /api/chats/{id}/messages` | the history |
//! | `GET /api/tasks?contextId=`, `GET /api/tasks/{id}` | tasks, from the store; `?refresh=true` asks the agents first |
//! | `GET /api/tasks/{id}/events` | the task's log as server-sent events |
//! | `POST /api/tasks/{id}/{cancel,start,retry}` | |
//! | `GET /api/connections`, `DELETE /api/connections/{provider}` | where the user is connected; ends it |

mod act;
mod chat;
mod chats;
mod config;
mod connections;
mod error;
mod events;
mod frames;
mod guard;
mod host;
mod messages;
mod owned;
mod page;
mod relay;
mod resume;
mod session;
mod state;
mod stop;
mod tail;
mod task;
mod tasks;
mod turn;
mod ui_message;
mod view;

use std::sync::Arc;

use axum::Router;
use axum::routing::{delete, get, post};
use edge::Front;

pub use config::Config;
pub use state::{Settings, State};

/// The whole function, paths relative to the tenant's base.
pub fn router(state: State) -> Router {
    let front = Front {
        clock: state.clock.clone(),
        entropy: state.entropy.clone(),
        function: "chat_api",
    };
    let routes = Router::new()
        .route("/", get(page::page))
        .route("/app.js", get(page::script))
        .route("/app.css", get(page::style))
        .route("/api/chat", post(chat::chat))
        .route("/api/chat/{id}/stream", get(resume::resume))
        .route("/api/chat/{id}/stop", post(stop::stop))
        .route("/api/chats", get(chats::chats))
        .route("/api/chats/{id}/messages", get(messages::messages))
        .route("/api/tasks", get(tasks::tasks))
        .route("/api/tasks/{id}", get(task::task))
        .route("/api/tasks/{id}/events", get(events::events))
        .route("/api/tasks/{id}/{action}", post(act::act))
        .route("/api/connections", get(connections::connections))
        .route("/api/connections/{provider}", delete(connections::disconnect))
        .with_state(Arc::new(state::Room::new(state)));
    edge::front(routes, front)
}

#[cfg(test)]
mod tests;
