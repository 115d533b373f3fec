//! A requester that waits for the settled task gives up after some seconds in which it hears nothing: it is shown the task at
//! work. That is lost with the process, and then its retry is answered.

use std::sync::Arc;

use a2a::mqtt::{ReplyWriter, is_stream_end};
use domain::SecretString;
use serde_json::{Value, json};

use crate::asking::{ask, publish_all};
use crate::bridge::Bridge;
use crate::config::AgentPlace;

/// Shows the task of this id as it is after a while, unless it is settled by then: that is told as a notification.
pub(crate) async fn tell_working(
    bridge: Arc<Bridge>,
    place: AgentPlace,
    writer: ReplyWriter,
    (token, task): (Option<SecretString>, Value),
) {
    tokio::time::sleep(bridge.patience).await;
    let look = json!({ "jsonrpc": "2.0", "id": writer.id, "method": "GetTask",
        "params": { "id": task, "historyLength": 0 } });
    let Ok(found) = ask(&bridge, &place, token.as_ref(), &look).await else {
        return;
    };
    let shown = json!({ "task": found });
    let Some(publisher) = bridge
        .publisher(&place.address)
        .filter(|_| !is_stream_end(&shown))
    else {
        return;
    };
    // Whoever does not get it hears of the settled task.
    let _ = publish_all(publisher.as_ref(), writer.result(shown)).await;
}
