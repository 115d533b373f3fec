//! The sweeper from outside: sweeps over a database in the same process, and the Lambda's own program against a
//! runtime API on loopback.

mod lambda;
mod support;
mod sweep;
