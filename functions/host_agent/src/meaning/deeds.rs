//! What is to be done with tasks that words name: which they are, here or in the user's other chats.

use domain::{Task, TaskState};

use super::which::{self, Target};
use super::{Chat, Deed, Meaning, Nothing, is_open};

/// How long what went wrong in another chat is offered when a message asks to try again, in milliseconds.
const LATELY: i64 = 24 * 3600 * 1000;

impl<'a> Chat<'a> {
    pub(super) fn cancel(&self, target: &Target, rest: Option<String>) -> Meaning<'a> {
        let ended = |task: &Task| task.status.state == TaskState::Canceled && task.status.at > self.since;
        let fits = |task: &&Task| is_open(task) || ended(task) && !task.jobs.is_empty();
        let open: Vec<&Task> = self.here.iter().filter(fits).collect();
        if target.is_bare() {
            return match open.as_slice() {
                // What is named may be of another chat: it is held against those too. Called off there it is only once that is asked.
                [] => match self.elsewhere {
                    None => Meaning::LookElsewhere,
                    Some(elsewhere) => {
                        let there: Vec<&Task> = elsewhere.iter().filter(|task| is_open(task)).collect();
                        match there.is_empty() {
                            true => Meaning::Nothing(Nothing::ToCancel, rest),
                            false => Meaning::Which(Deed::Cancel, there, rest),
                        }
                    }
                },
                several if several.len() > 1 && !target.all => Meaning::Which(Deed::Cancel, open, rest),
                _ => Meaning::Cancel(open, rest),
            };
        }
        let here: Vec<&Task> = open
            .into_iter()
            .filter(|task| which::is_meant(target, task))
            .collect();
        match here.as_slice() {
            [] => {}
            // "Both reports", of which one is in another chat.
            _ if target.all && self.elsewhere.is_none() => return Meaning::LookElsewhere,
            _ if target.all => {}
            [only] => return cancel_one(only, target, rest),
            _ => return Meaning::Which(Deed::Cancel, here, rest),
        }
        let Some(elsewhere) = self.elsewhere else {
            return Meaning::LookElsewhere;
        };
        let there: Vec<&Task> = elsewhere
            .iter()
            .filter(fits)
            .filter(|task| which::is_meant(target, task))
            .collect();
        match (here.is_empty(), there.is_empty(), target.id) {
            (false, false, _) => Meaning::CancelAndWhich(here, there, rest),
            (false, true, _) => Meaning::Cancel(here, rest),
            (true, false, _) => Meaning::Which(Deed::Cancel, there, rest),
            (true, true, Some(id)) => match self.all().find(|task| task.id == id) {
                Some(task) => Meaning::Status(vec![task]),
                None => Meaning::Nothing(Nothing::Known(id), None),
            },
            (true, true, None) => Meaning::Nothing(Nothing::ToCancel, rest),
        }
    }

    pub(super) fn status(&self, target: &Target) -> Meaning<'a> {
        let fits = |task: &&Task| (!task.jobs.is_empty() || is_open(task)) && which::is_meant(target, task);
        let here: Vec<&Task> = self.here.iter().filter(fits).collect();
        let open: Vec<&Task> = here.iter().copied().filter(|task| is_open(task)).collect();
        let is_every = target.all && target.is_bare();
        if let Some(newest) = here.last().copied() {
            return Meaning::Status(match open.is_empty() {
                true => vec![newest],
                false if is_every && !is_open(newest) => open.into_iter().chain([newest]).collect(),
                false => open,
            });
        }
        let Some(elsewhere) = self.elsewhere else {
            return Meaning::LookElsewhere;
        };
        let mut there = elsewhere.iter().filter(fits);
        if is_every {
            let open: Vec<&Task> = there.filter(|task| is_open(task)).collect();
            return match open.is_empty() {
                true => Meaning::Nothing(Nothing::ToTell, None),
                false => Meaning::Status(open),
            };
        }
        match (there.next(), target.id) {
            (Some(task), _) => Meaning::Status(vec![task]),
            (None, Some(id)) => Meaning::Nothing(Nothing::Known(id), None),
            (None, None) => Meaning::Nothing(Nothing::ToTell, None),
        }
    }

    pub(super) fn retry(&self, target: &Target) -> Meaning<'a> {
        let tried: Vec<String> = self.here.iter().filter_map(which::retry_of).collect();
        let again: Vec<&Task> = self
            .here
            .iter()
            .filter(|task| which::can_be_retried(task) && which::is_meant(target, task))
            .filter(|task| !tried.contains(&task.id.to_string()))
            .collect();
        if again.len() > 1 && again.iter().all(|task| task.status.state == TaskState::Failed) {
            return Meaning::Which(Deed::Retry, again, None);
        }
        let newest = again.last().copied();
        // What is tried once more already, or never ended: how that is doing.
        let under_way: Vec<&Task> = self.here.iter().filter(|task| is_open(task)).collect();
        if newest.is_none() && target.is_bare() && !under_way.is_empty() {
            return Meaning::Status(under_way);
        }
        let Some(elsewhere) = self.elsewhere.or(newest.is_some().then_some(&[])) else {
            return Meaning::LookElsewhere;
        };
        let lately = |task: &&Task| self.since.millis() - task.status.at.millis() < LATELY;
        let there = |task: &&Task| which::can_be_retried(task) && which::is_meant(target, task);
        match (newest, elsewhere.iter().filter(lately).find(there)) {
            (Some(task), _) => Meaning::Retry(task),
            (None, Some(task)) => Meaning::Which(Deed::Retry, vec![task], None),
            (None, None) => Meaning::Nothing(Nothing::ToRetry, None),
        }
    }
}

/// Of a task that does several things, those that are meant end, and no others.
fn cancel_one<'a>(task: &'a Task, target: &Target, rest: Option<String>) -> Meaning<'a> {
    match which::part(target, task) {
        None => Meaning::Cancel(vec![task], rest),
        Some(open) if open.is_empty() => Meaning::Nothing(Nothing::PartIsOver, rest),
        Some(open) => Meaning::CancelPart(task, open, rest),
    }
}
