//! What is to be done with tasks that words name: which they are, here or in the user's other chats.

use domain::{Task, TaskId, TaskState};

use super::wish::{self, Target, Wish};
use super::{Chat, Deed, Meaning, Nothing, filler, is_open, transcript, which};

/// How long what went wrong in another chat is offered when a message asks to try again, in milliseconds.
const LATELY: i64 = 24 * 3600 * 1000;

impl<'a> Chat<'a> {
    pub(super) fn cancel(&self, text: &str, target: &Target, rest: Option<String>) -> Meaning<'a> {
        let ended = |task: &Task| task.status.state == TaskState::Canceled && task.status.at > self.since;
        let is_worked_on =
            |task: &&Task| matches!(task.status.state, TaskState::Submitted | TaskState::Working);
        let fits = |task: &&Task| {
            (is_open(task) && (!target.running || is_worked_on(task)))
                || (ended(task) && !task.jobs.is_empty())
        };
        let open: Vec<&Task> = self.here.iter().filter(fits).collect();
        if target.is_bare() {
            return match open.as_slice() {
                // "Never mind. Will it snow?": there was nothing to mind.
                [] if let Some(rest) = rest.as_ref().filter(|_| wish::begins_with_dismissal(text)) => {
                    self.request(rest, rest)
                }
                [] if wish::is_dismissal(text) => Meaning::Nothing(Nothing::ToDecline, rest),
                // What is named may be of another chat: it is held against those too.
                [] if self.heard.is_some() && self.elsewhere.is_none() => Meaning::LookElsewhere,
                [] if self.is_told_of_elsewhere() => self.cancel_elsewhere(rest),
                [] => Meaning::Nothing(Nothing::ToCancel, rest),
                several if several.len() > 1 && !target.all => Meaning::Which(Deed::Cancel, open, rest),
                _ => Meaning::Cancel(open, rest),
            };
        }
        let meant: Vec<&Task> = open
            .into_iter()
            .filter(|task| which::is_meant(target, task))
            .collect();
        let here = which::narrowed(target, meant);
        match here.as_slice() {
            [] => {}
            // "Both reports", of which one is in another chat.
            _ if target.all && self.elsewhere.is_none() => return Meaning::LookElsewhere,
            _ if target.all => {}
            [only] => return self.cancel_one(only, target, (text, rest)),
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
        match (here.is_empty(), there.is_empty()) {
            (false, false) => return Meaning::CancelAndWhich(here, there, rest),
            (false, true) => return Meaning::Cancel(here, rest),
            (true, false) => return Meaning::Which(Deed::Cancel, there, rest),
            // "Stop maar": what is no more than a little word names nothing, where nothing is called that.
            (true, true)
                if target.id.is_none()
                    && !target.words.is_empty()
                    && target.words.iter().all(|word| filler::is_any(word)) =>
            {
                return self.cancel(text, &target.unnamed(), rest);
            }
            (true, true) => {}
        }
        match target.id {
            Some(id) => self
                .over(id)
                .map_or(Meaning::Nothing(Nothing::Known(id), None), |task| {
                    Meaning::Status(vec![task])
                }),
            // "Never mind the rain, is my order late?": there was nothing to mind.
            None if let Some(rest) = rest.as_ref().filter(|_| wish::begins_with_dismissal(text)) => {
                self.request(rest, rest)
            }
            // What is over already cannot be called off.
            None if target.running => self.request(text, text),
            None if target.words.iter().any(|word| self.names.has(word))
                || target.all
                || self
                    .here
                    .iter()
                    .any(|task| !task.jobs.is_empty() && which::is_meant(target, task)) =>
            {
                Meaning::Nothing(Nothing::ToCancel, rest)
            }
            None if wish::begins_with_dismissal(text) => Meaning::Nothing(Nothing::ToDecline, None),
            None => self.request(text, text),
        }
    }

    /// Of a task that does several things, those that are meant end, and no others.
    fn cancel_one(
        &self,
        task: &'a Task,
        target: &Target,
        (text, rest): (&str, Option<String>),
    ) -> Meaning<'a> {
        match which::part(target, task) {
            None => Meaning::Cancel(vec![task], rest),
            Some(open) if !open.is_empty() => Meaning::CancelPart(task, open, rest),
            Some(_) => match rest {
                Some(rest) if wish::begins_with_dismissal(text) => self.request(&rest, &rest),
                rest => Meaning::Nothing(Nothing::PartIsOver, rest),
            },
        }
    }

    /// Whether news were asked for last, which were of another chat where nothing is here.
    fn is_told_of_elsewhere(&self) -> bool {
        let last = self.here.last().filter(|task| task.direct);
        let asked = last.map(|task| Wish::of(&transcript::asked(task), self.names));
        matches!(asked, Some(Wish::Status(_) | Wish::Open))
    }

    /// What runs in another chat is called off only once that is asked.
    fn cancel_elsewhere(&self, rest: Option<String>) -> Meaning<'a> {
        let Some(elsewhere) = self.elsewhere else {
            return Meaning::LookElsewhere;
        };
        let open: Vec<&Task> = elsewhere.iter().filter(|task| is_open(task)).collect();
        match open.is_empty() {
            true => Meaning::Nothing(Nothing::ToCancel, rest),
            false => Meaning::Which(Deed::Cancel, open, rest),
        }
    }

    /// The task with this id, wherever it is.
    fn over(&self, id: TaskId) -> Option<&'a Task> {
        self.all().find(|task| task.id == id)
    }

    pub(super) fn status(&self, text: &str, target: &Target) -> Meaning<'a> {
        let fits = |task: &&Task| {
            (!task.jobs.is_empty() || is_open(task))
                && (is_open(task) || !target.open)
                && which::is_meant(target, task)
        };
        let here: Vec<&Task> = self.here.iter().filter(fits).collect();
        let bare = target.is_bare();
        if target.all && bare {
            let open: Vec<&Task> = here.iter().copied().filter(|task| is_open(task)).collect();
            let newest = here.last().copied().filter(|task| !is_open(task));
            let shown: Vec<&Task> = open.into_iter().chain(newest).collect();
            if !shown.is_empty() {
                return Meaning::Status(shown);
            }
        } else if let Some(newest) = here.last().copied() {
            let open: Vec<&Task> = here.iter().copied().filter(|task| is_open(task)).collect();
            return Meaning::Status(match open.is_empty() {
                true => vec![newest],
                false => open,
            });
        }
        let Some(elsewhere) = self.elsewhere else {
            return Meaning::LookElsewhere;
        };
        let mut there = elsewhere.iter().filter(fits);
        if target.all && bare {
            let open: Vec<&Task> = there.filter(|task| is_open(task)).collect();
            return match open.is_empty() {
                true => Meaning::Nothing(Nothing::ToTell, None),
                false => Meaning::Status(open),
            };
        }
        match (there.next(), target.id) {
            (Some(task), _) => Meaning::Status(vec![task]),
            (None, Some(id)) => Meaning::Nothing(Nothing::Known(id), None),
            (None, None) if bare || !target.open || self.all_named(target) => {
                Meaning::Nothing(Nothing::ToTell, None)
            }
            (None, None) => self.words(text, text),
        }
    }

    fn all_named(&self, target: &Target) -> bool {
        let mut words = target.words.iter();
        words.all(|word| self.names.has(word) && word != "weather" || self.names.works(word).is_some())
    }

    pub(super) fn retry(&self, text: &str, target: &Target) -> Meaning<'a> {
        let again: Vec<&Task> = self
            .here
            .iter()
            .filter(|task| which::can_be_retried(task) && which::is_meant(target, task))
            .collect();
        if self.heard.is_some()
            && again.len() > 1
            && again.iter().all(|task| task.status.state == TaskState::Failed)
        {
            return Meaning::Which(Deed::Retry, again, None);
        }
        let done: Vec<String> = self.here.iter().filter_map(which::retry_of).collect();
        let newest = again
            .into_iter()
            .rev()
            .find(|task| !done.contains(&task.id.to_string()));
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
        match newest {
            Some(task) => Meaning::Retry(task),
            None if let Some(task) = elsewhere.iter().filter(lately).find(there) => {
                Meaning::Which(Deed::Retry, vec![task], None)
            }
            None if target.words.is_empty() || target.words.iter().all(|word| self.names.has(word)) => {
                Meaning::Nothing(Nothing::ToRetry, None)
            }
            None => self.request(text, text),
        }
    }
}
