//! The agent's work on one task: read the question, look with the user's grant, or ask for that first.
//!
//! ```text
//! no grant ─► request stored, auth-required with the link ─► parked
//!                │ woken: granted ─► the calendar is asked │ refused ─► rejected │ link too old ─► another link
//! ```

use std::sync::Arc;
use std::time::Duration;

use a2a::{AUTH_URL, Connections, Disconnected};
use agent::{ExecuteError, Executor, Outcome, Run, WakeDoor, wake_each};
use async_trait::async_trait;
use chrono::{DateTime, Days, NaiveDate, TimeDelta};
use chrono_tz::Tz;
use consent::{
    Consent, ConsentRequest, Consents, Ended, GrantNeed, InvalidMove, Obstacle, Redeemed, TypedCode, Waiting,
    covers, reference,
};
use domain::{AgentName, Artifact, Caller, Message, Owner, Role, Task, TaskState, UserContext};
use nlu::Takes;
use outbound::google_calendar::{EVENTS, FREE_BUSY, GoogleCalendar};
use outbound::{CallError, below};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::PROVIDER;
use crate::answer;
use crate::question::{Kind, Wanted};
use crate::times::{Span, of_day};

/// How long a task waits for its user, with as many links as that takes.
const PATIENCE: Duration = Duration::from_secs(28 * 24 * 3600);
/// How far back a follow-up reaches, in questions.
const EARLIER_MAX: usize = 4;
/// When a consent that a newer release wrote is looked at again.
const NEWER: Duration = Duration::from_secs(3600);

/// Looks into calendars.
pub(crate) struct CalendarExecutor {
    /// The agent's name in keys.
    pub(crate) name: AgentName,
    /// Of no tenant yet.
    pub(crate) consents: Consents,
    pub(crate) calendar: GoogleCalendar,
    pub(crate) consent_base: Url,
    pub(crate) takes: Takes,
    /// For the tasks of whoever disconnects.
    pub(crate) wake: Arc<dyn WakeDoor>,
}

/// Which consent was asked for.
#[derive(Serialize, Deserialize)]
struct Asked {
    consent: String,
}

impl CalendarExecutor {
    /// Asks the calendar, with the user's grant.
    async fn look(
        &self,
        consents: &Consents,
        run: &Run,
        (wanted, scopes): (&Wanted, &[String]),
    ) -> Result<Artifact, Obstacle> {
        let need = GrantNeed {
            owner: &run.task().owner,
            provider: PROVIDER,
            resource: self.calendar.resource(),
            scopes,
        };
        let now = DateTime::from_timestamp_millis(run.now().millis()).unwrap_or_default();
        match wanted.kind {
            Kind::Free | Kind::Slot | Kind::Change | Kind::Disconnect => {
                // Whoever may see busy times alone is not told the calendar's own clock.
                let zone = wanted.zone.unwrap_or(Tz::UTC);
                let span = days(wanted, zone);
                let found = consents
                    .with_token(need, |token| async move {
                        self.calendar.free_busy(&token, (span.from, span.to)).await
                    })
                    .await?;
                Ok(answer::free_busy(wanted, zone, &found, now))
            }
            Kind::Events => {
                // A day more at each end: the calendar's own clock comes with the answer.
                let span = days(wanted, wanted.zone.unwrap_or(Tz::UTC));
                let more = TimeDelta::days(i64::from(wanted.zone.is_none()));
                let around = (span.from - more, span.to + more);
                let found = consents
                    .with_token(
                        need,
                        |token| async move { self.calendar.events(&token, around).await },
                    )
                    .await?;
                let zone = wanted.zone.or_else(|| found.time_zone.parse().ok());
                Ok(answer::events(wanted, zone.unwrap_or(Tz::UTC), &found))
            }
        }
    }

    /// Takes back what the user has agreed to.
    async fn disconnected(&self, consents: &Consents, run: &Run) -> Result<Outcome, ExecuteError> {
        // A repeat must not say that there was nothing.
        let _told_first = run.undisturbed();
        let ended = self.end(consents, &run.task().owner, PROVIDER).await?;
        let said = match ended.map(|ended| ended.revoked) {
            Some(true) => {
                "Your calendar is disconnected, here and at Google. Google may end what you agreed to elsewhere with it."
            }
            Some(false) => {
                "Your calendar is disconnected here: nothing of it is kept. Google could not be told; you can take the access back \
                 at https://myaccount.google.com/connections."
            }
            None => "No calendar of yours is connected.",
        };
        Ok(Outcome::Completed {
            artifacts: vec![answer::said(said)],
            say: None,
        })
    }

    /// Ends what a user has agreed to at a provider, and the tasks that wait for more of it.
    async fn end(
        &self,
        consents: &Consents,
        owner: &Owner,
        provider: &str,
    ) -> Result<Option<Ended>, ExecuteError> {
        let asked = |task: &Task| -> Vec<String> {
            let asked = task.checkpoint.clone().map(serde_json::from_value::<Asked>);
            asked
                .and_then(Result::ok)
                .map(|asked| asked.consent)
                .into_iter()
                .collect()
        };
        let waiting = Waiting {
            agent: &self.name,
            consents: &asked,
        };
        let ended = consents.disconnect(owner, provider, waiting).await?;
        if let Some(ended) = &ended {
            wake_each(self.wake.as_ref(), &ended.tasks).await;
        }
        Ok(ended)
    }

    /// Asks the user to agree: by the consent that is under way, or by a new one.
    async fn ask(
        &self,
        consents: &Consents,
        run: &mut Run,
        asked: Option<Consent>,
        (scopes, lead): (Vec<String>, &str),
    ) -> Result<Outcome, ExecuteError> {
        let (task, now) = (run.task(), run.now());
        if let Some(consent) = asked {
            match consent.running(now) {
                Err(InvalidMove::Denied) => {
                    return Ok(Outcome::Rejected(
                        "You did not agree, so I did not look into your calendar.".to_owned(),
                    ));
                }
                Err(InvalidMove::Newer) => {
                    return Ok(Outcome::Parked {
                        until: now.after(NEWER),
                    });
                }
                Ok(()) if covers(&consent.request.scopes, &scopes) => {
                    // Woken for nothing: what was said still stands.
                    if task.status.state == TaskState::AuthRequired {
                        return Ok(Outcome::Parked {
                            until: consent.expires_at,
                        });
                    }
                    return Ok(self.asked(run, consents, &consent, lead));
                }
                _ => {}
            }
        }
        if task.created_at.after(PATIENCE) <= now {
            return Ok(Outcome::Rejected("You did not agree in time.".to_owned()));
        }
        let Some(provider) = consents.provider(PROVIDER) else {
            return Ok(Outcome::Failed(
                "Signing in at Google is not set up here.".to_owned(),
            ));
        };
        let request = ConsentRequest {
            owner: task.owner.clone(),
            agent: task.agent.clone(),
            task_id: task.id,
            job: 0,
            provider: PROVIDER.to_owned(),
            issuer: provider.issuer.clone(),
            resource: self.calendar.resource().to_owned(),
            scopes,
        };
        let consent = consents.request(request).await?;
        tracing::info!(tenant.id = task.tenant.name(), task.id = %task.id, "consent needed");
        run.record_with_outcome(Run::checkpoint_event(&Asked {
            consent: consent.id.clone(),
        })?);
        Ok(self.asked(run, consents, &consent, lead))
    }

    fn asked(&self, run: &Run, consents: &Consents, consent: &Consent, lead: &str) -> Outcome {
        let place = format!("connect/{}", reference(&consents.tenant, &consent.id));
        let link = below(&self.consent_base, &place);
        let what = match consent.request.scopes.iter().any(|scope| scope == EVENTS) {
            true => "see the events of your Google calendar",
            false => "see when you are busy in your Google calendar",
        };
        let mut message = run.message(&format!(
            "{lead}I need your permission to {what}. Open this and agree at Google. If you are shown a code there, type it here: {link}"
        ));
        a2a::name_consent(&mut message, &consent.id);
        message.metadata.insert(AUTH_URL.to_owned(), link.as_str().into());
        Outcome::AuthRequired {
            message,
            until: consent.expires_at,
        }
    }
}

#[async_trait]
impl Executor for CalendarExecutor {
    fn takes(&self) -> Option<&Takes> {
        Some(&self.takes)
    }

    fn recalls(&self) -> usize {
        EARLIER_MAX
    }

    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let user = UserContext::newest(run.task().history.iter());
        let wanted = match Wanted::of(run.taken(), &user, run.now()) {
            Ok(wanted) => wanted,
            Err((field, question)) => {
                let schema = self.takes.schema().of_fields(&[field]);
                return Ok(Outcome::Missing { question, schema });
            }
        };
        let consents = self.consents.in_tenant(run.task().tenant.clone());
        if wanted.kind == Kind::Disconnect {
            return self.disconnected(&consents, run).await;
        }
        let asked = match run.checkpoint::<Asked>() {
            Some(asked) => consents.records().find(&asked.consent).await?,
            None => None,
        };
        let lead = match (&asked, users(run).last().and_then(TypedCode::of)) {
            (Some(consent), Some(typed)) => match consents.redeem(consent, &typed).await? {
                Redeemed::Yes => "",
                Redeemed::No => "That code is not right, or too old. ",
                Redeemed::Void => "That code is not right either, so it is void, and so is its link. ",
            },
            _ => "",
        };
        // Read again: a fifth wrong code has ended it.
        let asked = match asked {
            Some(consent) if !lead.is_empty() => consents.records().find(&consent.id).await?,
            asked => asked,
        };
        let scopes = vec![
            match wanted.kind {
                Kind::Events => EVENTS,
                _ => FREE_BUSY,
            }
            .to_owned(),
        ];
        match self.look(&consents, run, (&wanted, &scopes)).await {
            Ok(artifact) => {
                if asked.is_some() {
                    let others = consents.others_waiting(run.task()).await?;
                    wake_each(self.wake.as_ref(), &others).await;
                }
                Ok(Outcome::Completed {
                    artifacts: vec![artifact],
                    say: None,
                })
            }
            Err(Obstacle::Consent(scopes)) => self.ask(&consents, run, asked, (scopes, lead)).await,
            Err(Obstacle::Later(reason)) => Err(ExecuteError::Retry(reason.to_owned())),
            Err(Obstacle::Call(error)) => failed(&error),
        }
    }

    fn connects(&self) -> bool {
        true
    }

    async fn connections(&self, caller: &Caller) -> Result<Connections, ExecuteError> {
        let consents = self.consents.in_tenant(caller.tenant.clone());
        Ok(Connections {
            connections: consents.connections(&caller.owner, |_| None).await?,
            unasked: Vec::new(),
        })
    }

    async fn disconnect(&self, caller: &Caller, id: &str) -> Result<Option<Disconnected>, ExecuteError> {
        let consents = self.consents.in_tenant(caller.tenant.clone());
        let ended = self.end(&consents, &caller.owner, id).await?;
        Ok(ended.map(|ended| Disconnected {
            provider: id.to_owned(),
            revoked: ended.revoked,
        }))
    }
}

fn users(run: &Run) -> impl DoubleEndedIterator<Item = &Message> {
    let history = run.task().history.iter();
    history.filter(|message| message.role == Role::User)
}

/// What a call that failed means for the task.
fn failed(error: &CallError) -> Result<Outcome, ExecuteError> {
    tracing::warn!(
        error = error as &dyn std::error::Error,
        "the calendar gave no answer"
    );
    // A token that was renewed just now and is still refused may be one that Google does not know yet.
    if error.is_retryable() || matches!(error, CallError::Unauthorized { .. }) {
        return Err(ExecuteError::Retry(
            "Google's calendar cannot be reached at the moment.".to_owned(),
        ));
    }
    Ok(Outcome::Failed(match error {
        CallError::Forbidden { .. } => "Google does not let me look into this calendar.".to_owned(),
        _ => "Google's calendar gave an answer that cannot be used.".to_owned(),
    }))
}

/// From the first day's beginning to the last one's end; what goes over midnight too.
fn days(wanted: &Wanted, zone: Tz) -> Span {
    let day = |day: Option<&NaiveDate>| day.copied().unwrap_or_default();
    let (first, last) = (day(wanted.days.first()), day(wanted.days.last()));
    let next = match wanted.hours.is_some_and(|hours| hours.to <= hours.from) {
        true => last.checked_add_days(Days::new(1)).unwrap_or(last),
        false => last,
    };
    Span {
        from: of_day(first, None, zone).from,
        to: of_day(next, None, zone).to,
    }
}
