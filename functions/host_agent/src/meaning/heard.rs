//! A message as the engine of sentences hears it, clause by clause: what is done by saying it, held against what waits and runs.
//!
//! ```text
//! text ─► clauses ─► a reading each ─► acts that can be meant here ─► runs of clauses ─► the deed, and what else is asked
//! ```
//!
//! An act that nothing here could be meant by is none: nobody answers where nothing was asked. What is unsure joins its neighbour, so that every word of a message is part of the deed or of what else is asked. Nothing is authorised here: a yes is
//! one of the closed lists (`lists`) or a button.

use domain::{AgentType, Task, TaskId, TaskState};
use llm::Agents;
use nlu::{Act, EmbedError, Engine, Reading};

use super::{Chat, closed, which};
use crate::card;
use crate::rules::transcript;

/// Most tasks of a chat that a message is held against, the newest.
const TASKS_MAX: usize = 12;

// What speaks for an act is of the classifier's scale, about -1 to 1; how well something fits or is like, of standard deviations above
// what anybody may say (`Reading::fits`). All were set on the labelled conversations of `tests/data/understanding`.

/// How much more must speak for an act than for any other for a clause to be one of its own.
const CLEAR: f32 = 0.2;
/// The same for something to be ended without asking, and for it to be declined; and how much must speak for either by itself.
const SURE: f32 = 0.15;
const SURE_NO: f32 = 0.35;
const SURE_ALONE: f32 = -0.15;
/// What speaks for an answer where something was asked last, and where that was before.
const ASKED_LAST: f32 = 0.45;
const ASKED: f32 = 0.1;
/// What speaks against news of what is over already, and of what is in no task of the chat.
const OVER: f32 = 0.4;
const NOTHING_HERE: f32 = 0.55;
/// What speaks for a request by how well it fits, and for a word about a task by how like it is: for each deviation, and at most.
const FIT_SPEAKS: f32 = 0.15;
const FIT_SPEAKS_FROM: f32 = 2.0;
const FIT_SPEAKS_MOST: f32 = 0.4;
/// How much more must speak for a word about a task than for a request for no fit to count any more.
const ABOUT: f32 = 0.5;
/// From here on what is said may be about a task of another chat.
const ELSEWHERE: f32 = -0.3;
/// From here on what is said is instead of what was said before.
const CORRECTS: f32 = 0.2;
/// How well a clause must fit an agent to be a request beside a deed, what must speak for that by itself, and in how many letters.
const NEAR: f32 = 1.9;
const ASKS: f32 = -0.3;
const LETTERS_MIN: usize = 6;
/// From here on a clause is for an agent, whatever else it sounds like.
const FITS: f32 = 3.0;
/// How well a text must be like what a task was asked for to mean that one, and how much worse another may be to be meant as well.
const LIKE: f32 = 2.2;
const LIKE_TOO: f32 = 0.7;
/// Most letters of what names nothing: "drop that, please".
const BARE_MAX: usize = 16;
/// Shortest id, in letters; a number of one digit counts things.
const ID_MIN: usize = 2;

/// A message with what was read of it.
pub(crate) struct Heard {
    whole: Clause,
    /// Its clauses; none where there is only one.
    clauses: Vec<Clause>,
    /// The agents that it was held against.
    agents: Vec<AgentType>,
}

#[derive(Debug, Clone)]
struct Clause {
    text: String,
    reading: Reading,
    /// The tasks of the chat, and the jobs of those that have several, by how alike the clause is to what they were asked for.
    like: Vec<(Likened, f32)>,
    /// Whether it has a number or an id that none of those tasks has.
    names_new: bool,
}

/// A task, or one of its jobs.
type Likened = (TaskId, Option<u32>);

/// What a message does.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HeardAct {
    /// What.
    pub(super) act: Act,
    /// Whether that is beyond doubt.
    pub(super) is_sure: bool,
    /// The words of it.
    pub(super) text: String,
    /// Its tasks by likeness; none where it names none.
    pub(super) of: Vec<TaskId>,
    /// The jobs that are meant of a task that has several, where it is not all of them.
    pub(super) jobs: Vec<(TaskId, u32)>,
    /// So much is said that it names something, and no task that it was held against is like it.
    pub(super) names_another: bool,
    /// What else the message asks.
    pub(super) rest: Option<String>,
    /// What kind of talk it is, where it is that.
    pub(super) talk: nlu::Talk,
}

impl HeardAct {
    /// A text that nobody has heard: an example of our own card does what it says, and anything else asks something of an agent.
    pub(super) fn unheard(text: &str) -> Self {
        let said = closed::lower(text);
        let (act, talk) = match said {
            said if said == closed::lower(card::NEWS) => (Act::Status, nlu::Talk::Chatter),
            said if said == closed::lower(card::OFFER) => (Act::Talk, nlu::Talk::Help),
            _ => (Act::Request, nlu::Talk::Chatter),
        };
        Self {
            act,
            is_sure: false,
            text: text.trim().to_owned(),
            of: Vec::new(),
            jobs: Vec::new(),
            names_another: false,
            rest: None,
            talk,
        }
    }
}

/// Reads a message, held against these agents' cards and these tasks.
///
/// # Errors
/// [`EmbedError`] where it has no vectors.
pub(crate) async fn hear(
    engine: &Engine,
    text: &str,
    (agents, tasks): (&Agents, &[&Task]),
) -> Result<Heard, EmbedError> {
    let mut cards = llm::cards(engine, agents).await?;
    let count = cards.len();
    // What was merely said, and answered by words, is nothing that could be ended or done again.
    let is_work =
        |task: &&&Task| !task.jobs.is_empty() || task.plan.is_some() || transcript::choosing(task).is_some();
    let mut tasks: Vec<&Task> = tasks
        .iter()
        .rev()
        .filter(is_work)
        .take(TASKS_MAX)
        .copied()
        .collect();
    tasks.reverse();
    let tasks = tasks.as_slice();
    let asked: Vec<String> = tasks.iter().map(|task| transcript::asked(task)).collect();
    let mut likened: Vec<Likened> = Vec::new();
    let mut said: Vec<Vec<&str>> = Vec::new();
    for (task, asked) in tasks.iter().zip(&asked) {
        let mut texts = vec![asked.as_str()];
        for job in &task.jobs {
            let own = [job.instruction.as_str(), job.agent_name.as_str()];
            texts.extend(own);
            if task.jobs.len() > 1 {
                likened.push((task.id, Some(job.number)));
                said.push(own.to_vec());
            }
        }
        texts.dedup();
        texts.retain(|text| !text.trim().is_empty());
        likened.push((task.id, None));
        said.push(texts);
    }
    cards.extend(engine.said(&said).await?);
    let parts = llm::clauses(text);
    // An id says which one is meant, and nothing of what is wanted with it.
    let read: Vec<String> = std::iter::once(text)
        .chain(parts.iter().map(|part| part.read))
        .map(closed::without_task_ids)
        .collect();
    let texts: Vec<&str> = read.iter().map(String::as_str).collect();
    let wholes = std::iter::once(text).chain(parts.iter().map(|part| part.whole));
    let readings = engine.read(&texts, &cards).await?;
    let mut clauses: Vec<Clause> = wholes
        .zip(readings)
        .map(|(text, mut reading)| {
            let like = reading.fits.split_off(count);
            Clause {
                text: text.to_owned(),
                reading,
                names_new: names_new(text, tasks),
                like: likened.iter().copied().zip(like).collect(),
            }
        })
        .collect();
    let whole = clauses.remove(0);
    Ok(Heard {
        whole,
        clauses,
        agents: agents.iter().map(|agent| agent.agent_type().clone()).collect(),
    })
}

/// Whether a text has a number or an id that none of these tasks was asked with, and is no task's own.
fn names_new(text: &str, tasks: &[&Task]) -> bool {
    if closed::task_id(text).is_some() {
        return false;
    }
    let ids = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric());
        let ids = words.filter(|word| word.contains(|c: char| c.is_ascii_digit()) && word.len() >= ID_MIN);
        ids.map(str::to_lowercase).collect()
    };
    let said = ids(text);
    let known: Vec<String> = match said.is_empty() {
        true => return false,
        false => tasks.iter().flat_map(|task| ids(&which::told(task))).collect(),
    };
    said.iter().any(|id| !known.contains(id))
}

/// What of a chat an act can be about.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scene {
    /// Something can be ended.
    pub(super) runs: bool,
    /// Something ended badly.
    pub(super) failed: bool,
    /// Something was asked of agents.
    pub(super) worked: bool,
    /// A user's word is waited for: an answer, a consent, the start of a plan, a choice.
    pub(super) waits: bool,
    /// An agent or the host asked something.
    pub(super) asked: bool,
    /// That was the last thing said.
    pub(super) asked_last: bool,
    /// A consent is waited for, or was given just now.
    pub(super) consents: bool,
}

impl Scene {
    /// What speaks for an act beside its words; nothing can where it could be about nothing.
    fn prior(self, act: Act) -> Option<f32> {
        match act {
            // Who ends what is over already is told so.
            Act::Cancel => Some(if self.runs { 0.0 } else { -OVER }),
            Act::Retry => (self.failed || self.worked).then_some(if self.failed { 0.0 } else { -OVER }),
            Act::Status if !self.worked => Some(-NOTHING_HERE),
            Act::Status => Some(if self.runs || self.failed { 0.0 } else { -OVER }),
            Act::Approve | Act::Decline => self.waits.then_some(0.0),
            Act::Done => (self.waits || self.consents).then_some(0.0),
            Act::Answer if self.asked_last => Some(ASKED_LAST),
            Act::Answer if self.asked => Some(ASKED),
            // Where nothing was asked, what reads as an answer changes what came before, or begins something.
            Act::Answer | Act::FollowUp => Some(0.0),
            Act::Talk | Act::Request => Some(0.0),
        }
    }

    /// The act that most speaks for here, and by how much. A change of what was asked is an answer where something is waited for.
    fn act(self, clause: &Clause) -> (Act, f32) {
        let reading = &clause.reading;
        let mut best: Vec<(Act, f32)> = Vec::new();
        for act in Act::ALL {
            let Some(prior) = self.prior(act) else { continue };
            let kind = match act {
                Act::FollowUp if self.asked => Act::Answer,
                Act::Answer if !self.asked => Act::FollowUp,
                // Of what nobody was asked before nothing is news, and none of it is wanted again.
                Act::Status | Act::Retry | Act::Cancel if clause.names_new => Act::FollowUp,
                act => act,
            };
            let prior = if act == Act::FollowUp && self.asked_last {
                ASKED_LAST
            } else {
                prior
            };
            let fits = match act {
                // What is like what was asked for here is about that. "Report on wasps" is no news of a report on bees.
                Act::Cancel | Act::Retry if reading.of(act) > reading.of(Act::Request) => {
                    (FIT_SPEAKS * (clause.best_like() - LIKE)).clamp(0.0, FIT_SPEAKS_MOST)
                }
                Act::Request if self.worked && clause.is_about() => 0.0,
                Act::Request => (FIT_SPEAKS * (clause.best() - FIT_SPEAKS_FROM)).clamp(0.0, FIT_SPEAKS_MOST),
                _ => 0.0,
            };
            // News of something that an agent does, and that no task here is about, is news of nothing.
            let prior = match act {
                Act::Status if clause.best() >= FITS && clause.best_like() < LIKE => -NOTHING_HERE,
                _ => prior,
            };
            let speaks = reading.of(act) + prior + fits;
            match best.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, known)) => *known = known.max(speaks),
                None => best.push((kind, speaks)),
            }
        }
        best.sort_by(|one, other| other.1.total_cmp(&one.1));
        match best.as_slice() {
            [(act, best), (_, second), ..] => (*act, best - second),
            [(act, _)] => (*act, 1.0),
            [] => (Act::Request, 0.0),
        }
    }
}

/// Whether an act for which so much more speaks than for any other is beyond doubt.
fn is_sure(act: Act, by: f32, clause: &Clause) -> bool {
    let least = if act == Act::Decline { SURE_NO } else { SURE };
    by >= least && clause.reading.of(act) >= SURE_ALONE && !(act == Act::Cancel && clause.names_another())
}

impl Heard {
    /// What the message does in such a chat.
    pub(super) fn deed(&self, scene: Scene) -> HeardAct {
        let (act, by) = scene.act(&self.whole);
        let groups = self.groups(scene);
        let deeds: Vec<usize> = (0..groups.len())
            .filter(|at| {
                groups
                    .get(*at)
                    .is_some_and(|(act, _)| !matches!(act, Act::Request | Act::FollowUp))
            })
            .collect();
        let is_of_task = |at: &usize| {
            let act = groups.get(*at).map(|(act, _)| *act);
            matches!(act, Some(Act::Cancel | Act::Retry | Act::Status))
        };
        // A deed, and what is asked beside it. Of several that are about tasks the others are not lost either: they are asked like the
        // rest. "Nope, still dead": what else comes in several pieces is one word to whoever waits for it.
        if let Some(at) = deeds.first().copied()
            && (deeds.len() == 1 || deeds.iter().all(is_of_task))
            && let Some((act, clause)) = groups.get(at)
        {
            let others = groups.iter().enumerate().filter(|(other, _)| *other != at);
            let rest: String = others.map(|(_, (_, clause))| clause.text.as_str()).collect();
            let (_, by) = scene.act(clause);
            return HeardAct {
                act: *act,
                is_sure: is_sure(*act, by, clause),
                text: clause.text.trim().to_owned(),
                of: clause.meant(),
                jobs: clause.meant_jobs(),
                names_another: clause.names_another(),
                rest: Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty()),
                talk: clause.reading.talk(),
            };
        }
        // Thanks beside a request are no talk.
        let act = match act {
            Act::Talk if !groups.is_empty() => Act::Request,
            act => act,
        };
        HeardAct {
            act,
            is_sure: is_sure(act, by, &self.whole),
            text: self.whole.text.trim().to_owned(),
            of: self.whole.meant(),
            jobs: self.whole.meant_jobs(),
            names_another: self.whole.names_another(),
            rest: None,
            talk: self.whole.reading.talk(),
        }
    }

    /// Whether it may be about a task of another chat, which it would have to be held against.
    pub(super) fn may_be_elsewhere(&self) -> bool {
        let reading = &self.whole.reading;
        let about = [Act::Cancel, Act::Status, Act::Retry].map(|act| reading.of(act));
        let about = about.into_iter().fold(f32::NEG_INFINITY, f32::max);
        about >= ELSEWHERE && about >= reading.of(Act::Request) - FIT_SPEAKS_MOST
    }

    /// Whether more speaks for its asking for news of something than for any request, whatever is here.
    pub(super) fn asks_news(&self) -> bool {
        let reading = &self.whole.reading;
        let asks = reading.of(Act::Request).max(reading.of(Act::FollowUp));
        reading.of(Act::Status) > asks
    }

    /// Whether it is said instead of what was said before.
    pub(super) fn corrects(&self) -> bool {
        self.whole.reading.corrects >= CORRECTS
    }

    /// Runs of clauses that do the same; what is unclear, and talk, belongs to the run before or behind it.
    fn groups(&self, scene: Scene) -> Vec<(Act, Clause)> {
        let mut out: Vec<(Act, Clause)> = Vec::new();
        let mut lead = String::new();
        for clause in &self.clauses {
            let (act, by) = scene.act(clause);
            let is_clear = match act {
                Act::Talk => false,
                Act::Request | Act::FollowUp => clause.asks_agent(),
                _ => by >= CLEAR,
            };
            match out.last_mut() {
                Some((known, last)) if !is_clear || *known == act => last.text.push_str(&clause.text),
                None if !is_clear => lead.push_str(&clause.text),
                _ => {
                    let text = format!("{}{}", std::mem::take(&mut lead), clause.text);
                    out.push((
                        act,
                        Clause {
                            text,
                            ..clause.clone()
                        },
                    ));
                }
            }
        }
        out
    }

    /// Whether the message is for another agent than the one that asks for this task.
    pub(super) fn fits_another(&self, than: &Task) -> bool {
        let asking = transcript::asking(than).map(|job| &job.agent_type);
        let other = |at: usize| self.agents.get(at) != asking;
        let ranked = self.whole.reading.ranked();
        ranked.iter().any(|(at, fit)| *fit >= FITS && other(*at))
    }
}

impl Clause {
    /// Whether it asks something of an agent by itself. Of a word or two too little is known.
    fn asks_agent(&self) -> bool {
        let asks = self.reading.of(Act::Request).max(self.reading.of(Act::FollowUp));
        self.letters() >= LETTERS_MIN && (asks >= ASKS && self.best() >= NEAR || self.best() >= FITS)
    }

    /// Whether so much is said that it names something, and no task here is like it.
    fn names_another(&self) -> bool {
        self.letters() > BARE_MAX && self.best_like() < LIKE
    }

    fn letters(&self) -> usize {
        self.text.chars().filter(|c| c.is_alphanumeric()).count()
    }

    fn best(&self) -> f32 {
        let ranked = self.reading.ranked();
        ranked.first().map_or(f32::NEG_INFINITY, |(_, fit)| *fit)
    }

    /// Whether it sounds so much more like a word about a task than like a request that no likeness to an agent counts.
    fn is_about(&self) -> bool {
        let about = [Act::Cancel, Act::Status, Act::Retry].map(|act| self.reading.of(act));
        about.into_iter().fold(f32::NEG_INFINITY, f32::max) - self.reading.of(Act::Request) >= ABOUT
    }

    fn best_like(&self) -> f32 {
        let like = self.like.iter().map(|(_, like)| *like);
        like.fold(f32::NEG_INFINITY, f32::max)
    }

    /// The tasks that the clause is about by what they were asked for.
    fn meant(&self) -> Vec<TaskId> {
        let best = self.best_like();
        let like = self
            .like
            .iter()
            .filter(|(_, like)| *like >= LIKE && *like >= best - LIKE_TOO);
        let mut meant: Vec<TaskId> = like.map(|((task, _), _)| *task).collect();
        meant.dedup();
        meant
    }

    /// The jobs that it is about, of tasks that have several.
    fn meant_jobs(&self) -> Vec<(TaskId, u32)> {
        let jobs = || {
            self.like
                .iter()
                .filter_map(|((task, job), like)| Some((*task, (*job)?, *like)))
        };
        let is_meant = |(task, _, like): &(TaskId, u32, f32)| {
            let others = jobs().filter(|(other, ..)| other == task);
            *like >= LIKE && others.into_iter().all(|(_, _, other)| *like >= other - LIKE_TOO)
        };
        jobs()
            .filter(is_meant)
            .map(|(task, job, _)| (task, job))
            .collect()
    }
}

#[cfg(test)]
impl Heard {
    /// A message of one clause that surely does this, about these tasks.
    pub(super) fn doing(act: Act, text: &str, of: &[TaskId]) -> Self {
        let speaks = |known: Act| if known == act { 1.0 } else { -1.0 };
        Self {
            whole: Clause {
                text: text.to_owned(),
                reading: Reading {
                    acts: Act::ALL.map(speaks).to_vec(),
                    talk: Vec::new(),
                    destroys: -1.0,
                    conditional: -1.0,
                    corrects: -1.0,
                    tells: -1.0,
                    fits: Vec::new(),
                },
                like: of.iter().map(|task| ((*task, None), 9.0)).collect(),
                names_new: false,
            },
            clauses: Vec::new(),
            agents: Vec::new(),
        }
    }
}

impl Chat<'_> {
    /// What is here that an act can be about.
    pub(super) fn scene(&self) -> Scene {
        let has = |which: &dyn Fn(&Task) -> bool| self.all().any(which);
        let asked_here = self.asked.is_some();
        Scene {
            runs: has(&which::is_open),
            failed: has(&|task| {
                matches!(
                    task.status.state,
                    TaskState::Failed | TaskState::Unknown | TaskState::Rejected
                )
            }),
            worked: has(&|task| !task.jobs.is_empty() || task.plan.is_some()),
            waits: asked_here
                || has(&|task| task.status.state.is_interrupted() || transcript::choosing(task).is_some()),
            asked: asked_here || self.questions().next().is_some(),
            asked_last: asked_here || self.last_asked().is_some(),
            consents: self.consents().next().is_some() || self.consented().is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_WORK: Scene = Scene {
        runs: true,
        failed: false,
        worked: true,
        waits: false,
        asked: false,
        asked_last: false,
        consents: false,
    };

    fn id(number: u8) -> TaskId {
        TaskId::from_bytes([number; 16])
    }

    /// A clause for which so much speaks, that fits the one agent so well and the tasks so well.
    fn clause(text: &str, speaks: &[(Act, f32)], fit: f32, like: &[(u8, f32)]) -> Clause {
        let of = |act: Act| {
            speaks
                .iter()
                .find(|(known, _)| *known == act)
                .map_or(-1.0, |(_, speaks)| *speaks)
        };
        Clause {
            text: text.to_owned(),
            reading: Reading {
                acts: Act::ALL.map(of).to_vec(),
                talk: Vec::new(),
                destroys: -1.0,
                conditional: -1.0,
                corrects: -1.0,
                tells: -1.0,
                fits: vec![fit],
            },
            like: like
                .iter()
                .map(|(task, like)| ((id(*task), None), *like))
                .collect(),
            names_new: false,
        }
    }

    fn heard(whole: Clause, clauses: &[Clause]) -> Heard {
        Heard {
            whole,
            clauses: clauses.to_vec(),
            agents: vec![AgentType::parse("weather").unwrap()],
        }
    }

    #[test]
    fn an_act_that_nothing_here_can_be_meant_by_is_none() {
        let stop = clause("stop", &[(Act::Cancel, 1.0), (Act::Request, -0.2)], 0.0, &[]);
        assert_eq!(heard(stop, &[]).deed(AT_WORK).act, Act::Cancel);
        let yes = clause("fine by me", &[(Act::Approve, 1.0), (Act::Talk, -0.2)], 0.0, &[]);
        let agrees = heard(yes, &[]);
        assert_eq!(
            agrees
                .deed(Scene {
                    waits: true,
                    ..AT_WORK
                })
                .act,
            Act::Approve
        );
        assert_eq!(agrees.deed(AT_WORK).act, Act::Talk);
    }

    #[test]
    fn what_reads_as_an_answer_is_one_where_something_was_asked_and_a_change_otherwise() {
        let four = clause("four", &[(Act::Answer, 0.1), (Act::Talk, 0.0)], 0.0, &[]);
        let heard = heard(four, &[]);
        assert_eq!(heard.deed(AT_WORK).act, Act::FollowUp);
        let asked = Scene {
            waits: true,
            asked: true,
            asked_last: true,
            ..AT_WORK
        };
        assert_eq!(heard.deed(asked).act, Act::Answer);
    }

    #[test]
    fn a_doubt_is_no_certainty() {
        let scared = clause("hang on", &[(Act::Cancel, -0.25)], 0.0, &[]);
        let stop = clause("stop it", &[(Act::Cancel, 0.9)], 0.0, &[]);
        let torn = clause("stop or not", &[(Act::Cancel, 0.5), (Act::Status, 0.4)], 0.0, &[]);
        let is_sure = |clause: &Clause| heard(clause.clone(), &[]).deed(AT_WORK).is_sure;
        assert_eq!([&scared, &stop, &torn].map(is_sure), [false, true, false]);
    }

    #[test]
    fn every_word_belongs_to_the_deed_or_to_what_else_is_asked() {
        let thanks = clause("Thanks, ", &[(Act::Talk, 1.0)], 0.0, &[]);
        let stop = clause(
            "forget the report. ",
            &[(Act::Cancel, 1.0)],
            0.0,
            &[(1, 4.0), (2, 0.0)],
        );
        let rain = clause("Will it rain in Oslo?", &[(Act::Request, 0.9)], 4.0, &[]);
        let whole = clause("", &[(Act::Request, 0.5)], 3.0, &[]);
        let deed = heard(whole, &[thanks, stop, rain]).deed(AT_WORK);
        assert_eq!(
            (deed.act, deed.text.as_str()),
            (Act::Cancel, "Thanks, forget the report.")
        );
        assert_eq!(
            (deed.of, deed.rest.as_deref()),
            (vec![id(1)], Some("Will it rain in Oslo?"))
        );
    }

    #[test]
    fn a_second_deed_is_not_lost_and_an_answer_in_pieces_is_one() {
        let stop = clause("drop the report, ", &[(Act::Cancel, 1.0)], 0.0, &[(1, 4.0)]);
        let again = clause("and try the rain again", &[(Act::Retry, 1.0)], 0.0, &[(2, 4.0)]);
        let whole = clause(
            "drop the report, and try the rain again",
            &[(Act::Cancel, 0.5)],
            0.0,
            &[],
        );
        let failed = Scene {
            failed: true,
            ..AT_WORK
        };
        let deed = heard(whole, &[stop, again]).deed(failed);
        assert_eq!(
            (deed.act, deed.rest.as_deref()),
            (Act::Cancel, Some("and try the rain again"))
        );
        let nope = clause("nope, ", &[(Act::Decline, 1.0)], 0.0, &[]);
        let dead = clause("still dead on both ears", &[(Act::Answer, 1.0)], 0.0, &[]);
        let whole = clause("nope, still dead on both ears", &[(Act::Answer, 0.5)], 0.0, &[]);
        let asked = Scene {
            waits: true,
            asked: true,
            asked_last: true,
            ..AT_WORK
        };
        let deed = heard(whole, &[nope, dead]).deed(asked);
        assert_eq!((deed.act, deed.rest), (Act::Answer, None));
    }

    #[test]
    fn a_word_or_two_beside_a_deed_ask_nothing_of_their_own() {
        let so = clause("und? ", &[(Act::FollowUp, 0.1)], 3.0, &[]);
        let news = clause("schon was gefunden?", &[(Act::Status, 0.5)], 0.0, &[]);
        let whole = clause(
            "und? schon was gefunden?",
            &[(Act::FollowUp, 0.2), (Act::Status, 0.1)],
            0.0,
            &[],
        );
        let deed = heard(whole, &[so, news]).deed(AT_WORK);
        assert_eq!((deed.act, deed.rest), (Act::Status, None));
    }

    #[test]
    fn a_number_that_nobody_was_asked_with_is_no_news_of_what_runs() {
        let mut status = clause("where is 1044?", &[(Act::Status, 0.5)], 2.0, &[]);
        assert_eq!(heard(status.clone(), &[]).deed(AT_WORK).act, Act::Status);
        status.names_new = true;
        assert_eq!(heard(status, &[]).deed(AT_WORK).act, Act::FollowUp);
    }

    #[test]
    fn tasks_that_are_about_as_alike_are_all_meant() {
        let like = [(1, 3.0), (2, 2.6), (3, 1.0)];
        let meant = clause("the report", &[(Act::Cancel, 1.0)], 0.0, &like).meant();
        assert_eq!(meant, [id(1), id(2)]);
        assert_eq!(clause("that", &[], 0.0, &[(1, 0.4)]).meant(), []);
    }
}
