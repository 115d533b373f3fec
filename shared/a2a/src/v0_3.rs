//! A2A 0.3: between `domain` and our own types of its JSON, and the protobuf form that its REST binding had.

mod proto;
mod read;
mod types;
mod write;

pub(crate) use proto::to_proto;
pub(crate) use read::{read_answer, read_event, read_push, read_send_call, read_stream_response, read_task};
pub(crate) use write::{create_push, event, message, named_push, send_call, shown_push, task};
