//! Who calls: the identity that an edge has verified, and the trace the call belongs to.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Entropy, Owner, Tenant};

/// One OAuth scope, such as `tasks` or `registry:read`.
pub type Scope = String;

/// The scopes a verified token carries.
pub type Scopes = BTreeSet<Scope>;

/// A verified caller. It exists only after authentication; tenant and owner come from the token, never from a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Whose data the call may touch.
    pub tenant: Tenant,
    /// Whose tasks the call may see within the tenant.
    pub owner: Owner,
    /// What the token allows.
    pub scopes: Scopes,
}

impl Caller {
    /// A caller without a token at an open agent: may read a task by its id, may list nothing.
    #[must_use]
    pub fn anonymous() -> Self {
        Self {
            tenant: Tenant::public(),
            owner: Owner::anonymous(),
            scopes: Scopes::new(),
        }
    }
}

/// A W3C `traceparent` (version 00): one trace id from page to agent to webhook.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TraceParent {
    trace: [u8; 16],
    parent: [u8; 8],
}

impl TraceParent {
    /// A new trace.
    #[must_use]
    pub fn random(entropy: &dyn Entropy) -> Self {
        let (mut trace, mut parent) = ([0; 16], [0; 8]);
        entropy.fill(&mut trace);
        entropy.fill(&mut parent);
        trace[15] |= 1; // all zeros is invalid
        parent[7] |= 1;
        Self { trace, parent }
    }

    /// Parses a header value; `None` where it is not a valid one, so that the caller starts a new trace.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut fields = text.trim().split('-');
        let version = fields.next()?;
        let (trace, parent) = (unhex::<16>(fields.next()?)?, unhex::<8>(fields.next()?)?);
        unhex::<1>(fields.next()?)?;
        let known = version == "00" && fields.next().is_none();
        let later = version != "00" && version != "ff" && unhex::<1>(version).is_some();
        ((known || later) && trace != [0; 16] && parent != [0; 8]).then_some(Self { trace, parent })
    }

    /// The same trace with a new parent id: what goes out with the next hop.
    #[must_use]
    pub fn child(&self, entropy: &dyn Entropy) -> Self {
        Self {
            trace: self.trace,
            ..Self::random(entropy)
        }
    }

    /// The trace id, 32 hexadecimal digits.
    #[must_use]
    pub fn trace_id(&self) -> String {
        hex(&self.trace)
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-01", hex(&self.trace), hex(&self.parent))
    }
}

impl fmt::Debug for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<TraceParent> for String {
    fn from(trace: TraceParent) -> Self {
        trace.to_string()
    }
}

impl TryFrom<String> for TraceParent {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("not a W3C traceparent")
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let lower = |b: &u8| b.is_ascii_digit() || (b'a'..=b'f').contains(b);
    if text.len() != 2 * N || !text.as_bytes().iter().all(lower) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_parsed_strictly() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(
            TraceParent::parse(good).map(|t| t.to_string()).as_deref(),
            Some(good)
        );
        for bad in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
        ] {
            assert!(TraceParent::parse(bad).is_none(), "{bad}");
        }
    }
}
