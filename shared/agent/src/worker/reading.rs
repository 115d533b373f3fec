//! Reads what a task was asked for, as data, once before each execution, so that executors never read a sentence.
//!
//! Each message of the user is read by itself, its data before its words (`nlu::extract`), and changes what the messages before
//! it said. A task that then says too little is a change of what the chat's completed ones come to, where the agent recalls that.
//!
//! The schema of a question says how its reply is read. One of fewer choices than the field has is chosen from before the words are
//! read as always. From the first form of an executor's own on ([`Outcome::Form`], told by [`FORM`] among its metadata, which no message
//! of a user can be), all that is said is for forms, and is read against the newest one's schema in the same way.

use domain::{Message, Role, Task, TaskState, Timestamp, UserContext};
use nlu::{Asked, Extraction, InputSchema, Takes, extract};
use serde_json::{Map, Value};

use crate::{ExecuteError, Executor, Filled, Outcome, Run, Taken, data};

/// Among the metadata of the question that opens a form: who asks, and for what.
pub(super) const FORM: &str = "switchyard/form";

/// Reads what the task was asked for into the run; or what has to be asked first.
pub(super) async fn read(executor: &dyn Executor, run: &mut Run) -> Result<Option<Outcome>, ExecuteError> {
    let Some(takes) = executor.takes() else {
        return Ok(None);
    };
    let now = run.now();
    let form = match of_form(&run.task().history, now) {
        Some(Err(open)) => return Ok(Some(open)),
        form => form.and_then(Result::ok),
    };
    let mut read = of_task(run.task(), takes, now);
    let mut recalled = Vec::new();
    // Where nothing must be there, what is asked back is answered by itself.
    let may_recall = !takes.schema().requires().is_empty() || said(run.task()).count() == 1;
    if executor.recalls() > 0 && may_recall && is_little(takes, &read) {
        let earlier = run.earlier(executor.recalls()).await?;
        if let Some(mut earlier) = so_far(&earlier, takes, now) {
            recalled.extend(
                earlier
                    .data
                    .keys()
                    .filter(|name| !read.data.contains_key(*name))
                    .cloned(),
            );
            earlier.data.append(&mut read.data);
            earlier.places.append(&mut read.places);
            read = Extraction {
                missing: takes.schema().missing(&earlier.data),
                data: earlier.data,
                places: earlier.places,
                ..read
            };
        }
    }
    let question = question(takes, &read).filter(|_| form.is_none());
    run.taken = Taken {
        data: read.data,
        recalled,
        unsure: read.unsure,
        unread: read.unread,
        places: read.places,
        form,
    };
    Ok(question)
}

/// Whether it says too little by itself, or so little that it may be a change: "and in Bergen?"
fn is_little(takes: &Takes, read: &Extraction) -> bool {
    let must = takes.schema().requires();
    let is_said = |(name, value): &(&String, &Value)| !value.is_null() && !takes.is_in_turn(name);
    let mut said = read.data.iter().filter(is_said).peekable();
    said.peek().is_none()
        || !read.missing.is_empty()
        || !must.is_empty() && said.all(|(name, _)| must.contains(&name.as_str()))
}

/// What the completed tasks of a chat come to, of which each goes on from the one before; `None` where that is not enough.
fn so_far(earlier: &[Task], takes: &Takes, now: Timestamp) -> Option<Extraction> {
    let completed = earlier
        .iter()
        .rev()
        .filter(|task| task.status.state == TaskState::Completed);
    let mut chain = Vec::new();
    for task in completed {
        let read = of_task(task, takes, now);
        let goes_on = is_little(takes, &read);
        chain.push(read);
        if !goes_on {
            break;
        }
    }
    let together = chain.into_iter().rev().reduce(|mut before, mut next| {
        before.data.append(&mut next.data);
        before.places.append(&mut next.places);
        before
    });
    together.filter(|read| !read.data.is_empty() && takes.schema().missing(&read.data).is_empty())
}

/// What is missing, or what cannot be read, as a question with its schema.
fn question(takes: &Takes, read: &Extraction) -> Option<Outcome> {
    let schema = takes.schema();
    if let Some(misfit) = schema.misfit_of_fields(&read.data) {
        let named = read.data.keys().filter(|name| misfit.starts_with(name.as_str()));
        return Some(Outcome::Missing {
            question: format!("I cannot read your data: {misfit}"),
            schema: schema.of_fields(&named.collect::<Vec<_>>()),
        });
    }
    if let Some((field, question)) = &read.unclear {
        return Some(Outcome::Missing {
            question: question.clone(),
            schema: schema.of_fields(&[field]),
        });
    }
    let first = read.missing.first()?;
    Some(Outcome::Missing {
        question: schema.described(first).unwrap_or(first).to_owned(),
        schema: schema.of_fields(&read.missing),
    })
}

/// What is said to the newest form of a task, or what is open of it; `None` where there is none.
fn of_form(history: &[Message], now: Timestamp) -> Option<Result<Filled, Outcome>> {
    let said = history.get(history.iter().rposition(is_form)?..)?;
    let (asked, replies) = said.split_first()?;
    let takes = Takes::new(asked.form()?, &[]);
    let mut read = of_messages(said, &takes, now);
    read.data
        .retain(|name, _| takes.schema().fields().any(|(known, _)| known == name));
    if read.missing.is_empty() && takes.schema().misfit_of_fields(&read.data).is_none() {
        return Some(Ok(Filled::In(read.data)));
    }
    let newest = replies.iter().rfind(|message| message.role == Role::User);
    if newest.is_some_and(|reply| words::yes_or_no(&reply.text_to_read()) == Some(false)) {
        return Some(Ok(Filled::Declined));
    }
    Some(Err(match question(&takes, &read)? {
        Outcome::Missing { schema, .. } if takes.schema().misfit_of_fields(&read.data).is_none() => {
            Outcome::Missing {
                question: form_question(asked.metadata.get(FORM)?.as_str()?, &schema),
                schema,
            }
        }
        misfit => misfit,
    }))
}

fn is_form(message: &Message) -> bool {
    message.role != Role::User && message.metadata.contains_key(FORM)
}

/// What is asked for the first field that must be filled in.
pub(super) fn form_question(lead: &str, schema: &InputSchema) -> String {
    let Some(name) = schema.requires().first().copied() else {
        return lead.to_owned();
    };
    let choices: Vec<&str> = schema.choices(name).map(|(_, told)| told).collect();
    let how = match schema.kind(name) {
        _ if !choices.is_empty() => format!(" ({})", words::listed(&choices, "or")),
        "integer" | "number" => " (a number)".to_owned(),
        "boolean" => " (yes or no)".to_owned(),
        _ => String::new(),
    };
    format!("{lead} – {}{how}?", schema.described(name).unwrap_or(name))
}

/// What a task's user said in it, as data, before any form.
fn of_task(task: &Task, takes: &Takes, now: Timestamp) -> Extraction {
    let forms = task.history.iter().position(is_form);
    let said = task.history.get(..forms.unwrap_or(task.history.len()));
    of_messages(said.unwrap_or_default(), takes, now)
}

/// What is said to a schema in messages, each of which changes those before.
fn of_messages(messages: &[Message], takes: &Takes, now: Timestamp) -> Extraction {
    let mut all = Extraction::default();
    let mut asks = None;
    let user = UserContext::newest(messages.iter());
    for message in messages {
        if message.role != Role::User {
            asks = message.form().or(asks);
            continue;
        }
        let answers = asks.and_then(|schema| schema.pointer("/required/0")?.as_str());
        let fields = data::objects(message).flatten();
        let mut known: Map<String, Value> = fields
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        // Answers are in turn.
        if let Some(name) = answers.filter(|name| takes.is_in_turn(name))
            && let Some(before @ Value::Array(_)) = all.data.get(name)
        {
            known.entry(name).or_insert_with(|| before.clone());
        }
        let mut text = message.text_to_read();
        for (name, chosen) in asks.map_or_else(Map::new, |schema| chosen(takes, schema, &text)) {
            known.entry(name).or_insert(chosen);
        }
        let schema = takes.schema();
        if let Some(name) = answers.filter(|name| schema.kind(name) == "integer")
            && let Some(number) = words::people::number_alone(&text)
        {
            known.entry(name).or_insert(number.into());
            text.clear();
        }
        let asked = Asked {
            known: &known,
            before: &all.data,
            answers,
            now,
            user: &user,
        };
        let mut read = extract(&text, takes, asked);
        // "No limit": what need not be there is not to be there.
        if let Some(name) = answers.filter(|name| !schema.requires().contains(name))
            && words::yes_or_no(&text) == Some(false)
            && !read.data.contains_key(name)
        {
            read = Extraction {
                data: Map::from_iter([(name.to_owned(), Value::Null)]),
                ..Extraction::default()
            };
        }
        let is_open = |(field, _): &(String, String)| !takes.is_settled(field, &read.data);
        all.unclear = read.unclear.or(all.unclear.take().filter(is_open));
        all.data.extend(read.data);
        all.unsure.extend(read.unsure);
        all.places.extend(read.places);
        all.unread = read.unread;
        asks = None;
    }
    all.missing = takes.schema().missing(&all.data);
    all
}

/// What a reply chooses of the choices that a question gives, and the field itself has not.
fn chosen(takes: &Takes, asks: &Value, reply: &str) -> Map<String, Value> {
    let mut chosen = InputSchema::of(asks).unwrap_or_default().chosen(reply);
    chosen.retain(|name, _| takes.schema().choices(name).next().is_none());
    chosen
}

fn said(task: &Task) -> impl Iterator<Item = &Message> {
    task.history.iter().filter(|message| message.role == Role::User)
}

#[cfg(test)]
mod tests {
    use domain::{MessageId, Part};
    use serde_json::json;

    use super::*;

    /// What a form of these fields comes to, of which the first `must` must be filled in.
    fn answers(fields: &[(&str, Value)], replies: Vec<Part>) -> Result<Filled, String> {
        let named = |(name, field): &(&str, Value)| {
            let mut field = field.clone();
            field["description"] = json!(name);
            ((*name).to_owned(), field)
        };
        let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
        let properties: Map<String, Value> = fields.iter().map(named).collect();
        let schema = json!({"type": "object", "properties": properties, "required": names});
        let mut form = Message::agent_text(MessageId::derived("a"), "Fill it in");
        form.metadata.insert(FORM.to_owned(), "More, please".into());
        form.parts.push(Part::form(schema));
        let mut history = vec![form];
        for reply in replies {
            history.push(Message::user(MessageId::derived("m"), vec![reply]));
            match of_form(&history, Timestamp::from_millis(0)).unwrap() {
                Ok(filled) => return Ok(filled),
                Err(Outcome::Missing { question, schema }) => {
                    let mut asks = Message::agent_text(MessageId::derived("q"), &question);
                    asks.parts.push(Part::form(schema.as_json().clone()));
                    history.push(asks);
                }
                Err(other) => panic!("{other:?}"),
            }
        }
        Err(history.last().unwrap().text())
    }

    fn filled(value: Value) -> Result<Filled, String> {
        Ok(Filled::In(value.as_object().unwrap().clone()))
    }

    #[test]
    fn words_fill_in_one_field_after_another() {
        let choice = json!({"type": "string", "oneOf": [{"const": "f", "description": "Flat"}, {"const": "h", "description": "House"}]});
        let form = [("kind", choice), ("beds", json!({"type": "integer"}))];
        let words = ["a boat", "a flat", "many", "2"].map(Part::text);
        let asked = |replies: &[Part]| answers(&form, replies.to_vec()).unwrap_err();
        assert_eq!(asked(&words[..1]), "More, please – kind (Flat or House)?");
        assert_eq!(asked(&words[..3]), "More, please – beds (a number)?");
        assert_eq!(
            answers(&form, words.to_vec()),
            filled(json!({"kind": "f", "beds": 2}))
        );
    }

    #[test]
    fn data_fills_in_all_fields_at_once_and_wrong_types_stay_open() {
        let form = [
            ("beds", json!({"type": "integer"})),
            ("pets", json!({"type": "boolean"})),
        ];
        let whole = json!({"beds": 2, "pets": false});
        let more = Part::data(json!({"beds": 2, "pets": false, "else": 1}));
        assert_eq!(answers(&form, vec![more]), filled(whole.clone()));
        let wrong = Part::data(json!({"beds": "two", "pets": false}));
        let asked = answers(&form, vec![wrong.clone()]).unwrap_err();
        assert_eq!(asked, "I cannot read your data: beds must be a number.");
        assert_eq!(answers(&form, vec![wrong, Part::text("2")]), filled(whole));
    }

    #[test]
    fn no_leaves_it_empty_but_for_a_question_of_yes_or_no() {
        for (kind, reply, told) in [
            ("string", "no", Ok(Filled::Declined)),
            ("integer", "no, thanks", Ok(Filled::Declined)),
            ("boolean", "no", filled(json!({"a": false}))),
            ("string", "quiet, please", filled(json!({"a": "quiet, please"}))),
            ("number", "2.5", filled(json!({"a": 2.5}))),
        ] {
            let form = [("a", json!({"type": kind, "maxLength": 200}))];
            assert_eq!(answers(&form, vec![Part::text(reply)]), told, "{kind}: {reply}");
        }
        let form = [("a", json!({"type": "string", "maxLength": 200}))];
        let long = answers(&form, vec![Part::text("x".repeat(1_000))]);
        assert!(long.unwrap_err().contains("at most"));
    }
}
