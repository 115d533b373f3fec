//! Parameters of the operations that carry little more than names: a JSON object over JSON-RPC and in REST bodies, a
//! query over REST. Both are read alike, because protobuf's JSON writes numbers as text too.

use domain::{Generation, Metadata, TaskState, Timestamp};
use serde_json::{Map, Value};

use crate::lenient::{Fault, enum_name, tidy};
use crate::{Call, ListCall, v0_3, v1_0};

/// Most bytes of a page token: ours are shorter, others' are refused unread.
const MAX_TOKEN: usize = 2048;
/// Most bytes of an id: what is longer is no id of ours anyway.
const MAX_ID: usize = 512;

/// Named parameters, tidied.
#[derive(Debug)]
pub(crate) struct Params(Map<String, Value>);

impl Params {
    /// Of a tidied JSON object.
    pub(crate) fn of(told: Value) -> Result<Self, Fault> {
        match told {
            Value::Object(fields) => Ok(Self(fields)),
            _ => Err(Fault::new("params must be an object")),
        }
    }

    /// Of a raw query. Of a name that stands twice the last counts; `A2A-Version` is none of the parameters.
    pub(crate) fn of_query(query: Option<&str>) -> Result<Self, Fault> {
        let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let fields: Map<String, Value> = pairs
            .map(|(name, value)| (name.into_owned(), Value::String(value.into_owned())))
            .collect();
        Self::of(tidy(&Value::Object(fields))?)
    }

    /// A text; an empty one is as good as none.
    fn text(&self, name: &str, max: usize) -> Result<Option<String>, Fault> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.len() > max => Err(Fault::new(format!("{name} is too long"))),
            Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
            Some(_) => Err(Fault::new(format!("{name} must be text"))),
        }
    }

    fn id(&self, name: &str) -> Result<String, Fault> {
        self.text(name, MAX_ID)?
            .ok_or_else(|| Fault::new(format!("{name} is missing")))
    }

    /// A number that is not negative, as a number or as text.
    fn count(&self, name: &str) -> Result<Option<u32>, Fault> {
        let number = match self.0.get(name) {
            None => return Ok(None),
            Some(Value::String(text)) if text.is_empty() => return Ok(None),
            Some(Value::String(text)) => text.parse().ok(),
            // Protobuf's JSON takes 1.0 for 1.
            Some(Value::Number(number)) => number
                .as_u64()
                .or_else(|| number.as_f64().filter(|told| told.fract() == 0.0).and_then(whole))
                .and_then(|told| u32::try_from(told).ok()),
            Some(_) => None,
        };
        let fits = number.filter(|number| *number <= i32::MAX.unsigned_abs());
        fits.map(Some)
            .ok_or_else(|| Fault::new(format!("{name} must be a whole number that is not negative")))
    }

    fn flag(&self, name: &str) -> Result<bool, Fault> {
        match self.0.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(Value::String(text)) if text == "true" => Ok(true),
            Some(Value::String(text)) if text == "false" || text.is_empty() => Ok(false),
            Some(_) => Err(Fault::new(format!("{name} must be true or false"))),
        }
    }

    fn time(&self, name: &str) -> Result<Option<Timestamp>, Fault> {
        let told = self.text(name, 64)?;
        told.map(|told| {
            // A query's `+02:00` arrives as a blank where the client did not escape it.
            Timestamp::parse(&told.replace(' ', "+"))
                .ok_or_else(|| Fault::new(format!("{name} must be a time of RFC 3339")))
        })
        .transpose()
    }

    fn metadata(&self) -> Result<Metadata, Fault> {
        match self.0.get("metadata") {
            None => Ok(Metadata::new()),
            Some(Value::Object(fields)) => Ok(fields.clone()),
            Some(_) => Err(Fault::new("metadata must be an object")),
        }
    }

    pub(crate) fn tenant(&self) -> Result<Option<String>, Fault> {
        self.text("tenant", MAX_ID)
    }

    /// How many messages to show; 0.3 counts 0 as "all".
    pub(crate) fn history_length(&self, generation: Generation) -> Result<Option<u32>, Fault> {
        let length = self.count("historyLength")?;
        Ok(length.filter(|length| generation == Generation::V1_0 || *length > 0))
    }
}

/// A float without a fraction as the integer it is.
fn whole(told: f64) -> Option<u64> {
    let text = format!("{told:.0}");
    text.parse().ok()
}

pub(crate) fn get(params: &Params, generation: Generation) -> Result<Call, Fault> {
    Ok(Call::Get {
        id: params.id("id")?,
        history_length: params.history_length(generation)?,
        tenant: params.tenant()?,
    })
}

pub(crate) fn list(params: &Params, generation: Generation) -> Result<ListCall, Fault> {
    let told = params.count("pageSize")?;
    // Protobuf's JSON of 0.3 has no other way to leave it out.
    let page_size = match told.filter(|size| generation == Generation::V1_0 || *size > 0) {
        None => ListCall::DEFAULT_PAGE,
        Some(size @ 1..=ListCall::MAX_PAGE) => size,
        Some(_) => {
            let max = ListCall::MAX_PAGE;
            return Err(Fault::new(format!("pageSize must be from 1 to {max}")));
        }
    };
    let state = params.text("status", 64)?;
    let state = state.map(|name| read_state(&name)).transpose()?.flatten();
    Ok(ListCall {
        context_id: params.text("contextId", MAX_ID)?,
        state,
        page_size,
        page_token: params.text("pageToken", MAX_TOKEN)?,
        history_length: params.history_length(generation)?,
        changed_since: params.time("statusTimestampAfter")?,
        include_artifacts: params.flag("includeArtifacts")?,
        tenant: params.tenant()?,
    })
}

/// The state of either generation's name; unspecified means any.
fn read_state(name: &str) -> Result<Option<TaskState>, Fault> {
    // A query has numbers as text.
    let by_number = name.parse().ok().and_then(|number| enum_name("status", number));
    let name = by_number.unwrap_or(name);
    if name == "TASK_STATE_UNSPECIFIED" {
        return Ok(None);
    }
    let plain = name
        .strip_prefix("TASK_STATE_")
        .map(|state| state.to_lowercase().replace('_', "-"));
    TaskState::parse(plain.as_deref().unwrap_or(name))
        .map(Some)
        .ok_or_else(|| Fault::new("status is none of A2A's states"))
}

pub(crate) fn cancel(params: &Params) -> Result<Call, Fault> {
    cancel_of(params.id("id")?, params)
}

/// The same where the path names the task.
pub(crate) fn cancel_of(id: String, params: &Params) -> Result<Call, Fault> {
    Ok(Call::Cancel {
        id,
        metadata: params.metadata()?,
        tenant: params.tenant()?,
    })
}

pub(crate) fn subscribe(params: &Params) -> Result<Call, Fault> {
    Ok(Call::Subscribe {
        id: params.id("id")?,
        tenant: params.tenant()?,
    })
}

pub(crate) fn create_push(params: Params, generation: Generation) -> Result<Call, Fault> {
    let task_id = params.id("taskId")?;
    create_push_of(task_id, params, generation)
}

/// The same where the path names the task.
pub(crate) fn create_push_of(task_id: String, params: Params, generation: Generation) -> Result<Call, Fault> {
    let tenant = params.tenant()?;
    let told = Value::Object(params.0);
    let target = match generation {
        Generation::V1_0 => v1_0::read_push(told)?,
        Generation::V0_3 => v0_3::read_push(told)?,
    };
    Ok(Call::CreatePush {
        task_id,
        target,
        tenant,
    })
}

pub(crate) fn get_push(params: &Params, generation: Generation) -> Result<Call, Fault> {
    let (task_id, id) = match generation {
        Generation::V1_0 => (params.id("taskId")?, Some(params.id("id")?)),
        Generation::V0_3 => (params.id("id")?, params.text("pushNotificationConfigId", MAX_ID)?),
    };
    Ok(Call::GetPush {
        task_id,
        id,
        tenant: params.tenant()?,
    })
}

pub(crate) fn list_push(params: &Params, generation: Generation) -> Result<Call, Fault> {
    let task_id = match generation {
        Generation::V1_0 => params.id("taskId")?,
        Generation::V0_3 => params.id("id")?,
    };
    list_push_of(task_id, params)
}

/// The same where the path names the task.
pub(crate) fn list_push_of(task_id: String, params: &Params) -> Result<Call, Fault> {
    Ok(Call::ListPush {
        task_id,
        page_size: params.count("pageSize")?.filter(|size| *size > 0),
        page_token: params.text("pageToken", MAX_TOKEN)?,
        tenant: params.tenant()?,
    })
}

pub(crate) fn delete_push(params: &Params, generation: Generation) -> Result<Call, Fault> {
    let (task_id, id) = match generation {
        Generation::V1_0 => ("taskId", "id"),
        Generation::V0_3 => ("id", "pushNotificationConfigId"),
    };
    Ok(Call::DeletePush {
        task_id: params.id(task_id)?,
        id: params.id(id)?,
        tenant: params.tenant()?,
    })
}

pub(crate) fn extended_card(params: &Params) -> Result<Call, Fault> {
    Ok(Call::ExtendedCard {
        tenant: params.tenant()?,
    })
}
