//! What a task's user is asked to agree to, while the task waits for that at a link of ours: who asks, where, for what, until when.

use domain::{Job, Task};
use serde::Serialize;
use serde_json::{Value, json};
use url::Url;

/// What the link is about; none where no job of the task waits at it.
pub(crate) fn asked(task: &Task, link: &Url) -> Option<Value> {
    let id = link.path_segments()?.next_back()?;
    let waits = |job: &&Job| job.awaited_consent().is_some_and(|awaited| awaited.id == id);
    let job = task.jobs.iter().find(waits)?;
    let (protection, awaited) = (job.protection.as_ref()?, job.awaited_consent()?);
    Some(json!({
        "agentName": job.agent_name,
        "agentType": job.agent_type,
        "provider": protection.provider,
        "scopes": in_words(&protection.scopes),
        "endsAt": awaited.expires_at,
    }))
}

/// A scope, and what it allows.
#[derive(Debug, Serialize)]
pub(crate) struct NamedScope {
    name: String,
    words: Option<&'static str>,
}

/// Scopes with the words for them, where they have some. They are ours: an agent does not choose what its user reads of it.
pub(crate) fn in_words(scopes: &[String]) -> Vec<NamedScope> {
    let named = |scope: &String| NamedScope {
        name: scope.clone(),
        words: auth::scope::words(scope),
    };
    scopes.iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use domain::testing;
    use domain::{
        AgentName, AwaitedConsent, ContextId, Message, MessageId, NewJob, NewTask, Owner, Part, Protection,
        TaskId, Tenant, Timestamp,
    };

    use super::*;

    fn waiting() -> Task {
        let now = Timestamp::from_millis(0);
        let mut task = Task::create(
            NewTask {
                id: TaskId::from_bytes([1; 16]),
                tenant: Tenant::parse("acme").unwrap(),
                agent: AgentName::parse("host").unwrap(),
                context_id: ContextId::parse("ctx").unwrap(),
                owner: Owner::parse("owner-1").unwrap(),
                message: Message::user(MessageId::parse("m").unwrap(), vec![Part::text("orders?")]),
                trace: None,
            },
            now,
        );
        let protection = |id: &str, scopes: &[&str]| Protection {
            provider: "idp".to_owned(),
            scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
            consent: Some(AwaitedConsent {
                id: id.to_owned(),
                expires_at: now,
            }),
            granted_at: None,
        };
        for (number, (id, scopes)) in (0..).zip([
            ("one", &["tasks"][..]),
            ("two", &["orders:read", "odd:<b>scope</b>"]),
        ]) {
            let new = NewJob {
                number,
                ..testing::new_job()
            };
            let mut job = Job::prepare(new, now);
            job.protection = Some(protection(id, scopes));
            task.jobs.push(job);
        }
        task
    }

    fn at(link: &str) -> Url {
        Url::parse(link).unwrap()
    }

    #[test]
    fn the_consent_of_the_link_is_told_in_words_of_ours() {
        let told = asked(&waiting(), &at("https://x.example/t/acme/connect/two")).unwrap();
        let scopes = json!([
            {"name": "orders:read", "words": "See your orders"},
            {"name": "odd:<b>scope</b>", "words": null},
        ]);
        assert_eq!(told["scopes"], scopes);
        assert_eq!(
            (&told["provider"], &told["endsAt"]),
            (&json!("idp"), &json!("1970-01-01T00:00:00.000Z"))
        );
        assert!(!told.to_string().contains("two"), "the id is in its link alone");
    }

    #[test]
    fn a_link_that_nothing_waits_at_tells_nothing() {
        for link in [
            "https://x.example/t/acme/connect/three",
            "https://x.example/t/acme/connect/two/",
            "https://x.example/",
            "mailto:two",
        ] {
            assert_eq!(asked(&waiting(), &at(link)), None, "{link}");
        }
        let mut given = waiting();
        for job in &mut given.jobs {
            job.protection.as_mut().unwrap().consent = None;
        }
        assert_eq!(asked(&given, &at("https://x.example/t/acme/connect/two")), None);
    }
}
