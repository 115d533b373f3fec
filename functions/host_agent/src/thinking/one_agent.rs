//! With a fixed agent instead of a registry, that agent gets whatever the model has no tool of its own for.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use llm::{Answer, Draft, Model, ModelError, NoDraft, Prompt, Step, Tool, ToolCall, Turn};

/// A model that leaves talking to the one agent there is.
pub(crate) struct OneAgent(pub(crate) Arc<dyn Model>);

#[async_trait]
impl Model for OneAgent {
    async fn step(&self, prompt: &Prompt, draft: &mut dyn Draft) -> Result<Answer, ModelError> {
        // What is said of a first message goes to nobody.
        let answer = match prompt.turns.last() {
            Some(Turn::User(_)) => self.0.step(prompt, &mut NoDraft).await?,
            _ => self.0.step(prompt, draft).await?,
        };
        match (&answer.step, &*prompt.agents, prompt.turns.last()) {
            (Step::Say(_) | Step::Choose { .. }, [agent], Some(Turn::User(text))) => {
                let tool = Tool::SendMessage {
                    agent_type: agent.agent_type().clone(),
                    message: text.clone(),
                    data: None,
                };
                let call = ToolCall {
                    id: "call-0".to_owned(),
                    tool,
                };
                let step = Step::Call(vec![call]);
                Ok(Answer { step, ..answer })
            }
            _ => Ok(answer),
        }
    }

    fn is_hosted(&self) -> bool {
        self.0.is_hosted()
    }

    fn goes_on(&self) -> bool {
        self.0.goes_on()
    }

    fn longest(&self) -> Duration {
        self.0.longest()
    }
}
