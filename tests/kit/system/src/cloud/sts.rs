//! STS, as far as functions use it: `AssumeRole` with tags, and what is known of the sessions that it gave.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::response::{IntoResponse as _, Response};
use domain::{Clock as _, Entropy as _, SystemClock, SystemEntropy, Timestamp};
use http::{HeaderMap, StatusCode};

use crate::policy::{Policy, REQUEST_TAG, Request, TAG_KEYS};

/// How long a session is that was got by another one, in seconds: AWS has no longer ones.
const CHAINED: std::ops::RangeInclusive<u64> = 900..=3600;
/// Most tags of a session.
const TAGS: usize = 50;
const NAMESPACE: &str = "https://sts.amazonaws.com/doc/2011-06-15/";

/// A role for a while, with tags.
struct Session {
    token: String,
    ends: Timestamp,
    caller: Caller,
}

/// Whoever calls, and as whom.
#[derive(Clone)]
pub struct Caller {
    /// The policies of the role.
    pub policy: Arc<Policy>,
    /// The tags of the session.
    pub tags: BTreeMap<String, String>,
}

impl Caller {
    /// Whether all of this is allowed. All are asked, so that all that is refused is known.
    pub fn may(&self, requests: impl IntoIterator<Item = Request>) -> bool {
        let refused = |request: Request| !self.policy.allows(&request.by(&self.tags));
        requests
            .into_iter()
            .map(refused)
            .filter(|refused| *refused)
            .count()
            == 0
    }
}

/// Why credentials are nobody's.
pub enum Unknown {
    /// No such key, or not with that token.
    Key,
    /// They have ended.
    Expired,
}

/// The sessions by access key, and the roles that they can be of, by ARN.
#[derive(Default)]
pub struct Sts {
    sessions: Mutex<BTreeMap<String, Session>>,
    roles: Mutex<BTreeMap<String, Arc<Policy>>>,
}

/// Why there is no session.
struct Refusal(StatusCode, &'static str, String);

impl Sts {
    /// A role is there.
    pub fn put(&self, policy: &Arc<Policy>) {
        let mut roles = self.roles.lock().expect("no panic under the lock");
        roles.insert(policy.arn.clone(), policy.clone());
    }

    /// A role is there no more; what sessions it has goes on, as on AWS for a while.
    pub fn remove(&self, arn: &str) {
        self.roles.lock().expect("no panic under the lock").remove(arn);
    }

    /// As whom a request was signed by these headers; `None` where by no session.
    ///
    /// # Errors
    /// [`Unknown`] where it says that it was, and there is no such session.
    pub fn signed(&self, headers: &HeaderMap) -> Result<Option<Caller>, Unknown> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let scope = text("authorization").and_then(|field| field.split_once("Credential="));
        let key = scope.and_then(|(_, rest)| rest.split('/').next());
        let Some(key) = key.filter(|key| key.starts_with("ASIA")) else {
            return Ok(None);
        };
        let mut sessions = self.sessions.lock().expect("no panic under the lock");
        let found = sessions.get(key).ok_or(Unknown::Key)?;
        if text("x-amz-security-token") != Some(found.token.as_str()) {
            return Err(Unknown::Key);
        }
        if found.ends <= SystemClock.now() {
            sessions.remove(key);
            return Err(Unknown::Expired);
        }
        let mut caller = found.caller.clone();
        // What a role may counts for the sessions that it has, as it is now.
        let roles = self.roles.lock().expect("no panic under the lock");
        if let Some(now) = roles.get(&caller.policy.arn) {
            caller.policy = now.clone();
        }
        Ok(Some(caller))
    }

    /// Answers a call of the SDK.
    pub fn answer(&self, caller: &Caller, body: &[u8]) -> Response {
        let form: BTreeMap<String, String> = url::form_urlencoded::parse(body).into_owned().collect();
        let (status, text) = match self.assumed(caller, &form) {
            Ok(text) => (StatusCode::OK, text),
            Err(Refusal(status, code, message)) => {
                let text = format!(
                    r#"<ErrorResponse xmlns="{NAMESPACE}"><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error><RequestId>r</RequestId></ErrorResponse>"#
                );
                (status, text)
            }
        };
        (status, [("content-type", "text/xml")], text).into_response()
    }

    fn assumed(&self, caller: &Caller, form: &BTreeMap<String, String>) -> Result<String, Refusal> {
        let invalid = |told: &str| Refusal(StatusCode::BAD_REQUEST, "ValidationError", told.to_owned());
        let known = [
            "Action",
            "Version",
            "RoleArn",
            "RoleSessionName",
            "DurationSeconds",
        ];
        let unknown = form
            .keys()
            .find(|name| !known.contains(&name.as_str()) && !name.starts_with("Tags.member."));
        if form.get("Action").is_none_or(|action| action != "AssumeRole") || unknown.is_some() {
            return Err(invalid(&format!(
                "not understood here: {:?} {unknown:?}",
                form.get("Action")
            )));
        }
        let text = |name: &str| {
            form.get(name)
                .ok_or_else(|| invalid(&format!("{name} is not given")))
        };
        let (role, name) = (text("RoleArn")?, text("RoleSessionName")?);
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c);
        if !(2..=64).contains(&name.len()) || !name.chars().all(is_name) {
            return Err(invalid("the name of a session has two to 64 plain characters"));
        }
        let tags = tags(form).map_err(|told| invalid(&told))?;
        let lasts = form
            .get("DurationSeconds")
            .map_or(Some(3600), |text| text.parse().ok());
        let lasts = lasts.filter(|lasts| CHAINED.contains(lasts));
        let lasts = lasts.ok_or_else(|| invalid("a session of a session has 900 to 3600 seconds"))?;

        let found = self
            .roles
            .lock()
            .expect("no panic under the lock")
            .get(role)
            .cloned();
        let actions = match tags.is_empty() {
            true => &["sts:AssumeRole"][..],
            false => &["sts:AssumeRole", "sts:TagSession"],
        };
        let asked: Vec<Request> = actions
            .iter()
            .map(|action| {
                let asked = Request::new(*action, role.as_str()).with(TAG_KEYS, tags.keys());
                tags.iter().fold(asked, |asked, (name, value)| {
                    asked.with(&format!("{REQUEST_TAG}{name}"), [value.as_str()])
                })
            })
            .collect();
        let trusted = found.as_ref().is_some_and(|role| {
            let asked = asked.iter().cloned().map(|asked| asked.by(&caller.tags));
            asked
                .into_iter()
                .all(|asked| role.trusts(&caller.policy.arn, &asked))
        });
        // Whoever calls is asked in any case, so that what it was refused is known.
        let (true, true, Some(policy)) = (caller.may(asked), trusted, found) else {
            let told = format!(
                "{} is not authorized to perform: sts:AssumeRole on resource: {role}",
                caller.policy.arn
            );
            return Err(Refusal(StatusCode::FORBIDDEN, "AccessDenied", told));
        };
        if lasts > policy.longest_session {
            return Err(invalid("the role's sessions are not that long"));
        }
        let [key, secret, token] = [10, 20, 64].map(random);
        let key = format!("ASIA{}", key.to_uppercase());
        let now = SystemClock.now();
        let ends = now.after(Duration::from_secs(lasts));
        let arn = format!(
            "{}/{name}",
            policy
                .arn
                .replace(":iam:", ":sts:")
                .replace(":role/", ":assumed-role/")
        );
        let answer = format!(
            r#"<AssumeRoleResponse xmlns="{NAMESPACE}"><AssumeRoleResult><AssumedRoleUser><AssumedRoleId>AROAEXAMPLE:{name}</AssumedRoleId><Arn>{arn}</Arn></AssumedRoleUser><Credentials><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey><SessionToken>{token}</SessionToken><Expiration>{ends}</Expiration></Credentials></AssumeRoleResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></AssumeRoleResponse>"#
        );
        let mut sessions = self.sessions.lock().expect("no panic under the lock");
        sessions.retain(|_, session| session.ends > now);
        let caller = Caller { policy, tags };
        sessions.insert(key, Session { token, ends, caller });
        Ok(answer)
    }
}

/// So many random bytes, as text.
fn random(bytes: usize) -> String {
    let mut all = vec![0; bytes];
    SystemEntropy.fill(&mut all);
    all.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The tags of a session, as the form numbers them.
fn tags(form: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, String> {
    let mut tags = BTreeMap::new();
    for (field, name) in form.iter().filter(|(field, _)| field.ends_with(".Key")) {
        let number = field.strip_suffix(".Key").unwrap_or_default();
        let value = form.get(&format!("{number}.Value"));
        let value = value.ok_or_else(|| format!("the tag {name} has no value"))?;
        let plain = |text: &str| {
            text.chars()
                .all(|c| c.is_alphanumeric() || " _.:/=+-@".contains(c))
        };
        let (name_fits, value_fits) = (
            (1..=128).contains(&name.chars().count()),
            value.chars().count() <= 256,
        );
        if !(name_fits && value_fits && plain(name) && plain(value)) {
            return Err(format!("no tag: {name}"));
        }
        if tags.insert(name.clone(), value.clone()).is_some() {
            return Err(format!("the tag {name} is there twice"));
        }
    }
    match tags.len() {
        0..=TAGS => Ok(tags),
        _ => Err("too many tags".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_session_is_one_until_its_end() {
        let sts = Sts::default();
        let now = SystemClock.now();
        let caller = Caller {
            policy: Arc::new(Policy::of_document("arn:role", &json!({ "Statement": [] }))),
            tags: BTreeMap::new(),
        };
        for (key, ends) in [
            ("ASIA1", now.after(Duration::from_secs(60))),
            ("ASIA2", now.before(Duration::from_secs(1))),
        ] {
            let session = Session {
                token: "t".to_owned(),
                ends,
                caller: caller.clone(),
            };
            sts.sessions.lock().unwrap().insert(key.to_owned(), session);
        }
        let signed = |key: &str, token: &'static str| {
            let mut headers = HeaderMap::new();
            let field = format!(
                "AWS4-HMAC-SHA256 Credential={key}/20260101/eu-north-1/sts/aws4_request, Signature=0"
            );
            headers.insert("authorization", field.parse().unwrap());
            headers.insert("x-amz-security-token", token.parse().unwrap());
            match sts.signed(&headers) {
                Ok(Some(_)) => "a session",
                Ok(None) => "the function itself",
                Err(Unknown::Key) => "nobody",
                Err(Unknown::Expired) => "expired",
            }
        };
        for (key, token, expect) in [
            ("ASIA1", "t", "a session"),
            ("ASIA1", "u", "nobody"),
            ("ASIA2", "u", "nobody"),
            ("ASIA2", "t", "expired"),
            // It is forgotten then.
            ("ASIA2", "t", "nobody"),
            ("ASIA3", "t", "nobody"),
            ("AKIA1", "t", "the function itself"),
        ] {
            assert_eq!(signed(key, token), expect, "{key} {token}");
        }
    }
}
