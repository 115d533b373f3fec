//! Several models as one: the next is asked when one does not answer, within one limit of time.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::{AgentType, Entropy, TokenUsage, to_read};
use nlu::Slot;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::Instrument as _;

use super::answer::{Read, Shown};
use super::spans;
use super::{Dialogue, Fault, Form, Gathered, Provider};
use crate::model::LONGEST;
use crate::{
    AgentBrief, Answer, Budget, BudgetError, Draft, Model, ModelError, Prompt, Reservation, Rules, Step,
    Turn, Unlimited, rules,
};

/// Most agents that a model is shown: of more, those that fit what was said best.
const AGENTS_MAX: usize = 8;
/// How often a request is sent without something that its model does not know, and how often with half of its budget.
const HEALS: u32 = 6;
const HALVES: u32 = 2;
/// How long a model that is being loaded is left alone.
const LOADS: Duration = Duration::from_secs(2);

/// What bounds the asking, whatever its models do.
#[derive(Debug, Clone, Copy)]
pub struct ChainLimits {
    /// Most attempts at one model.
    pub attempts: u32,
    /// How long all of it may take.
    pub whole: Duration,
    /// A model that wants to be left alone for longer is not waited for: the next is asked at once.
    pub patience: Duration,
    /// How long is waited after the first attempt that failed, at most; twice as long after each further one.
    pub pause: Duration,
}

impl Default for ChainLimits {
    fn default() -> Self {
        Self {
            attempts: 3,
            whole: LONGEST,
            patience: Duration::from_secs(5),
            pause: Duration::from_secs(1),
        }
    }
}

/// One model of a chain.
pub enum Link {
    /// A hosted one, which sees so many tokens of a prompt.
    Hosted {
        /// Where it is.
        provider: Box<dyn Provider>,
        /// The budget of [`Dialogue::of`].
        tokens: usize,
    },
    /// The rules router, which always answers.
    Rules,
}

/// Models that are asked in their order.
pub struct Chain {
    links: Vec<Link>,
    limits: ChainLimits,
    entropy: Arc<dyn Entropy>,
    budget: Arc<dyn Budget>,
    /// Finds the agents that are shown where there are many.
    engine: Slot,
}

/// Why one model gave no answer.
enum Miss {
    /// It was asked.
    Fault(Fault),
    /// It may not be asked.
    Budget(BudgetError),
}

impl Chain {
    /// These models, the first of them first. Chance spreads the attempts of many tasks at once.
    #[must_use]
    pub fn new(links: Vec<Link>, limits: ChainLimits, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            links,
            limits,
            entropy,
            budget: Arc::new(Unlimited),
            engine: Slot::default(),
        }
    }

    /// The same within this budget.
    #[must_use]
    pub fn within(mut self, budget: Arc<dyn Budget>) -> Self {
        self.budget = budget;
        self
    }

    /// The same where agents are found by this engine, once it is there.
    #[must_use]
    pub fn finding(mut self, engine: Slot) -> Self {
        self.engine = engine;
        self
    }

    /// The agents that are shown.
    async fn agents(&self, prompt: &Prompt) -> Vec<AgentBrief> {
        let said = prompt.turns.iter().rev().find_map(|turn| match turn {
            Turn::User(text) => Some(to_read(text)),
            _ => None,
        });
        match said.filter(|_| prompt.agents.len() > AGENTS_MAX) {
            Some(said) => rules::nearest(&self.engine, &prompt.agents, (said, AGENTS_MAX)).await,
            None => prompt.agents.to_vec(),
        }
    }

    /// Asks one model as often as that may help; the error is its last.
    async fn asked(
        &self,
        (provider, mut tokens): (&dyn Provider, usize),
        (prompt, agents): (&Prompt, &[AgentBrief]),
        (draft, attempts, deadline): (&mut dyn Draft, &mut u32, Instant),
    ) -> Result<Answer, Miss> {
        let mut form = Form::of(prompt);
        let shown = |form: Form, tokens: usize| Dialogue::of(prompt, (form, agents.to_vec()), tokens);
        let mut dialogue = shown(form, tokens);
        let (mut pause, mut left) = (self.limits.pause, self.limits.attempts);
        let (mut heals, mut halves, mut nudges) = (HEALS, HALVES, 1_u32);
        let mut first: Option<(Answer, LeftOut)> = None;
        loop {
            *attempts += 1;
            let most = u64::from(dialogue.most(provider.max_tokens()));
            let reserved = self.budget.reserve(dialogue.tokens() + most);
            let reserved = match (reserved.await, first.take()) {
                (Ok(reserved), before) => {
                    first = before;
                    reserved
                }
                // The day's tokens are used up: what was answered stands.
                (Err(_), Some((answer, left))) => return Ok(left.named_beside(answer)),
                (Err(error), None) => return Err(Miss::Budget(error)),
            };
            draft.begins(*attempts);
            let (mut gathered, mut words) = (Gathered::default(), Shown::new(&mut *draft));
            let model = provider.name();
            let span = spans::chat(model);
            let attempt = provider.attempt(&dialogue, &mut words, &mut gathered);
            let ended = timeout_at(deadline, attempt.instrument(span.clone())).await;
            let late = |_| Fault::Broken("no answer came in time".to_owned());
            let ended = ended.map_err(late).flatten();
            spans::ended(&span, gathered.usage, ended.as_ref().err());
            drop(span);
            counted(&ended, reserved, (model, &dialogue, &gathered)).await;
            let said = gathered.said();
            let fault = match ended.and_then(|()| gathered.read(model, &dialogue)) {
                Ok(Read::Answer(answer)) => match self.left_out(prompt, &answer).await {
                    Some(left) if nudges > 0 => {
                        nudges -= 1;
                        dialogue = dialogue.nudged(&said, &left.reason());
                        first = Some((answer, left));
                        continue;
                    }
                    Some(left) => return Ok(left.named_beside(answer)),
                    None => return Ok(answer),
                },
                Ok(Read::Plan) => {
                    form = Form::Plan;
                    dialogue = shown(form, tokens);
                    continue;
                }
                Err(fault) => fault,
            };
            // It was an answer, if not one to all that was said.
            if let Some((answer, left)) = first {
                return Ok(left.named_beside(answer));
            }
            // The words of a refusal are no cause, and a user's own business.
            tracing::warn!(model, attempt = *attempts, cause = %fault, "a model did not answer");
            let wait = match &fault {
                // It does not count: the same without it is another request.
                Fault::Unknown(_) if heals > 0 => {
                    heals -= 1;
                    continue;
                }
                Fault::TooLong if halves > 0 => {
                    halves -= 1;
                    let rough = usize::try_from(dialogue.tokens()).unwrap_or(usize::MAX);
                    tokens = tokens.min(rough) / 2;
                    dialogue = shown(form, tokens);
                    continue;
                }
                Fault::Malformed(reason) if nudges > 0 => {
                    nudges -= 1;
                    dialogue = dialogue.nudged(&said, reason);
                    continue;
                }
                Fault::Starting if Instant::now() + LOADS < deadline => {
                    sleep(LOADS).await;
                    continue;
                }
                Fault::Busy { wait: Some(wait), .. } => *wait,
                Fault::Busy { wait: None, .. } | Fault::Broken(_) => self.jittered(pause),
                _ => return Err(Miss::Fault(fault)),
            };
            left = left.saturating_sub(1);
            if left == 0 || wait > self.limits.patience || Instant::now() + wait >= deadline {
                return Err(Miss::Fault(fault));
            }
            sleep(wait).await;
            pause = pause.saturating_mul(2);
        }
    }

    /// The half of a message that an answer passes over: what the engine hears asked of several agents, and more of them than are asked.
    /// Where one alone is asked the model decides itself; as many pieces of work are whole, as another agent may do the same.
    async fn left_out(&self, prompt: &Prompt, answer: &Answer) -> Option<LeftOut> {
        if Form::of(prompt) == Form::Write || !answer.about.is_empty() {
            return None;
        }
        let engine = self.engine.ready().await?;
        let heard = rules::understood(engine, prompt).await.ok()??;
        let (wanted, asked) = (requests(&heard.step), requests(&answer.step));
        let is_asked = |agent: &AgentType| asked.iter().any(|(to, _)| *to == agent);
        let missing = wanted.iter().find(|(agent, _)| !is_asked(agent));
        let missing = missing.filter(|_| wanted.len() > 1 && asked.len() < wanted.len());
        let (agent, request) = missing.map(|(agent, request)| ((*agent).clone(), (*request).to_owned()))?;
        let language = words::language::answered_in(&request, prompt.locale.as_deref()).to_owned();
        Some(LeftOut {
            agent,
            request,
            language,
            heard,
        })
    }

    /// Between half of it and all of it.
    fn jittered(&self, pause: Duration) -> Duration {
        let mut chance = [0; 2];
        self.entropy.fill(&mut chance);
        let half = pause / 2;
        half + half.mul_f64(f64::from(u16::from_le_bytes(chance)) / f64::from(u16::MAX))
    }
}

/// What an answer passes over.
struct LeftOut {
    agent: AgentType,
    request: String,
    language: String,
    /// All that the engine heard.
    heard: Answer,
}

impl LeftOut {
    /// What the model is told of it: whether it is a request is its to say.
    fn reason(&self) -> String {
        let Self { agent, request, .. } = self;
        format!(
            "It passes over what {agent} may be asked: “{request}”. Say all again, with that in do if it is a request."
        )
    }

    /// The answer that it is not in, also when asked for it: it is named. Where nobody was asked for anything, what was heard counts.
    fn named_beside(self, answer: Answer) -> Answer {
        if matches!(answer.step, Step::Say(_)) {
            return Answer {
                step: self.heard.step,
                beside: self.heard.beside,
                clauses: self.heard.clauses,
                ..answer
            };
        }
        Answer {
            unasked: words::told_of(Some(&self.language), "askedNobody", &[("part", &self.request)]),
            ..answer
        }
    }
}

/// Who is asked what by a step.
fn requests(step: &Step) -> Vec<(&AgentType, &str)> {
    match step {
        Step::Call(calls) => calls.iter().flat_map(|call| call.tool.requests()).collect(),
        _ => Vec::new(),
    }
}

/// Counts what an attempt took, as its model tells it; where it does not, by what was sent and has come. What brought nothing took
/// nothing: only a process that ends in between leaves all of it counted.
async fn counted(
    ended: &Result<(), Fault>,
    reserved: Box<dyn Reservation>,
    (model, dialogue, gathered): (&str, &Dialogue, &Gathered),
) {
    let turned_away = matches!(
        ended,
        Err(Fault::Busy { .. } | Fault::Denied(_) | Fault::Unknown(_) | Fault::TooLong | Fault::Starting)
    );
    if turned_away || !gathered.has_begun() {
        return reserved.release().await;
    }
    let taken = match gathered.usage.input + gathered.usage.output {
        0 => TokenUsage {
            input: dialogue.tokens(),
            output: u64::try_from(gathered.bytes() / 3).unwrap_or(u64::MAX),
            cached: 0,
        },
        _ => gathered.usage,
    };
    reserved.settle(model, taken).await;
}

#[async_trait]
impl Model for Chain {
    async fn step(&self, prompt: &Prompt, draft: &mut dyn Draft) -> Result<Answer, ModelError> {
        let deadline = Instant::now() + self.limits.whole;
        let mut attempts = 0;
        let mut error = ModelError::Unavailable("there is no model".to_owned());
        let agents = self.agents(prompt).await;
        for link in &self.links {
            let Link::Hosted { provider, tokens } = link else {
                return Ok(Rules.decide(prompt).into());
            };
            if Instant::now() >= deadline {
                continue;
            }
            let link = (provider.as_ref(), *tokens);
            let asked = self.asked(link, (prompt, &agents), (&mut *draft, &mut attempts, deadline));
            error = match asked.await {
                Ok(answer) => return Ok(answer),
                Err(Miss::Fault(Fault::Denied(cause))) => return Err(ModelError::Denied(cause)),
                Err(Miss::Fault(fault @ (Fault::TooLong | Fault::Unknown(_)))) => {
                    return Err(ModelError::Denied(fault.to_string()));
                }
                Err(Miss::Fault(Fault::Refused(words))) => return Err(ModelError::Refused(words)),
                Err(Miss::Fault(Fault::Unusable(cause) | Fault::Malformed(cause))) => {
                    ModelError::Unusable(cause)
                }
                Err(Miss::Fault(Fault::Starting)) => ModelError::Starting,
                Err(Miss::Fault(fault @ (Fault::Busy { .. } | Fault::Broken(_)))) => {
                    ModelError::Unavailable(fault.to_string())
                }
                // What is too much for this model may be little enough for one of shorter answers.
                Err(Miss::Budget(BudgetError::Spent { until })) => ModelError::Spent { until },
                Err(Miss::Budget(fault @ (BudgetError::InUse | BudgetError::Unavailable))) => {
                    ModelError::Unavailable(fault.to_string())
                }
            };
        }
        Err(error)
    }

    fn is_hosted(&self) -> bool {
        self.links.iter().any(|link| matches!(link, Link::Hosted { .. }))
    }

    /// It decides once, and writes once.
    fn goes_on(&self) -> bool {
        false
    }

    fn longest(&self) -> Duration {
        self.limits.whole
    }
}

#[cfg(test)]
mod tests;
