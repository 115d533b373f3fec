//! What of a task its owner sees: everything but the addresses and secrets it is worked with.

use domain::{
    AgentType, Artifact, Clause, Event, EventKind, Fate, Job, Message, PartContent, PlanStep, Role, Task,
    TaskPlan, TaskState, WorkNote,
};
use outbound::below;
use serde_json::{Map, Value, json};
use store::AnswerDraft;
use url::Url;

use crate::chat::turn;
use crate::tasks::artifact_view::{artifact, artifacts, in_brief, is_of_the_web};
use crate::tasks::consent_view;
use crate::tasks::history_view::{failed_attempts, job_state, job_states, states};
use crate::tasks::plan_view::{plan, plan_of};

/// Most bytes of data that a result repeats from the artifacts.
const REPEATED: usize = 128 * 1024;

/// One of several tasks: large artifacts by name and size alone.
pub(crate) fn listed(base: &Url, one: &Task) -> Value {
    let mut view = task(base, one, None);
    let of = |view: &mut Value| {
        let artifacts = view.get_mut("artifacts").and_then(Value::as_array_mut);
        artifacts.into_iter().flatten().for_each(in_brief);
    };
    of(&mut view);
    let jobs = view.get_mut("jobs").and_then(Value::as_array_mut);
    jobs.into_iter().flatten().for_each(of);
    view
}

/// The whole task, whose files lie below the tenant's base. Events, where given, become its history of states.
pub(crate) fn task(base: &Url, task: &Task, events: Option<&[Event]>) -> Value {
    let files = |place: String| below(base, &format!("api/tasks/{}/files/{place}", task.id));
    let job = task.jobs.last();
    let mut view = json!({
        "id": task.id,
        "contextId": task.context_id,
        "status": task.status.state,
        "statusAt": task.status.at,
        "statusMessage": status_text(task),
        "authUrl": auth_url(task),
        "authUrlBy": auth_url_by(task),
        "authUrlHost": auth_url_host(task),
        "consent": consent(task),
        "choices": choices(task),
        "form": form(task),
        "result": result(task),
        "outcome": outcome(task),
        "artifacts": artifacts(&task.artifacts, "", &files),
        "agentType": job.map(|job| &job.agent_type),
        "agentName": job.map(|job| &job.agent_name),
        "remoteTaskId": job.and_then(Job::remote_task_id),
        "jobs": task.jobs.iter().map(|job| job_of(task, job, &files)).collect::<Vec<_>>(),
        "plan": plan_of(task),
        "clauses": clauses(task),
        "links": links(task),
        "prompt": prompt(task),
        "createdAt": task.created_at,
        "updatedAt": task.updated_at,
        "traceId": task.trace.as_ref().map(domain::TraceParent::trace_id),
        "rev": task.rev,
    });
    if let (Some(events), Some(fields)) = (events, view.as_object_mut()) {
        fields.insert("history".into(), states(events));
        fields.insert("failedAttempts".into(), failed_attempts(events));
        if let Some(Value::Array(jobs)) = fields.get_mut("jobs") {
            for (view, job) in jobs.iter_mut().zip(&task.jobs) {
                if let Some(fields) = view.as_object_mut() {
                    fields.insert("history".into(), job_states(events, job.number));
                }
            }
        }
    }
    view
}

/// A task as a card in the chat: the data of a `data-task` part.
pub(crate) fn card(task: &Task) -> Value {
    let mut card = json!({
        "artifactType": "task",
        "taskId": task.id,
        "contextId": task.context_id,
        "state": task.status.state,
        "updatedAt": task.updated_at,
        "title": prompt(task),
    });
    let optional = [
        ("agentType", task.jobs.last().map(|job| json!(job.agent_type))),
        ("agentName", task.jobs.last().map(|job| json!(job.agent_name))),
        // The answer asks for consent; the card has the button.
        (
            "statusMessage",
            status_text(task)
                .filter(|_| auth_url_by(task) != Some("platform"))
                .map(Value::String),
        ),
        ("outcome", outcome(task).map(Value::String)),
        ("declined", is_declined(task).then_some(Value::Bool(true))),
        ("plan", plan_of(task)),
        ("clauses", clauses(task)),
        ("authUrl", auth_url(task).map(Value::String)),
        ("authUrlBy", auth_url_by(task).map(Value::from)),
        ("authUrlHost", auth_url_host(task).map(Value::String)),
        ("consent", consent(task)),
        ("choices", choices(task)),
        ("form", form(task)),
        (
            "links",
            status_text(task).and_then(|text| listed_links([text.as_str()])),
        ),
        // Whoever shows the chat may want to see the words as they come.
        ("writing", turn::may_draft(task).then_some(Value::Bool(true))),
        (
            "jobs",
            (task.jobs.len() > 1 || task.plan.is_some())
                .then(|| Value::Array(task.jobs.iter().map(brief).collect())),
        ),
    ];
    if let Some(fields) = card.as_object_mut() {
        for (name, value) in optional {
            fields.extend(value.map(|value| (name.to_owned(), value)));
        }
    }
    card
}

/// The addresses of all its texts that a page may link.
fn links(task: &Task) -> Option<Value> {
    let of_jobs = task.jobs.iter().flat_map(|job| &job.artifacts);
    let parts = task
        .artifacts
        .iter()
        .chain(of_jobs)
        .flat_map(|artifact| &artifact.parts);
    let texts = parts.filter_map(|part| match &part.content {
        PartContent::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let status = status_text(task);
    let of_jobs = task.jobs.iter().filter_map(|job| job.remote()?.text.as_deref());
    listed_links(texts.chain(status.as_deref()).chain(of_jobs))
}

fn listed_links<'t>(texts: impl IntoIterator<Item = &'t str>) -> Option<Value> {
    let links = domain::links::listed(texts);
    (!links.is_empty()).then(|| json!(links))
}

/// One entry of the task's log.
pub(crate) fn event(event: &Event) -> Value {
    let (kind, mut fields) = match &event.kind {
        EventKind::Status { state, message } => (
            "status",
            json!({"state": state, "message": message.as_ref().map(Message::text)}),
        ),
        EventKind::Artifact {
            artifact,
            append,
            last_chunk,
        } => (
            "artifact",
            json!({"artifact": self::artifact(artifact, |_| None), "append": append, "lastChunk": last_chunk}),
        ),
        EventKind::Said { message } => ("said", json!({"role": message.role, "text": message.text()})),
        EventKind::Job { job } => ("job", json!({"job": self::job(job)})),
        // Its job is not in the log: nothing more is known of it here.
        EventKind::JobChanged { change } => ("job", json!({"job": {"number": change.number}})),
        EventKind::Work { note } => ("work", work(note)),
        EventKind::Unknown => ("unknown", json!({})),
    };
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("seq".into(), json!(event.seq));
        fields.insert("at".into(), json!(event.at));
        fields.insert("type".into(), json!(kind));
    }
    fields
}

/// Words of an answer under way: no entry of the log, and each in place of the one before.
pub(crate) fn draft(draft: &AnswerDraft) -> Value {
    json!({"type": "draft", "turn": draft.turn, "attempt": draft.attempt, "text": draft.text})
}

/// What the agent noted of its work: that an attempt failed, and which. Reasons and checkpoints are its own.
fn work(note: &WorkNote) -> Value {
    match note {
        WorkNote::Stumbled { stumble } => json!({"failedAttempt": stumble.attempt}),
        WorkNote::Plan { plan } => json!({"plan": self::plan(plan, (&[], &[]))}),
        WorkNote::Checkpoint { .. } | WorkNote::Turn { .. } | WorkNote::Direct | WorkNote::Unknown => {
            json!({})
        }
    }
}

/// A job of a task: what of its results stands in the task's answer is named, and not said twice.
fn job_of(task: &Task, job: &Job, files: &impl Fn(String) -> Url) -> Value {
    let mut view = self::job(job);
    let all = artifacts(&job.artifacts, &format!("{}.", job.number), files);
    let shown = job.artifacts.iter().zip(all).map(|(artifact, whole)| {
        let same = |answer: &&Artifact| answer.parts == artifact.parts && answer.name == artifact.name;
        match task.artifacts.iter().find(same) {
            Some(answer) => json!({
                "artifactId": artifact.artifact_id,
                "name": artifact.name,
                "description": artifact.description,
                "parts": [],
                "sameAs": answer.artifact_id,
            }),
            None => whole,
        }
    });
    if let Some(fields) = view.as_object_mut() {
        fields.insert("artifacts".into(), shown.collect());
    }
    view
}

/// A job, without its agent's address, its message id and its webhook token.
fn job(job: &Job) -> Value {
    let mut view = json!({
        "number": job.number,
        "agentId": job.agent_id,
        "agentType": job.agent_type,
        "agentName": job.agent_name,
        "attempts": job.attempts,
        "instruction": job.instruction,
        "state": job_state(job),
        "statusMessage": job.remote().and_then(|remote| remote.text.as_deref()),
        "remoteTaskId": job.remote_task_id(),
        "artifacts": job.artifacts.iter().map(|one| artifact(one, |_| None)).collect::<Vec<_>>(),
        "createdAt": job.created_at,
        "updatedAt": job.updated_at,
    });
    if let (Some(fields), Some(data)) = (view.as_object_mut(), &job.data) {
        fields.insert("data".into(), data.clone());
    }
    view
}

fn brief(job: &Job) -> Value {
    json!({"number": job.number, "agentType": job.agent_type, "agentName": job.agent_name, "state": job_state(job)})
}

fn status_text(task: &Task) -> Option<String> {
    turn::said(task).filter(|text| !text.is_empty())
}

/// "1 of 2 done", where only some parts of a task were. What was tried again counts once, and what was skipped counts too.
fn outcome(task: &Task) -> Option<String> {
    let jobs = || task.jobs.iter().filter(|job| !task.is_replaced(job));
    let has_job = |step: &PlanStep| task.jobs.iter().any(|job| job.number == step.number);
    let steps = task.plan.iter().flat_map(TaskPlan::wanted);
    let all = jobs().count() + steps.filter(|step| !has_job(step)).count();
    let done = jobs()
        .filter(|job| job_state(job) == TaskState::Completed)
        .count();
    let partly = task.status.state.is_terminal() && (1..all).contains(&done);
    partly.then(|| format!("{done} of {all} done"))
}

/// Whether nothing of a task was done because its user would not have it: that is no failure of anybody.
fn is_declined(task: &Task) -> bool {
    let reasons = || {
        let left = task.jobs.iter().filter(|job| !task.is_replaced(job));
        left.map(|job| job.remote().and_then(|remote| remote.text.as_deref()))
    };
    let by_user = |reason: Option<&str>| matches!(reason, Some(words::NOT_AGREED | words::NOT_ANSWERED));
    task.status.state == TaskState::Rejected && reasons().all(by_user) && reasons().next().is_some()
}

/// Where the user consents, while the task waits for that.
fn auth_url(task: &Task) -> Option<String> {
    let message = task.status.message.as_ref();
    let told = message.filter(|_| task.status.state == TaskState::AuthRequired)?;
    let url = Url::parse(told.metadata.get("authUrl")?.as_str()?).ok()?;
    // It becomes a link on the page.
    is_of_the_web(url.as_str()).then(|| url.to_string())
}

/// Whose link it is: the platform's own, or one that the agent has sent. What does not say it is an agent's.
fn auth_url_by(task: &Task) -> Option<&'static str> {
    auth_url(task)?;
    let told = task.status.message.as_ref()?.metadata.get("authUrlBy");
    let ours = told.and_then(Value::as_str) == Some("platform");
    Some(if ours { "platform" } else { "agent" })
}

/// Where the link leads in the end: ours may only lead to an agent's.
fn auth_url_host(task: &Task) -> Option<String> {
    let ours = auth_url(task)?;
    let way = task.status.message.as_ref()?.metadata.get("connect");
    let agents = way.and_then(|way| way.get("link")?.as_str());
    let url = Url::parse(agents.unwrap_or(&ours)).ok()?;
    url.host_str().map(str::to_owned)
}

/// What they agree to there, where the link is the platform's own.
fn consent(task: &Task) -> Option<Value> {
    let link = Url::parse(&auth_url(task)?).ok()?;
    let ours = auth_url_by(task) == Some("platform");
    ours.then(|| consent_view::asked(task, &link)).flatten()
}

/// What became of each part of what the user said, where they said several: in the words of its `fate`, and of those that went to
/// agents how far these are.
fn clauses(task: &Task) -> Option<Value> {
    let clauses = Clause::of(task);
    let job = |to: &AgentType| {
        let jobs = task.jobs.iter().filter(|job| !task.is_replaced(job));
        jobs.rev().find(|job| job.agent_type == *to)
    };
    let step = |to: &AgentType| {
        let mut steps = task.plan.iter().flat_map(TaskPlan::wanted);
        steps.find(|step| step.agent_type == *to)
    };
    let agent = |to: &AgentType| {
        let name = job(to).map(|job| &job.agent_name);
        let name = name.or_else(|| step(to).map(|step| &step.agent_name));
        json!({"agentType": to, "agentName": name, "state": job(to).map(job_state)})
    };
    let shown = |clause: &Clause| {
        let mut shown = json!({"said": clause.said, "fate": clause.fate.as_str()});
        if let (Fate::Sent { to }, Some(fields)) = (&clause.fate, shown.as_object_mut()) {
            fields.insert("agents".into(), to.iter().map(agent).collect());
        }
        shown
    };
    (clauses.len() > 1).then(|| clauses.iter().map(shown).collect())
}

/// What the user can choose from by a button, while the host waits for that: what is on it, and what it says.
fn choices(task: &Task) -> Option<Value> {
    let message = task.status.message.as_ref();
    let told = message.filter(|_| task.status.state == TaskState::InputRequired)?;
    let button = |choice: &Value| {
        let text = |name: &str| choice.get(name)?.as_str().map(str::to_owned);
        Some(json!({"label": text("label")?, "say": text("say")?}))
    };
    let listed = told.metadata.get("choices")?.as_array()?;
    Some(listed.iter().filter_map(button).collect())
}

/// The JSON Schema of what the user is asked for as data, while the task waits for that.
fn form(task: &Task) -> Option<Value> {
    let message = task.status.message.as_ref();
    let told = message.filter(|_| task.status.state == TaskState::InputRequired)?;
    told.form().cloned()
}

/// What the task was asked for, in short.
pub(crate) fn prompt(task: &Task) -> Option<String> {
    const MAX: usize = 120;
    let said = task.history.iter().find(|message| message.role == Role::User)?;
    // A retry says "try again"; what it is for, the host has noted.
    let noted = task
        .checkpoint
        .as_ref()
        .and_then(|note| note.get("asked")?.as_str());
    let text = noted.map_or_else(|| said.text(), str::to_owned);
    let short: String = text.chars().take(MAX).collect();
    Some(if short.len() < text.len() {
        format!("{short}…")
    } else {
        short
    })
}

/// What a finished task brought: its last word and the data of its artifacts.
fn result(task: &Task) -> Option<Value> {
    if !task.status.state.is_terminal() {
        return None;
    }
    let data = task
        .artifacts
        .iter()
        .flat_map(|artifact: &Artifact| &artifact.parts);
    let mut room = REPEATED;
    let data = data.filter_map(|part| match &part.content {
        PartContent::Data(value) => {
            room = room.checked_sub(value.to_string().len())?;
            Some(value.clone())
        }
        _ => None,
    });
    let data = Value::Array(data.collect());
    let mut result = Map::new();
    result.insert("text".into(), Value::String(turn::last_word(task)));
    result.insert("data".into(), data);
    Some(Value::Object(result))
}

#[cfg(test)]
mod tests {
    use domain::{
        AgentName, ContextId, Endpoint, MessageId, NewJob, NewTask, Owner, Part, SealedToken, StepState,
        TaskId, Tenant, Timestamp,
    };

    use super::*;
    use crate::tasks::artifact_view::LISTED;

    fn base() -> Url {
        "https://chat.example/t/acme".parse().unwrap()
    }

    fn worked_on() -> (Task, Vec<Event>) {
        let now = Timestamp::from_millis(0);
        let new = NewTask {
            id: TaskId::from_bytes([1; 16]),
            tenant: Tenant::parse("acme").unwrap(),
            agent: AgentName::parse("host").unwrap(),
            context_id: ContextId::parse("ctx").unwrap(),
            owner: Owner::parse("owner-1").unwrap(),
            message: Message::user(MessageId::parse("m").unwrap(), vec![Part::text("Oslo?")]),
            trace: None,
        };
        let mut task = Task::create(new, now);
        let mut events = vec![task.first_event()];
        let new = NewJob {
            endpoint: Endpoint {
                url: "https://agents.example/secret-slug".parse().unwrap(),
                ..domain::testing::new_job().endpoint
            },
            message_id: MessageId::parse("inner-message").unwrap(),
            webhook: SealedToken {
                hash: "the-hash".into(),
                sealed: Some("the-seal".into()),
            },
            ..domain::testing::new_job()
        };
        let job = Job::prepare(new, now);
        for kind in [
            EventKind::Job { job: Box::new(job) },
            EventKind::artifact(Artifact::new("a", vec![Part::data(json!({"rain": true}))])),
            EventKind::status(TaskState::Completed, None),
        ] {
            events.push(task.record(kind, now).unwrap());
        }
        (task, events)
    }

    #[test]
    fn no_view_shows_addresses_hashes_or_seals() {
        let (task, events) = worked_on();
        let mut shown = vec![super::task(&base(), &task, Some(&events)), card(&task)];
        shown.extend(events.iter().map(event));
        let shown = Value::Array(shown).to_string();
        for secret in ["the-hash", "the-seal", "secret-slug", "inner-message", "owner-1"] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
        assert!(shown.contains("weather"));
    }

    #[test]
    fn the_history_lists_states_with_their_times() {
        let (task, events) = worked_on();
        let view = super::task(&base(), &task, Some(&events));
        assert_eq!(view["history"][0]["state"], "submitted");
        assert_eq!(view["history"][1]["state"], "completed");
        assert_eq!(view["history"][1]["at"], "1970-01-01T00:00:00.000Z");
        assert_eq!(view["result"]["data"][0]["rain"], true);
        assert_eq!(view["agentType"], "weather");
    }

    #[test]
    fn what_its_user_would_not_have_is_told_from_what_an_agent_refused() {
        for (reason, declined) in [
            (words::NOT_AGREED, json!(true)),
            (words::NOT_ANSWERED, json!(true)),
            (words::NOT_AGREED_IN_TIME, Value::Null),
            ("I advise staff only.", Value::Null),
        ] {
            let (mut task, _) = worked_on();
            task.status.state = TaskState::Rejected;
            task.jobs[0].give_up(TaskState::Rejected, reason, Timestamp::from_millis(1));
            assert_eq!(card(&task)["declined"], declined, "{reason}");
            task.status.state = TaskState::Completed;
            assert_eq!(card(&task)["declined"], Value::Null, "{reason}");
        }
    }

    #[test]
    fn a_plan_is_shown_with_what_is_to_come_and_a_retried_part_counts_once() {
        let (mut task, _) = worked_on();
        let step = |number: u32, uses: Vec<u32>, state: StepState| PlanStep {
            number,
            agent_type: domain::AgentType::parse("weather").unwrap(),
            agent_name: "Weather".to_owned(),
            instruction: "Oslo".to_owned(),
            after: Vec::new(),
            uses,
            optional: false,
            state,
            turn: 0,
            guard: None,
        };
        let why = "nobody is there".to_owned();
        task.plan = Some(TaskPlan {
            goal: "a trip".to_owned(),
            approval: domain::Approval::Awaited,
            steps: vec![
                step(0, Vec::new(), StepState::Planned),
                step(1, vec![0], StepState::Skipped { why }),
                step(2, vec![0], StepState::Dropped),
            ],
        });
        let view = super::task(&base(), &task, None);
        assert_eq!(card(&task)["plan"], view["plan"]);
        assert_eq!(
            (&view["plan"]["goal"], &view["plan"]["isApproved"]),
            (&json!("a trip"), &json!(false))
        );
        // Its job says how far the first is.
        let states = ["submitted", "skipped", "dropped"];
        for (step, state) in view["plan"]["steps"].as_array().unwrap().iter().zip(states) {
            assert_eq!(step["state"], state);
        }
        assert_eq!(view["plan"]["steps"][1]["reason"], "nobody is there");
        assert_eq!(view["plan"]["steps"][1]["uses"], json!([0]));
        task.status.state = TaskState::Completed;
        task.jobs[0].give_up(TaskState::Completed, "rain", Timestamp::from_millis(1));
        assert_eq!(job_state(&task.jobs[0]), TaskState::Completed);
        // One is done, one was skipped, and what was dropped was not wanted.
        assert_eq!(super::task(&base(), &task, None)["outcome"], "1 of 2 done");
        let mut again = task.jobs[0].clone();
        again.number = 2;
        again.give_up(TaskState::Failed, "no", Timestamp::from_millis(1));
        task.jobs.push(again);
        assert_eq!(super::task(&base(), &task, None)["outcome"], "1 of 2 done");
        task.plan = None;
        assert_eq!(card(&task).get("plan"), None);
        assert_eq!(super::task(&base(), &task, None)["plan"], Value::Null);
    }

    #[test]
    fn an_artifact_stands_once_in_an_answer_and_a_list_names_a_large_one() {
        let (mut task, _) = worked_on();
        let large = Artifact::new("minutes", vec![Part::text("only-once ".repeat(LISTED))]);
        task.jobs[0].artifacts.push(large.clone());
        let answer = Artifact {
            artifact_id: "0-minutes".to_owned(),
            ..large
        };
        task.artifacts.push(answer);
        let view = super::task(&base(), &task, None);
        let of = |view: &Value| {
            format!("{}{}", view["artifacts"], view["jobs"])
                .matches("only-once")
                .count()
        };
        assert_eq!(of(&view), LISTED);
        let of_job = &view["jobs"][0]["artifacts"][0];
        assert_eq!(
            (&of_job["artifactId"], &of_job["sameAs"]),
            (&json!("minutes"), &json!("0-minutes"))
        );
        let listed = listed(&base(), &task);
        assert_eq!(of(&listed), 0);
        assert!(
            listed["artifacts"][1]["bytes"].as_u64().unwrap() > 100_000,
            "{listed}"
        );
        assert_eq!(
            listed["artifacts"][0], view["artifacts"][0],
            "a small one is there"
        );
    }

    #[test]
    fn the_tree_tells_what_became_of_each_job_and_of_failed_attempts() {
        let ((mut task, before), mut events) = (worked_on(), Vec::new());
        let mut jobs = domain::JobLog::default();
        for event in before {
            jobs.whole(event);
        }
        task.status.state = TaskState::Working;
        let mut job = task.jobs[0].clone();
        for (state, at) in [
            (TaskState::Working, 1),
            (TaskState::Working, 2),
            (TaskState::Completed, 3),
        ] {
            let news = domain::Notification {
                remote_task_id: Some(domain::RemoteTaskId::parse("r-1").unwrap()),
                update: Some(domain::RemoteUpdate::of(state)),
                artifacts: Vec::new(),
                snapshot: false,
                responder: None,
            };
            job.note(news, Timestamp::from_millis(at));
            let kind = EventKind::Job {
                job: Box::new(job.clone()),
            };
            let event = task.record(kind, Timestamp::from_millis(at)).unwrap();
            events.push(jobs.whole(event));
        }
        let stumble = domain::Stumble {
            attempt: 1,
            reason: "away".into(),
        };
        let note = WorkNote::Stumbled { stumble };
        events.push(
            task.record(EventKind::Work { note }, Timestamp::from_millis(4))
                .unwrap(),
        );
        let view = super::task(&base(), &task, Some(&events));
        let states: Vec<_> = view["jobs"][0]["history"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| &entry["state"])
            .collect();
        assert_eq!(states, ["working", "completed"]);
        assert_eq!(view["jobs"][0]["history"][1]["at"], "1970-01-01T00:00:00.003Z");
        assert_eq!(view["jobs"][0]["history"][0]["remoteTaskId"], "r-1");
        assert_eq!(
            view["failedAttempts"],
            json!([{"attempt": 1, "reason": "away", "at": "1970-01-01T00:00:00.004Z"}])
        );
    }

    #[test]
    fn a_file_is_named_with_its_size_and_place_and_its_bytes_are_left_out() {
        let (mut task, _) = worked_on();
        let mut file = Part::new(PartContent::Raw("c2VjcmV0".to_owned()));
        file.media_type = Some("text/plain".to_owned());
        let artifact = |id: &str| Artifact::new(id, vec![Part::text("See"), file.clone()]);
        task.artifacts.push(artifact("own"));
        task.jobs[0]
            .artifacts
            .push(Artifact::new("of a job", vec![file.clone()]));
        let view = super::task(&base(), &task, None);
        let at = |place: &str| format!("https://chat.example/t/acme/api/tasks/{}/files/{place}", task.id);
        assert_eq!(
            view["artifacts"][1]["parts"][1],
            json!({"url": at("1.1"), "bytes": 6, "mediaType": "text/plain"})
        );
        let of_job = view["jobs"][0]["artifacts"].as_array().unwrap().last().unwrap();
        let place = format!("{}.{}.0", task.jobs[0].number, task.jobs[0].artifacts.len() - 1);
        assert_eq!(of_job["parts"][0]["url"], at(&place));
        let logged = event(&Event {
            seq: 2,
            at: Timestamp::from_millis(0),
            kind: EventKind::artifact(artifact("own")),
        });
        assert_eq!(
            logged["artifact"]["parts"][1],
            json!({"bytes": 6, "mediaType": "text/plain"})
        );
        assert!(!view.to_string().contains("c2VjcmV0"));
    }
}
