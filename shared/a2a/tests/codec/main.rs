//! The codec from outside: what clients see (snapshots), what comes back unchanged (properties), what others really
//! write (golden), and what is refused (refusals).

mod golden;
mod properties;
mod refusals;
mod samples;
mod snapshots;
