//! Tasks as they are stored: the version of a record, and what a newer release put into it.
//!
//! Functions and tenants' stacks are of different releases at the same time, so that a release meets records that a newer
//! one has written. It reads them, keeps what it does not know when it writes them back, and leaves alone what it would
//! have to understand. While versions agree none of this costs anything: only a record with a greater version is parsed
//! a second time, as mere JSON.

use std::sync::Arc;

use serde_json::Value;

use crate::rest::{RECORDS, Rest};
use crate::{JobState, Task};

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
        task.unshare();
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
            let shared = self.shared();
            return serde_json::to_string(shared.as_ref().unwrap_or(self));
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
