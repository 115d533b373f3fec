//! `GET /connect/task-{id}`: the way to a consent that an agent asks for itself. In the browser of the user who started the task
//! it leads there with a proof of that, by a button; in any other it leads there with none, and the agent shows a code.

use std::time::Duration;

use a2a::proof_scope;
use auth::browser_proof::BrowserProof;
use axum::response::Response;
use domain::{AgentName, ExposeSecret, SecretString, Task, TaskId, TaskState};
use http::StatusCode;
use serde::Deserialize;
use store::TaskKey;
use url::Url;

use crate::page::{Form, ResultPage, Sheet, Text, leads_to};
use crate::proof::Proofs;
use crate::state::Visit;
use crate::{browser, request};

/// What the last part of such a link begins with; no consent's id does.
const OF_TASK: &str = "task-";
/// The key in a status message's metadata under which the host keeps what its link leads to.
const LEADS_TO: &str = "connect";
/// When the page is loaded again, so that its proof has not ended whenever the button is pressed.
const RENEWED: Duration = Duration::from_secs(45);
/// The host's name in keys.
const HOST: &str = "host";

/// Where a link of the host's leads: what the agent told with `auth-required`.
#[derive(Deserialize)]
struct Way {
    /// The agent's own link.
    link: Url,
    /// The agent's URL, which is the audience of tokens and proofs for it.
    agent: Url,
    /// Its name, to show.
    name: String,
    /// Its consent.
    consent: String,
}

/// The task of a link, where it is one of these.
pub(crate) fn task(id: &str) -> Option<TaskId> {
    id.strip_prefix(OF_TASK)?.parse().ok()
}

/// Leads to the agent.
pub(crate) async fn lead(visit: &Visit, id: TaskId) -> Result<Response, ResultPage> {
    let app = &visit.app;
    request::admitted(visit).await?;
    let agent = AgentName::parse(HOST).map_err(|_| ResultPage::Failed)?;
    let key = TaskKey {
        tenant: app.tenant().clone(),
        agent,
        id,
    };
    let found = app.consents.store.tasks().find(&key, app.clock().now()).await?;
    let task = found.ok_or(ResultPage::Unknown)?.task;
    let way = way(&task).ok_or(ResultPage::NotNeeded)?;
    let owner = browser::owner(visit).await?;
    let is_starter = owner.as_ref() == Some(&task.owner);
    tracing::info!(tenant.id = app.tenant().name(), task.id = %id, is_starter, "browser sent to an agent's consent");
    match &app.proofs {
        Proofs::Made(keys) if is_starter => {
            let proof = BrowserProof {
                issuer: app.base.as_str().trim_end_matches('/'),
                tenant: app.tenant(),
                owner: &task.owner,
                audience: way.agent.as_str(),
                scope: &proof_scope(&way.consent),
            };
            let proof = keys.sign(&proof, app.clock().now(), app.entropy());
            let proof = proof.map_err(|error| {
                tracing::error!(error = &error as &dyn std::error::Error, "no proof can be signed");
                ResultPage::Failed
            })?;
            Ok(page(visit, way, proof))
        }
        _ => leads_to(&way.link, None).ok_or(ResultPage::Failed),
    }
}

/// Where the task waits for its user, if it does.
fn way(task: &Task) -> Option<Way> {
    let status = &task.status;
    let message = status.message.as_ref();
    let told = message.filter(|_| status.state == TaskState::AuthRequired)?;
    serde_json::from_value(told.metadata.get(LEADS_TO)?.clone()).ok()
}

fn page(visit: &Visit, way: Way, proof: SecretString) -> Response {
    let host = way.link.host_str().unwrap_or_default().to_owned();
    let sheet = Sheet {
        text: Text {
            status: StatusCode::OK,
            title: "Connect your account",
            say: "You started this in your chat, and this is your browser: what you agree to next counts at once.",
            then: "If you did not ask for this, close this page.",
        },
        mark: "wait",
        more: String::new(),
        link: None,
        form: Some(Form {
            action: way.link,
            field: (a2a::PROOF_FIELD, proof.expose_secret().to_owned()),
            button: "Go on",
            about: (way.name, host),
            again: RENEWED,
        }),
    };
    sheet.respond(&visit.app)
}
