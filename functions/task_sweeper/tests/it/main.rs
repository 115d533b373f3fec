//! The sweeper from outside: sweeps over a database in the same process, and the Lambda's own program against a
//! runtime API on loopback.

#[cfg(test)]
mod lambda;
#[cfg(test)]
mod support;
#[cfg(test)]
mod sweep;
