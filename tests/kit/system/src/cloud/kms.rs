//! KMS, as far as functions and operators use it: data keys, sealed under keys that nobody sees. What is sealed with a context opens
//! with the same one alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use auth::Sealer;
use aws_smithy_types::base64;
use domain::{Entropy as _, SystemEntropy};
use serde_json::{Value, json};

use crate::policy::{ENCRYPTION_CONTEXT, Request};

/// Most bytes that are sealed by one call, and of a sealed text.
const SEALED: usize = 6144;

/// The keys by ARN.
#[derive(Default)]
pub struct Kms {
    keys: Mutex<BTreeMap<String, Arc<Sealer>>>,
}

/// What is sealed with a data key.
type Context = BTreeMap<String, String>;

/// What KMS says instead of an answer: the kind, and why.
pub type Refusal = (&'static str, &'static str);

const NO_KEY: Refusal = ("NotFoundException", "there is no such key");
const NOT_OURS: Refusal = (
    "InvalidCiphertextException",
    "it was not sealed by this key with this context",
);
const INVALID: Refusal = ("ValidationException", "the request is not understood here");

impl Kms {
    /// A key is there; one that was there before stays as it is.
    pub fn put(&self, arn: &str) {
        let mut keys = self.keys.lock().expect("no panic under the lock");
        keys.entry(arn.to_owned()).or_insert_with(|| {
            let own = vec![("k1".to_owned(), Sealer::generate_key(&SystemEntropy))];
            Arc::new(Sealer::new(own).expect("a key"))
        });
    }

    fn key(&self, arn: &str) -> Result<Arc<Sealer>, Refusal> {
        let keys = self.keys.lock().expect("no panic under the lock");
        keys.get(arn).cloned().ok_or(NO_KEY)
    }

    /// What IAM is asked about a call.
    ///
    /// # Errors
    /// Where the call is not understood.
    pub fn asked(&self, operation: &str, request: &Value) -> Result<Request, Refusal> {
        let arn = match operation {
            // The key is that which sealed it; whoever names it makes sure of that.
            "Decrypt" => {
                let (arn, _) = sealed(request)?;
                if request["KeyId"].as_str().is_some_and(|named| named != arn) {
                    return Err(("IncorrectKeyException", "another key sealed it"));
                }
                arn
            }
            "GenerateDataKey" => request["KeyId"].as_str().ok_or(INVALID)?.to_owned(),
            _ => return Err(INVALID),
        };
        let asked = Request::new(format!("kms:{operation}"), arn);
        Ok(context(request)?.iter().fold(asked, |asked, (name, value)| {
            asked.with(&format!("{ENCRYPTION_CONTEXT}{name}"), [value.as_str()])
        }))
    }

    /// Answers a call that is allowed.
    ///
    /// # Errors
    /// Where it does not open, or there is no such key.
    pub fn answer(&self, operation: &str, request: &Value) -> Result<Value, Refusal> {
        let context = serde_json::to_string(&context(request)?).expect("texts");
        if operation == "Decrypt" {
            let (arn, text) = sealed(request)?;
            let plain = self.key(&arn)?.open(&text, &context).map_err(|_| NOT_OURS)?;
            return Ok(json!({
                "KeyId": arn, "Plaintext": base64::encode(plain), "EncryptionAlgorithm": "SYMMETRIC_DEFAULT",
            }));
        }
        let arn = request["KeyId"].as_str().unwrap_or_default();
        let bytes = match (request["KeySpec"].as_str(), request["NumberOfBytes"].as_u64()) {
            (Some("AES_256"), None) | (None, Some(32)) => 32,
            _ => return Err(INVALID),
        };
        let mut plain = vec![0; bytes];
        SystemEntropy.fill(&mut plain);
        let text = self.key(arn)?.seal(&plain, &context, &SystemEntropy);
        Ok(json!({
            "KeyId": arn, "Plaintext": base64::encode(&plain), "CiphertextBlob": base64::encode(format!("{arn} {text}")),
        }))
    }
}

/// The ARN of the key that sealed what is to be opened, and the sealed text.
fn sealed(request: &Value) -> Result<(String, String), Refusal> {
    let blob = request["CiphertextBlob"]
        .as_str()
        .filter(|blob| blob.len() <= SEALED);
    let blob = base64::decode(blob.ok_or(INVALID)?).map_err(|_| NOT_OURS)?;
    let text = String::from_utf8(blob).map_err(|_| NOT_OURS)?;
    let (arn, text) = text.split_once(' ').ok_or(NOT_OURS)?;
    Ok((arn.to_owned(), text.to_owned()))
}

fn context(request: &Value) -> Result<Context, Refusal> {
    let given = request["EncryptionContext"].as_object().into_iter().flatten();
    let each = given.map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    each.collect::<Option<_>>().ok_or(INVALID)
}
