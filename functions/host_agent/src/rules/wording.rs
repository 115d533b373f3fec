//! What users read while their task is under way.

use a2a::AUTH_URL;
use domain::{
    Entropy, EventKind, Job, JobState, Message, MessageId, TOLD_BESIDE, Task, TaskState, Timestamp,
};
use outbound::MqttFault;
use serde_json::{Value, json};
use url::Url;

use crate::deps::Deps;
use crate::meaning;
use crate::rules::note::Note;
use crate::rules::patience::Patience;
use crate::rules::sentences::{language, listed, told, told_of};
use crate::rules::transcript;

/// The key under which they find whose link that is.
pub(crate) const AUTH_URL_BY: &str = "authUrlBy";
/// A link of ours, to a consent that the platform looks after.
const PLATFORM: &str = "platform";
/// A link that an agent has sent.
const AGENT: &str = "agent";

/// The key under which `oauth_callback` finds what a link of ours to an agent's consent leads to.
pub(crate) const LEADS_TO: &str = "connect";

/// What a link of ours to an agent's consent leads to; `None` where the agent takes no proof of the starter's browser.
pub(crate) fn led_there(job: &Job, link: &str) -> Option<Value> {
    let consent = job.remote()?.consent.as_ref().filter(|_| job.takes_proof)?;
    Some(json!({ "link": link, "agent": job.endpoint.url, "name": job.agent_name, "consent": consent }))
}

/// Adds the link that a status asks its user to follow, and whose it is: what an agent sends is never dressed as ours.
pub(crate) fn add_link(message: &mut Message, link: String, ours: bool) {
    let by = if ours { PLATFORM } else { AGENT };
    message.metadata.insert(AUTH_URL.to_owned(), Value::String(link));
    message.metadata.insert(AUTH_URL_BY.to_owned(), by.into());
}

/// The status that says what is being done.
pub(crate) fn working(entropy: &dyn Entropy, text: &str) -> EventKind {
    let message = Message::agent_text(MessageId::random(entropy), text);
    EventKind::status(TaskState::Working, Some(message))
}

/// The same, with what else the user is told when work has begun: it stays so as others say how far they are.
pub(crate) fn working_beside(entropy: &dyn Entropy, text: &str, beside: Option<&str>) -> EventKind {
    let mut message = Message::agent_text(MessageId::random(entropy), text);
    if let Some(beside) = beside {
        message.metadata.insert(TOLD_BESIDE.to_owned(), beside.into());
    }
    EventKind::status(TaskState::Working, Some(message))
}

/// The message that asks for consent at this link, and what an agent of the same task asks. Chats show the link as a button,
/// and the text without it.
pub(crate) fn consent_asked(
    entropy: &dyn Entropy,
    (task, job): (&Task, &Job),
    link: String,
    lead: &str,
) -> Message {
    let asks = asks_beside(task).map(|asks| format!("\n\n{asks}"));
    let needs = told(task, "needsConsent", &job.agent_name);
    let text = format!("{lead}{needs}: {link}{}", asks.unwrap_or_default());
    let mut message = Message::agent_text(MessageId::random(entropy), text);
    add_link(&mut message, link, true);
    message
}

/// What an agent asks, to be said beside a consent that is waited for.
fn asks_beside(task: &Task) -> Option<String> {
    let (job, question) = transcript::question(task)?;
    Some(match question.trim() {
        "" => told(task, "needsMore", &job.agent_name),
        question => format!("{} {question}", told(task, "asks", &job.agent_name)),
    })
}

/// True where the task's status already asks for consent at this link, and what an agent asks.
pub(crate) fn asks_for(task: &Task, link: &str) -> bool {
    let shown = task.status.message.as_ref();
    let link_shown = shown.and_then(|message| message.metadata.get(AUTH_URL));
    let is_asked = |asks: String| shown.is_some_and(|message| message.text().contains(&asks));
    task.status.state == TaskState::AuthRequired
        && link_shown.and_then(Value::as_str) == Some(link)
        && asks_beside(task).is_none_or(is_asked)
}

/// The events that tell of these jobs: their records, and the newest word of those that go on. `troubles` are what is known of
/// sends and looks that failed, by the numbers of their jobs.
pub(crate) fn news(
    deps: &Deps,
    task: &Task,
    changed: &[Job],
    troubles: &[(u32, &'static str)],
) -> Vec<EventKind> {
    let mut kinds: Vec<EventKind> = changed
        .iter()
        .map(|job| EventKind::Job {
            job: Box::new(job.clone()),
        })
        .collect();
    let at_work = task.status.state == TaskState::Working;
    let word = changed.iter().rev().find_map(|job| {
        let trouble = troubles.iter().find(|(number, _)| *number == job.number);
        let trouble = trouble.map(|(_, trouble)| *trouble);
        let remote = match &job.state {
            JobState::Linked { .. } if trouble.is_some() => {
                return no_news_of(task, job, deps.clock.now()).filter(|_| at_work);
            }
            JobState::Linked { remote, .. } => remote,
            JobState::Prepared if job.attempts > 0 => {
                return no_answer_yet(&deps.patience, (task, job), trouble);
            }
            _ => return None,
        };
        let before = task
            .jobs
            .iter()
            .find(|known| known.number == job.number)
            .and_then(Job::remote);
        if remote.state.is_interrupted() || before == Some(remote) {
            return None;
        }
        let text = remote
            .text
            .as_deref()
            .map(str::trim)
            .filter(|text| !text.is_empty());
        match text {
            Some(text) => Some(text.to_owned()),
            None if at_work && before.is_some() => None,
            None => Some(told(task, "atWork", &job.agent_name)),
        }
    });
    let waits = task.status.state.is_interrupted();
    kinds.extend(
        word.filter(|_| !waits || transcript::pending_answer(task).is_some())
            .map(|text| working(deps.entropy.as_ref(), &text)),
    );
    kinds
}

/// What is said of a result of which not even the beginning was read.
pub(crate) fn too_large(most: usize) -> String {
    format!("Its result is too large: I take up to {} MB.", most / 1_000_000)
}

/// What is said of a call that did not reach its agent over a broker; "it" is the agent, which is named beside it.
pub(crate) fn over_mqtt(fault: MqttFault) -> &'static str {
    match fault {
        MqttFault::NoMatchingSubscribers => {
            "it is not on its broker at the moment (MQTT 0x10, no matching subscribers). Say “try again” to have it tried once more."
        }
        MqttFault::NoReply => {
            "its broker has the message, and it does not reply. Say “try again” to have it tried once more."
        }
        MqttFault::AgentUnavailable => {
            "it has too much to do at the moment. Say “try again” to have it tried once more."
        }
        MqttFault::NotTaken => "it does not take such messages over MQTT.",
        MqttFault::NotAuthorized => "its broker does not allow messages to it (MQTT 0x87, not authorized).",
        MqttFault::TooLarge => "your message is too large for its broker.",
        MqttFault::Unreachable => {
            "its broker cannot be reached at the moment. Say “try again” to have it tried once more."
        }
    }
}

/// What is said of an agent that could not be asked so far.
fn no_answer_yet(patience: &Patience, (task, job): (&Task, &Job), trouble: Option<&str>) -> Option<String> {
    let next = job.attempts.saturating_add(1).to_string();
    let all = (patience.retries.len() + 1).to_string();
    let told = |key| {
        told_of(
            task,
            key,
            &[("name", &job.agent_name), ("next", &next), ("all", &all)],
        )
    };
    match (patience.is_used_up(job), trouble) {
        (true, trouble) => trouble.map(told),
        (false, None) if job.delivered => Some(told("noAnswerAsking")),
        (false, None) => Some(told("noAnswerYet")),
        (false, Some(trouble)) => Some(format!("{} {}", told(trouble), told("tryingAgain"))),
    }
}

/// What is said of an agent that works on a task and cannot be asked how it goes.
fn no_news_of(task: &Task, job: &Job, now: Timestamp) -> Option<String> {
    let since = now.millis().saturating_sub(job.failing_since?.millis()) / 1000;
    let (unit, number) = match since {
        ..90 => ("inSeconds", since),
        _ => ("inMinutes", since / 60),
    };
    let long = told_of(task, unit, &[("count", &number.to_string())]);
    let values = [("name", job.agent_name.as_str()), ("long", &long)];
    Some(told_of(task, "noNewsOf", &values))
}

/// What is known of a send over a broker that failed, by the sentence's key.
pub(crate) fn trouble(fault: MqttFault) -> Option<&'static str> {
    match fault {
        MqttFault::NoMatchingSubscribers => Some("notOnBroker"),
        _ => None,
    }
}

/// What is said of the user's answer, where nothing else is.
pub(crate) fn after_answer(task: &Task, forwarded: bool) -> String {
    let waiting = task
        .jobs
        .iter()
        .find(|job| job.remote().is_some_and(|remote| remote.state.is_interrupted()));
    match waiting {
        Some(job) if forwarded => told(task, "answerWent", &job.agent_name),
        _ if task.status.state == TaskState::Unknown => told(task, "waitsOn", ""),
        // It was taken while something was asked, by an execution that did not live to say so.
        _ if task.status.message.is_none() => told(task, "answerTaken", ""),
        _ => told(task, "nothingMore", ""),
    }
}

/// The status that a waiting task should have, where it has another.
pub(crate) fn waiting_for(patience: &Patience, task: &Task, now: Timestamp) -> Option<(TaskState, String)> {
    let shown = task.status.message.as_ref().map(Message::text);
    if let Some(job) = transcript::asking(task) {
        let remote = job.remote()?;
        let asked = remote
            .text
            .as_deref()
            .map(str::trim)
            .filter(|text| !text.is_empty());
        let text = asked.map_or_else(|| told(task, "needsMore", &job.agent_name), str::to_owned);
        // What was done about the message already is said with the first question, not with its answer.
        let text = Note::of(task)
            .filter(|_| task.history.len() < 2)
            .and_then(|note| note.lead)
            .map_or(text.clone(), |lead| format!("{lead}\n\n{text}"));
        let known = task.status.state == remote.state && shown.as_deref() == Some(text.as_str());
        return (!known).then_some((remote.state, text));
    }
    let late = |job: &&Job| {
        let deadline = patience.deadline(task, job);
        deadline.is_some_and(|deadline| deadline <= now)
    };
    let (unsent, late): (Vec<&Job>, Vec<&Job>) = task
        .jobs
        .iter()
        .filter(late)
        .partition(|job| patience.is_used_up(job));
    let (unfetched, silent): (Vec<&Job>, Vec<&Job>) = late.into_iter().partition(|job| job.is_settled());
    let given_up = task.status.state == TaskState::Unknown;
    if (silent.is_empty() && unfetched.is_empty() && unsent.is_empty()) || given_up {
        return None;
    }
    let (language, minutes) = (language(task), (patience.limit.as_secs() / 60).to_string());
    let of = |key, jobs: &[&Job]| {
        let values = [("names", &*names(jobs, &language)), ("count", &minutes)];
        (!jobs.is_empty()).then(|| words::told_of(Some(&language), key, &values))
    };
    let told = [
        of("gaveNoAnswer", &unsent),
        of("nothingHeard", &silent),
        of("notFetched", &unfetched),
        unsent.is_empty().then(|| told(task, "lateIsTaken", "")),
        Some(told(task, "againOrCancel", "")),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    Some((TaskState::Unknown, told.join(" ")))
}

/// The first https address in what an agent says that leads to a host which was named when it was registered; others stay
/// words. Plain http becomes a link only where calls to it `may` go out, which is at the addresses of a local system.
pub(crate) fn address(job: &Job, text: &str, may: impl Fn(&Url) -> bool) -> Option<String> {
    let around = |c: char| c.is_whitespace() || "<>()[]\"'`".contains(c);
    let mut addresses = text.split(around).filter_map(|word| {
        let url = Url::parse(word.trim_end_matches(['.', ',', ';', ':', '!', '?'])).ok()?;
        let is_named = url
            .host_str()
            .is_some_and(|host| job.link_hosts.iter().any(|named| named == host));
        let is_plain = url.username().is_empty() && url.password().is_none();
        let is_safe = url.scheme() == "https" || url.scheme() == "http" && may(&url);
        (is_named && is_plain && is_safe).then(|| String::from(url))
    });
    addresses.next()
}

/// That words are no consent, and where it is given; where several tasks wait for one, which it is to be.
pub(crate) fn agree_there(tasks: &[&Task], language: &str) -> String {
    let of = |key, task: &Task| {
        let job = transcript::unconsented(task).map(|(job, _)| job);
        let job = job.or_else(|| transcript::asking(task));
        let name = job.map(|job| job.agent_name.clone());
        let name = name.unwrap_or_else(|| words::told(Some(language), "theAgent", ""));
        let values = [("name", name.as_str()), ("task", &meaning::name(task))];
        words::told_of(Some(language), key, &values)
    };
    if let [only] = tasks {
        return of("agreeThere", only);
    }
    let lines: Vec<String> = tasks
        .iter()
        .map(|task| format!("- {}", of("consentFor", task)))
        .collect();
    words::told_of(Some(language), "agreeForWhich", &[("tasks", &lines.join("\n"))])
}

/// That a yes could be meant for several tasks, and how it is said to one.
pub(crate) fn which_waits(tasks: &[&Task], now: Timestamp, language: &str) -> String {
    if let [only] = tasks {
        return words::told_of(Some(language), "waitsForWord", &[("task", &meaning::name(only))]);
    }
    let names = meaning::names(tasks, now, language);
    words::told_of(Some(language), "severalWaitForWord", &[("tasks", &names)])
}

/// One line about a task that waits.
pub(crate) fn reminder(task: &Task, language: &str) -> String {
    let waits = match (transcript::unconsented(task), transcript::asking(task)) {
        // What it asked stands on its card; here a line is enough.
        (None, Some(job)) => words::told(Some(language), "waitsForAnswer", &job.agent_name),
        _ => waits_for(task, language),
    };
    let values = [("task", meaning::name(task)), ("waits", waits)];
    let values = values.each_ref().map(|(key, value)| (*key, value.as_str()));
    words::told_of(Some(language), "stillOpen", &values)
}

/// What waits for the user and what runs.
pub(crate) fn open(tasks: &[&Task], language: &str) -> String {
    if tasks.is_empty() {
        return words::told(Some(language), "nothingOpen", "");
    }
    let line = |task: &&Task| format!("- {}: {}", meaning::name(task), waits_for(task, language));
    tasks.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Most characters of that line.
const LINE_MAX: usize = 160;

/// A task in one line, for a model: what waits of it, or how it has ended.
pub(crate) fn line(task: &Task) -> String {
    let stands = match meaning::is_open(task) {
        true => waits_for(task, "en"),
        false => state(task.status.state, "en"),
    };
    llm::clean(&format!("{}: {stands}", meaning::name(task)), LINE_MAX)
}

/// What a task waits for, in half a sentence.
fn waits_for(task: &Task, language: &str) -> String {
    let told = |key: &str, name: &str| words::told(Some(language), key, name);
    let asks = |job: &Job, asked: &str| format!("{} {}", told("asks", &job.agent_name), in_brief(asked));
    match (transcript::unconsented(task), transcript::asking(task)) {
        (Some((job, _)), _) => {
            let waits = told("waitsForConsent", &job.agent_name);
            match transcript::question(task) {
                Some((by, question)) => format!("{waits}, {} {}", told("and", ""), asks(by, question)),
                None => waits,
            }
        }
        (None, Some(job)) => {
            let asked = job
                .remote()
                .and_then(|remote| remote.text.as_deref())
                .unwrap_or_default();
            asks(job, asked)
        }
        (None, None) if transcript::choosing(task).is_some() => told("waitsForChoice", ""),
        (None, None) if task.status.state == TaskState::Unknown => told("unheard", ""),
        (None, None) => {
            let open: Vec<&Job> = task.jobs.iter().filter(|job| !job.is_settled()).collect();
            words::told_of(Some(language), "areAtWork", &[("names", &names(&open, language))])
        }
    }
}

/// The first sentence of an agent's question, cut with an ellipsis where even that is long.
fn in_brief(asked: &str) -> String {
    const MOST: usize = 140;
    // What is said before the question is no question: "Edinburgh today: rain.", and then which Aberdeen is meant.
    let asks = |block: &&str| block.contains('?');
    let block = asked.split("\n\n").find(asks).unwrap_or(asked);
    let line = block.lines().next().unwrap_or_default();
    let end = line
        .find(['.', '?', '!'])
        .filter(|end| {
            line.get(end + 1..)
                .is_none_or(|rest| rest.is_empty() || rest.starts_with(' '))
        })
        .map_or(line.len(), |end| end + 1);
    let sentence = line.get(..end).unwrap_or(line);
    let cut = llm::clean(sentence, MOST);
    if sentence.chars().count() > MOST {
        // Not in the middle of a word.
        let whole = cut.rsplit_once(' ').map_or(cut.as_str(), |(whole, _)| whole);
        return format!("{whole} …");
    }
    cut
}

/// How a task is doing; one line where it is one of several.
pub(crate) fn described(task: &Task, briefly: bool, language: &str) -> String {
    let (name, state) = (meaning::name(task), state(task.status.state, language));
    if !briefly && task.status.state == TaskState::AuthRequired {
        // What an agent asks has an end of its own.
        let waits_for = waits_for(task, language);
        let end = if waits_for.ends_with(['.', '?', '!', '…']) {
            ""
        } else {
            "."
        };
        return format!("{name}: {waits_for}{end}");
    }
    if briefly {
        let agents: Vec<&str> = task.jobs.iter().map(|job| job.agent_name.as_str()).collect();
        return format!("- {name} ({}): {state}", listed(&agents, language));
    }
    let values = [("task", name.as_str()), ("state", &state)];
    let mut lines = vec![words::told_of(Some(language), "isIn", &values)];
    if task.status.state == TaskState::Working {
        lines.extend(task.jobs.iter().map(|job| of_job(job, language)));
    } else {
        let said = task.status.message.as_ref().map(Message::text);
        lines.extend(said.filter(|text| !text.trim().is_empty()));
    }
    lines.join("\n")
}

/// Which of the agents at work did not answer when they were asked just now; nothing where all did.
pub(crate) fn silent(task: &Task, unheard: &[u32], language: &str) -> String {
    let silent = task
        .jobs
        .iter()
        .filter(|job| unheard.contains(&job.number) && !job.is_settled());
    let names: Vec<&str> = silent.map(|job| job.agent_name.as_str()).collect();
    match names.as_slice() {
        [] => String::new(),
        [only] => format!("\n{}", words::told(Some(language), "doesNotAnswer", only)),
        several => {
            let values = [("names", &*listed(several, language))];
            format!("\n{}", words::told_of(Some(language), "doNotAnswer", &values))
        }
    }
}

pub(crate) fn state(state: TaskState, language: &str) -> String {
    let key = match state {
        TaskState::Submitted => "isSubmitted",
        TaskState::Working => "isWorking",
        TaskState::InputRequired => "isInputRequired",
        TaskState::AuthRequired => "isAuthRequired",
        TaskState::Completed => "isCompleted",
        TaskState::Canceled => "isCanceled",
        TaskState::Failed => "isFailed",
        TaskState::Rejected => "isRejected",
        TaskState::Unknown => "isUnknown",
    };
    words::told(Some(language), key, "")
}

fn of_job(job: &Job, language: &str) -> String {
    let remote = job.remote();
    let state = match (remote, job.awaited_consent()) {
        (_, Some(_)) => state(TaskState::AuthRequired, language),
        (None, None) => words::told(Some(language), "notReached", ""),
        (Some(remote), None) => state(remote.state, language),
    };
    let text = remote
        .and_then(|remote| remote.text.as_deref())
        .map(|text| llm::clean(text, 300));
    match text.filter(|text| !text.is_empty()) {
        Some(text) => format!("- {}: {state}: {text}", job.agent_name),
        None => format!("- {}: {state}", job.agent_name),
    }
}

fn names(jobs: &[&Job], language: &str) -> String {
    let names: Vec<&str> = jobs.iter().map(|job| job.agent_name.as_str()).collect();
    listed(&names, language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_in_brief_is_its_first_sentence_and_ends_with_a_whole_word() {
        assert_eq!(in_brief("Whom shall I greet? Say a name."), "Whom shall I greet?");
        assert_eq!(in_brief("Lunch or dinner?\n1. Lunch"), "Lunch or dinner?");
        assert_eq!(in_brief("At version 1.5 or later"), "At version 1.5 or later");
        let long = in_brief(&"seven words ".repeat(40));
        assert!(long.ends_with("words …") || long.ends_with("seven …"), "{long}");
        assert!(long.chars().count() <= 143, "{long}");
    }
}
