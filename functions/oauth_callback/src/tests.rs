//! The whole function, in-process, over real tables and against an identity provider that can misbehave.

mod elsewhere;
mod flow;
mod refusals;
mod signing_in;
mod world;
