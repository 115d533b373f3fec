//! What both generations do alike.

use domain::{Message, PushConfigId, SecretString, Task};
use url::Url;

use crate::lenient::{Fault, filled};
use crate::{PushAuth, PushTarget};

/// The newest `length` messages, or all.
pub(crate) fn recent(task: &Task, length: Option<u32>) -> &[Message] {
    let length = length.map_or(usize::MAX, |length| usize::try_from(length).unwrap_or(usize::MAX));
    let from = task.history.len().saturating_sub(length);
    task.history.get(from..).unwrap_or_default()
}

/// A message as one of the task.
pub(crate) fn owned(message: &Message, task: &Task) -> Message {
    Message {
        task_id: Some(task.id),
        context_id: Some(task.context_id.clone()),
        ..message.clone()
    }
}

/// A push target of what either generation says of it.
pub(crate) fn push_target(
    id: Option<String>,
    url: &str,
    token: Option<String>,
    authentication: Option<PushAuth>,
) -> Result<PushTarget, Fault> {
    if authentication
        .as_ref()
        .is_some_and(|auth| !is_token(&auth.scheme))
    {
        return Err(Fault::new(
            "the push notification's authentication scheme is none",
        ));
    }
    Ok(PushTarget {
        id: filled(id).map(|id| PushConfigId::parse(&id)).transpose()?,
        url: Url::parse(url).map_err(|_| Fault::new("the push notification's url is no URL"))?,
        token: filled(token).map(SecretString::from),
        authentication,
    })
}

/// A token of HTTP's grammar, as far as schemes need it.
fn is_token(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~+".contains(&byte))
}

/// A history length, which is never negative.
pub(crate) fn read_length(told: Option<i32>) -> Result<Option<u32>, Fault> {
    told.map(|length| u32::try_from(length).map_err(|_| Fault::new("historyLength must not be negative")))
        .transpose()
}
