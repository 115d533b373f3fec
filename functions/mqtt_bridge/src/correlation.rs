//! What a reply is known by: the webhook of whoever called, sealed. It is all that is needed to hand a reply on, so that nothing
//! is remembered of a call, and a reply that comes late, or to another process, still reaches its caller.

use a2a::mqtt::{AgentAddress, CallWebhook, Recipient};
use auth::Sealer;
use domain::{Entropy, ExposeSecret as _, SecretString, Timestamp};
use serde::{Deserialize, Serialize};
use url::Url;

/// A call's own part of what its replies are known by.
#[derive(Debug, Clone)]
pub(crate) struct Correlation {
    /// Where items after the first go.
    pub(crate) webhook: Option<CallWebhook>,
    /// Who was asked.
    pub(crate) asked: Recipient,
    /// Until when replies are taken.
    pub(crate) expires_at: Timestamp,
}

/// Where replies come in: what a correlation is bound to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyPlace<'p> {
    /// The identity that called.
    pub(crate) requester: &'p AgentAddress,
    /// Its reply topic.
    pub(crate) topic: &'p str,
}

impl ReplyPlace<'_> {
    fn binding(self) -> String {
        // The unit of a host is its tenant's prefix.
        format!("mqtt/call/{}/{}", self.requester, self.topic)
    }
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    w: Option<Url>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    t: Option<String>,
    r: String,
    e: i64,
}

impl Correlation {
    /// Correlation Data: ASCII, as some agents take it for text. No two are alike, so that each attempt has its own.
    pub(crate) fn seal(&self, sealer: &Sealer, at: ReplyPlace<'_>, entropy: &dyn Entropy) -> String {
        let webhook = self.webhook.as_ref();
        let sealed = Sealed {
            w: webhook.map(|webhook| webhook.url.clone()),
            t: webhook.map(|webhook| webhook.token.expose_secret().to_owned()),
            r: self.asked.to_string(),
            e: self.expires_at.seconds(),
        };
        // Texts and a number alone cannot fail to be written.
        let plain = serde_json::to_vec(&sealed).unwrap_or_default();
        sealer.seal(&plain, &at.binding(), entropy)
    }

    /// Opens what was sealed here for this place; `None` for anything else.
    pub(crate) fn open(correlation: &[u8], sealer: &Sealer, at: ReplyPlace<'_>) -> Option<Self> {
        let text = std::str::from_utf8(correlation).ok()?;
        if text.len() > a2a::mqtt::CORRELATION_MAX {
            return None;
        }
        let plain = sealer.open(text, &at.binding()).ok()?;
        let sealed: Sealed = serde_json::from_slice(&plain).ok()?;
        let webhook = sealed.w.zip(sealed.t);
        Some(Self {
            webhook: webhook.map(|(url, token)| CallWebhook {
                url,
                token: SecretString::from(token),
            }),
            asked: sealed.r.parse().ok()?,
            expires_at: Timestamp::from_millis(sealed.e.checked_mul(1_000)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use domain::SystemEntropy;

    use super::*;

    #[test]
    fn a_correlation_opens_where_it_was_sealed_and_fits_on_the_wire() {
        let sealer = Sealer::new(vec![("k1".to_owned(), Sealer::generate_key(&SystemEntropy))]).unwrap();
        let [acme, globex]: [AgentAddress; 2] =
            ["switchyard/acme/host", "switchyard/globex/host"].map(|it| it.parse().unwrap());
        let at = |requester, topic| ReplyPlace { requester, topic };
        let correlation = Correlation {
            webhook: Some(CallWebhook {
                url: format!("https://{}.example/t/acme/api/webhook/tasks", "x".repeat(120))
                    .parse()
                    .unwrap(),
                token: auth::token::webhook(domain::TaskId::random(&SystemEntropy), &SystemEntropy),
            }),
            asked: "acme/lab/pool/echoes".parse().unwrap(),
            expires_at: Timestamp::from_millis(1_767_225_600_000),
        };
        let sealed = correlation.seal(&sealer, at(&acme, "t"), &SystemEntropy);
        assert!(
            sealed.is_ascii() && sealed.len() <= a2a::mqtt::CORRELATION_MAX,
            "{}",
            sealed.len()
        );
        assert_ne!(sealed, correlation.seal(&sealer, at(&acme, "t"), &SystemEntropy));
        let opened = Correlation::open(sealed.as_bytes(), &sealer, at(&acme, "t")).unwrap();
        assert_eq!(opened.asked, correlation.asked);
        assert_eq!(opened.expires_at, correlation.expires_at);
        assert_eq!(
            opened.webhook.unwrap().token.expose_secret(),
            correlation.webhook.unwrap().token.expose_secret()
        );
        let open = |text: &[u8], place| Correlation::open(text, &sealer, place).is_some();
        assert!(!open(sealed.as_bytes(), at(&globex, "t")));
        assert!(!open(sealed.as_bytes(), at(&acme, "t2")));
        assert!(!open(&sealed.as_bytes()[1..], at(&acme, "t")));
        assert!(!open(&[0xff, 0], at(&acme, "t")) && !open(b"", at(&acme, "t")));
    }
}
