//! Our extension of the protocol for the words of an answer as they come.

use domain::Task;

/// What the extension is called by. Whoever names it in [`EXTENSIONS_HEADER`](crate::EXTENSIONS_HEADER) of a send is shown
/// the words of an answer as they come. A stream has them as status updates whose message is of this extension: the text
/// so far, and in its metadata under this URI which `turn` and `attempt` it is of. A later one takes the place of those
/// before, and the task's own answer that of all.
pub const DRAFTS: &str = "urn:switchyard:a2a:drafts:v1";

/// Whether drafts of this task's answer are wanted: its user's newest message came with the extension, of an agent that has
/// it.
#[must_use]
pub fn wants_drafts(task: &Task) -> bool {
    let newest = task.last_user_message().map(|message| &message.terms);
    newest.is_some_and(|terms| terms.extensions.iter().any(|uri| uri == DRAFTS))
}
