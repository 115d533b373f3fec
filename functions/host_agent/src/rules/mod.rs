//! Pure rules over a task: no IO, the time passed in.
//!
//! | question | module |
//! |---|---|
//! | What may be done about a job now: is it sent, looked at, fetched? | `acts` |
//! | When is it looked at next, and when is it given up? | `patience` |
//! | What does the user read of it? | `wording`, in whose language: `sentences` |
//! | What does the model read of it? | `transcript` |
//! | When is what waits mentioned under another answer? | `reminder` |
//! | How was its message meant, where the text does not say so? | `note` |
//! | What did a job bring, in words? | `brought` |
//! | What does its plan wait for? | `plans`, `permission` |
//! | Which agents does its user choose from? | `agent_choice` |
//! | How does the task end? | `outcome` |

pub(crate) mod acts;
pub(crate) mod agent_choice;
pub(crate) mod brought;
pub(crate) mod note;
pub(crate) mod outcome;
pub(crate) mod patience;
pub(crate) mod permission;
pub(crate) mod plans;
pub(crate) mod reminder;
pub(crate) mod sentences;
pub(crate) mod transcript;
pub(crate) mod wording;
