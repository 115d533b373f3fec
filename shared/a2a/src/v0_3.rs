//! A2A 0.3: between `domain` and our own types of its JSON, and the protobuf form that its REST binding had.

mod proto;
mod read;
mod types;
mod write;

pub(crate) use proto::{from_proto, to_proto};
pub(crate) use read::{lone_value, read_push, read_send_call};
pub(crate) use write::{create_push, event, message, named_push, send_call, shown_push, task};
