//! The stored form of a consent.
//!
//! It is the flat record that every release has written, so that releases side by side read each other: a stage is told
//! by `status` and by which of the other fields are there. [`Consent`] is what the rest of the code sees.

use std::collections::{BTreeMap, BTreeSet};

use domain::{MessageId, RECORDS, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

use crate::stage::{Consent, ConsentRequest, Newer, Stage, Started};

#[derive(Serialize, Deserialize)]
struct Record {
    /// The version it was written in.
    #[serde(default)]
    v: u32,
    id: String,
    #[serde(flatten)]
    request: ConsentRequest,
    /// Empty but in [`Stage::Started`]: the first release does not read a record without it.
    #[serde(default)]
    sealed: String,
    #[serde(default)]
    state_hash: Option<String>,
    #[serde(default)]
    browser_hash: Option<String>,
    status: Status,
    #[serde(default)]
    code_hash: Option<String>,
    #[serde(default)]
    sealed_result: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    wrong_codes: BTreeSet<MessageId>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    used_proofs: BTreeMap<String, Timestamp>,
    created_at: Timestamp,
    expires_at: Timestamp,
    version: u64,
    #[serde(flatten)]
    more: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Open,
    /// Also while a code is awaited; then the code's hash is there.
    Started,
    Done,
    Denied,
    Expired,
    #[serde(untagged)]
    Newer(String),
}

impl Serialize for Consent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.stage {
            Stage::Newer(newer) => newer.0.serialize(serializer),
            _ => Record::from(self.clone()).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Consent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let record = Record::deserialize(deserializer)?;
        Self::try_from(record).map_err(de::Error::custom)
    }
}

impl TryFrom<Record> for Consent {
    type Error = &'static str;

    fn try_from(record: Record) -> Result<Self, Self::Error> {
        let stage = match record.status {
            Status::Open => Stage::Open,
            Status::Done => Stage::Done,
            Status::Denied => Stage::Denied,
            Status::Expired => Stage::Ended,
            Status::Newer(_) => {
                let whole = serde_json::to_value(&record);
                Stage::Newer(Newer(whole.map_err(|_| "the record is not JSON")?))
            }
            Status::Started => match (
                record.code_hash,
                record.sealed_result,
                record.state_hash,
                record.browser_hash,
            ) {
                (Some(code_hash), Some(sealed_grant), _, _) => Stage::AwaitingCode {
                    code_hash,
                    sealed_grant,
                },
                (_, _, Some(state_hash), Some(browser_hash)) => Stage::Started(Started {
                    state_hash,
                    browser_hash,
                    sealed: record.sealed,
                }),
                _ => return Err("a started consent has neither a state nor a code"),
            },
        };
        Ok(Self {
            id: record.id,
            request: record.request,
            stage,
            created_at: record.created_at,
            expires_at: record.expires_at,
            wrong_codes: record.wrong_codes,
            used_proofs: record.used_proofs,
            version: record.version,
            v: record.v.max(RECORDS),
            more: record.more,
        })
    }
}

impl From<Consent> for Record {
    fn from(consent: Consent) -> Self {
        let mut record = Self {
            v: consent.v,
            id: consent.id,
            request: consent.request,
            sealed: String::new(),
            state_hash: None,
            browser_hash: None,
            status: Status::Open,
            code_hash: None,
            sealed_result: None,
            wrong_codes: consent.wrong_codes,
            used_proofs: consent.used_proofs,
            created_at: consent.created_at,
            expires_at: consent.expires_at,
            version: consent.version,
            more: consent.more,
        };
        match consent.stage {
            Stage::Open => {}
            Stage::Started(started) => {
                record.status = Status::Started;
                record.state_hash = Some(started.state_hash);
                record.browser_hash = Some(started.browser_hash);
                record.sealed = started.sealed;
            }
            Stage::AwaitingCode {
                code_hash,
                sealed_grant,
            } => {
                record.status = Status::Started;
                record.code_hash = Some(code_hash);
                record.sealed_result = Some(sealed_grant);
            }
            Stage::Done => record.status = Status::Done,
            Stage::Denied => record.status = Status::Denied,
            Stage::Ended => record.status = Status::Expired,
            // Written as it was read, by `Serialize`.
            Stage::Newer(_) => {}
        }
        record
    }
}
