//! Why a call is refused, in the words of RFC 6750.

/// Why a token is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no bearer token.
    #[error("a bearer token is needed")]
    Missing,
    /// The token is not one that we trust for this service.
    #[error("the token is not valid here")]
    Malformed,
    /// The token was good once. The text is what clients look for.
    #[error("token has expired")]
    Expired,
    /// The token is another tenant's.
    #[error("the token is of another tenant")]
    WrongTenant,
    /// The token does not allow this.
    #[error("the scope {needed} is needed")]
    SmallScope {
        /// The scope that is needed.
        needed: String,
    },
    /// The token is good, and its tenant is suspended.
    #[error("the tenant is suspended")]
    Suspended,
    /// Whether it is a good one cannot be told now: its issuer's keys are not to be had.
    #[error("the token cannot be checked now")]
    Unavailable,
}

impl Refusal {
    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Missing | Self::Malformed | Self::Expired => 401,
            Self::WrongTenant | Self::SmallScope { .. } | Self::Suspended => 403,
            Self::Unavailable => 503,
        }
    }

    /// The code for bodies: those of RFC 6750, and one each for what it does not tell apart.
    #[must_use]
    pub fn error_code(&self) -> &'static str {
        match self {
            Self::Missing => "missing_token",
            Self::Malformed | Self::Expired => "invalid_token",
            Self::WrongTenant => "wrong_tenant",
            Self::SmallScope { .. } => "insufficient_scope",
            Self::Suspended => "tenant_suspended",
            Self::Unavailable => "temporarily_unavailable",
        }
    }

    /// The `WWW-Authenticate` header. A call without any token is told no error code, as RFC 6750 wants.
    #[must_use]
    pub fn www_authenticate(&self) -> String {
        self.challenge(None, "")
    }

    /// The `WWW-Authenticate` header of a resource that has metadata (RFC 9728) and says which scopes it needs, so that
    /// a client who was never here finds the authorization server and knows what to ask it for.
    #[must_use]
    pub fn challenge(&self, resource_metadata: Option<&str>, scope: &str) -> String {
        let mut challenge = String::from("Bearer realm=\"switchyard\"");
        let mut put = |name: &str, value: &str| {
            challenge.extend([", ", name, "=\"", &quotable(value), "\""]);
        };
        if *self != Self::Missing {
            put("error", self.error_code());
            put("error_description", &self.to_string());
        }
        let scope = match self {
            Self::SmallScope { needed } => needed,
            _ => scope,
        };
        if !scope.is_empty() {
            put("scope", scope);
        }
        if let Some(url) = resource_metadata {
            put("resource_metadata", url);
        }
        challenge
    }
}

/// Only what may stand in a quoted header value.
fn quotable(text: &str) -> String {
    let fits = |c: &char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\');
    text.chars().filter(fits).collect()
}

/// The token of an `Authorization: Bearer …` header.
///
/// # Errors
/// [`Refusal::Missing`] where there is no header or it is of another scheme, [`Refusal::Malformed`] where what
/// follows cannot be a token.
pub fn bearer(header: Option<&str>) -> Result<&str, Refusal> {
    let (scheme, token) = match header.map(str::trim) {
        None | Some("") => return Err(Refusal::Missing),
        Some(header) => header.split_once(' ').unwrap_or((header, "")),
    };
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Refusal::Missing);
    }
    let token = token.trim_start_matches(' ');
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
    if token.is_empty() || !token.bytes().all(fits) {
        return Err(Refusal::Malformed);
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_header_gives_its_token() {
        for (header, expected) in [
            (None, Err(Refusal::Missing)),
            (Some(""), Err(Refusal::Missing)),
            (Some("Basic abc"), Err(Refusal::Missing)),
            (Some("Bearertoken"), Err(Refusal::Missing)),
            (Some("Bearer"), Err(Refusal::Malformed)),
            (Some("Bearer "), Err(Refusal::Malformed)),
            (Some("Bearer a b"), Err(Refusal::Malformed)),
            (Some("Bearer a\"b"), Err(Refusal::Malformed)),
            (Some("Bearer ä"), Err(Refusal::Malformed)),
            (Some("Bearer a.b-c_"), Ok("a.b-c_")),
            (Some("bearer   abc"), Ok("abc")),
        ] {
            assert_eq!(bearer(header), expected, "{header:?}");
        }
    }

    #[test]
    fn each_refusal_has_an_answer_of_its_own() {
        let small = Refusal::SmallScope {
            needed: "tasks".into(),
        };
        let all = [
            (Refusal::Missing, 401, "missing_token"),
            (Refusal::Malformed, 401, "invalid_token"),
            (Refusal::Expired, 401, "invalid_token"),
            (Refusal::WrongTenant, 403, "wrong_tenant"),
            (small.clone(), 403, "insufficient_scope"),
            (Refusal::Suspended, 403, "tenant_suspended"),
            (Refusal::Unavailable, 503, "temporarily_unavailable"),
        ];
        let challenges: std::collections::BTreeSet<_> = all
            .iter()
            .map(|(refusal, ..)| refusal.www_authenticate())
            .collect();
        assert_eq!(challenges.len(), all.len());
        for (refusal, status, code) in all {
            assert_eq!((refusal.status(), refusal.error_code()), (status, code));
        }
        assert_eq!(Refusal::Expired.to_string(), "token has expired");
        assert!(!Refusal::Missing.www_authenticate().contains("error"));
        assert!(small.www_authenticate().ends_with(", scope=\"tasks\""));
    }

    #[test]
    fn a_challenge_cannot_be_broken_out_of() {
        let needed = "x\", error=\"none\r\nSet-Cookie: a=b\\".to_string();
        let header = Refusal::SmallScope { needed }.www_authenticate();
        assert!(!header.contains(['\r', '\n', '\\']));
        assert_eq!(header.matches('"').count(), 8);
    }
}
