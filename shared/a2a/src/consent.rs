//! Our extension of the protocol for agents that ask users for a consent of their own: the starter's browser can prove itself,
//! so that nothing has to be typed.
//!
//! An agent whose card has [`CONSENT`] tells with `auth-required`, in its message's metadata under that URI, which consent its
//! link is for: `{"id": "…", "browserProof": true}`. A host then shows a link of its own in place of the agent's. In the browser
//! with the starter's session it sends a form with one field, `proof`, by `POST` to the agent's link; in any other browser it
//! leads there with nothing. The proof is a JWT of the type `browser-proof+jwt` with the agent's URL as audience, the task's
//! owner as subject, `consent:{id}` as scope and a life of 60 seconds, signed with a key that the tenant's authorization server
//! vouches for. It counts once, and only where the form came from a page of the issuer's own origin.

use domain::{Message, Metadata};
use serde_json::{Value, json};

use crate::card::Extension;

/// In the metadata of a message that asks for a consent: the link that its user is to open.
pub const AUTH_URL: &str = "authUrl";

/// What the extension is called by, in cards and in metadata.
pub const CONSENT: &str = "urn:switchyard:a2a:consent:v1";
/// The field of the form.
pub const PROOF_FIELD: &str = "proof";

/// Longest id of a consent.
const ID_MAX: usize = 100;

/// The extension as a card names it.
#[must_use]
pub fn consent_extension() -> Extension {
    Extension {
        uri: CONSENT.to_owned(),
        description: "With auth-required, names the consent that its link is for. A form posted to that link may carry a proof \
                      that it comes from the browser of the user who started the task."
            .to_owned(),
        ..Extension::default()
    }
}

/// Names the consent that a message's link is for.
pub fn name_consent(message: &mut Message, id: &str) {
    let named = json!({ "id": id, "browserProof": true });
    message.metadata.insert(CONSENT.to_owned(), named);
}

/// The consent that a message of an agent names, where its link takes a proof.
#[must_use]
pub fn named_consent(metadata: &Metadata) -> Option<String> {
    let named = metadata.get(CONSENT)?;
    let id = named.get("id").and_then(Value::as_str)?;
    let takes = named.get("browserProof").and_then(Value::as_bool) == Some(true);
    let is_id = (1..=ID_MAX).contains(&id.len())
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'~' | b'.'));
    (takes && is_id).then(|| id.to_owned())
}

/// The scope of a proof: what it is good for.
#[must_use]
pub fn proof_scope(consent: &str) -> String {
    format!("consent:{consent}")
}

#[cfg(test)]
mod tests {
    use domain::{MessageId, Role};

    use super::*;

    fn message() -> Message {
        let mut message = Message::agent_text(MessageId::derived("m"), "Please agree");
        assert_eq!(message.role, Role::Agent);
        name_consent(&mut message, "0f8fad5b-d9cb");
        message
    }

    #[test]
    fn a_named_consent_is_read_back_and_rubbish_is_not() {
        assert_eq!(
            named_consent(&message().metadata).as_deref(),
            Some("0f8fad5b-d9cb")
        );
        let long = "x".repeat(ID_MAX + 1);
        for rubbish in [
            json!(null),
            json!("0f8fad5b"),
            json!([]),
            json!({}),
            json!({"id": "a"}),
            json!({"id": "a", "browserProof": "true"}),
            json!({"id": "a", "browserProof": false}),
            json!({"id": 7, "browserProof": true}),
            json!({"id": "", "browserProof": true}),
            json!({"id": "a b", "browserProof": true}),
            json!({"id": "a/../b", "browserProof": true}),
            json!({"id": long, "browserProof": true}),
        ] {
            let mut told = message();
            told.metadata.insert(CONSENT.to_owned(), rubbish.clone());
            assert_eq!(named_consent(&told.metadata), None, "{rubbish}");
        }
    }
}
