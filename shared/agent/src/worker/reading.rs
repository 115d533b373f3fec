//! Reads what a task was asked for, as data, once before each execution, so that executors never read a sentence.
//!
//! Each message of the user is read by itself, its data before its words (`nlu::extract`), and changes what the messages before
//! it said. A task that then says too little is a change of the chat's newest completed one, where the agent recalls that.

use domain::{Message, Part, PartContent, Role, Task, TaskState, Timestamp};
use nlu::{Asked, Extraction, Takes, extract};
use serde_json::{Map, Value};

use crate::{ExecuteError, Executor, Outcome, Run, SCHEMA_MEDIA_TYPE, Taken, data};

/// Reads what the task was asked for into the run; or what has to be asked first.
pub(super) async fn read(executor: &dyn Executor, run: &mut Run) -> Result<Option<Outcome>, ExecuteError> {
    let Some(takes) = executor.takes() else {
        return Ok(None);
    };
    let is_enough = |read: &Extraction| !read.data.is_empty() && read.missing.is_empty();
    let now = run.now();
    let mut read = of_task(run.task(), takes, now);
    let mut is_recalled = false;
    // What is asked back is answered by itself.
    if !is_enough(&read) && executor.recalls() > 0 && said(run.task()).count() == 1 {
        let earlier = run.earlier(executor.recalls()).await?;
        let mut answered = earlier
            .iter()
            .rev()
            .filter(|task| task.status.state == TaskState::Completed)
            .map(|task| of_task(task, takes, now));
        if let Some(earlier) = answered.find(is_enough) {
            let changes = std::mem::replace(&mut read.data, earlier.data);
            read.data.extend(changes);
            read.missing = takes.schema().missing(&read.data);
            is_recalled = true;
        }
    }
    let question = question(takes, &read);
    run.taken = Taken {
        data: read.data,
        is_recalled,
        unsure: read.unsure,
        unread: read.unread,
    };
    Ok(question)
}

/// What is missing, or what cannot be read, as a question with its schema.
fn question(takes: &Takes, read: &Extraction) -> Option<Outcome> {
    let schema = takes.schema();
    if let Some(misfit) = schema.misfit_of_fields(&read.data) {
        return Some(Outcome::InputRequired(format!(
            "I cannot read your data: {misfit}"
        )));
    }
    let first = read.missing.first()?;
    Some(Outcome::Missing {
        question: schema.described(first).unwrap_or(first).to_owned(),
        schema: schema.of_fields(&read.missing),
    })
}

/// What a task's user said in it, as data.
fn of_task(task: &Task, takes: &Takes, now: Timestamp) -> Extraction {
    let mut all = Extraction::default();
    let mut answers = None;
    for message in &task.history {
        if message.role != Role::User {
            answers = asked_for(message).or(answers);
            continue;
        }
        let fields = data::objects(message).flatten();
        let known: Map<String, Value> = fields
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let known = &known;
        let asked = Asked { known, answers, now };
        let read = extract(&message.text_to_read(), takes, asked);
        all.data.extend(read.data);
        all.unsure.extend(read.unsure);
        all.unread = read.unread;
        answers = None;
    }
    all.missing = takes.schema().missing(&all.data);
    all
}

/// The field that a question asks for first.
fn asked_for(message: &Message) -> Option<&str> {
    let is_schema = |part: &&Part| part.media_type.as_deref() == Some(SCHEMA_MEDIA_TYPE);
    match &message.parts.iter().find(is_schema)?.content {
        PartContent::Data(schema) => schema.pointer("/required/0")?.as_str(),
        _ => None,
    }
}

fn said(task: &Task) -> impl Iterator<Item = &Message> {
    task.history.iter().filter(|message| message.role == Role::User)
}
