//! How a look at a task ends where nothing can be done now: by saying what it waits for, and until when.

use std::time::Duration;

use agent::{ExecuteError, Outcome, Run};
use domain::{EventKind, Part, TaskState};
use nlu::InputSchema;
use url::Url;

use crate::deps::Deps;
use crate::rules::wording::{LEADS_TO, add_link, address, asks_for, consent_asked, led_there, waiting_for};
use crate::rules::{plans, transcript};

/// A status that is no older was written by this very look at the task.
const JUST_NOW: Duration = Duration::from_secs(1);
/// How long after a look that asked for consent the task is looked at once more.
const AFTERTHOUGHT: Duration = Duration::from_secs(3);

/// Says what the task waits for, where its status does not say so yet.
pub(crate) async fn wait(deps: &Deps, run: &mut Run) -> Result<Outcome, ExecuteError> {
    if let Some(until) = run.parked() {
        return Ok(Outcome::Parked { until });
    }
    let (task, now) = (run.task(), run.now());
    let until = deps.patience.wake_at(task, now);
    if let Some(asks) = plans::asks(task) {
        let question = plans::asked(task, |text| run.message(text), "");
        if let Some(question) = question {
            run.record_and_park(vec![question], |_| Some(until)).await?;
            return Ok(Outcome::Parked { until });
        }
        let until = until.min(plans::waits_until(task, &asks));
        return Ok(Outcome::Parked {
            until: until.max(now.after(JUST_NOW)),
        });
    }
    if let Some((job, awaited)) = transcript::unconsented(task) {
        let link = deps.consent_link(awaited);
        if !asks_for(task, &link) {
            let message = consent_asked(deps.entropy.as_ref(), (task, job), link, "");
            // A grant that comes while this look holds the task wakes nobody.
            deps.nudge(task, AFTERTHOUGHT).await;
            return Ok(Outcome::AuthRequired { message, until });
        }
        if now < task.status.at.after(JUST_NOW) {
            deps.nudge(task, AFTERTHOUGHT).await;
        }
    } else if let Some((state, text)) = waiting_for(&deps.patience, task, now) {
        let mut message = run.message(&text);
        if state == TaskState::AuthRequired {
            // The agent's own affair: its link is shown as its own, and leads elsewhere.
            let may = |url: &Url| deps.outbound.check_url(url).is_ok();
            let asking = transcript::asking(task);
            let link = asking.and_then(|job| Some((job, address(job, &text, may)?)));
            if let Some((job, link)) = link {
                match led_there(job, &link) {
                    // Through a page of ours, which knows the starter's browser.
                    Some(way) => {
                        message.metadata.insert(LEADS_TO.to_owned(), way);
                        add_link(&mut message, deps.way_to_agent(task), true);
                    }
                    None => add_link(&mut message, link, false),
                }
            }
            return Ok(Outcome::AuthRequired { message, until });
        }
        // What the agent asks for as data, pages and clients may show as a form.
        let form = transcript::asking(task).and_then(|job| InputSchema::of(job.remote()?.form.as_ref()?));
        message
            .parts
            .extend(form.map(|form| Part::form(form.as_json().clone())));
        run.record(vec![EventKind::status(state, Some(message))]).await?;
        return Ok(Outcome::Parked {
            until: deps.patience.wake_at(run.task(), now),
        });
    }
    Ok(Outcome::Parked { until })
}
