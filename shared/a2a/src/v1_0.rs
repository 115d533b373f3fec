//! A2A 1.0: between `domain` and the official types.

mod read;
mod write;

pub(crate) use read::{read_answer, read_cancel, read_get, read_send_call, read_stream_response, read_task};
pub(crate) use write::{event, message, send_call, task};
