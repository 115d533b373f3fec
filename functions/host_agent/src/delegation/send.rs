//! A job's message on its way to its agent, and what the user says to that agent later.

use a2a::{A2aError, PushAuth, PushTarget, SendCall};
use consent::Obstacle;
use domain::{
    Job, JobState, Message, MessageId, Noted, Part, PartContent, RemoteTaskId, RemoteUpdate, SecretString,
    TaskState, UserContext,
};
use outbound::{CallError, SendResponse};

use crate::delegation::done::Done;
use crate::delegation::{calls, results, webhook_token};
use crate::deps::OnTask;
use crate::rules::{transcript, wording};

/// Media types that an answer can be shown in.
const OUTPUT_MODES: [&str; 3] = ["text/plain", "text/markdown", "application/json"];
/// Most characters of a foreign error that are shown.
const REASON_MAX: usize = 300;

/// Sends a prepared job's message; the same bytes with every try.
pub(crate) async fn send(on: OnTask<'_>, mut job: Job) -> Done {
    let Some(token) = webhook_token::open(on, &job) else {
        let reason = "it cannot be asked again: the key for its message is gone.";
        job.give_up(TaskState::Failed, reason, on.now);
        return Done::of(job);
    };
    let mut call = call_of(on, &job, Some(token));
    let words = results::handed_over(on.task, &job, true).filter(|_| job.takes_data);
    let mut answered = deliver(on, &job, &call, words.as_ref()).await;
    if matches!(
        answered,
        Err(Obstacle::Call(CallError::Refused(
            A2aError::PushNotificationNotSupported
        )))
    ) {
        // It does not push: it is asked from time to time instead.
        job.is_polled = true;
        call.push = None;
        answered = deliver(on, &job, &call, words.as_ref()).await;
    }
    match answered {
        Ok(Delivered { answer, words_alone }) => {
            job.attempts = 0;
            job.words_alone = words_alone;
            webhook_token::keys_again(on.deps, &mut job).await;
            let news = answer.into_notification();
            job.note(news.clone(), on.now);
            tracing::info!(
                tenant.id = on.task.tenant.name(), task.id = %on.task.id, job = job.number, agent.id = %job.agent_id,
                task.remote_id = job.remote_task_id().map(RemoteTaskId::as_str), "delegation acknowledged"
            );
            Done::heard(job, news)
        }
        Err(obstacle) => Done::hindered(job, obstacle, |job, error| undelivered(on, job, &error)),
    }
}

/// The call that a job begins with; `None` where the key of its token is gone.
pub(crate) fn first_call(on: OnTask<'_>, job: &Job) -> Option<SendCall> {
    let token = webhook_token::open(on, job)?;
    Some(call_of(on, job, Some(token)))
}

/// The job after a failed attempt.
pub(crate) fn undelivered(on: OnTask<'_>, mut job: Job, error: &CallError) -> Done {
    job.attempts = job.attempts.saturating_add(1);
    tracing::warn!(
        task.id = %on.task.id, job = job.number, agent.id = %job.agent_id, attempt = job.attempts,
        error = %error, "delegation failed"
    );
    job.updated_at = on.now;
    job.delivered |= error.may_have_arrived();
    if job.attempts == 1 {
        job.failing_since = Some(on.now);
    }
    // What may work later is tried by the schedule, and stays what it is after that: it can be tried again by hand.
    if !error.is_retryable() {
        let (state, reason) = failure(error);
        job.give_up(state, reason, on.now);
    }
    let trouble = match error {
        CallError::Mqtt(fault) => wording::trouble(*fault),
        _ => None,
    };
    Done {
        trouble,
        ..Done::of(job)
    }
}

/// Hands the user's answer on to the agent that asked.
pub(crate) async fn forward(on: OnTask<'_>, mut job: Job, said: &Message) -> Done {
    let Some(remote_task_id) = job.remote_task_id() else {
        return Done::of(job);
    };
    let remote_task_id = remote_task_id.as_str().to_owned();
    let token = webhook_token::open(on, &job);
    let id = MessageId::derived(&format!("{}/{}/{}", on.task.id, job.number, said.message_id));
    let mut call = call_of(on, &job, token);
    call.message = Message {
        metadata: said.metadata.clone(),
        context_id: job.chosen_task_id.and(call.message.context_id),
        ..Message::user(id, said.parts.clone())
    };
    call.task_id = Some(remote_task_id);
    match deliver(on, &job, &call, None).await {
        Ok(Delivered { answer, words_alone }) => {
            job.words_alone |= words_alone;
            let heard = answer.into_notification();
            let asks_again = heard
                .update
                .as_ref()
                .is_some_and(|update| update.state.is_interrupted());
            if job.note(heard.clone(), on.now) == Noted::Nothing && !asks_again {
                // It took the answer and says nothing new yet.
                return taken(on, job, said);
            }
            (job.attempts, job.updated_at) = (0, on.now);
            Done {
                took: Some(said.message_id.clone()),
                ..Done::heard(job, heard)
            }
        }
        Err(obstacle) => {
            // An agent that is through takes no answer, and its result may still be on the way: that counts.
            if matches!(obstacle, Obstacle::Call(CallError::Refused(_)))
                && let Ok(remote) = calls::remote_task(on, &job).await
                && remote.status.state.is_terminal()
            {
                job.note(remote.into_notification(), on.now);
                job.attempts = 0;
                return Done::of(job);
            }
            Done::hindered(job, obstacle, |mut job, error| {
                if error.may_have_arrived() {
                    return taken(on, job, said);
                }
                let (state, reason) = failure(&error);
                if error.is_retryable() {
                    let reason = format!("Your answer did not reach {}: {reason}", job.agent_name);
                    return Done::again(job, reason);
                }
                job.give_up(state, reason, on.now);
                Done::of(job)
            })
        }
    }
}

/// The user's answer is with the agent, or perhaps: it is looked at for what it makes of that, and asks again where it has not got it.
pub(crate) fn taken(on: OnTask<'_>, mut job: Job, said: &Message) -> Done {
    if let JobState::Linked { remote, .. } = &mut job.state {
        *remote = RemoteUpdate::of(TaskState::Working);
    }
    (job.attempts, job.updated_at) = (0, on.now);
    Done {
        took: Some(said.message_id.clone()),
        ..Done::of(job)
    }
}

/// What an agent answered to a message.
struct Delivered {
    answer: SendResponse,
    /// It would not take the message with what was attached.
    words_alone: bool,
}

/// `words` are what it works on, for an agent that takes no more than words.
async fn deliver(
    on: OnTask<'_>,
    job: &Job,
    call: &SendCall,
    words: Option<&Part>,
) -> Result<Delivered, Obstacle> {
    let answered = calls::send(on, job, call).await;
    let refused = matches!(
        answered,
        Err(Obstacle::Call(CallError::Refused(
            A2aError::ContentTypeNotSupported
        )))
    );
    let (answered, words_alone) = match words_alone(call).filter(|_| refused) {
        Some(mut call) => {
            call.message.parts.extend(words.cloned());
            (calls::send(on, job, &call).await, true)
        }
        None => (answered, false),
    };
    answered.map(|answer| Delivered { answer, words_alone })
}

fn call_of(on: OnTask<'_>, job: &Job, token: Option<SecretString>) -> SendCall {
    // What the user attached goes along; the text is the model's choice.
    let parts = std::iter::once(Part::text(job.instruction.clone()))
        .chain(results::handed_over(on.task, job, !job.takes_data))
        .chain(transcript::goes_along(on.task))
        .chain(job.data.clone().map(Part::data))
        .collect();
    let mut message = Message {
        context_id: Some(on.task.context_id.clone()),
        ..Message::user(job.message_id.clone(), parts)
    };
    // Of the first message, like what is attached: a resend must be the same, whatever was said meanwhile.
    if let Some(asked) = on.task.history.first() {
        UserContext::of(&asked.metadata).write(&mut message.metadata);
    }
    let mut call = SendCall::new(message);
    call.return_immediately = true;
    call.accepted_output_modes = OUTPUT_MODES.map(str::to_owned).to_vec();
    call.tenant.clone_from(&job.endpoint.tenant);
    // Over MQTT whoever asks chooses the task's id, so that its agent knows a repeat again.
    call.task_id = job.chosen_task_id.map(|id| id.to_string());
    call.push = token.map(|token| PushTarget {
        id: None,
        url: on.deps.webhook.clone(),
        authentication: Some(PushAuth {
            scheme: "Bearer".to_owned(),
            credentials: Some(token.clone()),
        }),
        token: Some(token),
    });
    call
}

/// The call without what the user attached, which is not for every agent that takes part. Nothing was made of it where
/// it was refused, so that it is the same message still. `None` where it has nothing but words, or none.
fn words_alone(call: &SendCall) -> Option<SendCall> {
    let mut call = call.clone();
    let all = call.message.parts.len();
    call.message
        .parts
        .retain(|part| matches!(part.content, PartContent::Text(_)));
    ((1..all).contains(&call.message.parts.len())).then_some(call)
}

/// What to tell the user of a call that failed for good; "it" is the agent, which is named beside it.
pub(super) fn failure(error: &CallError) -> (TaskState, String) {
    let reason = match error {
        CallError::Refused(refused) => {
            let state = match refused {
                A2aError::UnsupportedOperation(_)
                | A2aError::ContentTypeNotSupported
                | A2aError::InvalidParams(_) => TaskState::Rejected,
                _ => TaskState::Failed,
            };
            return (state, llm::clean(&refused.to_string(), REASON_MAX));
        }
        CallError::Unreachable { .. } | CallError::Timeout => {
            "it cannot be reached at the moment. Say “try again” to have it tried once more.".to_owned()
        }
        CallError::Status(status) if error.is_retryable() => {
            format!(
                "it does not answer properly at the moment (status {status}). Say “try again” to have it tried once more."
            )
        }
        CallError::Unauthorized { .. } | CallError::Forbidden { .. } => {
            "it does not let us in; it wants other credentials.".to_owned()
        }
        CallError::NotAllowed(_) => "its address may not be called.".to_owned(),
        CallError::TooLarge(most) => wording::too_large(*most),
        CallError::Mqtt(fault) => wording::over_mqtt(*fault).to_owned(),
        CallError::Status(300..=399) => {
            "it leads elsewhere from its address, and calls do not follow there.".to_owned()
        }
        CallError::Status(status) => {
            format!("it gave an answer that cannot be used: status {status}.")
        }
        CallError::BadAnswer(why) => {
            let why = llm::clean(why, REASON_MAX);
            format!("it gave an answer that cannot be used: {why}.")
        }
    };
    (TaskState::Failed, reason)
}
