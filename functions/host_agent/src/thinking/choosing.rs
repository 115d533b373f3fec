//! Where the rules are not sure who does what was said, the user chooses: what is asked, and what becomes of the answer.

use agent::{ExecuteError, Outcome, Run, on_heap};
use domain::{AgentType, EventKind, Message, TaskState};
use llm::{Answer, Step, Tool, ToolCall, Why};

use crate::meaning::{self, choices};
use crate::rules::agent_choice::{self, AgentChoice};
use crate::rules::note::Note;
use crate::rules::sentences;
use crate::rules::transcript::{self, DECLINES};
use crate::thinking::thinker::Thinker;
use crate::thinking::thought::Thought;
use crate::thinking::turn::SWITCHED_OFF;

impl Thinker {
    /// Asks which of these gets what was said. What was said is stored with the question.
    pub(crate) async fn offer(
        &self,
        run: &mut Run,
        thought: Thought,
        types: &[AgentType],
        why: Why,
    ) -> Result<Outcome, ExecuteError> {
        let choice = AgentChoice::of(types, why, &self.briefs(thought.known.as_ref()));
        let file = match transcript::brings_file(run.task()) {
            true => "Nobody I can reach is known to take the file that you sent. ",
            false => "",
        };
        let question = format!(
            "{file}{}",
            choice.question(&thought.asked, &sentences::language(run.task()))
        );
        let question = thought.note.around(question);
        // What stands around the question is said with it, and counts for what is answered next.
        let note = Note {
            asked: Some(thought.asked),
            lead: None,
            reminder: thought.note.reminder.map(|_| String::new()),
            choice: Some(choice.clone()),
            ..thought.note
        };
        ask(run, &choice, question, vec![note.event()?]).await
    }

    /// Does what the user answered, or what time decided.
    pub(crate) async fn chosen(&self, run: &mut Run, choice: AgentChoice) -> Result<Outcome, ExecuteError> {
        let task = run.task();
        let Some(said) = transcript::pending_answer(task) else {
            let until = agent_choice::waits_until(task.status.at);
            return Ok(match run.now() >= until {
                true => Outcome::Canceled(
                    "No agent was chosen within a day. Say “try again” to choose once more.".to_owned(),
                ),
                false => Outcome::Parked { until },
            });
        };
        if is_no(said) {
            return Ok(Outcome::Canceled(sentences::told(run.task(), "nobodyAsked", "")));
        }
        let thought = self.thought_of(run);
        let Some(offered) = choices::agent_named(&choice, &said.text_to_read()) else {
            let language = sentences::language(run.task());
            let unread = words::told(Some(&language), "notUnderstood", "");
            let question = format!("{unread} {}", choice.question(&thought.asked, &language));
            return ask(run, &choice, question, Vec::new()).await;
        };
        if !self.is_enabled() {
            return Ok(Outcome::Rejected(SWITCHED_OFF.to_owned()));
        }
        let agent_type = offered.agent_type.clone();
        self.hand_to(run, thought, agent_type).await
    }

    /// Hands what was asked to the agent that its user has named, and asks no model whose it is.
    pub(crate) async fn hand_to(
        &self,
        run: &mut Run,
        mut thought: Thought,
        agent_type: AgentType,
    ) -> Result<Outcome, ExecuteError> {
        thought.known = Some(self.discover().await?);
        let message = thought.asked.clone();
        let found = self
            .tools(run, &mut thought)
            .choice(&agent_type, &message)
            .await?;
        if let Err(reason) = found {
            return Ok(Outcome::Rejected(reason));
        }
        let call = ToolCall {
            id: "chosen".to_owned(),
            tool: Tool::SendMessage {
                agent_type,
                message,
                data: None,
            },
        };
        thought.first = Some(Answer::from(Step::Call(vec![call])));
        on_heap(|| self.think(run, thought)).await
    }
}

/// Whether an answer is that none of them is meant.
fn is_no(said: &Message) -> bool {
    said.metadata.contains_key(DECLINES) || meaning::is_no(&said.text())
}

/// Asks, in one write with what is noted, and rests until the answer.
async fn ask(
    run: &mut Run,
    choice: &AgentChoice,
    question: String,
    mut kinds: Vec<EventKind>,
) -> Result<Outcome, ExecuteError> {
    let message = choice.shown_with(run.message(&question));
    kinds.push(EventKind::status(TaskState::InputRequired, Some(message)));
    let until = agent_choice::waits_until(run.now());
    run.record_and_park(kinds, |_| Some(until)).await?;
    Ok(Outcome::Parked { until })
}
