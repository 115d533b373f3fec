//! The edge from outside: events in, answers out; the front before a router; secrets and wakes against a server on
//! loopback that speaks AWS's words.

mod bodies;
mod events;
mod front;
mod outgoing;
mod support;
