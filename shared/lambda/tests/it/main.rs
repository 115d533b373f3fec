//! Events in, answers out, with every sample of `events/`.

#[cfg(test)]
mod events;
#[cfg(test)]
mod log;
