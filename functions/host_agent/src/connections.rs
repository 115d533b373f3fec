//! Where a user is connected: what the tenant itself was granted, and what agents have that ask users themselves.
//!
//! Those agents are asked at once, each for two seconds, by the user's own word alone: nobody else makes the host ask. An agent
//! that does not answer is named; the rest is told all the same.

use std::time::Duration;

use a2a::{Connection, Connections, Disconnected, EVERY_CONNECTION, is_connection_id};
use agent::{ExecuteError, wake_each};
use axum::http::Method;
use consent::Waiting;
use domain::{AgentName, Owner, SecretString, Task, clean};
use futures_util::future::join_all;
use outbound::{CallError, below};

use crate::AGENT;
use crate::deps::Deps;
use crate::thinking::directory::Connecting;
use crate::thinking::thinker::Thinker;

/// How long an agent has to say where a user is connected.
const ASKED: Duration = Duration::from_secs(2);
/// How long it has to end a connection, at its provider too.
const ENDED: Duration = Duration::from_secs(15);
/// Between an agent's id and its own id of a connection.
const OF: char = '~';
/// Most connections that are taken of one agent, and scopes of one of them.
const EACH_MAX: usize = 20;
const SCOPES_MAX: usize = 30;
/// Most characters of a name that an agent tells, and of a scope.
const NAME_MAX: usize = 100;
const SCOPE_MAX: usize = 200;

/// Where a user is connected.
pub(crate) async fn list(thinker: &Thinker, owner: &Owner) -> Result<Connections, ExecuteError> {
    let deps = thinker.deps();
    let known = thinker.discover().await;
    let named = |resource: &str| known.as_ref().ok()?.at(resource);
    let mut told = Connections {
        connections: deps.consents.connections(owner, named).await?,
        unasked: Vec::new(),
    };
    let Ok(known) = &known else {
        told.unasked.push("other agents".to_owned());
        return Ok(told);
    };
    let agents = known.connecting(&deps.tenant, &deps.url);
    let answers = join_all(agents.iter().map(|agent| asked(deps, owner, agent))).await;
    for (agent, answer) in agents.into_iter().zip(answers) {
        match answer {
            Some(found) => told.connections.extend(found),
            None => told.unasked.push(agent.name),
        }
    }
    Ok(told)
}

/// What an agent says; `None` where it cannot be asked.
async fn asked(deps: &Deps, owner: &Owner, agent: &Connecting) -> Option<Vec<Connection>> {
    let token = token(deps, owner, agent).ok()?;
    let url = below(&agent.url, "connections");
    let call = deps.outbound.get_json::<Connections>(&url, Some(&token));
    let answered = match tokio::time::timeout(ASKED, call).await {
        Ok(Ok(answered)) => answered,
        Ok(Err(error)) => {
            tracing::warn!(agent.id = %agent.id, error = &error as &dyn std::error::Error, "an agent does not say where a user is connected");
            return None;
        }
        Err(_) => {
            tracing::warn!(agent.id = %agent.id, "an agent does not say in time where a user is connected");
            return None;
        }
    };
    let found = answered.connections.into_iter().filter(|one| is_own_id(&one.id));
    Some(found.take(EACH_MAX).map(|one| shown(agent, one)).collect())
}

/// What an agent told, as it is handed on: text of strangers.
fn shown(agent: &Connecting, told: Connection) -> Connection {
    let scopes = told.scopes.iter().take(SCOPES_MAX);
    Connection {
        id: format!("{}{OF}{}", agent.id, told.id),
        provider: clean(&told.provider, NAME_MAX),
        account: told.account.map(|account| clean(&account, NAME_MAX)),
        scopes: scopes.map(|scope| clean(scope, SCOPE_MAX)).collect(),
        agent: Some(agent.name.clone()),
        ..told
    }
}

/// Whether an agent's id of a connection can be part of one of ours.
fn is_own_id(id: &str) -> bool {
    is_connection_id(id) && id.len() <= NAME_MAX && !id.contains(OF)
}

/// Ends a connection; `None` where the user has none of that id.
pub(crate) async fn end(
    thinker: &Thinker,
    owner: &Owner,
    id: &str,
) -> Result<Option<Disconnected>, ExecuteError> {
    if id == EVERY_CONNECTION {
        return end_all(thinker, owner).await.map(Some);
    }
    let Some((agent, id)) = id.split_once(OF) else {
        return end_own(thinker.deps(), owner, id).await;
    };
    let deps = thinker.deps();
    let known = thinker.discover().await?;
    let agents = known.connecting(&deps.tenant, &deps.url);
    let found = agents.into_iter().find(|known| known.id.to_string() == agent);
    let Some(agent) = found.filter(|_| is_own_id(id)) else {
        return Ok(None);
    };
    let unusable = || ExecuteError::Retry("The agent cannot be told to end the connection.".to_owned());
    let token = token(deps, owner, &agent).map_err(|_| unusable())?;
    let url = below(&agent.url, &format!("connections/{id}"));
    let call = deps
        .outbound
        .request_json(Method::DELETE, &url, None, Some(&token));
    let answered = tokio::time::timeout(ENDED, call).await;
    let (status, body) = answered.map_err(|_| unusable())?.map_err(|error| {
        tracing::warn!(agent.id = %agent.id, error = &error as &dyn std::error::Error, "an agent cannot be told to end a connection");
        unusable()
    })?;
    match status {
        200 => {
            let ended: Disconnected = serde_json::from_value(body).map_err(|_| unusable())?;
            Ok(Some(Disconnected {
                provider: clean(&ended.provider, NAME_MAX),
                ..ended
            }))
        }
        404 => Ok(None),
        status => {
            tracing::warn!(agent.id = %agent.id, status, "an agent does not end a connection");
            Err(unusable())
        }
    }
}

/// Ends every connection of a user's, and whatever is still asked for. Agents that ask users themselves are told one by one; where one
/// of them cannot be asked, nothing says that all has ended.
async fn end_all(thinker: &Thinker, owner: &Owner) -> Result<Disconnected, ExecuteError> {
    let deps = thinker.deps();
    let mut revoked = true;
    let Ok(name) = AgentName::parse(AGENT) else {
        return Err(ExecuteError::Retry("The host has no name.".to_owned()));
    };
    let waiting = Waiting {
        agent: &name,
        consents: &awaited,
    };
    let ended = deps.consents.disconnect_all(owner, waiting).await?;
    wake_each(deps.wake.as_ref(), &ended.tasks).await;
    revoked &= ended.revoked;
    let told = list(thinker, owner).await?;
    if !told.unasked.is_empty() {
        let who = told.unasked.join(", ");
        return Err(ExecuteError::Retry(format!(
            "Not every agent says what it holds: {who}."
        )));
    }
    for connection in told.connections.iter().filter(|one| one.id.contains(OF)) {
        let ended = Box::pin(end(thinker, owner, &connection.id)).await?;
        revoked &= ended.is_none_or(|ended| ended.revoked);
    }
    Ok(Disconnected {
        provider: EVERY_CONNECTION.to_owned(),
        revoked,
    })
}

/// The ids of the consents that a task waits for.
fn awaited(task: &Task) -> Vec<String> {
    let awaited = task.jobs.iter().filter_map(|job| job.awaited_consent());
    awaited.map(|awaited| awaited.id.clone()).collect()
}

/// Ends what the tenant itself was granted; tasks that wait for more of it go on without.
async fn end_own(deps: &Deps, owner: &Owner, provider: &str) -> Result<Option<Disconnected>, ExecuteError> {
    let Ok(name) = AgentName::parse(AGENT) else {
        return Ok(None);
    };
    let waiting = Waiting {
        agent: &name,
        consents: &awaited,
    };
    let Some(ended) = deps.consents.disconnect(owner, provider, waiting).await? else {
        return Ok(None);
    };
    wake_each(deps.wake.as_ref(), &ended.tasks).await;
    Ok(Some(Disconnected {
        provider: provider.to_owned(),
        revoked: ended.revoked,
    }))
}

/// A token that lets the user use this agent, and no other.
fn token(deps: &Deps, owner: &Owner, agent: &Connecting) -> Result<SecretString, CallError> {
    let signed = deps.tokens.agent(owner, agent.url.as_str(), deps.clock.now());
    signed.map_err(|error| CallError::NotAllowed(error.to_string()))
}
