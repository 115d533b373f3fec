//! What a model says that a message means for tasks of the chat, held to what may be done on a model's word.
//!
//! It may say which task is meant, and of what the user said what is about it. An answer is the user's own words, whole clauses of them;
//! what it would end that is more than one thing, or has an effect elsewhere, is asked first. It starts no plan and allows no step.

use domain::Task;
use llm::{Answer, Step};
use nlu::Act;

use super::{Chat, Deed, Meaning, Nothing, is_open, plan_words, which};
use crate::rules::{plans, transcript};

/// Most tasks that a model is shown, the newest.
const TASKS_MAX: usize = 6;

/// The tasks of a chat that a model is shown, oldest first: what waits, what runs, and what has ended.
pub(crate) fn shown(here: &[Task]) -> Vec<&Task> {
    let is_work = |task: &&Task| !task.jobs.is_empty() || task.plan.is_some() || is_open(task);
    let mut shown: Vec<&Task> = here.iter().rev().filter(is_work).take(TASKS_MAX).collect();
    shown.reverse();
    shown
}

impl<'a> Chat<'a> {
    /// What a message means by a model's decision; none where that is nothing to go by.
    pub(crate) fn decided(&self, text: &str, answer: &Answer) -> Option<Meaning<'a>> {
        let act = answer.about.first()?.act;
        if answer.about.iter().any(|about| about.act != act) {
            return None;
        }
        let shown = shown(self.here);
        let mut of: Vec<&Task> = Vec::new();
        for about in &answer.about {
            let task = *shown.get(about.task)?;
            if !of.iter().any(|known| known.id == task.id) {
                of.push(task);
            }
        }
        let words = answer.about.iter().map(|about| about.words.as_str());
        let (own, others) = parted(text, &words.collect::<Vec<_>>().join(" "));
        let asks_more = matches!(answer.step, Step::Call(_) | Step::Choose { .. });
        // Where nobody can tell what else is asked, all of it is.
        let rest = match (others.is_empty(), own.is_empty()) {
            (true, false) => None,
            (_, true) => Some(text.trim().to_owned()),
            (false, false) => Some(others),
        };
        let rest = rest.filter(|_| asks_more);
        Some(match (act, of.as_slice()) {
            (Act::Answer, [task]) if takes(task, text, rest.is_some()) => match rest {
                None => Meaning::Answer(task),
                Some(_) if own.is_empty() => return None,
                Some(rest) => Meaning::AnswerAnd(task, own, rest),
            },
            (Act::Cancel, _) => {
                // What an execution that broke off has ended is ended.
                of.retain(|task| is_open(task) || task.status.at > self.since);
                match of.as_slice() {
                    [] => Meaning::Nothing(Nothing::ToCancel, rest),
                    [only] if !has_effect(only) => Meaning::Cancel(of, rest),
                    _ => Meaning::Which(Deed::Cancel, of, rest),
                }
            }
            (Act::Retry, [task]) if which::can_be_retried(task) => match rest {
                None => Meaning::Retry(task),
                rest => Meaning::Which(Deed::Retry, of, rest),
            },
            (Act::Status, _) => match rest {
                None => Meaning::Status(of),
                Some(rest) => Meaning::StatusAnd(of, rest),
            },
            _ => return None,
        })
    }
}

/// Whether a task takes this as an answer: to what its agent asked, or as a change of its plan. What starts a plan or allows a step of it
/// was read before, by closed lists.
fn takes(task: &Task, text: &str, is_part: bool) -> bool {
    let asks = transcript::question(task).is_some() && task.status.state.is_interrupted();
    asks || !is_part && plans::asks(task).is_some() && plan_words::answer(task, text).is_none()
}

/// Whether something of a task is done to what is elsewhere: by its user's consent, or by their word.
fn has_effect(task: &Task) -> bool {
    let guarded = task.plan.iter().flat_map(|plan| &plan.steps);
    task.jobs.iter().any(|job| job.protection.is_some())
        || guarded.into_iter().any(|step| step.guard.is_some())
}

/// A text in two: the clauses that lie in these words, and the others.
fn parted(text: &str, words: &str) -> (String, String) {
    let plain = |text: &str| format!(" {} ", super::closed::lower(text).join(" "));
    let words = plain(words);
    let (mut own, mut others) = (String::new(), String::new());
    for clause in llm::clauses(text) {
        let is_own = words.contains(&plain(clause.read));
        if is_own { &mut own } else { &mut others }.push_str(clause.whole);
    }
    (own.trim().to_owned(), others.trim().to_owned())
}
