//! Consent: an agent that takes nobody's token but its user's own makes the task wait for that user.
//!
//! ```text
//! no grant ─► request stored, job waits, task auth-required with the link ─► parked
//!                  │ woken: granted ─► job goes on     │ refused ─► job rejected     │ link too old ─► another link
//! ```
//! A job that waits is sent nothing. Nobody polls: the callback wakes the task, or the user says something, or the
//! link's time runs out.

use std::time::Duration;

use a2a::card::ForeignOAuth;
use agent::{ExecuteError, Run, wake_each};
use consent::{ConsentRequest, Consents, InvalidMove, Redeemed, Stage, TypedCode, covers, union};
use domain::{AwaitedConsent, EventKind, Job, Protection, Task, TaskState};
use store::StoreError;

use crate::delegation::calls::need;
use crate::deps::{Deps, OnTask};
use crate::meaning;
use crate::provider_match::issues_for;
use crate::rules::{sentences, transcript, wording};

/// How long the task waits for its user, with as many links as that takes: not as long as tasks are kept.
const CONSENT_PATIENCE: Duration = Duration::from_secs(28 * 24 * 3600);

/// What became of a request for consent.
enum Look {
    /// Nothing yet.
    Waits,
    /// The grant is there.
    Granted,
    /// It will not come, and why.
    Refused(&'static str),
    /// Its link is good for nothing any more.
    Stale,
    /// So many wrong codes were typed back that the right one is void too.
    Guessed,
}

/// Looks what became of the consents that jobs wait for, and writes it down: those that were given go on.
pub(crate) async fn look_at_consents(deps: &Deps, run: &mut Run) -> Result<(), ExecuteError> {
    let task = run.task().clone();
    let now = run.now();
    let on = OnTask {
        deps,
        task: &task,
        now,
    };
    let said = transcript::pending_answer(&task);
    let typed = said.and_then(TypedCode::of);
    let mut jobs = task.jobs.clone();
    let waiting: Vec<u32> = jobs
        .iter()
        .filter(|job| job.awaited_consent().is_some())
        .map(|job| job.number)
        .collect();
    if waiting.is_empty() {
        return Ok(());
    }
    let mut changed = Vec::new();
    let (mut guessed, mut given) = (false, false);
    for number in waiting {
        let Some(mut job) = jobs.iter().find(|job| job.number == number).cloned() else {
            continue;
        };
        match look_at_consent(on, &job, typed.as_ref()).await? {
            Look::Waits => continue,
            Look::Granted => {
                given = true;
                job.updated_at = now;
                job.attempts = 0;
                if let Some(protection) = &mut job.protection {
                    protection.consent = None;
                    protection.granted_at = Some(now);
                }
                job.tidy();
            }
            Look::Refused(reason) => job.give_up(TaskState::Rejected, reason, now),
            look @ (Look::Stale | Look::Guessed) => {
                guessed |= matches!(look, Look::Guessed);
                request_consent(on, &mut job, Vec::new(), &jobs).await?
            }
        }
        if let Some(known) = jobs.iter_mut().find(|known| known.number == number) {
            known.clone_from(&job);
        }
        changed.push(job);
    }
    if given {
        wake_each(deps.wake.as_ref(), &deps.consents.others_waiting(&task).await?).await;
    }
    let mut kinds: Vec<EventKind> = changed
        .iter()
        .cloned()
        .map(|job| EventKind::Job { job: Box::new(job) })
        .collect();
    let still = jobs.iter().find_map(|job| Some((job, job.awaited_consent()?)));
    if let Some((job, awaited)) = still {
        if said.is_some_and(|said| meaning::is_about_consent(&task, said)) {
            let lead = match typed {
                Some(_) if guessed => "That code is not right either, so it is void, and so is its link. ",
                Some(_) if changed.is_empty() => "That code is not right, or too old. ",
                _ => "",
            };
            kinds.push(consent_status(deps, (&task, job), awaited, lead));
        }
    } else if jobs.iter().any(|job| !job.is_settled()) {
        let names: Vec<&str> = changed
            .iter()
            .filter(|job| !job.is_settled())
            .map(|job| job.agent_name.as_str())
            .collect();
        let held = |job: &Job| {
            let plan = task.plan.as_ref();
            job.is_settled() || plan.is_some_and(|plan| plan.holds(job, &jobs))
        };
        let text = match names.as_slice() {
            // Its turn has not come.
            [_, ..] if changed.iter().all(held) => sentences::told(&task, "thanksGoingOn", ""),
            [] => sentences::told(&task, "withoutIt", ""),
            names => {
                let names = words::listed(names, &sentences::told(&task, "and", ""));
                sentences::told(&task, "thanks", &names)
            }
        };
        kinds.push(EventKind::status(TaskState::Working, Some(run.message(&text))));
    }
    run.record(kinds).await
}

async fn look_at_consent(on: OnTask<'_>, job: &Job, typed: Option<&TypedCode>) -> Result<Look, StoreError> {
    let (task, consents) = (on.task, &on.deps.consents);
    let (Some(protection), Some(awaited)) = (&job.protection, job.awaited_consent()) else {
        return Ok(Look::Waits);
    };
    let found = consents.records().find(&awaited.id).await?;
    let stage = found.as_ref().map(|consent| &consent.stage);
    if stage == Some(&Stage::Denied) {
        return Ok(Look::Refused(words::NOT_AGREED));
    }
    if let (Some(typed), Some(consent)) = (typed, &found) {
        // A code counts for the task that it was shown for, and for nobody else's.
        let own = consent.request.owner == task.owner && consent.request.task_id == task.id;
        if own && consents.redeem(consent, typed).await? == Redeemed::Void {
            return Ok(Look::Guessed);
        }
    }
    let grant = consents.grant(need(task, job, protection)).await?;
    match grant {
        Some(grant) if covers(&grant.scopes, &protection.scopes) => return Ok(Look::Granted),
        Some(_) if stage == Some(&Stage::Done) => {
            return Ok(Look::Refused("what you agreed to is not enough for it."));
        }
        _ => {}
    }
    // What a newer release made of it is for that to say.
    if found.is_some_and(|consent| matches!(consent.running(on.now), Ok(()) | Err(InvalidMove::Newer))) {
        return Ok(Look::Waits);
    }
    if task.created_at.after(CONSENT_PATIENCE) <= on.now {
        return Ok(Look::Refused(words::NOT_AGREED_IN_TIME));
    }
    Ok(Look::Stale)
}

/// What calls of an agent need; or why it cannot be asked at all.
pub(crate) fn protection(
    consents: &Consents,
    agent_name: &str,
    oauth: Option<&ForeignOAuth>,
) -> Result<Option<Protection>, String> {
    let Some(oauth) = oauth else {
        return Ok(None);
    };
    let provider = consents
        .providers
        .iter()
        .find(|(_, provider)| issues_for(provider, oauth));
    let (id, _) = provider
        .ok_or_else(|| format!("{agent_name} wants a sign-in that is not set up for this tenant."))?;
    Ok(Some(Protection {
        provider: id.clone(),
        scopes: oauth.scopes.clone(),
        consent: None,
        granted_at: None,
    }))
}

/// Makes a new job wait where its user has not consented to what it needs yet.
pub(crate) async fn require_consent(on: OnTask<'_>, job: &mut Job, others: &[Job]) -> Result<(), StoreError> {
    let Some(protection) = &job.protection else {
        return Ok(());
    };
    let grant = on.deps.consents.grant(need(on.task, job, protection)).await?;
    match grant {
        Some(grant) if covers(&grant.scopes, &protection.scopes) => Ok(()),
        Some(grant) => request_consent(on, job, grant.scopes, others).await,
        None => request_consent(on, job, Vec::new(), others).await,
    }
}

/// Makes the job wait for its user's consent to what it needs and these scopes: by the request that another job of
/// the task waits for, or by a new one.
pub(crate) async fn request_consent(
    on: OnTask<'_>,
    job: &mut Job,
    more: Vec<String>,
    others: &[Job],
) -> Result<(), StoreError> {
    let OnTask { deps, task, now } = on;
    let old = job.awaited_consent().map(|awaited| awaited.id.clone());
    let Some(protection) = &mut job.protection else {
        return Ok(());
    };
    protection.scopes = union(&protection.scopes, &more);
    let shared = others.iter().find_map(|other| {
        let theirs = other.protection.as_ref()?;
        let awaited = other.awaited_consent()?;
        let same =
            theirs.provider == protection.provider && other.endpoint.audience() == job.endpoint.audience();
        let good = awaited.expires_at > now && Some(&awaited.id) != old.as_ref();
        (same && good && covers(&theirs.scopes, &protection.scopes)).then(|| awaited.clone())
    });
    if let Some(shared) = shared {
        protection.consent = Some(shared);
        job.updated_at = now;
        job.tidy();
        return Ok(());
    }
    let Some(provider) = deps.consents.provider(&protection.provider) else {
        job.give_up(TaskState::Failed, "its sign-in is not set up any more.", now);
        return Ok(());
    };
    let request = ConsentRequest {
        owner: task.owner.clone(),
        agent: task.agent.clone(),
        task_id: task.id,
        job: job.number,
        provider: protection.provider.clone(),
        issuer: provider.issuer.clone(),
        resource: job.endpoint.audience().to_string(),
        scopes: protection.scopes.clone(),
    };
    let consent = deps.consents.request(request).await?;
    tracing::info!(
        tenant.id = task.tenant.name(), task.id = %task.id, job = job.number, agent.id = %job.agent_id,
        provider = %consent.request.provider, "consent needed"
    );
    protection.consent = Some(AwaitedConsent {
        id: consent.id,
        expires_at: consent.expires_at,
    });
    job.updated_at = now;
    job.tidy();
    Ok(())
}

/// The status that asks for consent.
pub(crate) fn consent_status(
    deps: &Deps,
    (task, job): (&Task, &Job),
    awaited: &AwaitedConsent,
    lead: &str,
) -> EventKind {
    let link = deps.consent_link(awaited);
    let message = wording::consent_asked(deps.entropy.as_ref(), (task, job), link, lead);
    EventKind::status(TaskState::AuthRequired, Some(message))
}
