//! The edge from outside: the front before a router; secrets and wakes against a server on loopback that speaks AWS's words.

#[cfg(test)]
mod bodies;
#[cfg(test)]
mod front;
#[cfg(test)]
mod outgoing;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod support;
