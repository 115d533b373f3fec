//! A2A 1.0: between `domain` and the official types.

mod read;
mod write;

pub(crate) use read::{read_push, read_send_call};
pub(crate) use write::{create_push, event, message, send_call, shown_push, state_name, task};
