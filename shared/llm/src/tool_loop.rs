//! The tool loop: asks the model, runs the tools it calls, shows it the results, until it speaks or work is under way
//! elsewhere.

use async_trait::async_trait;
use tracing::Instrument as _;

use crate::{Answer, Draft, Model, ModelError, Prompt, Step, Tool, ToolCall, ToolOutcome, ToolResult, Turn};

/// Appended to an answer that its model could not end.
const CUT: &str = "\n\n(The answer is cut off here: it grew too long.)";

/// Runs tools for the loop.
#[async_trait]
pub trait Toolbox: Send {
    /// What goes wrong beside a tool's own failure, such as a store that does not answer.
    type Error: Send;

    /// Runs the calls of one step, all of them.
    ///
    /// # Errors
    /// Only what ends the whole loop; a tool that could not do its work says so in its result.
    async fn call(&mut self, calls: Vec<ToolCall>) -> Result<Called, Self::Error>;
}

/// What became of the calls of one step.
#[derive(Debug, Clone, PartialEq)]
pub enum Called {
    /// All are answered.
    Results(Vec<ToolResult>),
    /// The work goes on elsewhere; the loop is taken up again when its results are there.
    Parked,
}

/// How the loop ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The model answers the user with this.
    Said(String),
    /// Work goes on elsewhere.
    Parked,
}

/// What bounds a loop, whatever the model wants.
#[derive(Debug, Clone, Copy)]
pub struct LoopLimits {
    /// Most steps.
    pub steps: usize,
    /// Most calls in one step.
    pub calls: usize,
    /// Most steps whose calls cannot be run.
    pub invalid: usize,
}

impl Default for LoopLimits {
    fn default() -> Self {
        Self {
            steps: 8,
            calls: 8,
            invalid: 2,
        }
    }
}

/// Why a loop ended without an answer.
#[derive(Debug, thiserror::Error)]
pub enum LoopError<E> {
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model wanted more than the limits allow.
    #[error("the model did not come to an answer within its limits")]
    TooMuch,
    /// The toolbox failed.
    #[error("a tool failed")]
    Tool(E),
}

/// Runs the loop to its end. The `first` answer, where there is one, is what the model was asked for already, or needs not
/// be asked for.
///
/// # Errors
/// [`LoopError`] where it ended without an answer.
pub async fn run<T: Toolbox>(
    (model, draft): (&dyn Model, &mut dyn Draft),
    mut prompt: Prompt,
    mut first: Option<Answer>,
    toolbox: &mut T,
    limits: LoopLimits,
) -> Result<Ended, LoopError<T::Error>> {
    let mut invalid = 0;
    for number in 1..=limits.steps {
        let span = tracing::debug_span!("llm.model.step", number);
        let answer = match first.take() {
            Some(answer) => answer,
            None => model.step(&prompt, draft).instrument(span).await?,
        };
        let calls = match answer.step {
            Step::Say(text) if answer.is_cut => return Ok(Ended::Said(text + CUT)),
            Step::Say(text) => return Ok(Ended::Said(text)),
            Step::Call(calls) if calls.is_empty() => return Err(LoopError::TooMuch),
            Step::Call(calls) => calls,
        };
        tracing::debug!(calls = calls.len(), "the model calls tools");
        let results = match refused(&calls, limits.calls) {
            Some(_) if invalid == limits.invalid => return Err(LoopError::TooMuch),
            Some(results) => {
                invalid += 1;
                results
            }
            None => match toolbox.call(calls.clone()).await.map_err(LoopError::Tool)? {
                Called::Parked => return Ok(Ended::Parked),
                Called::Results(results) => results,
            },
        };
        if !answer.beside.is_empty() {
            prompt.turns.push(Turn::Said(answer.beside));
        }
        prompt.turns.extend(answer.opaque.map(Turn::Thought));
        prompt.turns.push(Turn::Calls(calls));
        prompt.turns.push(Turn::Results(results));
    }
    Err(LoopError::TooMuch)
}

/// What the model is told where its calls cannot all be run: then none is, so that it may call them again without doing
/// anything twice.
fn refused(calls: &[ToolCall], most: usize) -> Option<Vec<ToolResult>> {
    let is_valid = |call: &ToolCall| !matches!(call.tool, Tool::Invalid { .. });
    if calls.len() <= most && calls.iter().all(is_valid) {
        return None;
    }
    let refused = calls.iter().map(|call| {
        let reason = match &call.tool {
            Tool::Invalid { reason, .. } => reason.clone(),
            _ if calls.len() > most => format!("Not done: at most {most} calls at once."),
            _ => "Not done: another call beside this one cannot be run. Call this one again.".to_owned(),
        };
        ToolResult {
            call_id: call.id.clone(),
            agent: None,
            outcome: ToolOutcome::Failed(reason),
        }
    });
    Some(refused.collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::{NoDraft, Opaque};

    /// Calls a tool this many times, then speaks of what it saw.
    struct Scripted(Mutex<usize>);

    #[async_trait]
    impl Model for Scripted {
        async fn step(&self, prompt: &Prompt, _: &mut dyn Draft) -> Result<Answer, ModelError> {
            let mut left = self.0.lock().unwrap();
            if *left == 0 {
                return Ok(Step::Say(format!("{} turns", prompt.turns.len())).into());
            }
            *left -= 1;
            Ok(Step::Call(vec![status(&left.to_string())]).into())
        }
    }

    fn status(id: &str) -> ToolCall {
        ToolCall {
            id: id.to_owned(),
            tool: Tool::TaskStatus { task_id: None },
        }
    }

    struct Counting {
        park_at: usize,
        calls: usize,
    }

    #[async_trait]
    impl Toolbox for Counting {
        type Error = &'static str;
        async fn call(&mut self, calls: Vec<ToolCall>) -> Result<Called, Self::Error> {
            self.calls += 1;
            if self.calls == self.park_at {
                return Ok(Called::Parked);
            }
            let result = |call: ToolCall| ToolResult {
                call_id: call.id,
                agent: None,
                outcome: ToolOutcome::Done("well".into()),
            };
            Ok(Called::Results(calls.into_iter().map(result).collect()))
        }
    }

    async fn ended(steps: usize, park_at: usize) -> Result<Ended, LoopError<&'static str>> {
        let model = Scripted(Mutex::new(steps));
        let prompt = Prompt {
            agents: Vec::new(),
            turns: vec![Turn::User("x".into())],
            ..Prompt::default()
        };
        let limits = LoopLimits {
            steps: 3,
            ..LoopLimits::default()
        };
        let mut toolbox = Counting { park_at, calls: 0 };
        run((&model, &mut NoDraft), prompt, None, &mut toolbox, limits).await
    }

    #[tokio::test]
    async fn results_are_shown_to_the_model_until_it_speaks() {
        assert_eq!(ended(2, 0).await.unwrap(), Ended::Said("5 turns".into()));
    }

    #[tokio::test]
    async fn work_under_way_ends_the_loop() {
        assert_eq!(ended(2, 2).await.unwrap(), Ended::Parked);
    }

    #[tokio::test]
    async fn a_model_that_never_speaks_is_stopped() {
        assert!(matches!(ended(9, 0).await, Err(LoopError::TooMuch)));
    }

    /// Answers by a list, and keeps what it was shown last.
    struct Listed(Mutex<(Vec<Answer>, Vec<Turn>)>);

    #[async_trait]
    impl Model for Listed {
        async fn step(&self, prompt: &Prompt, _: &mut dyn Draft) -> Result<Answer, ModelError> {
            let mut listed = self.0.lock().unwrap();
            listed.1.clone_from(&prompt.turns);
            Ok(listed.0.remove(0))
        }
    }

    /// How a loop over these answers ends, what the model was shown last, and how often tools were run.
    async fn listed(answers: Vec<Answer>) -> (Result<Ended, LoopError<&'static str>>, Vec<Turn>, usize) {
        let model = Listed(Mutex::new((answers, Vec::new())));
        let mut toolbox = Counting { park_at: 0, calls: 0 };
        let (prompt, limits) = (Prompt::default(), LoopLimits::default());
        let ended = run((&model, &mut NoDraft), prompt, None, &mut toolbox, limits).await;
        (ended, model.0.into_inner().unwrap().1, toolbox.calls)
    }

    fn invalid(id: &str) -> ToolCall {
        let tool = Tool::Invalid {
            name: "delete_everything".to_owned(),
            arguments: "{}".to_owned(),
            reason: "There is no such tool.".to_owned(),
        };
        ToolCall {
            id: id.to_owned(),
            tool,
        }
    }

    #[tokio::test]
    async fn calls_that_cannot_all_be_run_are_not_run_at_all_and_the_model_is_told() {
        for calls in [
            vec![status("a"), invalid("b")],
            (0..100).map(|id| status(&id.to_string())).collect(),
        ] {
            let count = calls.len();
            let answers = vec![Step::Call(calls).into(), Step::Say("sorry".into()).into()];
            let (ended, shown, run) = listed(answers).await;
            assert_eq!(ended.unwrap(), Ended::Said("sorry".into()));
            assert_eq!(run, 0);
            let [Turn::Calls(_), Turn::Results(results)] = shown.as_slice() else {
                panic!("{shown:?}");
            };
            let failed = |result: &&ToolResult| matches!(result.outcome, ToolOutcome::Failed(_));
            assert_eq!(results.iter().filter(failed).count(), count);
        }
        // Twice it may err, and then no more.
        let answers = (0..3).map(|_| Step::Call(vec![invalid("a")]).into()).collect();
        let (ended, _, run) = listed(answers).await;
        assert!(matches!(ended, Err(LoopError::TooMuch)) && run == 0, "{ended:?}");
    }

    #[tokio::test]
    async fn what_was_said_and_thought_beside_calls_goes_back_to_the_model_and_a_cut_answer_says_so() {
        let thought = Opaque {
            model: "m".into(),
            value: 7.into(),
        };
        let first = Answer {
            beside: "Let me see.".into(),
            opaque: Some(thought.clone()),
            ..Step::Call(vec![status("a")]).into()
        };
        let last = Answer {
            is_cut: true,
            ..Step::Say("A long".into()).into()
        };
        let (ended, shown, _) = listed(vec![first, last]).await;
        assert_eq!(ended.unwrap(), Ended::Said(format!("A long{CUT}")));
        assert_eq!(
            shown[..2],
            [Turn::Said("Let me see.".into()), Turn::Thought(thought)]
        );
        assert_eq!(shown.len(), 4);
    }
}
