//! What of an agent will not work, told when it is registered and when it is checked by hand: by its card, and by one call that
//! costs it nothing, a look at a task that nobody has. It refuses no agent: each of these may still work, or work again.

use std::time::{Duration, Instant};

use a2a::A2aError;
use a2a::card::ForeignCard;
use domain::{Endpoint, RemoteTaskId, Transport};
use outbound::CallError;
use serde_json::Value;
use tokio::time::timeout;

use crate::State;

/// How long the call may take.
const LONGEST: Duration = Duration::from_secs(5);
/// A call that does no work and takes longer than this is slow.
const SLOW: Duration = Duration::from_secs(2);
/// Most interfaces that cannot be called are told of.
const MOST_UNUSABLE: usize = 10;
/// How the reason begins where nobody answers at an agent's endpoint.
const SILENT: &str = "its card is there, and its endpoint is not";
/// What it means that an agent does not push.
const NO_PUSH: &str = "its card says that it does not push: hosts ask for a result that is not there at once after some seconds, \
    then ever more seldom";

/// Whatever of an agent with this card will not work, in words for its operator.
pub(crate) async fn warnings(state: &State, card: &Value) -> Vec<String> {
    let Ok(mut card) = a2a::card::parse(card) else {
        return Vec::new();
    };
    card.unusable.truncate(MOST_UNUSABLE);
    let begun = Instant::now();
    let Some((to, fault)) = looked_for(state, &card).await else {
        return card.unusable;
    };
    let (took, spoken) = (begun.elapsed(), state.outbound.spoken_by(to));
    let generation = (spoken != to.generation).then(|| {
        let (claimed, spoken) = (a2a::version(to.generation), a2a::version(spoken));
        format!("its endpoint speaks A2A {spoken}, and its card claims {claimed}: it is called in {spoken}")
    });
    let slow = (took > SLOW).then(|| {
        let (took, most) = (took.as_secs_f32(), SLOW.as_secs());
        format!("it is slow: a look at a task that it has not took {took:.1} seconds, more than {most}")
    });
    let no_push = (!card.push_notifications).then(|| NO_PUSH.to_owned());
    let call = fault.and_then(|fault| of_call((&card, to), &fault));
    let told = [call, generation, slow, no_push].into_iter().flatten();
    card.unusable.iter().cloned().chain(told).collect()
}

/// Why nobody answers at an agent's endpoint as an agent does; none where somebody does, or where that is not known.
pub(crate) async fn silence(state: &State, card: &Value) -> Option<String> {
    let card = a2a::card::parse(card).ok()?;
    let (_, fault) = looked_for(state, &card).await?;
    let fault = fault.filter(|fault| {
        matches!(
            fault,
            CallError::Timeout | CallError::Unreachable { .. } | CallError::Status(500..)
        )
    })?;
    Some(format!("{SILENT}: {}", why(&fault)))
}

/// Whether an agent was not well for that reason.
pub(crate) fn is_silence(reason: Option<&str>) -> bool {
    reason.is_some_and(|reason| reason.starts_with(SILENT))
}

/// A look at a task that nobody has, at the first of a card's endpoints: what came of it.
async fn looked_for<'c>(state: &State, card: &'c ForeignCard) -> Option<(&'c Endpoint, Option<CallError>)> {
    // The bridge to a broker follows an agent's news itself, and knows which agents are there.
    let to = card
        .endpoints
        .first()
        .filter(|to| to.transport != Transport::Mqtt)?;
    let id = RemoteTaskId::parse(&state.entropy.uuid().to_string()).ok()?;
    let looked = timeout(LONGEST, state.outbound.task(to, &id, None)).await;
    Some((to, looked.map_or(Some(CallError::Timeout), Result::err)))
}

/// What the call's fault means for users' tasks; an agent that says that it has no such task does well.
fn of_call((card, to): (&ForeignCard, &Endpoint), fault: &CallError) -> Option<String> {
    Some(match fault {
        CallError::Refused(A2aError::MethodNotFound(_) | A2aError::VersionNotSupported(_)) => {
            "its endpoint cannot look at a task, in A2A 1.0 or 0.3: a result that it neither answers at once nor pushes is lost"
                .to_owned()
        }
        CallError::Refused(_) => return None,
        // By plain HTTP that is how a task is told that is not there.
        CallError::Status(404) if to.transport == Transport::Rest => return None,
        CallError::Unauthorized { .. } | CallError::Forbidden { .. } if card.secured => return None,
        CallError::Unauthorized { .. } | CallError::Forbidden { .. } => {
            "its endpoint wants credentials, and its card asks for none".to_owned()
        }
        fault => format!("its endpoint does not answer as agents do: {}", why(fault)),
    })
}

/// Why a call brought nothing: enough to mend it, nothing that would map somebody's network.
pub(crate) fn why(fault: &CallError) -> String {
    let why = match fault {
        CallError::NotAllowed(_) => "its address is not one that may be called",
        CallError::Timeout => "nobody answered in time",
        CallError::Unreachable { .. } => "nobody answers there",
        CallError::Status(status) => return format!("the answer was {status}"),
        _ => "the answer is not JSON of an allowed size",
    };
    why.to_owned()
}
