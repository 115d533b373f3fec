//! Our own sentences, in the language that a task's user is answered in.

use domain::{Message, Role, Task, UserContext};

/// So many tasks of a chat tell the language of a message that does not.
const LOOK_BACK: usize = 3;

/// The language that the user of a task is answered in.
pub(crate) fn language(task: &Task) -> String {
    language_after(&[], task)
}

/// The same after what was said in its chat, the oldest first: a "1" or a "yes" tells no language of its own.
pub(crate) fn language_after(chat: &[Task], task: &Task) -> String {
    let locale = UserContext::newest(task.history.iter()).locale;
    let newest = chat.iter().skip(chat.len().saturating_sub(LOOK_BACK));
    let said = newest.chain([task]).flat_map(|task| &task.history);
    let said = said.filter(|message| message.role == Role::User);
    words::language::answered_after(said.map(Message::text_to_read), locale.as_deref())
}

/// A sentence of ours in the language of the task's user, about somebody of this name.
pub(crate) fn told(task: &Task, key: &str, name: &str) -> String {
    told_of(task, key, &[("name", name)])
}

/// The same, with a value for each place in it.
pub(crate) fn told_of(task: &Task, key: &str, values: &[(&str, &str)]) -> String {
    words::told_of(Some(&language(task)), key, values)
}

/// These as a list in a sentence of that language.
pub(crate) fn listed(names: &[impl AsRef<str>], language: &str) -> String {
    words::listed(names, &words::told(Some(language), "and", ""))
}
