//! Documents that a client may look for before the path of what they describe: `https://HOST/.well-known/NAME/PATH`
//! (RFC 8414 §3.1 and §5, RFC 9728 §3.1). Functions serve them below that path.

/// The names of these documents.
const BEFORE_THE_PATH: [&str; 3] = [
    "oauth-authorization-server",
    "openid-configuration",
    "oauth-protected-resource",
];

/// Where such a document is below what it describes; `None` for any other path.
#[must_use]
pub fn below_its_subject(path: &str) -> Option<String> {
    let (name, subject) = path.strip_prefix("/.well-known/")?.split_once('/')?;
    let known = BEFORE_THE_PATH.contains(&name) && !subject.is_empty();
    known.then(|| format!("/{}/.well-known/{name}", subject.trim_end_matches('/')))
}
