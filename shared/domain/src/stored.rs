//! Tasks as they are stored: the version of a record, and what a newer release put into it.
//!
//! Functions and tenants' stacks are of different releases at the same time, so that a release meets records that a newer
//! one has written. It reads them, keeps what it does not know when it writes them back, and leaves alone what it would
//! have to understand. While versions agree none of this costs anything: only a record with a greater version is parsed
//! a second time, as mere JSON.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{JobState, Task};

/// The version of the records that this release writes. It is raised with every change of what is written, so that older
/// releases know that there is more in a record than they see. Records of before there were versions count as 0.
pub const RECORDS: u32 = 2;

/// What stands in our types, and in what they write, for a name that this release does not know.
const UNKNOWN: &str = "unknown";

/// What tells an object's former self from its next: where one of these has changed, what a newer release knew of the
/// object before does not hold any more.
const SELVES: [&str; 3] = ["phase", "state", "at"];

/// What names an object within its list.
const NAMES: [&str; 3] = ["number", "messageId", "artifactId"];

impl Task {
    /// The task of a stored body, of any release.
    ///
    /// # Errors
    /// Where it is no task.
    pub fn from_stored(body: &str) -> Result<Self, serde_json::Error> {
        let mut task: Self = serde_json::from_str(body)?;
        let foreign = task.jobs.iter().any(|job| job.state == JobState::Unknown);
        if task.v > RECORDS || foreign {
            let stored: Value = serde_json::from_str(body)?;
            task.kept.rest = Rest::of(&stored, &serde_json::to_value(&task)?).map(Arc::new);
        }
        if task.v == 0 {
            task.infer();
        }
        task.jobs.iter_mut().for_each(crate::Job::tidy);
        task.v = task.v.max(RECORDS);
        Ok(task)
    }

    /// The body to store: the task, and what a newer release said of it.
    ///
    /// # Errors
    /// Where something in it has no JSON.
    pub fn to_stored(&self) -> Result<String, serde_json::Error> {
        let Some(rest) = &self.kept.rest else {
            return serde_json::to_string(self);
        };
        let mut body = serde_json::to_value(self)?;
        rest.graft(&mut body);
        serde_json::to_string(&body)
    }

    /// True where something in it is of a kind that this release does not know, so that whoever acted on it could do
    /// something twice, or undo something. It may be shown; work on it is left to a newer release.
    #[must_use]
    pub fn needs_newer_release(&self) -> bool {
        self.needs > RECORDS
            || self.jobs.iter().any(|job| job.state == JobState::Unknown)
            || self.kept.rest.as_ref().is_some_and(|rest| rest.has_unknown())
    }

    /// Fills in what records of before there were versions left to be inferred.
    fn infer(&mut self) {
        let last = self
            .history
            .last()
            .filter(|message| message.role == crate::Role::User);
        self.unanswered = last
            .filter(|_| self.history.len() > 1 && self.status.message.is_none())
            .map(|message| message.message_id.clone());
        // Jobs that were prepared at one time were called in one step.
        let (mut step, mut made) = (0, None);
        for job in &mut self.jobs {
            if made.is_some_and(|made| made != job.created_at) {
                step += 1;
            }
            made = Some(job.created_at);
            job.step = step;
        }
    }
}

/// What of a stored value our types have no place for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Rest {
    /// A value where we have none.
    More(Value),
    /// The name of a kind that we do not know.
    Unknown(String),
    /// In the fields of an object.
    Fields {
        /// What the object had of [`SELVES`].
        was: Map<String, Value>,
        /// By field.
        rest: Vec<(String, Rest)>,
    },
    /// In the items of a list.
    Items(Vec<(Item, Rest)>),
}

/// Which item of a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// The one with this name.
    Named(&'static str, Value),
    /// The one at this place, as long as it is this one.
    At(usize, Value),
}

impl Rest {
    fn of(stored: &Value, known: &Value) -> Option<Self> {
        match (stored, known) {
            (Value::Object(stored), Value::Object(known)) => {
                let rest: Vec<_> = stored
                    .iter()
                    .filter_map(|(field, value)| {
                        let rest = match known.get(field) {
                            Some(known) => Self::of(value, known),
                            None => Some(Self::More(value.clone())),
                        };
                        Some((field.clone(), rest?))
                    })
                    .collect();
                (!rest.is_empty()).then(|| Self::Fields {
                    was: selves(known),
                    rest,
                })
            }
            (Value::Array(stored), Value::Array(known)) => {
                let pairs = stored.iter().zip(known).enumerate();
                let rest: Vec<_> = pairs
                    .filter_map(|(place, (stored, known))| {
                        Some((Item::of(place, known), Self::of(stored, known)?))
                    })
                    .collect();
                (!rest.is_empty()).then_some(Self::Items(rest))
            }
            (Value::String(stored), Value::String(known)) if known == UNKNOWN && stored != UNKNOWN => {
                Some(Self::Unknown(stored.clone()))
            }
            _ => None,
        }
    }

    fn has_unknown(&self) -> bool {
        match self {
            Self::More(_) => false,
            Self::Unknown(_) => true,
            Self::Fields { rest, .. } => rest.iter().any(|(_, rest)| rest.has_unknown()),
            Self::Items(rest) => rest.iter().any(|(_, rest)| rest.has_unknown()),
        }
    }

    fn graft(&self, value: &mut Value) {
        match (self, value) {
            (Self::Unknown(name), Value::String(known)) if known == UNKNOWN => known.clone_from(name),
            (Self::Fields { was, rest }, Value::Object(fields)) if selves(fields) == *was => {
                for (field, rest) in rest {
                    match (rest, fields.get_mut(field)) {
                        (Self::More(more), None) => {
                            fields.insert(field.clone(), more.clone());
                        }
                        (rest, Some(known)) => rest.graft(known),
                        (_, None) => {}
                    }
                }
            }
            (Self::Items(rest), Value::Array(items)) => {
                for (item, rest) in rest {
                    if let Some(known) = item.find(items) {
                        rest.graft(known);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Item {
    fn of(place: usize, known: &Value) -> Self {
        let named = NAMES.iter().find_map(|name| Some((*name, known.get(name)?)));
        match named {
            Some((name, value)) => Self::Named(name, value.clone()),
            None => Self::At(place, known.clone()),
        }
    }

    fn find<'v>(&self, items: &'v mut [Value]) -> Option<&'v mut Value> {
        match self {
            Self::Named(name, value) => items.iter_mut().find(|item| item.get(name) == Some(value)),
            Self::At(place, value) => items.get_mut(*place).filter(|item| *item == value),
        }
    }
}

fn selves(fields: &Map<String, Value>) -> Map<String, Value> {
    let told = SELVES.iter().filter_map(|name| Some((*name, fields.get(*name)?)));
    told.filter(|(_, value)| value.is_string())
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{
        AgentName, ContextId, EventKind, Message, MessageId, NewTask, Owner, Part, TaskId, TaskState, Tenant,
        Timestamp, testing,
    };

    fn task() -> Task {
        let now = Timestamp::from_millis(0);
        let new = NewTask {
            id: TaskId::from_bytes([1; 16]),
            tenant: Tenant::parse("acme").unwrap(),
            agent: AgentName::parse("host").unwrap(),
            context_id: ContextId::parse("c").unwrap(),
            owner: Owner::parse("o").unwrap(),
            message: Message::user(MessageId::parse("m").unwrap(), vec![Part::text("hi")]),
            trace: None,
        };
        let mut task = Task::create(new, now);
        task.jobs = vec![testing::job(now), testing::job(now)];
        task.jobs[1].number = 1;
        task
    }

    /// The objects of a body, by the way to them.
    fn objects(value: &Value, way: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                found.push(way.to_owned());
                for (field, value) in fields {
                    objects(value, &format!("{way}/{field}"), found);
                }
            }
            Value::Array(items) => {
                for (place, value) in items.iter().enumerate() {
                    objects(value, &format!("{way}/{place}"), found);
                }
            }
            _ => {}
        }
    }

    proptest! {
        /// Whatever a newer release adds, wherever: an older one that reads and writes loses none of it.
        #[test]
        fn more_fields_in_any_object_survive_a_rewrite(places in prop::collection::vec(any::<prop::sample::Index>(), 1..6)) {
            let mut body = serde_json::to_value(task()).unwrap();
            body["v"] = json!(RECORDS + 1);
            let mut ways = Vec::new();
            objects(&body, "", &mut ways);
            // What a part holds is one of a few kinds, by the name of its only field.
            ways.retain(|way| !way.ends_with("/content"));
            for (number, place) in places.iter().enumerate() {
                let more = body.pointer_mut(place.get::<String>(&ways)).unwrap().as_object_mut().unwrap();
                more.insert(format!("more{number}"), json!({"deep": [number]}));
            }
            let mut read = Task::from_stored(&body.to_string()).unwrap();
            prop_assert!(!read.needs_newer_release());
            let written: Value = serde_json::from_str(&read.to_stored().unwrap()).unwrap();
            prop_assert_eq!(&written, &body);
            // What grows beside it disturbs nothing.
            let next = Message::user(MessageId::parse("n").unwrap(), vec![Part::text("ho")]);
            read.record(EventKind::Said { message: next }, Timestamp::from_millis(1)).unwrap();
            let written: Value = serde_json::from_str(&read.to_stored().unwrap()).unwrap();
            for (number, place) in places.iter().enumerate() {
                let kept = written.pointer(&format!("{}/more{number}", place.get::<String>(&ways)));
                prop_assert_eq!(kept, Some(&json!({"deep": [number]})));
            }
        }
    }

    #[test]
    fn what_was_said_of_a_former_self_goes_with_it() {
        let mut body = serde_json::to_value(task()).unwrap();
        body["v"] = json!(RECORDS + 1);
        body["status"]["progress"] = json!(1);
        body["jobs"][1]["state"] = json!({"phase": "bargaining", "offer": 3});
        let mut read = Task::from_stored(&body.to_string()).unwrap();
        assert!(read.needs_newer_release());
        assert_eq!(
            serde_json::from_str::<Value>(&read.to_stored().unwrap()).unwrap(),
            body
        );
        let lost = EventKind::status(TaskState::Unknown, None);
        read.record(lost, Timestamp::from_millis(1)).unwrap();
        let written: Value = serde_json::from_str(&read.to_stored().unwrap()).unwrap();
        assert_eq!(written["status"]["progress"], Value::Null);
        assert_eq!(
            written["jobs"][1]["state"],
            json!({"phase": "bargaining", "offer": 3})
        );
    }
}
